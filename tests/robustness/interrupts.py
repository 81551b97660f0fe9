"""Attacks by signal handlers that raise, and by exceptions at every line of the core."""

import copy
import io
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from subjects import (
    ESTIMATORS,
    KINDS,
    PROBE_FRAME,
    PROBES,
    ask_many,
    ask_one,
    check_rows,
    check_same,
    check_sound,
    label_for,
    learn,
    n_learnt,
    samples,
)
from twins import TRIALS, Trial, by_block, by_test_then_train, state_left

import river_amf
import river_amf.sklearn
from river_amf import (
    OnlineDummyClassifier,
    engine,
    inspection,
    sparse,
    state,
    targets,
    vocabulary,
    words,
)

ERRORS = (KeyboardInterrupt, TimeoutError)
CORE = {module.__file__ for module in (engine, state, sparse, targets, vocabulary, words)}
NEXT = 5e-5  # seconds from one signal to the next at least: more than the handler takes
A_FEW = 15  # steps of a short attack


# ------------------------------------------------------------------------------------------ signals


class Alarm:
    """Signals that raise an error in the middle of a call, up to three in a row."""

    def __init__(self, rng: random.Random, seconds: float) -> None:
        self.rng = rng
        self.end = time.monotonic() + seconds
        self.n_broken = 0

    @property
    def is_over(self) -> bool:
        """Whether time is over, but not before a call has been broken off."""
        return self.n_broken > 0 and time.monotonic() > self.end

    def broken(self, call: Callable[[], object], duration: float) -> bool:
        """Run a call that takes about `duration` seconds; return whether a signal came."""
        error = self.rng.choice(ERRORS)
        most, raised = self.rng.choice([1, 1, 2, 3]), 0

        def handler(_: int, frame: FrameType | None) -> None:
            nonlocal raised
            if _is_within(frame, _guarded.__code__):
                raised += 1
                if raised >= most:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                if raised <= most:
                    raise error

        delay = max(self.rng.uniform(0.0, 1.2 * duration), 1e-6)
        interval = self.rng.uniform(NEXT, NEXT + duration) if most > 1 else 0.0
        before = signal.signal(signal.SIGALRM, handler)
        try:
            _guarded(call, delay, interval)
        except ERRORS:
            if not raised:
                raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        self.n_broken += raised > 0
        return raised > 0


def _guarded(call: Callable[[], object], delay: float, interval: float) -> None:
    """Run a call with the timer set; only here does the handler raise."""
    signal.setitimer(signal.ITIMER_REAL, delay, interval)
    call()


def _is_within(frame: FrameType | None, code: CodeType) -> bool:
    """Whether a function is running."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def seconds_of(call: Callable[[], object]) -> float:
    """Run a call and return how long it took."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def reads(model: Any) -> list[Callable[[], object]]:
    """Return calls that do not change a model."""
    return [
        lambda: ask_one(model, PROBES[0]),
        lambda: model.predict_one(PROBES[1]),
        lambda: ask_many(model, PROBE_FRAME),
        lambda: model.predict_many(PROBE_FRAME),
        lambda: pickle.dumps(model),
        lambda: copy.deepcopy(model),
        lambda: inspection.node_table(model, 0),
        lambda: model.debug_one(PROBES[0]),
        lambda: model.memory_usage,
        lambda: river_amf.save(model, io.BytesIO()),
    ]


def interrupted_samples(rng: random.Random, seconds: float) -> None:
    """Break off learn_one again and again: all of a sample has been learned, or nothing."""
    alarm = Alarm(rng, seconds)
    while not alarm.is_over:
        make = KINDS[rng.choice(sorted(KINDS))]
        model = make(max_nodes=rng.choice([31, None]))
        twin = copy.deepcopy(model)
        for x, name in samples(rng, 150, arrivals=rng.choice([1, 10])):
            label = label_for(model, name)
            states = [pickle.dumps(twin)]
            duration = seconds_of(partial(twin.learn_one, x, label))
            states.append(pickle.dumps(twin))
            if alarm.broken(partial(model.learn_one, x, label), duration):
                if rng.random() < 0.3:
                    alarm.broken(rng.choice(reads(model)), 10 * duration)
                if state_left(model, states, rng) == 0:
                    model.learn_one(x, label)
            if alarm.is_over:
                break
        check_same(model, twin)
        check_sound(model, rng)


