"""Common parts of all figures of pages: plotly, styles of models, numbers and names."""

from __future__ import annotations

import html
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from river_amf.explain import formatting
from river_amf.pages import palette
from river_amf.pages.document import Entry
from river_amf.pages.records import Records

try:
    import plotly.graph_objects as go
except ImportError as error:
    raise ImportError(
        'pages need plotly (the extra html): pip install "plotly>=6"', name="plotly"
    ) from error

__all__ = [
    "HEAT",
    "Style",
    "diagonal",
    "escaped",
    "figure",
    "go",
    "rounded",
    "styles_of",
    "trace",
    "unique",
]

HEAT = [[0.0, "var(--heat-0)"], [0.5, "var(--heat-1)"], [1.0, "var(--heat-2)"]]  # of heat maps

_DIGITS = 4
_VARIABLES = {"#000000": "var(--ink)", palette.GREY: "var(--faint)"}  # seen on light and dark
_DASHES = ("dash", "dot")  # of the floors


@dataclass(frozen=True)
class Style:
    """The colors and lines of a model."""

    color: str
    width: float = 2.0
    dash: str = "solid"
    is_named: bool = True  # others are grey, and behind

    @property
    def line(self) -> dict[str, Any]:
        """Return the style of a line for plotly."""
        return {"color": self.color, "width": self.width, "dash": self.dash}

    def entry(self, name: str) -> Entry:
        """Return the entry of the page's legend."""
        return Entry(name, self.color, self.dash)


def styles_of(records: Records) -> dict[str, Style]:
    """Return the style of each model, those behind first.

    The last label and its like, which need no features, are in ink, dashed and dotted.
    """
    scores = {name: n for name, n in records.scores.items() if name not in records.floors}
    looks = palette.looks(scores, records.roles, smaller_is_better=records.is_of_numbers)
    styles = {name: _style(look) for name, look in looks.items()}
    styles |= {
        name: Style("var(--ink)", 1.5, dash)
        for name, dash in zip(records.floors, _DASHES, strict=False)
        if name in records.models
    }
    return dict(sorted(styles.items(), key=lambda item: item[1].is_named))


def _style(look: palette.Look) -> Style:
    color = _VARIABLES.get(look.color, look.color)
    dash = "dash" if look.is_dashed else "solid"
    return Style(color, 2.0 if look.is_named else 1.0, dash, look.is_named)


def figure(traces: Sequence[Any], *, x: str = "", y: str = "", **layout: Any) -> go.Figure:
    """Return a figure with the titles of its axes; the rest of its looks is the page's."""
    drawn = go.Figure(list(traces))
    drawn.update_layout(template="none", **layout)
    drawn.update_xaxes(title_text=x)
    drawn.update_yaxes(title_text=y)
    return drawn


def trace(name: str, x: Sequence[Any], y: Sequence[Any], hover: str, **style: Any) -> Any:
    """Return points or a line of a model, which goes by its name in the page's legend."""
    names = {"name": escaped(name), "legendgroup": name}
    return go.Scatter(x=x, y=y, **names, hovertemplate=hover, **style)


def diagonal(ends: Sequence[Any]) -> Any:
    """Return the thin line on which points are equal in both directions."""
    style = {"color": "var(--soft)", "width": 1}
    return go.Scatter(x=ends, y=ends, mode="lines", line=style, hoverinfo="skip")


def rounded(values: Iterable[float], digits: int = _DIGITS) -> list[float | None]:
    """Return numbers with so many digits, which makes a page small, and None for NaN.

    >>> rounded([0.123456, 1234567.0, float("nan")])
    [0.1235, 1235000.0, None]
    """
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


def escaped(text: str) -> str:
    """Return text that plotly, which knows some HTML, shows as it is."""
    return html.escape(text, quote=False)


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
    return [escaped(text) for text in texts]
