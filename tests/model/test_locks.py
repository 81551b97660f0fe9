"""Whose turn it is to use a model, and that weights stay within what sums can hold."""

import _thread
import copy
import math
import os
import pickle
import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest
from forests import state_of

from river_amf import AdaptiveAMFClassifier, AMFClassifier, kernels
from river_amf.engine.blocks import run_in_threads
from river_amf.kernels.numba_tools.compilation import uninterrupted

SOON = 30.0  # seconds, after which a test has failed


def started(call, *arguments):
    thread = threading.Thread(target=call, args=arguments, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def model():
    model = AMFClassifier(seed=1)
    for i in range(50):
        model.learn_one({"a": i % 7}, i % 7 < 3)
    return model


def test_lock_orders_calls_of_threads(model):
    begun, over, order = threading.Event(), threading.Event(), []

    def stay():
        begun.set()
        over.wait(SOON)
        order.append("stayed")

    def learn():
        model.learn_one({"a": 1}, True)
        order.append("learned")

    threads = [started(model._engine.run, stay)]
    assert begun.wait(SOON)
    threads.append(started(learn))
    threads[1].join(0.05)
    assert not order
    over.set()
    for thread in threads:
        thread.join(SOON)
    assert order == ["stayed", "learned"] and model.n_samples == 51


def in_child(call):
    """Return whether a call is refused in a process that is forked now."""
    child = os.fork()
    if child == 0:
        try:
            call()
        except RuntimeError as error:
            os._exit(2 if "was forked while another thread" in str(error) else 1)
        os._exit(0)
    return {0: False, 2: True}[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_fork_refuses_a_model_in_use(model):
    begun, over, other = threading.Event(), threading.Event(), AMFClassifier(seed=1)
    thread = started(model._engine.run, lambda: (begun.set(), over.wait(SOON)))
    assert begun.wait(SOON)
    assert in_child(lambda: model.learn_one({"a": 1}, True))
    assert in_child(lambda: model._labels)
    assert not in_child(lambda: other.learn_one({"a": 1}, True))
    over.set()
    thread.join(SOON)
    assert not in_child(lambda: model.learn_one({"a": 1}, True))
    model._engine.run(lambda: in_child(lambda: model._features))  # in the middle of its own call


class Nosy:
    """A label that asks the model while it is compared or hashed."""

    def __init__(self, call):
        self.call = call

    def __hash__(self):
        return hash(True)

    def __eq__(self, other):
        self.call()
        return False


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_nested_call_raises_and_changes_nothing(kind):
    model = kind()
    model.learn_one({}, True)
    calls = [
        lambda: model.predict_one({}),
        lambda: model.learn_one({}, False),
        lambda: pickle.dumps(model),
        lambda: model.save("nowhere"),
        lambda: model.memory_usage,
        lambda: model.novelty_one({}),
        lambda: model.predict_many(pd.DataFrame({"a": [1]})),
    ]
    before = state_of(model)
    for call in calls:
        with pytest.raises(RuntimeError, match="in the middle of another call"):
            model.learn_one({}, Nosy(call))
        assert state_of(model) == before


def test_run_in_threads_returns_or_raises():
    made = []
    run_in_threads([partial(made.append, k) for k in range(3)], [])
    assert sorted(made) == [0, 1, 2]

    def fail():
        raise MemoryError("of a thread")

    for k in range(3):
        calls = [int, int, int]
        calls[k] = fail
        with pytest.raises(MemoryError, match="of a thread"):
            run_in_threads(calls, [])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("has_begun", [True, False])
@pytest.mark.parametrize("name", ["learn_many", "predict_many"])
def test_thread_of_an_interrupted_call(name, has_begun, model, monkeypatch):
    """If the thread has begun, the next call comes after it; else it does nothing any more."""
    start, run_chunk, threads = _thread.start_new_thread, kernels.run_chunk, []
    gate, begun, ended, over = (threading.Event() for _ in range(4))

    def run(*arguments):
        if threading.get_ident() not in threads:
            return run_chunk(*arguments)
        begun.set()
        gate.wait(SOON)
        answer = run_chunk(*arguments)
        ended.set()
        return answer

    def start_and_raise(function, arguments):
        def call():
            threads.append(threading.get_ident())
            if not has_begun:
                gate.wait(SOON)
            function(*arguments)
            over.set()

        start(call, ())
        assert not has_begun or begun.wait(SOON)
        raise KeyboardInterrupt

    model.n_jobs, X = 2, pd.DataFrame({"a": np.arange(40) % 7})
    arguments, twin = (X, X["a"] < 3)[: 1 + (name == "learn_many")], copy.deepcopy(model)
    getattr(twin, name)(*arguments)
    monkeypatch.setattr(kernels, "run_chunk", run)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_thread, "start_new_thread", start_and_raise)
        getattr(model, name)(*arguments)
    if hasattr(os, "fork"):
        assert in_child(lambda: model.learn_one({"a": 1}, True)) == has_begun
    if has_begun:
        threading.Timer(0.1, gate.set).start()
    model.learn_one({"a": 1}, True)
    assert ended.is_set() == has_begun
    gate.set()
    assert over.wait(SOON) and begun.is_set() == has_begun
    twin.learn_one({"a": 1}, True)
    assert state_of(model) == state_of(twin)


def test_interrupted_compiler_is_no_obstacle(monkeypatch):
    start, ended = _thread.start_new_thread, threading.Event()

    def start_and_raise(*arguments):
        start(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_thread, "start_new_thread", start_and_raise)
        uninterrupted(lambda _: ended.set(), None)
    assert ended.wait(SOON) and uninterrupted(str, 1) == "1"
    with pytest.raises(ValueError, match="invalid literal"):
        uninterrupted(int, "one")


HEAVY = 1e300


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_sum_of_weights_is_bounded(kind):
    model = kind(vote="mean")  # others take weights as relative
    n = 99_000
    X = pd.DataFrame({"a": np.arange(n) % 10})
    model.learn_many(X, X.a < 5, np.full(n, HEAVY))
    before = state_of(model)
    with pytest.raises(ValueError, match=r"row 1\d\d\d: with w=1e\+300, .* more than 1e\+305"):
        model.learn_many(X[:2000], X.a[:2000] < 5, np.full(2000, HEAVY))
    assert state_of(model) == before
    n_learned = 0
    with pytest.raises(ValueError, match="more than 1e"):
        while n_learned < 2000:
            model.learn_one({"a": n_learned % 10}, n_learned % 10 < 5, HEAVY)
            n_learned += 1
    assert 990 < n_learned < 1010
    for y in (True, "new"):  # nor together with a new label
        with pytest.raises(ValueError, match="more than 1e"):
            model.learn_one({"a": 1}, y, HEAVY)
    model.learn_one({"a": 3}, True)
    proba = model.predict_proba_one({"a": 3})
    assert all(map(math.isfinite, proba.values()))
    assert sum(proba.values()) == pytest.approx(1.0)
