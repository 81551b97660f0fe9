"""Naive baselines beside a model: the most frequent label, or the mean and the last value."""

from __future__ import annotations

from typing import Any

from river import metrics

from river_amf.evaluation.streams import REGRESSION
from river_amf.evaluation.tasks import TASKS


class NaiveBaselines:
    """The predictions of the reference baselines of a task, updated in place, and their metrics.

    >>> naive = NaiveBaselines("classification")
    >>> for y in "aab":
    ...     naive.add(y)
    >>> naive.rows()
    {'majority': {'accuracy': 0.5}}
    """

    def __init__(self, task: str) -> None:
        self._is_regression, names = task == REGRESSION, TASKS[task].reference
        kinds: Any = {"MAE": metrics.MAE, "RMSE": metrics.RMSE, "R2": metrics.R2}
        kinds = kinds if self._is_regression else {"accuracy": metrics.Accuracy}
        self._metrics = {n: {kind: make() for kind, make in kinds.items()} for n in names}
        # of the next target; river's mean and last value begin with 0
        first = dict.fromkeys(names, 0.0)
        self._predictions: dict[str, Any] = first if self._is_regression else {}
        self._n, self._mean = 0, 0.0
        self._counts: dict[Any, int] = {}

    def add(self, y: Any) -> None:
        """Score the predictions of a target, then learn it."""
        for name, prediction in self._predictions.items():
            for metric in self._metrics[name].values():
                metric.update(y, prediction)
        if self._is_regression:
            self._n += 1
            self._mean += (y - self._mean) / self._n
            self._predictions = {"mean": self._mean, "last-value": y}
            return
        counts = self._counts
        n = counts[y] = counts.get(y, 0) + 1
        majority = self._predictions.setdefault("majority", y)
        if y != majority and n >= counts[majority]:  # the first label of several
            self._predictions["majority"] = max(counts, key=counts.__getitem__)

    def rows(self) -> dict[str, dict[str, float]]:
        """Return the metrics by the name of the baseline."""
        return {
            name: {kind: metric.get() for kind, metric in of_name.items()}
            for name, of_name in self._metrics.items()
        }
