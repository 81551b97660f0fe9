"""Lack of memory: a call that fails has changed nothing, and can be repeated."""

import functools
import os
import pickle
import subprocess
import sys
from contextlib import suppress

import pandas as pd
import pytest
from test_naive import ADAPTIVE, check_same_tree, pair

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
)
from river_amf.engine import engine, growth
from river_amf.state import arena as state
from river_amf.state import layout

GROWING = ["grow_nodes", "grow_boxes", "fit_rows", "extended"]


def stream(n_samples=400):
    for i in range(n_samples):
        x = {"a": i * 37 % 101, "b": i * 11 % 53, "color": "rgby"[i * 7 % 4]}
        if i > 200:
            x["late"] = i % 13
        yield x, "even" if x["a"] * x["b"] % 5 < 2 else f"odd {i // 150}"


def numbers(n_samples=400):
    for x, y in stream(n_samples):
        yield x, 7.0 * len(y) + x["a"]


VARIANTS = {
    "plain": (AMFClassifier, {}, stream),
    "pure cells split": (AMFClassifier, {"split_pure": True}, stream),
    "budget": (AMFClassifier, {"max_nodes": 201}, stream),
    "adaptive": (AMFClassifier, ADAPTIVE, stream),
    "regressor": (AMFRegressor, {}, numbers),
    "adaptive regressor": (AdaptiveAMFRegressor, {}, numbers),
}
variants = pytest.mark.parametrize("name", VARIANTS)


def untrained(name):
    kind, parameters, samples = VARIANTS[name]
    return kind(n_estimators=2, seed=5, **parameters), samples()


@functools.cache
def learned_with_room(name):
    """Return the pickle of a forest that has learned the stream."""
    model, samples = untrained(name)
    for x, y in samples:
        model.learn_one(x, y)
    return pickle.dumps(model)


def failing(function, fails, calls):
    """Let a function lack memory whenever `fails` says so of the number of its calls."""

    def call(*arguments):
        calls.append(function.__name__)
        if fails(calls.count(function.__name__)):
            raise MemoryError(function.__name__)
        return function(*arguments)

    return call


@variants
def test_a_sample_for_which_there_is_no_room_leaves_the_model_as_it_was(monkeypatch, name):
    expected, calls = learned_with_room(name), []
    for method in GROWING:  # fails once and then succeeds
        original = getattr(state.Arena, method)
        monkeypatch.setattr(state.Arena, method, failing(original, lambda n: n % 2, calls))
    model, samples = untrained(name)
    for x, y in samples:
        before = pickle.dumps(model)
        while True:
            try:
                model.learn_one(x, y)
                break
            except MemoryError:
                assert pickle.dumps(model) == before
    assert set(calls) >= {"grow_nodes", "extended"}
    assert pickle.dumps(model) == expected


def test_a_chain_of_splits_that_waits_for_room_is_drawn_as_with_room():
    model, reference = pair(split_intensity="unit")
    for x, y in [*(({"a": 2.0**-k}, "far") for k in range(120)), ({"a": 0.0}, "near")]:
        nodes = model._arena.nodes.shape[1] if model._arena else 0
        model.learn_one(x, y)
        reference.learn_one(x, y)
    assert model._arena.nodes.shape[1] > nodes
    for tree in range(2):
        check_same_tree(model, reference, tree)


@pytest.mark.parametrize("period", [23, 24, 25])  # the first sample needs 20
@pytest.mark.parametrize("name", [name for name in VARIANTS if "regressor" not in name])
def test_wherever_memory_is_short_the_arrays_stay_in_step(monkeypatch, name, period):
    # each array in turn runs out of room
    expected, calls = learned_with_room(name), []
    fails = failing(state._resized, lambda n: n % period == 0, calls)
    monkeypatch.setattr(state, "_resized", fails)
    model, samples = untrained(name)
    for x, y in samples:
        is_learnt = False
        while not is_learnt:
            with suppress(MemoryError):
                model.learn_one(x, y)
                is_learnt = True
            if model._arena is not None:
                for field in layout.FIELDS:
                    array = getattr(model._arena, field)
                    assert model._arena.handle[field] == array.ctypes.data
    assert len(calls) > 2 * period
    assert pickle.dumps(model) == expected


# A chain of splits that needs more room than is available, so the kernel stops midway.
CROWD = [({"a": 2.0**-k}, "far") for k in range(300)]


def learn_a_list(model):
    with pytest.raises(TypeError):
        model.learn_one([], "far")


