"""The memory of a forest: the arena that holds its arrays (DESIGN.md: the arena, capacity)."""

from __future__ import annotations

import itertools
import math
import mmap
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from river_amf.state import layout
from river_amf.state.draws import draw_directions, draw_phases, draw_weights
from river_amf.state.layout import FIELDS, OUTPUT_FIELDS, Array, Field

_FIRST_NODES = 16
_FIRST_ROWS = 64
_FIRST_WORDS = 64
_FIRST_PENDING = 16
_FIRST_SPREAD = 0.01  # standard deviation of the perceptron's first weights of a label
_SMALL = 2**20  # bytes; arrays up to this size are cheap to move
# Bytes reserved along an axis once its arrays are not small; later _SPARE times their size.
_RESERVED = {"node": 2**24, "box": 2**25, "row": 2**24}
_SPARE = 1 if sys.platform == "win32" else 256  # as unused memory counts there
_ARRAY_BYTES = sys.getsizeof(np.empty(0))  # around its data
_PENDING_BYTES = 2**24  # of predictions for delayed labels
_OF_PENDING = [name for name, field in FIELDS.items() if field.axes[0] == "pending"]
_IN_HANDLE = {name: k for k, name in enumerate(layout.HANDLE.names or ())}


class PredictionBuffer(NamedTuple):
    """The buffer that predictions are written to."""

    answer: Any  # of the forest, a memoryview as those below
    address: int
    values: Array  # all arrays of `OUTPUT_FIELDS`


