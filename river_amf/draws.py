"""The random directions and phases of the cosines that voices hear (DESIGN.md: cosines).

They follow from a key, so they are not kept in copies. Each feature has a row of directions of its
own, so that a feature that comes late changes no other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from river_amf.layout import N_COSINES

Numbers = NDArray[np.float64]


def draw_phases(key: int, n: int = N_COSINES) -> Numbers:
    """Return angles drawn uniformly from [0, 2 pi).

    >>> draw_phases(1, 2).round(3).tolist()
    [1.907, 5.333]
    """
    phases: Numbers = 2.0 * np.pi * _uniform(key, 0, n)
    return phases


def draw_directions(key: int, column: int, n: int = N_COSINES) -> Numbers:
    """Return numbers drawn from the standard normal distribution, for the feature in a column.

    >>> draw_directions(1, 0, 2).round(3).tolist()
    [-0.144, -1.788]
    """
    # by the transform of Box and Muller
    radius = np.sqrt(-2.0 * np.log1p(-_uniform(key, 2 * column + 1, n)))
    directions: Numbers = radius * np.cos(2.0 * np.pi * _uniform(key, 2 * column + 2, n))
    return directions


def _uniform(key: int, number: int, n: int) -> Numbers:
    """Return numbers from [0, 1); each number of a sequence gives others."""
    # raw bits, because numpy may change how it makes floats of them
    bits = np.random.Philox(key=[int(key), number]).random_raw(n)
    fractions: Numbers = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return fractions
