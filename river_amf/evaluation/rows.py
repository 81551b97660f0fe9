"""Tables as data sets: their rows as blocks for a forest, or as samples for river."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf import sparse_rows
from river_amf.evaluation import kinds, targets
from river_amf.frames import as_samples, read_vector
from river_amf.kinds import shown

_Column = nw.Series[Any] | NDArray[Any] | list[Any]

_ROWS_AT_ONCE = 4096  # that are made into Python objects


@dataclass(frozen=True)
class Table:
    """Rows of features in a dataframe, with their labels and perhaps weights."""

    X: nw.DataFrame[Any]
    y: _Column
    w: _Column | None

    def __len__(self) -> int:
        return len(self.X)

    def rows(self, start: int, end: int) -> Table:
        """Return the rows from start up to, but not including, end."""
        w = None if self.w is None else self.w[start:end]
        return Table(self.X[start:end], self.y[start:end], w)

    def blocks(self, length: int, step: float = 0) -> Iterator[Table]:
        """Yield blocks of at most `length` rows; one ends at each multiple of a whole step > 0."""
        is_count = step > 0 and step % 1 == 0
        start = 0
        while start < len(self):
            end = min(start + length, len(self))
            if is_count:
                end = min(end, start - start % int(step) + int(step))
            yield self.rows(start, end)
            start = end

    def taken(self, rows: NDArray[np.int64], answers: NDArray[np.int64]) -> Table:
        """Return the features of some rows, with the labels and weights of others."""
        w = None if self.w is None else _taken(self.w, answers)
        return Table(self.X[rows], _taken(self.y, answers), w)

    def native(self) -> tuple[Any, Any, Any]:
        """Return X, y and w as they were given, for the methods of a forest."""
        return self.X.to_native(), _to_native(self.y), _to_native(self.w)

    def labels(self) -> list[Any]:
        """Return the labels as native Python objects."""
        return _to_list(self.y)

    def samples(self, names: list[str] | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the rows one by one, as samples for river, or just these features if all exist."""
        if names is not None and set(names) <= set(self.X.columns):
            yield from zip(as_samples(self.X[list(dict.fromkeys(names))]))
            return
        for block in self.blocks(_ROWS_AT_ONCE):
            yield from _samples(as_samples(block.X), block.y, block.w)


def iter_samples(dataset: Any, *, asks: bool = False) -> Iterable[Any]:
    """Return the rows of a dataframe, sparse matrix or series as samples, others unchanged.

    `asks` is as in `read_table`.
    """
    table = read_table(dataset, asks=asks)
    if table is not None:
        return table.samples()
    X = dataset[0] if isinstance(dataset, tuple) and dataset else None
    series = nw.from_native(X, series_only=True, pass_through=True)
    if sparse_rows.is_matrix(X):
        rows = sparse_rows.read_rows(X)
        return _samples(rows.samples(), *_labels_and_weights(dataset, rows.n_rows))
    if isinstance(series, nw.Series):
        return _samples(series.to_list(), *_labels_and_weights(dataset, len(series)))
    samples: Iterable[Any] = dataset
    return samples


def _samples(xs: Iterable[Any], y: _Column, w: _Column | None) -> Iterator[tuple[Any, ...]]:
    """Yield samples for river, with their weights if there are any."""
    if w is None:
        yield from zip(xs, _to_list(y), strict=True)
    else:
        for x, label, weight in zip(xs, _to_list(y), _to_list(w), strict=True):
            yield x, label, {"w": weight}


def read_table(dataset: Any, *, asks: bool = False) -> Table | None:
    """Return the table for a dataframe or a tuple with one, or None for anything else.

    `asks` is whether to raise if the label column of a dataframe is a quantity. In a tuple, a
    two-dimensional array will do; its columns are named 0, 1, 2 and so on.
    """
    parts = dataset if isinstance(dataset, tuple) else (dataset,)
    if isinstance(dataset, tuple) and parts and isinstance(parts[0], np.ndarray):
        parts = (_framed(parts[0]), *parts[1:])
    frame = nw.from_native(parts[0], pass_through=True) if parts else None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"a dataframe must be in memory, got a lazy one of type {type(parts[0]).__name__}; "
            "collect it first"
        )
    if not isinstance(frame, nw.DataFrame):
        return None
    if not isinstance(dataset, tuple):
        return _split_label(frame, asks=asks)
    labels, weights = _labels_and_weights(parts, len(frame))
    if not frame.columns:
        raise ValueError("X must have at least one feature, but has no columns")
    return Table(frame, labels, weights)


def _labels_and_weights(parts: tuple[Any, ...], n_rows: int) -> tuple[_Column, _Column | None]:
    """Return the y and w of a tuple (X, y) or (X, y, w), or raise."""
    if len(parts) not in (2, 3):
        raise ValueError(f"a tuple must be (X, y) or (X, y, w), got {len(parts)} elements")
    y = _as_column("y", parts[1], n_rows)
    w = parts[2] if len(parts) == 3 else None
    return y, None if w is None else _as_column("w", w, n_rows)


def _framed(X: NDArray[Any]) -> pd.DataFrame:
    """Return an array of rows as a dataframe, or raise."""
    if X.ndim != 2:
        raise ValueError(f"X must be a dataframe or a two-dimensional array, got shape {X.shape}")
    return pd.DataFrame(X).infer_objects()


def _split_label(frame: nw.DataFrame[Any], *, asks: bool) -> Table:
    """Split the labels off a dataframe: the column `target`, or else the last one."""
    names = frame.columns
    if len(names) < 2:
        raise ValueError(
            "a dataframe must have a label column and at least one feature column, "
            f"got the columns {shown(names)}; pass (X, y) if the labels are elsewhere"
        )
    label = names.index("target") if "target" in names else len(names) - 1
    first = pd.Series(frame[: targets.ROWS, label].to_list()).dropna()
    if asks and targets.is_quantity(first, kinds.markers(None)):
        raise ValueError(
            f"{first.nunique()} distinct labels in {len(first)} rows: is {shown(names[label])} the"
            f" target? They are numbers such as {first.iloc[0]}; pass (X, y), with this column or"
            " another as y, or take a regressor"
        )
    # By position and in a list, because pandas column names need not be strings.
    return Table(frame.drop([names[label]]), frame[:, label], None)


def _as_column(name: str, values: Any, n_rows: int) -> _Column:
    """Return labels or weights in a form that can be sliced into blocks, or raise."""
    column = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(column, nw.Series | np.ndarray | list):
        column = read_vector(name, values, n_rows)
        column = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got an array of shape {column.shape}")
    if len(column) != n_rows:
        raise ValueError(
            f"{name} must have one value per row of X: X has {n_rows} rows, {name} has"
            f" {len(column)} values"
        )
    result: _Column = column
    return result


def _taken(column: _Column, rows: NDArray[np.int64]) -> _Column:
    """Return the values in some rows."""
    if isinstance(column, list):
        return [column[row] for row in rows.tolist()]
    taken: _Column = column[rows]
    return taken


def _to_native(column: _Column | None) -> Any:
    return column.to_native() if isinstance(column, nw.Series) else column


def _to_list(column: _Column) -> list[Any]:
    """Return the values as native Python objects."""
    if isinstance(column, list):
        return column
    values: list[Any] = column.to_list() if isinstance(column, nw.Series) else column.tolist()
    return values
