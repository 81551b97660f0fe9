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
from river_amf.layout import CHOSEN, FIELDS
from river_amf.sizes import text_size
from river_amf.sparse import SparseFeatures
from river_amf.state import Arena, defaults

NO_BOUND = 2**31 - 1
_LONGEST_SHARE = 1 / 16  # of the room for the text of all words; a longer word is ignored

_OF_WORDS = [name for name, field in FIELDS.items() if field.axes[0] in ("word", "spoken")]


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
    there are too many words, half of them are forgotten and the others renumbered; those of the
    sample come back as new. It may have more words than the bound; then some are ignored.
    """
    new = features.new_words(row)
    if bounds.n_text is not None:
        longest = _LONGEST_SHARE * bounds.n_text
        new = [word for word in new if text_size(word) <= longest]
        row = _without(row, features, new)
    most = NO_BOUND if bounds.n_words is None else bounds.n_words
    taken = features.vocabulary.fitting(new, *bounds)
    if len(taken) < len(new) or len(features.vocabulary) > most:
        features, arena = _without_rarest(features, arena, most)
        taken = features.vocabulary.fitting(features.new_words(row), *bounds)
        row = _without(row, features, taken)
    return features, arena.with_words(features.vocabulary.n_slots + len(taken), most), row, taken


def _without(
    row: dict[Hashable, float], features: SparseFeatures, taken: list[Hashable]
) -> dict[Hashable, float]:
    """Return a sample without the new words that are not among those taken."""
    ignored = set(features.new_words(row)).difference(taken)
    return {name: number for name, number in row.items() if name not in ignored}


def _without_rarest(
    features: SparseFeatures, arena: Arena, most: int
) -> tuple[SparseFeatures, Arena]:
    """Return features and arena with half of the words, those used most and those with columns."""
    # Uses are halved, so that old fame fades.
    before = features.vocabulary
    kept = {name for name in features if name in before.slots}
    after = before.without_rarest(min(len(before), most) // 2, arena.words["uses"], kept)
    slots = [0, *(before.slots[word] for word in after.slots)]
    fresh = defaults(arena.rooms, _OF_WORDS)
    for name, array in fresh.items():
        if len(array):
            array[: len(slots)] = getattr(arena, name)[slots]
    fresh["words"]["uses"] //= 2
    events.forgot_words(len(before) - len(after), len(after))
    return features.with_vocabulary(after), arena.replacing(**fresh)
