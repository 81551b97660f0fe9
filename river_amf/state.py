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
        ("fading_factor", "f8"),  # gamma
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
        ("fades", "i8"),
        ("learns_vote", "i8"),
        ("split_pure", "i8"),
        ("range_intensity", "i8"),
        ("relevance", "i8"),
        ("restart_threshold", "f8"),  # 0 for never
        ("newest_weight", "f8"),  # of the next sample in the statistics of relevance
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
        ("faded_share", "f8"),  # running mean, of the faded estimators in its predictions
        ("vote", "f8"),  # its weight in a learned vote
        ("n_heard", "i8"),  # predictions that the two means of its losses are of
        ("recent_loss", "f8"),
        ("usual_loss", "f8"),
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

# One record a feature: what its range and its relevance follow from. Where samples have weights,
# older ones count less.
FEATURE = np.dtype(
    [
        ("n_recent", "i8"),  # how many values are kept to judge the range by
        ("credit", "f8"),  # of values far outside: how frequent they were lately
        ("weight", "f8"),  # sum of the samples' weights
        ("squares", "f8"),  # sum of their squares
        ("mean", "f8"),
        ("total", "f8"),  # sum of squares about the mean
        ("within", "f8"),  # about the mean of the class
        ("explained", "f8"),  # sum_kc N_kc^2 / N_k over buckets k and classes c
        ("n_used", "f8"),  # buckets
        ("relevance", "f8"),
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

# What fading keeps of a node: a row of its share, the sum of its faded counts, and these.
FADED_SHARE, FADED_SUM, FADED_COUNTS = 0, 1, 2

N_RECENT = 64  # values that a feature's range is judged by
N_BUCKETS = 64  # that categories are counted in, for their relevance; of numbers the first
N_BINS = 16

N_PURE = 256  # cells of one label of fewer samples than that have what follows in a table

# How the kernels find an arena: the addresses of its arrays, and the room in them. Each array that
# is an argument of a call costs as much as some nodes of a walk; the address of this record costs
# next to nothing.
ARRAYS = (
    "settings",
    "ranges",
    "limits",
    "intensity",
    "is_categorical",
    "features",
    "recent",
    "moments",
    "buckets",
    "bias",
    "votes",
    "trees",
    "nodes",
    "counts",
    "faded",
    "boxes",
    "rows",
    "samples",
    "links",
    "pure",
)
HANDLE = np.dtype(
    [(name, "i8") for name in ARRAYS]
    + [
        ("n_trees", "i8"),
        ("n_learnt", "i8"),  # changes whenever predictions may have changed
        ("feature_room", "i8"),
        ("class_room", "i8"),
        ("moment_room", "i8"),
        ("faded_room", "i8"),
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
    "tame",
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
_RECORDS = (SETTINGS, TREE, NODE, FEATURE, SAMPLE, HANDLE, BLOCK)
LAYOUT = f"{zlib.crc32(repr([record.descr for record in _RECORDS]).encode()):08x}"

PARTS = tuple(name for name in ARRAYS if name not in ("votes", "pure"))  # what a copy is made of

Array = NDArray[Any]

# of the arrays that are not float64
DTYPES: dict[str, Any] = {
    "settings": SETTINGS,
    "trees": TREE,
    "nodes": NODE,
    "features": FEATURE,
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
        bytes_a_sample = 8 * (n_trees * n_classes + 2 * n_features + 1)
        self.chunk = min(n_samples, max(_FIRST_NODES, _CHUNK_BYTES // bytes_a_sample))
        self.parts = np.empty((n_trees, self.chunk, n_classes))
        self.tame = np.empty((self.chunk, n_features))
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
    """Room for a prediction, one for each thread: models predict in several at once.

    The forest's class probabilities; a row for each tree; and the sample, as predicted when the
    forest had learnt so many, for whoever learns it next.
    """

    def __init__(self, n_trees: int, class_room: int, feature_room: int) -> None:
        room = np.zeros((1 + n_trees) * class_room + 1 + feature_room)
        room[(1 + n_trees) * class_room] = -1.0
        self.proba = room[:class_room], room.ctypes.data


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
    faded (T, nodes, 2 + C; 0 without fading), boxes (T, boxes, 2, d), rows (samples, d), samples
    (samples,), links (T, samples), ranges and limits (2, d), intensity (d,), is_categorical (d,),
    features (d,), recent (d, 64), moments (d, C, 2), buckets (d, 64, C), the two of them with 0 for
    C unless there is relevance, and bias (C,). Copies leave out pure (256, 3) and votes (T + 1, C),
    which kernels fill as they go.

    Where a count of things in use is smaller than the array, the rest is room to grow, left out of
    pickles. Room for features is NaN, "never seen", and room for classes zero; room for nodes and
    boxes is undefined until a kernel adds one.
    """

    def __init__(self, settings: Array, trees: Array) -> None:
        n_trees, n_classes = len(trees), int(settings["n_classes"][0])
        self.settings = settings
        self.trees = trees
        self.ranges = np.empty((2, 0))
        self.limits = np.empty((2, 0))
        self.intensity = np.zeros(0)
        self.is_categorical = np.zeros(0, "u1")
        self.features = np.zeros(0, FEATURE)
        self.recent = np.empty((0, N_RECENT))
        self.moments = np.zeros((0, self._moment_width(n_classes), 2))
        self.buckets = np.zeros((0, N_BUCKETS, self._moment_width(n_classes)))
        self.bias = np.zeros(n_classes)
        capacity = min(_FIRST_NODES, int(settings["max_nodes"][0]))
        self.nodes = np.empty((n_trees, capacity), NODE)
        self.counts = np.empty((n_trees, capacity, n_classes))
        self.faded = np.empty((n_trees, capacity, self._faded_width(n_classes)))
        self.boxes = np.empty((n_trees, capacity, 2, 0))
        self.rows = np.empty((0, 0))
        self.samples = np.zeros(0, SAMPLE)
        self.links = np.zeros((n_trees, 0), "i4")
        self._begin()

    def _begin(self) -> None:
        """Make what is no part of a copy."""
        self.pure = np.full((N_PURE, 3), np.nan)
        self.votes = np.empty((0, 0))
        self.handle = np.zeros(1, HANDLE)
        self.address: int = self.handle.ctypes.data
        self._rooms = (0, 0)
        self._collect()

    def _collect(self) -> None:
        """Tell where the arrays are, after any of them has moved."""
        handle = self.handle
        rooms = self.counts.shape[2], len(self.intensity)
        if self._rooms != rooms:
            self._rooms = rooms
            self.output = _Output(len(self.trees), *rooms)
            self.votes = np.empty((len(self.trees) + 1, rooms[0]))
        self.arrays = tuple(getattr(self, name) for name in ARRAYS)
        for name, array in zip(ARRAYS, self.arrays, strict=True):
            handle[name] = array.ctypes.data
        handle["n_trees"], handle["node_room"], handle["class_room"] = self.counts.shape
        handle["faded_room"] = self.faded.shape[2]
        handle["box_room"], handle["feature_room"] = self.boxes.shape[1], len(self.intensity)
        handle["row_room"] = len(self.rows)
        handle["moment_room"] = self.moments.shape[1]

    def set_prior(self, n_classes: int, dirichlet: float) -> None:
        """Change the prior of a node's prediction, and forget what followed from the old one."""
        set_prior(self.settings, n_classes, dirichlet)
        self.pure[:] = np.nan
        self.handle["n_learnt"] += 1

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
            nodes=_lengthened(self.nodes, capacity),
            counts=_lengthened(self.counts, capacity),
            faded=_lengthened(self.faded, capacity),
        )

    def grow_boxes(self, factor: float = 2.0) -> None:
        """Make `factor` times as much room for boxes, of which a node has at most one."""
        self._replace(boxes=_lengthened(self.boxes, self._grown(self.boxes.shape[1], factor)))

    def _grown(self, capacity: int, factor: float) -> int:
        return min(max(int(factor * capacity), _FIRST_NODES), int(self.settings["max_nodes"][0]))

    def fit_rows(self) -> None:
        """Give the store of samples room for twice the rows in use.

        And for some more where there are many nodes, which all have to be gone through whenever the
        store is full; but for an eighth more only where it is large already.
        """
        n_rows = int(self.settings["n_rows"][0])
        more = n_rows if self.rows.nbytes < _SMALL else n_rows // 8
        self._resize_rows(n_rows + max(_FIRST_ROWS, more, self.nodes.shape[1] // 4))

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
            self._replace(
                counts=_resized(self.counts, 2, room),
                faded=_resized(self.faded, 2, self._faded_width(room)),
                moments=_resized(self.moments, 1, self._moment_width(room)),
                buckets=_resized(self.buckets, 2, self._moment_width(room)),
                bias=_resized(self.bias, 0, room),
            )

    def _faded_width(self, n_classes: int) -> int:
        """Return the length of what fading keeps of a node, if anything."""
        return FADED_COUNTS + n_classes if self.settings["fades"][0] else 0

    def _moment_width(self, n_classes: int) -> int:
        """Return for how many classes relevance keeps statistics, if it does."""
        return n_classes if self.settings["relevance"][0] else 0

    def _resize_features(self, width: int) -> None:
        self._replace(
            intensity=_resized(self.intensity, 0, width),
            is_categorical=_resized(self.is_categorical, 0, width),
            features=_resized(self.features, 0, width),
            recent=_resized(self.recent, 0, width, np.nan),
            moments=_resized(self.moments, 0, width),
            buckets=_resized(self.buckets, 0, width),
            ranges=_resized(self.ranges, 1, width, np.nan),
            limits=_resized(self.limits, 1, width, np.nan),
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
        self.handle["n_learnt"] += 1

    def parts(self) -> dict[str, Array]:
        """Return views of the arrays without their room to grow.

        Some trees are smaller than the others: what these have room for becomes zero.
        """
        settings = self.settings[0]
        n_features, n_rows = int(settings["n_features"]), int(settings["n_rows"])
        n_classes = int(settings["n_classes"])
        n_nodes, n_boxes = int(self.trees["n_nodes"].max()), int(self.trees["n_boxes"].max())
        for t, tree in enumerate(self.trees):
            for array in (self.nodes, self.counts, self.faded):
                array[t, int(tree["n_nodes"]) : n_nodes] = 0
            self.boxes[t, int(tree["n_boxes"]) : n_boxes] = 0
        return {
            "settings": self.settings,
            "trees": self.trees,
            "ranges": self.ranges[:, :n_features],
            "limits": self.limits[:, :n_features],
            "intensity": self.intensity[:n_features],
            "is_categorical": self.is_categorical[:n_features],
            "features": self.features[:n_features],
            "recent": self.recent[:n_features],
            "moments": self.moments[:n_features, : self._moment_width(n_classes)],
            "buckets": self.buckets[:n_features, :, : self._moment_width(n_classes)],
            "bias": self.bias[:n_classes],
            "nodes": self.nodes[:, :n_nodes],
            "counts": self.counts[:, :n_nodes, :n_classes],
            "faded": self.faded[:, :n_nodes, : self._faded_width(n_classes)],
            "boxes": self.boxes[:, :n_boxes, :, :n_features],
            "rows": self.rows[:n_rows, :n_features],
            "samples": self.samples[:n_rows],
            "links": self.links[:, :n_rows],
        }

    @classmethod
    def of(cls, parts: dict[str, Array]) -> Arena:
        """Return an arena of such parts, which from now on are its own."""
        arena = cls.__new__(cls)
        arena.__dict__.update(parts)
        arena._begin()
        return arena

    def __getstate__(self) -> dict[str, Any]:
        """Return copies of the arrays without their room to grow, and the layout they follow."""
        copies: dict[str, Any] = {name: part.copy() for name, part in self.parts().items()}
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
            array = np.empty(part.shape, DTYPES.get(name, np.float64))
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
