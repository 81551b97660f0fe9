"""The memory of a forest: dtypes and one arena of plain numpy arrays for all trees.

Everything that the trees have learnt is in these arrays, so that a copy of them is a copy of the
forest. The kernels fill them and never allocate nodes; this module gives them room. It knows
nothing of what the numbers mean beyond their shapes, hence it has no sentinels.
"""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

# All records are aligned and without padding, whose bytes would be undefined in a copy.

# What is constant between two samples, in one record (so that kernels take few arguments).
SETTINGS = np.dtype(
    [
        ("step", "f8"),
        ("log_split", "f8"),  # log b, b the split prior
        ("log_stop", "f8"),  # log(1 - b)
        ("dirichlet", "f8"),  # a, the value in force, never "automatic"
        ("total_dirichlet", "f8"),  # C a
        ("lgamma_dirichlet", "f8"),  # and their log-gammas
        ("lgamma_total", "f8"),
        ("n_classes", "i8"),  # classes that the prior counts
        ("n_labels", "i8"),  # labels seen so far, at most n_classes
        ("n_features", "i8"),
        ("n_rows", "i8"),  # rows in use in the store of samples
        ("n_stored", "i8"),  # samples ever stored
        ("longest_list", "i8"),  # how many samples a pure leaf keeps at most
        ("max_nodes", "i8"),
        ("use_aggregation", "i8"),
        ("split_pure", "i8"),
        ("range_intensity", "i8"),
        ("has_categories", "i8"),
    ],
    align=True,
)

# One record a tree.
TREE = np.dtype(
    [
        ("random_state", "u8"),
        ("key", "u8"),  # 32 random bits that code this tree's categories; u8 to multiply safely
        ("root", "i4"),
        ("n_nodes", "i4"),
        ("n_boxes", "i8"),
    ],
    align=True,
)

# One record a node: 64 bytes, a cache line, and all that a walk reads of a node but its counts and
# its box. Links are 32-bit (2**31 nodes a tree are out of reach), times, thresholds and sums of
# weights are float64 (timestamps, long streams).
NODE = np.dtype(
    [
        ("threshold", "f8"),
        ("odds", "f8"),  # exp(log_odds), less a power of two: odds of exp(-4000) have no float64
        ("odds_scale", "f8"),  # how many times 2**512 was taken out of odds
        ("split_time", "f8"),  # creation time of the children; its own is that of its parent's
        ("n_samples", "f8"),  # sum of the sample weights
        ("feature", "i4"),
        ("left", "i4"),
        ("right", "i4"),
        ("parent", "i4"),
        ("place", "i4"),  # of its box; of the newest row where a leaf keeps its samples
        ("n_rows", "i4"),  # how many samples a leaf keeps, 0 where there is a box
    ],
    align=True,
)

# What the store keeps of a sample beside its row of values.
SAMPLE = np.dtype(
    [
        ("weight", "f8"),
        ("label", "i8"),
        ("number", "i8"),  # of all samples ever stored
    ],
    align=True,
)

N_PURE_WEIGHTS = 256  # cells of fewer samples than that have their log weight in a table

# How the kernels find an arena: the addresses of its arrays, and the room in them. Each array that
# is an argument of a call costs as much as some nodes of a walk; the address of this record costs
# next to nothing.
ARRAYS = (
    "settings",
    "ranges",
    "intensity",
    "is_categorical",
    "trees",
    "nodes",
    "counts",
    "boxes",
    "rows",
    "samples",
    "links",
    "pure_weights",
)
HANDLE = np.dtype(
    [(name, "i8") for name in ARRAYS]
    + [
        ("n_trees", "i8"),
        ("feature_room", "i8"),
        ("class_room", "i8"),
        ("node_room", "i8"),
        ("box_room", "i8"),
        ("row_room", "i8"),
    ]
)

# And how they find a block of samples.
BLOCK_ARRAYS = (
    "values",
    "labels",
    "weights",
    "proba",
    "parts",
    "intensities",
    "rows",
    "coded",
    "next_samples",
)
BLOCK = np.dtype(
    [(name, "i8") for name in BLOCK_ARRAYS]
    + [("n_samples", "i8"), ("n_columns", "i8"), ("n_labels", "i8"), ("chunk", "i8")]
)

