"""Keys as text, by which a model is found in memory, in the file and among workers."""

import datetime as dt
import json
import numbers
import uuid
import zlib
from typing import Any

import numpy as np

from river_amf.inputs.invalid import InvalidType, InvalidValue
from river_amf.inputs.kinds import is_missing, plain, shown

_READERS: dict[str, Any] = {
    "uuid": uuid.UUID,
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
}
_encode = json.JSONEncoder(ensure_ascii=False).encode


def key_text(key: Any) -> str:
    """Return the text of a key, which is JSON, or raise TypeError or ValueError."""
    try:
        content = [_to_json(part) for part in key] if type(key) is tuple else _to_json(key)
        text = str(content) if type(content) is int else _encode(content)
        text.encode()
    except InvalidValue:
        raise
    # half of a surrogate pair, thousands of digits, or a datetime beyond the calendar of UTC
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"the key {shown(key)} cannot be written as text: {error}") from None
    return text


def _to_json(key: Any) -> Any:
    """Return what JSON can hold of a key, the same for equal keys."""
    key = plain(key)
    if type(key) is str or type(key) is int:
        return key
    if is_missing(key):
        raise InvalidValue(f"a key must not be missing, got {shown(key)}")
    if isinstance(key, numbers.Integral | np.bool_) and not isinstance(key, np.timedelta64):
        return int(key)
    if isinstance(key, float | np.floating) and key.is_integer():
        return int(key)
    if isinstance(key, uuid.UUID):
        return {"uuid": key.hex}
    if isinstance(key, dt.datetime) and not getattr(key, "nanosecond", 0):
        moment = key if key.tzinfo is None else key.astimezone(dt.UTC)  # equal in every zone
        return {"datetime": moment.replace(fold=0).isoformat()}
    if type(key) is dt.date:
        return {"date": key.isoformat()}
    raise InvalidType(
        "a key must be text, a whole number, a UUID, a date, a datetime or a tuple of these, got "
        f"{shown(key)} of type {type(key).__name__}; convert it to str"
    )


def key_of(text: str) -> Any:
    content = json.loads(text, object_hook=_from_tagged)
    return tuple(content) if type(content) is list else content


def _from_tagged(content: dict[str, str]) -> Any:
    ((tag, value),) = content.items()
    return _READERS[tag](value)


def share_of(text: str, n_shares: int) -> int:
    """Return the share that the text of a key falls into, the same in every process."""
    return zlib.crc32(text.encode()) % n_shares
