"""What the linear models of a forest hear and say, for tables and texts (DESIGN.md: linear voices).

Inputs of a model have a feature and a category as names: both None for the constant 1, and no
category for a number.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.encoding import Features
from river_amf.layout import N_CODES
from river_amf.sparse import SparseFeatures
from river_amf.state import Arena

Array = NDArray[Any]

LOGISTIC, WORDS = "logistic", "words"  # the voices that hear features
_NAMES = (LOGISTIC, "slow cosines", "fast cosines")


class Heard(NamedTuple):
    """A sample as voters hear it, and what they say."""

    values: Array  # the encoded sample, of shape (n_features,)
    words: Array  # rows of slot and value, of shape (n_words, 2)
    votes: Array  # of shape (n_voters, n_classes); those of voices, which come last, are log p
    standardised: Array  # the numbers as voices hear them, of shape (n_paces, n_features)
    terms: Array  # rows of what trends hear instead, see `kernels.trends`


class Input(NamedTuple):
    """An input of a voice, and its weights by label."""

    voice: str
    feature: Hashable | None
    category: Hashable | None
    weights: Array


def names(arena: Arena) -> list[str]:
    """Return the names of the voices, in the order of their votes."""
    hears_words = bool(arena.settings["hears_words"][0])
    return [*_NAMES[: len(arena.voices)], *[WORDS] * hears_words]


def vote_weights(arena: Arena) -> list[float]:
    """Return the weight of each voice in the vote."""
    hears_words = bool(arena.settings["hears_words"][0])
    of_words = float(arena.counters["words_vote"][0])
    return [*arena.voices["vote_weight"].tolist(), *[of_words] * hears_words]


def inputs(arena: Arena, features: Features) -> Iterator[Input]:
    """Yield the inputs of the voices that hear features: of all that are known."""
    voices, n_labels = names(arena), int(arena.settings["n_labels"][0])
    if LOGISTIC in voices:
        weights = arena.voice_weights[0, :n_labels]
        yield Input(LOGISTIC, None, None, weights[:, 0])
        for column, name in enumerate(features):
            if not features.is_categorical[column]:
                yield Input(LOGISTIC, name, None, weights[:, 1 + column])
            for category, code in (features.categories(name) or {}).items():
                yield Input(LOGISTIC, name, category, _of_code(arena, column, code))
    if WORDS in voices:
        assert isinstance(features, SparseFeatures)
        of_words = arena.word_weights[:, :n_labels]
        yield Input(WORDS, None, None, of_words[0])
        for word, slot in features.vocabulary.slots.items():
            yield Input(WORDS, word, None, of_words[slot])


def inputs_of(arena: Arena, features: Features, heard: Heard) -> Iterator[tuple[Input, float]]:
    """Yield the inputs that a sample has, with their values; a category that is new is None."""
    voices, n_labels = names(arena), int(arena.settings["n_labels"][0])
    if LOGISTIC in voices:
        weights = arena.voice_weights[0, :n_labels]
        yield Input(LOGISTIC, None, None, weights[:, 0]), 1.0
        for column, name in enumerate(features):
            value, z = heard.values[column], heard.standardised[0, column]
            if not features.is_categorical[column]:
                if z != 0.0:
                    yield Input(LOGISTIC, name, None, weights[:, 1 + column]), float(z)
            elif not math.isnan(value):
                known = features.categories(name) or {}
                category = next((c for c, code in known.items() if code == value), None)
                yield Input(LOGISTIC, name, category, _of_code(arena, column, int(value))), 1.0
    if WORDS in voices:
        assert isinstance(features, SparseFeatures)
        of_words = arena.word_weights[:, :n_labels]
        yield Input(WORDS, None, None, of_words[0]), 1.0
        slots = heard.words[:, 0].astype(np.int64)
        words = features.vocabulary.words_at(slots.tolist())
        for word, slot, value in zip(words, slots, heard.words[:, 1], strict=True):
            yield Input(WORDS, word, None, of_words[slot]), _scaled(arena.words[slot], value)


def _of_code(arena: Arena, column: int, code: int) -> Array:
    """Return the weights of a category, which it may share with others."""
    row = int(arena.is_categorical[:column].sum())
    weights: Array = arena.category_weights[row, code % N_CODES]
    return weights[: int(arena.settings["n_labels"][0])]


def _scaled(word: Any, value: float) -> float:
    """Return the value of a word as its voice hears it (`input_of` in `kernels.words`)."""
    squares = float(word["squares"])
    scale = math.sqrt(squares / word["weight"]) if squares > 0.0 else abs(value)
    largest = kernels.LARGEST_INPUT_OF_WORDS
    return min(max(value / scale, -largest), largest)
