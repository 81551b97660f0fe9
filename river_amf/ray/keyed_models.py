"""The classifier and the regressor with a model for each key, over Ray's actors."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import ray
from numpy.typing import NDArray

from river_amf.keyed import KeyedClassifier, KeyedRegressor, ways
from river_amf.keyed.keys import share_of
from river_amf.keyed.model_store import Packed
from river_amf.keyed.models import Keyed
from river_amf.keyed.routing import Answers, Block
from river_amf.parameters import Check
from river_amf.ray.team import CHECKS, Team
from river_amf.ray.workers import Worker

_Result = TypeVar("_Result")
State = tuple[type[Keyed], dict[str, Any], bool]
Rows = dict[int, NDArray[np.int64]]  # of a block, by the number of the worker that has them


class Share:
    """The role of a worker: the models of some keys, which are opened where they are unpickled.

    In the beginning it is the class of these models in one process, their state, and whether they
    are in the folder.
    """

    def __init__(self, state: State) -> None:
        self._unopened: State | None = state

    def __getstate__(self) -> State:
        # All models may have to be flushed again.
        return self._unopened or (type(self._model), self._model.__getstate__(), False)

    def __setstate__(self, state: State) -> None:
        kind, content, is_flushed = state
        self._unopened, self._model = None, kind.__new__(kind)
        self._model.__setstate__(content)
        if is_flushed:
            self.flushed()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the models in one process."""
        return getattr(self._model, method)(*arguments)

    def call_for(self, method: str, rows: tuple[Any, ...], *arguments: Any) -> Any:
        """Call one that takes a block."""
        return self.call(method, Block(*rows), *arguments)

    def check(self, rows: tuple[Any, ...]) -> None:
        """Raise the error that learning would raise, as far as that is known before."""
        self._model._check(Block(*rows))

    def stored(self, which: str) -> list[Packed]:
        """Return all models, or only the changes since they were flushed."""
        return list(getattr(self._model._pool, which)())

    def flushed(self) -> None:
        """Take note that these are in the folder."""
        self._model._pool.flush(None)

    def close(self) -> None:
        """Remove the temporary file."""
        self._model._pool.store.close()


