"""All experts of a classifier beside its trees."""

from __future__ import annotations

from river_amf.kernels.classification import sparse_model
from river_amf.kernels.classification.additive_models import run_additive
from river_amf.kernels.classification.linear_models import run_linear_model
from river_amf.kernels.numba_tools.arrays import NONE, Array, Forest
from river_amf.kernels.numba_tools.compilation import helper


@helper
def run_experts(
    forest: Forest,
    sample: int,
    x: Array,
    standardized: Array,
    inputs: Array,
    additive_inputs: Array,
    votes: Array,
    predicts: bool,
    label: int,
    weight: float,
) -> None:
    """Predict a sample with all other experts, and learn it, as in run_linear_model."""
    settings = forest.settings[0]
    for v in range(len(inputs)):
        run_linear_model(forest, v, x, standardized, inputs, votes, 0, predicts, label, weight)
    if len(inputs) > 0:
        run_additive(forest, standardized, additive_inputs, votes, 0, predicts, label, weight)
    if settings["n_words"] > 0:
        words = sparse_model.words_of(sample, settings["n_features"], True)
        if settings["has_sparse_expert"]:
            vote = votes[len(votes) - 2, 0]
            sparse_model.predict_sparse(forest, words, vote)  # again, as its words may differ
            if label != NONE:
                sparse_model.learn_sparse(forest, words, vote, label, weight)
        if label != NONE:
            sparse_model.count_words(forest, words, label, weight)
