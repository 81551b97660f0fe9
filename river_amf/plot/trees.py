"""A tree of a forest as a picture: the split, the samples and the mass of each node."""

import itertools
from collections.abc import Hashable
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from river_amf import inspection
from river_amf.ensemble import forest_of
from river_amf.outputs.formatting import categories_text, count_text, counts_text, cut, name
from river_amf.parameters import integer
from river_amf.plot.axes import add_legend, label_colors, new_axes, patches

_SIDE = 0.84  # of a box, where the next depth is 1 to the right and the next row 1 down
_BAR = 0.09  # height of the bar of counts
_LONGEST = 28  # characters per line


class _Node(NamedTuple):
    """A drawn node: its row of `inspection.node_table`, and its position."""

    row: Any
    height: float  # rows from the top
    share: float
    mass: float


def tree(model: Any, tree: int = 0, max_depth: int = 4, ax: Axes | None = None) -> Axes:
    """Draw a tree of a forest, with its root on the left, down to a depth (0 for the root alone).

    Each node shows its split, and its share and mass in the prediction for samples that reach it
    (see `inspection.path`). Samples for which the split is true go up. A classifier's node shows
    the counts of the labels, also as a bar; a regressor's the mean and the standard deviation of
    the targets, with the number of samples in parentheses. `tree` is an index, from 0, else
    IndexError.

    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, plot
    >>> model = AMFClassifier(n_estimators=1, seed=1)
    >>> for length, label in [(1.0, "short"), (1.5, "short"), (4.0, "long"), (4.5, "long")]:
    ...     model.learn_one({"length": length}, label)
    >>> ax = plot.tree(model, ax=Figure().subplots())
    >>> print(ax.texts[0].get_text())
    length <= 3.5151
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
    n_rows = 1.0 + max(node.height for node in nodes.values())
    colors = label_colors(rows[0].counts) if "counts" in table else {}
    height = 0.25 * max(1, -(-len(colors) // n_levels)) + max(1.0, 0.66 * n_rows)
    ax = new_axes(ax, (0.5 + 2.4 * n_levels, height))
    ax.set_axis_off()
    ax.set_xlim(-0.05, n_levels)
    ax.set_ylim(n_rows - 0.5, -0.5)
    if colors:
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        add_legend(ax, handles=patches(colors), ncols=n_levels, frameon=False, **above)
    else:
        text = "mean ± standard deviation (samples)"
        ax.set_title(text, loc="left", fontsize=plt.rcParams["legend.fontsize"])
    size = _font_size(ax)
    for node in nodes.values():
        _draw(ax, node, nodes.get(node.row.parent), colors, size)
    return ax


def _lay_out(table: pd.DataFrame, max_depth: int, *, use_aggregation: bool) -> dict[int, _Node]:
    """Return the nodes to draw by their numbers, parents first."""
    # Each end of the drawn tree takes one row; a parent is centered between its children.
    rows: dict[int, Any] = {row.node: row for row in table.itertuples()}  # type: ignore[misc]
    nodes: dict[int, _Node] = {}
    ends = itertools.count()

    def lay_out(number: int, remaining: float) -> float:
        """Add a subtree, and return the position of its root."""
        row, share = rows[number], 1.0
        if row.left >= 0:
            share = np.exp(-np.logaddexp(0.0, -row.log_odds)) if use_aggregation else 0.0
        below = () if row.left < 0 or row.depth == max_depth else (row.left, row.right)
        heights = [lay_out(child, remaining * (1.0 - share)) for child in below]
        height = sum(heights) / 2 if heights else float(next(ends))
        nodes[number] = _Node(row, height, share, remaining * share)
        return height

    lay_out(table.loc[table["parent"] < 0, "node"].iloc[0], 1.0)
    return dict(reversed(nodes.items()))


def _font_size(ax: Axes) -> float:
    """Return the font size at which the text of a node fits into its box in the final layout."""
    ax.figure.canvas.figure.draw_without_rendering()
    (left, bottom), (right, top) = ax.transData.transform([(0.0, _SIDE), (_SIDE, 0.0)])
    points = 72.0 / ax.figure.dpi
    return float(min(9.0, (top - bottom) * points / 4.6, (right - left) * points / 18.0))


def _draw(
    ax: Axes, node: _Node, parent: _Node | None, colors: dict[Hashable, str], size: float
) -> None:
    """Draw a node, with a bar of its counts, and the edge from its parent."""
    row, height = node.row, node.height
    left, top, gid = float(row.depth), height - 0.5 * _SIDE, f"node {row.node}"
    border: dict[str, Any] = {"linewidth": 0.8 + 1.6 * node.mass, "edgecolor": "#444444"}
    ax.add_patch(Rectangle((left, top), _SIDE, _SIDE, facecolor="white", gid=gid, **border))
    start, counts = left, {label: row.counts[label] for label in colors}
    for label, n in counts.items():
        corner, width = (start, top + _SIDE - _BAR), _SIDE * n / row.n_samples
        ax.add_patch(Rectangle(corner, width, _BAR, color=colors[label], gid=f"{gid} {label!r}"))
        start += width
    samples = counts_text(counts, lambda label: name(label, 12))
    if not colors:
        samples = f"{row.mean:.5g} ± {row.std:.3g} ({count_text(row.n_samples)})"
    lines = _split_text(row), samples, f"share {node.share:.2f}, mass {node.mass:.2f}"
    style: dict[str, Any] = {"ha": "center", "va": "center", "size": size, "linespacing": 1.15}
    text = "\n".join(cut(line, _LONGEST) for line in lines)
    ax.text(left + 0.5 * _SIDE, height - 0.5 * _BAR, text, gid=gid, parse_math=False, **style)
    if parent is not None:
        ends = (left - 1.0 + _SIDE, left), (parent.height, height)
        ax.plot(*ends, color="#888888", linewidth=1.0, zorder=0.5)
        is_true = row.node == parent.row.left
        text, shift, va = ("yes", -0.06, "bottom") if is_true else ("no", 0.06, "top")
        ax.text(left - 0.02, height + shift, text, ha="right", va=va, size=0.85 * size)


def _split_text(row: Any) -> str:
    if row.left < 0:
        return "leaf"
    if row.categories_left is not None:
        return f"{name(row.feature, 10)} in {categories_text(row.categories_left)}"
    return f"{name(row.feature, 14)} <= {row.threshold:.5g}"
