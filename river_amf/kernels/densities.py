"""What a node of a regression predicts, and how it learns from a target (DESIGN.md: real targets).

A node keeps the weight N, the mean m and the sum of squares about it S of the targets in its cell.
With e the estimate of its parent, kappa the prior weight and sigma^2 the scale of the tree's errors
of late, it predicts Student's t with 2 alpha degrees of freedom, location m + kappa (e - m) /
(kappa + N) and squared scale beta (kappa + N + 1) / (alpha (kappa + N)), where alpha = alpha_0 +
N / 2 and beta = alpha_0 sigma^2 + S / 2 + kappa N (m - e)^2 / (2 (kappa + N)): the law of a normal
target with unknown mean and variance under the conjugate prior. With fading, it keeps another three
numbers, and predicts a mixture of both laws.
"""

from __future__ import annotations

import math

from river_amf.kernels.arrays import Array, Record
from river_amf.kernels.compilation import hot
from river_amf.kernels.estimates import LARGEST_LOG_ODDS, SWITCHING, settled
from river_amf.layout import FADED_COUNTS, FADED_SHARE, FADED_SUM, MEAN, SQUARES

PRIOR_WEIGHT = 1.0  # kappa, of the parent's estimate
PRIOR_ALPHA = 0.5  # alpha_0, half the number of squared errors that sigma^2 stands for
MANY = 30.0  # from this alpha on, the difference of two log-gammas is a series
HALF_LOG_PI = 0.5 * math.log(math.pi)


@hot
def location_of(n: float, mean: float, above: float) -> float:
    """The location of a law, given its weight and mean and the estimate of the parent."""
    return mean + PRIOR_WEIGHT * (above - mean) / (PRIOR_WEIGHT + n)


@hot
def spread_of(n: float, mean: float, squares: float, above: float, variance: float) -> float:
    """Twice beta times (kappa + N + 1) / (kappa + N): 2 alpha times the squared scale of a law."""
    deviation = mean - above
    total = PRIOR_WEIGHT + n
    beta = 2.0 * PRIOR_ALPHA * variance + squares + PRIOR_WEIGHT * n / total * deviation * deviation
    return beta * ((total + 1.0) / total)


@hot
def log_density(n: float, spread: float, error: float) -> float:
    """The log density of Student's t at a distance from its location."""
    alpha = PRIOR_ALPHA + 0.5 * n
    if alpha < MANY:
        log_ratio = math.lgamma(alpha + 0.5) - math.lgamma(alpha)
    else:
        inverse = 1.0 / alpha
        square = inverse * inverse
        series = inverse * (-1.0 / 8.0 + square * (1.0 / 192.0 - square * (1.0 / 640.0)))
        log_ratio = 0.5 * math.log(alpha) + series
    far = math.log1p(error * (error / spread))
    return log_ratio - HALF_LOG_PI - 0.5 * math.log(spread) - (alpha + 0.5) * far


@hot
def count_target(row: Array, first: int, n: float, target: float, weight: float) -> None:
    """Update a mean and sum of squares, from `first` on, given the weight including the target."""
    # As in West (1979).
    deviation = target - row[first + MEAN]
    row[first + MEAN] += deviation * (weight / n)
    row[first + SQUARES] += weight * deviation * (target - row[first + MEAN])


@hot
def estimate_of(settings: Record, n: float, row: Array, faded: Array, above: float) -> float:
    """The estimate of a node: the location of its law, or the mix of two."""
    location = location_of(n, row[MEAN], above)
    if settings["fades"]:
        of_faded = location_of(faded[FADED_SUM], faded[FADED_COUNTS + MEAN], above)
        location += faded[FADED_SHARE] * (of_faded - location)
    return location


@hot
def spread_about(
    settings: Record, n: float, row: Array, faded: Array, above: float, variance: float, to: float
) -> float:
    """The mean of the squared scale of a node's law plus its squared distance from `to`."""
    alpha = PRIOR_ALPHA + 0.5 * n
    far = location_of(n, row[MEAN], above) - to
    square = spread_of(n, row[MEAN], row[SQUARES], above, variance) / (2.0 * alpha) + far * far
    if settings["fades"]:
        n = faded[FADED_SUM]
        mean, squares = faded[FADED_COUNTS + MEAN], faded[FADED_COUNTS + SQUARES]
        far = location_of(n, mean, above) - to
        of_faded = spread_of(n, mean, squares, above, variance) / (2.0 * PRIOR_ALPHA + n)
        square += faded[FADED_SHARE] * (of_faded + far * far - square)
    return square


@hot
def score_target(
    settings: Record,
    n: float,
    row: Array,
    faded: Array,
    above: float,
    variance: float,
    target: float,
    weight: float,
) -> float:
    """Count a target at a node whose weight was n; return `weight` times the log density before."""
    # If the variance of the targets is 0, all log densities count as 0.
    log_p = 0.0
    if variance > 0.0:
        spread = spread_of(n, row[MEAN], row[SQUARES], above, variance)
        log_p = log_density(n, spread, target - location_of(n, row[MEAN], above))
    if settings["fades"]:
        log_p = fade_target(settings, faded, above, variance, target, weight, log_p)
    else:
        log_p *= weight
    count_target(row, MEAN, n + weight, target, weight)
    return log_p


@hot
def fade_target(
    settings: Record,
    faded: Array,
    above: float,
    variance: float,
    target: float,
    weight: float,
    log_whole: float,
) -> float:
    """Count a target in a node's faded law; return `weight` times the log density of the mix."""
    # The share of the faded law is updated by Bayes' rule and then pulled towards 1/2 [FS]. The law
    # fades by gamma^w, and the target counts (1 - gamma^w) / (1 - gamma), as if its weight came bit
    # by bit.
    share, n = faded[FADED_SHARE], faded[FADED_SUM]
    mean, squares = faded[FADED_COUNTS + MEAN], faded[FADED_COUNTS + SQUARES]
    log_p = 0.0
    if variance > 0.0:
        spread = spread_of(n, mean, squares, above, variance)
        log_faded = log_density(n, spread, target - location_of(n, mean, above))
        log_p = mixed_log(share, log_whole, log_faded, 1.0)
        log_rest = mixed_log(share, log_whole, log_faded, weight)
        share *= math.exp(min(weight * log_faded - log_rest, -math.log(share)))
    faded[FADED_SHARE] = 0.5 * SWITCHING + (1.0 - SWITCHING) * share
    gamma = settings["fading_factor"]
    rest, gain = gamma, 1.0
    if weight != 1.0:
        rest = math.pow(gamma, weight)
        gain = -math.expm1(weight * math.log(gamma)) / (1.0 - gamma)
    n = settled(rest * n) + gain
    faded[FADED_SUM] = n
    faded[FADED_COUNTS + SQUARES] = settled(rest * squares)
    count_target(faded, FADED_COUNTS, n, target, gain)
    return weight * log_p


@hot
def mixed_log(share: float, log_whole: float, log_faded: float, weight: float) -> float:
    """The logarithm of the mix of two densities, each to the power of a weight."""
    a = math.log1p(-share) + max(weight * log_whole, -LARGEST_LOG_ODDS)
    b = math.log(share) + max(weight * log_faded, -LARGEST_LOG_ODDS)
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))
