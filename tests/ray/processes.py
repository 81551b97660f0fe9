"""Processes that are to end, and how workers are killed."""

import os
import signal
import time

import psutil


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


def kill(worker):
    """Kill the process of a worker, as the system does when memory runs out."""
    os.kill(worker.process(), signal.SIGKILL)


def team_of(model):
    """Return the workers of a forest or of models for keys."""
    return model._engine._team if hasattr(model, "_engine") else model._team
