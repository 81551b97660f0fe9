"""Rows of a block: where a value comes first, and which row is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.invalid import INVALID, InvalidType, InvalidValue

Rows = NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).max)  # the number of a row that does not exist
_ROW = re.compile(r"row (\d+): ")


class Problems:
    """The errors in a block; the one in the first row is raised."""

    def __init__(self) -> None:
        self.first: tuple[int, InvalidType | InvalidValue] | None = None

    def try_at(self, row: int, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function; if it raises an error of our own, keep it with its row."""
        try:
            return call(*arguments)
        except INVALID as error:
            if self.first is None or row < self.first[0]:
                self.first = row, error

    def raise_first(self) -> None:
        """Raise the error of the first row, if there is one."""
        if self.first is not None:
            row, error = self.first
            raise type(error)(f"row {row}: {error}") from None


def renumbered(
    error: TypeError | ValueError, rows: Sequence[int] | Rows, about: str = ""
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


def first_rows(codes: Rows, n_values: int, rows: Rows) -> Rows:
    """Return the first of `rows` that holds each value, or NEVER."""
    first = np.full(n_values, NEVER)
    backwards = rows[::-1]
    coded = codes[backwards]
    first[coded[coded >= 0]] = backwards[coded >= 0]
    return first


def taken(table: NDArray[Any], codes: Rows, missing: float) -> NDArray[Any]:
    """Return the entry of a table for each code, or `missing` for -1."""
    if not len(table):
        return np.full(len(codes), missing)
    return np.where(codes >= 0, table[codes], missing)
