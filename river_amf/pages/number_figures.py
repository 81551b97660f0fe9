"""Figures of regressors: residuals, predictions beside targets, and intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd

from river_amf.pages.along import Styles
from river_amf.pages.charts import Style, diagonal, figure, go, rounded, trace
from river_amf.pages.document import Figure
from river_amf.pages.records import Records, Tables

_BANDS = ((0.05, 0.95, 0.15), (0.25, 0.75, 0.3))  # quantiles, and opacity
_HALF = 0.5


def residuals(model: str, records: Records, style: Style) -> Figure | None:
    """Return the quantiles of what is left of the target in windows along the stream."""
    middle = records.curve(model, f"residual {_HALF:g}")
    if middle is None:
        return None
    traces: list[Any] = []
    for low, high, opacity in _BANDS:
        ends = [records.curve(model, f"residual {q:g}") for q in (low, high)]
        if ends[0] is not None and ends[1] is not None:
            traces += _band(ends[0], ends[1], style, opacity)
    traces.append(_quantile_trace(middle, "median", color=style.color, width=1.5))
    drawn = figure(traces, x="samples", y="target − prediction", hovermode="x unified")
    return Figure(drawn, model, group=model, id=f"residuals-{model}")


def _quantile_trace(values: pd.Series, name: str, **style: Any) -> Any:
    """Return a line along the stream."""
    return go.Scatter(
        x=values.index.tolist(),
        y=rounded(values),
        name=name,
        mode="lines",
        line=style,
        hovertemplate="%{y:.4g}",
    )


def _band(low: pd.Series, high: pd.Series, style: Style, opacity: float) -> list[Any]:
    """Return the lower end of a band, and the upper one with the area between."""
    lines = [
        _quantile_trace(
            end, str(end.name).replace("residual", "quantile"), color=style.color, width=0.5
        )
        for end in (low, high)
    ]
    for line in lines:
        line.update(opacity=opacity)
    lines[1].update(fill="tonexty")
    return lines


def predictions(tables: Tables, styles: Styles) -> Figure | None:
    """Return predictions against targets, of samples drawn from the whole stream."""
    traces = [
        trace(
            name,
            rounded(table["target"]),
            rounded(table["prediction"]),
            "sample %{customdata}: target %{x:.4g}, predicted %{y:.4g}",
            customdata=table["sample"].tolist(),
            mode="markers",
            marker={"color": styles[name].color, "size": 4, "opacity": 0.6},
        )
        for name, table in _named(tables, styles).items()
    ]
    if not traces:
        return None
    targets = pd.concat([table["target"] for table in tables.values()])
    ends = rounded([targets.min(), targets.max()])
    size = {"hovermode": "closest", "height": 420}
    drawn = figure([diagonal(ends), *traces], x="target", y="prediction", **size)
    most = max(len(table) for table in tables.values())
    return Figure(
        drawn,
        "Predictions beside targets",
        f"{most} samples, drawn at random from the whole stream; those on the line are right.",
        id="predictions",
    )


def _named(tables: Tables, styles: Styles) -> dict[str, pd.DataFrame]:
    """Return the tables with rows of the models that have colors."""
    return {
        name: tables[name]
        for name, style in styles.items()
        if style.is_named and name in tables and len(tables[name])
    }


def interval_figure(model: str, latest: pd.DataFrame, style: Style) -> Figure | None:
    """Return the last samples with the interval in which each was expected, if there are any."""
    rows = latest.dropna().set_index("sample")
    if rows.empty:
        return None
    traces = [
        *_band(rows["lower"], rows["upper"], style, 0.25),
        _quantile_trace(rows["prediction"], "prediction", color=style.color, width=1.5),
        go.Scatter(
            x=rows.index.tolist(),
            y=rounded(rows["target"]),
            name="target",
            mode="markers",
            marker={"color": "var(--ink)", "size": 4},
            hovertemplate="%{y:.4g}",
        ),
    ]
    drawn = figure(traces, x="sample", hovermode="x unified")
    return Figure(drawn, model, group=model, id=f"intervals-{model}")
