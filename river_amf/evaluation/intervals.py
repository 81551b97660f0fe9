"""Prediction intervals along a stream, each from before its sample was learned."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
from river import base
from river.conf import Interval

from river_amf.evaluation.history import as_seen
from river_amf.evaluation.interval_metrics import has_intervals, last_step
from river_amf.evaluation.predictors import timed
from river_amf.evaluation.sources import iter_source
from river_amf.kinds import shown
from river_amf.regressor import check_level

COLUMNS = ("target", "prediction", "lower", "upper")


def interval_history(
    samples: Any, model: base.Regressor, level: float | None = None
) -> pd.DataFrame:
    """Run a regressor over a stream, test-then-train, and record its predictions and intervals.

    Parameters
    ----------
    samples
        A finite stream, as in `drift_history`.
    model
        A forest for regression, or a regressor of river that gives intervals if it is asked for a
        prediction `with_interval=True`, such as `river.conf.RegressionJackknife`; or a pipeline
        that ends in one. It learns the stream.
    level
        Share of the targets that are to be in their intervals, strictly between 0 and 1. By default
        that of the model itself, which is 0.9 for a forest. Only forests can be asked for another.

    Returns
    -------
    DataFrame
        A row for each sample, indexed by `sample`, its number from 1, with the `target`, the
        `prediction` from before it was learned, and the ends of its interval, `lower` and `upper`.
        The prediction is NaN where there was none. `plot.intervals` draws all rows or some of them.

    Raises
    ------
    TypeError
        If the model does not give intervals, or a level is given to one that has its own.
    ValueError
        If the level is not between 0 and 1.
    EvaluationError
        If there is no such stream, a sample is not a pair, or the model rejects it.

    Examples
    --------
    How many of the targets are in their intervals, and how wide are these?

    >>> from river import conf, linear_model, preprocessing
    >>> from river_amf import evaluation
    >>> line = preprocessing.StandardScaler() | linear_model.LinearRegression()
    >>> model = conf.RegressionJackknife(line, confidence_level=0.9)
    >>> history = evaluation.interval_history("TrumpApproval", model)
    >>> list(history.columns)
    ['target', 'prediction', 'lower', 'upper']
    >>> late = history.loc[501:]
    >>> bool(late["target"].between(late["lower"], late["upper"]).mean() > 0.8)
    True
    >>> bool((late["upper"] - late["lower"]).mean() < 15)
    True
    """
    interval_of = intervals_of(model, level)
    rows: list[tuple[Any, ...]] = []
    for n, (x, y) in enumerate(iter_source(samples, model), start=1):
        said, _ = timed(n, model.predict_one, x)
        interval, _ = timed(n, interval_of, x)
        rows.append((y, math.nan if said is None else said, interval.lower, interval.upper))
        timed(n, model.learn_one, x, y)
    index = pd.RangeIndex(1, len(rows) + 1, name="sample")
    return pd.DataFrame(rows, index, [*COLUMNS], dtype="float64")


def intervals_of(model: Any, level: float | None) -> Callable[[Any], Interval]:
    """Return a function from features to the model's interval, or raise."""
    if not has_intervals(model):
        raise TypeError(
            "model must give intervals, as a forest for regression or river's"
            f" conf.RegressionJackknife around a regressor, got {shown(model)}"
        )
    if level is None:
        # river's pipelines pass the argument on
        return lambda x: model.predict_one(x, with_interval=True)
    last = last_step(model)
    if not hasattr(last, "predict_interval_one"):
        raise TypeError(
            f"level must be None for {type(last).__name__}, which has a level of its own; only"
            " forests give intervals of any level"
        )
    check_level("level", level)
    return lambda x: last.predict_interval_one(as_seen(model, x), level)
