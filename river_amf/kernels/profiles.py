"""Profiles: what the target is, on average, at values like that of a feature.

The range of a number is cut into 16 parts, with a mean of the targets at each of the 17 ends,
between which a profile is linear; a category has a mean of its own. All means fade, and are drawn
towards the mean of all targets where there are few (DESIGN.md: trends).
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import Array, Forest
from river_amf.kernels.compilation import helper, hot
from river_amf.kernels.fading import decay_of, settled_sum
from river_amf.kernels.intensity import LARGEST_NEWEST, N_BINS
from river_amf.layout import N_CODES

DECAY = 0.9995
WEIGHT, MEAN = 0, 1  # what is kept at each place
LARGEST_PROFILE = 4.0
LEAST_DECAY = 1e-100  # of a single sample of a large weight


@hot
def target_scale(forest: Forest) -> float:
    """The faded standard deviation of the targets."""
    counters = forest.counters[0]
    weight = counters["target_weight"]
    return math.sqrt(counters["target_squares"] / weight) if weight > 0.0 else 0.0


@hot
def place_of(forest: Forest, j: int, x: float) -> tuple[int, float]:
    """Which place a value is at, and how far on the way to the next one."""
    if forest.is_categorical[j]:
        return int(x) % N_CODES, 0.0
    low, high = forest.ranges[0, j], forest.ranges[1, j]
    place, width = 0.0, high - low
    if 0.0 < width < math.inf:
        place = min(max((x - low) / width * N_BINS, 0.0), float(N_BINS))
    k = min(int(place), N_BINS - 1)
    return k, place - k


@hot
def profile_of(forest: Forest, j: int, x: float, scale: float) -> float:
    """How far the mean target at a value is from that of all, in units of their scale."""
    if math.isnan(x) or not scale > 0.0:
        return 0.0
    k, share = place_of(forest, j, x)
    profile = (1.0 - share) * height_at(forest, j, k)
    if share > 0.0:
        profile += share * height_at(forest, j, k + 1)
    profile /= scale
    return min(max(profile, -LARGEST_PROFILE), LARGEST_PROFILE)


@hot
def height_at(forest: Forest, j: int, k: int) -> float:
    """How far the mean target at a place is from that of all, drawn towards it."""
    counters, place = forest.counters[0], forest.profiles[j, k]
    weight = place[WEIGHT]
    return weight / (weight + counters["newest_profile"]) * (place[MEAN] - counters["target_mean"])


@helper
def count_profiles(forest: Forest, x: Array, target: float, weight: float) -> None:
    """Count a target at the places of all values, and in the mean of all targets."""
    # The weight of the newest target grows, so that older ones count less.
    counters = forest.counters[0]
    kept, gain = decay_of(DECAY, weight)
    newest = counters["newest_profile"] / max(kept, LEAST_DECAY)
    n_features = forest.settings[0]["n_features"]
    for j in range(n_features):
        if not math.isnan(x[j]):
            k, share = place_of(forest, j, x[j])
            count_at(forest.profiles[j, k], target, newest * gain * (1.0 - share))
            if share > 0.0:
                count_at(forest.profiles[j, k + 1], target, newest * gain * share)
    if newest > LARGEST_NEWEST:
        for j in range(n_features):
            for k in range(N_CODES):
                forest.profiles[j, k, WEIGHT] = settled_sum(forest.profiles[j, k, WEIGHT] / newest)
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
    counters["target_squares"] = settled_sum(squares)


@hot
def count_at(place: Array, target: float, weight: float) -> None:
    """Count a target at a place."""
    if weight > 0.0:
        place[WEIGHT] += weight
        place[MEAN] += weight / place[WEIGHT] * (target - place[MEAN])
