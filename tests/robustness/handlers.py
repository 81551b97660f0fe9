"""Attacks by signal handlers that use a model in the middle of one of its calls."""

import copy
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

from subjects import (
    KINDS,
    PROBE_FRAME,
    PROBES,
    Sample,
    answers,
    ask_many,
    ask_one,
    check_answer,
    check_same,
    check_sound,
    frame_of,
    learn,
    samples,
)

from river_amf import inspection

LATE = 60.0  # seconds
REFUSAL = "in the middle of another call of the same model"


def uses(model: Any, sample: Sample) -> dict[str, Callable[[], object]]:
    """Return what a handler may try with a model, by name."""

    def save() -> None:
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder, "model.amf"))

    return {
        "ask_one": partial(ask_one, model, PROBES[0]),
        "predict_one": partial(model.predict_one, PROBES[0]),
        "ask_many": partial(ask_many, model, PROBE_FRAME),
        "learn_one": partial(learn, model, [sample]),
        "learn_many": partial(model.learn_many, *frame_of(model, [sample])),
        "save": save,
        "pickle": partial(pickle.dumps, model),
        "deepcopy": partial(copy.deepcopy, model),
        "node_table": partial(inspection.node_table, model),
    }


class Handler:
    """A signal handler that calls a model, again and again while it is set."""

    def __init__(self, rng: random.Random, call: Callable[[], object]) -> None:
        self.rng, self.call, self.is_over = rng, call, False
        self.outcomes: Counter[str] = Counter()
        self.errors: list[BaseException] = []

    def __call__(self, *_: object) -> None:
        """Call the model, and see what comes of it."""
        try:
            self.call()
            self.outcomes["done"] += 1
        except RuntimeError as error:
            self.outcomes["refused"] += 1
            self.refusal = error
            if REFUSAL not in str(error):
                self.errors.append(error)
        except BaseException as error:
            self.errors.append(error)
        self._come_again()

    def _come_again(self) -> None:
        """Set the timer to the next signal; there is none while the handler runs."""
        if not self.is_over:
            signal.setitimer(signal.ITIMER_REAL, self.rng.uniform(1e-4, 5e-3))

    def __enter__(self) -> Self:
        self.before = signal.signal(signal.SIGALRM, self)
        self._come_again()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self.before)
        if self.errors:
            raise self.errors[0]


def learn_all(model: Any, rng: random.Random) -> list[Sample]:
    """Let a model learn samples and blocks, and return what it has learned."""
    learnt = []
    for _ in range(8):
        part = samples(rng, rng.choice([1, 60]), arrivals=2)
        if len(part) == 1:
            learn(model, part)
        else:
            model.learn_many(*frame_of(model, part))
        learnt += part
        check_answer(model, ask_one(model, PROBES[0]))
    return learnt


def handlers_with_the_same_model(rng: random.Random, seconds: float) -> None:
    """Use the same model in a handler: it is refused, or comes between two calls."""
    end, refused = time.monotonic() + seconds, 0
    while time.monotonic() < end or not refused:  # it hangs if no call is ever refused
        kind = rng.choice(sorted(KINDS))
        model = KINDS[kind](n_jobs=rng.choice([1, 2]))
        calls = uses(model, samples(rng, 1)[0])
        name = rng.choice(sorted(calls))
        with Handler(rng, calls[name]) as handler:
            learnt = learn_all(model, rng)
        if not (name.startswith("learn") and handler.outcomes["done"]):
            check_same(model, learn(KINDS[kind](n_jobs=model.n_jobs), learnt))
        check_sound(model, rng)
        refused += handler.outcomes["refused"]


def handlers_with_another_model(rng: random.Random, seconds: float) -> None:
    """Use another model in a handler: that works."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        kind = rng.choice(sorted(KINDS))
        model, other = (KINDS[kind](n_jobs=rng.choice([1, 2])) for _ in range(2))
        learn(other, samples(rng, 30))
        block = samples(rng, 60)
        calls = uses(other, block[0]) | {
            "block": partial(other.learn_many, *frame_of(other, block))
        }
        with Handler(rng, calls[rng.choice(sorted(calls))]) as handler:
            learnt = learn_all(model, rng)
        if handler.outcomes["refused"]:
            raise AssertionError("another model was refused") from handler.refusal
        check_same(model, learn(KINDS[kind](n_jobs=model.n_jobs), learnt))
        check_sound(other, rng)


def handlers_beside_threads(rng: random.Random, seconds: float) -> None:
    """Use the same model in a handler while threads use it too."""
    kind = rng.choice(sorted(KINDS))
    model = learn(KINDS[kind](restart_threshold=None, n_jobs=2), samples(rng, 50))
    over, errors = threading.Event(), []

    def repeat(call: Callable[[], object]) -> None:
        try:
            while not over.is_set():
                call()
        except BaseException as error:
            errors.append(error)

    calls = [
        lambda: learn(model, samples(rng, 3)),
        partial(ask_many, model, PROBE_FRAME),
        lambda: check_answer(model, ask_one(model, PROBES[0])),
    ]
    threads = [threading.Thread(target=repeat, args=(call,), daemon=True) for call in calls]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        with Handler(rng, lambda: rng.choice([*uses(model, samples(rng, 1)[0]).values()])()):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                model.learn_many(*frame_of(model, samples(rng, 40)))
                answers(model)
    finally:
        over.set()
        for thread in threads:
            thread.join(LATE)
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads), "a thread is stuck"
    if errors:
        raise errors[0]
    check_sound(model, rng)


class Meddler:
    """A label whose comparison uses the model that looks it up."""

    def __init__(self, name: str, meddle: Callable[[], object]) -> None:
        self.name, self.meddle, self.outcomes = name, meddle, []

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        try:
            self.meddle()
            self.outcomes.append("done")
        except RuntimeError as error:
            assert REFUSAL in str(error), error
            self.outcomes.append("refused")
        return isinstance(other, Meddler) and self.name == other.name


def labels_that_meddle(rng: random.Random, seconds: float) -> None:
    """Learn labels that call the model when they are compared: refused or done, but no deadlock."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        model = KINDS["plain"]()
        sample = {"a": 1.0, "b": 2.0}, "plain"
        learn(model, [sample])
        name = rng.choice(["ask_one", "learn_one", "node_table", "ask_many"])
        for _ in range(20):
            meddler = Meddler(f"label {rng.randrange(2)}", uses(model, sample)[name])
            model.learn_one({"a": rng.random(), "b": 1.0}, meddler)
            for node_tree in range(model.n_estimators):
                inspection.node_table(model, node_tree)
        assert abs(sum(model.predict_proba_one({}).values()) - 1.0) < 1e-9
