"""Between river's world and the kernels': dict <-> row of numbers, label <-> index.

Feature names and labels may be any hashable. Every check comes before any change: a sample that is
refused leaves no trace.
"""

from __future__ import annotations

import decimal
import math
import numbers
import operator
import struct
import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Numpy's scalars are registered as numbers. A complex one is refused, as it is no plain number.
Number = numbers.Complex | np.bool_ | decimal.Decimal

# Numbers that need no look: struct would take anything with a __float__, even an array.
_PLAIN_NUMBERS = frozenset(
    {float, int, bool, np.bool_, np.float64, np.float32, np.float16}
    | {np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64}
)
_LONGEST_SHOWN = 500  # characters of a value in a message
LARGEST_WEIGHT = 1e300  # a hundred thousand of them still have a log-gamma


class NewFeatures(NamedTuple):
    """What a sample brings that the encoder has not seen."""

    numeric: list[Hashable]
    categorical: list[Hashable]
    categories: list[tuple[Hashable, Hashable]]  # feature, category; also of known features


def shown(value: object) -> str:
    """Return the repr of a value for a message, cut if long; a value may have none (10**5000)."""
    try:
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def is_missing(value: object) -> bool:
    """Whether a value counts as missing: None, NaN and pandas' NA and NaT."""
    try:
        return value is None or pd.isna(value) is True  # type: ignore[call-overload]
    except decimal.InvalidOperation:  # a signaling NaN, which is an error, not a value left out
        return False


