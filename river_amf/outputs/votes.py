"""The votes of trees and other experts for a sample, as the kernels leave them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.inputs.encoding import EncodedSample
from river_amf.state.arena import Arena
from river_amf.state.layout import LOCATION, N_TRENDS, Array


class ExpertOutputs(NamedTuple):
    """The inputs and votes of the experts for a sample."""

    values: Array  # the encoded sample, of shape (n_features,)
    words: Array  # rows of index and value, of shape (n_words, 2)
    votes: Array  # of shape (n_voters, n_classes); for a learned vote logarithms
    standardized: Array  # numbers at both timescales, then bins, (n_rows, n_features)
    terms: Array  # inputs of trends, see `kernels.regression.trends`
    additive_inputs: Array  # see `kernels.classification.additive_models`
    plain_share: float  # of the trees with even indices alone in the prediction of a learned vote
    answer: Any  # the prediction of the forest
    parts: Any  # of the votes, see `kernels.contributions`; None if not asked for


def new_words(arena: Arena, words: Array) -> list[int]:
    """Return the indices of the words of a sample that have no column."""
    return [int(index) for index in words[:, 0] if arena.words["column"][int(index)] <= 0]


def parts_of(arena: Arena, sample: EncodedSample) -> Array:
    """Return the parts of all votes for the sample that has just been predicted."""
    n_parts = 2 + len(sample.values[0]) + len(new_words(arena, sample.words))
    n_voters, _, width = arena.votes.shape
    parts = np.zeros((n_voters + kernels.N_MORE, n_parts, width))
    inputs = arena.output.values.copy()  # which are overwritten
    addresses = sample.address, inputs.ctypes.data, parts.ctypes.data
    kernels.parts_of_sample(arena, *addresses, n_parts)
    return parts


def voter_probabilities(arena: Arena, outputs: ExpertOutputs) -> NDArray[np.float64]:
    """Return the probabilities by trees and linear models, a row for each of them."""
    votes = outputs.votes[:, : int(arena.settings["n_labels"][0])]
    if arena.settings["learns_vote"][0]:
        votes = np.exp(votes[:-1])  # without the pool
        votes[: len(arena.trees)] -= kernels.VOTE_FLOOR
    return votes


def learns_residual(arena: Arena, tree: int) -> bool:
    return bool(arena.capacities["tree_target"] > 1 and tree % 2 == 1)


def tree_votes(arena: Arena, votes: Array, which: int = LOCATION) -> Array:
    """Return the predictions of trees or leaves, with the trend where they learn residuals."""
    predictions = votes[: len(arena.trees), which].copy()
    if arena.capacities["tree_target"] > 1:
        predictions[1::2] += votes[len(arena.trees) + N_TRENDS, LOCATION]
    return predictions
