"""The workers of an object, and the thread that talks to them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from river_amf.ray.cluster import connect
from river_amf.ray.workers import Worker

_Result = TypeVar("_Result")


class Team:
    """Workers that start with the first call, and a thread that makes all calls, in order.

    As the thread makes them, an exception from a signal handler ends the wait for a call, but not
    the call.

    Parameters
    ----------
    owner
        The class that they belong to, for messages.
    """

    def __init__(self, owner: str) -> None:
        self.workers: list[Worker] = []
        self.is_closed = False
        self._owner = owner
        self._thread = ThreadPoolExecutor(1, "river_amf.ray")

    def do(
        self,
        start: Callable[[], list[Worker]],
        call: Callable[..., _Result],
        *arguments: Any,
    ) -> _Result:
        """Make a call once there are workers, which `start` returns, or raise RuntimeError."""
        if self.is_closed:
            raise RuntimeError(f"this {self._owner} has been closed")
        if not self.workers:
            connect()  # not in the thread, as Ray handles signals
        return self._thread.submit(self._do, start, call, arguments).result()

    def _do(
        self,
        start: Callable[[], list[Worker]],
        call: Callable[..., _Result],
        arguments: tuple[Any, ...],
    ) -> _Result:
        if not self.workers:
            self.workers = start()
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
