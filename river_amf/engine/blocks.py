"""Blocks of rows: checked as a whole, then learned in stretches of ordinary and special rows.

A special row has a new feature or label, or a value that is not plainly right (`inputs.columns`).
It goes through the code for single samples: once in a dry run on the schema, which is then undone,
and once when it is learned. These functions are for callers that hold the lock.
"""

from __future__ import annotations

import _thread
import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.engine.engine import Engine
from river_amf.engine.growth import Learned, growth_factor, with_ready
from river_amf.engine.lock import Guarded
from river_amf.engine.restoring import content_of, engine_of
from river_amf.engine.settings import Parameters, largest_total
from river_amf.inputs.cautions import warn_of_order
from river_amf.inputs.columns import (
    NewCategory,
    encode_to_learn,
    encode_to_predict,
    is_special,
    is_there,
)
from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import INVALID, in_row
from river_amf.inputs.kinds import check_totals
from river_amf.kernels import DONE, OPEN, RELEASED, RESTARTED, UNOPENED
from river_amf.outputs.predictions import blank_answers
from river_amf.state.blocks import EncodedBlock

MIN_CHUNK_ROWS = 16  # fewer ordinary rows in a row are faster one by one
_EXPERTS_COST = 8  # of all experts together, in trees
_WORTH_THREADS = 32  # minimum samples: starting a thread takes as long as learning a few of them


class BlockAnswers(NamedTuple):
    """The predictions for a block of rows."""

    answers: NDArray[np.float64]  # (n_rows, n_labels) probabilities, or the `ANSWER` of targets
    n_known: NDArray[np.int64]  # number of labels when each row was predicted
    labels: list[Any]  # at the end of the block, or of real targets the origin


class Rows(NamedTuple):
    """A block of rows, by columns or as samples."""

    n_rows: int
    columns: list[Column]
    samples: list[dict[Hashable, Any]] | None  # rows of words
    labels: Any = None  # a Column, if the rows are to be learned
    weights: Any = None

    def at(self, row: int) -> dict[Hashable, Any]:
        if self.samples is not None:
            return self.samples[row]
        return {column.name: column.at(row) for column in self.columns}

    def labeled_at(self, row: int) -> tuple[dict[Hashable, Any], Any, float]:
        return self.at(row), self.labels.at(row), float(self.weights[row])


def rows_of_samples(samples: list[Any], y: list[Any], w: list[float]) -> Rows:
    labels = Column("y", None, np.arange(len(y)), y)
    return Rows(len(samples), [], samples, labels, np.array(w))


def predict_block(
    engine: Engine, rows: Rows, n_jobs: int, levels: Sequence[float]
) -> list[BlockAnswers]:
    """Return the predictions for a block, once with quantiles at each of these levels."""
    labels = engine.schema.labels
    n_known = np.full(rows.n_rows, len(labels))
    return [
        BlockAnswers(_predicted(engine, rows, n_jobs, level, keeps), n_known, list(labels))
        for level, keeps in zip(levels, [True, *[False] * (len(levels) - 1)], strict=True)
    ]


def _predicted(
    engine: Engine, rows: Rows, n_jobs: int, level: float, keeps: bool
) -> NDArray[np.float64]:
    # Predictions wait for their labels if `keeps`.
    schema, arena = engine.learned
    answers = blank_answers(schema.labels, rows.n_rows, level=level)
    if arena is None:
        for row in range(rows.n_rows):
            in_row(row, schema.read_features, rows.at(row))
        engine.n_early += rows.n_rows
    elif rows.samples is not None:
        for row, x in enumerate(rows.samples):
            in_row(row, schema.encode_any, x)
        asked = engine if keeps else engine.reader()
        for row, x in enumerate(rows.samples):
            answers[row] = asked.raw_answer(x, level)
    elif rows.n_rows:
        values, are_special = encode_to_predict(rows.columns, rows.n_rows, schema)
        for row in np.flatnonzero(are_special).tolist():
            values[row] = in_row(row, schema.encode_special, rows.at(row)).values[0]
        zeros = np.zeros(rows.n_rows)
        predict_encoded(engine, EncodedBlock(values, zeros, zeros, answers), n_jobs, keeps)
    return answers


def predict_encoded(engine: Engine, block: EncodedBlock, n_jobs: int, keeps: bool) -> None:
    """Predict encoded rows; if `keeps`, the predictions wait for their labels."""
    schema, arena = engine.schema, engine.arena
    n_rows = len(block.values)
    if (larger := arena.with_room(n_rows if keeps else 0)) is not arena:
        engine.replace(Learned(schema, larger))
    block.prepare(arena, n_rows, predicts=True, learns=False, keeps=keeps)
    parts: list[Guarded] = []
    engine.unfinished = functools.partial(finish, parts)
    for start in range(0, n_rows, block.chunk):
        block.record["stage"] = UNOPENED
        stop = min(start + block.chunk, n_rows)
        _run_chunk(engine, block, range(start, stop), n_jobs, parts, [])
    engine.unfinished = None


