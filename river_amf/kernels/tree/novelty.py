"""How unlike all that a tree has learned a sample is (DESIGN.md: novelty)."""

from __future__ import annotations

import math

from river_amf.kernels.features.intensity import filled
from river_amf.kernels.numba_tools.arrays import LARGEST_FLOAT, NONE, Array, Forest, Record, Tree
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.kernels.tree import structure
from river_amf.kernels.tree.gains import follow_gains
from river_amf.kernels.tree.random_numbers import coded

UNSEEN = -1.0  # in the place of the number of a category that was never learned


@hot
def known_value(forest: Forest, j: int, value: float) -> float:
    """Return a value of feature j, or its stand-in if it is missing; outliers stay as they are."""
    never_missed = forest.is_categorical[j] and forest.features[j]["n_missing"] == 0
    return UNSEEN if never_missed and math.isnan(value) else filled(forest, j, value)


@helper
def is_outside_rows(forest: Forest, tree: Tree, row: int, x: Array) -> bool:
    """Return whether x is outside the hull of the samples that a leaf keeps."""
    # Most values have some on both sides among the first few, so this is faster than the hull.
    key = tree.state["key"]
    for j in range(tree.settings["n_features"]):
        if math.isnan(x[j]) or not tree.intensity[j] > 0.0:
            continue
        n_below, n_above, at = 0, 0, row
        while at != NONE and (n_below == 0 or n_above == 0):
            value = coded(forest.is_categorical, key, j, forest.rows[at, j])
            n_below += value <= x[j]
            n_above += value >= x[j]
            at = tree.links[at]
        if (n_below == 0) != (n_above == 0):
            return True
    return False


@hot
def rate_of(forest: Forest, tree: Tree, node: Record, x: Array) -> float:
    """Return the rate at which the process splits x off at a node with a box."""
    box, rate = structure.box_of(tree, node), 0.0
    for j in range(tree.settings["n_features"]):
        if box[0, j] <= x[j] <= box[1, j]:  # most are, and this is faster than to add 0
            continue
        distance = structure.range_extension(box[0, j], box[1, j], x[j])
        if forest.is_categorical[j]:
            distance = min(distance, 1.0)  # of one that is unseen
        rate += tree.intensity[j] * distance
    return min(rate, LARGEST_FLOAT)  # or 0 times it would be NaN


@helper
def novelty_in(forest: Forest, tree: Tree, values: Array, x: Array) -> float:
    """Return sum_v A_v q_v log(1 + N_v) / log(1 + N_root), and write the sample as seen to x."""
    nodes, index, n_features = tree.nodes, tree.state["root"], tree.settings["n_features"]
    if index == NONE:
        return 1.0
    follow_gains(tree)
    for j in range(n_features):
        value = values[j]
        is_unseen = value == UNSEEN  # or the number -1, which stays the same
        x[j] = value if is_unseen else coded(forest.is_categorical, tree.state["key"], j, value)
    whole = math.log1p(nodes[index]["n_samples"])
    novelty, reach, time, rate = 0.0, 1.0, 0.0, 0.0
    while True:
        node = nodes[index]
        if not structure.keeps_samples(node):
            rate = rate_of(forest, tree, node, x)
        elif node["parent"] == NONE:  # else it takes the box of its parent, and that rate
            rate = 1.0 if is_outside_rows(forest, tree, node["box_or_row"], x) else 0.0
        if rate > 0.0:
            stays = math.exp(-(node["split_time"] - time) * rate)
            novelty += reach * (1.0 - stays) * math.log1p(node["n_samples"])
            reach *= stays
        if structure.is_leaf(node) or reach == 0.0:
            return min(novelty / whole, 1.0)
        time = node["split_time"]
        index = structure.next_node(nodes, node, x)
