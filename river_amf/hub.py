"""The engine of all of a forest but its trees, which takes their vote (DESIGN.md: shards)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.cutting import hub_of
from river_amf.encoding import EncodedSample
from river_amf.engine import BlockAnswers, Chunk, Engine, joined
from river_amf.frames import Column
from river_amf.labels import Labels
from river_amf.pieces import NO_AIMS, Cut, HeardBlock, HeardRows, Piece, Table, Votes
from river_amf.rows import Problems
from river_amf.settings import Parameters, begin
from river_amf.sparse_rows import SparseRows, check_rows
from river_amf.state import Arena, Block
from river_amf.weights import check_totals


class Hub(Cut):
    """All of a forest but the nodes of its trees."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.is_ahead = False  # of the shards, by part of a block
        self._weight = 0.0  # of all samples
        self._pieces: list[Piece] = []
        self._aims: list[Votes] = []
        self._said: Votes | None = None  # by the trees of the row at hand, before it is learned

    @classmethod
    def of_whole(cls, engine: Engine) -> Hub:
        """Return the hub of a forest, whose features and labels it takes over."""
        hub = cls()
        hub.features, hub.labels = engine.features, engine.labels
        hub._weight = engine.total_weight
        hub.arena = None if engine.arena is None else hub_of(engine.arena)
        return hub

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"weight": self._weight}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Hub.__init__(self)
        super().__setstate__(state)
        self._weight = state["weight"]

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all samples."""
        return self._weight

    def hear(
        self,
        table: Table,
        labels: Column,
        weights: NDArray[np.float64],
        parameters: Parameters,
        predicts: bool,
        level: float = 0.0,
    ) -> HeardBlock | HeardRows:
        """Check a block of rows and learn what follows from the stream, or raise."""
        # A bad block is found before anything is learned, but memory may run out after that.
        self._pieces, self._aims = [], []
        self.settle()
        arena = self.arena
        if isinstance(table, SparseRows):
            assert isinstance(self.labels, Labels)
            features = self._features_for(parameters)
            check_rows(table, labels, weights, features, self.labels, parameters.n_classes)
            check_totals(self._weight, weights, parameters.task, are_rows=True)
            return HeardRows(table, labels, weights, parameters, predicts)
        try:
            parts = self._learn_parts(table, labels, weights, parameters, predicts, level)
        except BaseException:
            has_begun = bool(self._pieces) or self.arena is not arena
            self.is_ahead = has_begun or self.unfinished is not None
            raise
        self._count(weights)
        aims = np.concatenate(self._aims, axis=1) if self._aims else NO_AIMS
        return HeardBlock(parts, self._pieces, aims)

    def _count(self, weights: NDArray[np.float64]) -> None:
        self._weight = float(np.add.accumulate([self._weight, *weights])[-1])

    def hear_to_predict(
        self, table: Table, n_rows: int, parameters: Parameters, level: float = 0.0
    ) -> HeardBlock | HeardRows:
        """Check a block of rows that is to be predicted only."""
        self._pieces, self._aims = [], []
        if isinstance(table, SparseRows):
            problems = Problems()
            for row, x in enumerate(table.samples()):
                problems.try_at(row, self.features.check, x)
                problems.raise_first()
            return HeardRows(table, None, np.zeros(n_rows), parameters, True)
        answers = self.predict_block(table, n_rows, 1, level)
        n_known = np.full(n_rows, len(self.labels))
        parts = [BlockAnswers(answers, n_known, list(self.labels))]
        return HeardBlock(parts, self._pieces, NO_AIMS)

    def vote(
        self, heard: HeardBlock | HeardRows, votes: Sequence[Sequence[Votes | None]]
    ) -> BlockAnswers:
        """Take the vote on a block, given the votes of each shard on each piece."""
        if isinstance(heard, HeardRows):
            return self._vote_on_rows(heard, votes)
        for piece, *of_shards in zip(heard.pieces, *votes, strict=True):
            if any(each is not None for each in of_shards):
                self._vote_on(piece, of_shards)
        return joined(heard.parts)

    def _vote_on(self, piece: Piece, of_shards: Sequence[Votes]) -> None:
        arena: Arena = self.arena  # type: ignore[assignment]
        settings = arena.settings.copy()
        settings["n_labels"] = piece.n_labels
        arena = arena.replacing(settings=settings)
        n_trees, width = arena.rooms["tree"], of_shards[0].shape[2]
        n_others = piece.votes.shape[2]
        old = piece.block
        block = Block(old.values, old.targets, old.weights, old.answers)
        n_rows = piece.stop - piece.start
        block.prepare(arena, n_rows, predicts=piece.predicts, learns=piece.learns)
        for start in range(0, n_rows, block.chunk):
            rows = slice(start, min(start + block.chunk, n_rows))
            n = rows.stop - rows.start
            of_trees = block.votes[:n_trees, :n, :width]
            np.concatenate([each[:, rows] for each in of_shards], out=of_trees)
            block.votes[n_trees:, :n, :n_others] = piece.votes[:, rows]
            where = piece.start + rows.start, piece.start + rows.stop
            kernels.close_chunk(arena.address, block.address, *where)

    def _vote_on_rows(
        self, heard: HeardRows, votes: Sequence[Sequence[Votes | None]]
    ) -> BlockAnswers:
        before, after = (
            None if of_shards[0] is None else np.concatenate(of_shards)
            for of_shards in zip(*votes, strict=True)
        )
        table, labels, weights, parameters, predicts, _ = heard
        answers: list[list[float]] = []
        n_known = np.zeros(table.n_rows, np.int64)
        for row, x in enumerate(table.samples()):
            if predicts:
                n_known[row] = len(self.labels)
                self._put(before, row)
                answers.append(list(self.predict(x).values()))
            if labels is not None:
                self._put(after, row)
                self._said = None if after is None else after[:, row]
                self.learn(x, labels.at(row), float(weights[row]), parameters)
        self._said = None
        self._count(weights)
        proba = np.zeros((table.n_rows, len(self.labels)))
        for row, answer in enumerate(answers):
            proba[row, : len(answer)] = answer
        return BlockAnswers(proba, n_known, list(self.labels))

    def _put(self, votes: Votes | None, row: int) -> None:
        """Say what the trees have said of a row, where kernels look for it."""
        if votes is not None and self.arena is not None:
            width = min(votes.shape[2], self.arena.rooms["vote"])
            self.arena.votes[: len(votes), 0, :width] = votes[:, row, :width]

    def _resume(self, sample: EncodedSample, target: float, weight: float) -> None:
        if self._said is not None:  # the arena is a new one
            self._put(self._said[:, np.newaxis], 0)
        super()._resume(sample, target, weight)

    def _begin(self, parameters: Parameters) -> Arena:
        return hub_of(begin(parameters))

    def _note(self, block: Block, start: int, stop: int, *, predicts: bool, learns: bool) -> None:
        rooms = self.arena.rooms  # type: ignore[union-attr]
        votes = np.empty((rooms["voter"] - rooms["tree"], stop - start, rooms["vote"]))
        known = predicts, learns, self.labels.count_with([])
        self._pieces.append(Piece(block, start, stop, *known, votes))

    def _voters(self, arena: Arena) -> tuple[int, int]:
        return arena.rooms["tree"], super()._voters(arena)[1]

    def _close(self, chunk: Chunk) -> int:
        block, piece = chunk.block, self._pieces[-1]
        n, n_trees = chunk.stop - chunk.start, len(block.votes) - len(piece.votes)
        first = chunk.start - piece.start
        piece.votes[:, first : first + n] = block.votes[n_trees:, :n]
        if piece.learns and len(block.aims) > 1:  # otherwise they are the targets
            self._aims.append(block.aims[:, :n].copy())
        block.record["stage"] = kernels.CLOSED
        return kernels.DONE
