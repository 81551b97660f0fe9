"""The vote of a regression: what the forest makes of its trees and trends (DESIGN.md: stacks).

The voters are the trees with even indices, those with odd ones, the mean of both corrected by its
recent errors, the trends, the leaves of both groups, all leaves as far as they agree, and the mean
of the targets. A last stack weighs all that against the last target; trends have one of their own.
"""

from __future__ import annotations

import math

from river_amf.kernels.features.fading import cleared_sum, decay_of
from river_amf.kernels.lateness import ERRORS_KEPT, JUMP, slowed, slowed_decay
from river_amf.kernels.numba_tools.arrays import Array, Forest, Record
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.state import layout
from river_amf.state.layout import LEAF, LOCATION, LOWER, N_ERRORS, N_TRENDS, SPREAD, UPPER

ALL, NEW, GAP = 0, 1, 2  # kinds of rows
KIND_DECAY = 0.9995  # of the squares of their errors
LARGEST_OF_KIND = 10.0  # in root mean squares of all; larger errors count as that
BIN_DECAY = 0.995  # of the errors counted
HALF = N_ERRORS // 2
LARGEST_POSITION = 1.0 - 0.25 / HALF  # of u / (1 + |u|) in an interval
FEW_TARGETS = 20  # before so many, quantiles cover twice the range of the targets
LEAST_SQUARE = 1e-12  # of a tree's squared scale, relative to the recent squared errors

OF_VOTERS, OF_LAST, OF_TRENDS = 0, 1, 2  # the stacks
STACK_DECAY = 0.999
RIDGE = 5.0
UNIT_DECAY = 0.995  # of the squared errors that the unit follows from
SIZE_DECAY = 0.999  # a size that doubles with each larger error: one in 1 / log2(1 / 0.999) = 693
LARGEST_OF_SIZE = 3.0  # in such sizes; larger ones are clipped to it
LARGEST_LEAP = 1e5  # in median steps of the targets; after a larger one, no size changes
MEAN_DECAY = 0.9995  # of the mean of the targets
NO_ERRORS = 1e-290  # mean square below which nothing is learned
LARGEST_INPUT = 1e100  # in root mean squares
MARGIN = 0.5  # how far predictions may leave the range of the voters, in ranges
FAR_MISS = 4.0  # in scales; a late target with a larger error is a miss
LEAF_VARIANCE_PENALTY = 4.0  # of the variance between leaves: the more of it, the less they count

Recent = tuple[float, float, float]  # both means of recent errors, and the last target


@hot
def trend_of(forest: Forest, votes: Array, t: int, i: int) -> float:
    """Return what to add to a tree's prediction: the trend, if the tree learns the residual."""
    n_tree_targets = len(forest.tree_targets)
    return votes[len(forest.trees) + N_TRENDS, i, LOCATION] if t % n_tree_targets == 1 else 0.0


@helper
def scale_of(forest: Forest, votes: Array, i: int, location: float) -> float:
    """Return the geometric mean of the trees' scales about a location."""
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


@helper
def widening(forest: Forest, context: Array) -> float:
    """Return the factor of the scale of a row, by how large the errors of such rows are."""
    usual, largest = mean_square(forest.row_errors[ALL]), 1.0
    if usual > 0.0:
        if context[layout.IS_NEW] > 0.0:
            largest = max(largest, mean_square(forest.row_errors[NEW]) / usual)
        if context[layout.HAS_GAP] > 0.0:
            largest = max(largest, mean_square(forest.row_errors[GAP]) / usual)
    return math.sqrt(largest)


@helper
def count_kinds(forest: Forest, error: float, scale: float, weight: float, context: Array) -> None:
    """Count an error among those of its kinds of rows, given its scale without `widening`."""
    if error != 0.0 and not scale > 0.0:
        return
    u = min(abs(error) / scale, LARGEST_INPUT) if error != 0.0 else 0.0
    usual = mean_square(forest.row_errors[ALL])
    u = min(u, LARGEST_OF_KIND * math.sqrt(usual)) if usual > 0.0 else u
    count_square(forest.row_errors[ALL], u, weight, KIND_DECAY)
    if context[layout.IS_NEW] > 0.0:
        count_square(forest.row_errors[NEW], u, weight, KIND_DECAY)
    if context[layout.HAS_GAP] > 0.0:
        count_square(forest.row_errors[GAP], u, weight, KIND_DECAY)


