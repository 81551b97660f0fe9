"""Figures of curves along a stream, marks of drift, and relevance."""

from typing import Any

import numpy as np
import pandas as pd

from river_amf.pages.charts import COLORS, INK, rounded, rows_layout, thin_line, trace
from river_amf.pages.document import Figure
from river_amf.pages.records import Records, drawn, x_axis

_MOST_FEATURES = 20  # in a heat map
_EVENTS = {  # by column the symbol and what it means
    "drifts": ("diamond", "ADWIN found that errors had grown"),
    "restarts": ("x", "trees restarted"),
}
_MARGIN = 1.15  # of a scale above the highest curve that it shows whole
_BEGINNING, _WARM_UP = 0.05, 0.1  # shares of a stream that do not decide about scales


def curves(
    records: Records,
    column: str,
    title: str,
    *,
    y: str = "",
    level: float | None = None,
    is_clipped: bool = False,
) -> Figure | None:
    """Return the curves of a column, a line for each model, or None if no model has it."""
    # `level` is a line across. With `is_clipped`, the axis starts at 0 and ends above the models
    # that look at features, and the majority: the loss of the last label is of another order.
    found = {name: drawn(records, name, column) for name in records.looks}
    lines = {name: curve for name, curve in found.items() if curve is not None}
    if not lines:
        return None
    traces = [trace(n, curve, records.looks[n], "%{y:.4~g}") for n, curve in lines.items()]
    if level is not None:
        traces.append(thin_line([0, int(records.curves["n_samples"].max())], [level, level]))
    up = {}
    if is_clipped:
        others = {*records.naive_baselines} - {"majority"}
        seen = [c for name, c in lines.items() if name not in others] or [*lines.values()]
        tops = [np.quantile(curve.iloc[int(len(curve) * _BEGINNING) :], 0.99) for curve in seen]
        up = {"range": [0.0, _MARGIN * float(max(tops)) or None]}
    layout = {"yaxis": up, "hovermode": "x unified", "shapes": _drift_lines(records)}
    name = column.replace(" ", "-").replace("_", "-")
    return Figure(name, title, traces, "samples", y or column, layout | x_axis(records))


def _drift_lines(records: Records) -> list[dict[str, Any]]:
    upright = {"type": "line", "y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    dotted = {"color": INK, "width": 1, "dash": "dot"}
    return [{**upright, "x0": at, "x1": at, "line": dotted} for at in records.drifts]


def drifts(records: Records) -> Figure | None:
    """Return where errors grew and trees restarted, in a row for each model."""
    names, traces, legend = [*records.looks], list[dict[str, Any]](), dict[str, dict[str, Any]]()
    for row, name in enumerate(names):
        for column, (symbol, what) in _EVENTS.items():
            curve = records.curve(name, column)
            if curve is not None and (curve > 0).any():
                events = curve[curve > 0].astype(int)
                hover = f"until %{{x}}: %{{customdata}} {column}"
                style: dict[str, Any] = {"mode": "markers", "marker": {"symbol": symbol, "size": 9}}
                legend[what] = style | {"marker": {**style["marker"], "color": INK}}
                positions, style["customdata"] = pd.Series(row, events.index), events.tolist()
                traces.append(trace(name, positions, records.looks[name], hover, **style))
    if not traces:
        return None
    if records.drifts:
        legend["the stream drifts"] = {"mode": "lines", "line": {"color": INK, "dash": "dot"}}
    empty = {"type": "scatter", "x": [None], "y": [None]}
    shown = [{**empty, "name": what, **style} for what, style in legend.items()]
    layout = rows_layout(names) | {"shapes": _drift_lines(records), "showlegend": True}
    layout["legend"] = {"orientation": "h", "y": 1, "yanchor": "bottom"}
    layout |= x_axis(records, range=[0, int(records.curves["n_samples"].max())])
    title, hidden = "Drifts detected, and trees restarted", {"showlegend": False}
    traces = [*shown, *(each | hidden for each in traces)]
    return Figure("drifts", title, traces, "samples", layout=layout)


def relevance(records: Records, model: str, table: pd.DataFrame, number: int) -> Figure:
    """Return the relevance of features along the stream as a heat map, the highest on top."""
    best = table.iloc[:, np.argsort(-table.mean().to_numpy(), kind="stable")[:_MOST_FEATURES]]
    highest = float(np.nanmax(table.iloc[int(len(table) * _WARM_UP) :])) or 1.0
    heat = {
        "type": "heatmap",
        "x": table.index.tolist(),
        "y": [*range(len(best.columns))],
        "z": [rounded(column, 3) for _, column in best.items()],
        "zmin": 0.0,
        "zmax": highest,
        "colorscale": [[0.0, f"{COLORS[0]}10"], [1.0, COLORS[0]]],
        "showscale": False,
        "hovertemplate": "after %{x}: %{z:.3f}<extra></extra>",
        "ygap": 2,
    }
    text = f"The strongest color is a relevance of {highest:.2f}."
    if len(best.columns) < len(table.columns):
        text = f"The {_MOST_FEATURES} most relevant features of {len(table.columns)}. {text}"
    layout = rows_layout([*map(str, best.columns)]) | x_axis(records)
    return Figure(f"relevance-{number}", model, [heat], "samples", layout=layout, text=text)
