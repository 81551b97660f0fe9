"""Keys as text: what makes two keys the same, in memory, in a folder and in another process.

Equal numbers are one key (1, 1.0 and True), as in a dict, and so are equal moments. A model is
found by the text of its key alone, so memory, folder and workers never disagree about which it is.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import numbers
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from river_amf.inputs.invalid import InvalidType, InvalidValue
from river_amf.inputs.kinds import is_missing, is_real, plain, shown
from river_amf.persistence import values

_MOST_DIGITS = 1000
_LARGEST_INTEGER = 10**_MOST_DIGITS
_DEEPEST = 50  # how deep tuples may be nested
_TAGGED = (bytes, dt.date, dt.datetime, dt.time, dt.timedelta)


def key_text(key: Any) -> str:
    """Return the text that stands for a key, or raise TypeError or ValueError.

    >>> key_text("ann"), key_text(7), key_text(7.0), key_text(("shop", 3))
    ('s:ann', 'i:7', 'i:7', 't:["s:shop", "i:3"]')
    """
    if type(key) is str:
        return f"s:{key}"
    if type(key) is int and -_LARGEST_INTEGER < key < _LARGEST_INTEGER:
        return f"i:{key:x}"
    return _rare_key_text(plain(key))


def _rare_key_text(key: Any) -> str:
    """Return the text of a key that is not among the most common ones."""
    if type(key) is tuple:  # in UTF-8, as JSON in ASCII would merge a pair of surrogates
        return "t:" + json.dumps(_nested(key, _DEEPEST), ensure_ascii=False)
    if is_missing(key) or (isinstance(key, Decimal) and key.is_nan()):
        raise InvalidValue(f"a key must not be missing, got {shown(key)}")
    if type(key) is str:
        return f"s:{key}"
    text = _number_text(key) if is_real(key) else None
    if type(key) is uuid.UUID:
        text = f"u:{key.hex}"
    moment = _moment(key)
    if type(moment) in _TAGGED and type(getattr(moment, "tzinfo", None)) in (
        type(None),
        dt.timezone,
    ):
        text = "v:" + json.dumps(values.to_json(moment, "key"))
    if text is None:
        raise InvalidType(
            f"a key must be text, bytes, a number, a date, a UUID or a tuple of these, got "
            f"{shown(key)} of type {type(key).__name__}; convert it, for example to str"
        )
    return text


def _nested(key: tuple[Any, ...], depth: int) -> list[Any]:
    """Return the texts of what is in a tuple, those of a tuple in it as a list."""
    if not depth:
        raise InvalidType(f"a key must be a tuple nested up to {_DEEPEST} deep, got a deeper one")
    parts = (plain(part) for part in key)
    return [_nested(p, depth - 1) if type(p) is tuple else key_text(p) for p in parts]


def _number_text(key: Any) -> str | None:
    """Return the text of a real number: the same for equal ones, whatever their types."""
    if isinstance(key, Decimal) and key.is_finite() and abs(key.adjusted()) > _MOST_DIGITS:
        return None  # which would take ages to expand
    if isinstance(key, numbers.Integral | np.bool_):
        key = int(key)
    if key in (math.inf, -math.inf):
        return f"q:{float(key)}"
    numerator, denominator = key.as_integer_ratio()
    if max(abs(numerator), denominator) >= _LARGEST_INTEGER:
        return None
    return f"i:{numerator:x}" if denominator == 1 else f"q:{numerator:x}/{denominator:x}"


def _moment(key: Any) -> Any:
    """Return a time or duration as the same object for equal ones, any other value as it is."""
    if isinstance(key, np.datetime64):
        key = pd.Timestamp(key)
    elif isinstance(key, np.timedelta64):
        key = pd.Timedelta(key)
    if isinstance(key, dt.datetime) and key.tzinfo is not None:
        key = key.astimezone(dt.UTC)
    if isinstance(key, pd.Timestamp) and not key.nanosecond:
        return key.to_pydatetime()
    if isinstance(key, pd.Timedelta) and not key.nanoseconds:
        return key.to_pytimedelta()
    return key


def key_of(text: str) -> Any:
    """Return the key that a text stands for: of equal keys, the simplest one.

    >>> key_of("s:ann"), key_of("i:7"), key_of('t:["s:shop", "i:3"]')
    ('ann', 7, ('shop', 3))
    """
    kind, content = text[0], text[2:]
    if kind == "s":
        return content
    if kind == "i":
        return int(content, 16)
    if kind == "q":
        return _fraction(content)
    if kind == "t":
        return _tuple_of(json.loads(content))
    if kind == "u":
        return uuid.UUID(content)
    return values.from_json(json.loads(content))


def _fraction(content: str) -> float | Fraction:
    """Return a number that is no integer: as a float if that is equal."""
    if content in ("inf", "-inf"):
        return float(content)
    exact = Fraction(*(int(part, 16) for part in content.split("/")))
    return float(exact) if abs(exact) < 2**1023 and exact == float(exact) else exact


def _tuple_of(parts: list[Any]) -> tuple[Any, ...]:
    return tuple([_tuple_of(p) if type(p) is list else key_of(p) for p in parts])


def share_of(text: str, n_shares: int) -> int:
    """Return which of so many shares a key falls into: the same in every process and release.

    >>> share_of("s:ann", 4) == share_of("s:ann", 4)
    True
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % n_shares
