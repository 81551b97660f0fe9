"""Predictive densities of nodes in a regression, and their update (DESIGN.md: real targets)."""

from __future__ import annotations

import math

from river_amf.kernels.features.fading import decay_of
from river_amf.kernels.numba_tools.arrays import Array, Record
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.kernels.tree.estimates import SWITCHING, cleared_count, softplus
from river_amf.state.layout import FADED_COUNTS, FADED_SHARE, FADED_SUM, MEAN, SQUARES

PRIOR_WEIGHT = 1.0  # kappa, of the parent's estimate
PRIOR_ALPHA = 0.5  # alpha_0, half the number of squared errors that sigma^2 stands for
MANY = 10  # from this alpha on, the ratio of two gammas is a series
FARTHEST = 1e150  # in units of a law's scale; the square of more is beyond float64
TINY = 1e-70  # smaller densities are given by their logarithms


@hot
def location_of(n: float, mean: float, above: float) -> float:
    """Return the location of a law, given its weight and mean and the estimate of the parent."""
    return mean + PRIOR_WEIGHT * (above - mean) / (PRIOR_WEIGHT + n)


@hot
def spread_of(n: float, mean: float, squares: float, above: float, variance: float) -> float:
    """Return 2 alpha times the squared scale, 2 beta (kappa + N + 1) / (kappa + N), of a law."""
    deviation = mean - above
    total = PRIOR_WEIGHT + n
    beta = 2.0 * PRIOR_ALPHA * variance + squares + PRIOR_WEIGHT * n / total * deviation * deviation
    return beta * ((total + 1.0) / total)


@hot
def density_of(n: float, spread: float, error: float) -> tuple[float, float]:
    """Return the density of Student's t at an error as two numbers, sqrt(first) exp(second)."""
    # It is G / sqrt(pi spread) (1 + error^2 / spread)^-(alpha + 1/2), with G = Gamma(alpha + 1/2) /
    # Gamma(alpha) from its asymptotic series, after G(a) = G(a + 1) a / (a + 1/2) where a is small.
    a = alpha = PRIOR_ALPHA + 0.5 * n
    above, below = 1.0, 1.0
    if alpha < MANY:
        for _ in range(MANY):
            above *= a
            below *= a + 0.5
            a += 1.0
    quotient = above / below
    inverse = 1.0 / a
    square = inverse * inverse
    series = 17.0 / 14336.0 - 31.0 / 18432.0 * square
    series = 1.0 / 192.0 + square * (square * series - 1.0 / 640.0)
    series = inverse * (square * series - 1.0 / 8.0)
    distance = abs(error) / math.sqrt(spread)
    far = math.log1p(distance * distance) if distance < FARTHEST else 2.0 * math.log(distance)
    return quotient * quotient * (a / (math.pi * spread)), series - (alpha + 0.5) * far


@hot
def count_target(row: Array, first: int, before: float, target: float, weight: float) -> None:
    """Update a mean and sum of squares, from `first` on, given the weight before the target."""
    # As in West (1979), but without the difference from the new mean, which may cancel.
    n = before + weight
    if n == 0.0:  # a faded weight may be too small for float64
        return
    deviation = target - row[first + MEAN]
    row[first + MEAN] += deviation * (weight / n)
    row[first + SQUARES] += weight * (before / n) * deviation * deviation


@hot
def estimate_of(settings: Record, n: float, row: Array, faded: Array, above: float) -> float:
    """Return the estimate of a node: the location of its law, or the mix of two."""
    location = location_of(n, row[MEAN], above)
    if settings["fades"]:
        faded_part = location_of(faded[FADED_SUM], faded[FADED_COUNTS + MEAN], above)
        location += faded[FADED_SHARE] * (faded_part - location)
    return location


