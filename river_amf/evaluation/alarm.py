"""A hard limit on the time that calls may take, where the system has an alarm clock."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN = 1.0  # seconds; for code that swallows whatever is raised
_LONGEST = 1e8  # seconds; some systems refuse to set a timer for longer
_AT_ONCE = 1e-6  # seconds; 0 would switch the timer off


class OutOfTime(BaseException):
    """The time is up. No Exception, so that a model does not take it for an error of its own.

    Examples
    --------
    >>> from river_amf.evaluation.alarm import OutOfTime
    >>> issubclass(OutOfTime, Exception)
    False

    """


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the code within once it has taken so long.

    This takes the alarm signal of POSIX and the main thread; elsewhere there is no limit. Compiled
    code is cut off when it comes back to Python. A timer that the caller has set waits until the
    end and runs on from there, with its handler; if it has become due, it goes off then.

    Parameters
    ----------
    seconds
        How long; None is without limit.

    Raises
    ------
    OutOfTime
        When the time is up, and again each second, should the code not end.

    Examples
    --------
    >>> from river_amf.evaluation.alarm import OutOfTime, at_most
    >>> try:
    ...     with at_most(0.01):
    ...         while True:
    ...             pass
    ... except OutOfTime:
    ...     print("cut off")
    cut off

    """
    if seconds is None or not _is_possible():
        yield
        return
    is_over = False

    def ring(signal_number: int, frame: object) -> None:
        if not is_over:
            raise OutOfTime

    start = time.monotonic()
    delay, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    handler = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, min(seconds, _LONGEST), _AGAIN)
            yield
        finally:
            is_over = True  # if it rings just before, there is a second left for what follows
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if delay:
            left = max(delay - (time.monotonic() - start), _AT_ONCE)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def _is_possible() -> bool:
    """Whether there is an alarm, this thread may set it, and its handler can be put back."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is not None  # a handler that Python has not set
    )
