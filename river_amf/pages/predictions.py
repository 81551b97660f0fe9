"""Figures of what was predicted: reliability and confusion of labels; residuals and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from river_amf.inspection.importance import feature_index
from river_amf.pages.along import top_of
from river_amf.pages.charts import (
    HEAT,
    Styles,
    diagonal,
    figure,
    in_order,
    line,
    markup,
    rounded,
    trace,
    unique,
)
from river_amf.pages.document import Figure
from river_amf.pages.palette import Look
from river_amf.pages.records import OTHERS, Records

_LEAST = 20  # samples of a bin whose share says anything
_MOST_LABELS = 12  # in a matrix, the rest being others
_MOST_WITH_COUNTS = 8
_QUANTILES = (0.05, 0.5, 0.95)  # of residuals
_MOST_BARS = 100
_IN_ORDER = 0.5  # correlation of a target with the one before, from which on rows have an order
_UNIT = {"range": [-0.02, 1.02]}  # an axis of probabilities
_SAID = "probability of the predicted label"


def reliability(records: Records, styles: Styles) -> list[Figure]:
    """Return how often predictions were right by their probability, and how common that was.

    Bins of fewer than twenty samples, whose shares are chance, are left out of the first.
    """
    right, shares = [], []
    for name in in_order(records, styles):
        table = records.reliability.get(name, pd.DataFrame({"n_samples": []}))
        share = table["n_samples"] / table["n_samples"].sum()
        style = {"mode": "lines+markers", "line": line(styles[name])}
        if len(table):
            hover = "said %{x:.3f}: %{y:.3f} of the samples"
            shares.append(trace(name, rounded(table["confidence"]), share, hover, **style))
        large = table["n_samples"] >= _LEAST
        if large.any():
            sizes = {"size": rounded(4 + 12 * share[large] ** 0.5)}
            confidence, accuracy = table["confidence"][large], table["accuracy"][large]
            style |= {"customdata": table["n_samples"][large].tolist(), "marker": sizes}
            hover = "said %{x:.3f}, right %{y:.3f}, %{customdata} samples"
            right.append(trace(name, rounded(confidence), accuracy, hover, **style))
    if not right:
        return []
    curves = figure([diagonal(0, 1), *right], _SAID, "share that was right", across=_UNIT, up=_UNIT)
    common: dict[str, Any] = {"across": _UNIT, "up": {"rangemode": "tozero"}}
    return [
        Figure(
            curves,
            "Reliability",
            "On the thin line a model that says 80 % is right in 80 % of the cases. Below it, the"
            " model is too sure of itself. The larger a point, the more samples it stands for;"
            f" there are at least {_LEAST}.",
            id="reliability",
        ),
        Figure(
            figure(shares, _SAID, "share of the samples", **common),
            "How sure the model was",
            id="confidence",
        ),
    ]


def calibration_error(table: pd.DataFrame) -> float:
    """Return how far probability and share differ, as a mean over the samples.

    >>> calibration_error(
    ...     pd.DataFrame({"n_samples": [1, 3], "confidence": [0.5, 0.9], "accuracy": [1, 0.9]})
    ... )
    0.125
    """
    distance = abs(table["confidence"] - table["accuracy"])
    return float(np.average(distance, weights=table["n_samples"]))


def confusion(model: str, table: pd.DataFrame) -> Figure:
    """Return how labels, in the rows, were predicted, as shares of each row."""
    table = _largest(table)
    names, counts = unique(table.index), table.to_numpy()
    heat = {
        **HEAT,
        "x": names,
        "y": names,
        "z": [rounded(row / max(row.sum(), 1), 3) for row in counts],
        "customdata": counts.tolist(),
        "text": [[f"{n:,}" for n in row] for row in counts.tolist()],
        "texttemplate": "%{text}" if len(names) <= _MOST_WITH_COUNTS else "",
        "zmax": 1.0,
        "colorbar": {**HEAT["colorbar"], "tickformat": ".0%"},
        "name": markup(model),
        "hovertemplate": "%{y} predicted as %{x}:<br>%{customdata} samples, %{z:.1%}"
        "<extra></extra>",
    }
    axis = {"type": "category", "showgrid": False}
    axes = {"across": {**axis, "constrain": "domain"}, "up": {**axis, "autorange": "reversed"}}
    drawn = figure([heat], "predicted", "label", **axes, height=140 + 32 * max(len(names), 4))
    return Figure(drawn, model, group=model, id=f"confusion-{model}")


def _largest(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows and columns of the most frequent labels, and all others as one."""
    counts = table.to_numpy()
    totals = counts.sum(axis=1) + counts.sum(axis=0)
    if len(totals) <= _MOST_LABELS:
        return table
    totals[[label is OTHERS for label in table.index]] = -1  # which they join
    kept = np.sort(np.argsort(-totals, kind="stable")[: _MOST_LABELS - 1])
    place = np.full(len(totals), len(kept))
    place[kept] = np.arange(len(kept))
    folded = np.zeros((len(kept) + 1, len(kept) + 1), counts.dtype)
    np.add.at(folded, (place[:, None], place), counts)
    names = feature_index([*table.index[kept], OTHERS])
    return pd.DataFrame(folded, names, names)


