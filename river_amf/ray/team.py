"""The workers of an object, the thread that talks to them, and the blocks on their way."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.invalid import INVALID
from river_amf.inputs.row_problems import renumbered
from river_amf.keyed.keyed_model import check_folder
from river_amf.parameters import Check, integer
from river_amf.ray.cluster import connect, n_cpus
from river_amf.ray.workers import Call, Raised, Worker

_Result = TypeVar("_Result")
Rows = Mapping[int, NDArray[np.int64]]  # of a block, by the number of the worker that has them
Calls = dict[int, Call]  # by the number of the worker

CHECKS: dict[str, Check] = {
    "n_workers": integer(1, optional=True),
    "max_waiting": integer(0),
    "checkpoint_every": integer(1),
    "checkpoint_folder": check_folder,
}  # of the parameters that all classes have


class Underway(NamedTuple):
    """A block that workers have been sent, and whose results are still to be taken."""

    number: int
    calls: Calls
    rows: Rows | None
    combine: Callable[[list[Any]], Any] | None
    is_learned: bool


class Team:
    """Workers that start with the first call, and a thread that makes all calls, in order.

    As the thread makes them, an exception from a signal handler ends the wait for a call, but not
    the call. Workers go by their numbers, from 0. Their owner is given by the name of its class,
    its method that starts a number of workers, that number (None for as many as Ray has CPUs), and
    what is left to do once a block is lost.
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
        self._underway: deque[Underway] = deque()
        self._n_sent = 0
        self._lost: BaseException | None = None
        self._thread = ThreadPoolExecutor(1, "river_amf.ray")

    def do(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Make a call in the thread, once there are workers, or raise RuntimeError."""
        if self.is_closed:
            raise RuntimeError(f"this {self._owner} has been closed")
        if not self.workers:
            connect()  # not in the thread, as Ray handles signals
        result = self._thread.submit(self._do, call, arguments).result()
        for worker in self.workers:
            worker.warn()  # here, where a warning that is raised cuts no block in two
        return result

    def _do(self, call: Callable[..., _Result], arguments: tuple[Any, ...]) -> _Result:
        if self._lost is not None:
            raise RuntimeError(
                f"an earlier block could not be learned, so this {self._owner} is of no use any "
                f"more; {self._rescue}: {self._lost}"
            ) from self._lost
        if not self.workers:
            start: Any = self._start()
            self.workers = start(self._n_workers or n_cpus())
        try:
            return call(*arguments)
        except BaseException:  # nobody waits for the other answers to a question
            self._underway = deque(block for block in self._underway if block.is_learned)
            raise

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

    @contextmanager
    def or_lose(self, is_lost: Callable[[], bool] = lambda: True) -> Iterator[None]:
        """Take no more calls if this fails, as owner and workers do not agree any more."""
        try:
            yield
        except BaseException as error:
            if is_lost():
                self._lost = error
            raise

    def tell(
        self, method: str, arguments: Mapping[int, tuple[Any, ...]], n_rows: Mapping[int, int]
    ) -> Calls:
        """Let workers do something that changes them, with so many rows each."""
        with self.or_lose():
            return {
                i: self.workers[i].tell(method, *own, n_rows=n_rows[i])
                for i, own in arguments.items()
            }

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> Calls:
        """Ask workers something that does not change them."""
        return {i: self.workers[i].ask(method, *own) for i, own in arguments.items()}

    def all(self, *arguments: Any) -> dict[int, tuple[Any, ...]]:
        """Return the arguments of a call of each worker, the same for all."""
        return dict.fromkeys(range(len(self.workers)), arguments)

    def ask_all(self, method: str, *arguments: Any) -> list[Any]:
        """Return what each worker answers, once it has learned all blocks."""
        self.finish(0)
        return self.results(self.ask(method, self.all(*arguments)))

    def results(self, calls: Calls, rows: Rows | None = None, when: str = "") -> list[Any]:
        """Wait for the results of calls, or raise the first error among them."""
        with self.or_lose(lambda: any(call.is_logged for call in calls.values())):
            results = [self.workers[i].result(call) for i, call in calls.items()]
        for i, result in zip(calls, results, strict=True):
            if isinstance(result, Raised):
                raise _placed(result.error, None if rows is None else rows.get(i), when)
        return results

    def send(
        self,
        calls: Calls,
        rows: Rows | None = None,
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        """Go on while workers have a block; `finish` raises its errors, and combines its results.

        Without results to combine, the owner goes on if a block that is learned raises an error.
        """
        self._n_sent += 1
        is_learned = any(call.is_logged for call in calls.values())
        self._underway.append(Underway(self._n_sent, calls, rows, combine, is_learned))

    def finish(self, n_left: int) -> list[Any]:
        """Wait until so many blocks are under way; return the combined results of the others."""
        combined = []
        while len(self._underway) > n_left:
            number, calls, rows, combine, is_learned = self._underway.popleft()
            when = f"; it was in the block {self._n_sent - number + 1} before"
            if combine is None:
                self.results(calls, rows, when)
                continue
            with self.or_lose(partial(bool, is_learned)):
                combined.append(combine(self.results(calls)))
        return combined


def _placed(error: Exception, rows: NDArray[np.int64] | None, when: str) -> Exception:
    """Return an error that counts rows as the whole block does, and says which block it was."""
    placed = error
    if rows is not None and isinstance(error, INVALID):
        placed = renumbered(error, rows)
    if when and type(placed) in (TypeError, ValueError, *INVALID):
        placed.args = (f"{placed}{when}",)
    elif when:
        placed.add_note(when.removeprefix("; "))
    return placed
