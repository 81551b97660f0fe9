"""Pure cells, which are split late: when another label arrives (DESIGN.md: late splitting).

Only the newcomer's cell is split further, so the splits form a chain; all other cells are pure and
stay whole ("paused block" in [MF]).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from river_amf.kernels.numba_tools.arrays import (
    NONE,
    UNLISTED,
    Array,
    Forest,
    Record,
    Tree,
    view_of,
)
from river_amf.kernels.numba_tools.compilation import allocating, choose, helper, hot, nothing
from river_amf.kernels.numba_tools.views import Views
from river_amf.kernels.status import ENOUGH_CAPACITY
from river_amf.kernels.tree import estimates, random_numbers, structure
from river_amf.kernels.tree.gains import follow_gains
from river_amf.kernels.tree.readiness import missing_capacity
from river_amf.kernels.tree.sample_store import clear_rows, list_row
from river_amf.state.layout import FADED_COUNTS, FADED_SHARE, FADED_SUM, Field

# A sample in a leaf that is being split.
# Its depth is the number of splits at which it goes to the same side as the newcomer.
MEMBER = np.dtype([("weight", "f8"), ("row", "i8"), ("depth", "i8")])
MEMBER_BYTES = MEMBER.itemsize

# A split that separates the newcomer from samples of a pure leaf.
SPLIT = np.dtype([("time", "f8"), ("threshold", "f8"), ("feature", "i8"), ("newcomer_left", "i8")])
SPLIT_BYTES = SPLIT.itemsize


# The working memory to split a leaf, in one piece: a record of addresses and lengths, the arrays.
EXPANSION_FIELDS = {
    "members": Field(MEMBER, ("member",)),
    "values": Field(np.float64, ("member", "feature")),  # as the tree sees them
    "splits": Field(SPLIT, ("member",)),
    "boxes": Field(np.float64, ("member", 2, "feature")),  # the hulls of the cells that are split
    "lengths": Field(np.float64, ("feature",)),  # the side lengths of one of these boxes
    "cell": Field(np.int64, ("member",)),  # the members that are still in the newcomer's cell
    "chain": Field(np.int64, ("member",)),  # the nodes that are split, then the newcomer's leaf
    "faded": Field(np.float64, ("faded",)),  # what fading keeps for a cell that is weighed
}
EXPANSION = np.dtype(
    [(name, "i8") for name in EXPANSION_FIELDS]
    + [("member_capacity", "i8"), ("feature_capacity", "i8"), ("faded_capacity", "i8")]
)
EXPANSION_BYTES = EXPANSION.itemsize

Expansion = Any
EXPANSION_VIEW = Views("Expansion", EXPANSION, EXPANSION_FIELDS, is_constant=False)
expansion_at = view_of(EXPANSION_VIEW)


@hot
def expansion_in(work: Array, n_members: int, n_features: int, n_faded: int) -> Expansion:
    """Return a view of `work`, an array of work_size values, which the caller must keep alive."""
    expansion = expansion_at(work.ctypes.data)
    at = expansion.handle
    at["member_capacity"], at["faded_capacity"] = n_members, n_faded
    at["feature_capacity"] = n_features
    at["members"] = work.ctypes.data + EXPANSION_BYTES
    at["values"] = at["members"] + n_members * MEMBER_BYTES
    at["splits"] = at["values"] + n_members * n_features * 8
    at["boxes"] = at["splits"] + n_members * SPLIT_BYTES
    at["lengths"] = at["boxes"] + n_members * n_features * 16
    at["cell"] = at["lengths"] + n_features * 8
    at["chain"] = at["cell"] + n_members * 8
    at["faded"] = at["chain"] + n_members * 8
    return expansion


@hot
def work_size(n_members: int, n_features: int, n_faded: int) -> int:
    """Return the number of float64 values that an expansion takes."""
    n_of_member = (MEMBER_BYTES + SPLIT_BYTES) // 8 + 3 * n_features + 2
    return EXPANSION_BYTES // 8 + n_members * n_of_member + n_features + n_faded


@helper
def collect_members(
    forest: Forest, tree: Tree, index: int, newcomer: int, expansion: Expansion
) -> None:
    """Collect the samples that a leaf keeps, in order of arrival, and then the newcomer."""
    members, values = expansion.members, expansion.values
    last = len(members) - 1
    row = newcomer
    for i in range(last, -1, -1):
        members[i]["row"] = row
        members[i]["weight"] = forest.samples[row]["weight"]
        members[i]["depth"] = 0
        expansion.cell[i] = i
        random_numbers.code_row(
            forest.is_categorical, values.shape[1], tree.state["key"], forest.rows[row], values[i]
        )
        row = tree.nodes[index]["box_or_row"] if i == last else tree.links[row]


@helper
def heavier_left(expansion: Expansion, n_cell: int, feature: int, threshold: float) -> bool:
    """Return whether the members of a cell with the feature weigh at least as much on the left."""
    left, right = 0.0, 0.0
    for k in range(n_cell):
        i = expansion.cell[k]
        if expansion.values[i, feature] <= threshold:
            left += expansion.members[i]["weight"]
        elif expansion.values[i, feature] > threshold:
            right += expansion.members[i]["weight"]
    return left >= right


@hot
def side_of(value: float, threshold: float, missing_left: bool) -> bool:
    """Return whether a value goes left."""
    return missing_left if math.isnan(value) else value <= threshold


@hot
def hull_of_cell(expansion: Expansion, n_cell: int, box: Array) -> None:
    n_features = box.shape[1]
    first = expansion.values[expansion.cell[0]]
    for j in range(n_features):
        box[0, j] = first[j]
        box[1, j] = first[j]
    for k in range(1, n_cell):
        structure.extend_box(box, expansion.values[expansion.cell[k]], n_features)


@hot
def part_cell(expansion: Expansion, n_cell: int, split: Record) -> int:
    """Keep the members on the newcomer's side of a split, in order, and return their number."""
    members, values, cell = expansion.members, expansion.values, expansion.cell
    j, threshold = split["feature"], split["threshold"]
    n_missing = 0
    for k in range(n_cell):
        n_missing += math.isnan(values[cell[k], j])
    missing_left = n_missing > 0 and heavier_left(expansion, n_cell, j, threshold)
    left = side_of(values[len(members) - 1, j], threshold, missing_left)
    split["newcomer_left"] = left
    n_staying = 0
    for k in range(n_cell):
        i = cell[k]
        if side_of(values[i, j], threshold, missing_left) == left:
            members[i]["depth"] += 1
            cell[n_staying] = i
            n_staying += 1
    return n_staying


