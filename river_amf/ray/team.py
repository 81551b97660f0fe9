"""The workers of an object, the thread that talks to them, and the blocks on their way."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import ray
from numpy.typing import NDArray

from river_amf.parameters import Check, integer
from river_amf.ray.cluster import connect, n_cpus
from river_amf.ray.workers import Raised, Task, Worker
from river_amf.rows import renumbered

_Result = TypeVar("_Result")
Rows = Mapping[int, NDArray[np.int64]]  # of a block, by the number of the worker that has them

CHECKS: dict[str, Check] = {
    "n_workers": integer(1, optional=True),
    "max_waiting": integer(0),
    "checkpoint_every": integer(1),
}  # of the parameters that all classes have


class Sent(NamedTuple):
    """A block that is being learned."""

    number: int
    tasks: dict[int, Task]
    rows: Rows | None


class Team:
    """Workers that start with the first call, and a thread that makes all calls, in order.

    As the thread makes them, an exception from a signal handler ends the wait for a call, but not
    the call. Workers go by their numbers, from 0.

    Parameters
    ----------
    owner
        The class that they belong to, for messages.
    start
        A method of its that starts a number of workers.
    n_workers
        That number. With `None`, as many as Ray has CPUs.
    rescue
        What is left to do once a block is lost, for messages.
    """

    def __init__(
        self,
        owner: str,
        start: Callable[[int], list[Worker]],
        n_workers: int | None,
        rescue: str,
    ) -> None:
        self.workers: list[Worker] = []
        self.is_closed = False
        self._owner, self._n_workers, self._rescue = owner, n_workers, rescue
        self._start = weakref.WeakMethod(start)  # workers end with the last reference to the owner
        self._sent: deque[Sent] = deque()
        self._n_sent = 0
        self._lost: BaseException | None = None
        self._thread = ThreadPoolExecutor(1, "river_amf.ray")

    def do(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Make a call in the thread, once there are workers, or raise RuntimeError."""
        if self.is_closed:
            raise RuntimeError(f"this {self._owner} has been closed")
        if not self.workers:
            connect()  # not in the thread, as Ray handles signals
        return self._thread.submit(self._do, call, arguments).result()

    def _do(self, call: Callable[..., _Result], arguments: tuple[Any, ...]) -> _Result:
        if self._lost is not None:
            raise RuntimeError(
                f"an earlier block could not be learned, so this {self._owner} is of no use any "
                f"more; {self._rescue}: {self._lost}"
            ) from self._lost
        if not self.workers:
            start: Any = self._start()
            self.workers = start(self._n_workers or n_cpus())
        return call(*arguments)

    def close(self) -> None:
        """End all workers, after the calls that others are waiting for."""
        if not self.is_closed:
            self.is_closed = True
            self._thread.submit(self._end).result()
            self._thread.shutdown()

    def _end(self) -> None:
        for worker in self.workers:
            worker.end()
        self.workers = []

    # What calls in the thread use

    def tell(
        self, method: str, arguments: Mapping[int, tuple[Any, ...]], n_rows: Mapping[int, int]
    ) -> dict[int, Task]:
        """Let workers do something that changes them, with so many rows each."""
        try:
            return {
                i: self.workers[i].tell(method, *own, n_rows=n_rows[i])
                for i, own in arguments.items()
            }
        except BaseException as error:
            self.lose(error)
            raise

    def put(self, value: Any) -> Any:
        """Put into the object store what workers will be told, and return a reference."""
        try:
            return ray.put(value)
        except BaseException as error:  # the owner has learned it
            self.lose(error)
            raise

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Task]:
        """Ask workers something that does not change them."""
        return {i: self.workers[i].ask(method, *own) for i, own in arguments.items()}

    def ask_all(self, method: str, *arguments: Any) -> list[Any]:
        """Return what each worker says, once it has learned all blocks."""
        self.finish(0)
        tasks = self.ask(method, dict.fromkeys(range(len(self.workers)), arguments))
        return list(self.results(tasks).values())

    def results(
        self, tasks: Mapping[int, Task], rows: Rows | None = None, when: str = ""
    ) -> dict[int, Any]:
        """Wait for the results of workers, or raise the first error among them."""
        try:
            results = {i: self.workers[i].result(task) for i, task in tasks.items()}
        except BaseException as error:
            if any(task.is_told for task in tasks.values()):
                self.lose(error)
            raise
        for i, result in results.items():
            if isinstance(result, Raised):
                raise _placed(result.error, None if rows is None else rows.get(i), when)
        return results

    def send(self, tasks: dict[int, Task], rows: Rows | None = None) -> None:
        """Go on while workers learn a block: `finish` raises its errors."""
        self._n_sent += 1
        self._sent.append(Sent(self._n_sent, tasks, rows))

    def finish(self, n_left: int) -> None:
        """Wait until so many blocks are being learned, or raise the first error of the others."""
        while len(self._sent) > n_left:
            number, tasks, rows = self._sent.popleft()
            n_ago = self._n_sent - number + 1
            self.results(tasks, rows, f"; it was in the block {n_ago} before")

    def lose(self, error: BaseException) -> None:
        """Take note that workers and owner no longer agree on what has been learned."""
        self._lost = error


def _placed(error: Exception, rows: NDArray[np.int64] | None, when: str) -> Exception:
    """Return an error that counts rows as the whole block does, and says which block it was."""
    placed = error
    if rows is not None and isinstance(error, TypeError | ValueError):
        placed = renumbered(error, rows)
    if when and type(placed) in (TypeError, ValueError):
        placed.args = (f"{placed}{when}",)
    elif when:
        placed.add_note(when.removeprefix("; "))
    return placed
