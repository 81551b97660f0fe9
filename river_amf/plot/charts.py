"""Curves of models along a stream, and bars of the importance and contributions of features."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from river_amf import inspection
from river_amf.evaluation.comparison import Comparison
from river_amf.evaluation.metrics import smaller_is_better
from river_amf.outputs.formatting import name
from river_amf.outputs.printing import printable
from river_amf.pages.charts import COLORS, looks
from river_amf.parameters import integer, one_of
from river_amf.plot.axes import add_legend, new_axes

_STYLES = {"solid": "-", "dash": "--", "dot": ":"}
_MEASURES = {  # columns of `inspection.feature_importance`, in words
    "splits": "share of the splits",
    "mass": "share of the mass passed on",
    "impurity": "share of the decrease in impurity",
    "relevance": "relevance: from 0, for none, to 1",
}


def comparison(comparison: Comparison, ax: Axes | None = None, metric: str | None = None) -> Axes:
    """Draw a metric of each model along the stream, in the colors of the report page.

    It takes the result of `evaluation.compare`, and the name of a column of its `curves`, else
    ValueError; by default the first metric.

    >>> from matplotlib.figure import Figure
    >>> from river_amf import evaluation, plot
    >>> comparison = evaluation.compare("Bananas", ["amf", "majority"], limit=500, seed=1)
    >>> ax = plot.comparison(comparison, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['amf', 'last-class', 'majority']
    """
    metrics = [str(name) for name in comparison.curves.columns[2:] if name in comparison.table]
    metric = metrics[0] if metric is None else metric
    if metric not in metrics:
        raise ValueError(f"metric must be one of {', '.join(metrics)}, got {metric!r}")
    scores: dict[Any, float] = comparison.table[metric].astype(float).to_dict()
    curves = comparison.curves.pivot(index="n_samples", columns="model", values=metric)
    ax, is_error = new_axes(ax, (8.0, 4.0)), smaller_is_better(metric)
    styles = looks(scores, comparison.naive_baselines, smaller_is_better=is_error)
    for model, look in styles.items():
        if model in curves and curves[model].notna().any():
            style: dict[str, Any] = {"color": look.color, "linewidth": look.width}
            style["label"] = printable(model)
            curves[model].dropna().plot(ax=ax, linestyle=_STYLES[look.dash], **style)
    ax.set(xlabel="samples", ylabel=printable(metric))
    ax.set_title(printable(comparison.name), parse_math=False)
    add_legend(ax, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return ax


def importance(
    model: Any, measure: str = "impurity", ax: Axes | None = None, n_features: int = 20
) -> Axes:
    """Draw the importance of the most important features as bars, the largest on top.

    `model` is a forest, or a fitted estimator of `river_amf.sklearn`, and `measure` a column of
    `inspection.feature_importance`: `"splits"`, `"mass"`, `"impurity"` or `"relevance"`.

    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, plot
    >>> model = AMFClassifier(seed=1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": i % 7, "signal": i % 10}, i % 10 < 5)
    >>> ax = plot.importance(model, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['signal', 'noise']
    """
    integer(1)("n_features", n_features)
    one_of(*_MEASURES)("measure", measure)
    values = inspection.feature_importance(model)[measure].dropna()
    top = values.sort_values(ascending=False, kind="stable")[:n_features]
    if top.empty:
        raise ValueError(f"model has no {measure} of features, or has learned nothing yet")
    ax = _bars(ax, [name(feature) for feature in top.index], top.tolist())
    ax.set_xlabel(_MEASURES[measure])
    return ax


def contributions(parts: pd.Series, ax: Axes | None = None, n_features: int = 20) -> Axes:
    """Draw contributions to a prediction as bars, the largest on top, to the right if positive.

    `parts` is a result of `inspection.contributions`, whose unit, baseline and sum are below the
    bars. Beyond `n_features`, there is one more bar, the sum of the others.

    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, inspection, plot
    >>> model = AMFClassifier(seed=1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": i % 7, "signal": i % 10}, i % 10 < 5)
    >>> parts = inspection.contributions(model, {"noise": 3, "signal": 3})
    >>> ax = plot.contributions(parts, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['signal', 'noise']
    """
    integer(1)("n_features", n_features)
    if len(parts) < 2:
        raise ValueError("parts has no features")
    order = (-parts.iloc[1:].abs()).argsort(kind="stable") + 1
    top, others = parts.iloc[order[:n_features]], parts.iloc[order[n_features:]]
    titles, values = [name(feature) for feature in top.index], top.tolist()
    if len(others):
        titles, values = [*titles, f"{len(others)} others"], [*values, others.sum()]
    ax = _bars(ax, titles, values)
    ax.axvline(0.0, color="black", linewidth=0.8)
    title = parts.index.name or parts.name or "contribution"  # of a row of a table, or of a sample
    ax.set_xlabel(f"{title}\nbaseline {parts.iloc[0]:.4g}\nsum {parts.sum():.4g}")
    return ax


def _bars(ax: Axes | None, titles: list[str], values: list[float]) -> Axes:
    """Draw bars from top to bottom, in another color to the left."""
    ax = new_axes(ax, (8.0, 0.8 + 0.25 * len(values)))
    colors = [COLORS[int(value < 0.0)] for value in values]
    ax.barh(range(len(values)), values, height=0.7, color=colors)
    ax.set_yticks(range(len(values)), titles, parse_math=False)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
