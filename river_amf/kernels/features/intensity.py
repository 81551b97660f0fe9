"""Split intensity: how readily a feature is split, given its range and its relevance.

The range follows from the first values, and from how many later ones are far outside (DESIGN.md:
outliers). Relevance is tau (DESIGN.md: relevance); `correlation` has that of a real target.
"""

from __future__ import annotations

import math

from river_amf.kernels.features.standardization import forget_standards
from river_amf.kernels.numba_tools.arrays import LARGEST_FLOAT, Array, Forest, Record
from river_amf.kernels.numba_tools.compilation import extra, helper, hot
from river_amf.state.layout import N_BINS, N_BUCKETS, N_RECENT

FAR = 30.0  # a value may be an outlier if it is this many times the width of the range outside it
MAX_DROPPED = 2  # most outliers at each end of the values that a range follows from
CREDIT_NEEDED = 5.0  # the number of values far outside that makes the range wider
CREDIT_LOST = 0.05  # what each value inside the range takes from that credit

RELEVANCE_MEMORY = 400.0  # the number of samples that relevance averages over
RELEVANCE_FLOOR = 0.003
LEAST_CAPPED, LARGEST_CAPPED = 1e-60, 1e6  # bounds of a sample's weight
LARGEST_NEWEST = 1e60  # the weight of the newest sample at which all weights are scaled down
LEAST_PAST = 1e-150  # smaller sums of weights become 0, as their squares would be subnormal
ABSENCE_STEP = 1.0 / 1024.0  # a missing number is less than its only value by this share


@hot
def filled(forest: Forest, j: int, value: float) -> float:
    """Return a value of feature j, or its stand-in if it is missing (NaN if there is none)."""
    return forest.stand_ins[j] if math.isnan(value) else value


@hot
def clip_outliers(forest: Forest, values: Array, n_features: int, out: Array) -> None:
    """Copy a sample, fill in missing values, and clip outliers to the ends of the range."""
    for j in range(n_features):
        value = filled(forest, j, values[j])
        value = forest.ranges[0, j] if value < forest.limits[0, j] else value
        out[j] = forest.ranges[1, j] if value > forest.limits[1, j] else value


@helper
def update_intensity(forest: Forest, x: Array) -> None:
    """Update the split intensities for a sample to be learned, and count its values."""
    # From the ranges with the sample, and the relevance without it (DESIGN.md: split intensity).
    settings = forest.settings
    for j in range(settings["n_features"]):
        value, feature = x[j], forest.features[j]
        is_missing = math.isnan(value)
        feature["n_missing"] += is_missing
        if forest.is_categorical[j]:
            continue
        if is_missing:
            if forest.stand_ins[j] < forest.ranges[0, j]:
                set_range(forest, j, forest.stand_ins[j], forest.ranges[1, j])
        else:
            update_stand_in(forest, j, value)
            is_inside_range = forest.ranges[0, j] <= value <= forest.ranges[1, j]
            if feature["n_recent"] < N_RECENT or not is_inside_range:
                take_range(forest, j, value)
            elif feature["credit"] > 0.0:
                feature["credit"] = max(0.0, feature["credit"] - CREDIT_LOST)


@hot
def update_stand_in(forest: Forest, j: int, value: float) -> None:
    """Update a stand-in before the range is extended to a value (DESIGN.md: missing values)."""
    # Just below the only value; none once there are two, which resets statistics that include it.
    low, high = forest.ranges[0, j], forest.ranges[1, j]
    if forest.features[j]["n_recent"] == 0:
        if forest.settings["n_words"] == 0:
            step = ABSENCE_STEP * abs(value) if value != 0.0 else ABSENCE_STEP
            forest.stand_ins[j] = max(value - step, -LARGEST_FLOAT)
    elif not math.isnan(forest.stand_ins[j]) and value != high:
        forest.stand_ins[j] = math.nan
        if low < high:
            forest.ranges[0, j] = high
            forget_feature(forest, j)


