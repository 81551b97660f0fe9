"""The lock of a model, which makes every call of it safe beside every other.

What Python does not promise is used here, and where it is named. Why, and what else there is:

- `RLock._is_owned`, to refuse a call within another one; `threading.Condition` uses it, too. The
  number of the owning thread could be kept beside the lock.
- `RLock._at_fork_reinit`, for locks of threads that a fork has left behind; `threading` uses it,
  too. A new lock could take its place, if all who use the old one look it up.
- `_thread.start_new_thread` (`engine.blocks`, `compilation`), as `threading.Thread` takes locks,
  for which a signal handler could wait forever. It is in the manual, as low-level.
- `sys._getframe` (`inputs.cautions`), for the code that a warning is about. From Python 3.12 on,
  `skip_file_prefixes` of `warnings.warn` does so.
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
    """Make a method of a `Guarded` take its lock, and raise RuntimeError within another one."""

    def call(self: Guarded, *arguments: Any) -> Any:
        if self.is_within():
            refuse_within()
        with self.lock:
            self.finish_unfinished()
            return method(self, *arguments)

    return cast(Method, functools.wraps(method)(call))


def refuse_within() -> None:
    raise RuntimeError(
        "this thread is in the middle of another call of the same model, which has to return "
        "first; a signal handler, or a method of a value or label such as __eq__, must not use the "
        "model (let the handler set a flag instead)"
    )


class Guarded:
    """An object that one thread uses at a time, by its methods that are `exclusive`."""

    def __init__(self, unfinished: Callable[[], object] | None = None) -> None:
        self.lock = cast(Any, threading.RLock())  # its stub lacks `_is_owned`
        self.is_within: Callable[[], bool] = self.lock._is_owned  # by the calling thread
        # The steps that an interrupted call has left, which may be called any number of times.
        self.unfinished = unfinished
        _all.add(self)

    def finish_unfinished(self) -> None:
        if self.unfinished is not None:
            self.unfinished()
            self.unfinished = None

    @exclusive
    def catch_up(self) -> None:
        """Do nothing but what an interrupted call has left."""

    @exclusive
    def run(self, call: Callable[..., Result], *arguments: Any) -> Result:
        return call(*arguments)


_all: weakref.WeakSet[Guarded] = weakref.WeakSet()


def _refuse() -> None:
    raise RuntimeError(
        "this process was forked while another thread was in the middle of a call of the model, so "
        "its copy of the model cannot be used; load it from a file, or fork when no other thread "
        "uses the model"
    )


def _renew() -> None:
    """Give all objects new locks, in a process that has only the thread which forked it."""
    for guarded in list(_all):
        if not guarded.is_within():
            if not guarded.lock.acquire(blocking=False):
                guarded.unfinished = _refuse
            guarded.lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