def interrupted_blocks(rng: random.Random, seconds: float) -> None:
    """Break off learn_many: all trees have learned the same prefix of the rows."""
    alarm = Alarm(rng, seconds)
    while not alarm.is_over:
        model = KINDS[rng.choice(sorted(KINDS))](
            n_jobs=rng.choice([1, 2]), max_nodes=rng.choice([31, None])
        )
        learn(model, samples(rng, rng.randrange(60)))
        call = rng.choice([by_block, by_test_then_train])
        part = samples(rng, rng.choice([40, 200]), arrivals=rng.choice([0, 1, 5]))
        trial = Trial(model, part, call)
        uninterrupted = trial.model()
        duration = seconds_of(partial(call, uninterrupted, trial.rows))
        check_same(uninterrupted, pickle.loads(trial.states[-1]))
        for _ in range(10):
            model = trial.model()
            if alarm.broken(partial(call, model, trial.rows), duration):
                if rng.random() < 0.3:
                    alarm.broken(rng.choice(reads(model)), duration)
                trial.check(model, rng)
            else:
                check_same(model, uninterrupted)
            if alarm.is_over:
                break
        check_sound(model, rng)


def interrupted_reads(rng: random.Random, seconds: float) -> None:
    """Break off whatever does not learn: the model is as before."""
    alarm = Alarm(rng, seconds)
    model = KINDS[rng.choice(sorted(KINDS))](n_jobs=rng.choice([1, 2]))
    learn(model, samples(rng, rng.randrange(1, 300)))
    state = pickle.dumps(model)
    while not alarm.is_over:
        call = rng.choice(reads(model))
        alarm.broken(call, seconds_of(call))
        state_left(model, [state], rng)
    check_sound(model, rng)


def interrupted_files(rng: random.Random, seconds: float) -> None:
    """Break off save: the file is the old one or the new one."""
    alarm = Alarm(rng, seconds)
    old = learn(KINDS["plain"](), samples(rng, 20))
    new = learn(KINDS["plain"](), samples(rng, 200))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.amf")
        contents = []
        for model in (new, old):
            duration = seconds_of(partial(model.save, path))
            contents.append(path.read_bytes())
        while not alarm.is_over:
            old.save(path)
            alarm.broken(partial(new.save, path), duration)
            assert path.read_bytes() in contents


def interrupted_dummies(rng: random.Random, seconds: float) -> None:
    """Break off the baseline that counts labels: it has counted a sample or it has not."""
    alarm = Alarm(rng, seconds)
    model, twin = OnlineDummyClassifier(), OnlineDummyClassifier()
    duration = seconds_of(partial(copy.deepcopy(model).learn_one, {}, "label"))
    while not alarm.is_over:
        label = f"label {rng.randrange(20)}"
        before = pickle.dumps(twin)
        twin.learn_one({}, label)
        if alarm.broken(partial(model.learn_one, {}, label), duration):
            content = pickle.dumps(model)
            assert content in (before, pickle.dumps(twin)), model.__dict__
            if content == before:
                model.learn_one({}, label)
        assert pickle.dumps(model) == pickle.dumps(twin)
        if len(twin.predict_proba_one({})) == 20:
            model, twin = OnlineDummyClassifier(), OnlineDummyClassifier()


def interrupted_estimators(rng: random.Random, seconds: float) -> None:
    """Break off partial_fit: the estimator has learned a prefix of the rows, and can go on."""
    alarm = Alarm(rng, seconds)
    while not alarm.is_over:
        given = samples(rng, 80, arrivals=3)
        X = np.array([[x["a"], x.get("b", np.nan)] for x, _ in given])
        y = np.array([label for _, label in given], object)
        kind = rng.choice([*ESTIMATORS])
        is_regressor = "Regressor" in kind
        if is_regressor:
            y = np.array([1e3 + rng.gauss(0, 1) for _ in given])
        parameters = {} if "Dummy" in kind else {"n_estimators": 4, "random_state": 1}
        make = getattr(river_amf.sklearn, kind)
        twin = make(**parameters).partial_fit(X[:20], y[:20])
        estimator = copy.deepcopy(twin)
        states = [pickle.dumps(twin.model_)]
        for start in range(20, 80):
            twin.partial_fit(X[start : start + 1], y[start : start + 1])
            states.append(pickle.dumps(twin.model_))
        duration = seconds_of(partial(copy.deepcopy(estimator).partial_fit, X[20:], y[20:]))
        alarm.broken(partial(estimator.partial_fit, X[20:], y[20:]), duration)
        if not is_regressor:
            check_rows(estimator.predict_proba(X))
            assert estimator.predict_proba(X).shape[1] == len(estimator.classes_)
            labels, classes = {*estimator.model_._labels}, {*estimator.classes_}
            assert labels <= classes, f"the model knows {labels}, the estimator {classes}"
        content = pickle.dumps(estimator.model_)
        assert content in states, f"{kind}: none of {len(states)} states"
        start = 20 + states.index(content)
        if start < 80:
            estimator.partial_fit(X[start:], y[start:])
        assert (estimator.predict(X) == twin.predict(X)).all()
        assert pickle.dumps(estimator.model_) == states[-1]


