"""The arrays as the kernels see them: views of the arrays in `state`, made from their addresses.

These views are not reference-counted, as Python keeps the arrays alive during a call. Counting
references, for each view and each time it is passed to a function, took half the time of a walk.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import carray

from river_amf.kernels.compilation import hot, pointer, view
from river_amf.layout import (
    BLOCK,
    COUNTERS,
    FEATURE,
    HANDLE,
    N_BUCKETS,
    N_PURE,
    N_RECENT,
    NODE,
    SAMPLE,
    SETTINGS,
    TREE,
)

NONE = -1  # no node, box, row or tree to resume with; also the end of a list of rows
UNLISTED = -2  # the link of a row that no leaf of the tree keeps
NEVER = math.inf  # the split time of a node that is not split
LARGEST_FLOAT = 1.7976931348623157e308

# Types for the reader; arrays and records are those of `layout`.
Array = Any
Record = Any
Word = Any  # a uint64 of which only the lower 32 bits are used


class Forest(NamedTuple):
    """The arrays of `layout.FIELDS`, in that order."""

    settings: Any
    counters: Any
    ranges: Any
    limits: Any
    intensity: Any
    is_categorical: Any
    features: Any
    recent: Any
    moments: Any
    buckets: Any
    uses: Any
    bias: Any
    trees: Any
    nodes: Any
    counts: Any
    faded: Any
    boxes: Any
    rows: Any
    samples: Any
    links: Any
    votes: Any
    pooled: Any
    pure: Any


class Samples(NamedTuple):
    """The arrays of `state.Block`."""

    values: Any
    labels: Any
    weights: Any
    proba: Any
    votes: Any  # of the trees, for the samples of a chunk
    clipped: Any  # the samples of a chunk without outliers
    intensities: Any  # the split intensities at the time when each sample of a chunk is learned
    rows: Any  # the rows in the store that hold the samples of a chunk
    coded: Any  # one sample, as each tree sees it
    next_samples: Any  # the sample at which each tree resumes


class Tree(NamedTuple):
    """One tree's part of the arrays; `state` and `settings` are records."""

    settings: Any
    state: Any
    nodes: Any
    counts: Any
    faded: Any
    boxes: Any
    links: Any
    intensity: Any  # at the time of the sample that is being learned


@hot
def forest_of(address: int) -> Forest:
    """The arrays of an arena, given the address of its handle."""
    at = handle_of(address)
    n_trees, width, n_classes = at["tree_room"], at["feature_room"], at["class_room"]
    node_room, row_room = at["node_room"], at["row_room"]
    return Forest(
        carray(pointer(at["settings"]), (1,), SETTINGS),
        carray(pointer(at["counters"]), (1,), COUNTERS),
        carray(pointer(at["ranges"]), (2, width), np.float64),
        carray(pointer(at["limits"]), (2, width), np.float64),
        carray(pointer(at["intensity"]), (width,), np.float64),
        carray(pointer(at["is_categorical"]), (width,), np.uint8),
        carray(pointer(at["features"]), (width,), FEATURE),
        carray(pointer(at["recent"]), (width, N_RECENT), np.float64),
        carray(pointer(at["moments"]), (width, at["moment_room"], 2), np.float64),
        carray(pointer(at["buckets"]), (width, N_BUCKETS, at["moment_room"]), np.float64),
        carray(pointer(at["uses"]), (at["counted_room"], at["slot_room"]), np.int64),
        carray(pointer(at["bias"]), (n_classes,), np.float64),
        carray(pointer(at["trees"]), (n_trees,), TREE),
        carray(pointer(at["nodes"]), (n_trees, node_room), NODE),
        carray(pointer(at["counts"]), (n_trees, node_room, n_classes), np.float64),
        carray(pointer(at["faded"]), (n_trees, node_room, at["faded_room"]), np.float64),
        carray(pointer(at["boxes"]), (n_trees, at["box_room"], 2, width), np.float64),
        carray(pointer(at["rows"]), (row_room, width), np.float64),
        carray(pointer(at["samples"]), (row_room,), SAMPLE),
        carray(pointer(at["links"]), (n_trees, row_room), np.int32),
        carray(pointer(at["votes"]), (n_trees, 1, n_classes), np.float64),
        carray(pointer(at["pooled"]), (n_classes,), np.float64),
        carray(pointer(at["pure"]), (N_PURE, 3), np.float64),
    )


@view
def tree_of(forest: Forest, t: int, intensity: Array) -> Tree:
    """One tree's part of a forest."""
    return Tree(
        forest.settings[0],
        forest.trees[t],
        forest.nodes[t],
        forest.counts[t],
        forest.faded[t],
        forest.boxes[t],
        forest.links[t],
        intensity,
    )


@hot
def handle_of(address: int) -> Record:
    """The handle of an arena at this address."""
    return carray(pointer(address), (1,), HANDLE)[0]


@hot
def block_of(address: int) -> Record:
    """The record of a block at this address."""
    return carray(pointer(address), (1,), BLOCK)[0]


@hot
def samples_of(at: Record, forest: Forest) -> Samples:
    """The arrays of a block, given its record."""
    n, n_trees = at["n_samples"], len(forest.trees)
    settings = forest.settings[0]
    n_features, n_classes = settings["n_features"], settings["n_classes"]
    return Samples(
        carray(pointer(at["values"]), (n, at["n_columns"]), np.float64),
        carray(pointer(at["labels"]), (n,), np.int64),
        carray(pointer(at["weights"]), (n,), np.float64),
        carray(pointer(at["proba"]), (n, at["n_labels"]), np.float64),
        carray(pointer(at["votes"]), (n_trees, at["chunk"], n_classes), np.float64),
        carray(pointer(at["clipped"]), (at["chunk"], n_features), np.float64),
        carray(pointer(at["intensities"]), (at["chunk"], n_features), np.float64),
        carray(pointer(at["rows"]), (at["chunk"],), np.int64),
        carray(pointer(at["coded"]), (n_trees, n_features), np.float64),
        carray(pointer(at["next_samples"]), (n_trees,), np.int64),
    )


@hot
def sample_of(address: int, width: int) -> Array:
    """The (3, n_features) values of an encoded sample."""
    return carray(pointer(address), (3, width), np.float64)


@hot
def output_of(address: int, forest: Forest) -> tuple[Array, Array, Array]:
    """The arrays of `state.Room`: the forest's probabilities, the votes, and the sample seen."""
    # The votes are (trees, 1, classes). The sample comes after the version of the forest.
    n_trees, width = len(forest.trees), forest.counts.shape[2]
    votes = address + 8 * width
    seen = votes + 8 * n_trees * width
    return (
        carray(pointer(address), (width,), np.float64),
        carray(pointer(votes), (n_trees, 1, width), np.float64),
        carray(pointer(seen), (1 + len(forest.intensity),), np.float64),
    )


@hot
def unsigned(index: int) -> int:
    """An index known not to be negative, which saves the check whether it counts from the end."""
    return np.uint64(index)  # type: ignore[return-value]
