"""The engine of a forest, between the public classes and the kernels.

It holds everything that a forest has learned: features, labels and the arena. It takes in new
labels and features, makes room, and runs samples and blocks through the kernels. The public classes
hold the parameters and the documentation; they pass themselves to the engine where it needs
parameters. They also hold its lock while they call it (see `locks`); a function here does not ask
for it.

Any call may be interrupted between two steps of the interpreter, by an exception from a signal
handler or for want of memory. So whatever takes more than one step is first written down, in
`Engine.unfinished`, when all that can fail has been done; the next call finishes it (`settle`).
That way, a call has learned all of a sample or nothing, and of a block all rows up to one.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from river_amf import columns, events, kernels, layout, words
from river_amf.columns import (
    EncodedBlock,
    NewCategory,
    encode_to_learn,
    encode_to_predict,
    part_of,
)
from river_amf.encoding import EncodedSample, Features, NewFeatures
from river_amf.frames import Column
from river_amf.kernels import DONE, INFINITE, RELEASED, TOO_HEAVY, learn_sample, predict_sample
from river_amf.kinds import as_dict
from river_amf.labels import Labels
from river_amf.layout import LOWER, UPPER
from river_amf.locks import ModelLock
from river_amf.restoring import arena_of_file
from river_amf.room import growth, ready, samples_to_check, with_room, within
from river_amf.rows import NEVER, Problems
from river_amf.settings import (
    Parameters,
    are_in_effect,
    begin,
    bound_of,
    bounds_of_words,
    dirichlet_of,
    has_words,
    known_of,
    limits_of,
    most_columns,
)
from river_amf.sparse import SparseFeatures
from river_amf.sparse_rows import SparseRows, check_rows
from river_amf.state import Arena, Block
from river_amf.targets import Targets
from river_amf.voices import Heard
from river_amf.weights import check_totals
from river_amf.workers import Workers

_LEAST_PART = 1024  # minimum rows that are encoded at once
_WORTH_THREADS = 32  # minimum samples: starting a thread takes as long as learning a few of them

Rows = NDArray[np.int64]
Answers = NDArray[np.float64]


class BlockAnswers(NamedTuple):
    """The predictions for a block of rows."""

    answers: Answers  # (n_rows, n_labels) probabilities, or what `layout` says of real targets
    n_known: Rows  # how many of the labels were known when each row was predicted
    labels: list[Hashable]  # known at the end of the block


class Arrival(NamedTuple):
    """A sample with something new, and all that it takes to learn it, ready to be put in place."""

    features: Features
    labels: list[Hashable]  # at most one
    categories: list[NewCategory]
    arena: Arena
    needs_odds: bool  # as its prior differs from the one before
    sample: EncodedSample
    target: float
    weight: float
    words: Sequence[Hashable]


class Admitted(NamedTuple):
    """The sample of an arrival of which all else has been done."""

    sample: EncodedSample
    target: float
    weight: float
    version: int  # of the forest, before it learns the sample


class Chunk(NamedTuple):
    """Rows of a block that are learned together."""

    block: Block
    start: int
    stop: int
    categories: list[NewCategory]
    workers: list[Workers]  # that have been started for it


class Engine:
    """The features and labels that a forest knows, and its arena (None before the first sample).

    The labels of a regressor are `Targets`, which have the methods of `Labels` that are used here.
    """

    def __init__(self, labels: Labels | Targets | None = None) -> None:
        self.features = Features()
        self.labels = Labels() if labels is None else labels  # or what takes their place
        self.arena: Arena | None = None
        self.lock = ModelLock()
        # What an interrupted call has left to do. A sample is here while it is learned.
        self.unfinished: EncodedSample | Arrival | Admitted | Chunk | None = None

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        features: Features,
        labels: Labels | Targets,
        arrays: dict[str, NDArray[Any]],
    ) -> Self:
        """Return an engine with the content of a file, or raise FileError if it is not sound."""
        engine = cls()
        engine.features, engine.labels = features, labels
        engine.arena = arena_of_file(parameters, features, labels, arrays)
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
                for name in ("learns_vote", "n_voices", "hears_words"):
                    settings[name] = 0
                of_trees = [name for name in arrays if layout.FIELDS[name].axes[0] == "tree"]
                arrays |= {name: arrays[name][trees] for name in of_trees}
                arrays |= self.arena.silenced()
            twin.arena = Arena.of(arrays)
        return twin

    def nbytes(self) -> int:
        """Return the bytes of the arrays, including room to grow, and of names and categories."""
        self.settle()
        arrays = 0 if self.arena is None else self.arena.nbytes
        return arrays + self.features.nbytes + self.labels.nbytes

    def faded_share(self) -> float:
        """Return the mean share of the faded counts in the recent predictions of the trees."""
        self.settle()
        return 0.5 if self.arena is None else float(self.arena.trees["faded_share"].mean())

    # Copies

    def close_gaps(self) -> None:
        """Close the gaps in the store of samples."""
        # The gaps depend on how much room the store had, so equal models could give unequal
        # pickles.
        self.settle()
        if self.arena is not None:
            kernels.compact_rows(self.arena.address)

    def _snapshot(self) -> dict[str, Any]:
        """Return copies of all that has been learned."""
        arena = None if self.arena is None else self.arena.__getstate__()
        return {"features": self.features.copy(), "labels": self.labels.copy(), "arena": arena}

    def __getstate__(self) -> dict[str, Any]:
        return self.lock.read(self.close_gaps, self._snapshot, is_alone=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        Engine.__init__(self)
        self.features, self.labels = state["features"], state["labels"]
        if state["arena"] is not None:
            self.arena = Arena.__new__(Arena)
            self.arena.__setstate__(state["arena"])

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self)()
        state = self.__getstate__()
        twin.features, twin.labels = state["features"], state["labels"]
        if state["arena"] is not None:
            twin.arena = Arena.of({name: state["arena"][name] for name in layout.COPIED})
        return twin

    # One sample

    def learn(self, x: Any, y: Hashable, weight: float, parameters: Parameters) -> None:
        """Learn one sample, whose weight has been checked."""
        if self.unfinished is not None:
            self.settle()
        sample = self.features.encode_known(x)
        if sample is None and type(x) is not dict:
            x = as_dict(x)
            sample = self.features.encode_known(x)
        try:
            label = self.labels.get(y)
        except TypeError:
            label = self.labels.find(y)  # raises
        has_chosen = self.features.vocabulary is not None and self._has_chosen()
        if sample is None or label is None or weight == 0.0 or has_chosen:
            features, arena = self._features_for(parameters), self.arena
            if has_chosen and weight > 0.0:
                features, arena = words.with_columns(features, arena)  # type: ignore[arg-type]
            new, row, mismatches = features.read(x)
            if label is None:
                y = self.labels.read(y)
                label = self.labels.find(y)
            if label is None:
                self.labels.check_new(y, parameters.n_classes)
            if weight == 0.0:  # it settles the kind of no feature
                features.tell(m for m in mismatches if features.is_known(m.feature))
                return
            features.tell(mismatches)
            if label is None or any(new) or has_chosen:
                self._learn_new(features, arena, row, y, label, new, weight, parameters)
                return
            sample = features.place(row)
        arena = self.arena
        assert arena is not None and label is not None
        if sample.fits is not arena.rooms:
            sample.room, sample.fits = arena.new_room(), arena.rooms
        self.unfinished = sample
        status = learn_sample(
            arena.address, sample.address, float(label), weight, sample.room.address
        )
        if status != DONE:
            status = self._go_on(status, sample, float(label), weight)
        self.unfinished = None
        if status == INFINITE:
            self.features.check(x)  # raises
        elif status == TOO_HEAVY:
            check_totals(self.total_weight, [weight], parameters.task)  # raises

    def predict(self, x: Any) -> Any:
        """Return the probability of each label seen so far, or the predicted target."""
        if self.unfinished is not None:
            self.settle()
        arena = self.arena
        if arena is None:
            self.features.check(x)
            return self.labels.no_answer()
        sample = self.features.encode_known(x)
        if sample is None and type(x) is not dict:
            x = as_dict(x)
            sample = self.features.encode_known(x)
        if sample is None:
            sample = self.features.encode_unusual(x)
        if self._predict_encoded(arena, sample) == INFINITE:
            self.features.check(x)  # raises
        return self.labels.answer(sample.room.buffer)

    def predict_interval(self, x: Any, level: float) -> tuple[float, float]:
        """Return the ends of an interval for the target."""
        if self.arena is None or self.unfinished is not None:
            prediction = self.predict(x)
            if self.arena is None:
                return prediction, prediction
        sample = self.features.encode(x)
        self._fit_room(sample, self.arena)
        answer = sample.room.buffer
        answer[LOWER] = level
        try:
            if self._predict_encoded(self.arena, sample) == INFINITE:
                self.features.check(x)  # raises
            lower, upper = answer[LOWER], answer[UPPER]
        finally:
            answer[LOWER] = 0.0  # or the next prediction would take it for a level
        origin = self.labels.origin  # type: ignore[union-attr]
        return lower + origin, upper + origin

    def _predict_encoded(self, arena: Arena, sample: EncodedSample) -> int:
        """Write the prediction for a sample to its room; return the answer of the kernel."""
        if sample.fits is not arena.rooms:
            sample.room, sample.fits = arena.new_room(), arena.rooms
        address = sample.room.address
        while (status := predict_sample(arena.address, sample.address, address)) < 0:
            kernels.compile_part(status, arena.task)
        return status

    @staticmethod
    def _fit_room(sample: EncodedSample, arena: Arena) -> None:
        """Give a sample room for a prediction of this forest."""
        if sample.fits is not arena.rooms:
            sample.room, sample.fits = arena.new_room(), arena.rooms

    def listen(self, x: Any) -> Heard | None:
        """Return what is heard of a sample, or None before the first; raise if it is not valid."""
        self.predict(x)
        if self.arena is None:
            return None
        sample = self.features.encode(x)
        self._predict_encoded(self.arena, sample)
        arrays = sample.values[0], sample.words, *self.arena.heard_in(sample.room)
        return Heard(*(array.copy() for array in arrays))

    def encode(self, x: Any) -> NDArray[np.float64] | None:
        """Return a sample as a row, or None before the first sample; raise if it is not valid."""
        self.predict(x)
        return None if self.arena is None else self.features.encode(x).values[0].copy()

    def _go_on(self, status: int, sample: EncodedSample, target: float, weight: float) -> int:
        """Bring a sample to its end, given the answer of the kernel, and return its last one."""
        # The address of the sample's room stays right, as the room does not depend on nodes, boxes
        # and rows, which are all that may be short here.
        while status < 0:
            self._make_room(status)
            address = self.arena.address  # type: ignore[union-attr]
            status = learn_sample(address, sample.address, target, weight, sample.room.address)
        if status == RELEASED:
            self._drop_rows()
        return status

    # New labels, features and categories

    def _features_for(self, parameters: Parameters) -> Features:
        """Return the features, which follow the parameters before the first sample."""
        if self.arena is not None:
            return self.features
        is_lenient = parameters.on_mismatch == "missing"
        if has_words(parameters):
            return SparseFeatures(most_columns(parameters), is_lenient=is_lenient)
        return Features(is_lenient=True) if is_lenient else self.features

    def _begin(self, parameters: Parameters) -> Arena:
        """Return the arena of before the first sample."""
        return begin(parameters)

    def _has_chosen(self) -> bool:
        """Whether some words are to have a column from the next sample on."""
        return self.arena is not None and bool(self.arena.counters["n_chosen"][0])

    def _learn_new(
        self,
        features: Features,
        arena: Arena | None,
        row: dict[Hashable, float],
        y: Hashable,
        label: float | None,
        new: NewFeatures,
        weight: float,
        parameters: Parameters,
    ) -> None:
        """Learn a checked sample with a new label, features or categories."""
        features = features.extended(new, bound_of(parameters))
        categories = [NewCategory(0, *pair) for pair in new.categories]
        new_words: list[Hashable] = []
        if isinstance(features, SparseFeatures):
            arena = self._begin(parameters) if arena is None else arena
            n_labels = self.labels.count_with([y] if label is None else [])
            bounds = bounds_of_words(parameters, arena.settings, n_labels)
            features, arena, row, new_words = words.with_new(features, arena, row, bounds)
        sample = features.place(row)
        new_labels = [y] if label is None else []
        target = self.labels.next_target() if label is None else float(label)
        rest = sample, target, weight, parameters
        self._admit(features, new_labels, categories, *rest, arena, new_words)

    def _admit(
        self,
        features: Features,
        new_labels: list[Hashable],
        categories: list[NewCategory],
        sample: EncodedSample,
        target: float,
        weight: float,
        parameters: Parameters,
        arena: Arena | None = None,
        new_words: Sequence[Hashable] = (),
    ) -> None:
        """Take in what is new in a sample, at most one label among it, and learn the sample."""
        # `arena` has room for the new words.
        if weight > 1.0:  # it would take 1e305 samples of smaller ones
            check_totals(self.total_weight, [weight], parameters.task)
        if arena is None:
            arena = self._begin(parameters) if self.arena is None else self.arena
        new = [(name, category) for _, name, category in categories]
        n_labels = self.labels.count_with(new_labels)
        n_classes = int(arena.settings["n_classes"][0])
        has_new_prior = n_labels > n_classes
        if new and bound_of(parameters) is not None:
            arena = arena.with_slots(features.slots_with(new))
            features, uses = features.without_rarest(new, arena.uses)
            if uses is not arena.uses:
                arena = arena.replacing(uses=uses)
        rooms = None
        if parameters.max_bytes is not None:
            *_, (text, n_slots) = features.growing(new)
            text += self.labels.text_with(new_labels)
            n_classes = max(n_labels, n_classes)
            known = known_of(arena.settings, parameters, features, n_classes, n_slots, text)
            arena = within(arena, limits_of(arena.settings, parameters, known))
            rooms = known.rooms(arena.settings)
        if new_labels or features is not self.features:
            dirichlet = dirichlet_of(parameters, n_labels)
            arena = arena.extended(features.is_categorical, n_labels, dirichlet, rooms)
        arena, _ = ready(arena, 1)
        if sample.fits is not arena.rooms:
            sample.room, sample.fits = arena.new_room(), arena.rooms
        needs_odds = has_new_prior and parameters.fading_factor is None
        before = self.features, self.arena, len(self.labels)
        codes = [self.features.categories(name) or {} for _, name, _ in categories]
        n_categories = [len(each) for each in codes]
        vocabulary = self.features.vocabulary
        n_words = 0 if vocabulary is None else len(vocabulary)
        self.unfinished = Arrival(
            features, new_labels, categories, arena, needs_odds, sample, target, weight, new_words
        )
        try:
            self._finish()
        except Exception:  # a label or category may raise when it is hashed once more
            is_undone = (self.arena, len(self.labels)) == before[1:]  # which come last
            if isinstance(self.unfinished, Arrival) and is_undone:
                self.features = before[0]
                for each, n_known in zip(codes, n_categories, strict=True):
                    while len(each) > n_known:
                        each.popitem()
                if vocabulary is not None:
                    vocabulary.cut(n_words)
                if self.arena is not None:
                    self.arena.settings["n_slots"] = self.features.n_slots
                    self.arena.settings["n_words"] = 0 if vocabulary is None else vocabulary.n_slots
                self.unfinished = None
            raise
        events.arrived(self.features, before[0], new_labels, len(self.labels))
        if features is not before[0]:
            events.forgot(features, before[0], (name for name, _ in new))

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all samples."""
        root = kernels.NONE if self.arena is None else int(self.arena.trees["root"][0])
        if self.arena is None or root == kernels.NONE:
            return 0.0
        return float(self.arena.nodes["n_samples"][0, root])

    # What was interrupted

    def settle(self) -> None:
        """Finish what an interrupted call has left, if anything."""
        if self.unfinished is not None:
            events.resumes("chunk" if isinstance(self.unfinished, Chunk) else "sample")
            self._finish()

    def _finish(self) -> None:
        """Finish what is written down in `unfinished`."""
        # Each step here may be interrupted and be taken again.
        left = self.unfinished
        if isinstance(left, Arrival):
            self.features = left.features
            for _, name, category in left.categories:
                self.features.add_category(name, category)
            for label in left.labels:
                self.labels.add(label)
            if left.categories:
                left.arena.settings["n_slots"] = self.features.n_slots
            if self.features.vocabulary is not None:
                self.features.vocabulary.add(left.words)
                left.arena.settings["n_words"] = self.features.vocabulary.n_slots
            self.arena = left.arena
            if left.needs_odds:
                kernels.recompute_all_odds(left.arena.address)
            version = int(left.arena.handle["version"][0])
            left = self.unfinished = Admitted(left.sample, left.target, left.weight, version)
        if isinstance(left, Admitted):
            handle = self.arena.handle[0]  # type: ignore[union-attr]
            if handle["version"] == left.version or handle["next_tree"] != kernels.NONE:
                self._resume(left.sample, left.target, left.weight)
        elif isinstance(left, EncodedSample):
            handle = self.arena.handle[0]  # type: ignore[union-attr]
            if handle["next_tree"] != kernels.NONE:  # some trees have learned it
                self._resume(left, float(handle["target"]), float(handle["weight"]))
        elif isinstance(left, Chunk):
            for workers in left.workers:
                workers.wait()
            if left.block.stage != kernels.UNOPENED:  # otherwise, none of it has been learned
                self._run_chunk(left, n_threads=1)
        self.unfinished = None

    def _resume(self, sample: EncodedSample, target: float, weight: float) -> None:
        """Learn a sample in the trees that have not learned it."""
        address = self.arena.address  # type: ignore[union-attr]
        status = learn_sample(address, sample.address, target, weight, sample.room.address)
        self._go_on(status, sample, target, weight)

    # Blocks of samples

    def predict_rows(self, table: SparseRows) -> Answers:
        """Return the probabilities of the labels seen so far, of shape (n_rows, n_labels)."""
        # Others may predict meanwhile, so this takes room of its own.
        arena, features, n_labels = self.arena, self.features, len(self.labels)
        proba = np.zeros((table.n_rows, n_labels))
        sample = features.new_sample() if isinstance(features, SparseFeatures) else None
        problems = Problems()
        for row, x in enumerate(table.samples()):
            if sample is None or arena is None:
                problems.try_at(row, features.check, x)
            else:
                problems.try_at(row, features.encode_into, x, sample)  # type: ignore[attr-defined]
            problems.raise_first()
            if sample is not None and arena is not None:
                self._predict_encoded(arena, sample)
                proba[row] = sample.room.buffer[:n_labels]
        return proba

    def learn_rows(
        self,
        table: SparseRows,
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
        predicts: bool,
    ) -> BlockAnswers:
        """Learn rows one by one; if `predicts`, predict each one before it is learned."""
        self.settle()
        features = self._features_for(parameters)
        assert isinstance(self.labels, Labels)  # only classifiers have words
        check_rows(table, labels, weights, features, self.labels, parameters.n_classes)
        check_totals(self.total_weight, weights, parameters.task, are_rows=True)
        n_heard = self._n_heard(parameters)
        n_known = np.zeros(table.n_rows, np.int64)
        answers: list[list[float]] = []
        problems = Problems()
        for row, x in enumerate(table.samples()):
            if predicts:
                n_known[row] = len(self.labels)
                answers.append(list(self.predict(x).values()))
            label, weight = labels.at(row), float(weights[row])
            problems.try_at(row, self.learn, x, label, weight, parameters)
            problems.raise_first()
        self._tell_restarts(n_heard, weights)
        proba = np.zeros((table.n_rows, len(self.labels)))
        for row, answer in enumerate(answers):
            proba[row, : len(answer)] = answer
        return BlockAnswers(proba, n_known, list(self.labels))

    def predict_block(
        self, table: list[Column], n_rows: int, n_jobs: int, level: float = 0.0
    ) -> Answers:
        """Return the predictions for a block, as in `BlockAnswers`, with intervals of a level."""
        values = encode_to_predict(table, n_rows, self.features, is_fresh=self.arena is None)
        answers = self.labels.blank_answers(n_rows, 0, level)
        block = Block(values, np.zeros(n_rows), np.zeros(n_rows), answers)
        if self.arena is not None:
            self._run(block, 0, n_rows, [], predicts=True, learns=False, n_jobs=n_jobs)
        return block.answers

    def learn_block(
        self,
        table: list[Column],
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
        predicts: bool,
        level: float = 0.0,
    ) -> BlockAnswers:
        """Learn a block of rows; if `predicts`, predict each one before it is learned."""
        self.settle()
        n_heard = self._n_heard(parameters)
        parts = self._learn_parts(table, labels, weights, parameters, predicts, level)
        self._tell_restarts(n_heard, weights)
        return joined(parts)

    def _learn_parts(
        self,
        table: list[Column],
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
        predicts: bool,
        level: float,
    ) -> list[BlockAnswers]:
        """Learn a block of rows in parts."""
        # It is one part, unless categories are forgotten on the way: which ones, and so how the
        # rest is encoded, depends on what has been learned by then. The first part checks all rows.
        n_rows = len(weights)
        learn = functools.partial(self._learn_part, predicts=predicts, level=level)
        parts = [learn(table, labels, weights, parameters)]
        done = len(parts[0].answers)
        while done < n_rows:
            stop = min(n_rows, done + max(_LEAST_PART, 2 * (bound_of(parameters) or 0)))
            part = [part_of(column, done, stop) for column in table]
            rest = part_of(labels, done, stop), weights[done:stop], parameters
            parts.append(learn(part, *rest))
            done += len(parts[-1].answers)
        return parts

    def check_block(
        self,
        table: list[Column],
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
    ) -> None:
        """Raise the error that learning a block would raise, and learn nothing."""
        self.settle()
        self._encoded(table, labels, weights, parameters, self._features_for(parameters))

    def _encoded(
        self,
        table: list[Column],
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
        features: Features,
    ) -> EncodedBlock:
        """Return a block in numbers, or raise TypeError or ValueError for the first bad row."""
        rest = features, self.labels, parameters.n_classes, bound_of(parameters)
        encoded = encode_to_learn(table, labels, weights, *rest)
        check_totals(self.total_weight, weights, parameters.task, are_rows=True)
        return encoded

    def _n_heard(self, parameters: Parameters) -> Rows | None:
        """Return how many of its losses each tree has heard, or None if restarts are not told."""
        if parameters.restart_threshold is None or not events.tells_restarts():
            return None
        if self.arena is None:
            return np.zeros(parameters.n_estimators, np.int64)
        return self.arena.trees["n_heard"].copy()

    def _tell_restarts(self, n_heard: Rows | None, weights: NDArray[np.float64]) -> None:
        """Log the trees that have started afresh in a block, given what they had heard before."""
        if n_heard is not None and self.arena is not None:
            events.restarted(self.arena, n_heard, int(np.count_nonzero(weights)))

    def _learn_part(
        self,
        table: list[Column],
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
        *,
        predicts: bool,
        level: float,
    ) -> BlockAnswers:
        """Learn the rows of a block up to the first one that changes how the rest is encoded."""
        bound = bound_of(parameters)
        features = self._features_for(parameters)
        encoded = self._encoded(table, labels, weights, parameters, features)
        features.tell(encoded.mismatches)
        encoded = self._within_limits(encoded, parameters)
        n_rows = min(len(weights), encoded.full_at + 1)
        n_new = sum(len(arrival.label) for arrival in encoded.arrivals)
        answers = self.labels.blank_answers(len(weights), n_new, level)
        block = Block(encoded.values, encoded.targets, weights, answers)
        n_known = np.zeros(n_rows, np.int64)

        def run(start: int, stop: int, *, predicts: bool, learns: bool) -> None:
            """Process the rows from `start` to `stop`, which contain no new label or feature."""
            if predicts:
                n_known[start:stop] = len(self.labels)
            if self.arena is not None and (predicts or learns):
                jobs, new = parameters.n_jobs, encoded.categories
                self._run(block, start, stop, new, predicts=predicts, learns=learns, n_jobs=jobs)

        start = 0
        for row, new_labels, new in encoded.arrivals:
            if row >= n_rows:
                break
            run(start, row, predicts=predicts, learns=True)
            run(row, row + 1, predicts=predicts, learns=False)
            features = (features if self.arena is None else self.features).extended(new, bound)
            sample = features.encoded(encoded.values[row, : len(features)])
            target, weight = float(encoded.targets[row]), float(weights[row])
            categories = [new for new in encoded.categories if new.row == row]
            self._admit(features, new_labels, categories, sample, target, weight, parameters)
            start = row + 1
        run(start, n_rows, predicts=predicts, learns=True)
        width = self.labels.width  # less than room was made for, if this is but a part
        return BlockAnswers(answers[:n_rows, :width], n_known, list(self.labels))

    def _within_limits(self, encoded: EncodedBlock, parameters: Parameters) -> EncodedBlock:
        """Return a block that ends with the first row whose categories change the limits."""
        if parameters.max_bytes is None or not encoded.categories:
            return encoded
        # A new label or feature may change them too, so it is looked no further than that.
        first = encoded.arrivals[0].row if encoded.arrivals else NEVER
        new = [category for category in encoded.categories if category.row < first]
        if new:
            settings: NDArray[Any] = self.arena.settings  # type: ignore[union-attr]
            rest = settings, parameters, self.features, int(settings["n_classes"][0])
            sizes = self.features.growing((name, category) for _, name, category in new)
            of_labels = self.labels.text_with([])
            next(sizes)
            for category, (text, n_slots) in zip(new, sizes, strict=True):
                known = known_of(*rest, n_slots, text + of_labels)
                if not are_in_effect(settings, limits_of(settings, parameters, known)):
                    alone = columns.Arrival(category.row, [], NewFeatures.none())
                    return encoded._replace(full_at=category.row, arrivals=[alone])
        if encoded.categories[-1].row > first:
            return encoded._replace(full_at=min(encoded.full_at, first))
        return encoded

    def _run(
        self,
        block: Block,
        start: int,
        stop: int,
        categories: list[NewCategory],
        *,
        predicts: bool,
        learns: bool,
        n_jobs: int,
    ) -> None:
        """Predict, learn, or predict and learn the samples from `start` to `stop`, in threads."""
        if start == stop:
            return
        self._note(block, start, stop, predicts=predicts, learns=learns)
        arena: Arena = self.arena  # type: ignore[assignment]
        block.prepare(arena, stop - start, predicts=predicts, learns=learns)
        first, end = self._voters(arena)
        n_threads = max(min(end - first, _n_cores() if n_jobs == -1 else n_jobs), 1)
        n_threads = n_threads if stop - start >= _WORTH_THREADS else 1
        done = start
        while done < stop:
            end = done + min(block.chunk, stop - done)
            if learns:
                end = min(end, done + samples_to_check(self.arena))  # type: ignore[arg-type]
            if learns:
                factor = growth(self.arena, stop - done)  # type: ignore[arg-type]
                self.arena, n_ready = ready(self.arena, end - done, factor)  # type: ignore[arg-type]
                end = done + n_ready
            new = [category for category in categories if done <= category.row < end]
            if learns and new:
                *_, (_, n_slots) = self.features.growing((c.feature, c.category) for c in new)
                self.arena = self.arena.with_slots(n_slots)  # type: ignore[union-attr]
            chunk = Chunk(block, done, end, new if learns else [], [])
            block.record["stage"] = kernels.UNOPENED
            if learns:
                self.unfinished = chunk
            self._run_chunk(chunk, n_threads)
            if learns:
                self.unfinished = None
            done = end

    def _note(self, block: Block, start: int, stop: int, *, predicts: bool, learns: bool) -> None:
        """Take note of the samples that are about to be processed."""

    def _run_chunk(self, chunk: Chunk, n_threads: int) -> None:
        """Run a chunk through all trees in some threads, from where it has come to."""
        block, start, stop = chunk.block, chunk.start, chunk.stop
        if block.stage == kernels.UNOPENED:
            self._open(chunk)
        for _, name, category in chunk.categories:
            self.features.add_category(name, category)
        if chunk.categories:
            self.arena.settings["n_slots"] = self.features.n_slots  # type: ignore[union-attr]
        while block.stage == kernels.OPEN:
            arena: Arena = self.arena  # type: ignore[assignment]
            first, end = self._voters(arena)
            cuts = [first + (end - first) * k // n_threads for k in range(n_threads + 1)]
            workers = Workers(
                [
                    functools.partial(_run_voters, arena, block, start, stop, first, end)
                    for first, end in itertools.pairwise(cuts)
                ]
            )
            chunk.workers.append(workers)
            try:
                lacks = set(workers.run()) - {DONE}
            finally:
                workers.wait()
            for lack in lacks:
                self._make_room(lack)
            if not lacks and self._close(chunk) == RELEASED:
                self._drop_rows()

    def _open(self, chunk: Chunk) -> None:
        """Do what comes before the trees and voices run through a chunk."""
        arena: Arena = self.arena  # type: ignore[assignment]
        where = arena.address, chunk.block.address, chunk.start, chunk.stop
        while (lack := kernels.open_chunk(*where)) < 0:
            kernels.compile_part(lack, arena.task)

    def _voters(self, arena: Arena) -> tuple[int, int]:
        """Return the first of the trees and voices that run through a chunk, and their end."""
        return 0, arena.rooms["tree"] + arena.rooms["voice"]  # trends have been run by then

    def _close(self, chunk: Chunk) -> int:
        """Combine what trees and voices say of a chunk; return the answer of the kernel."""
        arena: Arena = self.arena  # type: ignore[assignment]
        return kernels.close_chunk(arena.address, chunk.block.address, chunk.start, chunk.stop)

    # Room

    def _make_room(self, lack: int) -> None:
        """Enlarge what a kernel has run out of."""
        self.arena = with_room(self.arena, lack)  # type: ignore[arg-type]

    def _drop_rows(self) -> None:
        """Free the memory of samples that no tree keeps any more."""
        arena: Arena = self.arena  # type: ignore[assignment]
        kernels.compact_rows(arena.address)
        self.arena = arena.drop_rows()
        events.released(self.arena)


def joined(parts: list[BlockAnswers]) -> BlockAnswers:
    """Return the answers of a block, given those of its parts."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.answers) for part in parts)])
    answers = np.zeros((starts[-1], parts[-1].answers.shape[1]))
    for start, part in zip(starts, parts, strict=False):
        answers[start : start + len(part.answers), : part.answers.shape[1]] = part.answers
    return BlockAnswers(answers, np.concatenate([part.n_known for part in parts]), parts[-1].labels)


def _run_voters(arena: Arena, block: Block, start: int, stop: int, first: int, end: int) -> int:
    """Run a chunk through some trees and voices, keeping alive what kernels know by address."""
    return kernels.run_chunk(arena.address, block.address, start, stop, first, end)


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