def interrupts_beside_threads(rng: random.Random, seconds: float) -> None:
    """Break off calls, some of which wait for their turn, while threads use the model too."""
    alarm = Alarm(rng, seconds)
    model = KINDS[rng.choice(sorted(KINDS))](restart_threshold=None, n_jobs=rng.choice([1, 2]))
    learn(model, samples(rng, 20))
    by_threads, by_us, broken_rows = [0], 20, 0
    over = threading.Event()

    def learn_more() -> None:
        learn(model, samples(rng, 5))
        by_threads[0] += 5

    def repeat(call: Callable[[], object]) -> None:
        while not over.is_set():
            call()

    calls = [learn_more, partial(ask_many, model, PROBE_FRAME)]
    threads = [threading.Thread(target=repeat, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    try:
        while not alarm.is_over:
            part = samples(rng, rng.choice([1, 50]))
            call = rng.choice([by_block, by_test_then_train, learn])
            if alarm.broken(partial(call, model, part), rng.choice([1e-4, 1e-3, 1e-2])):
                broken_rows += len(part)
            else:
                by_us += len(part)
            alarm.broken(rng.choice(reads(model)), rng.choice([1e-4, 1e-3, 1e-2]))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    surely = by_threads[0] + by_us
    assert surely <= n_learnt(model) <= surely + broken_rows, "samples were lost"
    check_sound(model, rng)


# -------------------------------------------------------------------------------------------- lines


def stopped_at(
    call: Callable[[], object], step: int, error: type[BaseException], event: str
) -> int:
    """Run a call, raising an error at a line or instruction of the core; return how many it had."""
    n_steps = 0

    def local(frame: FrameType, now: str, _: object) -> Any:
        nonlocal n_steps
        if now == event:
            n_steps += 1
            if n_steps == step:
                raise error
        return local

    def tracer(frame: FrameType, now: str, argument: object) -> Any:
        if frame.f_code.co_filename not in CORE:
            return None
        frame.f_trace_opcodes = event == "opcode"
        return local

    sys.settrace(tracer)
    try:
        call()
    except error:
        if n_steps < step:
            raise
    finally:
        sys.settrace(None)
    return n_steps


def chosen_trial(rng: random.Random) -> tuple[str, Trial]:
    """Return one of the trials."""
    name = rng.choice(sorted(TRIALS))
    return name, TRIALS[name](rng)


def steps(rng: random.Random, n_steps: int, seconds: float) -> Iterator[int]:
    """Yield the steps at which a call is stopped: all, or a few if time is short."""
    yield from (
        range(1, n_steps + 1)
        if seconds >= 1.0
        else rng.sample(range(1, n_steps + 1), min(A_FEW, n_steps))
    )


def _errors_at(rng: random.Random, seconds: float, event: str) -> None:
    """Raise at every step of a call."""
    name, trial = chosen_trial(rng)
    model = trial.model()
    n_steps = stopped_at(partial(trial.call, model, trial.rows), 0, ValueError, event)
    assert n_steps > 0 and trial.check(model, rng) == len(trial.rows)
    for step in steps(rng, n_steps, seconds):
        model = trial.model()
        error = rng.choice([*ERRORS, MemoryError])
        try:
            stopped_at(partial(trial.call, model, trial.rows), step, error, event)
            trial.check(model, rng)
        except Exception as problem:
            text = f"{name}, {error.__name__} at {event} {step} of {n_steps}: {problem}"
            raise AssertionError(text) from problem


def errors_at_lines(rng: random.Random, seconds: float) -> None:
    """Raise at every line of the core that a call comes to."""
    _errors_at(rng, seconds, "line")


def errors_at_instructions(rng: random.Random, seconds: float) -> None:
    """Raise at every instruction of the core, which is more than signals can do."""
    _errors_at(rng, seconds, "opcode")
