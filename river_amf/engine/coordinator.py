"""The engine of all of a forest but its trees, which takes their vote (DESIGN.md: shards)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.engine.cautions import Cautions
from river_amf.engine.forest_engine import BlockAnswers, Engine, LabeledRows, joined_answers
from river_amf.engine.known import Known
from river_amf.engine.settings import Parameters, least_classes, settings_of
from river_amf.engine.shard_messages import (
    CoordinatorSegment,
    Message,
    Pending,
    ShardVotes,
    Votes,
    late_of,
)
from river_amf.engine.sharding import coordinator_of, whole_of
from river_amf.inputs.encoding import EncodedSample
from river_amf.inputs.sparse_rows import SparseRows
from river_amf.state.arena import Block


class Coordinator(Engine):
    """All of a forest but the nodes of its trees."""

    def __init__(self, parameters: Parameters, weight: float = 0.0) -> None:
        super().__init__()
        self.parameters = parameters
        self._before: Known | None = None  # what was known before the block at hand
        self._weight = weight  # of all samples
        self._segments: list[CoordinatorSegment] = []
        self._said: Votes | None = None  # by the trees of the row at hand, before it is learned

    @classmethod
    def of_whole(cls, engine: Engine, parameters: Parameters) -> Coordinator:
        """Return the coordinator of a forest, whose features and labels it takes over."""
        coordinator = cls(parameters, engine.total_weight)
        arena = None if engine.arena is None else coordinator_of(engine.arena)
        coordinator.known = engine.known._replace(arena=arena)
        coordinator.cautions = Cautions(engine.cautions.given)
        coordinator.predictions = engine.pending_predictions()
        return coordinator

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"begin": (self.parameters, self._weight)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Coordinator.__init__(self, *state["begin"])
        super().__setstate__(state)

    @property
    def is_ahead(self) -> bool:
        """Whether this has learned something of the block at hand, which the shards have not."""
        return self.known is not self._before or any(each.learns for each in self._segments)

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all samples."""
        return self._weight

    def _first(self, parameters: Parameters) -> Known:
        known = super()._first(parameters)
        assert known.arena is not None
        return known._replace(arena=coordinator_of(known.arena))

    def _segment(self, known: Known, block: Block, rows: range, **how: bool) -> CoordinatorSegment:
        self._segments.append(CoordinatorSegment(known, block, rows, **how))
        return self._segments[-1]

    def _learn_encoded(
        self, sample: EncodedSample, target: float, weight: float, is_late: int = 0
    ) -> None:
        self._put(self._said)  # the arena may be a new one
        super()._learn_encoded(sample, target, weight, is_late)

    def take(self, message: Message, level: float = 0.0) -> Pending:
        """Check a block, and learn what follows from the stream if it has labels, or raise."""
        # A bad block is found before anything is learned, but memory may run out after that.
        self.settle()
        self._segments, self._before = [], self.known
        table, labels, weights, predicts = message[:4]
        if isinstance(table, SparseRows):
            if labels is None:
                self.predict_rows(table, self.parameters)  # raises; the shards have yet to vote
            else:
                self._check_rows(table, labels, weights, self.parameters)
            return Pending(message, [], [])
        if labels is None:
            n_rows, known_labels = len(weights), list(self.labels)
            answers = self._predict_block(table, n_rows, self.parameters, level)
            parts = [BlockAnswers(answers, np.full(n_rows, len(known_labels)), known_labels)]
            return Pending(message, parts, self._segments)
        rows = LabeledRows(table, labels, weights)
        parts = self._learn_parts(rows, self.parameters, predicts, level)
        self._count(weights)
        targets = [each.tree_targets for each in self._segments if each.tree_targets.size]
        if targets:
            message = message._replace(tree_targets=np.concatenate(targets, axis=1))
        message = message._replace(late=late_of(self._segments))
        return Pending(message, parts, self._segments)

    def _count(self, weights: NDArray[np.float64]) -> None:
        self._weight = float(np.add.accumulate([self._weight, *weights])[-1])

    def vote(self, pending: Pending, votes: Sequence[ShardVotes]) -> BlockAnswers:
        """Take the vote on a block, given the votes of each shard on each segment."""
        if isinstance(pending.message.table, SparseRows):
            return self._vote_on_rows(pending.message.table, pending.message, votes)
        awaits = pending.message.labels is None and self.arena and self.arena.most_pending
        keep = super()._keep_rows if awaits else None
        for segment, *of_shards in zip(pending.segments, *votes, strict=True):
            if any(each is not None for each in of_shards):
                segment.vote(self.arena, of_shards, keep)
        return joined_answers(pending.parts)

    def _keep_rows(self, *_: Any) -> None:
        """Do nothing, as the trees have not voted yet."""

    def _vote_on_rows(
        self, table: SparseRows, message: Message, votes: Sequence[ShardVotes]
    ) -> BlockAnswers:
        before, after = (  # of all trees on each row
            [np.concatenate(row) for row in zip(*of_shards, strict=True)]
            for of_shards in zip(*votes, strict=True)
        )
        labels, weights = message.labels, message.weights
        answers: list[list[float]] = []
        n_known = np.zeros(table.n_rows, np.int64)
        for row, x in enumerate(table.samples()):
            if message.predicts:
                n_known[row] = len(self.labels)
                self._put(before[row])
                answers.append(list(self.answer(x, self.parameters).values()))
            if labels is not None:
                self._said = after[row] if after else None
                self._put(self._said)
                self._learn(x, labels.at(row), float(weights[row]), self.parameters)
        self._said = None
        self._count(weights)
        return BlockAnswers(self._padded(answers, table.n_rows), n_known, list(self.labels))

    def _put(self, votes: Votes | None) -> None:
        """Put the trees' votes on a row where kernels look for them."""
        if votes is not None and self.arena is not None:
            width = min(votes.shape[1], self.arena.capacities["vote"])
            self.arena.votes[: len(votes), 0, :width] = votes[:, :width]

    def gathered(self, shards: Sequence[Engine]) -> Engine:
        """Return the engine of the whole forest, which shares nothing with its parts."""
        whole, (features, labels, arena) = Engine(), self.known
        if arena is not None:
            settings = settings_of(self.parameters, max(least_classes(self.parameters), 1))
            arena = whole_of(arena, [shard.arena for shard in shards], settings)
        whole.known = Known(features.copy(), labels.copy(), arena)
        whole.predictions = self.pending_predictions()
        whole.cautions = Cautions(self.cautions.given)
        return whole
