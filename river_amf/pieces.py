"""A forest whose trees are cut into shards: what goes between both sides (DESIGN.md: shards).

The hub hears each block first: it checks it, learns what follows from the stream alone, and says
what the trees are to learn. Then the shards run their trees through the block, wherever they are.
Finally, the hub takes the vote. All three go through the same pieces of a block: the rows between
two that bring something new, and each of those by itself.

Rows of words go one by one. The hub only checks them at first; it learns them with the vote, so no
other block may be heard before.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from river_amf.encoding import EncodedSample
from river_amf.engine import BlockAnswers, Engine
from river_amf.frames import Column
from river_amf.settings import Parameters
from river_amf.sparse import SparseSample
from river_amf.sparse_rows import SparseRows
from river_amf.state import Block

Votes = NDArray[np.float64]
Table = list[Column] | SparseRows

NO_AIMS: Votes = np.zeros((1, 0))


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
    aims: Votes = NO_AIMS


class Cut(Engine):
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

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self)()
        twin.__setstate__(self.__getstate__())
        return twin