@hot
def count_error(errors: Array, error: float, scale: float, weight: float) -> None:
    if error != 0.0 and not scale > 0.0:
        return
    decay, gain = decay_of(BIN_DECAY, weight)
    for k in range(N_ERRORS):
        errors[k] = cleared_sum(decay * errors[k])
    position = 0.0
    if scale > 0.0:
        u = error / scale
        position = u / (1.0 + abs(u)) if abs(u) < 1e300 else math.copysign(1.0, u)
    errors[min(max(int((1.0 + position) * HALF), 0), N_ERRORS - 1)] += gain


@helper
def quantile(errors: Array, p: float) -> float:
    """Return the scaled error that a share p of the errors does not exceed, interpolated."""
    total = 0.0
    for k in range(N_ERRORS):
        total += errors[k]
    wanted, k = p * total, 0
    while k < N_ERRORS - 1 and errors[k] < wanted:
        wanted -= errors[k]
        k += 1
    share = min(wanted / errors[k], 1.0) if errors[k] > 0.0 else 0.0
    position = (k + share) / HALF - 1.0
    position = min(max(position, -LARGEST_POSITION), LARGEST_POSITION)
    return position / (1.0 - abs(position))


FAST_ERROR_DECAY, SLOW_ERROR_DECAY = 0.3, 0.8  # of errors that correct the trees' mean


@helper
def pool_votes(forest: Forest, votes: Array, i: int, context: Array, answer: Array) -> None:
    """Write the forest's answer: its prediction, the scale of its error, and two quantiles."""
    # When called, answer[LOWER] is the level between the quantiles, or 0 for none.
    level = answer[LOWER]
    recent = recent_values(forest, context[layout.LATENESS])
    location = with_last(forest, combined(forest, votes, i, recent, answer), recent)
    scale = scale_of(forest, votes, i, location) * widening(forest, context)
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
    """Widen both quantiles while there are too few errors for them."""
    counters, n = forest.counters, forest.stacks[OF_VOTERS]["n_learned"]
    if n < FEW_TARGETS:
        least, largest = counters["early_least"], counters["early_largest"]
        margin = 0.5 * (largest - least) if n > 1 else math.inf
        answer[LOWER] = min(answer[LOWER], least - margin)
        answer[UPPER] = max(answer[UPPER], largest + margin)


@helper
def combined(forest: Forest, votes: Array, i: int, recent: Recent, voters: Array) -> float:
    """Return the prediction of the voters; write their distances from the mean of the trees."""
    location = mean_of_trees(forest, votes, i)
    if forest.settings["is_stacked"]:
        share = agreement(forest, votes, i)
        take_voters(forest, votes, i, location, recent, share, voters)
        weights, n = forest.stack_weights[OF_VOTERS], n_voters_of(forest)
        location = stacked(weights, voters, n, location)
    return location


@hot
def mean_of_trees(forest: Forest, votes: Array, i: int) -> float:
    """Return the mean of the trees; with a stack, of both groups, by even and odd indices."""
    n_trees = len(forest.trees)
    if forest.settings["is_stacked"]:
        return 0.5 * (
            group_mean(forest, votes, i, 0, LOCATION) + group_mean(forest, votes, i, 1, LOCATION)
        )
    total = 0.0
    for t in range(n_trees):
        total += votes[t, i, LOCATION] + trend_of(forest, votes, t, i)
    return total / n_trees


@hot
def group_mean(forest: Forest, votes: Array, i: int, first: int, which: int) -> float:
    """Return the mean of every second tree from the first on, of the only tree, or of its leaf."""
    n_trees, total, n = len(forest.trees), 0.0, 0
    for t in range(first if n_trees > 1 else 0, n_trees, 2):
        total += votes[t, i, which] + trend_of(forest, votes, t, i)
        n += 1
    return total / n


@hot
def n_voters_of(forest: Forest) -> int:
    settings = forest.settings
    return 2 + settings["n_recent"] + len(forest.trends) + 3 * settings["has_leaves"] + 1


