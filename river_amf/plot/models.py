"""Pictures of models side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from river_amf.evaluation.comparison import Comparison
from river_amf.evaluation.errors import suggest
from river_amf.plot.canvas import Axes, check_axes, given_axes, new_axes, new_column
from river_amf.plot.lines import draw_line, height_for, line_style, name_at_the_end, name_points


def learning_curves(
    *runs: Comparison | pd.DataFrame | Mapping[str, pd.Series | pd.DataFrame],
    metric: str = "accuracy",
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric along a stream, a line for each model with its name at the end.

    Parameters
    ----------
    runs
        Comparisons from `evaluation.compare`, their `curves`, or dicts of curves by name: a series
        by the number of samples, or a table with a column for the metric, such as the `curve` of a
        `DriftHistory`.
    metric
        The column to draw: `"accuracy"`, `"log-loss"`, or another that the tables have.
    ax
        Where to draw; by default on a new figure.

    Returns
    -------
    The axes. Models without the metric, such as the log-loss of one without probabilities, are left
    out.

    Raises
    ------
    TypeError
        If a run is none of these, or the axes are no axes.
    ValueError
        If a table does not have the metric, or there is nothing to draw.

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
    >>> ax.lines[0].get_xdata().tolist()
    [250, 500, 750, 1000]

    """
    curves = [curve for run in runs for curve in _iter_curves(run, metric)]
    known = [place for place, (_, values) in enumerate(curves) if values.notna().any()]
    if not known:
        raise ValueError(f"runs have no {metric} to draw")
    ax = new_axes(ax, (8.0, height_for(len(known))))
    for place in known:
        name, values = curves[place]
        draw_line(ax, values.dropna(), label=name, **line_style(place))
    ax.set_ylabel(metric)
    name_at_the_end(ax, ax.lines[-len(known) :], led=True)
    return ax


def accuracy_and_time(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the accuracy of each model against the time it takes for a sample.

    Parameters
    ----------
    comparison
        From `evaluation.compare`. Models without figures are left out.
    ax
        Where to draw; by default on a new figure.

    Returns
    -------
    The axes, with time on a logarithmic scale: good is the upper left.

    Raises
    ------
    TypeError
        If the comparison is none, or the axes are no axes.
    ValueError
        If no model has figures.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river import naive_bayes
    >>> from river_amf import AMFClassifier, evaluation, plot
    >>> models = {"Bayes": naive_bayes.GaussianNB(), "forest": AMFClassifier(seed=1)}
    >>> comparison = evaluation.compare("Bananas", models, limit=1000)
    >>> ax = plot.accuracy_and_time(comparison, ax=Figure().subplots())
    >>> sorted(text.get_text() for text in ax.texts)
    ['Bayes', 'forest']

    """
    _check_comparison(comparison)
    table = comparison.table[["us_per_sample", "accuracy"]]
    places = [place for place, known in enumerate(table.notna().all(axis="columns")) if known]
    if not places:
        raise ValueError("comparison has no accuracy to draw")
    ax = new_axes(ax, (8.0, height_for(len(places))))
    points = [
        ax.plot(
            table.iloc[place, :1],
            table.iloc[place, 1:],
            label=str(table.index[place]),
            color=line_style(place)["color"],
            marker="o",
            linestyle="",
        )[0]
        for place in places
    ]
    ax.set_xscale("log")
    ax.margins(x=0.1)
    ax.set_xlabel("microseconds a sample")
    ax.set_ylabel("accuracy")
    ax.spines[["top", "right"]].set_visible(False)
    name_points(ax, points)
    return ax


def comparison(comparison: Comparison, ax: Sequence[Axes] | None = None) -> NDArray[Any]:
    """Draw what was compared: accuracy along the stream, and accuracy against time below.

    Parameters
    ----------
    comparison
        From `evaluation.compare`.
    ax
        Where to draw: two axes, one for each panel; by default those of a new figure.

    Returns
    -------
    Array of the two axes, from the top.

    Raises
    ------
    TypeError
        If the comparison is none, or what is given is no axes.
    ValueError
        If there are not two axes, or nothing to draw.

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
    _check_comparison(comparison)
    if not comparison.table["accuracy"].notna().any():
        raise ValueError("comparison has no accuracy to draw")
    if ax is None:
        axes = new_column(2, height_for(len(comparison.table)), sharex=False)
    else:
        axes = given_axes(ax)
    if len(axes) != 2:
        raise ValueError(f"ax must be 2 axes, for the curves and for the times; got {len(axes)}")
    for panel in axes:
        check_axes("ax", panel)
    learning_curves(comparison, ax=axes[0])
    accuracy_and_time(comparison, ax=axes[1])
    axes[0].set_title(comparison.name, loc="left", parse_math=False)  # a file may be named $x
    return axes


def _check_comparison(comparison: object) -> None:
    if not isinstance(comparison, Comparison):
        raise TypeError(
            f"comparison must come from evaluation.compare, got {type(comparison).__name__}"
        )


def _iter_curves(run: object, metric: str) -> Iterator[tuple[str, pd.Series]]:
    """Yield the name and the metric, by the number of samples, of each curve of a run."""
    if isinstance(run, Comparison):
        run = run.curves
    if isinstance(run, pd.DataFrame) and {"model", "n_samples"} <= {*run.columns}:
        for name, curve in run.groupby("model", sort=False):
            yield str(name), _column(curve.set_index("n_samples"), metric)
    elif isinstance(run, Mapping):
        for name, values in run.items():
            yield str(name), _column(values, metric)
    else:
        raise TypeError(
            "runs must be comparisons from evaluation.compare, their curves, or dicts of curves by"
            f" name, got {type(run).__name__}"
        )


def _column(values: object, metric: str) -> pd.Series:
    """Return the metric of a table; a series is taken for it."""
    if isinstance(values, pd.Series):
        return values
    if not isinstance(values, pd.DataFrame):
        raise TypeError(f"a curve must be a series or a dataframe, got {type(values).__name__}")
    if metric not in values.columns:
        known = [column for column in values.columns if column != "model"]
        raise ValueError(f"curves have no metric {metric!r} ({suggest(metric, known)})")
    return values[metric]
