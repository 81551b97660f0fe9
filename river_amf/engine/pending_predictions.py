"""Predictions that wait for their labels (DESIGN.md: late labels).

A label that comes late has to judge what was predicted then. So what each voter predicted is kept
until the label comes, found by the encoded sample.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf.state.arena import Arena
from river_amf.state.layout import (
    DELAY,
    LOCATION,
    N_KNOWN,
    N_LEARNED,
    N_MADE_BY,
    OF_VOTER,
    PENDING_FIELDS,
    TREND_THEN,
    VERSION,
)

Numbers = NDArray[np.float64]

_FIRST = 16  # capacity
_KEY_BYTES = 300  # around a key, of the objects and dicts
LEARNED_AT = N_LEARNED - N_MADE_BY  # in a row, from its end


class Prediction(NamedTuple):
    """What voters predicted for a sample, and what the forest was then."""

    votes: Numbers  # (voters, labels known then or more), or location and spread
    made_by: Numbers

    def note(self, n_learned: int, arena: Arena, context: Numbers, votes: Numbers) -> None:
        """Write it to a context and its votes; its label comes after so many samples."""
        context[:] = 0.0
        context[DELAY] = n_learned - self.made_by[N_LEARNED]
        context[N_KNOWN:N_MADE_BY] = self.made_by[N_KNOWN:]
        votes[:, : self.votes.shape[1]] = self.votes
        if len(arena.trends):
            context[TREND_THEN] = self.votes[-1, LOCATION]


class Predictions:
    """Predictions that wait for their labels, from the oldest to the newest."""

    # They are rows of one array: the votes of all voters, and what made them. Of those for the same
    # sample with nothing learned in between, only the last is kept.

    def __init__(self) -> None:
        self.keys: OrderedDict[int, bytes] = OrderedDict()  # by row, in the order of age
        self._rows: dict[bytes, list[int]] = {}  # by key, again in the order of age
        self._free: list[int] = []
        self._set_store(np.zeros((0, N_MADE_BY)), 0)

    def _set_store(self, store: Numbers, n_votes: int) -> None:
        self._store, self._n_votes, self._width = store, n_votes, store.shape[1]
        self._view = store.reshape(-1).data

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of the predictions."""
        return sum(8 * self._width + _KEY_BYTES + len(key) for key in self.keys.values())

    def add(self, key: bytes, kept: memoryview, arena: Arena) -> None:
        """Add the prediction in a buffer."""
        row = self._row_for(key, kept[LEARNED_AT], arena)
        if row is not None:
            width = self._width
            self._view[row * width : (row + 1) * width] = kept

    def add_all(
        self, keys: Sequence[bytes], votes: Numbers, made_by: Numbers, arena: Arena
    ) -> None:
        """Add the predictions for a block; `votes` has the shape (samples, voters, numbers)."""
        found = [self._row_for(key, made_by[N_LEARNED], arena, made_by) for key in keys]
        new = [(k, row) for k, row in enumerate(found) if row is not None]
        if new:
            samples, rows = np.array(new).T
            self._store[rows, :-N_MADE_BY] = votes[samples].reshape(len(new), -1)

    def _row_for(
        self, key: bytes, n_learned: float, arena: Arena, made_by: Numbers | None = None
    ) -> int | None:
        """Return a row for a new prediction, or None if there is the same one already."""
        if not arena.most_pending:
            return None
        n_votes = arena.capacities["vote"]
        if n_votes != self._n_votes:
            self._widen(arena.capacities["voter"], n_votes)
        of_key = self._rows.get(key)
        if of_key and self._store[of_key[-1], LEARNED_AT] == n_learned:
            self.keys.move_to_end(of_key[-1])
            return None
        if len(self.keys) >= arena.most_pending:
            self.limit(arena.most_pending - 1)
        if not self._free:
            self._grow(arena.most_pending)
        row = self._free.pop()
        self.keys[row] = key
        if of_key:
            of_key.append(row)
        else:
            self._rows[key] = [row]
        if made_by is not None:  # at once, for samples that are the same
            self._store[row, -N_MADE_BY:] = made_by
        return row

    def _grow(self, most: int) -> None:
        n = len(self._store)
        store = np.zeros((max(min(2 * n, most), n + 1, min(_FIRST, most)), self._width))
        store[:n] = self._store
        self._set_store(store, self._n_votes)
        self._free.extend(range(len(store) - 1, n - 1, -1))

    def _widen(self, n_voters: int, n_votes: int) -> None:
        """Make room for more labels."""
        store = np.zeros((len(self._store), n_voters * n_votes + N_MADE_BY))
        store[:, -N_MADE_BY:] = self._store[:, -N_MADE_BY:]
        if self._n_votes:
            n = min(n_votes, self._n_votes)
            new = store[:, :-N_MADE_BY].reshape(len(store), n_voters, n_votes)
            new[:, :, :n] = self._votes(slice(None))[:, :, :n]
            store[:, :-N_MADE_BY] = new.reshape(len(store), -1)
        self._set_store(store, n_votes)

    def _votes(self, rows: Any) -> Numbers:
        votes = self._store[rows, :-N_MADE_BY]
        return votes.reshape(len(votes), -1, self._n_votes)

    def has(self, key: bytes, n_learned: float) -> bool:
        """Whether there is a prediction of a sample made after so many samples."""
        rows = self._rows.get(key)
        return rows is not None and bool(self._store[rows[-1], LEARNED_AT] == n_learned)

    def limit(self, most: int) -> None:
        """Remove the oldest, until there are at most so many."""
        while len(self.keys) > max(most, 0):
            self._remove(next(iter(self.keys)))

    def take(self, key: bytes, n_learned: int) -> Prediction | None:
        """Take out the oldest prediction of a sample; None if there is none, or one is of now."""
        # Then the label comes at once, for all predictions of the sample.
        rows = self._rows.get(key)
        if not rows:
            return None
        if self.has(key, n_learned):
            self.drop(key)
            return None
        row = rows[0]
        self._remove(row)
        made_by = self._store[row, -N_MADE_BY:]
        votes = self._votes([row])[0]
        return Prediction(votes[:, : _n_known(made_by)], made_by)

    def drop(self, key: bytes, made_at: int | None = None) -> bool:
        """Remove all predictions of a sample, or those made after so many samples; whether any."""
        rows = self._rows.get(key, [])
        if made_at is not None:
            rows = [row for row in rows if self._store[row, LEARNED_AT] == made_at]
        for row in list(rows):
            self._remove(row)
        return bool(rows)

    def _remove(self, row: int) -> None:
        key = self.keys.pop(row)
        rows = self._rows[key]
        rows.remove(row)
        if not rows:
            del self._rows[key]
        self._free.append(row)

    def copy(self) -> Predictions:
        """Return a copy, which shares nothing with this."""
        twin = Predictions()
        if self.keys:
            twin.take_arrays(self.arrays())
        return twin

    def clear(self) -> None:
        """Remove all."""
        Predictions.__init__(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.arrays() if self.keys else {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.clear()
        if state:
            self.take_arrays(state)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all predictions as the arrays of `layout.PENDING_FIELDS`, by age."""
        rows, keys = list(self.keys), list(self.keys.values())
        made_by, votes = self._store[rows, -N_MADE_BY:], self._votes(rows).copy()
        made_by[:, VERSION] = 0.0  # which may differ between equal forests
        n_known = [_n_known(each) for each in made_by]
        for k, n in enumerate(n_known):
            votes[k, :, n:] = 0.0
        return {
            "pending_keys": np.frombuffer(b"".join(keys), np.uint8),
            "pending_key_lengths": np.array([len(key) for key in keys], np.int64),
            "pending_votes": votes[:, :, : max(n_known, default=0)],
            "pending_made_by": made_by,
        }

    def take_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take the predictions of a copy or a file in place of any others."""
        self.clear()
        keys, lengths, votes, made_by = (arrays[name] for name in PENDING_FIELDS)
        n, n_voters, n_votes = votes.shape
        # copied to our own dtype: that of a pickle is equal, but would change later pickles
        store = np.zeros((n, n_voters * n_votes + N_MADE_BY))
        store[:, :-N_MADE_BY] = votes.reshape(n, -1)
        store[:, -N_MADE_BY:] = made_by
        self._set_store(store, n_votes)
        content, ends = keys.tobytes(), np.cumsum(lengths).tolist()
        for row, (start, end) in enumerate(itertools.pairwise([0, *ends])):
            key = self.keys[row] = content[start:end]
            self._rows.setdefault(key, []).append(row)


def _n_known(made_by: Numbers) -> int:
    """Return how many numbers of each vote mean anything."""
    return int(made_by[N_KNOWN]) or OF_VOTER
