"""Tables of nodes, paths and depths."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.explain import paths, trend_experts
from river_amf.forest import Forest, forest_of
from river_amf.state import layout
from river_amf.state.arena import Arena

_OF_NODES = ("node", "parent", "left", "right", "depth", "feature", "threshold", "time")
_OF_BOXES = ("range_min", "range_max", "categories_left")
_KEPT = {layout.CLASSIFICATION: ("counts",), layout.REGRESSION: ("mean", "std")}
_OF_STEPS = ("node", "depth", "feature", "threshold", "categories_left", "value", "goes")


def node_table(model: Any, tree: int = 0) -> pd.DataFrame:
    """Return the nodes of one tree as a table.

    Parameters
    ----------
    model
        The forest, or a fitted estimator of `river_amf.sklearn` with one.
    tree
        Index of the tree, from 0.

    Returns
    -------
    DataFrame of shape (n_nodes, n_columns)
        One row per node, in the order of `node` (none before the first sample), with these columns:

        - `node`, `parent`, `left`, `right`: the numbers of the node, its parent and its children;
          -1 where there is none.
        - `depth`: number of splits above the node.
        - `feature`: name of the feature that the node splits, None for a leaf.
        - `threshold`: values <= threshold go left; NaN for a leaf. For a categorical feature, each
          tree gives each category its own number in [0, 1).
        - `time`: creation time of the node in the Mondrian process; 0 for the root.
        - `n_samples`: sum of the weights of the samples in the node's cell.
        - `log_odds`: log-odds of the node's own prediction against those below it; NaN for a leaf.
        - `counts`: dict from each label seen by the forest to its weight in the cell. A regressor
          has instead `mean` and `std`: the weighted mean and standard deviation of the targets in
          the cell; with a trend, a tree with an odd index has those of its residuals.
        - `range_min`, `range_max`: dicts from feature to value that describe the box of the cell's
          samples. Features without any value in the cell are absent.
        - `categories_left`: for a categorical split, the set of the categories seen so far that go
          left, with `"(missing)"` for a missing value; otherwise None.

    Raises
    ------
    TypeError
        If `tree` is not an integer.
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
    >>> table.counts[1]
    {'short': 1.0, 'long': 0.0}
    """
    forest = forest_of(model)
    return forest._read(_node_table, forest, paths.check_tree(forest.n_estimators, tree))


def _node_table(model: Forest, tree: int) -> pd.DataFrame:
    columns = [*_OF_NODES, "n_samples", "log_odds", *_KEPT[model.task], *_OF_BOXES]
    arena = model._arena
    n_nodes = 0 if arena is None else int(arena.trees["n_nodes"][tree])
    if arena is None or n_nodes == 0:
        return pd.DataFrame({name: [] for name in columns})
    numbers = np.arange(n_nodes)
    nodes = arena.nodes[tree, :n_nodes]
    is_leaf = nodes["left"] == kernels.NONE
    names = list(model._features)
    boxes = [_box(arena, tree, node) for node in nodes]
    depths = np.zeros(n_nodes, np.int64)
    for depth, level in enumerate(paths.levels(nodes, int(arena.trees["root"][tree]))):
        depths[level] = depth
    table = {
        "node": numbers,
        **{name: nodes[name].astype(np.int64) for name in ("parent", "left", "right")},
        "depth": depths,
        "feature": [
            None if node["left"] == kernels.NONE else names[node["feature"]] for node in nodes
        ],
        "threshold": np.where(is_leaf, math.nan, nodes["threshold"]),
        "time": np.where(nodes["parent"] < 0, 0.0, nodes["split_time"][nodes["parent"]]),
        "n_samples": nodes["n_samples"].copy(),
        "log_odds": paths.log_odds(nodes),
        **_kept_by_nodes(model, arena, tree, numbers),
        "range_min": [_by_name(names, box[0]) for box in boxes],
        "range_max": [_by_name(names, box[1]) for box in boxes],
        "categories_left": [_categories_left(model, arena, tree, node) for node in nodes],
    }
    return pd.DataFrame({name: _column(table[name]) for name in columns})


def path(model: Any, x: dict[Any, Any], tree: int = 0) -> pd.DataFrame:
    """Return the path of a sample down one tree, and each node's part in the prediction.

    Parameters
    ----------
    model, tree
        As in `node_table`.
    x
        Features, as in `learn_one`.

    Returns
    -------
    DataFrame of shape (n_nodes_on_path, n_columns)
        One row per node, from the root to the leaf (none before the first sample), with these
        columns:

        - `node`: number of the node, as in `node_table`.
        - `depth`: number of splits above it.
        - `feature`, `threshold`, `categories_left`: its split, as in `node_table`.
        - `value`: the value of that feature in `x`; None if it is missing, and at the leaf.
        - `goes`: the side that `x` goes to, `"left"` or `"right"`; None at the leaf. A missing
          number goes to the side with more samples, or as if it were just below the only value so
          far; a value far outside the range goes where the nearest end of the range goes.
        - `share`: share that the node takes of the mass left by the nodes above it; 1 at the leaf.
          Without aggregation, it is 0 above the leaf.
        - `mass`: mass that the node takes of the total of 1. The tree predicts the sum over the
          nodes of `mass` times `proba`, or `mass` times `estimate`.
        - `n_samples`, `counts`, or `mean` and `std`: samples in its cell, as in `node_table`.
        - `proba`: dict from each label seen by the forest to the probability that the node itself
          predicts. With fading, this is the mixture of plain and faded counts. If `n_classes` is
          given, classes not seen yet share the rest.
        - `estimate`, of a regressor, in place of `proba`: the target that the node itself predicts,
          drawn from the mean of its cell towards the estimate of its parent, as if that were one
          more sample. With fading, it is the mixture of two such estimates. With a trend, the trees
          with odd indices estimate its residual.

    Raises
    ------
    TypeError, ValueError, IndexError
        As in `node_table`; if `x` is invalid, as in `learn_one`.

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
    """
    forest = forest_of(model)
    return forest._read(_path, forest, x, paths.check_tree(forest.n_estimators, tree))


def _path(model: Forest, x: dict[Any, Any], tree: int) -> pd.DataFrame:
    own = "estimate" if model.task == layout.REGRESSION else "proba"
    columns = [*_OF_STEPS, "share", "mass", "n_samples", *_KEPT[model.task], own]
    values = model._encode(x)
    if values is None:
        return pd.DataFrame({name: [] for name in columns})
    arena: Arena = model._arena  # type: ignore[assignment]
    names = list(model._features)
    steps = paths.walk(arena, tree, values)
    numbers = np.array([step.node for step in steps], np.int64)
    nodes = arena.nodes[tree, numbers]
    splits = [names[step.feature] if step.goes else None for step in steps]
    table = {
        "node": numbers,
        "depth": np.arange(len(steps)),
        "feature": splits,
        "threshold": np.array([step.threshold for step in steps]),
        "categories_left": [_categories_left(model, arena, tree, node) for node in nodes],
        "value": [
            None if step.goes is None or math.isnan(values[step.feature]) else x.get(name, 0.0)
            for step, name in zip(steps, splits, strict=True)
        ],
        "goes": [step.goes for step in steps],
        "share": np.array([step.share for step in steps]),
        "mass": np.array([step.mass for step in steps]),
        "n_samples": nodes["n_samples"],
        **_kept_by_nodes(model, arena, tree, numbers),
    }
    if model.task == layout.REGRESSION:
        estimates = np.array([step.own.estimate for step in steps])
        table["estimate"] = estimates + _origin(model, arena, tree)
    else:
        rows = [step.own.proba.tolist() for step in steps]
        table["proba"] = [dict(zip(model._labels, row, strict=False)) for row in rows]
    return pd.DataFrame({name: _column(table[name]) for name in columns})


def weighted_depth(model: Any, x: dict[Any, Any]) -> pd.Series:
    """Return for each tree the mean depth of the nodes that predict a sample.

    The nodes on the path are weighted by their mass in the prediction. The result is 0 if the root
    alone predicts, and the depth of the leaf if the leaf alone does.

    Parameters
    ----------
    model, x
        As in `path`.

    Returns
    -------
    Series of length n_estimators
        The depths, in splits, as floats named `weighted_depth` and indexed by tree. NaN for a tree
        without nodes, such as before the first sample.

    Raises
    ------
    TypeError, ValueError
        As in `path`.

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
    forest = forest_of(model)
    return forest._read(_weighted_depth, forest, x)


