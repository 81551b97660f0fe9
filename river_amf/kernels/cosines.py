"""Cosines of random projections of the features: random Fourier features (DESIGN.md: cosines).

A linear model of them follows any smooth function (Rahimi, Recht, 2007). They are standardised in
turn.
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import Array, Forest
from river_amf.kernels.compilation import hot
from river_amf.kernels.standardisation import NEGLIGIBLE, SLOW, score

MOST_DIRECTIONS = 8  # with more features than this, distances are scaled down
LEAST_VARIANCE = 1e-20  # below that a cosine is a constant, but for rounding
MEAN, VARIANCE = 0, 1  # rows of the statistics of cosines


@hot
def take_cosines(
    forest: Forest, draw: int, z: Array, cosines: Array, out: Array, first: int
) -> None:
    """Write the cosines of a standardised sample, and them standardised, from out[first] on."""
    settings, directions = forest.settings[0], forest.directions[draw]
    scale = settings["cosine_scale"]
    if settings["n_numeric"] > MOST_DIRECTIONS:
        scale *= math.sqrt(MOST_DIRECTIONS / settings["n_numeric"])
    phases = forest.phases[draw]
    n_cosines = len(phases)
    for k in range(n_cosines):
        cosines[k] = phases[k]
    for j in range(settings["n_features"]):
        length = scale * z[j]
        if length != 0.0:
            direction = directions[j]
            for k in range(n_cosines):
                cosines[k] += length * direction[k]
    mean, variance = forest.cosines[draw, MEAN], forest.cosines[draw, VARIANCE]
    for k in range(n_cosines):
        cosine = math.cos(cosines[k])
        cosines[k] = cosine
        out[first + k] = score(cosine - mean[k], variance[k], LEAST_VARIANCE)


@hot
def count_cosines(forest: Forest, draw: int, cosines: Array, n_before: int) -> None:
    """Update the means and variances of the cosines."""
    share = 1.0 / (n_before + 1)
    share = share if share > SLOW else SLOW
    mean, variance = forest.cosines[draw, MEAN], forest.cosines[draw, VARIANCE]
    for k in range(len(mean)):
        deviation = cosines[k] - mean[k]
        mean[k] += share * deviation
        square = (1.0 - share) * (variance[k] + share * deviation * deviation)
        variance[k] = square if square > NEGLIGIBLE else 0.0
