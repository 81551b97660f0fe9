"""Scores of predictions: river metrics over the whole stream and over windows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from river.metrics.base import Metric, RegressionMetric

from river_amf.evaluation.metrics import LogLoss, fresh, inner, is_of_intervals, needs_positive
from river_amf.evaluation.streams import Label, Target

Metrics = Mapping[str, Metric]


class Scores:
    """Metrics by name over all predictions, and others over the current window."""

    # The metrics that are passed in are copied, and never updated themselves. Where a positive
    # label is given, binary metrics see True in its place, and False for all other labels.
    def __init__(
        self, metrics: Metrics, windowed: Metrics | None = None, positive: Label | None = None
    ) -> None:
        self._windowed = windowed or {}
        self._positive = positive
        self._seen: set[Target] = set()
        self._total = self._begin(metrics)
        self._window = self._begin(self._windowed)
        given = [*metrics.values(), *self._windowed.values()]
        # there is no end of numbers
        self._has_labels = not all(isinstance(inner(each), RegressionMetric) for each in given)
        self.need_intervals = any(map(is_of_intervals, given))

    def update(self, y: Target, prediction: Target | None, beside: Any) -> None:
        """Score a prediction as river does: a sample without a prediction is not scored."""
        # If the model knew nothing yet, the label is None and the probabilities beside it are
        # empty. If the model gives no probabilities, or no interval beside a number, it is None,
        # and the metrics that need them are NaN.
        is_new = y not in self._seen
        for tallies in (self._total, self._window):
            for tally in tallies.values():
                tally.update(y, prediction, beside, is_new)
        if self._has_labels:
            self._seen.add(y)

    def total(self) -> dict[str, float]:
        """Return each metric over all predictions, NaN where nothing was scored."""
        return {name: tally.get() for name, tally in self._total.items()}

    def window(self) -> dict[str, float]:
        """Return each metric over the current window, and start the next window."""
        values = {name: tally.get() for name, tally in self._window.items()}
        self._window = self._begin(self._windowed)
        return values

    def _begin(self, metrics: Metrics) -> dict[str, _Tally]:
        return {name: _Tally(metric, self._positive) for name, metric in metrics.items()}


class _Tally:
    """A fresh metric, of predictions or of what stands beside them."""

    def __init__(self, metric: Metric, positive: Label | None) -> None:
        self._metric: Any = fresh(metric)
        takes_predictions = getattr(metric, "requires_labels", not is_of_intervals(metric))
        self._takes_beside = not takes_predictions
        self._leaves_out_new = isinstance(metric, LogLoss)
        self._positive = positive if needs_positive(metric) else None
        self._is_known = False
        self._is_possible = True

    def update(self, y: Any, prediction: Any, beside: Any, is_new: bool) -> None:
        """Score a prediction if it is one that the metric is about."""
        output = beside if self._takes_beside else prediction
        self._is_possible &= not self._takes_beside or beside is not None
        if output is None or (self._takes_beside and output == {}):
            return
        if is_new and self._leaves_out_new and output.get(y) is None:
            return
        if self._positive is not None:
            y, output = y == self._positive, self._as_binary(output)
        self._metric.update(y, output)
        self._is_known = True

    def _as_binary(self, output: Any) -> Any:
        """Return a predicted label, or probabilities, with True for the positive label."""
        if not self._takes_beside:
            return output == self._positive
        p = output.get(self._positive, 0.0)
        return {True: p, False: 1.0 - p}

    def get(self) -> float:
        """Return the value of the metric, NaN if nothing was scored or can be."""
        return float(self._metric.get()) if self._is_known and self._is_possible else math.nan
