"""The weights with which samples are learned (DESIGN.md: sample weights)."""

from __future__ import annotations

from river_amf.kernels.numba_tools.arrays import Forest
from river_amf.kernels.numba_tools.compilation import hot

KEPT_WEIGHT = 0.9995  # of the sum of earlier weights, at each sample
LEAST_WEIGHT = 1e-300  # as quotients may underflow, and a node needs a weight
LARGEST_RELATIVE_WEIGHT = 1e3  # of relative weights; those of real samples are at most sqrt(2,000)


@hot
def weigh_sample(forest: Forest, weight: float) -> float:
    """Return the weight with which to learn a sample, a relative one with a learned vote."""
    if not forest.settings["weighs_relatively"]:
        return weight
    counters = forest.counters
    total, typical = KEPT_WEIGHT * counters["recent_weight"] + weight, counters["typical_weight"]
    typical += weight / total * (weight - typical)
    counters["recent_weight"], counters["typical_weight"] = total, typical
    return min(max(weight / typical, LEAST_WEIGHT), LARGEST_RELATIVE_WEIGHT)
