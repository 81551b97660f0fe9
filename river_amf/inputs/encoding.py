"""Encoding of samples for the kernels: dict -> row of numbers.

Feature names may be any hashable. All checks come before any change, so a sample that is
rejected leaves no trace.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.categories import Categories, Vocabulary
from river_amf.inputs.invalid import InvalidType, InvalidValue
from river_amf.inputs.kinds import (
    PLAIN_NUMBERS,
    as_dict,
    as_number,
    is_missing,
    is_number,
    plain,
    shown,
    size_of,
)
from river_amf.inputs.mismatch import MISSING_TEXTS, Mismatches, warn_of_mismatches


class NewFeatures(NamedTuple):
    """Features and categories of a sample that the encoder has not seen before."""

    numeric: list[Hashable]
    categorical: list[Hashable]
    categories: list[tuple[Hashable, Hashable]]  # (feature, category), also for known features


class Reading(NamedTuple):
    """A sample that has been checked."""

    new: NewFeatures
    row: dict[Hashable, float]  # its values, as they will be encoded
    mismatches: Mismatches  # that count as missing


def column_order(name: Hashable) -> tuple[str, str]:
    """Return the sort key of new columns, which orders names of any type."""
    try:
        return type(name).__name__, repr(name)
    except ValueError:  # as of 10**5000; such names stay in their order
        return type(name).__name__, ""


def ascending(values: Iterable[Any]) -> list[Any]:
    """Return values in ascending order, those of several types by type.

    >>> ascending([2, "a", 1]), ascending([2, 10])
    ([1, 2, 'a'], [2, 10])
    """
    values = list(values)
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=column_order)


UNKNOWN = -1.0  # in the key of a sample, a category that is not known yet


def key_of(row: Any) -> bytes:
    """Return what identifies an encoded row; it stays the same when features are added.

    The row is a memoryview or an array of float64.
    """
    n = len(row)
    while n and row[n - 1] != row[n - 1]:  # NaN
        n -= 1
    key: bytes = (row[:n] if n < len(row) else row).tobytes()
    return key


def keys_of(rows: NDArray[np.float64]) -> list[bytes]:
    """Return the key of each encoded row of a block."""
    rows = rows + 0.0  # not -0.0
    rows[np.isnan(rows)] = np.nan  # of any sign
    if not rows.size or np.isnan(rows[:, -1]).any():
        return [key_of(row) for row in rows]
    content, width = rows.tobytes(), rows.itemsize * rows.shape[1]
    return [content[start : start + width] for start in range(0, len(content), width)]


class EncodedSample:
    """A sample in the form that the kernels take, with a buffer for its prediction."""

    __slots__ = ("address", "buffer", "fits", "picked", "prediction", "source", "values")

    def __init__(self, n_features: int) -> None:
        # Row 0 is the sample; kernels write it without outliers to row 1, and as a particular tree
        # sees it to row 2.
        self.values: NDArray[np.float64] = np.full((3, n_features), np.nan)
        self.address: int = self.values.ctypes.data
        self.buffer = self.values.data
        self.source: Any = None  # the dict that it was encoded from, and its values at that time
        self.picked: Any = None
        self.fits: Any = None  # the `Arena.places` that `prediction` was made for
        self.prediction: Any = None  # where the prediction is written

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return self.values.nbytes

    @property
    def words(self) -> NDArray[np.float64]:
        """The slots and values of its words, of shape (n_words, 2): none."""
        return np.empty((0, 2))


def _encoder(
    columns: dict[Hashable, int],
    column_codes: list[tuple[int, dict[Hashable, int]]],
    sample: EncodedSample,
) -> Callable[[Any], EncodedSample | None]:
    """Return the function `Features.encode_known`."""
    # It is a closure because looking up attributes would take half of its time.
    names = list(columns)
    n_features = len(names)
    pick: Callable[[Any], Any] = operator.itemgetter(*names) if names else tuple
    if n_features == 1:
        pick = lambda x: (x[names[0]],)  # noqa: E731
    pack = struct.Struct(f"{n_features}d").pack_into
    are_numbers, is_same = PLAIN_NUMBERS.issuperset, operator.is_

    def encode_known(x: Any) -> EncodedSample | None:
        """Encode a sample in the common cases, where nothing is new; return None in all others."""
        # Infinite values are left to the kernels. Of missing values, None, NaN and absent keys are
        # common cases.
        if type(x) is not dict:
            return None
        try:
            if len(x) != n_features:
                return encode_gaps(x)
            values: Any = pick(x)
            # An equal object may differ in type, so the values have to be the same objects.
            if x is sample.source and all(map(is_same, values, sample.picked)):
                return sample
            picked = values
            if column_codes:
                values = list(values)
                for column, codes in column_codes:
                    values[column] = codes[values[column]]
            if not are_numbers(map(type, values)):
                return encode_gaps(x)
            sample.source = None
            pack(sample.buffer, 0, *values)
            sample.source, sample.picked = x, picked
        except KeyError:
            return encode_gaps(x)
        except (TypeError, ValueError, OverflowError, struct.error):
            return None
        return sample

    def encode_gaps(x: dict[Any, Any]) -> EncodedSample | None:
        """Encode a sample with missing values: an absent key, or None."""
        try:
            values: list[Any] = [x.get(name) for name in names]
            if None not in values or not x.keys() <= columns.keys():
                return None
            for column, codes in column_codes:
                if values[column] is not None:
                    values[column] = codes[values[column]]
            values = [math.nan if value is None else value for value in values]
            if not are_numbers(map(type, values)):
                return None
            sample.source = None
            pack(sample.buffer, 0, *values)
        except (KeyError, TypeError, ValueError, OverflowError, struct.error):
            return None
        return sample

    return encode_known


class Features:
    """The columns of the features seen so far, and the codes of their categories.

    >>> features = Features()
    >>> features = features.extended(features.check({"size": 2, "color": "red"}))
    >>> list(features), features.is_categorical
    (['color', 'size'], [True, False])
    >>> features.encode({"color": "red", "size": 3.5}).values[0].tolist()
    [0.0, 3.5]
    """

    # The first value of a feature that is not missing decides whether it is numeric or categorical
    # (if values of the wrong kind count as missing, `MISSING_TEXTS` do not). Columns are
    # numbered in order of first appearance, and so are the categories of a feature, up to their
    # bound. In an encoded row, missing values are NaN. New features make a new object, which the
    # engine puts in the place of the old one in one step, and which shares the codes of the others.

    vocabulary: Vocabulary | None = None  # of words (see `sparse_features`)

    def __init__(self, *, is_lenient: bool = False) -> None:
        self._columns: dict[Hashable, int] = {}
        self._categories: dict[Hashable, Categories] = {}  # for categorical features only
        # Features with a warning about a value of the wrong kind, None if such values are errors.
        # It is no part of the state: copies warn again.
        self.warned: set[Hashable] | None = set() if is_lenient else None
        self._prepare()

    def replacing(self, **changed: Any) -> Self:
        """Return features of which some attributes differ."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__ | changed)
        twin._prepare()
        return twin

    def _prepare(self) -> None:
        """Set up the encoder, which follows from the columns and is not part of the state."""
        self.sample = EncodedSample(len(self))
        codes = [(self._columns[name], known.codes) for name, known in self._categories.items()]
        self.encode_known = _encoder(self._columns, codes, self.sample)
        self.bounded = [
            (self._columns[name], known)
            for name, known in self._categories.items()
            if known.bound is not None
        ]

    def __getstate__(self) -> dict[str, Any]:
        categories = {name: known.copy() for name, known in self._categories.items()}
        return {
            "_columns": self._columns.copy(),
            "_categories": categories,
            "is_lenient": self.warned is not None,
        }

    def copy(self) -> Self:
        """Return features that later changes of these do not affect."""
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.warned = set() if state.pop("is_lenient") else None
        self.__dict__.update(state)
        self._prepare()

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._columns)

    @property
    def nbytes(self) -> int:
        """Bytes of the names and categories, their dicts, and an encoded sample."""
        categories = sum(known.nbytes for known in self._categories.values())
        return size_of(self._columns) + categories + self.sample.nbytes

    def dictionaries(self) -> list[dict[Any, Any]]:
        """Return what new categories and words are added to in place."""
        dictionaries: list[dict[Any, Any]] = []
        for known in self._categories.values():
            dictionaries += [known.codes] if known.bound is None else [known.codes, known.used]
        return dictionaries if self.vocabulary is None else [*dictionaries, self.vocabulary.slots]

    def is_known(self, name: Hashable) -> bool:
        """Whether a feature has a kind."""
        return name in self._columns

    def column(self, name: Hashable) -> int | None:
        """Return the column of a feature, or None if it is unknown."""
        return self._columns.get(name)

    def categories(self, name: Hashable) -> dict[Hashable, int] | None:
        """Return the categories of a feature with their codes, or None if it is numeric."""
        known = self._categories.get(name)
        return None if known is None else known.codes

    def coding(self, name: Hashable) -> Categories | None:
        """Return how the categories of a feature are coded, or None if it is numeric."""
        return self._categories.get(name)

    @property
    def next_codes(self) -> list[int | None]:
        """The code of an unknown category of each column, None for a numeric one."""
        known = (self._categories.get(name) for name in self)
        return [None if categories is None else categories.next_code for categories in known]

    @property
    def n_codes(self) -> int:
        """All codes of categories so far are below this number."""
        return max((known.n_codes for known in self._categories.values()), default=0)

    def encode(self, x: Any) -> EncodedSample:
        """Encode any sample, ignoring unknown features, or raise as `check` does."""
        # The result is overwritten by the next call. A new category gets a code that no other has.
        known = self.encode_known(x)
        return self.encode_unusual(x) if known is None else known

    def encode_unusual(self, x: Any) -> EncodedSample:
        """Encode a sample that `encode_known` has left, as `encode` does."""
        mismatches: Mismatches = {}
        row = {
            name: self.encode_value(name, value, mismatches)
            for name, value in self._items(x)
            if self.is_known(name)
        }
        self.warn(mismatches)
        return self.place(row)

    def encode_value(self, name: Hashable, value: Any, mismatches: Mismatches) -> float:
        """Encode one value of a known feature, or raise TypeError or ValueError.

        If values of the wrong kind count as missing, one is added to `mismatches`.
        """
        known = self._categories.get(name)
        is_plain = type(value) in PLAIN_NUMBERS
        if not is_plain and type(value) is not str:
            value = plain(value)
            if is_missing(value):
                return math.nan
        kind = type(value)
        if is_plain or is_number(name, value):
            number = as_number(name, value)
            if known is None or number != number:
                return number
            # a warning gives no example, as categories may go in the middle of a block
            example = f"such as {shown(next(iter(known.codes)))}, " * (self.warned is None)
            held, advice = (
                f"categories so far, {example}got the number {shown(value)}",
                "pass a str",
            )
            return self._missing(name, held, advice, mismatches)
        if known is None:
            held = f"numbers so far, got {shown(value)} of type {kind.__name__}"
            return self._missing(name, held, "pass a number", mismatches)
        try:
            code = known.codes.get(value)
            return known.next_code if code is None else code
        except (TypeError, ValueError) as error:
            raise InvalidType(
                f"feature {shown(name)}: the value {shown(value)} of type {kind.__name__} cannot "
                f"be compared with the categories so far, {shown(list(known.codes))}: {error}"
            ) from None

    def key(self, sample: EncodedSample) -> bytes:
        """Return what identifies an encoded sample; it stays the same when features are added."""
        return keys_of(sample.values[:1])[0]

    def mask_unknown(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return encoded rows in which unknown categories, whose code may change, are -1."""
        rows = rows.copy()
        for column, code in enumerate(self.next_codes):
            if code is not None:
                rows[rows[:, column] == code, column] = UNKNOWN
        return rows

    def _missing(self, name: Hashable, held: str, advice: str, mismatches: Mismatches) -> float:
        """Return a value of the wrong kind as a missing one, or raise ValueError."""
        message = f"feature {shown(name)} has held {held}"
        if self.warned is None:
            raise InvalidValue(f"{message}; {advice}, or use another feature name")
        mismatches.setdefault(name, message)
        return math.nan

    def warn(self, mismatches: Mismatches) -> None:
        """Warn of values of the wrong kind that have been taken as missing."""
        if self.warned is not None:
            warn_of_mismatches(mismatches, self.warned)

    def _items(self, x: Any) -> Iterable[tuple[Hashable, Any]]:
        """Return the features of a sample that may be present, with their values."""
        return as_dict(x).items()

    def check(self, x: Any) -> NewFeatures:
        """Check a sample and return what is new in it, or raise TypeError or ValueError."""
        return self.read(x).new

    def read(self, x: Any) -> Reading:
        """Check a sample; return what is new in it, and its values as they will be encoded."""
        # Each value is read once, because those of odd types may change or raise the second time.
        new = NewFeatures([], [], [])
        row: dict[Hashable, float] = {}
        mismatches: Mismatches = {}
        for name, value in self._items(x):
            known = self._categories.get(name)
            if self.is_known(name):
                row[name] = code = self.encode_value(name, value, mismatches)
                if known is not None and code == known.next_code:
                    new.categories.append((name, plain(value)))
            elif is_missing(value):
                continue  # a feature is added only when its first value comes
            elif is_number(name, value):
                number = as_number(name, value)
                if number == number:
                    row[name] = number
                    new.numeric.append(plain(name))
            elif self.warned is None or plain(value) not in MISSING_TEXTS:
                row[name] = 0.0
                new.categorical.append(plain(name))
                new.categories.append((plain(name), plain(value)))
        return Reading(new, row, mismatches)

    def place(self, row: dict[Hashable, float]) -> EncodedSample:
        """Return a sample that has been read, once what is new in it has been added."""
        self.sample.source = None
        self.sample.values[0] = [row.get(name, math.nan) for name in self._columns]
        self.sample.values[0] += 0.0  # -0.0 becomes 0.0, its equal, as in the kernels
        return self.sample

    def extended(self, new: NewFeatures, max_categories: int | None = None) -> Self:
        """Return features with the new ones that `check` has found, and the categories of these."""
        # New columns are sorted, so that the order of the keys in a sample does not matter.
        kinds = dict.fromkeys(new.numeric, False) | dict.fromkeys(new.categorical, True)
        if not kinds:
            return self
        names = sorted(kinds, key=column_order)
        columns = self._columns | {name: len(self) + k for k, name in enumerate(names)}
        known = self._categories | {
            name: Categories(max_categories) for name in names if kinds[name]
        }
        for name, category in new.categories:
            if name in kinds:
                known[name].put(category, 0)
        return self.replacing(_columns=columns, _categories=known)

    def add_category(self, name: Hashable, category: Hashable) -> None:
        """Give a category of a known feature the next code, unless it has one."""
        known = self._categories[name]
        known.put(category, known.code_to_learn(category))

    def put(self, name: Hashable, category: Hashable, code: float) -> None:
        """Give a category of a known feature a code, which another one may lose."""
        self._categories[name].put(category, int(code))

    def use(self, sample: EncodedSample) -> None:
        """Note that a sample has been learned: its categories are those that were used last."""
        row = sample.values[0].tolist() if self.bounded else []
        for column, known in self.bounded:
            known.use(row[column])

    def use_all(self, rows: NDArray[np.float64]) -> None:
        """Note that encoded rows have been learned, in their order."""
        for column, known in self.bounded:
            latest = dict.fromkeys(rows[::-1, column].tolist())
            for code in reversed(latest):
                known.use(code)

    @property
    def is_categorical(self) -> list[bool]:
        """Whether each column is categorical."""
        return [name in self._categories for name in self._columns]
