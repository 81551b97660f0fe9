"""What is inside a forest, as tables."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf import kernels, paths, state
from river_amf.encoding import Features
from river_amf.forest import AMFClassifier

__all__ = ["feature_relevance", "node_table", "path", "weighted_depth"]

_COLUMNS = [
    "node",
    "parent",
    "left",
    "right",
    "depth",
    "feature",
    "threshold",
    "time",
    "n_samples",
    "log_odds",
    "counts",
    "range_min",
    "range_max",
    "categories_left",
]

_PATH_COLUMNS = [
    "node",
    "depth",
    "feature",
    "threshold",
    "categories_left",
    "value",
    "goes",
    "share",
    "mass",
    "n_samples",
    "counts",
    "proba",
]


def node_table(model: AMFClassifier, tree: int = 0) -> pd.DataFrame:
    """Return the nodes of one tree as a table.

    Parameters
    ----------
    model
        The forest.
    tree
        Index of the tree, from 0.

    Returns
    -------
    One row per node, in the order of `node`:

    - `node`, `parent`, `left`, `right`: numbers of nodes; -1 where there is none.
    - `depth`: number of splits above the node.
    - `feature`: name of the feature that the node splits, None at a leaf.
    - `threshold`: values <= threshold go left; NaN at a leaf. A categorical feature has a number in
      [0, 1) for each category, other numbers in other trees.
    - `time`: creation time in the Mondrian process; 0 at the root.
    - `n_samples`: sum of the weights of the samples in the cell.
    - `log_odds`: log-odds of the node's own prediction against those below it; NaN at a leaf.
    - `counts`: dict, label -> weight in the cell, for each label seen by the forest.
    - `range_min`, `range_max`: dicts, feature -> value: the box of the cell's samples. A feature of
      which the cell has seen no value is absent.
    - `categories_left`: set of the categories seen so far that go left, at a categorical split;
      else None.

    Raises
    ------
    TypeError
        If the model is no forest, or `tree` no integer.
    IndexError
        If there is no such tree.

    Examples
    --------
    >>> from river_amf import AMFClassifier, inspection
    >>> model = AMFClassifier(n_estimators=1, seed=1)
    >>> for x, y in [({"length": 1.0}, "short"), ({"length": 4.0}, "long")]:
    ...     model.learn_one(x, y)
    >>> table = inspection.node_table(model)
    >>> table[["node", "parent", "left", "right", "depth", "n_samples"]]
       node  parent  left  right  depth  n_samples
    0     0      -1     1      2      0        2.0
    1     1       0    -1     -1      1        1.0
    2     2       0    -1     -1      1        1.0
    >>> bool(1.0 <= table.threshold[0] < 4.0)
    True
    >>> table.counts[1]
    {'short': 1.0, 'long': 0.0}
    """
    _check_forest(model)
    tree = paths.check_tree(model.n_estimators, tree)
    arena = model._arena
    n_nodes = 0 if arena is None else int(arena.trees["n_nodes"][tree])
    if arena is None or n_nodes == 0:
        return pd.DataFrame({name: [] for name in _COLUMNS})
    nodes = arena.nodes[tree, :n_nodes]
    is_leaf = nodes["left"] == kernels.NONE
    names = list(model._features)
    boxes = [_box(arena, tree, node) for node in nodes]
    table = {
        "node": np.arange(n_nodes),
        "parent": nodes["parent"].astype(np.int64),
        "left": nodes["left"].astype(np.int64),
        "right": nodes["right"].astype(np.int64),
        "depth": _depths(nodes, int(arena.trees["root"][tree])),
        "feature": [
            None if node["left"] == kernels.NONE else names[node["feature"]] for node in nodes
        ],
        "threshold": np.where(is_leaf, math.nan, nodes["threshold"]),
        "time": np.where(nodes["parent"] < 0, 0.0, nodes["split_time"][nodes["parent"]]),
        "n_samples": nodes["n_samples"].copy(),
        "log_odds": paths.log_odds(nodes),
        "counts": [
            dict(zip(model._labels, counts.tolist(), strict=False))
            for counts in arena.counts[tree, :n_nodes]
        ],
        "range_min": [_by_name(names, box[0]) for box in boxes],
        "range_max": [_by_name(names, box[1]) for box in boxes],
        "categories_left": [
            _categories_left(model._features, names, arena.trees["key"][tree], node)
            for node in nodes
        ],
    }
    return pd.DataFrame({name: _column(table[name]) for name in _COLUMNS})


def path(model: AMFClassifier, x: dict[Any, Any], tree: int = 0) -> pd.DataFrame:
    """Return the path of a sample down one tree, and what each node on it adds to the prediction.

    Parameters
    ----------
    model
        The forest.
    x
        Features, as in `predict_proba_one`.
    tree
        Index of the tree, from 0.

    Returns
    -------
    One row per node, from the root to the leaf:

    - `node`: its number, as in `node_table`.
    - `depth`: number of splits above it.
    - `feature`, `threshold`, `categories_left`: its split, as in `node_table`.
    - `value`: what x has of that feature; None if it is missing, and at the leaf.
    - `goes`: `"left"` or `"right"`, the side that x goes to: to the heavier one where the value is
      missing, and by values far outside the range as if they lay at its end. None at the leaf.
    - `share`: what the node takes of the mass that the nodes above have left; 1 at the leaf. It is
      0 above the leaf without aggregation.
    - `mass`: what it takes of the whole, 1; the sum over the nodes of mass times `proba` is what
      the tree predicts.
    - `n_samples`, `counts`: of its cell, as in `node_table`.
    - `proba`: dict, label -> probability, for each label seen by the forest: what the node itself
      predicts. With fading that is the mix of the counts with those that forget. With `n_classes`,
      classes that have not been seen have the rest.

    Raises
    ------
    TypeError
        If the model is no forest, or `tree` no integer; for a bad x, as in `learn_one`.
    ValueError
        For a bad x, likewise.
    IndexError
        If there is no such tree.

    Examples
    --------
    >>> from river_amf import AMFClassifier, inspection
    >>> model = AMFClassifier(n_estimators=1, seed=1)
    >>> for length, label in [(1.0, "short"), (1.5, "short"), (4.0, "long"), (4.5, "long")]:
    ...     model.learn_one({"length": length}, label)
    >>> steps = inspection.path(model, {"length": 1.2})
    >>> steps[["node", "depth", "feature", "goes", "n_samples", "counts"]]
       node  depth feature  goes  n_samples                       counts
    0     0      0  length  left        4.0  {'short': 2.0, 'long': 2.0}
    1     1      1    None  None        2.0  {'short': 2.0, 'long': 0.0}
    >>> mixed = sum(mass * p["short"] for mass, p in zip(steps.mass, steps.proba))
    >>> abs(mixed - model.predict_proba_one({"length": 1.2})["short"]) < 1e-12
    True
    """
    _check_forest(model)
    tree = paths.check_tree(model.n_estimators, tree)
    values = _encoded(model, x)
    if values is None:
        return pd.DataFrame({name: [] for name in _PATH_COLUMNS})
    arena: state.Arena = model._arena  # type: ignore[assignment]
    names, labels = list(model._features), list(model._labels)
    steps = paths.walk(arena, tree, values)
    nodes = arena.nodes[tree, [step.node for step in steps]]
    splits = [names[step.feature] if step.goes else None for step in steps]
    table = {
        "node": np.array([step.node for step in steps], np.int64),
        "depth": np.arange(len(steps)),
        "feature": splits,
        "threshold": np.array([step.threshold for step in steps]),
        "categories_left": [
            _categories_left(model._features, names, arena.trees["key"][tree], node)
            for node in nodes
        ],
        "value": [
            None if math.isnan(step.value) else x[name]
            for step, name in zip(steps, splits, strict=True)
        ],
        "goes": [step.goes for step in steps],
        "share": np.array([step.share for step in steps]),
        "mass": np.array([step.mass for step in steps]),
        "n_samples": np.array([step.n_samples for step in steps]),
        "counts": [dict(zip(labels, step.counts.tolist(), strict=False)) for step in steps],
        "proba": [dict(zip(labels, step.proba.tolist(), strict=False)) for step in steps],
    }
    return pd.DataFrame({name: _column(table[name]) for name in _PATH_COLUMNS})


def weighted_depth(model: AMFClassifier, x: dict[Any, Any]) -> pd.Series:
    """Return how deep in each tree the nodes lie that predict a sample.

    It is the mean of the depths of the nodes on the path, weighted by the mass that each takes of
    the prediction: 0 where the root alone predicts, the depth of the leaf where it does.

    Parameters
    ----------
    model
        The forest.
    x
        Features, as in `predict_proba_one`.

    Returns
    -------
    Series of floats named `weighted_depth`, by tree; NaN for a tree without nodes, as before the
    first sample.

    Raises
    ------
    TypeError
        If the model is no forest; for a bad x, as in `learn_one`.
    ValueError
        For a bad x, likewise.

    Examples
    --------
    >>> from river_amf import AMFClassifier, inspection
    >>> model = AMFClassifier(n_estimators=2, seed=1)
    >>> for i in range(100):
    ...     model.learn_one({"a": i % 10, "b": i % 7}, i % 10 < 5)
    >>> inspection.weighted_depth(model, {"a": 2, "b": 3}).between(0.5, 10)
    tree
    0    True
    1    True
    Name: weighted_depth, dtype: bool
    """
    _check_forest(model)
    values = _encoded(model, x)
    depths = np.full(model.n_estimators, math.nan)
    if values is not None:
        depths = paths.weighted_depths(model._arena, values)  # type: ignore[arg-type]
    return pd.Series(depths, pd.RangeIndex(len(depths), name="tree"), name="weighted_depth")


def _encoded(model: AMFClassifier, x: dict[Any, Any]) -> NDArray[np.float64] | None:
    """Return a sample as a row, None before the first one; a bad one raises as in prediction."""
    model.predict_proba_one(x)
    return None if model._arena is None else model._features.encode(x).values[0].copy()


def feature_relevance(model: AMFClassifier) -> pd.Series:
    """Return how much each feature has told of the label lately, from 0 to 1.

    For a categorical feature it is Goodman and Kruskal's tau: the part of the label's variance that
    lies between the categories, less what chance would give (those beyond 64 share their counts
    with others). For a numeric one it is the larger of tau, over 16 parts of its range, and the
    correlation ratio eta^2, the part of its own variance that lies between the labels. Both go back
    some 400 samples. The forest splits a feature in proportion to it, plus 0.003.

    Parameters
    ----------
    model
        A forest with `split_intensity="relevance"`.

    Returns
    -------
    Series of floats named `relevance`, by feature in order of first appearance; empty before the
    first sample.

    Raises
    ------
    TypeError
        If the model is no forest.
    ValueError
        If it has another split intensity, and so keeps no relevance.

    Examples
    --------
    >>> import random
    >>> from river_amf import AdaptiveAMFClassifier, inspection
    >>> model, rng = AdaptiveAMFClassifier(seed=1), random.Random(1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": rng.random(), "signal": i % 10}, i % 10 < 5)
    >>> inspection.feature_relevance(model).round(1)
    noise     0.0
    signal    1.0
    Name: relevance, dtype: float64

    References
    ----------
    Goodman, L. A., & Kruskal, W. H. (1954). Measures of association for cross classifications.
    Journal of the American Statistical Association, 49(268), 732-764.
    """
    _check_forest(model)
    if model.split_intensity != "relevance":
        raise ValueError(
            f"model has split_intensity={model.split_intensity!r}, and only a forest with "
            "'relevance', such as AdaptiveAMFClassifier, knows the relevance of its features"
        )
    arena, names = model._arena, list(model._features)
    values = [] if arena is None else arena.features["relevance"][: len(names)].tolist()
    # not from a list of names: pandas would turn tuples among them into levels
    index = pd.Index(np.array([*names, None], dtype=object)[:-1], tupleize_cols=False)
    return pd.Series(values, index=index, name="relevance", dtype=np.float64)


def _check_forest(model: object) -> None:
    """Raise TypeError unless the model is a forest."""
    if not hasattr(model, "_arena"):
        raise TypeError(
            f"model must be a forest, got {type(model).__name__}; "
            "of a pipeline give the last step, such as pipeline['AMFClassifier'], "
            "of a scikit-learn estimator its model_"
        )


def _column(values: Any) -> pd.Series:
    """Keep dicts, sets, names of any type and None as they are."""
    return pd.Series(values, dtype=object if isinstance(values, list) else None)


def _depths(nodes: NDArray[Any], root: int) -> NDArray[np.int64]:
    """Count the splits above each node, from the root down."""
    depths = np.zeros(len(nodes), np.int64)
    pending = [root]
    while pending:
        index = pending.pop()
        for child in (int(nodes["left"][index]), int(nodes["right"][index])):
            if child != kernels.NONE:
                depths[child] = depths[index] + 1
                pending.append(child)
    return depths


def _box(arena: state.Arena, tree: int, node: Any) -> NDArray[np.float64]:
    """Return a node's box, (2, n_features); that of a waiting leaf follows from its samples."""
    n_features = int(arena.settings["n_features"][0])
    if not node["n_rows"]:
        return arena.boxes[tree, node["slot"], :, :n_features]
    box = np.full((2, n_features), math.nan)
    kernels.hull_of_rows(
        arena.is_categorical,
        n_features,
        arena.trees["key"][tree],
        arena.rows,
        arena.links[tree],
        node["slot"],
        box,
    )
    return box


def _by_name(names: list[Hashable], values: NDArray[np.float64]) -> dict[Hashable, float]:
    """Return feature -> value without those that are missing."""
    pairs = zip(names, values.tolist(), strict=True)
    return {name: value for name, value in pairs if not math.isnan(value)}


def _categories_left(
    features: Features, names: list[Hashable], key: np.uint64, node: Any
) -> set[Hashable] | None:
    """Return the categories that go left at a categorical split."""
    if node["left"] == kernels.NONE:
        return None
    column = int(node["feature"])
    return paths.categories_left(features, names[column], column, key, node["threshold"])
