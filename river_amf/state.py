"""The memory of a forest: the arena that holds its arrays, and blocks of samples.

Everything that the trees have learned is in these arrays, so copying them copies the forest. The
kernels fill the arrays but never allocate them; making room is up to this module. Which arrays
there are, and how they grow, follows from the table in `layout`.

An arena never changes its arrays for others: to grow, a new arena is made, which shares what stays
as it is. The engine puts it in the place of the old one in one step, so nothing that interrupts the
growth, such as a signal or a lack of memory, can leave a forest between two sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from river_amf.draws import draw_directions, draw_phases
from river_amf.layout import (
    AXES_OF_VOICES,
    BLOCK,
    BLOCK_FIELDS,
    COPIED,
    COUNTERS,
    FIELDS,
    HANDLE,
    LAYOUT,
    PART_ADDRESSES,
    UNDEFINED,
    Array,
    lengths_in_use,
    lengths_of_classes,
    lengths_of_features,
    lengths_of_voices,
    lengths_of_words,
    shapes,
)

_FIRST_NODES = 64
_FIRST_ROWS = 64
_FIRST_WORDS = 64
_SMALL = 2**20  # bytes; arrays up to this size are cheap to move
_CHUNK_BYTES = 2**22  # memory in use for one chunk of a block: half of a second-level cache


class Block:
    """A block of samples, with room for what the kernels write about it."""

    def __init__(self, values: Array, targets: Array, weights: Array, answers: Array) -> None:
        self.values = values  # (samples, columns), encoded; some columns may not be features yet
        self.targets = targets  # the index of each label, or a number
        self.weights = weights  # samples of weight 0 are not learned
        self.answers = answers  # a row of predictions for each sample
        self.record = np.zeros(1, BLOCK)
        self.address: int = self.record.ctypes.data

    def prepare(self, arena: Arena, n_samples: int, *, predicts: bool, learns: bool) -> None:
        """Make room to process `n_samples` samples in chunks, given the size of the arena."""
        rooms = arena.rooms
        n_trees, n_features, n_paces = rooms["tree"], rooms["feature"], rooms["pace"]
        n_voters, n_votes, n_aims = rooms["voter"], rooms["vote"], rooms["aim"]
        bytes_a_sample = 8 * (n_voters * n_votes + (1 + n_aims + n_paces) * n_features + n_aims)
        self.chunk = min(n_samples, max(_FIRST_NODES, _CHUNK_BYTES // bytes_a_sample))
        self.votes = np.empty((n_voters, self.chunk, n_votes))
        self.clipped = np.empty((self.chunk, n_features))
        self.aims = np.empty((n_aims, self.chunk))
        self.intensities = np.empty((n_aims, self.chunk, n_features))
        self.rows = np.empty(self.chunk, np.int64)
        self.coded = np.empty((n_trees, n_features))
        self.standardised = np.empty((n_paces, self.chunk, n_features))
        self.inputs = np.zeros(arena.inputs.shape)
        self.terms = np.zeros(arena.terms.shape)
        self.next_samples = np.empty(n_voters, np.int64)
        for name, field in BLOCK_FIELDS.items():
            array = getattr(self, name)
            self.record[name] = array.ctypes.data
            for axis, length in zip(field.axes, array.shape, strict=True):
                if isinstance(axis, str):
                    self.record[f"{axis}_room"] = length
        self.record["predicts"], self.record["learns"] = predicts, learns

    @property
    def stage(self) -> int:
        """What has been done of the chunk that is under way."""
        return int(self.record["stage"][0])


class Room(NamedTuple):
    """Where a prediction is written."""

    buffer: memoryview  # the forest's answer

    # Its address. Behind the answer are as many numbers for each tree and voice, the version of the
    # forest at the time of the prediction, the sample, and what voices and trends make of
    # it, so that learning it next can use them.
    address: int
    values: Array  # all of this


class Arena:
    """The arrays of a forest, those of `FIELDS`, as attributes."""

    # Where fewer entries are in use than an array holds, the rest is room to grow, which pickles
    # leave out. Room for features is NaN ("never seen") and room for classes is zero; room for
    # nodes and boxes is undefined until a kernel adds one.

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...

    def __init__(self, settings: Array, trees: Array, voices: Array, trends: Array) -> None:
        capacity = min(_FIRST_NODES, int(settings["max_nodes"][0]))
        rooms = lengths_of_classes(settings, int(settings["n_classes"][0]))
        rooms |= lengths_of_features(settings, 0, 0) | lengths_of_voices(settings, len(trees))
        rooms |= lengths_of_words(settings, int(settings["n_words"][0]))
        rooms |= {"counted": 0, "slot": 0, "node": capacity, "box": capacity, "row": 0}
        counters = np.zeros(1, COUNTERS)
        counters["newest_weight"] = 1.0
        given = {"settings": settings, "counters": counters, "trees": trees}
        given |= {"voices": voices, "trends": trends}
        self._begin(given | defaults(rooms, FIELDS.keys() - given))

    def _begin(self, arrays: dict[str, Array]) -> None:
        """Take over arrays, and create those that are not part of a copy."""
        rooms: dict[str, int] = {}
        for name, array in arrays.items():
            rooms.update(_named_lengths(name, array))
        handle = np.zeros(1, HANDLE)
        handle["next_tree"] = -1
        # no copied array has voters, votes or scores
        rooms |= lengths_of_voices(arrays["settings"], rooms["tree"])
        rooms = lengths_of_classes(arrays["settings"], rooms["class"]) | rooms
        arrays = arrays | defaults(rooms, FIELDS.keys() - arrays)
        n_features = int(arrays["settings"]["n_features"][0])
        for draw, key in enumerate(_keys_of_draws(arrays["voices"], arrays["trends"])):
            n_cosines = rooms["cosine"]
            arrays["phases"][draw] = draw_phases(key, n_cosines)
            for j in range(n_features):
                arrays["directions"][draw, j] = draw_directions(key, j, n_cosines)
        self._hold(arrays, rooms, handle)

    def _hold(self, arrays: dict[str, Array], rooms: dict[str, int], handle: Array) -> None:
        """Set arrays, the room along each axis, and the handle with their addresses."""
        self.__dict__.update(arrays)
        self.task = int(self.settings["task"][0])
        self.rooms = rooms
        self.handle = handle
        self.address: int = handle.ctypes.data
        handle["parts"] = PART_ADDRESSES[self.task].ctypes.data
        for name, array in arrays.items():
            handle[name] = array.ctypes.data
        for axis, room in rooms.items():
            handle[f"{axis}_room"] = room

    def _with(self, arrays: dict[str, Array], rooms: dict[str, int]) -> Arena:
        """Return an arena with some other arrays, which shares all else."""
        arena = type(self).__new__(type(self))
        arena.__dict__.update(self.__dict__)
        arena._hold(arrays, rooms, self.handle.copy())
        return arena

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays, in the order of `FIELDS`."""
        return tuple(self.__dict__[name] for name in FIELDS)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, including room to grow."""
        return sum(array.nbytes for array in self.arrays)

    def resized(self, **rooms: int) -> Arena:
        """Return an arena with other lengths of some axes."""
        return self._with(self._resized_arrays(rooms), self.rooms | rooms)

    def _resized_arrays(self, rooms: dict[str, int]) -> dict[str, Array]:
        """Return copies of the arrays that change with the lengths of some axes."""
        changed = {axis for axis, room in rooms.items() if room != self.rooms[axis]}
        new_shapes = shapes(self.rooms | rooms)
        return {
            name: _resized(name, getattr(self, name), new_shapes[name])
            for name, field in FIELDS.items()
            if changed.intersection(field.axes)
        }

    def new_room(self) -> Room:
        """Return room for a prediction, valid for as long as `rooms` is the same object."""
        n_votes = (1 + self.rooms["voter"]) * self.rooms["vote"]
        n_heard = self.standardised.size + self.inputs.size + self.terms.size
        room = np.zeros(n_votes + 1 + self.rooms["feature"] + n_heard)
        room[n_votes] = -1.0  # no version
        return Room(room[: self.rooms["vote"]].data, room.ctypes.data, room)

    def heard_in(self, room: Room) -> tuple[Array, Array, Array]:
        """Return votes (a row for each voter), standardised samples (paces, features) and terms.

        They are those of the sample that was predicted last in this room.
        """
        n_voters, n_votes = self.rooms["voter"], self.rooms["vote"]
        votes, rest = np.split(room.values[n_votes:], [n_voters * n_votes])
        rest = rest[1 + self.rooms["feature"] :]
        standardised, rest = np.split(rest, [self.standardised.size])
        _, n_rows, width = self.terms.shape
        terms = rest[: self.terms.size].reshape(n_rows if self.terms.size else 0, width)
        standardised = standardised.reshape(self.standardised.shape)
        return votes.reshape(n_voters, n_votes), standardised, terms

    def grow_nodes(self, factor: float = 2.0) -> Arena:
        """Return an arena with `factor` times the room for nodes, up to `max_nodes`."""
        return self.resized(node=self._grown("node", factor))

    def grow_boxes(self, factor: float = 2.0) -> Arena:
        """Return an arena with `factor` times the room for boxes, up to one for each node."""
        return self.resized(box=self._grown("box", factor))

    def _grown(self, axis: str, factor: float) -> int:
        wanted = max(int(factor * self.rooms[axis]), _FIRST_NODES)
        return min(wanted, int(self.settings["max_nodes"][0]))

    def with_slots(self, n_slots: int) -> Arena:
        """Return an arena with room to count categories in a number of slots."""
        if n_slots <= self.rooms["slot"]:
            return self
        return self.resized(slot=slot_room(n_slots, int(self.settings["period"][0])))

    def with_words(self, n_words: int, most: int) -> Arena:
        """Return an arena with room for a number of words, of which there may be `most`."""
        if n_words <= self.rooms["word"] <= 1 + most:
            return self
        room = max(n_words + n_words // 2, _FIRST_WORDS)
        return self.resized(**lengths_of_words(self.settings, max(min(room, 1 + most), n_words)))

    def replacing(self, **arrays: Array) -> Arena:
        """Return an arena with some other arrays of the same shapes."""
        return self._with(arrays, self.rooms)

    def silenced(self) -> dict[str, Array]:
        """Return what the arrays of the voices are if there are none."""
        rooms = self.rooms | dict.fromkeys(AXES_OF_VOICES, 0)
        names = [name for name in COPIED if not set(AXES_OF_VOICES).isdisjoint(FIELDS[name].axes)]
        return defaults(rooms, names)

    def fit_rows(self) -> Arena:
        """Return an arena whose store of samples has room to grow beyond the rows in use."""
        # It doubles while it is small, and grows by an eighth once it is large. It grows by more if
        # there are many nodes, as whenever the store is full all of them have to be visited.
        n_rows = int(self.counters["n_rows"][0])
        more = n_rows if self.rows.nbytes < _SMALL else n_rows // 8
        room = n_rows + max(_FIRST_ROWS, more, self.rooms["node"] // 4)
        if self.settings["interval"][0]:
            room = min(room, int(self.settings["max_rows"][0]))
        return self.resized(row=room)

    def drop_rows(self) -> Arena:
        """Return an arena without the unused room in the store of samples."""
        try:
            return self.resized(row=int(self.counters["n_rows"][0]))
        except MemoryError:  # there is not even enough for the smaller copy
            return self

    def extended(
        self,
        is_categorical: Sequence[bool],
        n_labels: int,
        dirichlet: float,
        rooms: dict[str, int] | None = None,
    ) -> Arena:
        """Return an arena that knows new features and labels.

        `is_categorical` and `n_labels` count all features and labels. If there are more labels than
        classes of the prior, it gets a new prior, with the Dirichlet parameter given. `rooms` says
        how much room there has to be then, otherwise there is enough.
        """
        # To existing nodes and rows, a new feature is one that they have never seen (NaN). The
        # range of a categorical feature counts as 1, as do all ranges under "unit" intensity; the
        # other intensities follow from the ranges, which the kernels keep.
        n_features = len(is_categorical)
        settings = self.settings.copy()
        n_counted = sum(is_categorical) if settings["period"][0] else 0
        if rooms is None:
            n_classes = max(n_labels, int(settings["n_classes"][0]))
            rooms = self._enough(n_features, sum(is_categorical), n_counted, n_classes)
        arrays = {name: getattr(self, name).copy() for name in ("is_categorical", "intensity")}
        arrays |= self._resized_arrays(rooms) | {"settings": settings}
        if n_labels > settings["n_classes"][0]:
            set_prior(settings, n_labels, dirichlet)
            arrays["pure"] = np.full_like(self.pure, np.nan)  # it follows from the prior
        new = slice(int(settings["n_features"][0]), n_features)
        arrays["is_categorical"][:n_features] = is_categorical
        by_range = ~arrays["is_categorical"][new].astype(bool) & bool(settings["range_intensity"])
        arrays["intensity"][:, new] = np.where(by_range, 0.0, 1.0)
        settings["n_features"], settings["n_labels"] = n_features, n_labels
        settings["n_numeric"] = n_features - sum(is_categorical)
        settings["has_categories"] = any(is_categorical)
        settings["n_counted"] = n_counted
        # In place if there is room: nobody reads these rows yet, and they are the same each time.
        directions = arrays.get("directions", self.directions)
        for draw, key in enumerate(_keys_of_draws(self.voices, self.trends)):
            for j in range(new.start, n_features):
                directions[draw, j] = draw_directions(key, j, self.rooms["cosine"])
        arena = self._with(arrays, self.rooms | rooms)
        arena.handle["version"] += 1
        return arena

    def _enough(
        self, n_features: int, n_categorical: int, n_counted: int, n_classes: int
    ) -> dict[str, int]:
        """Return the lengths of axes that have to change for a number of features and classes."""
        # A small forest gets exactly what it needs. A larger one gets half as much again, because
        # otherwise a stream that keeps adding features or labels would take quadratic time.
        grown = self.counts, self.boxes, self.voice_weights, self.directions
        is_small = sum(array.nbytes for array in grown) <= _SMALL
        rooms: dict[str, int] = {}
        if n_features > self.rooms["feature"]:
            is_exact = is_small or self.settings["n_features"][0] == 0
            room = n_features if is_exact else n_features + n_features // 2
            rooms |= lengths_of_features(self.settings, room, self.rooms["onehot"])
        if n_categorical > self.rooms["onehot"] and self.settings["n_voices"][0]:
            rooms["onehot"] = rounded(n_categorical)
        if n_counted > self.rooms["counted"]:
            rooms["counted"] = rounded(n_counted)
        if n_classes > self.rooms["class"]:
            room = n_classes if is_small else n_classes + self.rooms["class"] // 2
            rooms |= lengths_of_classes(self.settings, room)
        return rooms

    def used_arrays(self) -> dict[str, Array]:
        """Return views of the arrays that belong to a copy, without their room to grow."""
        # Trees smaller than the largest still have unused entries, which are set to zero.
        lengths = lengths_in_use(self.settings, self.counters, self.trees)
        for axis, count in (("node", "n_nodes"), ("box", "n_boxes")):
            for name in (name for name, field in FIELDS.items() if axis in field.axes):
                for t, n_used in enumerate(self.trees[count].tolist()):
                    getattr(self, name)[t, n_used : lengths[axis]] = 0
        used = shapes(lengths)
        return {name: getattr(self, name)[tuple(map(slice, used[name]))] for name in COPIED}

    @classmethod
    def of(cls, arrays: dict[str, Array]) -> Arena:
        """Return an arena that takes over the arrays of a copy."""
        arena = cls.__new__(cls)
        arena._begin(arrays)
        return arena

    def __getstate__(self) -> dict[str, Any]:
        """Return copies of the arrays without their room to grow, and their layout."""
        copies: dict[str, Any] = {name: array.copy() for name, array in self.used_arrays().items()}
        return copies | {"layout": LAYOUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        layout = state.pop("layout", None)
        if layout != LAYOUT:
            raise ValueError(
                f"this forest was saved by another release of river_amf (its array layout is "
                f"{layout}, this release has {LAYOUT}); load it with that release"
            )
        # copied to our own dtypes: those of a pickle are equal, but would change later pickles
        arrays = {name: np.empty(array.shape, FIELDS[name].dtype) for name, array in state.items()}
        for name, array in state.items():
            arrays[name][...] = array
        self._begin(arrays)


def _keys_of_draws(voices: Array, trends: Array) -> list[int]:
    """Return the keys of what hears cosines: all voices but the first one, or the last trend."""
    return [int(key) for key in (*voices["key"][1:], *trends["key"][-1:])]


def rounded(number: int) -> int:
    """Return a number rounded up to four significant bits, for room that is seldom too small.

    >>> [rounded(number) for number in (7, 17, 100, 129)]
    [7, 18, 104, 144]
    """
    unit = 1 << max(number.bit_length() - 4, 0)
    return -(-number // unit) * unit


def slot_room(n_slots: int, period: int) -> int:
    """Return the room for slots to count categories in: a power of two, or all of them."""
    return min(1 << (n_slots - 1).bit_length(), period) if n_slots else 0


def set_prior(settings: Array, n_classes: int, dirichlet: float) -> None:
    """Write the prior of the nodes' predictions, and what follows from it, into the settings."""
    settings["n_classes"] = n_classes
    settings["dirichlet"] = dirichlet
    settings["total_dirichlet"] = n_classes * dirichlet
    settings["lgamma_dirichlet"] = math.lgamma(dirichlet)
    settings["lgamma_total"] = math.lgamma(n_classes * dirichlet)


