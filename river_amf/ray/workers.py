"""Models in Ray's actors, which are replaced when they die."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

import ray
from ray.cloudpickle import dumps
from ray.exceptions import RayError

from river_amf.engine.lock import Guarded, exclusive
from river_amf.parameters import Check, integer
from river_amf.ray.cluster import connect

CHECKS: dict[str, Check] = {"n_workers": integer(1), "checkpoint_every": integer(1)}
_MOST_DEATHS = 3  # of an actor in one call


class _Raised(NamedTuple):
    """An error as a result; an error that Ray raises is a failure of the actor."""

    error: Exception


class _Process:
    """A model in a process of its own."""

    def __init__(self, checkpoint: bytes, calls: list[bytes]) -> None:
        self._model = pickle.loads(checkpoint)
        for call in calls:
            self.call(call)

    def call(self, call: bytes) -> bytes:
        """Return the pickled result of a function of the model, or its error, and the warnings."""
        with warnings.catch_warnings(record=True) as caught:
            try:
                packed: bytes = dumps(pickle.loads(call)(self._model))
            except MemoryError:  # half of the call may have been done: the actor is replaced
                raise
            except Exception as error:
                packed = _packed_error(error)
        result: bytes = dumps((packed, [warning.message for warning in caught]))
        return result


def _packed_error(error: Exception) -> bytes:
    try:
        packed: bytes = dumps(_Raised(error))
        pickle.loads(packed)
    except Exception:
        packed = dumps(_Raised(RuntimeError(f"{type(error).__name__}: {error}")))
    return packed


_Actor: Any = ray.remote(max_restarts=0, num_cpus=0, scheduling_strategy="SPREAD")(_Process)


class _Past(NamedTuple):
    """The last checkpoints, one of each model, and the calls since with their workers."""

    checkpoints: list[bytes]
    calls: list[tuple[bytes, Sequence[int]]]


class Workers(Guarded):
    """Actors that hold a model each, from the first call on.

    This process keeps a pickle of each model, its checkpoint, and all calls since. An actor that
    dies is replaced by another one, which starts from the checkpoint and repeats the calls. A call
    that raises an error changes no model, and is not repeated.

    Parameters
    ----------
    models
        The models, which can be pickled. Their results depend on nothing but the calls.
    checkpoint_every
        Number of rows between two checkpoints.
    """

    def __init__(self, models: Iterable[Any], checkpoint_every: int) -> None:
        super().__init__()
        self._past = _Past([dumps(model) for model in models], [])
        self._everyone = range(len(self._past.checkpoints))
        self._actors: list[Any] = [None for _ in self._everyone]
        self._checkpoint_every = checkpoint_every
        self._n_rows = 0  # since the last attempt to make a checkpoint
        self._is_closed = False

    @exclusive
    def call(
        self,
        function: Callable[[Any], Any],
        n_rows: int = 1,
        only: int | None = None,
        is_atomic: bool = True,
    ) -> list[Any]:
        """Return the results of a function of each model, or of that of one worker.

        Errors of the function are raised, and warnings given, as if it had been called here.
        RuntimeError is raised after `close`, or if an actor dies three times in the call. If the
        function is atomic, a model is as it was after a TypeError or ValueError; otherwise, and
        after all other errors, actors are replaced.
        """
        call, to = dumps(function), self._everyone if only is None else [only]
        try:
            results, messages = self._results(call, to)
            errors = [result.error for result in results if isinstance(result, _Raised)]
            is_refused = is_atomic and len(errors) == len(to)
            if errors and not (is_refused and isinstance(errors[0], TypeError | ValueError)):
                raise errors[0]
            for message in messages:
                warnings.warn(message, stacklevel=4)
            if not errors:
                self._past.calls.append((call, to))
        except BaseException:
            self._end(to)
            raise
        if errors:
            raise errors[0]
        self._n_rows += n_rows
        if self._n_rows >= self._checkpoint_every:
            self._n_rows = 0
            try:
                self._make_checkpoints()
            except Exception as error:
                warnings.warn(
                    f"no checkpoint of the workers could be made, and the next one is tried after "
                    f"{self._checkpoint_every} more rows; until then this process keeps the "
                    f"{len(self._past.calls)} calls since the last one: {error}",
                    RuntimeWarning,
                    stacklevel=4,
                )
        return results

    @exclusive
    def checkpoints(self) -> list[bytes]:
        """Return a pickle of each model."""
        self._make_checkpoints()
        return self._past.checkpoints

    @exclusive
    def close(self) -> None:
        """End the actors; all calls but this one raise RuntimeError then."""
        self._end(self._everyone)
        self._is_closed = True

    def __reduce__(self) -> NoReturn:
        raise TypeError("a model over workers cannot be copied or pickled")

    def _make_checkpoints(self) -> None:
        packed, _ = self._results(dumps(dumps), self._everyone)
        for result in packed:
            if isinstance(result, _Raised):
                raise result.error
        self._past = _Past(packed, [])

    def _results(self, call: bytes, to: Sequence[int]) -> tuple[list[Any], list[Warning]]:
        """Let workers make a call; return the results, and the warnings without repetition."""
        if self._is_closed:
            raise RuntimeError("the workers have been ended by close()")
        refs = [self._sent(call, i) for i in to]
        answers = [self._result(ref, call, i) for ref, i in zip(refs, to, strict=True)]
        messages = {str(message): message for _, given in answers for message in given}
        return [pickle.loads(packed) for packed, _ in answers], [*messages.values()]

    def _sent(self, call: bytes, i: int) -> Any:
        """Send a call to a worker, whose actor may have to be started; return Ray's reference."""
        if self._actors[i] is None:
            connect()
            calls = [past for past, to in self._past.calls if i in to]
            self._actors[i] = _Actor.remote(self._past.checkpoints[i], calls)
        return self._actors[i].call.remote(call)

    def _result(self, ref: Any, call: bytes, i: int) -> Any:
        """Wait for the result of a call, which is repeated if the actor dies."""
        for n_deaths in range(1, _MOST_DEATHS + 1):
            try:
                return pickle.loads(ray.get(ref))
            except RayError as error:
                self._end([i])
                if n_deaths == _MOST_DEATHS:
                    reason = str(error).strip().splitlines()[-1]
                    raise RuntimeError(
                        f"a worker has died {n_deaths} times in the same call: {reason}"
                    ) from error
                ref = self._sent(call, i)

    def _end(self, to: Sequence[int]) -> None:
        """End actors; the next call replaces them."""
        for i in to:
            actor, self._actors[i] = self._actors[i], None
            if actor is not None:
                with suppress(Exception):  # Ray may have been shut down
                    ray.kill(actor)
