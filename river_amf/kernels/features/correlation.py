"""The relevance of features to a real target (DESIGN.md: relevance to real targets)."""

from __future__ import annotations

import math

from river_amf.kernels.features import intensity
from river_amf.kernels.numba_tools.arrays import Array, Forest, Record
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.state.layout import N_BINS, N_BUCKETS

TARGET_MEAN, TOTAL, PRODUCT = (0, 0), (0, 1), (1, 0)  # moments: of the target, and with the value
BUCKET_WEIGHT, BUCKET_MEAN = 0, 1  # what a bucket has of its targets
FLOOR = 0.006  # of relevance
LARGEST_SPREAD = 1e110  # of deviations whose products can be summed


@helper
def weigh_features(forest: Forest, x: Array, target: float, weight: float) -> None:
    """Weight each intensity by relative relevance (mean 1), then update relevance by a sample."""
    counters = forest.counters
    newest_weight = intensity.capped_weight(weight) * counters["newest_weight"]
    weigh_for(forest, 0, x, forest.features, forest.moments, forest.buckets, target, newest_weight)
    if len(forest.residual_features) > 0:  # half of the trees learn residuals
        features, moments = forest.residual_features, forest.residual_moments
        residual = forest.tree_targets[1]
        weigh_for(forest, 1, x, features, moments, forest.residual_buckets, residual, newest_weight)
    counters["newest_weight"] /= 1.0 - 1.0 / intensity.RELEVANCE_MEMORY
    newest = counters["newest_weight"]
    if newest > intensity.LARGEST_NEWEST:
        rescale_statistics(forest.features, forest.moments, forest.buckets, newest)
        rescale_statistics(
            forest.residual_features, forest.residual_moments, forest.residual_buckets, newest
        )
        counters["newest_weight"] = 1.0


@helper
def weigh_for(
    forest: Forest,
    tree_target: int,
    x: Array,
    features: Array,
    moments: Array,
    buckets: Array,
    target: float,
    weight: float,
) -> None:
    scale = intensity.relevance_scale(forest, features, FLOOR)
    for j in range(forest.settings["n_features"]):
        feature = features[j]
        low, high = forest.ranges[0, j], forest.ranges[1, j]
        value = intensity.filled(forest, j, x[j])
        base = intensity.weigh_feature(
            forest, tree_target, j, scale * (FLOOR + feature["relevance"])
        )
        if math.isnan(value) or not (forest.is_categorical[j] or low <= value <= high):
            continue
        if forest.is_categorical[j]:
            k, value = int(value) % N_BUCKETS, feature["mean"]
        else:
            position = (value - low) * base * N_BINS  # infinite if the width exceeds float64
            k = int(position) if position < N_BINS else N_BINS - 1
        measure_pair(feature, moments[j], value, target, weight)
        count_target_in(feature, buckets[j, k], target, weight)
        feature["relevance"] = relevance_of(feature, moments[j])


@hot
def measure_pair(
    feature: Record, moments: Array, value: float, target: float, weight: float
) -> None:
    """Update the sums of squares and products of a value and its target, as in West (1979)."""
    # But without the differences from the new means, which may cancel.
    before = feature["weight"]
    feature["weight"] = before + weight
    feature["squares"] += weight * weight
    share = weight / feature["weight"]
    gain = weight * (before / feature["weight"])
    deviation, target_deviation = value - feature["mean"], target - moments[TARGET_MEAN]
    if max(abs(deviation), abs(target_deviation)) >= LARGEST_SPREAD:
        return
    feature["mean"] += share * deviation
    moments[TARGET_MEAN] += share * target_deviation
    feature["total"] += gain * deviation * deviation
    moments[TOTAL] += gain * target_deviation * target_deviation
    moments[PRODUCT] += gain * deviation * target_deviation


@hot
def count_target_in(feature: Record, bucket: Array, target: float, weight: float) -> None:
    before = bucket[BUCKET_WEIGHT]
    feature["n_used"] += before == 0.0
    bucket[BUCKET_WEIGHT] = before + weight
    deviation = target - bucket[BUCKET_MEAN]
    if abs(deviation) < LARGEST_SPREAD:
        bucket[BUCKET_MEAN] += deviation * (weight / bucket[BUCKET_WEIGHT])
        feature["within"] += weight * (before / bucket[BUCKET_WEIGHT]) * deviation * deviation


@hot
def relevance_of(feature: Record, moments: Array) -> float:
    total = moments[TOTAL]
    if not total > 0.0:
        return 0.0
    ratio = min(max(1.0 - feature["within"] / total, 0.0), 1.0)
    n_samples = feature["weight"] * (feature["weight"] / feature["squares"])
    n_used = feature["n_used"]
    ratio -= (1.0 - ratio) * (n_used - 1.0) / max(n_samples - n_used, 1.0)
    correlation = 0.0
    if feature["total"] > 0.0:
        correlation = moments[PRODUCT] / feature["total"] * (moments[PRODUCT] / total)
    return min(max(ratio, correlation, 0.0), 1.0)


@helper
def rescale_statistics(features: Array, moments: Array, buckets: Array, factor: float) -> None:
    for j in range(len(features)):
        feature = features[j]
        feature["weight"] = intensity.scaled_down(feature["weight"], factor)
        feature["squares"] /= factor
        feature["squares"] /= factor
        feature["total"] /= factor
        feature["within"] /= factor
        moments[j][TOTAL] /= factor
        moments[j][PRODUCT] /= factor
        feature["n_used"] = 0.0
        for k in range(N_BUCKETS):
            weight = intensity.scaled_down(buckets[j, k, BUCKET_WEIGHT], factor)
            buckets[j, k, BUCKET_WEIGHT] = weight
            feature["n_used"] += weight > 0.0
