"""All experts of a classifier beside its trees."""

from __future__ import annotations

from river_amf.kernels.classification import perceptron, sparse_model
from river_amf.kernels.classification.additive_models import (
    COSINE_SCALE,
    COSINES,
    RAW,
    count_labels,
    learn_additive,
    predict_additive,
    take_inputs,
)
from river_amf.kernels.classification.softmax import log_softmax
from river_amf.kernels.features.standardization import take_cosines
from river_amf.kernels.numba_tools.arrays import NONE, Array, Forest
from river_amf.kernels.numba_tools.compilation import helper
from river_amf.state.layout import N_ADDITIVE


@helper
def run_experts(
    forest: Forest,
    standardized: Array,
    inputs: Array,
    additive_inputs: Array,
    votes: Array,
    i: int,
    predicts: bool,
    label: int,
    weight: float,
) -> None:
    if len(forest.linear_models) == 0:
        return
    first, n_labels = len(forest.trees), forest.settings["n_labels"]
    if predicts:
        raw, cosines = additive_inputs[RAW], additive_inputs[COSINES]
        take_cosines(forest, 0, COSINE_SCALE, standardized[0], raw, cosines, 0)
        n_features = forest.settings["n_features"]
        take_inputs(forest, standardized, 0, n_features, inputs, additive_inputs)
    perceptron.run_units(forest, inputs)  # again, as predictions of blocks use the same units
    if predicts:
        perceptron.predict_perceptron(forest, votes[first, i])
        for k in range(N_ADDITIVE):
            predict_additive(forest, k, additive_inputs, votes[first + 1 + k, i])
        for v in range(first, first + 1 + N_ADDITIVE):
            log_softmax(votes[v, i], n_labels)
    if label != NONE:
        perceptron.learn_perceptron(forest, inputs, votes[first, i], label, weight)
        for k in range(N_ADDITIVE):
            vote = votes[first + 1 + k, i]
            learn_additive(forest, k, additive_inputs, vote, label, weight)
        count_labels(forest, standardized, additive_inputs, label, weight)


@helper
def run_words(forest: Forest, sample: int, votes: Array, label: int, weight: float) -> None:
    settings = forest.settings
    if settings["n_words"] > 0:
        words = sparse_model.words_of(sample, settings["n_features"], True)
        if settings["has_sparse_expert"]:
            vote = votes[len(votes) - 2, 0]
            sparse_model.predict_sparse(forest, words, vote)  # again, as its words may differ
            log_softmax(vote, settings["n_labels"])
            if label != NONE:
                sparse_model.learn_sparse(forest, words, vote, label, weight)
        if label != NONE:
            sparse_model.count_words(forest, words, label, weight)
