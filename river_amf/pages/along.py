"""Figures of what changes along a stream: curves, marks of drift, and relevance."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from river_amf.pages.charts import HEAT, THIN, Styles, figure, line, markup, rounded, trace, unique
from river_amf.pages.document import Figure
from river_amf.pages.records import Records

MEGABYTE = 1e6  # the unit of memory, everywhere on the page

_MOST_UNIFIED = 8  # models whose numbers fit beside each other
_MOST_FEATURES = 30  # in a heat map
_EVENTS = (  # column, symbol, meaning, and place in the row of the model
    ("drifts", "diamond", "the error has grown", 0.15),
    ("restarts", "x", "restarts", -0.15),
)
_KNOWN = " Dotted lines, in all figures: where the stream is known to drift."
_MARGIN = 1.15  # how far beyond the curves that matter a figure goes
_HIGH = 1.5  # times as high as that, and a figure is cut off
_FAR = 3.0  # times as far as most, and a curve is out of sight
_BEGINNING, _WARM_UP = 0.05, 0.1  # shares of a stream that do not decide about scales


def curves(
    records: Records,
    styles: Styles,
    column: str,
    title: str,
    text: str = "",
    *,
    y: str | None = None,
    digits: str = ".4f",
    level: float | None = None,
    is_clipped: bool = False,
    unit: float = 1.0,
    **up: Any,
) -> Figure | None:
    """Return the curves of a column, a line for each model, or None if no model has it.

    `level` is a line across. With `is_clipped`, curves far above the others are out of sight: the
    loss of the last label is of another order.
    """
    found = {name: records.curve(name, column) for name in styles}
    lines = {name: curve / unit for name, curve in found.items() if curve is not None}
    if not lines:
        return None
    traces = [
        trace(
            name,
            curve.index.tolist(),
            curve,
            f"%{{y:{digits}}}",
            mode="lines" if len(curve) > 1 else "markers",
            line=line(styles[name]),
            marker={"color": styles[name].color},
        )
        for name, curve in lines.items()
    ]
    top = top_of(records, lines) if is_clipped else None
    if top is not None:
        text = f"{text} Some curves lie above the top of the figure.".strip()
        up = {"range": [0.0, top], **up}
    drawn = figure(
        traces,
        "samples",
        column if y is None else y,
        up={"rangemode": "tozero", **up} if is_clipped or unit != 1.0 else up,
        hovermode="x unified" if len(lines) <= _MOST_UNIFIED else "closest",
        shapes=_marks(records, level),
    )
    return Figure(drawn, title, text, id=column.replace(" ", "-"))


def top_of(records: Records, lines: Mapping[str, pd.Series]) -> float | None:
    """Return where to cut off an axis, so that what is far above the rest does not flatten it.

    None if nothing is. Neither models that look at no features nor the beginning decide.
    """
    tops = {
        n: float(np.quantile(c.iloc[int(len(c) * _BEGINNING) :], 0.99)) for n, c in lines.items()
    }
    judged = [top for name, top in tops.items() if name not in records.floors]
    limit = _FAR * statistics.median_high(judged or [*tops.values()])
    near = max((top for top in tops.values() if top <= limit), default=0.0)
    highest = max(float(curve.max()) for curve in lines.values())
    return _MARGIN * near if 0.0 < _HIGH * near < highest else None


def _marks(records: Records, level: float | None = None) -> list[dict[str, Any]]:
    """Return lines where the stream is known to drift, and one across."""
    upright = {"y0": 0, "y1": 1, "yref": "paper", "line": {**THIN, "dash": "dot"}}
    across = {"x0": 0, "x1": 1, "xref": "paper", "line": THIN}
    marks = [{"x0": place, "x1": place, **upright} for place in records.drifts]
    marks += [] if level is None else [{"y0": level, "y1": level, **across}]
    return [{"type": "line", "layer": "between", **mark} for mark in marks]


def drifts(records: Records, styles: Styles) -> Figure | None:
    """Return where errors grew and trees restarted, in a row for each model that has color."""
    named = [name for name, style in styles.items() if style.is_named]
    traces = []
    for row, name in enumerate(named):
        for column, symbol, what, shift in _EVENTS:
            curve = records.curve(name, column)
            places = None if curve is None else curve[curve > 0].astype(int)
            if places is not None and len(places):
                hover = f"until %{{x}}: {what}, %{{customdata}}"
                marker = {"symbol": symbol, "size": 9, "color": styles[name].color}
                style = {"mode": "markers", "marker": marker, "customdata": places.tolist()}
                rug = [row + shift] * len(places)
                traces.append(trace(name, places.index.tolist(), rug, hover, **style))
    if not traces and not records.drifts:
        return None
    rows: dict[str, Any] = {
        "tickvals": [*range(len(named))],
        "ticktext": unique(named),
        "showgrid": False,
    }
    rows |= {"range": [-0.6, len(named) - 0.4], "zeroline": False}
    layout: dict[str, Any] = {
        "height": 90 + 30 * len(named),
        "hovermode": "closest",
        "shapes": _marks(records),
    }
    across = {"range": [0, records.n_samples]}
    return Figure(
        figure(traces, "samples", across=across, up=rows, **layout),
        "Where drift was seen",
        "Diamonds: ADWIN found that a model's error had grown. Crosses: trees of the model started"
        f" afresh.{_KNOWN if records.drifts else ''}",
        id="drifts",
    )


def relevance_map(model: str, table: pd.DataFrame) -> Figure:
    """Return the relevance of features along the stream as a heat map, the highest on top.

    The darkest color is for the highest relevance after the first tenth, which is warm-up.
    """
    values = table.to_numpy(np.float64)
    best = np.argsort(-np.nanmean(values, axis=0), kind="stable")[:_MOST_FEATURES]
    places = best[::-1].tolist()  # heat maps begin at the bottom
    names = unique(table.columns)
    heat = {
        **HEAT,
        "x": table.index.tolist(),
        "y": [names[place] for place in places],
        "z": [rounded(values[:, place], 3) for place in places],
        "zmax": float(np.nanmax(values[int(len(values) * _WARM_UP) :])) or 1.0,
        "name": markup(model),
        "hovertemplate": "%{y}<br>after %{x}: %{z:.3f}<extra></extra>",
    }
    axes: dict[str, Any] = {
        "across": {"showgrid": False},
        "up": {"type": "category", "showgrid": False},
    }
    drawn = figure([heat], "samples", **axes, height=110 + 20 * max(len(places), 4))
    rest = len(table.columns) - len(places)
    text = f"The {len(places)} most relevant features of {len(table.columns)}." if rest else ""
    return Figure(drawn, model, text, group=model, id=f"relevance-{model}", is_wide=True)
