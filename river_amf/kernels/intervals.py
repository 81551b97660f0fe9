"""The vote of a regression, and its intervals (DESIGN.md: intervals).

The forest's law is the mix of those of its trees, from which it takes a location and a scale. How
often errors of late were how large in units of that scale is counted in bins, uniform on u / (1 +
|u|), and the quantiles of these errors give intervals that keep their promise.
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import FOREST, Array, Forest
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.estimates import settled
from river_amf.kernels.parts import INTEGER, NO_VALUE, NUMBER, ROW, VOTES, part
from river_amf.kernels.regression import decay_of
from river_amf.layout import LOCATION, LOWER, N_ERRORS, REGRESSION, SPREAD, UPPER

DECAY = 0.995  # of the errors counted
HALF = N_ERRORS // 2


@part(NO_VALUE, FOREST, VOTES, INTEGER, ROW, task=REGRESSION)
def pool_votes(forest: Forest, votes: Array, i: int, answer: Array) -> None:
    """Write the forest's answer: its prediction, the scale of its error, and an interval."""
    # The level of the interval is in the place of its lower end, or 0 for none.
    n_trees = len(forest.trees)
    location, square = 0.0, 0.0
    for t in range(n_trees):
        location += votes[t, i, LOCATION] / n_trees
    for t in range(n_trees):
        far = votes[t, i, LOCATION] - location
        square += (votes[t, i, SPREAD] + far * far) / n_trees
    scale, level = math.sqrt(square), answer[LOWER]
    answer[LOCATION], answer[SPREAD] = location, scale
    if level > 0.0:
        answer[LOWER] = location + scale * quantile(forest.errors, 0.5 - 0.5 * level)
        answer[UPPER] = location + scale * quantile(forest.errors, 0.5 + 0.5 * level)


@part(NO_VALUE, FOREST, VOTES, INTEGER, NUMBER, NUMBER, task=REGRESSION)
def learn_vote(forest: Forest, votes: Array, i: int, target: float, weight: float) -> None:
    """Count the error of the forest's prediction, in units of its scale."""
    answer, errors = forest.pooled, forest.errors
    answer[LOWER] = 0.0
    pool_votes(forest, votes, i, answer)
    decay, gain = decay_of(DECAY, weight)
    for k in range(N_ERRORS):
        errors[k] = settled(decay * errors[k])
    if answer[SPREAD] > 0.0:
        errors[bin_of((target - answer[LOCATION]) / answer[SPREAD])] += gain


@hot
def bin_of(u: float) -> int:
    """The bin of a scaled error."""
    place = 1.0 + u / (1.0 + abs(u))
    return min(max(int(place * HALF), 0), N_ERRORS - 1)


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
    place = (k + min(wanted / errors[k], 1.0)) / HALF - 1.0 if errors[k] > 0.0 else k / HALF - 1.0
    place = min(max(place, 0.5 / HALF - 1.0), 1.0 - 0.5 / HALF)
    return place / (1.0 - abs(place))