@helper
def take_range(forest: Forest, j: int, value: float) -> None:
    """Extend the range of a feature to a value, unless it may be an outlier."""
    # Of the first values, outliers are dropped; later values far outside have to be frequent.
    feature = forest.features[j]
    low, high = forest.ranges[0, j], forest.ranges[1, j]
    if feature["n_recent"] == N_RECENT and max(low - value, value - high) > FAR * (high - low):
        feature["credit"] += 1.0
        if feature["credit"] < CREDIT_NEEDED:
            return
        feature["credit"] = 0.0
    low = min(low, value) if low <= high else value
    high = max(high, value) if low <= high else value
    n_recent = feature["n_recent"]
    if n_recent < N_RECENT:
        recent = forest.recent[j]
        recent[n_recent] = value
        feature["n_recent"] = n_recent + 1
        if n_recent + 1 == N_RECENT:
            least, largest = inner_range(recent)
            if recent[MAX_DROPPED] == recent[N_RECENT - 1 - MAX_DROPPED]:  # nearly constant
                recent[1] = recent[N_RECENT - 1]  # the ends of what is now sorted
                feature["n_recent"] = 2
            elif least > low or largest < high:
                low, high = least, largest
                forget_feature(forest, j)
    set_range(forest, j, low, high)


@helper
def set_range(forest: Forest, j: int, low: float, high: float) -> None:
    """Set the range of a feature, and its split intensity and limits by range."""
    forest.ranges[0, j], forest.ranges[1, j] = low, high
    if forest.settings["range_intensity"]:
        for row in range(len(forest.intensity)):
            forest.intensity[row, j] = range_intensity(low, high)
        if forest.features[j]["n_recent"] == N_RECENT and high > low:
            reach = FAR * min(high - low, LARGEST_FLOAT)
            forest.limits[0, j], forest.limits[1, j] = low - reach, high + reach


@hot
def range_intensity(low: float, high: float) -> float:
    return min(1.0 / min(high - low, LARGEST_FLOAT), LARGEST_FLOAT) if high > low else 0.0


@helper
def inner_range(values: Array) -> tuple[float, float]:
    """Sort values, and return the smallest and the largest of those that are not outliers."""
    # Up to MAX_DROPPED values at each end are outliers if they are far from the others.
    for i in range(1, len(values)):
        value, k = values[i], i
        while k > 0 and values[k - 1] > value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value
    first, last = 0, len(values) - 1
    width = values[last - MAX_DROPPED] - values[MAX_DROPPED]
    for k in range(1, MAX_DROPPED + 1):
        if width > 0.0 and values[k] - values[k - 1] > FAR * width:
            first = k
        if width > 0.0 and values[-k] - values[-k - 1] > FAR * width:
            last = len(values) - 1 - k
    return values[first], values[last]


@extra
@helper
def forget_feature(forest: Forest, j: int) -> None:
    forget_relevance(forest.features[j], forest.moments[j], forest.buckets[j])
    if len(forest.residual_features) > 0:
        moments, buckets = forest.residual_moments[j], forest.residual_buckets[j]
        forget_relevance(forest.residual_features[j], moments, buckets)
    for k in range(N_BINS + 1 if len(forest.profiles) > 0 else 0):
        forest.profiles[j, k, 0] = forest.profiles[j, k, 1] = 0.0
    forget_standards(forest, j)


@helper
def forget_relevance(feature: Record, moments: Array, buckets: Array) -> None:
    feature["weight"] = 0.0
    feature["squares"] = 0.0
    feature["mean"] = 0.0
    feature["total"] = 0.0
    feature["within"] = 0.0
    feature["explained"] = 0.0
    feature["n_used"] = 0.0
    feature["relevance"] = 0.0
    for c in range(len(moments)):
        moments[c, 0] = 0.0
        moments[c, 1] = 0.0
        for k in range(N_BUCKETS):
            buckets[k, c] = 0.0