@helper
def draw_splits(tree: Tree, index: int, expansion: Expansion) -> int:
    """Draw the splits of a leaf, restricted to its members, and return their number."""
    # The newcomer's cell is split until the newcomer is alone, all members of the cell coincide, or
    # the budget is spent. After k splits, it has the members of depth >= k and the hull boxes[k].
    lengths = expansion.lengths
    budget = structure.splits_left(tree.settings, tree.state)
    parent = tree.nodes[index]["parent"]
    now = 0.0 if parent == NONE else tree.nodes[parent]["split_time"]
    n_cell = len(expansion.members)
    n_splits = 0
    follow_gains(tree)
    while True:
        box = expansion.boxes[n_splits]
        hull_of_cell(expansion, n_cell, box)
        if n_cell == 1 or n_splits == budget:
            break
        rate = 0.0
        for j in range(len(lengths)):
            lengths[j] = structure.range_extension(box[0, j], box[0, j], box[1, j])
            rate += tree.intensity[j] * lengths[j]
        if not rate > 0.0:
            break
        now += random_numbers.draw_exponential(tree.state, rate)
        j = random_numbers.draw_feature(tree.state, lengths, tree.intensity, rate)
        split = expansion.splits[n_splits]
        split["time"] = now
        split["feature"] = j
        split["threshold"] = random_numbers.draw_threshold(tree.state, box[0, j], box[1, j])
        n_cell = part_cell(expansion, n_cell, split)
        n_splits += 1
    return n_splits


