"""Encoding of samples in which an absent feature counts as zero (`absent="zero"`).

A numeric feature is a word: it has a slot in a vocabulary, and a column of the rows that the trees
see once the kernels have chosen it. So a sample costs by the features that it has. Words that a
sample lacks are 0 in its row; categories that it lacks are missing, as ever.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.categories import Vocabulary
from river_amf.inputs.encoding import (
    EncodedSample,
    Features,
    NewFeatures,
    Reading,
    column_order,
    key_of,
)
from river_amf.inputs.kinds import PLAIN_NUMBERS, as_dict, is_zero, plain

_FEW_WORDS = 64

Words = list[tuple[int, float]]  # slots and values


class SparseSample(EncodedSample):
    """A sample with its words: after the values their number, and the slot and value of each."""

    __slots__ = ("_all", "_n_features")

    def __init__(self, n_features: int) -> None:
        super().__init__(0)
        self._n_features = n_features
        self._enlarge(_FEW_WORDS)

    def _enlarge(self, n_words: int) -> None:
        self._all = np.full(3 * self._n_features + 1 + 2 * n_words, math.nan)
        self.values = self._all[: 3 * self._n_features].reshape(3, self._n_features)
        self.address = self._all.ctypes.data
        self.buffer = self._all.data

    @property
    def nbytes(self) -> int:
        """Bytes of the values and words."""
        return self._all.nbytes

    @property
    def words(self) -> NDArray[np.float64]:
        """The slots and values of its words, of shape (n_words, 2)."""
        start = 3 * self._n_features
        return self._all[start + 1 :][: 2 * int(self._all[start])].reshape(-1, 2)

    def hold(self, row: Sequence[float], words: Words) -> None:
        """Hold a row of values, and words in any order."""
        start = 3 * self._n_features
        stop = start + 1 + 2 * len(words)
        if stop > len(self._all):
            self._enlarge(2 * len(words))
        words.sort()  # so that sums do not depend on the order of keys
        self.buffer[: self._n_features] = array("d", row)
        flat = itertools.chain.from_iterable(words)
        self.buffer[start:stop] = array("d", [len(words), *flat])


def _encoder(
    columns: dict[Hashable, int],
    categories: dict[Hashable, dict[Hashable, int]],
    slots: dict[Hashable, int],
) -> Callable[[Any, SparseSample, bool], bool]:
    """Return a function that encodes samples in the common cases."""
    blank = array("d", [math.nan if name in categories else 0.0 for name in columns])

    def encode(x: Any, sample: SparseSample, ignores_new: bool) -> bool:
        """Encode a sample whose features are known or may be ignored; otherwise return False."""
        if type(x) is not dict:
            return False
        row, words = blank[:], []
        try:
            for name, value in x.items():
                slot = slots.get(name)
                if type(value) in PLAIN_NUMBERS:
                    number = float(value)
                    if number == 0.0 or (ignores_new and slot is None and name not in categories):
                        continue
                    if slot is None:
                        return False
                    if number - number == 0.0:
                        words.append((slot, number))
                    elif number == number:  # infinite
                        return False
                    if name in columns:
                        row[columns[name]] = number
                elif value is None:
                    if slot is not None and name in columns:
                        row[columns[name]] = math.nan
                elif slot is None and name in categories:
                    row[columns[name]] = categories[name][value]
                else:
                    return False
        except (KeyError, TypeError, ValueError, OverflowError):
            return False
        sample.hold(row, words)
        return True

    return encode


class SparseFeatures(Features):
    """The words and columns of a forest to which an absent number is 0.

    >>> features = SparseFeatures(max_split_words=2)
    >>> features.new_words(features.read({"good": 1, "sky": 0}).row)
    ['good']
    """

    vocabulary: Vocabulary

    def __init__(self, max_split_words: int, *, is_lenient: bool = False) -> None:
        self.max_split_words = max_split_words
        self.vocabulary = Vocabulary()
        super().__init__(is_lenient=is_lenient)

    @classmethod
    def of_file(
        cls, features: Features, vocabulary: Vocabulary, max_split_words: int
    ) -> SparseFeatures:
        """Return the features of a file with its words."""
        # A word and its column share one name, or a pickle would hold two.
        names = {word: word for word in vocabulary.slots}
        columns = {names.get(name, name): column for name, column in features._columns.items()}
        own = {"vocabulary": vocabulary, "max_split_words": max_split_words, "_columns": columns}
        return cls(max_split_words).replacing(**(features.__dict__ | own))

    @property
    def columns_by_slot(self) -> NDArray[np.int64]:
        """1 + the column of the word in each slot, 0 if it has none."""
        # Only in a damaged file there are columns of words that have no slot.
        slots = self.vocabulary.slots
        columns = np.zeros(self.vocabulary.n_slots, np.int64)
        for name, column in self._columns.items():
            if name not in self._categories:
                columns[slots.get(name, 0)] = 1 + column
        return columns

    def with_columns(self, words: Iterable[Hashable]) -> Self:
        """Return features of which some words more have a column."""
        new = {word: len(self) + k for k, word in enumerate(words)}
        return self.replacing(_columns=self._columns | new)

    def _prepare(self) -> None:
        super()._prepare()
        codes = {name: known.codes for name, known in self._categories.items()}
        self._encode = _encoder(self._columns, codes, self.vocabulary.slots)
        self.sample: SparseSample = SparseSample(len(self))
        self.encode_known = self._encode_known

    def _encode_known(self, x: Any) -> EncodedSample | None:
        """Encode a sample in the common cases, where nothing is new; return None in all others."""
        sample = self.sample
        return sample if self._encode(x, sample, False) else None

    def __getstate__(self) -> dict[str, Any]:
        own = {"max_split_words": self.max_split_words, "vocabulary": self.vocabulary.copy()}
        return super().__getstate__() | own

    @property
    def nbytes(self) -> int:
        """Bytes of the names and categories, their dicts, the words, and an encoded sample."""
        return super().nbytes + self.vocabulary.nbytes

    def is_known(self, name: Hashable) -> bool:
        """Whether a feature has a kind."""
        return name in self._columns or name in self.vocabulary.slots

    def _items(self, x: Any) -> Iterator[tuple[Hashable, Any]]:
        """Yield the features of a sample that are not 0, with their values."""
        return ((name, value) for name, value in as_dict(x).items() if not is_zero(value))

    def read(self, x: Any) -> Reading:
        """Check a sample; return what is new in it, and its values as they will be encoded."""
        # Once there are no columns left, new categorical features are ignored.
        reading = self._read_numbers(x) or super().read(x)
        new, row, _ = reading
        n_free = max(self.max_split_words - len(self), 0)
        if len(new.categorical) <= n_free:
            return reading
        ignored = set(sorted(new.categorical, key=column_order)[n_free:])
        new = new._replace(
            categorical=[name for name in new.categorical if name not in ignored],
            categories=[pair for pair in new.categories if pair[0] not in ignored],
        )
        row = {name: number for name, number in row.items() if name not in ignored}
        return reading._replace(new=new, row=row)

    def _read_numbers(self, x: Any) -> Reading | None:
        """Read a sample in the common case of plain numbers, some of them new; otherwise None."""
        kinds = set(map(type, x.values())) if type(x) is dict else {object}
        if not kinds <= PLAIN_NUMBERS:
            return None
        try:
            numbers = {name: float(value) for name, value in x.items()}
        except OverflowError:  # `read` raises the error
            return None
        row = {name: number for name, number in numbers.items() if number != 0.0}
        if not all(map(math.isfinite, row.values())) or not self._categories.keys().isdisjoint(row):
            return None
        return Reading(NewFeatures(self.new_words(row), [], []), row, {})

    def extended(self, new: NewFeatures, max_categories: int | None = None) -> Self:
        """Return features with the new categorical ones."""
        return super().extended(new._replace(numeric=[]), max_categories)

    def key(self, sample: EncodedSample) -> bytes:
        """Return what identifies an encoded sample: its words and categories."""
        columns = [self._columns[name] for name in self._categories]
        return key_of(sample.values[0, columns]) + sample.words.tobytes()

    def new_words(self, row: dict[Hashable, float]) -> list[Hashable]:
        """Return the words in a sample that has been read which have no slot, in their order."""
        new = [plain(name) for name in row if not self.is_known(name)]
        return sorted(new, key=column_order)

    def encode_unusual(self, x: Any) -> EncodedSample:
        """Encode a sample that `encode_known` has left, as `encode` does."""
        is_usual = self._encode(x, self.sample, True)
        return self.sample if is_usual else super().encode_unusual(x)

    def place(self, row: dict[Hashable, float]) -> EncodedSample:
        """Return a sample that has been read, once what is new in it has been added."""
        values = [math.nan if name in self._categories else 0.0 for name in self._columns]
        words: Words = []
        for name, number in row.items():
            if name in self._columns:
                values[self._columns[name]] = number
            slot = self.vocabulary.slots.get(name)
            if slot is not None and not math.isnan(number):
                words.append((slot, number))
        self.sample.hold(values, words)
        return self.sample