def defaults(lengths: dict[str, int], names: Iterable[str]) -> dict[str, Array]:
    """Return arrays as they are before anything is learned, with axes of these lengths."""
    chosen = set(names)
    return {
        name: _empty(name, shape, FIELDS[name].axes)
        for name, shape in shapes(lengths).items()
        if name in chosen
    }


def _named_lengths(name: str, array: Array) -> dict[str, int]:
    """Return the lengths of the named axes of an array."""
    pairs = zip(FIELDS[name].axes, array.shape, strict=True)
    return {axis: length for axis, length in pairs if isinstance(axis, str)}


def _empty(name: str, shape: tuple[int, ...], axes: Iterable[str | int]) -> Array:
    """Return an array that is room to grow along these axes, filled unless all are undefined."""
    field = FIELDS[name]
    if UNDEFINED.issuperset(axes):
        return np.empty(shape, field.dtype)
    return np.full(shape, field.fill, field.dtype) if field.fill else np.zeros(shape, field.dtype)


def _resized(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    """Return a copy of an array in another shape, cut off or with room to grow."""
    lengths = zip(FIELDS[name].axes, array.shape, shape, strict=True)
    result = _empty(name, shape, [axis for axis, old, new in lengths if old != new])
    kept = tuple(slice(min(old, new)) for old, new in zip(array.shape, shape, strict=True))
    result[kept] = array[kept]
    return result
