"""The bins of values, for the profiles of labels (DESIGN.md: additive experts)."""

from __future__ import annotations

import math

from river_amf.kernels.features.standardization import SLOW_RATE
from river_amf.kernels.numba_tools.arrays import Array, Forest
from river_amf.kernels.numba_tools.compilation import helper, hot
from river_amf.state import layout
from river_amf.state.layout import N_BINS

MISSING = N_BINS  # the bin of numbers that are missing
NO_BIN = -1
FIRST_VALUE = -2  # the bin of the first value of a feature, also after others were forgotten
EDGE_STEP = 1.5  # in standard deviations, times the weight of the newest value in the standards

category_index = hot(layout.category_index)


@helper
def take_bins(forest: Forest, x: Array, learns: bool, standardized: Array) -> None:
    """Write the bin of each value to the last row, and then move the edges."""
    if len(forest.edges) == 0:
        return
    n_edges, out = N_BINS - 1, standardized[len(standardized) - 1]
    for j in range(forest.settings["n_features"]):
        value = x[j]
        if math.isnan(value):
            out[j] = NO_BIN if forest.is_categorical[j] else MISSING
            continue
        if forest.is_categorical[j]:
            out[j] = category_index(value)
            continue
        standard, edges = forest.standards[0, j], forest.edges[j]
        n_values, k = standard["n_values"], 0
        for q in range(n_edges if n_values >= n_edges else 0):
            k += value >= edges[q]
        out[j] = k if n_values > 0 else FIRST_VALUE
        if learns and n_values < n_edges:
            q = n_values
            while q > 0 and edges[q - 1] > value:
                edges[q] = edges[q - 1]
                q -= 1
            edges[q] = value
        elif learns:
            share = 1.0 / (n_values + 1)
            step = EDGE_STEP * max(share, SLOW_RATE) * math.sqrt(standard["variance"])
            for q in range(n_edges):
                edges[q] += step * ((q + 1) / N_BINS - (value < edges[q]))
