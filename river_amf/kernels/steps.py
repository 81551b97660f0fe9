"""The steps in which a sample is predicted and learned, the same for single samples and chunks.

First what concerns all trees, then each tree and linear model, and last the vote. Arrays of votes
are as in `opinion_pool`; all other arguments are those of one sample.
"""

from __future__ import annotations

from typing import NamedTuple

from river_amf.kernels import by_kind
from river_amf.kernels.classification.opinion_pool import mean_votes, recall_vote
from river_amf.kernels.features.intensity import clip_outliers, update_intensity
from river_amf.kernels.features.sample_weights import weigh_sample
from river_amf.kernels.lateness import set_fading
from river_amf.kernels.numba_tools.arrays import Array, Forest, Tree, tree_of
from river_amf.kernels.numba_tools.compilation import hot, view
from river_amf.kernels.status import ENOUGH_CAPACITY, RESTARTED
from river_amf.kernels.tree.random_numbers import code_row
from river_amf.kernels.tree.readiness import tree_lacks
from river_amf.kernels.tree.sample_store import is_keeping_rows, store_row
from river_amf.state.layout import DELAY, LATENESS, LOCATION, PENDING_SLOT, SAMPLE_NUMBER


class Sample(NamedTuple):
    """A sample, and the buffers for what its steps make of it."""

    values: Array  # the encoded row
    x: Array  # becomes the row without outliers
    standardized: Array
    inputs: Array  # of the perceptron
    additive_inputs: Array
    terms: Array  # of trends
    votes: Array
    i: int  # its index among the votes
    context: Array


@view
def begin_sample(
    forest: Forest, sample: Sample, predicts: bool, target: float, weight: float
) -> float:
    """Prepare a sample for trees and linear models; count it, and return its weight for them."""
    # Unless `predicts`, inputs and votes of trends are there. A sample of weight 0 is only
    # predicted; others set targets of trees, split intensities, and the newest row of the store.
    settings, counters, learns = forest.settings, forest.counters, weight > 0.0
    values, x, standardized, context = sample.values, sample.x, sample.standardized, sample.context
    if learns:
        weight = weigh_sample(forest, weight)
        by_kind.note_jump(forest, target, context)
    by_kind.note_unusual(forest, values, learns, context)
    clip_outliers(forest, values, settings["n_features"], x)
    by_kind.take_bins(forest, x, learns, standardized)
    for timescale in range(len(forest.standards)):
        by_kind.standardize(forest, timescale, x, learns, standardized[timescale])
    if learns:
        forest.tree_targets[0] = target
    if settings["n_trends"] > 0:
        z, terms, votes, i = standardized[0], sample.terms[0], sample.votes, sample.i
        by_kind.follow_trends(
            forest, x, z, terms, votes, i, predicts, learns, target, weight, context
        )
    if not learns:
        return weight
    update_intensity(forest, values)
    if settings["relevance"]:
        by_kind.weigh_features(forest, values, forest.tree_targets[0], weight)
    if is_keeping_rows(settings, forest.trees, forest.handle["n_late"]):
        store_row(forest, x, int(target), weight)
    context[SAMPLE_NUMBER] = counters["n_learned"]
    counters["n_learned"] += 1
    forest.handle["version"] += 1
    return weight


@hot
def seen_by(forest: Forest, t: int, x: Array, coded: Array) -> Array:
    """Return a sample as a tree sees it; one with categories is written to `coded`."""
    if not forest.settings["has_categories"]:
        return x
    n_features = forest.settings["n_features"]
    code_row(forest.is_categorical, n_features, forest.trees[t]["key"], x, coded)
    return coded


@hot
def take_tree_vote(
    forest: Forest, t: int, x: Array, votes: Array, i: int, takes_votes: bool, context: Array
) -> None:
    """Write the vote of a tree; for a late label, that from when the sample was predicted."""
    set_fading(forest, t, context[LATENESS])
    if context[DELAY] > 0.0:
        recall_vote(forest, t, votes[t, i], context)
    elif takes_votes:
        by_kind.take_vote(forest, t, x, votes[t, i])


@view
def tree_seen(forest: Forest, t: int, targets: Array, intensities: Array) -> Tree:
    """Return a tree with its split intensities for a sample."""
    intensity = intensities[t % len(targets)]
    if forest.settings["relevance"]:
        intensity = forest.own_intensity[t]
    return tree_of(forest, t, intensity, intensities)


@view
def learn_in_tree(
    forest: Forest,
    t: int,
    x: Array,
    vote: Array,
    targets: Array,
    intensities: Array,
    weight: float,
    context: Array,
    row: int,
) -> int:
    """Learn a sample in a tree, given its vote; return ENOUGH_CAPACITY or what is used up."""
    # If the tree restarts, the sample is learned, and the status is RESTARTED - t.
    missing, n_restarts = tree_lacks(forest, t, 1), forest.trees[t]["n_restarts"]
    if missing != ENOUGH_CAPACITY:
        return missing
    tree_target = t % len(targets)
    target = targets[tree_target]
    tree = tree_seen(forest, t, targets, intensities)
    missing = by_kind.learn_tree(forest, tree, x, target, weight, context, row)
    if missing == ENOUGH_CAPACITY and forest.settings["scores_trees"]:
        if context[DELAY] > 0.0 and tree_target > 0:
            slot = int(context[PENDING_SLOT])
            trend = forest.pending_votes[slot, forest.pending_votes.shape[1] - 1, LOCATION]
            target = targets[0] - trend
        by_kind.score_tree(forest, t, vote, target, weight, context)
    return missing if forest.trees[t]["n_restarts"] == n_restarts else RESTARTED - t


@hot
def pool_votes(forest: Forest, votes: Array, i: int, context: Array, answer: Array) -> None:
    if forest.settings["learns_vote"]:
        by_kind.pool_votes(forest, votes, i, context, answer)
    else:
        mean_votes(forest.settings, votes, i, answer)


@view
def end_sample(
    forest: Forest, votes: Array, i: int, target: float, weight: float, context: Array
) -> None:
    """Learn how to pool the votes from when the sample was predicted."""
    if forest.settings["learns_vote"]:
        for v in range(len(forest.trees), len(votes) if context[DELAY] > 0.0 else 0):
            recall_vote(forest, v, votes[v, i], context)
        by_kind.learn_vote(forest, votes, i, target, weight, context)
