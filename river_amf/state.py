"""The memory of a forest: the arena that holds its arrays, and blocks of samples.

Everything that the trees have learnt is in these arrays, so that a copy of them is a copy of the
forest. The kernels fill them and never allocate nodes; this module gives them room. What arrays
there are, and how they grow, follows from the table of `layout`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from river_amf.layout import (
    BLOCK,
    BLOCK_ARRAYS,
    COPIED,
    COUNTERS,
    FIELDS,
    HANDLE,
    LAYOUT,
    UNDEFINED,
    Array,
    lengths_in_use,
    lengths_of_classes,
    shapes,
)

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

    def prepare(self, arena: Arena, n_samples: int, *, predicts: bool, learns: bool) -> None:
        """Make room for chunks of a run of so many samples, as the arena is now."""
        n_trees, n_classes = len(arena.trees), int(arena.settings["n_classes"][0])
        n_features = int(arena.settings["n_features"][0])
        bytes_a_sample = 8 * (n_trees * n_classes + 2 * n_features + 1)
        self.chunk = min(n_samples, max(_FIRST_NODES, _CHUNK_BYTES // bytes_a_sample))
        self.votes = np.empty((n_trees, self.chunk, n_classes))
        self.clipped = np.empty((self.chunk, n_features))
        self.intensities = np.empty((self.chunk, n_features))
        self.rows = np.empty(self.chunk, np.int64)
        self.coded = np.empty((n_trees, n_features))
        self.next_samples = np.empty(n_trees, np.int64)
        for name in BLOCK_ARRAYS:
            self.record[name] = getattr(self, name).ctypes.data
        self.record["n_samples"], self.record["n_columns"] = self.values.shape
        self.record["n_labels"] = self.proba.shape[1]
        self.record["chunk"] = self.chunk
        self.record["predicts"], self.record["learns"] = predicts, learns


class Room(NamedTuple):
    """Where a prediction is written: `address` is that of `proba` and of what lies behind it.

    The forest's class probabilities; a row for each tree; and the sample, as predicted at some
    version of the forest, for whoever learns it next.
    """

    proba: Array
    address: int


class Arena:
    """All arrays of a forest, those of `FIELDS`, as attributes.

    Parameters
    ----------
    settings
        One record of dtype `SETTINGS`.
    trees
        A record of dtype `TREE` for each tree.

    Notes
    -----
    Where a count of things in use is smaller than the array, the rest is room to grow, left out of
    pickles. Room for features is NaN, "never seen", and room for classes zero; room for nodes and
    boxes is undefined until a kernel adds one.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...

    def __init__(self, settings: Array, trees: Array) -> None:
        capacity = min(_FIRST_NODES, int(settings["max_nodes"][0]))
        rooms = lengths_of_classes(settings, int(settings["n_classes"][0]))
        rooms |= {"tree": len(trees), "feature": 0, "node": capacity, "box": capacity, "row": 0}
        counters = np.zeros(1, COUNTERS)
        counters["newest_weight"] = 1.0
        given = {"settings": settings, "counters": counters, "trees": trees}
        self._begin(given | defaults(rooms, FIELDS.keys() - given))

    def _begin(self, arrays: dict[str, Array]) -> None:
        """Take arrays in, and make what is no part of a copy."""
        self.__dict__.update(arrays)
        self.rooms: dict[str, int] = {}
        for name, array in arrays.items():
            self.rooms.update(_named_lengths(name, array))
        self.__dict__.update(defaults(self.rooms, FIELDS.keys() - arrays))
        self.handle = np.zeros(1, HANDLE)
        self.handle["next_tree"] = -1
        self.address: int = self.handle.ctypes.data
        self._collect()

    def _collect(self) -> None:
        """Tell where the arrays are, after any of them has moved."""
        self.arrays = tuple(getattr(self, name) for name in FIELDS)
        for name, array in zip(FIELDS, self.arrays, strict=True):
            self.handle[name] = array.ctypes.data
        for axis, room in self.rooms.items():
            self.handle[f"{axis}_room"] = room

    def set_prior(self, n_classes: int, dirichlet: float) -> None:
        """Change the prior of a node's prediction, and forget what followed from the old one."""
        set_prior(self.settings, n_classes, dirichlet)
        self.pure[:] = np.nan
        self.handle["version"] += 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, room to grow included."""
        return sum(array.nbytes for array in self.arrays)

    def _resize(self, **rooms: int) -> None:
        """Give axes other lengths; all that is new is made before any of it takes its place."""
        changed = {axis for axis, room in rooms.items() if room != self.rooms[axis]}
        new_rooms = self.rooms | rooms
        new_shapes = shapes(new_rooms)
        arrays = {
            name: _resized(name, getattr(self, name), new_shapes[name])
            for name, field in FIELDS.items()
            if changed.intersection(field.axes)
        }
        self.__dict__.update(arrays, rooms=new_rooms)
        self._collect()

    def new_room(self) -> Room:
        """Return room for a prediction, which serves as long as `rooms` is the same object."""
        n_proba = (1 + self.rooms["tree"]) * self.rooms["class"]
        room = np.zeros(n_proba + 1 + self.rooms["feature"])
        room[n_proba] = -1.0  # no version
        return Room(room[: self.rooms["class"]], room.ctypes.data)

    def grow_nodes(self, factor: float = 2.0) -> None:
        """Make `factor` times as much room for nodes, within `max_nodes`."""
        self._resize(node=self._grown("node", factor))

    def grow_boxes(self, factor: float = 2.0) -> None:
        """Make `factor` times as much room for boxes, of which a node has at most one."""
        self._resize(box=self._grown("box", factor))

    def _grown(self, axis: str, factor: float) -> int:
        wanted = max(int(factor * self.rooms[axis]), _FIRST_NODES)
        return min(wanted, int(self.settings["max_nodes"][0]))

    def fit_rows(self) -> None:
        """Give the store of samples room for twice the rows in use.

        And for some more where there are many nodes, which all have to be gone through whenever the
        store is full; but for an eighth more only where it is large already.
        """
        n_rows = int(self.counters["n_rows"][0])
        more = n_rows if self.rows.nbytes < _SMALL else n_rows // 8
        self._resize(row=n_rows + max(_FIRST_ROWS, more, self.rooms["node"] // 4))

    def drop_rows(self) -> None:
        """Give back the room of the store of samples that is not in use, if there is memory to."""
        with suppress(MemoryError):
            self._resize(row=int(self.counters["n_rows"][0]))

    def reserve(self, n_features: int, n_classes: int) -> None:
        """Make room for so many features and classes, changing nothing else.

        As long as the forest is small they get exactly what they take; later arrivals leave room
        for half as many again, or a stream that brings new ones all the time would cost squares.
        """
        is_small = self.counts.nbytes + self.boxes.nbytes <= _SMALL
        if n_features > self.rooms["feature"]:
            is_exact = is_small or self.settings["n_features"][0] == 0
            self._resize(feature=n_features if is_exact else n_features + n_features // 2)
        if n_classes > self.rooms["class"]:
            room = n_classes if is_small else n_classes + self.rooms["class"] // 2
            self._resize(**lengths_of_classes(self.settings, room))

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
        self.handle["version"] += 1

    def used_arrays(self) -> dict[str, Array]:
        """Return views of the arrays that a copy is made of, without their room to grow.

        Some trees are smaller than the others: what these have room for becomes zero.
        """
        lengths = lengths_in_use(self.settings, self.counters, self.trees)
        for axis, count in (("node", "n_nodes"), ("box", "n_boxes")):
            for name in (name for name, field in FIELDS.items() if axis in field.axes):
                for t, n_used in enumerate(self.trees[count].tolist()):
                    getattr(self, name)[t, n_used : lengths[axis]] = 0
        used = shapes(lengths)
        return {name: getattr(self, name)[tuple(map(slice, used[name]))] for name in COPIED}

    @classmethod
    def of(cls, arrays: dict[str, Array]) -> Arena:
        """Return an arena of all arrays that are copied, which from now on are its own."""
        arena = cls.__new__(cls)
        arena._begin(arrays)
        return arena

    def __getstate__(self) -> dict[str, Any]:
        """Return copies of the arrays without their room to grow, and the layout they follow."""
        copies: dict[str, Any] = {name: array.copy() for name, array in self.used_arrays().items()}
        return copies | {"layout": LAYOUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        layout = state.pop("layout", None)
        if layout != LAYOUT:
            raise ValueError(
                f"this forest was saved by another release of river_amf (layout {layout} of its "
                f"arrays, {LAYOUT} here); load it with that release"
            )
        # arrays of our own dtypes: those of a pickle are equal, yet would make other pickles
        arrays = {name: np.empty(array.shape, FIELDS[name].dtype) for name, array in state.items()}
        for name, array in state.items():
            arrays[name][...] = array
        self._begin(arrays)


def set_prior(settings: Array, n_classes: int, dirichlet: float) -> None:
    """Write the prior of a node's prediction, and what follows from it, into the settings."""
    settings["n_classes"] = n_classes
    settings["dirichlet"] = dirichlet
    settings["total_dirichlet"] = n_classes * dirichlet
    settings["lgamma_dirichlet"] = math.lgamma(dirichlet)
    settings["lgamma_total"] = math.lgamma(n_classes * dirichlet)


