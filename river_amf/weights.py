"""Sample weights: checks of one, and of the sum of all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from river_amf.kinds import is_real, shown
from river_amf.layout import CLASSIFICATION, LARGEST_TOTALS

LARGEST_WEIGHT = 1e300  # the sum of a hundred thousand of these still has a finite log-gamma


def check_weight(w: Any) -> float:
    """Return a sample weight as a float, or raise TypeError or ValueError."""
    if type(w) is float and 0.0 <= w <= LARGEST_WEIGHT:
        return w
    wanted = f"w must be a finite number between 0 and {LARGEST_WEIGHT:g}"
    if not is_real(w):
        raise TypeError(f"{wanted}, got {shown(w)} of type {type(w).__name__}")
    try:
        weight = float(w)
    except (OverflowError, ValueError):
        weight = math.nan
    if not 0.0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"{wanted}, got {shown(w)}")
    return weight


def check_totals(
    total: float, weights: Any, task: int = CLASSIFICATION, *, are_rows: bool = False
) -> None:
    """Raise ValueError if the sum of all weights, `total` so far, would be too large."""
    totals = np.cumsum(np.concatenate([[total], weights]))[1:]
    too_heavy = np.flatnonzero(~(totals <= LARGEST_TOTALS[task]))
    if len(too_heavy):
        row = int(too_heavy[0])
        raise ValueError(
            f"{f'row {row}: ' * are_rows}with w={float(weights[row])!r}, the weights of all "
            f"samples would sum to more than {LARGEST_TOTALS[task]:g}; divide them by a constant"
        )
