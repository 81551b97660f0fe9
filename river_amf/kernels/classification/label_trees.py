"""Trees of a classifier, where they differ from those of a regression: predicting and learning."""

from __future__ import annotations

from river_amf.kernels.numba_tools.arrays import NONE, Array, Forest, Tree
from river_amf.kernels.numba_tools.compilation import helper
from river_amf.kernels.status import ENOUGH_CAPACITY
from river_amf.kernels.tree.aggregation import aggregate_upwards
from river_amf.kernels.tree.expansion import expand_leaf
from river_amf.kernels.tree.growth import grow
from river_amf.kernels.tree.sample_store import list_row, list_row_and_thin, release_rows
from river_amf.kernels.tree.structure import is_spent, keeps_samples


@helper
def learn_tree(
    forest: Forest, tree: Tree, x: Array, target: float, weight: float, context: Array, row: int
) -> int:
    """Learn a sample in one tree; return ENOUGH_CAPACITY, or which capacity is used up."""
    # If it is, or if memory runs out, the function can be called again. So far only boxes have been
    # extended, so the next walk draws nothing, reaches the same leaf, and draws the same splits.
    settings, state = tree.settings, tree.state
    is_new, spent = state["root"] == NONE, is_spent(settings, state)
    leaf, changed, log_growth = grow(tree, x, row)
    if not is_new:
        label, node = int(target), tree.nodes[leaf]
        if changed == NONE and keeps_samples(node):
            if tree.counts[leaf, label] == node["n_samples"]:  # still pure
                if node["n_rows"] < max(settings["longest_list"], 8 * settings["n_features"]):
                    list_row(tree, leaf, row)
                else:
                    list_row_and_thin(forest, tree, leaf, row)
            else:
                changed = leaf
                missing, leaf, log_growth = expand_leaf(forest, tree, leaf, row)
                if missing != ENOUGH_CAPACITY:
                    return missing
        if is_spent(settings, state) and not spent:
            release_rows(forest, tree)
    aggregate_upwards(tree, leaf, int(target), weight, changed, log_growth)
    return ENOUGH_CAPACITY
