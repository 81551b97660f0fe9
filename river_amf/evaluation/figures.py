"""How the results of a run are displayed: column titles and table cells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
from river.utils.pretty import humanize_bytes

_IN_UNITS = ("MAE", "RMSE", "MSE", "width")  # of the target, and of any size
_UNKNOWN = "-"
_TITLES = {"n_samples": "samples", "us_per_sample": "us/sample"}


def titles(columns: Iterable[str]) -> list[str]:
    """Return the display titles of columns."""
    return [_TITLES.get(column, column) for column in columns]


def cell(column: str, value: float) -> str:
    """Return a value as it is displayed in its column."""
    if column == "n_samples":
        return str(round(value))
    if column == "memory":
        return str(humanize_bytes(round(value)))
    if column in _IN_UNITS:
        return f"{value:.5g}"
    return f"{value:.1f}" if column == "us_per_sample" else f"{value:.4f}"


def rows(table: pd.DataFrame) -> list[list[str]]:
    """Return the titles and the row of each model of a comparison as displayed."""
    lines = table.itertuples(name=None)
    cells = ([str(model), *map(_known, table.columns, row)] for model, *row in lines)
    return [["model", *titles(table.columns)], *cells]


def _known(column: Any, value: Any) -> str:
    """Return a value or the status as displayed."""
    if column == "status":
        return str(value)
    return _UNKNOWN if math.isnan(value) else cell(column, value)
