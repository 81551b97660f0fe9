"""What a worker does that has the models of some keys."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import ray
from numpy.typing import NDArray

from river_amf.keyed.models import Keyed
from river_amf.keyed.routing import Block
from river_amf.keyed.store import Packed

State = NDArray[np.uint8]  # a pickle
Answers = list[tuple[NDArray[Any], Any]]  # for each key its rows, and what its model says of them


class Rows(NamedTuple):
    """The rows of a block whose keys belong to a worker."""

    X: Any
    y: Any
    w: Any


def state_of(model: Keyed, stored: list[Packed]) -> State:
    """Return the state that a share begins with: these models, which are in the folder."""
    return _state(type(model), model._holding(stored), is_flushed=True)


def _state(kind: type[Keyed], content: dict[str, Any], *, is_flushed: bool) -> State:
    # An array, which whoever gets it from the object store does not have to copy.
    return np.frombuffer(ray.cloudpickle.dumps((kind, content, is_flushed)), np.uint8)


class Share:
    """The models of some keys; its state is all of these, the ones moved out of memory too."""

    def __init__(self, state: State) -> None:
        kind, content, is_flushed = ray.cloudpickle.loads(state)
        self._model: Keyed = kind.__new__(kind)
        self._model.__setstate__(content)
        self._pool = self._model._pool
        if is_flushed:
            self.flushed()

    def state(self) -> State:
        """Return what an equal share can be made of; all models may have to be flushed again."""
        return _state(type(self._model), self._model.__getstate__(), is_flushed=False)

    def one(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call a method of the whole model, for a sample or a key."""
        return getattr(self._model, name)(*arguments, **options)

    def check(self, rows: Rows) -> None:
        """Raise the error that learning would raise, as far as that is known before."""
        self._model._check_parts(self._model._in_order(self._block(rows)))

    def learn(self, rows: Rows) -> None:
        """Learn rows."""
        self._model._learn_parts(self._block(rows), lambda way, part: way.learn(part))

    def ask(self, name: str, rows: Rows) -> Answers:
        """Return what models say of their rows."""
        results = self._model._ask_parts(
            self._block(rows), lambda way, part: getattr(way, name)(part)
        )
        return [(part.rows, answers) for part, answers in results]

    def ask_and_learn(self, name: str, rows: Rows) -> Answers:
        """Return what models say of each row before they learn it."""
        results = self._model._learn_parts(
            self._block(rows), lambda way, part: getattr(way, name)(part)
        )
        return [(part.rows, answers) for part, answers in results]

    def _block(self, rows: Rows) -> Block:
        return Block(rows.X, self._model.key, rows.y, rows.w)

    def texts(self) -> list[str]:
        """Return the keys that have a model, as texts."""
        texts: list[str] = self._pool.texts()
        return texts

    def sizes(self) -> tuple[int, int]:
        """Return how many models are in memory, and how many bytes they take."""
        return self._pool.n_resident, self._pool.n_bytes

    def changes(self) -> list[Packed]:
        """Return the models that have changed since they were flushed."""
        return list(self._pool.changes())

    def flushed(self) -> None:
        """Take note that these are in the folder."""
        self._pool.flush(None)

    def close(self) -> None:
        """Remove the temporary file."""
        self._pool.store.close()

    def all(self) -> list[Packed]:
        """Return all models."""
        return list(self._pool.all())
