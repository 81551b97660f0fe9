"""Lack of memory: a call that fails has changed nothing, and can be repeated."""

import functools
import os
import pickle
import subprocess
import sys
from contextlib import suppress

import pandas as pd
import pytest
from regressors import NUMBERS, fresh, kinds, trained
from test_naive import ADAPTIVE, check_same_state, check_same_tree, pair

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.engine import known, sample_engine
from river_amf.state import arena as state
from river_amf.state import layout

GROWING = ["grow_nodes", "grow_boxes", "fit_rows", "extended"]
ORIGINAL = {name: getattr(state.Arena, name) for name in GROWING}


@pytest.fixture
def short_of_memory(monkeypatch):
    """Let every request for room fail once and then succeed."""
    failed = []

    def failing_first(method):
        def call(arena, *arguments):
            failed.append(method.__name__)
            if failed.count(method.__name__) % 2:
                raise MemoryError(method.__name__)
            return method(arena, *arguments)

        return call

    for name in GROWING:
        monkeypatch.setattr(state.Arena, name, failing_first(getattr(state.Arena, name)))
    return failed


def stream(n_samples=400):
    for i in range(n_samples):
        x = {"a": i * 37 % 101, "b": i * 11 % 53, "color": "rgby"[i * 7 % 4]}
        if i > 200:
            x["late"] = i % 13
        yield x, "even" if x["a"] * x["b"] % 5 < 2 else f"odd {i // 150}"


VARIANTS = {
    "plain": {},
    "pure cells split": {"split_pure": True},
    "budget": {"max_nodes": 201},
    "adaptive": ADAPTIVE,
}
variants = pytest.mark.parametrize("name", VARIANTS)


@functools.cache
def reference_of(name):
    """Return the reference after it has learned the stream, which takes a second."""
    _, reference = pair(**VARIANTS[name])
    for x, y in stream():
        reference.learn_one(x, y)
    return reference


def check_same(model, reference):
    """Compare a whole forest with the reference."""
    check_same_state(model, reference)
    for tree in range(2):
        check_same_tree(model, reference, tree)


@variants
def test_a_sample_for_which_there_is_no_room_leaves_the_model_as_it_was(short_of_memory, name):
    model, _ = pair(**VARIANTS[name])
    for x, y in stream():
        before = pickle.dumps(model)
        while True:
            try:
                model.learn_one(x, y)
                break
            except MemoryError:
                assert pickle.dumps(model) == before
    assert set(short_of_memory) >= {"grow_nodes", "extended"}
    check_same(model, reference_of(name))


@kinds
def test_a_regression_for_which_there_is_no_room_stays_as_it_was(short_of_memory, kind):
    model, samples = fresh(kind=kind), NUMBERS[:450]
    for x, y, w in samples:
        before = pickle.dumps(model)
        while True:
            try:
                model.learn_one(x, y, w)
                break
            except MemoryError:
                assert pickle.dumps(model) == before
    assert set(short_of_memory) >= {"grow_nodes", "grow_boxes", "extended"}
    with pytest.MonkeyPatch.context() as patched:
        for name in GROWING:
            patched.setattr(state.Arena, name, ORIGINAL[name])
        assert pickle.dumps(model) == pickle.dumps(trained(samples, kind=kind))


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
@variants
def test_wherever_memory_is_short_the_arrays_stay_in_step(monkeypatch, name, period):
    # each array in turn runs out of room
    calls = []

    def failing_now_and_then(function):
        def call(*arguments):
            calls.append(function.__name__)
            if len(calls) % period == 0:
                raise MemoryError(function.__name__)
            return function(*arguments)

        return call

    monkeypatch.setattr(state, "_resized", failing_now_and_then(state._resized))
    model, _ = pair(**VARIANTS[name])
    for x, y in stream():
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
    check_same(model, reference_of(name))


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
        function = getattr(sample_engine, where)

        def breaking(*arguments):
            status = function(*arguments)
            if where == "with_capacity" or status < 0:  # stopped midway, asking for room
                raise error
            return status

        patched.setattr(sample_engine, where, breaking)
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
            patched.setattr(known.Known, "note_sizes", fail)
        else:
            patched.setattr(known, "with_ready", fail)
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