def as_number(name: Hashable, value: Any) -> float:
    """Convert a number that is not missing, or raise ValueError if it is no finite float64."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):  # numpy's timedelta64, a signaling NaN
        raise ValueError(
            f"feature {shown(name)}: the value {shown(value)} of type {type(value).__name__} is no "
            "plain number; give float(...) of what you mean, or a str as a category"
        ) from None
    if math.isinf(number):
        raise ValueError(
            f"feature {shown(name)}: the value {shown(value)} is infinite or beyond float64; "
            "give a finite number, or None if it is missing"
        )
    return number


def check_dict(x: object) -> None:
    """Raise TypeError unless x is a dict."""
    if not isinstance(x, dict):
        raise TypeError(
            f"x must be a dict of features, such as {{'length': 2.5}}, got {shown(x)} "
            f"of type {type(x).__name__}"
        )


def check_weight(w: Any) -> float:
    """Return a sample weight as a float, or raise TypeError or ValueError."""
    if type(w) is float and 0.0 <= w <= LARGEST_WEIGHT:
        return w
    wanted = f"w must be a finite number between 0 and {LARGEST_WEIGHT:g}"
    if not isinstance(w, Number):
        raise TypeError(f"{wanted}, got {shown(w)} of type {type(w).__name__}")
    try:
        weight = float(w)  # type: ignore[arg-type]
    except TypeError:  # a complex number
        raise TypeError(f"{wanted}, got {shown(w)}") from None
    except (OverflowError, ValueError):
        weight = math.nan
    if not 0.0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"{wanted}, got {shown(w)}")
    return weight


def _size_of(index: dict[Hashable, Any]) -> int:
    """Return the bytes of a dict and its keys."""
    return sys.getsizeof(index) + sum(map(sys.getsizeof, index))


def column_order(name: Hashable) -> tuple[str, str]:
    """Return what new columns are sorted by: names of any type, in an order of their own."""
    return type(name).__name__, repr(name)


class Labels:
    """Labels in order of first appearance.

    >>> labels = Labels()
    >>> labels.add("spam"), labels.add("ham"), labels.find("spam"), labels.find("other")
    (0, 1, 0, None)
    """

    def __init__(self) -> None:
        self.index: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.index)

    @property
    def nbytes(self) -> int:
        """Bytes of the labels and what holds them."""
        return _size_of(self.index)

    def find(self, label: Hashable) -> int | None:
        """Return the index of a label, None if it has not been seen; TypeError if unhashable."""
        try:
            return self.index.get(label)
        except TypeError:
            raise TypeError(
                f"label {shown(label)} of type {type(label).__name__} is unhashable; "
                "give a str, bool, int or another hashable"
            ) from None

    def check_new(self, label: Hashable, n_classes: int | None) -> None:
        """Raise ValueError if a label that has not been seen must not be added."""
        if is_missing(label):
            raise ValueError(
                f"label {shown(label)} is missing; learn only from samples with a label"
            )
        if n_classes is not None and len(self) >= n_classes:
            raise ValueError(
                f"label {shown(label)} would be class number {len(self) + 1}, "
                f"but n_classes={n_classes} and the labels seen are {shown(list(self))}; "
                "raise n_classes or leave it None"
            )

    def add(self, label: Hashable) -> int:
        """Return the index of a label, a new one if need be."""
        return self.index.setdefault(label, len(self.index))


class EncodedSample:
    """A sample as the kernels take it.

    `values` is (3, n_features): the sample, and where kernels write it without outliers and as one
    tree sees it. `room` is where its prediction is written, for a forest of the rooms that it fits.
    """

    __slots__ = ("address", "buffer", "fits", "picked", "room", "source", "values")

    def __init__(self, n_features: int) -> None:
        self.values: NDArray[np.float64] = np.full((3, n_features), np.nan)
        self.address: int = self.values.ctypes.data
        self.buffer = self.values.data
        self.source: Any = None  # the dict that it was made of, and its values at that time
        self.picked: Any = None
        self.fits: Any = None
        self.room: Any = None


class _Scratch(threading.local):
    """An encoded sample, one for each thread: models predict in several at once."""

    def __init__(self, n_features: int) -> None:
        self.sample = EncodedSample(n_features)


def _encoder(
    columns: dict[Hashable, int],
    column_codes: list[tuple[int, dict[Hashable, int]]],
    scratch: _Scratch,
) -> Callable[[Any], EncodedSample | None]:
    """Return `Features.encode_known`, a closure: to look up attributes takes half of its time."""
    names = list(columns)
    n_features = len(names)
    pick: Callable[[Any], Any] = operator.itemgetter(*names) if names else tuple
    if n_features == 1:
        pick = lambda x: (x[names[0]],)  # noqa: E731
    pack = struct.Struct(f"{n_features}d").pack_into
    are_numbers = _PLAIN_NUMBERS.issuperset

    def encode_known(x: Any) -> EncodedSample | None:
        """Encode the common cases fast: nothing in x is unknown, and None alone is missing.

        Returns None for everything else, good or bad. Infinite values are left to the kernels.
        """
        if type(x) is not dict:
            return None
        try:
            if len(x) != n_features:
                return encode_gaps(x)
            values: Any = pick(x)
            sample = scratch.sample
            if x is sample.source and values == sample.picked:  # learnt after it was predicted
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
        """Encode a sample that lacks values: the key is absent, or the value None."""
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
            sample = scratch.sample
            sample.source = None
            pack(sample.buffer, 0, *values)
        except (KeyError, TypeError, ValueError, OverflowError, struct.error):
            return None
        return sample

    return encode_known


class Features:
    """Columns for features, in order of first appearance, and codes for categories.

    A feature is numeric or categorical by its first value that is not missing. A category's code is
    its rank of appearance within its feature. Missing values are NaN in a row.

    >>> features = Features()
    >>> features.add(features.check({"size": 2, "color": "red"}))
    >>> list(features), features.is_categorical
    (['color', 'size'], [True, False])
    >>> features.encode({"color": "red", "size": 3.5}).values[0].tolist()
    [0.0, 3.5]
    """

    def __init__(self) -> None:
        self._columns: dict[Hashable, int] = {}
        self._codes: dict[Hashable, dict[Hashable, int]] = {}  # of the categorical features
        self._prepare()

    @classmethod
    def of(
        cls, columns: dict[Hashable, int], codes: dict[Hashable, dict[Hashable, int]]
    ) -> Features:
        """Return features with these columns, and these categories' codes by feature."""
        features = cls()
        features.__setstate__({"_columns": columns, "_codes": codes})
        return features

    def _prepare(self) -> None:
        """Make what follows from the columns and is not part of the state."""
        self._scratch = _Scratch(len(self))
        codes = [(self._columns[name], codes) for name, codes in self._codes.items()]
        self.encode_known = _encoder(self._columns, codes, self._scratch)

    def __getstate__(self) -> dict[str, Any]:
        return {"_columns": self._columns, "_codes": self._codes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._columns)

    @property
    def nbytes(self) -> int:
        """Bytes of the names and categories, what holds them, and an encoded sample."""
        codes = sum(map(_size_of, self._codes.values()))
        return _size_of(self._columns) + codes + self._scratch.sample.values.nbytes

    def column(self, name: Hashable) -> int | None:
        """Return the column of a feature, None if it is unknown."""
        return self._columns.get(name)

    def categories(self, name: Hashable) -> dict[Hashable, int] | None:
        """Return the categories of a feature and their codes, None if it is numeric."""
        return self._codes.get(name)

    @property
    def n_categories(self) -> list[int | None]:
        """How many categories each column has, None of a numeric one."""
        return [len(self._codes[name]) if name in self._codes else None for name in self]

    def encode(self, x: Any) -> EncodedSample:
        """Encode any sample; features that are not known are ignored.

        The thread's next call overwrites it.
        A category that is not known gets the code that it would get if it were learnt next.
        Raises TypeError or ValueError, naming the feature and the value, where `check` would.
        """
        known = self.encode_known(x)
        if known is not None:
            return known
        check_dict(x)
        row = [math.nan] * len(self)
        for name, value in x.items():
            column = self._columns.get(name)
            if column is not None:
                row[column] = self.encode_value(name, value)
        sample = self._scratch.sample
        sample.source = None
        sample.values[0] = row
        return sample

    def encode_value(self, name: Hashable, value: Any) -> float:
        """Encode one value of a known feature, or raise TypeError or ValueError."""
        codes = self._codes.get(name)
        if value is None:
            return math.nan
        if type(value) in _PLAIN_NUMBERS or isinstance(value, Number):
            number = as_number(name, value)
            if codes is not None and number == number:
                raise ValueError(
                    f"feature {shown(name)} has held categories so far, such as "
                    f"{shown(next(iter(codes)))}, "
                    f"got the number {shown(value)}; give a str, or name the feature otherwise"
                )
            return number
        if type(value) is not str:
            if is_missing(value):
                return math.nan
            self._check_hashable(name, value)
        if codes is None:
            raise ValueError(
                f"feature {shown(name)} has held numbers so far, got {shown(value)} of type "
                f"{type(value).__name__}; give a number, or name the feature otherwise"
            )
        return codes.get(value, len(codes))

    @staticmethod
    def _check_hashable(name: Hashable, value: object) -> None:
        try:
            hash(value)
        except TypeError:  # scikit-learn's checks want "argument must be a string, a number"
            raise TypeError(
                f"feature {shown(name)}: the value {shown(value)} of type {type(value).__name__} "
                "is unhashable; the argument must be a string, a number or another hashable"
            ) from None

    def check(self, x: Any) -> NewFeatures:
        """Check a whole sample, changing nothing, and return what is new in it.

        Raises TypeError if x is no dict or a value unhashable; ValueError if a number is infinite
        or stands where a category was, or the reverse.
        """
        check_dict(x)
        new = NewFeatures([], [], [])
        for name, value in x.items():
            codes = self._codes.get(name)
            if name in self._columns:
                code = self.encode_value(name, value)
                if codes is not None and code == len(codes):
                    new.categories.append((name, value))
            elif is_missing(value):
                continue  # a feature widens the forest at its first value
            elif isinstance(value, Number):
                as_number(name, value)
                new.numeric.append(name)
            else:
                self._check_hashable(name, value)
                new.categorical.append(name)
                new.categories.append((name, value))
        return new

    def add(self, new: NewFeatures) -> None:
        """Add what `check` found.

        The columns come in sorted order of (type name, repr) of the feature's name, so that the
        order of the keys of a sample does not matter.
        """
        kinds = dict.fromkeys(new.numeric, False) | dict.fromkeys(new.categorical, True)
        names = sorted(kinds, key=column_order)
        for name in names:
            self._columns[name] = len(self._columns)
            if kinds[name]:
                self._codes[name] = {}
        for name, category in new.categories:
            self._codes[name].setdefault(category, len(self._codes[name]))
        if names:
            self._prepare()

    @property
    def is_categorical(self) -> list[bool]:
        """Whether each column is categorical."""
        return [name in self._codes for name in self._columns]
