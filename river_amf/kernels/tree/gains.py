"""What the splits of a tree have gained by feature, and what follows from it (DESIGN.md: gains)."""

from __future__ import annotations

import math

from river_amf.kernels.features.fading import cleared_sum, decay_of
from river_amf.kernels.features.intensity import LARGEST_NEWEST
from river_amf.kernels.numba_tools.arrays import LARGEST_FLOAT, Tree, unsigned
from river_amf.kernels.numba_tools.compilation import extra, hot

GAIN_DECAY = 1.0 - 1.0 / 2000.0
BY_GAINS = 0.8  # the share of gains in the intensities
GAIN_FLOOR = 0.0001
FEW_GAINS = 20.0  # the weight of splits that have gained nothing
DOUBT = 2.0  # standard errors by which gains are lowered
LEAST_GAIN_DECAY = 1e-200
FORGETTING = 1e200  # a weight of the newest sample that makes all others negligible

GAINED, PASSED, SQUARED = 0, 1, 2  # faded sums: of gains, of their shares of mass, of squares


@hot
def newest_of(tree: Tree) -> float:
    """Return the weight of the newest sample in the sums, which grows where they should fade."""
    return max(tree.state["newest_gain"], 1.0)


@extra
@hot
def begin_gains(tree: Tree, weight: float) -> float:
    """Let the sums fade for a sample; return the weight of its gains."""
    decay, gain = decay_of(GAIN_DECAY, weight)
    newest = newest_of(tree) / max(decay, LEAST_GAIN_DECAY)
    if newest > LARGEST_NEWEST:
        for k in range(len(tree.gains)):
            for j in range(tree.gains.shape[1]):
                tree.gains[k, j] = cleared_sum(tree.gains[k, j] / newest)
        newest = 1.0
    tree.state["newest_gain"] = newest
    return newest * gain


@extra
@hot
def count_gain(tree: Tree, feature: int, weight: float, share: float, gain: float) -> None:
    j, weighted = unsigned(feature), share * gain
    tree.gains[GAINED, j] += weight * weighted
    tree.gains[PASSED, j] += weight * share
    tree.gains[SQUARED, j] += weight * (weighted * weighted)


@extra
@hot
def follow_gains(tree: Tree) -> None:
    """Write the split intensities of a tree, which partly follow from gains, for a sample."""
    if not tree.settings["relevance"]:
        return
    n_features, newest, total = tree.settings["n_features"], newest_of(tree), 0.0
    gains, own, n_targets = tree.gains, tree.intensity, len(tree.given) - 1
    for j in range(n_features):
        lowered = gains[GAINED, j] - DOUBT * math.sqrt(gains[SQUARED, j] * newest)
        own[j] = GAIN_FLOOR + max(lowered, 0.0) / (gains[PASSED, j] + FEW_GAINS * newest)
    for j in range(n_features):
        total += own[j]
    scale = n_features / total if n_features > 0 else 0.0
    by_relevance, by_width = tree.given[tree.t % n_targets], tree.given[n_targets]
    for j in range(n_features):
        by_gains = min(by_width[j] * (own[j] * scale), LARGEST_FLOAT)
        own[j] = (1.0 - BY_GAINS) * by_relevance[j] + BY_GAINS * by_gains