def defaults(lengths: dict[str, int], names: Iterable[str]) -> dict[str, Array]:
    """Return arrays as they are before anything is learnt, with axes of these lengths."""
    chosen = set(names)
    return {
        name: _empty(name, shape, FIELDS[name].axes)
        for name, shape in shapes(lengths).items()
        if name in chosen
    }


def _named_lengths(name: str, array: Array) -> dict[str, int]:
    """Return the lengths of those axes of an array that have a name."""
    pairs = zip(FIELDS[name].axes, array.shape, strict=True)
    return {axis: length for axis, length in pairs if isinstance(axis, str)}


def _empty(name: str, shape: tuple[int, ...], axes: Iterable[str | int]) -> Array:
    """Return an array of room to grow along these axes: filled, unless that room is undefined."""
    field = FIELDS[name]
    if UNDEFINED.issuperset(axes):
        return np.empty(shape, field.dtype)
    return np.full(shape, field.fill, field.dtype) if field.fill else np.zeros(shape, field.dtype)


def _resized(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    """Copy an array into one of another shape, cut, or with room to grow."""
    lengths = zip(FIELDS[name].axes, array.shape, shape, strict=True)
    result = _empty(name, shape, [axis for axis, old, new in lengths if old != new])
    kept = tuple(slice(min(old, new)) for old, new in zip(array.shape, shape, strict=True))
    result[kept] = array[kept]
    return result
