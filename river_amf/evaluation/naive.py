"""Naive baselines beside a model: the most frequent label, or the mean and the last value."""

from __future__ import annotations

from collections import Counter
from typing import Any

from river import metrics

from river_amf.evaluation.streams import CLASSIFICATION

_OF_NUMBERS = {"MAE": metrics.MAE, "RMSE": metrics.RMSE, "R2": metrics.R2}


class NaiveBaselines:
    """The metrics of predictions that need targets alone.

    They are those of the baselines `majority`, `mean` and `last-value`, at a fraction of the time.

    >>> naive = NaiveBaselines("classification")
    >>> for y in "aab":
    ...     naive.add(y)
    >>> naive.rows()
    {'majority': {'accuracy': 0.5}}
    """

    def __init__(self, task: str) -> None:
        self._counts: Counter[Any] | None = Counter() if task == CLASSIFICATION else None
        self._places: dict[Any, int] = {}  # in the order of appearance
        self._majority: Any = None
        self._n, self._mean, self._last = 0, 0.0, 0.0
        names = ("majority",) if task == CLASSIFICATION else ("mean", "last-value")
        kinds: Any = {"accuracy": metrics.Accuracy} if task == CLASSIFICATION else _OF_NUMBERS
        self._metrics = {name: {kind: make() for kind, make in kinds.items()} for name in names}

    def add(self, y: Any) -> None:
        """Predict a target, and count it."""
        self._n += 1
        if self._counts is None:
            for name, prediction in (("mean", self._mean), ("last-value", self._last)):
                for metric in self._metrics[name].values():
                    metric.update(y, prediction)
            self._mean += (y - self._mean) / self._n
            self._last = y
            return
        if self._n > 1:
            self._metrics["majority"]["accuracy"].update(y, self._majority)
        self._counts[y] += 1
        place = self._places.setdefault(y, len(self._places))
        best = self._counts[self._majority], -self._places.get(self._majority, place)
        if self._n == 1 or (self._counts[y], -place) > best:  # of equals the one that came first
            self._majority = y

    def rows(self) -> dict[str, dict[str, float]]:
        """Return the metrics by the name of the baseline."""
        return {
            name: {kind: metric.get() for kind, metric in of_name.items()}
            for name, of_name in self._metrics.items()
        }
