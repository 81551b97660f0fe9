"""Forests that share a stream: each learns some of the rows, and all predict.

A `Dealer` checks blocks and says who learns which row. A `Partition` is one of the forests; it may
live in another process. Their predictions are averaged here.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf import sparse_rows
from river_amf.columns import EncodedBlock, encode_to_learn, encode_to_predict
from river_amf.encoding import Features, NewFeatures
from river_amf.engine import BlockAnswers
from river_amf.forest import Forest
from river_amf.frames import Column, factorize
from river_amf.kinds import as_dict, plain
from river_amf.labels import Labels
from river_amf.layout import CLASSIFICATION, LOCATION
from river_amf.mismatch import MismatchWarning
from river_amf.rows import renumbered
from river_amf.sparse_rows import SparseRows
from river_amf.targets import Targets
from river_amf.weights import check_totals

Table = list[Column] | SparseRows
Weights = NDArray[np.float64]
Indices = NDArray[np.int64]
NOBODY = -1  # the turn of a row that nobody learns


class Block(NamedTuple):
    """A block of rows to be learned, with what each partition needs to find its own."""

    table: Table
    labels: Column
    weights: Weights
    turns: Indices  # the partition that learns each row; NOBODY if its weight is 0


class Dealt(NamedTuple):
    """A block that has been checked, and the labels that are known along it."""

    block: Block
    n_known: Indices  # how many of the labels were known before each row
    labels: list[Hashable]  # known at the end, in order of first appearance


class Dealer:
    """Checks blocks and deals their rows to partitions, in turn.

    It knows what would make a row an error: the kinds of the features, the labels and the sum of
    the weights.
    """

    def __init__(self, model: Forest, n_partitions: int) -> None:
        self._model = model
        self._n_partitions = n_partitions
        self._features = Features(is_lenient=model.on_mismatch == "missing")
        self.labels: Any = Labels() if model.task == CLASSIFICATION else Targets()
        self._total_weight = 0.0
        self.n_learnt = 0

    def undecided(self, table: Table) -> list[Hashable]:
        """Return the features with categories in a block that may have been words before."""
        # Of words there may be too many to keep their kinds here; the partitions know these.
        if not isinstance(table, SparseRows):
            return []
        names = [column.name for column in table.coded if (column.codes >= 0).any()]
        return [name for name in names if not self._features.is_known(name)]

    def hear_of_words(self, names: Iterable[Hashable]) -> None:
        """Take note of features that hold numbers in a partition."""
        new = NewFeatures.none()._replace(numeric=list(names))
        self._features = self._features.extended(new)

    def deal(self, table: Table, labels: Column, weights: Weights) -> Dealt:
        """Deal the rows; raise TypeError or ValueError, and stay the same, if one is bad."""
        encoded = self._encoded(table, labels, weights)
        check_totals(self._total_weight, weights, self._model.task, are_rows=True)
        is_learnt = weights > 0.0
        numbers = self.n_learnt + np.cumsum(is_learnt) - 1
        turns = np.where(is_learnt, numbers % self._n_partitions, NOBODY)
        n_known = np.full(len(weights), len(self.labels))
        features, known = self._features, self.labels.copy()
        # One category is kept of each feature, for messages: which ones it has, nobody asks here.
        first = {new.feature: new.category for new in reversed(encoded.categories)}
        for row, new_labels, new in encoded.arrivals:
            examples = [(name, first[name]) for name in new.categorical]
            features = features.extended(new._replace(categories=examples))
            for label in new_labels:
                known.add(label)
                n_known[row + 1 :] += 1
        features.tell(encoded.mismatches)
        self._features, self.labels = features, known
        self._total_weight += float(weights.sum())
        self.n_learnt += int(np.count_nonzero(is_learnt))
        return Dealt(Block(table, labels, weights, turns), n_known, list(known))

    def check_to_predict(self, table: Table, n_rows: int) -> None:
        """Raise TypeError or ValueError for the first row that cannot be predicted."""
        if not isinstance(table, SparseRows):
            encode_to_predict(table, n_rows, self._features, is_fresh=not self.n_learnt)
        elif not self.n_learnt:  # else the partitions will tell
            self._model._engine.predict_rows(table)

    def _encoded(self, table: Table, labels: Column, weights: Weights) -> EncodedBlock:
        """Return what is new in a block, or raise TypeError or ValueError."""
        rest = labels, weights, self._features, self.labels, self._model.n_classes
        if not isinstance(table, SparseRows):
            return encode_to_learn(table, *rest)
        sparse_rows.check_rows(table, *rest)
        return encode_to_learn(table.coded, *rest)


class Partition:
    """A forest that learns its share of the rows."""

    def __init__(self, state: tuple[Forest, int]) -> None:
        self.model, self._number = state

    def state(self) -> tuple[Forest, int]:
        """Return all of it."""
        return self.model, self._number

    def learn(self, block: Block) -> None:
        """Learn the own rows of a block."""
        rows = np.flatnonzero(block.turns == self._number)
        if len(rows):
            own = taken_rows(block.table, rows), _taken(block.labels, rows), block.weights[rows]
            self._learn(*own, rows, predicts=False, level=0.0)

    def answer_and_learn(self, block: Block, level: float) -> BlockAnswers:
        """Predict each row of a block as the forest is then, and learn the own ones."""
        weights = np.where(block.turns == self._number, block.weights, 0.0)  # 0 leaves no trace
        rows = np.arange(len(weights))
        return self._learn(block.table, block.labels, weights, rows, predicts=True, level=level)

    def _learn(
        self,
        table: Table,
        labels: Column,
        weights: Weights,
        rows: Indices,
        *,
        predicts: bool,
        level: float,
    ) -> BlockAnswers:
        """Learn rows, of which `rows` are the numbers in the block of the caller."""
        engine = self.model._engine
        rest = labels, weights, self.model, predicts
        answers: BlockAnswers
        with _naming(rows):
            if isinstance(table, SparseRows):
                answers = engine.lock.run_alone(engine.learn_rows, table, *rest)
            else:
                answers = engine.lock.run_alone(engine.learn_block, table, *rest, level)
        return answers

    def answer(self, table: Table, n_rows: int, level: float) -> BlockAnswers:
        """Predict each row of a block."""
        model, engine = self.model, self.model._engine
        with _naming(np.arange(n_rows)):
            if isinstance(table, SparseRows):
                answers = model._read(engine.predict_rows, table)
            else:
                answers = model._read(engine.predict_block, table, n_rows, model.n_jobs, level)
        known = list(model._labels)
        return BlockAnswers(answers, np.full(n_rows, len(known)), known)

    def words_among(self, names: list[Hashable]) -> list[Hashable]:
        """Return which of these features have held numbers."""
        features = self.model._engine.features
        return [name for name in names if features.is_known(name) and not features.coding(name)]


@contextmanager
def _naming(rows: Indices) -> Iterator[None]:
    """Let errors have the number of the row for the caller; the dealer has said all warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MismatchWarning)
            yield
    except (TypeError, ValueError) as error:
        raise renumbered(error, rows) from None


