"""The column to predict: which one it is, and whether it holds labels or numbers."""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from river_amf.evaluation.errors import EvaluationError, suggest
from river_amf.evaluation.kinds import Markers, markers, parsed
from river_amf.kinds import shown

CLASSIFICATION = "classification"
REGRESSION = "regression"
TASKS = (CLASSIFICATION, REGRESSION)

ROWS = 1000  # in which to look
_MOST_LABELS = 200  # distinct numbers in these rows that may be labels
_MOSTLY = 0.9  # of the values
_REAL = numbers.Real | decimal.Decimal


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
        parts = pd.Series(parsed(texts, mark))[~known.are(texts)]
        if parts.notna().mean() < _MOSTLY or not len(parts):
            return False
        first = parts.dropna()
    values = first.to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    return bool((values % 1 != 0).any() or len(np.unique(values)) > _MOST_LABELS)


def task_of(labels: pd.Series, known: Markers, mark: str = ".") -> str:
    """Return the task that the labels of a column suggest."""
    return REGRESSION if is_quantity(labels, known, mark) else CLASSIFICATION


def task_of_values(values: Sequence[Any]) -> str:
    """Return the task that labels in memory suggest, of which texts are never numbers.

    >>> task_of_values([1, 2, 2]), task_of_values([1.5, 2.0]), task_of_values(["1.5", "2.0"])
    ('classification', 'regression', 'classification')
    """
    first = values[:ROWS]
    if not all(isinstance(value, _REAL) and not isinstance(value, bool) for value in first):
        return CLASSIFICATION
    return task_of(pd.Series([float(value) for value in first], dtype=np.float64), markers(None))


def check_task(task: Any) -> None:
    """Raise ValueError unless this is the name of a task, or None."""
    if task is not None and task not in TASKS:
        raise ValueError(f"task must be {', '.join(map(repr, TASKS))} or None, got {shown(task)}")


def as_numbers(column: pd.Series, target: str, known: Markers, mark: str, name: str) -> pd.Series:
    """Return a target as numbers, NaN where it is missing; raise for other texts and dates.

    Rows are numbered as in the file, from 1.
    """
    if pd.api.types.is_numeric_dtype(column):  # booleans among them
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(np.where(np.isin(values, known.values), np.nan, values), column.index)
    texts = column.astype("object").map(str, na_action="ignore")
    is_missing = texts.isna() | known.are(texts.fillna(""))
    values = parsed(texts.fillna(""), mark)
    is_odd = np.isnan(values) & ~is_missing.to_numpy()
    if is_odd.any():
        row = int(is_odd.argmax())
        raise EvaluationError(
            f"row {column.index[row] + 1} of {name} has {texts.iloc[row]!r} in {target!r}, but"
            " regression predicts numbers; if that text stands for a missing value, name it with"
            " missing (--missing); if the column holds labels, set task (--task) to"
            " 'classification'"
        )
    return pd.Series(np.where(is_missing, np.nan, values), column.index)
