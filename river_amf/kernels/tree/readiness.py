"""Whether the arrays have the capacity that the next samples require (DESIGN.md: capacity)."""

from __future__ import annotations

from river_amf.kernels.numba_tools.arrays import Forest, Record
from river_amf.kernels.numba_tools.compilation import hot, quick_kernel
from river_amf.kernels.status import BOXES_FULL, ENOUGH_CAPACITY, NODES_FULL, STORE_FULL
from river_amf.kernels.tree.sample_store import count_late, is_keeping_rows
from river_amf.kernels.tree.structure import splits_left

READY_SPLITS = 4
FEW_SAMPLES = 64  # a lack of capacity does not make a chunk smaller than this


@hot
def needs_tree_votes(settings: Record) -> bool:
    return settings["learns_vote"] or settings["scores_trees"]


@hot
def missing_capacity(
    settings: Record, state: Record, n_splits: int, node_capacity: int, box_capacity: int
) -> int:
    """Return the capacity that a tree lacks for `n_splits` splits, given its arrays' sizes."""
    n_nodes = max(state["n_nodes"] + 2 * n_splits, 1)  # the first leaf needs no split
    if n_nodes > node_capacity:
        return NODES_FULL
    n_boxes = state["n_boxes"] + n_splits + 1
    if n_nodes + 2 > settings["max_nodes"] or settings["split_pure"]:
        n_boxes = n_nodes  # as all leaves get a box
    return BOXES_FULL if n_boxes > box_capacity else ENOUGH_CAPACITY


@hot
def tree_lacks(forest: Forest, t: int, n_splits: int) -> int:
    settings, state = forest.settings, forest.trees[t]
    wanted = min(n_splits, splits_left(settings, state))
    return missing_capacity(settings, state, wanted, forest.nodes.shape[1], forest.boxes.shape[1])


@hot
def count_ready(forest: Forest, wanted: int, keeps_rows: bool) -> int:
    """Return the number of samples that the capacity allows, as in ready_samples."""
    few = min(wanted, FEW_SAMPLES)
    n_ready = wanted
    if keeps_rows:
        n_ready = min(n_ready, forest.handle["most_rows"] - forest.counters["n_rows"])
        if n_ready < few:
            return STORE_FULL
    for t in range(len(forest.trees)):
        missing = tree_lacks(forest, t, READY_SPLITS + few)
        if missing != ENOUGH_CAPACITY:
            return missing
        while n_ready > few and tree_lacks(forest, t, READY_SPLITS + n_ready) != ENOUGH_CAPACITY:
            n_ready = max(n_ready // 2, few)
    return n_ready


@quick_kernel
def ready_samples(forest: Forest, wanted: int) -> int:
    """Return the number of samples that the capacity allows, up to `wanted`, or what is short."""
    # It assumes that no sample splits a tree more than once.
    settings, trees = forest.settings, forest.trees
    keeps_rows = is_keeping_rows(settings, trees, count_late(settings, trees))
    return count_ready(forest, wanted, keeps_rows)
