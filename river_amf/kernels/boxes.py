"""Boxes: per feature the least and the largest value of a cell, NaN where none has been seen.

A box is (2, features). A sample's extension e_j of it and the split intensities lambda_j make the
rate of the Mondrian process (DESIGN.md: Mondrian growth).
"""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.arrays import LARGEST_FLOAT, NONE, Array, Word
from river_amf.kernels.compilation import hot, kernel
from river_amf.kernels.random_numbers import code_row


@hot
def range_extension(low: float, high: float, value: float) -> float:
    """e_j, the distance of value outside [low, high]; 0 if it or the range is missing (NaN)."""
    below = low - value
    above = value - high
    extension = below if below > 0.0 else (above if above > 0.0 else 0.0)
    return min(extension, LARGEST_FLOAT)


@hot
def extension_rate(box: Array, x: Array, intensity: Array, n_features: int) -> float:
    """The rate sum_j lambda_j e_j at which x calls for a split above a box [MF, algorithm 4]."""
    rate = 0.0
    for j in range(n_features):
        rate += intensity[j] * range_extension(box[0, j], box[1, j], x[j])
    return rate


@hot
def count_missing(x: Array, n_features: int) -> int:
    """The number of missing values."""
    n_missing = 0
    for j in range(n_features):
        n_missing += math.isnan(x[j])
    return n_missing


@hot
def is_inside(box: Array, x: Array, n_features: int, n_missing: int) -> bool:
    """Whether a box holds the values of x that are there.

    Without branches, for several features at once; a missing value counts as outside twice.
    """
    n_outside = 0
    for j in range(n_features):
        n_outside += not (box[0, j] <= x[j])
        n_outside += not (x[j] <= box[1, j])
    return n_outside == 2 * n_missing


@hot
def extend_box(box: Array, x: Array, n_features: int) -> None:
    """Extend a box to hold x; a missing value changes nothing, a first value starts the range."""
    for j in range(n_features):
        value = x[j]
        if value < box[0, j] or math.isnan(box[0, j]):
            box[0, j] = value
        if value > box[1, j] or math.isnan(box[1, j]):
            box[1, j] = value


@kernel
def hull_of_rows(
    is_categorical: Array,
    n_features: int,
    key: Word,
    rows: Array,
    links: Array,
    row: int,
    box: Array,
) -> None:
    """Extend a box by a leaf's list of rows, which starts at `row`."""
    x = np.empty(n_features)
    while row != NONE:
        code_row(is_categorical, n_features, key, rows[row], x)
        extend_box(box, x, n_features)
        row = links[row]
