"""Scores of predictions: river metrics over the whole stream and over windows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

from river.metrics.base import Metric, RegressionMetric

from river_amf.evaluation.interval_metrics import is_of_intervals
from river_amf.evaluation.metrics import LogLoss, asks_for_positive, fresh, inner
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
        self._total = _begin(metrics, positive)
        self._window = _begin(self._windowed, positive)
        self._has_labels = any(isinstance(tally, _LabelTally) for tally in self._tallies())
        self.need_intervals = any(
            is_of_intervals(metric) for metric in (*metrics.values(), *self._windowed.values())
        )

    def update(self, y: Target, prediction: Target | None, beside: Any) -> None:
        """Score a prediction as river does: a sample without a prediction is not scored."""
        # If the model knew nothing yet, the label is None and the probabilities beside it are
        # empty. If the model gives no probabilities, or no interval beside a number, it is None,
        # and the metrics that need them are NaN.
        is_new = y not in self._seen
        for tally in self._tallies():
            tally.update(y, prediction, beside, is_new)
        if self._has_labels:  # there is no end of numbers
            self._seen.add(y)

    def total(self) -> dict[str, float]:
        """Return each metric over all predictions, NaN where nothing was scored."""
        return {name: tally.get() for name, tally in self._total.items()}

    def window(self) -> dict[str, float]:
        """Return each metric over the current window, and start the next window."""
        values = {name: tally.get() for name, tally in self._window.items()}
        self._window = _begin(self._windowed, self._positive)
        return values

    def _tallies(self) -> list[_Tally]:
        return [*self._total.values(), *self._window.values()]


class _Tally(Protocol):
    """A fresh metric, and whether it has scored anything yet."""

    def update(self, y: Any, prediction: Any, beside: Any, is_new: bool) -> None: ...

    def get(self) -> float: ...


class _LabelTally:
    """A metric of labels or probabilities."""

    def __init__(self, metric: Metric, positive: Label | None) -> None:
        self._metric: Any = fresh(metric)
        self._takes_labels = self._metric.requires_labels
        self._leaves_out_new = isinstance(self._metric, LogLoss)
        self._positive = positive if asks_for_positive(self._metric) else None
        self._is_known = False
        self._is_possible = True

    def update(
        self, y: Label, label: Label | None, proba: dict[Label, float] | None, is_new: bool
    ) -> None:
        said: Any = label if self._takes_labels else proba or None
        self._is_possible &= self._takes_labels or proba is not None
        if said is None or (is_new and self._leaves_out_new and said.get(y) is None):
            return
        if self._positive is None:
            self._metric.update(y, said)
        else:
            self._metric.update(y == self._positive, self._as_binary(said))
        self._is_known = True

    def _as_binary(self, said: Any) -> Any:
        """Return a predicted label, or probabilities, with True for the positive label."""
        if self._takes_labels:
            return said == self._positive
        p = said.get(self._positive, 0.0)
        return {True: p, False: 1.0 - p}

    def get(self) -> float:
        return float(self._metric.get()) if self._is_known and self._is_possible else math.nan


class _NumberTally:
    """A metric of numbers or intervals."""

    def __init__(self, metric: Metric) -> None:
        self._metric: Any = fresh(metric)
        self._takes_intervals = is_of_intervals(metric)
        self._is_known = False

    def update(self, y: float, prediction: float | None, interval: Any, is_new: bool) -> None:
        said = interval if self._takes_intervals else prediction
        if said is not None:
            self._metric.update(y, said)
            self._is_known = True

    def get(self) -> float:
        return float(self._metric.get()) if self._is_known else math.nan


def _begin(metrics: Metrics, positive: Label | None) -> dict[str, _Tally]:
    return {
        name: _NumberTally(metric)
        if isinstance(inner(metric), RegressionMetric)
        else _LabelTally(metric, positive)
        for name, metric in metrics.items()
    }