# Compiled code in a cache must not be found for other records than it was compiled for: the file of
# the kernels names the layout that it is written for, and so changes with it.
_RECORDS = (SETTINGS, TREE, NODE, SAMPLE, HANDLE, BLOCK)
LAYOUT = f"{zlib.crc32(repr([record.descr for record in _RECORDS]).encode()):08x}"

Array = NDArray[Any]

# of the arrays that are not float64
_DTYPES: dict[str, Any] = {
    "settings": SETTINGS,
    "trees": TREE,
    "nodes": NODE,
    "samples": SAMPLE,
    "links": np.int32,
    "is_categorical": np.uint8,
}
_FIRST_NODES = 64
_FIRST_ROWS = 64
_SMALL = 2**20  # bytes that are moved without much ado
_CHUNK_BYTES = 2**22  # of what is in hand for a chunk of a block: half of a second-level cache


class Block:
    """A block of samples, and room for what the kernels write of it.

    Parameters
    ----------
    values
        The samples, encoded, (samples, columns); there may be columns that no feature has yet.
    labels
        Index of each one's label.
    weights
        Weight of each; those without weight are not learnt.
    n_labels
        Number of labels to be known at the end of the block.

    Notes
    -----
    `proba` is (samples, n_labels). The kernels take a block in chunks of at most `chunk` samples,
    and the trees one after the other, or in several threads.
    """

    def __init__(self, values: Array, labels: Array, weights: Array, n_labels: int) -> None:
        self.values = values
        self.labels = labels
        self.weights = weights
        self.proba = np.zeros((len(values), n_labels))
        self.record = np.zeros(1, BLOCK)
        self.address: int = self.record.ctypes.data

    def prepare(self, arena: Arena, n_samples: int) -> None:
        """Make room for chunks of a run of so many samples, as the arena is now."""
        n_trees, n_classes = len(arena.trees), int(arena.settings["n_classes"][0])
        n_features = int(arena.settings["n_features"][0])
        bytes_a_sample = 8 * (n_trees * n_classes + n_features + 1)
        self.chunk = min(n_samples, max(_FIRST_NODES, _CHUNK_BYTES // bytes_a_sample))
        self.parts = np.empty((n_trees, self.chunk, n_classes))
        self.intensities = np.empty((self.chunk, n_features))
        self.rows = np.empty(self.chunk, np.int64)
        self.coded = np.empty((n_trees, n_features))
        self.next_samples = np.empty(n_trees, np.int64)
        for name in BLOCK_ARRAYS:
            self.record[name] = getattr(self, name).ctypes.data
        self.record["n_samples"], self.record["n_columns"] = self.values.shape
        self.record["n_labels"] = self.proba.shape[1]
        self.record["chunk"] = self.chunk


class _Output(threading.local):
    """Room for class probabilities, one for each thread: models predict in several at once."""

    def __init__(self, class_room: int) -> None:
        rooms = np.zeros((2, class_room))  # those of the forest, and those of one tree
        self.proba = rooms[0], rooms.ctypes.data


class Arena:
    """All arrays of a forest.

    Parameters
    ----------
    settings
        One record of dtype `SETTINGS`.
    trees
        A record of dtype `TREE` for each tree.

    Notes
    -----
    With T trees, C classes and d features, the shapes are nodes (T, nodes), counts (T, nodes, C),
    boxes (T, boxes, 2, d), rows (samples, d), samples (samples,), links (T, samples), ranges
    (2, d), intensity (d,), is_categorical (d,), pure_weights (256,), which kernels fill as they go
    and copies leave out. Where a count of things in use is smaller than the
    array, the rest is room to grow, left out of pickles. Room for features is NaN, "never
    seen", and room for classes zero; room for nodes and boxes is undefined until a kernel adds one.
    """

    def __init__(self, settings: Array, trees: Array) -> None:
        n_trees, n_classes = len(trees), int(settings["n_classes"][0])
        self.settings = settings
        self.trees = trees
        self.ranges = np.empty((2, 0))
        self.intensity = np.zeros(0)
        self.is_categorical = np.zeros(0, "u1")
        capacity = min(_FIRST_NODES, int(settings["max_nodes"][0]))
        self.nodes = np.empty((n_trees, capacity), NODE)
        self.counts = np.empty((n_trees, capacity, n_classes))
        self.boxes = np.empty((n_trees, capacity, 2, 0))
        self.rows = np.empty((0, 0))
        self.samples = np.zeros(0, SAMPLE)
        self.links = np.zeros((n_trees, 0), "i4")
        self._begin()

    def _begin(self) -> None:
        """Make what is no part of a copy."""
        self.pure_weights = np.full(N_PURE_WEIGHTS, np.nan)
        self.handle = np.zeros(1, HANDLE)
        self.address: int = self.handle.ctypes.data
        self.class_room = 0
        self._collect()

    def _collect(self) -> None:
        """Tell where the arrays are, after any of them has moved."""
        self.arrays = tuple(getattr(self, name) for name in ARRAYS)
        handle = self.handle
        for name, array in zip(ARRAYS, self.arrays, strict=True):
            handle[name] = array.ctypes.data
        handle["n_trees"], handle["node_room"], handle["class_room"] = self.counts.shape
        handle["box_room"], handle["feature_room"] = self.boxes.shape[1], len(self.intensity)
        handle["row_room"] = len(self.rows)
        if self.class_room != self.counts.shape[2]:
            self.class_room = self.counts.shape[2]
            self.output = _Output(self.class_room)

    def set_prior(self, n_classes: int, dirichlet: float) -> None:
        """Change the prior of a node's prediction, and forget what followed from the old one."""
        set_prior(self.settings, n_classes, dirichlet)
        self.pure_weights[:] = np.nan

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, room to grow included."""
        return sum(array.nbytes for array in self.arrays)

    def _replace(self, **arrays: Array) -> None:
        """Put new arrays in the place of old ones; all of them are there by now, or none is put."""
        for name, array in arrays.items():
            setattr(self, name, array)
        self._collect()

    def grow_nodes(self, factor: float = 2.0) -> None:
        """Make `factor` times as much room for nodes, within `max_nodes`."""
        capacity = self._grown(self.nodes.shape[1], factor)
        self._replace(
            nodes=_lengthened(self.nodes, capacity), counts=_lengthened(self.counts, capacity)
        )

    def grow_boxes(self, factor: float = 2.0) -> None:
        """Make `factor` times as much room for boxes, of which a node has at most one."""
        self._replace(boxes=_lengthened(self.boxes, self._grown(self.boxes.shape[1], factor)))

    def _grown(self, capacity: int, factor: float) -> int:
        return min(max(int(factor * capacity), _FIRST_NODES), int(self.settings["max_nodes"][0]))

    def fit_rows(self) -> None:
        """Give the store of samples room for twice the rows in use.

        And for some more where there are many nodes, which all have to be gone through whenever the
        store is full.
        """
        n_rows = int(self.settings["n_rows"][0])
        self._resize_rows(n_rows + max(_FIRST_ROWS, n_rows, self.nodes.shape[1] // 4))

    def drop_rows(self) -> None:
        """Give back the room of the store of samples that is not in use, if there is memory to."""
        with suppress(MemoryError):
            self._resize_rows(int(self.settings["n_rows"][0]))

    def _resize_rows(self, capacity: int) -> None:
        self._replace(
            rows=_resized(self.rows, 0, capacity, np.nan),
            samples=_resized(self.samples, 0, capacity),
            links=_resized(self.links, 1, capacity),
        )

    def reserve(self, n_features: int, n_classes: int) -> None:
        """Make room for so many features and classes, changing nothing else.

        As long as the forest is small they get exactly what they take; later arrivals leave room
        for half as many again, or a stream that brings new ones all the time would cost squares.
        """
        is_small = self.counts.nbytes + self.boxes.nbytes <= _SMALL
        n_had, width = int(self.settings["n_features"][0]), len(self.intensity)
        if n_features > width:
            is_exact = is_small or n_had == 0
            self._resize_features(n_features if is_exact else n_features + n_features // 2)
        width = self.counts.shape[2]
        if n_classes > width:
            room = n_classes if is_small else n_classes + width // 2
            self._replace(counts=_resized(self.counts, 2, room))

    def _resize_features(self, width: int) -> None:
        self._replace(
            intensity=_resized(self.intensity, 0, width),
            is_categorical=_resized(self.is_categorical, 0, width),
            ranges=_resized(self.ranges, 1, width, np.nan),
            boxes=_resized(self.boxes, 3, width, np.nan),
            rows=_resized(self.rows, 1, width, np.nan),
        )

    def set_features(self, is_categorical: Sequence[bool]) -> None:
        """Say which of all features are categorical; there must be room for them.

        Nodes and rows from before have never seen a new one (NaN). A category's range counts as 1,
        and so does every range under "unit" intensity; other intensities follow from the ranges,
        which the kernels keep.
        """
        settings = self.settings[0]
        new = slice(int(settings["n_features"]), len(is_categorical))
        self.is_categorical[: len(is_categorical)] = is_categorical
        by_range = ~self.is_categorical[new].astype(bool) & bool(settings["range_intensity"])
        self.intensity[new] = np.where(by_range, 0.0, 1.0)
        settings["n_features"] = len(is_categorical)
        settings["has_categories"] = any(is_categorical)

    def __getstate__(self) -> dict[str, Any]:
        """Return the arrays without their room to grow, and the layout that they follow."""
        settings = self.settings[0]
        n_features, n_rows = int(settings["n_features"]), int(settings["n_rows"])
        n_nodes, n_boxes = int(self.trees["n_nodes"].max()), int(self.trees["n_boxes"].max())
        parts = {
            "settings": self.settings,
            "trees": self.trees,
            "ranges": self.ranges[:, :n_features],
            "intensity": self.intensity[:n_features],
            "is_categorical": self.is_categorical[:n_features],
            "nodes": self.nodes[:, :n_nodes],
            "counts": self.counts[:, :n_nodes, : int(settings["n_classes"])],
            "boxes": self.boxes[:, :n_boxes, :, :n_features],
            "rows": self.rows[:n_rows, :n_features],
            "samples": self.samples[:n_rows],
            "links": self.links[:, :n_rows],
        }
        copies: dict[str, Any] = {name: part.copy() for name, part in parts.items()}
        for t in range(len(self.trees)):  # some trees are smaller than the others
            copies["nodes"][t, int(self.trees["n_nodes"][t]) :] = 0
            copies["counts"][t, int(self.trees["n_nodes"][t]) :] = 0
            copies["boxes"][t, int(self.trees["n_boxes"][t]) :] = 0
        return copies | {"layout": LAYOUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        layout = state.pop("layout", None)
        if layout != LAYOUT:
            raise ValueError(
                f"this forest was saved by another release of river_amf (layout {layout} of its "
                f"arrays, {LAYOUT} here); load it with that release"
            )
        # arrays of our own dtypes: those of a pickle are equal, yet would make other pickles
        for name, part in state.items():
            array = np.empty(part.shape, _DTYPES.get(name, np.float64))
            array[...] = part
            setattr(self, name, array)
        self._begin()


def set_prior(settings: Array, n_classes: int, dirichlet: float) -> None:
    """Write the prior of a node's prediction, and what follows from it, into the settings."""
    settings["n_classes"] = n_classes
    settings["dirichlet"] = dirichlet
    settings["total_dirichlet"] = n_classes * dirichlet
    settings["lgamma_dirichlet"] = math.lgamma(dirichlet)
    settings["lgamma_total"] = math.lgamma(n_classes * dirichlet)


def _lengthened(array: Array, length: int) -> Array:
    """Copy the parts of the trees into arrays of so many entries; what is in the room is undefined.

    Zeros would cost more than the copy.
    """
    result = np.empty((len(array), length, *array.shape[2:]), array.dtype)
    result[:, : array.shape[1]] = array
    return result


def _resized(array: Array, axis: int, length: int, fill: float = 0) -> Array:
    """Copy `array` with `length` entries along `axis`, cut or filled up with `fill`."""
    shape = list(array.shape)
    shape[axis] = length
    result = np.full(shape, fill, array.dtype) if fill else np.zeros(shape, array.dtype)
    kept = tuple(slice(min(old, new)) for old, new in zip(array.shape, shape, strict=True))
    result[kept] = array[kept]
    return result
