"""Linear models of a forest, for tables and texts: inputs, votes (DESIGN.md: linear experts).

Names and weights include those of the labels' memory. Inputs of a model have a feature and a
category as names: both None for the constant 1, and no category for a number.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.explain import paths
from river_amf.inputs.encoding import Features
from river_amf.inputs.sparse_features import SparseFeatures
from river_amf.state.arena import Arena
from river_amf.state.layout import N_CODES

Array = NDArray[Any]

LOGISTIC, WORDS = "logistic", "words"  # the linear models that take features
_NAMES = (LOGISTIC, "slow cosines", "fast cosines")
_MEMORIES = ("labels, fast", "labels, medium", "labels, slow", "after last label")


class ExpertOutputs(NamedTuple):
    """A sample as the voters take it, and their votes."""

    values: Array  # the encoded sample, of shape (n_features,)
    words: Array  # rows of slot and value, of shape (n_words, 2)
    votes: Array  # of shape (n_voters, n_classes); the last ones, of linear models, are log p
    standardised: Array  # the numbers as linear models take them, (n_timescales, n_features)
    terms: Array  # rows of what trends take instead, see `kernels.regression.trends`
    answer: Any  # the prediction of the forest


class Input(NamedTuple):
    """An input of a linear model, and its weights by label."""

    linear_model: str
    feature: Hashable | None
    category: Hashable | None
    weights: Array


def names(arena: Arena) -> list[str]:
    """Return the names of linear models and memories, in the order of their votes."""
    has_sparse_expert = bool(arena.settings["has_sparse_expert"][0])
    memories = _MEMORIES[: len(arena.memories)]
    return [*_NAMES[: len(arena.linear_models)], *memories, *[WORDS] * has_sparse_expert]


def vote_weights(arena: Arena) -> list[float]:
    """Return the weight of each linear model and memory in the vote."""
    has_sparse_expert = bool(arena.settings["has_sparse_expert"][0])
    of_words = float(arena.counters["sparse_weight"][0])
    weights = [*arena.linear_models["vote_weight"], *arena.memories["vote_weight"]]
    return [*map(float, weights), *[of_words] * has_sparse_expert]


def inputs(arena: Arena, features: Features) -> Iterator[Input]:
    """Yield the inputs of the linear models that take features: all inputs that are known."""
    linear_models, n_labels = names(arena), int(arena.settings["n_labels"][0])
    if LOGISTIC in linear_models:
        weights = arena.linear_coefficients[0, :n_labels]
        yield Input(LOGISTIC, None, None, weights[:, 0])
        for column, name in enumerate(features):
            if not features.is_categorical[column]:
                yield Input(LOGISTIC, name, None, weights[:, 1 + column])
            for category, code in paths.coded_categories(arena, features, column) or ():
                yield Input(LOGISTIC, name, category, _of_code(arena, column, code))
    if WORDS in linear_models:
        assert isinstance(features, SparseFeatures)
        of_words = arena.word_weights[:, :n_labels]
        yield Input(WORDS, None, None, of_words[0])
        for word, slot in features.vocabulary.slots.items():
            yield Input(WORDS, word, None, of_words[slot])


def sample_inputs(
    arena: Arena, features: Features, outputs: ExpertOutputs
) -> Iterator[tuple[Input, float]]:
    """Yield the inputs that a sample has, with their values; a category that is new is None."""
    linear_models, n_labels = names(arena), int(arena.settings["n_labels"][0])
    if LOGISTIC in linear_models:
        weights = arena.linear_coefficients[0, :n_labels]
        yield Input(LOGISTIC, None, None, weights[:, 0]), 1.0
        for column, name in enumerate(features):
            value, z = outputs.values[column], outputs.standardised[0, column]
            if not features.is_categorical[column]:
                if z != 0.0:
                    yield Input(LOGISTIC, name, None, weights[:, 1 + column]), float(z)
            elif not math.isnan(value):
                known = features.categories(name) or {}
                category = next((c for c, code in known.items() if code == value), None)
                yield Input(LOGISTIC, name, category, _of_code(arena, column, int(value))), 1.0
            elif not math.isnan(code := arena.stand_ins[column]):
                yield Input(LOGISTIC, name, paths.MISSING, _of_code(arena, column, int(code))), 1.0
    if WORDS in linear_models:
        assert isinstance(features, SparseFeatures)
        of_words = arena.word_weights[:, :n_labels]
        yield Input(WORDS, None, None, of_words[0]), 1.0
        slots = outputs.words[:, 0].astype(np.int64)
        words = features.vocabulary.words_at(slots.tolist())
        for word, slot, value in zip(words, slots, outputs.words[:, 1], strict=True):
            yield Input(WORDS, word, None, of_words[slot]), _scaled(arena.words[slot], value)


def _of_code(arena: Arena, column: int, code: int) -> Array:
    """Return the weights of a category, which it may share with others."""
    row = int(arena.is_categorical[:column].sum())
    weights: Array = arena.category_weights[row, code % N_CODES]
    return weights[: int(arena.settings["n_labels"][0])]


def _scaled(word: Any, value: float) -> float:
    """Return a word's value as an input (`kernels.classification.sparse_model.input_of`)."""
    squares = float(word["squares"])
    scale = math.sqrt(squares / word["weight"]) if squares > 0.0 else abs(value)
    largest = kernels.LARGEST_INPUT_OF_WORDS
    return min(max(value / scale, -largest), largest)
