"""Additive experts: linear models that learn with a covariance (DESIGN.md: additive experts).

A sample moves their weights by a Newton step; their covariance is the same for all labels. The
inputs are 1, and then by feature its standardized value, its profile, which is how frequent a label
is at values like its own, and in the second one some cosines. Only profiles differ between labels.
"""

from __future__ import annotations

import math

from river_amf.kernels.classification.softmax import TINY_ERROR
from river_amf.kernels.features.covariance import (
    begin_covariance,
    clear_negligible,
    multiply,
    shrink,
)
from river_amf.kernels.features.fading import LEAST_DECAY, cleared_sum, decay_of, kept_share
from river_amf.kernels.features.intensity import LARGEST_NEWEST
from river_amf.kernels.features.quantiles import FIRST_VALUE
from river_amf.kernels.features.standardization import count_cosines
from river_amf.kernels.numba_tools.arrays import Array, Forest, dot
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.state import layout
from river_amf.state.layout import MOST_TERMS, N_ADDITIVE, N_COMMON

ADDITIVE, SMOOTH, RAW, COSINES = 0, 1, 2, 3  # rows of the inputs; the others are profiles by label

COUNT_DECAY = 0.9995  # of the counts of labels in bins
PRIOR = 5.0  # weight of the overall frequencies in each bin, in samples
LEAST_SHARE = 1e-4  # of a label
COSINE_SCALE = 0.25

EVIDENCE_DECAY = 0.9998
VARIANCE_OF_CONSTANT = 1.0  # at first
LEAST_CURVATURE = 0.001

COMMON, STEP, OWN, SCALE = 0, 1, 2, 3  # rows of scratch space

SLOW_ROW, FAST_ROW, BINS = 0, 1, 2  # rows of a standardized sample

start_of_term = hot(layout.start_of_term)
n_profiles_of, input_at = hot(layout.n_profiles_of), hot(layout.input_at)


@helper
def count_labels(
    forest: Forest, standardized: Array, inputs: Array, label: int, weight: float
) -> None:
    count_bins(forest, standardized[BINS], label, weight)
    model = forest.linear_models[len(forest.linear_models) - 1]
    count_cosines(forest, 0, inputs[RAW], model["n_learned"])
    model["n_learned"] += 1


@hot
def n_terms_of(forest: Forest) -> int:
    return min(forest.settings["n_features"], MOST_TERMS)


@hot
def n_cosines_of(forest: Forest, k: int) -> int:
    return forest.settings["n_cosines"] if k == SMOOTH else 0


@helper
def take_inputs(
    forest: Forest,
    standardized: Array,
    start: int,
    end: int,
    perceptron_inputs: Array,
    inputs: Array,
) -> None:
    """Write the inputs of some features, all others 0: common ones, and profiles."""
    # Features from the 33rd on are added to the first ones, which bounds the time.
    z, fast, bins = standardized[SLOW_ROW], standardized[FAST_ROW], standardized[BINS]
    for i in range(len(perceptron_inputs)):
        perceptron_inputs[i] = 0.0
    settings, n_terms = forest.settings, n_terms_of(forest)
    n_labels, newest = settings["n_labels"], forest.counters["newest_profile"]
    overall = forest.label_shares
    for k in range(N_ADDITIVE):
        inputs[k, 0] = 1.0
        for q in range(n_terms):
            first = start_of_term(n_cosines_of(forest, k), q)
            inputs[k, first] = inputs[k, first + 1] = 0.0
            for i in range(first + 2, start_of_term(n_cosines_of(forest, k), q + 1)):
                inputs[k, i] = inputs[COSINES, i - 2 * q - 3]
    total = n_labels * newest
    for c in range(n_labels):
        total += forest.label_counts[c]
        for q in range(n_terms):
            inputs[N_COMMON + c, q] = 0.0
    for c in range(n_labels):
        overall[0, c] = (forest.label_counts[c] + newest) / total
        overall[1, c] = log_odds(overall[0, c])
    n_before = 0  # categorical features before this one
    for j in range(end):
        q, counts = j % MOST_TERMS, forest.bin_counts[j]
        numbers, n_components = forest.input_numbers[j], 0
        if forest.is_categorical[j]:
            counts = forest.category_counts[n_before]
            n_before += 1
            n_components = n_profiles_of(n_labels)
        if j < start:
            continue
        for k in range(N_ADDITIVE):
            inputs[k, start_of_term(n_cosines_of(forest, k), q)] += z[j]
        if n_components == 0:
            perceptron_inputs[input_at(numbers[0])] += z[j]
            perceptron_inputs[input_at(numbers[1])] += fast[j]
        b = int(bins[j])
        if not 0 <= b < len(counts):  # unknown
            continue
        row, n = counts[b], 0.0
        for c in range(n_labels):
            n += row[c]
        for c in range(n_labels if n > 0.0 else 0):
            share = (row[c] + PRIOR * newest * overall[0, c]) / (n + PRIOR * newest)
            profile = log_odds(share) - overall[1, c]
            inputs[N_COMMON + c, q] += profile
            if c < n_components:
                perceptron_inputs[input_at(numbers[c])] += profile


