"""The covariance of the weights of a linear model, as in recursive least squares.

Rows up to the diagonal are kept, one behind the other, so that the weight of a new input comes
last. A weight whose variance is 0 is new.
"""

from __future__ import annotations

import math

from river_amf.kernels.features.fading import cleared_sum
from river_amf.kernels.numba_tools.arrays import Array, dot
from river_amf.kernels.numba_tools.compilation import helper

FIRST_VARIANCE = 0.1  # of a new weight; that of the constant depends on the model


@helper
def multiply(covariance: Array, constant_variance: float, x: Array, n: int, out: Array) -> None:
    """Write the product of a covariance and inputs; new weights get their first variance."""
    for a in range(n):
        out[a] = 0.0
    start = 0
    for a in range(n):
        row, x_a = covariance[start:], x[a]
        if row[a] == 0.0:
            row[a] = FIRST_VARIANCE if a > 0 else constant_variance
        out[a] += dot(row, x, a + 1)
        for b in range(a if x_a != 0.0 else 0):
            out[b] += x_a * row[b]
        start += a + 1


@helper
def shrink(
    covariance: Array,
    constant_variance: float,
    v: Array,
    gain: float,
    kept: float,
    n: int,
    scale: Array,
) -> None:
    """Add the evidence of a sample to a covariance, S <- (S - gain v v') / kept."""
    # Rows and columns are scaled so that no variance exceeds its first value.
    for a in range(n):
        variance = covariance[a * (a + 3) // 2] - gain * v[a] * v[a]
        if not variance > 0.0:
            begin_covariance(covariance)
            return
        first = FIRST_VARIANCE if a > 0 else constant_variance
        scale[a] = math.sqrt(min(1.0 / kept, first / variance))
    start = 0
    for a in range(n):
        row, s, u = covariance[start:], scale[a], gain * v[a]
        for b in range(a + 1):
            row[b] = s * (scale[b] * (row[b] - u * v[b]))
        start += a + 1


@helper
def begin_covariance(covariance: Array) -> None:
    """Reset a covariance that rounding, or a damaged file, has made useless."""
    for k in range(len(covariance)):
        covariance[k] = 0.0


@helper
def clear_negligible(covariance: Array) -> None:
    """Set covariances of inputs without any evidence to 0 before they are subnormal."""
    for k in range(len(covariance)):
        covariance[k] = cleared_sum(covariance[k])
