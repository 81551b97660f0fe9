"""No attack by threads, interrupts or forks crashes, hangs or corrupts a model.

Each runs in a process of its own. Errors at any line of a call are in `tests/model/test_faults.py`.
"""

import copy
import faulthandler
import math
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from forests import QUESTIONS, STREAM, VARIANTS, state_of
from forests import learn as learn_rows
from regressors import NUMBERS, REGRESSORS

import river_amf
from river_amf import AMFClassifier, AMFRegressor, inspection

PATIENCE = 180.0  # seconds beyond its own time after which an attack counts as hanging
ERRORS, MESSAGE = (KeyboardInterrupt, TimeoutError, ValueError), ("of the handler",)
PACKAGE = str(Path(river_amf.__file__).parent)
PARAMETERS = [{"kind": AMFClassifier} | parameters for parameters in VARIANTS.values()]
PARAMETERS += [{"kind": AMFRegressor} | parameters for parameters in REGRESSORS.values()]


def any_kind(rng, **more):
    parameters = {"n_estimators": 4, "seed": 7} | rng.choice(PARAMETERS)
    return parameters.pop("kind")(**parameters | more, n_jobs=rng.choice([1, 2]))


def samples(rng, model, n_samples):
    start = rng.randrange(len(STREAM) - n_samples)
    rows = NUMBERS if isinstance(model, AMFRegressor) else STREAM
    rows = rows[start : start + n_samples]
    # all have the same features, as in blocks; gaps are missing to all kinds
    names = dict.fromkeys(name for x, _, _ in rows for name in x)
    return [({name: x.get(name) for name in names}, y, w) for x, y, w in rows]


def learn_block(model, rows):
    if rows:
        xs, labels, weights = zip(*rows, strict=True)
        model.learn_many(pd.DataFrame(list(xs)), list(labels), list(weights))
    return model


def predict(model, x):
    """Return probabilities, or an interval of a regressor, after a check."""
    if isinstance(model, AMFRegressor):
        interval = model.predict_interval_one(x)
        assert interval.lower <= interval.upper  # infinite before the second target
        return interval
    proba = model.predict_proba_one(x)
    assert not proba or math.isclose(sum(proba.values()), 1.0, abs_tol=1e-9), proba
    return proba


READS = [
    lambda model: [predict(model, x) for x in QUESTIONS[-5:]],
    lambda model: str(model.predict_many(pd.DataFrame(QUESTIONS[:3])).tolist()),
    lambda model: pickle.dumps(copy.deepcopy(model)),
    lambda model: str(inspection.node_table(model, 0)),
    lambda model: model.debug_one(QUESTIONS[0]),
    lambda model: model.memory_usage > 0,
]


def check_sound(model):
    """Check that a forest equals its copy, also after both have learned more."""
    twin = pickle.loads(pickle.dumps(model))
    rows = samples(random.Random(5), model, 60)
    for forest in (model, twin):
        learn_block(learn_rows(forest, rows[:30]), rows[30:])
        READS[0](forest)
    assert state_of(model) == state_of(twin)


def together(seconds, *calls):
    """Repeat each call in a thread of its own until time is over, or one of them fails."""
    end, interval = time.monotonic() + seconds, sys.getswitchinterval()

    def repeat(call):
        while time.monotonic() < end:
            call()

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(calls)) as pool:
            [*pool.map(repeat, calls)]
    finally:
        sys.setswitchinterval(interval)


def threads(rng, seconds):
    """Threads learn, predict, copy and inspect: all trees have learned all samples."""
    model, weights = any_kind(rng), [[], []]
    if "drift_threshold" in model._parameters:
        model.drift_threshold = None  # a tree that restarts has learned fewer samples

    def learn(learned):
        rows = samples(rng, model, 40)
        rng.choice([learn_rows, learn_block])(model, rows)
        learned += [w for _, _, w in rows]

    learn(weights[0])
    learners = [partial(learn, learned) for learned in weights]
    together(seconds, *learners, *(partial(read, model) for read in READS))
    total = math.fsum(weights[0] + weights[1])
    for tree in range(len(model)):
        table = inspection.node_table(model, tree)
        n_samples = table["n_samples"][table["parent"] < 0].item()
        assert n_samples == pytest.approx(total if model.vote == "mean" else model.n_samples)
    n_rows = sum(w > 0.0 for w in weights[0] + weights[1])  # weights of a learned vote are relative
    assert model._engine.arena.n_learned[0] == n_rows
    check_sound(model)


