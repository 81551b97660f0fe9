"""The plot of prediction intervals along a stream."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from river_amf.emphasis import COLORS
from river_amf.evaluation.intervals import COLUMNS
from river_amf.plot.canvas import Axes, new_axes, to_rgb
from river_amf.plot.lines import draw_line, mark_drifts

_PREDICTION, _MISSED, _TARGET = COLORS[0], COLORS[1], "#333333"


def intervals(history: pd.DataFrame, drifts: Iterable[float] = (), ax: Axes | None = None) -> Axes:
    """Draw predictions with their intervals along a stream, and the targets, with misses marked.

    Parameters
    ----------
    history
        Result of `evaluation.interval_history`, or some of its rows, as in `history.loc[900:1100]`:
        a hundred to a thousand make a clear picture. Any other DataFrame with the columns `target`,
        `prediction`, `lower` and `upper` will do, such as one made of arrays; its index is the
        horizontal axis.
    drifts
        Places at which the stream is known to drift, such as `DriftStream.drifts`, to be marked.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on. The legend tells the share of the targets outside of their
        intervals.

    Raises
    ------
    TypeError
        If `history` is not a pandas DataFrame, or `ax` is not a matplotlib Axes.
    ValueError
        If the DataFrame lacks one of the columns, or has no rows.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFRegressor, evaluation, plot
    >>> history = evaluation.interval_history("TrumpApproval", AMFRegressor(seed=1))
    >>> ax = plot.intervals(history.loc[801:1000], ax=Figure().subplots())
    >>> [text.get_text().split()[0] for text in ax.get_legend().get_texts()]
    ['interval', 'prediction', 'target', 'missed:']
    """
    wanted = "history must come from evaluation.interval_history"
    if not isinstance(history, pd.DataFrame):
        raise TypeError(f"{wanted}, got {type(history).__name__}")
    lacking = [column for column in COLUMNS if column not in history.columns]
    if lacking:
        raise ValueError(
            f"{wanted}, or have the columns {', '.join(COLUMNS)}; it has no {', '.join(lacking)}"
        )
    if history.empty:
        raise ValueError(f"{wanted} for a stream with samples, got an empty DataFrame")
    ax = new_axes(ax, (8.0, 3.4))
    places = history.index.to_numpy()
    target, lower, upper = (history[name] for name in ("target", "lower", "upper"))
    missed = (target < lower) | (target > upper)
    band = to_rgb(_PREDICTION)
    ax.fill_between(places, lower, upper, color=(*band, 0.22), linewidth=0.0, label="interval")
    draw_line(ax, history["prediction"], color=_PREDICTION, linewidth=1.2, label="prediction")
    for chosen, color, size, text in (
        (~missed, _TARGET, 3.0, "target"),
        (missed, _MISSED, 5.0, f"missed: {100 * missed.mean():.1f} %"),
    ):
        points = target[chosen]
        ax.plot(points.index, points.to_numpy(), ".", color=color, markersize=size, label=text)
    ax.set_ylabel("target")
    if history.index.name not in (None, "sample"):
        ax.set_xlabel(str(history.index.name), parse_math=False)
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.05), ncols=4, frameon=False, borderpad=0.0)
    mark_drifts([ax], drifts)
    return ax
