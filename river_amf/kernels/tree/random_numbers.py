"""Random numbers that a tree draws (DESIGN.md: randomness), or gives to categories."""

from __future__ import annotations

import math

import numpy as np

from river_amf.kernels.numba_tools.arrays import LARGEST_FLOAT, NEVER, NONE, Array, Record, Word
from river_amf.kernels.numba_tools.compilation import helper, hot

WORD = np.uint64(32)
LOW_WORD = np.uint64(0xFFFFFFFF)
MULTIPLIER = np.uint64(4294883355)


@hot
def draw_word(state: Record) -> Word:
    """Draw 32 bits from D. Thomas' MWC64X generator."""
    # No product overflows, so uncompiled code, where these are numpy scalars, does not warn.
    low = state["random_state"] & LOW_WORD
    high = state["random_state"] >> WORD
    state["random_state"] = low * MULTIPLIER + high
    return low ^ high


@hot
def draw_uniform(state: Record) -> float:
    """Draw a number uniformly from [0, 1), with 53 bits."""
    high = draw_word(state) >> np.uint64(5)
    low = draw_word(state) >> np.uint64(6)
    return (float(high) * 67108864.0 + float(low)) / 9007199254740992.0


@hot
def draw_exponential(state: Record, rate: float) -> float:
    return -math.log1p(-draw_uniform(state)) / rate


@hot
def draw_split_time(state: Record, time: float, rate: float, end: float) -> float:
    """Draw time + E with E ~ Exp(rate), or NEVER if that is certain to be past the end."""
    u = draw_uniform(state)
    if u > rate * (end - time):  # E = -log(1 - u) / rate >= u / rate
        return NEVER
    return time - math.log1p(-u) / rate


@helper
def draw_threshold(state: Record, low: float, high: float) -> float:
    """Draw uniformly from [low, high), so that `low` goes left and `high` right."""
    u = draw_uniform(state)
    if high - low <= LARGEST_FLOAT:
        threshold = low + (high - low) * u
    else:
        threshold = low * (1.0 - u) + high * u
    return threshold if threshold < high else low


@helper
def draw_feature(state: Record, lengths: Array, intensity: Array, rate: float) -> int:
    """Draw feature j with probability intensity_j lengths_j / rate."""
    mass = draw_uniform(state) * rate
    total = 0.0
    feature = NONE
    for j in range(len(lengths)):
        if lengths[j] > 0.0 and intensity[j] > 0.0:
            feature = j
            total += intensity[j] * lengths[j]
            if total > mass:
                break
    return feature


@helper
def mixed(word: Word) -> Word:
    """Return the finalizer of MurmurHash3, a bijection of 32-bit words that mixes their bits."""
    word = word ^ (word >> np.uint64(16))
    word = (word * np.uint64(0x85EBCA6B)) & LOW_WORD
    word = word ^ (word >> np.uint64(13))
    word = (word * np.uint64(0xC2B2AE35)) & LOW_WORD
    return word ^ (word >> np.uint64(16))


@hot
def category_as_number(key: Word, feature: int, code: float) -> float:
    """Return a tree's number in [0, 1) for a category, all distinct (DESIGN.md: categories)."""
    salt = mixed(key ^ ((np.uint64(feature) * np.uint64(0x9E3779B9)) & LOW_WORD))
    word = np.uint64(code) & LOW_WORD  # more than 2**32 categories take one with a bound
    return float(mixed(mixed(word) ^ salt)) / 4294967296.0


@hot
def coded(is_categorical: Array, key: Word, j: int, value: float) -> float:
    """Return a value of feature j as a tree with this key sees it: a number for each category."""
    if is_categorical[j] and not math.isnan(value):
        return category_as_number(key, j, value)
    return value


@hot
def code_row(is_categorical: Array, n_features: int, key: Word, values: Array, out: Array) -> None:
    for j in range(n_features):
        out[j] = coded(is_categorical, key, j, values[j])