class Arena:
    """The arrays of a forest (`FIELDS`) as attributes."""

    # River sums up the sizes of all objects in a pipeline, but for those in an array of objects. So
    # reserved memory does not count; `__sizeof__` has what does.
    _arrays = np.array({}, dtype=object)

    def __getattr__(self, name: str) -> Array:
        try:
            array: Array = self._arrays.item()[name]
        except KeyError:
            raise AttributeError(name) from None
        return array

    def __sizeof__(self) -> int:
        return self.nbytes

    def __init__(self, arrays: dict[str, Array], capacities: dict[str, int] | None = None) -> None:
        """Take over the arrays of a copy, and create those that are not part of it."""
        capacities = capacities or {}
        for name, array in arrays.items():
            lengths = zip(FIELDS[name].axes, array.shape, strict=True)
            capacities.update({axis: n for axis, n in lengths if isinstance(axis, str)})
        # no copied array has voters, votes, scores or inputs
        settings = arrays["settings"]
        capacities |= layout.lengths_of_experts(settings, capacities["tree"])
        capacities = layout.lengths_of_classes(settings, capacities["class"]) | capacities
        capacities = layout.lengths_of_features(settings, capacities["feature"]) | capacities
        arrays = arrays | defaults(capacities, FIELDS.keys() - arrays)
        self.capacities: dict[str, int] = {}
        handle = np.zeros(1, layout.HANDLE)
        handle["next_tree"], handle["slot"] = -1, -2
        self._hold(arrays, capacities, handle)
        self._draw(range(settings["n_features"][0]))
        self._begin_predictions()

    def _hold(self, arrays: dict[str, Array], capacities: dict[str, int], handle: Array) -> None:
        """Set some arrays and lengths of axes, and a handle, with their addresses."""
        self._arrays = np.array(self._arrays.item() | arrays, dtype=object)
        self.capacities = self.capacities | capacities
        self.handle = handle
        self.address: int = handle.ctypes.data
        self.n_learned = self.counters["n_learned"].data  # as reading a field takes long
        self.kind = layout.kind_of(self.settings[0])
        # in one step, as reading and writing addresses one by one takes long
        numbers = {name: a.ctypes.data if a.size else self.address for name, a in arrays.items()}
        numbers |= {f"{axis}_capacity": length for axis, length in capacities.items()}
        handle.view(np.int64)[[_IN_HANDLE[name] for name in numbers]] = [*numbers.values()]
        if "row" in capacities:
            handle["most_rows"] = capacities["row"]

    def replacing(self, arrays: dict[str, Array], capacities: dict[str, int]) -> Arena:
        """Return an arena with some other arrays and lengths of axes, which shares all others."""
        arena = type(self).__new__(type(self))
        arena.__dict__.update(self.__dict__)
        # field by field it takes 30 us
        handle = self.handle.view(np.int64).copy().view(layout.HANDLE)
        arena._hold(arrays, capacities, handle)
        return arena

    def _draw(self, columns: range) -> None:
        """Draw the random Fourier features of the features in some columns."""
        n_cosines = self.capacities["cosine"]
        keys = [int(key) for key in (*self.linear_models["key"][-1:], *self.trends["key"][-1:])]
        for draw, key in enumerate(keys if n_cosines else ()):
            self.phases[draw] = draw_phases(key, n_cosines)
            for j in columns:
                self.directions[draw, j] = draw_directions(key, j, n_cosines)

    def _begin_predictions(self) -> None:
        """Allocate the buffer for predictions, of which the size follows from the capacities."""
        sizes = map(math.prod, layout.shapes(self.capacities, OUTPUT_FIELDS).values())
        self._offsets = [*itertools.accumulate(sizes, initial=0)]  # in numbers, and the end
        for name, offset in zip(OUTPUT_FIELDS, self._offsets, strict=False):
            self.handle[f"{name}_offset"] = 8 * offset
        settings, values = self.settings[0], np.zeros(self._offsets[-1])
        lengths = int(settings["n_features"]), int(settings["n_classes"])
        self.handle["most_pending"] = self._most_pending(*lengths)
        values[self._offsets[1]] = -1.0  # `made_at`: there is no prediction
        self.output = PredictionBuffer(values[: self._offsets[1]].data, values.ctypes.data, values)

    def _most_pending(self, n_features: int, n_classes: int) -> int:
        n_votes = layout.OF_VOTER if self.settings["is_regression"][0] else n_classes
        n_numbers = self.capacities["voter"] * n_votes + n_features
        n_bytes = layout.PENDING.itemsize + 8 * (1 + n_numbers)
        return min(int(self.settings["max_delayed_labels"][0]), _PENDING_BYTES // n_bytes)

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(getattr(self, name) for name in FIELDS)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, including spare capacity, but of large ones that in use only."""
        in_use, pairs = self._in_use(), zip(FIELDS.values(), self.arrays, strict=True)
        parts = (_used(f, a, in_use) if a.nbytes > _SMALL else a for f, a in pairs)
        return self.handle.nbytes + sum(_ARRAY_BYTES + part.nbytes for part in parts)

    def _in_use(self) -> dict[Any, int]:
        """Return the lengths in use of the axes along which spare capacity is undefined."""
        n_nodes, n_boxes = (int(self.trees[name].max()) for name in ("n_nodes", "n_boxes"))
        return {"node": n_nodes, "box": n_boxes, "row": int(self.counters["n_rows"][0])}

    def resized(self, **capacities: int) -> Arena:
        return self.replacing(self._resized_arrays(capacities), capacities)

    def _resized_arrays(self, capacities: dict[str, int]) -> dict[str, Array]:
        changed = {axis for axis, length in capacities.items() if length != self.capacities[axis]}
        lengths, in_use = self.capacities | capacities, self._in_use()
        return {
            name: _resized(field, getattr(self, name), field.shape(lengths), in_use)
            for name, field in FIELDS.items()
            if not changed.isdisjoint(field.axes)
        }

    def with_pending(self, capacity: int) -> Arena:
        """Return an arena in which the ring has another capacity, for the newest predictions."""
        counters = self.counters.copy()
        stop = int(counters["first_pending"][0] + counters["n_pending"][0])
        n = min(int(counters["n_pending"][0]), capacity)
        positions = np.arange(stop - n, stop) % max(len(self.pending), 1)
        arrays = defaults(self.capacities | {"pending": capacity}, _OF_PENDING)
        for name, array in arrays.items():
            array[:n] = getattr(self, name)[positions]
        counters["first_pending"], counters["n_pending"] = 0, n
        counters["n_waiting"] = n - arrays["pending"]["is_taken"].sum()
        return self.replacing(arrays | {"counters": counters}, {"pending": capacity})

    def with_room(self, n_predictions: int) -> Arena:
        """Return an arena with room for so many more predictions in the ring, if allowed."""
        wanted = int(self.counters["n_pending"][0]) + n_predictions
        most = int(self.handle["most_pending"][0])
        if min(wanted, most) <= self.capacities["pending"]:
            return self
        wanted = max(wanted, 2 * self.capacities["pending"], _FIRST_PENDING)
        return self.with_pending(min(wanted, most))

    @property
    def expects_delays(self) -> bool:
        """Whether a label may be late though its row has just been predicted."""
        return bool(self.counters["n_waiting"][0] and self.counters["expected_delay"][0])

    def without_pending(self) -> Arena:
        counters = self.counters.copy()
        for name, _ in layout.PENDING_COUNTERS:
            counters[name] = 0
        return self.replacing({"counters": counters}, {})

    def _output(self, buffer: Array) -> dict[str, Array]:
        parts = np.split(buffer, self._offsets[1:-1])
        return {
            name: part.reshape(field.shape(self.capacities))
            for (name, field), part in zip(OUTPUT_FIELDS.items(), parts, strict=True)
        }

    def last_outputs(self) -> tuple[Array, Array, Array, Array, float]:
        """Return copies of what was predicted last; at the end, the share of plain trees."""
        outputs = self._output(self.output.values.copy())
        votes = self.votes[:, 0].copy()
        terms = outputs["terms"].reshape(-1, max(self.capacities["trend_input"], 1))
        is_late = self.capacities["class"] and self.context[layout.LATENESS] > 0.0
        share = float(self.counters["plain_share"][0]) if is_late else 0.0
        return votes, outputs["standardized"], terms, outputs["additive_inputs"], share

    def grown(self, axis: str, factor: float = 2.0) -> Arena:
        """Return an arena with `factor` times the nodes or boxes, up to `max_nodes`."""
        wanted = max(int(factor * self.capacities[axis]), _FIRST_NODES)
        return self._with_spare(axis, wanted, int(self.settings["max_nodes"][0]))

    def _with_spare(self, axis: str, wanted: int, most: int) -> Arena:
        """Return an arena with a wanted length of an axis, or far more if its arrays are large."""
        # Memory costs nothing until it is written to. Copies made later would take long.
        arrays = [getattr(self, name) for name, field in FIELDS.items() if axis in field.axes]
        n_bytes, first = sum(array.nbytes for array in arrays), _RESERVED[axis]
        n_reserved = first if 2 * n_bytes < first else _SPARE * n_bytes
        length = n_reserved * self.capacities[axis] // n_bytes if n_bytes > _SMALL else 0
        while length > wanted:
            with suppress(MemoryError):
                return self.resized(**{axis: min(length, most)})
            length //= 4
        return self.resized(**{axis: min(wanted, most)})

    def with_codes(self, n_codes: int) -> Arena:
        if n_codes < self.capacities["category"]:
            return self
        return self.resized(category=1 + (1 << (n_codes - 1).bit_length()))

    def with_words(self, n_words: int, most: int) -> Arena:
        """Return an arena with capacity for a number of words, of which there may be `most`."""
        if n_words <= self.capacities["word"] <= 1 + most:
            return self
        capacity = max(n_words + n_words // 2, _FIRST_WORDS)
        return self.resized(
            **layout.lengths_of_words(self.settings, max(min(capacity, 1 + most), n_words))
        )

    def fit_rows(self) -> Arena:
        """Return an arena whose store of samples has capacity beyond the rows in use."""
        # by more if there are many nodes, as whenever the store is full all of them are visited
        n_rows = int(self.counters["n_rows"][0])
        more = n_rows if self.rows.nbytes < _SMALL else n_rows // 8
        # not beyond the first row with which a list could be too long, if that is far away
        longest_list = int(self.settings["longest_list"][0])
        if n_rows + more > longest_list:
            more = min(more, max(longest_list - self.longest(), n_rows // 8))
        n_nodes = int(self.trees["n_nodes"].max())
        most_rows = n_rows + max(_FIRST_ROWS, more, n_nodes // 4)
        has_room = most_rows <= self.capacities["row"]
        arena = self if has_room else self._with_spare("row", most_rows, sys.maxsize)
        arena.handle["most_rows"] = most_rows
        return arena

    def longest(self) -> int:
        """Return the length of the longest list of rows that a leaf keeps."""
        counts = zip(self.nodes["n_rows"], self.trees["n_nodes"], strict=True)
        return max((int(rows[:n].max()) for rows, n in counts if n), default=0)

    def drop_rows(self) -> Arena:
        """Return an arena without the unused capacity of the store of samples, if it is most."""
        n_rows = int(self.counters["n_rows"][0])
        with suppress(MemoryError):  # there may not even be enough for the smaller copy
            if 2 * n_rows < self.handle["most_rows"][0]:
                return self.resized(row=n_rows)
        return self

    def extended(self, is_categorical: Sequence[bool], n_labels: int, dirichlet: float) -> Arena:
        """Return an arena for all of these features and labels, perhaps with a new prior."""
        # In existing nodes and rows, a new feature is missing (NaN), in rows first from now on. The
        # range of a categorical feature counts as 1, as do all ranges under "unit" intensity.
        n_features = len(is_categorical)
        settings = self.settings.copy()
        n_classes = max(n_labels, int(settings["n_classes"][0]))
        most_pending = self._most_pending(n_features, n_classes)
        if self.capacities["pending"] > most_pending:
            return self.with_pending(most_pending).extended(is_categorical, n_labels, dirichlet)
        n_before = int(settings["n_labels"][0])
        new = slice(int(settings["n_features"][0]), n_features)
        settings["n_features"], settings["n_labels"] = n_features, n_labels
        settings["n_numeric"] = n_features - sum(is_categorical)
        settings["has_categories"] = any(is_categorical)
        capacities = self._enough(settings, n_classes)
        self.rows[: int(self.counters["n_rows"][0]), new] = np.nan
        changed = "is_categorical", "intensity", "stand_ins", "input_numbers"
        arrays = {name: getattr(self, name).copy() for name in changed}
        try:
            arrays |= self._resized_arrays(capacities)
        except MemoryError:  # for what is reserved
            capacities |= self._in_use()
            arrays |= self._resized_arrays(capacities)
        arrays["settings"] = settings
        if n_labels > settings["n_classes"][0]:
            set_prior(settings, n_labels, dirichlet)
            arrays["pure"] = np.full_like(self.pure, np.nan)  # it follows from the prior
        arrays["is_categorical"][:n_features] = is_categorical
        categorical = arrays["is_categorical"][new].astype(bool)
        by_range = ~categorical & bool(settings["range_intensity"])
        arrays["intensity"][:, new] = np.where(by_range, 0.0, 1.0)
        if not settings["n_words"][0]:
            arrays["stand_ins"][new] = np.where(categorical, layout.MISSING_CODE, np.nan)
        arena = self.replacing(arrays, capacities)
        # In place if there is room: these rows are not in use yet, and the same each time.
        arena._draw(range(new.start, n_features))
        if len(self.linear_models):
            arena._begin_terms(new, n_before)
            arena._begin_inputs(layout.n_inputs_of(self.settings), n_before)
        arena.handle["version"] += 1
        arena._begin_predictions()
        return arena

    @property
    def n_before_cosines(self) -> int | None:
        """How many more samples are learned without random Fourier features, None for all."""
        is_later = self.capacities["draw"] and not self.capacities["cosine"]
        return layout.FEW_FOR_COSINES - int(self.n_learned[0]) if is_later else None

    def with_cosines(self) -> Arena:
        """Return an arena with random Fourier features, if these are due."""
        n = layout.n_cosines_of(self.settings, int(self.n_learned[0]))
        if n == self.capacities["cosine"]:
            return self
        settings = self.settings.copy()
        settings["n_cosines"] = n
        capacities = layout.lengths_of_features(settings, self.capacities["feature"])
        arrays = self._resized_arrays(capacities | {"cosine": n}) | {"settings": settings}
        # Inputs between those there are: these move, with weights and covariances.
        n_features, name = int(settings["n_features"][0]), "smooth"
        positions = np.append(0, 1 + n + np.arange(min(n_features, layout.MOST_TREND_FEATURES)))
        if len(self.linear_models):
            name, terms = "smooth_weights", range(min(n_features, layout.MOST_TERMS))
            firsts = np.array([layout.start_of_term(n, q) for q in terms], np.intp)
            positions = np.append(0, firsts[:, None] + [0, 1])
        arrays |= defaults(self.capacities | capacities, [name, "smooth_covariance"])
        arrays[name][:, positions] = getattr(self, name)[:, : len(positions)]
        a, b = (positions[index] for index in np.tril_indices(len(positions)))
        arrays["smooth_covariance"][a * (a + 1) // 2 + b] = self.smooth_covariance[: len(a)]
        arena = self.replacing(arrays, capacities | {"cosine": n})
        arena._draw(range(n_features))
        arena.handle["version"] += 1
        arena._begin_predictions()
        return arena

    def _begin_terms(self, new: slice, n_labels: int) -> None:
        """Begin with new features, and labels from `n_labels` on, in the additive experts."""
        # The weights of all profiles are equal at first: naive Bayes, averaged. As above, in place.
        before, n_terms = (min(n, layout.MOST_TERMS) for n in (new.start, new.stop))
        n_cosines = int(self.settings["n_cosines"][0])
        for n, weights in ((0, self.additive_weights), (n_cosines, self.smooth_weights)):
            for q in range(n_terms):
                new_labels = slice(n_labels if q < before else 0, None)
                weights[new_labels, layout.start_of_term(n, q) + 1] = 1.0 / n_terms

    def _begin_inputs(self, n_inputs: int, n_labels: int) -> None:
        """Begin with inputs from `n_inputs` and labels from `n_labels` on, in the perceptron."""
        settings, key = self.settings[0], int(self.linear_models["key"][0])
        numbers = self.input_numbers[: settings["n_features"]]
        is_categorical = self.is_categorical[: len(numbers)]
        are_inputs = layout.are_inputs(is_categorical, settings["n_labels"], numbers.shape[1])
        is_new = are_inputs & (numbers < 0)
        n = n_inputs + int(is_new.sum())
        numbers[is_new] = np.arange(n_inputs, n)
        new = slice(n_inputs, min(n, layout.MOST_INPUTS))
        first = draw_weights(key, 0, new.stop)[new]
        self.hidden_weights[1 + new.start : 1 + new.stop] = math.sqrt(2.0 / max(n, 1)) * first
        for c in range(n_labels, int(settings["n_labels"])):
            self.output_weights[c, 1:] = _FIRST_SPREAD * draw_weights(key, 1 + c, 1)[0, 1:]

    def _enough(self, settings: Array, n_classes: int) -> dict[str, int]:
        """Return the lengths of axes that have to change for these settings."""
        # A larger forest gets half as much again, or adding features would take quadratic time.
        grown = self.counts, self.boxes, self.hidden_weights, self.directions
        is_small = sum(array.nbytes for array in grown) <= _SMALL
        capacities: dict[str, int] = {}
        n_features = int(settings["n_features"][0])
        if n_features > self.capacities["feature"]:
            is_exact = is_small or self.settings["n_features"][0] == 0
            capacity = n_features if is_exact else n_features + n_features // 2
            capacities |= layout.lengths_of_features(self.settings, capacity)
        n_inputs = layout.n_inputs_of(settings)
        lengths = layout.lengths_of_inputs(settings, n_inputs)
        if lengths["input"] > self.capacities["input"]:
            capacities |= layout.lengths_of_inputs(settings, n_inputs + n_inputs // 4)
        n_categorical = n_features - int(settings["n_numeric"][0])
        lengths = layout.lengths_of_categorical(self.settings, n_categorical)
        if any(length > self.capacities[axis] for axis, length in lengths.items()):
            more = n_categorical // 8
            capacities |= layout.lengths_of_categorical(self.settings, n_categorical + more)
        if n_classes > self.capacities["class"]:
            capacity = n_classes if is_small else n_classes + self.capacities["class"] // 2
            capacities |= layout.lengths_of_classes(self.settings, capacity)
        return capacities

    def used_arrays(self) -> dict[str, Array]:
        """Return views of the arrays that belong to a copy, without their spare capacity."""
        # Trees smaller than the largest still have unused entries, which are set to zero.
        lengths = layout.lengths_in_use(self.settings, self.counters, self.trees)
        for axis, count in (("node", "n_nodes"), ("box", "n_boxes")):
            for name in (name for name, field in FIELDS.items() if axis in field.axes):
                for t, n_used in enumerate(self.trees[count].tolist()):
                    getattr(self, name)[t, n_used : lengths[axis]] = 0
        used = layout.shapes(lengths)
        return {name: getattr(self, name)[tuple(map(slice, used[name]))] for name in layout.COPIED}


def first_arena(settings: Array, trees: Array, linear_models: Array, trends: Array) -> Arena:
    counters = np.zeros(1, layout.COUNTERS)
    counters["newest_weight"] = 1.0
    capacity = min(_FIRST_NODES, int(settings["max_nodes"][0]))
    capacities = layout.lengths_in_use(settings, counters, trees)
    capacities |= {"node": capacity, "box": capacity // 2}
    capacities["row"] = 0 if settings["split_pure"][0] else _FIRST_ROWS
    given = {"settings": settings, "counters": counters, "trees": trees}
    given |= {"linear_models": linear_models, "trends": trends}
    return Arena(given, capacities)


def set_prior(settings: Array, n_classes: int, dirichlet: float) -> None:
    settings["n_classes"] = n_classes
    settings["dirichlet"] = dirichlet
    settings["total_dirichlet"] = n_classes * dirichlet
    settings["lgamma_dirichlet"] = math.lgamma(dirichlet)
    settings["lgamma_total"] = math.lgamma(n_classes * dirichlet)


def defaults(lengths: dict[str, int], names: Iterable[str]) -> dict[str, Array]:
    """Return arrays as they are before anything is learned, with axes of these lengths."""
    chosen = set(names)
    fields = {name: field for name, field in FIELDS.items() if name in chosen}
    shapes = layout.shapes(lengths, fields)
    return {name: _filled(field, shapes[name]) for name, field in fields.items()}


def _filled(field: Field, shape: tuple[int, ...]) -> Array:
    return np.full(shape, field.fill, field.dtype) if field.fill else np.zeros(shape, field.dtype)


def _used(field: Field, array: Array, in_use: dict[Any, int]) -> Array:
    """Return a view of the part of an array up to these lengths of its axes."""
    return array[tuple(slice(in_use.get(axis)) for axis in field.axes)]


def _resized(field: Field, array: Array, shape: tuple[int, ...], in_use: dict[Any, int]) -> Array:
    """Return a copy of an array in another shape, cut off or with spare capacity."""
    if layout.UNDEFINED.isdisjoint(field.axes):
        old, new = array, (result := _filled(field, shape))
        if not array.size:
            return result
    else:
        result = _uninitialized(shape, field.dtype)
        old, new = _used(field, array, in_use), _used(field, result, in_use)
        if old.shape != new.shape:
            new[...] = field.fill
    kept = tuple(map(slice, map(min, old.shape, new.shape)))
    new[kept] = old[kept]
    return result


def _uninitialized(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an array, whose memory costs nothing until it is written to if it is large."""
    # With NumPy's memory, the first node of each tree would take a huge page.
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes > _SMALL and sys.platform != "win32":
        with suppress(OSError):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            return np.ndarray(shape, dtype, mmap.mmap(-1, n_bytes, flags=flags))
    return np.empty(shape, dtype)
