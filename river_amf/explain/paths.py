"""The path of a sample down a tree, and how the nodes on it make up the prediction.

A kernel records the path (`kernels.learning`): at each node the share sigma(r_v) that the node
takes of the mass that remains (DESIGN.md: prediction). This module adds what the node keeps of
labels or targets, and its own prediction.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.inputs.encoding import Features
from river_amf.inputs.kinds import shown
from river_amf.kernels.regression.densities import PRIOR_WEIGHT
from river_amf.state import layout
from river_amf.state.arena import Arena

Array = NDArray[Any]

MISSING = "(missing)"  # in place of a category

_FADED_MEAN = layout.FADED_COUNTS + layout.MEAN


class Counts(NamedTuple):
    """Statistics and prediction of a node of a classifier."""

    counts: Array  # by class
    proba: Array  # what the node itself predicts


class Moments(NamedTuple):
    """Statistics and prediction of a node of a regressor; the first target is subtracted."""

    mean: float  # of the targets in its cell
    std: float  # their standard deviation
    estimate: float  # what the node itself predicts


class Step(NamedTuple):
    """A node on the path of a sample down a tree; the root is step 0."""

    node: int
    feature: int  # the column of the split, NONE at a leaf
    value: float  # as the tree sees it; NaN where it stays missing, and at a leaf
    threshold: float
    goes: str | None  # "left" or "right", None at a leaf
    share: float
    mass: float
    n_samples: float
    own: Any  # `Counts` or `Moments`


def check_tree(n_trees: int, tree: Any) -> int:
    """Return the index of a tree as an int, or raise TypeError or IndexError."""
    try:
        index = operator.index(tree)
    except TypeError:
        raise TypeError(
            f"tree must be an integer between 0 and {n_trees - 1}, got {shown(tree)} "
            f"of type {type(tree).__name__}"
        ) from None
    if not 0 <= index < n_trees:
        raise IndexError(f"tree must be between 0 and {n_trees - 1}, got {index}")
    return index


def levels(nodes: Array, root: int) -> list[NDArray[np.intp]]:
    """Return the numbers of the nodes of a tree by their depth."""
    below = [np.array([root] if root != kernels.NONE else [], np.intp)]
    while len(below[-1]):
        above = below[-1][nodes["left"][below[-1]] != kernels.NONE]
        below.append(np.concatenate([nodes["left"][above], nodes["right"][above]]).astype(np.intp))
    return below[:-1]


def walk(arena: Arena, tree: int, values: Array) -> list[Step]:
    """Return the path of an encoded sample (n_features,) down a tree, from the root to the leaf."""
    trace = _trace(arena, tree, values)
    nodes = arena.nodes[tree, trace["node"]]
    own = _of_labels if arena.task == layout.CLASSIFICATION else _of_targets
    cells = own(arena, tree, trace["node"])
    steps = []
    for k, (node, step) in enumerate(zip(nodes, trace, strict=True)):
        is_leaf = node["left"] == kernels.NONE
        goes = None if is_leaf else "left" if trace["node"][k + 1] == node["left"] else "right"
        steps.append(
            Step(
                node=int(step["node"]),
                feature=int(node["feature"]),
                value=float(step["value"]),
                threshold=math.nan if is_leaf else float(node["threshold"]),
                goes=goes,
                share=float(step["share"]),
                mass=float(step["mass"]),
                n_samples=float(node["n_samples"]),
                own=cells[k],
            )
        )
    return steps


def predict(arena: Arena, tree: int, values: Array) -> NDArray[np.float64]:
    """Return a tree's class probabilities for an encoded sample, including unseen classes."""
    n_classes = int(arena.settings["n_classes"][0])
    trace = _trace(arena, tree, values)
    if not len(trace):
        return np.full(n_classes, 1.0 / n_classes)
    proba: NDArray[np.float64] = trace["mass"] @ own_predictions(arena, tree, trace["node"])
    return proba


def _of_labels(arena: Arena, tree: int, numbers: Array) -> list[Counts]:
    """Return what nodes of a classifier keep and predict."""
    counts = arena.counts[tree, numbers, : int(arena.settings["n_classes"][0])]
    return [*map(Counts, counts, own_predictions(arena, tree, numbers))]


