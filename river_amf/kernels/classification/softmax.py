"""What all experts that predict labels by a softmax of scores have in common."""

from __future__ import annotations

import math

from river_amf.kernels.numba_tools.arrays import Array
from river_amf.kernels.numba_tools.compilation import hot

TINY_ERROR = 0.01  # labels whose probability is off by less take no step


@hot
def log_softmax(scores: Array, n: int) -> None:
    """Turn the first n scores into logarithms of probabilities."""
    largest = -math.inf
    for c in range(n):
        largest = scores[c] if scores[c] > largest else largest
    total = 0.0
    for c in range(n):
        total += math.exp(scores[c] - largest)
    offset = largest + math.log(total)
    for c in range(n):
        scores[c] -= offset
