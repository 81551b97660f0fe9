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


class Block:
    """Rows of samples, sorted by key; those to be learned come with targets and weights."""

    def __init__(self, X: Any, name: Hashable, *learned: Any) -> None:
        self.frame = frames.read_frame(X)
        n_rows = len(self.frame)
        self.name, self.is_learned = name, bool(learned)
        y, w = learned or (None, None)
        self._y: Any = frames.read_vector("y", y, n_rows) if learned else None
        self.has_weights = w is not None
        self._w = frames.read_weights(w, n_rows)
        frames.check_order(X, y=y, w=w)
        names = [*map(plain, self.frame.columns)]
        if name not in names:
            what = f"{shown(name)}, which is to hold the keys; it has {shown(names)}"
            raise ValueError(f"X lacks the column {what}")
        self._place = names.index(name)
        # the keys, in order of their first rows, and the index of each row's key
        self.texts, self.codes = self._read_keys()

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def _pandas(self) -> pd.DataFrame | None:
        """The frame, if it is one of pandas, where positions are several times as fast."""
        native = self.frame.to_native()
        return native if isinstance(native, pd.DataFrame) else None

    def _read_keys(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return the keys, and which of them each row has, or raise an error."""
        native, place = self._pandas, self._place
        own = native.iloc[:, place] if native is not None else self.frame[:, place].to_list()
        column = frames.factorize(self.name, own)
        texts: dict[str, int] = {}
        table: list[int] = []
        for u, value in enumerate(column.values):
            try:
                table.append(texts.setdefault(key_text(value), len(texts)))
            except INVALID as error:
                row = int(np.flatnonzero(column.codes == u)[0])
                raise type(error)(f"row {row}: column {shown(self.name)}: {error}") from None
        if (column.codes < 0).any():
            raise ValueError(
                f"row {np.argmin(column.codes)}: column {shown(self.name)}: a key must not be "
                "missing; fill it in, or leave these rows out"
            )
        codes = np.array(table, np.int64)[column.codes] if table else np.zeros(0, np.int64)
        return list(texts), codes

    def taken(self, rows: NDArray[np.int64]) -> tuple[Any, ...]:
        """Return some of the rows, as what another block is made from."""
        native = self._pandas
        X = self.frame[rows].to_native() if native is None else native.take(rows)
        if not self.is_learned:
            return X, self.name
        return X, self.name, self._targets(rows), self._w[rows] if self.has_weights else None

    def _targets(self, rows: NDArray[np.int64]) -> Any:
        """Return the targets of some rows, without an index: an array or a list."""
        y = self._y
        if isinstance(y, pd.Series):
            return y.array.take(rows)
        return y[rows] if isinstance(y, np.ndarray) else [y[row] for row in rows.tolist()]

    def parts(self) -> Iterator[Part]:
        """Yield the part of each key, in order of the first rows."""
        stops = np.cumsum(np.bincount(self.codes, minlength=len(self.texts))).tolist()
        for text, start, stop in zip(self.texts, [0, *stops], stops, strict=False):
            yield Part(self, text, start, stop)

    @functools.cached_property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of the rows, in order of keys."""
        is_small = len(self.texts) <= _MOST_SORTED_FAST
        return np.argsort(self.codes.astype(np.uint16) if is_small else self.codes, kind="stable")

    # all of these are in order of keys

    @functools.cached_property
    def weights(self) -> NDArray[np.float64]:
        """The weights."""
        return self._w[self.rows]

    @functools.cached_property
    def features(self) -> nw.DataFrame[Any]:
        """The frame without the keys."""
        native, n_columns = self._pandas, len(self.frame.columns)
        others = [j for j in range(n_columns) if j != self._place]
        if native is not None:  # any names will do
            return frames.read_frame(native.iloc[:, others].take(self.rows))
        return self.frame.select([self.frame.columns[j] for j in others])[self.rows]

    @functools.cached_property
    def pandas(self) -> pd.DataFrame:
        """The same as a frame of pandas, whose labels river's models keep as they are."""
        native = self.features.to_native()
        if isinstance(native, pd.DataFrame):
            return native
        columns = {
            s.name: s.to_numpy() if s.dtype.is_numeric() else s.to_list()
            for s in self.features.iter_columns()
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self)))

    @functools.cached_property
    def table(self) -> list[Column]:
        """The columns, as forests read them."""
        return frames.read_columns(self.features)

    @functools.cached_property
    def y(self) -> Any:
        """The targets: an array or a list."""
        return self._targets(self.rows)

    @functools.cached_property
    def labels(self) -> Column:
        """The targets, as classifiers of this package read them."""
        return frames.read_labels(self.y, len(self))

    @functools.cached_property
    def numbers(self) -> Column:
        """The targets, as regressors of this package read them."""
        return frames.read_targets(self.y, len(self))

    @functools.cached_property
    def series(self) -> pd.Series[Any]:
        """The targets as a series of pandas."""
        return pd.Series(self.y, index=self.pandas.index, name="y")

    def scattered(self, parts: Answers) -> list[Any]:
        """Return the answers for all keys in the order of the rows."""
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

    def of(self, whole: Any) -> Any:
        """Return the part of something in order of keys."""
        return whole[self.start : self.stop]

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of the rows in the block."""
        return self.block.rows[self.start : self.stop]

    def column(self, whole: Column) -> Column:
        """Return the part of a column."""
        return column_part(whole, self.start, self.stop)

    def table(self) -> list[Column]:
        """Return the columns of features, as forests read them."""
        return [self.column(column) for column in self.block.table]

    def samples(self) -> Iterator[tuple[dict[Any, Any], Any, dict[str, float]]]:
        """Yield features, target (or None) and keywords with the weight of each row."""
        n, block = len(self), self.block
        y = self.of(block.y) if block.is_learned else [None] * n
        w = [{"w": w} for w in self.of(block.weights).tolist()] if block.has_weights else [{}] * n
        X = frames.as_samples(self.of(block.features))
        return zip(X, y if isinstance(y, list) else y.tolist(), w, strict=True)
