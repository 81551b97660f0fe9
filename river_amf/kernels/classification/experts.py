"""All experts of a classifier beside its trees."""

from __future__ import annotations

from river_amf.kernels.classification import sparse_model
from river_amf.kernels.classification.additive_models import run_additive
from river_amf.kernels.classification.linear_models import run_linear_model, timescale_of
from river_amf.kernels.features.quantiles import take_bins
from river_amf.kernels.features.standardisation import standardise
from river_amf.kernels.numba_tools.arrays import (
    NONE,
    Forest,
    additive_inputs_of,
    inputs_of,
    output_of,
    sample_of,
)
from river_amf.kernels.numba_tools.compilation import helper

PREDICT, UNPREDICTED, PREDICTED, LEARN = 0, 1, 2, 3  # what to do with a sample


@helper
def run_experts(
    forest: Forest, sample: int, output: int, stage: int, target: float, weight: float
) -> None:
    """Predict a sample with all other experts, or learn it in two steps, before and after trees."""
    # A prediction is written to `output`, a `PredictionBuffer`. To learn the sample, its inputs and
    # votes are put into the forest's own arrays first. If it has been predicted, they are in the
    # buffer, but for the vote on its words, which may differ.
    settings = forest.settings[0]
    n_features, n_gradient_models = settings["n_features"], len(forest.inputs)
    x, label = sample_of(sample, n_features)[1], int(target)
    standardised, inputs, votes = forest.standardised, forest.inputs, forest.votes
    if stage == PREDICT:
        votes, (standardised, inputs) = output_of(output, forest)[1], inputs_of(output, forest)
    elif stage == PREDICTED:
        predicted = inputs_of(output, forest)[1]
        for v in range(len(inputs)):
            for i in range(inputs.shape[2]):
                inputs[v, 0, i], inputs[v, 1, i] = predicted[v, 0, i], predicted[v, 1, i]
    if stage != LEARN:
        take_bins(forest, x, stage != PREDICT, forest.bins)
    for timescale in range(len(standardised) if stage != LEARN else 0):
        standardise(forest, timescale, x, stage != PREDICT, standardised[timescale])
    for v in range(n_gradient_models if stage != PREDICTED else 0):
        z, vote = standardised[timescale_of(v)], votes[len(forest.trees) + v, 0]
        own_label = label if stage == LEARN else NONE
        run_linear_model(forest, v, x, z, inputs[v], vote, stage != LEARN, own_label, weight)
    if n_gradient_models > 0 and stage != PREDICTED:
        common, terms = additive_inputs_of(output, forest)
        bins, z = forest.bins, standardised[0]
        own_label = label if stage == LEARN else NONE
        run_additive(forest, bins, z, common, terms, votes, 0, stage != LEARN, own_label, weight)
    if settings["n_words"] > 0:
        words = sparse_model.words_of(sample, n_features, True)
        if settings["has_sparse_expert"]:
            vote = votes[len(votes) - 1, 0]
            if stage == LEARN:
                sparse_model.learn_sparse(forest, words, vote, label, weight)
            else:
                sparse_model.predict_sparse(forest, words, vote)
        if stage == LEARN:
            sparse_model.count_words(forest, words, label, weight)
