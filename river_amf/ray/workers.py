"""Actors that outlive their processes: whoever dies is started anew, as it was.

A worker keeps the last checkpoint of its actor and all calls since. If the process
or its machine dies, a new actor begins with the checkpoint and repeats the same calls, in the same
order, so it comes to the same state. Whoever waits for a result waits a little longer.
"""

from __future__ import annotations

import itertools
import os
import pickle
import uuid
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from river_amf.persistence.places import replace

_MOST_DEATHS = 20  # of the actors in the same call
_MOST_ERRORS = 2
_PATIENCE = 10.0  # in seconds, with an actor that is to clean up


class Raised(NamedTuple):
    """An error as a result: one that Ray finds is a failure, after which the actor starts anew."""

    error: Exception

    @classmethod
    def of(cls, error: Exception) -> Raised:
        """Return an error that can be sent."""
        try:
            ray.cloudpickle.loads(ray.cloudpickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return cls(error)


def _kept(role: Any, path: Path | None) -> Any:
    """Return a role as bytes, or write them to a file, completely or not at all."""
    content = ray.cloudpickle.dumps(role)
    if path is None:
        return np.frombuffer(content, np.uint8)  # need not be copied out of the object store
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(str(path), lambda file: file.write(content))
    return path


class _Process:
    """The role of a worker, in a process of its own."""

    def __init__(self, kept: Any) -> None:
        self._role = pickle.loads(kept.read_bytes() if isinstance(kept, Path) else kept)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method, and return its result or its error."""
        try:
            return getattr(self._role, method)(*arguments)
        except MemoryError:  # half of it may have been done: the actor starts anew
            raise
        except Exception as error:
            return Raised.of(error)

    def call_again(self, method: str, *arguments: Any) -> None:
        """Do the same, but the result is known."""
        self.call(method, *arguments)

    def keep(self, path: Path | None) -> Any:
        return _kept(self._role, path)

    def process(self) -> int:
        return os.getpid()


_Actor: Any = ray.remote(max_restarts=0, num_cpus=0, scheduling_strategy="SPREAD")(_Process)


@dataclass(eq=False)
class Call:
    """A call of a worker; one that changes its state is logged until the next checkpoint."""

    method: str
    arguments: tuple[Any, ...]
    is_logged: bool
    ref: Any = None
    is_done: bool = False
    n_deaths: int = 0
    n_errors: int = 0


class Worker:
    """An actor that is started anew whenever it dies.

    Its role is any object that can be pickled, whose methods depend on nothing but what is in its
    pickle and their arguments. A method `close` of it is called at the end. Each `interval` rows
    there is a checkpoint, a file in a folder that all machines share, or in the object store of
    this machine.
    """

    def __init__(
        self, role: Any, interval: int, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self._interval, self._folder = interval, None if folder is None else Path(folder)
        self._is_closable = hasattr(role, "close")
        self._name = uuid.uuid4().hex  # others may use the folder too
        self._files: list[Path] = []  # of checkpoints, which may not be complete
        self._log: list[Call] = []  # what has changed the actor since then
        self._asked: list[Call] = []  # what has only been asked since the last of these
        self._n_rows = 0  # since the last checkpoint was begun
        self._coming: tuple[Any, int] | None = None  # a checkpoint, and how much of the log it has
        self._failure: RayError | None = None  # of a checkpoint, to be warned of
        self._numbers = itertools.count()
        self._actor: Any = None
        kept = _kept(role, self._file())
        # elsewhere, rather than in the memory of this process
        self._state = ray.get(ray.put(kept)) if folder is None else kept
        self._start()

    def _start(self) -> None:
        self._actor = _Actor.remote(self._state)
        self._coming = None

    def process(self) -> int:
        """Return the process id of the actor, which is started anew if it has died."""
        call = Call("process", (), is_logged=False)
        while True:
            try:
                return int(ray.get(self._actor.process.remote()))
            except RayError as error:
                self._recover(call, error)

    def tell(self, method: str, *arguments: Any, n_rows: int = 0) -> Call:
        """Let the actor do something that changes it; references are sent as what they refer to."""
        self._take_checkpoint()
        call = Call(method, arguments, is_logged=True)
        self._log.append(call)
        self._asked = []
        call.ref = self._actor.call.remote(method, *arguments)
        self._n_rows += n_rows
        if self._n_rows >= self._interval and self._coming is None:
            self._n_rows = 0
            self._coming = self._actor.keep.remote(self._file()), len(self._log)
        return call

    def ask(self, method: str, *arguments: Any) -> Call:
        """Ask the actor something that does not change it."""
        call = Call(method, arguments, is_logged=False)
        self._asked.append(call)
        call.ref = self._actor.call.remote(method, *arguments)
        return call

    def result(self, call: Call) -> Any:
        """Wait for the result of a call; if it has raised an error, that is the result.

        RuntimeError or MemoryError is raised if the actor dies, or lacks memory, as often as it is
        started anew. What it has been told is then lost.
        """
        while True:
            try:
                value = ray.get(call.ref)
            except RayError as error:
                self._recover(call, error)
            else:
                call.is_done, call.ref = True, None  # which frees the result
                if call in self._asked:
                    self._asked.remove(call)
                self._take_checkpoint()
                return value

    def warn(self) -> None:
        """Warn of a checkpoint that could not be made."""
        if self._failure is not None:
            reason, self._failure = _reason(self._failure), None
            warnings.warn(
                f"a checkpoint of a worker could not be made, and the next one is tried after "
                f"{self._interval} more rows; until one is made, all blocks since the last one "
                f"stay in Ray's object store, to be learned again if the worker dies: {reason}",
                RuntimeWarning,
                stacklevel=2,
            )

    def end(self) -> None:
        """End the actor for good, and remove its files."""
        if self._is_closable:
            with suppress(Exception):  # it may be dead, or Ray may have been shut down
                ray.get(self._actor.call.remote("close"), timeout=_PATIENCE)
        self._kill()
        self._remove_files()

    def _kill(self) -> None:
        with suppress(Exception):  # Ray may have been shut down
            ray.kill(self._actor)

    def _remove_files(self) -> None:
        """Remove files that are not needed any more."""
        for path in self._files:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _recover(self, call: Call, error: RayError) -> None:
        """Start the actor anew, unless that has been tried often enough."""
        cannot_start = getattr(error, "actor_init_failed", False)
        if isinstance(error, RayTaskError) or cannot_start:  # it may have done half of it
            call.n_errors += 1
            if call.n_errors > _MOST_ERRORS and cannot_start:
                raise RuntimeError(f"a worker cannot start: {_reason(error)}") from error
            if call.n_errors > _MOST_ERRORS:
                raise error.as_instanceof_cause() from None
        else:
            call.n_deaths += 1
            if call.n_deaths > _MOST_DEATHS:
                raise RuntimeError(
                    f"a worker has died {call.n_deaths} times in the same call: {error}"
                ) from error
        if not isinstance(error, RayActorError):
            self._kill()
        self._start()
        for each in self._log:
            repeat = self._actor.call_again if each.is_done else self._actor.call
            ref = repeat.remote(each.method, *each.arguments)
            each.ref = None if each.is_done else ref
        for each in self._asked:
            each.ref = self._actor.call.remote(each.method, *each.arguments)

    def _file(self) -> Path | None:
        """Return a new file: to write one again would be to lose it, if that is given up."""
        if self._folder is None:
            return None
        self._files.append(self._folder / f"{self._name}-{next(self._numbers)}.checkpoint")
        return self._files[-1]

    def _take_checkpoint(self) -> None:
        """Use a checkpoint, if it has come and all results from before it have been taken."""
        if self._coming is None:
            return
        ref, n_sent = self._coming
        is_complete = all(call.is_done for call in self._log[:n_sent])
        if not is_complete or not ray.wait([ref], timeout=0)[0]:
            return
        self._coming = None
        try:
            self._state = ray.get(ref)
        except RayError as error:
            if not isinstance(error, RayActorError):  # else it has died, as will be found
                self._failure = error
            return
        del self._log[:n_sent]
        if self._folder is not None:
            self._files.remove(self._state)
            self._remove_files()
            self._files = [self._state]


def _reason(error: RayError) -> str:
    """Return the last line of an error, without Ray's traceback."""
    return str(error).strip().splitlines()[-1]
