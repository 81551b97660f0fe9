"""Figures of what was predicted: calibration and labels; residuals and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from river_amf.pages.along import top_of
from river_amf.pages.charts import Styles, drawing, in_order, line, rounded, thin_line, trace
from river_amf.pages.document import Figure, table_html
from river_amf.pages.palette import INK, Look
from river_amf.pages.records import Records

_LEAST = 20  # samples of a bin whose share says anything
_QUANTILES = (0.05, 0.5, 0.95)  # of residuals
_MOST_BARS = 100
_IN_ORDER = 0.5  # correlation of a target with the one before, from which on rows have an order
_UNIT = {"range": [-0.02, 1.02]}  # an axis of probabilities
_CONFIDENCE = "probability of the predicted label"


def calibration(records: Records, styles: Styles) -> list[Figure]:
    """Return how often predictions were right by their probability, and how common that was.

    Bins of fewer than twenty samples, whose shares are chance, are left out of the first.
    """
    right, shares = [], []
    for name in in_order(records, styles):
        table = records.reliability.get(name, pd.DataFrame({"n_samples": []}))
        share = table["n_samples"] / table["n_samples"].sum()
        style = {"mode": "lines+markers", "line": line(styles[name])}
        if len(table):
            hover = "probability %{x:.3f}: %{y:.3f} of the samples"
            shares.append(trace(name, rounded(table["confidence"]), share, hover, **style))
        large = table["n_samples"] >= _LEAST
        if large.any():
            sizes = {"size": rounded(4 + 12 * share[large] ** 0.5)}
            confidence, accuracy = table["confidence"][large], table["accuracy"][large]
            style |= {"customdata": table["n_samples"][large].tolist(), "marker": sizes}
            hover = "probability %{x:.3f}, accuracy %{y:.3f}, %{customdata} samples"
            right.append(trace(name, rounded(confidence), accuracy, hover, **style))
    if not right:
        return []
    lines = [thin_line([0, 1], [0, 1]), *right]
    diagram = drawing(lines, _CONFIDENCE, "accuracy", across=_UNIT, up=_UNIT)
    common = drawing(shares, _CONFIDENCE, "share of samples", across=_UNIT, up=_UNIT)
    text = (
        "On the thin line, predictions with a probability of 80 % are right in 80 % of the cases;"
        " below it, the model is overconfident. The larger a point, the more samples it stands for;"
        f" there are at least {_LEAST}."
    )
    return [
        Figure("reliability", "Reliability diagram", diagram, text),
        Figure("confidence", "Distribution of the confidence", common),
    ]


def calibration_error(table: pd.DataFrame) -> float:
    """Return the expected calibration error: the mean distance of confidence and accuracy.

    >>> calibration_error(
    ...     pd.DataFrame({"n_samples": [1, 3], "confidence": [0.5, 0.9], "accuracy": [1, 0.9]})
    ... )
    0.125
    """
    distance = abs(table["confidence"] - table["accuracy"])
    return float(np.average(distance, weights=table["n_samples"]))


def labels(records: Records, model: str) -> Figure:
    """Return precision, recall and support of each label, and the matrix of confusion."""
    report, matrix = records.labels[model], records.confusion[model]
    support = [f"{int(n):,}" for n in report["support"]]
    cells = report.map(lambda value: format(value, ".3f")).assign(support=support)
    rows = [
        [f'<div style="--share: {n / max(sum(row), 1):.2f}">{n:,}</div>' for n in row]
        for row in matrix.to_numpy().tolist()
    ]
    counts = pd.DataFrame(rows, matrix.index, matrix.columns)
    return Figure("labels", model, body=table_html(cells) + table_html(counts, "matrix"))


def residuals(records: Records, styles: Styles) -> Figure | None:
    """Return the median of the residuals along the stream, and two quantiles."""
    known, traces = {}, []
    for name in in_order(records, styles):
        curves = [records.curve(name, f"residual {q:g}") for q in _QUANTILES]
        low, middle, high = curves
        if low is not None and middle is not None and high is not None:
            known[name] = pd.concat([low, high]).abs()
            for curve, width, what in ((low, 1, "5 %"), (high, 1, "95 %"), (middle, 2, "median")):
                traces.append(_line(name, curve, what, color=styles[name].color, width=width))
    if not traces:
        return None
    top = top_of(records, known)
    up = {} if top is None else {"range": [-top, top]}
    drawn = drawing(traces, "samples", "target − prediction", up=up, hovermode="closest")
    text = "Thick: the median. Between the thin lines of a model lie nine tenths of the samples."
    return Figure("residuals", "Residuals along the stream", drawn, text)


def _line(model: str, values: pd.Series, what: str, **style: Any) -> dict[str, Any]:
    """Return a line along the stream."""
    hover = f"%{{y:.4g}}<extra>{what}</extra>"
    return trace(model, values.index.tolist(), values, hover, mode="lines", line=style)


def targets(records: Records, styles: Styles) -> Figure | None:
    """Return predictions against targets, of samples drawn from the whole stream."""
    tables = {name: records.points.get(name, pd.DataFrame()) for name in in_order(records, styles)}
    tables = {name: table for name, table in tables.items() if len(table)}
    if not tables:
        return None
    traces = []
    for name, table in tables.items():
        marker = {"color": styles[name].color, "size": 4, "opacity": 0.6}
        style = {"mode": "markers", "marker": marker, "customdata": table["sample"].tolist()}
        hover = "sample %{customdata}: target %{x:.4g}, prediction %{y:.4g}"
        traces.append(trace(name, rounded(table["target"]), table["prediction"], hover, **style))
    every = pd.concat([table["target"] for table in tables.values()])
    ends = rounded([every.min(), every.max()])
    n = max(map(len, tables.values()))
    text = f"{n} samples, drawn at random from the whole stream; those on the line are right."
    options: dict[str, Any] = {"hovermode": "closest", "height": 420}
    drawn = drawing([thin_line(ends, ends), *traces], "target", "prediction", **options)
    return Figure("targets", "Predictions against targets", drawn, text)


def intervals(model: str, latest: pd.DataFrame, look: Look, number: int) -> Figure | None:
    """Return the last samples with the interval in which each was expected, if there are any.

    Intervals are a band where targets follow each other, and bars where rows have no order in time.
    """
    rows = latest.dropna().set_index("sample")
    if rows.empty:
        return None
    with np.errstate(all="ignore"):  # of targets that are all the same
        is_in_order = len(rows) > 2 and rows["target"].autocorr() >= _IN_ORDER
    rows = rows if is_in_order else rows.iloc[-_MOST_BARS:]
    target, prediction, lower, upper = (rows[k] for k in rows.columns)
    middle = _line(model, prediction, "prediction", color=look.color, width=1.5)
    ends: list[dict[str, Any]] = []
    if is_in_order:
        for end in (lower, upper):
            ends.append(_line(model, end, str(end.name), color=look.color, width=0.5))
            ends[-1]["opacity"] = 0.3
        ends[-1]["fill"] = "tonexty"
    else:
        lengths = {"array": rounded(upper - prediction), "arrayminus": rounded(prediction - lower)}
        bars = {"type": "data", "symmetric": False, "width": 0, "thickness": 1, **lengths}
        middle |= {"mode": "markers", "marker": {"color": look.color, "size": 4}, "error_y": bars}
    points = {**_line(model, target, "target"), "mode": "markers"}
    points["marker"] = {"color": INK, "size": 4}
    drawn = drawing([*ends, middle, points], "sample", hovermode="x unified")
    return Figure(f"intervals-{number}", model, drawn)
