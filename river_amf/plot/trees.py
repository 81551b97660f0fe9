"""A drawing of a tree of a forest, with the counts or targets and the shares of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from river_amf import inspection
from river_amf.emphasis import COLORS
from river_amf.forest import forest_of
from river_amf.parameters import integer
from river_amf.plot.canvas import (
    Axes,
    Rectangle,
    add_legend,
    label_colors,
    new_axes,
    plt,
)
from river_amf.wording import categories_text, count, counts_text, name, number

# Size of a node, where the next depth is 1 to the right and the next row is 1 down.
_WIDTH, _HEIGHT = 0.84, 0.84
_BAR = 0.09  # height of the bar of counts
_CUT = 0.4  # room for the number of nodes left out
_LONGEST = 28  # characters per line
_TICK = 0.02  # width of the mark of a mean, as a share of the box
_PALE = "#9fc9e5"  # color of a standard deviation


class _Box(NamedTuple):
    """A drawn node: its row of `inspection.node_table`, and its position."""

    row: Any
    place: float  # rows from the top
    share: float
    mass: float
    n_below: int  # number of nodes below it that are not drawn


class _Labels:
    """What the nodes of a classifier know: counts of labels."""

    def __init__(self, boxes: list[_Box]) -> None:
        self._colors = label_colors(boxes[0].row.counts)

    def text(self, row: Any) -> str:
        """Return the counts of a node, with as many labels as fit."""
        counts = {label: row.counts[label] for label in self._colors}
        return _fitting(
            counts_text(counts, most, lambda label: name(label, 12)) for most in (4, 3, 2, 1)
        )

    def bars(self, row: Any) -> Iterator[tuple[float, float, str, str]]:
        """Yield a bar for each label: its start and width as shares of the box, color and name."""
        start = 0.0
        for label, color in self._colors.items():
            width = row.counts[label] / row.n_samples
            yield start, width, color, repr(label)
            start += width

    def n_legend_rows(self, n_levels: int) -> int:
        """Return the number of lines of the legend."""
        return -(-len(self._colors) // n_levels)

    def draw_legend(self, ax: Axes, n_levels: int) -> None:
        """Name the colors."""
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        add_legend(ax, self._colors, ncols=n_levels, frameon=False, **above)


class _Targets:
    """What the nodes of a regressor know: mean and standard deviation of the targets."""

    def __init__(self, boxes: list[_Box]) -> None:
        rows = [box.row for box in boxes]
        self._low = min(row.mean - row.std for row in rows)
        self._range = max(row.mean + row.std for row in rows) - self._low
        self._tolerance = 0.001 * self._range

    def text(self, row: Any) -> str:
        """Return mean, standard deviation and number of samples of a node."""
        mean, std = (number(value, self._tolerance) for value in (row.mean, row.std))
        return f"{mean} ± {std} ({count(row.n_samples)})"

    def bars(self, row: Any) -> Iterator[tuple[float, float, str, str]]:
        """Yield a bar around the mean and a mark on it: start, width, color and name."""
        scale = 1.0 / self._range if self._range else 0.0
        middle = scale * (row.mean - self._low)
        yield middle - scale * row.std, 2.0 * scale * row.std, _PALE, "std"
        yield min(max(middle - 0.5 * _TICK, 0.0), 1.0 - _TICK), _TICK, COLORS[0], "mean"

    def n_legend_rows(self, n_levels: int) -> int:
        """Return the number of lines of the legend."""
        return 1

    def draw_legend(self, ax: Axes, n_levels: int) -> None:
        """Tell the scale of the bars."""
        ends = (number(end, self._tolerance) for end in (self._low, self._low + self._range))
        text = "mean ± standard deviation (samples); bars from {} to {}".format(*ends)
        ax.set_title(text, loc="left", fontsize=plt.rcParams["legend.fontsize"])


def tree(model: Any, tree: int = 0, max_depth: int = 4, ax: Axes | None = None) -> Axes:
    """Draw a tree of a forest, with its root on the left.

    Each node shows its split, what it knows of its samples, its share of the mass left over by the
    nodes above it, and its resulting mass in the prediction for samples that reach it (see
    `inspection.path`). It knows the counts of the labels, also drawn as a bar. In a tree of a
    regressor it knows the mean and the standard deviation of the targets, with the number of
    samples in parentheses; the bar goes from one standard deviation below the mean to one above it,
    on a scale that is the same for all nodes. Samples for which the split is true go up.

    Parameters
    ----------
    model
        The forest, or a fitted estimator of `river_amf.sklearn` with one.
    tree
        Index of the tree, from 0.
    max_depth
        Maximum depth of the nodes drawn, where the root has depth 0. For deeper nodes only their
        number is shown.
    ax
        Axes to draw on; by default those of a new figure that is large enough.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Raises
    ------
    TypeError
        If `model` is not a forest, `tree` is not an integer, or `ax` is not a matplotlib Axes.
    ValueError
        If the tree has no nodes, or `max_depth` is not an integer >= 0.
    IndexError
        If there is no tree with that index.

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
    boxes = _lay_out(table, max_depth, use_aggregation=forest.use_aggregation)
    n_levels = 1 + max(box.row.depth for box in boxes)
    n_rows = 1.0 + max(box.place for box in boxes)
    content = (_Labels if "counts" in table.columns else _Targets)(boxes)
    height = 0.25 * content.n_legend_rows(n_levels) + max(1.0, 0.66 * n_rows)
    ax = new_axes(ax, (0.5 + 2.4 * n_levels, height))
    ax.set_axis_off()
    ax.set_xlim(-0.05, n_levels - 1 + _WIDTH + (_CUT if any(b.n_below for b in boxes) else 0.05))
    ax.set_ylim(n_rows - 0.5, -0.5)
    content.draw_legend(ax, n_levels)
    size = _font_size(ax)
    places = {box.row.node: box for box in boxes}
    for box in boxes:
        _draw_box(ax, box, content, size)
        for child in (box.row.left, box.row.right):
            if child in places:
                _draw_edge(ax, box, places[child], size, is_true=child == box.row.left)
    return ax


