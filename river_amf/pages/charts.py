"""Common parts of the figures of reports: styles of models, traces and numbers."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from river_amf.inputs.kinds import printable
from river_amf.pages import palette
from river_amf.pages.records import Records

LEAST_HEIGHT = 200  # of the inside of a figure, in pixels
ROW = 40  # of a figure with names above its rows, in pixels

_DIGITS = 4

Styles = Mapping[str, palette.Look]  # by model


def styles_of(records: Records) -> dict[str, palette.Look]:
    """Return the style of each model, those behind first."""
    floors = [name for name in records.floors if name in records.models]
    return palette.looks(records.scores, floors, smaller_is_better=records.is_regression)


def in_order(records: Records, styles: Styles) -> list[str]:
    """Return the models that have a color and look at features, in the order of the table."""
    named = [name for name in records.models if name in styles and styles[name].is_named]
    return [name for name in named if name not in records.floors]


def line(look: palette.Look) -> dict[str, Any]:
    """Return the style of a line for plotly."""
    return {"color": look.color, "width": look.width, "dash": look.dash}


def drawing(
    traces: Iterable[Mapping[str, Any]],
    x: str,
    y: str = "",
    *,
    across: Mapping[str, Any] | None = None,
    up: Mapping[str, Any] | None = None,
    **layout: Any,
) -> dict[str, Any]:
    """Return plotly's data and layout, with the titles of the axes and options for each of them."""
    xaxis = {"title": {"text": x}, **(across or {})}
    yaxis = {"title": {"text": y}, **(up or {})}
    return {"data": [*traces], "layout": {"xaxis": xaxis, "yaxis": yaxis, **layout}}


def rows_layout(n_rows: int) -> dict[str, Any]:
    """Return options of `drawing` for rows at 0, 1, ... from the top, with names above each."""
    height = max(ROW * n_rows, LEAST_HEIGHT)
    axis = {"range": [n_rows - 0.5, -0.5], "showticklabels": False, "ticks": ""}
    return {
        "up": {**axis, "showgrid": False, "zeroline": False, "automargin": False},
        "height": height + 44,
        "margin": {"l": 8, "r": 12, "t": 0, "b": 44},
    }


def trace(
    name: str, x: Iterable[Any], y: Iterable[float], hover: str, **style: Any
) -> dict[str, Any]:
    """Return points or a line of a model."""
    points = {"type": "scatter", "x": [*x], "y": rounded(y), "hovertemplate": hover}
    return {**points, "name": markup(name), **style}


def markup(text: str) -> str:
    """Return text that plotly, which interprets some HTML, shows as it is."""
    return html.escape(printable(text), quote=False)


def thin_line(x: Sequence[float | None], y: Sequence[float | None]) -> dict[str, Any]:
    """Return a thin line to compare with."""
    style = {"color": palette.INK, "width": 1}
    return {"type": "scatter", "x": x, "y": y, "mode": "lines", "line": style, "hoverinfo": "skip"}


def rounded(values: Iterable[float], digits: int = _DIGITS) -> list[float | None]:
    """Return numbers with so many digits, which makes a page small, and None for NaN.

    >>> rounded([0.123456, 1234567.0, 1e-15, float("nan")])
    [0.1235, 1235000.0, 0.0, None]
    """
    return [
        float(f"{value:.{digits}g}") * (abs(value) > 1e-12) if np.isfinite(value) else None
        for value in values
    ]
