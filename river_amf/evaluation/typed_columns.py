"""Columns as numbers, booleans, dates or categories."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.table_files import Table
from river_amf.evaluation.usage_errors import EvaluationError
from river_amf.inputs.kinds import as_category, is_date, is_hashable, shown

# the markers of pandas, which does not export them, and that of the repository of UC Irvine
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"),
)
_DATE = re.compile(  # of ISO 8601; the first group is without an offset from UTC
    r"(\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?)(Z|[-+]\d\d:?\d\d)?"
)


def settle(
    column: pd.Series, table: Table, kind: str | None = None, wanted: str = ""
) -> tuple[pd.Series, str]:
    """Return the values of a column, NaN where missing, and their kind.

    This is "number", "boolean" or "date" if all values are, or else "category". Where values have
    types, a text is no number. With a `kind`, a value of another kind raises EvaluationError, which
    ends with `wanted`; so does an infinite number.
    """
    missing = table.layout["missing"]
    if isinstance(column.dtype, pd.CategoricalDtype):
        kind = "category"
    column = column.infer_objects()
    if types.is_datetime64_any_dtype(column):
        return column, "date"
    if types.is_extension_array_dtype(column):
        column = column.astype(object)
    if types.is_numeric_dtype(column) and kind in (None, "number", "boolean"):
        kind = kind or ("boolean" if types.is_bool_dtype(column) else "number")
        if table.is_typed and missing:  # in a CSV file pandas has left them out
            column = column.mask(column.isin(numbers(pd.Series([*missing]), table)))
        return _finite(column, table), kind
    try:
        distinct: Any = column.dropna().unique()
    except TypeError as error:
        odd = next(value for value in column if not is_hashable(value))
        raise EvaluationError(
            f"column {column.name!r} must hold numbers, text or booleans, got {shown(odd)}"
        ) from error
    if any(map(is_date, distinct)):
        return column.astype(object).where(column.notna(), np.nan), "date"
    texts = pd.Series([*map(_as_text, distinct)], pd.Index(distinct, dtype=object), dtype=object)
    texts = texts[~texts.isin({*MISSING, *missing})]
    is_text = table.is_typed and all(isinstance(value, str) for value in distinct)
    kinds = [kind] if kind else ["date"] if is_text else [*_READERS]
    for name in kinds if kind != "category" else ():
        values = _READERS[name](texts, table)
        others = texts[values.isna()]
        if kind and len(others):
            row = column.index[column == others.index[0]][0] + 1
            raise EvaluationError(
                f"row {row} of {table.name} has {shown(others.iloc[0])} in {column.name!r},"
                f" {wanted}"
            )
        if kind or len(texts) > len(others) == 0:
            return _finite(column.map(values.to_dict()).infer_objects(), table), name
    return column.astype(object).map(texts.to_dict()).astype(object), "category"


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return str(as_category(value)).strip()


def _finite(column: pd.Series, table: Table) -> pd.Series:
    """Return a column, or raise EvaluationError if a number is infinite."""
    if types.is_float_dtype(column) and np.isinf(column).any():
        raise EvaluationError(
            f"row {np.isinf(column).idxmax() + 1} of {table.name} has an infinite value in"
            f" {column.name!r}, or one too large for float64; --missing=inf,-inf reads such values"
            " as missing"
        )
    return column


def numbers(texts: pd.Series, table: Table) -> pd.Series:
    """Return texts as numbers, as pandas parses them in a file, and NaN for other texts."""
    # only those that may be numbers, because it takes long to try to parse text
    plain = texts[texts.str.match(r"[-+.,\diIn]").to_numpy(dtype=bool)]
    if table.layout["thousands"]:
        plain = plain.str.replace(table.layout["thousands"], "", regex=False)
    if table.layout["decimal"] != ".":
        plain = plain.where(~plain.str.contains(".", regex=False), "text")
        plain = plain.str.replace(table.layout["decimal"], ".", regex=False)
    return pd.to_numeric(plain, errors="coerce").astype(np.float64).reindex(texts.index)


def read_dates(texts: pd.Series, _: Table) -> pd.Series:
    """Return texts as dates or as times, without their offset; missing where they are neither."""
    matches = map(_DATE.fullmatch, texts)
    local = pd.Series([match and match[1] for match in matches], texts.index, dtype=object)
    dates = pd.to_datetime(local, format="ISO8601", errors="coerce")
    has_time = any(len(text) > len("2024-05-17") for text in local.dropna())
    return dates if has_time else dates.dt.date


_READERS = {
    "number": numbers,
    "boolean": lambda texts, _: texts.str.lower().map({"true": True, "false": False}),
    "date": read_dates,
}
