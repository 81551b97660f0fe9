"""Relevance of features to the label or target, and their importance in the trees of a forest."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.ensemble import Ensemble, forest_of, levels
from river_amf.explain import paths
from river_amf.state import layout
from river_amf.state.arena import Arena


def feature_relevance(model: Any) -> pd.Series:
    """Return how informative each feature has recently been about label or target, from 0 to 1.

    In a classifier it is Goodman and Kruskal's tau[^1]: the part of the label's variance that lies
    between the categories, or 16 equal parts of a numeric feature's range, minus what is expected
    by chance; for a number the correlation ratio eta^2, if that is larger. In a regressor it is
    that part of the target's variance; for a number the squared correlation, if that is larger. All
    are averages over about the last 400 samples. The model must have `split_intensity="relevance"`,
    else ValueError. Features are in order of first appearance, by name within a row.

    >>> from river_amf import AdaptiveAMFClassifier, inspection
    >>> model = AdaptiveAMFClassifier(seed=1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": i % 7, "signal": i % 10}, i % 10 < 5)
    >>> inspection.feature_relevance(model).round(1)
    noise     0.0
    signal    1.0
    Name: relevance, dtype: float64

    [^1]: [Goodman, Kruskal (1954)](https://doi.org/10.1080/01621459.1954.10501231)
    """
    forest = forest_of(model)
    if forest.split_intensity != "relevance":
        raise ValueError(
            f"model has split_intensity={forest.split_intensity!r}, but only a forest with "
            "'relevance', such as an AdaptiveAMF*, keeps the relevance of its features"
        )
    return forest._engine.run(_feature_relevance, forest)


def _feature_relevance(forest: Ensemble) -> pd.Series:
    names, has_learned = list(forest._features), forest._has_learned
    values = forest._arena.features["relevance"][: len(names)].tolist() if has_learned else []
    index = pd.Index(names, dtype=object, tupleize_cols=False)  # tuples as they are
    return pd.Series(values, index, name="relevance", dtype=np.float64)


def feature_importance(model: Any) -> pd.DataFrame:
    """Return the contribution of each feature to the trees, in several measures.

    Mondrian trees draw their splits without looking at labels or targets, so a feature that is
    split often need not matter. One row per feature, in order of first appearance, by name within a
    row. The first three columns sum to 1, or are 0 before the first split; they are sums over
    trees.

    - `splits`: share of the splits on the feature.
    - `mass`: share of the mass that these splits pass on to the nodes below them, where each node
      counts by the fraction of the tree's samples in its cell (see `path`).
    - `impurity`: share of the decrease of impurity from a node to its children, with nodes weighted
      as in `mass`. Impurity is the Gini impurity of the labels, or the variance of the targets (or
      residuals of the trend). This is the importance of random forests in scikit-learn, except that
      splits which aggregation ignores do not count.
    - `relevance`: as from `feature_relevance`, not a share; NaN with another split intensity.

    >>> from river_amf import AMFClassifier, inspection
    >>> model = AMFClassifier(seed=1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": i % 7, "signal": i % 10}, i % 10 < 5)
    >>> bool(inspection.feature_importance(model).impurity["signal"] > 0.9)
    True
    """
    forest = forest_of(model)
    return forest._engine.run(_feature_importance, forest)


def _feature_importance(forest: Ensemble) -> pd.DataFrame:
    relevance = _feature_relevance(forest)
    shares = np.zeros((3, len(relevance)))
    for tree in range(len(forest) if forest._has_learned else 0):
        shares += _of_tree(forest._arena, tree)
    totals = shares.sum(axis=1, keepdims=True)
    np.divide(shares, totals, out=shares, where=totals > 0.0)
    table = pd.DataFrame(shares.T, relevance.index, ["splits", "mass", "impurity"])
    return table.assign(relevance=relevance if forest.split_intensity == "relevance" else math.nan)


def _of_tree(arena: Arena, tree: int) -> NDArray[np.float64]:
    """Return splits, mass and decrease of impurity by feature (DESIGN.md: importance)."""
    n_features = int(arena.settings["n_features"][0])
    nodes = arena.nodes[tree, : int(arena.trees["n_nodes"][tree])]
    if not len(nodes):
        return np.zeros((3, n_features))
    total = nodes["n_samples"][int(arena.trees["root"][tree])]
    weight = nodes["n_samples"] / total
    if arena.settings["is_regression"][0]:
        impurity = arena.targets[tree, : len(nodes), layout.SQUARES] / total
    else:
        fractions = arena.counts[tree, : len(nodes)] / nodes["n_samples"][:, None]
        impurity = weight * (1.0 - (fractions**2).sum(axis=1))
    branches = np.flatnonzero(nodes["left"] != kernels.NONE)
    left, right = nodes["left"][branches], nodes["right"][branches]
    decrease = np.maximum(impurity[branches] - impurity[left] - impurity[right], 0.0)
    passed = _passed_on(arena, tree, nodes)[branches]
    one = np.full(len(branches), 1.0 / max(len(branches), 1))
    measures = (one, passed * weight[branches], passed * decrease)
    features = nodes["feature"][branches]
    return np.array([np.bincount(features, measure, n_features) for measure in measures])


def _passed_on(arena: Arena, tree: int, nodes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mass that each node passes on to a child, of a mass of 1 at the root."""
    passed = np.ones(len(nodes) + 1)  # the last, at NONE, is that of the root's parent
    if arena.settings["use_aggregation"][0]:
        log_odds = np.nan_to_num(paths.log_odds(nodes))  # NaN at leaves, which pass nothing on
        passed[:-1] = np.exp(-np.logaddexp(0.0, log_odds))  # sigma(-r_v)
    for level in levels(nodes, int(arena.trees["root"][tree])):
        passed[level] *= passed[nodes["parent"][level]]
    return passed[:-1]
