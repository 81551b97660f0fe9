"""Metrics of river: by name, afresh for each run, and which of them suit a stream."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from river import metrics, utils
from river.metrics.base import BinaryMetric, ClassificationMetric

from river_amf.encoding import shown
from river_amf.evaluation.errors import EvaluationError, suggest
from river_amf.evaluation.streams import Sample

Kinds = Mapping[str, type[ClassificationMetric]]
Metric = ClassificationMetric | type[ClassificationMetric] | str


@functools.cache
def known_metrics() -> dict[str, type[ClassificationMetric]]:
    """Return the metrics of river, by name, that need no argument and give one number.

    >>> {"Accuracy", "MacroF1"} <= known_metrics().keys()
    True
    """
    known = {}
    for name, metric in vars(metrics).items():
        if isinstance(metric, type) and issubclass(metric, ClassificationMetric):
            with suppress(TypeError, NotImplementedError):
                metric().get()
                known[name] = metric
    return known


def find_metric(name: str) -> type[ClassificationMetric]:
    """Return the metric of river of that name, in any case, or raise EvaluationError.

    >>> find_metric("macrof1").__name__
    'MacroF1'
    """
    known = known_metrics()
    by_lower = {name.lower(): name for name in known}
    lower = name.strip().lower()
    if lower not in by_lower:
        hint = suggest(name, sorted(known))
        raise EvaluationError(f"no classification metric {name!r} without arguments ({hint})")
    return known[by_lower[lower]]


def name_metrics(always: Kinds, chosen: Iterable[Metric]) -> dict[str, ClassificationMetric]:
    """Return metrics by the names of their columns: those of every table, then those chosen.

    Those chosen go by the names of their classes; one that is there already is not taken again.
    Raises TypeError and ValueError as `compare` says.

    >>> list(name_metrics({"accuracy": metrics.Accuracy}, ["Accuracy", metrics.MacroF1]))
    ['accuracy', 'MacroF1']
    """
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        raise TypeError(f"metrics must be a list of metrics, or None, got {shown(chosen)}")
    named = {name: make() for name, make in always.items()}
    for metric in chosen:
        found = find_metric(metric) if isinstance(metric, str) else metric
        made = found() if isinstance(found, type) else found
        if type(made) in always.values():
            continue
        name = type(made).__name__
        if not _gives_a_number(made):
            raise TypeError(f"{name} must be a metric of classification that gives one number")
        if name in named:
            raise ValueError(f"there are two metrics {name}; a column of the table has one")
        named[name] = made
    return named


def _gives_a_number(metric: Any) -> bool:
    """Whether it is a metric of classification whose value is one number."""
    try:
        float(metric.get())
    except (AttributeError, NotImplementedError, TypeError):
        return False
    return hasattr(metric, "requires_labels")


def fresh(metric: Any) -> Any:
    """Return a metric of the same kind that has seen nothing; a rolling one too.

    The `clone` of a rolling metric of river is that of the metric within, without the window. One
    that rolls over time, which samples do not tell, raises TypeError.

    >>> fresh(utils.Rolling(metrics.MacroF1, window_size=50)).window_size
    50
    """
    if isinstance(metric, utils.TimeRolling):
        raise TypeError(
            f"TimeRolling of {type(metric.obj).__name__} needs the time of each sample; a metric"
            " may be a Rolling over a number of samples"
        )
    if not isinstance(metric, utils.Rolling):
        return metric.clone()
    rolling = copy.deepcopy(metric)
    rolling.obj = fresh(metric.obj)
    rolling.window.clear()
    return rolling


def check_labels(
    samples: Iterable[Sample], chosen: Iterable[ClassificationMetric], name: str
) -> None:
    """Raise EvaluationError if a metric needs binary labels and the stream of that name has others.

    The message names a metric that takes any labels. One with a positive label of its own
    (`pos_val`) does. The stream is read only if there is a metric that does not.

    >>> check_labels([({"a": 1.0}, "yes")], [metrics.F1()], "toy")
    Traceback (most recent call last):
        ...
    river_amf.evaluation.errors.EvaluationError: metric F1 needs labels True/False or 0/1, ...
    """
    binary = next((m for m in chosen if isinstance(m, BinaryMetric) and _takes_true(m)), None)
    if binary is None:
        return
    odd = [y for _, y in samples if y not in (True, False)]
    if odd:
        metric = type(binary).__name__
        any_label = f"Macro{metric}" if f"Macro{metric}" in known_metrics() else "MacroF1"
        raise EvaluationError(
            f"metric {metric} needs labels True/False or 0/1, not {odd[0]!r} as in {name};"
            f" {any_label} takes any labels"
        )


def _takes_true(metric: BinaryMetric) -> bool:
    """Whether the label that a metric takes for the positive one is True."""
    return getattr(metric, "pos_val", True) is True  # LogLoss has none
