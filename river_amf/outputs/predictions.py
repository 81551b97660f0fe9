"""The answers of the kernels as predictions: probabilities by label, or the target."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.labels import Labels, Targets
from river_amf.state.layout import ANSWER, LOCATION, LOWER


def decoder(labels: Labels | Targets) -> Callable[[Any], Any]:
    """Return the function from a buffer that begins with an answer to the prediction."""
    if isinstance(labels, Labels):
        index = labels.index
        return lambda answer: dict(zip(index, answer))  # noqa: B905 (the keyword takes 0.1 us)
    return lambda answer: float(answer[LOCATION]) + (labels.origin or 0.0)


def first_prediction(labels: Labels | Targets) -> Any:
    return {} if isinstance(labels, Labels) else 0.0


def first_quantiles(level: float) -> tuple[float, float]:
    """Return the quantiles before the first sample; of the least level, both are the median."""
    return (-math.inf, math.inf) if 0.5 * level > 0.0 else (0.0, 0.0)


def width(labels: Labels | Targets) -> int:
    return len(labels) if isinstance(labels, Labels) else ANSWER


def blank_answers(
    labels: Labels | Targets, n_rows: int, n_new: int = 0, level: float = 0.0
) -> NDArray[np.float64]:
    """Return an array for the answers to a block, once there are so many more labels.

    Those of targets have quantiles at a level unless it is 0.
    """
    if isinstance(labels, Labels):
        return np.zeros((n_rows, len(labels) + n_new))
    answers = np.zeros((n_rows, ANSWER))
    answers[:, LOWER] = level
    return answers
