"""The kernels that Python calls for a block of samples, which is processed in chunks.

First, open_chunk does what concerns all trees and linear models. Then run_chunk takes each of them
through all samples of the chunk, in any number of threads. Finally, close_chunk combines their
predictions. This way, a tree and the chunk stay in the CPU cache. The record of the block holds
whether it is predicted, learned or both, and how far a chunk has come, as it may be interrupted.
"""

from __future__ import annotations

from river_amf.kernels import by_kind
from river_amf.kernels.classification.linear_models import timescale_of
from river_amf.kernels.classification.opinion_pool import copy_vote, fill_unknown, mean_votes
from river_amf.kernels.features.intensity import clip_outliers, update_intensity
from river_amf.kernels.numba_tools.arrays import (
    DONE,
    NONE,
    NOTHING,
    RELEASED,
    Forest,
    Samples,
    tree_of,
)
from river_amf.kernels.numba_tools.compilation import hot, kernel
from river_amf.kernels.tree import sample_store
from river_amf.kernels.tree.random_numbers import code_row
from river_amf.kernels.tree.readiness import needs_tree_votes, tree_lacks
from river_amf.state.layout import DELAY, N_ADDITIVE, N_KNOWN, SAMPLE_NUMBER, TREND_THEN

UNOPENED, OPEN, CLOSED = 0, 1, 2  # stages of a chunk


@kernel
def open_chunk(forest: Forest, samples: Samples, start: int, stop: int) -> None:
    """Clip outliers, update split intensities, and store the samples that will be learned."""
    at, learns = samples.handle, samples.handle["learns"]
    settings = forest.settings[0]
    n_late = sample_store.count_late(settings, forest.trees)
    keeps_rows = sample_store.is_keeping_rows(settings, forest.trees, n_late)
    for t in range(len(samples.next_samples)):
        samples.next_samples[t] = start
    n_features, n_tree_targets = settings["n_features"], len(samples.intensities)
    for i in range(start, stop):
        x = samples.clipped[i - start]
        clip_outliers(forest, samples.values[i], n_features, x)
        is_learned = learns and samples.weights[i] > 0.0
        by_kind.take_bins(forest, x, is_learned, samples.bins[i - start])
        for timescale in range(len(forest.standards)):
            by_kind.standardise(
                forest, timescale, x, is_learned, samples.standardised[timescale, i - start]
            )
        target, weight = samples.targets[i], samples.weights[i]
        samples.tree_targets[0, i - start] = target
        if n_tree_targets > 1:
            z, terms, votes = samples.standardised[0, i - start], samples.terms[0], samples.votes
            by_kind.follow_trends(
                forest, x, z, terms, votes, i - start, True, is_learned, target, weight
            )
            for tree_target in range(n_tree_targets if is_learned else 0):
                samples.tree_targets[tree_target, i - start] = forest.tree_targets[tree_target]
        if is_learned:
            update_intensity(forest, samples.values[i])
            if settings["relevance"]:
                target = samples.tree_targets[0, i - start]
                by_kind.weigh_features(forest, samples.values[i], target, weight)
            row = NONE
            if keeps_rows:
                row = sample_store.store_row(forest, x, int(target), weight)
            samples.rows[i - start] = row
        for tree_target in range(n_tree_targets if learns else 0):
            for j in range(n_features):
                samples.intensities[tree_target, i - start, j] = forest.intensity[tree_target, j]
        context = samples.contexts[i - start]
        context[SAMPLE_NUMBER] = forest.counters[0]["n_learned"]
        if context[DELAY] > 0.0:
            fill_unknown(forest, samples.late_votes, i - start, int(context[N_KNOWN]))
            for v in range(len(forest.trees) + len(forest.linear_models), len(samples.votes)):
                copy_vote(samples.late_votes[v, i - start], samples.votes[v, i - start])
        forest.counters[0]["n_learned"] += is_learned
    if learns:
        forest.handle["version"] += 1
    at["n_late"] = n_late
    at["stage"] = OPEN


