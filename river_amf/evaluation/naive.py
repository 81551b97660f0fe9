"""Naive baselines beside a model: the most frequent label, or the mean and the last value."""

from __future__ import annotations

from typing import Any

from river import metrics

from river_amf.evaluation.tasks import REGRESSION, Task

_OF_NUMBERS = {"MAE": metrics.MAE, "RMSE": metrics.RMSE, "R2": metrics.R2}


class NaiveBaselines:
    """The baselines that are always beside other models, with metrics of their predictions.

    >>> from river_amf.evaluation.tasks import CLASSIFICATION
    >>> naive = NaiveBaselines(CLASSIFICATION)
    >>> for y in "aab":
    ...     naive.add(y)
    >>> naive.rows()
    {'majority': {'accuracy': 0.5}}
    """

    def __init__(self, task: Task) -> None:
        kinds: Any = _OF_NUMBERS if task is REGRESSION else {"accuracy": metrics.Accuracy}
        self._models: dict[str, Any] = {name: task.maker(name, None)() for name in task.reference}
        self._metrics = {n: {kind: make() for kind, make in kinds.items()} for n in self._models}

    def add(self, y: Any) -> None:
        """Predict a target, and learn it."""
        for name, model in self._models.items():
            prediction = model.predict_one({})
            if prediction is not None:
                for metric in self._metrics[name].values():
                    metric.update(y, prediction)
            model.learn_one({}, y)

    def rows(self) -> dict[str, dict[str, float]]:
        """Return the metrics by the name of the baseline."""
        return {
            name: {kind: metric.get() for kind, metric in of_name.items()}
            for name, of_name in self._metrics.items()
        }
