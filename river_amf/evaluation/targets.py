"""The column with the labels: which one it is, and whether it holds labels at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from river_amf.evaluation.errors import EvaluationError, suggest
from river_amf.evaluation.kinds import Markers, parsed

ROWS = 1000  # in which to look
_MOST_LABELS = 200  # distinct numbers in these rows that may be labels
_MOSTLY = 0.9  # of the values


def choose_target(columns: Sequence[str], target: str | None, name: str) -> str:
    """Return the chosen column, or `target` if there is one, or the last; raise if it is none."""
    if target is None:
        return "target" if "target" in columns else columns[-1]
    if target not in columns:
        raise EvaluationError(
            f"{name} has no target column {target!r} ({suggest(target, columns)})"
        )
    return target


def is_quantity(labels: pd.Series, known: Markers, mark: str = ".") -> bool:
    """Whether labels are a quantity: numbers with fractions, or more than 200 distinct ones.

    Only the first 1000 labels count. Markers of missing values among them do not, and neither does
    a little text. `mark` is the decimal mark.
    """
    first = labels[:ROWS]
    if pd.api.types.is_bool_dtype(first):
        return False
    if not pd.api.types.is_numeric_dtype(first):
        texts = first.astype("str")
        numbers = pd.Series(parsed(texts, mark))[~known.are(texts)]
        if numbers.notna().mean() < _MOSTLY or not len(numbers):
            return False
        first = numbers.dropna()
    values = first.to_numpy(dtype=np.float64)
    return bool((values % 1 != 0).any() or len(np.unique(values)) > _MOST_LABELS)


def check_labels(labels: pd.Series, target: str, known: Markers, mark: str, name: str) -> None:
    """Raise, to ask whether the column is the target, if its labels are a quantity."""
    if is_quantity(labels, known, mark):
        first = labels[:ROWS]
        raise EvaluationError(
            f"{name}: {first.nunique()} distinct labels in {len(first)} rows: is {target!r} the"
            f" target? They are numbers such as {first.iloc[0]}; target (--target) names the column"
            " with the labels, be it this one or another"
        )
