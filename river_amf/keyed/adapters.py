"""The rows of one key, learned and predicted by its model: as a block, or row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base, compose

from river_amf.forest import Forest
from river_amf.inputs import frames
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import shown
from river_amf.inputs.row_problems import renumbered
from river_amf.keyed.keys import key_of
from river_amf.keyed.routing import Block

SMALLEST_BLOCK = 200  # rows; fewer are faster one by one


def use(block: Block, text: str, model: Any, *, predict: str, learns: bool) -> list[Any]:
    """Predict the rows of a key, if `predict` is a method, learn them, or both in turn.

    `predict` is "predict", "predict_proba" or "". An error has the number of its row and the key.
    """
    rows = block.rows[text]
    method = "_then_".join(filter(None, [predict, "learn" * learns])) + "_many"
    if len(rows) < SMALLEST_BLOCK or not takes_frames(model) or not hasattr(model, method):
        return _row_by_row(block, text, model, predict, learns)
    arguments, keywords = block.arguments(rows)
    try:
        result = getattr(model, method)(*arguments, **keywords)
    except Exception as error:
        if isinstance(error, INVALID):
            raise renumbered(error, rows, f"{_name(text)}: ") from error.__cause__
        error.add_note(f"in the rows of {_name(text)}")
        raise
    if not predict:
        return []
    return _labeled(result) if predict == "predict_proba" else _listed(result, len(rows))


def _row_by_row(block: Block, text: str, model: Any, predict: str, learns: bool) -> list[Any]:
    answers = []
    for row in block.rows[text]:
        x = block.samples[row]
        try:
            if predict:
                answers.append(getattr(model, f"{predict}_one")(x))
            if learns:
                keywords = {} if block.w is None else {"w": block.w[row]}
                model.learn_one(x, block.y[row], **keywords)  # type: ignore[index]
        except INVALID as error:
            raise type(error)(f"row {row}: {_name(text)}: {error}") from error.__cause__
        except Exception as error:
            error.add_note(f"in row {row}, of {_name(text)}")
            raise
    return answers


def _name(text: str) -> str:
    return f"the key {shown(key_of(text))}"


def _labeled(probabilities: Any) -> list[dict[Any, float]]:
    """Return the probabilities of each row by label; none where they are NaN."""
    labels, rows = [*probabilities.columns], probabilities.to_numpy().tolist()
    return [{} if np.isnan(row).any() else dict(zip(labels, row, strict=True)) for row in rows]


def _listed(predictions: Any, n_rows: int) -> list[Any]:
    if predictions.ndim != 1:  # the empty frame of a river classifier without labels
        return [None] * n_rows
    return frames.read_list("the prediction", predictions, n_rows)


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
