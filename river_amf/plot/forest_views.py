"""The inside of a forest as pictures: a tree with its nodes, and what features are worth."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from river import base

from river_amf import inspection
from river_amf.explain.formatting import categories_text, count_text, counts_text, name, number_text
from river_amf.explain.trees import forest_of
from river_amf.inputs.kinds import printable
from river_amf.pages.palette import COLORS
from river_amf.parameters import integer
from river_amf.plot.axes import Axes, Rectangle, add_legend, label_colors, new_axes, plt

# Size of a node, where the next depth is 1 to the right and the next row is 1 down.
_WIDTH, _HEIGHT = 0.84, 0.84
_BAR = 0.09  # height of the bar of counts
_CUT = 0.4  # room for the number of nodes left out
_LONGEST = 28  # characters per line
_TICK = 0.02  # width of the mark of a mean, as a share of the box
_MEASURES = {  # columns of `inspection.feature_importance`, in words
    "splits": "share of the splits",
    "mass": "share of the mass passed on",
    "impurity": "share of the decrease in impurity",
    "relevance": "relevance: from 0, for none, to 1",
}
_PALE = "#9fc9e5"  # color of a standard deviation

# A text, and bars: their start and width as shares of the box, color and name
_Content = tuple[str, list[tuple[float, float, str, str]]]


class _Node(NamedTuple):
    """A drawn node: its row of `inspection.node_table`, and its position."""

    row: Any
    place: float  # rows from the top
    share: float
    mass: float
    n_below: int  # number of nodes below it that are not drawn


def tree(model: Any, tree: int = 0, max_depth: int = 4, ax: Axes | None = None) -> Axes:
    """Draw a tree of a forest, with its root on the left.

    Each node shows its split, its share of the mass left over by the nodes above it, and its
    resulting mass in the prediction for samples that reach it (see `inspection.path`). Samples for
    which the split is true go up. A classifier's node shows the counts of the labels, also as a
    bar; a regressor's the mean and the standard deviation of the targets, with the number of
    samples in parentheses, and a bar of one standard deviation around the mean, on one scale.

    Parameters
    ----------
    model
        The forest, or a fitted estimator of `river_amf.sklearn` with one.
    tree
        Index of the tree, from 0.
    max_depth
        Maximum depth of the nodes drawn, 0 for the root alone. Deeper nodes are counted.
    ax
        Axes to draw on; by default of a new figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, plot
    >>> model = AMFClassifier(n_estimators=1, seed=1)
    >>> for length, label in [(1.0, "short"), (1.5, "short"), (4.0, "long"), (4.5, "long")]:
    ...     model.learn_one({"length": length}, label)
    >>> ax = plot.tree(model, ax=Figure().subplots())
    >>> print(ax.texts[0].get_text())
    length <= 3.52
    long 2, short 2
    share 0.14, mass 0.14
    """
    integer(0)("max_depth", max_depth)
    forest = forest_of(model)
    table = inspection.node_table(forest, tree)
    if table.empty:
        raise ValueError(f"tree {tree} has no nodes: it has not learned anything since it started")
    nodes = _lay_out(table, max_depth, use_aggregation=forest.use_aggregation)
    rows = [node.row for node in nodes.values()]
    n_levels = 1 + max(row.depth for row in rows)
    n_rows = 1.0 + max(node.place for node in nodes.values())
    colors = label_colors(rows[0].counts) if "counts" in table else {}
    height = 0.25 * max(1, -(-len(colors) // n_levels)) + max(1.0, 0.66 * n_rows)
    ax = new_axes(ax, (0.5 + 2.4 * n_levels, height))
    ax.set_axis_off()
    room = _CUT if any(node.n_below for node in nodes.values()) else 0.05
    ax.set_xlim(-0.05, n_levels - 1 + _WIDTH + room)
    ax.set_ylim(n_rows - 0.5, -0.5)
    if colors:
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        add_legend(ax, colors, ncols=n_levels, frameon=False, **above)
        contents = [_of_labels(row, colors) for row in rows]
    else:
        low, high = min(r.mean - r.std for r in rows), max(r.mean + r.std for r in rows)
        ends = (number_text(end, 0.001 * (high - low)) for end in (low, high))
        text = "mean ± standard deviation (samples); bars from {} to {}".format(*ends)
        ax.set_title(text, loc="left", fontsize=plt.rcParams["legend.fontsize"])
        contents = [_of_targets(row, low, high) for row in rows]
    size = _font_size(ax)
    for node, content in zip(nodes.values(), contents, strict=True):
        _draw(ax, node, nodes.get(node.row.parent), content, size)
    return ax


def _of_labels(row: Any, colors: dict[Hashable, str]) -> _Content:
    """Return the counts of a node, as many labels as fit, and a bar for each."""
    counts = {label: row.counts[label] for label in colors}
    text = _fitting(counts_text(counts, n, lambda label: name(label, 12)) for n in (4, 3, 2, 1))
    ends = np.cumsum([0.0, *counts.values()]) / row.n_samples
    return text, [*zip(ends, np.diff(ends), colors.values(), map(repr, colors), strict=False)]


def _of_targets(row: Any, low: float, high: float) -> _Content:
    """Return mean, standard deviation and samples of a node, and bars of the first two."""
    mean, std = (number_text(value, 0.001 * (high - low)) for value in (row.mean, row.std))
    scale = 1.0 / (high - low) if high > low else 0.0
    middle, half = scale * (row.mean - low), scale * row.std
    tick = min(max(middle - 0.5 * _TICK, 0.0), 1.0 - _TICK)
    bars = [(middle - half, 2.0 * half, _PALE, "std"), (tick, _TICK, COLORS[0], "mean")]
    return f"{mean} ± {std} ({count_text(row.n_samples)})", bars


def _lay_out(table: pd.DataFrame, max_depth: int, *, use_aggregation: bool) -> dict[int, _Node]:
    """Return the nodes to draw by their numbers, parents first."""
    # Each end of the drawn tree takes one row; a parent is centered between its children.
    rows: dict[int, Any] = {row.node: row for row in table.itertuples()}  # type: ignore[misc]
    n_nodes = dict.fromkeys(rows, 1)
    for row in sorted(rows.values(), key=lambda row: -row.depth):
        if row.parent >= 0:
            n_nodes[row.parent] += n_nodes[row.node]
    nodes: dict[int, _Node] = {}
    ends = itertools.count()

    def lay_out(number: int, remaining: float) -> float:
        """Add a subtree, and return the position of its root."""
        row, share = rows[number], 1.0
        if row.left >= 0:
            share = np.exp(-np.logaddexp(0.0, -row.log_odds)) if use_aggregation else 0.0
        is_end = row.left < 0 or row.depth == max_depth
        below = () if is_end else (row.left, row.right)
        places = [lay_out(child, remaining * (1.0 - share)) for child in below]
        place = sum(places) / 2 if places else float(next(ends))
        n_below = n_nodes[number] - 1 if is_end else 0
        nodes[number] = _Node(row, place, share, remaining * share, n_below)
        return place

    lay_out(table.loc[table["parent"] < 0, "node"].iloc[0], 1.0)
    return dict(reversed(nodes.items()))


def _font_size(ax: Axes) -> float:
    """Return the font size at which the text of a node fits into its box in the final layout."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    points = 72.0 / ax.figure.dpi
    (left, bottom), (right, top) = ax.transData.transform([(0.0, _HEIGHT), (_WIDTH, 0.0)])
    height, width = (top - bottom) * points, (right - left) * points
    return float(min(9.0, height / 4.6, width / (0.64 * _LONGEST)))


