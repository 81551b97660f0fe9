"""Plots that compare models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from numpy.typing import NDArray
from river import metrics
from river.metrics.base import RegressionMetric

from river_amf.evaluation.comparison import Comparison
from river_amf.evaluation.tasks import smaller_is_better
from river_amf.evaluation.usage_errors import suggest
from river_amf.inputs.kinds import printable
from river_amf.pages.palette import Look, looks
from river_amf.plot.axes import Axes, check_source, new_axes, panels
from river_amf.plot.lines import draw_line, height_for, name_at_the_end, name_points


def learning_curves(
    *runs: Comparison | pd.DataFrame | Mapping[str, pd.Series | pd.DataFrame],
    metric: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric along a stream, with one line per model and its name where the line ends.

    Of more models than there are colors, our forests, the best three others and the last label (or
    value) are in color, and the rest in grey, without their names. Models for which the metric is
    unknown, such as the log-loss of a classifier without probabilities, are left out.

    Parameters
    ----------
    runs
        Comparisons from `evaluation.compare`, their `curves`, or dicts that map a name to a curve.
        A curve is a Series of the metric indexed by the number of samples, or a DataFrame with such
        a column, such as the `curve` of a `DriftHistory`.
    metric
        Name of the column to draw: `"accuracy"`, `"log-loss"`, `"MAE"` or any other column of the
        tables. By default their first one: the accuracy of classifiers, the mean absolute error of
        regressors. For a metric of regression the axis tells whether lower or higher is better.
    ax
        Axes to draw on; by default those of a new figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river import naive_bayes
    >>> from river_amf import AMFClassifier, evaluation, plot
    >>> models = {"Bayes": naive_bayes.GaussianNB(), "forest": AMFClassifier(seed=1)}
    >>> comparison = evaluation.compare("Bananas", models, limit=1000, window=250)
    >>> ax = plot.learning_curves(comparison, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['Bayes', 'forest']
    """
    if metric is None:
        metric = next(filter(None, map(_first_metric, runs)), "accuracy")
    curves = [
        ((number, name), values.dropna())
        for number, run in enumerate(runs)
        for name, values in _iter_curves(run, metric)
        if values.notna().any()
    ]
    if not curves:
        raise ValueError(f"runs have no {metric} to draw")
    look = _looks(runs, metric)
    ax = new_axes(ax, (8.0, height_for(sum(look[key].is_named for key, _ in curves))))
    lines: dict[bool, list[Any]] = {True: [], False: []}
    for key, values in curves:
        own = look[key]
        style: dict[str, Any] = {"color": own.color, "linewidth": own.width}
        style |= {
            "linestyle": "-" if own.dash == "solid" else "--",
            "zorder": 2 if own.is_named else 1,
        }
        lines[own.is_named].append(draw_line(ax, values, label=key[1], **style))
    ax.set_ylabel(_axis_name(metric), parse_math=False)
    name_at_the_end(ax, lines[True], led=True, others=lines[False])
    return ax