@helper
def take_voters(
    forest: Forest, votes: Array, i: int, base: float, recent: Recent, share: float, voters: Array
) -> None:
    """Write the voters, given what was recent at the time, and how well the leaves agree."""
    voters[0] = group_mean(forest, votes, i, 0, LOCATION)
    voters[1] = group_mean(forest, votes, i, 1, LOCATION)
    n = 2
    for k in range(forest.settings["n_recent"]):
        voters[n + k] = base + recent[k]
    n += forest.settings["n_recent"]
    for k in range(len(forest.trends)):
        voters[n + k] = votes[len(forest.trees) + k, i, LOCATION]
    n += len(forest.trends)
    if forest.settings["has_leaves"]:
        voters[n] = group_mean(forest, votes, i, 0, LEAF)
        voters[n + 1] = group_mean(forest, votes, i, 1, LEAF)
        distance = 0.5 * (voters[n] + voters[n + 1]) - base
        voters[n + 2] = base + share * distance
        n += 3
    total, weight = forest.counters["stacked_targets"], forest.counters["stacked_weight"]
    voters[n] = total / weight if weight > 0.0 else 0.0


@hot
def agreement(forest: Forest, votes: Array, i: int) -> float:
    """Return how well the leaves of all trees agree, from 0 to 1; 0 if they have no vote."""
    n_trees, total, squares = len(forest.trees), 0.0, 0.0
    if not forest.settings["has_leaves"]:
        return 0.0
    first = votes[0, i, LEAF]
    for t in range(n_trees):
        distance = votes[t, i, LEAF] + trend_of(forest, votes, t, i) - first
        total += distance
        squares += distance * distance
    variance = max(squares - total * total / n_trees, 0.0) / n_trees
    unit = mean_square(forest.stacks[OF_VOTERS])
    return unit / (unit + LEAF_VARIANCE_PENALTY * variance) if unit > 0.0 else 0.0


@hot
def with_last(forest: Forest, location: float, recent: Recent) -> float:
    """Return the prediction: that of the voters, stacked with the last target if that is used."""
    if not forest.settings["has_last"]:
        return location
    last, weight = recent[2], forest.stack_weights[OF_LAST, 0]
    return last + min(max(weight, -MARGIN), 1.0 + MARGIN) * (location - last)


@hot
def recent_values(forest: Forest, lateness: float) -> Recent:
    """Return the means of recent errors, with a fast and with a slow decay, and the last target."""
    counters, kept = forest.counters, math.exp(-lateness / ERRORS_KEPT)
    fast, slow = counters["fast_weight"], counters["slow_weight"]
    return (
        kept * counters["fast_errors"] / fast if fast > 0.0 else 0.0,
        kept * counters["slow_errors"] / slow if slow > 0.0 else 0.0,
        counters["last_target"],
    )


@helper
def note_jump(forest: Forest, target: float, context: Array) -> None:
    """Let a late target count as one that came at once, if the level has jumped meanwhile."""
    if not context[layout.DELAY] > 0.0:
        return
    counters, then = forest.counters, forest.pending[int(context[layout.PENDING_SLOT])]
    error, n = target - then["location"], counters["n_jumped"]
    if abs(error) > FAR_MISS * then["spread"]:
        n += 1 if error > 0.0 else -1
    elif n != 0:
        n -= 1 if n > 0 else -1
    counters["n_jumped"] = n
    if abs(n) >= JUMP:
        context[layout.DELAY] = context[layout.LATENESS] = 0.0


@helper
def learn_vote(
    forest: Forest, votes: Array, i: int, target: float, weight: float, context: Array
) -> None:
    answer, stack, counters = forest.pooled, forest.stacks[OF_VOTERS], forest.counters
    stack["n_learned"] += 1
    if stack["n_learned"] < FEW_TARGETS:
        counters["early_least"] = min(counters["early_least"], target)
        counters["early_largest"] = max(counters["early_largest"], target)
    if stack["n_learned"] == 1:  # which was not predicted
        counters["last_target"] = target if forest.settings["has_last"] else 0.0
        return
    is_late, lateness = context[layout.DELAY] > 0.0, context[layout.LATENESS]
    recent = recent_values(forest, lateness)
    if is_late:
        then = forest.pending[int(context[layout.PENDING_SLOT])]
        recent = then["fast_error"], then["slow_error"], then["last_target"]
    pooled = combined(forest, votes, i, recent, answer)
    if is_late:
        location, scale = then["location"], then["spread"]
    else:
        location = with_last(forest, pooled, recent)
    own_scale = scale_of(forest, votes, i, location)
    if not is_late:
        scale = own_scale * widening(forest, context)
    slowed_weight = slowed(weight, context)
    if stack["n_learned"] > FEW_TARGETS:  # the first scales may be far too small
        count_kinds(forest, target - location, own_scale, slowed_weight, context)
    count_error(forest.errors, target - location, scale, slowed_weight)
    base = mean_of_trees(forest, votes, i)
    count_size(stack, target, target - base, weight)
    error = winsorized(stack, target - base)
    count_square(stack, error, weight, UNIT_DECAY)
    if forest.settings["is_stacked"]:
        learn_stack(forest, OF_VOTERS, answer, n_voters_of(forest), error, weight, lateness)
        decay, gain = decay_of(FAST_ERROR_DECAY, weight)
        counters["fast_errors"] = cleared_sum(decay * counters["fast_errors"]) + gain * error
        counters["fast_weight"] = decay * counters["fast_weight"] + gain
        decay, gain = decay_of(SLOW_ERROR_DECAY, weight)
        counters["slow_errors"] = cleared_sum(decay * counters["slow_errors"]) + gain * error
        counters["slow_weight"] = decay * counters["slow_weight"] + gain
        decay, gain = decay_of(MEAN_DECAY, weight)
        total = decay * counters["stacked_targets"] + gain * (base + error)
        counters["stacked_targets"] = cleared_sum(total)
        counters["stacked_weight"] = decay * counters["stacked_weight"] + gain
    if forest.settings["has_last"]:
        count_size(forest.stacks[OF_LAST], target, target - recent[2], weight)
        learn_last(forest, pooled - recent[2], target - recent[2], weight, lateness)
        counters["last_target"] = target


