"""The nodes of a tree and their links: what a leaf is, where a sample goes, how nodes are added.

Kernels never allocate: before a node or box is added, the caller checks capacity (`readiness`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from river_amf.kernels.numba_tools.arrays import (
    LARGEST_FLOAT,
    NEVER,
    NONE,
    Array,
    Forest,
    Record,
    Tree,
    unsigned,
)
from river_amf.kernels.numba_tools.compilation import helper, hot, view
from river_amf.kernels.tree.estimates import shares
from river_amf.kernels.tree.random_numbers import coded
from river_amf.state.layout import FADED_SHARE, MOST_BRANCHES

MOST_VISITS = 400  # nodes after which a prediction no longer takes both ways
LEAST_MASS = 1e-4  # a branch ends at a node below which there is less


@hot
def range_extension(low: float, high: float, value: float) -> float:
    """Return e_j, the distance of a value from [low, high]; 0 if one of them is missing (NaN)."""
    below = low - value
    above = value - high
    extension = below if below > 0.0 else (above if above > 0.0 else 0.0)
    return min(extension, LARGEST_FLOAT)


@hot
def extension_rate(box: Array, x: Array, intensity: Array, n_features: int) -> float:
    """Return the rate sum_j lambda_j e_j of a split above a box, given x [MF, algorithm 4]."""
    rate = 0.0
    for j in range(n_features):
        rate += intensity[j] * range_extension(box[0, j], box[1, j], x[j])
    return rate


@hot
def is_inside(box: Array, x: Array, n_features: int, n_missing: int) -> bool:
    """Return whether a box contains x, apart from its missing values."""
    # No branches, so that features are compared at once; a missing value counts as outside twice.
    n_outside = 0
    for j in range(n_features):
        n_outside += not (box[0, j] <= x[j])
        n_outside += not (x[j] <= box[1, j])
    return n_outside == 2 * n_missing


@hot
def extend_box(box: Array, x: Array, n_features: int) -> None:
    for j in range(n_features):
        extend_side(box, j, x[j])


@hot
def extend_side(box: Array, j: int, value: float) -> None:
    """Extend a box to contain a value of feature j, unless it is missing."""
    if value < box[0, j] or math.isnan(box[0, j]):
        box[0, j] = value
    if value > box[1, j] or math.isnan(box[1, j]):
        box[1, j] = value


@helper
def hull_of_rows(forest: Forest, tree: Tree, row: int, box: Array) -> None:
    """Extend a box to contain the samples in a leaf's list, which starts at `row`."""
    # It allocates nothing, as a tree that gives up its samples could not stop halfway.
    key = tree.state["key"]
    while row != NONE:
        for j in range(tree.settings["n_features"]):
            extend_side(box, j, coded(forest.is_categorical, key, j, forest.rows[row, j]))
        row = tree.links[row]


@hot
def is_leaf(node: Record) -> bool:
    return node["left"] == NONE


@hot
def keeps_samples(node: Record) -> bool:
    """Return whether a node is a pure leaf that keeps its samples; all other nodes have a box."""
    return node["n_rows"] > 0


@hot
def is_spent(settings: Record, state: Record) -> bool:
    """Return whether the tree's budget allows no further split (DESIGN.md: budget)."""
    return state["n_nodes"] + 2 > settings["max_nodes"]


@hot
def splits_late(settings: Record, state: Record) -> bool:
    """Return whether new leaves keep their samples and are split once they are not pure."""
    return not settings["split_pure"] and not is_spent(settings, state)


@hot
def splits_left(settings: Record, state: Record) -> int:
    return (settings["max_nodes"] - state["n_nodes"]) // 2


@helper
def add_node(tree: Tree, parent: int) -> int:
    """Add a leaf without samples, box or counts; the caller has checked the capacity."""
    index = tree.state["n_nodes"]
    tree.state["n_nodes"] = index + 1
    tree.nodes[index]["box_or_row"] = NONE
    tree.nodes[index]["n_rows"] = 0
    clear_node(tree, index, parent)
    return index


@helper
def clear_node(tree: Tree, index: int, parent: int) -> None:
    """Make a node a leaf without samples or counts; its box, if it has one, stays as it is."""
    node = tree.nodes[index]
    node["n_samples"] = 0.0
    node["parent"] = parent
    clear_split(node)
    for c in range(tree.counts.shape[1]):
        tree.counts[index, c] = 0.0
    for c in range(tree.targets.shape[1]):
        tree.targets[index, c] = 0.0
    for c in range(tree.faded.shape[1]):
        tree.faded[index, c] = 0.5 if c == FADED_SHARE else 0.0


@hot
def clear_split(node: Record) -> None:
    node["split_time"] = NEVER
    node["feature"] = NONE
    node["threshold"] = 0.0
    node["odds"] = 0.0
    node["odds_scale"] = 0.0
    node["left"] = NONE
    node["right"] = NONE


