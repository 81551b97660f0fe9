"""Attacks by forks: a child process gets a copy of a model in the middle of a thread's call."""

import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numba
import pandas as pd
from subjects import (
    KINDS,
    PROBES,
    Sample,
    answers,
    ask_many,
    ask_one,
    check_answers,
    check_sound,
    label_for,
    learn,
    loaded,
    n_learnt,
    samples,
    saved,
)

from river_amf.kernels.compilation import uninterrupted

LATE = 20.0  # seconds within which a child has to be done
SOUND, CORRUPT = 0, 7


def _plain(model: Any, part: list[Sample]) -> tuple[pd.DataFrame, list[Any]]:
    """Return samples as a dataframe and labels, without the arrays of pyarrow."""
    # whose own locks do not survive a fork
    frame = pd.DataFrame([x for x, _ in part], dtype=object)
    return frame, [label_for(model, label) for _, label in part]


QUESTIONS, _ = _plain(None, samples(random.Random(3), 60))


def _in_child(model: Any, seed: int) -> int:
    """Use a model in a child process; return its exit code."""
    signal.alarm(int(2 * LATE))  # ends the child if nobody is left who would
    try:
        rng = random.Random(seed)
        learn(model, samples(rng, 5, arrivals=5))
        model.learn_many(*_plain(model, samples(rng, 50)))
        check_answers(model, ask_many(model, QUESTIONS))
        n_learnt(model)
        copies = [loaded(saved(model)), pickle.loads(pickle.dumps(model))]
        assert len({answers(forest) for forest in (model, *copies)}) == 1
        return SOUND
    except BaseException:
        traceback.print_exc()
        return CORRUPT


def _use_and_exit(model: Any, seed: int) -> None:
    """Do the work of `_in_child` as the target of a process."""
    os._exit(_in_child(model, seed))


def _by_fork(model: Any, seed: int) -> int:
    """Fork, use a model in the child, and return how that ended."""
    return _ending_of(lambda: _in_child(model, seed))


def _ending_of(call: Callable[[], int | None]) -> int:
    """Fork, and return how a child ended that makes a call; None is a good end."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(call() or SOUND)
        finally:
            os._exit(CORRUPT)
    end = time.monotonic() + LATE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGABRT)  # faulthandler says where it hangs
    os.waitpid(child, 0)
    return -signal.SIGKILL


def _by_multiprocessing(model: Any, seed: int) -> int:
    """Start a process, and return how it ended."""
    process = multiprocessing.get_context("fork").Process(target=_use_and_exit, args=(model, seed))
    process.start()
    process.join(LATE)
    if process.exitcode is None:
        os.kill(int(process.pid or 0), signal.SIGABRT)
        process.join()
        return -signal.SIGKILL
    return process.exitcode


def _fork_beside(
    rng: random.Random, seconds: float, model: Any, call: Callable[[], object]
) -> None:
    """Fork again and again while a thread repeats a call."""
    over, errors = threading.Event(), []

    def repeat() -> None:
        try:
            while not over.is_set():
                call()
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    threads = [threading.Thread(target=repeat, daemon=True) for _ in range(2)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(rng.random() * 1e-3)
            code = rng.choice([_by_fork, _by_multiprocessing])(model, rng.randrange(10**6))
            assert code != -signal.SIGKILL, "a child hangs"
            assert code == SOUND, f"a child ended with {code}"
    finally:
        over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    check_sound(model, rng)


def _begun(rng: random.Random) -> Any:
    """Return a forest that has learned a few samples."""
    model = KINDS[rng.choice(sorted(KINDS))](restart_threshold=None, n_jobs=rng.choice([1, 2]))
    return learn(model, samples(rng, 30))


def forks_beside_learning(rng: random.Random, seconds: float) -> None:
    """Fork while a thread learns: the child has a whole model, and can go on with it."""
    model = _begun(rng)
    calls = [
        lambda: learn(model, samples(rng, 10)),
        lambda: model.learn_many(*_plain(model, samples(rng, 100))),
    ]
    _fork_beside(rng, seconds, model, rng.choice(calls))
    n_learnt(model)


def forks_beside_reading(rng: random.Random, seconds: float) -> None:
    """Fork while a thread predicts or copies."""
    model = _begun(rng)
    calls = [
        partial(ask_one, model, PROBES[0]),
        partial(ask_many, model, QUESTIONS),
        partial(pickle.dumps, model),
    ]
    _fork_beside(rng, seconds, model, rng.choice(calls))


def forks_in_two_threads(rng: random.Random, seconds: float) -> None:
    """Fork in two threads at once beside one that learns: it goes on, and so do all children."""
    model = _begun(rng)
    over, codes = threading.Event(), []

    def fork() -> None:
        while not over.is_set():
            codes.append(_by_fork(model, 1))

    threads = [threading.Thread(target=fork, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(codes) < 4:  # it hangs if the model is not released
        learn(model, samples(rng, 5))
    over.set()
    for thread in threads:
        thread.join()
    assert {*codes} == {SOUND}, codes
    n_learnt(model)
    check_sound(model, rng)


def forks_beside_compiling(rng: random.Random, seconds: float) -> None:
    """Fork while a thread compiles: the child can compile too."""
    over = threading.Event()

    def compile_more() -> None:
        while not over.is_set():
            _compile()

    thread = threading.Thread(target=compile_more, daemon=True)
    thread.start()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            time.sleep(rng.random() * 0.1)
            code = _ending_of(_compile)
            assert code == SOUND, f"a child that compiles ended with {code}"
    finally:
        over.set()
        thread.join()


def _compile() -> None:
    """Compile something, as kernels are compiled."""
    function = numba.njit(lambda number: number + 1)
    uninterrupted(function.compile)((numba.int64,))
    assert function(1) == 2


def forks_broken_off(rng: random.Random, seconds: float) -> None:
    """Break forks off by a signal at any time: other threads go on with the models."""
    models = [_begun(rng) for _ in range(8)]
    (question,) = PROBES[:1]
    attacker = os.getpid()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    sys.unraisablehook = lambda told: None  # Python reports what breaks a hook off, and goes on
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 2e-3))
            os.fork()
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt:
            pass
        if os.getpid() != attacker:
            os._exit(SOUND)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)
        threads = [
            threading.Thread(target=ask_one, args=(model, question), daemon=True)
            for model in models
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LATE)
            assert not thread.is_alive(), "a model is still taken by a fork that is over"
    for model in models:
        check_sound(model, rng)
