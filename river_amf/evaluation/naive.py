"""Naive baselines beside a model: the most frequent label, or the mean and the last value."""

from __future__ import annotations

from typing import Any

from river.metrics import MAE, R2, RMSE, Accuracy

from river_amf.evaluation.tasks import CLASSIFICATION, TASKS

_METRICS: dict[str, Any] = {"MAE": MAE, "RMSE": RMSE, "R2": R2}


class NaiveBaselines:
    """The metrics of baselines that need targets alone, such as `majority`.

    >>> naive = NaiveBaselines("classification")
    >>> for y in "aab":
    ...     naive.add(y)
    >>> naive.rows()
    {'majority': {'accuracy': 0.5}}
    """

    def __init__(self, task: str) -> None:
        kinds = {"accuracy": Accuracy} if task == CLASSIFICATION.name else _METRICS
        self._baselines: dict[str, tuple[Any, dict[str, Any]]] = {
            name: (TASKS[task].maker(name, None)(), {kind: make() for kind, make in kinds.items()})
            for name in TASKS[task].reference
        }

    def add(self, y: Any) -> None:
        """Predict a target, and learn it."""
        for model, metrics in self._baselines.values():
            prediction = model.predict_one({})
            for metric in metrics.values() if prediction is not None else ():
                metric.update(y, prediction)
            model.learn_one({}, y)

    def rows(self) -> dict[str, dict[str, float]]:
        """Return the metrics by the name of the baseline."""
        return {
            name: {kind: metric.get() for kind, metric in metrics.items()}
            for name, (_, metrics) in self._baselines.items()
        }
