"""Figures of what changes along a stream: curves, marks of drift, and relevance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from river_amf.pages.charts import HEAT, Style, escaped, figure, go, rounded, trace, unique
from river_amf.pages.document import Figure
from river_amf.pages.records import Records

Styles = Mapping[str, Style]

_MOST_UNIFIED = 8  # models whose numbers fit beside each other
_MOST_FEATURES = 30  # in a heat map
_EVENTS = (  # column, symbol, meaning, and place in the row of the model
    ("drifts", "diamond", "the error has grown", 0.15),
    ("restarts", "x", "restarts", -0.15),
)
_KNOWN = " Dotted lines, in all figures: where the stream is known to drift."
_MARGIN = 1.15  # how far beyond the curves that matter a figure goes
_FAR = 6.0  # times as far, and a curve is left out of sight


def curves(
    records: Records,
    styles: Styles,
    column: str,
    *,
    title: str,
    text: str = "",
    y: str | None = None,
    digits: str = ".4f",
    level: float | None = None,
    is_bounded: bool = False,
    **axis: Any,
) -> Figure | None:
    """Return the curves of a column, a line for each model, or None if no model has it.

    `level` is a line across. With `is_bounded` a curve far above those of models that look at
    features is left out of sight: the loss of the last label is of another order.
    """
    found = {name: records.curve(name, column) for name in styles}
    lines = {name: curve for name, curve in found.items() if curve is not None}
    if not lines:
        return None
    traces = [_curve_trace(name, curve, styles[name], digits) for name, curve in lines.items()]
    is_unified = len(lines) <= _MOST_UNIFIED
    drawn = figure(
        traces,
        x="samples",
        y=column if y is None else y,
        hovermode="x unified" if is_unified else "closest",
        shapes=_marks(records, level),
    )
    if is_bounded:
        bounds = _bounds(records, lines)
        if "range" in bounds:
            text = f"{text} Some curves lie above the top of the figure.".strip()
        axis = {**bounds, **axis}
    drawn.update_yaxes(**axis)
    return Figure(drawn, title, text, id=column.replace(" ", "-"))


def _curve_trace(name: str, curve: pd.Series, style: Style, digits: str) -> Any:
    drawn = {"line": style.line, "marker": {"color": style.color}}
    mode, hover = "lines" if len(curve) > 1 else "markers", f"%{{y:{digits}}}"
    return trace(name, curve.index.tolist(), rounded(curve), hover, mode=mode, **drawn)


def _bounds(records: Records, lines: Mapping[str, pd.Series]) -> dict[str, Any]:
    """Return the range of an axis, without curves that are far above those that matter."""
    tops = {name: float(np.quantile(c.iloc[len(c) // 20 :], 0.99)) for name, c in lines.items()}
    judged = [top for name, top in tops.items() if name not in records.floors]
    limit = _FAR * max(judged or tops.values())
    near = [top for top in tops.values() if top <= limit]
    if len(near) == len(tops) or max(near) <= 0.0:
        return {"rangemode": "tozero"}
    return {"range": [0.0, _MARGIN * max(near)]}


def _marks(records: Records, level: float | None = None) -> list[dict[str, Any]]:
    """Return lines where the stream is known to drift, and one across."""
    color = {"color": "var(--soft)", "width": 1}
    upright = {"y0": 0, "y1": 1, "yref": "paper", "line": {**color, "dash": "dot"}}
    across = {"x0": 0, "x1": 1, "xref": "paper", "line": color}
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
            places = None if curve is None else curve[curve > 0]
            if places is not None and len(places):
                traces.append(_rug(row + shift, name, places, styles[name], symbol, what))
    if not traces and not records.drifts:
        return None
    drawn = figure(
        traces,
        x="samples",
        height=90 + 30 * len(named),
        hovermode="closest",
        shapes=_marks(records),
    )
    drawn.update_xaxes(range=[0, records.n_samples])
    drawn.update_yaxes(
        tickvals=list(range(len(named))),
        ticktext=unique(named),
        range=[-0.6, len(named) - 0.4],
        showgrid=False,
        zeroline=False,
    )
    return Figure(
        drawn,
        "Where drift was seen",
        "Diamonds: ADWIN found that a model's error had grown. Crosses: trees of the model started"
        f" afresh.{_KNOWN if records.drifts else ''}",
        id="drifts",
    )


def _rug(row: float, name: str, places: pd.Series, style: Style, symbol: str, what: str) -> Any:
    return trace(
        name,
        places.index.tolist(),
        [row] * len(places),
        f"until %{{x}}: {what}, %{{customdata}}",
        customdata=places.astype(int).tolist(),
        mode="markers",
        marker={"symbol": symbol, "size": 9, "color": style.color},
    )


def relevance_map(model: str, table: pd.DataFrame) -> Figure:
    """Return the relevance of features along the stream as a heat map, the highest on top."""
    values = table.to_numpy(np.float64)
    best = np.argsort(-np.nanmean(values, axis=0), kind="stable")[:_MOST_FEATURES]
    places = best[::-1].tolist()  # heat maps begin at the bottom
    names = unique(table.columns)
    drawn = figure(
        [
            go.Heatmap(
                x=table.index.tolist(),
                y=[names[place] for place in places],
                z=[rounded(values[:, place], 3) for place in places],
                zmin=0.0,
                colorscale=HEAT,
                colorbar={"thickness": 10, "outlinewidth": 0},
                name=escaped(model),
                hovertemplate="%{y}<br>after %{x}: %{z:.3f}<extra></extra>",
            )
        ],
        x="samples",
        height=110 + 20 * max(len(places), 4),
    )
    drawn.update_yaxes(type="category", showgrid=False)
    drawn.update_xaxes(showgrid=False)
    rest = len(table.columns) - len(places)
    text = f"The {len(places)} most relevant features of {len(table.columns)}." if rest else ""
    return Figure(drawn, model, text, group=model, id=f"relevance-{model}", is_wide=True)
