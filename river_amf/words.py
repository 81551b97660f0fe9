"""How a forest takes in words: new ones, those that get a column, and those that are forgotten.

All is built aside, for the engine to put in place in one step together with the sample that brings
it about.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from river_amf import events
from river_amf.encoding import column_order
from river_amf.layout import CHOSEN, FIELDS, lengths_of_words
from river_amf.sizes import text_size
from river_amf.sparse import SparseFeatures
from river_amf.state import Arena

_LONGEST_SHARE = 1 / 16  # of the room for the text of all words; a longer word is ignored

# The arrays with a row for each word, and what a free slot holds.
_OF_WORDS = {
    name: np.zeros((), field.dtype) if field.fill == 0.0 else field.fill
    for name, field in FIELDS.items()
    if field.axes[0] in ("word", "spoken")
}


class Bounds(NamedTuple):
    """How many words there may be, and how many bytes their text may take; None for no limit."""

    n_words: int | None = None
    n_text: int | None = None


def with_columns(features: SparseFeatures, arena: Arena) -> tuple[SparseFeatures, Arena]:
    """Return features and arena in which the chosen words have columns, for ever."""
    # To older nodes and rows these are features that they have never seen, which is the engine's
    # work, as for any new feature.
    slots = np.flatnonzero(arena.words["column"] == CHOSEN).tolist()
    by_word = dict(zip(features.vocabulary.words_at(slots), slots, strict=True))
    chosen = sorted(by_word, key=column_order)
    words, counters = arena.words.copy(), arena.counters.copy()
    for column, word in enumerate(chosen, start=len(features)):
        words["column"][by_word[word]] = 1 + column
    counters["n_chosen"] = 0
    return features.with_columns(chosen), arena.replacing(words=words, counters=counters)


def with_new(
    features: SparseFeatures, arena: Arena, row: dict[Hashable, float], bounds: Bounds
) -> tuple[SparseFeatures, Arena, dict[Hashable, float], list[Hashable]]:
    """Return features and arena with room for the new words of a sample that has been read.

    Further the sample without the words that are ignored, and those of its words that are new. If
    there are too many words, half of them are forgotten; those of the sample come back as new. It
    may have more words than the bound; then some are ignored.
    """
    features, arena = _within(features, arena, bounds.n_words)
    new = features.new_words(row)
    if bounds.n_text is not None:
        longest = _LONGEST_SHARE * bounds.n_text
        new = [word for word in new if text_size(word) <= longest]
        row = _without(row, features, new)
    taken = features.vocabulary.fitting(new, *bounds)
    if len(taken) < len(new):
        features, arena = _without_rarest(features, arena, len(features.vocabulary) // 2)
        taken = features.vocabulary.fitting(features.new_words(row), *bounds)
        row = _without(row, features, taken)
    n_slots = 1 + max(features.vocabulary.ahead(len(taken)), default=0)
    most = None if bounds.n_words is None else 1 + bounds.n_words
    arena = arena.with_words(max(n_slots, features.vocabulary.n_slots), most)
    return features, arena, row, taken


def _without(
    row: dict[Hashable, float], features: SparseFeatures, taken: list[Hashable]
) -> dict[Hashable, float]:
    """Return a sample without the new words that are not among those taken."""
    ignored = set(features.new_words(row)).difference(taken)
    return {name: number for name, number in row.items() if name not in ignored}


def _within(
    features: SparseFeatures, arena: Arena, most: int | None
) -> tuple[SparseFeatures, Arena]:
    """Return features and arena that take no more room than `most` words need.

    They may, as the more labels there are, the fewer words fit into `max_bytes`. Words with columns
    stay nevertheless.
    """
    if most is None or features.vocabulary.n_slots <= 1 + most:
        return features, arena
    if len(features.vocabulary) > most:
        most_kept = min(most, len(features.vocabulary) // 2)
        features, arena = _without_rarest(features, arena, most_kept)
    vocabulary, slots = features.vocabulary.packed()
    n_slots = len(slots)
    arrays = {name: getattr(arena, name).copy() for name in _of_words(arena)}
    for name, array in arrays.items():
        array[:n_slots] = array[slots]
        array[n_slots:] = _OF_WORDS[name]
    arena = arena.replacing(**arrays)
    arena = arena.resized(**lengths_of_words(arena.settings, max(n_slots, 1 + most)))
    return features.with_vocabulary(vocabulary), arena


def _of_words(arena: Arena) -> list[str]:
    """Return the names of the arrays that have a row for each word."""
    return [name for name in _OF_WORDS if len(getattr(arena, name))]


def _without_rarest(
    features: SparseFeatures, arena: Arena, n_words: int
) -> tuple[SparseFeatures, Arena]:
    """Return features and arena with `n_words`, those used most and those with columns."""
    # Uses are halved, so that old fame fades.
    before = features.vocabulary
    kept = {name for name in features if name in before.slots}
    if len(kept) == len(before):
        return features, arena
    after = before.without_rarest(n_words, arena.words["uses"], kept)
    free = [slot for word, slot in before.slots.items() if word not in after.slots]
    arrays = {name: getattr(arena, name).copy() for name in _of_words(arena)}
    arrays["words"]["uses"] //= 2
    for name, array in arrays.items():
        array[free] = _OF_WORDS[name]
    events.forgot_words(len(free), len(after))
    return features.with_vocabulary(after), arena.replacing(**arrays)
