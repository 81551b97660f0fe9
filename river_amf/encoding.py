"""Encoding of samples and labels for the kernels: dict -> row of numbers, label <-> index.

Feature names and labels may be any hashable. All checks come before any change, so a sample that is
rejected leaves no trace.
"""

from __future__ import annotations

import decimal
import functools
import math
import numbers
import operator
import struct
import sys
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.layout import LARGEST_TOTAL

# Numpy's scalars are registered as numbers. Complex numbers are included so that they are rejected
# as numbers, rather than taken for categories.
Number = numbers.Complex | np.bool_ | decimal.Decimal

# Types that struct may pack unchecked; it would accept anything with a __float__, even an array.
PLAIN_NUMBERS = frozenset(
    {float, int, bool, np.bool_, np.float64, np.float32, np.float16}
    | {np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64}
)
_REAL = numbers.Real | np.bool_ | decimal.Decimal
# Numpy counts durations as integers and compares dates with numbers, whatever their units.
_TIMES = np.timedelta64 | np.datetime64
_LONGEST_SHOWN = 500  # maximum number of characters of a value in a message
_LONGEST_UNROLLED = 64  # items of tuples that generated code compares
LARGEST_WEIGHT = 1e300  # the sum of a hundred thousand of these still has a finite log-gamma


class NewFeatures(NamedTuple):
    """Features and categories of a sample that the encoder has not seen before."""

    numeric: list[Hashable]
    categorical: list[Hashable]
    categories: list[tuple[Hashable, Hashable]]  # (feature, category), also for known features


def shown(value: object) -> str:
    """Return the repr of a value for a message, truncated if it is long."""
    try:
        text = repr(value)
    except Exception:  # as of 10**5000
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def is_missing(value: object) -> bool:
    """Whether a value counts as missing: None, NaN, NaT, pandas' NA, or numpy's masked."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return pd.isna(value) is True  # type: ignore[call-overload]
    except decimal.InvalidOperation:  # a signaling NaN: an error rather than a missing value
        return False


def is_hashable(value: Any) -> bool:
    """Whether a value can be hashed."""
    try:
        hash(value)
    except (TypeError, ValueError):  # the latter of numpy's durations without a unit
        return False
    return True


def is_number(name: Hashable, value: Any) -> bool:
    """Whether a value that is not missing is a number, or raise if it is no category either."""
    if isinstance(value, _TIMES):
        kind = "duration" if isinstance(value, np.timedelta64) else "date"
        raise ValueError(
            f"feature {shown(name)}: the value {shown(value)} is a {kind} of type "
            f"{type(value).__name__}, which is neither a number nor a category; convert it to a "
            "number, for example of seconds, or to str to make it a category"
        )
    if isinstance(value, Number):
        return True
    try:
        hash(value)
    except (
        TypeError,
        ValueError,
    ):  # scikit-learn's checks look for "argument must be a string, a number"
        raise TypeError(
            f"feature {shown(name)}: the value {shown(value)} of type {type(value).__name__} "
            "is unhashable; the argument must be a string, a number or another hashable value"
        ) from None
    return False


def as_number(name: Hashable, value: Any) -> float:
    """Convert a number to float, or raise ValueError if it is not real and finite in float64."""
    number: float | None = None
    if type(value) in PLAIN_NUMBERS or (isinstance(value, _REAL) and not isinstance(value, _TIMES)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        except (TypeError, ValueError):  # a signaling NaN
            pass
    if number is None:  # also of complex numbers, of which float() may take the real part
        raise ValueError(
            f"feature {shown(name)}: the value {shown(value)} of type {type(value).__name__} is "
            "not a plain number; convert it to float, or to str to make it a category"
        )
    if math.isinf(number):
        raise ValueError(
            f"feature {shown(name)}: the value {shown(value)} is infinite or too large for "
            "float64; pass a finite number, or None if it is missing"
        )
    return number


def check_dict(x: object) -> None:
    """Raise TypeError unless `x` is a dict."""
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
    if not isinstance(w, _REAL) or isinstance(w, _TIMES):
        raise TypeError(f"{wanted}, got {shown(w)} of type {type(w).__name__}")
    try:
        weight = float(w)
    except (OverflowError, ValueError):
        weight = math.nan
    if not 0.0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"{wanted}, got {shown(w)}")
    return weight


def check_totals(total: float, weights: Any, *, are_rows: bool = False) -> None:
    """Raise ValueError if the sum of all weights, `total` so far, would be too large."""
    totals = np.cumsum(np.concatenate([[total], weights]))[1:]
    too_heavy = np.flatnonzero(~(totals <= LARGEST_TOTAL))
    if len(too_heavy):
        row = int(too_heavy[0])
        raise ValueError(
            f"{f'row {row}: ' * are_rows}with w={float(weights[row])!r}, the weights of all "
            f"samples would sum to more than {LARGEST_TOTAL:g}; divide them by a constant"
        )


def _size_of(index: dict[Hashable, Any]) -> int:
    """Return the size of a dict and its keys in bytes."""
    return sys.getsizeof(index) + sum(map(sys.getsizeof, index))


def column_order(name: Hashable) -> tuple[str, str]:
    """Return the sort key of new columns, which orders names of any type."""
    try:
        return type(name).__name__, repr(name)
    except Exception:  # as of 10**5000; such names stay in their order
        return type(name).__name__, ""


class Labels:
    """The labels seen so far, in order of first appearance.

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
        """Bytes of the labels and the dict that holds them."""
        return _size_of(self.index)

    def find(self, label: Hashable) -> int | None:
        """Return the index of a label (None if it is new), or raise TypeError if unhashable."""
        try:
            return self.index.get(label)
        except (TypeError, ValueError) as error:
            if is_missing(label):
                return None
            what = f"label {shown(label)} of type {type(label).__name__}"
            if not is_hashable(label):
                raise TypeError(
                    f"{what} is unhashable; pass a str, bool, int or another hashable value"
                ) from None
            raise TypeError(  # a Decimal and a numpy integer cannot be compared, for example
                f"{what} cannot be compared with the labels seen so far, {shown(list(self))}: "
                f"{error}"
            ) from None

    def check_new(self, label: Hashable, n_classes: int | None) -> None:
        """Raise ValueError if a label that has not been seen before must not be added."""
        if is_missing(label):
            raise ValueError(
                f"label {shown(label)} is missing; only samples with a label can be learned"
            )
        if n_classes is not None and len(self) >= n_classes:
            raise ValueError(
                f"label {shown(label)} would be class number {len(self) + 1}, "
                f"but n_classes={n_classes} and the labels seen so far are {shown(list(self))}; "
                "increase n_classes, or leave it as None"
            )

    def copy(self) -> Labels:
        """Return labels that later changes of these do not affect."""
        twin = type(self)()
        twin.index = self.index.copy()
        return twin

    def add(self, label: Hashable) -> int:
        """Return the index of a label, which is added if it is new."""
        return self.index.setdefault(label, len(self.index))


