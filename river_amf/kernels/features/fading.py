"""Sums that fade with every sample."""

from __future__ import annotations

import math

from river_amf.kernels.numba_tools.compilation import hot

NEGLIGIBLE = 1e-290  # sums become 0 there, as subnormal numbers are slow
LEAST_DECAY = 1e-100  # one sample, of whatever weight, leaves this share of earlier evidence


@hot
def decay_of(factor: float, weight: float) -> tuple[float, float]:
    """Return the factor by which a sum fades at a sample, and the weight of the sample in it."""
    if weight == 1.0:
        return factor, 1.0
    exponent = weight * math.log(factor)
    return math.exp(exponent), math.expm1(exponent) / (factor - 1.0)


@hot
def kept_share(decay: float, weight: float) -> float:
    return max(decay_of(decay, weight)[0], LEAST_DECAY)


@hot
def cleared_sum(total: float) -> float:
    return total if abs(total) > NEGLIGIBLE else 0.0
