"""The words of a forest, and their slots: numeric features of which an absent one counts as 0."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from river_amf.sizes import TextSize, size_of, text_size


class Vocabulary:
    """Words and their slots, of which a new word gets the lowest that is free.

    >>> vocabulary = Vocabulary()
    >>> vocabulary.add(["good", "bad"])
    >>> vocabulary.add(["good", "sky"])
    >>> vocabulary.slots, vocabulary.n_slots
    ({'good': 1, 'bad': 2, 'sky': 3}, 4)
    >>> fewer = vocabulary.without_rarest(2, np.array([6, 1, 5, 4]), [])
    >>> fewer.slots, fewer.ahead(2)
    ({'bad': 2, 'sky': 3}, [1, 4])
    """

    # Slot 0 belongs to the constant 1. Which slots are free follows from the others, so copies and
    # files hold the words and their slots alone. A word is added in one step, as a call may be
    # interrupted between any two.

    def __init__(self, slots: dict[Hashable, int] | None = None) -> None:
        self.slots: dict[Hashable, int] = {} if slots is None else slots  # in order of arrival
        self._prepare()

    def _prepare(self) -> None:
        """List the slots that are free."""
        self._size = TextSize()
        self._n_before = len(self.slots)
        taken = np.fromiter(self.slots.values(), np.int64, len(self.slots))
        self._end = 1 + int(taken.max(initial=0))
        self._free = np.setdiff1d(np.arange(1, self._end), taken).tolist()

    def __getstate__(self) -> tuple[dict[Hashable, int]]:
        return (self.slots,)

    def __setstate__(self, state: tuple[dict[Hashable, int]]) -> None:
        (self.slots,) = state
        self._prepare()

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def nbytes(self) -> int:
        """Bytes of the words and of the dict that holds them."""
        return size_of(self.slots) + 8 * len(self._free)

    @property
    def text_size(self) -> int:
        """A bound on the bytes of the words and of the dict that holds them."""
        return self._size.of(self.slots)

    @property
    def n_slots(self) -> int:
        """The number of slots up to the last one in use."""
        n_beyond = len(self.slots) - self._n_before - len(self._free)
        return self._end + max(n_beyond, 0)

    def copy(self) -> Vocabulary:
        """Return a vocabulary that later changes of this one do not affect."""
        return type(self)(self.slots.copy())

    def ahead(self, n_words: int) -> list[int]:
        """Return the slots of the next new words."""
        first = len(self.slots) - self._n_before
        slots = self._free[first : first + n_words]
        return [*slots, *range(self.n_slots, self.n_slots + n_words - len(slots))]

    def add(self, words: Iterable[Hashable]) -> None:
        """Add words, each of them unless it is known."""
        new = [word for word in words if word not in self.slots]
        for word, slot in zip(new, self.ahead(len(new)), strict=True):
            self.slots[word] = slot

    def packed(self) -> tuple[Vocabulary, list[int]]:
        """Return a vocabulary of the same words in the first slots, and which those were before.

        >>> Vocabulary({"sky": 7, "sea": 4}).packed()[0].slots
        {'sky': 2, 'sea': 1}
        """
        before = [0, *sorted(self.slots.values())]
        places = {slot: place for place, slot in enumerate(before)}
        return type(self)({word: places[slot] for word, slot in self.slots.items()}), before

    def cut(self, n_words: int) -> None:
        """Take back the newest words, until so many are left."""
        while len(self.slots) > n_words:
            self.slots.popitem()

    def words_at(self, slots: Iterable[int]) -> list[Hashable]:
        """Return the words in some slots."""
        by_slot = {slot: word for word, slot in self.slots.items()}
        return [by_slot[slot] for slot in slots]

    def fitting(
        self, new: Iterable[Hashable], max_words: int | None, max_text: int | None
    ) -> list[Hashable]:
        """Return the first of some new words, as many as there is room for."""
        n_free = None if max_words is None else max(max_words - len(self.slots), 0)
        words = list(itertools.islice(new, n_free))
        if max_text is None:
            return words
        sizes = itertools.accumulate(map(text_size, words), initial=self.text_size)
        return [word for word, size in zip(words, [*sizes][1:], strict=True) if size <= max_text]

    def without_rarest(
        self, n_words: int, uses: NDArray[np.int64], kept: Collection[Hashable]
    ) -> Vocabulary:
        """Return the `n_words` that are used most, those to be `kept` among them.

        `uses` has the number of uses of each slot. Of words that are used equally, those that
        arrived last stay.
        """
        words = list(self.slots)
        own = uses[np.fromiter(self.slots.values(), np.int64, len(words))].astype(np.float64)
        own[[word in kept for word in words]] = np.inf
        order = np.lexsort((np.arange(len(words)), own))
        staying = np.sort(order[len(order) - max(n_words, len(kept)) :])
        return type(self)({words[i]: self.slots[words[i]] for i in staying.tolist()})
