"""Metrics: river's by name, fresh for each run and checked, and those of prediction intervals."""

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

from river_amf.evaluation.streams import CLASSIFICATION, REGRESSION, Label, Sample
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs.kinds import shown
from river_amf.regressor import LEVEL, check_level

Kinds = Mapping[str, type[metrics.base.Metric]]
Metric = metrics.base.Metric | type[metrics.base.Metric] | str

_KINDS: Mapping[str, Any] = {CLASSIFICATION: ClassificationMetric, REGRESSION: RegressionMetric}


class LogLoss(metrics.CrossEntropy):
    """River's cross-entropy, but a label that a prediction does not name has probability 0.

    River counts no loss for it, so the more a model leaves out, the better it seems. `Scores` skips
    a sample whose label is new to the stream, unless the prediction names it: that it does not says
    nothing about the model.
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


class _OfFinite(MeanMetric, RegressionMetric):
    """A mean over the finite intervals; they are infinite before the second target."""

    def update(self, y_true: float, y_pred: Any, w: float = 1.0) -> None:
        """Count an interval, unless it is infinite.

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


class Width(_OfFinite):
    """The mean width of the finite intervals, in the unit of the target.

    >>> metric = Width()
    >>> metric.update(3.0, Interval(2.0, 5.0))
    >>> metric.get()
    3.0
    """

    def _eval(self, y_true: float, y_pred: Interval) -> float:
        return y_pred.width


class NMPIW(Width):
    """Normalized mean prediction interval width: relative to the range of the targets[^1].

    The range is that of all targets so far, even if the metric rolls; the value is NaN before there
    are two different ones.

    >>> metric = NMPIW()
    >>> metric.update(1.0, Interval(0.0, 2.0))
    >>> metric.update(5.0, Interval(4.0, 6.0))
    >>> metric.get()
    0.5

    References
    ----------
    [^1]: Khosravi, A., et al. (2011). Comprehensive review of neural network-based prediction
        intervals and new advances. IEEE Transactions on Neural Networks, 22(9), 1341-1356.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._least, self._largest = math.inf, -math.inf

    def update(self, y_true: float, y_pred: Any, w: float = 1.0) -> None:
        """Count an interval, and a target in the range.

        >>> metric = NMPIW()
        >>> metric.update(1.0, Interval(-math.inf, math.inf))
        >>> metric.update(3.0, Interval(2.0, 5.0))
        >>> metric.get()
        1.5
        """
        self._least, self._largest = min(self._least, y_true), max(self._largest, y_true)
        super().update(y_true, y_pred, w)

    def get(self) -> float:
        """Return the mean width over the range.

        >>> NMPIW().get()
        nan
        """
        mean: float = super().get()  # type: ignore[no-untyped-call]
        extent = self._largest - self._least
        return mean / extent if extent > 0.0 else math.nan


class IntervalScore(_OfFinite):
    """Winkler's score: the mean width, plus `2 / (1 - level)` times the distance of misses[^1].

    Infinite intervals, as those before the second target, do not count.

    Parameters
    ----------
    level
        That of the model's intervals, strictly between 0 and 1; forests give 0.9 by default.

    Examples
    --------
    >>> metric = IntervalScore(level=0.8)
    >>> metric.update(3.0, Interval(2.0, 5.0))
    >>> metric.update(1.5, Interval(2.0, 5.0))  # 0.5 below, times 10
    >>> round(metric.get(), 6)
    5.5

    References
    ----------
    [^1]: Gneiting, T., & Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and
        estimation. Journal of the American Statistical Association, 102(477), 359-378.
    """

    def __init__(self, level: float = LEVEL) -> None:
        check_level("level", level)
        super().__init__()  # type: ignore[no-untyped-call]
        self.level = level

    def _eval(self, y_true: float, y_pred: Interval) -> float:
        miss = max(y_pred.lower - y_true, y_true - y_pred.upper, 0.0)
        return y_pred.width + 2.0 / (1.0 - self.level) * miss


OF_INTERVALS = (Coverage, Width, NMPIW, IntervalScore)


def is_of_intervals(metric: Any) -> bool:
    """Whether a metric, which may roll, is about intervals."""
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
    """Return the river metric of that name, ignoring case, or raise EvaluationError.

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
        if not _gives_a_number(made, task):
            raise TypeError(f"{name} must be a {task} metric whose value is a single number")
        if name in named:
            raise ValueError(
                f"metrics contains {name} twice; the table has one column for each metric class"
            )
        named[name] = made
    return named


def _gives_a_number(metric: Any, task: str) -> bool:
    """Whether this is a metric for the task whose value is a single number."""
    try:
        float(metric.get())
    except (AttributeError, NotImplementedError, TypeError):
        return False
    if task == REGRESSION:
        return isinstance(inner(metric), RegressionMetric)
    return hasattr(metric, "requires_labels")


def fresh(metric: Any) -> Any:
    """Return a metric of the same kind, rolling ones included, that has not been updated yet."""
    if isinstance(metric, utils.TimeRolling):  # samples carry no time
        raise TypeError(
            f"TimeRolling of {type(metric.obj).__name__} needs the time of each sample, which is"
            " not available; use Rolling, whose window is a number of samples"
        )
    if not isinstance(metric, utils.Rolling):
        return metric.clone()
    # The clone() of river's Rolling is a clone of the metric inside, without the window.
    rolling = copy.deepcopy(metric)
    rolling.obj = fresh(metric.obj)
    rolling.window.clear()
    return rolling


def check_positive(
    samples: Iterable[Sample], chosen: Iterable[metrics.base.Metric], name: str, positive: Any
) -> Label | None:
    """Return the label that is positive, given as itself or as text; None means True.

    Raise EvaluationError if there is no such label or no metric that asks for it, or if a metric
    needs binary labels and the stream has others.
    """
    # The stream is read only if it has to be. A metric with its own pos_val takes any labels.
    binary = next((metric for metric in chosen if needs_positive(metric)), None)
    if positive is not None:
        if binary is None:
            raise EvaluationError(
                f"positive label {positive!r}: none of the metrics needs one, as F1 and ROCAUC do"
            )
        known: dict[Label, None] = {}
        for _, y in samples:
            if y == positive or str(y).strip() == str(positive).strip():
                found: Label = y
                return found
            known[y] = None
        hint = suggest(str(positive), [str(label) for label in known])
        raise EvaluationError(f"no sample of {name} has the label {positive!r} ({hint})")
    odd = [] if binary is None else [y for _, y in samples if y not in (True, False)]
    if odd:
        metric = type(inner(binary)).__name__
        any_label = f"Macro{metric}" if f"Macro{metric}" in known_metrics() else "MacroF1"
        raise EvaluationError(
            f"metric {metric} needs labels True/False or 0/1, but {name} has the label {odd[0]!r};"
            f" {any_label} takes any labels, and positive (--positive) names the label that counts"
            " as True"
        )
    return None


def needs_positive(metric: Any) -> bool:
    """Whether a metric compares the label True with all others."""
    binary = inner(metric)
    # LogLoss has no pos_val
    return isinstance(binary, BinaryMetric) and getattr(binary, "pos_val", True) is True


def parts_of(metric: Any) -> list[Any]:
    """Return the metrics of a sum, or the one."""
    return [*metric] if isinstance(metric, metrics.base.Metrics) else [metric]


def inner(metric: Any) -> Any:
    """Return the metric inside of one that rolls."""
    return metric.obj if isinstance(metric, utils.Rolling) else metric