def _weighted_depth(model: Forest, x: dict[Any, Any]) -> pd.Series:
    values = model._encode(x)
    depths = np.full(model.n_estimators, math.nan)
    if values is not None:
        depths = paths.weighted_depths(model._arena, values)  # type: ignore[arg-type]
    return pd.Series(depths, pd.RangeIndex(len(depths), name="tree"), name="weighted_depth")


def _kept_by_nodes(
    model: Forest, arena: Arena, tree: int, numbers: NDArray[np.int64]
) -> dict[str, NDArray[Any] | list[Any]]:
    """Return the columns for what nodes of a tree keep of labels or targets."""
    if model.task == layout.REGRESSION:
        mean, squares = arena.targets[tree, numbers].T
        std = np.sqrt(squares / arena.nodes["n_samples"][tree, numbers])
        return {"mean": mean + _origin(model, arena, tree), "std": std}
    counts = arena.counts[tree, numbers].tolist()
    return {"counts": [dict(zip(model._labels, row, strict=False)) for row in counts]}


def _origin(model: Forest, arena: Arena, tree: int) -> float:
    """Return what the targets of a tree are less of: that of the forest, or nothing for rests."""
    return 0.0 if trend_experts.learns_rest(arena, tree) else model._labels.origin


def _column(values: Any) -> pd.Series:
    """Return values as a series that keeps dicts, sets, names of any type and None as they are."""
    return pd.Series(values, dtype=object if isinstance(values, list) else None)


def _box(arena: Arena, tree: int, node: Any) -> NDArray[np.float64]:
    """Return a node's box, of shape (2, n_features)."""
    n_features = int(arena.settings["n_features"][0])
    if not node["n_rows"]:
        return arena.boxes[tree, node["slot"], :, :n_features]
    box = np.full((2, n_features), math.nan)  # a leaf that keeps its samples has no stored box
    kernels.hull_of_leaf(arena.address, tree, int(node["slot"]), box.ctypes.data)
    return box


def _by_name(names: list[Hashable], values: NDArray[np.float64]) -> dict[Hashable, float]:
    """Return the values by feature name, without the missing ones."""
    pairs = zip(names, values.tolist(), strict=True)
    return {name: value for name, value in pairs if not math.isnan(value)}


def _categories_left(model: Forest, arena: Arena, tree: int, node: Any) -> set[Hashable] | None:
    """Return the categories that go left at a categorical split; None for any other node."""
    if node["left"] == kernels.NONE:
        return None
    return paths.categories_left(
        arena, model._features, tree, int(node["feature"]), node["threshold"]
    )