@hot
def log_odds(p: float) -> float:
    """Return log(p / (1 - p)) of a probability that is moved away from 0 and 1."""
    p = min(max(p, LEAST_SHARE), 1.0 - LEAST_SHARE)
    return math.log(p / (1.0 - p))


@hot
def predict_additive(forest: Forest, k: int, inputs: Array, vote: Array) -> None:
    """Write the scores of an additive expert for the labels seen so far."""
    n_labels, n_terms = forest.settings["n_labels"], n_terms_of(forest)
    weights, _ = arrays_of_expert(forest, k)
    n_cosines = n_cosines_of(forest, k)
    for c in range(n_labels):
        score = dot(weights[c], inputs[k], start_of_term(n_cosines, n_terms))
        for q in range(n_terms):
            score += weights[c, start_of_term(n_cosines, q) + 1] * inputs[N_COMMON + c, q]
        vote[c] = score


@hot
def arrays_of_expert(forest: Forest, k: int) -> tuple[Array, Array]:
    if k == ADDITIVE:
        return forest.additive_weights, forest.additive_covariance
    return forest.smooth_weights, forest.smooth_covariance


@helper
def learn_additive(
    forest: Forest, k: int, inputs: Array, vote: Array, label: int, weight: float
) -> None:
    n_labels, n_terms = forest.settings["n_labels"], n_terms_of(forest)
    weights, covariance = arrays_of_expert(forest, k)
    n_cosines, gain = n_cosines_of(forest, k), 0.0
    n = start_of_term(n_cosines, n_terms)
    common, step, own = forest.steps[COMMON], forest.steps[STEP], forest.steps[OWN]
    has_common = False
    for c in range(n_labels):
        p = math.exp(vote[c])
        error = (c == label) - p
        if abs(error) < TINY_ERROR:
            continue
        if not has_common:
            multiply(covariance, VARIANCE_OF_CONSTANT, inputs[k], n, common)
            has_common = True
        x, terms = inputs[k], inputs[N_COMMON + c]
        variance = add_terms(covariance, n_cosines, common, x, terms, n_terms, step)
        if not 0.0 <= variance < math.inf:
            begin_covariance(covariance)
            return
        curvature = weight * max(p * (1.0 - p), LEAST_CURVATURE)
        damping = 1.0 + curvature * variance
        size = weight * error / damping
        for a in range(n):
            weights[c, a] += size * step[a]
        if c == label:
            gain = curvature / damping
            for a in range(n):
                own[a] = step[a]
    if gain > 0.0:
        kept = kept_share(EVIDENCE_DECAY, weight)
        shrink(covariance, VARIANCE_OF_CONSTANT, own, gain, kept, n, forest.steps[SCALE])


@helper
def add_terms(
    covariance: Array,
    n_cosines: int,
    common: Array,
    x: Array,
    terms: Array,
    n_terms: int,
    out: Array,
) -> float:
    """Write the product S x with the profiles of a label in x; return x'S x."""
    n = start_of_term(n_cosines, n_terms)
    for a in range(n):
        out[a] = common[a]
    for q in range(n_terms):
        term, a = terms[q], start_of_term(n_cosines, q) + 1
        if term == 0.0:
            continue
        start = a * (a + 1) // 2
        row = covariance[start:]
        for b in range(a + 1):
            out[b] += term * row[b]
        for b in range(a + 1, n):
            start += b
            out[b] += term * covariance[start + a]
    variance = dot(x, out, n)
    for q in range(n_terms):
        variance += terms[q] * out[start_of_term(n_cosines, q) + 1]
    return variance


@helper
def count_bins(forest: Forest, bins: Array, label: int, weight: float) -> None:
    # The weight of the newest label grows, so that older ones count less.
    counters = forest.counters
    kept, gain = decay_of(COUNT_DECAY, weight)
    newest = counters["newest_profile"] / max(kept, LEAST_DECAY)
    gain *= newest
    forest.label_counts[label] += gain
    n_before = 0  # categorical features before this one
    for j in range(forest.settings["n_features"]):
        k, counts = int(bins[j]), forest.bin_counts[j]
        if forest.is_categorical[j]:
            counts = forest.category_counts[n_before]
            n_before += 1
        if k == FIRST_VALUE:
            k = 0
            scale_counts(counts, math.inf)
        if 0 <= k < len(counts):
            counts[k, label] += gain
    if newest > LARGEST_NEWEST:
        for j in range(len(forest.bin_counts)):
            scale_counts(forest.bin_counts[j], newest)
        for j in range(len(forest.category_counts)):
            scale_counts(forest.category_counts[j], newest)
        for c in range(len(forest.label_counts)):
            forest.label_counts[c] = cleared_sum(forest.label_counts[c] / newest)
        for k in range(N_ADDITIVE):
            clear_negligible(arrays_of_expert(forest, k)[1])
        newest = 1.0
    counters["newest_profile"] = newest


@helper
def scale_counts(counts: Array, factor: float) -> None:
    for k in range(len(counts)):
        for c in range(counts.shape[1]):
            counts[k, c] = cleared_sum(counts[k, c] / factor)
