"""Metrics: river's by name, and ours; the scores of a run by these, and of naive baselines."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd
from river import metrics
from river.conf import Interval
from river.metrics import MAE, R2, RMSE, Accuracy, CohenKappa
from river.metrics.base import BinaryMetric, ClassificationMetric, MeanMetric, RegressionMetric

from river_amf.evaluation.prequential import Step
from river_amf.evaluation.streams import CLASSIFICATION, REGRESSION, Sample
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs.kinds import shown

Metric = metrics.base.Metric | type[metrics.base.Metric] | str
Metrics = Mapping[str, metrics.base.Metric]

_KINDS: Any = {CLASSIFICATION: ClassificationMetric, REGRESSION: RegressionMetric}


class LogLoss(metrics.CrossEntropy):
    """River's cross-entropy, but a label that a prediction does not name has probability 0.

    River counts no loss for it, so the more a model leaves out, the better it seems.
    """

    def _eval(self, y_true: Any, y_pred: Any) -> float:
        named = {y_true: y_pred.get(y_true, 0.0)}
        loss: float = super()._eval(y_true, named)  # type: ignore[no-untyped-call]
        return loss


class OfIntervals(MeanMetric, RegressionMetric):
    """A mean over targets and their prediction intervals."""

    requires_labels = False


class Coverage(OfIntervals):
    """The share of targets that lie in their interval."""

    bigger_is_better = True  # up to the level of the intervals

    def _eval(self, y_true: float, y_pred: Interval) -> float:
        return float(y_true in y_pred)


class Width(OfIntervals):
    """The mean width of the intervals, in the unit of the target."""

    def update(self, y_true: float, y_pred: Any, w: float = 1.0) -> None:
        """Count an interval, unless it is infinite, as before the second target."""
        if math.isfinite(y_pred.width):
            super().update(y_true, y_pred, w)

    def _eval(self, y_true: float, y_pred: Interval) -> float:
        return y_pred.width


# the metrics of every table, by column
TABLES: dict[str, dict[str, Any]] = {
    CLASSIFICATION: {"accuracy": Accuracy, "kappa": CohenKappa, "log-loss": LogLoss},
    REGRESSION: {"MAE": MAE, "RMSE": RMSE, "R2": R2, "coverage": Coverage, "width": Width},
}


@functools.cache
def metrics_of(task: str) -> dict[str, Any]:
    """Return river's metrics for a task that need no arguments and give one number, by name."""
    usable = {}
    for name, metric in vars(metrics).items():
        if isinstance(metric, type) and issubclass(metric, _KINDS[task]):
            with suppress(TypeError, NotImplementedError):
                metric().get()
                usable[name] = metric
    return usable


def _find(name: str, task: str) -> Any:
    """Return a new metric of that name, ignoring case, or raise EvaluationError."""
    by_name = {n.lower(): metric for n, metric in metrics_of(task).items()}
    if name.lower() in by_name:
        return by_name[name.lower()]()
    raise EvaluationError(
        f"{name!r} is not a river {task} metric that works without arguments"
        f" ({suggest(name, sorted(metrics_of(task)))})"
    )


def make_metrics(
    chosen: Iterable[Metric], task: str, samples: Iterable[Sample], stream: str
) -> Metrics:
    """Return the metrics of every table and the chosen ones, by column."""
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise EvaluationError(f"metrics must be a list of metrics, or None, got {shown(chosen)}")
    named: dict[str, Any] = {name: make() for name, make in TABLES[task].items()}
    for metric in chosen:
        made: Any = _find(metric, task) if isinstance(metric, str) else metric
        made = made() if isinstance(made, type) else made
        name = type(made).__name__
        is_table = isinstance(made, metrics.ConfusionMatrix | metrics.ClassificationReport)
        if not isinstance(made, _KINDS[task]) or is_table:
            raise EvaluationError(f"{name} must be a {task} metric whose value is a single number")
        odd = (y for _, y in samples if y not in (True, False))
        if isinstance(made, BinaryMetric) and (y := next(odd, None)) is not None:
            raise EvaluationError(
                f"metric {name} needs labels True/False or 0/1, but {stream} has the label {y!r};"
                " MacroF1 takes any labels"
            )
        if type(made) not in TABLES[task].values():
            named[name] = made
    return named


def smaller_is_better(column: str) -> bool:
    """Return whether a column of a table, such as a metric of river, is an error or a cost.

    >>> [smaller_is_better(column) for column in ("accuracy", "log-loss", "MAE", "R2", "memory")]
    [False, True, True, False, True]
    """
    for table in (*TABLES.values(), *map(metrics_of, _KINDS)):
        if column in table:
            return not table[column]().bigger_is_better
    return column in ("us_per_sample", "memory")


class Scores:
    """Metrics by name over steps.

    A sample without a prediction is not scored, as in river. In the log-loss, a label that is new
    to the model is not either, unless the prediction names it.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics: dict[str, Any] = {name: metric.clone() for name, metric in metrics.items()}
        self._of_beside = {n for n, m in metrics.items() if not getattr(m, "requires_labels", True)}
        self._scored: set[str] = set()
        self._lacking: set[str] = set()  # metrics of probabilities or intervals of which one lacks

    def add(self, step: Step) -> None:
        """Score a step."""
        for name, metric in self._metrics.items():
            output = step.beside if name in self._of_beside else step.prediction
            if output is None:
                if name in self._of_beside:
                    self._lacking.add(name)
            elif output != {}:
                if step.is_new and isinstance(metric, LogLoss) and step.y not in step.beside:
                    continue
                metric.update(step.y, output)
                self._scored.add(name)

    def get(self) -> dict[str, float]:
        """Return each metric, NaN where nothing was scored or can be."""
        scored = self._scored - self._lacking
        return {n: float(m.get()) if n in scored else math.nan for n, m in self._metrics.items()}


def naive_scores(task: str, targets: Sequence[Any]) -> dict[str, dict[str, float]]:
    """Return metrics of the reference baselines of a task, for targets in order."""
    if task == REGRESSION:
        y = pd.Series(targets, dtype="float64")
        learned = {"mean": y.expanding().mean(), "last-value": y}
        return {name: _errors(y, values.shift(fill_value=0.0)) for name, values in learned.items()}
    counts, majority, hits = Counter[Any](), None, 0
    for target in targets:
        hits += target == majority
        counts[target] += 1
        if target != majority and counts[target] >= counts[majority]:  # the first label of several
            majority = max(counts, key=counts.__getitem__)
    return {"majority": {"accuracy": hits / (len(targets) - 1) if len(targets) > 1 else math.nan}}


def _errors(y: pd.Series, prediction: pd.Series) -> dict[str, float]:
    """Return the metrics of predictions, of which the first is not scored."""
    y, prediction = y[1:], prediction[1:]
    mse, variance = ((y - prediction) ** 2).mean(), y.var(ddof=0)
    return {
        "MAE": float((y - prediction).abs().mean()),
        "RMSE": float(mse**0.5),
        "R2": float(1.0 - mse / (variance or math.nan)),
    }