class EncodedSample:
    """A sample in the form that the kernels take, with room for its prediction."""

    __slots__ = ("address", "buffer", "fits", "picked", "room", "source", "values")

    def __init__(self, n_features: int) -> None:
        # Row 0 is the sample; kernels write it without outliers to row 1, and as a particular tree
        # sees it to row 2.
        self.values: NDArray[np.float64] = np.full((3, n_features), np.nan)
        self.address: int = self.values.ctypes.data
        self.buffer = self.values.data
        self.source: Any = None  # the dict that it was encoded from, and its values at that time
        self.picked: Any = None
        self.fits: Any = None  # the `Arena.rooms` that `room` was made for
        self.room: Any = None  # where the prediction is written


@functools.lru_cache
def _identity_check(length: int) -> Callable[[Any, Any], bool]:
    """Return a function that tells whether two tuples of this length hold the same objects."""
    # Equal objects may differ in type, and objects of other classes may claim to be equal. As no
    # operator compares tuples by identity, this is unrolled; a loop would take three times as long.
    if not 0 < length <= _LONGEST_UNROLLED:
        return lambda a, b: all(map(operator.is_, a, b))
    left, right = ([f"{side}{i}" for i in range(length)] for side in "ab")
    same = " and ".join(f"{one} is {other}" for one, other in zip(left, right, strict=True))
    body = f"    {', '.join(left)}, = a\n    {', '.join(right)}, = b\n    return {same}"
    namespace: dict[str, Any] = {}
    exec(f"def are_same(a, b):\n{body}", namespace)
    check: Callable[[Any, Any], bool] = namespace["are_same"]
    return check


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
    are_numbers = PLAIN_NUMBERS.issuperset
    are_same = _identity_check(n_features)

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
            if x is sample.source and are_same(values, sample.picked):  # predicted, now learned
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

    # The first value of a feature that is not missing decides whether it is numeric or categorical.
    # Columns are numbered in order of first appearance, and so are the categories of a feature. In
    # an encoded row, missing values are NaN. New features make a new object, which the engine puts
    # in the place of the old one in one step; it shares the codes of the features known before.

    def __init__(self) -> None:
        self._columns: dict[Hashable, int] = {}
        self._codes: dict[Hashable, dict[Hashable, int]] = {}  # for categorical features only
        self._prepare()

    @classmethod
    def of(
        cls, columns: dict[Hashable, int], codes: dict[Hashable, dict[Hashable, int]]
    ) -> Features:
        """Return features with these columns and, by feature, codes of categories."""
        features = cls()
        features.__setstate__({"_columns": columns, "_codes": codes})
        return features

    def _prepare(self) -> None:
        """Set up the encoder, which follows from the columns and is not part of the state."""
        self._sample = EncodedSample(len(self))
        codes = [(self._columns[name], codes) for name, codes in self._codes.items()]
        self.encode_known = _encoder(self._columns, codes, self._sample)

    def __getstate__(self) -> dict[str, Any]:
        codes = {name: codes.copy() for name, codes in self._codes.items()}
        return {"_columns": self._columns.copy(), "_codes": codes}

    def copy(self) -> Features:
        """Return features that later changes of these do not affect."""
        state = self.__getstate__()
        return type(self).of(state["_columns"], state["_codes"])

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._columns)

    @property
    def nbytes(self) -> int:
        """Bytes of the names and categories, their dicts, and an encoded sample."""
        codes = sum(map(_size_of, self._codes.values()))
        return _size_of(self._columns) + codes + self._sample.values.nbytes

    def column(self, name: Hashable) -> int | None:
        """Return the column of a feature, or None if it is unknown."""
        return self._columns.get(name)

    def categories(self, name: Hashable) -> dict[Hashable, int] | None:
        """Return the categories of a feature with their codes, or None if it is numeric."""
        return self._codes.get(name)

    @property
    def n_categories(self) -> list[int | None]:
        """The number of categories of each column, None for a numeric one."""
        return [len(self._codes[name]) if name in self._codes else None for name in self]

    def encode(self, x: Any) -> EncodedSample:
        """Encode any sample, ignoring unknown features, or raise as `check` does."""
        # The result is overwritten by the next call. A new category gets the code that it would
        # have if it were learned next.
        known = self.encode_known(x)
        if known is not None:
            return known
        check_dict(x)
        row = [math.nan] * len(self)
        for name, value in x.items():
            column = self._columns.get(name)
            if column is not None:
                row[column] = self.encode_value(name, value)
        return self.encoded(row)

    def encoded(self, row: Any) -> EncodedSample:
        """Return a row of numbers as an encoded sample, which the next call overwrites."""
        self._sample.source = None
        self._sample.values[0] = row
        return self._sample

    def encode_value(self, name: Hashable, value: Any) -> float:
        """Encode one value of a known feature, or raise TypeError or ValueError."""
        codes = self._codes.get(name)
        kind = type(value)
        is_plain = kind in PLAIN_NUMBERS
        if not is_plain and kind is not str and is_missing(value):
            return math.nan
        if is_plain or is_number(name, value):
            number = as_number(name, value)
            if codes is not None and number == number:
                raise ValueError(
                    f"feature {shown(name)} has held categories so far, such as "
                    f"{shown(next(iter(codes)))}, "
                    f"got the number {shown(value)}; pass a str, or use another feature name"
                )
            return number
        if codes is None:
            raise ValueError(
                f"feature {shown(name)} has held numbers so far, got {shown(value)} of type "
                f"{kind.__name__}; pass a number, or use another feature name"
            )
        try:
            return codes.get(value, len(codes))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"feature {shown(name)}: the value {shown(value)} of type {kind.__name__} cannot "
                f"be compared with the categories so far, {shown(list(codes))}: {error}"
            ) from None

    def check(self, x: Any) -> NewFeatures:
        """Check a sample and return what is new in it, or raise TypeError or ValueError."""
        return self.read(x)[0]

    def read(self, x: Any) -> tuple[NewFeatures, dict[Hashable, float]]:
        """Check a sample; return what is new in it, and its values as they will be encoded."""
        # Each value is read once, because those of odd types may change or raise the second time.
        check_dict(x)
        new = NewFeatures([], [], [])
        row: dict[Hashable, float] = {}
        for name, value in x.items():
            codes = self._codes.get(name)
            if name in self._columns:
                row[name] = code = self.encode_value(name, value)
                if codes is not None and code == len(codes):
                    new.categories.append((name, value))
            elif is_missing(value):
                continue  # a feature is added only when its first value comes
            elif is_number(name, value):
                number = as_number(name, value)
                if number == number:
                    row[name] = number
                    new.numeric.append(name)
            else:
                row[name] = 0.0
                new.categorical.append(name)
                new.categories.append((name, value))
        return new, row

    def place(self, row: dict[Hashable, float]) -> EncodedSample:
        """Return a sample that has been read, once what is new in it has been added."""
        values = [math.nan] * len(self)
        for name, number in row.items():
            values[self._columns[name]] = number
        return self.encoded(values)

    def extended(self, new: NewFeatures) -> Features:
        """Return features with the new ones that `check` has found, and the categories of these."""
        # New columns are sorted, so that the order of the keys in a sample does not matter.
        kinds = dict.fromkeys(new.numeric, False) | dict.fromkeys(new.categorical, True)
        if not kinds:
            return self
        names = sorted(kinds, key=column_order)
        columns = self._columns | {name: len(self) + k for k, name in enumerate(names)}
        codes = self._codes | {name: {} for name in new.categorical}
        for name, category in new.categories:
            if name in kinds:
                codes[name].setdefault(category, len(codes[name]))
        return type(self).of(columns, codes)

    def add_category(self, name: Hashable, category: Hashable) -> None:
        """Give a category of a known feature the next code, unless it has one."""
        codes = self._codes[name]
        codes.setdefault(category, len(codes))

    @property
    def is_categorical(self) -> list[bool]:
        """Whether each column is categorical."""
        return [name in self._codes for name in self._columns]