def sample_table(x: Any, *, has_words: bool) -> Table:
    """Return a sample as a table of one row, or raise TypeError if it is no mapping."""
    values = as_dict(x).items()
    columns = [factorize(plain(name), [value], are_features=True) for name, value in values]
    if not has_words:
        return columns
    words = [column for column in columns if column.numbers is not None and column.numbers[0] != 0]
    return SparseRows(
        [column.name for column in words],
        np.array([0, len(words)]),
        np.arange(len(words)),
        np.array([column.numbers[0] for column in words if column.numbers is not None]),
        [column for column in columns if column.numbers is None],
    )


def taken_rows(table: Table, rows: Indices) -> Table:
    """Return some rows of a table."""
    if not isinstance(table, SparseRows):
        return [_taken(column, rows) for column in table]
    sizes = np.diff(table.starts)[rows]
    ends = np.cumsum(sizes)
    # of each entry that is kept, its place within its row, and then in the table
    entries = np.arange(sizes.sum()) - np.repeat(ends - sizes, sizes)
    entries += np.repeat(table.starts[rows], sizes)
    return SparseRows(
        table.names,
        np.concatenate([[0], ends]).astype(np.int64),
        table.columns[entries],
        table.numbers[entries],
        [_taken(column, rows) for column in table.coded],
    )


def _taken(column: Column, rows: Indices) -> Column:
    """Return some rows of a column, with the values that they hold."""
    held = None if column.rows is None else [column.rows[row] for row in rows.tolist()]
    if column.numbers is not None:
        return column._replace(numbers=column.numbers[rows], rows=held)
    used, codes = np.unique(column.codes[rows], return_inverse=True)
    n_missing = int((used < 0).sum())  # at most one code, the first, means missing
    values = [column.values[u] for u in used[n_missing:].tolist()]
    return Column(column.name, None, codes.astype(np.int64) - n_missing, values, held)


def mean_proba(
    answers: Iterable[BlockAnswers], labels: list[Hashable], n_rows: int
) -> NDArray[np.float64]:
    """Return the mean probability of each label, over the forests that know any, or 0."""
    columns = {label: column for column, label in enumerate(labels)}
    total = np.zeros((n_rows, len(labels)))
    n_forests = np.zeros(n_rows)
    for proba, n_known, known in answers:  # in the order of forests, so that sums are the same
        total[:, [columns[label] for label in known[: proba.shape[1]]]] += proba
        n_forests += n_known > 0
    return total / np.maximum(n_forests, 1.0)[:, np.newaxis]


def mean_numbers(answers: Iterable[BlockAnswers], n_rows: int) -> NDArray[np.float64]:
    """Return the mean of what forests predict, over those that have learned any row, or 0."""
    total, n_forests = np.zeros(n_rows), np.zeros(n_rows)
    for numbers, n_known, labels in answers:
        is_known = n_known > 0
        origins: list[Any] = labels  # of the targets, if there have been any
        for origin in origins:
            total += np.where(is_known, numbers[:, LOCATION] + origin, 0.0)
        n_forests += is_known
    return total / np.maximum(n_forests, 1.0)


def new_partitions(model: Any, n_partitions: int) -> list[tuple[Forest, int]]:
    """Return the states of partitions: untrained clones, whose seeds follow from the model's."""
    entropy = np.random.SeedSequence(model.seed).entropy
    states = []
    for number in range(n_partitions):
        draw = np.random.SeedSequence(entropy, spawn_key=(number,))
        clone = model.clone()
        clone.seed = int(draw.generate_state(1, np.uint64)[0])
        states.append((clone, number))
    return states
