"""Experts on the labels' own memory, for a learned vote (DESIGN.md: label memory).

Each has a row of counts that fade: of all labels, fast or slowly, or of those that followed the
last label. It knows nothing of the features.
"""

from __future__ import annotations

import math

from river_amf.kernels.numba_tools.arrays import FOREST, NONE, Array, Forest
from river_amf.kernels.numba_tools.parts import INTEGER, NO_VALUE, NUMBER, VOTES, part
from river_amf.kernels.tree.estimates import settled
from river_amf.state.layout import N_LAST_LABELS, N_MEMORIES

FADING_FACTORS = (0.3, 0.8, 0.98, 0.998)  # of each expert's counts; the last one is of transitions
TRANSITIONS = N_MEMORIES - 1
PRIOR = 0.1  # pseudo-count of a label


@part(NO_VALUE, FOREST, VOTES, INTEGER, INTEGER, INTEGER, NUMBER)
def recall_labels(
    forest: Forest, votes: Array, i: int, predicts: int, label: int, weight: float
) -> None:
    """Write log p(c) by each expert on a sample, and then count its label if there is one."""
    n_labels, memories = forest.settings[0]["n_labels"], forest.memories
    first = len(forest.trees) + len(forest.linear_models)
    for k in range(N_MEMORIES):
        counts, vote = forest.label_counts[memories[k]["row"]], votes[first + k, i]
        total = n_labels * PRIOR
        for c in range(n_labels if predicts else 0):
            total += counts[c]
        for c in range(n_labels if predicts else 0):
            vote[c] = math.log((counts[c] + PRIOR) / total)
        if label != NONE:
            trust = min(weight, 1.0)
            kept = 1.0 - trust * (1.0 - FADING_FACTORS[k])
            for c in range(n_labels):
                counts[c] = settled(kept * counts[c])
            counts[label] += trust
    if label != NONE:  # row 0 of transitions is of the first sample
        memories[TRANSITIONS]["row"] = TRANSITIONS + (1 + label) % N_LAST_LABELS
