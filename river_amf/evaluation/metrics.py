"""Metrics: river's by name, and ours, and the scores of a run by these."""

import functools
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from river import metrics
from river.conf import Interval
from river.metrics import MAE, R2, RMSE, Accuracy, CohenKappa, ConfusionMatrix
from river.metrics.base import BinaryMetric, ClassificationMetric, MeanMetric, RegressionMetric

from river_amf.evaluation.prequential import Step
from river_amf.evaluation.streams import Stream
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs.kinds import shown
from river_amf.state.layout import CLASSIFICATION, REGRESSION, Task

Metric = metrics.base.Metric | type[metrics.base.Metric] | str
Metrics = Mapping[str, metrics.base.Metric]

_KINDS: Any = {CLASSIFICATION: ClassificationMetric, REGRESSION: RegressionMetric}
_LEAST = 1e-15  # probability, as in river


class LogLoss(metrics.CrossEntropy):
    """River's cross-entropy, but a label that a prediction does not name has probability 0.

    River counts no loss for it, so the more a model leaves out, the better it seems.
    """

    def _eval(self, y_true: Any, y_pred: Any) -> float:
        p = y_pred.get(y_true, 0.0)
        return -math.log(_LEAST if p < _LEAST else min(p, 1.0 - _LEAST))


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


class ROCAUC(metrics.ROCAUC):
    """River's area under the ROC curve, but exact, as ten thresholds miss rare labels."""

    def __init__(self) -> None:
        self._scores: tuple[Any, Any] = array("d"), array("d")  # of the other label, of True

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        self._scores[bool(y_true)].append(y_pred.get(True, 0.0))

    def get(self) -> float:
        """Return how often a True has the larger probability of two samples; in a tie, half."""
        others, trues = map(np.sort, self._scores)
        n_pairs = len(others) * len(trues)
        wins = sum(np.searchsorted(others, trues, side).sum() for side in ("left", "right"))
        return float(wins / (2 * n_pairs)) if n_pairs else math.nan


# the metrics of every table, by column
TABLES: dict[Task, dict[str, Any]] = {
    CLASSIFICATION: {"accuracy": Accuracy, "kappa": CohenKappa, "log-loss": LogLoss},
    REGRESSION: {"MAE": MAE, "RMSE": RMSE, "R2": R2, "coverage": Coverage, "width": Width},
}


@functools.cache
def metrics_of(task: Task) -> dict[str, Any]:
    """Return river's metrics for a task that need no arguments and give one number, by name."""
    usable = {}
    for name, metric in vars(metrics).items():
        if isinstance(metric, type) and issubclass(metric, _KINDS[task]):
            with suppress(TypeError, NotImplementedError):
                metric().get()
                usable[name] = metric
    return usable if task == REGRESSION else usable | {"ROCAUC": ROCAUC}


def make_metrics(chosen: Iterable[Metric], stream: Stream) -> Metrics:
    task = stream.task
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise EvaluationError(f"metrics must be a list of metrics, or None, got {shown(chosen)}")
    named: dict[str, Any] = {name: make() for name, make in TABLES[task].items()}
    usable = metrics_of(task)
    by_lower = {name.lower(): metric for name, metric in usable.items()}
    for metric in chosen:
        made: Any = by_lower.get(metric.lower()) if isinstance(metric, str) else metric
        if made is None:
            raise EvaluationError(
                f"{metric!r} is not a river {task} metric that works without arguments"
                f" ({suggest(str(metric), sorted(usable))})"
            )
        made = made() if isinstance(made, type) else made
        name = type(made).__name__
        is_table = isinstance(made, metrics.ConfusionMatrix | metrics.ClassificationReport)
        if not isinstance(made, _KINDS[task]) or is_table:
            raise EvaluationError(f"{name} must be a {task} metric whose value is a single number")
        odd = (y for y in stream.targets if y not in (True, False))
        if isinstance(made, BinaryMetric) and (y := next(odd, None)) is not None:
            raise EvaluationError(
                f"metric {name} needs labels True/False or 0/1, but {stream.name} has the label"
                f" {y!r}; MacroF1 takes any labels"
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

    A sample without a prediction is not scored, as in river. Nor does the log-loss count a label
    that is new to the model, unless the prediction names it.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics: dict[str, Any] = {name: metric.clone() for name, metric in metrics.items()}
        # these need no more than how often a label was predicted as another one
        self._of_pairs = {n for n, m in metrics.items() if type(m) in (Accuracy, CohenKappa)}
        self.pairs: Counter[tuple[Any, Any]] = Counter()  # of a label and the predicted one
        self._others = [
            (name, metric, getattr(metric, "requires_labels", True))
            for name, metric in self._metrics.items()
            if name not in self._of_pairs
        ]
        self._scored: set[str] = set()

    def add(self, step: Step) -> None:
        _, y, prediction, uncertainty, is_new, _ = step
        if prediction is None:
            return
        if self._of_pairs:
            self.pairs[y, prediction] += 1
        for name, metric, requires_labels in self._others:
            if requires_labels:
                metric.update(y, prediction)
            elif uncertainty is None:  # from now on
                self._scored.discard(name)
                continue
            elif not uncertainty or (is_new and type(metric) is LogLoss and y not in uncertainty):
                continue
            else:
                metric.update(y, uncertainty)
            self._scored.add(name)

    def get(self) -> dict[str, float]:
        """Return each metric, NaN where nothing was scored or can be."""
        matrix: Any = ConfusionMatrix()  # type: ignore[no-untyped-call]
        for pair, n in self.pairs.items():
            matrix.update(*pair, n)
        pair_metrics = {name: type(self._metrics[name])(matrix) for name in self._of_pairs}
        scored = self._scored | pair_metrics.keys() if self.pairs else self._scored
        return {
            name: float(metric.get()) if name in scored else math.nan
            for name, metric in (self._metrics | pair_metrics).items()
        }
