"""Attacks by lack of memory: at any allocation of an array, and for real."""

import itertools
import pickle
import random
import resource
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from interrupts import chosen_trial, steps
from subjects import KINDS, PROBE_FRAME, answers, ask_many, check_sound, learn, samples
from twins import Trial, by_block, by_one, state_left

from river_amf import (
    columns,
    encoding,
    engine,
    frames,
    regressor,
    sparse,
    sparse_rows,
    state,
    targets,
    vocabulary,
    words,
)

MODULES = (state, encoding, columns, engine, frames, regressor, targets)
MODULES += (sparse, sparse_rows, vocabulary, words)
ALLOCATING = frozenset(
    {"arange", "array", "asarray", "empty", "full", "full_like", "ones", "where", "zeros"}
    | {"empty_like", "zeros_like", "unique", "flatnonzero", "isnan", "argsort", "ascontiguousarray"}
)


class ShortOfMemory:
    """Numpy as the modules of the core see it, which fails to allocate an array now and then."""

    def __init__(self, fails: Callable[[], bool]) -> None:
        self.fails = fails

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if name not in ALLOCATING:
            return function

        def allocate(*arguments: Any, **named: Any) -> Any:
            if self.fails():
                raise MemoryError(name)
            return function(*arguments, **named)

        return allocate


@contextmanager
def short_of_memory(fails: Callable[[], bool]) -> Any:
    """Let the core be short of memory whenever `fails` returns True."""
    short = ShortOfMemory(fails)
    try:
        for module in MODULES:
            module.np = short
        yield
    finally:
        for module in MODULES:
            module.np = np


def failing(call: Callable[[], object], step: int, *, for_good: bool = False) -> int:
    """Run a call in which an allocation fails, or all from there on; return how many it had."""
    counter = itertools.count(1)
    last = 0

    def fails() -> bool:
        nonlocal last
        last = next(counter)
        return step > 0 and (last >= step if for_good else last == step)

    with short_of_memory(fails):
        try:
            call()
        except MemoryError:
            if not 0 < step <= last:
                raise
    return last


def failing_allocations(rng: random.Random, seconds: float) -> None:
    """Fail at every allocation of a call that learns, once or from there on."""
    name, trial = chosen_trial(rng)
    model = trial.model()
    n_steps = failing(partial(trial.call, model, trial.rows), 0)
    assert trial.check(model, rng) == len(trial.rows)  # it may have needed no new array
    for step in steps(rng, n_steps, seconds):
        for for_good in (False, True):
            model = trial.model()
            try:
                failing(partial(trial.call, model, trial.rows), step, for_good=for_good)
                trial.check(model, rng)
            except Exception as problem:
                text = f"{name}, allocation {step} of {n_steps}, for good {for_good}: {problem}"
                raise AssertionError(text) from problem


def failing_reads(rng: random.Random, seconds: float) -> None:
    """Fail at every allocation of a prediction or copy: the model is as before."""
    model = KINDS[rng.choice(sorted(KINDS))](n_jobs=rng.choice([1, 2]))
    learn(model, samples(rng, rng.randrange(1, 100)))
    content = pickle.dumps(model)
    reads = [partial(ask_many, model, PROBE_FRAME), partial(answers, model)]
    reads += [partial(pickle.dumps, model), partial(pickle.loads, content)]
    for call in reads:
        for step in steps(rng, failing(call, 0), seconds):
            failing(call, step)
            assert state_left(model, [content], rng) == 0
    check_sound(model, rng)


def exhausted_memory(rng: random.Random, seconds: float) -> None:
    """Learn with hardly any memory left to the process."""
    model = KINDS["plain"](n_estimators=5, n_jobs=rng.choice([1, 2]))
    learn(model, samples(rng, 300))
    call = rng.choice([by_one, by_block])
    rows = samples(rng, 1 if call is by_one else 60, arrivals=0)
    wide = rng.randrange(500, 2000)
    rows[-1][0].update({f"wide {j}": rng.random() for j in range(wide)})
    trial = Trial(model, rows, call)
    for _ in range(3):
        model = trial.model()
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        room = int(rng.uniform(0.0, 30.0) * 2**20)
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + room, before[1]))
        problem = None
        try:
            trial.call(model, rows)
        except (MemoryError, RuntimeError) as error:  # the latter for want of a thread
            problem = error
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        if isinstance(problem, RuntimeError):
            assert "thread" in str(problem), problem
        trial.check(model, rng)