def _of_targets(arena: Arena, tree: int, numbers: Array) -> list[Moments]:
    """Return what the nodes on a path down a tree of a regressor keep and predict."""
    n_samples = arena.nodes["n_samples"][tree, numbers].tolist()
    targets, faded = arena.targets[tree, numbers].tolist(), arena.faded[tree, numbers].tolist()
    cells: list[Moments] = []
    for n, (mean, squares), row in zip(n_samples, targets, faded, strict=True):
        above = cells[-1].estimate if cells else mean  # the root's is that of all targets
        estimate = _location(n, mean, above)
        if row:
            of_faded = _location(row[layout.FADED_SUM], row[_FADED_MEAN], above)
            estimate += row[layout.FADED_SHARE] * (of_faded - estimate)
        cells.append(Moments(mean, math.sqrt(squares / n), estimate))
    return cells


def _location(n: float, mean: float, above: float) -> float:
    """Return the location of a law (`kernels.regression.densities`)."""
    return mean + PRIOR_WEIGHT * (above - mean) / (PRIOR_WEIGHT + n)


def weighted_depths(arena: Arena, values: Array) -> NDArray[np.float64]:
    """Return per tree the mean depth of the nodes on a path, weighted by mass (NaN if empty)."""
    masses = [_trace(arena, tree, values)["mass"] for tree in range(len(arena.trees))]
    return np.array([mass @ np.arange(len(mass)) if len(mass) else math.nan for mass in masses])


def _trace(arena: Arena, tree: int, values: Array) -> Array:
    """Return the path of an encoded sample down a tree as records of dtype `kernels.VISIT`."""
    sample = np.empty((3, len(values)))
    sample[0] = values
    steps = np.empty(int(arena.trees["n_nodes"][tree]), kernels.VISIT)
    addresses = sample.ctypes.data, steps.ctypes.data
    return steps[: kernels.trace_sample(arena.address, tree, *addresses)]


def own_predictions(arena: Arena, tree: int, numbers: Array) -> NDArray[np.float64]:
    """Return the predictions of the nodes themselves, of shape (n_nodes, n_classes)."""
    settings = arena.settings[0]
    n_classes = int(settings["n_classes"])
    a, total = settings["dirichlet"], settings["total_dirichlet"]
    n_samples = arena.nodes["n_samples"][tree, numbers, None]
    proba: NDArray[np.float64] = (arena.counts[tree, numbers, :n_classes] + a) / (n_samples + total)
    if settings["fades"]:
        rows = arena.faded[tree, numbers]
        share = rows[:, layout.FADED_SHARE, None]  # the weight of the faded counts in the mixture
        faded = rows[:, layout.FADED_COUNTS : layout.FADED_COUNTS + n_classes] + a
        faded /= rows[:, layout.FADED_SUM, None] + total
        proba = (1.0 - share) * proba + share * faded
    return proba


def log_odds(nodes: Array) -> NDArray[np.float64]:
    """Return the log-odds r_v of nodes, NaN for leaves."""
    odds = np.where(nodes["left"] == kernels.NONE, math.nan, nodes["odds"])
    return np.log(odds) + nodes["odds_scale"] * kernels.LOG_SCALE


def coded_categories(
    arena: Arena, features: Features, column: int
) -> list[tuple[Hashable, int]] | None:
    """Return the learned categories of a feature with their codes, None if it is numeric.

    `MISSING` is one of them if the feature has been missing.
    """
    codes = features.categories(list(features)[column])
    if codes is None:
        return None
    has_missing = arena.features["n_missing"][column] and not math.isnan(arena.stand_ins[column])
    return [*codes.items(), *[(MISSING, layout.MISSING_CODE)] * bool(has_missing)]


def categories_left(
    arena: Arena, features: Features, tree: int, column: int, threshold: float
) -> set[Hashable] | None:
    """Return the learned categories that go left at a split, or None if the feature is numeric."""
    codes, key = coded_categories(arena, features, column), int(arena.trees["key"][tree])
    if codes is None:
        return None
    return {
        category
        for category, code in codes
        if kernels.category_number(key, column, float(code)) <= threshold
    }