def learn_block(engine: Engine, rows: Rows, parameters: Parameters, predicts: bool) -> BlockAnswers:
    """Learn a block of rows; if `predicts`, predict each one before it is learned."""
    return _Learner(engine, rows, parameters, predicts).run()


def check_block(engine: Engine, rows: Rows, parameters: Parameters) -> None:
    """Raise the error of learning a block, if there is one, but learn nothing."""
    _Learner(engine, rows, parameters, False).check()


@dataclasses.dataclass
class _Learner:
    engine: Engine
    rows: Rows
    parameters: Parameters
    predicts: bool

    def check(self) -> tuple[list[int], int]:
        """Check all rows; return those to be learned one by one, and the number of new labels."""
        try:
            result = self._special_rows()
        except INVALID:
            if self.parameters.max_words is None:
                raise
            result = self._special_rows_of_words()
        largest = largest_total(self.parameters)
        check_totals(self.engine.weight_of(0), self.rows.weights, largest, are_rows=True)
        return result

    def run(self) -> BlockAnswers:
        weights, labels = self.rows.weights, self.engine.schema.labels
        special, n_new_labels = self.check()
        self.n_known = np.zeros(len(weights), np.int64)
        self.answers = blank_answers(labels, len(weights), n_new_labels)
        start = 0
        for row in special:
            self._learn_ordinary(range(start, row))
            self._learn_special(row)
            start = row + 1
        self._learn_ordinary(range(start, len(weights)))
        return BlockAnswers(self.answers, self.n_known, list(labels))

    def _special_rows(self) -> tuple[list[int], int]:
        """Do what `check` does by reading all special rows."""
        engine, rows = self.engine, self.rows
        schema = engine.extensible_schema(self.parameters)
        labels, columns = schema.labels, rows.columns
        n_labels = len(labels)
        are_samples = rows.samples is not None
        n_reasons = np.array((rows.weights == 0.0) | are_samples, np.int64)
        for column in columns:
            n_reasons += is_special(column, schema)
        unknown = [column for column in columns if not schema.is_known(column.name)]
        special: list[int] = []
        engine.unfinished = schema.undo()
        try:
            are_special = (n_reasons > 0) | (not are_samples and labels.is_special(rows.labels))
            row = _next(are_special, 0)
            while row is not None:
                special.append(row)
                reading = in_row(row, schema.read, *rows.labeled_at(row))
                if rows.weights[row] > 0.0 and (reading.label is None or reading.has_new):
                    schema, _ = schema.admit(reading)
                    if schema.words is not None:
                        schema.add_words(schema.new_words(reading.row))
                    for column in [c for c in unknown if schema.is_known(c.name)]:
                        n_reasons += is_special(column, schema)
                        n_reasons -= is_there(column)
                        unknown.remove(column)
                    are_special = (n_reasons > 0) | (
                        not are_samples and labels.is_special(rows.labels)
                    )
                row = _next(are_special, row + 1)
            return special, len(labels) - n_labels
        finally:
            engine.finish_unfinished()

    def _special_rows_of_words(self) -> tuple[list[int], int]:
        """Do what `_special_rows` does by learning all rows in a copy."""
        # A word may be forgotten on the way, and come back as the name of a category.
        engine, twin = self.engine, engine_of(self.parameters, *content_of(self.engine))
        twin.schema.warned, twin.dry_run = engine.schema.warned, True
        rows = range(len(self.rows.weights))
        for row in rows:
            in_row(row, twin.learn_any, *self.rows.labeled_at(row), self.parameters)
        return [*rows], len(twin.schema.labels) - len(engine.schema.labels)

    def _learn_special(self, row: int) -> None:
        engine, (x, y, weight) = self.engine, self.rows.labeled_at(row)
        self.n_known[row] = len(engine.schema.labels)
        if self.predicts and engine.learned.arena is not None:
            answer = in_row(row, engine.raw_answer, x)
            self.answers[row, : len(answer)] = answer
        in_row(row, engine.learn_any, x, y, weight, self.parameters)

    def _learn_ordinary(self, rows: range) -> None:
        """Learn some rows, none of which is special; if `predicts`, predict each one before."""
        engine = self.engine
        n = engine.arena.n_before_cosines if rows else None
        if n and n < len(rows):  # the step is between two stretches
            self._learn_ordinary(rows[:n])
            rows = rows[n:]
        row = rows.start
        is_alone = len(rows) < MIN_CHUNK_ROWS or (self.predicts and engine.arena.expects_delays)
        while row < rows.stop:
            if not (is_alone or engine.is_counting):
                row = self._learn_stretch(range(row, rows.stop))
                is_alone = any(coding.n_free == 0 for _, coding in engine.schema.bounded)
            if row < rows.stop:
                self._learn_special(row)
                row += 1

    def _learn_stretch(self, rows: range) -> int:
        """Learn ordinary rows in chunks, up to one where `encode_to_learn` stops; return it."""
        engine = self.engine
        schema, arena = engine.schema, engine.arena
        values, new = encode_to_learn(self.rows.columns, rows, schema)
        n_rows = len(values)
        stop = rows.start + n_rows
        if n_rows:
            some = slice(rows.start, stop)
            targets = schema.labels.encode(self.rows.labels, range(rows.start, stop))
            n_learned = int(arena.n_learned[0])
            for n, label in enumerate(targets if len(engine.starts) > 1 else ()):
                warn_of_order(engine.starts, label, n_learned + n, schema, self.parameters)
            block = EncodedBlock(values, targets, self.rows.weights[some], self.answers[some])
            self.n_known[some] = len(schema.labels)
            block.prepare(arena, n_rows, predicts=self.predicts, learns=True)
            done = 0
            while done < n_rows:
                done = self._learn_chunk(block, done, new)
        return stop

    def _learn_chunk(self, block: EncodedBlock, start: int, categories: list[NewCategory]) -> int:
        """Learn rows that there is capacity for; return the first of those left."""
        engine = self.engine
        schema, arena = engine.schema, engine.arena
        arena = arena.with_room(int(self.predicts))
        n_left = len(block.values) - start
        factor = growth_factor(int(arena.n_learned[0]), n_left)
        arena, n_ready = with_ready(arena, min(block.chunk, n_left), factor)
        stop = start + n_ready
        new = [category for category in categories if start <= category.row < stop]
        if new:
            engine.unfinished = schema.undo()
            for row, column, feature, category in new:
                schema.put(feature, category, block.values[row, column])
            arena = arena.with_codes(schema.n_codes)
        block.record["stage"] = UNOPENED
        parts: list[Guarded] = []
        restarts: list[tuple[int, int]] = []

        before, after = engine.learned, Learned(schema, arena)

        def commit() -> None:  # and what an interrupted call has left of it
            engine.install(before, after)
            finish(parts)
            _run_chunk(engine, block, range(start, stop), self.parameters.n_jobs, parts, restarts)
            engine.log_restarts(restarts)
            schema.use_all(block.values[start:stop])

        engine.unfinished = commit
        engine.finish_unfinished()
        engine.check_lost()
        return stop


