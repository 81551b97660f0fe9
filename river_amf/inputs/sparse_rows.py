"""Blocks of rows in which a 0 means absent, read as samples of the features that each row has.

They come from dataframes, whose columns may be sparse, and from scipy's sparse matrices, and take
memory and time by the values that are stored.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from river_amf.inputs import frames
from river_amf.inputs.columns import encode_to_learn
from river_amf.inputs.encoding import Features
from river_amf.inputs.frames import Column
from river_amf.inputs.kinds import is_zero, plain, shown
from river_amf.inputs.labels import Labels
from river_amf.inputs.row_problems import NEVER, Problems, first_rows, taken
from river_amf.inputs.sparse_features import SparseFeatures

_ZERO = -2  # in place of a code: as if the value were not there, where -1 is a missing one


class SparseRows(NamedTuple):
    """Rows of features that are not 0."""

    names: Sequence[Hashable]  # of the columns of numbers
    starts: NDArray[np.int64]  # of each row in the next two, and the end
    columns: NDArray[np.int64]
    numbers: NDArray[np.float64]  # NaN where missing
    coded: list[Column]  # columns of other values

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    def samples(self) -> Iterator[dict[Hashable, Any]]:
        """Yield the rows as samples."""
        names = self.names
        for row in range(self.n_rows):
            own = slice(self.starts[row], self.starts[row + 1])
            pairs = zip(self.columns[own].tolist(), self.numbers[own].tolist(), strict=True)
            x = {names[column]: number for column, number in pairs}
            for column in self.coded:
                if column.codes[row] != _ZERO:
                    x[column.name] = column.at(row) if column.codes[row] >= 0 else None
            yield x


def is_matrix(X: Any) -> bool:
    """Whether X is a sparse matrix or array of scipy."""
    scipy = sys.modules.get("scipy.sparse")  # if it is one, scipy has been imported
    return scipy is not None and bool(scipy.issparse(X))


def frame_of(X: Any) -> nw.DataFrame[Any]:
    """Return a dataframe of the kind that predictions for X have."""
    if not is_matrix(X):
        return frames.read_frame(X)
    import pandas as pd

    return frames.read_frame(pd.DataFrame(index=pd.RangeIndex(X.shape[0])))


def read_rows(X: Any) -> SparseRows:
    """Read a dataframe or sparse matrix, or raise TypeError or ValueError."""
    return _read_matrix(X) if is_matrix(X) else _read_frame(frames.read_frame(X))


def _read_matrix(X: Any) -> SparseRows:
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
        numbers = rows.data.astype(np.float64)
    starts, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    wrong = columns[(columns < 0) | (columns >= X.shape[1])]
    if len(wrong):
        raise ValueError(
            f"a sparse X of {X.shape[1]} columns has an entry in column {wrong[0]}; its indices "
            f"must be between 0 and {X.shape[1] - 1}"
        )
    return SparseRows(range(X.shape[1]), starts, columns, numbers, [])


def _read_frame(frame: nw.DataFrame[Any]) -> SparseRows:
    names: list[Hashable] = []
    rows: list[NDArray[Any]] = []
    numbers: list[NDArray[np.float64]] = []
    coded: list[Column] = []

    def add(name: Hashable, where: NDArray[Any], values: NDArray[Any]) -> None:
        names.append(name)
        rows.append(where)
        numbers.append(values.astype(np.float64))

    native, dense = frame.to_native(), frame
    if frame.implementation.is_pandas():
        are_sparse = np.array([*map(_is_sparse, native.dtypes)], bool)
        for (name, series), is_sparse in zip(native.items(), are_sparse, strict=True):
            if is_sparse:
                where = series.array.sp_index.to_int_index().indices
                add(plain(name), where, series.array.sp_values)
        if are_sparse.any():
            dense = frames.read_frame(native.iloc[:, np.flatnonzero(~are_sparse)])
    for column in frames.read_columns(dense):
        if column.numbers is None:
            are_zero = np.array([*map(is_zero, column.values)], bool)
            new_codes = np.where(are_zero, _ZERO, np.cumsum(~are_zero) - 1)
            values = [value for value in column.values if not is_zero(value)]
            codes = taken(new_codes, column.codes, -1).astype(np.int64)
            coded.append(column._replace(codes=codes, values=values))
        else:
            where = np.flatnonzero(column.numbers)
            add(column.name, where, column.numbers[where])
    at = np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64)
    order = np.argsort(at, kind="stable")
    sizes = [len(where) for where in rows]
    return SparseRows(
        names,
        np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(frame)))]).astype(np.int64),
        np.repeat(np.arange(len(names)), sizes)[order],
        np.concatenate([np.zeros(0), *numbers])[order],
        coded,
    )


def _is_sparse(dtype: Any) -> bool:
    """Whether a dtype of pandas is one of sparse numbers, of which the others are 0."""
    import pandas as pd

    is_sparse = isinstance(dtype, pd.SparseDtype)
    return is_sparse and dtype.subtype.kind in "fiub" and dtype.fill_value == 0


def check_rows(
    table: SparseRows,
    labels: Column,
    weights: NDArray[np.float64],
    features: SparseFeatures,
    known_labels: Labels,
    n_classes: int | None,
) -> None:
    """Raise TypeError or ValueError for the first row that cannot be learned, if there is one."""
    problems = Problems()
    is_bad = np.isinf(table.numbers)
    if features.mismatches is None:
        used, places = np.unique(table.columns, return_inverse=True)
        is_category = [features.coding(table.names[u]) is not None for u in used.tolist()]
        is_bad |= np.array(is_category, bool)[places] & ~np.isnan(table.numbers)
    for entry in np.flatnonzero(is_bad)[:1].tolist():
        row = int(np.searchsorted(table.starts, entry, side="right")) - 1
        x = {table.names[table.columns[entry]]: float(table.numbers[entry])}
        problems.try_at(row, features.check, x)
    coded = [column._replace(codes=np.maximum(column.codes, -1)) for column in table.coded]
    if len(features) >= features.max_columns:
        coded = [_without_ignored(column, features, weights > 0.0) for column in coded]
    rest = labels, weights, features.among(column.name for column in coded), known_labels
    encode_to_learn(coded, *rest, n_classes, problems=problems)


def _without_ignored(
    column: Column, features: SparseFeatures, is_learnt: NDArray[np.bool_]
) -> Column:
    """Return a column without the categories that no column is left for.

    They are ignored until the first number makes the feature a word.
    """
    if features.is_known(column.name):
        return column
    nobody, problems, rows = Features(), Problems(), np.arange(len(is_learnt))
    found = [problems.try_at(0, nobody.check, {column.name: value}) for value in column.values]
    is_category = np.array([new is not None and bool(new.categorical) for new in found], bool)
    is_number = np.array([new is not None and bool(new.numeric) for new in found], bool)
    learnt = first_rows(column.codes, len(column.values), rows[is_learnt])
    is_early = rows < learnt[is_number].min(initial=NEVER)
    is_ignored = is_early & taken(is_category, column.codes, False)
    return column._replace(codes=np.where(is_ignored, -1, column.codes))


def refuse_matrix(X: Any) -> None:
    """Raise TypeError if X is a sparse matrix, whose zeros would count as missing."""
    if is_matrix(X):
        raise TypeError(
            f"X is a sparse matrix, {shown(type(X).__name__)}, in which most features are absent; "
            'absent ones count as missing here, so use absent="zero" or pass a dense array (of '
            "categories as they are, or by OneHotEncoder(sparse_output=False))"
        )
