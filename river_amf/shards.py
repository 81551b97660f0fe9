"""A forest whose trees are cut into shards: the engines of both sides (DESIGN.md: shards).

The hub hears each block first: it checks it, learns what follows from the stream alone, and says
what the trees are to learn. Then the shards run their trees through the block, wherever they are.
Finally, the hub takes the vote. All three go through the same pieces of a block: the rows between
two that bring something new, and each of those by itself.

Rows of words go one by one. The hub only checks them at first; it learns them with the vote, so no
other block may be heard before.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.columns import NewCategory
from river_amf.cutting import hub_of, shard_of
from river_amf.encoding import EncodedSample
from river_amf.engine import BlockAnswers, Chunk, Engine, joined
from river_amf.frames import Column
from river_amf.labels import Labels
from river_amf.layout import REGRESSION, SPREAD
from river_amf.rows import Problems
from river_amf.settings import Parameters, begin
from river_amf.sparse import SparseSample
from river_amf.sparse_rows import SparseRows, check_rows
from river_amf.state import Arena, Block
from river_amf.weights import check_totals

Votes = NDArray[np.float64]
Table = list[Column] | SparseRows

_NO_AIMS: Votes = np.zeros((1, 0))


class Piece(NamedTuple):
    """Rows of a block that the hub has heard, and that await the votes of the trees."""

    block: Block
    start: int
    stop: int
    predicts: bool
    learns: bool
    n_labels: int  # known by then
    votes: Votes  # (voters other than trees, rows, numbers of a vote)


class HeardBlock(NamedTuple):
    """A block that the hub has heard."""

    parts: list[BlockAnswers]  # whose answers are still blank
    pieces: list[Piece]
    aims: Votes  # (aims, learned rows): what the trees learn instead of the targets


class HeardRows(NamedTuple):
    """Rows of words that the hub has checked; without labels, they are predicted only."""

    table: SparseRows
    labels: Column | None
    weights: NDArray[np.float64]
    parameters: Parameters
    predicts: bool
    aims: Votes = _NO_AIMS


class _Cut(Engine):
    """An engine that has some of a forest, and goes through blocks in pieces."""

    def _resume(self, sample: EncodedSample, target: float, weight: float) -> None:
        if isinstance(sample, SparseSample):
            return super()._resume(sample, target, weight)
        # A sample that brings something new is a piece of its own.
        values = sample.values[:1].copy()
        answers = self.labels.blank_answers(1, 0, 0.0)
        block = Block(values, np.array([target]), np.array([weight]), answers)
        return self._run(block, 0, 1, [], predicts=False, learns=True, n_jobs=1)

    def _n_heard(self, parameters: Parameters) -> None:
        return None  # restarts are not told


class Hub(_Cut):
    """All of a forest but the nodes of its trees."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
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
        self._pieces, self._aims = [], []
        self.settle()
        if isinstance(table, SparseRows):
            assert isinstance(self.labels, Labels)
            features = self._features_for(parameters)
            check_rows(table, labels, weights, features, self.labels, parameters.n_classes)
            check_totals(self._weight, weights, parameters.task, are_rows=True)
            return HeardRows(table, labels, weights, parameters, predicts)
        parts = self._learn_parts(table, labels, weights, parameters, predicts, level)
        self._count(weights)
        aims = np.concatenate(self._aims, axis=1) if self._aims else _NO_AIMS
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
        return HeardBlock(parts, self._pieces, _NO_AIMS)

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
            n_known[row] = len(self.labels)
            if predicts:
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

    def _run(
        self,
        block: Block,
        start: int,
        stop: int,
        categories: list[NewCategory],
        *,
        predicts: bool,
        learns: bool,
        n_jobs: int,
    ) -> None:
        if start == stop:
            return
        rooms = self.arena.rooms  # type: ignore[union-attr]
        votes = np.empty((rooms["voter"] - rooms["tree"], stop - start, rooms["vote"]))
        known = predicts, learns, self.labels.count_with([])
        self._pieces.append(Piece(block, start, stop, *known, votes))
        rest = block, start, stop, categories
        super()._run(*rest, predicts=predicts, learns=learns, n_jobs=n_jobs)

    def _voters(self, arena: Arena) -> tuple[int, int]:
        return arena.rooms["tree"], super()._voters(arena)[1]

    def _close(self, chunk: Chunk) -> int:
        block, piece = chunk.block, self._pieces[-1]
        n, n_trees = chunk.stop - chunk.start, len(block.votes) - len(piece.votes)
        first = chunk.start - piece.start
        piece.votes[:, first : first + n] = block.votes[n_trees:, :n]
        if piece.learns:
            self._aims.append(block.aims[:, :n].copy())
        block.record["stage"] = kernels.CLOSED
        return kernels.DONE


class Shard(_Cut):
    """Some trees of a forest, from `first` to `end`."""

    def __init__(self, first: int = 0, end: int = 0) -> None:
        super().__init__()
        self.first, self.end = first, end
        self._votes: list[Votes | None] = []
        self._aims = _NO_AIMS
        self._row = 0  # of these
        self._is_asked = False

    @classmethod
    def of_whole(cls, engine: Engine, first: int, end: int) -> Shard:
        """Return a shard of a forest, which shares nothing with it."""
        shard = cls(first, end)
        shard.features, shard.labels = engine.features.copy(), engine.labels.copy()
        shard.arena = None if engine.arena is None else shard_of(engine.arena, first, end)
        return shard

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"trees": (self.first, self.end)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Shard.__init__(self, *state["trees"])
        super().__setstate__(state)

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

    def _begin(self, parameters: Parameters) -> Arena:
        return shard_of(begin(parameters), self.first, self.end)

    def _run(
        self,
        block: Block,
        start: int,
        stop: int,
        categories: list[NewCategory],
        *,
        predicts: bool,
        learns: bool,
        n_jobs: int,
    ) -> None:
        if start == stop:
            return
        settings = self.arena.settings[0]  # type: ignore[union-attr]
        votes = None
        if self._is_asked and (predicts or settings["learns_vote"]):
            is_number = settings["task"] == REGRESSION
            width = 1 + SPREAD if is_number else int(settings["n_labels"])
            votes = np.empty((self.end - self.first, stop - start, width))
        self._votes.append(votes)
        self._start = start
        rest = block, start, stop, categories
        super()._run(*rest, predicts=predicts, learns=learns, n_jobs=n_jobs)

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
