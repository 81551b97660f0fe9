"""Naive baselines beside a model: the most frequent label, or the mean and the last value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from river_amf.evaluation.streams import REGRESSION


def naive_scores(task: str, targets: Sequence[Any]) -> dict[str, dict[str, float]]:
    """Return metrics of the reference baselines of a task, for targets in order."""
    if task == REGRESSION:
        y = pd.Series(targets, dtype="float64")
        learned = {"mean": y.expanding().mean(), "last-value": y}
        return {name: _errors(y, values.shift(fill_value=0.0)) for name, values in learned.items()}
    counts, majority, hits = Counter[Any](), None, 0
    for target in targets:
        hits += target == majority
        counts[target] += 1
        if target != majority and counts[target] >= counts[majority]:  # the first label of several
            majority = max(counts, key=counts.__getitem__)
    return {"majority": {"accuracy": hits / (len(targets) - 1) if len(targets) > 1 else math.nan}}


def _errors(y: pd.Series, prediction: pd.Series) -> dict[str, float]:
    """Return the metrics of predictions, of which river's first is 0."""
    mse, variance = ((y - prediction) ** 2).mean(), y.var(ddof=0)
    return {
        "MAE": float((y - prediction).abs().mean()),
        "RMSE": float(mse**0.5),
        "R2": float(1.0 - mse / (variance or math.nan)),
    }
