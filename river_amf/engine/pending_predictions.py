"""Predictions that wait for their labels (DESIGN.md: late labels).

A label that comes late has to judge what was predicted then. So what each voter predicted is kept
until the label comes, found by the encoded sample. What is predicted before anything is learned is
an *early* prediction: nobody has voted, the sample cannot be encoded, and its label judges nothing.
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
_MOST_EARLY = 2**15  # 12 MB
LEARNED_AT = N_LEARNED - N_MADE_BY  # in a row, from its end


class Prediction(NamedTuple):
    """What voters predicted for a sample, and what the forest was then."""

    votes: Numbers  # (voters, labels known then or more), or location and spread; none if early
    made_by: Numbers

    def note(self, n_learned: int, arena: Arena, context: Numbers, votes: Numbers) -> None:
        """Write it to a context and its votes; its label comes after so many samples."""
        context[:] = 0.0
        context[DELAY] = n_learned - self.made_by[N_LEARNED]
        context[N_KNOWN:N_MADE_BY] = self.made_by[N_KNOWN:]
        if self.votes.size:
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
        self._set_store(np.zeros((0, N_MADE_BY)), (0, 0))

    def _set_store(self, store: Numbers, shape: tuple[int, int]) -> None:
        self._store, self._shape, self._width = store, shape, store.shape[1]
        self._view = store.reshape(-1).data

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of the predictions."""
        return sum(8 * self._width + _KEY_BYTES + len(key) for key in self.keys.values())

    def add(self, key: bytes, kept: memoryview, arena: Arena) -> None:
        """Add the prediction in a buffer."""
        self._fit(arena)
        row = self._row_for(key, kept[LEARNED_AT], arena.most_pending)
        if row is not None:
            width = self._width
            self._view[row * width : (row + 1) * width] = kept

    def add_all(
        self, keys: Sequence[bytes], votes: Numbers, made_by: Numbers, arena: Arena
    ) -> None:
        """Add the predictions for a block; `votes` has the shape (samples, voters, numbers)."""
        self._fit(arena)
        of_samples = zip(keys, made_by, strict=True)
        found = [self._row_for(k, m[N_LEARNED], arena.most_pending, m) for k, m in of_samples]
        new = [(k, row) for k, row in enumerate(found) if row is not None]
        if new:
            samples, rows = np.array(new).T
            self._store[rows, :-N_MADE_BY] = votes[samples].reshape(len(new), -1)

    def add_early(self, key: bytes, most: int) -> None:
        """Add an early prediction, also where there is the same one already."""
        self._row_for(key, 0.0, min(most, _MOST_EARLY), np.zeros(N_MADE_BY))

    def _row_for(
        self, key: bytes, n_learned: float, most: int, made_by: Numbers | None = None
    ) -> int | None:
        """Return a row for a new prediction, or None if there is the same one already."""
        if not most:
            return None
        of_key = self._rows.get(key)
        if of_key and n_learned and self._store[of_key[-1], LEARNED_AT] == n_learned:
            self.keys.move_to_end(of_key[-1])
            return None
        self.limit(most - 1)
        if not self._free:
            self._grow(most)
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
        self._set_store(store, self._shape)
        self._free.extend(range(len(store) - 1, n - 1, -1))

    def _fit(self, arena: Arena) -> None:
        """Make room for the votes of all voters on all labels."""
        shape = arena.capacities["voter"], arena.capacities["vote"]
        if shape != self._shape:
            self.limit(arena.most_pending)
            arrays = self.arrays()
            votes = np.zeros((len(self.keys), *shape))
            old = arrays["pending_votes"]
            votes[:, : old.shape[1], : old.shape[2]] = old
            self.take_arrays(arrays | {"pending_votes": votes})

    def _votes(self, rows: list[int]) -> Numbers:
        return self._store[rows, :-N_MADE_BY].reshape(len(rows), *self._shape)

    @property
    def have_early(self) -> bool:
        """Whether any are early; these are the oldest."""
        return bool(self.keys) and self._store[next(iter(self.keys)), LEARNED_AT] == 0.0

    def drop_early(self) -> None:
        """Remove the early ones."""
        while self.have_early:
            self._remove(next(iter(self.keys)))

    def has(self, keys: Sequence[bytes], n_learned: float) -> bool:
        """Whether there is a prediction of a sample made after so many samples."""
        found = (self._rows[key][-1] for key in keys if key in self._rows)
        return any(self._store[row, LEARNED_AT] == n_learned for row in found)

    def limit(self, most: int) -> None:
        """Remove the oldest, until there are at most so many."""
        while len(self.keys) > max(most, 0):
            self._remove(next(iter(self.keys)))

    def take(self, keys: Sequence[bytes], n_learned: int) -> Prediction | None:
        """Take out the oldest prediction of a sample; None if there is none, or one is of now."""
        # Then the label comes at once, for all predictions of the sample.
        if self.has(keys, n_learned):
            self.drop(keys)
            return None
        row = next((self._rows[key][0] for key in keys if key in self._rows), None)
        if row is None:
            return None
        self._remove(row)
        made_by = self._store[row, -N_MADE_BY:]
        votes = self._votes([row])[0]
        return Prediction(votes[:, : _n_known(made_by)], made_by)

    def drop(self, keys: Sequence[bytes], made_at: int | None = None) -> bool:
        """Remove all predictions of a sample, or those made after so many samples; whether any."""
        rows = [row for key in keys for row in self._rows.get(key, [])]
        if made_at is not None:
            rows = [row for row in rows if self._store[row, LEARNED_AT] == made_at]
        for row in rows:
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
        if not any(n_known):
            votes = votes[:, :0]
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
        store[:, :-N_MADE_BY] = votes.reshape(n, n_voters * n_votes)
        store[:, -N_MADE_BY:] = made_by
        self._set_store(store, (n_voters, n_votes))
        content, ends = keys.tobytes(), np.cumsum(lengths).tolist()
        for row, (start, end) in enumerate(itertools.pairwise([0, *ends])):
            key = self.keys[row] = content[start:end]
            self._rows.setdefault(key, []).append(row)


def _n_known(made_by: Numbers) -> int:
    """Return how many numbers of each vote mean anything."""
    return int(made_by[N_KNOWN]) or (OF_VOTER if made_by[N_LEARNED] else 0)
