"""Plots of what each feature is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from river import base

from river_amf.emphasis import COLORS
from river_amf.inspection import feature_importance
from river_amf.parameters import integer
from river_amf.plot.canvas import Axes, new_axes
from river_amf.plot.lines import draw_features
from river_amf.wording import name

_BAR = 0.7  # width of a bar, where the next one is 1 away


def importance(importance: pd.Series | Any, ax: Axes | None = None, n_features: int = 20) -> Axes:
    """Draw the importance of each feature as a bar, the most important one on top.

    Parameters
    ----------
    importance
        Importances by feature: a column of `inspection.feature_importance`, the result of
        `inspection.feature_relevance`, or that of `inspection.PermutationImportance.get`. Features
        whose importance is NaN are left out. Of a forest, or an estimator of `river_amf.sklearn`,
        the column `impurity` is drawn.
    ax
        Axes to draw on; by default those of a new figure.
    n_features
        Maximum number of features to draw, the most important ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Raises
    ------
    TypeError
        If `importance` is neither a pandas Series nor such a model, or `ax` is not a matplotlib
        Axes.
    ValueError
        If there is nothing to draw, or `n_features` is not an integer >= 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river import datasets
    >>> from river_amf import AMFClassifier, inspection, plot
    >>> model = AMFClassifier(seed=1)
    >>> for i, (x, y) in enumerate(datasets.Bananas().take(500)):
    ...     model.learn_one({**x, "noise": i % 10}, y)
    >>> table = inspection.feature_importance(model)
    >>> ax = plot.importance(table["impurity"], ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()][-1], ax.get_xlabel()
    ('noise', 'impurity')
    """
    integer(1)("n_features", n_features)
    if hasattr(importance, "get_params") or isinstance(importance, base.Base):
        importance = feature_importance(importance)["impurity"]
    if not isinstance(importance, pd.Series):
        hint = ""
        if isinstance(importance, pd.DataFrame):
            hint = "; choose a column, such as table['impurity']"
        raise TypeError(
            "importance must be a pandas Series from the inspection module, or a forest, got "
            f"{type(importance).__name__}{hint}"
        )
    known = importance.dropna()
    if known.empty:
        raise ValueError("importance has no features to draw: nothing has been learned or measured")
    order = np.argsort(-known.to_numpy(), kind="stable")[:n_features]
    ax = new_axes(ax, (8.0, 0.8 + 0.25 * len(order)))
    places = np.arange(len(order))
    ax.barh(places, known.to_numpy()[order], height=_BAR, color=COLORS[0])
    labels = [name(known.index[place]) for place in order.tolist()]
    ax.set_yticks(places, labels, parse_math=False)
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.axvline(0.0, color="#777777", linewidth=0.8)
    ax.set_xlabel(str(importance.name or "importance"), parse_math=False)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def importance_history(history: pd.DataFrame, ax: Axes | None = None, n_features: int = 8) -> Axes:
    """Draw the importance of the features along a stream, with their names where the lines end.

    Parameters
    ----------
    history
        Result of `evaluation.importance_history`.
    ax
        Axes to draw on; by default those of a new figure.
    n_features
        Number of features to name, chosen by their highest importance along the stream. The other
        features are drawn in gray.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on.

    Raises
    ------
    TypeError
        If `history` is not a pandas DataFrame, or `ax` is not a matplotlib Axes.
    ValueError
        If the DataFrame does not come from `evaluation.importance_history` or nothing was measured,
        or if `n_features` is not an integer >= 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFClassifier, evaluation, plot
    >>> stream = evaluation.load_stream("stagger_abrupt", limit=1000)
    >>> history = evaluation.importance_history(stream, AMFClassifier(seed=1), seed=1)
    >>> ax = plot.importance_history(history, ax=Figure().subplots(), n_features=2)
    >>> sorted(text.get_text() for text in ax.texts)
    ['color', 'size']
    """
    integer(1)("n_features", n_features)
    wanted = "history must come from evaluation.importance_history"
    if not isinstance(history, pd.DataFrame):
        raise TypeError(f"{wanted}, got {type(history).__name__}")
    if (history.index.name, history.columns.name) != ("n_samples", "feature"):
        raise ValueError(
            f"{wanted}, with index n_samples and columns feature, got a DataFrame with index "
            f"{history.index.name!r} and columns {history.columns.name!r}"
        )
    known = history.dropna(axis="columns", how="all").dropna(axis="index", how="all")
    if known.empty:
        raise ValueError(f"{wanted} for a stream with predictions, got nothing measured")
    ax = new_axes(ax)
    draw_features(ax, known, n_features)
    ax.axhline(0.0, color="#777777", linewidth=0.8, zorder=0)
    ax.set_ylabel("importance")
    return ax
