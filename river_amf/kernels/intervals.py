"""Intervals for a target (DESIGN.md: intervals).

Recent errors, in units of a scale that the trees give, are counted in bins, uniform on
u / (1 + |u|). The quantiles of these errors give intervals that keep their promise.
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import Array, Forest
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.fading import decay_of, settled_sum
from river_amf.kernels.stacking import OF_VOTERS, mean_square
from river_amf.layout import LOCATION, N_ERRORS, N_TRENDS, SPREAD

DECAY = 0.995  # of the errors counted
HALF = N_ERRORS // 2
LARGEST_PLACE = 1.0 - 0.25 / HALF  # of u / (1 + |u|) in an interval
LEAST_SQUARE = 1e-12  # of a tree's squared scale, relative to the recent squared errors


@hot
def trend_of(forest: Forest, votes: Array, t: int, i: int) -> float:
    """What has to be added to a tree's prediction: the trend, if it learns what that leaves."""
    n_aims = len(forest.aims)
    return votes[len(forest.trees) + N_TRENDS, i, LOCATION] if t % n_aims == 1 else 0.0


@helper
def scale_of(forest: Forest, votes: Array, i: int, location: float) -> float:
    """The geometric mean of the trees' scales about a location."""
    n_trees = len(forest.trees)
    least = LEAST_SQUARE * mean_square(forest.stacks[OF_VOTERS])
    total = 0.0
    for t in range(n_trees):
        far = votes[t, i, LOCATION] + trend_of(forest, votes, t, i) - location
        square = max(votes[t, i, SPREAD] + far * far, least)
        if not square > 0.0:
            return 0.0
        total += math.log(square)
    return math.exp(0.5 * total / n_trees)


@hot
def count_error(errors: Array, error: float, scale: float, weight: float) -> None:
    """Count an error in its bin; one without a scale tells nothing, and is left out."""
    if error != 0.0 and not scale > 0.0:
        return
    decay, gain = decay_of(DECAY, weight)
    for k in range(N_ERRORS):
        errors[k] = settled_sum(decay * errors[k])
    place = 0.0
    if scale > 0.0:
        u = error / scale
        place = u / (1.0 + abs(u)) if abs(u) < 1e300 else math.copysign(1.0, u)
    errors[min(max(int((1.0 + place) * HALF), 0), N_ERRORS - 1)] += gain


@helper
def quantile(errors: Array, p: float) -> float:
    """The scaled error that a share p of the errors does not exceed, interpolated."""
    total = 0.0
    for k in range(N_ERRORS):
        total += errors[k]
    wanted, k = p * total, 0
    while k < N_ERRORS - 1 and errors[k] < wanted:
        wanted -= errors[k]
        k += 1
    share = min(wanted / errors[k], 1.0) if errors[k] > 0.0 else 0.0
    place = (k + share) / HALF - 1.0
    place = min(max(place, -LARGEST_PLACE), LARGEST_PLACE)
    return place / (1.0 - abs(place))
