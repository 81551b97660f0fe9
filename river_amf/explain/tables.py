"""Tables of nodes and paths."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.ensemble import Ensemble, forest_of, levels
from river_amf.explain import paths
from river_amf.outputs.votes import learns_residual
from river_amf.state import layout

_OF_NODES = ("node", "parent", "left", "right", "depth", "feature", "threshold", "time")
_OF_BOXES = ("range_min", "range_max", "categories_left")
_KEPT = {layout.CLASSIFICATION: ("counts",), layout.REGRESSION: ("mean", "std")}
_GOES = {(False, False): None, (True, False): "left", (False, True): "right", (True, True): "both"}
_OF_STEPS = ("node", "depth", "feature", "threshold", "categories_left", "value", "goes")


def node_table(model: Any, tree: int = 0) -> pd.DataFrame:
    """Return the nodes of one tree as a table, by its index from 0 (else IndexError).

    One row per node (none before the first sample), with these columns:

    - `node`, `parent`, `left`, `right`: numbers of the node, its parent and its children, or -1.
    - `depth`: number of splits above the node.
    - `feature`: name of the feature that the node splits, None for a leaf.
    - `threshold`: values <= threshold go left; NaN for a leaf. For a categorical feature, each tree
      gives each category a number in [0, 1).
    - `time`: creation time of the node in the Mondrian process; 0 for the root.
    - `n_samples`: sum of the weights of the samples in the node's cell.
    - `log_odds`: log-odds of the node's prediction against those below it; NaN for a leaf.
    - `counts`: dict from each label seen by the forest to its weight in the cell. A regressor has
      instead `mean` and `std`, the weighted mean and standard deviation of the targets in the cell;
      with a trend, trees with odd indices have the figures of residuals.
    - `range_min`, `range_max`: dicts from feature to value that describe the box of the cell's
      samples, without features that have no value in the cell.
    - `categories_left`: for a categorical split, the set of categories seen so far that go left,
      with `"(missing)"` for a missing value; otherwise None.

    >>> from river_amf import AMFClassifier, inspection
    >>> model = AMFClassifier(n_estimators=1, seed=1)
    >>> for x, y in [({"length": 1.0}, "short"), ({"length": 4.0}, "long")]:
    ...     model.learn_one(x, y)
    >>> inspection.node_table(model)[["parent", "left", "right", "depth", "n_samples"]]
       parent  left  right  depth  n_samples
    0      -1     1      2      0        2.0
    1       0    -1     -1      1        1.0
    2       0    -1     -1      1        1.0
    """
    forest = forest_of(model)
    tree = paths.check_tree(forest.n_estimators, tree)
    return forest._engine.run(_node_table, forest, tree)


def _node_table(forest: Ensemble, tree: int) -> pd.DataFrame:
    columns = [*_OF_NODES, "n_samples", "log_odds", *_KEPT[forest._task], *_OF_BOXES]
    n_nodes = int(forest._arena.trees["n_nodes"][tree]) if forest._has_learned else 0
    if n_nodes == 0:
        return pd.DataFrame(columns=columns)
    arena = forest._arena
    numbers, nodes = np.arange(n_nodes), arena.nodes[tree, :n_nodes]
    depths = np.zeros(n_nodes, np.int64)
    for depth, level in enumerate(levels(nodes, int(arena.trees["root"][tree]))):
        depths[level] = depth
    lows, highs = zip(*(_box(forest, tree, node) for node in nodes), strict=True)
    table = {
        "node": numbers,
        **{name: nodes[name].astype(np.int64) for name in ("parent", "left", "right")},
        "depth": depths,
        "time": np.where(nodes["parent"] < 0, 0.0, nodes["split_time"][nodes["parent"]]),
        "log_odds": paths.log_odds(nodes),
        **_columns(forest, tree, numbers),
        "range_min": [*lows],
        "range_max": [*highs],
    }
    return _frame(table, columns)


def path(model: Any, x: dict[Any, Any], tree: int = 0) -> pd.DataFrame:
    """Return the path of a sample down one tree, and the part of each node in the prediction.

    One row per node from the root to the leaf (none before the first sample). Where a number is
    missing, the path has two branches; that to the side with more samples comes first, down to its
    leaf. `tree`, `node`, `depth`, `feature`, `threshold`, `categories_left`, `n_samples`, and
    `counts` or `mean` and `std` are as in `node_table`. The other columns are:

    - `value`: value of the feature in `x`; None if it is missing, and at the leaf.
    - `goes`: the side that `x` goes to, `"left"` or `"right"`; None at the leaf. A missing number
      goes `"both"` ways, in shares of the samples there (with many branches only to the side with
      more samples, and nowhere if hardly any mass is left), or as if it were just below the only
      value so far; a value far outside the range goes where the nearest end of the range goes.
    - `share`: the node's share of the mass left by the nodes above it; 1 at the leaf. Without
      aggregation, it is 0 above the leaf.
    - `mass`: the node's part of the total mass of 1. The tree predicts the sum over the nodes of
      `mass` times `proba` or `estimate`.
    - `proba`: dict from each label seen by the forest to its probability by the node alone, with
      fading a mixture of plain and faded counts. If `n_classes` is given, classes not seen yet have
      the remaining probability.
    - `estimate`, of a regressor, instead of `proba`: the target by the node alone, the mean of its
      cell drawn toward the estimate of its parent, as by one more sample; with a trend, that of
      residuals in trees with odd indices.

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
    tree = paths.check_tree(forest.n_estimators, tree)
    return forest._engine.run(path_of, forest, x, tree)


