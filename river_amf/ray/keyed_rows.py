"""A block of rows with keys, and what each worker gets of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.ray.shares import Rows


class KeyedRows(NamedTuple):
    """A block of rows, and which of them have which key."""

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
