"""Processes of workers: which they are, how they are killed, and whether they have ended."""

import os
import signal
import sys
import time

import psutil
import ray

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it


def process(_):
    """Return the process that holds a model."""
    return os.getpid()


def kill(model):
    """Kill all workers of a model, as the system does when memory runs out."""
    for pid in model._workers.call(process):
        os.kill(pid, signal.SIGKILL)


def has_ended(pid):
    """Wait for a process to end; one whose parent has yet to ask for its end has ended."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False
