"""Code that comes to no end is cut off, and the caller's own alarm is as it was."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from river_amf.evaluation.alarm import OutOfTime, at_most

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the alarm of POSIX")


@pytest.fixture
def rung():
    """When the caller's own alarm went off; there is none afterwards."""
    times = []
    previous = signal.signal(signal.SIGALRM, lambda *_: times.append(time.monotonic()))
    yield times
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)


def cut_off():
    with pytest.raises(OutOfTime), at_most(0.05):
        time.sleep(3600)


def fail():
    with pytest.raises(ValueError, match="odd"), at_most(60):
        raise ValueError("odd")


def end():
    with at_most(60):
        pass


@pytest.mark.parametrize("run", [cut_off, fail, end])
def test_handler_and_timer_are_as_before_however_it_ends(rung, run):
    handler = signal.getsignal(signal.SIGALRM)
    run()
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    signal.setitimer(signal.ITIMER_REAL, 1000, 7)
    run()
    assert signal.getsignal(signal.SIGALRM) is handler
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert 0 < left <= 1000
    assert interval == 7
    assert not rung


def test_an_alarm_of_the_caller_that_became_due_goes_off_at_the_end(rung):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with at_most(60):
        time.sleep(0.2)
        end_of_code = time.monotonic()
    time.sleep(0.2)
    assert len(rung) == 1
    assert rung[0] >= end_of_code


def test_limits_may_be_nested():
    with pytest.raises(OutOfTime), at_most(0.1):
        cut_off()
        with at_most(60):
            pass
        time.sleep(3600)


def test_without_a_limit_or_in_another_thread_nothing_is_set(rung):
    handler = signal.getsignal(signal.SIGALRM)
    seen = []

    def look(seconds):
        with at_most(seconds):
            seen.append((signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)))

    look(None)
    thread = threading.Thread(target=look, args=(60,))
    thread.start()
    thread.join()
    assert seen == [(handler, (0.0, 0.0))] * 2
