"""River metrics: finding them by name, a fresh copy for each run, and which ones suit a stream."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from river import metrics, utils
from river.metrics.base import BinaryMetric, ClassificationMetric

from river_amf.evaluation.errors import EvaluationError, suggest
from river_amf.evaluation.streams import Sample
from river_amf.kinds import shown

Kinds = Mapping[str, type[ClassificationMetric]]
Metric = ClassificationMetric | type[ClassificationMetric] | str


@functools.cache
def known_metrics() -> dict[str, type[ClassificationMetric]]:
    """Return river's classification metrics that need no arguments and give one number, by name."""
    known = {}
    for name, metric in vars(metrics).items():
        if isinstance(metric, type) and issubclass(metric, ClassificationMetric):
            with suppress(TypeError, NotImplementedError):
                metric().get()
                known[name] = metric
    return known


def find_metric(name: str) -> type[ClassificationMetric]:
    """Return the river metric of that name, ignoring case, or raise EvaluationError."""
    known = known_metrics()
    by_lower = {name.lower(): name for name in known}
    lower = name.strip().lower()
    if lower not in by_lower:
        hint = suggest(name, sorted(known))
        raise EvaluationError(
            f"{name!r} is not a river classification metric that works without arguments ({hint})"
        )
    return known[by_lower[lower]]


def name_metrics(always: Kinds, chosen: Iterable[Metric]) -> dict[str, ClassificationMetric]:
    """Return metrics by column name: those of every table, then the chosen ones by class name."""
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise TypeError(f"metrics must be a list of metrics, or None, got {shown(chosen)}")
    named = {name: make() for name, make in always.items()}
    for metric in chosen:
        found = find_metric(metric) if isinstance(metric, str) else metric
        made = found() if isinstance(found, type) else found
        if type(made) in always.values():
            continue  # it has a column already
        name = type(made).__name__
        if not _gives_a_number(made):
            raise TypeError(
                f"{name} must be a classification metric whose value is a single number"
            )
        if name in named:
            raise ValueError(
                f"metrics contains {name} twice; the table has one column for each metric class"
            )
        named[name] = made
    return named


def _gives_a_number(metric: Any) -> bool:
    """Whether this is a classification metric whose value is a single number."""
    try:
        float(metric.get())
    except (AttributeError, NotImplementedError, TypeError):
        return False
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


def check_labels(
    samples: Iterable[Sample], chosen: Iterable[ClassificationMetric], name: str
) -> None:
    """Raise EvaluationError if a metric needs binary labels and the stream has others."""
    # The stream is read only if it has to be. A metric with its own pos_val takes any labels.
    binary = next((m for m in chosen if isinstance(m, BinaryMetric) and _takes_true(m)), None)
    if binary is None:
        return
    odd = [y for _, y in samples if y not in (True, False)]
    if odd:
        metric = type(binary).__name__
        any_label = f"Macro{metric}" if f"Macro{metric}" in known_metrics() else "MacroF1"
        raise EvaluationError(
            f"metric {metric} needs labels True/False or 0/1, but {name} has the label {odd[0]!r};"
            f" {any_label} takes any labels"
        )


def _takes_true(metric: BinaryMetric) -> bool:
    """Whether the positive label of a metric is True."""
    return getattr(metric, "pos_val", True) is True  # LogLoss has no pos_val
