"""Calls of a model for a part of a block: as a forest, by frames, or row by row."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base, compose

from river_amf.forest import Forest
from river_amf.inputs import frames
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import shown
from river_amf.inputs.labels import most_probable_labels
from river_amf.inputs.row_problems import renumbered
from river_amf.keyed.keys import key_of
from river_amf.keyed.routing import Answers, Part


class Probabilities(NamedTuple):
    """The probabilities of labels, NaN in rows that were predicted before any label was known."""

    labels: list[Any]
    values: NDArray[np.float64]  # (n_rows, n_labels)


class RiverAdapter:
    """A river model, which gets frames if it takes them, or else row by row.

    A part that is learned is predicted row by row, each row before it is learned.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._takes_frames = takes_frames(model)

    def check(self, part: Part) -> None:
        """Raise the error that learning would raise, as far as that can be known."""
        if part.block.has_weights:
            require_weights(self.model, "learn_many" if self._takes_frames else "learn_one")

    def learn(self, part: Part) -> None:
        """Learn the rows."""
        if not self._takes_frames:
            self._row_by_row(part, lambda x: None)
            return
        X, block, w = part.of(part.block.pandas.iloc), part.block, {}
        if block.has_weights:
            w = {"w": pd.Series(part.of(block.weights), index=X.index)}
        self.model.learn_many(X, part.of(block.series.iloc), **w)

    def predict(self, part: Part) -> list[Any]:
        """Return the prediction for each row."""
        if part.block.is_learned or not self._takes_frames:
            return self._row_by_row(part, self.model.predict_one)
        found = self.model.predict_many(part.of(part.block.pandas.iloc))
        if getattr(found, "ndim", 1) != 1 or len(found) != len(part):
            return [None] * len(part)  # of a classifier without labels: a frame without columns
        values = frames.read_vector("the prediction", found, len(part))
        return values if isinstance(values, list) else values.tolist()

    def predict_proba(self, part: Part) -> Probabilities:
        """Return the probabilities for each row."""
        if not part.block.is_learned and self._takes_frames:
            found = self.model.predict_proba_many(part.of(part.block.pandas.iloc))
            if not len(found.columns):  # without labels some have no rows either
                return Probabilities([], np.empty((len(part), 0)))
            return Probabilities([*found.columns], np.asarray(found.to_numpy(), np.float64))
        answers = self._row_by_row(part, lambda x: dict(self.model.predict_proba_one(x)))
        labels = [*dict.fromkeys(label for answer in answers for label in answer)]
        rows = [[a.get(label, 0.0) if a else np.nan for label in labels] for a in answers]
        return Probabilities(labels, np.array(rows, np.float64).reshape(len(rows), len(labels)))

    def _row_by_row(self, part: Part, ask: Callable[[Any], Any]) -> list[Any]:
        answers = []
        for x, y, w in part.samples():
            answers.append(ask(x))
            if part.block.is_learned:
                self.model.learn_one(x, y, **w)
        return answers


class ForestAdapter:
    """A forest of this package, which takes columns that have been read for all keys at once."""

    def __init__(self, model: Any) -> None:
        self.model: Any = model
        self._is_regressor = isinstance(model, base.Regressor)

    def _samples(self, part: Part) -> tuple[Any, ...]:
        y = part.block.numbers if self._is_regressor else part.block.labels
        return part.table(), part.column(y), part.of(part.block.weights)

    def check(self, part: Part) -> None:
        """Raise the error that learning would raise."""
        self.model._check_table(*self._samples(part))

    def learn(self, part: Part) -> None:
        """Learn the rows."""
        self.model._learn_table(*self._samples(part), predicts=False)

    def _answers(self, part: Part) -> tuple[Any, ...]:
        """Return answers, the number of labels known in each row, and labels."""
        if part.block.is_learned:
            return self.model._learn_table(*self._samples(part), predicts=True)  # type: ignore[no-any-return]
        answers = self.model._predict_table(part.table(), len(part))
        labels = [] if self._is_regressor else [*self.model._labels][: answers.shape[1]]
        n_known = int(self.model._has_learnt) if self._is_regressor else len(labels)
        return answers, np.full(len(part), n_known), labels

    def predict(self, part: Part) -> list[Any]:
        """Return the prediction for each row, before it is learned."""
        answers, n_known, labels = self._answers(part)
        if self._is_regressor:
            return self.model._predictions(answers, n_known > 0, None).prediction.tolist()  # type: ignore[no-any-return]
        return most_probable_labels(answers, n_known, labels)

    def predict_proba(self, part: Part) -> Probabilities:
        """Return the probabilities for each row, before it is learned."""
        values, n_known, labels = self._answers(part)
        values[n_known == 0] = np.nan
        return Probabilities(labels, values)