def _draw(ax: Axes, node: _Node, parent: _Node | None, content: _Content, size: float) -> None:
    """Draw a node, with a bar of its counts or targets, and the edge from its parent."""
    row, place = node.row, node.place
    left, top, gid = float(row.depth), place - 0.5 * _HEIGHT, f"node {row.node}"
    border: dict[str, Any] = {"linewidth": 0.8 + 1.6 * node.mass, "edgecolor": "#444444"}
    border |= {"facecolor": "white", "zorder": 2, "gid": gid}
    ax.add_patch(Rectangle((left, top), _WIDTH, _HEIGHT, **border))
    text = f"{_split_text(row)}\n{content[0]}\nshare {node.share:.2f}, mass {node.mass:.2f}"
    style: dict[str, Any] = {"linespacing": 1.15, "zorder": 4, "gid": gid, "parse_math": False}
    center = left + 0.5 * _WIDTH, place - 0.5 * _BAR
    ax.text(*center, text, ha="center", va="center", size=size, **style)
    for start, width, color, what in content[1]:
        corner, style = (left + _WIDTH * start, top + _HEIGHT - _BAR), {"gid": f"{gid} {what}"}
        ax.add_patch(Rectangle(corner, _WIDTH * width, _BAR, facecolor=color, zorder=3, **style))
    if node.n_below:
        style = {"va": "center", "size": size, "color": "#555555"}
        ax.text(left + _WIDTH + 0.03, place, f"+{node.n_below} nodes", **style)
    if parent is not None:
        across, up = (left - 1.0 + _WIDTH, left), (parent.place, place)
        ax.plot(across, up, color="#888888", linewidth=1.0, zorder=1)
        is_true = row.node == parent.row.left
        text, shift, va = ("yes", -0.06, "bottom") if is_true else ("no", 0.06, "top")
        style = {"ha": "right", "va": va, "size": 0.85 * size, "color": "#555555"}
        ax.text(left - 0.02, place + shift, text, **style)


