"""Random directions, phases and first weights of experts, which follow from a key."""

import math

import numpy as np
from numpy.typing import NDArray

from river_amf.state import layout

Numbers = NDArray[np.float64]


def draw_phases(key: int, n: int) -> Numbers:
    """Return angles drawn uniformly from [0, 2 pi)."""
    phases: Numbers = 2.0 * np.pi * _uniform(key, 0, n)
    return phases


def draw_directions(key: int, column: int, n: int) -> Numbers:
    """Return numbers drawn from the standard normal distribution, for the feature in a column."""
    # by the transform of Box and Muller
    radius = np.sqrt(-2.0 * np.log1p(-_uniform(key, 2 * column + 1, n)))
    directions: Numbers = radius * np.cos(2.0 * np.pi * _uniform(key, 2 * column + 2, n))
    return directions


def draw_weights(key: int, number: int, n: int) -> Numbers:
    """Return n rows of numbers drawn uniformly with variance 1, one for each hidden unit."""
    fractions = _uniform(key, number, n * layout.N_UNITS)
    return math.sqrt(12.0) * (fractions.reshape(n, layout.N_UNITS) - 0.5)


def _uniform(key: int, number: int, n: int) -> Numbers:
    """Return numbers from [0, 1), which differ for each number of a sequence."""
    # raw bits, because numpy may change how it makes floats of them
    bits = np.random.Philox(key=[int(key), number]).random_raw(n)
    fractions: Numbers = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return fractions
