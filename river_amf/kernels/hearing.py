"""What voices, words and trends do with a single sample, beside the trees."""

from __future__ import annotations

from river_amf.kernels.arrays import (
    FOREST,
    NONE,
    Array,
    Forest,
    inputs_of,
    output_of,
    sample_of,
    terms_of,
)
from river_amf.kernels.compilation import hot
from river_amf.kernels.parts import INTEGER, NO_VALUE, NUMBER, part
from river_amf.kernels.standardisation import standardise
from river_amf.kernels.trends import follow_trends
from river_amf.kernels.voices import pace_of, use_voice
from river_amf.kernels.words import count_words, hear_words, teach_words, words_of
from river_amf.layout import CLASSIFICATION, REGRESSION

PREDICT, UNHEARD, HEARD, LEARN = 0, 1, 2, 3  # what to do with a sample


@part(NO_VALUE, FOREST, INTEGER, INTEGER, INTEGER, NUMBER, NUMBER, task=CLASSIFICATION)
def use_voices(
    forest: Forest, sample: int, output: int, stage: int, target: float, weight: float
) -> None:
    """Predict a sample with all voices, or learn it in two steps: before and after the trees."""
    # A prediction is written to `output`, a `state.Room`. To learn the sample, its inputs and votes
    # are put into the forest's own arrays first. If it has been heard, they are in the room, but
    # for the vote on its words, which may be others.
    settings = forest.settings[0]
    n_features, n_voices = settings["n_features"], settings["n_voices"]
    x, label = sample_of(sample, n_features)[1], int(target)
    standardised, inputs, votes = forest.standardised, forest.inputs, forest.votes
    if stage == PREDICT:
        votes, (standardised, inputs) = output_of(output, forest)[1], inputs_of(output, forest)
    elif stage == HEARD:
        copy_inputs(inputs_of(output, forest)[1], inputs)
    for pace in range(len(standardised) if stage != LEARN else 0):
        standardise(forest, pace, x, stage != PREDICT, standardised[pace])
    for v in range(n_voices if stage != HEARD else 0):
        z, vote = standardised[pace_of(v)], votes[len(forest.trees) + v, 0]
        own_label = label if stage == LEARN else NONE
        use_voice(forest, v, x, z, inputs[v], vote, stage != LEARN, own_label, weight)
    if settings["n_words"] > 0:
        words = words_of(sample, n_features, True)
        if settings["hears_words"]:
            vote = votes[len(votes) - 1, 0]
            if stage == LEARN:
                teach_words(forest, words, vote, label, weight)
            else:
                hear_words(forest, words, vote)
        if stage == LEARN:
            count_words(forest, words, label, weight)


@part(
    *(NO_VALUE, FOREST, INTEGER, INTEGER, INTEGER, NUMBER, NUMBER),
    task=REGRESSION,
    name="use_voices",
)
def use_voices_on_target(
    forest: Forest, sample: int, output: int, stage: int, target: float, weight: float
) -> None:
    """Do the same with the trends of a regression, which learn a sample before the trees."""
    if stage == LEARN:
        return
    x = sample_of(sample, forest.settings[0]["n_features"])[1]
    standardised, terms = inputs_of(output, forest)[0], terms_of(output, forest)
    votes = output_of(output, forest)[1] if stage == PREDICT else forest.votes
    learns = stage != PREDICT
    standardise(forest, 0, x, learns, standardised[0])
    hears = stage != HEARD
    follow_trends(forest, x, standardised[0], terms, votes, 0, hears, learns, target, weight)


@hot
def copy_inputs(inputs: Array, out: Array) -> None:
    """Copy the inputs of all voices."""
    for v in range(len(inputs)):
        for i in range(inputs.shape[2]):
            out[v, 0, i] = inputs[v, 0, i]
            out[v, 1, i] = inputs[v, 1, i]
