"""The classifier and the regressor with a model for each key, over Ray's actors."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import ray
from numpy.typing import NDArray

from river_amf.keyed import KeyedClassifier, KeyedRegressor
from river_amf.keyed.adapters import is_forest
from river_amf.keyed.keyed_model import KeyedModel, takes_key
from river_amf.keyed.keys import share_of
from river_amf.keyed.pool import Packed
from river_amf.keyed.routing import Answers, Block
from river_amf.parameters import Check
from river_amf.ray.team import CHECKS, Team
from river_amf.ray.workers import Worker

_Result = TypeVar("_Result")
Rows = dict[int, NDArray[np.int64]]  # of a block, by the number of the worker that has them


class Share:
    """The role of a worker: a model with some of the keys.

    Models from the folder are put into it where it is unpickled.
    """

    def __init__(self, model: KeyedModel, stored: list[Packed]) -> None:
        self._model, self._stored = model, stored

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._model, self._stored = state["_model"], []
        for packed in state["_stored"]:
            self._model._pool.put(packed)
        if state["_stored"]:
            self.flushed()

    def at(self, text: str, method: str, *arguments: Any) -> Any:
        """Call a method for a key."""
        return self._model._at(text, method, *arguments)

    def answer(self, rows: tuple[Any, ...], method: str) -> Answers | None:
        """Answer, and learn a block if there are targets; return None if there are no answers."""
        answers = self._model._answer(Block(*rows), method)
        return None if method == "learn" else answers

    def check(self, rows: tuple[Any, ...]) -> None:
        """Raise the error that learning would raise, as far as that is known before."""
        self._model._check(Block(*rows))

    def pool(self, method: str) -> Any:
        """Call a method of the pool of models."""
        return getattr(self._model._pool, method)()

    def flushed(self) -> None:
        """Take note that all models are in the folder."""
        self._model._pool.flush(None)

    def close(self) -> None:
        """Remove the temporary file."""
        self._model._pool.close()


class DistributedKeyed(KeyedModel):
    """Base of `DistributedKeyedClassifier` and `DistributedKeyedRegressor`: models elsewhere."""

    _checks: ClassVar[dict[str, Check]] = {**KeyedModel._checks, **CHECKS}
    _always_writable: ClassVar[frozenset[str]] = frozenset()
    _local: ClassVar[type[KeyedModel]]  # the same in one process

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

    def _open(self, kind: str) -> None:
        super()._open(self._local.__name__)
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
        for packed in self._pool.all():
            stored[share_of(packed.text, n_workers)].append(packed)
        rest = self.checkpoint_every, self.checkpoint_folder
        return [Worker(Share(self._empty(limit), own), *rest) for own in stored]

    def _empty(self, max_models: int | None) -> KeyedModel:
        """Return a model of one process without keys."""
        return self._local(self.factory, self.key, max_models=max_models)

    def _owner(self, text: str) -> int:
        """Return the number of the worker that a key belongs to."""
        return share_of(text, len(self._team.workers))

    def _at(self, text: str, method: str, *arguments: Any) -> Any:
        team = self._team
        team.finish(0)
        i = self._owner(text)
        call = "at", {i: (text, method, *arguments)}
        changes = method in ("_learn_one", "remove")
        (result,) = team.results(team.tell(*call, {i: 1}) if changes else team.ask(*call))
        if method == "remove":
            self._pool.remove(text)
        return result

    def _dealt(self, block: Block) -> tuple[dict[int, Any], Rows]:
        """Return references to the rows of each worker that has any, and their numbers."""
        owners = np.array([self._owner(text) for text in block.texts], np.int64)
        of_rows = owners[block.codes] if len(owners) else np.zeros(0, np.int64)
        rows = {int(i): np.flatnonzero(of_rows == i) for i in np.unique(of_rows)}
        return {i: ray.put(block.taken(own)) for i, own in rows.items()}, rows

    def _learn(self, block: Block) -> None:
        # The errors of blocks before are raised here, so this one is not sent then.
        self._team.finish(self.max_waiting)
        self._team.send(*self._calls(block, "learn"))

    def _answer(self, block: Block, method: str) -> Answers:
        self._team.finish(0)
        calls, rows = self._calls(block, method)
        results = zip(calls, self._team.results(calls, rows), strict=True)
        return [(rows[i][own], answers) for i, of in results for own, answers in of]

    def _calls(self, block: Block, method: str) -> tuple[dict[int, Any], Rows]:
        """Send workers their rows, to be learned if the models find nothing wrong with them."""
        refs, rows = self._dealt(block)
        calls = {i: (ref, method) for i, ref in refs.items()}
        if not block.is_learned:
            return self._team.ask("answer", calls), rows
        may_find = takes_key(self.factory) or is_forest(self._new(""))
        if may_find or block.has_weights:
            checks = self._team.ask("check", {i: (ref,) for i, ref in refs.items()})
            self._team.results(checks, rows)
        return self._team.tell("answer", calls, {i: len(own) for i, own in rows.items()}), rows

    def _everywhere(self, method: str) -> list[Any]:
        return self._team.ask_all("pool", method)

    def gather(self) -> Any:
        """Return a model of one process with all models, in a temporary file."""
        model = self._empty(self.max_models)
        for packed in itertools.chain(*self._do(self._everywhere, "all")):
            model._pool.put(packed)
        model._pool.noted = self._pool.noted
        return model

    def _write(self, position: Any) -> None:
        self._pool.flush(position, itertools.chain(*self._everywhere("changes")))
        everyone = self._team.all()
        self._team.results(self._team.tell("flushed", everyone, dict.fromkeys(everyone, 0)))

    def _close(self) -> None:
        try:
            self._team.close()
        finally:
            self._pool.close()

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
