"""What the columns of a table hold: a small reader for each kind, tried in order."""

from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from river_amf.evaluation.table_files import MISSING, Layout, Table
from river_amf.evaluation.usage_errors import EvaluationError, option
from river_amf.inputs.kinds import as_category, is_date, is_hashable, shown
from river_amf.inputs.texts import ID, booleans, iso_dates, numbers, read_dates

_LARGEST = 2**53  # up to which float64 holds all integers


def settle(
    column: pd.Series, table: Table, kind: str | None = None, wanted: str = ""
) -> tuple[pd.Series, str]:
    """Return the values of a column, NaN where missing, and their kind: the first that fits all.

    With a `kind`, a value of another raises EvaluationError, which ends with `wanted`.
    """
    name, layout, readers = str(column.name), table.layout, _READERS
    if name in table.texts:
        kind = "category"
    elif name in layout["dates"]:
        kind, readers = "date", {"date": lambda cells, *_: read_dates(cells, layout)}
        wanted = "which is no such date: --day-first, or --date-format FORMAT, reads others"
    column = column if table.is_text else column.infer_objects()
    if types.is_datetime64_any_dtype(column):
        return column, "date"
    codes, cells = _distinct(column, table, kind)
    if not types.is_numeric_dtype(cells) and any(map(is_date, cells)):
        return column.astype(object).where(column.notna(), np.nan), "date"
    for found in readers if kind is None else [kind]:
        try:
            values = readers[found](cells, layout, kind is not None)
        except ValueError as error:
            raise EvaluationError(f"date_format is of no use: {error}") from error
        odd = cells[values.isna() & cells.notna()]
        if odd.empty:
            break
        if kind is not None:
            row = column.index[codes == odd.index[0]][0] + 1
            raise EvaluationError(
                f"row {row} of {table.name} has {shown(odd.iloc[0])} in {name!r}, {wanted}"
            )
    marks = numbers(pd.Series([*layout["missing"]], dtype=object), layout).dropna()
    values = values.mask(values.isin(marks)) if found == "number" and len(marks) else values
    values = values.reindex(codes).set_axis(column.index).rename(name)
    if types.is_float_dtype(values) and np.isinf(values).any():
        raise EvaluationError(
            f"row {np.isinf(values).idxmax() + 1} of {table.name} has an infinite value in"
            f" {name!r}, or one too large for float64; --missing=inf,-inf reads such values as"
            " missing"
        )
    return values, found


def _distinct(column: pd.Series, table: Table, kind: str | None) -> tuple[Any, pd.Series]:
    """Return the code of each cell, and what each code stands for: a number, a date or a text."""
    if types.is_numeric_dtype(column) and not types.is_extension_array_dtype(column):
        is_long = types.is_integer_dtype(column) and (column.abs() > _LARGEST).any()
        if kind in ("number", "boolean") or (kind is None and not is_long):
            return column.index, column
    try:
        codes, distinct = pd.factorize(column.astype(object))
    except TypeError as error:
        row, odd = next((n, v) for n, v in enumerate(column) if not is_hashable(v))
        raise EvaluationError(
            f"column {column.name!r} must hold numbers, text or booleans, but row {row + 1} has a"
            f" {type(odd).__name__}; {option('drop', [str(column.name)])} leaves it out"
        ) from error
    cells = pd.Series([*distinct], dtype=object)
    if any(map(is_date, cells)):
        return codes, cells
    texts = cells.map(lambda cell: str(as_category(cell)).strip())
    return codes, texts[~texts.isin({*MISSING, *table.layout["missing"]})]


# Readers of distinct values, which return NaN for those of another kind; that may be settled.


def _numbers(cells: pd.Series, layout: Layout, is_settled: bool) -> pd.Series:
    if types.is_numeric_dtype(cells):
        is_read = is_settled or not types.is_bool_dtype(cells)
        return cells if is_read else pd.Series(np.nan, cells.index)
    is_id = not is_settled and cells.str.fullmatch(ID).any()
    return numbers(cells[:0] if is_id else cells, layout).reindex(cells.index)


_READERS: Any = {
    "number": _numbers,
    "boolean": lambda cells, *_: cells if types.is_numeric_dtype(cells) else booleans(cells),
    "date": lambda cells, layout, _: iso_dates(cells, layout),
    "category": lambda cells, *_: cells,
}
