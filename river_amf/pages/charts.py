"""Common parts of figures, as dicts of plotly: traces, layouts and numbers."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from river_amf.inputs.kinds import printable
from river_amf.pages.palette import INK, Look

_LEAST_HEIGHT = 200  # of the inside of a figure, in pixels
_ROW = 40  # of a figure with names above its rows, in pixels
_BELOW = 44  # for the axis of such a figure, in pixels


def rows_layout(n_rows: int) -> dict[str, Any]:
    """Return the layout of rows at 0, 1, ... from the top, with names above each."""
    axis = {"range": [n_rows - 0.5, -0.5], "showticklabels": False, "ticks": ""}
    return {
        "yaxis": {**axis, "showgrid": False, "zeroline": False, "automargin": False},
        "height": max(_ROW * n_rows, _LEAST_HEIGHT) + _BELOW,
        "margin": {"l": 8, "r": 12, "t": 0, "b": _BELOW},
    }


def trace(name: str, values: pd.Series, look: Look, hover: str, **style: Any) -> dict[str, Any]:
    """Return the line of a model, or its points with `mode="markers"`: values by their index."""
    x = values.index.tolist()
    style["marker"] = {"color": look.color, **style.get("marker", {})}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": rounded(x) if values.index.dtype.kind == "f" else x,
        "y": rounded(values),
        "name": html.escape(printable(name), quote=False),  # plotly interprets some HTML
        "hovertemplate": hover,
        "line": {"color": look.color, "width": look.width, "dash": look.dash},
        **style,
    }


def thin_line(x: Iterable[Any], y: Iterable[Any]) -> dict[str, Any]:
    """Return a thin grey line for comparison."""
    style = {"mode": "lines", "line": {"color": INK, "width": 1}, "hoverinfo": "skip"}
    return {"type": "scatter", "x": [*x], "y": [*y], **style}


def rounded(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Return numbers rounded to `digits` significant digits, and None for NaN.

    >>> rounded([0.123456, 1234567.0, 1e-15, float("nan")])
    [0.1235, 1235000.0, 0.0, None]
    """
    return [
        float(f"{value:.{digits}g}") * (abs(value) > 1e-12) if np.isfinite(value) else None
        for value in values
    ]
