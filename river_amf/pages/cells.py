"""A tree of two features as a picture: its cells, what it predicts there, and where its mass lies.

All samples in the cell of a leaf go down the same path, so the tree predicts the same for them.
One pass over the levels of the tree therefore gives the whole surface, without asking it anything
(DESIGN.md: prediction).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.explain import paths
from river_amf.forest import Forest
from river_amf.state.arena import Arena

Array = NDArray[np.float64]

LOWER, UPPER = 0, 1  # ends of a box


class Cells(NamedTuple):
    """The leaves of a tree that are in a view."""

    boxes: Array  # (n_leaves, 4): left, right, bottom, top
    proba: Array  # (n_leaves, n_labels), labels as the forest met them


def cells_of(forest: Forest, tree: int, features: Sequence[Hashable], view: Array) -> Cells:
    """Return the cells of a tree over two features, within a view (left, right, bottom, top).

    The tree has learned something since it last began.
    """
    n_labels = len(forest._labels)
    nodes, root = _nodes_of(forest, tree)
    share, is_leaf = _shares(forest, nodes), nodes["left"] == kernels.NONE
    arena: Arena = forest._arena  # type: ignore[assignment]
    own = paths.own_predictions(arena, tree, np.arange(len(nodes)))[:, :n_labels]
    known = [*forest._features]
    axes = np.argsort([known.index(name) for name in features])  # of each column
    boxes = np.tile(view.reshape(2, 2), (len(nodes), 1, 1))  # by axis: lower and upper end
    left_over = np.ones(len(nodes))  # the mass that reaches a node
    proba = np.zeros_like(own)
    for level in paths.levels(nodes, root):
        proba[level] += (left_over[level] * share[level])[:, None] * own[level]
        splits = level[~is_leaf[level]]
        axis = axes[nodes["feature"][splits]]
        threshold = np.clip(nodes["threshold"][splits], *boxes[splits, axis].T)
        for side, end in (("left", UPPER), ("right", LOWER)):
            below = nodes[side][splits]
            boxes[below] = boxes[splits]
            boxes[below, axis, end] = threshold
            left_over[below] = left_over[splits] * (1.0 - share[splits])
            proba[below] = proba[splits]
    leaves = np.flatnonzero(is_leaf & (boxes[..., LOWER] < boxes[..., UPPER]).all(axis=1))
    sums = proba[leaves].sum(axis=1, keepdims=True)
    return Cells(boxes[leaves].reshape(-1, 4), proba[leaves] / sums)


def mass_by_depth(forest: Forest) -> Array:
    """Return the share of each depth in the predictions of the trees, which sums to 1.

    It is the mean over the trees, and over the samples that each tree has learned.
    """
    tables: list[list[float]] = []
    for tree in range(forest.n_estimators):
        nodes, root = _nodes_of(forest, tree)
        if root == kernels.NONE:  # it has just started afresh
            tables.append([1.0])
            continue
        share, left_over = _shares(forest, nodes), np.ones(len(nodes))
        reach = nodes["n_samples"] / nodes["n_samples"][root]
        masses = []
        for level in paths.levels(nodes, root):
            masses.append(float((left_over[level] * share[level]) @ reach[level]))
            splits = level[nodes["left"][level] != kernels.NONE]
            for side in ("left", "right"):
                left_over[nodes[side][splits]] = left_over[splits] * (1.0 - share[splits])
        tables.append(masses)
    by_depth: Array = np.array([*zip_longest(*tables, fillvalue=0.0)])
    return np.asarray(by_depth.mean(axis=1))


def _nodes_of(forest: Forest, tree: int) -> tuple[NDArray[Any], int]:
    """Return the nodes of a tree, and the number of its root."""
    arena: Arena = forest._arena  # type: ignore[assignment]  # it has learned
    return arena.nodes[tree, : int(arena.trees["n_nodes"][tree])], int(arena.trees["root"][tree])


def _shares(forest: Forest, nodes: NDArray[Any]) -> Array:
    """Return the share that each node takes of the mass which reaches it."""
    is_leaf = nodes["left"] == kernels.NONE
    share = np.where(is_leaf, 1.0, 0.0)
    if forest.use_aggregation:
        share[~is_leaf] = np.exp(-np.logaddexp(0.0, -paths.log_odds(nodes[~is_leaf])))
    return share
