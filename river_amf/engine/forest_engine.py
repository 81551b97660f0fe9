"""The engine of a forest: what single samples need (`sample_engine`), blocks and files."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.engine import events
from river_amf.engine.known import Known, extended, growth, with_columns, with_ready
from river_amf.engine.late_labels import LateLabels
from river_amf.engine.lock import exclusive
from river_amf.engine.restoring import arena_of_file
from river_amf.engine.sample_engine import SampleEngine
from river_amf.engine.settings import Parameters, bound_of
from river_amf.engine.threads import run_in_threads
from river_amf.inputs.columns import (
    EncodedBlock,
    NewCategory,
    SchemaChange,
    column_part,
    encode_to_learn,
    encode_to_predict,
)
from river_amf.inputs.frames import Column
from river_amf.inputs.kinds import check_totals
from river_amf.inputs.labels import Labels
from river_amf.inputs.mismatch import warn_of_numbers
from river_amf.inputs.row_problems import Problems
from river_amf.inputs.sparse_features import SparseFeatures
from river_amf.inputs.sparse_rows import SparseRows, check_rows
from river_amf.inputs.targets import Targets
from river_amf.kernels import DONE, OPEN, RELEASED, UNOPENED
from river_amf.persistence import validation
from river_amf.state import layout
from river_amf.state.arena import Arena, Block

_LEAST_PART = 1024  # minimum rows that are encoded at once
_WORTH_THREADS = 32  # minimum samples: starting a thread takes as long as learning a few of them

Rows = NDArray[np.int64]
Answers = NDArray[np.float64]
Weights = NDArray[np.float64]


class BlockAnswers(NamedTuple):
    """The predictions for a block of rows."""

    answers: Answers  # (n_rows, n_labels) probabilities, or what `layout` says of real targets
    n_known: Rows  # how many of the labels were known when each row was predicted
    labels: list[Hashable]  # known at the end of the block


class LabeledRows(NamedTuple):
    """A block that is to be learned."""

    table: list[Column]
    labels: Column
    weights: Weights

    def part(self, start: int, stop: int) -> LabeledRows:
        """Return the rows from `start` to `stop`."""
        table = [column_part(column, start, stop) for column in self.table]
        return LabeledRows(table, column_part(self.labels, start, stop), self.weights[start:stop])


class Engine(SampleEngine):
    """The engine of a forest."""

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        features: Any,
        labels: Labels | Targets,
        arrays: dict[str, NDArray[Any]],
    ) -> Self:
        """Return an engine with the content of a file, or raise FileError if it is not sound."""
        engine = cls()
        late = {name: arrays.pop(name) for name in layout.PENDING_FIELDS if name in arrays}
        arena = arena_of_file(parameters, features, labels, arrays)
        engine.known = Known(features, labels, arena)
        if late:
            validation.check_pending(late, arena)
            engine.late = LateLabels.of_arrays(late)
        return engine

    def nbytes(self) -> int:
        """Return the bytes of the arrays, including spare capacity, and of names and categories."""
        features, labels, arena = self.known
        of_arena = 0 if arena is None else arena.nbytes
        return of_arena + features.nbytes + labels.nbytes + self.late.nbytes

    def faded_share(self) -> float:
        """Return the mean share of the faded counts in the recent predictions of the trees."""
        arena = self.known.arena
        return 0.5 if arena is None else float(arena.trees["faded_share"].mean())

    # Rows of words, which go one by one

    @exclusive
    def predict_rows(self, table: SparseRows) -> Answers:
        """Return the probabilities of the labels seen so far, of shape (n_rows, n_labels)."""
        features, labels, arena = self.known
        proba = np.zeros((table.n_rows, labels.n_classes))
        problems = Problems()
        for row, x in enumerate(table.samples()):
            if arena is None or not isinstance(features, SparseFeatures):
                problems.try_at(row, features.check, x)
                problems.raise_first()
                continue
            sample = problems.try_at(row, features.encode, x)
            problems.raise_first()
            self._predict_encoded(arena, sample)
            self.late.hold_unusual(features, sample, arena)
            proba[row] = sample.prediction.buffer[: labels.n_classes]
        return proba

    @exclusive
    def learn_rows(
        self,
        table: SparseRows,
        labels: Column,
        weights: Weights,
        parameters: Parameters,
        predicts: bool,
    ) -> BlockAnswers:
        """Learn rows one by one; if `predicts`, predict each one before it is learned."""
        known = self._known_for(parameters)
        features, known_labels = (with_columns(known) if self._has_chosen() else known)[:2]
        assert isinstance(features, SparseFeatures)
        assert isinstance(known_labels, Labels)  # only classifiers have words
        check_rows(table, labels, weights, features, known_labels, parameters.n_classes)
        check_totals(self.total_weight, weights, parameters.task, are_rows=True)
        n_restarts = self._n_restarts(parameters)
        n_known = np.zeros(table.n_rows, np.int64)
        answers: list[list[float]] = []
        problems = Problems()
        for row, x in enumerate(table.samples()):
            if predicts:
                n_known[row] = len(self.labels)
                answers.append(list(self.answer(x).values()))
            problems.try_at(row, self._learn, x, labels.at(row), float(weights[row]), parameters)
            problems.raise_first()
        self._log_restarts(n_restarts)
        proba = np.zeros((table.n_rows, len(self.labels)))
        for row, answer in enumerate(answers):
            proba[row, : len(answer)] = answer
        return BlockAnswers(proba, n_known, list(self.labels))

    # Blocks

    @exclusive
    def predict_block(
        self, table: list[Column], n_rows: int, parameters: Parameters, level: float = 0.0
    ) -> Answers:
        """Return the predictions for a block, as in `BlockAnswers`, with quantiles at a level."""
        features, labels, arena = self.known
        values = encode_to_predict(table, n_rows, features, is_fresh=arena is None)
        answers = labels.blank_answers(n_rows, 0, level)
        block = Block(values, np.zeros(n_rows), np.zeros(n_rows), answers)
        self.late.hold(features, arena)
        self._predict_range(block, range(n_rows), parameters.n_jobs, keeps=True)
        return block.answers

    @exclusive
    def learn_block(
        self,
        table: list[Column],
        labels: Column,
        weights: Weights,
        parameters: Parameters,
        predicts: bool,
        level: float = 0.0,
    ) -> BlockAnswers:
        """Learn a block of rows; if `predicts`, predict each one before it is learned."""
        # It is one part, unless categories are forgotten on the way: which ones, and so how the
        # rest is encoded, depends on what has been learned by then. The first part checks all rows.
        n_restarts = self._n_restarts(parameters)
        rows = LabeledRows(table, labels, weights)
        parts = [self._learn_part(rows, parameters, predicts, level)]
        n_rows, done = len(weights), len(parts[0].answers)
        while done < n_rows:
            stop = min(n_rows, done + max(_LEAST_PART, 2 * (bound_of(parameters) or 0)))
            parts.append(self._learn_part(rows.part(done, stop), parameters, predicts, level))
            done += len(parts[-1].answers)
        self._log_restarts(n_restarts)
        return _joined(parts)

    def _learn_part(
        self, rows: LabeledRows, parameters: Parameters, predicts: bool, level: float
    ) -> BlockAnswers:
        """Learn the rows of a block up to the first one that changes how the rest is encoded."""
        first = self._known_for(parameters)
        encoded = encode_to_learn(
            *rows, first.features, first.labels, parameters.n_classes, bound_of(parameters)
        )
        check_totals(self.total_weight, rows.weights, parameters.task, are_rows=True)
        first.features.warn(encoded.mismatches)
        warn_of_numbers(first.features, ((new.feature, new.category) for new in encoded.categories))
        n_rows, n_jobs = min(len(rows.weights), encoded.full_at + 1), parameters.n_jobs
        self._check_rows_to_learn(first, encoded, rows.weights[:n_rows])
        self.late.hold(self.features, self.arena)
        n_new = sum(len(change.label) for change in encoded.schema_changes)
        answers = self.labels.blank_answers(len(rows.weights), n_new, level)
        block = Block(encoded.values, encoded.targets, rows.weights, answers)
        block.is_at_once = predicts
        n_known = np.zeros(n_rows, np.int64)
        learn = functools.partial(
            self._learn_range, block, encoded.categories, predicts=predicts, n_jobs=n_jobs
        )
        start = 0
        for change in (each for each in encoded.schema_changes if each.row < n_rows):
            n_known[start : change.row + 1] = len(self.labels)
            learn(range(start, change.row))
            if predicts:
                self._predict_range(block, range(change.row, change.row + 1), n_jobs)
            known = first if self.known.arena is None else self.known  # it has warned already
            self._learn_change(known, block, change, encoded.categories, parameters)
            start = change.row + 1
        n_known[start:] = len(self.labels)
        learn(range(start, n_rows))
        width = self.labels.width  # less than was allocated, if this is but a part
        return BlockAnswers(answers[:n_rows, :width], n_known, list(self.labels))

    def _check_rows_to_learn(self, known: Known, encoded: EncodedBlock, weights: Weights) -> None:
        """Warn of few features and large nodes as for single rows, before any row is learned."""
        features, labels, arena = known
        assert arena is not None
        learned = np.flatnonzero(weights > 0.0)
        n_features = np.full(len(weights) + 1, len(features))
        n_labels = labels.n_classes
        for row, label, new in encoded.schema_changes:
            if row < len(weights):
                n_labels += len(label)
                n_features[row + 1 :] += len(new.numeric) + len(new.categorical)
                self.cautions.check_nodes(arena, int(n_features[row + 1]), n_labels)
        n_values = np.count_nonzero(~np.isnan(encoded.values), axis=1)
        self.cautions.check_presence(arena, n_features[learned], n_values[learned])

    def _predict_range(
        self, block: Block, rows: range, n_jobs: int, *, keeps: bool = False
    ) -> None:
        """Predict some rows of a block, and keep the predictions until their labels come."""
        if self.known.arena is not None and rows:
            self._prepare(self.known, block, rows, predicts=True, learns=False)
            for start in range(rows.start, rows.stop, block.chunk):
                block.record["stage"] = UNOPENED
                stop = min(start + block.chunk, rows.stop)
                self._run_chunk(block, start, stop, n_jobs, [])
                if keeps and self.arena.settings["max_pending"][0]:
                    found = block.values[start:stop], block.votes[:, : stop - start]
                    self.late.keep_rows(
                        self.features, self.arena, *found, block.answers[start:stop]
                    )

    def _learn_range(
        self,
        block: Block,
        categories: list[NewCategory],
        rows: range,
        *,
        predicts: bool,
        n_jobs: int,
    ) -> None:
        """Learn some rows of a block, none of which brings a new label or feature."""
        if self.known.arena is not None and rows:
            self._prepare(self.known, block, rows, predicts=predicts, learns=True)
            start = rows.start
            while start < rows.stop:
                start = self._learn_chunk(self.known, block, start, rows.stop, categories, n_jobs)

    def _learn_change(
        self,
        known: Known,
        block: Block,
        change: SchemaChange,
        categories: list[NewCategory],
        parameters: Parameters,
    ) -> None:
        """Learn a row with a new label or features, or for which categories are forgotten."""
        self.pending = self.known.cutter()
        own = [(new.feature, new.category) for new in categories if new.row == change.row]
        new = change.new._replace(categories=own)
        known, _ = extended(known, new, change.label, {}, parameters)
        rows = range(change.row, change.row + 1)
        self._prepare(known, block, rows, predicts=False, learns=True)
        self._learn_chunk(known, block, rows.start, rows.stop, [], n_jobs=1)

    def _prepare(
        self, known: Known, block: Block, rows: range, *, predicts: bool, learns: bool
    ) -> None:
        """Allocate and compile what it takes to predict or learn some rows of a block."""
        assert known.arena is not None
        if predicts:
            kernels.compile_for(known.arena, learns=False)
        has_late = learns and bool(self.late.waiting) and not block.is_at_once
        how = {"predicts": predicts, "learns": learns, "has_late": has_late}
        block.prepare(known.arena, len(rows), **how)

    def _learn_chunk(
        self,
        known: Known,
        block: Block,
        start: int,
        end: int,
        categories: list[NewCategory],
        n_jobs: int,
    ) -> int:
        """Learn rows up to `end` that there is capacity for; return the first of those left."""
        features, labels, arena = known
        assert arena is not None
        wanted = min(block.chunk, end - start)
        arena, n_ready = with_ready(arena, wanted, growth(arena, end - start))
        stop = start + n_ready
        new = [each for each in categories if start <= each.row < stop]
        if new:
            self.pending = self.known.cutter()
            for _, name, category in new:
                features.add_category(name, category)
            arena = arena.with_codes(features.n_codes)
        block.contexts[:] = 0.0
        if self.late.waiting:
            self.late.find_rows(arena, block, start, stop)
        block.record["stage"] = UNOPENED
        pools: list[ThreadPoolExecutor] = []

        def learn() -> None:
            for pool in pools:  # of a call that was interrupted
                pool.shutdown()
            self._run_chunk(block, start, stop, n_jobs, pools)

        self._carry_out(Known(features, labels, arena), lambda: block.stage != UNOPENED, learn)
        return stop

    def _run_chunk(
        self, block: Block, start: int, stop: int, n_jobs: int, pools: list[ThreadPoolExecutor]
    ) -> None:
        """Run a chunk through all trees in some threads, from where it has come to."""
        if block.stage == UNOPENED:
            kernels.open_chunk(self.arena.address, block.address, start, stop)
        while block.stage == OPEN:
            calls = _calls(self.arena, block, start, stop, n_jobs)
            missing = set(run_in_threads(calls, pools)) - {DONE}
            for kind in missing:
                self._enlarge(kind)
            if missing:
                continue
            if kernels.close_chunk(self.arena.address, block.address, start, stop) == RELEASED:
                self._drop_rows()

    # What is logged

    def _n_restarts(self, parameters: Parameters) -> Rows | None:
        """Return how often each tree has restarted, or None if restarts are not logged."""
        if parameters.restart_threshold is None or not events.logs_restarts():
            return None
        if self.known.arena is None:
            return np.zeros(parameters.n_estimators, np.int64)
        return self.known.arena.trees["n_restarts"].copy()

    def _log_restarts(self, n_restarts: Rows | None) -> None:
        """Log the trees that have restarted in a block, given `n_restarts` from before it."""
        if n_restarts is not None and self.known.arena is not None:
            events.restarted(self.known.arena, n_restarts)


def _calls(
    arena: Arena, block: Block, start: int, stop: int, n_jobs: int
) -> list[Callable[[], int]]:
    """Return what runs a chunk through all trees and linear models, a call for each thread."""

    def run(first: int, end: int) -> int:  # which keeps alive what kernels know by address
        return kernels.run_chunk(arena.address, block.address, start, stop, first, end)

    n_voters = arena.capacities["tree"] + arena.capacities["linear_model"]
    n_threads = max(min(n_voters, _n_cores() if n_jobs == -1 else n_jobs), 1)
    n_threads = n_threads if block.chunk >= _WORTH_THREADS else 1
    cuts = [n_voters * k // n_threads for k in range(n_threads + 1)]
    return [functools.partial(run, *part) for part in itertools.pairwise(cuts)]


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _joined(parts: list[BlockAnswers]) -> BlockAnswers:
    """Return the answers of a block, given those of its parts."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.answers) for part in parts)])
    answers = np.zeros((starts[-1], parts[-1].answers.shape[1]))
    for start, part in zip(starts, parts, strict=False):
        answers[start : start + len(part.answers), : part.answers.shape[1]] = part.answers
    return BlockAnswers(answers, np.concatenate([part.n_known for part in parts]), parts[-1].labels)
