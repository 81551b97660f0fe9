"""Metrics of river: by name, afresh for each run, and which of them suit a stream."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from river import metrics, utils
from river.metrics.base import BinaryMetric, ClassificationMetric

from river_amf.evaluation.streams import EvaluationError, Sample, suggest


@functools.cache
def known_metrics() -> dict[str, type[ClassificationMetric]]:
    """Return the metrics of river, by name, that need no argument and give one number.

    Examples
    --------
    >>> from river_amf.evaluation.measures import known_metrics
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
    """Return the metric of river of that name, in any case.

    Raises
    ------
    EvaluationError
        If there is none that needs no argument and gives one number.

    Examples
    --------
    >>> from river_amf.evaluation.measures import find_metric
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


def fresh(measure: Any) -> Any:
    """Return a metric of the same kind that has seen nothing; a rolling one too.

    The `clone` of a rolling metric of river is that of the metric within, without the window.

    Raises
    ------
    TypeError
        If it rolls over time, which samples do not tell.

    Examples
    --------
    >>> from river import metrics, utils
    >>> from river_amf.evaluation.measures import fresh
    >>> fresh(utils.Rolling(metrics.MacroF1, window_size=50)).window_size
    50

    """
    if isinstance(measure, utils.TimeRolling):
        raise TypeError(
            f"TimeRolling of {type(measure.obj).__name__} needs the time of each sample; a metric"
            " may be a Rolling over a number of samples"
        )
    if not isinstance(measure, utils.Rolling):
        return measure.clone()
    rolling = copy.deepcopy(measure)
    rolling.obj = fresh(measure.obj)
    rolling.window.clear()
    return rolling


def check_labels(
    samples: Iterable[Sample], measures: Iterable[ClassificationMetric], name: str
) -> None:
    """Raise if a metric needs binary labels and the stream has others.

    Parameters
    ----------
    samples
        The stream; it is read if there is such a metric.
    measures
        The metrics. One with a positive label of its own (`pos_val`) takes any labels.
    name
        What to call the stream.

    Raises
    ------
    EvaluationError
        If so, with a metric that takes any labels.

    Examples
    --------
    >>> from river import metrics
    >>> from river_amf.evaluation.measures import check_labels
    >>> check_labels([({"a": 1.0}, "yes")], [metrics.F1()], "toy")
    Traceback (most recent call last):
        ...
    river_amf.evaluation.streams.EvaluationError: metric F1 needs labels True/False or 0/1, ...

    """
    binary = next((m for m in measures if isinstance(m, BinaryMetric) and _takes_true(m)), None)
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


def _takes_true(measure: BinaryMetric) -> bool:
    """Whether the label that a metric takes for the positive one is True."""
    return getattr(measure, "pos_val", True) is True  # LogLoss has none