@helper
def weigh_features(forest: Forest, x: Array, target: float, weight: float) -> None:
    """Weight each intensity by relative relevance (mean 1), then update relevance by a sample."""
    # Older samples count less because the weight of the newest one keeps growing.
    settings, counters = forest.settings, forest.counters
    n_features, n_classes, label = settings["n_features"], settings["n_classes"], int(target)
    scale = relevance_scale(forest, forest.features, RELEVANCE_FLOOR)
    newest = counters["newest_weight"]
    newest_weight = capped_weight(weight) * newest
    for j in range(n_features):
        feature = forest.features[j]
        low, high = forest.ranges[0, j], forest.ranges[1, j]
        value = filled(forest, j, x[j])
        base = weigh_feature(forest, 0, j, scale * (RELEVANCE_FLOOR + feature["relevance"]))
        if math.isnan(value) or not (forest.is_categorical[j] or low <= value <= high):
            continue
        moments = forest.moments[j]
        moments[label, 0] += newest_weight
        if forest.is_categorical[j]:
            k = int(value) % N_BUCKETS
        else:
            position = (value - low) * base * N_BINS  # infinite if the width exceeds float64
            k = int(position) if position < N_BINS else N_BINS - 1
        bucket = forest.buckets[j, k]
        tau = count_bucket(feature, moments, bucket, n_classes, label, newest_weight)
        feature["relevance"] = min(tau, 1.0)
    counters["newest_weight"] = newest / (1.0 - 1.0 / RELEVANCE_MEMORY)
    if counters["newest_weight"] > LARGEST_NEWEST:
        rescale_statistics(forest, counters["newest_weight"])
        counters["newest_weight"] = 1.0


@hot
def capped_weight(weight: float) -> float:
    return max(min(weight, LARGEST_CAPPED), LEAST_CAPPED)


@hot
def relevance_scale(forest: Forest, features: Array, floor: float) -> float:
    """Return one over the mean relevance of the features, floor included."""
    n_features, total = forest.settings["n_features"], 0.0
    for j in range(n_features):
        total += floor + features[j]["relevance"]
    return n_features / total if n_features > 0 else 0.0


@hot
def weigh_feature(forest: Forest, tree_target: int, j: int, factor: float) -> float:
    """Weight the intensity of a feature by its relative relevance; return it without that."""
    is_categorical = forest.is_categorical[j]
    base = 1.0 if is_categorical else range_intensity(forest.ranges[0, j], forest.ranges[1, j])
    forest.intensity[tree_target, j] = min(base * factor, LARGEST_FLOAT)
    return base


@hot
def count_bucket(
    feature: Record, moments: Array, bucket: Array, n_classes: int, label: int, weight: float
) -> float:
    """Count a value in its bucket; return Goodman and Kruskal's tau, corrected for chance."""
    # Tau is the correlation ratio of the label's indicators given the bucket, (E - G) / (1 - G),
    # E = sum_k sum_c N_kc^2 / N_k / N and G = sum_c N_c^2 / N^2. `moments` includes this sample.
    feature["weight"] += weight
    feature["squares"] += weight * weight
    total = feature["weight"]
    size, squares, by_chance = 0.0, 0.0, 0.0
    for c in range(n_classes):
        size += bucket[c]
        squares += bucket[c] * bucket[c]
        by_chance += moments[c, 0] * moments[c, 0]
    by_chance /= total * total
    if size > 0.0:
        feature["explained"] -= squares / size
    else:
        feature["n_used"] += 1.0
    squares += weight * (2.0 * bucket[label] + weight)
    bucket[label] += weight
    feature["explained"] += squares / (size + weight)
    if by_chance >= 1.0 - 1e-12:
        return 0.0
    tau = (feature["explained"] / total - by_chance) / (1.0 - by_chance)
    n_samples = total * (total / feature["squares"])
    surplus = (1.0 - tau) * (feature["n_used"] - 1.0) / max(n_samples - feature["n_used"], 1.0)
    return max(tau - surplus, 0.0)


@hot
def scaled_down(weight: float, factor: float) -> float:
    # Subnormal squares would be a hundred times as slow. A new sample weighs 1e-60 at least.
    weight /= factor
    return weight if weight > LEAST_PAST else 0.0


@helper
def rescale_statistics(forest: Forest, factor: float) -> None:
    for j in range(forest.settings["n_features"]):
        feature = forest.features[j]
        feature["weight"] = scaled_down(feature["weight"], factor)
        feature["squares"] /= factor
        feature["squares"] /= factor
        feature["explained"] /= factor
        for c in range(forest.moments.shape[1]):
            forest.moments[j, c, 0] = scaled_down(forest.moments[j, c, 0], factor)
            for k in range(N_BUCKETS):
                forest.buckets[j, k, c] = scaled_down(forest.buckets[j, k, c], factor)
        feature["n_used"] = 0.0
        for k in range(N_BUCKETS):
            size = 0.0
            for c in range(forest.moments.shape[1]):
                size += forest.buckets[j, k, c]
            feature["n_used"] += size > 0.0