def _run_chunk(
    engine: Engine,
    block: EncodedBlock,
    rows: range,
    n_jobs: int,
    parts: list[Guarded],
    restarts: list[tuple[int, int]],
) -> None:
    """Run some rows through all trees in some threads, from where they have stopped."""
    start, stop = rows.start, rows.stop
    if block.stage == UNOPENED:
        kernels.open_chunk(engine.arena, block.address, start, stop)
    while block.stage == OPEN:
        missing: set[int] = set()
        run_in_threads(_calls(engine, block, rows, n_jobs, missing, restarts), parts)
        for kind in missing:
            engine.enlarge(kind)
        if missing:
            continue
        if kernels.close_chunk(engine.arena, block.address, start, stop) == RELEASED:
            engine.drop_rows()
    engine.begin_cosines()


def _calls(
    engine: Engine,
    block: EncodedBlock,
    rows: range,
    n_jobs: int,
    missing: set[int],
    restarts: list[tuple[int, int]],
) -> list[Callable[[], None]]:
    """Return calls that run rows through all parts, and note restarts and what one runs out of."""
    arena = engine.arena

    def run(first: int, end: int) -> None:  # which keeps the arrays alive
        chunk = block.address, rows.start, rows.stop
        while (kind := kernels.run_chunk(arena, *chunk, first, end)) <= RESTARTED:
            restarts.append(engine.restart_of(RESTARTED - kind))
        if kind != DONE:
            missing.add(kind)

    lengths = arena.capacities
    costs = np.arange(1 + lengths["tree"])  # up to each part
    if lengths["linear_model"]:
        costs = np.append(costs, costs[-1] + _EXPERTS_COST)
    n_threads = max(min(len(costs) - 1, _n_cores() if n_jobs == -1 else n_jobs), 1)
    n_threads = n_threads if block.chunk >= _WORTH_THREADS else 1
    shares = [costs[-1] * k / n_threads for k in range(n_threads + 1)]
    cuts = [int(np.abs(costs - share).argmin()) for share in shares]
    return [functools.partial(run, *part) for part in itertools.pairwise(cuts)]


def run_in_threads(calls: Sequence[Callable[[], object]], parts: list[Guarded]) -> None:
    """Make some calls, the first in this thread; `finish` makes what an exception leaves."""
    parts[:] = map(Guarded, calls)
    for part in parts[1:]:
        # `threading.Thread` takes locks, for which a signal handler could wait forever.
        _thread.start_new_thread(_try, (part,))
    finish(parts)


def finish(parts: list[Guarded]) -> None:
    """Make the calls that no thread has begun, or that have failed, and wait for the others."""
    for part in parts:
        part.catch_up()


def _try(part: Guarded) -> None:
    """Make a call unless it has been made; if it fails, `finish` makes it again."""
    with suppress(BaseException):
        part.catch_up()


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _next(mask: NDArray[np.bool_], start: int) -> int | None:
    """Return the first index from `start` on at which a mask is True, or None."""
    row = start + int(mask[start:].argmax()) if start < len(mask) else start
    return row if row < len(mask) and mask[row] else None
