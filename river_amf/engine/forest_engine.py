"""The engine of a forest: what single samples need (`sample_engine`), blocks and files."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.engine import events
from river_amf.engine.known import Known, growth, with_columns, with_ready
from river_amf.engine.lock import exclusive
from river_amf.engine.sample_engine import SampleEngine, check
from river_amf.engine.settings import Parameters, bound_of
from river_amf.engine.threads import run_in_threads
from river_amf.inputs.columns import (
    NewCategory,
    encode_to_learn,
    encode_to_predict,
    is_bad,
    is_odd,
    is_there,
    sample_at,
)
from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import check_totals
from river_amf.inputs.mismatch import warn_of_numbers
from river_amf.inputs.row_problems import in_row
from river_amf.inputs.sparse_features import SparseFeatures
from river_amf.kernels import DONE, OPEN, RELEASED, UNOPENED
from river_amf.state.arena import Arena, Block

_FEW = 16  # ordinary rows in a row, that are faster one by one
_WORTH_THREADS = 32  # minimum samples: starting a thread takes as long as learning a few of them

Answers = NDArray[np.float64]
Weights = NDArray[np.float64]


class BlockAnswers(NamedTuple):
    """The predictions for a block of rows."""

    answers: Answers  # (n_rows, n_labels) probabilities, or what `layout` says of real targets
    n_known: NDArray[np.int64]  # how many labels were known when each row was predicted
    labels: list[Any]  # known at the end of the block, or of real targets the origin


class Rows(NamedTuple):
    """A block of rows, by columns or as samples."""

    n_rows: int
    columns: list[Column]
    samples: list[dict[Hashable, Any]] | None = None  # rows of words

    def at(self, row: int) -> dict[Hashable, Any]:
        """Return a row as a sample."""
        return sample_at(self.columns, row) if self.samples is None else self.samples[row]


class LabeledRows(NamedTuple):
    """A block that is to be learned."""

    rows: Rows
    labels: Column
    weights: Weights

    def at(self, row: int) -> tuple[dict[Hashable, Any], Any, float]:
        """Return a row as a sample with its label and weight."""
        return self.rows.at(row), self.labels.at(row), float(self.weights[row])


class Engine(SampleEngine):
    """The engine of a forest."""

    def nbytes(self) -> int:
        """Return the bytes of the arrays, including spare capacity, and of names and categories."""
        features, labels, arena = self.known
        of_arena = 0 if arena is None else arena.nbytes
        return of_arena + features.nbytes + labels.nbytes + self.late.nbytes

    def faded_share(self) -> float:
        """Return the mean share of the faded counts in the recent predictions of the trees."""
        arena = self.known.arena
        return 0.5 if arena is None else float(arena.trees["faded_share"].mean())

    # Blocks

    @exclusive
    def predict_block(
        self, rows: Rows, parameters: Parameters, levels: Sequence[float] = (0.0,)
    ) -> list[BlockAnswers]:
        """Return the predictions for a block, once with quantiles at each of these levels."""
        n_known = np.full(rows.n_rows, len(self.labels))
        return [
            BlockAnswers(self._predicted(rows, parameters, level), n_known, list(self.labels))
            for level in levels
        ]

    def _predicted(self, rows: Rows, parameters: Parameters, level: float) -> Answers:
        features, labels, arena = self.known
        answers = labels.blank_answers(rows.n_rows, 0, level)
        if arena is None:
            are_bad = sum(map(is_bad, rows.columns), np.full(rows.n_rows, bool(rows.samples)))
            for row in np.flatnonzero(are_bad).tolist():
                in_row(row, features.check, rows.at(row))
        elif rows.samples is not None:
            for row, x in enumerate(rows.samples):
                in_row(row, features.encode, x)
            for row, x in enumerate(rows.samples):
                answers[row] = self.raw_answer(x, level)
        elif rows.n_rows:
            values, are_odd = encode_to_predict(rows.columns, rows.n_rows, features)
            for row in np.flatnonzero(are_odd).tolist():
                values[row] = in_row(row, features.encode_unusual, rows.at(row)).values[0]
            block = Block(values, np.zeros(rows.n_rows), np.zeros(rows.n_rows), answers)
            self.late.hold(features, arena)
            self._predict_rows(block, parameters.n_jobs)
        return answers

    def _predict_rows(self, block: Block, n_jobs: int) -> None:
        """Predict the rows of a block, and keep the predictions until their labels come."""
        n_rows = len(block.values)
        self._prepare(self.known, block, n_rows, predicts=True, learns=False)
        for start in range(0, n_rows, block.chunk):
            block.record["stage"] = UNOPENED
            stop = min(start + block.chunk, n_rows)
            self._run_chunk(block, start, stop, n_jobs, [])
            if self.arena.settings["max_delayed_labels"][0]:
                found = block.values[start:stop], block.votes[:, : stop - start]
                self.late.keep_rows(self.features, self.arena, *found, block.answers[start:stop])

    @exclusive
    def learn_block(
        self, rows: LabeledRows, parameters: Parameters, predicts: bool, level: float = 0.0
    ) -> BlockAnswers:
        """Learn a block of rows; if `predicts`, predict each one before it is learned."""
        weights = rows.weights
        try:
            odd, n_new_labels = self._odd_rows(rows, parameters)
        except INVALID:
            if parameters.max_words is None:
                raise
            odd, n_new_labels = self._odd_rows_of_words(rows, parameters)
        check_totals(self.total_weight, weights, parameters.task, are_rows=True)
        arena = self.known.arena
        n_restarts = 0 if arena is None else arena.trees["n_restarts"].copy()
        answers = BlockAnswers(
            self.labels.blank_answers(len(weights), n_new_labels, level),
            np.zeros(len(weights), np.int64),
            [],
        )
        start = 0
        for row in [*odd, len(weights)]:
            self._learn_ordinary(rows, range(start, row), parameters, predicts, level, answers)
            if row < len(weights):
                self._learn_odd(rows, row, parameters, predicts, level, answers)
            start = row + 1
        if self.known.arena is not None:
            events.restarted(self.known.arena, n_restarts)
        return answers._replace(labels=list(self.labels))

    def _odd_rows(self, rows: LabeledRows, parameters: Parameters) -> tuple[list[int], int]:
        """Check all rows; return those to be learned one by one, and the number of new labels."""
        # Each odd row goes through the checks of single samples, and what is new in it is added to
        # features and labels; at the end all of that is cut off again.
        known = self._known_for(parameters)
        features, labels, _ = with_columns(known) if self._has_chosen() else known
        n_labels = len(labels)
        open_columns = [
            column for column in rows.rows.columns if not features.is_known(column.name)
        ]
        n_reasons = np.array((rows.weights == 0.0) | (rows.rows.samples is not None), np.int64)
        for column in rows.rows.columns:
            n_reasons += is_odd(column, features)
        odd: list[int] = []
        self.pending = self.known._replace(features=features).cutter()
        try:
            are_odd = (n_reasons > 0) | labels.is_odd(rows.labels)
            row = _next(are_odd, 0)
            while row is not None:
                odd.append(row)
                x, y, weight = rows.at(row)
                reading, y, label = in_row(
                    row, check, features, labels, x, y, weight, parameters.n_classes
                )
                if weight > 0.0 and (label is None or any(reading.new)):
                    features = features.extended(reading.new, bound_of(parameters))
                    if isinstance(features, SparseFeatures):
                        features.vocabulary.add(features.new_words(reading.row))
                    if label is None:
                        labels.add(y)
                    for column in [c for c in open_columns if features.is_known(c.name)]:
                        n_reasons += is_odd(column, features)
                        n_reasons -= is_there(column)
                        open_columns.remove(column)
                    are_odd = (n_reasons > 0) | labels.is_odd(rows.labels)
                row = _next(are_odd, row + 1)
            return odd, len(labels) - n_labels
        finally:
            self.settle()

    def _odd_rows_of_words(
        self, rows: LabeledRows, parameters: Parameters
    ) -> tuple[list[int], int]:
        """Do what `_odd_rows` does by learning all rows in a copy."""
        # A word may be forgotten on the way, and come back as the name of a category.
        twin = type(self)()
        twin.__setstate__(self._snapshot())
        twin.cautions, twin.warned = self.cautions, self.warned
        twin.features.warned = self.features.warned
        for row in range(len(rows.weights)):
            in_row(row, twin._learn, *rows.at(row), parameters)
        return list(range(len(rows.weights))), len(twin.labels) - len(self.labels)

    def _learn_odd(
        self,
        rows: LabeledRows,
        row: int,
        parameters: Parameters,
        predicts: bool,
        level: float,
        answers: BlockAnswers,
    ) -> None:
        """Learn a row as a single sample; if `predicts`, predict it before."""
        x, y, weight = rows.at(row)
        answers.n_known[row] = len(self.labels)
        if predicts and self.known.arena is not None:
            found = in_row(row, self.raw_answer, x, level)
            answers.answers[row, : len(found)] = found
        in_row(row, self._learn, x, y, weight, parameters)

    def _learn_ordinary(
        self,
        rows: LabeledRows,
        some: range,
        parameters: Parameters,
        predicts: bool,
        level: float,
        answers: BlockAnswers,
    ) -> None:
        """Learn some rows, none of which is odd; if `predicts`, predict each one before."""
        start, stop = some.start, some.start
        if len(some) >= _FEW:
            ordinary = encode_to_learn(rows.rows.columns, some, self.features)
            stop = ordinary.stop
        if stop > start:
            warn_of_numbers(self.features, [(new.feature, new.category) for new in ordinary.new])
            targets = self.labels.encode(rows.labels, range(start, stop))
            block = Block(
                ordinary.values, targets, rows.weights[start:stop], answers.answers[start:stop]
            )
            block.is_at_once = predicts
            new = [each._replace(row=each.row - start) for each in ordinary.new]
            n_values = np.count_nonzero(~np.isnan(ordinary.values), axis=1)
            n_features = np.full(stop - start + 1, len(self.features))
            self.cautions.check_presence(self.arena, n_features, n_values)
            answers.n_known[start:stop] = len(self.labels)
            self.late.hold(self.features, self.arena)
            self._prepare(self.known, block, stop - start, predicts=predicts, learns=True)
            done = 0
            while done < stop - start:
                done = self._learn_chunk(block, done, new, parameters.n_jobs)
        for row in range(stop, some.stop):  # few, or a feature holds as many categories as it may
            self._learn_odd(rows, row, parameters, predicts, level, answers)

    def _prepare(
        self, known: Known, block: Block, n_rows: int, *, predicts: bool, learns: bool
    ) -> None:
        """Allocate what it takes to predict or learn the rows of a block."""
        assert known.arena is not None
        has_late = learns and bool(self.late.waiting) and not block.is_at_once
        how = {"predicts": predicts, "learns": learns, "has_late": has_late}
        block.prepare(known.arena, n_rows, **how)

    def _learn_chunk(
        self, block: Block, start: int, categories: list[NewCategory], n_jobs: int
    ) -> int:
        """Learn rows that there is capacity for; return the first of those left."""
        features, labels, arena = self.known
        assert arena is not None
        n_left = len(block.values) - start
        arena, n_ready = with_ready(arena, min(block.chunk, n_left), growth(arena, n_left))
        stop = start + n_ready
        new = [each for each in categories if start <= each.row < stop]
        if new:
            self.pending = self.known.cutter()
            for each in new:
                features.add_category(each.feature, each.category)
            arena = arena.with_codes(features.n_codes)
        block.contexts[:] = 0.0
        if self.late.waiting:
            self.late.find_rows(arena, block, start, stop, new)
        block.record["stage"] = UNOPENED
        pools: list[ThreadPoolExecutor] = []

        def learn() -> None:
            for pool in pools:  # of a call that was interrupted
                pool.shutdown()
            self._run_chunk(block, start, stop, n_jobs, pools)
            features.use_all(block.values[start:stop])

        self._carry_out(Known(features, labels, arena), lambda: block.stage != UNOPENED, learn)
        return stop

    def _run_chunk(
        self, block: Block, start: int, stop: int, n_jobs: int, pools: list[ThreadPoolExecutor]
    ) -> None:
        """Run a chunk through all trees in some threads, from where it has come to."""
        if block.stage == UNOPENED:
            kernels.open_chunk(self.arena, block.address, start, stop)
        while block.stage == OPEN:
            calls = _calls(self.arena, block, start, stop, n_jobs)
            missing = set(run_in_threads(calls, pools)) - {DONE}
            for kind in missing:
                self._enlarge(kind)
            if missing:
                continue
            if kernels.close_chunk(self.arena, block.address, start, stop) == RELEASED:
                self._drop_rows()


def _calls(
    arena: Arena, block: Block, start: int, stop: int, n_jobs: int
) -> list[Callable[[], int]]:
    """Return what runs a chunk through all trees and linear models, a call for each thread."""

    def run(first: int, end: int) -> int:  # which keeps alive what kernels know by address
        missing: int = kernels.run_chunk(arena, block.address, start, stop, first, end)
        return missing

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


def _next(mask: NDArray[np.bool_], start: int) -> int | None:
    """Return the first index from `start` on at which a mask is True, or None."""
    place = start + int(mask[start:].argmax()) if start < len(mask) else start
    return place if place < len(mask) and mask[place] else None
