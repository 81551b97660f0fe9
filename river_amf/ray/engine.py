"""The engine of a distributed forest: a hub here, and its shards wherever Ray puts them.

To the forest it is what an `Engine` is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import ray
from numpy.typing import NDArray

from river_amf import cutting, frames, sparse_rows
from river_amf.columns import part_of
from river_amf.encoding import Features
from river_amf.engine import Answers, BlockAnswers, Engine, joined
from river_amf.frames import Column
from river_amf.hub import Hub
from river_amf.kinds import as_dict
from river_amf.layout import LOWER, UPPER
from river_amf.locks import ModelLock
from river_amf.pieces import HeardBlock, HeardRows, Table, Votes
from river_amf.ray.team import Team
from river_amf.ray.workers import Task, Worker
from river_amf.rows import of_sample
from river_amf.settings import Parameters, has_words
from river_amf.shards import Shard, gathered
from river_amf.sparse_rows import SparseRows
from river_amf.state import Arena

_Result = TypeVar("_Result")
Weights = NDArray[np.float64]


class Options(NamedTuple):
    """How a forest is distributed."""

    n_workers: int | None
    block_size: int
    max_waiting: int
    checkpoint_every: int
    checkpoint_folder: Path | None


class Message(NamedTuple):
    """A block as it is sent to the shards."""

    table: Table
    n_rows: int
    labels: Column | None
    weights: Weights
    predicts: bool
    aims: Votes


class ShardWorker:
    """A shard in a process of its own."""

    def __init__(self, state: tuple[Shard, Parameters]) -> None:
        self._shard, self._parameters = state

    def learn(self, message: Message) -> list[Votes | None]:
        """Learn a block, and return the votes that the hub needs."""
        assert message.labels is not None
        return self._shard.learn_heard(
            message.table,
            message.labels,
            message.weights,
            self._parameters,
            predicts=message.predicts,
            aims=message.aims,
        )

    def predict(self, message: Message) -> list[Votes | None]:
        """Return the votes on a block."""
        return self._shard.predict_heard(message.table, message.n_rows, self._parameters)

    def shard(self) -> Shard:
        """Return the shard."""
        return self._shard

    def trees(self) -> NDArray[Any] | None:
        """Return the records of the trees."""
        return None if self._shard.arena is None else self._shard.arena.trees.copy()

    def nbytes(self) -> int:
        """Return the bytes that the shard takes."""
        return self._shard.nbytes()

    def state(self) -> tuple[Shard, Parameters]:
        """Return all of it."""
        return self._shard, self._parameters


class Sent(NamedTuple):
    """A block on its way."""

    heard: HeardBlock | HeardRows
    tasks: dict[int, Task]


class DistributedEngine:
    """An engine whose trees are elsewhere."""

    unfinished = None

    def __init__(self, whole: Engine, parameters: Parameters, options: Options) -> None:
        self.lock = ModelLock()
        self._whole: Engine | None = whole  # until the shards are sent
        self._parameters = parameters  # of the shards: with a seed
        self._options = options
        self._hub = Hub.of_whole(whole)
        rescue = "load its last checkpoint"
        self._team = Team("DistributedForest", self._started, options.n_workers, rescue)
        self._sent: deque[Sent] = deque()
        self._gathered: Engine | None = None

    # What a forest asks of its engine

    @property
    def features(self) -> Features:
        """The features of the blocks that have been heard."""
        return self._hub.features

    @property
    def labels(self) -> Any:
        """The labels of the blocks that have been heard, or what takes their place."""
        return self._hub.labels

    @property
    def arena(self) -> Arena | None:
        """The arena of the hub, None before the first sample."""
        return self._hub.arena

    def settle(self) -> None:
        """Do nothing: calls are never left unfinished."""

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
        # Without predictions, this returns as soon as the block is on its way.
        rest = table, labels, weights, parameters, predicts, level
        return self._team.do(self._learn, *rest)

    def learn_rows(
        self,
        table: SparseRows,
        labels: Column,
        weights: Weights,
        parameters: Parameters,
        predicts: bool,
    ) -> BlockAnswers:
        """Learn rows of words."""
        return self._team.do(self._learn, table, labels, weights, parameters, predicts, 0.0)

    def predict_block(
        self, table: list[Column], n_rows: int, n_jobs: int, level: float = 0.0
    ) -> Answers:
        """Return the predictions for a block."""
        return self._team.do(self._predict, table, n_rows, level)

    def predict_rows(self, table: SparseRows) -> Answers:
        """Return the predictions for rows of words."""
        return self._team.do(self._predict, table, table.n_rows, 0.0)

    def learn(self, x: Any, y: Hashable, weight: float, parameters: Any) -> None:
        """Learn one sample, as a block."""
        labels = parameters._read_labels([y], 1)
        rest = labels, np.array([weight]), parameters, False, 0.0
        self._for_one(self._learn, self._row(x), *rest)

    def predict(self, x: Any) -> Any:
        """Return the prediction for one sample."""
        answers = self._for_one(self._predict, self._row(x), 1, 0.0)
        if self._hub.arena is None:
            return self.labels.no_answer()
        return self.labels.answer(answers[0].data)

    def predict_interval(self, x: Any, level: float) -> tuple[float, float]:
        """Return the ends of an interval for the target."""
        if self._hub.arena is None:
            prediction = self.predict(x)
            return prediction, prediction
        answers = self._for_one(self._predict, self._row(x), 1, level)
        origin = self.labels.origin
        return float(answers[0, LOWER]) + origin, float(answers[0, UPPER]) + origin

    def faded_share(self) -> float:
        """Return the mean share of the faded counts in the recent predictions of the trees."""
        trees = [each for each in self._team.do(self._team.ask_all, "trees") if each is not None]
        return float(np.concatenate(trees)["faded_share"].mean()) if trees else 0.5

    def nbytes(self) -> int:
        """Return the bytes of the hub and of all shards."""
        return self._team.do(self._nbytes)

    def gathered(self) -> Engine:
        """Return the engine that one process would have; whoever changes it has to copy it."""
        return self._team.do(self._gather)

    def taken(self) -> Engine:
        """Return the same for whoever changes it."""
        return self._team.do(self._take)

    def listen(self, x: Any) -> Any:
        """Return what is heard of a sample."""
        return self.gathered().listen(x)

    def encode(self, x: Any) -> Any:
        """Return a sample as a row."""
        return self.gathered().encode(x)

    def restricted_to(self, trees: list[int] | None, *, aggregated: bool) -> Engine:
        """Return an engine of the given trees for predictions."""
        return self.gathered().restricted_to(trees, aggregated=aggregated)

    def processes(self) -> list[int]:
        """Return the process ids of the workers."""
        return self._team.do(lambda: [worker.process() for worker in self._team.workers])

    def close(self) -> None:
        """End all workers."""
        self._team.close()

    # What its thread does

    def _started(self, n_workers: int) -> list[Worker]:
        """Return workers that have the shards."""
        whole: Engine = self._whole  # type: ignore[assignment]
        workers = []
        for k, (first, end) in enumerate(cutting.bounds(self._parameters.n_estimators, n_workers)):
            shard = Shard.of_whole(whole, first, end)
            rest = self._options.checkpoint_every, self._options.checkpoint_folder, f"trees-{k}"
            workers.append(Worker(ShardWorker, (shard, self._parameters), *rest))
        self._whole = None
        return workers

    def _everyone(self, *arguments: Any) -> dict[int, tuple[Any, ...]]:
        """Return what each worker is told, which is the same for all."""
        return dict.fromkeys(range(len(self._team.workers)), arguments)

    def _learn(
        self,
        table: Table,
        labels: Column,
        weights: Weights,
        parameters: Parameters,
        predicts: bool,
        level: float,
    ) -> BlockAnswers:
        n_rows = len(weights)
        cuts = self._cuts(table, n_rows)
        if len(cuts) > 1:
            self._hub.check_block(table, labels, weights, parameters)  # type: ignore[arg-type]
        answers: list[BlockAnswers] = []
        for start, stop in cuts:
            block = _rows_of(table, start, stop, n_rows)
            rest = part_of(labels, start, stop) if len(cuts) > 1 else labels, weights[start:stop]
            if has_words(parameters):
                self._finish(0)
            self._gathered = None
            try:
                heard = self._hub.hear(block, *rest, parameters, predicts, level)
            except BaseException as error:
                if self._hub.is_ahead:
                    self._team.lose(error)
                raise
            message = Message(block, stop - start, *rest, predicts, heard.aims)
            told = self._everyone(self._team.put(message))
            tasks = self._team.tell("learn", told, dict.fromkeys(told, stop - start))
            self._sent.append(Sent(heard, tasks))
            is_last = predicts and stop == n_rows
            answers += self._finish(0 if is_last else self._options.max_waiting)
        if not predicts:
            return BlockAnswers(np.zeros((n_rows, 0)), np.zeros(n_rows, np.int64), [])
        return joined(answers[-len(cuts) :])

    def _cuts(self, table: Table, n_rows: int) -> list[tuple[int, int]]:
        """Return the ends of the blocks that rows are sent in."""
        size = max(n_rows, 1) if isinstance(table, SparseRows) else self._options.block_size
        starts = range(0, max(n_rows, 1), size)
        return [(start, min(start + size, n_rows)) for start in starts]

    def _finish(self, n_left: int) -> list[BlockAnswers]:
        """Take the vote on the oldest blocks until so many are on their way."""
        answers = []
        while len(self._sent) > n_left:
            heard, tasks = self._sent[0]
            try:
                answers.append(self._vote(heard, tasks))
            except BaseException as error:
                self._team.lose(error)
                raise
            self._sent.popleft()
        return answers

    def _predict(self, table: Table, n_rows: int, level: float) -> Answers:
        self._finish(0)
        parts: list[BlockAnswers] = []
        waiting: deque[Sent] = deque()

        def finish(n_left: int) -> None:
            while len(waiting) > n_left:
                parts.append(self._vote(*waiting.popleft()))

        for start, stop in self._cuts(table, n_rows):
            block = _rows_of(table, start, stop, n_rows)
            n = stop - start
            heard = self._hub.hear_to_predict(block, n, self._parameters, level)
            ref = ray.put(Message(block, n, None, np.zeros(n), True, heard.aims))
            waiting.append(Sent(heard, self._team.ask("predict", self._everyone(ref))))
            finish(self._options.max_waiting)
        finish(0)
        return joined(parts).answers

    def _vote(self, heard: HeardBlock | HeardRows, tasks: dict[int, Task]) -> BlockAnswers:
        """Return the answers to a block from the votes of its trees."""
        return self._hub.vote(heard, list(self._team.results(tasks).values()))

    def _nbytes(self) -> int:
        self._finish(0)
        return self._hub.nbytes() + int(sum(self._team.ask_all("nbytes")))

    def _take(self) -> Engine:
        self._finish(0)
        return gathered(self._hub, self._team.ask_all("shard"), self._parameters)

    def _gather(self) -> Engine:
        self._finish(0)
        if self._gathered is None:
            self._gathered = self._take()
        return self._gathered

    # Single samples

    def _row(self, x: Any) -> Table:
        """Return a sample as a block of one row."""
        frame = pd.DataFrame([as_dict(x)], index=[0])
        if has_words(self._parameters):
            return sparse_rows.read_rows(frame)
        return frames.read_columns(frames.read_frame(frame))

    def _for_one(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Do what is done for a block, whose errors name the row."""
        try:
            return self._team.do(call, *arguments)
        except (TypeError, ValueError) as error:
            named = of_sample(error)
            raise named from named.__cause__


def _rows_of(table: Table, start: int, stop: int, n_rows: int) -> Table:
    """Return the rows of a block from `start` to `stop`."""
    if isinstance(table, SparseRows) or (start, stop) == (0, n_rows):
        return table
    return [part_of(column, start, stop) for column in table]
