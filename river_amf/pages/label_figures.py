"""Figures of classifiers: whether probabilities hold, and which labels are confused."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from river_amf.inspection.importance import feature_index
from river_amf.pages.along import Styles
from river_amf.pages.charts import HEAT, diagonal, escaped, figure, go, rounded, trace, unique
from river_amf.pages.document import Figure
from river_amf.pages.records import OTHERS, Tables

_MOST_LABELS = 12  # in a matrix, the rest being others
_MOST_WITH_COUNTS = 8


def reliability(tables: Tables, styles: Styles) -> list[Figure]:
    """Return how often predictions were right by their probability, and how common that was."""
    known = {name: tables[name] for name in styles if name in tables and len(tables[name])}
    if not known:
        return []
    share = {name: table["n_samples"] / table["n_samples"].sum() for name, table in known.items()}
    right = [
        trace(
            name,
            rounded(table["confidence"]),
            rounded(table["accuracy"]),
            "said %{x:.3f}, right %{y:.3f}, %{customdata} samples",
            customdata=table["n_samples"].tolist(),
            mode="lines+markers",
            line=styles[name].line,
            marker={"size": rounded(4 + 12 * share[name] ** 0.5)},
        )
        for name, table in known.items()
    ]
    shares = [
        trace(
            name,
            rounded(table["confidence"]),
            rounded(share[name]),
            "said %{x:.3f}: %{y:.3f} of the samples",
            mode="lines+markers",
            line=styles[name].line,
            marker={"size": 5},
        )
        for name, table in known.items()
    ]
    said = "probability of the predicted label"
    curve = figure([diagonal([0, 1]), *right], x=said, y="share that was right")
    curve.update_xaxes(range=[-0.02, 1.02])
    curve.update_yaxes(range=[-0.02, 1.02])
    common = figure(shares, x=said, y="share of the samples")
    common.update_xaxes(range=[-0.02, 1.02])
    common.update_yaxes(rangemode="tozero")
    return [
        Figure(
            curve,
            "Reliability",
            "On the thin line a model that says 80 % is right in 80 % of the cases. Below it, the"
            " model is too sure of itself. The larger a point, the more samples it stands for.",
            id="reliability",
        ),
        Figure(common, "How sure the model was", "", id="confidence"),
    ]


def calibration_errors(tables: Tables) -> Mapping[str, float]:
    """Return by model how far probability and share differ, as a mean over the samples.

    >>> table = pd.DataFrame({"n_samples": [1, 3], "confidence": [0.5, 0.9], "accuracy": [1, 0.9]})
    >>> calibration_errors({"tree": table})
    {'tree': 0.125}
    """
    return {
        name: float(
            np.average(abs(table["confidence"] - table["accuracy"]), weights=table["n_samples"])
        )
        for name, table in tables.items()
        if len(table)
    }


def confusion(model: str, table: pd.DataFrame) -> Figure:
    """Return how labels, in the rows, were predicted, as shares of each row."""
    shown = _largest(table)
    names = unique(shown.index)
    counts = shown.to_numpy()
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    drawn = figure(
        [
            go.Heatmap(
                x=names,
                y=names,
                z=[rounded(row, 3) for row in shares],
                customdata=counts.tolist(),
                text=[[f"{n:,}" for n in row] for row in counts.tolist()],
                texttemplate="%{text}" if len(names) <= _MOST_WITH_COUNTS else "",
                zmin=0.0,
                zmax=1.0,
                colorscale=HEAT,
                colorbar={"thickness": 10, "outlinewidth": 0, "tickformat": ".0%"},
                name=escaped(model),
                hovertemplate="%{y} predicted as %{x}:<br>%{customdata} samples, %{z:.1%}"
                "<extra></extra>",
            )
        ],
        x="predicted",
        y="label",
        height=140 + 32 * max(len(names), 4),
    )
    drawn.update_xaxes(type="category", showgrid=False, constrain="domain")
    drawn.update_yaxes(type="category", showgrid=False, autorange="reversed")
    return Figure(drawn, model, group=model, id=f"confusion-{model}")


def _largest(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows and columns of the most frequent labels, and all others as one."""
    totals = table.to_numpy().sum(axis=1) + table.to_numpy().sum(axis=0)
    if len(totals) <= _MOST_LABELS:
        return table
    totals[[label is OTHERS for label in table.index]] = -1  # which they join
    kept = np.sort(np.argsort(-totals, kind="stable")[: _MOST_LABELS - 1])
    rest = np.setdiff1d(np.arange(len(totals)), kept)
    counts = table.to_numpy()
    folded = np.block(
        [
            [counts[np.ix_(kept, kept)], counts[np.ix_(kept, rest)].sum(axis=1, keepdims=True)],
            [
                counts[np.ix_(rest, kept)].sum(axis=0, keepdims=True),
                counts[np.ix_(rest, rest)].sum(keepdims=True),
            ],
        ]
    )
    names = feature_index([*table.index[kept], OTHERS])
    return pd.DataFrame(folded, names, names)
