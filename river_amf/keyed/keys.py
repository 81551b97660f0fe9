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
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from river_amf.kinds import is_missing, is_real, plain, shown
from river_amf.persistence import scalars

_MOST_DIGITS = 1000
_LARGEST_INTEGER = 10**_MOST_DIGITS


def text_of(key: Any) -> str:
    """Return the text that stands for a key, or raise TypeError or ValueError.

    >>> text_of("ann"), text_of(7), text_of(7.0), text_of(("shop", 3))
    ('s:ann', 'i:7', 'i:7', 't:["s:shop", "i:3"]')
    """
    if type(key) is str:
        return f"s:{key}"
    if type(key) is int and -_LARGEST_INTEGER < key < _LARGEST_INTEGER:
        return f"i:{key:x}"
    return _text_of(plain(key))


def _text_of(key: Any) -> str:
    """Return the text of a key that is not among the most common ones."""
    if type(key) is tuple:
        return "t:" + json.dumps([*map(text_of, key)])
    if is_missing(key) or (isinstance(key, Decimal) and key.is_nan()):
        raise ValueError(f"a key must not be missing, got {shown(key)}")
    if type(key) is str:
        return f"s:{key}"
    text = _number(key) if is_real(key) else None
    if text is None:
        tagged = scalars.to_tagged(_moment(key))
        text = None if tagged is None else "v:" + json.dumps(tagged)
    if text is None:
        raise TypeError(
            f"a key must be text, bytes, a number, a date, a UUID or a tuple of these, got "
            f"{shown(key)} of type {type(key).__name__}; convert it, for example to str"
        )
    return text


def _number(key: Any) -> str | None:
    """Return the text of a real number: the same for equal ones, whatever their types."""
    if isinstance(key, numbers.Integral | np.bool_):
        return _integer(int(key))
    if isinstance(key, Decimal) and key.is_finite() and abs(key.adjusted()) > _MOST_DIGITS:
        return None  # which would take ages to expand
    if math.isinf(key):
        return f"f:{float(key)!r}"
    exact = Fraction(*key.as_integer_ratio())
    if exact.denominator == 1:
        return _integer(exact.numerator)
    number = float(exact)
    return f"f:{number!r}" if exact == number else f"q:{exact.numerator:x}/{exact.denominator:x}"


def _integer(key: int) -> str | None:
    return f"i:{key:x}" if abs(key) < _LARGEST_INTEGER else None


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
    if kind == "f":
        return float(content)
    if kind == "q":
        numerator, denominator = content.split("/")
        return Fraction(int(numerator, 16), int(denominator, 16))
    if kind == "t":
        return tuple(map(key_of, json.loads(content)))
    return scalars.from_content(*json.loads(content))


def share_of(text: str, n_shares: int) -> int:
    """Return which of so many shares a key falls into: the same in every process and release.

    >>> share_of("s:ann", 4) == share_of("s:ann", 4)
    True
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % n_shares
