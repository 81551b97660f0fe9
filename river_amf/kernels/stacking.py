"""Stacks: a ridge regression of what a base misses on how far some voters are from it.

With a base p and voters v_k it predicts p + sum_k a_k (v_k - p). The unit is the root mean square
of recent errors, so that nothing depends on the unit of the target, and a jump of its level does
not outweigh all other samples (DESIGN.md: stacks).
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import Array, Forest, Record
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.fading import decay_of, settled_sum

OF_VOTERS, OF_TRENDS = 0, 1  # the stacks
DECAY = 0.999
RIDGE = 5.0
ERROR_DECAY = 0.99  # of the squared errors that say what the unit is
ENOUGH = 20.0  # weight of these errors from which on a larger one is drawn in,
LARGEST_ERROR = 10.0  # to this many times their root mean square
NO_ERRORS = 1e-290  # mean square below which nothing is learned
LARGEST_INPUT = 1e100  # in that unit


@hot
def winsorized(stack: Record, error: float) -> float:
    """An error, drawn in if it is far larger than recent ones."""
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
    """What a stack of n voters predicts, which are replaced by their distances from the base."""
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
    decay, gain = decay_of(DECAY, weight)
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