def adapter_of(model: Any) -> RiverAdapter | ForestAdapter:
    """Return how a model is asked about blocks."""
    takes_columns = is_forest(model) and model.absent == "missing"
    return ForestAdapter(model) if takes_columns else RiverAdapter(model)


def ask(part: Part, method: str, model: Any) -> Any:
    """Ask a model about its part; an error names the row of the block, and its key."""
    try:
        return getattr(adapter_of(model), method)(part)
    except Exception as error:
        key = f"the key {shown(key_of(part.text))}"
        named = renumbered(error, part.rows, f"{key}: ") if isinstance(error, INVALID) else error
        if named is error:  # it names no row
            error.add_note(f"in the rows of {key}")
            raise
        raise named from None


def is_forest(model: Any) -> bool:
    """Whether a model is a forest, which can check a block for errors before it learns it."""
    # Not isinstance, which is also true of a river pipeline that ends in a forest.
    return issubclass(type(model), Forest)


def takes_frames(model: Any) -> bool:
    """Whether a model learns frames; a pipeline does if all of its steps do."""
    if issubclass(type(model), compose.Pipeline):
        *steps, last = model.steps.values()
        return all(map(_transforms_frames, steps)) and takes_frames(last)
    return isinstance(model, base.MiniBatchClassifier | base.MiniBatchRegressor) or (
        hasattr(model, "learn_many") and hasattr(model, "predict_many")
    )


def _transforms_frames(step: Any) -> bool:
    if issubclass(type(step), compose.TransformerUnion):
        return all(map(_transforms_frames, step.transformers.values()))
    if issubclass(type(step), compose.Pipeline):
        return all(map(_transforms_frames, step.steps.values()))
    return hasattr(step, "transform_many") and hasattr(step, "learn_many")


def pipelines_learn() -> bool:
    """Whether pipelines learn while they predict."""
    return getattr(compose.Pipeline, "_LEARN_UNSUPERVISED_DURING_PREDICT", False)


def predicting_changes(model: Any) -> bool:
    """Whether predictions change a model, since they wait for labels, or pipelines learn."""
    if pipelines_learn():
        return True
    while isinstance(model, compose.Pipeline):
        model = next(reversed(model.steps.values()))
    arena = model._arena if isinstance(model, Forest) else None
    return arena is not None and arena.most_pending > 0


def require_weights(model: Any, method: str) -> None:
    """Raise TypeError unless a method of a model takes sample weights."""
    if not _takes(getattr(type(model), method), "w"):
        raise TypeError(f"a {type(model).__name__} takes no sample weights; leave out w")


@cache
def _takes(method: Hashable, name: str) -> bool:
    parameters = inspect.signature(method).parameters  # type: ignore[arg-type]
    return name in parameters or any(p.kind == p.VAR_KEYWORD for p in parameters.values())


def joined(answers: Answers, n_rows: int) -> Probabilities:
    """Return the probabilities of all parts, in the order of the rows of the block."""
    parts = sorted(answers, key=lambda part: int(part[0][0]))  # whoever was asked first
    labels = [*dict.fromkeys(label for _, (own, _) in parts for label in own)]
    places = {label: j for j, label in enumerate(labels)}
    values = np.full((n_rows, len(labels)), np.nan)
    for rows, (own, answer) in parts:
        is_known = ~np.isnan(answer).any(axis=1)
        if own:
            known = rows[is_known]
            values[known] = 0.0
            values[known[:, np.newaxis], [places[label] for label in own]] = answer[is_known]
    return Probabilities(labels, values)
