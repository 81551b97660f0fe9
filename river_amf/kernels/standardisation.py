"""Running standardisation of the features, at a slow and at a fast pace (DESIGN.md: standards).

At the slow pace it says how unusual a value is in the stream so far; at the fast one, what is high
or low compared with the last few dozen samples.
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import FOREST, Array, Forest
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.parts import INTEGER, NO_VALUE, ROW, part

SLOW, FAST = 0.001, 0.03  # weight of the newest value in the running means, at the two paces
LARGEST_SCORE = 4.0  # standardised values are clipped to it
FEW_VALUES = 20  # after these, an outlier is drawn in before it is counted, to
LARGEST_STEP = 10.0  # so many standard deviations
LARGEST_DEVIATION = 1e150  # its square is finite
LEAST_VARIANCE = 1e-28  # of the square of the mean; below that the feature is a constant
NEGLIGIBLE = 1e-290  # means and variances that fade become 0 there, as subnormal numbers are slow


@part(NO_VALUE, FOREST, INTEGER, ROW, INTEGER, ROW)
def standardise(forest: Forest, pace: int, x: Array, learns: int, out: Array) -> None:
    """Write the standardised sample, 0 where a value is missing; then count its values."""
    rate = FAST if pace else SLOW
    for j in range(forest.settings[0]["n_features"]):
        out[j] = 0.0
        value = x[j]
        if math.isnan(value) or forest.is_categorical[j]:
            continue
        standard = forest.standards[pace, j]
        mean, variance, n_values = standard["mean"], standard["variance"], standard["n_values"]
        least = LEAST_VARIANCE * mean * mean
        out[j] = score(value - mean, variance, least)
        if not learns:
            continue
        standard["n_values"] = n_values + 1
        if n_values == 0:
            standard["mean"] = value
            continue
        deviation = value - mean
        limit = LARGEST_DEVIATION
        if n_values > FEW_VALUES and variance > least:
            step = LARGEST_STEP * math.sqrt(variance)
            limit = step if step < limit else limit
        deviation = deviation if deviation < limit else limit
        deviation = deviation if deviation > -limit else -limit
        share = 1.0 / (n_values + 1)
        share = share if share > rate else rate
        mean += share * deviation
        variance = (1.0 - share) * (variance + share * deviation * deviation)
        standard["mean"] = mean if abs(mean) > NEGLIGIBLE else 0.0
        standard["variance"] = variance if variance > NEGLIGIBLE else 0.0


@hot
def score(deviation: float, variance: float, least: float) -> float:
    """A deviation from the mean in standard deviations, clipped; 0 for a constant."""
    z = deviation / math.sqrt(variance) if variance > least else 0.0
    z = z if z < LARGEST_SCORE else LARGEST_SCORE  # min and max take long to compile
    return z if z > -LARGEST_SCORE else -LARGEST_SCORE


@helper
def forget_standards(forest: Forest, j: int) -> None:
    """Forget the statistics of a feature, at all paces."""
    for pace in range(len(forest.standards)):
        standard = forest.standards[pace, j]
        standard["n_values"] = 0
        standard["mean"] = 0.0
        standard["variance"] = 0.0
