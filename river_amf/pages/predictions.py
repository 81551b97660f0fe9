"""Figures of predictions: calibration and labels; residuals, targets and intervals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from river_amf.pages.charts import COLORS, INK, Look, rounded, rows_layout, thin_line, trace
from river_amf.pages.document import Figure, table_html
from river_amf.pages.records import Records, drawn, x_axis

_LEAST = 20  # samples in a bin of the reliability diagram
_MOST_BARS = 100
_MOST_FEATURES = 20
_UNIT = {axis: {"range": [-0.02, 1.02]} for axis in ("xaxis", "yaxis")}  # of probabilities


def calibration(records: Records) -> Figure | None:
    """Return the reliability diagram, without small bins."""
    traces = [thin_line([0, 1], [0, 1])]
    for name in records.colored:
        table = records.reliability.get(name, pd.DataFrame(columns=["n_samples", "confidence"]))
        large = table[table["n_samples"] >= _LEAST].set_index("confidence")
        if len(large):
            style = {"mode": "lines+markers", "customdata": large["n_samples"].tolist()}
            hover = "probability %{x:.3f}, accuracy %{y:.3f}, %{customdata} samples"
            traces.append(trace(name, large["accuracy"], records.looks[name], hover, **style))
    if len(traces) == 1:
        return None
    text = (
        "On the thin line, predictions with a probability of 80 % are right in 80 % of the cases;"
        f" below it, the model is overconfident. A point has at least {_LEAST} samples."
    )
    titles = "Reliability diagram", traces, "probability of the predicted label", "accuracy"
    return Figure("reliability", *titles, _UNIT, text)


def labels(records: Records, model: str) -> Figure:
    report, matrix = records.labels[model], records.confusion[model]
    cells = report.map("{:.3f}".format).assign(support=report["support"].map("{:,}".format))
    rows = [
        [f'<div style="--share: {n / max(sum(row), 1):.2f}">{n:,}</div>' for n in row]
        for row in matrix.to_numpy().tolist()
    ]
    counts = pd.DataFrame(rows, matrix.index, matrix.columns)
    return Figure("labels", model, body=table_html(cells) + table_html(counts, "matrix"))


def residuals(records: Records) -> Figure | None:
    """Return the median of the residuals along the stream, and two quantiles."""
    traces = []
    for name in records.colored:
        low, middle, high = (drawn(records, name, f"residual {q}") for q in (0.05, 0.5, 0.95))
        if low is None or middle is None or high is None:
            continue
        for curve, width, what in ((low, 1, "5 %"), (high, 1, "95 %"), (middle, 2, "median")):
            look = replace(records.looks[name], width=width)
            traces.append(trace(name, curve, look, f"%{{y:.4g}}<extra>{what}</extra>"))
    if not traces:
        return None
    title, y = "Residuals along the stream", "target − prediction"
    text = "Thick: the median. Between the thin lines of a model lie nine tenths of the samples."
    return Figure("residuals", title, traces, "samples", y, x_axis(records), text)


def targets(records: Records) -> Figure | None:
    tables = {name: records.points.get(name, pd.DataFrame()) for name in records.colored}
    tables = {name: table for name, table in tables.items() if len(table)}
    if not tables:
        return None
    values = pd.concat([table["target"] for table in tables.values()])
    ends = rounded([values.min(), values.max()])
    traces = [thin_line(ends, ends)]
    for name, table in tables.items():
        style = {"mode": "markers", "marker": {"size": 4, "opacity": 0.6}}
        style["customdata"] = table["sample"].tolist()
        hover = "sample %{customdata}: target %{x:.4g}, prediction %{y:.4g}"
        points = table.set_index("target")["prediction"]
        traces.append(trace(name, points, records.looks[name], hover, **style))
    text = f"{max(map(len, tables.values()))} samples, drawn at random from the whole stream."
    title = "Predictions against targets"
    return Figure("targets", title, traces, "target", "prediction", {"height": 420}, text)


def intervals(records: Records, model: str, latest: pd.DataFrame, number: int) -> Figure | None:
    """Return the last samples with the interval predicted for each, or None without intervals."""
    rows = latest.dropna().set_index("sample").iloc[-_MOST_BARS:]
    if rows.empty:
        return None
    bars = {"type": "data", "symmetric": False, "width": 0, "thickness": 1}
    bars["array"] = rounded(rows["upper"] - rows["prediction"])
    bars["arrayminus"] = rounded(rows["prediction"] - rows["lower"])
    dots: dict[str, Any] = {"mode": "markers", "marker": {"size": 4}}
    traces = [
        trace(model, rows[column], style, f"%{{y:.4g}}<extra>{column}</extra>", **dots, **options)
        for column, style, options in (
            ("prediction", records.looks[model], {"error_y": bars}),
            ("target", Look(INK), {}),
        )
    ]
    return Figure(f"intervals-{number}", model, traces, "sample", layout={"hovermode": "x unified"})


def contributions(_: Records, model: str, table: pd.DataFrame, number: int) -> Figure:
    """Return the mean sizes of contributions, the largest on top, and those to the last one."""
    sizes = table.abs().fillna(0.0).mean()
    order = np.argsort(-sizes.to_numpy(), kind="stable")[:_MOST_FEATURES]
    rows, last = [*range(len(order))], table.iloc[-1].fillna(0.0)
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "x": rounded(values.iloc[order]),
            "y": rows,
            "marker": {"color": color},
            "hovertemplate": f"%{{x:.4g}}<extra>{what}</extra>",
        }
        for values, color, what in (
            (sizes, COLORS[0], "mean size"),
            (last, COLORS[1], f"sample {table.index[-1]}"),
        )
    ]
    text = f"Blue: the mean of the absolute values for {len(table):,} samples along the stream."
    text += f" Orange: the prediction of sample {table.index[-1]:,}."
    layout = rows_layout([str(table.columns[k]) for k in order])
    x = str(table.columns.name or "")
    return Figure(f"contributions-{number}", model, traces, x, layout=layout, text=text)
