"""The figures of a run as they are shown: a title for each column, a cell for each value."""

from __future__ import annotations

from collections.abc import Iterable

from river.utils.pretty import humanize_bytes

_TITLES = {"n_samples": "samples", "us_per_sample": "us/sample"}


def titles(columns: Iterable[str]) -> list[str]:
    """Return the titles of columns.

    >>> titles(["n_samples", "accuracy"])
    ['samples', 'accuracy']
    """
    return [_TITLES.get(column, column) for column in columns]


def cell(column: str, value: float) -> str:
    """Return a figure of a column.

    >>> cell("accuracy", 0.5), cell("us_per_sample", 12.34), cell("memory", 2048)
    ('0.5000', '12.3', '2 KiB')
    """
    if column == "n_samples":
        return str(round(value))
    if column == "memory":
        return str(humanize_bytes(round(value)))
    return f"{value:.1f}" if column == "us_per_sample" else f"{value:.4f}"
