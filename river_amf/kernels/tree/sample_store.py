"""The store of samples that all trees share, and the lists of its rows that pure leaves keep.

Such a list follows the tree's links from the newest row in the store to the oldest. One that grows
too long is thinned (DESIGN.md: thinning); once the budget of nodes is spent, a box takes its place.
"""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.numba_tools.arrays import NONE, UNLISTED, Array, Forest, Record, Tree
from river_amf.kernels.numba_tools.compilation import allocating, allocating_kernel, helper, hot
from river_amf.kernels.tree.random_numbers import LOW_WORD, coded, mixed
from river_amf.kernels.tree.structure import (
    add_box,
    box_of,
    hull_of_rows,
    keeps_samples,
    splits_late,
)

RAREST = 32  # the number of bits that decide which samples stay in a list that grows too long


@hot
def list_row(tree: Tree, index: int, row: int) -> None:
    node = tree.nodes[index]
    tree.links[row] = node["box_or_row"]
    node["box_or_row"] = row
    node["n_rows"] += 1


@helper
def clear_rows(node: Record) -> None:
    node["box_or_row"] = NONE
    node["n_rows"] = 0


@helper
def span_of_list(
    forest: Forest, tree: Tree, index: int, is_spanning: Array, ends: Array, positions: Array
) -> None:
    """Mark samples, by position, whose hull is that of a leaf's whole list."""
    # `ends` and `positions` are working memory, filled with NaN.
    n_features = tree.settings["n_features"]
    row = tree.nodes[index]["box_or_row"]
    for i in range(len(is_spanning)):
        for j in range(n_features):
            x = coded(forest.is_categorical, tree.state["key"], j, forest.rows[row, j])
            if x < ends[0, j] or (math.isnan(ends[0, j]) and not math.isnan(x)):
                ends[0, j], positions[0, j] = x, i
            if x > ends[1, j] or (math.isnan(ends[1, j]) and not math.isnan(x)):
                ends[1, j], positions[1, j] = x, i
        row = tree.links[row]
    for position in positions.flat:
        if not math.isnan(position):
            is_spanning[int(position)] = True


@hot
def rarity(sample: Record) -> int:
    """Return how long a sample stays in thinned lists; it is >= k with probability 2^-k."""
    word = mixed(np.uint64(sample["number"]) & LOW_WORD)
    n_zeros = 0
    while n_zeros < RAREST and (word >> np.uint64(n_zeros)) & np.uint64(1) == np.uint64(0):
        n_zeros += 1
    return n_zeros


@helper
def least_rarity(forest: Forest, tree: Tree, index: int, is_spanning: Array, n_rare: Array) -> int:
    """Return the smallest rarity to keep if at most half of a leaf's samples are to be kept."""
    # `n_rare` is working memory, filled with zeros.
    row = tree.nodes[index]["box_or_row"]
    for i in range(len(is_spanning)):
        n_rare[rarity(forest.samples[row])] += not is_spanning[i]
        row = tree.links[row]
    rarest = RAREST
    n_kept = n_rare[rarest]
    while rarest > 0 and 2 * (n_kept + n_rare[rarest - 1]) <= len(is_spanning):
        rarest -= 1
        n_kept += n_rare[rarest]
    return rarest


@allocating
def list_row_and_thin(forest: Forest, tree: Tree, index: int, newest: int) -> None:
    # (DESIGN.md: thinning.) All memory is allocated before anything changes.
    node, n_features = tree.nodes[index], tree.settings["n_features"]
    is_spanning = np.zeros(node["n_rows"] + 1, np.int64)
    ends, positions = np.full((2, n_features), np.nan), np.full((2, n_features), np.nan)
    n_rare = np.zeros(RAREST + 1, np.int64)
    list_row(tree, index, newest)
    span_of_list(forest, tree, index, is_spanning, ends, positions)
    least = least_rarity(forest, tree, index, is_spanning, n_rare)
    drop_common(forest, tree, index, is_spanning, least)


