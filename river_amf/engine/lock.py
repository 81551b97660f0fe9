"""The lock of a model: what makes every call of it safe beside every other.

One thread at a time is in the middle of a call; the others wait. A `with` statement on a lock of
the interpreter takes and releases it for certain, whatever a signal handler raises, as no handler
runs between taking it and the block. Whether a thread is in the middle of a call is asked of the
lock itself, so there is no flag beside it that could be wrong.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])
Result = TypeVar("Result")


def exclusive(method: Method) -> Method:
    """Make a method of a `Guarded` wait for its turn, and raise RuntimeError within another."""

    def call(self: Guarded, *arguments: Any) -> Any:
        lock = self.lock
        if lock._is_owned():  # by this thread
            refuse_within()
        with lock:
            if self.pending is not None:
                self.settle()
            return method(self, *arguments)

    return cast(Method, functools.wraps(method)(call))


def refuse_within() -> None:
    """Raise RuntimeError for a call within another one of the same thread."""
    raise RuntimeError(
        "this thread is in the middle of another call of the same model, which has to return "
        "first; a signal handler, or a method of a value or label such as __eq__, must not use the "
        "model (let the handler set a flag instead)"
    )


class Guarded:
    """What only one thread uses at a time, by its methods that are `exclusive`."""

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()  # its stub lacks the method that tells its owner
        # What an interrupted call has left to do. It may be called any number of times.
        self.pending: Callable[[], object] | None = None
        _all.add(self)

    def settle(self) -> None:
        """Finish what an interrupted call has left, if anything."""
        if self.pending is not None:
            self.pending()
            self.pending = None

    @exclusive
    def run(self, call: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function while no other thread uses this, or raise RuntimeError.

        >>> Guarded().run(max, 1, 2)
        2
        """
        return call(*arguments)


_all: weakref.WeakSet[Guarded] = weakref.WeakSet()


def _refuse() -> None:
    raise RuntimeError(
        "this process was forked while another thread was in the middle of a call of the model, so "
        "its copy of the model cannot be used; load it from a file, or fork when no other thread "
        "uses the model"
    )


def _renew() -> None:
    """Give what there is new locks, in a process that has only the thread which forked it."""
    for guarded in list(_all):
        if not guarded.lock._is_owned():
            if not guarded.lock.acquire(blocking=False):
                guarded.pending = _refuse
            guarded.lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