def _lay_out(table: pd.DataFrame, max_depth: int, *, use_aggregation: bool) -> list[_Box]:
    """Return the nodes to draw, parents first, with their positions."""
    # Each end of the drawn tree takes one row; a parent is centered between its children.
    nodes: Iterable[Any] = table.itertuples()
    rows = {row.node: row for row in nodes}
    n_nodes = dict.fromkeys(rows, 1)
    for row in sorted(rows.values(), key=lambda row: -row.depth):
        if row.parent in rows:
            n_nodes[row.parent] += n_nodes[row.node]
    boxes: list[_Box] = []
    n_ends = 0

    def lay_out(node: int, remaining: float) -> float:
        """Add a subtree, and return the position of its root."""
        nonlocal n_ends
        row = rows[node]
        is_leaf = row.left < 0
        share = 1.0 if is_leaf else 0.0
        if use_aggregation and not is_leaf:
            share = float(np.exp(-np.logaddexp(0.0, -row.log_odds)))
        at = len(boxes)
        boxes.append(_Box(row, 0.0, share, remaining * share, 0))
        if is_leaf or row.depth == max_depth:
            place = float(n_ends)
            n_ends += 1
        else:
            rest = remaining * (1.0 - share)
            place = 0.5 * (lay_out(row.left, rest) + lay_out(row.right, rest))
        n_below = n_nodes[node] - 1 if row.depth == max_depth else 0
        boxes[at] = boxes[at]._replace(place=place, n_below=n_below)
        return place

    lay_out(table.loc[table["parent"] < 0, "node"].iloc[0], 1.0)
    return boxes


def _font_size(ax: Axes) -> float:
    """Return the font size at which the text of a node fits into its box in the final layout."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    points = 72.0 / ax.figure.dpi
    (left, bottom), (right, top) = ax.transData.transform([(0.0, 0.5 * _HEIGHT), (_WIDTH, 0.0)])
    height, width = 2.0 * (top - bottom) * points, (right - left) * points
    return float(min(9.0, height / 4.6, width / (0.64 * _LONGEST)))


def _draw_box(ax: Axes, box: _Box, content: _Labels | _Targets, size: float) -> None:
    """Draw a node: its text, with a bar of its counts or targets below."""
    row = box.row
    left, top = float(row.depth), box.place - 0.5 * _HEIGHT
    border: dict[str, Any] = {"linewidth": 0.8 + 1.6 * box.mass, "edgecolor": "#444444"}
    gid = f"node {row.node}"
    ax.add_patch(
        Rectangle((left, top), _WIDTH, _HEIGHT, facecolor="white", zorder=2, gid=gid, **border)
    )
    lines = [
        _split_text(row),
        content.text(row),
        f"share {box.share:.2f}, mass {box.mass:.2f}",
    ]
    ax.text(
        left + 0.5 * _WIDTH,
        box.place - 0.5 * _BAR,
        "\n".join(lines),
        ha="center",
        va="center",
        size=size,
        linespacing=1.15,
        zorder=4,
        gid=gid,
        parse_math=False,
    )
    for start, width, color, what in content.bars(row):
        place = left + _WIDTH * start, top + _HEIGHT - _BAR
        gid = f"node {row.node} {what}"
        ax.add_patch(Rectangle(place, _WIDTH * width, _BAR, facecolor=color, zorder=3, gid=gid))
    if box.n_below:
        text = f"+{box.n_below} nodes"
        ax.text(left + _WIDTH + 0.03, box.place, text, va="center", size=size, color="#555555")


def _draw_edge(ax: Axes, parent: _Box, child: _Box, size: float, *, is_true: bool) -> None:
    """Draw the edge from a node to its child, labeled by whether the split is true there."""
    start, end = parent.row.depth + _WIDTH, float(child.row.depth)
    ax.plot([start, end], [parent.place, child.place], color="#888888", linewidth=1.0, zorder=1)
    ax.text(
        end - 0.02,
        child.place + (-0.06 if is_true else 0.06),
        "yes" if is_true else "no",
        ha="right",
        va="bottom" if is_true else "top",
        size=0.85 * size,
        color="#555555",
    )


def _split_text(row: Any) -> str:
    """Return the text for the split of a node."""
    if row.left < 0:
        return "leaf"
    if row.categories_left is not None:
        feature = name(row.feature, 10)
        return _fitting(
            f"{feature} in {categories_text(row.categories_left, most=most, widest=12)}"
            for most in (3, 2, 1)
        )
    side = row.range_max[row.feature] - row.range_min[row.feature]
    threshold = number(row.threshold, 0.01 * side)
    return f"{name(row.feature, max(8, _LONGEST - 4 - len(threshold)))} <= {threshold}"


def _fitting(texts: Iterable[str]) -> str:
    """Return the first text that fits on a line, or else the last one."""
    text = ""
    for text in texts:
        if len(text) <= _LONGEST:
            break
    return text
