"""Kernels for explanations: the path of one sample down one tree, node by node, and boxes."""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.arrays import NONE, forest_of, sample_of
from river_amf.kernels.boxes import hull_of_rows
from river_amf.kernels.compilation import quick_kernel
from river_amf.kernels.intensity import clip_outliers
from river_amf.kernels.random_numbers import code_row, number_of
from river_amf.kernels.structure import is_leaf, next_node, pass_on
from river_amf.kernels.views import array_at

# One record per node on the path.
VISIT = np.dtype(
    [
        ("node", "i8"),
        ("value", "f8"),  # of the split feature, as the tree sees it; NaN if missing or a leaf
        ("share", "f8"),  # of the remaining mass
        ("mass", "f8"),
    ],
    align=True,
)


@quick_kernel
def trace_sample(arena: int, t: int, sample: int, visits: int) -> int:
    """Record the nodes that predict_tree visits in tree `t`, and return their number."""
    # `arena` and `sample` are addresses, as in predict_sample. `visits` is the address of records
    # of dtype VISIT, as many as the tree has nodes.
    forest = forest_of(arena)
    settings, state, nodes = forest.settings[0], forest.trees[t], forest.nodes[t]
    n_features = settings["n_features"]
    values = sample_of(sample, n_features)
    x = values[2]
    clip_outliers(forest, values[0], n_features, values[1])
    code_row(forest.is_categorical, n_features, state["key"], values[1], x)
    trace = array_at(visits, (state["n_nodes"],), VISIT)
    remaining = 1.0
    n_visits = 0
    index = state["root"]
    while index != NONE:
        node, visit = nodes[index], trace[n_visits]
        leaf = is_leaf(node)
        visit["node"] = index
        visit["value"] = math.nan if leaf else x[node["feature"]]
        visit["share"] = pass_on(settings, node, 1.0)[0]
        visit["mass"], remaining = pass_on(settings, node, remaining)
        n_visits += 1
        if leaf:
            break
        index = next_node(nodes, node, x)
    return n_visits


@quick_kernel
def hull_of_leaf(arena: int, t: int, row: int, box: int) -> None:
    """Write the hull of the samples that a leaf keeps, whose list starts at `row`."""
    # `box` is the address of (2, n_features) values, filled with NaN.
    forest = forest_of(arena)
    n_features = forest.settings[0]["n_features"]
    hull_of_rows(
        forest.is_categorical,
        n_features,
        forest.trees[t]["key"],
        forest.rows,
        forest.links[t],
        row,
        array_at(box, (2, n_features), np.float64),
    )


@quick_kernel
def category_number(key: int, feature: int, code: float) -> float:
    """The number that a tree with this key gives to a category."""
    return number_of(np.uint64(key), feature, code)
