"""Calls that run side by side in threads, and that can be waited for, whatever interrupts them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from river_amf.kernels.numba_tools.compilation import NO_MORE_THREADS


class Workers:
    """One call for each thread, of which the caller's thread makes the first.

    An exception from a signal handler ends `run`, but not the calls that other threads have begun;
    `wait` waits for these.

    >>> Workers([lambda: "a", lambda: "b"]).run()
    ['a', 'b']
    """

    # `concurrent.futures` is of no use here: if a signal interrupts it, nobody knows which calls
    # are still running, and `Thread.join` may return too early from then on.

    def __init__(self, calls: Sequence[Callable[[], Any]]) -> None:
        self._calls = calls
        self._results: list[Any] = [None] * len(calls)
        # Who makes each call, a worker or not: the first to write it down, which is one step.
        self._is_worker: dict[int, bool] = {}
        self._ends = [threading.Lock() for _ in calls]
        for end in self._ends:
            end.acquire()

    def run(self) -> list[Any]:
        """Make the calls and return their results, or raise the error of one once all are over."""
        others = range(1, len(self._calls))
        try:
            for k in others:
                threading.Thread(target=self._work, args=(k,), daemon=True).start()
        except RuntimeError as error:
            if str(error) != NO_MORE_THREADS:
                raise
        self._results[0] = self._calls[0]()
        for k in others:
            if not self._is_worker.setdefault(k, False):  # its thread has not begun
                self._results[k] = self._calls[k]()
        self.wait()
        for result in self._results:
            if isinstance(result, BaseException):
                raise result
        return self._results

    def wait(self) -> None:
        """Wait for the calls that other threads have begun, and have no others begin."""
        for k, end in enumerate(self._ends):
            if self._is_worker.setdefault(k, False):
                with end:
                    pass

    def _work(self, k: int) -> None:
        """Make a call in a thread of its own, unless the caller's thread has made it."""
        if self._is_worker.setdefault(k, True):
            try:
                self._results[k] = self._calls[k]()
            except BaseException as error:
                self._results[k] = error
            finally:
                self._ends[k].release()
