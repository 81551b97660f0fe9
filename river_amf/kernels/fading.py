"""Sums that fade: how a sample of any weight counts in them.

A sum with the factor D takes a sample of weight w as if it came bit by bit: what was there is
multiplied by D^w, and the sample counts (1 - D^w) / (1 - D), which is 1 if w is.
"""

from __future__ import annotations

import math

from river_amf.kernels.compilation import hot

NEGLIGIBLE = 1e-290  # sums become 0 there, as subnormal numbers are slow


@hot
def decay_of(factor: float, weight: float) -> tuple[float, float]:
    """What a sample multiplies a sum by, and what it counts there."""
    if weight == 1.0:
        return factor, 1.0
    exponent = weight * math.log(factor)
    return math.exp(exponent), math.expm1(exponent) / (factor - 1.0)


@hot
def settled_sum(total: float) -> float:
    """A sum of either sign that has faded, or 0 if it is negligible."""
    return total if abs(total) > NEGLIGIBLE else 0.0
