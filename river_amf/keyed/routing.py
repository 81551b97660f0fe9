"""A block of rows, sorted by key: what each model gets of it, and where its answers go."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.inputs import frames
from river_amf.inputs.columns import column_part
from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import plain, shown
from river_amf.keyed.keys import key_text

Answers = list[tuple[NDArray[np.int64], Any]]  # for each key its rows, and the output of its model
_MOST_SORTED_FAST = 2**16  # numpy sorts 16-bit integers by radix, several times as fast


def _read_keys(
    frame: nw.DataFrame[Any], place: int, name: Hashable
) -> tuple[list[str], NDArray[np.int64]]:
    """Return the keys in a column, and which of them each row has, or raise an error."""
    native = frame.to_native()
    is_pandas = isinstance(native, pd.DataFrame)
    values = native.iloc[:, place] if is_pandas else frame[:, place].to_list()
    column = frames.factorize(name, values)
    missing = np.flatnonzero(column.codes < 0)
    texts: dict[str, int] = {}
    table: list[int] = []
    for u, value in enumerate(column.values):
        try:
            table.append(texts.setdefault(key_text(value), len(texts)))
        except INVALID as error:
            row = int(np.flatnonzero(column.codes == u)[0])
            raise type(error)(f"row {row}: column {shown(name)}: {error}") from None
    if len(missing):
        raise ValueError(
            f"row {missing[0]}: column {shown(name)}: a key must not be missing; fill it in, or "
            "leave these rows out"
        )
    codes = np.array(table, np.int64)[column.codes] if table else np.zeros(0, np.int64)
    return list(texts), codes


def _place_of(frame: nw.DataFrame[Any], name: Hashable) -> int:
    """Return the position of the column with the keys, or raise ValueError."""
    names = [*map(plain, frame.columns)]
    if name not in names:
        raise ValueError(
            f"X lacks the column {shown(name)}, which is to hold the keys; it has {shown(names)}"
        )
    return names.index(name)


class Block:
    """Rows of samples, sorted by key, with their targets and weights."""

    def __init__(self, X: Any, name: Hashable, y: Any = None, w: Any = None) -> None:
        self.frame = frames.read_frame(X)
        n_rows = len(self.frame)
        self._name = name
        self._y = None if y is None else frames.read_vector("y", y, n_rows)
        self.has_weights = w is not None
        self._w = frames.read_weights(w, n_rows)
        self._place = _place_of(self.frame, name)
        # the keys, in order of their first rows, and the index of each row's key
        self.texts, self.codes = _read_keys(self.frame, self._place, name)

    def __len__(self) -> int:
        return len(self.codes)

    def taken(self, rows: NDArray[np.int64]) -> tuple[Any, Hashable, Any, Any]:
        """Return some of the rows, as what another block is made from."""
        native = self.frame.to_native()
        is_pandas = isinstance(native, pd.DataFrame)
        X = native.take(rows) if is_pandas else self.frame[rows].to_native()
        y = None if self._y is None else _take_targets(self._y, rows)
        return X, self._name, y, self._w[rows] if self.has_weights else None

    @functools.cached_property
    def _order(self) -> tuple[NDArray[np.int64], list[int]]:
        """The rows in order of keys, and where each key starts, with the end."""
        n_keys = len(self.texts)
        codes = self.codes.astype(np.uint16) if n_keys <= _MOST_SORTED_FAST else self.codes
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.codes, minlength=n_keys))])
        return np.argsort(codes, kind="stable"), starts.tolist()

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of the rows, in order of keys."""
        return self._order[0]

    @functools.cached_property
    def weights(self) -> NDArray[np.float64]:
        """The sorted weights."""
        return self._w[self.rows]

    def parts(self) -> Iterator[Part]:
        """Yield the part of each key, in order of the first rows."""
        _, starts = self._order
        for i, text in enumerate(self.texts):
            yield Part(self, text, starts[i], starts[i + 1])

    @functools.cached_property
    def features(self) -> nw.DataFrame[Any]:
        """The sorted frame without the keys."""
        names = [name for j, name in enumerate(self.frame.columns) if j != self._place]
        native = self.frame.to_native()
        if isinstance(native, pd.DataFrame):  # several times as fast, and any names will do
            others = [j for j in range(len(native.columns)) if j != self._place]
            return frames.read_frame(native.iloc[:, others].take(self.rows))
        return self.frame.select(names)[self.rows]

    @functools.cached_property
    def pandas(self) -> pd.DataFrame:
        """The same as a frame of pandas, whose labels river's models keep as they are."""
        native = self.features.to_native()
        if isinstance(native, pd.DataFrame):
            return native
        columns = {series.name: _as_array(series) for series in self.features.iter_columns()}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self.rows)))

    @functools.cached_property
    def table(self) -> list[Column]:
        """The sorted columns, as forests read them."""
        return frames.read_columns(self.features)

    @functools.cached_property
    def y(self) -> Any:
        """The sorted targets: a series of pandas, an array or a list."""
        return _take_targets(self._y, self.rows)

    @functools.cached_property
    def labels(self) -> Column:
        """The sorted labels, as classifiers of this package read them."""
        return frames.read_labels(self.y, len(self.rows))

    @functools.cached_property
    def targets(self) -> Column:
        """The sorted targets, as regressors of this package read them."""
        return frames.read_targets(self.y, len(self.rows))

    @functools.cached_property
    def series(self) -> pd.Series[Any]:
        """The sorted targets as a series of pandas."""
        values = self.y.array if isinstance(self.y, pd.Series) else self.y
        return pd.Series(values, index=self.pandas.index, name="y")

    def scattered(self, parts: Answers) -> list[Any]:
        """Return the answers for all keys as one list, in the order of the rows."""
        answers: list[Any] = [None] * len(self)
        for rows, own in parts:
            for row, answer in zip(rows.tolist(), own, strict=True):
                answers[row] = answer
        return answers


class Part(NamedTuple):
    """The rows of one key, in their order."""

    block: Block
    text: str
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of the rows in the block."""
        return self.block.rows[self.start : self.stop]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights."""
        return self.block.weights[self.start : self.stop]

    @property
    def table(self) -> list[Column]:
        """The columns, as forests read them."""
        return [column_part(column, self.start, self.stop) for column in self.block.table]

    def column(self, whole: Column) -> Column:
        """Return the part of labels or targets."""
        return column_part(whole, self.start, self.stop)

    @property
    def frame(self) -> pd.DataFrame:
        """The features as a frame of pandas."""
        return self.block.pandas.iloc[self.start : self.stop]

    @property
    def series(self) -> pd.Series[Any]:
        """The targets as a series of pandas."""
        return self.block.series.iloc[self.start : self.stop]

    def samples(self) -> list[dict[Any, Any]]:
        """Return the features of each row as a dict."""
        return [*frames.as_samples(self.block.features[self.start : self.stop])]

    def targets(self) -> list[Any]:
        """Return the target of each row."""
        y = self.block.y[self.start : self.stop]
        return y if isinstance(y, list) else y.tolist()


def _take_targets(y: Any, rows: NDArray[np.int64]) -> Any:
    """Return the targets of some rows: a series of pandas, an array or a list, as all of them."""
    if isinstance(y, pd.Series):
        return y.take(rows)
    return y[rows] if isinstance(y, np.ndarray) else [y[row] for row in rows.tolist()]


def _as_array(series: Any) -> Any:
    """Return a column as what a frame of pandas takes: numbers as an array, others as a list."""
    return series.to_numpy() if series.dtype.is_numeric() else series.to_list()
