"""How much a forest may hold within `max_bytes`: nodes, samples, and room for everything else.

The limits follow from what the forest knows, never from the room that it happens to have, so they
are the same whether it learns single samples or blocks, and for a copy (DESIGN.md: bytes).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from river_amf.layout import (
    FIELDS,
    SETTINGS,
    WORD,
    Array,
    lengths_of_classes,
    lengths_of_features,
    lengths_of_voices,
    lengths_of_words,
    shapes,
)
from river_amf.state import rounded, slot_room

_SHARE_OF_ROWS = 1 / 16  # of nodes and samples together; with more, accuracy was lower
_LEAST_ROWS = 32
_LEAST_INTERVAL, _MOST_INTERVAL = 16, 1024
_LEAST_TEXT = 1024
_NO_LIMIT = 2**31 - 1
_BYTES_A_CATEGORY = 4096  # one category of a feature is known per so many bytes
_SHARE_OF_WORDS = 1 / 4  # of all bytes, half for the text of the words and half for their arrays


class Known(NamedTuple):
    """What a forest knows, as numbers of things, each rounded up to what there is room for."""

    n_features: int
    n_categorical: int
    n_classes: int
    n_counted: int  # features whose categories are counted, and slots to count them in
    n_slots: int
    n_text: int  # bytes of names, labels and categories

    def rounded(self, most_slots: int, n_given: int | None) -> Known:
        """Return numbers that change seldom as a forest gets to know more."""
        slots = slot_room(self.n_slots, most_slots)
        return Known(
            rounded(self.n_features),
            rounded(self.n_categorical),
            rounded(self.n_classes) if n_given is None else self.n_classes,
            rounded(self.n_counted),
            slots,
            rounded(max(self.n_text, _LEAST_TEXT)),
        )

    def rooms(self, settings: Array) -> dict[str, int]:
        """Return the lengths of axes that hold so much."""
        return (
            {"counted": self.n_counted, "slot": self.n_slots}
            | lengths_of_features(settings, self.n_features, self.n_categorical)
            | lengths_of_classes(settings, self.n_classes)
        )


class Limits(NamedTuple):
    """What a forest may hold."""

    max_nodes: int  # per tree
    max_rows: int  # samples in the store
    interval: int  # number of stored samples after which the store is checked


class _Kind(NamedTuple):
    """The settings of a forest on which the size of its arrays depends."""

    task: int
    relevance: int
    fades: int
    split_pure: int
    n_trends: int
    n_aims: int
    is_stacked: int
    n_voices: int
    hears_words: int


class _Costs(NamedTuple):
    """Bytes of an empty forest, of a node in each tree, and of a sample in the store."""

    empty: int
    node: int
    row: int


def most_categories(max_bytes: int) -> int:
    """Return how many categories of a feature may be known.

    >>> most_categories(2**20)
    256
    """
    return max(16, max_bytes // _BYTES_A_CATEGORY)


def bytes_of_words(settings: Array, max_bytes: int) -> int:
    """Return how many bytes there are for words, half for their text and half for their arrays."""
    return int(_SHARE_OF_WORDS * max_bytes) if settings["n_words"][0] else 0


def most_words(settings: Array, max_bytes: int, n_classes: int) -> int:
    """Return how many words may be known, given the number of classes."""
    n_sums = 3 if settings["hears_words"][0] else 1
    a_word = WORD.itemsize + 8 * n_sums * rounded(n_classes)
    return max(bytes_of_words(settings, max_bytes) // (2 * a_word) - 1, 1)


def limits_of(
    settings: Array, n_trees: int, max_bytes: int, max_nodes: int | None, known: Known
) -> Limits:
    """Return the limits of a forest with these settings that knows so much (rounded)."""
    max_bytes -= bytes_of_words(settings, max_bytes)
    return _limits(_kind_of(settings), n_trees, max_bytes, max_nodes, known)


def least_bytes(settings: Array, n_trees: int, n_classes: int) -> int:
    """Return what an empty forest takes, with one feature and so many classes."""
    kind = _kind_of(settings)
    costs = _costs(kind, n_trees, Known(1, 0, n_classes, 0, 0, _LEAST_TEXT))
    least = costs.empty + costs.node + (0 if kind.split_pure else _LEAST_ROWS) * costs.row
    return math.ceil(least / (1 - _SHARE_OF_WORDS)) if settings["n_words"][0] else least


def _kind_of(settings: Array) -> _Kind:
    return _Kind(*(int(settings[name][0]) for name in _Kind._fields))


@functools.lru_cache(maxsize=64)
def _limits(
    kind: _Kind, n_trees: int, max_bytes: int, max_nodes: int | None, known: Known
) -> Limits:
    costs = _costs(kind, n_trees, known)
    left = max(max_bytes - costs.empty, 0)
    of_rows = 0 if kind.split_pure else max(int(left * _SHARE_OF_ROWS), _LEAST_ROWS * costs.row)
    n_nodes = max((left - of_rows) // costs.node, 1)
    n_nodes = min(n_nodes, max_nodes or _NO_LIMIT, _NO_LIMIT)
    n_rows = max((left - n_nodes * costs.node) // costs.row, _LEAST_ROWS)
    interval = min(max(n_rows // 8, _LEAST_INTERVAL), _MOST_INTERVAL)
    return Limits(n_nodes, min(n_rows, _NO_LIMIT), interval)


@functools.lru_cache(maxsize=64)
def _costs(kind: _Kind, n_trees: int, known: Known) -> _Costs:
    settings = np.zeros(1, SETTINGS)
    for name, value in kind._asdict().items():
        settings[name] = value
    lengths = known.rooms(settings) | lengths_of_voices(settings, n_trees)
    lengths |= lengths_of_words(settings, 0) | {"node": 0, "box": 0, "row": 0}
    empty = _bytes_of(lengths)
    node = _bytes_of(lengths | {"node": 1, "box": 1}) - empty
    row = _bytes_of(lengths | {"row": 1}) - empty
    return _Costs(empty + known.n_text, node, row)


def _bytes_of(lengths: dict[str, int]) -> int:
    """Return the bytes of all arrays with axes of these lengths."""
    return sum(
        math.prod(shape) * np.dtype(FIELDS[name].dtype).itemsize
        for name, shape in shapes(lengths).items()
    )
