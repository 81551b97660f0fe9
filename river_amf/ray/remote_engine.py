"""The engine of a distributed forest: a coordinator here, and its shards wherever Ray puts them.

To the forest it is what an `Engine` is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import ray

from river_amf.engine import sharding
from river_amf.engine.coordinator import Coordinator
from river_amf.engine.forest_engine import Answers, BlockAnswers, Engine, joined_answers
from river_amf.engine.lock import Guarded, exclusive
from river_amf.engine.settings import has_words
from river_amf.engine.shard_messages import Message, Table, Votes
from river_amf.engine.shards import Shard
from river_amf.inputs import frames, sparse_rows
from river_amf.inputs.columns import column_part
from river_amf.inputs.encoding import Features
from river_amf.inputs.frames import Column
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import as_dict
from river_amf.inputs.row_problems import of_sample
from river_amf.inputs.sparse_rows import SparseRows
from river_amf.ray.team import Team
from river_amf.ray.workers import Worker
from river_amf.state.arena import Arena
from river_amf.state.layout import LOWER, UPPER

_Result = TypeVar("_Result")


class Options(NamedTuple):
    """How a forest is distributed."""

    n_workers: int | None
    block_size: int
    max_waiting: int
    checkpoint_every: int
    checkpoint_folder: str | os.PathLike[str] | None


class DistributedEngine(Guarded):
    """An engine whose trees are elsewhere."""

    def __init__(self, whole: Engine, parameters: Any, options: Options) -> None:
        super().__init__()
        self._whole: Engine | None = whole  # until the shards are sent
        self._options = options
        self._coordinator = Coordinator.of_whole(whole, parameters)  # with a seed
        team = "DistributedForest", self._started, options.n_workers, "load its last checkpoint"
        self._team = Team(*team)
        self._gathered: Engine | None = None

    @property
    def features(self) -> Features:
        """The features of the blocks so far."""
        return self._coordinator.features

    @property
    def labels(self) -> Any:
        """The labels of the blocks so far, or what takes their place."""
        return self._coordinator.labels

    @property
    def arena(self) -> Arena | None:
        """The arena of the coordinator, None before the first sample."""
        return self._coordinator.known.arena

    @exclusive
    def learn_block(self, *block: Any) -> BlockAnswers:
        """Learn a block as an `Engine` does; without predictions, it is only on its way then."""
        return self._learn(*block)

    learn_rows = learn_block  # of words

    @exclusive
    def predict_block(self, table: Table, n_rows: int, _: Any, level: float = 0.0) -> Answers:
        """Return the predictions for a block."""
        return self._predict(table, n_rows, level)

    @exclusive
    def predict_rows(self, table: SparseRows, _: Any) -> Answers:
        """Return the predictions for rows of words."""
        return self._predict(table, table.n_rows)

    @exclusive
    def learn(self, x: Any, y: Hashable, weight: float, parameters: Any) -> None:
        """Learn one sample, as a block."""
        labels = parameters._read_labels([y], 1)
        self._for_one(self._learn, x, labels, np.array([weight]), parameters, False)

    @exclusive
    def predict(self, x: Any, _: Any) -> Any:
        """Return the prediction for one sample."""
        answers = self._for_one(self._predict, x, 1)
        return (
            self.labels.no_answer() if self.arena is None else self.labels.answer(answers[0].data)
        )

    @exclusive
    def predict_interval(self, x: Any, level: float, _: Any) -> tuple[float, float]:
        """Return the ends of an interval for the target."""
        answers = self._for_one(self._predict, x, 1, level)
        if self.arena is None:
            return self.labels.no_interval(level)  # type: ignore[no-any-return]
        origin = self.labels.origin
        return float(answers[0, LOWER]) + origin, float(answers[0, UPPER]) + origin

    def faded_share(self) -> float:
        """Return the mean share of the faded counts in the recent predictions of the trees."""
        return self.gathered().faded_share()

    def nbytes(self) -> int:
        """Return the bytes of the coordinator and of all shards."""
        return int(sum(self._team.do(self._team.ask_all, "nbytes"))) + self._coordinator.nbytes()

    def gathered(self) -> Engine:
        """Return the engine that one process would have; whoever changes it has to copy it."""
        return self._team.do(self._gather)

    def taken(self) -> Engine:
        """Return the same for whoever changes it."""
        return self._team.do(self._take)

    def expert_outputs(self, x: Any) -> Any:
        """Return the inputs and outputs of the experts for a sample."""
        return self.gathered().expert_outputs(x)

    def encode(self, x: Any) -> Any:
        """Return a sample as a row."""
        return self.gathered().encode(x)

    def processes(self) -> list[int]:
        """Return the process ids of the workers."""
        return self._team.do(lambda: [worker.process() for worker in self._team.workers])

    def close(self) -> None:
        """End all workers."""
        self._team.close()

    def _learn(
        self, table: Table, labels: Column, weights: Votes, _: Any, predicts: bool, *level: float
    ) -> BlockAnswers:
        answers = self._team.do(self._run, Message(table, labels, weights, predicts), *level)
        n_rows = len(weights)
        return answers or BlockAnswers(np.zeros((n_rows, 0)), np.zeros(n_rows, np.int64), [])

    def _predict(self, table: Table, n_rows: int, *level: float) -> Answers:
        message = Message(table, None, np.zeros(n_rows))
        answers: Answers = self._team.do(self._run, message, *level).answers
        return answers

    # What its thread does

    def _started(self, n_workers: int) -> list[Worker]:
        """Return workers that have the shards."""
        whole: Engine = self._whole  # type: ignore[assignment]
        parameters: Any = self._coordinator.parameters
        parameters = parameters.clone({"n_jobs": max(parameters.n_jobs, 1)})
        rest = self._options.checkpoint_every, self._options.checkpoint_folder
        ends = sharding.bounds(parameters.n_estimators, n_workers)
        workers = [Worker(Shard.of_whole(whole, parameters, *each), *rest) for each in ends]
        self._whole = None
        return workers

    def _run(self, message: Message, level: float = 0.0) -> Any:
        """Send a block in parts to the shards; return the answers if it is predicted, or None."""
        coordinator, finish = self._coordinator, self._team.finish
        table, labels, weights, predicts = message[:4]
        if labels is None or isinstance(table, SparseRows):
            finish(0)
        parts = self._cut(message)
        if labels is not None and len(parts) > 1 and not isinstance(table, SparseRows):
            coordinator.check_block(table, labels, weights, coordinator.parameters)
        answers: list[BlockAnswers] = []
        for start, stop in parts:
            self._send(_part_of(message, start, stop), level)
            answers += finish(self._options.max_waiting)
        answers += finish(0) if predicts else []
        return joined_answers(answers[-len(parts) :]) if predicts else None

    def _cut(self, message: Message) -> list[tuple[int, int]]:
        """Return the ends of the blocks that rows are sent in; rows of words are not cut."""
        n_rows = len(message.weights)
        is_cut = not isinstance(message.table, SparseRows)
        size = self._options.block_size if is_cut else max(n_rows, 1)
        return [(k, min(k + size, n_rows)) for k in range(0, max(n_rows, 1), size)]

    def _send(self, message: Message, level: float) -> None:
        """Let the coordinator take a block, and send it to the shards."""
        team, coordinator, learns = self._team, self._coordinator, message.labels is not None
        with team.or_lose(lambda: coordinator.is_ahead):
            pending = coordinator.take(message, level)
            calls = team.all(ray.put(pending.message))
            if learns:
                self._gathered = None
                sent = team.tell("votes", calls, dict.fromkeys(calls, len(message.weights)))
            else:
                sent = team.ask("votes", calls)
        team.send(sent, combine=functools.partial(coordinator.vote, pending))

    def _take(self) -> Engine:
        return self._coordinator.gathered(self._team.ask_all("itself"))

    def _gather(self) -> Engine:
        if self._gathered is None:
            self._gathered = self._take()
        return self._gathered

    def _for_one(self, call: Callable[..., _Result], x: Any, *arguments: Any) -> _Result:
        """Do for a sample what is done for a block, whose errors name the row."""
        frame = pd.DataFrame([as_dict(x)], index=[0])
        try:
            if has_words(self._coordinator.parameters):
                return call(sparse_rows.read_rows(frame), *arguments)
            return call(frames.read_columns(frames.read_frame(frame)), *arguments)
        except INVALID as error:
            named = of_sample(error)
            raise named from named.__cause__


def _part_of(message: Message, start: int, stop: int) -> Message:
    """Return the rows of a block from `start` to `stop`, which is the whole one if it has words."""
    table, labels, weights = message[:3]
    if isinstance(table, SparseRows) or stop - start == len(weights):
        return message
    return message._replace(
        table=[column_part(column, start, stop) for column in table],
        labels=None if labels is None else column_part(labels, start, stop),
        weights=weights[start:stop],
    )
