"""How the results of a run are displayed: column titles and table cells."""

from __future__ import annotations

from collections.abc import Iterable

from river.utils.pretty import humanize_bytes

_IN_UNITS = ("MAE", "RMSE", "MSE", "width")  # of the target, and of any size
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
