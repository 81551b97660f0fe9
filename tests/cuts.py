"""A forest split into a coordinator and shards in this process, and what the whole one does."""

import copy
import itertools
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from river_amf.engine import sharding
from river_amf.engine.coordinator import Coordinator
from river_amf.engine.shard_messages import Message
from river_amf.engine.shards import Shard
from river_amf.inputs import frames, sparse_rows


def never() -> bool:
    """Say no."""
    return False


def taking_turns(turns: Sequence[bool]) -> Callable[[], bool]:
    """Return a function that says yes or no in turn."""
    return itertools.cycle(turns).__next__


class CutForest:
    """A forest cut into shards, which learns blocks as the whole one would.

    The coordinator may take some blocks before it combines the votes on the first; shards learn a
    block when the vote on it is due. Whenever `moves` says so, a shard goes through a pickle.
    """

    def __init__(
        self, model: Any, n_shards: int, n_waiting: int = 0, moves: Callable[[], bool] = never
    ) -> None:
        whole = copy.deepcopy(model._engine)
        self.model = model.clone()
        self.ends = sharding.bounds(model.n_estimators, n_shards)
        self.shards = [Shard.of_whole(whole, self.model, *ends) for ends in self.ends]
        self.coordinator = Coordinator.of_whole(whole, self.model)
        self.n_waiting = 0 if model.absent == "zero" else n_waiting
        self.moves = moves
        self._waiting: deque[tuple[Any, ...]] = deque()

    def learn(
        self, X: Any, y: Any, w: Any = None, *, predicts: bool = False, level: float = 0.0
    ) -> list[Any]:
        """Learn a block; returns the answers on the blocks that do not have to wait any more."""
        labels, weights = self.model._read_labels(y, len(X)), frames.read_weights(w, len(X))
        message = Message(self._read(X), labels, weights, predicts)
        pending = self.coordinator.take(message, level)
        self._waiting.append((pending, pickle.dumps(pending.message)))
        answers = []
        while len(self._waiting) > self.n_waiting:
            answers.append(self._vote())
        return answers

    def finish(self) -> list[Any]:
        """Take the vote on all blocks that wait; returns the answers."""
        answers = []
        while self._waiting:
            answers.append(self._vote())
        return answers

    def _vote(self) -> Any:
        pending, sent = self._waiting.popleft()
        votes = []
        for k, shard in enumerate(self.shards):
            votes.append(shard.votes(pickle.loads(sent)))
            if self.moves():
                self.shards[k] = pickle.loads(pickle.dumps(shard))
        return self.coordinator.vote(pending, votes)

    def predict(self, X: Any, level: float = 0.0) -> Any:
        """Return the predictions for a block, as `Forest._predict_block` does."""
        self.finish()
        messages = [Message(self._read(X), None, np.zeros(len(X))) for _ in (0, *self.shards)]
        pending = self.coordinator.take(messages.pop(), level)
        votes = [shard.votes(each) for shard, each in zip(self.shards, messages, strict=True)]
        return self.coordinator.vote(pending, votes).answers

    def _read(self, X: Any) -> Any:
        if self.model.absent == "zero":
            return sparse_rows.read_rows(X)
        return frames.read_columns(frames.read_frame(X))

    def gather(self) -> Any:
        """Return the whole forest."""
        self.finish()
        model = self.model.clone()
        model._engine = self.coordinator.gathered(self.shards)
        return model

    def bytes(self) -> list[bytes]:
        """Return the bytes of all parts."""
        return [pickle.dumps(part) for part in (self.coordinator, *self.shards)]


def same(answers: Any, others: Any) -> bool:
    """Whether the answers on a block are the same to the bit."""
    known = (answers.n_known == others.n_known).all() and answers.labels == others.labels
    return bool(known) and answers.answers.tobytes() == others.answers.tobytes()


def whole_learns(model: Any, X: Any, y: Any, w: Any, predicts: bool, level: float = 0.0) -> Any:
    """Let a whole forest learn a block; returns its answers."""
    return model._learn_block(X, y, w, predicts=predicts, level=level)


def as_block(samples: Sequence[tuple[dict[Any, Any], Any, float]]) -> tuple[Any, list, list]:
    """Return samples as a frame, labels and weights."""
    frame = pd.DataFrame([x for x, _, _ in samples], index=range(len(samples)), dtype=object)
    return frame, [y for _, y, _ in samples], [w for _, _, w in samples]


def in_blocks(samples: Sequence[Any], sizes: Sequence[int]) -> Iterator[Any]:
    """Yield samples as blocks of these sizes in turn."""
    start, turn = 0, 0
    while start < len(samples):
        stop = min(start + sizes[turn % len(sizes)], len(samples))
        yield as_block(samples[start:stop])
        start, turn = stop, turn + 1


def assert_same_future(
    model: Any, cut: CutForest, blocks: Sequence[Any], predicts: bool = True, level: float = 0.0
) -> None:
    """Check that a whole forest and one that is cut learn the same from blocks, to the byte."""
    expected = [whole_learns(model, *block, predicts, level) for block in blocks]
    found = []
    for block in blocks:
        found += cut.learn(*block, predicts=predicts, level=level)
    found += cut.finish()
    assert len(found) == len(expected)
    for k, (answers, others) in enumerate(zip(found, expected, strict=True)):
        assert same(answers, others), f"block {k}"
    assert pickle.dumps(cut.gather()) == pickle.dumps(model)
