"""What is unusual about a sample, for the intervals of a regression (DESIGN.md: intervals)."""

from __future__ import annotations

import math

from river_amf.kernels.numba_tools.arrays import Array, Forest
from river_amf.kernels.numba_tools.compilation import helper
from river_amf.state.layout import HAS_GAP, IS_NEW


@helper
def note_unusual(forest: Forest, values: Array, learns: bool, context: Array) -> None:
    """Note new categories of a sample, and missing numbers that most samples have had."""
    # If the sample is learned, its values are counted then.
    context[IS_NEW] = context[HAS_GAP] = 0.0
    for j in range(forest.settings["n_features"]):
        feature, value = forest.features[j], values[j]
        if math.isnan(value):
            if forest.is_categorical[j]:
                context[IS_NEW] += feature["n_missing"] == 0
            elif math.isnan(forest.stand_ins[j]):
                context[HAS_GAP] += feature["n_present"] > feature["n_missing"]
            continue
        if forest.is_categorical[j]:
            context[IS_NEW] += 0 < feature["n_codes"] <= value
        if learns:
            feature["n_present"] += 1
            if forest.is_categorical[j]:
                feature["n_codes"] = max(feature["n_codes"], int(value) + 1)
