"""The words of a forest, and their slots: numeric features of which an absent one counts as 0."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.kinds import size_of


class Vocabulary:
    """Words and their slots, which are numbered in order of arrival, from 1.

    >>> vocabulary = Vocabulary(["good", "bad"])
    >>> vocabulary.add(["good", "sky"])
    >>> vocabulary.slots, vocabulary.n_slots
    ({'good': 1, 'bad': 2, 'sky': 3}, 4)
    >>> vocabulary.without_rarest(2, np.array([6, 1, 5, 4]), []).slots
    {'bad': 1, 'sky': 2}
    """

    # Slot 0 belongs to the constant 1. A word is added in one step, as a call may be interrupted
    # between any two.

    def __init__(self, words: Iterable[Hashable] = ()) -> None:
        self.slots: dict[Hashable, int] = {}
        self.add(words)

    def __getstate__(self) -> tuple[list[Hashable]]:
        return (list(self.slots),)

    def __setstate__(self, state: tuple[list[Hashable]]) -> None:
        Vocabulary.__init__(self, *state)

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def nbytes(self) -> int:
        """Bytes of the words and of the dict that holds them."""
        return size_of(self.slots)

    @property
    def n_slots(self) -> int:
        """The number of slots in use."""
        return 1 + len(self.slots)

    def copy(self) -> Vocabulary:
        """Return a vocabulary that later changes of this one do not affect."""
        return type(self)(self.slots)

    def add(self, words: Iterable[Hashable]) -> None:
        """Add words, each of them unless it is known."""
        for word in words:
            if word not in self.slots:
                self.slots[word] = self.n_slots

    def words_at(self, slots: Iterable[int]) -> list[Hashable]:
        """Return the words in some slots."""
        words = list(self.slots)
        return [words[slot - 1] for slot in slots]

    def without_rarest(
        self, n_words: int, uses: NDArray[np.int64], kept: Collection[Hashable]
    ) -> Vocabulary:
        """Return the `n_words` that are used most, those to be `kept` among them, renumbered.

        `uses` has the number of uses of each slot. Of words that are used equally, those that
        arrived last stay.
        """
        words = list(self.slots)
        own = uses[1 : self.n_slots].astype(np.float64)
        own[[word in kept for word in words]] = np.inf
        order = np.lexsort((np.arange(len(words)), own))
        staying = np.sort(order[len(order) - max(n_words, len(kept)) :])
        return type(self)(words[i] for i in staying.tolist())
