"""Calls that run side by side in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def run_in_threads(
    calls: Sequence[Callable[[], Result]], pools: list[ThreadPoolExecutor]
) -> list[Result]:
    """Return the results of some calls, of which this thread makes the first.

    The pool of the other threads is added to `pools`. If an exception from a signal handler ends
    the wait for them, its `shutdown` waits for what they have begun. A pool for all calls would
    hang in a forked process.

    >>> run_in_threads([lambda: "a", lambda: "b"], [])
    ['a', 'b']
    """
    if len(calls) == 1:
        return [calls[0]()]
    with ThreadPoolExecutor(len(calls) - 1) as pool:
        pools.append(pool)
        others = [pool.submit(call) for call in calls[1:]]
        return [calls[0](), *(other.result() for other in others)]
