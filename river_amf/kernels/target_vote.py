"""The vote of a regression: what the forest makes of its trees and trends (DESIGN.md: stacks).

The voters are the trees with even indices, those with odd ones, the mean of both corrected by its
recent errors, and the trends.
"""

from __future__ import annotations

from river_amf.kernels.arrays import FOREST, Array, Forest
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.fading import decay_of, settled_sum
from river_amf.kernels.intervals import count_error, quantile, scale_of, trend_of
from river_amf.kernels.parts import INTEGER, NO_VALUE, NUMBER, ROW, VOTES, part
from river_amf.kernels.stacking import (
    OF_VOTERS,
    learn_errors,
    learn_stack,
    stacked,
    winsorized,
)
from river_amf.layout import LOCATION, LOWER, REGRESSION, SPREAD, UPPER

FAST_DECAY, SLOW_DECAY = 0.3, 0.8  # of the recent errors that correct the mean of the trees


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
def take_voters(forest: Forest, votes: Array, i: int, base: float, voters: Array) -> int:
    """Write the voters, and return their number."""
    # These are both groups of trees, their mean corrected by recent errors, and the trends.
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
        counters["fast_errors"] = settled_sum(decay * counters["fast_errors"]) + gain * error
        counters["fast_weight"] = decay * counters["fast_weight"] + gain
        decay, gain = decay_of(SLOW_DECAY, weight)
        counters["slow_errors"] = settled_sum(decay * counters["slow_errors"]) + gain * error
        counters["slow_weight"] = decay * counters["slow_weight"] + gain
