"""Actors that outlive their processes: whoever dies is started anew, as it was.

A worker keeps the last checkpoint of its actor and all that it has been told since. If the process
or its machine dies, a new actor begins with the checkpoint and is told the same again, in the same
order, so it comes to the same state. Whoever waits for a result waits a little longer.
"""

from __future__ import annotations

import itertools
import os
import pickle
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from river_amf.persistence.replacement import replace

_MOST_DEATHS = 20  # of the actors that are told the same thing
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


def _written(path: Path, state: Any) -> Path:
    """Write a state to a file, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL)
    replace(str(path), lambda file: file.write(content))
    return path


class _Process:
    """What a worker does, in a process of its own."""

    def __init__(self, make: Callable[[Any], Any], state: Any) -> None:
        if isinstance(state, Path):
            state = pickle.loads(state.read_bytes())
        self._it = make(state)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method, and return its result or its error."""
        try:
            return getattr(self._it, method)(*arguments)
        except MemoryError:  # half of it may have been done: the actor starts anew
            raise
        except Exception as error:
            return Raised.of(error)

    def call_again(self, method: str, *arguments: Any) -> None:
        """Do the same, but the result is known."""
        self.call(method, *arguments)

    def state(self) -> Any:
        return self._it.state()

    def save(self, path: Path) -> Path:
        return _written(path, self._it.state())

    def process(self) -> int:
        return os.getpid()

    def close(self) -> None:
        self._it.close()


_Actor: Any = ray.remote(max_restarts=0, num_cpus=0, scheduling_strategy="SPREAD")(_Process)


@dataclass(eq=False)
class Task:
    """Something that a worker has been told or asked."""

    method: str
    arguments: tuple[Any, ...]
    is_told: bool
    ref: Any = None
    is_done: bool = False
    n_deaths: int = 0
    n_errors: int = 0


class Worker:
    """An actor that is started anew whenever it dies.

    `make(state)` returns what the actor is to be: an object with a method `state`, from which it
    can be made again, and whose other methods depend on nothing but that and their arguments. If
    it has a method `close`, that is called at the end.

    Parameters
    ----------
    make
        A function or class that Ray can send.
    state
        What the actor begins with.
    interval
        Number of rows between two checkpoints.
    folder
        Where checkpoints are written, which all machines have to share. With `None`, they are kept
        in the object store of this machine.
    name
        For the files in this folder.
    """

    def __init__(
        self,
        make: Callable[[Any], Any],
        state: Any,
        interval: int,
        folder: Path | None = None,
        name: str = "worker",
    ) -> None:
        self._make = make
        self._interval, self._folder = interval, folder
        self._name = f"{name}-{uuid.uuid4().hex}"  # others may use the folder too
        self._files: list[Path] = []  # of checkpoints, which may not be complete
        self._log: list[Task] = []  # what has changed the actor since then
        self._asked: list[Task] = []  # what has only been asked since the last of these
        self._n_rows = 0  # since the last checkpoint was begun
        self._coming: tuple[Any, int] | None = None  # a checkpoint, and how much of the log it has
        self._numbers = itertools.count()
        self._actor: Any = None
        # elsewhere, rather than in the memory of this process
        self._state = ray.get(ray.put(state)) if folder is None else _written(self._file(), state)
        self._start()

    def _start(self) -> None:
        self._actor = _Actor.remote(self._make, self._state)
        self._coming = None

    def process(self) -> int:
        """Return the process id of the actor."""
        return int(ray.get(self._actor.process.remote()))

    def tell(self, method: str, *arguments: Any, n_rows: int = 0) -> Task:
        """Let the actor do something that changes it; references are sent as what they refer to."""
        self._take_checkpoint()
        task = Task(method, arguments, is_told=True)
        self._log.append(task)
        self._asked = []
        task.ref = self._actor.call.remote(method, *arguments)
        self._n_rows += n_rows
        if self._n_rows >= self._interval and self._coming is None:
            self._begin_checkpoint()
        return task

    def ask(self, method: str, *arguments: Any) -> Task:
        """Ask the actor something that does not change it."""
        task = Task(method, arguments, is_told=False)
        self._asked.append(task)
        task.ref = self._actor.call.remote(method, *arguments)
        return task

    def result(self, task: Task) -> Any:
        """Wait for the result of a task; if it has raised an error, that is the result.

        Raises
        ------
        RuntimeError, MemoryError
            If the actor dies, or lacks memory, as often as it is started anew. What it has been
            told is then lost.
        """
        while True:
            try:
                value = ray.get(task.ref)
            except RayError as error:
                self._recover(task, error)
            else:
                task.is_done, task.ref = True, None  # which frees the result
                if task in self._asked:
                    self._asked.remove(task)
                self._take_checkpoint()
                return value

    def end(self) -> None:
        """End the actor for good, and remove its files."""
        if hasattr(self._make, "close"):
            with suppress(Exception):  # it may be dead, or Ray may have been shut down
                ray.get(self._actor.close.remote(), timeout=_PATIENCE)
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

    def _recover(self, task: Task, error: RayError) -> None:
        """Start the actor anew, unless that has been tried often enough."""
        if isinstance(error, RayTaskError):  # it may have done half of it
            task.n_errors += 1
            if task.n_errors > _MOST_ERRORS:
                raise error.as_instanceof_cause() from None
        elif getattr(error, "actor_init_failed", False):
            task.n_errors += 1
            if task.n_errors > _MOST_ERRORS:
                last = str(error).splitlines()[-1]  # the rest is Ray's traceback
                raise RuntimeError(f"a worker cannot start: {last}") from error
        else:
            task.n_deaths += 1
            if task.n_deaths > _MOST_DEATHS:
                raise RuntimeError(
                    f"a worker has died {task.n_deaths} times while it was told the same: {error}"
                ) from error
        if not isinstance(error, RayActorError):
            self._kill()
        self._start()
        for each in self._log:
            call = self._actor.call_again if each.is_done else self._actor.call
            ref = call.remote(each.method, *each.arguments)
            each.ref = None if each.is_done else ref
        for each in self._asked:
            each.ref = self._actor.call.remote(each.method, *each.arguments)

    def _begin_checkpoint(self) -> None:
        self._n_rows = 0
        if self._folder is None:
            ref = self._actor.state.remote()
        else:
            ref = self._actor.save.remote(self._file())
        self._coming = ref, len(self._log)

    def _file(self) -> Path:
        """Return a new file: to write one again would be to lose it, if that is given up."""
        assert self._folder is not None
        path = self._folder / f"{self._name}-{next(self._numbers)}.checkpoint"
        self._files.append(path)
        return path

    def _take_checkpoint(self) -> None:
        """Use a checkpoint, if it has come and all results from before it have been taken."""
        if self._coming is None:
            return
        ref, n_told = self._coming
        if not all(task.is_done for task in self._log[:n_told]):
            return
        if not ray.wait([ref], timeout=0)[0]:
            return
        self._coming = None
        try:
            self._state = ray.get(ref)
        except RayError:  # the actor has died, as will be found
            return
        del self._log[:n_told]
        if self._folder is not None:
            self._files.remove(self._state)
            self._remove_files()
            self._files = [self._state]
