"""A block of rows, divided by key; the model of each key takes its rows."""

import functools
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from river import compose

from river_amf.engine.blocks import rows_of_samples
from river_amf.forest import Forest
from river_amf.inputs import frames
from river_amf.inputs.invalid import INVALID, renumbered
from river_amf.inputs.kinds import plain, shown
from river_amf.keyed.keys import key_of, key_text

MANY = 200  # rows of a key; fewer are faster one by one


def key_names(key: Hashable | list[Hashable]) -> list[Hashable]:
    return key if isinstance(key, list) else [key]


class Block:
    """Rows of samples and, if they are to be learned, their targets and weights (or None)."""

    def __init__(self, X: Any, key: Any, learned: tuple[Any, Any] | None = None) -> None:
        self.frame: Any = frames.read_frame(X)  # for the library of the answers
        self.y: Any = None
        self.w: Any = None
        n_rows = len(self.frame)
        if learned is not None:
            y = frames.read_vector("y", learned[0], n_rows)
            self.y = y if isinstance(y, list) else y.tolist()
            if learned[1] is not None:
                self.w = frames.read_weights(learned[1], n_rows).tolist()
            frames.check_order(X, y=learned[0], w=learned[1])
        names = [*map(plain, self.frame.columns)]
        for name in key_names(key):
            if name not in names:
                raise ValueError(f"X lacks the column {shown(name)} of keys; it has {shown(names)}")
        positions = [names.index(name) for name in key_names(key)]
        table = frames.as_pandas(self.frame)
        self.features = table.iloc[:, [j for j in range(len(names)) if j not in positions]]
        columns = [table.iloc[:, j].tolist() for j in positions]
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
    def _samples(self) -> list[dict[Any, Any]]:
        samples = frames.as_samples(frames.read_frame(self.features))
        return [*samples] or [{}] * len(self)

    def check(self, text: str, model: Forest) -> None:
        """Raise the error of a forest that learns the rows of a key, but let it learn nothing."""
        rows = self.rows[text]
        try:
            if len(rows) >= MANY:
                block = self._call_many(rows, functools.partial(model._labeled_rows, w=None))
            else:
                samples, labels = ([values[i] for i in rows] for values in (self._samples, self.y))
                weights = [1.0 if self.w is None else self.w[row] for row in rows]
                block = rows_of_samples(samples, labels, weights)
            model._check_rows(block)
        except INVALID as error:
            raise renumbered(error, rows, f"the key {shown(key_of(text))}: ") from error.__cause__

    def give(self, text: str, model: Any, *, predict: str) -> list[Any]:
        """Let a model predict and learn the rows of a key; errors have the row and the key."""
        rows, answers = self.rows[text], []
        method = "_then_".join(filter(None, [predict, "learn" * (self.y is not None)])) + "_many"
        is_block = len(rows) >= MANY and takes_frames(model) and hasattr(model, method)
        try:
            if is_block:
                return self._give_all(rows, getattr(model, method), predict)
            for row in rows:
                answers.append(self._give_one(row, model, predict))
            return answers
        except Exception as error:
            key = f"the key {shown(key_of(text))}"
            if isinstance(error, INVALID):
                numbered = error if is_block else type(error)(f"row {len(answers)}: {error}")
                raise renumbered(numbered, rows, f"{key}: ") from error.__cause__
            where = "the rows" if is_block else f"row {rows[len(answers)]},"
            error.add_note(f"in {where} of {key}")
            raise

    def _call_many(self, rows: list[int], method: Any) -> Any:
        X = self.features.iloc[rows]
        series = {
            name: pd.Series([values[i] for i in rows], X.index, name=name)
            for name, values in (("y", self.y), ("w", self.w))
            if values is not None
        }
        return method(X, **series)

    def _give_all(self, rows: list[int], method: Any, predict: str) -> list[Any]:
        answers = self._call_many(rows, method)
        if predict == "predict_proba":
            labels, table = [*answers.columns], answers.to_numpy().tolist()
            pairs = [() if np.isnan(row).any() else zip(labels, row, strict=True) for row in table]
            return [*map(dict, pairs)]
        # the frame without columns of a river classifier without labels
        return answers.tolist() if predict and answers.ndim == 1 else [None] * len(rows)

    def _give_one(self, row: int, model: Any, predict: str) -> Any:
        x = self._samples[row]
        answer = getattr(model, f"{predict}_one")(x) if predict else None
        if self.y is not None:
            model.learn_one(x, self.y[row], **{} if self.w is None else {"w": self.w[row]})
        return answer


def takes_frames(model: Any) -> bool:
    """Return whether a model has the methods for blocks; a pipeline, if all of its steps do."""
    if isinstance(model, compose.Pipeline | compose.TransformerUnion):
        steps = model.steps if isinstance(model, compose.Pipeline) else model.transformers
        return all(map(takes_frames, steps.values()))
    return hasattr(model, "learn_many")
