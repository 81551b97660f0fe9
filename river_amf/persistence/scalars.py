"""Dates, exact numbers, UUIDs and bytes as a name and a content in JSON, for `persistence.values`.

Only values of these very types are written. Times are naive, in UTC or at a fixed offset, because a
named time zone is a matter of the system that reads it. What comes from a file has been written by
anyone: a content is either read in time proportional to its length, or refused.
"""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from river_amf.persistence.headers import is_array, items_of

_LONGEST_FRACTION = 2**1024  # of either term, as their common divisor takes quadratic time
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")


class _Form(NamedTuple):
    """How values of a type are written and read."""

    type: type
    to_content: Callable[[Any], Any]  # None for a value that cannot be written
    from_content: Callable[[Any], Any]  # raises ArithmeticError, TypeError or ValueError


def _text(content: Any) -> str:
    if type(content) is not str:
        raise TypeError
    return content


def _items(content: Any, *types: type) -> list[Any]:
    """Return the items of an array, which are of these types."""
    items = []
    if not is_array(content):
        raise TypeError
    for item in items_of(content):
        items.append(item)
        if len(items) > len(types):
            break
    if [*map(type, items)] != [*types]:
        raise TypeError
    return items


def _moment(value: dt.datetime | dt.time) -> str | None:
    is_fixed = value.tzinfo is None or type(value.tzinfo) is dt.timezone
    return value.isoformat() if is_fixed else None


def _decimal(content: Any) -> decimal.Decimal:
    number = decimal.Decimal(_text(content))
    if number.is_nan():
        raise ValueError
    return number


def _terms(value: fractions.Fraction) -> list[str] | None:
    terms = value.numerator, value.denominator
    return [hex(term) for term in terms] if max(map(abs, terms)) < _LONGEST_FRACTION else None


def _fraction(content: Any) -> fractions.Fraction:
    terms = [int(term, 16) for term in _items(content, str, str)]
    if max(map(abs, terms)) >= _LONGEST_FRACTION:
        raise ValueError
    return fractions.Fraction(*terms)


def _count(value: np.datetime64 | np.timedelta64) -> list[Any] | None:
    """Return a time of numpy as a number of units."""
    unit, step = np.datetime_data(value.dtype)
    if unit not in _UNITS or step != 1 or np.isnat(value):
        return None
    return [int(value.view(np.int64)), unit]


def _date_of(content: Any) -> np.datetime64:
    number, unit = _items(content, int, str)
    date = np.datetime64(number, _UNITS[_UNITS.index(unit)])  # type: ignore[call-overload]
    if np.isnat(date):
        raise ValueError
    return date  # type: ignore[no-any-return]


def _duration_of(content: Any) -> np.timedelta64:
    number, unit = _items(content, int, str)
    duration = np.timedelta64(number, _UNITS[_UNITS.index(unit)])  # type: ignore[call-overload]
    if np.isnat(duration):
        raise ValueError
    return duration  # type: ignore[no-any-return]


def _stamp(value: pd.Timestamp) -> list[Any] | None:
    """Return a timestamp as a number of units since 1970 in UTC, and its offset in seconds."""
    if value.tzinfo is None:
        return _count(value.to_datetime64())
    if type(value.tzinfo) is not dt.timezone:
        return None
    count = _count(value.to_datetime64())
    offset, rest = divmod(value.tzinfo.utcoffset(None), dt.timedelta(seconds=1))
    return None if count is None or rest else [*count, offset]


def _stamp_of(content: Any) -> pd.Timestamp:
    try:
        return pd.Timestamp(_date_of(content))
    except TypeError:
        number, unit, offset = _items(content, int, str, int)
    zone = dt.timezone(dt.timedelta(seconds=offset)) if offset else dt.UTC
    date = _date_of([number, unit])
    return pd.Timestamp(date).tz_localize(dt.UTC).tz_convert(zone)


_FORMS = (
    _Form(bytes, bytes.hex, lambda content: bytes.fromhex(_text(content))),
    _Form(uuid.UUID, lambda value: value.hex, lambda content: uuid.UUID(hex=_text(content))),
    _Form(decimal.Decimal, lambda value: None if value.is_nan() else str(value), _decimal),
    _Form(fractions.Fraction, _terms, _fraction),
    _Form(dt.date, dt.date.isoformat, lambda content: dt.date.fromisoformat(_text(content))),
    _Form(dt.datetime, _moment, lambda content: dt.datetime.fromisoformat(_text(content))),
    _Form(dt.time, _moment, lambda content: dt.time.fromisoformat(_text(content))),
    _Form(
        dt.timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda content: dt.timedelta(*_items(content, int, int, int)),
    ),
    _Form(pd.Timestamp, _stamp, _stamp_of),
    _Form(
        pd.Timedelta,
        lambda value: _count(value.to_timedelta64()),
        lambda content: pd.Timedelta(_duration_of(content)),
    ),
    _Form(np.datetime64, _count, _date_of),
    _Form(np.timedelta64, _count, _duration_of),
)
_BY_NAME = {form.type.__name__: form for form in _FORMS}
_BY_TYPE = {form.type: form for form in _FORMS}
NAMES = frozenset(_BY_NAME)


def to_tagged(value: Any) -> list[Any] | None:
    """Return the name of a value's type and its content, or None if it cannot be written.

    >>> to_tagged(dt.date(2020, 1, 31)), to_tagged(b"red"), to_tagged({1})
    (['date', '2020-01-31'], ['bytes', '726564'], None)
    """
    form = _BY_TYPE.get(type(value))
    content = None if form is None else form.to_content(value)
    return None if content is None else [type(value).__name__, content]


def from_content(name: str, content: Any) -> Any:
    """Return the value that `to_tagged` wrote, or raise ArithmeticError, TypeError or ValueError.

    >>> from_content("date", "2020-01-31")
    datetime.date(2020, 1, 31)
    """
    return _BY_NAME[name].from_content(content)
