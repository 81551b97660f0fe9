"""Scores of predictions: river metrics over the whole stream and over windows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from river.metrics.base import ClassificationMetric

from river_amf.evaluation.metrics import fresh
from river_amf.evaluation.streams import Label

Metrics = Mapping[str, ClassificationMetric]


class Scores:
    """Metrics by name over all predictions, and others over the current window."""

    # The metrics that are passed in are copied, and never updated themselves.
    def __init__(self, metrics: Metrics, windowed: Metrics | None = None) -> None:
        self._windowed = windowed or {}
        self._total = _begin(metrics)
        self._window = _begin(self._windowed)

    def update(self, y: Label, label: Label | None, proba: dict[Label, float] | None) -> None:
        """Score a prediction as river does: a sample without a prediction is not scored."""
        # If the model knew nothing yet, label is None and proba is empty. If the model gives no
        # probabilities, proba is None, and the metrics that need probabilities are NaN.
        for tally in (*self._total.values(), *self._window.values()):
            tally.update(y, label, proba)

    def total(self) -> dict[str, float]:
        """Return each metric over all predictions, NaN where nothing was scored."""
        return {name: tally.get() for name, tally in self._total.items()}

    def window(self) -> dict[str, float]:
        """Return each metric over the current window, and start the next window."""
        values = {name: tally.get() for name, tally in self._window.items()}
        self._window = _begin(self._windowed)
        return values


class _Tally:
    """A fresh metric, and whether it has scored anything yet."""

    def __init__(self, metric: ClassificationMetric) -> None:
        self._metric: Any = fresh(metric)
        self._takes_labels = self._metric.requires_labels
        self._is_known = False
        self._is_possible = True

    def update(self, y: Label, label: Label | None, proba: dict[Label, float] | None) -> None:
        said: Any = label if self._takes_labels else proba or None
        if said is not None:
            self._metric.update(y, said)
            self._is_known = True
        self._is_possible &= self._takes_labels or proba is not None

    def get(self) -> float:
        return float(self._metric.get()) if self._is_known and self._is_possible else math.nan


def _begin(metrics: Metrics) -> dict[str, _Tally]:
    return {name: _Tally(metric) for name, metric in metrics.items()}