def residuals(records: Records, styles: Styles) -> Figure | None:
    """Return the median of what is left of the target along the stream, and two quantiles."""
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
    drawn = figure(traces, "samples", "target − prediction", up=up, hovermode="closest")
    text = "Thick: the median. Between the thin lines of a model lie nine tenths of the samples."
    return Figure(drawn, "What predictions leave of the target", text, id="residuals")


def _line(model: str, values: pd.Series, what: str, **style: Any) -> dict[str, Any]:
    """Return a line along the stream."""
    hover = f"%{{y:.4g}}<extra>{what}</extra>"
    return trace(model, values.index.tolist(), values, hover, mode="lines", line=style)


def _band(model: str, low: pd.Series, high: pd.Series, look: Look) -> list[dict[str, Any]]:
    """Return the lower end of a band, and the upper one with the area between."""
    lower, upper = (
        {**_line(model, end, str(end.name), color=look.color, width=0.5), "opacity": 0.3}
        for end in (low, high)
    )
    return [lower, {**upper, "fill": "tonexty"}]


def targets(records: Records, styles: Styles) -> Figure | None:
    """Return predictions against targets, of samples drawn from the whole stream."""
    named = {name: records.points.get(name, ()) for name in in_order(records, styles)}
    tables = {name: table for name, table in named.items() if isinstance(table, pd.DataFrame)}
    tables = {name: table for name, table in tables.items() if len(table)}
    if not tables:
        return None
    traces = [
        trace(
            name,
            rounded(table["target"]),
            table["prediction"],
            "sample %{customdata}: target %{x:.4g}, predicted %{y:.4g}",
            customdata=table["sample"].tolist(),
            mode="markers",
            marker={"color": styles[name].color, "size": 4, "opacity": 0.6},
        )
        for name, table in tables.items()
    ]
    every = pd.concat([table["target"] for table in tables.values()])
    traces.insert(0, diagonal(*rounded([every.min(), every.max()])))
    n = max(map(len, tables.values()))
    text = f"{n} samples, drawn at random from the whole stream; those on the line are right."
    drawn = figure(traces, "target", "prediction", hovermode="closest", height=420)
    return Figure(drawn, "Predictions beside targets", text, id="predictions")


def intervals(model: str, latest: pd.DataFrame, look: Look) -> Figure | None:
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
    ends = [] if not is_in_order else _band(model, lower, upper, look)
    if not is_in_order:
        lengths = {"array": rounded(upper - prediction), "arrayminus": rounded(prediction - lower)}
        bars = {"type": "data", "symmetric": False, "width": 0, "thickness": 1, **lengths}
        middle |= {"mode": "markers", "marker": {"color": look.color, "size": 4}, "error_y": bars}
    points = {**_line(model, target, "target"), "mode": "markers"}
    points["marker"] = {"color": "var(--ink)", "size": 4}
    drawn = figure([*ends, middle, points], "sample", hovermode="x unified")
    return Figure(drawn, model, group=model, id=f"intervals-{model}")
