"""Columns as numbers, booleans or text, and whether the one to predict holds labels or numbers."""

from __future__ import annotations

import numbers
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_object_dtype, is_string_dtype

from river_amf.evaluation.files import as_text
from river_amf.evaluation.usage_errors import EvaluationError
from river_amf.inputs.kinds import as_category, is_hashable, shown

CLASSIFICATION = "classification"
REGRESSION = "regression"
TASKS = (CLASSIFICATION, REGRESSION)

ROWS = 1000  # in which to look for what a target is
_MOST_LABELS = 200  # distinct numbers in these rows that may be labels
_MOSTLY = 0.9  # of the values

# those of pandas, which does not export them, and that of the repository of UC Irvine
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"),
)
_BOOLEANS = {
    **dict.fromkeys(("True", "TRUE", "true"), True),
    **dict.fromkeys(("False", "FALSE", "false"), False),
}
_REAL = numbers.Real | Decimal
_VALUES = str | bool | np.bool_ | _REAL
_WITH_COMMA = r"[-+]?\d*,\d+"
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?")  # of ISO 8601


@dataclass(frozen=True)
class Texts:
    """How texts are read: which stand for a missing value among numbers, and the decimal mark."""

    missing: frozenset[str] = frozenset(MISSING)
    missing_numbers: tuple[float, ...] = ()  # those of them that are numbers
    decimal: str = "."

    def are_missing(self, texts: pd.Series) -> NDArray[np.bool_]:
        """Whether each of the texts is a marker, with or without spaces around it."""
        return texts.str.strip().isin(self.missing).to_numpy(dtype=bool)

    def numbers(self, texts: pd.Series) -> NDArray[np.float64]:
        """Return texts as numbers, as pandas parses them in a file, and NaN for other texts."""
        number = np.full(len(texts), np.nan)
        # This leaves out most text, because it takes long to try to parse it.
        may_be = texts.str.match(r"\s*[-+.,\diI]").to_numpy(dtype=bool)
        plain = texts[may_be]
        if self.decimal != ".":
            has_point = plain.str.contains(".", regex=False)
            plain = plain.where(~has_point, "text").str.replace(self.decimal, ".")
        number[may_be] = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64)
        return number

    def comma_warning(self, texts: pd.Series) -> str | None:
        """Return a warning if all of the texts are numbers with a decimal comma."""
        is_comma = texts.str.strip().str.fullmatch(_WITH_COMMA)
        if self.decimal == "," or texts.empty or not is_comma.all():
            return None
        return (
            f"values such as {texts.iloc[0]!r} are text, not numbers; decimal=',' (--decimal ,)"
            " reads them as numbers with a fraction"
        )


def texts_of(missing: Collection[str] | None, decimal: str) -> Texts:
    """Return how to read texts, with these markers or those that are known; an empty one always."""
    if missing is None:
        return Texts(decimal=decimal)
    if isinstance(missing, str) or not all(isinstance(text, str) for text in missing):
        raise EvaluationError(f"missing must be a list of texts, such as ['NA'], got {missing!r}")
    values = pd.to_numeric(pd.Series([*missing], dtype=object), errors="coerce").dropna()
    return Texts(frozenset(missing) | {""}, tuple(values.astype(float)), decimal)


