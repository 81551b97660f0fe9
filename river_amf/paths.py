"""The walk of samples down the trees, in numpy, for whoever wants to see how a prediction is made.

It does what the kernels do to predict, many samples and trees at a time, and keeps what they pass
by: at each node the share sigma(r_v) that the node takes of the mass that remains (design 2).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels, layout, state
from river_amf.encoding import Features, shown

Array = NDArray[Any]


class Level(NamedTuple):
    """The nodes at one depth that samples on their way down have come to.

    `walkers` says which of the samples they are; the others have reached their leaves. All the rest
    is by walker: its tree, the number of the node, a copy of its record, the value that it splits
    by (NaN at a leaf and where it is missing), the node that is next (NONE at a leaf), the node's
    share of the mass that remains, and the mass that it takes.
    """

    walkers: Array
    trees: Array
    numbers: Array
    nodes: Array
    values: Array
    following: Array
    share: Array
    mass: Array


class Step(NamedTuple):
    """A node on the way of one sample down one tree; the root is step 0."""

    node: int
    feature: int  # the column, NONE at a leaf
    value: float  # as the tree sees it; NaN where it is missing
    threshold: float
    goes: str | None  # "left" or "right"
    share: float
    mass: float
    n_samples: float
    counts: Array  # by class
    proba: Array  # what the node itself predicts


def check_tree(n_trees: int, tree: Any) -> int:
    """Return the index of a tree, or raise TypeError or IndexError."""
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


def seen_by(arena: state.Arena, trees: Array, values: Array) -> Array:
    """Return encoded samples (n, features) as trees see them, a tree for each.

    Outliers are drawn in to the ends of the range, and a category is the tree's number for it.
    """
    n_features = int(arena.settings["n_features"][0])
    low, high = arena.ranges[:, :n_features]
    least, largest = arena.limits[:, :n_features]
    seen = np.where(values < least, low, values)
    seen = np.where(seen > largest, high, seen)
    for j in np.flatnonzero(arena.is_categorical[:n_features]).tolist():
        for tree, code in {*zip(trees.tolist(), values[:, j].tolist(), strict=True)}:
            if code == code:  # not missing
                number = category_number(arena.trees["key"][tree], j, code)
                seen[(trees == tree) & (values[:, j] == code), j] = number
    return seen


def category_number(key: np.uint64, column: int, code: float) -> float:
    """Return the number of a category in a tree; of the types that it is compiled for already."""
    return float(kernels.category_number(key, np.int32(column), code))  # type: ignore[arg-type]


def own_shares(nodes: Array) -> tuple[Array, Array]:
    """Return sigma(r_v) and the rest sigma(-r_v) of nodes, both exact; a leaf takes all."""
    is_leaf = nodes["left"] == kernels.NONE
    odds = np.where(is_leaf, math.inf, nodes["odds"])
    scale = np.where(is_leaf, 0.0, nodes["odds_scale"])
    exponent = 512 * scale.clip(-kernels.FEW_SCALES, kernels.FEW_SCALES).astype(np.int32)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        odds = np.ldexp(odds, exponent)  # a SCALE of the kernels is 2**512
        return 1.0 / (1.0 + 1.0 / odds), 1.0 / (1.0 + odds)


def log_odds(nodes: Array) -> NDArray[np.float64]:
    """Return the log-odds r_v of nodes, NaN at a leaf."""
    odds = np.where(nodes["left"] == kernels.NONE, math.nan, nodes["odds"])
    return np.log(odds) + nodes["odds_scale"] * kernels.LOG_SCALE


def descend(arena: state.Arena, trees: Array, values: Array, aggregated: bool) -> Iterator[Level]:
    """Walk samples, as their trees see them, from the roots to the leaves.

    Without aggregation a leaf takes all the mass. In a tree without nodes there is no walk.
    """
    walkers = np.flatnonzero(arena.trees["root"][trees] != kernels.NONE)
    index = arena.trees["root"][trees[walkers]].astype(np.int64)
    remaining = np.ones(len(walkers))
    while len(walkers):
        tree = trees[walkers]
        nodes = arena.nodes[tree, index]
        is_leaf = nodes["left"] == kernels.NONE
        share, rest = own_shares(nodes)
        if not aggregated:
            share, rest = np.where(is_leaf, 1.0, 0.0), np.where(is_leaf, 0.0, 1.0)
        inner = np.flatnonzero(~is_leaf)
        value = np.full(len(walkers), math.nan)
        value[inner] = values[walkers[inner], nodes["feature"][inner]]
        following = np.where(value <= nodes["threshold"], nodes["left"], nodes["right"])
        missing = inner[np.isnan(value[inner])]
        following[missing] = _heavier_child(arena, tree[missing], nodes[missing])
        following[is_leaf] = kernels.NONE
        yield Level(walkers, tree, index, nodes, value, following, share, remaining * share)
        walkers, index = walkers[inner], following[inner].astype(np.int64)
        remaining = (remaining * rest)[inner]


def _heavier_child(arena: state.Arena, trees: Array, nodes: Array) -> Array:
    """Return the child with more samples of each node, the left one in a tie (design 3.7)."""
    n_samples = arena.nodes["n_samples"]
    is_right_heavier = n_samples[trees, nodes["right"]] > n_samples[trees, nodes["left"]]
    return np.where(is_right_heavier, nodes["right"], nodes["left"])


def own_predictions(arena: state.Arena, level: Level) -> Array:
    """Return what the nodes themselves predict, (walkers, classes).

    With fading it is the mix of both counts, weighted by the node's faded share.
    """
    settings = arena.settings[0]
    n_classes = int(settings["n_classes"])
    a, total = settings["dirichlet"], settings["total_dirichlet"]
    counts = arena.counts[level.trees, level.numbers, :n_classes]
    proba: Array = (counts + a) / (level.nodes["n_samples"] + total)[:, None]
    if settings["fades"]:
        rows = arena.faded[level.trees, level.numbers]
        share = rows[:, layout.FADED_SHARE, None]
        faded = rows[:, layout.FADED_COUNTS : layout.FADED_COUNTS + n_classes] + a
        faded /= (rows[:, layout.FADED_SUM] + total)[:, None]
        proba = (1.0 - share) * proba + share * faded
    return proba


def predict(
    arena: state.Arena, trees: Array, values: Array, aggregated: bool
) -> NDArray[np.float64]:
    """Return what trees predict for encoded samples (n, features), a tree for each: (n, classes).

    Classes of which nothing has been seen are among them. A tree without nodes knows nothing.
    """
    n_classes = int(arena.settings["n_classes"][0])
    proba = np.zeros((len(values), n_classes))
    proba[arena.trees["root"][trees] == kernels.NONE] = 1.0 / n_classes
    for level in descend(arena, trees, seen_by(arena, trees, values), aggregated):
        proba[level.walkers] += level.mass[:, None] * own_predictions(arena, level)
    return proba


def averaged(arena: state.Arena, of_trees: Array) -> NDArray[np.float64]:
    """Return the mean of what trees predict, (trees, n, classes), for the labels seen so far."""
    n_labels = int(arena.settings["n_labels"][0])
    proba: NDArray[np.float64] = of_trees[:, :, :n_labels].sum(axis=0)
    proba /= proba.sum(axis=1, keepdims=True)
    return proba


def pooled(arena: state.Arena, of_trees: Array) -> NDArray[np.float64]:
    """Return what the learned vote makes of the predictions of all trees, as `averaged`."""
    n_labels = int(arena.settings["n_labels"][0])
    votes = np.log(of_trees[:, :, :n_labels] + kernels.VOTE_FLOOR)
    log_p = arena.bias[:n_labels] + np.tensordot(arena.trees["vote_weight"], votes, axes=1)
    proba: NDArray[np.float64] = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    return proba


def walk(arena: state.Arena, tree: int, values: Array) -> list[Step]:
    """Return the steps of one encoded sample (features,) down one tree."""
    trees, samples = np.array([tree]), values[None, :]
    n_classes = int(arena.settings["n_classes"][0])
    aggregated = bool(arena.settings["use_aggregation"][0])
    steps = []
    for level in descend(arena, trees, seen_by(arena, trees, samples), aggregated):
        node, following = level.nodes[0], level.following[0]
        is_leaf = following == kernels.NONE
        goes = "left" if following == node["left"] else "right"
        steps.append(
            Step(
                node=int(level.numbers[0]),
                feature=kernels.NONE if is_leaf else int(node["feature"]),
                value=float(level.values[0]),
                threshold=math.nan if is_leaf else float(node["threshold"]),
                goes=None if is_leaf else goes,
                share=float(level.share[0]),
                mass=float(level.mass[0]),
                n_samples=float(node["n_samples"]),
                counts=arena.counts[tree, level.numbers[0], :n_classes].copy(),
                proba=own_predictions(arena, level)[0],
            )
        )
    return steps


def weighted_depths(arena: state.Arena, values: Array) -> NDArray[np.float64]:
    """Return for each tree the mean depth of the nodes that predict an encoded sample.

    Each counts by the mass that it takes. NaN for a tree without nodes.
    """
    trees = np.arange(len(arena.trees))
    samples = seen_by(arena, trees, np.tile(values, (len(trees), 1)))
    aggregated = bool(arena.settings["use_aggregation"][0])
    depths = np.where(arena.trees["root"] == kernels.NONE, math.nan, 0.0)
    for depth, level in enumerate(descend(arena, trees, samples, aggregated)):
        depths[level.walkers] += depth * level.mass
    return depths


def categories_left(
    features: Features, name: Hashable, column: int, key: np.uint64, threshold: float
) -> set[Hashable] | None:
    """Return the categories seen so far that go left at a split; None if the feature is numeric."""
    codes = features.categories(name)
    if codes is None:
        return None
    return {
        category
        for category, code in codes.items()
        if category_number(key, column, float(code)) <= threshold
    }
