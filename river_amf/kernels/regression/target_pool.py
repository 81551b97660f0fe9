"""The vote of a regression: what the forest makes of its trees and trends (DESIGN.md: stacks).

The voters are the trees with even indices, those with odd ones, the mean of both corrected by its
recent errors, and the trends.

A stack is a ridge regression of what a base misses on how far some voters are from it: with a base
p and voters v_k it predicts p + sum_k a_k (v_k - p). The unit is the root mean square of recent
errors, so that nothing depends on the unit of the target, and a jump of its level does not outweigh
all other samples. The trends have a stack of their own.
"""

from __future__ import annotations

import math

from river_amf.kernels.numba_tools.arrays import FOREST, Array, Forest, Record
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.kernels.numba_tools.parts import INTEGER, NO_VALUE, NUMBER, ROW, VOTES, part
from river_amf.kernels.tree.estimates import decay_of, is_early, settled_sum, slowed
from river_amf.state.layout import (
    DELAY,
    FAST_ERROR,
    LOCATION,
    LOCATION_THEN,
    LOWER,
    N_ERRORS,
    N_TRENDS,
    REGRESSION,
    SLOW_ERROR,
    SPREAD,
    SPREAD_THEN,
    UPPER,
)

DECAY = 0.995  # of the errors counted
HALF = N_ERRORS // 2
LARGEST_PLACE = 1.0 - 0.25 / HALF  # of u / (1 + |u|) in an interval
FEW_TARGETS = 20  # learned; before that, an interval covers twice their range
LEAST_SQUARE = 1e-12  # of a tree's squared scale, relative to the recent squared errors

OF_VOTERS, OF_TRENDS = 0, 1  # the stacks
STACK_DECAY = 0.999
RIDGE = 5.0
ERROR_DECAY = 0.99  # of the squared errors that say what the unit is
ENOUGH = 20.0  # weight of these errors from which on a larger one is clipped,
LARGEST_ERROR = 10.0  # to this many times their root mean square
NO_ERRORS = 1e-290  # mean square below which nothing is learned
LARGEST_INPUT = 1e100  # in that unit


@hot
def trend_of(forest: Forest, votes: Array, t: int, i: int) -> float:
    """The number to add to a tree's prediction: the trend, if the tree learns the residual."""
    n_tree_targets = len(forest.tree_targets)
    return votes[len(forest.trees) + N_TRENDS, i, LOCATION] if t % n_tree_targets == 1 else 0.0


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


FAST_DECAY, SLOW_DECAY = 0.3, 0.8  # of the recent errors that correct the mean of the trees


@part(NO_VALUE, FOREST, VOTES, INTEGER, ROW, task=REGRESSION)
def pool_votes(forest: Forest, votes: Array, i: int, answer: Array) -> None:
    """Write the forest's answer: its prediction, the scale of its error, and an interval."""
    # The level of the interval is in the place of its lower end, or 0 for none.
    level = answer[LOWER]
    fast, slow = recent_errors(forest)
    location = combined(forest, votes, i, fast, slow, answer)
    scale = scale_of(forest, votes, i, location)
    answer[LOCATION], answer[SPREAD] = location, scale
    if level > 0.0:
        answer[LOWER] = location + scale * quantile(forest.errors, 0.5 - 0.5 * level)
        answer[UPPER] = location + scale * quantile(forest.errors, 0.5 + 0.5 * level)
        if 0.5 * level > 0.0:  # else both are the median
            widen_early(forest, answer)
    else:
        answer[LOWER] = 0.0


@helper
def widen_early(forest: Forest, answer: Array) -> None:
    """Widen an interval if there have been few targets, of which there are too few errors."""
    counters, n = forest.counters[0], forest.stacks[OF_VOTERS]["n_learned"]
    if n < FEW_TARGETS:
        least, largest = counters["early_least"], counters["early_largest"]
        margin = 0.5 * (largest - least) if n > 1 else math.inf
        answer[LOWER] = min(answer[LOWER], least - margin)
        answer[UPPER] = max(answer[UPPER], largest + margin)


@helper
def combined(
    forest: Forest, votes: Array, i: int, fast: float, slow: float, voters: Array
) -> float:
    """The forest's prediction, given the corrections by recent errors; `voters` is scratch."""
    location = mean_of_trees(forest, votes, i)
    if forest.settings[0]["is_stacked"]:
        n = take_voters(forest, votes, i, location, fast, slow, voters)
        location = stacked(forest.stack_weights[OF_VOTERS], voters, n, location)
    return location


@hot
def mean_of_trees(forest: Forest, votes: Array, i: int) -> float:
    """The mean of the trees; with a stack, the mean of both groups, by even and odd indices."""
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
def take_voters(
    forest: Forest, votes: Array, i: int, base: float, fast: float, slow: float, voters: Array
) -> int:
    """Write the voters, and return their number."""
    # These are both groups of trees, their mean corrected by recent errors, and the trends.
    voters[0], voters[1] = group_mean(forest, votes, i, 0), group_mean(forest, votes, i, 1)
    voters[2], voters[3] = base + fast, base + slow
    n_trends = len(forest.trends)
    for k in range(n_trends):
        voters[4 + k] = votes[len(forest.trees) + k, i, LOCATION]
    return 4 + n_trends


