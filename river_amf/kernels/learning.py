"""The kernels that Python calls for one sample: to learn it, predict it, or trace its way."""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels import by_kind, pending, steps
from river_amf.kernels.features.intensity import clip_outliers
from river_amf.kernels.features.standardization import lack_cosines
from river_amf.kernels.lateness import count_lateness, lateness_of, set_fading
from river_amf.kernels.numba_tools.arrays import (
    NONE,
    Array,
    Forest,
    array_at,
    inputs_of,
    output_of,
    rows_of_sample,
    tree_of,
)
from river_amf.kernels.numba_tools.compilation import hot, quick_kernel, view
from river_amf.kernels.status import (
    DONE,
    ENOUGH_CAPACITY,
    INFINITE,
    LOST,
    PENDING_FULL,
    RELEASED,
    RESTARTED,
    TOO_HEAVY,
)
from river_amf.kernels.steps import Sample
from river_amf.kernels.tree import sample_store, structure
from river_amf.kernels.tree.novelty import known_value, novelty_in
from river_amf.kernels.tree.random_numbers import category_as_number, code_row
from river_amf.kernels.tree.readiness import count_ready, needs_tree_votes
from river_amf.state.layout import LATENESS, LOWER

UNSOUGHT = -2  # the slot of a prediction that has not been looked for

# One record per node on the path; there are several branches where numbers are missing.
VISIT = np.dtype(
    [
        ("node", "i8"),
        ("depth", "i8"),
        ("value", "f8"),  # of the split feature, as the tree sees it; NaN if missing or a leaf
        ("share", "f8"),  # of the remaining mass
        ("mass", "f8"),
    ],
    align=True,
)


@hot
def canonicalize(x: Array, n_features: int) -> bool:
    """Give equal rows equal bytes (-0.0, NaN); return whether no value is infinite."""
    for j in range(n_features):
        value = x[j]
        if math.isinf(value):
            return False
        x[j] = value + 0.0 if value == value else math.nan
    return True


@hot
def is_same(x: Array, seen: Array) -> bool:
    for j in range(len(x)):
        if not (x[j] == seen[j] or (math.isnan(x[j]) and math.isnan(seen[j]))):
            return False
    return True


@hot
def total_weight(forest: Forest) -> float:
    root = forest.trees[0]["root"]  # the first tree never restarts
    return 0.0 if root == NONE else forest.nodes[0, root]["n_samples"]


@view
def sample_at(forest: Forest, address: int, output: int) -> Sample:
    values, x, _ = rows_of_sample(address, forest.settings["n_features"])
    z, inputs, additive_inputs, terms = inputs_of(output, forest)
    return Sample(values, x, z, inputs, additive_inputs, terms, forest.votes, 0, forest.context)


@quick_kernel
def learn_sample(forest: Forest, address: int, target: float, weight: float, output: int) -> int:
    """Learn a sample in every tree; return a status, such as which capacity is used up."""
    # `target` is the index of the label, or a number. `address` is that of an `EncodedSample`: of
    # (3, n_features) values, which are the encoded row, a buffer for it without outliers and one
    # for a tree's coding of it, and then of its words. `output` is that of predict_sample. Where
    # learning stops (`learn_in_trees`), the same call continues (handle["next_tree"]).
    handle, settings, trees = forest.handle, forest.settings, forest.trees
    sample, has_votes = sample_at(forest, address, output), False
    if handle["next_tree"] == NONE:
        if not canonicalize(sample.values, settings["n_features"]):
            return INFINITE
        if not (total_weight(forest) + weight <= settings["largest_total"]):
            return TOO_HEAVY
        handle["n_late"] = sample_store.count_late(settings, trees)
        keeps_rows = sample_store.is_keeping_rows(settings, trees, handle["n_late"])
        n_ready = count_ready(forest, 1, keeps_rows)
        if n_ready < 0:
            return n_ready
        has_votes = begin(forest, sample, address, target, weight, output)
    status = learn_in_trees(forest, sample, address, has_votes)
    return end(forest, sample, address, target, has_votes) if status == DONE else status


