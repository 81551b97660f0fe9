"""A forest whose trees are cut into shards: what goes between both sides (DESIGN.md: shards).

The coordinator takes each block first: it checks it, learns what follows from the stream alone, and
says what the trees are to learn. Then the shards run their trees through the block, wherever they
are. Finally, the coordinator takes the vote. All three go through the same segments of a block.

Rows of words go one by one. The coordinator only checks them at first; it learns them with the
vote, so no other block may be taken in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.engine.forest_engine import BlockAnswers
from river_amf.engine.known import Known
from river_amf.engine.segments import Segment
from river_amf.inputs.frames import Column
from river_amf.inputs.sparse_rows import SparseRows
from river_amf.state.arena import Arena, Block
from river_amf.state.layout import DELAY, OF_VOTER, REGRESSION, RESTARTED

Votes = NDArray[np.float64]
Table = list[Column] | SparseRows

NO_TREE_TARGETS: Votes = np.zeros((1, 0))


class CoordinatorSegment(Segment):
    """Rows that the coordinator has taken, and that await the votes of the trees."""

    def __init__(self, known: Known, block: Block, rows: range, **how: bool) -> None:
        super().__init__(known, block, rows, **how)
        self.n_labels = known.labels.n_classes
        self._n_trees, n_rows = len(block.coded), len(rows)
        n_voters, _, n_votes = block.votes.shape
        self.votes: Votes = np.empty((n_voters - self._n_trees, n_rows, n_votes))  # of all others
        n_targets = len(block.tree_targets)
        self.tree_targets = NO_TREE_TARGETS
        if self.learns and n_targets > 1:  # otherwise they are the targets
            self.tree_targets = np.empty((n_targets, n_rows))
        n_late = n_rows * self.has_late
        self.contexts: Votes = np.zeros((n_rows, block.contexts.shape[1]))
        self.late_votes: Votes = np.zeros((self._n_trees, n_late, n_votes))

    def voters(self, arena: Arena) -> tuple[int, int]:
        """Return the range of the linear models."""
        return arena.capacities["tree"], super().voters(arena)[1]

    def close(self, arena: Arena, start: int, stop: int) -> int:
        """Note what the linear models have said."""
        rows, n = slice(start - self.rows.start, stop - self.rows.start), stop - start
        self.votes[:, rows] = self.block.votes[self._n_trees :, :n]
        if self.tree_targets.size:
            self.tree_targets[:, rows] = self.block.tree_targets[:, :n]
        if self.has_late:
            self.contexts[rows] = self.block.contexts[:n]
            self.late_votes[:, rows] = self.block.late_votes[: self._n_trees, :n]
        self.block.record["stage"] = kernels.CLOSED
        return kernels.DONE

    def vote(
        self,
        arena: Arena,
        of_shards: Sequence[Votes],
        keep: Callable[[Votes, Votes, Votes], None] | None = None,
    ) -> None:
        """Take the vote, given those of the trees of each shard; keep rows and votes if asked."""
        settings = arena.settings.copy()
        settings["n_labels"] = self.n_labels
        arena = arena.replacing(settings=settings)
        n_trees, width, rows = arena.capacities["tree"], of_shards[0].shape[2], self.rows
        old = self.block
        block = Block(old.values, old.targets, old.weights, old.answers)
        block.prepare(arena, len(rows), predicts=self.predicts, learns=self.learns)
        for start in range(0, len(rows), block.chunk):
            part = slice(start, min(start + block.chunk, len(rows)))
            n = part.stop - start
            np.concatenate(
                [each[:, part] for each in of_shards], out=block.votes[:n_trees, :n, :width]
            )
            block.votes[n_trees:, :n, : self.votes.shape[2]] = self.votes[:, part]
            block.contexts[:n] = self.contexts[part]
            if self.has_late:
                late = np.flatnonzero(block.contexts[:n, DELAY])
                block.contexts[late, RESTARTED:] = block.votes[:n_trees, late, 0].T
                block.votes[:n_trees, late, : self.late_votes.shape[2]] = self.late_votes[
                    :, start + late
                ]
            where = rows.start + start, rows.start + part.stop
            kernels.close_chunk(arena.address, block.address, *where)
            if keep is not None:
                own = slice(*where)
                keep(block.values[own], block.votes[:, :n], block.answers[own])


class ShardSegment(Segment):
    """Rows that a shard takes through its trees, whose votes are noted if anybody needs them."""

    def __init__(
        self, known: Known, block: Block, rows: range, message: Message, **how: bool
    ) -> None:
        late = message.late
        how["has_late"] = bool(late is not None and late.contexts[:, DELAY].any())
        super().__init__(known, block, rows, **how)
        assert known.arena is not None
        settings = known.arena.settings[0]
        self.tree_targets, self.late = message.tree_targets, late
        self.votes: Votes | None = None
        if self.predicts or settings["learns_vote"]:
            is_number = settings["task"] == REGRESSION
            width = OF_VOTER if is_number else int(settings["n_labels"])
            self.votes = np.empty((len(block.coded), len(rows), width))

    def open(self, arena: Arena, start: int, stop: int) -> None:
        """Say what the trees learn, as the coordinator has found out."""
        first, targets = start - self.rows.start, self.block.tree_targets
        if self.learns and len(targets) > 1:
            targets[:, : stop - start] = self.tree_targets[:, first : first + stop - start]
        if self.has_late and self.late is not None:
            contexts, votes = self.late.part(first, first + stop - start)
            self.block.contexts[: stop - start, :RESTARTED] = contexts
            self.block.contexts[:, RESTARTED:] = 0.0
            width = min(votes.shape[2], self.block.late_votes.shape[2])
            self.block.late_votes[:, : stop - start, :width] = votes[:, :, :width]
        super().open(arena, start, stop)

    def close(self, arena: Arena, start: int, stop: int) -> int:
        """Note how the trees vote."""
        first, n = start - self.rows.start, stop - start
        if self.votes is not None:
            width = self.votes.shape[2]
            self.votes[:, first : first + n] = self.block.votes[:, :n, :width]
            contexts = self.block.contexts[:n]
            late = np.flatnonzero(contexts[:, DELAY])  # whose votes the coordinator has
            self.votes[:, first + late, 0] = contexts[late, RESTARTED:].T
        return super().close(arena, start, stop)


class Late(NamedTuple):
    """What was predicted for rows whose labels come late, and in which context."""

    contexts: Votes  # (learned rows, numbers), 0 for rows whose labels are not late
    votes: Votes  # (trees, learned rows, labels)

    def part(self, start: int, stop: int) -> Late:
        """Return the rows from `start` to `stop`."""
        return Late(self.contexts[start:stop], self.votes[:, start:stop])


def late_of(segments: Sequence[CoordinatorSegment]) -> Late | None:
    """Return what was predicted for rows that are learned, or None if none of them is late."""
    segments = [each for each in segments if each.learns]
    if not any(each.has_late for each in segments):
        return None
    contexts = np.concatenate([each.contexts[:, :RESTARTED] for each in segments])
    n_trees, _, n_votes = segments[-1].late_votes.shape  # which knows the most labels
    votes, start = np.zeros((n_trees, len(contexts), n_votes)), 0
    for each in segments:
        stop = start + len(each.rows)
        if each.has_late:
            votes[:, start:stop, : each.late_votes.shape[2]] = each.late_votes
        start = stop
    return Late(contexts, votes)


class Message(NamedTuple):
    """A block as it goes to the shards; without labels, it is only predicted."""

    table: Table
    labels: Column | None
    weights: NDArray[np.float64]
    predicts: bool = True
    tree_targets: Votes = NO_TREE_TARGETS  # (tree targets, learned rows): instead of the targets
    late: Late | None = None

    def of_rows(self, start: int, stop: int) -> Message:
        """Return what some of the rows that are learned have beside the table."""
        late = None if self.late is None else self.late.part(start, stop)
        return self._replace(tree_targets=self.tree_targets[:, start:stop], late=late)


class Pending(NamedTuple):
    """A block that the coordinator has taken; of words it has but the message."""

    message: Message
    parts: list[BlockAnswers]  # whose answers are still blank
    segments: list[CoordinatorSegment]


# On each segment; of words, on each row before it is learned, and when it is.
ShardVotes = Sequence[Votes | None] | Sequence[Sequence[Votes]]