@hot
def recent_errors(forest: Forest) -> tuple[float, float]:
    """The means of recent errors, with a fast and with a slow decay."""
    counters = forest.counters[0]
    fast, slow = counters["fast_weight"], counters["slow_weight"]
    return (
        counters["fast_errors"] / fast if fast > 0.0 else 0.0,
        counters["slow_errors"] / slow if slow > 0.0 else 0.0,
    )


@part(NO_VALUE, FOREST, VOTES, INTEGER, NUMBER, NUMBER, ROW, task=REGRESSION)
def learn_vote(
    forest: Forest, votes: Array, i: int, target: float, weight: float, context: Array
) -> None:
    """Learn how to stack the voters, and count the error of the forest's prediction."""
    answer, stack, counters = forest.pooled, forest.stacks[OF_VOTERS], forest.counters[0]
    stack["n_learned"] += 1
    if stack["n_learned"] < FEW_TARGETS:
        counters["early_least"] = min(counters["early_least"], target)
        counters["early_largest"] = max(counters["early_largest"], target)
    if stack["n_learned"] == 1 or is_early(context):  # which was not predicted
        return
    if context[DELAY] > 0.0:
        fast, slow = context[FAST_ERROR], context[SLOW_ERROR]
        location, scale = context[LOCATION_THEN], context[SPREAD_THEN]
    else:
        fast, slow = recent_errors(forest)
        location = combined(forest, votes, i, fast, slow, answer)
        scale = scale_of(forest, votes, i, location)
    count_error(forest.errors, target - location, scale, slowed(weight, context))
    base = mean_of_trees(forest, votes, i)
    error = winsorized(stack, target - base)
    learn_errors(stack, error, weight)
    if forest.settings[0]["is_stacked"]:
        n = take_voters(forest, votes, i, base, fast, slow, answer)
        for k in range(n):
            answer[k] -= base
        learn_stack(forest, OF_VOTERS, answer, n, error, weight)
        decay, gain = decay_of(FAST_DECAY, weight)
        counters["fast_errors"] = settled_sum(decay * counters["fast_errors"]) + gain * error
        counters["fast_weight"] = decay * counters["fast_weight"] + gain
        decay, gain = decay_of(SLOW_DECAY, weight)
        counters["slow_errors"] = settled_sum(decay * counters["slow_errors"]) + gain * error
        counters["slow_weight"] = decay * counters["slow_weight"] + gain


@hot
def winsorized(stack: Record, error: float) -> float:
    """An error, clipped if it is far larger than recent ones."""
    weight, squares = stack["weight"], stack["error_squares"]
    if weight > ENOUGH and squares > 0.0:
        limit = LARGEST_ERROR * math.sqrt(squares / weight)
        error = min(max(error, -limit), limit)
    return error


@hot
def mean_square(stack: Record) -> float:
    """The mean of the recent squared errors."""
    return stack["error_squares"] / stack["weight"] if stack["weight"] > 0.0 else 0.0


@helper
def stacked(weights: Array, voters: Array, n: int, base: float) -> float:
    """The prediction of a stack of n voters; it replaces them by their distances from the base."""
    # It is within half of their range around the range of all.
    low = high = p = base
    for k in range(n):
        low, high = min(low, voters[k]), max(high, voters[k])
        voters[k] -= base
        p += weights[k] * voters[k]
    margin = 0.5 * (high - low)
    return min(max(p, low - margin), high + margin)


@helper
def learn_errors(stack: Record, error: float, weight: float) -> None:
    """Learn how large errors are."""
    decay, gain = decay_of(ERROR_DECAY, weight)
    stack["error_squares"] = settled_sum(decay * stack["error_squares"]) + gain * error * error
    stack["weight"] = decay * stack["weight"] + gain


@helper
def learn_stack(
    forest: Forest, which: int, distances: Array, n: int, error: float, weight: float
) -> None:
    """Learn what the base has missed, given how far n voters were from it."""
    # One Gauss-Seidel sweep improves the weights.
    unit = mean_square(forest.stacks[which])
    if not unit > NO_ERRORS:
        return
    unit = 1.0 / math.sqrt(unit)
    decay, gain = decay_of(STACK_DECAY, weight)
    sums, products = forest.stack_sums[which], forest.stack_products[which]
    weights = forest.stack_weights[which]
    for k in range(n):
        distances[k] = min(max(unit * distances[k], -LARGEST_INPUT), LARGEST_INPUT)
    for k in range(n):
        value = gain * distances[k]
        for m in range(n):
            sums[k, m] = decay * sums[k, m] + value * distances[m]
        products[k] = decay * products[k] + value * (unit * error)
    for k in range(n):
        rest = products[k] - RIDGE * weights[k]
        for m in range(n):
            rest -= sums[k, m] * weights[m]
        weights[k] += rest / (sums[k, k] + RIDGE)