@kernel
def run_chunk(forest: Forest, samples: Samples, start: int, stop: int, first: int, end: int) -> int:
    """Predict and learn the samples of a chunk with the trees and linear models from `first` on."""
    # Returns DONE, or what a tree has run out of; then it can be called again, and resumes there,
    # also after memory has run out.
    at, learns = samples.handle, samples.handle["learns"]
    settings = forest.settings[0]
    takes_votes = at["predicts"] or (learns and needs_tree_votes(settings))
    n_trees = len(forest.trees)
    for t in range(first, min(end, n_trees)):
        tree_target = t % len(samples.intensities)
        for i in range(samples.next_samples[t], stop):
            samples.next_samples[t] = i
            x, context = samples.clipped[i - start], samples.contexts[i - start]
            if settings["has_categories"]:
                key, n_features = forest.trees[t]["key"], settings["n_features"]
                code_row(forest.is_categorical, n_features, key, x, samples.coded[t])
                x = samples.coded[t]
            vote, weight = samples.votes[t, i - start], samples.weights[i]
            if context[DELAY] > 0.0:
                copy_vote(samples.late_votes[t, i - start], vote)
            elif takes_votes:
                by_kind.take_vote(forest, t, x, vote)
            if learns and weight > 0.0:
                missing = tree_lacks(forest, t, 1)
                if missing == NOTHING:
                    tree = tree_of(forest, t, samples.intensities[tree_target, i - start])
                    target = samples.tree_targets[tree_target, i - start]
                    row = samples.rows[i - start]
                    missing = by_kind.learn_tree(forest, tree, x, target, weight, context, row)
                if missing != NOTHING:
                    return missing
                if settings["scores_trees"]:
                    target = samples.tree_targets[tree_target, i - start]
                    if context[DELAY] > 0.0 and tree_target > 0:
                        target = samples.tree_targets[0, i - start] - context[TREND_THEN]
                    by_kind.score_tree(forest, t, vote, target, weight, context)
        samples.next_samples[t] = stop
    n_gradient_models = len(forest.inputs)
    for v in range(max(first - n_trees, 0), min(end - n_trees, n_gradient_models)):
        inputs, standardised = samples.inputs[v], samples.standardised[timescale_of(v)]
        for i in range(samples.next_samples[n_trees + v], stop):
            weight = samples.weights[i]
            label = int(samples.targets[i]) if learns and weight > 0.0 else NONE
            x, vote = samples.clipped[i - start], samples.votes[n_trees + v, i - start]
            z = standardised[i - start]
            by_kind.run_linear_model(forest, v, x, z, inputs, vote, True, label, weight)
            if samples.contexts[i - start, DELAY] > 0.0:
                copy_vote(samples.late_votes[n_trees + v, i - start], vote)
        samples.next_samples[n_trees + v] = stop
    if end > n_trees + n_gradient_models:
        run_all_additive(forest, samples, start, stop, n_trees + n_gradient_models)
    return DONE


@hot
def run_all_additive(forest: Forest, samples: Samples, start: int, stop: int, first: int) -> None:
    """Predict and learn the samples of a chunk with the additive experts."""
    inputs, terms, votes = samples.common_inputs, samples.label_terms, samples.votes
    for i in range(samples.next_samples[first], stop):
        k, weight = i - start, samples.weights[i]
        label = int(samples.targets[i]) if samples.handle["learns"] and weight > 0.0 else NONE
        bins, z = samples.bins[k], samples.standardised[0, k]
        by_kind.run_additive(forest, bins, z, inputs, terms, votes, k, True, label, weight)
        for v in range(first, first + N_ADDITIVE if samples.contexts[k, DELAY] > 0.0 else first):
            copy_vote(samples.late_votes[v, k], votes[v, k])
    samples.next_samples[first] = stop


@kernel
def close_chunk(forest: Forest, samples: Samples, start: int, stop: int) -> int:
    """Combine the trees' predictions, and return RELEASED or DONE."""
    at = samples.handle
    predicts, learns = at["predicts"], at["learns"]
    settings = forest.settings[0]
    if settings["learns_vote"]:
        for i in range(start, stop):
            if predicts:
                by_kind.pool_votes(forest, samples.votes, i - start, samples.answers[i])
            if learns and samples.weights[i] > 0.0:
                weight = samples.weights[i]
                context = samples.contexts[i - start]
                by_kind.learn_vote(
                    forest, samples.votes, i - start, samples.targets[i], weight, context
                )
    else:
        for i in range(start, stop if predicts else start):
            mean_votes(settings, samples.votes, i - start, samples.answers[i])
    at["stage"] = CLOSED
    return RELEASED if sample_store.have_released(forest, at["n_late"] if learns else 0) else DONE
