"""A block of rows, divided by key."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any

import pandas as pd

from river_amf.inputs import frames
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import plain, shown
from river_amf.keyed.keys import key_text


def key_names(key: Hashable | list[Hashable]) -> list[Hashable]:
    """Return the names of the features that make a key."""
    return key if isinstance(key, list) else [key]


class Block:
    """Rows of samples and, if they are to be learned, their targets and weights."""

    def __init__(self, X: Any, key: Any, y: Any = None, w: Any = None) -> None:
        self.frame: Any = frames.read_frame(X)  # for the library of the answers
        n_rows = len(self.frame)
        self.y = None if y is None else frames.read_list("y", y, n_rows)
        self.w = None if w is None else frames.read_weights(w, n_rows).tolist()
        frames.check_order(X, y=y, w=w)
        names = [*map(plain, self.frame.columns)]
        for name in key_names(key):
            if name not in names:
                raise ValueError(f"X lacks the column {shown(name)} of keys; it has {shown(names)}")
        places = [names.index(name) for name in key_names(key)]
        table = frames.as_pandas(self.frame)
        self.features = table.iloc[:, [j for j in range(len(names)) if j not in places]]
        columns = [table.iloc[:, j].tolist() for j in places]
        keys = zip(*columns, strict=True) if isinstance(key, list) else columns[0]
        self.rows: dict[str, list[int]] = {}  # by the texts of keys, in the order of first rows
        for row, value in enumerate(keys):
            try:
                self.rows.setdefault(key_text(value), []).append(row)
            except INVALID as error:
                raise type(error)(f"row {row}: column {shown(key)}: {error}") from None

    def __len__(self) -> int:
        return len(self.features)

    @functools.cached_property
    def samples(self) -> list[dict[Any, Any]]:
        """The features of each row."""
        samples = frames.as_samples(frames.read_frame(self.features))
        return [*samples] or [{}] * len(self)

    def arguments(self, rows: list[int]) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional arguments and keywords of a method for blocks."""
        X, y, w = self.features.iloc[rows], self.y, self.w
        targets = [] if y is None else [pd.Series([y[i] for i in rows], X.index, name="y")]
        return [X, *targets], {} if w is None else {"w": pd.Series([w[i] for i in rows], X.index)}