def path_of(forest: Ensemble, x: dict[Any, Any], tree: int) -> pd.DataFrame:
    prediction = "estimate" if forest._task == layout.REGRESSION else "proba"
    columns = [*_OF_STEPS, "share", "mass", "n_samples", *_KEPT[forest._task], prediction]
    outputs = forest._engine.expert_outputs(x)
    values = None if outputs is None else outputs.values
    if values is None:
        return pd.DataFrame(columns=columns)
    arena = forest._arena
    steps = paths.walk(arena, tree, values)
    numbers = steps["node"]
    table = _columns(forest, tree, numbers)
    goes = [np.isin(arena.nodes[side][tree, numbers], numbers) for side in ("left", "right")]
    features = arena.nodes["feature"][tree, numbers]  # NONE at the leaf
    are_absent = np.isnan(np.append(values, math.nan)[features])
    table |= {
        "node": numbers,
        "depth": steps["depth"],
        "value": [
            None if is_absent else x.get(name, 0.0)
            for is_absent, name in zip(are_absent, table["feature"], strict=True)
        ],
        "goes": [_GOES[sides] for sides in zip(*(side.tolist() for side in goes), strict=True)],
        "share": steps["share"],
        "mass": steps["mass"],
    }
    if forest._task == layout.REGRESSION:
        table[prediction] = paths.estimates(arena, tree, numbers) + _origin(forest, tree)
    else:
        table[prediction] = _by_label(forest, paths.own_predictions(arena, tree, numbers))
    return _frame(table, columns)


def _columns(forest: Ensemble, tree: int, numbers: NDArray[np.int64]) -> dict[str, Any]:
    arena, features = forest._arena, forest._features
    nodes, names = arena.nodes[tree, numbers], [*features, None]
    is_leaf = nodes["left"] == kernels.NONE
    table = {
        "feature": [names[j] for j in np.where(is_leaf, len(features), nodes["feature"])],
        "threshold": np.where(is_leaf, math.nan, nodes["threshold"]),
        "categories_left": [paths.categories_left(arena, features, tree, n) for n in nodes],
        "n_samples": nodes["n_samples"],
    }
    if forest._task == layout.CLASSIFICATION:
        return table | {"counts": _by_label(forest, arena.counts[tree, numbers])}
    mean, squares = arena.targets[tree, numbers].T
    std = np.sqrt(squares / nodes["n_samples"])
    return table | {"mean": mean + _origin(forest, tree), "std": std}


def _origin(forest: Ensemble, tree: int) -> float:
    """Return the number that is subtracted from the targets of a tree; residuals have none."""
    is_residual = learns_residual(forest._arena, tree)
    return 0.0 if is_residual else forest._labels.origin or 0.0


def _by_label(forest: Ensemble, rows: NDArray[np.float64]) -> list[dict[Hashable, float]]:
    """Return rows with a number for each class as dicts, without the classes not seen yet."""
    return [dict(zip(forest._labels, row, strict=False)) for row in rows.tolist()]


def _frame(table: dict[str, Any], columns: list[str]) -> pd.DataFrame:
    """Return columns as a frame that keeps dicts, sets, names of any type and None as they are."""
    dtypes = {name: object if isinstance(table[name], list) else None for name in columns}
    return pd.DataFrame({name: pd.Series(table[name], dtype=dtypes[name]) for name in columns})


def _box(forest: Ensemble, tree: int, node: Any) -> list[dict[Hashable, float]]:
    """Return the ends of a node's box by feature, without those that are missing."""
    arena, names = forest._arena, list(forest._features)
    if node["n_rows"]:  # a leaf that keeps its samples has no stored box
        box = np.full((2, len(names)), math.nan)
        kernels.hull_of_leaf(arena, tree, int(node["box_or_row"]), box.ctypes.data)
    else:
        box = arena.boxes[tree, node["box_or_row"], :, : len(names)]
    pairs = (zip(names, ends, strict=True) for ends in box.tolist())
    return [{name: end for name, end in ends if not math.isnan(end)} for ends in pairs]