@contextmanager
def alarms(handler):
    """Let a function handle the timer's signals for a while."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def interrupt(call, rng, duration):
    """Run a call that a signal handler breaks off at some time, up to three times in a row."""
    error, left = rng.choice(ERRORS), rng.choice([1, 1, 2, 3])

    def handler(_, frame):
        nonlocal left
        while frame is not None and frame.f_code is not guarded.__code__:
            frame = frame.f_back
        if frame is not None and left:
            left -= 1
            raise error(*MESSAGE)

    def guarded():
        signal.setitimer(signal.ITIMER_REAL, max(rng.uniform(0, 1.2 * duration), 1e-6), 2e-4)
        call()

    try:
        with alarms(handler):
            guarded()
    except (*ERRORS, TypeError, RuntimeError) as raised:
        *_, last = traceback.extract_tb(raised.__traceback__)
        # pandas and threading turn some errors into others of their own; we must not
        while raised.args != MESSAGE and PACKAGE not in last.filename and raised.__context__:
            raised = raised.__context__
        assert raised.args == MESSAGE, "the exception has been rewritten"


def interrupts(rng, seconds):
    """Break calls off by signals: some first rows have been learned, and the others can be."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        call = rng.choice([learn_rows, learn_block, learn_block])
        model = any_kind(rng, max_delayed_labels=0)  # a kept prediction is no other state
        learn_rows(model, samples(rng, model, rng.choice([0, 20, 60])))
        rows = samples(rng, model, 1 if call is learn_rows else rng.choice([5, 60]))
        states = [state_of(model)]
        states += [state_of(learn_rows(model, [row])) for row in rows]
        start = time.perf_counter()
        call(pickle.loads(states[0]), rows)
        duration = rng.choice([0.3, 1.0]) * (time.perf_counter() - start)
        for _ in range(8):
            model = pickle.loads(states[0])
            interrupt(partial(call, model, rows), rng, duration)
            read = rng.choice(READS)
            answer, content = read(model), state_of(model)
            assert read(pickle.loads(content)) == answer
            assert content in states, f"none of {len(states)} states"
            call(model, rows[states.index(content) :])
            assert state_of(model) == states[-1], "goes on otherwise"


def handlers(rng, seconds):
    """Use a model in a handler: it is refused, or comes between two calls; others are not."""
    model, other, n_calls = any_kind(rng), any_kind(rng), 0
    READS[1](learn_block(other, samples(rng, other, 20)))  # pandas takes a lock to import

    def handler(*_):
        nonlocal n_calls
        rng.choice(READS)(other)
        try:
            rng.choice([partial(learn_rows, samples=samples(rng, model, 1)), *READS])(model)
        except RuntimeError as error:
            assert "in the middle of another call of the same model" in str(error)
        n_calls += 1
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 5e-3))

    end = time.monotonic() + seconds
    with alarms(handler):
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        while time.monotonic() < end or n_calls < 3:
            rng.choice([learn_rows, learn_block])(model, samples(rng, model, 40))
    check_sound(model)


def forks(rng, seconds):
    """Fork while a thread learns: the child refuses the model or finds it sound; others it uses."""
    model, other = any_kind(rng), any_kind(rng)
    rows, other_rows = (samples(rng, forest, 40) for forest in (model, other))
    learn_rows(other, other_rows[:20])

    def fork():
        child = os.fork()
        if child == 0:
            faulthandler.register(signal.SIGALRM, chain=True)  # prints where it hangs
            signal.alarm(60)
            code = 1
            try:  # without dataframes: locks of other libraries do not survive a fork
                predict(learn_rows(other, other_rows[:3]), QUESTIONS[0])
                predict(learn_rows(model, rows[:3]), QUESTIONS[0])
                code = 0
            except RuntimeError as error:
                code = 0 if "was forked while another thread" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    together(seconds, lambda: rng.choice([learn_rows, learn_block])(model, rows), fork)


ATTACKS = {attack.__name__: attack for attack in (threads, interrupts, handlers, forks)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_runs", "seconds"), [(1, 0.2), pytest.param(100, 0.5, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("name", ATTACKS)
def test_model_survives_attacks(name, n_runs, seconds):
    run = subprocess.run(
        [sys.executable, __file__, name, str(n_runs), str(seconds)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-200:] + run.stderr[-4000:]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of forks in a process with threads, and of odd values
    attack, n_runs, seconds = ATTACKS[sys.argv[1]], int(sys.argv[2]), float(sys.argv[3])
    for seed in range(n_runs):
        print(f"{attack.__name__}: seed {seed}", flush=True)
        faulthandler.dump_traceback_later(seconds + PATIENCE, exit=True)
        attack(random.Random(seed), seconds)
