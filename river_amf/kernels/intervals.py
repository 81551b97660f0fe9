"""The vote of a regression, and its intervals (DESIGN.md: stacks, intervals).

How often errors of late were how large, in units of a scale that the trees give, is counted in
bins, uniform on u / (1 + |u|). The quantiles of these errors give intervals that keep their
promise.
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import FOREST, Array, Forest
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.estimates import settled
from river_amf.kernels.parts import INTEGER, NO_VALUE, NUMBER, ROW, VOTES, part
from river_amf.kernels.stacking import (
    OF_VOTERS,
    decay_of,
    learn_errors,
    learn_stack,
    mean_square,
    stacked,
    winsorized,
)
from river_amf.layout import (
    LOCATION,
    LOWER,
    N_ERRORS,
    N_TRENDS,
    REGRESSION,
    SPREAD,
    UPPER,
)

DECAY = 0.995  # of the errors counted
HALF = N_ERRORS // 2
LARGEST_PLACE = 1.0 - 0.25 / HALF  # of u / (1 + |u|) in an interval
FAST_DECAY, SLOW_DECAY = 0.3, 0.8  # of the recent errors that correct the mean of the trees
LEAST_SQUARE = 1e-12  # of a tree's squared scale, relative to the squared errors of late


@part(NO_VALUE, FOREST, VOTES, INTEGER, ROW, task=REGRESSION)
def pool_votes(forest: Forest, votes: Array, i: int, answer: Array) -> None:
    """Write the forest's answer: its prediction, the scale of its error, and an interval."""
    # The level of the interval is in the place of its lower end, or 0 for none.
    level, location = answer[LOWER], mean_of_trees(forest, votes, i)
    if forest.settings[0]["is_stacked"]:
        n = take_voters(forest, votes, i, location, answer)
        location = stacked(forest.stack_weights[OF_VOTERS], answer, n, location)
    scale = scale_of(forest, votes, i, location)
    answer[LOCATION], answer[SPREAD] = location, scale
    if level > 0.0:
        answer[LOWER] = location + scale * quantile(forest.errors, 0.5 - 0.5 * level)
        answer[UPPER] = location + scale * quantile(forest.errors, 0.5 + 0.5 * level)
    else:
        answer[LOWER] = 0.0


@hot
def trend_of(forest: Forest, votes: Array, t: int, i: int) -> float:
    """What has to be added to a tree's prediction: the trend, if it learns what that leaves."""
    n_aims = len(forest.aims)
    return votes[len(forest.trees) + N_TRENDS, i, LOCATION] if t % n_aims == 1 else 0.0


@hot
def mean_of_trees(forest: Forest, votes: Array, i: int) -> float:
    """The mean of the trees; if there are voters, of the trees with even and with odd numbers."""
    n_trees = len(forest.trees)
    if forest.settings[0]["is_stacked"]:
        return 0.5 * (group_mean(forest, votes, i, 0) + group_mean(forest, votes, i, 1))
    total = 0.0
    for t in range(n_trees):
        total += votes[t, i, LOCATION] + trend_of(forest, votes, t, i)
    return total / n_trees


@hot
def group_mean(forest: Forest, votes: Array, i: int, first: int) -> float:
    """The mean of every second tree from the first on, or of the only tree."""
    n_trees, total, n = len(forest.trees), 0.0, 0
    for t in range(first if n_trees > 1 else 0, n_trees, 2):
        total += votes[t, i, LOCATION] + trend_of(forest, votes, t, i)
        n += 1
    return total / n


@helper
def take_voters(forest: Forest, votes: Array, i: int, base: float, voters: Array) -> int:
    """Write the voters, and return their number."""
    # They are both groups of trees, the mean corrected by recent errors, and the trends.
    counters = forest.counters[0]
    voters[0], voters[1] = group_mean(forest, votes, i, 0), group_mean(forest, votes, i, 1)
    voters[2] = base + recent(counters["fast_errors"], counters["fast_weight"])
    voters[3] = base + recent(counters["slow_errors"], counters["slow_weight"])
    n_trends = len(forest.trends)
    for k in range(n_trends):
        voters[4 + k] = votes[len(forest.trees) + k, i, LOCATION]
    return 4 + n_trends


@hot
def recent(errors: float, weight: float) -> float:
    """The mean of recent errors."""
    return errors / weight if weight > 0.0 else 0.0


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


@part(NO_VALUE, FOREST, VOTES, INTEGER, NUMBER, NUMBER, task=REGRESSION)
def learn_vote(forest: Forest, votes: Array, i: int, target: float, weight: float) -> None:
    """Learn how to stack the voters, and count the error of the forest's prediction."""
    answer, stack, counters = forest.pooled, forest.stacks[OF_VOTERS], forest.counters[0]
    stack["n_learned"] += 1
    if stack["n_learned"] == 1:  # which was not predicted
        return
    answer[LOWER] = 0.0
    pool_votes(forest, votes, i, answer)
    count_error(forest.errors, target - answer[LOCATION], answer[SPREAD], weight)
    base = mean_of_trees(forest, votes, i)
    error = winsorized(stack, target - base)
    learn_errors(stack, error, weight)
    if forest.settings[0]["is_stacked"]:
        n = take_voters(forest, votes, i, base, answer)
        for k in range(n):
            answer[k] -= base
        learn_stack(forest, OF_VOTERS, answer, n, error, weight)
        decay, gain = decay_of(FAST_DECAY, weight)
        counters["fast_errors"] = settled_error(decay * counters["fast_errors"]) + gain * error
        counters["fast_weight"] = decay * counters["fast_weight"] + gain
        decay, gain = decay_of(SLOW_DECAY, weight)
        counters["slow_errors"] = settled_error(decay * counters["slow_errors"]) + gain * error
        counters["slow_weight"] = decay * counters["slow_weight"] + gain


@hot
def settled_error(total: float) -> float:
    """A sum of errors that has faded, or 0 if it is negligible."""
    return total if abs(total) > 1e-290 else 0.0


@hot
def count_error(errors: Array, error: float, scale: float, weight: float) -> None:
    """Count an error in its bin."""
    decay, gain = decay_of(DECAY, weight)
    for k in range(N_ERRORS):
        errors[k] = settled(decay * errors[k])
    place = 0.0
    if scale > 0.0:
        u = error / scale
        place = u / (1.0 + abs(u)) if abs(u) < 1e300 else math.copysign(1.0, u)
    elif error != 0.0:
        place = math.copysign(1.0, error)
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
