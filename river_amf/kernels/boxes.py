"""Boxes: the smallest and largest value of each feature in a cell, NaN where there is none yet.

A box is (2, features). How far a sample extends it, e_j, and the split intensities lambda_j give
the rate of the Mondrian process (DESIGN.md: Mondrian growth).
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import LARGEST_FLOAT, NONE, Array, Word
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.random_numbers import coded


@hot
def range_extension(low: float, high: float, value: float) -> float:
    """e_j, the distance of a value from [low, high]; 0 if it or the range is missing (NaN)."""
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
    """Whether a box contains x, apart from its missing values."""
    # There are no branches, so that several features are compared at once. A missing value counts
    # as outside twice.
    n_outside = 0
    for j in range(n_features):
        n_outside += not (box[0, j] <= x[j])
        n_outside += not (x[j] <= box[1, j])
    return n_outside == 2 * n_missing


@hot
def extend_box(box: Array, x: Array, n_features: int) -> None:
    """Extend a box to contain x, where missing values change nothing."""
    for j in range(n_features):
        extend_side(box, j, x[j])


@hot
def extend_side(box: Array, j: int, value: float) -> None:
    """Extend a box to contain a value of feature j, unless it is missing."""
    if value < box[0, j] or math.isnan(box[0, j]):
        box[0, j] = value
    if value > box[1, j] or math.isnan(box[1, j]):
        box[1, j] = value


@helper
def hull_of_rows(
    is_categorical: Array,
    n_features: int,
    key: Word,
    rows: Array,
    links: Array,
    row: int,
    box: Array,
) -> None:
    """Extend a box to contain the samples in a leaf's list, which starts at `row`."""
    # It allocates nothing, as a tree that gives up its samples could not stop halfway.
    while row != NONE:
        for j in range(n_features):
            extend_side(box, j, coded(is_categorical, key, j, rows[row, j]))
        row = links[row]
