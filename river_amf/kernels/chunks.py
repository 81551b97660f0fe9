"""The kernels that Python calls for a block of samples, which is processed in chunks.

open_chunk does what concerns all trees and linear models, run_chunk takes each of them through all
samples, in any number of threads, and close_chunk combines their predictions. This way, a tree and
the chunk stay in the CPU cache. The block records how far it has come, as it may be interrupted.
"""

from __future__ import annotations

from river_amf.kernels import by_kind, steps
from river_amf.kernels.lateness import count_lateness
from river_amf.kernels.numba_tools.arrays import NONE, Forest, Samples
from river_amf.kernels.numba_tools.compilation import hot, kernel
from river_amf.kernels.pending import begin_context
from river_amf.kernels.status import DONE, ENOUGH_CAPACITY, RELEASED, RESTARTED
from river_amf.kernels.tree.readiness import needs_tree_votes
from river_amf.kernels.tree.sample_store import count_late, have_released
from river_amf.state.layout import LOWER

UNOPENED, OPEN, CLOSED = 0, 1, 2  # stages of a chunk


@hot
def row_at(samples: Samples, i: int) -> int:
    """Return the address of an encoded sample."""
    return samples.handle["values"] + 8 * samples.values.shape[1] * i


@kernel
def open_chunk(forest: Forest, samples: Samples, start: int, stop: int) -> None:
    """Begin all samples of a chunk, and keep the targets and intensities for the trees."""
    at = samples.handle
    forest.handle["n_late"] = count_late(forest.settings, forest.trees)
    for v in range(len(samples.next_samples)):
        samples.next_samples[v] = start
    for i in range(start, stop):
        k, target, weight = i - start, samples.targets[i], samples.weights[i]
        values, x, context = samples.values[i], samples.clipped[k], samples.contexts[k]
        inputs = samples.standardized[k], samples.inputs, samples.additive_inputs, samples.terms
        sample = steps.Sample(values, x, *inputs, samples.votes, k, context)
        slot = NONE
        if at["predicts"] and at["learns"]:
            by_kind.pass_pending(forest, row_at(samples, i), 0)
        elif weight > 0.0:
            slot = by_kind.find_pending(forest, row_at(samples, i), 0)
        begin_context(forest, slot, context)
        if weight > 0.0:
            count_lateness(forest.counters)
        samples.weights[i] = steps.begin_sample(forest, sample, True, target, weight)
        samples.rows[k] = forest.counters["n_rows"] - 1
        if weight > 0.0:
            for tree_target in range(len(forest.tree_targets)):
                samples.tree_targets[k, tree_target] = forest.tree_targets[tree_target]
            for row in range(len(forest.intensity)):
                for j in range(forest.settings["n_features"]):
                    samples.intensities[k, row, j] = forest.intensity[row, j]
    at["stage"] = OPEN


@kernel
def run_chunk(forest: Forest, samples: Samples, start: int, stop: int, first: int, end: int) -> int:
    """Predict and learn the samples of a chunk with the trees and linear models from `first` on."""
    # Returns DONE, which capacity is used up, or RESTARTED - t for the restart of tree t. Called
    # again, also after a MemoryError, it resumes where it stopped.
    votes = samples.votes
    takes_votes = samples.handle["predicts"] or needs_tree_votes(forest.settings)
    n_trees = len(forest.trees)
    for t in range(first, min(end, n_trees)):
        for i in range(samples.next_samples[t], stop):
            samples.next_samples[t] = i
            k, weight, context = i - start, samples.weights[i], samples.contexts[i - start]
            x = steps.seen_by(forest, t, samples.clipped[k], samples.coded[t])
            steps.take_tree_vote(forest, t, x, votes, k, takes_votes, context)
            if weight > 0.0:
                targets, intensities = samples.tree_targets[k], samples.intensities[k]
                vote, row = votes[t, k], samples.rows[k]
                missing = steps.learn_in_tree(
                    forest, t, x, vote, targets, intensities, weight, context, row
                )
                if missing <= RESTARTED:
                    samples.next_samples[t] = i + 1
                if missing != ENOUGH_CAPACITY:
                    return missing
        samples.next_samples[t] = stop
    if first <= n_trees < end:
        for i in range(samples.next_samples[n_trees], stop):
            k, weight = i - start, samples.weights[i]
            label = int(samples.targets[i]) if weight > 0.0 else NONE
            z, inputs, terms = samples.standardized[k], samples.inputs, samples.additive_inputs
            by_kind.run_experts(forest, z, inputs, terms, votes, k, True, label, weight)
        samples.next_samples[n_trees] = stop
    return DONE


@kernel
def close_chunk(forest: Forest, samples: Samples, start: int, stop: int) -> int:
    """Combine the trees' predictions, and return RELEASED or DONE."""
    at, votes = samples.handle, samples.votes
    for i in range(start, stop):
        k, target, weight = i - start, samples.targets[i], samples.weights[i]
        context = samples.contexts[k]
        if at["predicts"]:
            answer = samples.answers[i]
            level = answer[LOWER] if forest.settings["is_regression"] else 0.0
            steps.pool_votes(forest, votes, k, context, answer)
            if at["keeps"]:
                row = row_at(samples, i)
                by_kind.note_prediction(forest, row, 0, votes, k, answer, level)
        if weight > 0.0:
            steps.end_sample(forest, votes, k, target, weight, context)
    at["stage"] = CLOSED
    return RELEASED if at["learns"] and have_released(forest) else DONE
