"""The engine of some trees of a forest (DESIGN.md: shards)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from river_amf.engine.cautions import FEW_FEATURES, LARGE_NODES, Cautions
from river_amf.engine.forest_engine import Engine, LabeledRows
from river_amf.engine.known import Known
from river_amf.engine.settings import Parameters
from river_amf.engine.shard_messages import Late, Message, ShardSegment, ShardVotes, Votes
from river_amf.engine.sharding import shard_of
from river_amf.inputs.encoding import Features
from river_amf.inputs.mismatch import Silence
from river_amf.inputs.sparse_rows import SparseRows
from river_amf.state.arena import Block


class Shard(Engine):
    """Some trees of a forest, from `first` to `end`."""

    def __init__(self, parameters: Parameters, first: int, end: int) -> None:
        super().__init__()
        self.cautions = Cautions((FEW_FEATURES, LARGE_NODES))  # which the coordinator gives
        self.parameters, self.first, self.end = parameters, first, end
        self._segments: list[ShardSegment] = []
        self._message: Message  # the block at hand,
        self._n_learned = 0  # and how many of its rows have been learned

    @classmethod
    def of_whole(cls, engine: Engine, parameters: Parameters, first: int, end: int) -> Shard:
        """Return a shard of a forest, which shares nothing with it."""
        shard, (features, labels, arena) = cls(parameters, first, end), engine.known
        arena = None if arena is None else shard_of(arena, first, end)
        shard.known = Known(_silent(features.copy()), labels.copy(), arena)
        return shard

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"begin": (self.parameters, self.first, self.end)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Shard.__init__(self, *state["begin"])
        super().__setstate__(state)
        _silent(self.features)

    def itself(self) -> Shard:
        """Return the shard; to another process, a copy."""
        return self

    def _first(self, parameters: Parameters) -> Known:
        features, labels, arena = super()._first(parameters)
        assert arena is not None
        return Known(_silent(features), labels, shard_of(arena, self.first, self.end))

    def _segment(self, known: Known, block: Block, rows: range, **how: bool) -> ShardSegment:
        start = self._n_learned
        self._n_learned += len(rows) * how["learns"]
        message = self._message.of_rows(start, self._n_learned)
        self._segments.append(ShardSegment(known, block, rows, message, **how))
        return self._segments[-1]

    def _keep_early(self, *_: Any) -> None:
        """Do nothing, as the coordinator does it."""

    def votes(self, message: Message) -> ShardVotes:
        """Learn a block that the coordinator has taken, if it has labels; return the votes."""
        table, labels, weights, predicts = message[:4]
        if message.late is not None:  # of these trees only
            own = Late(message.late.contexts, message.late.votes[self.first : self.end])
            message = message._replace(late=own)
        self._message, self._n_learned, self._segments = message, 0, []
        self.settle()
        if isinstance(table, SparseRows):
            return self._votes_on_rows(table, message)
        if labels is None:
            self._predict_block(table, len(weights), self.parameters, 0.0)
        else:
            rows = LabeledRows(table, labels, weights)
            self._learn_parts(rows, self.parameters, predicts, 0.0)
        return [segment.votes for segment in self._segments]

    def _votes_on_rows(self, table: SparseRows, message: Message) -> list[list[Votes]]:
        """Return the votes on each row, before it is learned and when it is, if needed."""
        labels, parameters = message.labels, self.parameters
        before: list[Votes] = []
        after: list[Votes] = []
        for row, x in enumerate(table.samples()):
            if message.predicts:
                before.append(self._votes_on(x))
            if labels is not None:
                self._learn(x, labels.at(row), float(message.weights[row]), parameters)
                if parameters.vote == "learned":
                    after.append(self._votes_on(None))
        return [before, after]

    def _votes_on(self, x: dict[Hashable, Any] | None) -> Votes:
        """Return the votes of the trees on a sample, by default on the one learned last."""
        features, labels, arena = self.known
        if arena is None:
            return np.zeros((self.end - self.first, 0))
        votes: Votes = arena.votes[:, 0]
        if x is not None:
            sample = features.encode(x)
            self._predict_encoded(arena, sample)
            votes = arena.outputs_in(sample.prediction)[0]
        return votes[:, : len(labels)].copy()


def _silent(features: Features) -> Features:
    """Keep features from warning of values that the coordinator has warned of."""
    if features.mismatches is not None:
        features.mismatches = Silence()
    return features
