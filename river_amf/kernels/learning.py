"""The kernels that Python calls for one sample: to learn it in all trees, and to predict it."""

from __future__ import annotations

import math

from river_amf.kernels.aggregation import aggregate_upwards
from river_amf.kernels.answers import DONE, INFINITE, NOTHING, RELEASED, TOO_HEAVY, UNCOMPILED
from river_amf.kernels.arrays import (
    FOREST,
    NONE,
    TREE,
    Array,
    Forest,
    Record,
    Tree,
    forest_of,
    output_of,
    sample_of,
)
from river_amf.kernels.compilation import hot, quick_kernel, view
from river_amf.kernels.expansion import expand_leaf
from river_amf.kernels.growth import grow
from river_amf.kernels.hearing import HEARD, LEARN, PREDICT, UNHEARD, use_voices
from river_amf.kernels.intensity import clip_outliers, update_intensity
from river_amf.kernels.parts import (
    INTEGER,
    LIST_ROW_AND_THIN,
    NUMBER,
    RELEASE_ROWS,
    ROW,
    part,
)
from river_amf.kernels.random_numbers import code_row
from river_amf.kernels.room import count_ready, has_voices, hears_trees, lack_to_predict
from river_amf.kernels.store import (
    check_rows,
    count_late,
    have_released,
    is_keeping_rows,
    is_listed,
    list_row,
    list_row_and_thin,
    release_rows,
    store_row,
)
from river_amf.kernels.structure import (
    is_spent,
    keeps_samples,
    longest_list,
    number_of,
    splits_left,
)
from river_amf.kernels.views import tree_of
from river_amf.kernels.voting import (
    copy_votes,
    judge_tree,
    learn_vote,
    mean_votes,
    pool_votes,
    take_vote,
)
from river_amf.layout import CLASSIFICATION, HUB, SHARD


@hot
def canonicalise(x: Array, n_features: int) -> bool:
    """Replace -0.0 by 0.0 (equal, but with other bytes); return whether no value is infinite."""
    for j in range(n_features):
        if math.isinf(x[j]):
            return False
        x[j] += 0.0
    return True


@hot
def is_same(x: Array, seen: Array) -> bool:
    """Whether two rows are equal, including their missing values."""
    for j in range(len(x)):
        if not (x[j] == seen[j] or (math.isnan(x[j]) and math.isnan(seen[j]))):
            return False
    return True


@hot
def total_weight(forest: Forest) -> float:
    """The sum of the weights of all samples."""
    root = forest.trees[0]["root"]  # the first tree never restarts
    return 0.0 if root == NONE else forest.nodes[0, root]["n_samples"]


@part(INTEGER, FOREST, TREE, ROW, NUMBER, NUMBER, INTEGER, task=CLASSIFICATION)
def learn_tree(forest: Forest, tree: Tree, x: Array, target: float, weight: float, row: int) -> int:
    """Learn a sample in one tree; return NOTHING, or which kind of room the tree has run out of."""
    # If it has, or if memory runs out here, the function can be called again: so far, only boxes
    # have been extended, so the next walk reaches the same leaf without drawing, and there draws
    # the same splits.
    settings, state = tree.settings, tree.state
    is_new, spent = state["root"] == NONE, is_spent(settings, state)
    leaf, changed, log_growth = grow(tree, x, row)
    if not is_new:
        label, node = int(target), tree.nodes[leaf]
        if changed == NONE and keeps_samples(node):
            if tree.counts[leaf, label] == node["n_samples"]:  # still pure
                if node["n_rows"] < longest_list(settings):
                    list_row(tree, leaf, row)
                elif forest.parts[LIST_ROW_AND_THIN] == 0:
                    return UNCOMPILED - LIST_ROW_AND_THIN
                else:
                    list_row_and_thin(forest, tree, leaf, row)
            elif forest.parts[RELEASE_ROWS] == 0 and splits_left(settings, state) <= node["n_rows"]:
                return UNCOMPILED - RELEASE_ROWS  # the budget may be spent
            else:
                changed = leaf
                lack, leaf, log_growth = expand_leaf(forest, tree, leaf, row)
                if lack != NOTHING:
                    return lack
        if is_spent(settings, state) and not spent:
            release_rows(forest, tree)
    aggregate_upwards(tree, leaf, int(target), weight, changed, log_growth)
    return NOTHING


@quick_kernel
def learn_sample(arena: int, sample: int, target: float, weight: float, output: int) -> int:
    """Learn a sample in every tree; return one of `answers`, such as which room ran out."""
    # `target` is the index of the label, or a number. `arena` is the address of its handle, and
    # `sample` that of (3, n_features) values: the encoded sample, room for it without outliers, and
    # room for one tree's coding of it; and of its words, if there are any (`sparse.SparseSample`).
    # `output` is that of predict_sample, which may have predicted this very sample. If room or
    # memory runs out, the same call continues where this one stopped, once there is more
    # (handle["next_tree"]).
    forest = forest_of(arena)
    handle = forest.handle
    settings = forest.settings[0]
    values = sample_of(sample, settings["n_features"])
    _, votes, seen = output_of(output, forest)
    first_tree = handle["next_tree"]
    has_votes = (
        first_tree == NONE
        and settings["learns_vote"]
        and seen[0] == handle["version"]
        and is_same(values[0], seen[1:])
    )
    if has_votes:
        copy_votes(votes, forest.votes)
    return learn_in_forest(
        forest, handle, first_tree, sample, values, target, weight, output, has_votes
    )


