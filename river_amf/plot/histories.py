"""Plots of how a forest changes along a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from river_amf.emphasis import COLORS
from river_amf.evaluation.history import DriftHistory
from river_amf.parameters import integer
from river_amf.plot.canvas import Axes, check_axes, given_axes, new_axes, new_column
from river_amf.plot.lines import OTHERS, ROOM, draw_features, draw_line, mark_drifts


def fading_share(history: DriftHistory, ax: Axes | None = None) -> Axes:
    """Draw the fading share along a stream; it rises where old counts mislead.

    Parameters
    ----------
    history
        Result of `evaluation.drift_history` for a forest with a `fading_factor`.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Raises
    ------
    TypeError
        If `history` is not a `DriftHistory`, or `ax` is not a matplotlib Axes.
    ValueError
        If the history has no fading share.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, evaluation, plot
    >>> stream = evaluation.load_stream("sea_abrupt", limit=1000)
    >>> history = evaluation.drift_history(stream, AMFClassifier(fading_factor=0.5))
    >>> ax = plot.fading_share(history, ax=Figure().subplots())
    >>> ax.lines[0].get_xdata().tolist()
    [200, 400, 600, 800, 1000]

    """
    _check_history(history)
    if not _fades(history):
        raise ValueError(
            "history has no fading share: the model has no fading_factor, "
            "or the stream has no samples"
        )
    ax = new_axes(ax)
    draw_line(ax, history.curve["fading_share"], color=COLORS[0], label="fading share")
    ax.set_ylim(-ROOM, 1.0 + ROOM)
    ax.set_ylabel("fading share")
    return ax


def relevance(history: DriftHistory, ax: Axes | None = None, n_features: int = 8) -> Axes:
    """Draw the relevance of the features along a stream, with their names where the lines end.

    Parameters
    ----------
    history
        Result of `evaluation.drift_history` for a forest with `split_intensity="relevance"`.
    ax
        Axes to draw on; by default those of a new figure.
    n_features
        Number of features to name, chosen by their highest relevance along the stream. The other
        features are drawn in gray.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Raises
    ------
    TypeError
        If `history` is not a `DriftHistory`, or `ax` is not a matplotlib Axes.
    ValueError
        If the history has no relevance, or `n_features` is not an integer >= 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AdaptiveAMFClassifier, evaluation, plot
    >>> stream = evaluation.load_stream("stagger_abrupt", limit=1000)
    >>> history = evaluation.drift_history(stream, AdaptiveAMFClassifier(n_estimators=2, seed=1))
    >>> ax = plot.relevance(history, ax=Figure().subplots(), n_features=2)
    >>> sorted(text.get_text() for text in ax.texts)
    ['color', 'size']

    """
    _check_history(history)
    integer(1)("n_features", n_features)
    table = history.relevance
    if not table.size:
        raise ValueError(
            "history has no relevance: the model's split_intensity is not 'relevance', "
            "or the stream has no samples"
        )
    ax = new_axes(ax)
    draw_features(ax, table, n_features)
    ax.set_ylabel("relevance")
    return ax


def drift(
    history: DriftHistory, drifts: Iterable[float] = (), ax: Sequence[Axes] | None = None
) -> NDArray[Any]:
    """Draw accuracy, fading share and relevance along a stream, in panels below each other.

    In the place of the accuracy of a classifier there is the error of a regressor.

    Parameters
    ----------
    history
        Result of `evaluation.drift_history`. The panels for the fading share and the relevance are
        left out if the model does not track them.
    drifts
        Numbers of samples at which the stream is known to drift, such as `DriftStream.drifts`. They
        are marked in all panels.
    ax
        Sequence or array of axes to draw on, one for each panel; by default those of a new figure.

    Returns
    -------
    ndarray of shape (n_panels,)
        The axes of the panels, from top to bottom.

    Raises
    ------
    TypeError
        If `history` is not a `DriftHistory`, or `ax` does not hold matplotlib Axes.
    ValueError
        If the number of axes differs from the number of panels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AdaptiveAMFClassifier, evaluation, plot
    >>> stream = evaluation.STREAMS["stagger_abrupt"]
    >>> model = AdaptiveAMFClassifier(n_estimators=2, seed=1)
    >>> history = evaluation.drift_history(stream.take(6000), model)
    >>> axes = plot.drift(history, drifts=[5000], ax=Figure().subplots(3))
    >>> [panel.get_ylabel() for panel in axes]
    ['accuracy', 'fading share', 'relevance']

    """
    _check_history(history)
    panels: list[Callable[[DriftHistory, Axes], object]] = [_metric]
    if _fades(history):
        panels.append(fading_share)
    if history.relevance.size:
        panels.append(relevance)
    given = new_column(len(panels)) if ax is None else given_axes(ax)
    if len(given) != len(panels):
        _, *others = (draw.__name__ for draw in panels)
        names = ", ".join([str(history.curve.columns[0]), *others])
        raise ValueError(f"ax must hold {len(panels)} axes, one each for {names}; got {len(given)}")
    for panel in given:
        check_axes("ax", panel)
    for draw, panel in zip(panels, given, strict=True):
        draw(history, panel)
        panel.label_outer()
    mark_drifts(given, drifts)
    return given


def weighted_depth(history: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the depth at which each tree of a forest predicts along a stream, and the mean.

    Parameters
    ----------
    history
        Result of `evaluation.depth_history`.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Raises
    ------
    TypeError
        If `history` is not a pandas DataFrame, or `ax` is not a matplotlib Axes.
    ValueError
        If the DataFrame is empty, or its index is not `n_samples` or its columns are not `tree`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, evaluation, plot
    >>> stream = evaluation.load_stream("Bananas", limit=600)
    >>> history = evaluation.depth_history(stream, AMFClassifier(n_estimators=2, seed=1))
    >>> ax = plot.weighted_depth(history, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['tree 0', 'tree 1', 'mean']

    """
    wanted = "history must come from evaluation.depth_history"
    if not isinstance(history, pd.DataFrame):
        raise TypeError(f"{wanted}, got {type(history).__name__}")
    if (history.index.name, history.columns.name) != ("n_samples", "tree"):
        raise ValueError(
            f"{wanted}, with index n_samples and columns tree, got a DataFrame with index "
            f"{history.index.name!r} and columns {history.columns.name!r}"
        )
    if history.empty:
        raise ValueError(f"{wanted} for a stream with samples, got an empty DataFrame")
    ax = new_axes(ax)
    for k, column in enumerate(history.columns):
        draw_line(ax, history.iloc[:, k], label=f"tree {column}", **OTHERS)
    draw_line(ax, history.mean(axis=1), label="mean", color=COLORS[0], linewidth=2.0)
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("weighted depth")
    ax.legend(handles=[ax.lines[-1], ax.lines[0]], labels=["mean", "each tree"], frameon=False)
    return ax


def _metric(history: DriftHistory, ax: Axes) -> None:
    """Draw the metric between checkpoints."""
    name = str(history.curve.columns[0])
    draw_line(ax, history.curve[name], color=COLORS[0], label=name)
    ax.set_ylabel(name)


def _check_history(history: object) -> None:
    if not isinstance(history, DriftHistory):
        raise TypeError(
            f"history must come from evaluation.drift_history, got {type(history).__name__}"
        )


def _fades(history: DriftHistory) -> bool:
    return bool(history.curve["fading_share"].notna().any())