@helper
def learn_last(
    forest: Forest, distance: float, error: float, weight: float, lateness: float
) -> None:
    """Learn how far to go from the last target to the voters, given its error and the distance."""
    # Both are clipped alike, for an outlier makes the last target wrong, and both large.
    stack, distances = forest.stacks[OF_LAST], forest.pooled
    distances[0], error = winsorized(stack, distance), winsorized(stack, error)
    count_square(stack, error, weight, UNIT_DECAY)
    learn_stack(forest, OF_LAST, distances, 1, error, weight, lateness)


@hot
def count_size(stack: Record, target: float, error: float, weight: float) -> None:
    """Let the size of errors that return double if one is larger, and fade."""
    # Nothing returns from beyond LARGEST_STEP, however often, or a broken sensor is learned. Steps
    # are the unit, as errors grow with what is learned.
    growth, median = 2.0 ** min(weight, 1.0), stack["median_step"]
    step, stack["newest_target"] = abs(target - stack["newest_target"]), target
    if step > 0.0:
        factor = growth if step > median else 1.0 / growth
        stack["median_step"] = cleared_sum(factor * median) if median > 0.0 else step
    size = cleared_sum(decay_of(SIZE_DECAY, weight)[0] * stack["usual_size"])
    if abs(error) > size and step <= LARGEST_LEAP * stack["median_step"]:
        size = growth * size if size > 0.0 else abs(error)
    stack["usual_size"] = size


@hot
def winsorized(stack: Record, error: float) -> float:
    """Return an error, clipped if it is far larger than those that return."""
    limit = LARGEST_OF_SIZE * stack["usual_size"]
    return min(max(error, -limit), limit) if limit > 0.0 else error


@hot
def mean_square(stack: Record) -> float:
    return stack["error_squares"] / stack["weight"] if stack["weight"] > 0.0 else 0.0


@helper
def stacked(weights: Array, voters: Array, n: int, base: float) -> float:
    """Return the prediction of a stack of n voters; replace them by distances from the base."""
    # It may leave the range of all by MARGIN times its width.
    low = high = p = base
    for k in range(n):
        low, high = min(low, voters[k]), max(high, voters[k])
        voters[k] -= base
        p += weights[k] * voters[k]
    margin = MARGIN * (high - low)
    return min(max(p, low - margin), high + margin)


@helper
def count_square(errors: Record, error: float, weight: float, decay: float) -> None:
    kept, gain = decay_of(decay, weight)
    errors["error_squares"] = cleared_sum(kept * errors["error_squares"]) + gain * error * error
    errors["weight"] = kept * errors["weight"] + gain


@helper
def learn_stack(
    forest: Forest,
    which: int,
    distances: Array,
    n: int,
    error: float,
    weight: float,
    lateness: float,
) -> None:
    """Learn what the base has missed, given how far n voters were from it."""
    # One Gauss-Seidel sweep improves the weights.
    unit = mean_square(forest.stacks[which])
    if not unit > NO_ERRORS:
        return
    unit = 1.0 / math.sqrt(unit)
    decay, gain = decay_of(slowed_decay(STACK_DECAY, lateness), weight)
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
