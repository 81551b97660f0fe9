"""Models in Ray's actors, which are replaced when they die."""

import os
import pickle
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import ray
from ray.cloudpickle import dumps
from ray.exceptions import RayError, RayTaskError

from river_amf.engine.lock import Guarded, exclusive
from river_amf.parameters import Check, integer

CHECKS: dict[str, Check] = {"n_workers": integer(1)}
_MOST_DEATHS = 3  # of an actor in one call
_FEW_BYTES = 10_000_000  # of calls, for which no checkpoint is made


class _Process:
    """A model in a process of its own."""

    def __init__(self, checkpoint: bytes, calls: list[bytes]) -> None:
        self._model = pickle.loads(checkpoint)
        for call in calls:
            self.call(call)

    def call(self, call: bytes) -> bytes:
        """Return the pickled result of a function of the model, and the warnings."""
        with warnings.catch_warnings(record=True) as caught:
            result = pickle.loads(call)(self._model)
        packed: bytes = dumps((result, [warning.message for warning in caught]))
        return packed


_Actor: Any = ray.remote(max_restarts=0, num_cpus=0, scheduling_strategy="SPREAD")(_Process)
_Past = tuple[list[bytes], list[tuple[bytes, Sequence[int]]]]


class Workers(Guarded):
    """Actors that hold a model each, and are replaced when they die (DESIGN.md: workers)."""

    def __init__(self, models: Iterable[Any]) -> None:
        super().__init__()
        # checkpoints, and the calls since with their workers: one value, in case of an interrupt
        self._past: _Past = ([dumps(model) for model in models], [])
        self._n_bytes = 0  # of the calls
        self._actors: list[Any] = [None] * len(self._past[0])
        self._job: tuple[str, ...] = ()  # that of the actors in Ray, once there are some
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._actors)

    @exclusive
    def call(
        self, function: Callable[[Any], Any], only: int | None = None, is_atomic: bool = True
    ) -> list[Any]:
        """Return the results of a function of each model, or of that of one worker."""
        # RuntimeError is raised after `close` or `ray.shutdown`, or if an actor dies three times.
        # An atomic function that raises TypeError or ValueError has left the model as it was.
        if self._n_bytes > max(_FEW_BYTES, sum(map(len, self._past[0]))):
            self._make_checkpoints()
        call, to = dumps(function), range(len(self)) if only is None else [only]
        is_refused = False
        try:
            results, messages, errors = self._results(call, to)
            if errors:
                is_refused = is_atomic and len(errors) == len(to)
                is_refused = is_refused and isinstance(errors[0], TypeError | ValueError)
                raise errors[0]
            for message in messages:
                warnings.warn(message, stacklevel=4)
            self._past[1].append((call, to))
        except BaseException:
            if not is_refused:
                self._end(to)
            raise
        self._n_bytes += len(call)
        return results

    @exclusive
    def checkpoints(self) -> list[bytes]:
        return self._make_checkpoints()

    @exclusive
    def close(self) -> None:
        """End the actors; all calls but this one raise RuntimeError then."""
        self._end(range(len(self)))
        self._is_closed = True

    def __reduce__(self) -> NoReturn:
        raise TypeError("a model over workers cannot be copied or pickled")

    def _make_checkpoints(self) -> list[bytes]:
        packed, _, errors = self._results(dumps(dumps), range(len(self)))
        if errors:
            raise errors[0]
        self._past, self._n_bytes = (packed, []), 0
        return packed

    def _results(
        self, call: bytes, to: Sequence[int]
    ) -> tuple[list[Any], Iterable[Warning], list[Exception]]:
        """Let workers make a call; return results, warnings without repetition, and errors."""
        if self._is_closed:
            raise RuntimeError("the workers have been ended by close()")
        results: list[Any] = []
        messages: dict[str, Warning] = {}
        errors: list[Exception] = []
        refs = [self._sent(call, i) for i in to]
        for i, ref in zip(to, refs, strict=True):
            try:
                result, caught = self._result(ref, call, i)
            except RayTaskError as error:
                errors.append(error.cause)
            else:
                results.append(result)
                messages |= {str(message): message for message in caught}
        return results, messages.values(), errors

    def _sent(self, call: bytes, i: int) -> Any:
        """Send a call to a worker, whose actor may have to be started; return Ray's reference."""
        if not ray.is_initialized():
            if self._job:
                raise RuntimeError(
                    "Ray has been shut down, and the workers with it; after ray.init() they go on"
                )
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(include_dashboard=False, logging_level="WARNING", ignore_reinit_error=True)
        context = ray.get_runtime_context()
        job = context.get_node_id(), context.get_job_id()
        if job != self._job:  # the actors of an earlier one have ended
            self._actors, self._job = [None] * len(self), job
        if self._actors[i] is None:
            calls = [past for past, to in self._past[1] if i in to]
            self._actors[i] = _Actor.remote(self._past[0][i], calls)
        return self._actors[i].call.remote(call)

    def _result(self, ref: Any, call: bytes, i: int) -> Any:
        """Return the result of a call, which is repeated if the actor dies."""
        for n_deaths in range(1, _MOST_DEATHS + 1):
            try:
                return pickle.loads(ray.get(ref))
            except RayError as error:
                # After a MemoryError half of the call may have been done.
                if isinstance(error, RayTaskError) and not isinstance(error.cause, MemoryError):
                    raise
                self._end([i])
                if n_deaths == _MOST_DEATHS:
                    raise RuntimeError(
                        f"a worker has died {n_deaths} times in the same call"
                    ) from error
                ref = self._sent(call, i)

    def _end(self, to: Iterable[int]) -> None:
        """End actors; the next call replaces them."""
        for i in to:
            actor, self._actors[i] = self._actors[i], None
            if actor is not None and ray.is_initialized():  # or Ray would be started
                with suppress(Exception):
                    ray.kill(actor)
