"""Plots of histories along a stream: of drift, of the depth of trees and of intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.evaluation.history import COLUMNS, DriftHistory
from river_amf.inputs.kinds import printable
from river_amf.pages.palette import COLORS, GREY
from river_amf.parameters import integer
from river_amf.plot.axes import Axes, check_source, new_axes, panels, to_rgb
from river_amf.plot.lines import draw_line, mark_drifts, name_at_the_end

_ROOM = 0.03  # below 0 and above 1, as a fraction of the axes, to show lines there in full width
_OTHERS = {"color": GREY, "linewidth": 0.8, "zorder": 1}  # style of lines without a name
_MOST_ROWS = 300  # of intervals in a picture
_DASHES = ["-", "--", ":", "-."]  # the next one is used once all colors are taken


def fading_share(history: DriftHistory, ax: Axes | None = None) -> Axes:
    """Draw the fading share along a stream; it rises where old counts mislead.

    Parameters
    ----------
    history
        Result of `evaluation.drift_history` for a forest with a `fading_factor`.
    ax
        Axes to draw on; by default those of a new figure.

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
    check_source("history", history, DriftHistory, "drift_history")
    if not history.curve["fading_share"].notna().any():
        raise ValueError(
            "history has no fading share: the model has no fading_factor, "
            "or the stream has no samples"
        )
    ax = new_axes(ax)
    draw_line(ax, history.curve["fading_share"], color=COLORS[0], label="fading share")
    ax.set_ylim(-_ROOM, 1.0 + _ROOM)
    ax.set_ylabel("fading share")
    return ax


def relevance(history: DriftHistory, ax: Axes | None = None, n_features: int = 8) -> Axes:
    """Draw the relevance of the features along a stream, with their names where the lines end.

    Parameters
    ----------
    history
        Result of `evaluation.drift_history` for a forest with `split_intensity="relevance"`.
    ax
        As in `fading_share`.
    n_features
        Number of features to name, chosen by their highest relevance along the stream. The other
        features are drawn in gray.

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
    check_source("history", history, DriftHistory, "drift_history")
    integer(1)("n_features", n_features)
    table = history.relevance
    if not table.size:
        raise ValueError(
            "history has no relevance: the model's split_intensity is not 'relevance', "
            "or the stream has no samples"
        )
    ax = new_axes(ax)
    lines = []
    for rank, place in enumerate(np.argsort(-table.max().to_numpy(), kind="stable").tolist()):
        cycle, color = divmod(rank, len(COLORS))
        named = {"color": COLORS[color], "linestyle": _DASHES[cycle % len(_DASHES)]}
        style: dict[str, Any] = named if rank < n_features else _OTHERS
        lines.append(draw_line(ax, table.iloc[:, place], label=str(table.columns[place]), **style))
    if not (table < 0.0).any(axis=None):
        ax.set_ylim(bottom=-_ROOM * ax.get_ylim()[1])
    name_at_the_end(ax, lines[:n_features])
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
    check_source("history", history, DriftHistory, "drift_history")
    metric = str(history.curve.columns[0])

    def draw_metric(history: DriftHistory, ax: Axes) -> None:
        draw_line(ax, history.curve[metric], color=COLORS[0], label=metric)
        ax.set_ylabel(printable(metric), parse_math=False)

    draws: dict[str, Callable[[DriftHistory, Axes], object]] = {metric: draw_metric}
    if history.curve["fading_share"].notna().any():
        draws["fading_share"] = fading_share
    if history.relevance.size:
        draws["relevance"] = relevance
    axes = panels(ax, len(draws), f"one each for {', '.join(draws)}")
    for draw, panel in zip(draws.values(), axes, strict=True):
        draw(history, panel)
        panel.label_outer()
    mark_drifts(axes, drifts)
    return axes


def weighted_depth(history: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the depth at which each tree of a forest predicts along a stream, and the mean.

    Parameters
    ----------
    history
        Result of `evaluation.depth_history`.
    ax
        As in `fading_share`.

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
    check_source("history", history, pd.DataFrame, "depth_history")
    if (history.index.name, history.columns.name) != ("n_samples", "tree"):
        raise ValueError(
            "history must come from evaluation.depth_history, with index n_samples and columns "
            f"tree, got a DataFrame with index {history.index.name!r} and columns "
            f"{history.columns.name!r}"
        )
    ax = new_axes(ax)
    for k, column in enumerate(history.columns):
        draw_line(ax, history.iloc[:, k], label=f"tree {column}", **_OTHERS)
    draw_line(ax, history.mean(axis=1), label="mean", color=COLORS[0], linewidth=2.0)
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("weighted depth")
    ax.legend(handles=[ax.lines[-1], ax.lines[0]], labels=["mean", "each tree"], frameon=False)
    return ax


def intervals(history: pd.DataFrame, drifts: Iterable[float] = (), ax: Axes | None = None) -> Axes:
    """Draw predictions with their intervals along a stream, and the targets, with misses marked.

    Parameters
    ----------
    history
        Result of `evaluation.interval_history`, or some of its rows, as in `history.loc[900:1100]`;
        of more than 300 rows, that many are drawn, evenly spaced. Any other DataFrame with the
        columns `target`, `prediction`, `lower` and `upper` will do, such as one made of arrays; its
        index is the horizontal axis.
    drifts
        Places at which the stream is known to drift, such as `DriftStream.drifts`, to be marked.
    ax
        As in `fading_share`. The legend tells the share of all targets outside of their intervals.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFRegressor, evaluation, plot
    >>> history = evaluation.interval_history("TrumpApproval", AMFRegressor(seed=1))
    >>> ax = plot.intervals(history.loc[801:1000], ax=Figure().subplots())
    >>> [text.get_text().split()[0] for text in ax.get_legend().get_texts()]
    ['interval', 'prediction', 'target', 'missed:']
    """
    check_source("history", history, pd.DataFrame, "interval_history")
    lacking = [column for column in COLUMNS if column not in history.columns]
    if lacking:
        raise ValueError(
            "history must come from evaluation.interval_history, or have the columns "
            f"{', '.join(COLUMNS)}; it has no {', '.join(lacking)}"
        )
    ax = new_axes(ax, (8.0, 3.4))
    drawn = np.linspace(0, len(history) - 1, min(len(history), _MOST_ROWS)).round().astype(int)
    missed = (history["target"] < history["lower"]) | (history["target"] > history["upper"])
    text = f"missed: {100 * missed.mean():.1f} %"
    history, missed = history.iloc[drawn], missed.iloc[drawn]
    places, target = history.index.to_numpy(), history["target"]
    band = (*to_rgb(COLORS[0]), 0.22)
    ends = history["lower"], history["upper"]
    ax.fill_between(places, *ends, color=band, linewidth=0.0, label="interval")
    draw_line(ax, history["prediction"], color=COLORS[0], linewidth=1.2, label="prediction")
    ax.plot(target[~missed], ".", color="#333333", markersize=3.0, label="target")
    ax.plot(target[missed], ".", color=COLORS[1], markersize=5.0, label=text)
    ax.set_ylabel("target")
    if history.index.name not in (None, "sample"):
        ax.set_xlabel(printable(str(history.index.name)), parse_math=False)
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.05), ncols=4, frameon=False, borderpad=0.0)
    mark_drifts([ax], drifts)
    return ax
