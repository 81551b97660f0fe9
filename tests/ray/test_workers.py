"""Workers come back as they were, and a call that raises an error has changed none of them."""

import os
import signal
import sys
import time
import warnings
from functools import partial
from operator import methodcaller
from pathlib import Path

import pytest
import ray
from processes import has_ended, process

from river_amf.ray.workers import Workers

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it


class Sum:
    """A model that adds numbers, and does harm as long as a file exists."""

    def __init__(self, total, file):
        self.total, self.file = total, Path(file)

    def add(self, number):
        self.total += number
        return self.total

    def add_and(self, harm, is_once=False):
        """Do harm in the worker that began with 10."""
        self.total += 1
        if self.file.exists() and self.total < 100:
            if is_once:
                self.file.unlink()
            harm()

    def __getstate__(self):
        if self.file.with_suffix(".full").exists():
            raise OSError("no space left")
        return self.__dict__


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def run_out():
    raise MemoryError("too little")


def refuse():
    raise ValueError("no such number")


ADD = methodcaller("add", 1)


@pytest.fixture
def workers(tmp_path, one_ray):
    """Return two workers, of which the first does harm."""
    (tmp_path / "harm").touch()
    pair = Workers([Sum(10, tmp_path / "harm"), Sum(100, tmp_path / "harm")])
    yield pair
    pair.close()


@pytest.mark.parametrize("harm", [die, run_out])
def test_failed_calls_are_repeated(workers, harm):
    workers.call(ADD)
    workers.checkpoints()
    workers.call(ADD)
    workers.call(methodcaller("add_and", harm, is_once=True))
    assert workers.call(ADD) == [14, 104]


@pytest.mark.parametrize(
    ("harm", "error", "message"),
    [
        (die, RuntimeError, "has died 3 times in the same call"),
        (run_out, RuntimeError, "has died 3 times in the same call"),
        (refuse, ValueError, "no such number"),  # in one of them alone
        (partial(time.sleep, 60), KeyboardInterrupt, None),
    ],
)
def test_raising_calls_change_no_worker(workers, harm, error, message):
    workers.call(ADD)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3 * (error is KeyboardInterrupt))
    with pytest.raises(error, match=message):
        workers.call(methodcaller("add_and", harm))
    signal.signal(signal.SIGALRM, before)
    assert workers.call(ADD) == [12, 102]


def test_failed_checkpoints_change_nothing(workers, tmp_path):
    workers.call(ADD)
    full = tmp_path / "harm.full"
    full.touch()  # in the place of a full disk
    workers._n_bytes = 2 * 10**7  # as if the calls were longer
    for call in (workers.checkpoints, lambda: workers.call(ADD)):
        with pytest.raises(OSError, match="no space left"):
            call()
    full.unlink()
    for pid in workers.call(process):
        os.kill(pid, signal.SIGKILL)
    assert workers.call(ADD) == [12, 102]


def test_warnings_come_once(workers):
    with pytest.warns(UserWarning, match="odd") as caught:
        workers.call(lambda _: warnings.warn("odd", stacklevel=1))
    assert len(caught) == 1


def test_close_ends_the_actors(workers):
    pids = workers.call(process)
    workers.close()
    with pytest.raises(RuntimeError, match=r"have been ended by close\(\)"):
        workers.call(process)
    assert all(map(has_ended, pids))


@pytest.mark.parametrize("is_noticed", [True, False])
def test_workers_go_on_with_another_ray(workers, one_ray, is_noticed):
    workers.call(ADD)
    ray.shutdown()
    for _ in range(2 * is_noticed):
        with pytest.raises(RuntimeError, match=r"shut down.*; after ray\.init\(\) they go on"):
            workers.call(ADD)
        assert not ray.is_initialized()
    one_ray()
    assert workers.call(ADD) == [12, 102]
