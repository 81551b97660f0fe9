"""The rows of one key, learned and predicted by its model: as a block, or row by row."""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from functools import cache
from typing import Any

import numpy as np
from river import base, compose

from river_amf.forest import Forest
from river_amf.inputs import frames
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import shown
from river_amf.inputs.row_problems import renumbered
from river_amf.keyed.keys import key_of
from river_amf.keyed.routing import Part

SMALLEST_BLOCK = 200  # rows; fewer are faster one by one


def use(part: Part, model: Any, *, predict: str, learns: bool) -> list[Any]:
    """Predict the rows, if `predict` is a method, learn them, or both in turn.

    `predict` is "predict", "predict_proba" or "". An error has the number of its row and the key.
    """
    method = "_then_".join(filter(None, [predict, "learn" * learns])) + "_many"
    is_block = len(part.rows) >= SMALLEST_BLOCK and takes_frames(model) and hasattr(model, method)
    if part.block.w is not None:
        require_weights(model, method if is_block else "learn_one")
    if not is_block:
        return _row_by_row(part, model, predict, learns)
    arguments, keywords = part.arguments()
    try:
        result = getattr(model, method)(*arguments, **keywords)
    except Exception as error:
        raise _located(error, part) from error.__cause__
    if not predict:
        return []
    return _labeled(result) if predict == "predict_proba" else _listed(result, len(part.rows))


def _row_by_row(part: Part, model: Any, predict: str, learns: bool) -> list[Any]:
    answers, block = [], part.block
    for row in part.rows:
        x = block.samples[row]
        try:
            if predict:
                answers.append(getattr(model, f"{predict}_one")(x))
            if learns:
                keywords = {} if block.w is None else {"w": block.w[row]}
                model.learn_one(x, block.y[row], **keywords)  # type: ignore[index]
        except Exception as error:
            raise _located(error, part, row) from error.__cause__
    return answers


def _located(error: Exception, part: Part, row: int | None = None) -> Exception:
    """Return an error with the row of the block and the key in its message, or in a note."""
    key = f"the key {shown(key_of(part.text))}"
    if not isinstance(error, INVALID):
        error.add_note(f"in the rows of {key}" if row is None else f"in row {row}, of {key}")
        return error
    if row is None:
        return renumbered(error, part.rows, f"{key}: ")
    return type(error)(f"row {row}: {key}: {error}")


def _labeled(probabilities: Any) -> list[dict[Any, float]]:
    """Return the probabilities of each row by label; none where they are NaN."""
    labels, rows = [*probabilities.columns], probabilities.to_numpy().tolist()
    return [{} if np.isnan(row).any() else dict(zip(labels, row, strict=True)) for row in rows]


def _listed(predictions: Any, n_rows: int) -> list[Any]:
    if predictions.ndim != 1:  # the empty frame of a river classifier without labels
        return [None] * n_rows
    values = frames.read_vector("the prediction", predictions, n_rows)
    return values if isinstance(values, list) else values.tolist()


def takes_frames(model: Any) -> bool:
    """Return whether a model learns frames; a pipeline does if all of its steps do."""
    # Not isinstance, which a river pipeline answers for its last step.
    if issubclass(type(model), compose.Pipeline):
        *steps, last = model.steps.values()
        return all(map(_transforms_frames, steps)) and takes_frames(last)
    return isinstance(model, base.MiniBatchClassifier | base.MiniBatchRegressor)


def _transforms_frames(step: Any) -> bool:
    if issubclass(type(step), compose.TransformerUnion):
        return all(map(_transforms_frames, step.transformers.values()))
    return hasattr(step, "transform_many") and hasattr(step, "learn_many")


def pipelines_learn() -> bool:
    """Return whether pipelines learn while they predict."""
    return getattr(compose.Pipeline, "_LEARN_UNSUPERVISED_DURING_PREDICT", False)


def predicting_changes(model: Any) -> bool:
    """Return whether a prediction changes a model, as it is kept for a delayed label."""
    if pipelines_learn():
        return True
    while issubclass(type(model), compose.Pipeline):
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
