"""The kernels that Python calls for a block of samples, which is processed in chunks.

First, open_chunk does what concerns all trees and voices. Then run_chunk takes each of them through
all samples of the chunk, in any number of threads. Finally, close_chunk combines their predictions.
This way, a tree and the chunk stay in the CPU cache. The record of the block says whether it is to
be predicted, learned, or both, and how far a chunk has come, so that one that was interrupted can
be finished.
"""

from __future__ import annotations

from river_amf.kernels.answers import DONE, NOTHING, RELEASED
from river_amf.kernels.arrays import NONE, forest_of, samples_of
from river_amf.kernels.compilation import kernel
from river_amf.kernels.intensity import clip_outliers, update_intensity
from river_amf.kernels.learning import learn_tree
from river_amf.kernels.random_numbers import code_row
from river_amf.kernels.room import hears_trees, lack_to_learn, lack_to_predict, tree_lacks
from river_amf.kernels.standardisation import standardise
from river_amf.kernels.store import (
    check_rows,
    count_late,
    have_released,
    is_keeping_rows,
    store_row,
)
from river_amf.kernels.structure import number_of
from river_amf.kernels.trends import follow_trends
from river_amf.kernels.views import tree_of
from river_amf.kernels.voices import pace_of, use_voice
from river_amf.kernels.voting import (
    judge_tree,
    learn_vote,
    mean_votes,
    pool_votes,
    take_vote,
)
from river_amf.layout import SHARD

UNOPENED, OPEN, CLOSED = 0, 1, 2  # stages of a chunk


@kernel
def open_chunk(arena: int, block: int, start: int, stop: int) -> int:
    """Clip outliers, update split intensities, and store the samples that will be learned."""
    # Returns DONE, or what has to be compiled before; then nothing has been done.
    forest, samples = forest_of(arena), samples_of(block)
    at, learns = samples.handle, samples.handle["learns"]
    settings = forest.settings[0]
    lack = lack_to_learn(forest) if learns else NOTHING
    if lack == NOTHING and samples.handle["predicts"]:
        lack = lack_to_predict(forest)
    if lack != NOTHING:
        return lack
    n_late = count_late(settings, forest.trees)
    keeps_rows = is_keeping_rows(settings, forest.trees, n_late)
    for t in range(len(samples.next_samples)):
        samples.next_samples[t] = start
    n_features, n_aims = settings["n_features"], len(samples.intensities)
    for i in range(start, stop):
        x = samples.clipped[i - start]
        clip_outliers(forest, samples.values[i], n_features, x)
        is_learned = learns and samples.weights[i] > 0.0
        for pace in range(len(forest.standards)):
            standardise(forest, pace, x, is_learned, samples.standardised[pace, i - start])
        target, weight = samples.targets[i], samples.weights[i]
        if n_aims == 1:
            samples.aims[0, i - start] = target
        elif settings["role"] == SHARD:  # they have been written
            for aim in range(n_aims):
                forest.aims[aim] = samples.aims[aim, i - start]
        else:
            samples.aims[0, i - start] = target
            z, terms, votes = samples.standardised[0, i - start], samples.terms[0], samples.votes
            follow_trends(forest, x, z, terms, votes, i - start, True, is_learned, target, weight)
            for aim in range(n_aims if is_learned else 0):
                samples.aims[aim, i - start] = forest.aims[aim]
        if is_learned:
            update_intensity(forest, samples.values[i], samples.aims[0, i - start], weight)
            row = NONE
            if keeps_rows:
                row = store_row(forest, x, int(target), weight)
            samples.rows[i - start] = row
        for aim in range(n_aims if learns else 0):
            for j in range(n_features):
                samples.intensities[aim, i - start, j] = forest.intensity[aim, j]
    if learns:
        forest.handle["version"] += 1
    at["n_late"] = n_late
    at["stage"] = OPEN
    return DONE


@kernel
def run_chunk(arena: int, block: int, start: int, stop: int, first: int, end: int) -> int:
    """Predict and learn the samples of a chunk with the trees and voices from `first` on."""
    # Returns DONE, or what a tree has run out of; then it can be called again, and resumes there,
    # also after memory has run out.
    forest, samples = forest_of(arena), samples_of(block)
    at, learns = samples.handle, samples.handle["learns"]
    settings = forest.settings[0]
    takes_votes = at["predicts"] or (learns and hears_trees(settings))
    n_trees = len(forest.trees)
    for t in range(first, min(end, n_trees)):
        aim = number_of(settings, t) % len(samples.intensities)
        for i in range(samples.next_samples[t], stop):
            samples.next_samples[t] = i
            x = samples.clipped[i - start]
            if settings["has_categories"]:
                x = samples.coded[t]
                key = forest.trees[t]["key"]
                n_features = settings["n_features"]
                code_row(forest.is_categorical, n_features, key, samples.clipped[i - start], x)
            if takes_votes:
                take_vote(forest, t, x, samples.votes[t, i - start])
            weight = samples.weights[i]
            if learns and weight > 0.0:
                lack = tree_lacks(forest, t, 1)
                if lack == NOTHING:
                    tree = tree_of(forest, t, samples.intensities[aim, i - start])
                    row = samples.rows[i - start]
                    lack = learn_tree(forest, tree, x, samples.aims[aim, i - start], weight, row)
                if lack != NOTHING:
                    return lack
                if settings["judges_trees"]:
                    vote = samples.votes[t, i - start]
                    judge_tree(forest, t, vote, samples.aims[aim, i - start], weight)
        samples.next_samples[t] = stop
    for v in range(max(first - n_trees, 0), end - n_trees):
        inputs, standardised = samples.inputs[v], samples.standardised[pace_of(v)]
        for i in range(samples.next_samples[n_trees + v], stop):
            weight = samples.weights[i]
            label = int(samples.targets[i]) if learns and weight > 0.0 else NONE
            x, vote = samples.clipped[i - start], samples.votes[n_trees + v, i - start]
            use_voice(forest, v, x, standardised[i - start], inputs, vote, True, label, weight)
        samples.next_samples[n_trees + v] = stop
    return DONE


@kernel
def close_chunk(arena: int, block: int, start: int, stop: int) -> int:
    """Combine the trees' predictions, and return RELEASED or DONE."""
    forest, samples = forest_of(arena), samples_of(block)
    at = samples.handle
    predicts, learns = at["predicts"], at["learns"]
    settings = forest.settings[0]
    if settings["role"] == SHARD:
        pass  # the votes meet elsewhere
    elif settings["learns_vote"]:
        for i in range(start, stop):
            if predicts:
                pool_votes(forest, samples.votes, i - start, samples.answers[i])
            if learns and samples.weights[i] > 0.0:
                weight = samples.weights[i]
                learn_vote(forest, samples.votes, i - start, samples.targets[i], weight)
    else:
        for i in range(start, stop if predicts else start):
            mean_votes(settings, samples.votes, i - start, samples.answers[i])
    at["stage"] = CLOSED
    if learns:
        check_rows(forest)
    return RELEASED if have_released(forest, at["n_late"] if learns else 0) else DONE
