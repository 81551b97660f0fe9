"""Trends: two ridge regressions beside the trees of a regression (DESIGN.md: trends)."""

from __future__ import annotations

import math

from river_amf.kernels.features.covariance import (
    begin_covariance,
    clear_negligible,
    multiply,
    shrink,
)
from river_amf.kernels.features.fading import LEAST_DECAY, cleared_sum, decay_of, kept_share
from river_amf.kernels.features.intensity import LARGEST_NEWEST
from river_amf.kernels.features.quantiles import category_index
from river_amf.kernels.features.standardization import count_cosines, take_cosines
from river_amf.kernels.lateness import slowed_decay
from river_amf.kernels.numba_tools.arrays import Array, Forest, dot
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.kernels.regression.target_pool import (
    OF_TRENDS,
    UNIT_DECAY,
    count_size,
    count_square,
    learn_stack,
    stacked,
    winsorized,
)
from river_amf.state.layout import LATENESS, LOCATION, MOST_TREND_FEATURES, N_BINS, N_TRENDS

# The rows of terms of a sample. RAW: the cosines. SMOOTH_TERMS: 1, the standardized cosines, the
# standardized features. FAST_TERMS: 1, and for each feature its standardized value and its profile.
# The others are scratch.
RAW, SMOOTH_TERMS, FAST_TERMS, VOTERS, STEP, SCALE = 0, 1, 2, 3, 4, 5
FAST, SMOOTH = 0, 1  # the trends
N_VOTERS = N_TRENDS + 1  # of the stack: the mean of the targets is one, too
FAST_DECAY, SMOOTH_DECAY = 0.99, 0.9998
PROFILE_COEFFICIENT_DECAY = 0.999  # or old ones would hold back the fast trend
VARIANCE_OF_CONSTANT = 1000.0  # at first, as the first target may be far from all others
COSINE_SCALE = 0.25

PROFILE_DECAY = 0.9995
WEIGHT, MEAN = 0, 1  # what a profile keeps at each knot
LARGEST_PROFILE = 4.0


@helper
def follow_trends(
    forest: Forest,
    x: Array,
    z: Array,
    terms: Array,
    votes: Array,
    i: int,
    predicts: bool,
    learns: bool,
    target: float,
    weight: float,
    context: Array,
) -> None:
    """Write what the trends and their stack predict for a sample, and then learn it."""
    # If it has been predicted before, its terms and votes are there. The tree targets become the
    # winsorized target, and its residual after the trend.
    n_trees, voters, stack = len(forest.trees), terms[VOTERS], forest.stacks[OF_TRENDS]
    if predicts:
        take_cosines(forest, 0, COSINE_SCALE, z, terms[RAW], terms[SMOOTH_TERMS], 1)
        take_terms(forest, x, z, 0, len(x), terms)
        for k in range(N_TRENDS):
            p, least = predict_trend(forest, k, terms), forest.counters["least_target"]
            p = min(max(p, least), forest.counters["largest_target"])
            votes[n_trees + k, i, LOCATION] = p
        base = take_voters(forest, votes, i, voters)
        weights = forest.stack_weights[OF_TRENDS]
        votes[n_trees + N_TRENDS, i, LOCATION] = stacked(weights, voters, N_VOTERS, base)
    if learns:
        trend = votes[n_trees + N_TRENDS, i, LOCATION]
        count_size(stack, target, target - trend, weight)
        target = trend + winsorized(stack, target - trend)
        forest.tree_targets[0], forest.tree_targets[1] = target, target - trend
        counters, smooth = forest.counters, forest.trends[SMOOTH]
        lateness = context[LATENESS]
        if smooth["n_learned"] > 0:  # else it had no prediction
            count_square(stack, target - trend, weight, UNIT_DECAY)
            base = take_voters(forest, votes, i, voters)
            for k in range(N_VOTERS):
                voters[k] -= base
            learn_stack(forest, OF_TRENDS, voters, N_VOTERS, target - base, weight, lateness)
        counters["least_target"] = min(counters["least_target"], target)
        counters["largest_target"] = max(counters["largest_target"], target)
        for k in range(N_TRENDS):
            learn_trend(forest, k, terms, target, weight, lateness)
        count_profiles(forest, x, target, weight)
        count_cosines(forest, 0, terms[RAW], smooth["n_learned"])
        smooth["n_learned"] += 1


