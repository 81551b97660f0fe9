"""The engine of a forest: all that it has learned, and how single samples reach the kernels.

The public classes hold the parameters and the documentation; they pass themselves to the engine
where it needs parameters. `blocks` has the blocks of rows.

Any call may be interrupted between two steps of the interpreter, by an exception from a signal
handler or when memory runs out. So each change is prepared beside the forest. When all that can
fail has been done, the other steps become one function, `pending`, which may be called again
wherever it was broken off; the next call begins with it. So a call has learned all of a sample or
nothing, and of a block all rows up to one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.engine.cautions import MANY_FEATURES, Cautions
from river_amf.engine.growth import Learned, admitted, with_capacity, with_columns
from river_amf.engine.late_labels import LateLabels
from river_amf.engine.lock import Guarded, exclusive, refuse_within
from river_amf.engine.settings import Parameters, begin, schema_of
from river_amf.explain.experts import ExpertOutputs
from river_amf.inputs.encoding import EncodedSample
from river_amf.inputs.kinds import as_dict, check_totals
from river_amf.inputs.labels import Labels
from river_amf.inputs.mismatch import warn_of_numbers
from river_amf.inputs.schema import Reading, Schema
from river_amf.inputs.targets import Targets
from river_amf.kernels import (
    DONE,
    INFINITE,
    NONE,
    OCCUPIED,
    RELEASED,
    TOO_HEAVY,
    learn_sample,
    predict_sample,
)
from river_amf.state.arena import Arena
from river_amf.state.layout import LOCATION, LOWER, UPPER

Predict = Callable[[Any, Any], Any]  # engine, x
Learn = Callable[[Any, Any, Any, float, Any], None]  # engine, x, y, weight, parameters


class Engine(Guarded):
    """A schema, an arena, and delayed labels, for one thread at a time.

    `predict` and `learn` are functions of the engine and a sample: closures over the present schema
    and arena for the common cases, which pass all other samples to `predict_any` and `learn_any`.
    """

    predict: Predict
    learn: Learn

    def __init__(self, labels: Labels | Targets | None = None) -> None:
        super().__init__()
        self.learned = Learned(Schema(labels), None)
        self.late = LateLabels()
        self.cautions = Cautions()
        self.warned: set[Hashable] = set()  # of the first schema
        self.predict, self.learn = _FIRST_CALLS

    @property
    def schema(self) -> Schema:
        """The features and labels seen so far."""
        return self.learned.schema

    @property
    def arena(self) -> Any:
        """The arena, None before the first sample."""
        return self.learned.arena

    def weight_of(self, tree: int) -> float:
        """Return the sum of the weights that a tree has learned, of the first that of all."""
        root = NONE if self.arena is None else int(self.arena.trees["root"][tree])
        return 0.0 if root == NONE else float(self.arena.nodes["n_samples"][tree, root])

    def nbytes(self) -> int:
        """Return the bytes of the arrays, including spare capacity, and of names and categories."""
        of_arena = 0 if self.arena is None else self.arena.nbytes
        return of_arena + self.schema.nbytes + self.late.nbytes

    def faded_share(self) -> float:
        """Return the mean share of the faded counts in the recent predictions of the trees."""
        return 0.5 if self.arena is None else float(self.arena.trees["faded_share"].mean())

    def extensible(self, parameters: Parameters) -> Learned:
        """Return schema and arena, with columns for words that the kernels have chosen."""
        if self.arena is None:
            return Learned(
                schema_of(parameters, self.schema.labels, self.warned), begin(parameters)
            )
        return with_columns(self.learned) if self._has_chosen() else self.learned

    def _has_words(self) -> bool:
        return self.schema.vocabulary is not None

    def _has_chosen(self) -> bool:
        """Return whether some words are to have a column from the next sample on."""
        return self._has_words() and bool(self.arena.counters["n_chosen"][0])

    # Learning

    def learn_any(self, x: Any, y: Hashable, weight: float, parameters: Parameters) -> None:
        """Learn a sample, whose weight has been checked."""
        x = x if type(x) is dict else as_dict(x)
        schema, arena = self.learned
        try:
            label = schema.labels.get(y)
        except TypeError:  # which `Schema.read` raises with a better text
            label = None
        if label is None or weight == 0.0 or self._has_chosen() or schema.encode(x) is None:
            learned = self.extensible(parameters) if weight > 0.0 or arena is None else self.learned
            reading = learned.schema.read(x, y, weight)
            if weight == 0.0:
                self.late.take_back(schema, arena, reading.row)
                return
            warn_of_numbers(learned.schema, reading.categories)
            if reading.label is None or reading.brings or learned is not self.learned:
                self._learn_new(learned, reading, weight, parameters)
                return
            label = reading.label
            schema.place(reading.row)
        assert arena is not None
        self._check_presence(self.learned)
        kernels.compile_for(arena, learns=True)
        is_late = bool(self.late.waiting) and self.late.find(schema, arena)
        self.pending = functools.partial(self.resume, arena.n_learned[0])
        self.finish(None, x, float(label), weight, is_late)

    def finish(
        self, status: int | None, x: Any, target: float, weight: float, is_late: bool = False
    ) -> None:
        """Learn the encoded sample, given the answer of the kernel if it has been called."""
        status = self._run(target, weight, is_late, status)
        if status in (DONE, RELEASED):
            self.schema.use()
        self.pending = None
        if status == INFINITE:
            self.schema.read_features(x)  # raises
        elif status == TOO_HEAVY:
            check_totals(self.weight_of(0), [weight], self.arena.task)  # raises

    def _run(
        self, target: float, weight: float, is_late: bool = False, status: int | None = None
    ) -> int:
        """Learn the encoded sample in the trees that have not; return the kernel's last answer."""
        # The addresses of the sample and the output do not depend on nodes, boxes and rows, which
        # are all that may be short here.
        schema, late = self.schema, int(is_late)  # no bool, for which numba would compile again
        while status is None or status < 0 or status == OCCUPIED:
            if status == OCCUPIED:  # by an earlier prediction of this sample
                late = int(self.late.find(schema, self.arena))
            elif status is not None:
                self.enlarge(status)
            arena = self.arena
            of_sample = schema.sample.address, target, weight, arena.output.address, late
            status = learn_sample(arena.address, *of_sample)
        if status == RELEASED:
            self.drop_rows()
        return status

    def resume(self, n_learned: int = 0) -> None:
        """Learn the encoded sample, which brings nothing new, if that has begun."""
        handle = self.arena.handle[0]
        if handle["next_tree"] != NONE:
            self._run(float(handle["target"]), float(handle["weight"]))
        if self.arena.n_learned[0] > n_learned:
            self.schema.use()

    def _learn_new(
        self, learned: Learned, reading: Reading, weight: float, parameters: Parameters
    ) -> None:
        """Learn a sample that brings a new label, features, words or categories."""
        if weight > 1.0:  # it would take 1e305 samples of smaller ones
            check_totals(self.weight_of(0), [weight], parameters.task)
        self._check_presence(learned)
        self._check_nodes(learned, reading)
        before, is_at_once = self.schema, self.late.take_back(*self.learned, reading.row)
        self.pending = functools.partial(before.cut, before.mark())
        learned, row = admitted(learned, reading, parameters)
        schema, arena = learned
        assert arena is not None
        sample = schema.place(row)
        target = float(len(schema.labels) - 1 if reading.label is None else reading.label)
        arena.forget_prediction()  # in which a new category may have another code
        if before.vocabulary not in (None, schema.vocabulary):
            self.late = LateLabels()  # slots of forgotten words are used again
        if is_at_once:
            self.late.drop(schema.key(sample))
        is_late = bool(self.late.waiting) and not is_at_once and self.late.find(schema, arena)
        version = int(arena.handle["version"][0])

        def has_begun() -> bool:
            return int(self.arena.handle["version"][0]) != version

        def learn() -> None:
            for name, category in reading.categories:
                schema.put(name, category, row[name])
            if not has_begun() or self.arena.handle["next_tree"][0] != NONE:
                self._run(target, weight, is_late)
            schema.use()

        self.publish(learned, has_begun, learn)

    def publish(
        self, learned: Learned, has_begun: Callable[[], bool], learn: Callable[[], None]
    ) -> None:
        """Replace schema and arena, then learn; the next call finishes what is interrupted."""
        before, new = self.learned, learned.arena
        needs_odds = (
            before.arena is not None
            and new is not None
            and new.settings["n_classes"] > before.arena.settings["n_classes"]
            and not new.settings["fades"]
        )

        def finish() -> None:
            if self.learned is before:
                self.replace(learned)
            self.learned.note_sizes()
            if needs_odds and not has_begun():
                kernels.recompute_all_odds(self.arena.address)
            learn()

        self.pending = finish
        finish()
        self.pending = None

    def replace(self, learned: Learned) -> None:
        """Replace schema and arena, and drop the closures over those before."""
        self.learned = learned
        self.predict, self.learn = _FIRST_CALLS

    def enlarge(self, missing: int) -> None:
        """Enlarge the arrays whose capacity a kernel has used up."""
        self.replace(Learned(self.schema, with_capacity(self.arena, missing)))

    def drop_rows(self) -> None:
        """Free the memory of samples that no tree keeps any more."""
        kernels.compact_rows(self.arena.address)
        self.replace(Learned(self.schema, self.arena.drop_rows()))

    def _check_presence(self, learned: Learned) -> None:
        """Warn if samples have few features, before the next one is learned."""
        schema, arena = learned
        n_learned = 0 if arena is None else arena.n_learned[0]
        if schema.vocabulary is None and arena is not None and not n_learned & (n_learned - 1):
            self.cautions.check_presence(arena, np.array([len(schema)]), np.zeros(1, np.int64))

    def _check_nodes(self, learned: Learned, reading: Reading) -> None:
        """Warn of large nodes, before new features and labels are learned."""
        schema, arena = learned
        n_features = len(reading.numeric) + len(reading.categorical)
        n_labels = int(reading.label is None)
        if schema.vocabulary is None and arena is not None and n_features + n_labels:
            counts = len(schema) + n_features, schema.labels.n_classes + n_labels
            self.cautions.check_nodes(arena, *counts)

    # Predicting. These are for callers that hold the lock.

    def predict_any(self, x: Any) -> Any:
        """Return the probability of each label seen so far, or the predicted target."""
        schema, arena = self.learned
        if arena is None:
            schema.read_features(x)
            return schema.labels.no_answer()
        self._predict_encoded(x, schema.encode_any(x))
        return schema.labels.answer(arena.output.answer)

    def _predict_encoded(self, x: Any, sample: EncodedSample) -> None:
        """Write the prediction for a sample to the buffer of the arena, or raise if it is bad."""
        schema, arena = self.learned
        assert arena is not None
        kernels.compile_for(arena, learns=False)
        addresses = arena.address, sample.address, arena.output.address
        if (status := predict_sample(*addresses)) == OCCUPIED:
            self.late.hold(arena)
            status = predict_sample(*addresses)
        if status == INFINITE:
            schema.read_features(x)  # raises
        self.late.hold_unusual(schema, arena)

    def raw_answer(self, x: Any, level: float = 0.0) -> list[float]:
        """Return the answer of the kernels, with quantiles at a level unless it is 0."""
        schema, arena = self.learned
        assert arena is not None
        sample, answer = schema.encode_any(x), arena.output.answer
        if level:
            answer[LOWER] = level
        try:
            self._predict_encoded(x, sample)
            result: list[float] = answer[: schema.labels.width].tolist()
        finally:
            if level:
                answer[LOWER] = 0.0  # or the next prediction would take it for a level
        return result

    def quantiles(self, x: Any, levels: Sequence[float]) -> list[tuple[float, float, float]]:
        """Return the prediction, and the quantiles at both ends, for each of these levels."""
        labels = self.schema.labels
        if self.arena is None:
            prediction = self.predict_any(x)  # raises if the sample is not valid
            return [(prediction, *labels.no_quantiles(level)) for level in levels]
        answers = [self.raw_answer(x, level) for level in levels]
        return [tuple(a[k] + labels.origin for k in (LOCATION, LOWER, UPPER)) for a in answers]

    predict_quantiles = exclusive(quantiles)

    def reader(self) -> Self:
        """Return an engine whose predictions await no labels; learning would corrupt both."""
        self.late.hold(self.arena)
        twin = type(self)()
        twin.learned = self.learned
        if self.arena is not None:
            settings = self.arena.settings.copy()
            settings["max_delayed_labels"] = 0
            twin.learned = self.learned._replace(arena=self.arena.replacing(settings=settings))
        return twin

    def expert_outputs(self, x: Any) -> ExpertOutputs | None:
        """Return the outputs of experts for a sample, None before the first; raise if it is bad."""
        reader = self.reader()
        answer = reader.predict_any(x)
        if reader.arena is None:
            return None
        sample = reader.schema.encode_any(x)
        reader._predict_encoded(x, sample)
        values, words = sample.values[0].copy(), sample.words.copy()
        votes, standardised, terms = reader.arena.last_outputs()
        return ExpertOutputs(values, words, votes, standardised, terms, answer)

    def encode(self, x: Any) -> NDArray[np.float64] | None:
        """Return a sample as a row, or None before the first sample; raise if it is not valid."""
        self.reader().predict_any(x)
        return None if self.arena is None else self.schema.encode_any(x).values[0].copy()

    # Copies

    def close_gaps(self) -> None:
        """Close the gaps in the store of samples."""
        # The gaps depend on the capacity of the store, so equal models could give unequal pickles.
        self.late.hold(self.arena)
        if self.arena is not None:
            kernels.compact_rows(self.arena.address)
            self.arena.can_learn = False  # as lists may grow longer before the store is full
            self.replace(Learned(*self.learned))

    def _snapshot(self) -> dict[str, Any]:
        """Return copies of all that has been learned."""
        self.close_gaps()
        schema, arena = self.learned
        state: dict[str, Any] = {"schema": schema.copy(), "arena": None}
        state["cautions"] = sorted(self.cautions.given)
        if arena is not None:
            state["arena"] = arena.__getstate__()
            if self.late.waiting:
                state["late"] = self.late.arrays(arena)
        return state

    def __getstate__(self) -> dict[str, Any]:
        return self.run(self._snapshot)

    def __setstate__(self, state: dict[str, Any]) -> None:
        Engine.__init__(self)
        arena = None
        if state["arena"] is not None:
            arena = Arena.__new__(Arena)
            arena.__setstate__(state["arena"])
        self.learned = Learned(state["schema"], arena)
        self.late = LateLabels.of_arrays(state["late"]) if "late" in state else self.late
        self.cautions = Cautions(state["cautions"])

    def twin(self) -> Self:
        """Return a copy."""
        twin = type(self).__new__(type(self))
        twin.__setstate__(self._snapshot())
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.run(self.twin)

    # Closures. They get the engine as an argument, as an engine that refers to itself would be
    # freed late.

    def learn_and_renew(self, x: Any, y: Any, weight: float, parameters: Parameters) -> None:
        """Learn any sample, and make the closure `learn` if there is none."""
        self.settle()
        self.learn_any(x, y, weight, parameters)
        if self.learn is _FIRST_CALLS[1] and self.arena is not None and not self._has_words():
            self.learn = _fast_learn(self.learned)

    def predict_and_renew(self, x: Any) -> Any:
        """Predict any sample, and make the closure `predict` if there is none."""
        self.settle()
        answer = self.predict_any(x)
        if self.predict is _FIRST_CALLS[0] and self.arena is not None and not self._has_words():
            self.predict = _fast_predict(self.learned)
        return answer


