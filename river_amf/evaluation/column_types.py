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
from pandas.api.types import (
    is_bool_dtype,
    is_integer_dtype,
    is_numeric_dtype,
    is_object_dtype,
    is_string_dtype,
)

from river_amf.evaluation.usage_errors import EvaluationError
from river_amf.inputs.kinds import as_category, is_hashable, shown

CLASSIFICATION = "classification"
REGRESSION = "regression"
TASKS = (CLASSIFICATION, REGRESSION)

ROWS = 1000  # in which to look for what a target is
MOST_LABELS = 50  # distinct numbers in these rows that may be labels
_MOSTLY = 0.9  # of the values

# those of pandas, which does not export them, and that of the repository of UC Irvine
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"),
)
BOOLEANS = {
    **dict.fromkeys(("True", "TRUE", "true"), True),
    **dict.fromkeys(("False", "FALSE", "false"), False),
}
_REAL = numbers.Real | Decimal
_WITH_COMMA = r"[-+]?\d*,\d+"
_THOUSANDS = r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?"
_UNIT = r"([A-Z]{3}|[$€£¥₹%])"
_AMOUNT = rf"[-+]?{_UNIT}\s*[-+]?\d[\d.,']*|[-+]?\d[\d.,']*\s*{_UNIT}"
_MANY_ROWS = 100  # of which it is odd that all values differ
_MANY_WORDS = 4  # on average, in what looks like text
_DATE = re.compile(  # of ISO 8601; the first group is without an offset from UTC
    r"(\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?)(Z|[-+]\d\d:?\d\d)?"
)
_OTHER_DATE = r"(\d{4}[-./]\d\d?[-./]\d\d?|\d\d?[-./](\d\d?|[A-Za-z]{3})[-./](\d\d){1,2})([ T].*)?"


@dataclass(frozen=True)
class Texts:
    """How texts are read: which stand for a missing value among numbers, and the decimal mark."""

    missing: frozenset[str] = frozenset(MISSING)
    missing_numbers: tuple[float, ...] = ()  # those of them that are numbers
    decimal: str = "."

    def are_missing(self, texts: pd.Series) -> NDArray[np.bool_]:
        """Whether each of the texts is a marker, with or without spaces around it."""
        return texts.str.strip().isin(self.missing).to_numpy(dtype=bool)

    def numbers(self, texts: pd.Series) -> pd.Series:
        """Return texts as numbers, as pandas parses them in a file, and NaN for other texts."""
        # This leaves out most text, because it takes long to try to parse it.
        plain = texts[texts.str.match(r"\s*[-+.,\diI]").to_numpy(dtype=bool)]
        if self.decimal != ".":
            has_point = plain.str.contains(".", regex=False)
            plain = plain.where(~has_point, "text").str.replace(self.decimal, ".")
        return pd.to_numeric(plain, errors="coerce").astype(np.float64).reindex(texts.index)

    def warning(self, texts: pd.Series) -> str | None:
        """Return a warning if all of the texts are numbers with a unit or with commas."""
        if texts.empty:
            return None

        def are_all(pattern: str) -> bool:
            return all(re.fullmatch(pattern, text.strip()) for text in texts)

        these = f"{texts.iloc[0].strip()!r} are text, not numbers"
        if are_all(_AMOUNT):
            return (
                f"amounts such as {these}: write the number alone, with its unit in the name of the"
                " column or in a column of its own"
            )
        reading = "decimal=',' (--decimal ,) reads them as numbers with a fraction"
        if self.decimal != "," and are_all(_THOUSANDS):
            return (
                f"values such as {these}: leave out commas between thousands; if they are before a"
                f" fraction, {reading}"
            )
        is_comma = self.decimal != "," and are_all(_WITH_COMMA)
        return f"values such as {these}; {reading}" if is_comma else None


