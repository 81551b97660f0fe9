"""A block of rows with keys, and what each worker gets of it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.ray.shares import Rows

_ROW = re.compile(r"row (\d+): ")


class Cut(NamedTuple):
    """A block, and which rows have which key."""

    frame: Any
    y: Any
    w: NDArray[np.float64] | None
    texts: list[str]
    codes: NDArray[np.int64]

    def taken(self, rows: NDArray[np.int64]) -> Rows:
        """Return some of the rows."""
        native = self.frame.to_native()
        is_pandas = isinstance(native, pd.DataFrame)
        X = native.take(rows) if is_pandas else self.frame[rows].to_native()
        y: Any = None
        if isinstance(self.y, pd.Series):
            y = self.y.take(rows)
        elif isinstance(self.y, np.ndarray):
            y = self.y[rows]
        elif self.y is not None:
            y = [self.y[row] for row in rows.tolist()]
        return Rows(X, y, None if self.w is None else self.w[rows])


def placed(error: Exception, rows: NDArray[np.int64] | None, when: str) -> Exception:
    """Return an error that counts rows as the whole block does, and says which block it was."""
    text = str(error)
    found = _ROW.match(text)
    if found is not None and rows is not None:
        text = f"row {rows[int(found[1])]}: {text[found.end() :]}"
    if type(error) not in (TypeError, ValueError):
        if when:
            error.add_note(when.removeprefix("; "))
        return error
    placed = type(error)(text + when)
    for note in getattr(error, "__notes__", ()):
        placed.add_note(note)
    return placed
