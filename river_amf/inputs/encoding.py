"""Encoding of samples for the kernels, in the common cases: a dict becomes numbers and words.

All other samples are read value by value (`schema`).
"""

import itertools
import math
import operator
import struct
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.kinds import PLAIN_NUMBERS

Codes = Mapping[Hashable, int]


def column_order(name: Hashable) -> tuple[str, str]:
    """Return the sort key of new columns, which orders names of any type."""
    try:
        return type(name).__name__, repr(name)
    except ValueError:  # as of 10**5000; such names stay in their order
        return type(name).__name__, ""


def ascending(values: Iterable[Any]) -> list[Any]:
    """Return values in ascending order, by type if there are several."""
    values = list(values)
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=column_order)


class EncodedSample:
    """A sample in the form that the kernels take.

    Row 0 of `values` is the sample; kernels write it without outliers to row 1, and as a tree sees
    it to row 2. Behind them are the number of its words, and the index and value of each.
    """

    __slots__ = ("_all", "_start", "address", "buffer", "picked", "source", "values")

    def __init__(self, n_features: int, n_words: int = 0) -> None:
        self._start = 3 * n_features  # of the words
        self.source: Any = None  # the dict that it was encoded from, and its values at that time
        self.picked: Any = None
        self._allocate(n_words)

    def _allocate(self, n_words: int) -> None:
        self._all = np.full(self._start + 1 + 2 * n_words, math.nan)
        self._all[self._start] = 0.0
        self.values: NDArray[np.float64] = self._all[: self._start].reshape(3, -1)
        self.address: int = self._all.ctypes.data
        self.buffer = self._all.data

    @property
    def words(self) -> NDArray[np.float64]:
        """The indices and values of its words, of shape (n_words, 2)."""
        n_words = int(self._all[self._start])
        return self._all[self._start + 1 :][: 2 * n_words].reshape(-1, 2)

    def hold(self, row: Sequence[float], words: Iterable[tuple[int, float]] = ()) -> None:
        self.source = None
        flat = [*itertools.chain.from_iterable(sorted(words))]  # for sums in a definite order
        stop = self._start + 1 + len(flat)
        if stop > len(self._all):
            self._allocate(len(flat))
        self.buffer[: len(row)] = array("d", row)
        self.buffer[self._start : stop] = array("d", [len(flat) // 2, *flat])


Encoder = Callable[..., EncodedSample | None]


def row_encoder(
    columns: Mapping[Hashable, int], codes: Mapping[Hashable, Codes], sample: EncodedSample
) -> Encoder:
    """Return a function that encodes a sample unless anything is new; then it returns None."""
    # It is a closure because looking up attributes would take half of its time.
    names = list(columns)
    n_features = len(names)
    pick: Callable[[Any], Any] = operator.itemgetter(*names) if names else tuple
    if n_features == 1:
        pick = lambda x: (x[names[0]],)  # noqa: E731
    column_codes = [(columns[name], code_of) for name, code_of in codes.items()]
    pack, buffer = struct.Struct(f"{n_features}d").pack_into, sample.buffer
    are_numbers = PLAIN_NUMBERS.issuperset

    def encode(x: Any) -> EncodedSample | None:
        # Infinite values are left to the kernels. None, NaN and absent keys are common cases.
        if type(x) is not dict:
            return None
        try:
            if len(x) != n_features:
                return encode_gaps(x)
            values: Any = pick(x)
            if x is sample.source and values == sample.picked:  # as it was when it was predicted
                return sample
            picked = values
            if column_codes:
                values = list(values)
                for column, code_of in column_codes:
                    values[column] = code_of[values[column]]
            if not are_numbers(map(type, values)):
                return encode_gaps(x)
            sample.source = None
            pack(buffer, 0, *values)
            sample.source, sample.picked = x, picked
        except KeyError:
            return encode_gaps(x)
        except (TypeError, ValueError, OverflowError, struct.error):
            return None
        return sample

    def encode_gaps(x: dict[Any, Any]) -> EncodedSample | None:
        try:
            values: list[Any] = [x.get(name) for name in names]
            if None not in values or not x.keys() <= columns.keys():
                return None
            for column, code_of in column_codes:
                if values[column] is not None:
                    values[column] = code_of[values[column]]
            values = [math.nan if value is None else value for value in values]
            if not are_numbers(map(type, values)):
                return None
            sample.source = None
            pack(buffer, 0, *values)
        except (KeyError, TypeError, ValueError, OverflowError, struct.error):
            return None
        return sample

    return encode


def word_encoder(
    columns: Mapping[Hashable, int],
    codes: Mapping[Hashable, Codes],
    indices: Mapping[Hashable, int],
    sample: EncodedSample,
) -> Encoder:
    """Return such a function for samples of words, in which an absent number is 0."""
    # Its second argument is whether to ignore unknown words, which else give None.
    blank = array("d", [math.nan if name in codes else 0.0 for name in columns])

    def encode(x: Any, ignores_new: bool = False) -> EncodedSample | None:
        if type(x) is not dict:
            return None
        row, words = blank[:], []
        try:
            for name, value in x.items():
                index = indices.get(name)
                if type(value) in PLAIN_NUMBERS:
                    number = float(value)
                    if number == 0.0 or (ignores_new and index is None and name not in codes):
                        continue
                    if index is None:
                        return None
                    if number - number == 0.0:
                        words.append((index, number))
                    elif number == number:  # infinite
                        return None
                    if name in columns:
                        row[columns[name]] = number
                elif value is None:
                    if index is not None and name in columns:
                        row[columns[name]] = math.nan
                elif index is None and name in codes:
                    row[columns[name]] = codes[name][value]
                else:
                    return None
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        sample.hold(row, words)
        return sample

    return encode