@hot
def take_terms(forest: Forest, x: Array, z: Array, start: int, end: int, terms: Array) -> None:
    """Write the terms of some features, all others 0."""
    # Features from the 65th on are folded upon the first ones, which bounds the time.
    smooth, fast, n_own = terms[SMOOTH_TERMS], terms[FAST_TERMS], n_own_of(forest)
    first = 1 + forest.settings["n_cosines"]
    smooth[0] = fast[0] = 1.0
    for q in range(n_own):
        smooth[first + q] = fast[1 + 2 * q] = fast[2 + 2 * q] = 0.0
    scale, n_before = target_scale(forest), 0  # categorical features before this one
    for j in range(end):
        q, sign = j % MOST_TREND_FEATURES, 1.0 if (j // MOST_TREND_FEATURES) % 2 == 0 else -1.0
        means = forest.profiles[j]
        if forest.is_categorical[j]:
            means = forest.category_profiles[n_before]
            n_before += 1
        if j < start:
            continue
        smooth[first + q] += sign * z[j]
        fast[1 + 2 * q] += sign * z[j]
        fast[2 + 2 * q] += sign * profile_of(forest, means, j, x[j], scale)


@hot
def n_own_of(forest: Forest) -> int:
    """Return how many features have inputs of their own."""
    return min(forest.settings["n_features"], MOST_TREND_FEATURES)


@hot
def predict_trend(forest: Forest, k: int, terms: Array) -> float:
    """Return the prediction of a trend, which may leave the range of the targets."""
    settings, n_own = forest.settings, n_own_of(forest)
    if k == SMOOTH:
        return dot(forest.smooth[0], terms[SMOOTH_TERMS], 1 + settings["n_cosines"] + n_own)
    return dot(forest.fast[0], terms[FAST_TERMS], 1 + 2 * n_own)


@hot
def take_voters(forest: Forest, votes: Array, i: int, voters: Array) -> float:
    """Write the voters of the stack; return its base, the mean of the trends."""
    base = 0.0
    for k in range(N_TRENDS):
        voters[k] = votes[len(forest.trees) + k, i, LOCATION]
        base += voters[k]
    voters[N_TRENDS] = forest.counters["target_mean"]
    return base / N_TRENDS


@helper
def learn_trend(
    forest: Forest, k: int, terms: Array, target: float, weight: float, lateness: float
) -> None:
    decay, n, x = slowed_decay(FAST_DECAY, lateness), 1 + 2 * n_own_of(forest), terms[FAST_TERMS]
    coefficients, covariance = forest.fast[0], forest.fast_covariance
    if k == SMOOTH:
        n = 1 + forest.settings["n_cosines"] + n_own_of(forest)
        decay, x = SMOOTH_DECAY, terms[SMOOTH_TERMS]
        coefficients, covariance = forest.smooth[0], forest.smooth_covariance
    step = terms[STEP]
    multiply(covariance, VARIANCE_OF_CONSTANT, x, n, step)
    variance = dot(x, step, n)
    if not 0.0 <= variance < math.inf:
        begin_covariance(covariance)
        return
    gain = weight / (1.0 + weight * variance)
    size = gain * (target - dot(coefficients, x, n))
    for a in range(n):
        coefficients[a] += size * step[a]
    if k == FAST:
        faded = decay_of(PROFILE_COEFFICIENT_DECAY, weight)[0]
        for a in range(2, n, 2):
            coefficients[a] = cleared_sum(faded * coefficients[a])
    kept = kept_share(decay, weight)
    shrink(covariance, VARIANCE_OF_CONSTANT, step, gain, kept, n, terms[SCALE])


@hot
def target_scale(forest: Forest) -> float:
    """Return the faded standard deviation of the targets."""
    counters = forest.counters
    weight = counters["target_weight"]
    return math.sqrt(counters["target_squares"] / weight) if weight > 0.0 else 0.0


@hot
def knot_below(forest: Forest, j: int, x: float) -> tuple[int, float]:
    """Return which knot a value is at, and how far on the way to the next one."""
    if forest.is_categorical[j]:
        return category_index(x), 0.0
    low, high = forest.ranges[0, j], forest.ranges[1, j]
    position, width = 0.0, high - low
    if 0.0 < width < math.inf:
        position = min(max((x - low) / width * N_BINS, 0.0), float(N_BINS))
    k = min(int(position), N_BINS - 1)
    return k, position - k


@hot
def profile_of(forest: Forest, means: Array, j: int, x: float, scale: float) -> float:
    """Return how far the mean target at a value is from that of all, in units of their scale."""
    if math.isnan(x) or not scale > 0.0:
        return 0.0
    k, share = knot_below(forest, j, x)
    if k >= len(means):  # a category that has not been learned
        return 0.0
    profile = (1.0 - share) * height_of(forest, means[k])
    if share > 0.0:
        profile += share * height_of(forest, means[k + 1])
    profile /= scale
    return min(max(profile, -LARGEST_PROFILE), LARGEST_PROFILE)


@hot
def height_of(forest: Forest, knot: Array) -> float:
    """Return how far the mean target at a knot is from that of all, drawn toward it."""
    counters, weight = forest.counters, knot[WEIGHT]
    return weight / (weight + counters["newest_profile"]) * (knot[MEAN] - counters["target_mean"])


@helper
def count_profiles(forest: Forest, x: Array, target: float, weight: float) -> None:
    """Count a target at the knots of all values, and in the mean of all targets."""
    # The weight of the newest target grows, so that older ones count less.
    counters = forest.counters
    kept, gain = decay_of(PROFILE_DECAY, weight)
    newest = counters["newest_profile"] / max(kept, LEAST_DECAY)
    n_before = 0  # categorical features before this one
    for j in range(forest.settings["n_features"]):
        means = forest.profiles[j]
        if forest.is_categorical[j]:
            means = forest.category_profiles[n_before]
            n_before += 1
        if not math.isnan(x[j]):
            k, share = knot_below(forest, j, x[j])
            count_in(means[k], target, newest * gain * (1.0 - share))
            if share > 0.0:
                count_in(means[k + 1], target, newest * gain * share)
    if newest > LARGEST_NEWEST:
        scale_down(forest.profiles, newest)
        scale_down(forest.category_profiles, newest)
        clear_negligible(forest.fast_covariance)
        clear_negligible(forest.smooth_covariance)
        newest = 1.0
    counters["newest_profile"] = newest
    before = kept * counters["target_weight"]
    if before + gain == 0.0:  # a weight too small for float64
        return
    counters["target_weight"] = before + gain
    deviation = target - counters["target_mean"]
    counters["target_mean"] += gain / (before + gain) * deviation
    squares = kept * counters["target_squares"]
    squares += gain * (before / (before + gain)) * deviation * deviation
    counters["target_squares"] = cleared_sum(squares)


@helper
def scale_down(profiles: Array, factor: float) -> None:
    for j in range(len(profiles)):
        for k in range(profiles.shape[1]):
            profiles[j, k, WEIGHT] = cleared_sum(profiles[j, k, WEIGHT] / factor)


@hot
def count_in(knot: Array, target: float, weight: float) -> None:
    if weight > 0.0:
        knot[WEIGHT] += weight
        knot[MEAN] += weight / knot[WEIGHT] * (target - knot[MEAN])