@hot
def spread_about(
    settings: Record, n: float, row: Array, faded: Array, above: float, variance: float, to: float
) -> float:
    """Return the mean of the squared scale of a node's law plus its squared distance from `to`."""
    alpha = PRIOR_ALPHA + 0.5 * n
    far = location_of(n, row[MEAN], above) - to
    square = spread_of(n, row[MEAN], row[SQUARES], above, variance) / (2.0 * alpha) + far * far
    if settings["fades"]:
        n = faded[FADED_SUM]
        mean, squares = faded[FADED_COUNTS + MEAN], faded[FADED_COUNTS + SQUARES]
        far = location_of(n, mean, above) - to
        faded_part = spread_of(n, mean, squares, above, variance) / (2.0 * PRIOR_ALPHA + n)
        square += faded[FADED_SHARE] * (faded_part + far * far - square)
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
    fading: float,
    by_logarithms: bool,
) -> float:
    """Count a target at a node whose weight was n; return its density there from before."""
    # `fading` is the weight in the faded law. With `by_logarithms` the result is the logarithm,
    # times the weight. Without, it is that only where the density is below TINY, so that a negative
    # result is a logarithm. If the targets do not vary, all densities count as 1.
    p = 0.0 if by_logarithms else 1.0
    fades = settings["fades"]
    if variance > 0.0:
        spread = spread_of(n, row[MEAN], row[SQUARES], above, variance)
        c, exponent = density_of(n, spread, target - location_of(n, row[MEAN], above))
        c_faded, exponent_faded = c, exponent
        if fades:
            n_faded, mean = faded[FADED_SUM], faded[FADED_COUNTS + MEAN]
            spread = spread_of(n_faded, mean, faded[FADED_COUNTS + SQUARES], above, variance)
            error = target - location_of(n_faded, mean, above)
            c_faded, exponent_faded = density_of(n_faded, spread, error)
        p, faded_part, share = math.sqrt(c) * math.exp(exponent), 0.0, 0.0
        if fades:
            share = faded[FADED_SHARE]
            faded_part = share * (math.sqrt(c_faded) * math.exp(exponent_faded))
            p = (1.0 - share) * p + faded_part
        if by_logarithms or p < TINY:
            log_p = 0.5 * math.log(c) + exponent
            log_faded = 0.5 * math.log(c_faded) + exponent_faded
            p = score_logarithms(settings, faded, log_p, log_faded, weight)
        elif fades:
            faded[FADED_SHARE] = 0.5 * SWITCHING + (1.0 - SWITCHING) * (faded_part / p)
    elif fades:
        faded[FADED_SHARE] = 0.5 * SWITCHING + (1.0 - SWITCHING) * faded[FADED_SHARE]
    if fades:
        fade_target(settings, faded, target, fading)
    count_target(row, MEAN, n, target, weight)
    return p


@helper
def score_logarithms(
    settings: Record, faded: Array, log_p: float, log_faded: float, weight: float
) -> float:
    """Update the share of the faded law, given both log densities; return that of the mix."""
    # The share follows from Bayes' rule and is then pulled toward 1/2 [HW].
    if settings["fades"]:
        log_share, log_rest = math.log(faded[FADED_SHARE]), math.log1p(-faded[FADED_SHARE])
        log_odds = log_share - log_rest + weight * (log_faded - log_p)
        log_whole, log_faded = log_rest + log_p, log_share + log_faded
        log_p = max(log_whole, log_faded) + math.log1p(math.exp(-abs(log_faded - log_whole)))
        share = math.exp(-softplus(-log_odds))  # as exp(-log_odds) may overflow
        faded[FADED_SHARE] = 0.5 * SWITCHING + (1.0 - SWITCHING) * share
    return weight * log_p


@hot
def fade_target(settings: Record, faded: Array, target: float, weight: float) -> None:
    rest, gain = decay_of(settings["fading_factor"], weight)
    n = cleared_count(rest * faded[FADED_SUM])
    faded[FADED_SUM] = n + gain
    faded[FADED_COUNTS + SQUARES] = cleared_count(rest * faded[FADED_COUNTS + SQUARES])
    count_target(faded, FADED_COUNTS, n, target, gain)