def oddity(column: pd.Series) -> str | None:
    """Return what is odd about a feature that has been read: text, numbers as text, or an id."""
    if is_numeric_dtype(column):
        is_long = is_integer_dtype(column) and len(column) >= _MANY_ROWS
        if is_long and (np.diff(column) == 1).all():
            return f"it counts the rows, from {column.iloc[0]}: drop it (--drop)?"
        return None
    values = column.dropna()
    if pd.api.types.infer_dtype(values, skipna=True) != "string":
        return None
    distinct = values.unique()
    texts = pd.Series(distinct[:ROWS], dtype=object)
    if len(texts) > 1 and Texts().numbers(texts).notna().all():
        return (
            f"its texts are numbers, such as {texts.iloc[0]!r}, but categories to a model:"
            " write them without quotes if they are numbers"
        )
    if all(re.fullmatch(_OTHER_DATE, text.strip()) for text in texts):
        other = texts[_as_dates(texts).isna()].iloc[0]
        return (
            f"values such as {other!r} look like dates: written as 2024-05-17 or"
            " 2024-05-17 13:30 they are read as such"
        )
    if len(distinct) > len(values) / 2 and texts.str.count(r"\S+").mean() >= _MANY_WORDS:
        return (
            f"values such as {shown(texts.iloc[0][:60])} look like text: --text (text) takes a"
            " column as a bag of words"
        )
    if len(distinct) == len(values) >= _MANY_ROWS:
        return f"{len(distinct)} distinct texts in {len(values)} rows: drop it (--drop)?"
    return None


def texts_of(missing: Collection[str] | None, decimal: str) -> Texts:
    """Return how to read texts, with these markers or those that are known; an empty one always."""
    if missing is None:
        return Texts(decimal=decimal)
    if isinstance(missing, str) or not all(isinstance(text, str) for text in missing):
        raise EvaluationError(f"missing must be a list of texts, such as ['NA'], got {missing!r}")
    values = pd.to_numeric(pd.Series([*missing], dtype=object), errors="coerce").dropna()
    return Texts(frozenset(missing) | {""}, tuple(values.astype(float)), decimal)


def as_text(column: pd.Series) -> pd.Series:
    """Return the values as text, whole numbers without a fraction; missing ones stay missing."""
    is_known = column.notna()
    if isinstance(column.dtype, pd.CategoricalDtype):
        # the very categories that the same column of a dataframe has
        column = column.astype(object).map(as_category, na_action="ignore")
    if pd.api.types.is_float_dtype(column) and (column[is_known] % 1 == 0).all():
        column = column.astype("Int64")  # whole numbers that a missing value has made floats
    return column.astype(object).where(is_known, np.nan).map(str, na_action="ignore").astype(object)


