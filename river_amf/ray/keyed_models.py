"""What the classifier and the regressor with a model for each key over Ray have in common."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np
import ray
from numpy.typing import NDArray
from river import base

from river_amf import frames
from river_amf.keyed import ways
from river_amf.keyed.keeping import folder
from river_amf.keyed.keys import key_of, share_of, text_of
from river_amf.keyed.models import Keyed
from river_amf.keyed.routing import read_groups
from river_amf.keyed.store import Packed, Store
from river_amf.parameters import Check, CheckedParameters
from river_amf.ray.keyed_rows import KeyedRows
from river_amf.ray.shares import Answers, Share, state_of
from river_amf.ray.team import CHECKS, Team
from river_amf.ray.workers import Worker


class DistributedKeyed(CheckedParameters, Mapping[Any, Any], base.Estimator):
    """Base of `DistributedKeyedClassifier` and `DistributedKeyedRegressor`."""

    _checks: ClassVar[dict[str, Check]] = {**Keyed._checks, **CHECKS, "checkpoint_folder": folder}
    _local: ClassVar[type[Keyed]]  # the same in one process

    def __init__(
        self,
        factory: Any,
        key: Hashable,
        n_workers: int | None = None,
        *,
        max_models: int | None = None,
        max_bytes: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        max_waiting: int = 2,
        checkpoint_every: int = 100_000,
        checkpoint_folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.factory, self.key = factory, key
        self.n_workers = n_workers
        self.max_models, self.max_bytes = max_models, max_bytes
        self.folder = folder
        self.max_waiting, self.checkpoint_every = max_waiting, checkpoint_every
        self.checkpoint_folder = checkpoint_folder
        self._template = self._local(factory, key, max_models=max_models, max_bytes=max_bytes)
        path = None if folder is None else os.path.abspath(folder)
        self._store = Store(path, self._template._pool.store.about)
        self._position = self._store.position
        rescue = "make another one, which goes on from the last flush"
        self._team = Team(type(self).__name__, self._started, n_workers, rescue)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Yield parameters for the checks of river."""
        return cls._local._unit_test_params()

    @property
    def _has_learnt(self) -> bool:
        return "_team" in self.__dict__  # parameters belong to the workers from the beginning

    @property
    def _multiclass(self) -> bool:
        return self._template._multiclass

    # ------------------------------------------------------------------------------------ workers

    def _started(self, n_workers: int) -> list[Worker]:
        """Start workers, with the models that are in the folder."""
        limits = {
            name: None if limit is None else max(limit // n_workers, 1)
            for name, limit in (("max_models", self.max_models), ("max_bytes", self.max_bytes))
        }
        template = self._template.clone(limits)
        stored: list[list[Packed]] = [[] for _ in range(n_workers)]
        for packed in self._store.all():
            stored[share_of(packed.text, n_workers)].append(packed)
        folder = None if self.checkpoint_folder is None else Path(self.checkpoint_folder)
        rest = self.checkpoint_every, folder, "models"
        return [Worker(Share, state_of(template, own), *rest) for own in stored]

    def _owner(self, text: str) -> int:
        """Return the number of the worker that a key belongs to."""
        return share_of(text, len(self._team.workers))

    # ------------------------------------------------------------------------------------ samples

    def _one(
        self,
        name: str,
        x: Any,
        arguments: tuple[Any, ...],
        options: dict[str, Any],
        *,
        learns: bool,
    ) -> Any:
        """Call a method for a sample where its key lives."""
        text, _ = self._template._split(x)
        return self._team.do(self._call_one, name, text, (x, *arguments), options, learns)

    def _call_one(
        self,
        name: str,
        text: str,
        arguments: tuple[Any, ...],
        options: dict[str, Any],
        learns: bool,
    ) -> Any:
        self._team.finish(0)
        i = self._owner(text)
        call = "one", {i: (name, arguments, options)}
        return self._team.results(
            self._team.tell(*call, {i: 1}) if learns else self._team.ask(*call)
        )[i]

    # ------------------------------------------------------------------------------------- blocks

    def _keyed_rows(self, X: Any, y: Any = None, w: Any = None) -> KeyedRows:
        """Read a block, or raise TypeError or ValueError."""
        frame = frames.read_frame(X)
        n_rows = len(frame)
        vector = None if y is None else frames.read_vector("y", y, n_rows)
        weights = None if w is None else frames.read_weights(w, n_rows)
        return KeyedRows(frame, vector, weights, *read_groups(frame, self.key))

    def _dealt(self, block: KeyedRows) -> tuple[dict[int, Any], dict[int, NDArray[np.int64]]]:
        """Return references to the rows of each worker that has any, and their numbers."""
        owners = np.array([self._owner(text) for text in block.texts], np.int64)
        of_rows = owners[block.codes] if len(owners) else np.zeros(0, np.int64)
        rows = {int(i): np.flatnonzero(of_rows == i) for i in np.unique(of_rows)}
        return {i: ray.put(block.taken(own)) for i, own in rows.items()}, rows

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from a block of samples, each row where its key lives.

        It returns when the block has been sent, and the workers learn it while the next one is
        prepared. A block is checked before any of it is learned; forests of this package check
        their rows too, for which the blocks before have to be learned.

        Parameters
        ----------
        X, y, w
            Features with the keys, labels or targets, and weights, as in
            `KeyedClassifier.learn_many`.

        Raises
        ------
        TypeError, ValueError, OSError
            As that does. What a river model raises while it learns is raised by a later call, which
            has then done nothing else.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, 1.0, 9.0]})
        >>> with DistributedKeyedClassifier(AMFClassifier(seed=1), "user", n_workers=1) as model:
        ...     model.learn_many(X, ["buys", "waits", "waits"])
        ...     model.predict_many(X).tolist()
        ['buys', 'waits', 'waits']
        """
        self._team.do(self._learn, self._keyed_rows(X, y, w))

    def _learn(self, block: KeyedRows) -> None:
        # The errors of blocks before are raised here, so this one is not sent then.
        self._team.finish(self.max_waiting)
        refs, rows = self._checked(block)
        n_rows = {i: len(own) for i, own in rows.items()}
        told = {i: (ref,) for i, ref in refs.items()}
        self._team.send(self._team.tell("learn", told, n_rows), rows)

    def _checked(self, block: KeyedRows) -> tuple[dict[int, Any], dict[int, NDArray[np.int64]]]:
        """Return what is to be sent of a block, after the models have checked it."""
        refs, rows = self._dealt(block)
        if block.texts and self._checks_blocks(block):
            tasks = self._team.ask("check", {i: (ref,) for i, ref in refs.items()})
            self._team.results(tasks, rows)
        return refs, rows

    def _checks_blocks(self, block: KeyedRows) -> bool:
        """Whether models may find something wrong with a block before they learn it."""
        template = self._template
        may_find = template._takes_key or ways.checks_blocks(template._new(block.texts[0]))
        return may_find or block.w is not None

    def _ask(self, name: str, block: KeyedRows) -> Answers:
        """Return what the models say of their rows, in the order of the first of these."""
        self._team.finish(0)
        refs, rows = self._dealt(block)
        tasks = self._team.ask("ask", {i: (name, ref) for i, ref in refs.items()})
        return self._joined(self._team.results(tasks, rows), rows)

    def _ask_and_learn(self, name: str, block: KeyedRows) -> Answers:
        """Return what the models say of each row before they learn it."""
        self._team.finish(0)
        refs, rows = self._checked(block)
        n_rows = {i: len(own) for i, own in rows.items()}
        told = {i: (name, ref) for i, ref in refs.items()}
        tasks = self._team.tell("ask_and_learn", told, n_rows)
        return self._joined(self._team.results(tasks, rows), rows)

    @staticmethod
    def _joined(results: dict[int, Answers], rows: dict[int, NDArray[np.int64]]) -> Answers:
        """Return the answers of all workers, with the rows of the whole block."""
        parts = [(rows[i][own], answers) for i, of in results.items() for own, answers in of]
        return sorted(parts, key=lambda part: int(part[0][0]))

    # -------------------------------------------------------------------------------------- models

    def __getitem__(self, key: Any) -> Any:
        """Return a copy of the model of a key, or raise KeyError if there is none."""
        model = self._team.do(self._call_one, "get", text_of(key), (key,), {}, False)
        if model is None:
            raise KeyError(key)
        return model

    def __delitem__(self, key: Any) -> None:
        """Forget the model of a key, or raise KeyError if there is none."""
        self._team.do(self._forget, key)

    def _forget(self, key: Any) -> None:
        text = text_of(key)
        self._call_one("__delitem__", text, (key,), {}, True)
        self._store.remove(text)

    def __contains__(self, key: object) -> bool:
        try:
            text = text_of(key)
        except (TypeError, ValueError):
            return False
        return bool(self._team.do(self._call_one, "__contains__", text, (key,), {}, False))

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys that have a model, in no particular order."""
        lists = self._team.do(self._team.ask_all, "texts")
        return (key_of(text) for texts in lists for text in texts)

    def __len__(self) -> int:
        """Return the number of keys that have a model."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Return True, as a model without keys is still a model."""
        return True

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def n_in_memory(self) -> int:
        """Number of models in the memory of the workers.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...     model.n_in_memory
        1
        """
        return sum(n for n, _ in self._team.do(self._team.ask_all, "sizes"))

    @property
    def memory_usage(self) -> int:
        """Memory used by the models in the memory of the workers, in bytes.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...     10_000 < model.memory_usage < 200_000
        True
        """
        return sum(n for _, n in self._team.do(self._team.ask_all, "sizes"))

    @property
    def _raw_memory_usage(self) -> int:
        return self.memory_usage

    def gather(self) -> Any:
        """Return a model of one process with all models, in a temporary file.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...     gathered = model.gather()
        >>> gathered.predict_one({"user": "ann", "price": 4.0})
        'buys'
        """
        stored = [packed for own in self._team.do(self._team.ask_all, "all") for packed in own]
        state = self._template._holding(stored)
        state["_pool"]["position"] = self._position
        model = self._local.__new__(self._local)
        model.__setstate__(state)
        return model

    # -------------------------------------------------------------------------------------- folder

    @property
    def position(self) -> Any:
        """What was noted with the last `flush`, or None.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with DistributedKeyedClassifier(AMFClassifier(), "user", n_workers=1) as model:
        ...     model.flush(position={"offset": 17})
        ...     model.position
        {'offset': 17}
        """
        return self._position

    def flush(self, position: Any = None) -> None:
        """Write all models that have changed to the folder, to be found there by the next process.

        All of them at once, those of all workers: see `KeyedClassifier.flush`.

        Parameters
        ----------
        position
            Where the stream is, such as an offset: anything that JSON can hold.

        Raises
        ------
        OSError
            If the folder cannot be written. It then holds the last flush, and nothing is lost.
        TypeError, ValueError
            If a model cannot be pickled, or `position` is no JSON.

        Examples
        --------
        >>> import tempfile
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     forest = AMFClassifier()
        ...     with DistributedKeyedClassifier(forest, "user", 1, folder=folder) as model:
        ...         model.learn_one({"user": "ann", "price": 3.0}, "buys")
        ...         model.flush(position=1)
        ...     with KeyedClassifier(forest, "user", folder=folder) as model:  # in one process
        ...         list(model), model.position
        (['ann'], 1)
        """
        self._team.do(self._flush, position)

    def _flush(self, position: Any) -> None:
        self._team.finish(0)
        if self._store.folder is None:
            json.dumps(position, allow_nan=False)
        else:
            changed = (packed for own in self._team.ask_all("changes") for packed in own)
            self._store.flush(changed, position)
            everyone = range(len(self._team.workers))
            told = dict.fromkeys(everyone, ())
            self._team.results(self._team.tell("flushed", told, dict.fromkeys(everyone, 0)))
        self._position = position

    def close(self) -> None:
        """End the workers and release the folder; what has not been flushed is lost.

        A `with` statement flushes at its end, with the last position, and then closes; if an error
        ends it, it closes only.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> model = DistributedKeyedClassifier(AMFClassifier(), "user")
        >>> model.close()
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        Traceback (most recent call last):
        RuntimeError: this DistributedKeyedClassifier has been closed
        """
        try:
            self._team.close()
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None and not self._team.is_closed:
                self.flush(self._position)
        finally:
            self.close()

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return an object with the same parameters but the folder, and no models, as in river.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> from river_amf.ray import DistributedKeyedClassifier
        >>> DistributedKeyedClassifier(AMFClassifier(), "user").clone({"key": "shop"}).key
        'shop'
        """
        return super().clone({"folder": None} | (new_params or {}), include_attributes=False)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled; what it gathers can: gather()"
        )
