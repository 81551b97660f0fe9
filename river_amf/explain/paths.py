"""The path of a sample down a tree, and the predictions of the nodes (DESIGN.md: prediction)."""

import math
import operator
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.inputs.schema import Schema
from river_amf.kernels.regression.densities import PRIOR_WEIGHT
from river_amf.outputs.formatting import MISSING
from river_amf.state import layout
from river_amf.state.arena import Arena
from river_amf.state.layout import Array

_FADED_MEAN = layout.FADED_COUNTS + layout.MEAN


def check_tree(n_trees: int, tree: Any) -> int:
    index = operator.index(tree)
    if not 0 <= index < n_trees:
        raise IndexError(f"tree must be between 0 and {n_trees - 1}, got {index}")
    return index


def walk(arena: Arena, tree: int, values: Array) -> Array:
    """Return the path of an encoded sample (n_features,), the root first, of `kernels.VISIT`."""
    sample = np.empty((3, len(values)))
    sample[0] = values
    steps = np.empty(int(arena.trees["n_nodes"][tree]), kernels.VISIT)
    addresses = sample.ctypes.data, steps.ctypes.data
    return steps[: kernels.trace_sample(arena, tree, *addresses)]


def own_predictions(arena: Arena, tree: int, numbers: Array) -> NDArray[np.float64]:
    """Return the probabilities that nodes predict by themselves, of shape (n_nodes, n_classes)."""
    settings = arena.settings[0]
    n_classes = int(settings["n_classes"])
    a, total = settings["dirichlet"], settings["total_dirichlet"]
    n_samples = arena.nodes["n_samples"][tree, numbers, None]
    proba: NDArray[np.float64] = (arena.counts[tree, numbers, :n_classes] + a) / (n_samples + total)
    if arena.trees["fades"][tree]:
        rows = arena.faded[tree, numbers]
        share = rows[:, layout.FADED_SHARE, None]  # the weight of the faded counts in the mixture
        faded = rows[:, layout.FADED_COUNTS : layout.FADED_COUNTS + n_classes] + a
        faded /= rows[:, layout.FADED_SUM, None] + total
        proba = (1.0 - share) * proba + share * faded
    return proba


def estimates(arena: Arena, tree: int, numbers: Array) -> NDArray[np.float64]:
    """Return the targets, less the origin, that nodes on a path predict by themselves."""
    by_node: dict[int, float] = {}
    out = np.empty(len(numbers))
    nodes, faded = arena.nodes[tree, numbers], arena.faded[tree, numbers]
    totals, means = nodes["n_samples"], arena.targets[tree, numbers, layout.MEAN]
    for k, (node, n, mean, row) in enumerate(zip(nodes, totals, means, faded, strict=True)):
        above = by_node.get(int(node["parent"]), mean)  # the root's: of all
        estimate = _location(n, mean, above)
        if len(row):
            faded_estimate = _location(row[layout.FADED_SUM], row[_FADED_MEAN], above)
            estimate += row[layout.FADED_SHARE] * (faded_estimate - estimate)
        out[k] = by_node[int(numbers[k])] = estimate
    return out


def _location(n: float, mean: float, above: float) -> float:
    """Return the location of a law (`kernels.regression.densities`)."""
    return mean + PRIOR_WEIGHT * (above - mean) / (PRIOR_WEIGHT + n)


def log_odds(nodes: Array) -> NDArray[np.float64]:
    odds = np.where(nodes["left"] == kernels.NONE, math.nan, nodes["odds"])
    return np.log(odds) + nodes["odds_scale"] * kernels.LOG_SCALE


def codes_of(arena: Arena, features: Schema, column: int) -> dict[Hashable, int] | None:
    """Return the codes of the learned categories of a feature, or None if it is numeric.

    `MISSING` is one of them if the feature has been missing.
    """
    codes = features.categories([*features][column])
    if codes is not None:  # whose order depends on use if there is a bound
        codes = dict(sorted(codes.items(), key=operator.itemgetter(1)))
    is_one_more = not math.isnan(arena.stand_ins[column]) and arena.features["n_missing"][column]
    return {**codes, MISSING: layout.MISSING_CODE} if codes and is_one_more else codes


def categories_left(arena: Arena, features: Schema, tree: int, node: Any) -> set[Hashable] | None:
    """Return the learned categories that go left at a node, or None if its split is not of them."""
    column = int(node["feature"])
    if node["left"] == kernels.NONE or not features.is_categorical[column]:
        return None
    codes = codes_of(arena, features, column) or {}
    numbers = ((c, kernels.category_number(arena, tree, column, codes[c])) for c in codes)
    return {category for category, number in numbers if number <= node["threshold"]}
