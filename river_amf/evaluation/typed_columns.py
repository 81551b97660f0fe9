"""Columns as numbers, booleans, dates or text."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.usage_errors import EvaluationError
from river_amf.inputs.kinds import as_category, is_date, is_hashable, shown

# those of pandas, which does not export them, and that of the repository of UC Irvine
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"),
)
_BOOLEANS = {
    **dict.fromkeys(("True", "TRUE", "true"), True),
    **dict.fromkeys(("False", "FALSE", "false"), False),
}
_DATE = re.compile(  # of ISO 8601; the first group is without an offset from UTC
    r"(\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?)(Z|[-+]\d\d:?\d\d)?"
)


@dataclass(frozen=True)
class Reading:
    """How texts are read: what is missing, and how numbers are written."""

    markers: frozenset[str] = frozenset()
    decimal: str = "."
    thousands: str | None = None

    def numbers(self, texts: pd.Series) -> pd.Series:
        """Return texts as numbers, as pandas parses them in a file, and NaN for other texts."""
        # This leaves out most text, because it takes long to try to parse it.
        plain = texts[texts.str.match(r"[-+.,\diIn]").to_numpy(dtype=bool)]
        if self.thousands:
            plain = plain.str.replace(self.thousands, "", regex=False)
        if self.decimal != ".":
            plain = plain.where(~plain.str.contains(".", regex=False), "text")
            plain = plain.str.replace(self.decimal, ".", regex=False)
        return pd.to_numeric(plain, errors="coerce").astype(np.float64).reindex(texts.index)

    @property
    def missing(self) -> set[str]:
        """The texts that stand for a missing value."""
        return {*MISSING, *self.markers}


class Column(NamedTuple):
    """A column that has been read."""

    values: pd.Series  # with NaN for what is missing
    kind: str  # "number", "boolean", "date" or "category"
    texts: pd.Series  # the distinct texts, none of them missing, of a column that has some
    is_quoted: bool = False  # whether texts are known to be text


def settle(
    column: pd.Series,
    reading: Reading,
    *,
    is_text: bool = False,
    is_typed: bool = False,
    kind: str | None = None,
    refusal: str = "",
) -> Column:
    """Return a column as numbers, booleans or dates if all of its values are, or else as text.

    With `is_text` it is text. Where values have types of their own, a text is no number. With a
    `kind`, a value of another kind raises EvaluationError with its row, its value and the refusal,
    a pattern that names these.
    """
    none = pd.Series(dtype=object)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return Column(column.astype(object).map(as_category, na_action="ignore"), "category", none)
    column, is_text = column.infer_objects(), is_text or kind == "category"
    if types.is_numeric_dtype(column) and not is_text and kind in (None, "number", "boolean"):
        found = "boolean" if types.is_bool_dtype(column) else "number"
        if reading.markers and is_typed:
            markers = reading.numbers(pd.Series([*reading.markers], dtype=object))
            column = column.mask(column.isin(markers))
        return Column(column, kind or found, none)
    if types.is_datetime64_any_dtype(column):
        return Column(column, "date", none)
    distinct = _distinct(column)
    if any(map(is_date, distinct)):
        return Column(column.astype(object).where(column.notna(), np.nan), "date", none)
    is_whole = types.is_float_dtype(column) and bool((column.dropna() % 1 == 0).all())
    written = [str(int(value)) if is_whole else str(value).strip() for value in distinct]
    texts = pd.Series(written, pd.Index([*distinct], dtype=object), dtype=object)
    texts = texts[~texts.isin(reading.missing).to_numpy(dtype=bool)]
    is_quoted = is_typed and all(isinstance(value, str) for value in distinct)
    readers = {"number": reading.numbers, "boolean": _booleans, "date": read_dates}
    if is_text:
        readers = {}
    elif kind is not None:
        readers = {kind: readers[kind]}
    elif is_quoted:
        readers = {"date": read_dates}
    for name, read in readers.items():
        values = read(texts)
        odd = texts[values.isna().to_numpy(dtype=bool)]
        if len(odd) and kind is not None:
            row = column.index[column.isin(odd.index[:1])][0] + 1
            raise EvaluationError(refusal.format(row=row, value=shown(odd.iloc[0]), kind=name))
        if not len(odd) and (len(texts) or kind is not None):
            return Column(column.map(values.to_dict()).infer_objects(), name, none)
    values = column.astype(object).map(texts.to_dict())
    return Column(values.astype(object), "category", none if is_text else texts, is_quoted)


def _distinct(column: pd.Series) -> Any:
    """Return the distinct values, or raise if they are lists or the like."""
    try:
        return column.dropna().astype(object).unique()
    except TypeError as error:
        odd = next(type(value).__name__ for value in column if not is_hashable(value))
        raise EvaluationError(
            f"column {column.name!r} holds values of type {odd}; it takes numbers, text or booleans"
        ) from error


def _booleans(texts: pd.Series) -> pd.Series:
    return texts.map(_BOOLEANS)


def read_dates(texts: pd.Series) -> pd.Series:
    """Return texts as dates, or as times of their own zone; missing where they are neither."""
    found = [_DATE.fullmatch(text) for text in texts]
    here = pd.Series([match and match[1] for match in found], texts.index, dtype=object)
    dates = pd.to_datetime(here, format="ISO8601", errors="coerce")
    has_time = any(len(text) > len("2024-05-17") for text in here.dropna())
    return dates if has_time else dates.dt.date


def refuse_infinite(column: pd.Series, name: str) -> None:
    """Raise EvaluationError if a number is infinite."""
    if not types.is_float_dtype(column):
        return
    is_infinite = np.isinf(column.to_numpy(dtype=np.float64))
    if is_infinite.any():
        raise EvaluationError(
            f"row {column.index[is_infinite.argmax()] + 1} of {name} has an infinite value in"
            f" {column.name!r}, or one too large for float64; --missing=inf,-inf reads such values"
            " as missing"
        )


def as_whole(labels: pd.Series) -> pd.Series:
    """Return whole numbers that missing values have made floats as integers."""
    if types.is_float_dtype(labels) and len(labels) and (labels % 1 == 0).all():
        return labels.astype("int64")
    return labels


def check_markers(missing: Collection[str]) -> frozenset[str]:
    """Return the texts that stand for missing values, or raise."""
    if isinstance(missing, str) or not all(isinstance(text, str) for text in missing):
        raise EvaluationError(f"missing must be a list of texts, such as ['-9'], got {missing!r}")
    return frozenset(missing)