@view
def learn_in_forest(
    forest: Forest,
    handle: Record,
    first_tree: int,
    address: int,
    sample: Array,
    target: float,
    weight: float,
    output: int,
    has_votes: bool,
) -> int:
    """Do the work of learn_sample; `has_votes` says whether the trees' votes are known already."""
    settings, counters, trees = forest.settings[0], forest.counters[0], forest.trees
    n_features = settings["n_features"]
    if first_tree == NONE:
        handle["n_late"] = count_late(settings, trees)
    n_late = handle["n_late"]
    keeps_rows = is_keeping_rows(settings, trees, n_late)
    if first_tree == NONE:
        if not canonicalise(sample[0], n_features):
            return INFINITE
        if not (total_weight(forest) + weight <= settings["largest_total"]):
            return TOO_HEAVY
        n_ready = count_ready(forest, 1, keeps_rows)
        if n_ready < 0:
            return n_ready
        clip_outliers(forest, sample[0], n_features, sample[1])
        forest.aims[0] = target
        if has_voices(settings):
            stage = HEARD if has_votes else UNHEARD
            use_voices(forest, address, output, stage, target, weight)
        update_intensity(forest, sample[0], forest.aims[0], weight)
        if keeps_rows:
            store_row(forest, sample[1], int(target), weight)
        handle["version"] += 1
        handle["target"], handle["weight"] = target, weight
    n_aims = len(forest.aims)
    row = counters["n_rows"] - 1
    x = sample[2] if settings["has_categories"] else sample[1]
    for t in range(max(first_tree, 0), 0 if settings["role"] == HUB else len(trees)):
        handle["next_tree"] = t
        if settings["has_categories"]:
            code_row(forest.is_categorical, n_features, trees[t]["key"], sample[1], x)
        if hears_trees(settings) and not has_votes:
            take_vote(forest, t, x, forest.votes[t, 0])
        aim = number_of(settings, t) % n_aims
        own, tree = forest.aims[aim], tree_of(forest, t, forest.intensity[aim])
        lack = learn_tree(forest, tree, x, own, weight, row)
        if lack != NOTHING:
            return lack
        if settings["judges_trees"]:
            judge_tree(forest, t, forest.votes[t, 0], own, weight)
    handle["next_tree"] = NONE
    if settings["learns_vote"] and settings["role"] != SHARD:
        learn_vote(forest, forest.votes, 0, target, weight)
    if has_voices(settings):
        use_voices(forest, address, output, LEARN, target, weight)
    if keeps_rows and not is_listed(forest.links, row):
        counters["n_rows"] = row
    check_rows(forest)
    return RELEASED if have_released(forest, n_late) else DONE


@quick_kernel
def predict_sample(arena: int, sample: int, output: int) -> int:
    """Write the forest's prediction to the start of `output`; return DONE or INFINITE."""
    # The arguments are addresses: of the arena's handle; of (3, n_features) values, as in
    # learn_sample; and of a `state.Room`. A prediction is the probabilities of the labels seen so
    # far, which sum to 1, or what `layout` says of real targets.
    forest = forest_of(arena)
    settings = forest.settings[0]
    values = sample_of(sample, settings["n_features"])
    proba, votes, seen = output_of(output, forest)
    lack = lack_to_predict(forest)
    if lack != NOTHING:
        return lack
    if not canonicalise(values[0], values.shape[1]):
        return INFINITE
    seen[0] = -1.0
    clip_outliers(forest, values[0], values.shape[1], values[1])
    x = values[2] if settings["has_categories"] else values[1]
    if settings["role"] == HUB:  # whose trees have voted elsewhere
        copy_votes(forest.votes, votes)
    for t in range(0 if settings["role"] == HUB else len(forest.trees)):
        if settings["has_categories"]:
            key = forest.trees[t]["key"]
            code_row(forest.is_categorical, values.shape[1], key, values[1], x)
        take_vote(forest, t, x, votes[t, 0])
    if settings["role"] != SHARD:
        if not settings["learns_vote"]:
            mean_votes(settings, votes, 0, proba)
            return DONE
        if has_voices(settings):
            use_voices(forest, sample, output, PREDICT, NONE, 0.0)
        pool_votes(forest, votes, 0, proba)
    for j in range(values.shape[1]):
        seen[1 + j] = values[0, j]
    seen[0] = forest.handle["version"]
    return DONE
