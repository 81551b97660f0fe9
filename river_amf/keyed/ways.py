"""Calls of a model for a part of a block: as a forest, by frames, or row by row."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base, compose

from river_amf.forest import Forest
from river_amf.inputs import frames
from river_amf.inputs.labels import most_probable_labels
from river_amf.keyed.routing import Answers, Part


class Probabilities(NamedTuple):
    """The probabilities of labels, NaN in rows that were predicted before any label was known."""

    labels: list[Any]
    values: NDArray[np.float64]  # (n_rows, n_labels)


class Rows:
    """A model that is asked row by row."""

    _learns_with = "learn_one"

    def __init__(self, model: Any) -> None:
        self.model = model

    def check(self, part: Part) -> None:
        """Raise the error that learning would raise, as far as that can be known."""
        if part.block.has_weights:
            require_weights(self.model, self._learns_with)

    def learn(self, part: Part) -> None:
        """Learn the rows."""
        for x, y, w in self._samples(part):
            self.model.learn_one(x, y, **w)

    def _samples(self, part: Part) -> Iterable[tuple[dict[Any, Any], Any, dict[str, float]]]:
        """Yield features, target and weight of each row."""
        weights: list[dict[str, float]] = [{}] * len(part)
        if part.block.has_weights:
            weights = [{"w": w} for w in part.weights.tolist()]
        return zip(part.samples(), part.targets(), weights, strict=True)

    def predict(self, part: Part) -> list[Any]:
        """Return the prediction for each row."""
        return [self.model.predict_one(x) for x in part.samples()]

    def predict_proba(self, part: Part) -> Probabilities:
        """Return the probabilities for each row."""
        return _by_label([self.model.predict_proba_one(x) for x in part.samples()])

    def predict_then_learn(self, part: Part) -> list[Any]:
        """Predict each row, then learn it."""
        return self._then_learn(part, self.model.predict_one)

    def predict_proba_then_learn(self, part: Part) -> Probabilities:
        """Predict the probabilities of each row, then learn it."""
        return _by_label(self._then_learn(part, lambda x: dict(self.model.predict_proba_one(x))))

    def _then_learn(self, part: Part, ask: Callable[[Any], Any]) -> list[Any]:
        answers = []
        for x, y, w in self._samples(part):
            answers.append(ask(x))
            self.model.learn_one(x, y, **w)
        return answers


def awaits_labels(model: Any) -> bool:
    """Whether the predictions of a model wait for their labels, which changes it."""
    while isinstance(model, compose.Pipeline):
        model = next(reversed(model.steps.values()))
    arena = model._arena if isinstance(model, Forest) else None
    return arena is not None and arena.most_pending > 0


class Frames(Rows):
    """A model with `learn_many`; what is predicted and then learned goes row by row."""

    _learns_with = "learn_many"

    def learn(self, part: Part) -> None:
        """Learn the rows."""
        frame, w = part.frame, {}
        if part.block.has_weights:
            w = {"w": pd.Series(part.weights, index=frame.index)}
        self.model.learn_many(frame, part.series, **w)

    def predict(self, part: Part) -> list[Any]:
        """Return the prediction for each row."""
        found = self.model.predict_many(part.frame)
        if getattr(found, "ndim", 1) != 1 or len(found) != len(part):
            return [None] * len(part)  # of a classifier without labels: a frame without columns
        values = frames.read_vector("the prediction", found, len(part))
        return values if isinstance(values, list) else values.tolist()

    def predict_proba(self, part: Part) -> Probabilities:
        """Return the probabilities for each row."""
        found = self.model.predict_proba_many(part.frame)
        if not len(found.columns):  # without labels some have no rows either
            return Probabilities([], np.empty((len(part), 0)))
        return Probabilities([*found.columns], np.asarray(found.to_numpy(), np.float64))


class Trees(Rows):
    """A forest of this package, which takes columns that have been read for all keys at once."""

    model: Forest

    def check(self, part: Part) -> None:
        """Raise the error that learning would raise."""
        self.model._check_table(part.table, self._targets(part), part.weights)

    def learn(self, part: Part) -> None:
        """Learn the rows."""
        self._learn(part, predicts=False)

    def _learn(self, part: Part, *, predicts: bool) -> Any:
        targets = self._targets(part)
        return self.model._learn_table(part.table, targets, part.weights, predicts=predicts)

    def _targets(self, part: Part) -> frames.Column:
        block = part.block
        is_number = isinstance(self.model, base.Regressor)
        return part.column(block.targets if is_number else block.labels)

    def predict(self, part: Part) -> list[Any]:
        """Return the prediction for each row."""
        if isinstance(self.model, base.Regressor):
            is_known = self.model._has_learnt
            answers = self.model._predict_table(part.table, len(part))
            return _predicted_numbers(self.model, answers, is_known)
        labels, values = self.predict_proba(part)
        return most_probable_labels(values, np.full(len(part), len(labels)), labels)

    def predict_proba(self, part: Part) -> Probabilities:
        """Return the probabilities for each row."""
        values = self.model._predict_table(part.table, len(part))
        return Probabilities([*self.model._labels][: values.shape[1]], values)

    def predict_then_learn(self, part: Part) -> list[Any]:
        """Predict each row, then learn it."""
        answers, n_known, labels = self._learn(part, predicts=True)
        if isinstance(self.model, base.Regressor):
            return _predicted_numbers(self.model, answers, n_known > 0)
        return most_probable_labels(answers, n_known, labels)

    def predict_proba_then_learn(self, part: Part) -> Probabilities:
        """Predict the probabilities of each row, then learn it."""
        values, n_known, labels = self._learn(part, predicts=True)
        values[n_known == 0] = np.nan
        return Probabilities(labels, values)


def _predicted_numbers(model: Any, answers: Any, is_known: Any) -> list[float]:
    numbers: list[float] = model._predictions(answers, is_known).prediction.tolist()
    return numbers


def way_of(model: Any) -> Rows:
    """Return how a model is asked about blocks."""
    # Not isinstance, which is also true of a river pipeline that ends in a forest.
    if issubclass(type(model), Forest) and model.absent == "missing":
        return Trees(model)
    return Frames(model) if takes_frames(model) else Rows(model)


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


def checks_blocks(model: Any) -> bool:
    """Whether a model can check a block for errors before it learns it."""
    return issubclass(type(model), Forest)


def require_weights(model: Any, method: str) -> None:
    """Raise TypeError unless a method of a model takes sample weights."""
    if not takes_argument(getattr(type(model), method), "w"):
        raise TypeError(f"a {type(model).__name__} takes no sample weights; leave out w")


@cache
def takes_argument(method: Hashable, name: str) -> bool:
    """Whether a method takes an argument."""
    parameters = inspect.signature(method).parameters  # type: ignore[arg-type]
    return name in parameters or any(p.kind == p.VAR_KEYWORD for p in parameters.values())


def _by_label(answers: list[dict[Any, float]]) -> Probabilities:
    """Return dicts of probabilities as a table."""
    labels = [*dict.fromkeys(label for answer in answers for label in answer)]
    values = np.zeros((len(answers), len(labels)))
    for row, answer in enumerate(answers):
        values[row] = [answer.get(label, 0.0) for label in labels] if answer else np.nan
    return Probabilities(labels, values)


def joined(answers: Answers, n_rows: int) -> Probabilities:
    """Return the probabilities of all parts, in the order of the rows of the block."""
    parts = sorted(answers, key=lambda part: int(part[0][0]))  # whoever was asked first
    places: dict[Any, int] = {}
    for _, (labels, _) in parts:
        for label in labels:
            places.setdefault(label, len(places))
    values = np.full((n_rows, len(places)), np.nan)
    for rows, (labels, own) in parts:
        if labels:
            columns = np.array([places[label] for label in labels])
            is_known = ~np.isnan(own).any(axis=1)
            known = rows[is_known]
            values[known] = 0.0
            values[known[:, np.newaxis], columns] = own[is_known]
    return Probabilities(list(places), values)
