"""The engine of a forest: all that it has learned, and how single samples reach the kernels.

Any call may be interrupted (DESIGN.md: interrupts). So each change is prepared beside the forest.
All further steps are one function, `unfinished`, which may be called any number of times. If a call
is interrupted, the next one calls it first.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from river_amf import kernels
from river_amf.engine.calls import LearnCall, PredictCall
from river_amf.engine.growth import Learned, admitted, with_capacity, with_columns
from river_amf.engine.lock import Guarded, exclusive, refuse_within
from river_amf.engine.settings import Parameters, begin, largest_total, schema_of
from river_amf.inputs.cautions import SparsityCheck, warn_of_lost, warn_of_order, warn_of_values
from river_amf.inputs.encoding import EncodedSample
from river_amf.inputs.kinds import as_dict, check_totals
from river_amf.inputs.labels import Labels, Targets
from river_amf.inputs.schema import Reading, Row, Schema
from river_amf.kernels import DONE, INFINITE, LOST, NONE, RELEASED, RESTARTED, TOO_HEAVY
from river_amf.outputs.predictions import decoder, first_prediction, first_quantiles, width
from river_amf.outputs.votes import ExpertOutputs, parts_of
from river_amf.state.arena import Arena
from river_amf.state.layout import LOCATION, LOWER, UPPER, Array

_LOGGER = logging.getLogger("river_amf")


@dataclass(frozen=True)
class Plan:
    """How to learn a sample with a new label, features, words or categories."""

    before: Learned
    after: Learned  # with all that is new, made beside the forest
    reading: Reading
    row: Row
    target: float
    weight: float
    version: int  # of the arena before it has learned the sample

    @property
    def needs_odds(self) -> bool:
        """Whether the prior counts more classes, so that the odds of all nodes change."""
        before, after = (learned.arena for learned in (self.before, self.after))
        assert after is not None
        n_classes = after.settings["n_classes"]
        return before is not None and bool(n_classes > before.settings["n_classes"])


class Engine(Guarded):
    """A schema, an arena, and delayed labels, for one thread at a time."""

    def __init__(self, labels: Labels | Targets | None = None) -> None:
        super().__init__()
        self.learned = Learned(Schema(labels), None)
        self.sparsity = SparsityCheck()
        self.watched: dict[Hashable, list[Any]] = {}  # by feature, the values to be counted so far
        self.starts: list[int] = []  # samples before the run of each label, if there was but one
        self.n_early = 0  # predictions before the first sample, which wait for no labels
        self.dry_run = False  # whether it learns samples that another one will learn
        self.predict_call: PredictCall | None = None  # for the present schema and arena
        self.learn_call: LearnCall | None = None

    @property
    def schema(self) -> Schema:
        return self.learned.schema

    @property
    def arena(self) -> Arena:
        """The arena, which there is from the first sample on."""
        assert self.learned.arena is not None
        return self.learned.arena

    def weight_of(self, tree: int) -> float:
        """Return the sum of the weights that a tree has learned; the first tree has learned all."""
        root = NONE if self.learned.arena is None else int(self.arena.trees["root"][tree])
        return 0.0 if root == NONE else float(self.arena.nodes["n_samples"][tree, root])

    def nbytes(self) -> int:
        """Return the bytes of the arrays that are not only reserved, of names and categories."""
        n_bytes = 0 if self.learned.arena is None else self.arena.nbytes
        return n_bytes + self.schema.nbytes

    def faded_share(self) -> float:
        """Return the mean share of the faded counts in the recent predictions of the trees."""
        return 0.5 if self.learned.arena is None else float(self.arena.trees["faded_share"].mean())

    def extensible(self, parameters: Parameters) -> Learned:
        """Return schema and arena, with columns for words that the kernels have chosen."""
        if self.learned.arena is None:
            return Learned(self.extensible_schema(parameters), begin(parameters))
        return with_columns(self.learned) if self._has_chosen() else self.learned

    def extensible_schema(self, parameters: Parameters) -> Schema:
        if self.learned.arena is None:
            return schema_of(parameters, self.schema.labels, self.schema.warned)
        return self.extensible(parameters).schema

    def _has_chosen(self) -> bool:
        """Return whether some words are to have a column from the next sample on."""
        return self.schema.words is not None and bool(self.arena.counters["n_chosen"][0])

    # Learning

    def learn(self, x: Any, y: Hashable, weight: float, parameters: Parameters) -> None:
        """Learn a sample, whose weight has been checked, under the lock."""
        if self.is_within():
            refuse_within()
        with self.lock:
            if self.unfinished is not None:
                self.finish_unfinished()
            if not self._learn_ordinary(x, y, weight):
                self.learn_any(x, y, weight, parameters)

    def _learn_ordinary(self, x: Any, y: Hashable, weight: float) -> bool:
        """Learn a sample in which nothing is new, and return True; return False for any other."""
        call = self.learn_call = self.learn_call or LearnCall.of(self.learned)
        if call is None or self.is_counting or len(self.starts) > 1 or weight == 0.0:
            return False
        try:
            label = None if call.encode(x) is None else call.number_of(y)
        except TypeError:  # which `learn_any` raises with a better text
            return False
        if label is None:
            return False
        target = float(label)
        self.unfinished = self.resume
        if call.is_bounded:
            self.unfinished = functools.partial(self.resume, call.n_learned[0])
        status = call.learn_sample(call.arena, call.sample, target, weight, call.output)
        if status == DONE and not call.is_bounded:
            self.unfinished = None
        else:
            self.finish(status, x, target, weight)
        return True

    def learn_any(self, x: Any, y: Hashable, weight: float, parameters: Parameters) -> None:
        """Learn a sample, whose weight has been checked."""
        x = x if type(x) is dict else as_dict(x)
        schema, arena = self.learned
        try:
            label = schema.labels.get(y)
        except TypeError:  # which `Schema.read` raises with a better text
            label = None
        if weight > 0.0 and (label is None or len(self.starts) > 1):
            n_learned = 0 if arena is None else int(arena.n_learned[0])
            warn_of_order(self.starts, label, n_learned, schema, parameters)
        is_read = weight == 0.0 or self._has_chosen() or self.is_counting
        if label is None or is_read or schema.encode(x) is None:
            learned = self.extensible(parameters) if weight > 0.0 or arena is None else self.learned
            reading = learned.schema.read(x, y, weight)
            if weight == 0.0:
                self._take_pending(reading, weight)
                return
            warn_of_values(self.watched, x, reading, learned.schema)
            self.sparsity.count(x, learned.schema)
            if reading.label is None or reading.has_new or learned is not self.learned:
                self._learn_new(learned, reading, weight, parameters)
                return
            label = reading.label
            schema.encode_row(reading.row)
        assert arena is not None
        self.unfinished = functools.partial(self.resume, arena.n_learned[0])
        self.finish(None, x, float(label), weight)

    @property
    def is_counting(self) -> bool:
        """Whether values of samples are counted for a warning, so that each is learned alone."""
        return bool(self.sparsity.n_left or self.watched)

    def finish(self, status: int | None, x: Any, target: float, weight: float) -> None:
        """Learn the encoded sample, given the status of the kernel if it has been called."""
        status = self._run(target, weight, status)
        if status in (DONE, RELEASED, LOST):
            self.schema.use()
        self.begin_cosines()
        self.unfinished = None
        if status == INFINITE:
            self.schema.read_features(x)  # raises
        elif status == TOO_HEAVY:
            largest = float(self.arena.settings["largest_total"][0])
            check_totals(self.weight_of(0), [weight], largest)  # raises
        elif status == LOST:
            self.check_lost()

    def _run(self, target: float, weight: float, status: int | None = None) -> int:
        """Learn the encoded sample in the trees that have not; return the kernel's last status."""
        # Only nodes, boxes and rows may be short, on which these addresses do not depend.
        while status is None or status < 0:
            if status is not None and status <= RESTARTED:
                self.log_restarts([self.restart_of(RESTARTED - status)])
            elif status is not None:
                self.enlarge(status)
            arena = self.arena
            arguments = self.schema.sample.address, target, weight, arena.output.address
            status = kernels.learn_sample(arena, *arguments)
        if status == RELEASED:
            self.drop_rows()
        return status

    def restart_of(self, tree: int) -> tuple[int, int]:
        """Return the number of samples after which a tree has last restarted, and its index."""
        return int(self.arena.trees["restarted_at"][tree]), tree

    def log_restarts(self, restarts: Sequence[tuple[int, int]]) -> None:
        """Log restarts, as `restart_of` returns them, in their order."""
        for n_learned, tree in [] if self.dry_run else sorted(restarts):
            _LOGGER.info("tree %d restarted after %d samples", tree, n_learned)

    def check_lost(self) -> None:
        """Warn if many labels in a row have found no prediction, though the model had learned."""
        if self.arena.counters["n_lost"][0] >= kernels.N_LOST + self.n_early:
            warn_of_lost(self.schema.warned)

    def resume(self, n_learned: int = 0) -> None:
        """Learn the encoded sample, which has nothing new, if that has begun."""
        handle = self.arena.handle[0]
        if handle["next_tree"] != NONE:
            self._run(float(handle["target"]), float(handle["weight"]))
        if self.arena.n_learned[0] > n_learned:
            self.schema.use()
        self.begin_cosines()

    def _take_pending(self, reading: Reading, weight: float) -> None:
        """Take out the prediction of a sample, in which new features were unknown."""
        schema, arena = self.learned
        if arena is not None:
            row, new = reading.row, {*reading.numeric, *reading.categorical}
            sample = schema.encode_row({name: row[name] for name in row if name not in new})
            kernels.take_pending(arena, sample.address, weight)

    def _learn_new(
        self, learned: Learned, reading: Reading, weight: float, parameters: Parameters
    ) -> None:
        if weight > 1.0:  # it would take 1e305 samples of smaller ones
            check_totals(self.weight_of(0), [weight], largest_total(parameters))
        before = self.schema
        self.unfinished = before.undo()
        learned, row = admitted(learned, reading, parameters)
        schema, arena = learned
        assert arena is not None
        target = float(len(schema.labels) - 1 if reading.label is None else reading.label)
        version = int(arena.handle["version"][0])
        plan = Plan(self.learned, learned, reading, row, target, weight, version)
        self.unfinished = functools.partial(self._commit, plan)
        self.finish_unfinished()
        if schema is not before and schema.words is None:
            self.sparsity.note_growth(len(before), len(schema), schema.warned)

    def _commit(self, plan: Plan) -> None:
        """Do as planned; called again, do what an interrupted call has left of it."""
        self.install(plan.before, plan.after)
        schema, arena, reading = self.schema, self.arena, plan.reading
        for name, category in reading.categories:
            schema.put(name, category, plan.row[name])
        has_begun = arena.handle["version"][0] != plan.version
        if not has_begun:
            if plan.needs_odds:
                kernels.recompute_all_odds(arena)
            self._take_pending(reading, plan.weight)
        if not has_begun or arena.handle["next_tree"][0] != NONE:
            schema.encode_row(plan.row)
            self._run(plan.target, plan.weight)
        schema.use()
        self.begin_cosines()

    def install(self, before: Learned, after: Learned) -> None:
        """Put others in the place of schema and arena, unless that is done."""
        if self.learned is before:
            self.replace(after)
        self.arena.settings["n_codes"] = self.schema.n_codes
        self.arena.settings["n_words"] = self.schema.n_indices

    def replace(self, learned: Learned) -> None:
        self.predict_call = self.learn_call = None
        self.learned = learned

    def enlarge(self, missing: int) -> None:
        self.replace(Learned(self.schema, with_capacity(self.arena, missing)))

    def drop_rows(self) -> None:
        kernels.compact_rows(self.arena)
        self.replace(Learned(self.schema, self.arena.drop_rows()))

    def begin_cosines(self) -> None:
        if (arena := self.arena.with_cosines()) is not self.arena:
            self.replace(Learned(self.schema, arena))

    # Predicting. All but the first are for callers that hold the lock.

    def predict(self, x: Any) -> Any:
        """Return the probability of each label seen so far, or the predicted target."""
        if self.is_within():
            refuse_within()
        with self.lock:
            if self.unfinished is not None:
                self.finish_unfinished()
            call = self.predict_call = self.predict_call or PredictCall.of(self.learned)
            if (
                call is not None
                and call.encode(x) is not None
                and call.predict_sample(*call.addresses) == DONE
            ):
                return call.decode(call.answer)
            return self.predict_any(x)

    def predict_any(self, x: Any) -> Any:
        schema, arena = self.learned
        if arena is None:
            schema.read_features(x)
            self.n_early += 1
            return first_prediction(schema.labels)
        self._predict_encoded(x, schema.encode_any(x))
        return decoder(schema.labels)(arena.output.answer)

    def _predict_encoded(self, x: Any, sample: EncodedSample) -> None:
        """Write the prediction for a sample to the buffer of the arena, or raise if it is bad."""
        schema, arena = self.schema, self.arena
        arguments = sample.address, arena.output.address
        while (status := kernels.predict_sample(self.arena, *arguments)) < 0:
            self.enlarge(status)
        if status == INFINITE:
            schema.read_features(x)  # raises

    def raw_answer(self, x: Any, level: float = 0.0) -> list[float]:
        """Return the answer of the kernels, with quantiles at a level unless it is 0."""
        schema, arena = self.schema, self.arena
        sample, answer = schema.encode_any(x), arena.output.answer
        if level:
            answer[LOWER] = level
        try:
            self._predict_encoded(x, sample)
            result: list[float] = answer[: width(schema.labels)].tolist()
        finally:
            if level:
                answer[LOWER] = 0.0  # or the next prediction would take it for a level
        return result

    def quantiles(self, x: Any, levels: Sequence[float]) -> list[tuple[float, float, float]]:
        """Return the prediction, and the quantiles at both ends, for each of these levels."""
        labels = self.schema.labels
        if self.learned.arena is None:
            first = self.predict_any(x)  # raises if the sample is not valid
            return [(first, *first_quantiles(level)) for level in levels]
        # once each, as the same level again would be that of another, equal row
        by_level = {level: self.raw_answer(x, level) for level in dict.fromkeys(levels)}
        answers, origin = (by_level[level] for level in levels), labels.origin or 0.0
        return [(a[LOCATION] + origin, a[LOWER] + origin, a[UPPER] + origin) for a in answers]

    predict_quantiles = exclusive(quantiles)

    def novelty(self, x: Any) -> float:
        """Return how new a sample is, from 0 to 1, or raise if it is bad."""
        schema, arena = self.learned
        if arena is None:
            schema.read_features(x)
            return 1.0
        sample = schema.encode(x)
        if sample is None:  # else it has no category that was never learned
            sample = schema.encode_special(x)
            schema.mask_unknown(sample.values[0])
        novelty: float = kernels.novelty_of_sample(arena, sample.address)
        if math.isnan(novelty):
            schema.read_features(x)  # raises
        return novelty

    def reader(self) -> Self:
        """Return an engine whose predictions await no labels; learning would corrupt both."""
        twin = type(self)()
        twin.learned = self.learned
        if self.learned.arena is not None:
            arena = self.arena.replacing({}, {})
            arena.handle["most_pending"] = 0
            twin.learned = Learned(self.schema, arena)
        return twin

    def expert_outputs(self, x: Any, has_parts: bool = False) -> ExpertOutputs | None:
        """Return the outputs of experts for a sample, None before the first; raise if it is bad."""
        reader = self.reader()
        answer = reader.predict_any(x)
        if reader.learned.arena is None:
            return None
        sample = reader.schema.encode_any(x)
        reader._predict_encoded(x, sample)
        values, words = sample.values[0].copy(), sample.words.copy()
        arrays = reader.arena.last_outputs()
        parts = parts_of(reader.arena, sample) if has_parts else None
        return ExpertOutputs._make([values, words, *arrays, answer, parts])

    # Copies

    def used_arrays(self) -> dict[str, Array]:
        """Return copies of the arrays that belong to copies and files, without empty ones."""
        if self.learned.arena is None:
            return {}
        kernels.compact_rows(self.arena)  # as gaps in the store depend on its capacity
        self.replace(Learned(*self.learned))
        used = self.arena.with_pending(int(self.arena.counters["n_pending"][0])).used_arrays()
        return {name: array.copy() for name, array in used.items() if array.size}
