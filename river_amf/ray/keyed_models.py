"""The classifier and the regressor with a model for each key, over Ray's actors."""

import copy
import itertools
import os
from collections.abc import Iterator
from operator import methodcaller
from typing import Any, ClassVar

from river_amf.keyed import KeyedClassifier, KeyedRegressor
from river_amf.keyed.keys import key_text, share_of
from river_amf.keyed.models import KeyedModel
from river_amf.keyed.store import Store
from river_amf.parameters import Check
from river_amf.ray.workers import CHECKS, Workers


class _Share:
    """The models of some of the keys, in a worker."""

    def __init__(self, models: KeyedModel, number: int, n_shares: int) -> None:
        self._models, self._number, self._n_shares = models, number, n_shares
        self._used: set[str] = set()  # since the last flush

    def call(self, n_learned: int, method: str, *arguments: Any) -> Any:
        """Call a method of the store with the keys of this share, after so many samples of all."""
        self._models._store.n_learned = n_learned
        if method == "give":
            block, n = arguments[0], self._n_shares
            block.rows = {
                t: rows for t, rows in block.rows.items() if share_of(t, n) == self._number
            }
            self._used |= block.rows.keys()
        elif arguments:
            self._used.add(arguments[0])
        return self._models._store.call(method, *arguments)

    def remove_unused(self, n_learned: int, n_samples: int) -> list[Any]:
        """Remove the keys without any of the last samples of all shares, and return them."""
        self._models._store.n_learned = n_learned
        return self._models.remove_unused(n_samples)

    def changes(self) -> list[tuple[str, bytes]]:
        """Return the models that may have changed since the last flush, pickled."""
        used, self._used = self._used, set()
        return self._models._store.call("packed", used)  # type: ignore[no-any-return]


class _Shares(Store):
    """The store of this process, with the models of the last flush, and the workers'."""

    workers: Workers

    def _route(self, method: str, *arguments: Any) -> Any:
        """Call a method of the store of this process, of one worker or of all workers."""
        call = methodcaller("call", self.n_learned, method, *arguments)
        if method == "give":
            sent = copy.copy(arguments[0])
            sent.frame = None
            call = methodcaller("call", self.n_learned, method, sent, arguments[1])
            # not atomic, as a bad row of one key may follow rows of other keys
            answers = self.workers.call(call, None, False)
            self.n_learned += len(sent) * (sent.y is not None)
            return dict(itertools.chain(*(by_row.items() for by_row in answers)))
        if method in ("texts", "sizes"):
            return [*itertools.chain(*self.workers.call(call))]
        if method in ("at", "find", "has", "remove"):
            (result,) = self.workers.call(call, share_of(arguments[0], len(self.workers)))
            if method == "at":
                self.n_learned += arguments[2]
            elif method == "remove":
                self.remove(*arguments)
            return result
        return super()._route(method, *arguments)

    def flushing(self, position: Any) -> Iterator[None]:
        """Commit the models of now; the first step gets those that the workers have changed."""
        if self.path is not None:
            for packed in self.workers.call(methodcaller("changes")):
                self.put(packed)
        yield from super().flushing(position)

    def removing_unused(self, n_samples: int, removed: list[str]) -> Iterator[None]:
        """Remove the keys without any of the last samples, in one step of all workers."""
        call = methodcaller("remove_unused", self.n_learned, n_samples)
        for key in itertools.chain(*self.workers.call(call)):
            removed.append(key_text(key))
            self.remove(removed[-1])
        yield

    def close(self) -> None:
        self.workers.close()
        super().close()


class DistributedKeyed(KeyedModel):
    """Base of `DistributedKeyedClassifier` and `DistributedKeyedRegressor`: models in workers."""

    _checks: ClassVar[dict[str, Check]] = {**KeyedModel._checks, **CHECKS}
    _local: ClassVar[type[KeyedModel]]  # the same in one process

    def __init__(
        self,
        model: Any,
        key: Any,
        n_workers: int,
        *,
        max_in_memory: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        allow_pickle: bool = True,
    ) -> None:
        self.n_workers = n_workers
        options: dict[str, Any] = {"max_in_memory": max_in_memory, "allow_pickle": allow_pickle}
        super().__init__(model, key, folder=folder, **options)

    def _opened(self, kind: str, store: type[Store] = _Shares) -> Any:
        shares, n = super()._opened(self._local.__name__, store), self.n_workers
        limit = None if self.max_in_memory is None else max(self.max_in_memory // n, 1)
        stored = shares.call("packed")
        workers = []
        for i in range(n):
            options: dict[str, Any] = {"max_in_memory": limit, "allow_pickle": self.allow_pickle}
            models = self._local(self.model, self.key, **options)
            models._store.call("put", [row for row in stored if share_of(row[0], n) == i])
            workers.append(_Share(models, i, n))
        shares.workers = Workers(workers)
        return shares

    __reduce__: Any = Workers.__reduce__  # an error: there are no copies


class DistributedKeyedClassifier(DistributedKeyed, KeyedClassifier):
    """`KeyedClassifier` over several processes, on one machine or many, with its parameters.

    Each of `n_workers` Ray actors holds the models of some keys. Models must be picklable.
    Predictions, models and methods are those of one `KeyedClassifier`. It pays for blocks of some
    hundred rows or more; a single sample takes one or two milliseconds. As in `DistributedForest`,
    a worker that dies is replaced by one in the same state, and a call that raises an error changes
    no model. After a block with a bad row this takes some seconds.

    `max_in_memory` is divided evenly among the workers. `flush` writes to `folder`, on this
    machine: that of a `KeyedClassifier`, which either of them continues, with any number of
    workers. All models are read when the object is made.

    >>> from river import linear_model
    >>> from river_amf.ray import DistributedKeyedClassifier
    >>> model = DistributedKeyedClassifier(linear_model.Perceptron(), "user", n_workers=2)
    >>> model.close()
    """

    _local = KeyedClassifier


class DistributedKeyedRegressor(DistributedKeyed, KeyedRegressor):
    """`KeyedRegressor` over several processes, as `DistributedKeyedClassifier`.

    >>> from river_amf import AMFRegressor
    >>> from river_amf.ray import DistributedKeyedRegressor
    >>> DistributedKeyedRegressor(AMFRegressor(), "shop", n_workers=2).close()
    """

    _local = KeyedRegressor
