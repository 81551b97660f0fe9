"""What is said of the rows of a block: where a value comes first, and which row is wrong."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.mismatch import Mismatch

Rows = NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).max)  # the number of a row that does not exist


class Problems:
    """The errors in a block; the one in the first row is raised."""

    def __init__(self) -> None:
        self.first: tuple[int, Exception] | None = None

    def try_at(self, row: int, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function; if it raises an error, keep it with its row."""
        try:
            return call(*arguments)
        except Exception as error:
            if self.first is None or row < self.first[0]:
                self.first = row, error

    def raise_first(self) -> None:
        """Raise the error of the first row, if there is one."""
        if self.first is not None:
            row, error = self.first
            for kind in (TypeError, ValueError):
                if isinstance(error, kind):
                    raise kind(f"row {row}: {error}") from None
            raise error  # of a value's own methods


class Mismatched:
    """The values of the wrong kind in a block that count as missing, with their rows."""

    def __init__(self) -> None:
        self._found: list[tuple[int, Mismatch]] = []

    def add(self, row: int, mismatches: list[Mismatch]) -> None:
        """Add what is wrong in a row."""
        self._found += [(row, mismatch) for mismatch in mismatches]

    def in_order(self) -> list[Mismatch]:
        """Return them as the rows come, and within a row as the columns do."""
        return [mismatch for _, mismatch in sorted(self._found, key=operator.itemgetter(0))]


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
