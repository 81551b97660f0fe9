"""The engine of some trees of a forest, and a forest put together again (DESIGN.md: shards)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.cutting import shard_of, whole_of
from river_amf.encoding import Features
from river_amf.engine import Chunk, Engine
from river_amf.frames import Column
from river_amf.hub import Hub
from river_amf.layout import REGRESSION, SPREAD
from river_amf.mismatch import Silence
from river_amf.pieces import NO_AIMS, Cut, Table, Votes
from river_amf.settings import Parameters, begin, least_classes, settings_of
from river_amf.sparse_rows import SparseRows
from river_amf.state import Arena, Block


class Shard(Cut):
    """Some trees of a forest, from `first` to `end`."""

    def __init__(self, first: int = 0, end: int = 0) -> None:
        super().__init__()
        self.first, self.end = first, end
        self._votes: list[Votes | None] = []
        self._aims = NO_AIMS
        self._row = 0  # of these
        self._is_asked = False

    @classmethod
    def of_whole(cls, engine: Engine, first: int, end: int) -> Shard:
        """Return a shard of a forest, which shares nothing with it."""
        shard = cls(first, end)
        shard.features, shard.labels = _silent(engine.features.copy()), engine.labels.copy()
        shard.arena = None if engine.arena is None else shard_of(engine.arena, first, end)
        return shard

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"trees": (self.first, self.end)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Shard.__init__(self, *state["trees"])
        super().__setstate__(state)
        _silent(self.features)

    def learn_heard(
        self,
        table: Table,
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
        *,
        predicts: bool,
        aims: Votes,
        is_asked: bool = True,
    ) -> list[Votes | None]:
        """Learn a block that the hub has heard; return the votes on each piece, if asked."""
        self._votes, self._aims, self._row, self._is_asked = [], aims, 0, is_asked
        if isinstance(table, SparseRows):
            return self._learn_rows_heard(table, labels, weights, parameters, predicts)
        self._learn_parts(table, labels, weights, parameters, predicts, 0.0)
        return self._votes

    def _learn_rows_heard(
        self,
        table: SparseRows,
        labels: Column | None,
        weights: NDArray[np.float64],
        parameters: Parameters,
        predicts: bool,
    ) -> list[Votes | None]:
        """Return the votes on each row, before it is learned and when it is, if asked."""
        before: list[Votes] = []
        after: list[Votes] = []
        n_trees = self.end - self.first
        for row, x in enumerate(table.samples()):
            if predicts and self._is_asked:
                before.append(self._votes_on(x))
            if labels is not None:
                self.learn(x, labels.at(row), float(weights[row]), parameters)
                if self._is_asked and parameters.vote == "learned":
                    n_labels = len(self.labels) if self.arena is not None else 0
                    votes = np.zeros((n_trees, n_labels))
                    if self.arena is not None:
                        votes[:] = self.arena.votes[:, 0, :n_labels]
                    after.append(votes)
        return [self._joined(before), self._joined(after)]

    def _votes_on(self, x: dict[Hashable, Any]) -> Votes:
        """Return the votes of the trees on a sample, of shape (trees, labels)."""
        arena = self.arena
        if arena is None:
            return np.zeros((self.end - self.first, 0))
        sample = self.features.encode_known(x) or self.features.encode_unusual(x)
        self._predict_encoded(arena, sample)
        return arena.heard_in(sample.room)[0][:, : len(self.labels)].copy()

    def _joined(self, votes: list[Votes]) -> Votes | None:
        """Return votes on rows as one array (trees, rows, labels), None if there are none."""
        if not votes:
            return None
        joined = np.zeros((self.end - self.first, len(votes), len(self.labels)))
        for row, each in enumerate(votes):
            joined[:, row, : each.shape[1]] = each
        return joined

    def predict_heard(
        self, table: Table, n_rows: int, parameters: Parameters
    ) -> list[Votes | None]:
        """Return the votes on a block that the hub has heard, but that is not to be learned."""
        self._votes, self._is_asked = [], True
        if isinstance(table, SparseRows):
            return self._learn_rows_heard(table, None, np.zeros(n_rows), parameters, True)
        self.predict_block(table, n_rows, parameters.n_jobs)
        return self._votes

    def _features_for(self, parameters: Parameters) -> Features:
        return _silent(super()._features_for(parameters))

    def _begin(self, parameters: Parameters) -> Arena:
        return shard_of(begin(parameters), self.first, self.end)

    def _note(self, block: Block, start: int, stop: int, *, predicts: bool, learns: bool) -> None:
        settings = self.arena.settings[0]  # type: ignore[union-attr]
        votes = None
        if self._is_asked and (predicts or settings["learns_vote"]):
            is_number = settings["task"] == REGRESSION
            width = 1 + SPREAD if is_number else int(settings["n_labels"])
            votes = np.empty((self.end - self.first, stop - start, width))
        self._votes.append(votes)
        self._start = start

    def _open(self, chunk: Chunk) -> None:
        n, aims = chunk.stop - chunk.start, chunk.block.aims
        if chunk.block.record["learns"] and len(aims) > 1:
            aims[:, :n] = self._aims[:, self._row : self._row + n]
        super()._open(chunk)

    def _close(self, chunk: Chunk) -> int:
        votes, n, first = self._votes[-1], chunk.stop - chunk.start, chunk.start - self._start
        if votes is not None:
            votes[:, first : first + n] = chunk.block.votes[:, :n, : votes.shape[2]]
        if chunk.block.record["learns"]:
            self._row += n
        return super()._close(chunk)


def gathered(hub: Hub, shards: Sequence[Shard], parameters: Parameters) -> Engine:
    """Return the engine of the whole forest, which shares nothing with its parts."""
    whole = Engine()
    whole.features, whole.labels = hub.features.copy(), hub.labels.copy()
    if hub.arena is not None:
        settings = settings_of(parameters, max(least_classes(parameters), 1))
        arenas: list[Arena] = [shard.arena for shard in shards]  # type: ignore[misc]
        whole.arena = whole_of(hub.arena, arenas, settings)
    return whole


def _silent(features: Features) -> Features:
    """Keep features from warning of values that the hub has warned of."""
    if features.mismatches is not None:
        features.mismatches = Silence()
    return features
