"""Attacks on a model: `attack(rng, seconds)` raises AssertionError if it is no longer sound.

In a process of their own, as a crash or a hang ends it, from the root of the repository:

    python tests/robustness/attacks.py medley 100 [seconds] [first seed]
"""

import copy
import faulthandler
import itertools
import math
import os
import pickle
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import pandas as pd

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
)
from river_amf.engine import blocks, engine, growth, late_labels
from river_amf.engine.cautions import Cautions
from river_amf.inputs import categories, columns, encoding, frames, sparse_features, targets
from river_amf.state import arena

PATIENCE = 180.0  # seconds beyond its own time after which an attack counts as hanging
ENGINE = (blocks, engine, growth, late_labels, arena)
ENGINE += (categories, columns, encoding, frames, sparse_features, targets)
REFUSAL = "in the middle of another call of the same model"
ERRORS = (KeyboardInterrupt, TimeoutError, ValueError)
Sample = tuple[dict[Any, Any], Any]  # features, and a label, which regressors learn as a number

KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "plain": (AMFClassifier, {}),
    "adaptive": (AdaptiveAMFClassifier, {"max_nodes": 301}),
    "small": (AMFClassifier, {"max_nodes": 31}),
    "lenient": (AMFClassifier, {"on_mismatch": "missing"}),
    "bounded": (AdaptiveAMFClassifier, {"max_categories": 16}),
    "words": (AdaptiveAMFClassifier, {"absent": "zero", "max_words": 40}),
    "numbers": (AMFRegressor, {"fading_factor": 0.7}),
    "bounded numbers": (AdaptiveAMFRegressor, {"max_categories": 16}),
}
PROBES: list[dict[Any, Any]] = [{"a": 0.3, "b": 2.0, "color": "color 1"}, {"a": -1.2}, {}]


def any_kind(rng: random.Random, *, steady: bool = False) -> Any:
    """Return a forest of any kind that has not learned anything; if steady, no tree restarts."""
    kind, parameters = KINDS[rng.choice(sorted(KINDS))]
    if steady and issubclass(kind, AdaptiveAMFClassifier):
        parameters = parameters | {"drift_threshold": None}
    return kind(**{"n_estimators": 4, "seed": 7, "n_jobs": rng.choice([1, 2])} | parameters)


def samples(rng: random.Random, n_samples: int, arrivals: int = 2) -> list[Sample]:
    """Return samples in which features, categories and labels keep arriving, more or less often."""
    rows: list[Sample] = []
    for i in range(n_samples):
        x: dict[Any, Any] = {"a": rng.gauss(0.0, 1.0), "b": float(rng.randrange(8))}
        x["color"] = f"color {rng.randrange(3 + i * arrivals // 10)}"
        label = "above" if (x["a"] > 0.0) ^ (rng.random() < 0.2) else "below"
        if (i * arrivals) % 29 < arrivals:
            x[f"late {rng.randrange(30)}"] = 0.5 + rng.random()
            x[f"kind {rng.randrange(6)}"] = f"kind of {rng.randrange(4)}"
            label = f"label {rng.randrange(8)}"
        rows.append((x, label))
    # All have the same features, as in blocks; gaps are missing to all kinds.
    names = dict.fromkeys(name for x, _ in rows for name in x)
    return [({name: x.get(name) for name in names}, label) for x, label in rows]


def targets_of(model: Any, rows: list[Sample]) -> list[Any]:
    """Return the labels of samples, or numbers in their place if the forest learns numbers."""
    is_number = isinstance(model, AMFRegressor)
    return [sum(label.encode()) / 7 if is_number else label for _, label in rows]


def by_one(model: Any, rows: list[Sample]) -> Any:
    """Learn samples one by one; returns the model."""
    for (x, _), y in zip(rows, targets_of(model, rows), strict=True):
        model.learn_one(x, y)
    return model


def by_block(model: Any, rows: list[Sample]) -> Any:
    """Learn samples as a block; returns the model."""
    if rows:
        model.learn_many(pd.DataFrame([x for x, _ in rows]), targets_of(model, rows))
    return model


def ask(model: Any, x: dict[Any, Any]) -> Any:
    """Return probabilities, or an interval from a regressor, after a look at them."""
    if isinstance(model, AMFRegressor):
        interval = model.predict_interval_one(x)
        assert interval.lower <= interval.upper  # infinite before the second target
        return interval
    proba = model.predict_proba_one(x)
    assert all(0.0 <= p <= 1.0 for p in proba.values()), proba
    assert not proba or math.isclose(sum(proba.values()), 1.0, abs_tol=1e-9), proba
    return proba


READS: list[Callable[[Any], object]] = [
    lambda model: [ask(model, x) for x in PROBES],
    lambda model: str(model.predict_many(pd.DataFrame(PROBES)).tolist()),
    pickle.dumps,
    lambda model: pickle.dumps(copy.deepcopy(model)),
    lambda model: str(inspection.node_table(model, 1)),
    lambda model: model.debug_one(PROBES[0]),
    lambda model: model.memory_usage > 0,
]