def _split_text(row: Any) -> str:
    """Return the text for the split of a node."""
    if row.left < 0:
        return "leaf"
    if row.categories_left is not None:
        feature = name(row.feature, 10)
        sets = (categories_text(row.categories_left, most=most, widest=12) for most in (3, 2, 1))
        return _fitting(f"{feature} in {text}" for text in sets)
    side = row.range_max[row.feature] - row.range_min[row.feature]
    threshold = number_text(row.threshold, 0.01 * side)
    return f"{name(row.feature, max(8, _LONGEST - 4 - len(threshold)))} <= {threshold}"


def _fitting(texts: Iterable[str]) -> str:
    """Return the first text that fits on a line, or else the last one."""
    texts = list(texts)
    return next((text for text in texts if len(text) <= _LONGEST), texts[-1])


def importance(source: Any, ax: Axes | None = None, n_features: int = 20) -> Axes:
    """Draw a bar for each feature, the most important one on top.

    Parameters
    ----------
    source
        A forest, or an estimator of `river_amf.sklearn` with one; the result of
        `inspection.feature_importance`, of which the column `impurity` is drawn, or any column of
        it; or the result of `inspection.feature_relevance`. Features with NaN are left out.
    ax
        Axes to draw on; by default of a new figure.
    n_features
        Maximum number of features to draw.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, plot
    >>> model = AMFClassifier(seed=1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": i % 7, "signal": i % 10}, i % 10 < 5)
    >>> ax = plot.importance(model, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()][-1], ax.get_xlabel()
    ('noise', 'share of the decrease in impurity')
    """
    integer(1)("n_features", n_features)
    values = source
    if hasattr(source, "get_params") or isinstance(source, base.Base):
        values = inspection.feature_importance(source)
    values = values.get("impurity") if isinstance(values, pd.DataFrame) else values
    if not isinstance(values, pd.Series):
        raise TypeError(
            "source must come from inspection.feature_importance or feature_relevance, or be a"
            f" forest, got {type(source).__name__}"
        )
    top = values.dropna().sort_values(ascending=False, kind="stable")[:n_features]
    if top.empty:
        raise ValueError("source has no features to draw: nothing has been learned or measured")
    ax = new_axes(ax, (8.0, 0.8 + 0.25 * len(top)))
    ax.barh(range(len(top)), top.to_numpy(), height=0.7, color=COLORS[0])
    ax.set_yticks(range(len(top)), [name(feature) for feature in top.index], parse_math=False)
    ax.set_ylim(len(top) - 0.5, -0.5)
    ax.axvline(0.0, color="#777777", linewidth=0.8)
    column = printable(str(values.name or "importance"))
    ax.set_xlabel(_MEASURES.get(column, column), parse_math=False)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
