"""Figures of what changes along a stream: curves, marks of drift, and relevance."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from river_amf.pages.charts import Styles, drawing, line, rounded, rows_layout, thin_line, trace
from river_amf.pages.document import Figure
from river_amf.pages.palette import COLORS, INK
from river_amf.pages.records import Records

MEGABYTE = 1e6  # the unit of memory, everywhere on the page

_MOST_UNIFIED = 8  # models whose numbers fit beside each other
_MOST_FEATURES = 20  # in a heat map
_EVENTS = (  # column, symbol, meaning
    ("drifts", "diamond", "the error has grown"),
    ("restarts", "x", "restarts"),
)
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
    y: str = "",
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
    traces = []
    for name, curve in lines.items():
        style = {"mode": "lines" if len(curve) > 1 else "markers", "line": line(styles[name])}
        style["marker"] = {"color": styles[name].color}
        traces.append(trace(name, curve.index.tolist(), curve, f"%{{y:{digits}}}", **style))
    if level is not None:
        traces.append(thin_line([0, records.n_samples], [level, level]))
    values = pd.concat(lines.values())
    top = top_of(records, lines) if is_clipped else None
    if top is not None:
        text = f"{text} Some curves lie above the top of the figure.".strip()
        up = {"range": [0.0, top], **up}
    elif np.ptp(values) < 1e-9 and 0.0 <= values.iloc[0] <= 1.0:  # nothing to zoom in on
        up = {"range": [0.0, 1.05], **up}
    drawn = drawing(
        traces,
        "samples",
        y or column,
        up={"rangemode": "tozero", **up} if is_clipped else up,
        hovermode="x unified" if len(lines) <= _MOST_UNIFIED else "closest",
        shapes=_known_drifts(records),
    )
    return Figure(column.replace(" ", "-").replace("_", "-"), title, drawn, text)


def top_of(records: Records, lines: Mapping[str, pd.Series]) -> float | None:
    """Return where to cut off an axis, so that what is far above the rest does not flatten it.

    None if nothing is. Neither models that look at no features nor the beginning decide.
    """
    tops = {
        n: float(np.quantile(c.iloc[int(len(c) * _BEGINNING) :], 0.99)) for n, c in lines.items()
    }
    deciding = [top for name, top in tops.items() if name not in records.floors]
    limit = _FAR * statistics.median_high(deciding or [*tops.values()])
    near = max((top for top in tops.values() if top <= limit), default=0.0)
    highest = max(float(curve.max()) for curve in lines.values())
    return _MARGIN * near if 0.0 < _HIGH * near < highest else None


def _known_drifts(records: Records) -> list[dict[str, Any]]:
    """Return lines where the stream is known to drift."""
    upright = {"type": "line", "y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    dotted = {"color": INK, "width": 1, "dash": "dot"}
    return [{**upright, "x0": place, "x1": place, "line": dotted} for place in records.drifts]


def drifts(records: Records, styles: Styles) -> Figure | None:
    """Return where errors grew and trees restarted, in a row for each model that has a color."""
    names = [name for name, style in styles.items() if style.is_named]
    traces = []
    for row, name in enumerate(names):
        for column, symbol, meaning in _EVENTS:
            curve = records.curve(name, column)
            events = pd.Series(dtype=int) if curve is None else curve[curve > 0].astype(int)
            if len(events):
                marker = {"symbol": symbol, "size": 9, "color": styles[name].color}
                style = {"mode": "markers", "marker": marker, "customdata": events.tolist()}
                hover = f"until %{{x}}: {meaning}, %{{customdata}}"
                places = [row + 0.2] * len(events)
                traces.append(trace(name, events.index.tolist(), places, hover, **style))
    if not traces:
        return None
    known = " Dotted lines: where the stream is known to drift." if records.drifts else ""
    options = rows_layout(len(names)) | {"hovermode": "closest", "shapes": _known_drifts(records)}
    drawn = drawing(traces, "samples", across={"range": [0, records.n_samples]}, **options)
    text = f"Diamonds: ADWIN found that a model's error had grown. Crosses: trees restarted.{known}"
    return Figure("drifts", "Drifts detected, and trees restarted", drawn, text, names)


def relevance(model: str, table: pd.DataFrame, number: int) -> Figure:
    """Return the relevance of features along the stream as a heat map, the highest on top.

    The strongest color is for the highest relevance after the first tenth, which is warm-up.
    """
    values = table.to_numpy(np.float64)
    best = np.argsort(-np.nanmean(values, axis=0), kind="stable")[:_MOST_FEATURES].tolist()
    names = [str(table.columns[place]) for place in best]
    highest = float(np.nanmax(values[int(len(values) * _WARM_UP) :])) or 1.0
    heat = {
        "type": "heatmap",
        "x": table.index.tolist(),
        "y": [row + 0.2 for row in range(len(best))],
        "z": [rounded(values[:, place], 3) for place in best],
        "zmin": 0.0,
        "zmax": highest,
        "colorscale": [[0.0, f"{COLORS[0]}10"], [1.0, COLORS[0]]],
        "showscale": False,
        "hovertemplate": "after %{x}: %{z:.3f}<extra></extra>",
    }
    layout = rows_layout(len(best))
    heat["ygap"] = (layout["height"] - 44) / len(best) / 2
    text = f"The strongest color is a relevance of {highest:.2f}."
    if len(best) < len(table.columns):
        text = f"The {len(best)} most relevant features of {len(table.columns)}. {text}"
    drawn = drawing([heat], "samples", across={"showgrid": False, "ticks": ""}, **layout)
    return Figure(f"relevance-{number}", model, drawn, text, names, is_wide=True)
