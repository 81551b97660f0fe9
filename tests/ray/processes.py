"""Processes of workers: which they are, how they are killed, and whether they have ended."""

import os
import signal
import sys
from contextlib import suppress

import psutil
import ray

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it


def process(_):
    return os.getpid()


def kill(workers):
    """Kill all workers, as the system does when memory runs out."""
    for pid in workers.call(process):
        os.kill(pid, signal.SIGKILL)


def has_ended(pid):
    """Return whether a process ends within half a minute."""
    with suppress(psutil.NoSuchProcess):
        child = psutil.Process(pid)
        with suppress(psutil.TimeoutExpired):
            child.wait(30)
        return not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    return True
