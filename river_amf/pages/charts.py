"""Common parts of the figures of reports: styles of models, traces, numbers and names."""

from __future__ import annotations

import html
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from river_amf.explain import formatting
from river_amf.inputs.kinds import printable
from river_amf.pages import palette
from river_amf.pages.records import Records

HEAT: dict[str, Any] = {  # the style of a heat map
    "type": "heatmap",
    "colorscale": [[0.0, "var(--heat-0)"], [0.5, "var(--heat-1)"], [1.0, "var(--heat-2)"]],
    "colorbar": {"thickness": 10, "outlinewidth": 0},
    "zmin": 0.0,
}
THIN = {"color": "var(--soft)", "width": 1}  # the style of lines to compare with

_DIGITS = 4

Styles = Mapping[str, palette.Look]  # by model


def styles_of(records: Records) -> dict[str, palette.Look]:
    """Return the style of each model, those behind first."""
    floors = [name for name in records.floors if name in records.models]
    return palette.looks(records.scores, floors, smaller_is_better=records.is_of_numbers)


def in_order(records: Records, styles: Styles) -> list[str]:
    """Return the models that have color and look at features, in the order of the table."""
    named = [name for name in records.models if name in styles and styles[name].is_named]
    return [name for name in named if name not in records.floors]


def line(look: palette.Look) -> dict[str, Any]:
    """Return the style of a line for plotly."""
    return {"color": look.color, "width": look.width, "dash": look.dash}


def figure(
    traces: Iterable[dict[str, Any]],
    x: str = "",
    y: str = "",
    *,
    across: Mapping[str, Any] | None = None,
    up: Mapping[str, Any] | None = None,
    **layout: Any,
) -> dict[str, Any]:
    """Return a figure with the titles of its axes, and what else there is to say of them."""
    axes = {
        "xaxis": {"title": {"text": x}, **(across or {})},
        "yaxis": {"title": {"text": y}, **(up or {})},
    }
    return {"data": [*traces], "layout": {**axes, **layout}}


def trace(
    name: str, x: Sequence[Any], y: Iterable[float], hover: str, **style: Any
) -> dict[str, Any]:
    """Return points or a line of a model, which goes by its name in the page's legend."""
    names = {"name": markup(name), "legendgroup": printable(name)}
    points = {"type": "scatter", "x": [*x], "y": rounded(y), "hovertemplate": hover}
    return {**points, **names, **style}


def markup(text: str) -> str:
    """Return text that plotly, which knows some HTML, shows as it is."""
    return html.escape(printable(text), quote=False)


def diagonal(*ends: float | None) -> dict[str, Any]:
    """Return the thin line on which points are equal in both directions."""
    style = {"mode": "lines", "line": THIN, "hoverinfo": "skip"}
    return {"type": "scatter", "x": [*ends], "y": [*ends], **style}


def rounded(values: Iterable[float], digits: int = _DIGITS) -> list[float | None]:
    """Return numbers with so many digits, which makes a page small, and None for NaN.

    >>> rounded([0.123456, 1234567.0, float("nan")])
    [0.1235, 1235000.0, None]
    """
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


def unique(names: Iterable[Hashable]) -> list[str]:
    """Return names as text for plotly, shortened, and numbered where they would look the same.

    >>> unique(["a", 1, "1", "<b>"])
    ['a', '1', '1 (2)', '&lt;b&gt;']
    """
    texts: dict[str, None] = {}
    for each in names:
        text = base = formatting.name(each)
        number = 2
        while text in texts:
            text, number = f"{base} ({number})", number + 1
        texts[text] = None
    return [markup(text) for text in texts]
