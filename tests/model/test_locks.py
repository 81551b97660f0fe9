"""Whose turn it is to use a model, and that weights stay within what sums can hold."""

import math
import pickle
import threading

import numpy as np
import pandas as pd
import pytest

from river_amf import AdaptiveAMFClassifier, AMFClassifier, OnlineDummyClassifier
from river_amf.locks import ModelLock
from river_amf.workers import Workers

SOON = 30.0  # seconds, after which a test has failed


def started(call, *arguments):
    thread = threading.Thread(target=call, args=arguments, daemon=True)
    thread.start()
    return thread


class Reading:
    """A call that reads a model until it is told to stop."""

    def __init__(self, lock):
        self.begun, self.over = threading.Event(), threading.Event()
        self.thread = started(lock.read, self.begun.set, self.over.wait, SOON)
        assert self.begun.wait(SOON)

    def stop(self):
        self.over.set()
        self.thread.join(SOON)


@pytest.fixture
def model():
    model = AMFClassifier(seed=1)
    for i in range(50):
        model.learn_one({"a": i % 7}, i % 7 < 3)
    return model


def test_predictions_and_other_readers_run_beside_a_reader_and_learning_waits(model):
    first = Reading(model._engine.lock)
    assert model.predict_one({"a": 1}) is True
    assert len(model.predict_many(pd.DataFrame({"a": [1, 5]}))) == 2
    second = Reading(model._engine.lock)
    learner = started(model.learn_one, {"a": 1}, True)
    learner.join(0.05)
    assert learner.is_alive()
    assert model.predict_one({"a": 1}) is True  # it overtakes the learner
    late = started(model.predict_many, pd.DataFrame({"a": [1]}))
    late.join(0.05)
    assert late.is_alive()  # but a reader that came later does not
    for reading in (first, second):
        reading.stop()
    for thread in (learner, late):
        thread.join(SOON)
        assert not thread.is_alive()
    assert model._engine.total_weight == 51
    assert not model._engine.lock.waiting


def test_calls_wait_in_order_of_arrival():
    lock, order, threads = ModelLock(), [], []
    inside, leave = threading.Event(), threading.Event()

    def stay():
        inside.set()
        leave.wait(SOON)

    threads.append(started(lock.run_alone, stay))
    assert inside.wait(SOON)
    for k in range(5):
        threads.append(started([lock.run, lock.run_alone][k % 2], order.append, k))
        while len(lock.waiting) <= k:
            threading.Event().wait(0.001)
    leave.set()
    for thread in threads:
        thread.join(SOON)
    assert order == [0, 1, 2, 3, 4]


class Nosy:
    """A label that asks the model while it is compared or hashed."""

    def __init__(self, call):
        self.call = call

    def __hash__(self):
        return hash(True)

    def __eq__(self, other):
        self.call()
        return False


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier])
def test_a_call_in_the_middle_of_another_is_an_error_and_changes_nothing(kind):
    model = kind()
    model.learn_one({}, True)
    calls = [
        lambda: model.predict_one({}),
        lambda: model.learn_one({}, False),
        lambda: pickle.dumps(model),
        lambda: model.save("nowhere"),
    ]
    if kind is not OnlineDummyClassifier:
        calls += [lambda: model.memory_usage, lambda: model.predict_many(pd.DataFrame({"a": [1]}))]
    else:
        del calls[0]  # its predictions need no lock
    before = pickle.dumps(model)
    for call in calls:
        with pytest.raises(RuntimeError, match="in the middle of another call"):
            model.learn_one({}, Nosy(call))
        assert pickle.dumps(model) == before


def test_a_reader_cannot_learn_in_the_same_thread(model):
    with pytest.raises(RuntimeError, match="in the middle of another call"):
        model._engine.lock.read(lambda: None, model.learn_one, {"a": 1}, True)
    model.learn_one({"a": 1}, True)


def test_workers_return_results_and_raise_the_error_of_any():
    assert Workers([lambda: 1, lambda: 2, lambda: 3]).run() == [1, 2, 3]

    def fail():
        raise MemoryError("of a thread")

    for k in range(3):
        calls = [lambda: 1, lambda: 2, lambda: 3]
        calls[k] = fail
        with pytest.raises(MemoryError, match="of a thread"):
            Workers(calls).run()


def test_workers_that_were_interrupted_can_be_waited_for():
    begun, over, done = threading.Event(), threading.Event(), []

    def long():
        begun.set()
        over.wait(SOON)
        done.append(True)

    def interrupted():
        assert begun.wait(SOON)
        raise KeyboardInterrupt

    workers = Workers([interrupted, long])
    with pytest.raises(KeyboardInterrupt):
        workers.run()
    assert not done
    over.set()
    workers.wait()
    assert done


# Weights

HEAVY = 1e300


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier])
def test_weights_that_would_sum_to_too_much_are_refused(kind):
    model = kind()
    n = 99_000
    if kind is OnlineDummyClassifier:
        model._learn_labels(np.array([True, False] * (n // 2)), np.full(n, HEAVY))
    else:
        X = pd.DataFrame({"a": np.arange(n) % 10})
        model.learn_many(X, X.a < 5, np.full(n, HEAVY))
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=r"row 1\d\d\d: with w=1e\+300, .* more than 1e\+305"):
            model.learn_many(X[:2000], X.a[:2000] < 5, np.full(2000, HEAVY))
        assert pickle.dumps(model) == before
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
