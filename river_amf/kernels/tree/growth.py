"""Growth by extension: if a sample is outside a node's box, the node may get a new parent.

The Mondrian process of [MF, algorithm 4] and [AMF, algorithm 3] (DESIGN.md: Mondrian growth).
"""

from __future__ import annotations

import math

from river_amf.kernels.numba_tools.arrays import NEVER, NONE, Array, Tree, unsigned
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.kernels.tree import estimates, structure
from river_amf.kernels.tree.gains import follow_gains
from river_amf.kernels.tree.random_numbers import (
    draw_feature,
    draw_split_time,
    draw_threshold,
    draw_uniform,
)
from river_amf.kernels.tree.sample_store import list_row

N_CANDIDATES = 48  # nodes that a full tree considers when it undoes a split
TIE_TOLERANCE = 1.0 + 1e-9  # factor up to which two of them are equal, despite rounding


@hot
def grow(tree: Tree, x: Array, row: int) -> tuple[int, int, float]:
    """Grow a tree by extension; return the leaf of x, the new parent if any, and the growth."""
    # The growth is that of insert_parent. A leaf that is not new may still have to be split.
    state = tree.state
    if state["root"] == NONE:
        state["root"] = add_leaf(tree, state["root"], x, row)  # without a parent
        return state["root"], NONE, 0.0
    index, split_time, undone = descend(tree, x)
    if split_time < NEVER:
        return insert_parent(tree, index, split_time, undone, x, row)
    return index, NONE, 0.0


@hot
def descend(tree: Tree, x: Array) -> tuple[int, float, int]:
    """Walk x down to a leaf, or to where the process splits, extending the boxes on the way."""
    # Returns the node, the time at which it gets a new parent (NEVER for a leaf that takes x as it
    # is), and in a full tree the node whose split is undone; without one, the box is extended.
    n_features = tree.settings["n_features"]
    is_full = structure.is_spent(tree.settings, tree.state)
    n_missing, index = 0, tree.state["root"]
    for j in range(n_features):
        n_missing += math.isnan(x[j])
    time = 0.0
    has_intensity = False
    while True:
        node = tree.nodes[unsigned(index)]
        if structure.keeps_samples(node):
            return index, NEVER, NONE
        box = structure.box_of(tree, node)
        children_time = node["split_time"]
        if not structure.is_inside(box, x, n_features, n_missing):
            if not has_intensity:
                follow_gains(tree)
                has_intensity = True
            rate = structure.extension_rate(box, x, tree.intensity, n_features)
            if rate > 0.0:
                time = draw_split_time(tree.state, time, rate, children_time)
                if time < children_time:
                    undone = least_useful_split(tree, index) if is_full else NONE
                    if undone != NONE or not is_full:
                        return index, time, undone
            structure.extend_box(box, x, n_features)
        if structure.is_leaf(node):
            return index, NEVER, NONE
        time = children_time
        index = structure.next_node(tree.nodes, node, x)


@helper
def add_leaf(tree: Tree, parent: int, x: Array, row: int) -> int:
    """Add a leaf that holds only x, which is not counted yet."""
    index = structure.add_node(tree, parent)
    if structure.splits_late(tree.settings, tree.state):
        list_row(tree, index, row)
    else:
        structure.add_box(tree, index)
        structure.extend_box(
            structure.box_of(tree, tree.nodes[index]), x, tree.settings["n_features"]
        )
    return index


@helper
def least_useful_split(tree: Tree, index: int) -> int:
    """Return the node whose split a full tree can best do without, or NONE (DESIGN.md: budget)."""
    # Of some nodes in a row with two leaves below, the first with the largest sigma(r_v) / (1 + n),
    # where n is that of the smaller leaf; neither the node that gets a parent nor the one above it.
    nodes, n_nodes = tree.nodes, tree.state["n_nodes"]
    above = nodes[unsigned(index)]["parent"]
    candidate = int(draw_uniform(tree.state) * n_nodes)
    best, largest = NONE, 0.0
    for _ in range(N_CANDIDATES):
        candidate = candidate + 1 if candidate + 1 < n_nodes else 0
        node = nodes[unsigned(candidate)]
        if candidate == index or structure.is_leaf(node):
            continue
        left, right = nodes[unsigned(node["left"])], nodes[unsigned(node["right"])]
        if candidate != above and structure.is_leaf(left) and structure.is_leaf(right):
            divisor = 1.0 + min(left["n_samples"], right["n_samples"])
            if largest * divisor < 1.0:  # else it cannot be larger, as no share exceeds 1
                uselessness = estimates.shares(node)[0] / divisor
                if uselessness > largest * TIE_TOLERANCE:
                    best, largest = candidate, uselessness
    return best


@helper
def insert_parent(
    tree: Tree, index: int, split_time: float, undone: int, x: Array, row: int
) -> tuple[int, int, float]:
    """Insert a parent above a node, and a leaf with x as the node's sibling."""
    # Returns the leaf, the parent, and the growth of log wbar for the ancestors, with the rho of
    # the node below: log((1-b) exp(rho) + b) (DESIGN.md: structural changes). In a full tree they
    # are the former leaves of the node whose split is undone.
    n_features = tree.settings["n_features"]
    if undone == NONE:
        parent = structure.add_node(tree, tree.nodes[index]["parent"])
        structure.add_box(tree, parent)
        leaf = add_leaf(tree, parent, x, row)
    else:
        parent, leaf = tree.nodes[undone]["left"], tree.nodes[undone]["right"]
        structure.clear_split(tree.nodes[undone])  # it has counted all; the odds above it stay
        structure.clear_node(tree, parent, tree.nodes[index]["parent"])
        structure.clear_node(tree, leaf, parent)
        structure.clear_box(tree, leaf)
        structure.extend_box(structure.box_of(tree, tree.nodes[leaf]), x, n_features)
    node, above = tree.nodes[index], tree.nodes[parent]
    box = structure.box_of(tree, node)
    parent_box = structure.box_of(tree, above)
    lengths = parent_box[0]  # borrowed until the box is written there
    for j in range(n_features):
        lengths[j] = structure.range_extension(box[0, j], box[1, j], x[j])
    rate = structure.extension_rate(box, x, tree.intensity, n_features)
    feature = draw_feature(tree.state, lengths, tree.intensity, rate)
    if x[feature] < box[0, feature]:
        low, high, left, right = x[feature], box[0, feature], leaf, index
    else:
        low, high, left, right = box[1, feature], x[feature], index, leaf
    threshold = draw_threshold(tree.state, low, high)
    structure.set_split(tree, parent, split_time, feature, threshold, left, right)
    structure.replace_child(tree, above["parent"], index, parent)
    above["n_samples"] = node["n_samples"]
    for c in range(tree.settings["n_classes"]):
        tree.counts[parent, c] = tree.counts[index, c]
    for c in range(tree.targets.shape[1]):
        tree.targets[parent, c] = tree.targets[index, c]
    for c in range(tree.faded.shape[1]):
        tree.faded[parent, c] = tree.faded[index, c]
    for j in range(n_features):
        parent_box[0, j] = box[0, j]
        parent_box[1, j] = box[1, j]
    structure.extend_box(parent_box, x, n_features)

    surplus = (
        0.0
        if structure.is_leaf(node)
        else estimates.log_own_surplus(tree.settings, estimates.log_odds_in(node))
    )
    log_odds = estimates.log_odds_of(tree.settings, surplus, 0.0)  # the new leaf's wbar is 1
    estimates.set_log_odds(above, log_odds)
    node["parent"] = parent
    return leaf, parent, tree.settings["log_split"] + estimates.softplus(log_odds)
