"""The linear models of a classifier: votes and inputs (DESIGN.md: linear experts)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.explain import paths
from river_amf.inputs.schema import Schema
from river_amf.state.arena import Arena
from river_amf.state.layout import place_of

Array = NDArray[Any]

LOGISTIC, WORDS = "logistic", "words"  # the linear models on features
_NAMES = (LOGISTIC, "slow cosines", "fast cosines")

# An input of a linear model: the name of the model; a feature, or None for the constant 1; a
# category, or of a trend the kind of input; the weight, or of a classifier the weights by label;
# and the value in a sample, NaN without one
Input = tuple[str, Hashable | None, Hashable | None, Any, float]


class ExpertOutputs(NamedTuple):
    """The inputs and votes of the experts for a sample."""

    values: Array  # the encoded sample, of shape (n_features,)
    words: Array  # rows of slot and value, of shape (n_words, 2)
    votes: Array  # of shape (n_voters, n_classes); for a learned vote logarithms
    standardised: Array  # inputs of linear models, (n_timescales, n_features)
    terms: Array  # inputs of trends, see `kernels.regression.trends`
    answer: Any  # the prediction of the forest


def vote_weights(arena: Arena) -> dict[str, float]:
    """Return the weights of linear models in the vote, in the order of votes."""
    weights = dict(zip(_NAMES, arena.linear_models["vote_weight"].tolist(), strict=False))
    if arena.settings["has_sparse_expert"][0]:
        weights[WORDS] = float(arena.counters["sparse_weight"][0])
    return weights


def predictions(arena: Arena, outputs: ExpertOutputs) -> NDArray[np.float64]:
    """Return the probabilities by trees and linear models, a row for each of them."""
    votes = outputs.votes[:, : int(arena.settings["n_labels"][0])]
    if arena.settings["learns_vote"][0]:
        votes = np.exp(votes)
        votes[: len(arena.trees)] -= kernels.VOTE_FLOOR
    return votes


def inputs(arena: Arena, features: Schema, outputs: ExpertOutputs | None = None) -> Iterator[Input]:
    """Yield the inputs of the linear models on features, with their values in a sample."""
    linear_models, n_labels = vote_weights(arena), int(arena.settings["n_labels"][0])
    if LOGISTIC in linear_models:
        values = numbers = np.full(len(features), math.nan)
        if outputs is not None:
            stand_ins, numbers = arena.stand_ins[: len(features)], outputs.standardised[0]
            values = np.where(np.isnan(outputs.values), stand_ins, outputs.values)
        weights = arena.linear_coefficients[0, :n_labels]
        yield (LOGISTIC, None, None, weights[:, 0], 1.0)
        row = 0
        for column, name in enumerate(features):
            codes = paths.codes_of(arena, features, column)
            if codes is None:
                yield (LOGISTIC, name, None, weights[:, 1 + column], float(numbers[column]))
                continue
            of_codes = arena.category_weights[row, :, :n_labels]
            for category, code in codes.items():
                place, value = place_of(code), float(values[column] == code)
                of_code = of_codes[place] if place < len(of_codes) else np.zeros(n_labels)
                yield (LOGISTIC, name, category, of_code, value)
            row += 1
    if WORDS in linear_models:
        of_words, slots, sizes = arena.word_weights[:, :n_labels], features.words or {}, {}
        if outputs is not None:  # only its words, of which there are few
            sizes = {int(slot): _scaled(arena.words[int(slot)], x) for slot, x in outputs.words}
            slots = {word: slot for word, slot in slots.items() if slot in sizes}
        yield (WORDS, None, None, of_words[0], 1.0)
        for word, slot in slots.items():
            yield (WORDS, word, None, of_words[slot], sizes.get(slot, math.nan))


def _scaled(word: Any, value: float) -> float:
    """Return a word's value as an input (`kernels.classification.sparse_model.input_of`)."""
    squares = float(word["squares"])
    scale = math.sqrt(squares / word["weight"]) if squares > 0.0 else abs(value)
    largest = kernels.LARGEST_INPUT_OF_WORDS
    return min(max(value / scale, -largest), largest)
