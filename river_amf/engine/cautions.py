"""Warnings about features: most are absent, or there are so many that nodes are large."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.mismatch import levels_outside
from river_amf.state.arena import Arena
from river_amf.state.layout import FIRST_CHECK, REGRESSION, node_bytes

FEW_FEATURES, LARGE_NODES = "few features", "large nodes"  # what is warned of
MANY_FEATURES = 16  # of which the presence is checked
_SMALL_SHARE = 0.25  # of the features in a sample
_LARGE_NODE = 10_000  # bytes


class Cautions:
    """Warnings about features, each given once to a model.

    They come before a sample or block is learned. So one that is raised as an error leaves the
    model unchanged; it counts as given, and the same call again learns the sample or block.
    """

    def __init__(self, given: Iterable[str] = ()) -> None:
        self.given = set(given)

    def _give(self, caution: str, text: str) -> None:
        if caution not in self.given:
            self.given.add(caution)
            warnings.warn(text, RuntimeWarning, stacklevel=levels_outside())

    def check_presence(
        self, arena: Arena, n_features: NDArray[np.int64], n_values: NDArray[np.int64]
    ) -> None:
        """Warn if the samples since the last check have few of the features.

        Both arrays have an entry for each sample that is about to be learned: the number of
        features before it, and the number of its values.
        """
        n_learned = int(arena.counters["n_learned"][0])
        check, last = 0, FIRST_CHECK
        while last < n_learned + len(n_values):
            if last >= n_learned:
                counted = int(arena.counters["n_present"][0]) if n_learned > check else 0
                counted += int(n_values[max(check - n_learned, 0) : last - n_learned].sum())
                mean, most = counted / (last - check), int(n_features[last - n_learned])
                if most >= MANY_FEATURES and mean <= _SMALL_SHARE * most:
                    self._give(FEW_FEATURES, _absent_text(arena, most, last - check, mean))
            check, last = last, 2 * last

    def check_nodes(self, arena: Arena, n_features: int, n_labels: int) -> None:
        """Warn if a node takes much memory with so many features and labels."""
        n_classes = max(n_labels, int(arena.settings["n_classes"][0]))
        if arena.task == REGRESSION:
            n_classes = 0
        size = node_bytes(arena.settings, n_features, n_classes)
        if size > _LARGE_NODE:
            self._give(
                LARGE_NODES,
                f"there are {n_features} features, so a node takes {size:,} bytes, and the forest "
                f"takes {arena.nbytes:,} so far (max_nodes limits it); features named by a value, "
                "such as {'session_17': 1}, should be one with that value: {'session': '17'}",
            )


def _absent_text(arena: Arena, n_features: int, n_samples: int, mean: float) -> str:
    """Return the text of the warning that most features are absent."""
    advice = 'use absent="zero"' if arena.task != REGRESSION else "pass the zeros, too"
    return (
        f"there are {n_features} features, of which the last {n_samples} samples had {mean:.3g} on "
        "average, and absent ones count as missing; for words, tags and hashed features, where "
        f"absence means zero, {advice}"
    )