@helper
def add_box(tree: Tree, index: int) -> None:
    box = tree.state["n_boxes"]
    tree.state["n_boxes"] = box + 1
    tree.nodes[index]["box_or_row"] = box
    clear_box(tree, index)


@helper
def clear_box(tree: Tree, index: int) -> None:
    box = tree.nodes[index]["box_or_row"]
    for j in range(tree.boxes.shape[2]):
        tree.boxes[box, 0, j] = math.nan
        tree.boxes[box, 1, j] = math.nan


@view
def box_of(tree: Tree, node: Record) -> Array:
    """Return the box of a node that keeps no samples."""
    return tree.boxes[node["box_or_row"]]


@helper
def set_split(
    tree: Tree, index: int, time: float, feature: int, threshold: float, left: int, right: int
) -> None:
    node = tree.nodes[index]
    node["split_time"] = time
    node["feature"] = feature
    node["threshold"] = threshold
    node["left"] = left
    node["right"] = right


@helper
def replace_child(tree: Tree, parent: int, old: int, new: int) -> None:
    if parent == NONE:
        tree.state["root"] = new
    elif tree.nodes[parent]["left"] == old:
        tree.nodes[parent]["left"] = new
    else:
        tree.nodes[parent]["right"] = new


@hot
def sibling_of(tree: Tree, index: int) -> int:
    parent = tree.nodes[tree.nodes[index]["parent"]]
    return np.int64(parent["right"] if parent["left"] == index else parent["left"])  # type: ignore[return-value]


@hot
def pass_on(settings: Record, node: Record, mass: float) -> tuple[float, float]:
    """Return which part of the mass that reaches a node it keeps, and which it passes on."""
    # A leaf keeps all; without aggregation, the other nodes pass on all (DESIGN.md: prediction).
    if is_leaf(node):
        return mass, 0.0
    if not settings["use_aggregation"]:
        return 0.0, mass
    own_share, rest = shares(node)
    return mass * own_share, mass * rest


@hot
def heavier_child(nodes: Array, node: Record) -> int:
    """Return the child with more samples, or the left one in a tie (DESIGN.md: missing values)."""
    heavier_right = nodes[node["right"]]["n_samples"] > nodes[node["left"]]["n_samples"]
    return node["right"] if heavier_right else node["left"]


@hot
def next_node(nodes: Array, node: Record, x: Array) -> int:
    """Return the child that x goes to: left if x <= threshold, the heavier if it is missing."""
    child = known_child(node, x)
    return heavier_child(nodes, node) if child == NONE else child


@hot
def known_child(node: Record, x: Array) -> int:
    """Return the child that x goes to by its value, NONE if that is missing."""
    value = x[unsigned(node["feature"])]
    if value <= node["threshold"]:
        return node["left"]
    return node["right"] if value > node["threshold"] else NONE


@hot
def is_end(node: Record, rest: float, reach: float) -> bool:
    """Return whether a branch of a prediction ends, given the mass that is left below the node."""
    return is_leaf(node) or (reach < 1.0 and rest < LEAST_MASS)


class Walk(NamedTuple):
    """Where a prediction is in a tree, on one of its branches."""

    # Where x lacks a number, it forks: first to the heavier child (DESIGN.md: missing values).
    node: int  # NONE at the end
    mass: float  # that reaches the node
    above: float  # what the kind of walk passes down
    reach: float  # share of x that the branch stands for
    n_open: int  # branches that are left for later
    n_visits: int  # nodes visited before


@hot
def walk_from(root: int, above: float) -> Walk:
    return Walk(root, 1.0, above, 1.0, 0, 0)


@hot
def next_visit(forest: Forest, t: int, x: Array, walk: Walk, rest: float, above: float) -> Walk:
    """Return where a prediction goes next, given the mass left below a node, and what it passes."""
    nodes, branches, reach = forest.nodes[t], forest.branches[t], walk.reach
    node, n_open, n_visits = nodes[unsigned(walk.node)], walk.n_open, walk.n_visits + 1
    if is_end(node, rest, reach):
        if n_open == 0:
            return Walk(NONE, rest, above, reach, 0, n_visits)
        aside, n_open = branches[n_open - 1], n_open - 1
        return Walk(aside["node"], aside["mass"], aside["above"], aside["reach"], n_open, n_visits)
    child = known_child(node, x)
    if child == NONE:
        child = heavier_child(nodes, node)
        if n_open < MOST_BRANCHES and n_visits < MOST_VISITS:
            other = node["left"] + node["right"] - child
            heavier, lighter = nodes[child]["n_samples"], nodes[other]["n_samples"]
            share, aside = heavier / (heavier + lighter), branches[n_open]
            part = lighter / (heavier + lighter)
            aside["node"], aside["mass"] = other, part * rest
            aside["above"], aside["reach"] = above, part * reach
            rest, reach, n_open = share * rest, share * reach, n_open + 1
    return Walk(child, rest, above, reach, n_open, n_visits)
