"""Blocks of rows in which a 0 means absent, as samples of the features that each row has.

They come from dataframes, whose columns may be sparse, and from scipy's sparse matrices.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Hashable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from river_amf.inputs import frames
from river_amf.inputs.kinds import is_zero, plain, shown

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
    wrong = rows.indices[(rows.indices < 0) | (rows.indices >= X.shape[1])]
    if len(wrong):
        raise ValueError(
            f"a sparse X of {X.shape[1]} columns has an entry in column {wrong[0]}; its indices "
            f"must be between 0 and {X.shape[1] - 1}"
        )
    with np.errstate(over="ignore"):  # infinite numbers are refused later
        numbers = rows.data.astype(np.float64).tolist()
    names, starts = rows.indices.tolist(), rows.indptr.tolist()
    return [
        dict(zip(names[start:stop], numbers[start:stop], strict=True))
        for start, stop in itertools.pairwise(starts)
    ]


def _read_frame(frame: nw.DataFrame[Any]) -> list[Sample]:
    samples: list[Sample] = [{} for _ in range(len(frame))]
    native, dense = frame.to_native(), frame
    if frame.implementation.is_pandas():
        are_sparse = np.array([*map(_is_sparse, native.dtypes)], bool)
        for (name, series), is_sparse in zip(native.items(), are_sparse, strict=True):
            if is_sparse:
                where = series.array.sp_index.to_int_index().indices.tolist()
                for row, number in zip(where, series.array.sp_values.tolist(), strict=True):
                    samples[row][plain(name)] = number
        if are_sparse.any():
            dense = frames.read_frame(native.iloc[:, np.flatnonzero(~are_sparse)])
    for column in frames.read_columns(dense):
        numbers = column.numbers
        for row in range(len(frame)) if numbers is None else np.flatnonzero(numbers).tolist():
            value = column.at(row)
            if not is_zero(value):
                samples[row][column.name] = value
    return samples


def _is_sparse(dtype: Any) -> bool:
    """Return whether a dtype of pandas is one of sparse numbers with 0 between them."""
    import pandas as pd

    is_sparse = isinstance(dtype, pd.SparseDtype)
    return is_sparse and dtype.subtype.kind in "fiub" and dtype.fill_value == 0


def refuse_matrix(X: Any) -> None:
    """Raise TypeError if X is a sparse matrix, whose zeros would count as missing."""
    if is_matrix(X):
        raise TypeError(
            f"X is a sparse matrix, {shown(type(X).__name__)}, in which most features are absent; "
            'absent ones count as missing here, so use absent="zero" or pass a dense array (of '
            "categories as they are, or by OneHotEncoder(sparse_output=False))"
        )
