"""Labels, feature names, categories and parameters as JSON, preserving values and types.

None, bools, finite numbers and text are written as such; any other value becomes a list of the name
of its type and one more item: `["tuple", [...]]`; `["float32", 0.5]`, a numpy scalar; `["int",
"0x..."]` beyond 64 bits; `["float", "inf"]`; `["bytes", "..."]`, in hexadecimal; `["date", "..."]`,
`["datetime", "..."]` and `["time", "..."]` in ISO format; `["timedelta", [days, seconds,
microseconds]]`. Values of subclasses are written as what they hold.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np

from river_amf.inputs.kinds import PLAIN_NUMBERS, plain, shown
from river_amf.persistence.validation import FileError, require

_DEEPEST = 50  # how deep tuples may be nested
_SUPPORTED = (
    "files can hold str, bool, int, float, None, numpy scalars of these types, bytes, dates, times "
    "and durations of datetime (naive, in UTC or at a fixed offset), and tuples of such values, "
    f"nested up to {_DEEPEST} deep; pickle holds all types"
)


def to_json(value: Any, what: str) -> Any:
    """Return a value in a form for `json.dumps`, or raise TypeError, which calls it `what`."""
    try:
        return _to_json(value, _DEEPEST)
    except TypeError:
        got = f"{what} {shown(value)} of type {type(value).__name__}"
        raise TypeError(f"cannot save {got}: {_SUPPORTED}") from None


def _to_json(value: Any, depth: int) -> Any:
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind in (int, float) and -(2**63) < value < 2**63:
        return value
    if kind is tuple and depth:
        return ["tuple", [_to_json(item, depth - 1) for item in value]]
    if kind in _SCALARS:
        return [kind.__name__, _to_json(value.item(), 0)]
    zone = getattr(value, "tzinfo", None)
    if kind in _CODECS and value == value and (zone is None or type(zone) is dt.timezone):
        return [kind.__name__, _CODECS[kind][0](value)]
    if type(plain(value)) is kind:
        raise TypeError("it is of another type")
    return _to_json(plain(value), depth)


_SCALARS: set[type[Any]] = {kind for kind in PLAIN_NUMBERS if issubclass(kind, np.generic)}
_NUMPY: dict[str, Any] = {kind.__name__: kind for kind in _SCALARS}
# how a value of each type is written, and read
_CODECS: dict[type[Any], tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    int: (hex, lambda text: int(text, 16)),
    float: (str, float),
    bytes: (bytes.hex, bytes.fromhex),
    dt.timedelta: (
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda numbers: dt.timedelta(*numbers),
    ),
    **{kind: (kind.isoformat, kind.fromisoformat) for kind in (dt.date, dt.datetime, dt.time)},
}
_READERS = {kind.__name__: read for kind, (_, read) in _CODECS.items()}


def from_json(item: Any) -> Any:
    """Return the value that `to_json` turned into `item`, or raise FileError."""
    if type(item) is not list and type(item) is not dict:
        return item
    try:
        kind, content = item
        if kind == "tuple" and type(content) is list:
            return tuple([from_json(part) for part in content])
        scalar = _NUMPY.get(kind)
        value = scalar(from_json(content)) if scalar else _READERS[kind](content)
        require(_to_json(value, 0) == item, "value")
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise FileError(f"is damaged: {shown(item)} does not encode a value") from error
    return value