_FIRST_CALLS: tuple[Predict, Learn] = (
    exclusive(Engine.predict_and_renew),
    exclusive(Engine.learn_and_renew),
)


def _fast_predict(learned: Learned) -> Predict:
    """Return a function that predicts a sample under the lock."""
    schema, arena = learned
    assert arena is not None
    kernels.compile_for(arena, learns=False)
    encode, read, answer = schema.encode, schema.labels.answer, arena.output.answer
    addresses = arena.address, schema.sample.address, arena.output.address

    def predict(engine: Engine, x: Any) -> Any:
        lock = engine.lock
        if lock._is_owned():
            refuse_within()
        with lock:
            if (
                engine.learned is learned
                and engine.pending is None
                and encode(x) is not None
                and predict_sample(*addresses) == DONE
            ):
                return read(answer)
            return engine.predict_and_renew(x)

    return predict


def _fast_learn(learned: Learned) -> Learn:
    """Return a function that learns a sample under the lock."""
    schema, arena = learned
    assert arena is not None
    kernels.compile_for(arena, learns=True)
    encode, number_of, is_bounded = schema.encode, schema.labels.get, bool(schema.bounded)
    n_learned, is_narrow = arena.n_learned, len(schema) < MANY_FEATURES
    address, of_sample, of_output = arena.address, schema.sample.address, arena.output.address

    def learn(engine: Engine, x: Any, y: Any, weight: float, parameters: Any) -> None:
        lock = engine.lock
        if lock._is_owned():
            refuse_within()
        with lock:
            if (
                engine.learned is learned
                and engine.pending is None
                and weight > 0.0
                and not engine.late.waiting
                and (is_narrow or n_learned[0] & (n_learned[0] - 1))  # a warning may be due
                and encode(x) is not None
            ):
                try:
                    label = number_of(y)
                except TypeError:  # which `learn_any` raises with a better text
                    label = None
                if label is not None:
                    target = float(label)
                    engine.pending = engine.resume
                    if is_bounded:
                        engine.pending = functools.partial(engine.resume, n_learned[0])
                    status = learn_sample(address, of_sample, target, weight, of_output, 0)
                    if status == DONE and not is_bounded:
                        engine.pending = None
                    else:
                        engine.finish(status, x, target, weight)
                    return
            engine.learn_and_renew(x, y, weight, parameters)

    return learn