class DistributedKeyed(Keyed):
    """Base of `DistributedKeyedClassifier` and `DistributedKeyedRegressor`: models elsewhere."""

    _checks: ClassVar[dict[str, Check]] = {**Keyed._checks, **CHECKS}
    _always_writable: ClassVar[frozenset[str]] = frozenset()
    _local: ClassVar[type[Keyed]]  # the same in one process

    def __init__(
        self,
        factory: Any,
        key: Hashable,
        n_workers: int | None = None,
        *,
        max_models: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        max_waiting: int = 2,
        checkpoint_every: int = 100_000,
        checkpoint_folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_workers = n_workers
        self.max_waiting, self.checkpoint_every = max_waiting, checkpoint_every
        self.checkpoint_folder = checkpoint_folder
        super().__init__(factory, key, max_models=max_models, folder=folder)

    def _open(self, path: str | None, about: dict[str, Any]) -> None:
        super()._open(path, about | {"kind": self._local.__name__})
        rescue = "make another one, which goes on from the last flush"
        self._team = Team(type(self).__name__, self._started, self.n_workers, rescue)

    @property
    def _has_learnt(self) -> bool:
        return "_team" in self.__dict__  # parameters belong to the workers from the beginning

    def _do(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        return self._team.do(call, *arguments)

    def _started(self, n_workers: int) -> list[Worker]:
        """Start workers, with the models that are in the folder."""
        limit = None if self.max_models is None else max(self.max_models // n_workers, 1)
        stored: list[list[Packed]] = [[] for _ in range(n_workers)]
        for packed in self._pool.store.all():
            stored[share_of(packed.text, n_workers)].append(packed)
        rest = self.checkpoint_every, self.checkpoint_folder
        shares = [Share((self._local, self._state(own, limit), True)) for own in stored]
        return [Worker(share, *rest) for share in shares]

    def _state(self, stored: list[Packed], max_models: int | None) -> dict[str, Any]:
        """Return the state of these models in one process."""
        local = self._local(self.factory, self.key, max_models=max_models)
        return local._holding(stored, self._position)

    def _owner(self, text: str) -> int:
        """Return the number of the worker that a key belongs to."""
        return share_of(text, len(self._team.workers))

    def _learn_one(self, text: str, *arguments: Any) -> None:
        self._of_key(text, "_learn_one", *arguments, learns=True)

    def _ask_one(self, text: str, *arguments: Any) -> Any:
        return self._of_key(text, "_ask_one", *arguments)

    def _of_key(self, text: str, method: str, *arguments: Any, learns: bool = False) -> Any:
        """Call a method where a key lives."""
        team = self._team
        team.finish(0)
        i = self._owner(text)
        call = "call", {i: (method, text, *arguments)}
        return team.results(team.tell(*call, {i: 1}) if learns else team.ask(*call))[0]

    def _dealt(self, block: Block) -> tuple[dict[int, Any], Rows]:
        """Return references to the rows of each worker that has any, and their numbers."""
        owners = np.array([self._owner(text) for text in block.texts], np.int64)
        of_rows = owners[block.codes] if len(owners) else np.zeros(0, np.int64)
        rows = {int(i): np.flatnonzero(of_rows == i) for i in np.unique(of_rows)}
        return {i: ray.put(block.taken(own)) for i, own in rows.items()}, rows

    def _learn(self, block: Block) -> None:
        # The errors of blocks before are raised here, so this one is not sent then.
        self._team.finish(self.max_waiting)
        self._team.send(*self._calls(block, "_learn"))

    def _calls(self, block: Block, *method: str) -> tuple[dict[int, Any], Rows]:
        """Tell workers to learn a block, after the models have checked it."""
        refs, rows = self._dealt(block)
        if block.texts and self._may_be_refused(block):
            checks = self._team.ask("check", {i: (ref,) for i, ref in refs.items()})
            self._team.results(checks, rows)
        name, *arguments = method
        calls = {i: (name, ref, *arguments) for i, ref in refs.items()}
        n_rows = {i: len(own) for i, own in rows.items()}
        return self._team.tell("call_for", calls, n_rows), rows

    def _may_be_refused(self, block: Block) -> bool:
        """Whether models may find something wrong with a block before they learn it."""
        may_find = self._takes_key or ways.checks_blocks(self._new(block.texts[0]))
        return may_find or block.has_weights

    def _ask(self, block: Block, method: str) -> Answers:
        self._team.finish(0)
        refs, rows = self._dealt(block)
        asked = {i: ("_ask", ref, method) for i, ref in refs.items()}
        return self._answers(self._team.ask("call_for", asked), rows)

    def _ask_and_learn(self, block: Block, method: str) -> Answers:
        self._team.finish(0)
        return self._answers(*self._calls(block, "_ask_and_learn", method))

    def _answers(self, calls: dict[int, Any], rows: Rows) -> Answers:
        """Return the answers of all workers, with the rows of the whole block."""
        results = zip(calls, self._team.results(calls, rows), strict=True)
        return [(rows[i][own], answers) for i, of in results for own, answers in of]

    def _given(self, text: str) -> Any:
        return self._of_key(text, "_given")

    def _forgotten(self, text: str) -> bool:
        is_known: bool = self._of_key(text, "_forgotten", learns=True)
        if is_known:
            self._pool.store.remove(text)
        return is_known

    def _has(self, text: str) -> bool:
        return bool(self._of_key(text, "_has"))

    def _texts(self) -> list[str]:
        return [*itertools.chain(*self._team.ask_all("call", "_texts"))]

    def _n_in_memory(self) -> int:
        return sum(self._do(self._team.ask_all, "call", "_n_in_memory"))

    def _n_bytes(self) -> int:
        return sum(self._do(self._team.ask_all, "call", "_n_bytes"))

    def gather(self) -> Any:
        """Return a model of one process with all models, in a temporary file."""
        stored = itertools.chain(*self._do(self._team.ask_all, "stored", "all"))
        model = self._local.__new__(self._local)
        model.__setstate__(self._state([*stored], self.max_models))
        return model

    def _write(self, position: Any) -> None:
        self._team.finish(0)
        if self.folder is None:
            return
        changed = itertools.chain(*self._team.ask_all("stored", "changes"))
        self._pool.store.flush(changed, position)
        everyone = self._team.all()
        self._team.results(self._team.tell("flushed", everyone, dict.fromkeys(everyone, 0)))

    def _close(self) -> None:
        try:
            self._team.close()
        finally:
            self._pool.store.close()

    def __getstate__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled; what it gathers can: gather()"
        )


class DistributedKeyedClassifier(DistributedKeyed, KeyedClassifier):
    """`KeyedClassifier` over several processes, on one machine or many.

    Each worker, a Ray actor, has the models of some keys: a hash of the key, which is the same in
    every process, says which. The rows of a block go where their keys live, and the answers come
    back in their order. All predictions and models are those of `KeyedClassifier`, whatever the
    number of workers, and so are its methods. It pays for blocks of some hundred rows or more; a
    single sample takes one or two milliseconds.

    As in `DistributedForest`, `learn_many` returns when a block has been checked and sent, and a
    worker that dies is started anew as it was. What a river model raises while it learns is raised
    by a later call, which has then done nothing else. For the death of this process there is
    `folder`, with `flush`. `close` ends the workers.

    Parameters
    ----------
    factory, key
        As in `KeyedClassifier`. Models have to be picklable.
    n_workers
        Number of workers. With `None`, as many as Ray has CPUs.
    max_models
        As in `KeyedClassifier`, shared out evenly among the workers, each of which moves models to
        a temporary file on its machine. At least one model stays in each.
    folder
        Where `flush` writes to, on this machine: the folder of a `KeyedClassifier`, which either
        of them goes on with, whatever the number of workers. They are all read at the first call.
    max_waiting, checkpoint_every, checkpoint_folder
        As in `DistributedForest`. A checkpoint of a worker holds all of its models, for which the
        object store of this machine has to have room if there is no folder.

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

    It is `DistributedKeyedClassifier` for numbers.

    Parameters
    ----------
    factory, key, n_workers, max_models, folder, max_waiting, checkpoint_every, checkpoint_folder
        As in `DistributedKeyedClassifier`.

    Examples
    --------
    >>> from river_amf import AMFRegressor
    >>> from river_amf.ray import DistributedKeyedRegressor
    >>> DistributedKeyedRegressor(AMFRegressor(), "shop", n_workers=2).close()
    """

    _local = KeyedRegressor
