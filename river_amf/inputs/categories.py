"""Categories and words, and their numbers: the rarest are forgotten where there are too many."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.kinds import size_of
from river_amf.state.layout import MISSING_CODE


class Categories:
    """The categories of a feature and their codes, with a bound on their number or without.

    >>> categories = Categories(bound=2)
    >>> for color in ("red", "tan", "red", "sky"):
    ...     categories.add(color)
    >>> categories.codes, categories.n_free
    ({'red': 0, 'tan': 1, 'sky': 2}, 0)
    >>> fewer = categories.without_rarest(np.array([1, 2, 0]))
    >>> fewer.codes, fewer.next_code
    ({'tan': 1, 'sky': 2}, 3)
    """

    # The kernels count the uses of a category in the slot "code modulo period". There is one slot
    # more than the bound, so the code of a category that exceeds it is known before it arrives;
    # then the rarest are forgotten. No code is ever given twice, as each time opens a new epoch of
    # codes: those of an epoch are the slots that were free when it began, plus epoch * period. The
    # epoch with the code of missing values is left out.

    def __init__(
        self,
        bound: int | None = None,
        codes: dict[Hashable, int] | None = None,
        epoch: int = 0,
    ) -> None:
        self.bound = bound
        self.codes: dict[Hashable, int] = {} if codes is None else codes  # in order of arrival
        self.epoch = epoch
        self._prepare()

    def _prepare(self) -> None:
        """List the codes for new categories, which follows from the others."""
        self._ahead: Sequence[int] | NDArray[np.int64] = range(self.period or 2**53)
        self._n_before = 0  # the number of categories before the first of these codes
        if self.epoch:
            taken = np.fromiter(self.codes.values(), np.int64, len(self.codes)) % self.period
            free = np.setdiff1d(np.arange(self.period), taken, assume_unique=True)
            self._ahead = free + self.period * self.epoch
            self._n_before = len(self.codes)

    def __getstate__(self) -> tuple[int | None, dict[Hashable, int], int]:
        return self.bound, self.codes, self.epoch

    def __setstate__(self, state: tuple[int | None, dict[Hashable, int], int]) -> None:
        self.bound, self.codes, self.epoch = state
        self._prepare()

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def nbytes(self) -> int:
        """Bytes of the categories, of the dict that holds them, and of the codes to come."""
        return size_of(self.codes) + (self._ahead.nbytes if self.epoch else 0)  # type: ignore[union-attr]

    def copy(self) -> Categories:
        """Return categories that later changes of these do not affect."""
        return type(self)(self.bound, self.codes.copy(), self.epoch)

    @property
    def period(self) -> int:
        """The number of slots, 0 without a bound."""
        return 0 if self.bound is None else self.bound + 1

    @property
    def n_codes(self) -> int:
        """All codes so far are below this number."""
        return self.period * (self.epoch + 1) if self.epoch else len(self.codes)

    @property
    def n_free(self) -> int:
        """How many more categories there are codes for, before the rarest are forgotten."""
        return len(self._ahead) - (len(self.codes) - self._n_before)

    @property
    def next_code(self) -> int:
        """The code of the next new category; it is larger than all codes so far."""
        return int(self._ahead[len(self.codes) - self._n_before])

    def codes_ahead(self, n_codes: int) -> NDArray[np.int64]:
        """Return the codes of the next new categories, and zeros where there are none."""
        first = len(self.codes) - self._n_before
        there = self._ahead[first : first + n_codes]
        if isinstance(there, range):
            there = np.arange(there.start, there.stop)
        return np.pad(there, (0, n_codes - len(there)))

    def add(self, category: Hashable) -> None:
        """Add a category, unless it is known."""
        if category not in self.codes:
            self.codes[category] = self.next_code

    def without_rarest(self, uses: NDArray[np.int64]) -> Categories:
        """Return the categories without the rarest, and halve the counts of those that stay."""
        # The newest has not been counted yet, and stays. Of the others, half of the bound stay; of
        # equally frequent ones, those that arrived last. Counts are halved so that old fame fades.
        assert self.bound is not None
        arrived = list(self.codes)
        slots = np.fromiter(self.codes.values(), np.int64, len(arrived)) % self.period
        by_use = np.lexsort((np.arange(len(arrived) - 1), uses[slots[:-1]]))
        staying = np.append(np.sort(by_use[len(by_use) - self.bound // 2 :]), len(arrived) - 1)
        codes = {arrived[i]: self.codes[arrived[i]] for i in staying.tolist()}
        halves = uses[slots[staying]] // 2
        uses[:] = 0
        uses[slots[staying]] = halves
        has_missing = MISSING_CODE // self.period == self.epoch + 1
        return Categories(self.bound, codes, self.epoch + 1 + has_missing)


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
