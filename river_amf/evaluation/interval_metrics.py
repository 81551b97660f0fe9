"""Metrics of prediction intervals: how many targets they hold, and how wide they are.

As metrics of river they may be rolling. What they are given is a `river.conf.Interval`.
"""

from __future__ import annotations

import inspect
from typing import Any

from river import compose, utils
from river.conf import Interval
from river.metrics.base import MeanMetric, RegressionMetric


class IntervalMetric(MeanMetric, RegressionMetric):
    """The mean of something that is known of an interval and the target."""


class Coverage(IntervalMetric):
    """The share of targets that lie in their interval."""

    @property
    def bigger_is_better(self) -> bool:
        """Whether more is better: not beyond the level of the intervals."""
        return True

    def _eval(self, y_true: float, y_pred: Interval) -> float:
        return float(y_true in y_pred)


class Width(IntervalMetric):
    """The mean width of the intervals, in the unit of the target."""

    def _eval(self, y_true: float, y_pred: Interval) -> float:
        return y_pred.width


def is_of_intervals(metric: Any) -> bool:
    """Whether a metric, which may roll, is about intervals."""
    return isinstance(metric.obj if isinstance(metric, utils.Rolling) else metric, IntervalMetric)


def has_intervals(model: Any) -> bool:
    """Whether a regressor, or the one at the end of a pipeline, can predict intervals."""
    method = getattr(type(last_step(model)), "predict_one", None)
    return method is not None and "with_interval" in inspect.signature(method).parameters


def last_step(model: Any) -> Any:
    """Return a model, or the last step of a pipeline."""
    while isinstance(model, compose.Pipeline):
        model = next(reversed(model.steps.values()), None)
    return model