@helper
def grow_chain(tree: Tree, index: int, expansion: Expansion, n_splits: int) -> None:
    """Turn a leaf into a chain of splits that ends in the newcomer's leaf."""
    chain = expansion.chain
    chain[0] = index
    for k in range(n_splits):
        split = expansion.splits[k]
        left = structure.add_node(tree, chain[k])
        right = structure.add_node(tree, chain[k])
        feature, threshold = split["feature"], split["threshold"]
        structure.set_split(tree, chain[k], split["time"], feature, threshold, left, right)
        chain[k + 1] = left if split["newcomer_left"] else right


@helper
def share_out(tree: Tree, expansion: Expansion, n_splits: int, label: int) -> bool:
    """Distribute the samples of an expanded leaf; return whether the newcomer is alone."""
    # The newcomer is not counted yet. If the list was thinned, its samples are scaled up to the
    # weight of all. If the newcomer is not alone, its leaf keeps no samples.
    members, chain = expansion.members, expansion.chain
    newcomer = len(members) - 1
    kept = 0.0
    for i in range(newcomer):
        kept += members[i]["weight"]
    n_samples = tree.nodes[chain[0]]["n_samples"]
    alone = True
    for i in range(newcomer):
        row, depth = members[i]["row"], members[i]["depth"]
        weight = members[i]["weight"]
        if kept != n_samples:
            weight = n_samples * (weight / kept)
            members[i]["weight"] = weight
        if depth == n_splits:
            tree.links[row] = UNLISTED
            alone = False
            leaf = chain[n_splits]
        else:
            leaf = structure.sibling_of(tree, chain[depth + 1])
            list_row(tree, leaf, row)
        if leaf != chain[0]:
            tree.counts[leaf, label] += weight
            tree.nodes[leaf]["n_samples"] += weight
    if alone:
        list_row(tree, chain[n_splits], members[newcomer]["row"])
    return alone


@helper
def count_chain(tree: Tree, chain: Array, n_splits: int, label: int) -> None:
    """Sum the counts of the new leaves up the chain, except for its top, which has counts."""
    for k in range(n_splits - 1, 0, -1):
        for child in (chain[k + 1], structure.sibling_of(tree, chain[k + 1])):
            tree.counts[chain[k], label] += tree.counts[child, label]
            tree.nodes[chain[k]]["n_samples"] += tree.nodes[child]["n_samples"]


@helper
def box_chain(tree: Tree, expansion: Expansion, n_boxes: int) -> None:
    for k in range(n_boxes):
        structure.add_box(tree, expansion.chain[k])
        box = structure.box_of(tree, tree.nodes[expansion.chain[k]])
        for j in range(expansion.boxes.shape[2]):
            box[0, j] = expansion.boxes[k, 0, j]
            box[1, j] = expansion.boxes[k, 1, j]


@hot
def weigh_plain_cell(
    forest: Forest, tree: Tree, expansion: Expansion, index: int, first: int, last: int, label: int
) -> float:
    return estimates.log_weight_of_pure(forest, tree.nodes[index]["n_samples"])


