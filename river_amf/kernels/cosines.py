"""Cosines of random projections of the features: random Fourier features (DESIGN.md: cosines).

A linear model of them follows any smooth function (Rahimi, Recht, 2007). They are standardised in
turn.
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import Array, Forest
from river_amf.kernels.compilation import helper
from river_amf.kernels.standardisation import SLOW, score
from river_amf.layout import N_COSINES

SCALE = 0.5  # of the standardised distances
MOST_DIRECTIONS = 8.0  # with more features than this, distances are scaled down
LEAST_VARIANCE = 1e-20  # below that a cosine is a constant, but for rounding
MEAN, VARIANCE = 0, 1  # rows of the statistics of cosines


@helper
def take_cosines(forest: Forest, draw: int, z: Array, cosines: Array, out: Array) -> None:
    """Write the cosines of a standardised sample, and them standardised, from out[1] on."""
    n_numeric = forest.settings[0]["n_numeric"]
    scale = SCALE * math.sqrt(min(n_numeric, MOST_DIRECTIONS) / max(n_numeric, 1))
    for k in range(N_COSINES):
        cosines[k] = forest.phases[draw, k]
    for j in range(forest.settings[0]["n_features"]):
        if z[j] != 0.0:
            length = scale * z[j]
            for k in range(N_COSINES):
                cosines[k] += length * forest.directions[draw, j, k]
    for k in range(N_COSINES):
        cosines[k] = math.cos(cosines[k])
    statistics = forest.cosines[draw]
    for k in range(N_COSINES):
        deviation = cosines[k] - statistics[MEAN, k]
        out[1 + k] = score(deviation, statistics[VARIANCE, k], LEAST_VARIANCE)


@helper
def count_cosines(forest: Forest, draw: int, cosines: Array, n_before: int) -> None:
    """Update the means and variances of the cosines."""
    share = max(SLOW, 1.0 / (n_before + 1))
    statistics = forest.cosines[draw]
    for k in range(N_COSINES):
        deviation = cosines[k] - statistics[MEAN, k]
        statistics[MEAN, k] += share * deviation
        variance = statistics[VARIANCE, k]
        statistics[VARIANCE, k] = (1.0 - share) * (variance + share * deviation * deviation)
