"""Kinds of values: missing, a number or a category; and what counts as a sample or a weight.

Dates and durations are neither numbers nor categories, as either choice would fail silently: as a
category each date is new, and as a number its unit is arbitrary.
"""

import datetime as dt
import decimal
import math
import numbers
import sys
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river.utils import VectorDict

from river_amf.inputs.invalid import InvalidType, InvalidValue
from river_amf.state.layout import CLASSIFICATION, LARGEST_TOTALS

# Numpy's scalars are registered as numbers. Complex numbers are included so that they are rejected
# as numbers, rather than taken for categories.
Number = numbers.Complex | np.bool_ | decimal.Decimal

# Types that struct may pack unchecked; it would accept anything with a __float__, even an array.
PLAIN_NUMBERS = frozenset(
    {float, int, bool, np.bool_, np.float64, np.float32, np.float16}
    | {np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64}
)
_REAL = numbers.Real | np.bool_ | decimal.Decimal
_TIMES = np.timedelta64 | dt.timedelta | np.datetime64 | dt.date | dt.time
_MAY_BE_NAN = complex | np.complexfloating | decimal.Decimal | np.datetime64 | np.timedelta64
_NEVER_MISSING = frozenset({str, bytes, int, bool, tuple})
EXACT = PLAIN_NUMBERS | {str, bytes, type(None)}
_CONVERTED: dict[type, Any] = {
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    int: int.__int__,
    float: float.__float__,
}
_LONGEST_SHOWN = 500  # maximum number of characters of a value in a message


def shown(value: object) -> str:
    """Return the repr of a value for a message, truncated if it is long."""
    try:
        text = repr(value)
    except Exception:  # as of 10**5000
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def check_sample(x: object) -> None:
    # river's class is not registered as a mapping
    if type(x) is not dict and not isinstance(x, Mapping | VectorDict):
        raise InvalidType(
            "x must be a dict of features, such as {'length': 2.5}, or another mapping, "
            f"got {shown(x)} of type {type(x).__name__}"
        )


def as_dict(x: Any) -> dict[Any, Any]:
    check_sample(x)
    return x if type(x) is dict else dict(x.items())


def plain(value: Any) -> Any:
    """Convert an instance of a subclass of str, bytes, int or float to the built-in type."""
    if type(value) in EXACT:
        return value
    # by methods of the built-in type, as an Enum may override them, and str() of `np.str_` drops
    # "\0" at the end
    for kind, convert in _CONVERTED.items():
        if isinstance(value, kind):
            return convert(value)
    return value


def is_missing(value: object) -> bool:
    """Return whether a value counts as missing: None, NaN, NaT, pandas' NA, or numpy's masked."""
    if type(value) in _NEVER_MISSING:
        return False
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, _MAY_BE_NAN):
        try:
            return bool(value != value)
        except decimal.InvalidOperation:  # a signaling NaN: an error rather than a missing value
            return False
    pandas = sys.modules.get("pandas")  # its NA and NaT exist only once it is imported
    return value is getattr(pandas, "NA", None) or value is getattr(pandas, "NaT", None)


def _is_time(value: object) -> bool:
    period = getattr(sys.modules.get("pandas"), "Period", ())
    return isinstance(value, (_TIMES, period))


def is_date(value: object) -> bool:
    return isinstance(value, dt.date | np.datetime64)


def is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_number(name: Hashable, value: Any) -> bool:
    """Return whether a present value is a number; raise if it is no category either."""
    if isinstance(value, Number) and not isinstance(value, np.timedelta64):
        return True
    if _is_time(value):
        raise InvalidValue(
            f"feature {shown(name)}: the value {shown(value)} of type {type(value).__name__} is "
            "neither a number nor a category; convert it to a number, for example of seconds (from "
            "dates, river_amf.date_features makes numbers), or to str to make it a category"
        )
    if not is_hashable(value):
        # scikit-learn's checks look for "argument must be a string, a number"
        raise InvalidType(
            f"feature {shown(name)}: the value {shown(value)} of type {type(value).__name__} "
            "is unhashable; the argument must be a string, a number or another hashable value"
        )
    return False


def is_real(value: Any) -> bool:
    """Return whether a value is a real number, which a duration of numpy is not."""
    return isinstance(value, _REAL) and not isinstance(value, np.timedelta64)


def is_zero(value: Any) -> bool:
    try:
        return is_real(value) and bool(value == 0)
    except ArithmeticError:  # a signaling NaN
        return False


def as_number(name: Hashable, value: Any) -> float:
    """Convert a number to float, or raise ValueError if it is not real and finite in float64."""
    number: float | None = None
    if type(value) in PLAIN_NUMBERS or is_real(value):
        try:
            number = float(value)
        except (OverflowError, TypeError, ValueError) as error:  # the latter of a signaling NaN
            number = math.inf if isinstance(error, OverflowError) else None
    if number is None:  # also of complex numbers, of which float() may take the real part
        raise InvalidValue(
            f"feature {shown(name)}: the value {shown(value)} of type {type(value).__name__} is "
            "not a plain number; convert it to float, or to str to make it a category"
        )
    if math.isinf(number):
        raise InvalidValue(
            f"feature {shown(name)}: the value {shown(value)} is infinite or too large for "
            "float64; pass a finite number, or None if it is missing"
        )
    return number


def as_category(value: Any) -> Hashable:
    """Return a value of a column of categories as a category, which a number becomes as text."""
    # Whole numbers are written without a point, because pandas turns integers into floats where
    # some of them are missing.
    value = plain(value)
    if not isinstance(value, Number) or _is_time(value) or is_missing(value):
        category: Hashable = value
        return category
    if isinstance(value, float | np.floating) and value == np.trunc(value) and np.isfinite(value):
        return str(int(value))
    return str(value)


LARGEST_WEIGHT = 1e300  # the sum of a hundred thousand of these still has a finite log-gamma


def check_weight(w: Any) -> float:
    if type(w) is float and 0.0 <= w <= LARGEST_WEIGHT:
        return w
    wanted = f"w must be a finite number between 0 and {LARGEST_WEIGHT:g}"
    if not is_real(w):
        raise InvalidType(f"{wanted}, got {shown(w)} of type {type(w).__name__}")
    try:
        weight = float(w)
    except (OverflowError, ValueError):
        weight = math.nan
    if not 0.0 <= weight <= LARGEST_WEIGHT:
        raise InvalidValue(f"{wanted}, got {shown(w)}")
    return weight


def check_totals(
    total: float,
    weights: Any,
    largest: float = LARGEST_TOTALS[CLASSIFICATION],
    *,
    are_rows: bool = False,
) -> None:
    """Raise ValueError if the sum of all weights, `total` so far, would be too large."""
    totals = np.cumsum(np.concatenate([[total], weights]))[1:]
    too_heavy = np.flatnonzero(~(totals <= largest))
    if len(too_heavy):
        row = int(too_heavy[0])
        raise InvalidValue(
            f"{f'row {row}: ' * are_rows}with w={float(weights[row])!r}, the weights of all "
            f"samples would sum to more than {largest:g}; divide them by a constant"
        )
