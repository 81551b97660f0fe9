"""The classifier and the regressor with a model for each key, over Ray's actors."""

from __future__ import annotations

import copy
import itertools
import os
from operator import methodcaller
from typing import Any, ClassVar

from river_amf.keyed import KeyedClassifier, KeyedRegressor
from river_amf.keyed.blocks import Block
from river_amf.keyed.keyed_model import KeyedModel
from river_amf.keyed.keys import share_of
from river_amf.parameters import Check
from river_amf.ray.workers import CHECKS, Workers


class _Share:
    """The models of some of the keys, in a worker."""

    def __init__(self, models: KeyedModel, number: int, n_shares: int) -> None:
        self._models, self._number, self._n_shares = models, number, n_shares
        self._used: set[str] = set()  # since the last flush

    def at(self, text: str, method: str, *arguments: Any) -> Any:
        """Call a method for a key."""
        self._used.add(text)
        return self._models._at(text, method, *arguments)

    def everywhere(self, method: str) -> Any:
        """Call a method of the store."""
        (result,) = self._models._everywhere(method)
        return result

    def give(self, block: Block, predict: str) -> dict[int, Any]:
        """Give each of these models its rows; return the predictions by row."""
        n, own = self._n_shares, self._number
        block.rows = {text: rows for text, rows in block.rows.items() if share_of(text, n) == own}
        self._used |= block.rows.keys()
        return self._models._give(block, predict)

    def changes(self) -> list[tuple[str, bytes]]:
        """Return the models that may have changed since the last flush, pickled."""
        used, self._used = self._used, set()
        return self._models._store.packed(used)


class DistributedKeyed(KeyedModel):
    """Base of `DistributedKeyedClassifier` and `DistributedKeyedRegressor`: models elsewhere.

    The store of this process has the models of the last flush, if there is a folder.
    """

    _checks: ClassVar[dict[str, Check]] = {**KeyedModel._checks, **CHECKS}
    _always_writable: ClassVar[frozenset[str]] = frozenset()
    _local: ClassVar[type[KeyedModel]]  # the same in one process

    def __init__(
        self,
        factory: Any,
        key: Any,
        n_workers: int,
        *,
        max_in_memory: int | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_workers = n_workers
        super().__init__(factory, key, max_in_memory=max_in_memory, folder=folder)

    def _open(self, kind: str) -> None:
        super()._open(self._local.__name__)
        n, stored = self.n_workers, self._store.packed(self._store.texts())
        limit = None if self.max_in_memory is None else max(self.max_in_memory // n, 1)
        shares = []
        for i in range(n):
            models = self._local(self.factory, self.key, max_in_memory=limit)
            models._store.put(each for each in stored if share_of(each[0], n) == i)
            shares.append(_Share(models, i, n))
        self._workers = Workers(shares)

    def _at(self, text: str, method: str, *arguments: Any) -> Any:
        call = methodcaller("at", text, method, *arguments)
        (result,) = self._workers.call(call, share_of(text, self.n_workers))
        if method == "remove":
            self._store.remove(text)
        return result

    def _everywhere(self, method: str) -> list[Any]:
        return self._workers.call(methodcaller("everywhere", method))

    def _give(self, block: Block, predict: str) -> dict[int, Any]:
        sent = copy.copy(block)
        sent.frame = None
        is_atomic = False  # a bad row of one key may follow those of others
        answers = self._workers.call(methodcaller("give", sent, predict), None, is_atomic)
        return dict(itertools.chain(*(each.items() for each in answers)))

    def _flush(self, position: Any) -> None:
        if self.folder is not None:
            for packed in self._workers.call(methodcaller("changes")):
                self._store.put(packed)
        super()._flush(position)

    def close(self) -> None:
        """End the workers, and release the folder; changes since the last flush are lost."""
        self._workers.close()
        super().close()


class DistributedKeyedClassifier(DistributedKeyed, KeyedClassifier):
    """`KeyedClassifier` over several processes, on one machine or many.

    Each worker, a Ray actor, holds a `KeyedClassifier` with the models of some keys: a hash of the
    key, which is the same in every process, determines the worker. The rows of a block are learned
    where their keys live. All predictions and models are those of `KeyedClassifier`, whatever the
    number of workers, and so are its methods. It pays for blocks of some hundred rows or more; a
    single sample takes one or two milliseconds.

    As in `DistributedForest`, a worker that dies is replaced by one in the same state, and a call
    that raises an error changes no model. After a block with a bad row workers are replaced, too,
    which takes some seconds. For the death of this process there is `folder`, with `flush`.

    Parameters
    ----------
    factory, key
        As in `KeyedClassifier`. Models have to be picklable.
    n_workers
        Number of workers.
    max_in_memory
        As in `KeyedClassifier`, divided evenly among the workers, each of which moves models to a
        temporary file on its machine. At least one model stays in each.
    folder
        Where `flush` writes to, on this machine: the folder of a `KeyedClassifier`, which either of
        them continues, with any number of workers. All models are read when the object is made.

    Examples
    --------
    It is used as a `KeyedClassifier` is. Workers start with the first call.

    >>> from river import linear_model
    >>> from river_amf.ray import DistributedKeyedClassifier
    >>> model = DistributedKeyedClassifier(linear_model.Perceptron(), "user", n_workers=2)
    >>> model.close()
    """

    _local = KeyedClassifier


class DistributedKeyedRegressor(DistributedKeyed, KeyedRegressor):
    """`KeyedRegressor` over several processes, on one machine or many.

    It is `DistributedKeyedClassifier` for numbers, with the same parameters.

    Examples
    --------
    >>> from river_amf import AMFRegressor
    >>> from river_amf.ray import DistributedKeyedRegressor
    >>> DistributedKeyedRegressor(AMFRegressor(), "shop", n_workers=2).close()
    """

    _local = KeyedRegressor
