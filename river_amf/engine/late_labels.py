"""Predictions for delayed labels: each label is scored against its own (DESIGN.md)."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.columns import NewCategory
from river_amf.inputs.encoding import UNKNOWN, key_of, keys_of
from river_amf.inputs.schema import Row, Schema
from river_amf.state import layout
from river_amf.state.arena import Arena, Block
from river_amf.state.layout import N_KNOWN, N_LEARNED, N_MADE_BY, PENDING_FIELDS

Numbers = NDArray[np.float64]

LEARNED_AT = N_LEARNED - N_MADE_BY  # in a prediction, from its end
_BYTES = 300  # of a prediction, for its objects and dicts


class LateLabels:
    """Predictions whose labels are delayed, from the oldest to the newest, by the keys of rows.

    A prediction is one array: the votes of each voter, then the `N_MADE_BY` numbers that made it.
    The last prediction may still be in the buffer of the arena (`hold`).
    """

    def __init__(self, arrays: dict[str, NDArray[Any]] | None = None) -> None:
        self.waiting: OrderedDict[int, tuple[bytes, Numbers]] = OrderedDict()  # by number
        self._numbers: dict[bytes, list[int]] = {}  # by key
        self._next = 0
        if arrays:  # of a copy or a file
            keys, lengths, votes, made_by = (arrays[name] for name in PENDING_FIELDS)
            content, ends = keys.tobytes(), np.cumsum(lengths).tolist()
            for k, (start, end) in enumerate(itertools.pairwise([0, *ends])):
                kept = np.concatenate([votes[k].ravel(), made_by[k]])
                self.keep(content[start:end], kept, len(lengths))

    @property
    def nbytes(self) -> int:
        """Bytes of the predictions and their keys."""
        return sum(_BYTES + len(key) + kept.nbytes for key, kept in self.waiting.values())

    # By key

    def keep(self, key: bytes, kept: Numbers, most: int) -> None:
        """Add a prediction; it replaces that of the same row since which nothing was learned."""
        numbers = self._numbers.setdefault(key, [])
        if numbers and self.waiting[numbers[-1]][1][LEARNED_AT] == kept[LEARNED_AT]:
            del self.waiting[numbers.pop()]
        numbers.append(self._next)
        self.waiting[self._next] = key, kept
        self._next += 1
        self.limit(most)

    def limit(self, most: int) -> None:
        """Remove the oldest, until there are at most so many."""
        while len(self.waiting) > most:
            self._remove(next(iter(self.waiting)))

    def _remove(self, number: int) -> Numbers:
        key, kept = self.waiting.pop(number)
        numbers = self._numbers[key]
        numbers.remove(number)
        if not numbers:
            del self._numbers[key]
        return kept

    def drop(self, key: bytes, n_learned: float | None = None) -> bool:
        """Remove all predictions of a row, or those made after so many samples; whether any."""
        numbers = [
            number
            for number in self._numbers.get(key, [])
            if n_learned is None or self.waiting[number][1][LEARNED_AT] == n_learned
        ]
        for number in numbers:
            self._remove(number)
        return bool(numbers)

    def take(self, key: bytes, n_learned: float) -> Numbers | None:
        """Take out the oldest prediction of a row; None if its label comes at once, or if none."""
        numbers = self._numbers.get(key)
        if not numbers:
            return None
        if self.waiting[numbers[-1]][1][LEARNED_AT] == n_learned:  # for all of them
            self.drop(key)
            return None
        return self._remove(numbers[0])

    # For single samples

    def hold(self, arena: Arena | None) -> None:
        """Add the prediction in the buffer, which is about to be used again."""
        if arena is not None and arena.output.kept[LEARNED_AT] >= 0.0:
            self._move(key_of(arena.output.seen), arena)

    def hold_unusual(self, schema: Schema, arena: Arena) -> None:
        """Add the prediction in the buffer if its key does not follow from the buffer."""
        if arena.output.kept[LEARNED_AT] >= 0.0:
            is_masked = mask_unknown(schema)
            if is_masked or schema.words is not None:
                self._move(schema.key(schema.sample), arena)

    def _move(self, key: bytes, arena: Arena) -> None:
        kept = arena.output.kept
        self.keep(key, np.array(kept), arena.most_pending)
        kept[LEARNED_AT] = -1.0

    def take_back(self, schema: Schema, arena: Arena | None, row: Row) -> bool:
        """Remove the prediction of a row if nothing was learned since; return whether it was."""
        if arena is None or not arena.most_pending:
            return False
        self.hold(arena)
        sample = schema.place({name: row[name] for name in row if schema.is_known(name)})
        mask_unknown(schema)
        return self.drop(schema.key(sample), float(arena.n_learned[0]))

    def find(self, schema: Schema, arena: Arena) -> bool:
        """Hand the prediction for the sample to the kernels; return whether its label is late."""
        self.hold(arena)
        self.limit(arena.most_pending)
        n_learned = int(arena.n_learned[0])
        kept = self.take(schema.key(schema.sample), n_learned)
        if kept is not None:
            hand_over(kept, n_learned, arena, arena.context, arena.late_votes[:, 0])
        return kept is not None

    # For blocks

    def keep_rows(
        self, schema: Schema, arena: Arena, rows: Numbers, votes: Numbers, answers: Numbers
    ) -> None:
        """Add the predictions for some rows: `votes` of shape (voters, rows, ...), and answers."""
        keys = keys_of(schema.mask_unknown(rows[:, : len(schema)]))
        flat = np.moveaxis(votes, 0, 1).reshape(len(rows), -1)
        for key, *parts in zip(keys, flat, arena.made_by(answers), strict=True):
            self.keep(key, np.concatenate(parts), arena.most_pending)

    def find_rows(
        self, arena: Arena, block: Block, start: int, stop: int, new: Sequence[NewCategory]
    ) -> None:
        """Hand the predictions for rows about to be learned, with new categories, to kernels."""
        n_learned, most = int(arena.n_learned[0]), arena.most_pending
        self.limit(most)
        values = block.values[start:stop].copy()
        for row, column, *_ in new:  # which were unknown when they were predicted
            values[row - start, column] = UNKNOWN
        are_new = {row for row, *_ in new}
        for row, key in enumerate(keys_of(values), start):
            if block.is_at_once:
                self.keep(key, np.full(N_MADE_BY, float(n_learned)), most)  # like a single row
            if row in are_new:
                self.drop(key, n_learned)
            elif block.is_at_once:
                self.drop(key)
            elif (kept := self.take(key, n_learned)) is not None:
                votes = block.late_votes[:, row - start]
                hand_over(kept, n_learned, arena, block.contexts[row - start], votes)
            n_learned += 1

    # Copies and files

    def arrays(self, arena: Arena) -> dict[str, NDArray[Any]]:
        """Return all predictions as the arrays of `layout.PENDING_FIELDS`, from the oldest on."""
        keys = [key for key, _ in self.waiting.values()]
        made_by = np.array([kept[-N_MADE_BY:] for _, kept in self.waiting.values()], np.float64)
        made_by[:, layout.VERSION] = 0.0  # which may differ between equal forests
        n_known = [_n_known(arena, kept) for _, kept in self.waiting.values()]
        votes = np.zeros((len(keys), arena.capacities["voter"], max(n_known)))
        for k, (_, kept) in enumerate(self.waiting.values()):
            votes[k, :, : n_known[k]] = _votes(arena, kept)
        return {
            "pending_keys": np.frombuffer(b"".join(keys), np.uint8),
            "pending_key_lengths": np.array([len(key) for key in keys], np.int64),
            "pending_votes": votes,
            "pending_made_by": made_by,
        }


def mask_unknown(schema: Schema) -> bool:
    """Mask unknown categories in the encoded sample; return whether there are any."""
    row = schema.sample.values[:1]
    masked = schema.mask_unknown(row)
    is_masked = masked.tobytes() != row.tobytes()
    if is_masked:
        schema.sample.source = None
        row[:] = masked
    return is_masked


def hand_over(
    kept: Numbers, n_learned: int, arena: Arena, context: Numbers, late_votes: Numbers
) -> None:
    """Write a prediction to the arrays of the kernels; its label comes after so many samples."""
    made_by, votes = kept[-N_MADE_BY:], _votes(arena, kept)
    context[:] = 0.0
    context[layout.DELAY] = n_learned - made_by[N_LEARNED]
    context[N_KNOWN:N_MADE_BY] = made_by[N_KNOWN:]
    late_votes[:, : votes.shape[1]] = votes
    if len(arena.trends):
        context[layout.TREND_THEN] = votes[-1, layout.LOCATION]


def _votes(arena: Arena, kept: Numbers) -> Numbers:
    """Return the votes in a prediction, of shape (voters, labels then)."""
    votes = kept[:-N_MADE_BY].reshape(arena.capacities["voter"], -1)
    return votes[:, : _n_known(arena, kept)]


def _n_known(arena: Arena, kept: Numbers) -> int:
    """Return how many numbers of each vote in a prediction are in use."""
    return layout.OF_VOTER if arena.task == layout.REGRESSION else int(kept[N_KNOWN - N_MADE_BY])