@hot
def drop_common(forest: Forest, tree: Tree, index: int, is_spanning: Array, least: int) -> None:
    """Take the samples off a leaf's list that are less rare than `least` and not spanning."""
    node = tree.nodes[index]
    row, last = node["box_or_row"], NONE
    clear_rows(node)
    for is_kept in is_spanning:
        following = tree.links[row]
        if is_kept or rarity(forest.samples[row]) >= least:
            if last == NONE:
                node["box_or_row"] = row
            else:
                tree.links[last] = row
            last = row
            node["n_rows"] += 1
        else:
            tree.links[row] = UNLISTED
        row = following
    tree.links[last] = NONE


@helper
def release_rows(forest: Forest, tree: Tree) -> None:
    """Replace the samples that leaves keep by boxes, as the budget is spent (DESIGN.md: budget)."""
    for index in range(tree.state["n_nodes"]):
        node = tree.nodes[index]
        if keeps_samples(node):
            row = node["box_or_row"]
            clear_rows(node)
            add_box(tree, index)
            hull_of_rows(forest, tree, row, box_of(tree, node))
    for row in range(forest.counters["n_rows"]):
        tree.links[row] = UNLISTED


@hot
def store_row(forest: Forest, x: Array, label: int, weight: float) -> None:
    counters = forest.counters
    row = counters["n_rows"]
    counters["n_rows"] = row + 1
    for j in range(forest.settings["n_features"]):
        forest.rows[row, j] = x[j]
    forest.samples[row]["label"] = label
    forest.samples[row]["weight"] = weight
    forest.samples[row]["number"] = counters["n_stored"]
    counters["n_stored"] += 1
    for t in range(len(forest.links)):
        forest.links[t, row] = UNLISTED


@hot
def is_listed(links: Array, row: int) -> bool:
    for t in range(len(links)):
        if links[t, row] != UNLISTED:
            return True
    return False


@allocating_kernel
def compact_rows(forest: Forest) -> None:
    """Remove the rows that no leaf keeps from the store, without changing the order."""
    counters, trees, nodes = forest.counters, forest.trees, forest.nodes
    rows, samples, links = forest.rows, forest.samples, forest.links
    n_rows = 0
    moved_to = np.zeros(counters["n_rows"], np.int64)
    for row in range(counters["n_rows"]):
        moved_to[row] = UNLISTED
        if is_listed(links, row):
            moved_to[row] = n_rows
            for j in range(forest.settings["n_features"]):
                rows[n_rows, j] = rows[row, j]
            samples[n_rows] = samples[row]
            for t in range(len(trees)):
                links[t, n_rows] = links[t, row]
            n_rows += 1
    counters["n_rows"] = n_rows
    for t in range(len(trees)):
        for row in range(n_rows):
            if links[t, row] >= 0:
                links[t, row] = moved_to[links[t, row]]
        for index in range(trees[t]["n_nodes"]):
            node = nodes[t, index]
            if keeps_samples(node):
                node["box_or_row"] = moved_to[node["box_or_row"]]


@hot
def count_late(settings: Record, trees: Array) -> int:
    """Return the number of trees whose leaves keep samples."""
    n_late = 0
    for t in range(len(trees)):
        n_late += splits_late(settings, trees[t])
    return n_late


@hot
def is_keeping_rows(settings: Record, trees: Array, n_late: int) -> bool:
    """Return whether samples are stored: the leaves of some tree keep them, or may do so again."""
    may_restart = settings["drift_threshold"] > 0.0 and len(trees) > 1
    return n_late > 0 or (may_restart and not settings["split_pure"])


@hot
def have_released(forest: Forest) -> bool:
    """Return whether fewer trees keep samples than before; if none does, clear the store."""
    settings, trees, n_late = forest.settings, forest.trees, forest.handle["n_late"]
    n_late_now = count_late(settings, trees)
    if n_late_now < n_late and not is_keeping_rows(settings, trees, n_late_now):
        forest.counters["n_rows"] = forest.counters["n_stored"] = 0
    return n_late_now < n_late