def settle(
    column: pd.Series, known: Texts, *, is_text: bool = False
) -> tuple[pd.Series, str | None]:
    """Return a column of a file as numbers, booleans, dates or text, and perhaps a warning.

    In a column whose other values are all numbers, all booleans or all dates (of ISO 8601), markers
    become missing values; in a column of text nothing changes. With `is_text` only dates are
    read, as what is in quotes is no number.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        # the very categories that the same column of a dataframe has
        return column.astype(object).map(as_category, na_action="ignore"), None
    if is_numeric_dtype(column) and not is_bool_dtype(column) and known.missing_numbers:
        return column.mask(column.isin(known.missing_numbers)), None
    if not (is_object_dtype(column) or is_string_dtype(column)):
        return column, None  # such as dates
    try:
        codes, distinct = pd.factorize(column)
    except TypeError as error:
        odd = next(type(value).__name__ for value in column if not is_hashable(value))
        raise EvaluationError(
            f"column {column.name!r} holds values of type {odd}; it takes numbers, text or booleans"
        ) from error
    if not all(isinstance(value, _VALUES) for value in distinct):
        return column, None
    texts = pd.Series(distinct, dtype=object).map(str)
    given = texts[~known.are_missing(texts)]
    as_numbers = pd.Series(known.numbers(given), given.index)
    as_booleans = given.str.strip().map(_BOOLEANS)
    numbers_or_booleans = () if is_text else (as_numbers, as_booleans)
    for read in (*numbers_or_booleans, _as_dates(given)):
        if len(given) and read.notna().all():
            found = read.reindex([*texts.index, -1]).to_numpy()  # the last of code -1, missing
            return pd.Series(found[codes], column.index, name=column.name).infer_objects(), None
    if is_text:
        return column, None
    is_other = as_numbers.isna() & as_booleans.isna()
    counts = pd.Series(np.bincount(codes[codes >= 0], minlength=len(texts)))[given.index]
    n_text, n_values = counts[is_other].sum(), counts.sum()
    warning = known.comma_warning(given[is_other])
    if warning is None and 0 < n_text <= n_values - _MOSTLY * n_values:
        are = "are" if n_text > 1 else "is"
        warning = (
            f"{n_text} of {n_values} values {are} text, such as {given[is_other].iloc[0]!r}, so all"
            " of them are categories; missing (--missing) names the texts that stand for a missing"
            " value"
        )
    return as_text(column), warning


def _as_dates(texts: pd.Series) -> pd.Series:
    """Return texts as dates, those with a time in UTC; all are missing unless each is a date."""
    if not all(map(_DATE.fullmatch, texts)):
        return pd.Series(pd.NaT, texts.index)
    dates = pd.to_datetime(texts, format="ISO8601", errors="coerce", utc=True).dt
    has_time = bool((texts.str.len() > len("2024-05-17")).any())
    found: pd.Series = dates.tz_localize(None) if has_time else dates.date
    return found


def label_warning(labels: pd.Series, known: Texts) -> str | None:
    """Return a warning if labels are numbers with a decimal comma, but for markers."""
    if is_numeric_dtype(labels):
        return None
    texts = pd.Series(labels.dropna().unique(), dtype=object).map(str)
    return known.comma_warning(texts[np.isnan(known.numbers(texts)) & ~known.are_missing(texts)])


def is_quantity(labels: pd.Series, known: Texts) -> bool:
    """Whether labels are a quantity: numbers with fractions, or more than 200 distinct ones.

    Only the first 1000 labels count. Markers of missing values among them do not, and neither does
    a little text.
    """
    first = labels[:ROWS]
    if is_bool_dtype(first):
        return False
    if not is_numeric_dtype(first):
        texts = first.astype("str")
        parts = pd.Series(known.numbers(texts))[~known.are_missing(texts)]
        if not len(parts) or parts.notna().mean() < _MOSTLY:
            return False
        first = parts.dropna()
    values = first.to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    return bool((values % 1 != 0).any() or len(np.unique(values)) > _MOST_LABELS)


def task_of_values(values: Sequence[Any]) -> str:
    """Return the task that labels in memory suggest, of which texts are never numbers.

    >>> task_of_values([1, 2, 2]), task_of_values([1.5, 2.0]), task_of_values(["1.5", "2.0"])
    ('classification', 'regression', 'classification')
    """
    first = values[:ROWS]
    if not all(isinstance(value, _REAL) and not isinstance(value, bool) for value in first):
        return CLASSIFICATION
    as_column = pd.Series([float(value) for value in first], dtype=np.float64)
    return REGRESSION if is_quantity(as_column, Texts()) else CLASSIFICATION


def check_task(task: Any) -> None:
    """Raise ValueError unless this is the name of a task, or None."""
    if task is not None and task not in TASKS:
        raise ValueError(f"task must be {', '.join(map(repr, TASKS))} or None, got {shown(task)}")


def as_numbers(column: pd.Series, known: Texts, name: str) -> pd.Series:
    """Return a target as numbers, NaN where it is missing; raise for other texts and dates.

    Rows are numbered as in the file, from 1.
    """
    if is_numeric_dtype(column):  # booleans among them
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        missing = np.isin(values, known.missing_numbers)
        return pd.Series(np.where(missing, np.nan, values), column.index)
    texts = column.astype(object).map(str, na_action="ignore").fillna("")
    is_missing = known.are_missing(texts)
    values = np.where(is_missing, np.nan, known.numbers(texts))
    is_odd = np.isnan(values) & ~is_missing
    if is_odd.any():
        row = int(is_odd.argmax())
        raise EvaluationError(
            f"row {column.index[row] + 1} of {name} has {texts.iloc[row]!r} in {column.name!r}, but"
            " regression predicts numbers; if that text stands for a missing value, name it with"
            " missing (--missing); if the column holds labels, set task (--task) to"
            " 'classification'"
        )
    return pd.Series(values, column.index)