def check_sound(model: Any) -> None:
    """Check that a forest equals its copy, also in what it learns from now on."""
    twin = pickle.loads(pickle.dumps(model))
    rows = samples(random.Random(5), 60)
    for forest in (model, twin):
        by_block(by_one(forest, rows[:30]), rows[30:])
        for x in PROBES:
            ask(forest, x)
    assert pickle.dumps(model) == pickle.dumps(twin)


def learned(model: Any) -> bytes:
    """Return the pickle of a model that has given no warnings, which may come before the rows."""
    twin = pickle.loads(pickle.dumps(model))
    twin._engine.cautions = Cautions()
    return pickle.dumps(twin)


class Trial:
    """A call that learns rows, and all the states that it may leave when it is broken off."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.call = rng, rng.choice([by_one, by_block, by_block])
        model = any_kind(rng)
        model.max_delayed_labels = 0  # a prediction that waits is no other state
        model = by_one(model, samples(rng, rng.choice([0, 20, 60])))
        n_rows = 1 if self.call is by_one else rng.choice([5, 60])
        self.rows = samples(rng, n_rows, rng.choice([0, 2, 20]))
        twin, self.base = copy.deepcopy(model), pickle.dumps(model)
        self.states = [learned(model), *(learned(by_one(twin, [row])) for row in self.rows)]

    def run(self, broken: Callable[[Callable[[], object]], object]) -> None:
        """Break the call off; check that all of some rows have been learned, and learn the rest."""
        model = pickle.loads(self.base)
        broken(lambda: self.call(model, self.rows))
        seen = (look := self.rng.choice(READS))(model)
        content = learned(model)
        assert content in self.states, f"none of {len(self.states)} states"
        assert look(pickle.loads(pickle.dumps(model))) == seen
        self.call(model, self.rows[self.states.index(content) :])
        assert learned(model) == self.states[-1], "goes on otherwise"


def together(seconds: float, *calls: Callable[[], object]) -> None:
    """Repeat each call in a thread of its own until time is over, or one of them fails."""
    end, interval = time.monotonic() + seconds, sys.getswitchinterval()

    def repeat(call: Callable[[], object]) -> None:
        while time.monotonic() < end:
            call()

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(calls)) as pool:
            [*pool.map(repeat, calls)]
    finally:
        sys.setswitchinterval(interval)


def four_learn(rng: random.Random, seconds: float) -> None:
    """Four threads learn samples and blocks: none is lost, and all trees have learned all."""
    model, counts = any_kind(rng, steady=True), [0, 0, 0, 0]
    parts = [samples(rng, 20, rng.choice([0, 5])) for _ in counts]

    def learn(k: int) -> None:
        (by_one, by_block)[k % 2](model, parts[k])
        counts[k] += len(parts[k])

    together(seconds, *(partial(learn, k) for k in range(4)))
    tables = [inspection.node_table(model, tree) for tree in range(model.n_estimators)]
    totals = {float(table["n_samples"][table["parent"] < 0].sum()) for table in tables}
    assert totals == {sum(counts)}, f"the trees have learned {totals} of {sum(counts)} samples"
    check_sound(model)


def medley(rng: random.Random, seconds: float) -> None:
    """Threads learn, predict, copy and look at a model while all sorts of things keep arriving."""
    model, rows = any_kind(rng), samples(rng, 600, 4)
    by_one(model, rows[:1])

    def learn() -> None:
        start = rng.randrange(len(rows) - 40)
        rng.choice([by_one, by_block])(model, rows[start : start + 40])

    together(seconds, learn, learn, *(partial(read, model) for read in READS))
    check_sound(model)


def prefixes(rng: random.Random, seconds: float) -> None:
    """One thread learns and two predict: each prediction is that of some prefix of the samples."""
    seed, seen = rng.random(), []
    model, twin = (any_kind(random.Random(seed)) for _ in range(2))
    rows = samples(rng, 2000)
    left = iter(rows)

    def learn() -> None:
        by_one(model, [*itertools.islice(left, 1)])

    def predict() -> None:
        answer = ask(model, PROBES[0])
        if not seen or seen[-1] != answer:
            seen.append(answer)

    together(seconds, learn, predict, predict)
    possible = [ask(twin, PROBES[0])]
    for row in rows[: len(rows) - len([*left])]:
        possible.append(ask(by_one(twin, [row]), PROBES[0]))
    assert all(answer in possible for answer in seen), "a prediction is of no prefix"


@contextmanager
def alarms(handler: Callable[..., object]) -> Iterator[None]:
    """Let a function handle the timer's signals for a while."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _broken_by_signal(call: Callable[[], object], rng: random.Random, duration: float) -> None:
    """Run a call that a signal handler breaks off at some time, up to three times in a row."""
    error, left = rng.choice(ERRORS), rng.choice([1, 1, 2, 3])

    def handler(_: int, frame: FrameType | None) -> None:
        nonlocal left
        while frame is not None and frame.f_code is not guarded.__code__:
            frame = frame.f_back
        if frame is not None and left:
            left -= 1
            raise error("of the handler")

    def guarded() -> None:
        signal.setitimer(signal.ITIMER_REAL, max(rng.uniform(0, 1.2 * duration), 1e-6), 2e-4)
        call()

    try:
        with alarms(handler):
            guarded()
    except (*ERRORS, TypeError) as raised:
        *_, last = traceback.extract_tb(raised.__traceback__)
        cause = raised  # pandas turns some errors into others of its own
        while "site-packages" in last.filename and cause.__cause__ is not None:
            cause = cause.__cause__
        assert cause.args == ("of the handler",), "the exception has been rewritten"