NEXT_CALLS = {
    "learn_one": lambda model: model.learn_one({"a": 0.5}, "far", w=0.0),
    "predict_one": lambda model: model.predict_one({"a": 0.5}),
    "learn_many": lambda model: model.learn_many(pd.DataFrame({"a": [0.5]}), ["far"], [0.0]),
    "predict_many": lambda model: model.predict_many(pd.DataFrame({"a": [0.5]})),
    "pickle": pickle.dumps,
    "memory_usage": lambda model: model.memory_usage,
    "node_table": inspection.node_table,
    "bad input": learn_a_list,
}


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["with_capacity", "learn_sample"])
@pytest.mark.parametrize("call", NEXT_CALLS)
def test_a_sample_that_some_trees_have_learned_is_finished_by_the_next_call(
    monkeypatch, error, where, call
):
    model, twin = (AMFClassifier(n_estimators=3, seed=1) for _ in range(2))
    for x, y in [({"a": 1.0}, "near"), *CROWD]:
        for forest in (model, twin):
            forest.learn_one(x, y)
    twin.learn_one({"a": 0.0}, "near")
    with monkeypatch.context() as patched:
        function = getattr(engine, where)

        def breaking(*arguments):
            status = function(*arguments)
            if where == "with_capacity" or status < 0:  # stopped midway, asking for room
                raise error
            return status

        patched.setattr(engine, where, breaking)
        with pytest.raises(error):
            model.learn_one({"a": 0.0}, "near")
    NEXT_CALLS[call](model)
    assert model._engine.pending is None
    assert model._arena.handle["next_tree"] == -1
    assert pickle.dumps(model) == pickle.dumps(twin)


@pytest.mark.parametrize("error", [TimeoutError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("is_prepared", [False, True])
def test_a_new_category_is_learned_whole_or_not_at_all(monkeypatch, error, is_prepared):
    # While it is prepared, all is taken back by the next call; from then on, all is done by it.
    model, before, after = (AdaptiveAMFClassifier(n_estimators=2, seed=1) for _ in range(3))
    for forest in (model, before, after):
        for i in range(20):
            forest.learn_one({"a": i % 7, "c": f"c{i % 3}"}, i % 7 < 3)
    after.learn_one({"a": 1, "c": "new"}, True)

    def fail(*_):
        raise error

    with monkeypatch.context() as patched:
        if is_prepared:
            patched.setattr(growth.Learned, "note_sizes", fail)
        else:
            patched.setattr(growth, "with_ready", fail)
        with pytest.raises(error):
            model.learn_one({"a": 1, "c": "new"}, True)
    twin = after if is_prepared else before
    assert pickle.dumps(model) == pickle.dumps(twin)


NO_MEMORY_IN_A_KERNEL = """
import pickle, resource
import numpy as np
from river_amf import AMFClassifier, inspection

rng = np.random.default_rng(0)
names = [f"f{j}" for j in range(3000)]
sample = lambda: dict(zip(names, rng.random(3000).tolist()))
warm = AMFClassifier(n_estimators=2, seed=1)
for i in range(50):
    warm.learn_one({"a": float(i * 37 % 11)}, i % 2)
pickle.dumps(warm)
model = AMFClassifier(n_estimators=2, seed=1)
model.learn_one({}, "b")
model.learn_one(sample(), "a")
for i in range(1500):
    model.learn_one(sample(), "a")
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 20 * 2**20, -1))
try:
    model.learn_one(sample(), "b")  # a leaf of 1500 rows is to be split
except MemoryError:
    print("no memory")
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
pickle.dumps(model)
model.learn_one(sample(), "a")
own = np.arange(model._arena.links.shape[1])
assert not (model._arena.links == own).any()
inspection.node_table(model)
assert pickle.loads(pickle.dumps(model)).predict_proba_one({}) == model.predict_proba_one({})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory can be limited on Linux")
def test_a_kernel_that_finds_no_memory_leaves_a_model_that_goes_on():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}  # uncompiled, it takes minutes
    run = subprocess.run(
        [sys.executable, "-c", NO_MEMORY_IN_A_KERNEL],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "no memory\n"


def test_more_classes_than_memory_holds_are_refused_with_nothing_learnt():
    model = AMFClassifier(n_classes=10**12)
    before = pickle.dumps(model)
    with pytest.raises(MemoryError):
        model.learn_one({"a": 1.0}, "x")
    assert pickle.dumps(model) == before
