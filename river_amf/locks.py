"""The lock of a model: what makes every call of it safe beside every other.

Calls for one sample take microseconds, and a `threading.Lock` in a `with` statement would add 0.2
to each. So the right to use a model is an attribute, `ModelLock.token`, which is there or not:
deleting it takes the right, setting it gives it back, and each is one step of the interpreter. A
signal handler cannot run between the deletion and the next call of a function, so an exception from
one cannot come between taking the right and `try`, as it could after `Lock.acquire()`. The short
form of a call, here of one that learns, is::

    lock, thread = engine.lock, get_ident()
    if not lock.waiting:
        try:
            del lock.token
        except AttributeError:
            pass
        else:
            lock.owner = thread
            try:
                if not lock.readers:  # a short call that only reads need not check this
                    return engine.learn(x, y)
            finally:
                lock.owner = None
                lock.token = None
    return lock.run_alone(engine.learn, x, y)

All other calls use `run`, `run_alone` and `read`, which wait for their turn.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from _thread import get_ident
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

_SHORTEST_PAUSE, _LONGEST_PAUSE = 20e-6, 1e-3  # seconds between two looks at a lock that is taken
_LONGEST_WAIT = 10.0  # seconds that a fork waits for a call in another thread


class _Turn:
    """A call that waits for its turn, or that is reading."""

    __slots__ = ("is_alone", "is_short", "thread")

    def __init__(self, *, is_alone: bool, is_short: bool = False) -> None:
        self.thread = get_ident()
        self.is_alone = is_alone  # must not run beside readers
        self.is_short = is_short  # may overtake a call that waits for readers


class ModelLock:
    """The right to use a model: one thread at a time, or any number of readers.

    Short calls hold the token. Long calls that only read, such as predictions for a block, hold it
    just to join the readers. Whoever changes the model holds it while there are no readers.
    """

    __slots__ = ("__weakref__", "is_lost", "owner", "rank", "readers", "token", "waiting")

    def __init__(self, rank: int = 0) -> None:
        self.token = None  # absent while a call holds it
        self.owner: int | None = None  # the thread of that call
        self.readers: list[_Turn] = []
        self.waiting: list[_Turn] = []
        self.rank = rank  # whoever holds several locks takes those of a lower rank first
        self.is_lost = False  # in a process forked in the middle of a call in another thread
        _locks.add(self)

    def run(self, call: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function that reads the model for a short time, or raise RuntimeError."""
        return self._run(_Turn(is_alone=False, is_short=True), None, call, arguments)

    def run_alone(self, call: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function that changes the model, or raise RuntimeError."""
        return self._run(_Turn(is_alone=True), None, call, arguments)

    def read(
        self,
        prepare: Callable[[], object],
        call: Callable[..., Result],
        *arguments: Any,
        is_alone: bool = False,
    ) -> Result:
        """Call a function that reads the model for a long time, or raise RuntimeError.

        Before it starts, `prepare` is called, which may change the model if `is_alone`.
        """
        reader = _Turn(is_alone=False)
        try:
            self._run(_Turn(is_alone=is_alone), reader, prepare, ())
            return call(*arguments)
        finally:
            try:  # noqa: SIM105  a signal could end `suppress` before it removes anything
                self.readers.remove(reader)
            except ValueError:  # it was interrupted before it joined them
                pass

    def _run(
        self, turn: _Turn, reader: _Turn | None, call: Callable[..., Result], arguments: Any
    ) -> Result:
        """Call a function when its turn has come; then a reader may join before others go on."""
        pause = _SHORTEST_PAUSE
        try:
            self.waiting.append(turn)
            while True:
                self._check(turn)
                if self._is_next(turn):
                    try:
                        del self.token
                    except AttributeError:
                        pass
                    else:
                        self.owner = turn.thread
                        try:
                            if not (turn.is_alone and self.readers):
                                self.waiting.remove(turn)
                                result = call(*arguments)
                                if reader is not None:
                                    self.readers.append(reader)
                                return result
                        finally:
                            self.owner = None
                            self.token = None
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            try:  # noqa: SIM105
                self.waiting.remove(turn)
            except ValueError:  # its turn had come
                pass

    def _is_next(self, turn: _Turn) -> bool:
        """Whether a call may try to take the token: it has to wait for those that came earlier."""
        # Unless these wait for readers, and the call is short, or its own thread is a reader.
        # A call from a signal handler takes the turn of the one that it interrupts: that one waits
        # for it to return, and so do all that came in between.
        if turn.is_alone and self.readers:
            return False
        if self.readers and (turn.is_short or self._is_reader(turn.thread)):
            return True
        return self.waiting[0].thread == turn.thread

    def _is_reader(self, thread: int) -> bool:
        return any(reader.thread == thread for reader in self.readers)

    def _check(self, turn: _Turn) -> None:
        """Raise RuntimeError if a call would wait for itself, or for ever."""
        if self.is_lost:
            raise RuntimeError(
                "this process was forked while another thread was in the middle of a call of the "
                "model, so its copy of the model cannot be used; load it from a file, or fork when "
                "no other thread uses the model"
            )
        waits_for_itself = turn.is_alone and self._is_reader(turn.thread)
        if self.owner == turn.thread or waits_for_itself:
            raise RuntimeError(
                "this thread is in the middle of another call of the same model, which has to "
                "return first; a signal handler, or a method of a value or label such as __eq__, "
                "must not use the model (let the handler set a flag instead)"
            )


# ------------------------------------------------------------------------------------------- fork

_locks: weakref.WeakSet[ModelLock] = weakref.WeakSet()
_forking = threading.RLock()  # one thread at a time: what follows is of the fork that is under way
_taken: list[ModelLock] = []


def _take_all() -> None:
    """Before a fork: wait until no other thread is in the middle of changing a model."""
    # A child process has only the thread that forked; others would never end their calls there.
    _forking.acquire()
    deadline = time.monotonic() + _LONGEST_WAIT
    for lock in sorted(_locks, key=lambda lock: lock.rank):
        while lock.owner != get_ident():
            try:
                del lock.token
            except AttributeError:
                pass
            else:
                _taken.append(lock)
                lock.owner = get_ident()
                break
            if time.monotonic() > deadline:
                break
            time.sleep(_SHORTEST_PAUSE)


def _release_all() -> None:
    """After a fork, in the parent: let the other threads go on."""
    while _taken:
        lock = _taken[-1]
        lock.owner = None
        lock.token = None
        _taken.pop()
    with suppress(RuntimeError):  # an exception from a signal handler came before it was taken
        _forking.release()


def _release_in_child() -> None:
    """After a fork, in the child: forget the other threads."""
    thread = get_ident()
    taken = {id(lock) for lock in _taken}
    for lock in list(_locks):
        lock.is_lost = id(lock) not in taken and lock.owner not in (None, thread)
        lock.readers = [turn for turn in lock.readers if turn.thread == thread]
        lock.waiting = [turn for turn in lock.waiting if turn.thread == thread]
    _release_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all)
    for _ in range(2):  # the second goes on where a signal handler has broken the first one off
        os.register_at_fork(after_in_parent=_release_all, after_in_child=_release_in_child)
