"""The engine of a forest, between the public classes and the kernels.

It holds everything that a forest has learned: features, labels and the arena. It creates the arena,
takes in new labels and features, makes room, and runs samples and blocks through the kernels. The
public classes hold the parameters and the documentation; they pass themselves to the engine where
it needs parameters.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels, layout, state
from river_amf.columns import encode_to_learn, encode_to_predict
from river_amf.encoding import Features, Labels, NewFeatures
from river_amf.frames import Column
from river_amf.kernels import DONE, INFINITE, RELEASED, learn_sample, predict_sample
from river_amf.parameters import automatic_dirichlet
from river_amf.persistence import soundness
from river_amf.state import Arena, Block

# The maximum number of samples that a pure leaf keeps (or eight per feature, if that is more).
# Splitting a leaf of that size takes milliseconds, and determines the weights of its children to a
# few percent.
LONGEST_LIST = 2048
SHORTER_LIST = 512  # lower bound of that maximum where max_nodes is set, so memory is limited

_NO_LIMIT = 2**31 - 1  # 32-bit links
_LEAST_GROWTH, _MOST_GROWTH = 1.5, 8.0  # bounds of the factor by which the room for nodes grows
_WORTH_THREADS = 32  # minimum samples: starting a thread takes as long as learning a few of them

Rows = NDArray[np.int64]
Probabilities = NDArray[np.float64]


class Parameters(Protocol):
    """The parameters that an engine reads from a model."""

    n_classes: int | None
    n_estimators: int
    step: float
    split_prior: float
    use_aggregation: bool
    dirichlet: float | None
    split_pure: bool
    max_nodes: int | None
    split_intensity: str
    fading_factor: float | None
    restart_threshold: float | None
    vote: str
    n_jobs: int
    seed: int | None


class BlockAnswers(NamedTuple):
    """The predictions for a block of rows."""

    proba: Probabilities  # (n_rows, n_labels)
    n_known: Rows  # how many of the labels were known when each row was predicted
    labels: list[Hashable]  # known at the end of the block


class Engine:
    """The features and labels that a forest knows, and its arena (None before the first sample)."""

    def __init__(self) -> None:
        self.features = Features()
        self.labels = Labels()
        self.arena: Arena | None = None

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        features: Features,
        labels: Labels,
        arrays: dict[str, NDArray[Any]],
    ) -> Self:
        """Return an engine with the content of a file, or raise FileError if it is not sound."""
        engine = cls()
        engine.features, engine.labels = features, labels
        soundness.demand(arrays or not labels, "labels without any trees")
        soundness.demand(arrays or not features, "features without any trees")
        if arrays:
            n_classes = max(len(labels), parameters.n_classes or 1)
            soundness.demand(parameters.n_classes in (None, n_classes), "number of labels")
            settings = settings_of(parameters, n_classes)
            settings["n_labels"] = len(labels)
            settings["n_features"] = len(features)
            settings["has_categories"] = any(features.is_categorical)
            own = {
                "settings": settings,
                "is_categorical": np.array(features.is_categorical, np.uint8),
            }
            whole = soundness.whole(arrays, own)
            soundness.demand(whole["trees"].shape == (parameters.n_estimators,), "number of trees")
            soundness.check(whole, features.n_categories)
            engine.arena = Arena.of(whole)
        return engine

    def restricted_to(self, trees: list[int] | None, *, aggregated: bool) -> Self:
        """Return an engine of the given trees (or all) for predictions, with aggregation or not."""
        # It is for predictions only: it shares arrays with this engine, and learning would corrupt
        # them. Selected trees vote by their mean, as learned weights are those of a whole forest.
        twin = type(self)()
        twin.features, twin.labels = self.features, self.labels
        if self.arena is not None:
            arrays = {name: getattr(self.arena, name) for name in layout.COPIED}
            settings = arrays["settings"] = arrays["settings"].copy()
            settings["use_aggregation"] = aggregated
            if trees is not None:
                settings["learns_vote"] = False
                of_trees = [name for name in arrays if layout.FIELDS[name].axes[0] == "tree"]
                arrays |= {name: arrays[name][trees] for name in of_trees}
            twin.arena = Arena.of(arrays)
        return twin

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, including room to grow, and of the names, labels and categories."""
        arrays = 0 if self.arena is None else self.arena.nbytes
        return arrays + self.features.nbytes + self.labels.nbytes

    def close_gaps(self) -> None:
        """Close the gaps in the store of samples."""
        # The gaps depend on how much room the store had, so equal models could give unequal
        # pickles.
        if self.arena is not None:
            kernels.compact_rows(self.arena.address)

    # One sample

    def learn(self, x: dict[Any, Any], y: Hashable, weight: float, parameters: Parameters) -> None:
        """Learn one sample, whose weight has been checked."""
        sample = self.features.encode_known(x)
        try:
            label = self.labels.index.get(y)
        except TypeError:
            label = self.labels.find(y)  # raises
        if sample is None or label is None or weight == 0.0:
            new, row = self.features.read(x)
            if label is None:
                self.labels.check_new(y, parameters.n_classes)
            if weight == 0.0:
                return
            index = len(self.labels) if label is None else label
            if label is None or any(new):
                self.admit([y] if label is None else [], new, parameters)
            label, sample = index, self.features.place(row)
        arena: Arena = self.arena  # type: ignore[assignment]
        if sample.fits is not arena.rooms:
            sample.room, sample.fits = arena.new_room(), arena.rooms
        address = sample.room.address
        try:
            status = learn_sample(arena.address, sample.address, label, weight, address)
            while status < 0:
                _make_room(arena, status)
                status = learn_sample(arena.address, sample.address, label, weight, address)
        except BaseException:  # no memory, or a signal: the remaining trees skip this sample
            arena.handle["next_tree"] = kernels.NONE
            raise
        if status == INFINITE:
            self.features.check(x)  # raises
        elif status == RELEASED:
            _drop_rows(arena)

    def predict(self, x: dict[Any, Any]) -> dict[Any, float]:
        """Return the probability of each label seen so far."""
        arena = self.arena
        if arena is None:
            self.features.check(x)
            return {}
        sample = self.features.encode_known(x)
        if sample is None:
            sample = self.features.encode(x)
        if sample.fits is not arena.rooms:
            sample.room, sample.fits = arena.new_room(), arena.rooms
        proba, address = sample.room
        status = predict_sample(arena.address, sample.address, address)
        if status == INFINITE:
            self.features.check(x)  # raises
        # proba is longer than the labels where n_classes counts classes not seen yet
        return dict(zip(self.labels.index, proba.tolist()))  # noqa: B905

    # New labels, features and categories

    def admit(self, new_labels: list[Hashable], new: NewFeatures, parameters: Parameters) -> None:
        """Take in what is new in a checked sample: at most one label, features and categories."""
        # Room is made first, also for the sample itself: if memory runs out, nothing has changed.
        arena = begin(parameters) if self.arena is None else self.arena
        _make_ready(arena, 1)
        n_labels = len(self.labels) + len(new_labels)
        n_features = len(self.features) + len(new.numeric) + len(new.categorical)
        arena.reserve(n_features, n_labels)
        self.arena = arena
        self.features.add(new)
        arena.set_features(self.features.is_categorical)
        for label in new_labels:
            self.labels.add(label)
        arena.settings["n_labels"] = n_labels
        if n_labels > arena.settings["n_classes"][0]:
            arena.set_prior(n_labels, dirichlet_of(parameters, n_labels))
            if parameters.fading_factor is None:  # with fading, there is no closed form
                kernels.recompute_all_odds(arena.address)

    # Blocks of samples

    def predict_block(self, table: list[Column], n_rows: int, n_jobs: int) -> Probabilities:
        """Return the probabilities of the labels seen so far, of shape (n_rows, n_labels)."""
        values = encode_to_predict(table, n_rows, self.features, is_fresh=self.arena is None)
        weights, labels = np.zeros(n_rows), np.zeros(n_rows, np.int64)
        block = Block(values, labels, weights, len(self.labels))
        if self.arena is not None:
            _run(self.arena, block, 0, n_rows, predicts=True, learns=False, n_jobs=n_jobs)
        return block.proba

    def learn_block(
        self,
        table: list[Column],
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
        *,
        predicts: bool,
    ) -> BlockAnswers:
        """Learn a block of rows; if `predicts`, predict each one before it is learned."""
        encoded = encode_to_learn(
            table, labels, weights, self.features, self.labels, parameters.n_classes
        )
        n_rows = len(weights)
        n_labels = len(self.labels) + sum(len(arrival.label) for arrival in encoded.arrivals)
        block = Block(encoded.values, encoded.labels, weights, n_labels)
        n_known = np.zeros(n_rows, np.int64)

        def run(start: int, stop: int, *, predicts: bool, learns: bool) -> None:
            """Process the rows from `start` to `stop`, which contain nothing new."""
            if predicts:
                n_known[start:stop] = len(self.labels)
            if self.arena is not None:
                jobs = parameters.n_jobs
                _run(self.arena, block, start, stop, predicts=predicts, learns=learns, n_jobs=jobs)

        self.features.add(NewFeatures([], [], encoded.categories))
        start = 0
        for row, new_labels, new in encoded.arrivals:
            run(start, row, predicts=predicts, learns=True)
            run(row, row + 1, predicts=predicts, learns=False)
            self.admit(new_labels, new, parameters)
            run(row, row + 1, predicts=False, learns=True)
            start = row + 1
        run(start, n_rows, predicts=predicts, learns=True)
        return BlockAnswers(block.proba, n_known, list(self.labels))


