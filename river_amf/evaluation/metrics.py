"""Metrics: river's by name, and those of probabilities and prediction intervals that it lacks."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from river import metrics, utils
from river.conf import Interval
from river.metrics.base import BinaryMetric, ClassificationMetric, MeanMetric, RegressionMetric

from river_amf.evaluation.streams import CLASSIFICATION, REGRESSION, Sample
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs.kinds import shown

Kinds = Mapping[str, type[metrics.base.Metric]]
Metric = metrics.base.Metric | type[metrics.base.Metric] | str

_KINDS: Mapping[str, Any] = {CLASSIFICATION: ClassificationMetric, REGRESSION: RegressionMetric}


class LogLoss(metrics.CrossEntropy):
    """River's cross-entropy, but a label that a prediction does not name has probability 0.

    River counts no loss for it, so the more a model leaves out, the better it seems. `Scores` skips
    a sample whose label is new to the stream, unless the prediction names it.
    """

    def _eval(self, y_true: Any, y_pred: Any) -> float:
        named = {y_true: y_pred.get(y_true, 0.0)}
        loss: float = super()._eval(y_true, named)  # type: ignore[no-untyped-call]
        return loss


class Coverage(MeanMetric, RegressionMetric):
    """The share of targets that lie in their interval.

    >>> metric = Coverage()
    >>> metric.update(3.0, Interval(2.0, 5.0))
    >>> metric.get()
    1.0
    """

    @property
    def bigger_is_better(self) -> bool:
        """Whether more is better: not beyond the level of the intervals."""
        return True

    def _eval(self, y_true: float, y_pred: Interval) -> float:
        return float(y_true in y_pred)


class Width(MeanMetric, RegressionMetric):
    """The mean width of the finite intervals, in the unit of the target.

    >>> metric = Width()
    >>> metric.update(3.0, Interval(2.0, 5.0))
    >>> metric.get()
    3.0
    """

    def update(self, y_true: float, y_pred: Any, w: float = 1.0) -> None:
        """Count an interval, unless it is infinite, as before the second target.

        >>> metric = Width()
        >>> metric.update(3.0, Interval(-math.inf, math.inf))
        >>> metric.get()
        0.0
        """
        if math.isfinite(y_pred.width):
            super().update(y_true, y_pred, w)

    def revert(self, y_true: float, y_pred: Any, w: float = 1.0) -> None:
        """Take an interval out of the mean.

        >>> metric = Width()
        >>> metric.update(3.0, Interval(2.0, 5.0))
        >>> metric.update(3.0, Interval(2.0, 3.0))
        >>> metric.revert(3.0, Interval(2.0, 5.0))
        >>> metric.get()
        1.0
        """
        if math.isfinite(y_pred.width):
            super().revert(y_true, y_pred, w)

    def _eval(self, y_true: float, y_pred: Interval) -> float:
        return y_pred.width


OF_INTERVALS = (Coverage, Width)


def is_of_intervals(metric: Any) -> bool:
    """Return whether a metric, which may roll, is about intervals."""
    return isinstance(inner(metric), OF_INTERVALS)


@functools.cache
def known_metrics(task: str = CLASSIFICATION) -> dict[str, type[metrics.base.Metric]]:
    """Return river's metrics and ours for a task that need no arguments and give one number."""
    known = {}
    ours = {metric.__name__: metric for metric in OF_INTERVALS}
    for name, metric in (vars(metrics) | ours).items():
        if isinstance(metric, type) and issubclass(metric, _KINDS[task]):
            with suppress(TypeError, NotImplementedError):
                metric().get()
                known[name] = metric
    return known


def find_metric(name: str, task: str | None = CLASSIFICATION) -> type[metrics.base.Metric]:
    """Return the metric of that name, ignoring case, or raise EvaluationError.

    Without a task it may be one for any.
    """
    tasks = _KINDS if task is None else (task,)
    known = {name: metric for task in tasks for name, metric in known_metrics(task).items()}
    by_lower = {name.lower(): name for name in known}
    lower = name.strip().lower()
    if lower in by_lower:
        return known[by_lower[lower]]
    kind = "" if task is None else f"{task} "
    others = (other for other in _KINDS if lower in map(str.lower, known_metrics(other)))
    but = "".join(f", but one for {other}" for other in others)
    raise EvaluationError(
        f"{name!r} is not a river {kind}metric that works without arguments{but}"
        f" ({suggest(name, sorted(known))})"
    )


def name_metrics(
    always: Kinds, chosen: Iterable[Metric], task: str = CLASSIFICATION
) -> dict[str, metrics.base.Metric]:
    """Return metrics by column name: those of every table, then the chosen ones by class name."""
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise TypeError(f"metrics must be a list of metrics, or None, got {shown(chosen)}")
    named = {name: make() for name, make in always.items()}
    for metric in chosen:
        found = find_metric(metric, task) if isinstance(metric, str) else metric
        made = found() if isinstance(found, type) else found
        if type(made) in always.values():
            continue  # it has a column already
        name = type(made).__name__
        is_for_task = isinstance(inner(made), _KINDS[task]) and not isinstance(
            made, metrics.ConfusionMatrix | utils.TimeRolling
        )
        if not is_for_task:
            raise TypeError(f"{name} must be a {task} metric whose value is a single number")
        if name in named:
            raise ValueError(
                f"metrics contains {name} twice; the table has one column for each metric class"
            )
        named[name] = made
    return named


def fresh(metric: Any) -> Any:
    """Return a metric of the same kind, rolling ones included, that has not been updated yet."""
    if not isinstance(metric, utils.Rolling):
        return metric.clone()
    # The clone() of river's Rolling is a clone of the metric inside, without the window.
    rolling = copy.deepcopy(metric)
    rolling.obj = fresh(metric.obj)
    rolling.window.clear()
    return rolling


def check_labels(samples: Iterable[Sample], chosen: Iterable[Any], name: str) -> None:
    """Raise EvaluationError if a metric needs the labels True and False and there are others."""
    binary = next((metric for metric in chosen if isinstance(inner(metric), BinaryMetric)), None)
    odd = None if binary is None else next((y for _, y in samples if y not in (True, False)), None)
    if odd is not None:
        metric = type(inner(binary)).__name__
        other = f"Macro{metric}" if f"Macro{metric}" in known_metrics() else "MacroF1"
        raise EvaluationError(
            f"metric {metric} needs labels True/False or 0/1, but {name} has the label {odd!r};"
            f" {other} takes any labels"
        )


def inner(metric: Any) -> Any:
    """Return the metric inside of one that rolls."""
    return metric.obj if isinstance(metric, utils.Rolling) else metric