@helper
def weigh_faded_cell(
    forest: Forest, tree: Tree, expansion: Expansion, index: int, first: int, last: int, label: int
) -> float:
    """Return the log weight of a cell in a chain, with members of depth `first` to `last`."""
    # With fading, members are replayed in order of arrival; a new node gets their faded counts.
    settings = tree.settings
    if not tree.state["fades"]:
        return estimates.log_weight_of_pure(forest, tree.nodes[index]["n_samples"])
    n_members, n_plain = 0, 0
    for i in range(len(expansion.members) - 1):
        member = expansion.members[i]
        if first <= member["depth"] <= last:
            n_members += 1
            n_plain += member["weight"] == 1.0
    if n_members == n_plain:
        log_w, share, faded_sum = estimates.replay_pure(forest, n_members)
    else:
        row = expansion.faded
        for c in range(len(row)):
            row[c] = 0.0
        row[FADED_SHARE] = 0.5
        log_w, n = 0.0, 0.0
        for i in range(len(expansion.members) - 1):
            member = expansion.members[i]
            if first <= member["depth"] <= last:
                weight = member["weight"]
                log_w += estimates.learn_faded_weight(
                    tree, row, label, estimates.log_score(settings, n, n, weight), weight
                )
                n += weight
        share, faded_sum = row[FADED_SHARE], row[FADED_SUM]
    if index != expansion.chain[0]:
        tree.faded[index, FADED_SHARE] = share
        tree.faded[index, FADED_SUM] = faded_sum
        tree.faded[index, FADED_COUNTS + label] = faded_sum
    return estimates.tempered(settings, log_w)


# Plain classifiers do not fade, and need not compile it; regressors never expand leaves.
weigh_cell = choose(weigh_plain_cell, weigh_faded_cell, nothing)


@helper
def weigh_chain(
    forest: Forest, tree: Tree, expansion: Expansion, n_splits: int, label: int
) -> float:
    """Set the log-odds of a chain, and return the growth of the log wbar of its top."""
    # From the bottom up, wbar_v = (1-b) w_v + b wbar_left wbar_right [CTW]. All cells are pure, as
    # the newcomer does not count yet. Before, as a leaf, the top had wbar = w.
    settings, chain = tree.settings, expansion.chain
    growth = 0.0
    n = n_splits
    log_wbar = weigh_cell(forest, tree, expansion, chain[n], n, n, label)
    for k in range(n_splits - 1, -1, -1):
        sibling = structure.sibling_of(tree, chain[k + 1])
        log_wbar += weigh_cell(forest, tree, expansion, sibling, k, k, label)
        log_w = weigh_cell(forest, tree, expansion, chain[k], k, n, label)
        log_odds = estimates.log_odds_of(settings, log_w, log_wbar)
        estimates.set_log_odds(tree.nodes[chain[k]], log_odds)
        growth = -estimates.log_own_surplus(settings, log_odds)
        log_wbar = log_w + growth
    return growth


@allocating
def expand_leaf(forest: Forest, tree: Tree, index: int, row: int) -> tuple[int, int, float]:
    """Split a pure leaf late, as a sample of another label has arrived at `row`."""
    # Returns ENOUGH_CAPACITY, the leaf of the new sample, and the growth of the log wbar of the
    # expanded leaf. If capacity is used up, the first value is which, and nothing has changed.
    before = tree.state["random_state"]
    n_features, n_faded = tree.settings["n_features"], tree.faded.shape[1]
    n_members = int(tree.nodes[index]["n_rows"]) + 1
    work = np.empty(work_size(n_members, n_features, n_faded))
    expansion = expansion_in(work, n_members, n_features, n_faded)
    collect_members(forest, tree, index, row, expansion)
    n_splits = draw_splits(tree, index, expansion)
    missing = missing_capacity(
        tree.settings, tree.state, n_splits, len(tree.nodes), len(tree.boxes)
    )
    leaf, growth = NONE, 0.0
    if missing != ENOUGH_CAPACITY:
        tree.state["random_state"] = before
    else:
        label = forest.samples[expansion.members[0]["row"]]["label"]
        clear_rows(tree.nodes[index])
        grow_chain(tree, index, expansion, n_splits)
        alone = share_out(tree, expansion, n_splits, label)
        count_chain(tree, expansion.chain, n_splits, label)
        box_chain(tree, expansion, n_splits if alone else n_splits + 1)
        leaf = expansion.chain[n_splits]
        growth = weigh_chain(forest, tree, expansion, n_splits, label)
    work[0] = 0.0  # keeps `work` alive until here
    return missing, leaf, growth
