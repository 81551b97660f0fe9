"""Attacks whose outcome is known, to see that the survey tells it."""

import os
import random
import threading


def sound(rng: random.Random, seconds: float) -> None:
    """Do no harm."""


def corrupt(rng: random.Random, seconds: float) -> None:
    """Find a model that is not sound."""
    raise AssertionError(f"the number is {rng.random()}\nof all numbers")


def crash(rng: random.Random, seconds: float) -> None:
    """End the process by a signal."""
    os.abort()


def leave(rng: random.Random, seconds: float) -> None:
    """End the process without a word."""
    os._exit(0)


def hang(rng: random.Random, seconds: float) -> None:
    """Wait for nothing."""
    threading.Event().wait()