@view
def begin(
    forest: Forest, sample: Sample, address: int, target: float, weight: float, output: int
) -> bool:
    """Begin to learn a sample; return whether its votes are those of the newest prediction."""
    handle, settings = forest.handle, forest.settings
    slot, handle["slot"] = handle["slot"], UNSOUGHT
    if slot == UNSOUGHT:
        slot = by_kind.find_pending(forest, address, address + 24 * settings["n_features"])
    pending.begin_context(forest, slot, sample.context)
    count_lateness(forest.counters)
    _, made_at, seen = output_of(output, forest)
    is_now = made_at[0] == handle["version"] and is_same(sample.values, seen)
    has_votes = is_now and slot == NONE and settings["learns_vote"] > 0
    handle["weight"] = steps.begin_sample(forest, sample, not has_votes, target, weight)
    handle["target"] = target
    return has_votes


@view
def learn_in_trees(forest: Forest, sample: Sample, address: int, has_votes: bool) -> int:
    """Learn a sample in the trees that are left; return DONE, or RESTARTED - t, or what is full."""
    handle, votes, context = forest.handle, sample.votes, sample.context
    targets, intensities, row = forest.tree_targets, forest.intensity, forest.counters["n_rows"] - 1
    takes_votes = needs_tree_votes(forest.settings) and not has_votes
    _, x, coded = rows_of_sample(address, forest.settings["n_features"])
    for t in range(max(handle["next_tree"], 0), len(forest.trees)):
        handle["next_tree"] = t
        seen, vote = steps.seen_by(forest, t, x, coded), votes[t, 0]
        steps.take_tree_vote(forest, t, seen, votes, 0, takes_votes, context)
        status = steps.learn_in_tree(
            forest, t, seen, vote, targets, intensities, handle["weight"], context, row
        )
        if status <= RESTARTED:
            handle["next_tree"] = t + 1
        if status != ENOUGH_CAPACITY:
            return status
    handle["next_tree"] = NONE
    return DONE


@view
def end(forest: Forest, sample: Sample, address: int, target: float, has_votes: bool) -> int:
    """Learn a sample with the experts and the vote; return DONE, or what Python has to do."""
    handle, counters, label = forest.handle, forest.counters, int(target)
    votes, predicts, weight = sample.votes, not has_votes, handle["weight"]
    z, inputs, additive_inputs = sample.standardized, sample.inputs, sample.additive_inputs
    by_kind.run_experts(forest, z, inputs, additive_inputs, votes, 0, predicts, label, weight)
    by_kind.run_words(forest, address, votes, label, weight)
    steps.end_sample(forest, votes, 0, target, weight, sample.context)
    row = counters["n_rows"] - 1
    keeps_rows = sample_store.is_keeping_rows(forest.settings, forest.trees, handle["n_late"])
    if keeps_rows and not sample_store.is_listed(forest.links, row):
        counters["n_rows"] = row
    if sample_store.have_released(forest) or lack_cosines(forest):
        return RELEASED
    return LOST if counters["n_lost"] >= pending.N_LOST else DONE


@quick_kernel
def take_pending(forest: Forest, sample: int, weight: float) -> None:
    """Take out the prediction of a sample with a new label, category or feature, or weight 0."""
    # learn_sample gets it from the handle, so that a call which is interrupted looks for it once
    handle, words = forest.handle, sample + 24 * forest.settings["n_features"]
    if weight == 0.0:
        by_kind.find_pending(forest, sample, words)
    elif handle["slot"] == UNSOUGHT:
        handle["slot"] = by_kind.find_pending(forest, sample, words)