def interrupts(rng: random.Random, seconds: float) -> None:
    """Break calls off by signals: all of some rows has been learned."""
    trial, end = Trial(rng), time.monotonic() + seconds
    for i in itertools.count(1):
        start = time.perf_counter()
        trial.run(lambda call: call())
        duration = rng.choice([0.3, 1.0]) * (time.perf_counter() - start)
        trial.run(partial(_broken_by_signal, rng=rng, duration=duration))
        if time.monotonic() > end:
            break
        if i % 8 == 0:
            trial = Trial(rng)


def _broken_at(
    call: Callable[[], object], step: int, error: type[BaseException], event: str
) -> int:
    """Run a call, raising an error at a line or instruction of the engine; returns their number."""
    n_steps, files = 0, {module.__file__ for module in ENGINE}

    def local(frame: FrameType, now: str, _: object) -> Any:
        nonlocal n_steps
        n_steps += now == event
        if now == event and n_steps == step:
            raise error("at a line")
        return local

    def tracer(frame: FrameType, now: str, _: object) -> Any:
        frame.f_trace_opcodes = event == "opcode"
        return local if frame.f_code.co_filename in files else None

    sys.settrace(tracer)
    try:
        call()
    except error as raised:
        assert raised.args == ("at a line",)
    finally:
        sys.settrace(None)
    return n_steps


def errors_anywhere(rng: random.Random, seconds: float) -> None:
    """Raise at lines and instructions of the engine, as handlers or a lack of memory may do."""
    trial, end, n_steps = Trial(rng), time.monotonic() + seconds, [0]
    event = rng.choice(["line", "opcode"])
    nothing = partial(_broken_at, step=0, error=ValueError, event=event)
    trial.run(lambda call: n_steps.append(nothing(call)))
    while time.monotonic() < end:
        step, error = rng.randint(1, max(n_steps)), rng.choice([*ERRORS, MemoryError])
        trial.run(partial(_broken_at, step=step, error=error, event=event))


def handlers(rng: random.Random, seconds: float) -> None:
    """Use a model in a handler: it is refused, or comes between two calls; others are not."""
    model, other, outcomes = any_kind(rng), any_kind(rng), []
    READS[1](by_block(other, samples(rng, 20)))  # pandas imports something, which takes a lock

    def handler(*_: object) -> None:
        READS[rng.randrange(len(READS))](other)
        try:
            rng.choice([partial(by_one, rows=samples(rng, 1)), *READS])(model)
            outcomes.append("done")
        except RuntimeError as error:
            outcomes.append(str(error))
        if time.monotonic() < end or len(outcomes) < 3:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 5e-3))

    end = time.monotonic() + seconds
    with alarms(handler):
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        while time.monotonic() < end or len(outcomes) < 3:
            rng.choice([by_one, by_block])(model, samples(rng, 40))
    assert all(text == "done" or REFUSAL in text for text in outcomes), outcomes
    check_sound(model)


def forks(rng: random.Random, seconds: float) -> None:
    """Fork while a thread learns: the child refuses the model or finds it sound; others it uses."""
    model, other = any_kind(rng), by_one(any_kind(rng), samples(rng, 20))

    def fork() -> None:
        child = os.fork()
        if child == 0:
            faulthandler.register(signal.SIGALRM, chain=True)  # tells where it hangs
            signal.alarm(60)
            code = 1
            try:  # without dataframes: locks of other libraries do not survive a fork
                for each in (other, model):
                    by_one(each, rows[:3])
                    ask(each, PROBES[0])
                code = 0
            except RuntimeError as error:
                code = 0 if "was forked while another thread" in str(error) else 2
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code == 0, f"a child ended with {code}"

    rows = samples(rng, 40)
    together(seconds, lambda: rng.choice([by_one, by_block])(model, rows), fork)


ATTACKS = [four_learn, medley, prefixes, interrupts, errors_anywhere, handlers, forks]


def main(name: str, n_runs: str, seconds: str = "1.0", first: str = "0") -> int:
    """Run an attack, or all, so many times; return how many of them found something unsound."""
    warnings.simplefilter("ignore")  # of forks in a process with threads, and of odd values
    n_wrong = 0
    for attack in ATTACKS if name == "all" else [globals()[name]]:
        for seed in range(int(first), int(first) + int(n_runs)):
            print(f"{attack.__name__}: seed {seed}", flush=True)
            faulthandler.dump_traceback_later(float(seconds) + PATIENCE, exit=True)
            try:
                attack(random.Random(seed), float(seconds))
            except Exception:
                traceback.print_exc()
                n_wrong += 1
    print(f"{name}: {n_runs} runs, {n_wrong} not sound")
    return n_wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
