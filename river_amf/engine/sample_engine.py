"""The engine of a forest for single samples, between the public classes and the kernels.

It holds everything that a forest has learned. The public classes hold the parameters and the
documentation; they pass themselves to the engine where it needs parameters.

Any call may be interrupted between two steps of the interpreter, by an exception from a signal
handler or when memory runs out. So whatever changes the forest is prepared beside it. When all that
can fail has been done, the rest is written down as one function, `pending`, which may be called
again wherever it was broken off; whoever enters next calls it first. So a call has learned all of a
sample or nothing, and of a block all rows up to one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.engine.calls import Learn, Predict, fast_learn, fast_predict
from river_amf.engine.cautions import Cautions
from river_amf.engine.known import Known, extended, weight_learned, with_capacity, with_columns
from river_amf.engine.late_labels import LateLabels
from river_amf.engine.lock import Guarded, exclusive
from river_amf.engine.settings import Parameters, begin, has_words, most_columns
from river_amf.explain.linear_experts import ExpertOutputs
from river_amf.inputs.encoding import EncodedSample, Features, NewFeatures, Reading
from river_amf.inputs.kinds import as_dict, check_totals
from river_amf.inputs.labels import Labels
from river_amf.inputs.mismatch import warn_of_numbers
from river_amf.inputs.sparse_features import SparseFeatures
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


class SampleEngine(Guarded):
    """What a forest knows, and how it learns and predicts one sample."""

    def __init__(self, labels: Labels | Targets | None = None) -> None:
        super().__init__()
        self.known = Known(Features(), Labels() if labels is None else labels, None)
        self.late = LateLabels()
        self.cautions = Cautions()
        self.warned: set[Hashable] = set()  # of the first features
        # functions of an engine and a sample, which are faster than methods
        self.predict, self.learn = _FIRST_CALLS
        self._predicts: Known | None = None  # what they are for
        self._learns: Known | None = None

    @property
    def features(self) -> Features:
        """The features seen so far."""
        return self.known.features

    @property
    def labels(self) -> Any:
        """The labels seen so far, or what takes their place."""
        return self.known.labels

    @property
    def arena(self) -> Any:
        """The arena, None before the first sample."""
        return self.known.arena

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all samples."""
        return weight_learned(self.known.arena)

    def _first(self, parameters: Parameters) -> Known:
        """Return what is known before the first sample, which follows from the parameters."""
        features = SparseFeatures(most_columns(parameters)) if has_words(parameters) else Features()
        if parameters.on_mismatch == "missing":
            features.warned = self.warned
        return Known(features, self.labels, begin(parameters))

    def _known_for(self, parameters: Parameters) -> Known:
        """Return what is known, with an arena."""
        return self._first(parameters) if self.known.arena is None else self.known

    # Learning

    def _learn(self, x: Any, y: Hashable, weight: float, parameters: Parameters) -> None:
        """Learn one sample, whose weight has been checked."""
        features, labels, arena = self.known
        sample = features.encode_known(x)
        if sample is None and type(x) is not dict:
            x = as_dict(x)
            sample = features.encode_known(x)
        try:
            label = labels.get(y)
        except TypeError:
            label = None  # for which `check` raises
        has_chosen = features.vocabulary is not None and self._has_chosen()
        if sample is None or label is None or weight == 0.0 or has_chosen:
            sample, label = self._read(x, y, weight, parameters)
            if sample is None or label is None:
                return
        assert arena is not None
        n_learned = arena.n_learned[0]
        if not n_learned & (n_learned - 1):  # a power of two
            self._check_presence(self.known)
        if sample.fits is not arena.places:
            self._fit_prediction(arena, sample)
        is_late = bool(self.late.waiting) and self.late.find(features, arena, sample)
        target, address = float(label), sample.prediction.address
        self.pending = functools.partial(self.finish_sample, n_learned)
        status = learn_sample(arena, sample.address, target, weight, address, is_late)
        self.finish_call(status, x, target, weight, parameters, is_late)

    def learn_any(self, x: Any, y: Hashable, weight: float, parameters: Parameters) -> None:
        """Learn one sample, whose weight has been checked, and renew `learn`."""
        self.settle()
        self._learn(x, y, weight, parameters)
        self._renew_learn()

    def finish_call(
        self,
        status: int,
        x: Any,
        target: float,
        weight: float,
        parameters: Parameters,
        is_late: int = 0,
    ) -> None:
        """Finish what the kernel has answered for a sample that it was to learn."""
        features, sample = self.features, self.features.sample
        if status == OCCUPIED:  # by an earlier prediction of this sample
            is_late = int(self.late.find(features, self.arena, sample))
            status = self._learn_encoded(sample, target, weight, is_late)
        elif status < 0:
            self._enlarge(status)
            status = self._learn_encoded(sample, target, weight, is_late)
        elif status == RELEASED:
            self._drop_rows()
        if features.bounded and status in (DONE, RELEASED):
            features.use(sample)
        self.pending = None
        if status == INFINITE:
            features.check(x)  # raises
        elif status == TOO_HEAVY:
            check_totals(self.total_weight, [weight], parameters.task)  # raises

    def _renew_learn(self) -> None:
        """Make `learn` anew, unless it is up to date."""
        if self._learns is not self.known and self._has_common_calls():
            self.learn, self._learns = fast_learn(self.known, SampleEngine.learn_any), self.known

    def _renew_predict(self) -> None:
        """Make `predict` anew, unless it is up to date."""
        if self._predicts is not self.known and self._has_common_calls():
            predict = fast_predict(self.known, SampleEngine.predict_any)
            self.predict, self._predicts = predict, self.known

    def _has_common_calls(self) -> bool:
        """Return whether there are closures for single samples, for which there is a buffer."""
        features, _, arena = self.known
        if arena is None or features.vocabulary is not None:
            return False
        self._fit_prediction(arena, features.sample)
        return True

    def _read(
        self, x: Any, y: Hashable, weight: float, parameters: Parameters
    ) -> tuple[EncodedSample | None, float | None]:
        """Check a sample; learn it if it brings anything new, or return it and its label."""
        known, labels = self._known_for(parameters), self.known.labels
        if weight > 0.0 and self._has_chosen():
            known = with_columns(known)
        features = known.features
        reading, y, label = check(features, labels, x, y, weight, parameters.n_classes)
        if weight == 0.0:
            self.late.take_back(*self.known[::2], reading.row)
            return None, None
        warn_of_numbers(features, reading.new.categories)
        if label is not None and not any(reading.new) and known is self.known:
            return features.place(reading.row), label
        self._learn_new(known, reading, y, label, weight, parameters)
        return None, None

    def _check_presence(self, known: Known) -> None:
        """Warn if samples have few features, before the next one is learned."""
        features, _, arena = known
        if features.vocabulary is None and arena is not None:
            self.cautions.check_presence(arena, np.array([len(features)]), np.zeros(1, np.int64))

    def _check_nodes(self, known: Known, new: NewFeatures, n_new_labels: int) -> None:
        """Warn of large nodes, before new features and labels are learned."""
        features, labels, arena = known
        n_new = len(new.numeric) + len(new.categorical)
        if features.vocabulary is None and arena is not None and n_new + n_new_labels:
            self.cautions.check_nodes(arena, len(features) + n_new, labels.n_classes + n_new_labels)

    def _has_chosen(self) -> bool:
        """Whether some words are to have a column from the next sample on."""
        arena = self.known.arena
        return arena is not None and bool(arena.counters["n_chosen"][0])

    def _learn_new(
        self,
        known: Known,
        reading: Reading,
        y: Hashable,
        label: float | None,
        weight: float,
        parameters: Parameters,
    ) -> None:
        """Learn a checked sample that brings a new label, features or categories."""
        if weight > 1.0:  # it would take 1e305 samples of smaller ones
            check_totals(self.total_weight, [weight], parameters.task)
        new_labels = [y] if label is None else []
        self._check_presence(known)
        self._check_nodes(known, reading.new, len(new_labels))
        is_at_once = self.late.take_back(*self.known[::2], reading.row)
        self.pending = self.known.cutter()
        known, row = extended(known, reading.new, new_labels, reading.row, parameters)
        sample, arena = known.features.place(row), known.arena
        assert arena is not None
        target = float(len(known.labels) - 1 if label is None else label)
        sample.prediction, sample.fits = arena.new_prediction(), arena.places
        if self.known.features.vocabulary not in (None, known.features.vocabulary):
            self.late = LateLabels()  # words that were forgotten leave their slots to others
        if is_at_once:
            self.late.drop(known.features.key(sample))
        is_late = int(not is_at_once and self.late.find(known.features, arena, sample))
        version = int(arena.handle["version"][0])

        def has_begun() -> bool:
            return int(self.arena.handle["version"][0]) != version

        def learn() -> None:
            for name, category in reading.new.categories:
                known.features.put(name, category, row[name])
            if not has_begun() or self.arena.handle["next_tree"][0] != NONE:
                self._learn_encoded(sample, target, weight, is_late)
            known.features.use(sample)

        self._carry_out(known, has_begun, learn)

    def _carry_out(
        self, known: Known, has_begun: Callable[[], bool], learn: Callable[[], None]
    ) -> None:
        """Put what is `known` in place of what was, then learn; the next call does what is left."""
        before = self.known
        old, new = before.arena, known.arena
        needs_odds = (
            old is not None
            and new is not None
            and new.settings["n_classes"] > old.settings["n_classes"]
            and not new.settings["fades"]
        )

        def finish() -> None:
            if self.known is before:
                self.known = known
            self.known.note_sizes()
            if needs_odds and not has_begun():
                kernels.recompute_all_odds(self.arena)
            learn()

        self.pending = finish
        finish()
        self.pending = None

    def finish_sample(self, n_learned: int = 0) -> None:
        """Learn the sample at hand, which brings nothing new, in the trees that are left."""
        handle, sample = self.arena.handle[0], self.features.sample
        if handle["next_tree"] != NONE:
            self._learn_encoded(sample, float(handle["target"]), float(handle["weight"]))
        if self.arena.n_learned[0] > n_learned:
            self.features.use(sample)

    def _learn_encoded(
        self, sample: EncodedSample, target: float, weight: float, is_late: int = 0
    ) -> int:
        """Learn a sample in the trees that have not learned it; return the answer of the kernel."""
        # The address of the sample's buffer stays right, as the buffer does not depend on nodes,
        # boxes and rows, which are all that may be short here.
        of_sample = sample.address, target, weight, sample.prediction.address, is_late
        status: int
        while (status := learn_sample(self.arena, *of_sample)) < 0:
            self._enlarge(status)
        if status == RELEASED:
            self._drop_rows()
        return status

    def _enlarge(self, missing: int) -> None:
        """Enlarge what a kernel has used up."""
        self.known = self.known._replace(arena=with_capacity(self.arena, missing))

    def _drop_rows(self) -> None:
        """Free the memory of samples that no tree keeps any more."""
        kernels.compact_rows(self.arena)
        self.known = self.known._replace(arena=self.arena.drop_rows())

    # Predicting. Those without "predict" in their names are for whoever holds the lock.

    def answer(self, x: Any) -> Any:
        """Return the probability of each label seen so far, or the predicted target."""
        features, labels, arena = self.known
        if arena is None:
            features.check(x)
            return labels.no_answer()
        sample, is_unusual = features.encode_known(x), False
        if sample is None and type(x) is not dict:
            x = as_dict(x)
            sample = features.encode_known(x)
        if sample is None:
            sample, is_unusual = features.encode_unusual(x), True
        if self._predict_encoded(arena, sample) == INFINITE:
            features.check(x)  # raises
        if is_unusual or features.vocabulary is not None:
            self.late.hold_unusual(features, sample, arena)
        return labels.answer(sample.prediction.buffer)

    def predict_any(self, x: Any) -> Any:
        """Return what `answer` does, and renew `predict`."""
        self.settle()
        found = self.answer(x)
        self._renew_predict()
        return found

    def raw_answer(self, x: Any, level: float) -> list[float]:
        """Return what the kernels answer for a sample, with quantiles at a level unless it is 0."""
        features, labels, arena = self.known
        assert arena is not None
        sample = features.encode(x)
        self._fit_prediction(arena, sample)
        answer = sample.prediction.buffer
        if level:
            answer[LOWER] = level
        try:
            if self._predict_encoded(arena, sample) == INFINITE:
                features.check(x)  # raises
            found: list[float] = answer[: labels.width].tolist()
            self.late.hold_unusual(features, sample, arena)
        finally:
            if level:
                answer[LOWER] = 0.0  # or the next prediction would take it for a level
        return found

    def quantiles(self, x: Any, levels: Sequence[float]) -> list[tuple[float, float, float]]:
        """Return the prediction, and the quantiles at both ends, for each of these levels."""
        if self.known.arena is None:
            prediction = self.answer(x)  # raises if the sample is not valid
            return [(prediction, *self.labels.no_quantiles(level)) for level in levels]
        origin, ends = self.labels.origin, (LOCATION, LOWER, UPPER)
        found = [self.raw_answer(x, level) for level in levels]
        return [tuple(answer[k] + origin for k in ends) for answer in found]

    predict_quantiles = exclusive(quantiles)

    def _predict_encoded(self, arena: Arena, sample: EncodedSample) -> int:
        """Write the prediction for a sample to its buffer; return the answer of the kernel."""
        if sample.fits is not arena.places:
            self._fit_prediction(arena, sample)
        status: int = predict_sample(arena, sample.address, sample.prediction.address)
        if status == OCCUPIED:
            self.late.hold(self.features, arena)
            status = predict_sample(arena, sample.address, sample.prediction.address)
        return status

    def _fit_prediction(self, arena: Arena, sample: EncodedSample) -> None:
        """Give a sample a buffer for predictions of this forest."""
        if sample.fits is not arena.places:
            self.late.hold(self.features, self.arena)
            sample.prediction, sample.fits = arena.new_prediction(), arena.places

    def reader(self) -> Self:
        """Return an engine whose predictions await no labels; learning would corrupt both."""
        self.late.hold(self.features, self.arena)
        twin, arena = type(self)(), self.known.arena
        if arena is not None:
            settings = arena.settings.copy()
            settings["max_delayed_labels"] = 0
            arena = arena.replacing(settings=settings)
        twin.known = self.known._replace(arena=arena)
        return twin

    def expert_outputs(self, x: Any) -> ExpertOutputs | None:
        """Return what experts make of a sample, None before the first; raise if it is not valid."""
        reader = self.reader()
        reader.answer(x)
        features, labels, arena = reader.known
        if arena is None:
            return None
        sample = features.encode(x)
        reader._predict_encoded(arena, sample)
        votes, standardised, terms = map(np.copy, arena.outputs_in(sample.prediction))
        answer = labels.answer(sample.prediction.buffer)
        values, words = sample.values[0].copy(), sample.words.copy()
        return ExpertOutputs(values, words, votes, standardised, terms, answer)

    def encode(self, x: Any) -> NDArray[np.float64] | None:
        """Return a sample as a row, or None before the first sample; raise if it is not valid."""
        self.reader().answer(x)
        return None if self.known.arena is None else self.features.encode(x).values[0].copy()

    # Copies

    def close_gaps(self) -> None:
        """Close the gaps in the store of samples."""
        # The gaps depend on the capacity of the store, so equal models could give unequal pickles.
        self.late.hold(self.features, self.arena)
        if self.known.arena is not None:
            kernels.compact_rows(self.known.arena)

    def _snapshot(self) -> dict[str, Any]:
        """Return copies of all that has been learned."""
        self.close_gaps()
        features, labels, arena = self.known
        arrays = None if arena is None else arena.__getstate__()
        state: dict[str, Any] = {
            "features": features.copy(),
            "labels": labels.copy(),
            "arena": arrays,
        }
        state["cautions"] = sorted(self.cautions.given)
        return state | ({"late": self.late.arrays(arena)} if arena and self.late.waiting else {})

    def __getstate__(self) -> dict[str, Any]:
        return self.run(self._snapshot)

    def __setstate__(self, state: dict[str, Any]) -> None:
        SampleEngine.__init__(self)
        arena = None
        if state["arena"] is not None:
            arena = Arena.__new__(Arena)
            arena.__setstate__(state["arena"])
        self.known = Known(state["features"], state["labels"], arena)
        self.late = LateLabels.of_arrays(state["late"]) if "late" in state else self.late
        self.cautions = Cautions(state["cautions"])

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin


_FIRST_CALLS: tuple[Predict, Learn] = (
    exclusive(SampleEngine.predict_any),
    exclusive(SampleEngine.learn_any),
)


def check(
    features: Features,
    labels: Any,
    x: Any,
    y: Hashable,
    weight: float,
    n_classes: int | None,
) -> tuple[Reading, Hashable, float | None]:
    """Check a sample; return it as read, its label, and the number of that unless it is new."""
    reading = features.read(x)
    y = labels.read(y)
    label = labels.find(y)
    if label is None:
        labels.check_new(y, n_classes)
    # a weight of 0 settles the kind of no feature
    found = reading.mismatches.items()
    features.warn({name: m for name, m in found if weight > 0.0 or features.is_known(name)})
    return reading, y, label