# ------------------------------------------------------------------------------------- a new forest


def begin(parameters: Parameters) -> Arena:
    """Return the arena of a forest that has not learned any samples."""
    n_trees = parameters.n_estimators
    words = np.random.SeedSequence(parameters.seed).generate_state(2 * n_trees, np.uint64)
    trees = np.zeros(n_trees, layout.TREE)
    trees["random_state"], trees["key"] = words[::2], words[1::2] >> np.uint64(32)
    trees["root"] = kernels.NONE
    trees["faded_share"] = 0.5
    trees["vote_weight"] = 1.0 / n_trees
    return Arena(settings_of(parameters, parameters.n_classes or 1), trees)


def settings_of(parameters: Parameters, n_classes: int) -> NDArray[Any]:
    """Return the settings that follow from the parameters and the number of classes."""
    settings = np.zeros(1, layout.SETTINGS)
    settings["step"] = parameters.step
    settings["log_split"] = math.log(parameters.split_prior)
    settings["log_stop"] = math.log1p(-parameters.split_prior)
    state.set_prior(settings, n_classes, dirichlet_of(parameters, n_classes))
    settings["max_nodes"] = min(parameters.max_nodes or _NO_LIMIT, _NO_LIMIT)
    settings["longest_list"] = LONGEST_LIST
    if parameters.max_nodes is not None:
        shorter = max(SHORTER_LIST, parameters.max_nodes // 8)
        settings["longest_list"] = min(LONGEST_LIST, shorter)
    settings["use_aggregation"] = parameters.use_aggregation
    settings["fades"] = parameters.fading_factor is not None
    settings["fading_factor"] = parameters.fading_factor or 0.0
    settings["split_pure"] = parameters.split_pure
    settings["range_intensity"] = parameters.split_intensity != "unit"
    settings["relevance"] = parameters.split_intensity == "relevance"
    settings["restart_threshold"] = parameters.restart_threshold or 0.0
    settings["learns_vote"] = parameters.vote == "learned"
    return settings


def dirichlet_of(parameters: Parameters, n_classes: int) -> float:
    """Return the Dirichlet parameter in effect for a number of classes."""
    if parameters.dirichlet is None:
        return automatic_dirichlet(n_classes)
    return float(parameters.dirichlet)


# -------------------------------------------------------------------------------------------- room


def _make_ready(arena: Arena, wanted: int, factor: float = 2.0) -> int:
    """Make room for about `wanted` samples, and return for how many there is room."""
    while (n_ready := kernels.ready_samples(arena.address, wanted)) < 0:
        _make_room(arena, n_ready, factor)
    return n_ready


def _make_room(arena: Arena, lack: int, factor: float = 2.0) -> None:
    """Enlarge what a kernel has run out of by `factor`."""
    if lack == kernels.STORE_FULL:
        kernels.compact_rows(arena.address)
        arena.fit_rows()
    elif lack == kernels.NODES_FULL:
        arena.grow_nodes(factor)
    else:
        arena.grow_boxes(factor)


def _drop_rows(arena: Arena) -> None:
    """Free the memory of samples that no tree keeps any more."""
    kernels.compact_rows(arena.address)
    arena.drop_rows()


# ------------------------------------------------------------------------------------------ blocks


def _run(
    arena: Arena,
    block: Block,
    start: int,
    stop: int,
    *,
    predicts: bool,
    learns: bool,
    n_jobs: int,
) -> None:
    """Predict, learn, or predict and learn the samples from `start` to `stop`, in threads."""
    if start == stop:
        return
    block.prepare(arena, stop - start, predicts=predicts, learns=learns)
    arena.handle["version"] += learns
    n_trees = len(arena.trees)
    n_threads = min(n_trees, _n_cores() if n_jobs == -1 else n_jobs)
    n_threads = n_threads if stop - start >= _WORTH_THREADS else 1
    cuts = [n_trees * k // n_threads for k in range(n_threads + 1)]
    done = start
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(n_threads - 1)) if n_threads > 1 else None
        each = functools.partial(_map, pool) if pool else map
        while done < stop:
            wanted = min(block.chunk, stop - done)
            if learns:
                wanted = _make_ready(arena, wanted, _growth(arena, stop - done))
            _run_chunk(arena, (arena.address, block.address, done, done + wanted), cuts, each)
            done += wanted


def _run_chunk(
    arena: Arena,
    chunk: tuple[int, int, int, int],
    cuts: list[int],
    each: Callable[..., Iterable[int]],
) -> None:
    """Run a chunk through the trees of each thread, again whenever some ran out of room."""
    n_late = kernels.open_chunk(*chunk)

    def run_trees(first: int, end: int) -> int:
        return kernels.run_chunk(*chunk, first, end)

    while lacks := set(each(run_trees, cuts[:-1], cuts[1:])) - {DONE}:
        for lack in lacks:
            _make_room(arena, lack)
    if kernels.close_chunk(*chunk, n_late) == RELEASED:
        _drop_rows(arena)


def _map(pool: ThreadPoolExecutor, call: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
    """Map a function over columns of arguments, in the threads of a pool and in this one."""
    first, *others = zip(*columns, strict=False)
    futures = [pool.submit(call, *arguments) for arguments in others]
    return [call(*first), *(future.result() for future in futures)]


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _growth(arena: Arena, to_come: int) -> float:
    """Return the factor by which to enlarge full arrays with `to_come` samples left in a block."""
    # About what those samples will need, so that the arrays are seldom moved. Trees grow a little
    # more slowly than the stream.
    root = int(arena.trees["root"][0])
    n_seen = 0.0 if root == kernels.NONE else float(arena.nodes["n_samples"][0, root])
    growth = math.pow(1.0 + to_come / max(n_seen, 1.0), 0.8)
    return min(max(_LEAST_GROWTH, growth), _MOST_GROWTH)
