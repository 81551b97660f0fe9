"""Blocks of rows in which a 0 means absent, as samples of the features that each row has."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Hashable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from river_amf.inputs import frames
from river_amf.inputs.kinds import is_zero, shown

Sample = dict[Hashable, Any]


def is_matrix(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of scipy."""
    scipy = sys.modules.get("scipy.sparse")  # if it is one, scipy has been imported
    return scipy is not None and bool(scipy.issparse(X))


def frame_of(X: Any) -> nw.DataFrame[Any]:
    """Return a dataframe of the kind that predictions for X have."""
    if not is_matrix(X):
        return frames.read_frame(X)
    import pandas as pd

    return frames.read_frame(pd.DataFrame(index=pd.RangeIndex(X.shape[0])))


def read_rows(X: Any) -> list[Sample]:
    """Read a dataframe or sparse matrix, or raise TypeError or ValueError."""
    return _read_matrix(X) if is_matrix(X) else _read_frame(frames.read_frame(X))


def _read_matrix(X: Any) -> list[Sample]:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise TypeError(
            "a sparse X must have two dimensions and hold real numbers, got "
            f"{X.ndim} and the dtype {X.dtype}"
        )
    rows = X.tocsr()
    if not rows.has_canonical_format:  # entries may come twice, and are to be added up
        rows = rows.copy()
        rows.sum_duplicates()
    with np.errstate(over="ignore"):  # infinite numbers are refused later
        numbers = rows.data.astype(np.float64).tolist()
    names, starts = rows.indices.tolist(), rows.indptr.tolist()
    return [
        dict(zip(names[start:stop], numbers[start:stop], strict=True))
        for start, stop in itertools.pairwise(starts)
    ]


def _read_frame(frame: nw.DataFrame[Any]) -> list[Sample]:
    samples: list[Sample] = [{} for _ in range(len(frame))]
    for column in frames.read_columns(frame):
        numbers = column.numbers
        for row in range(len(frame)) if numbers is None else np.flatnonzero(numbers).tolist():
            value = column.at(row)
            if not is_zero(value):
                samples[row][column.name] = value
    return samples


def refuse_matrix(X: Any) -> None:
    """Raise TypeError if X is a sparse matrix, whose zeros would count as missing."""
    if is_matrix(X):
        raise TypeError(
            f"X is a sparse matrix, {shown(type(X).__name__)}, in which most features are absent; "
            'absent ones count as missing here, so use absent="zero" or pass a dense array (of '
            "categories as they are, or by OneHotEncoder(sparse_output=False))"
        )
