"""Running standardization of features, at a slow and a fast timescale (DESIGN.md: standards)."""

from __future__ import annotations

import math

from river_amf.kernels.features.fading import NEGLIGIBLE
from river_amf.kernels.numba_tools.arrays import Array, Forest
from river_amf.kernels.numba_tools.compilation import helper, hot, view
from river_amf.state.layout import FEW_FOR_COSINES

SLOW_RATE, FAST_RATE = 0.001, 0.03  # of the newest value in the means at the two timescales
LARGEST_SCORE = 4.0  # standardized values are clipped to it
FEW_VALUES = 20  # after these, an outlier is clipped before it is counted
LARGEST_STEP = 10.0  # in standard deviations; outliers are clipped to it
LARGEST_DEVIATION = 1e150  # its square is finite
LEAST_VARIANCE = 1e-28  # of the square of the mean; below that the feature is a constant


@helper
def standardize(forest: Forest, timescale: int, x: Array, learns: bool, out: Array) -> None:
    """Write the standardized sample, 0 where a value is missing; then count its values."""
    rate = FAST_RATE if timescale else SLOW_RATE
    for j in range(forest.settings["n_features"]):
        out[j] = 0.0
        value = x[j]
        if math.isnan(value) or forest.is_categorical[j]:
            continue
        standard = forest.standards[timescale, j]
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
    """Return a deviation from the mean in standard deviations, clipped; 0 for a constant."""
    z = deviation / math.sqrt(variance) if variance > least else 0.0
    z = z if z < LARGEST_SCORE else LARGEST_SCORE  # min and max take long to compile
    return z if z > -LARGEST_SCORE else -LARGEST_SCORE


@helper
def forget_standards(forest: Forest, j: int) -> None:
    for timescale in range(len(forest.standards)):
        standard = forest.standards[timescale, j]
        standard["n_values"] = 0
        standard["mean"] = 0.0
        standard["variance"] = 0.0


MOST_DIRECTIONS = 8  # with more features than this, distances are scaled down
LEAST_SPREAD = 1e-20  # variance below which a cosine is a constant, but for rounding
COSINE_MEAN, COSINE_VARIANCE = 0, 1  # rows of the statistics of cosines


@hot
def lack_cosines(forest: Forest) -> bool:
    is_time = forest.counters["n_learned"] >= FEW_FOR_COSINES
    return is_time and forest.settings["n_cosines"] == 0 and len(forest.phases) > 0


@view
def take_arguments(
    forest: Forest, draw: int, scale: float, z: Array, start: int, end: int, out: Array
) -> None:
    """Write the arguments of the cosines, if of all features only some are not 0."""
    # They see the distances between samples at this scale.
    settings, directions = forest.settings, forest.directions[draw]
    if settings["n_numeric"] > MOST_DIRECTIONS:
        scale *= math.sqrt(MOST_DIRECTIONS / settings["n_numeric"])
    phases = forest.phases[draw]
    n_cosines = len(phases)
    for k in range(n_cosines):
        out[k] = phases[k]
    for j in range(start, end):
        length = scale * z[j]
        if length != 0.0:
            direction = directions[j]
            for k in range(n_cosines):
                out[k] += length * direction[k]


@hot
def take_cosines(
    forest: Forest, draw: int, scale: float, z: Array, cosines: Array, out: Array, first: int
) -> None:
    """Write the cosines of a standardized sample, and from out[first] on standardize them."""
    n_cosines, n_features = len(forest.phases[draw]), forest.settings["n_features"]
    take_arguments(forest, draw, scale, z, 0, n_features, cosines)
    mean, variance = forest.cosines[draw, COSINE_MEAN], forest.cosines[draw, COSINE_VARIANCE]
    for k in range(n_cosines):
        cosine = math.cos(cosines[k])
        cosines[k] = cosine
        out[first + k] = score(cosine - mean[k], variance[k], LEAST_SPREAD)


@helper
def share_cosines(
    forest: Forest, draw: int, scale: float, z: Array, j: int, total: Array, out: Array
) -> None:
    """Write standardized cosines with only the share of a feature, or none, in what moves them."""
    # With u its part of s: cos(phi) + (u / s) (cos(phi + s) - cos(phi)). `total` is phi + s.
    phases, mean = forest.phases[draw], forest.cosines[draw, COSINE_MEAN]
    variance = forest.cosines[draw, COSINE_VARIANCE]
    take_arguments(forest, draw, scale, z, max(j, 0), j + 1, out)
    for k in range(len(phases)):
        phase, half = phases[k], 0.5 * (total[k] - phases[k])
        quotient = math.sin(half) / half if half != 0.0 else 1.0
        cosine = math.cos(phase) - (out[k] - phase) * math.sin(phase + half) * quotient
        is_constant = not variance[k] > LEAST_SPREAD
        out[k] = 0.0 if is_constant else (cosine - mean[k]) / math.sqrt(variance[k])


@hot
def count_cosines(forest: Forest, draw: int, cosines: Array, n_before: int) -> None:
    n = max(n_before - FEW_FOR_COSINES, 0) + 1
    share = 1.0 / n if 1.0 / n > SLOW_RATE else SLOW_RATE
    mean, variance = forest.cosines[draw, COSINE_MEAN], forest.cosines[draw, COSINE_VARIANCE]
    for k in range(len(mean)):
        deviation = cosines[k] - mean[k]
        mean[k] += share * deviation
        square = (1.0 - share) * (variance[k] + share * deviation * deviation)
        variance[k] = square if square > NEGLIGIBLE else 0.0