def settle(
    column: pd.Series, known: Texts, *, is_text: bool = False
) -> tuple[pd.Series, str | None]:
    """Return a column of a file as numbers, booleans, dates or text, and perhaps a warning.

    In a column whose other values are all numbers, all booleans or all dates (of ISO 8601), markers
    become missing values; in a column of text nothing changes. With `is_text` only dates are
    read, as what is in quotes is no number.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return as_text(column), None
    if is_numeric_dtype(column) and not is_bool_dtype(column) and known.missing_numbers:
        return column.mask(column.isin(known.missing_numbers)), None
    if not (is_object_dtype(column) or is_string_dtype(column)):
        return column, None  # such as dates
    try:
        distinct = column.dropna().astype(object).unique()
    except TypeError as error:
        odd = next(type(value).__name__ for value in column if not is_hashable(value))
        raise EvaluationError(
            f"column {column.name!r} holds values of type {odd}; it takes numbers, text or booleans"
        ) from error
    if not all(isinstance(value, str | bool | np.bool_ | _REAL) for value in distinct):
        return column, None
    texts = pd.Series([*map(str, distinct)], pd.Index([*distinct], dtype=object), dtype=object)
    given = texts[~known.are_missing(texts)]
    as_numbers, as_booleans = known.numbers(given), given.str.strip().map(BOOLEANS)
    as_dates = _as_dates(given)
    for read in (as_dates,) if is_text else (as_numbers, as_booleans, as_dates):
        if len(given) and read.notna().all():
            return column.astype(object).map(read.to_dict()).infer_objects(), None
    odd_ones = given[as_dates.isna()]
    if len(odd_ones) > len(given) / 2:
        if is_text:
            return column, None
        odd_ones = given[as_numbers.isna() & as_booleans.isna()]
    warning = known.warning(odd_ones)
    n_values = n_text = 0
    if len(odd_ones) < len(given):  # or all is text
        n_values = int(column.isin(given.index).sum())
        n_text = int(column.isin(odd_ones.index).sum())
    if warning is None and 0 < n_text <= n_values - _MOSTLY * n_values:
        warning = (
            f"{n_text} of {n_values} values {'are' if n_text > 1 else 'is'} text, such as"
            f" {odd_ones.iloc[0]!r}, so all of them are categories; missing (--missing) names the"
            " texts that stand for a missing value"
        )
    return as_text(column), warning


def _as_dates(texts: pd.Series) -> pd.Series:
    """Return texts as dates, or as times of their own zone; missing where they are neither."""
    found = [_DATE.fullmatch(text) for text in texts]
    here = pd.Series([match and match[1] for match in found], texts.index, dtype=object)
    dates = pd.to_datetime(here, format="ISO8601", errors="coerce")
    has_time = any(len(text) > len("2024-05-17") for text in here.dropna())
    return dates if has_time else dates.dt.date


def label_warning(labels: pd.Series, known: Texts) -> str | None:
    """Return a warning if labels are numbers with a unit or commas, but for markers."""
    if is_numeric_dtype(labels):
        return None
    texts = pd.Series(labels.dropna().unique(), dtype=object).map(str)
    return known.warning(texts[known.numbers(texts).isna() & ~known.are_missing(texts)])


def is_quantity(labels: pd.Series, known: Texts) -> bool:
    """Whether labels are a quantity: numbers with fractions, or more than 50 distinct ones.

    Only the first 1000 labels count. Markers of missing values among them do not, and neither does
    a little text.
    """
    first = labels[:ROWS]
    if is_bool_dtype(first):
        return False
    if not is_numeric_dtype(first):
        texts = first.astype("str")
        parts = known.numbers(texts)[~known.are_missing(texts)]
        if not len(parts) or parts.notna().mean() < _MOSTLY:
            return False
        first = parts.dropna()
    values = first.to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    return bool((values % 1 != 0).any() or len(np.unique(values)) > MOST_LABELS)


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


_NO_LABELS = (
    "regression predicts numbers; if that text stands for a missing value, name it with missing"
    " (--missing); if the column holds labels, set task (--task) to 'classification'"
)


def as_numbers(column: pd.Series, known: Texts, name: str, but: str = _NO_LABELS) -> pd.Series:
    """Return a column as numbers, NaN where it is missing; raise for other texts and dates.

    Rows are numbered as in the file, from 1.
    """
    if is_numeric_dtype(column):  # booleans among them
        values = column.astype(np.float64)
        return values.mask(values.isin(known.missing_numbers))
    texts = column.astype(object).map(str, na_action="ignore").fillna("")
    is_missing = known.are_missing(texts)
    values = known.numbers(texts).mask(is_missing)
    is_odd = values.isna() & ~is_missing
    if is_odd.any():
        odd = int(is_odd.to_numpy().argmax())
        if warning := known.warning(texts[is_odd]):
            raise EvaluationError(
                f"row {column.index[odd] + 1} of {name}: column {column.name!r}: {warning}"
            )
        raise EvaluationError(
            f"row {column.index[odd] + 1} of {name} has {texts.iloc[odd]!r} in {column.name!r}, but"
            f" {but}"
        )
    return values
