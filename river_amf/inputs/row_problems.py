"""Rows of a block: where a value comes first, and which row is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.invalid import INVALID, InvalidType, InvalidValue

_ROW = re.compile(r"row (\d+): ")


def in_row(row: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; its errors about a value get the number of the row."""
    try:
        return call(*arguments)
    except INVALID as error:
        raise type(error)(f"row {row}: {error}") from None


def renumbered(
    error: TypeError | ValueError, rows: Sequence[int] | NDArray[np.int64], about: str = ""
) -> TypeError | ValueError:
    """Return an error about one of these rows with the number that the row has for the caller.

    >>> renumbered(ValueError("row 1: the weight is negative"), [20, 30])
    ValueError('row 30: the weight is negative')
    """
    found = _ROW.match(str(error))
    if found is None:
        return error
    text = f"row {rows[int(found[1])]}: {about}{str(error)[found.end() :]}"
    # a subclass may want other arguments
    other = InvalidType(text) if isinstance(error, TypeError) else InvalidValue(text)
    other.__cause__ = error.__cause__
    for note in getattr(error, "__notes__", ()):
        other.add_note(note)
    return other