@quick_kernel
def predict_sample(forest: Forest, address: int, output: int) -> int:
    """Write the forest's prediction to the start of `output`; return DONE, or what is wrong."""
    # `address` is as in learn_sample, `output` that of a `state.arena.PredictionBuffer`. A
    # prediction is the probabilities of the labels seen so far, or an status (`layout.ANSWER`).
    settings, context, votes = forest.settings, forest.context, forest.votes
    values, x, coded = rows_of_sample(address, settings["n_features"])
    proba, made_at, seen = output_of(output, forest)
    sample = sample_at(forest, address, output)
    if not canonicalize(values, len(values)):
        return INFINITE
    if pending.lacks_room(forest):
        return PENDING_FULL
    made_at[0], context[LATENESS] = -1.0, lateness_of(forest.counters)
    steps.begin_sample(forest, sample, True, 0.0, 0.0)
    for t in range(len(forest.trees)):
        set_fading(forest, t, context[LATENESS])
        by_kind.take_vote(forest, t, steps.seen_by(forest, t, x, coded), votes[t, 0])
    z, inputs, additive_inputs = sample.standardized, sample.inputs, sample.additive_inputs
    by_kind.run_experts(forest, z, inputs, additive_inputs, votes, 0, True, NONE, 0.0)
    by_kind.run_words(forest, address, votes, NONE, 0.0)
    level = proba[LOWER] if settings["is_regression"] else 0.0
    steps.pool_votes(forest, votes, 0, context, proba)
    if not needs_tree_votes(settings):
        return DONE
    for j in range(len(values)):
        seen[j] = values[j]
    made_at[0] = forest.handle["version"]
    words = address + 24 * settings["n_features"]
    by_kind.note_prediction(forest, address, words, votes, 0, proba, level)
    return DONE


@quick_kernel
def novelty_of_sample(forest: Forest, sample: int) -> float:
    """Return how new a sample is, from 0 to 1, or NaN if it has an infinite value."""
    # `sample` is as in learn_sample, but a category that was never learned is UNSEEN.
    n_features = forest.settings["n_features"]
    values, whole, x = rows_of_sample(sample, n_features)
    if not canonicalize(values, n_features):
        return math.nan
    for j in range(n_features):
        whole[j] = known_value(forest, j, values[j])
    total = 0.0
    for t in range(len(forest.trees)):
        tree = steps.tree_seen(forest, t, forest.tree_targets, forest.intensity)
        total += novelty_in(forest, tree, whole, x)
    return total / len(forest.trees)


@quick_kernel
def trace_sample(forest: Forest, t: int, sample: int, visits: int) -> int:
    """Record the nodes that predict_tree visits in tree `t`, and return their number."""
    # `visits` is the address of records of dtype VISIT, as many as the tree has nodes.
    settings, state, nodes = forest.settings, forest.trees[t], forest.nodes[t]
    n_features = settings["n_features"]
    values, clipped, x = rows_of_sample(sample, n_features)
    clip_outliers(forest, values, n_features, clipped)
    code_row(forest.is_categorical, n_features, state["key"], clipped, x)
    trace = array_at(visits, (state["n_nodes"],), VISIT)
    walk = structure.walk_from(state["root"], 0.0)  # which passes the depth down
    while walk.node != NONE:
        node, visit = nodes[walk.node], trace[walk.n_visits]
        own, rest = structure.pass_on(settings, node, walk.mass)
        ends = structure.is_end(node, rest, walk.reach)
        visit["node"], visit["depth"] = walk.node, int(walk.above)
        visit["value"] = math.nan if structure.is_leaf(node) else x[node["feature"]]
        visit["share"] = 1.0 if ends else structure.pass_on(settings, node, 1.0)[0]
        visit["mass"] = walk.mass if ends else own
        walk = structure.next_visit(forest, t, x, walk, rest, walk.above + 1.0)
    return walk.n_visits


@quick_kernel
def hull_of_leaf(forest: Forest, t: int, row: int, box: int) -> None:
    """Write the hull of the samples that a leaf keeps, whose list starts at `row`."""
    # `box` is the address of (2, n_features) values, filled with NaN.
    hull = array_at(box, (2, forest.settings["n_features"]), np.float64)
    tree = tree_of(forest, t, forest.intensity[0], forest.intensity)
    structure.hull_of_rows(forest, tree, row, hull)


@quick_kernel
def category_number(forest: Forest, t: int, feature: int, code: float) -> float:
    return category_as_number(forest.trees[t]["key"], feature, code)