def accuracy_and_time(
    comparison: Comparison, ax: Axes | None = None, metric: str | None = None
) -> Axes:
    """Draw the accuracy of each model, or another metric, against the time it takes per sample.

    The time axis, in microseconds, is logarithmic; the best models are at the upper left, or the
    lower left if the metric is an error. Models without results are left out. The colors are those
    of `learning_curves`.

    Parameters
    ----------
    comparison
        Result of `evaluation.compare`.
    ax
        As in `learning_curves`.
    metric
        Name of the column of `comparison.table` to draw, by default that of `learning_curves`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, evaluation, plot
    >>> comparison = evaluation.compare("Bananas", [AMFClassifier(seed=1)], limit=1000)
    >>> ax = plot.accuracy_and_time(comparison, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['AMFClassifier']
    """
    check_source("comparison", comparison, Comparison, "compare")
    metric = _first_metric(comparison) if metric is None else metric
    values = _metric_column(comparison.table, metric)
    table = pd.concat([comparison.table["us_per_sample"], values], axis="columns").dropna()
    if table.empty:
        raise ValueError(f"comparison has no {metric} to draw")
    look = _looks([comparison], metric)
    ax = new_axes(ax, (8.0, height_for(len(table))))
    points: list[Any] = []
    for name, time, value in table.itertuples(name=None):
        color = look[0, str(name)].color
        points += ax.plot(time, value, label=str(name), color=color, marker="o", linestyle="")
    ax.set_xscale("log")
    ax.margins(x=0.1)
    ax.set_xlabel("microseconds a sample")
    ax.set_ylabel(_axis_name(metric), parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    name_points(ax, points)
    return ax


def comparison(comparison: Comparison, ax: Sequence[Axes] | None = None) -> NDArray[Any]:
    """Draw a comparison: the main metric along the stream and, below, against time.

    That is the accuracy of classifiers, and the mean absolute error of regressors. Both panels have
    the colors of `learning_curves`.

    Parameters
    ----------
    comparison
        Result of `evaluation.compare`.
    ax
        Sequence or array of two axes to draw on; by default those of a new figure.

    Returns
    -------
    ndarray of shape (2,)
        The axes of the two panels, from top to bottom.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, OnlineDummyClassifier, evaluation, plot
    >>> models = [AMFClassifier(seed=1), OnlineDummyClassifier()]
    >>> comparison = evaluation.compare("Bananas", models, limit=1000)
    >>> axes = plot.comparison(comparison, ax=Figure(layout="constrained").subplots(2))
    >>> [ax.get_xlabel() for ax in axes]
    ['samples', 'microseconds a sample']
    """
    check_source("comparison", comparison, Comparison, "compare")
    metric = _first_metric(comparison)
    if not comparison.table[metric].notna().any():
        raise ValueError(f"comparison has no {metric} to draw")
    height = height_for(len(comparison.table))
    axes = panels(ax, 2, "one for the curves and one for the times", height, sharex=False)
    learning_curves(comparison, ax=axes[0])
    accuracy_and_time(comparison, ax=axes[1])
    axes[0].set_title(printable(comparison.name), loc="left", parse_math=False)
    return axes


def _first_metric(run: object) -> str:
    """Return the first metric in a run's tables, or "" if there is none."""
    tables = [run.curves] if isinstance(run, Comparison) else [run]
    if isinstance(run, Mapping):
        tables = [*run.values()]
    columns = [column for table in tables if isinstance(table, pd.DataFrame) for column in table]
    return next((str(name) for name in columns if name not in ("model", "n_samples")), "")


def _looks(runs: Sequence[object], metric: str) -> dict[tuple[int, str], Look]:
    """Return how to draw each model by the number of its run and its name.

    Models are ranked by their final metric, NaN if they failed; curves alone by their means.
    """
    scores: dict[tuple[int, str], float] = {}
    roles: dict[tuple[int, str], str] = {}
    for number, run in enumerate(runs):
        has_curves = not isinstance(run, Comparison) or metric in run.curves
        curves = _iter_curves(run, metric) if has_curves else ()
        means = {name: float(values.mean()) for name, values in curves if values.notna().any()}
        final = means
        if isinstance(run, Comparison):
            roles |= {(number, name): role for name, role in run.roles.items()}
            if metric in run.table:
                final = {str(name): float(score) for name, score in run.table[metric].items()}
        for name in {**final, **means}:
            score = final.get(name, math.nan)
            if name in means or not math.isnan(score):
                scores[number, name] = score
    return looks(scores, roles, smaller_is_better=smaller_is_better(metric))


def _axis_name(metric: str) -> str:
    """Return the name of a metric; of one of regression, also whether it is to be low or high."""
    kind = getattr(metrics, metric, None)
    if not (isinstance(kind, type) and issubclass(kind, RegressionMetric)):
        return printable(metric)
    return f"{metric} ({'higher' if kind().bigger_is_better else 'lower'} is better)"


def _iter_curves(run: object, metric: str) -> Iterator[tuple[str, pd.Series]]:
    """Yield the name of each curve of a run, and its metric by the number of samples."""
    if isinstance(run, Comparison):
        run = run.curves
    if isinstance(run, pd.DataFrame) and {"model", "n_samples"} <= {*run.columns}:
        for name, curve in run.groupby("model", sort=False):
            yield str(name), _metric_column(curve.set_index("n_samples"), metric)
    elif isinstance(run, Mapping):
        for name, values in run.items():
            yield str(name), _metric_column(values, metric)
    else:
        raise TypeError(
            "runs must be comparisons from evaluation.compare, their curves, or dicts from names to"
            f" curves, got {type(run).__name__}"
        )


def _metric_column(values: object, metric: str) -> pd.Series:
    """Return the metric's column of a table; a series is returned as it is."""
    if isinstance(values, pd.Series):
        return values
    if not isinstance(values, pd.DataFrame):
        raise TypeError(f"a curve must be a Series or a DataFrame, got {type(values).__name__}")
    if metric not in values.columns:
        known = [column for column in values.columns if column != "model"]
        raise ValueError(f"curves have no metric {metric!r} ({suggest(metric, known)})")
    return values[metric]
