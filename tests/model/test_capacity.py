"""Lack of memory: a call that fails has changed nothing, and can be repeated."""

import functools
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from forests import STREAM, learn, state_of, trained
from regressors import NUMBERS
from test_naive import ADAPTIVE, check_same_tree, pair

from river_amf import AdaptiveAMFRegressor, AMFClassifier, inspection
from river_amf.engine import engine
from river_amf.state import arena as state
from river_amf.state import layout

GROWING = ["grown", "fit_rows", "extended"]
VARIANTS = {  # parameters and stream
    "plain": ({}, STREAM),
    "pure cells split": ({"split_pure": True}, STREAM),
    "adaptive": (ADAPTIVE | {"max_nodes": 201}, STREAM),
    "regressor": ({"kind": AdaptiveAMFRegressor}, NUMBERS),
}


def untrained(name):
    parameters, samples = VARIANTS[name]
    return trained([], n_estimators=2, **parameters), samples[:400]


@functools.cache
def learned_with_room(name):
    """Return the state of a forest that has learned the stream."""
    return state_of(learn(*untrained(name)))


def fail(patched, where, name, fails):
    """Let a function lack memory in some of its calls, by their number; return all calls."""
    function, calls = getattr(where, name), []

    def call(*arguments):
        what = arguments[1:2] if name == "grown" else name  # nodes and boxes are counted apart
        calls.append(what)
        if fails(calls.count(what)):
            raise MemoryError(name)
        return function(*arguments)

    patched.setattr(where, name, call)
    return calls


def learn_in_the_end(model, sample, content=None):
    """Learn a sample with any number of attempts; those that fail keep the model as it was."""
    while True:
        try:
            return learn(model, [sample])
        except MemoryError:
            assert content is None or state_of(model) == content
            for field in layout.FIELDS if model._has_learned else ():
                arena = model._arena
                array = getattr(arena, field)
                assert array.size == 0 or arena.handle[field] == array.ctypes.data


@pytest.mark.parametrize("name", VARIANTS)
def test_sample_without_room_changes_nothing(monkeypatch, name):
    expected = learned_with_room(name)
    # each fails once and then succeeds
    calls = {m: fail(monkeypatch, state.Arena, m, lambda n: n % 2) for m in GROWING}
    model, samples = untrained(name)
    for sample in samples:
        learn_in_the_end(model, sample, state_of(model))
    assert calls["grown"] and calls["extended"]
    assert state_of(model) == expected


# A chain of splits that needs more room than is available, so the kernel stops midway.
CHAIN = [*(({"a": 2.0**-k}, "far") for k in range(300)), ({"a": 0.0}, "near")]


def test_chain_of_splits_is_drawn_as_with_room():
    model, reference = pair(split_intensity="unit")
    for x, y in [*CHAIN[:120], CHAIN[-1]]:
        nodes = model._arena.nodes.shape[1] if model._has_learned else 0
        model.learn_one(x, y)
        reference.learn_one(x, y)
    assert model._arena.nodes.shape[1] > nodes
    for tree in range(2):
        check_same_tree(model, reference, tree)


NEXT_CALLS = {
    "learn_one": lambda model: model.learn_one({"a": 0.5}, "far", w=0.0),
    "predict_one": lambda model: model.predict_one({"a": 0.5}),
    "learn_many": lambda model: model.learn_many(pd.DataFrame({"a": [0.5]}), ["far"], [0.0]),
    "pickle": pickle.dumps,
    "node_table": inspection.node_table,
}


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["with_capacity", "learn_sample"])
@pytest.mark.parametrize("call", NEXT_CALLS)
def test_next_call_finishes_sample_of_some_trees(monkeypatch, error, where, call):
    model, twin = (AMFClassifier(n_estimators=3, seed=1) for _ in range(2))
    for x, y in [({"a": 1.0}, "near"), *CHAIN[:-1]]:
        for forest in (model, twin):
            forest.learn_one(x, y)
    twin.learn_one(*CHAIN[-1])
    model._engine.replace(model._engine.learned)  # without what earlier calls have kept
    with monkeypatch.context() as patched:
        kernel = engine.kernels.learn_sample
        is_kernel = where == "learn_sample"
        function = kernel.of(model._arena.kind) if is_kernel else engine.with_capacity

        def breaking(*arguments):
            status = function(*arguments)
            if not is_kernel or status < 0:  # stopped midway for lack of room
                raise error
            return status

        if is_kernel:
            patched.setattr(kernel, "of", lambda kind: breaking)
        else:
            patched.setattr(engine, where, breaking)
        with pytest.raises(error):
            model.learn_one(*CHAIN[-1])
    NEXT_CALLS[call](model)
    assert model._engine.unfinished is None
    assert state_of(model) == state_of(twin)


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
for i in range(1500):
    model.learn_one(sample(), "a")
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 20 * 2**20, -1))
try:
    model.learn_one(sample(), "b")  # a leaf of 1500 rows is to be split
except MemoryError:
    print("no memory")
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
model.learn_one(sample(), "a")
inspection.node_table(model)
assert pickle.loads(pickle.dumps(model)).predict_proba_one({}) == model.predict_proba_one({})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory can be limited on Linux")
def test_kernel_without_memory_leaves_model_sound():
    run = subprocess.run(
        [sys.executable, "-c", NO_MEMORY_IN_A_KERNEL],
        env=os.environ | {"NUMBA_DISABLE_JIT": "0"},  # uncompiled, it takes minutes
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.returncode, run.stdout) == (0, "no memory\n"), run.stderr


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFRegressor])
def test_memory_is_reserved_for_max_nodes(kind):
    rng, model = np.random.default_rng(0), kind(max_nodes=10_000, seed=1)
    X, y = pd.DataFrame(rng.random((5000, 20))), rng.integers(0, 2, 5000)
    model.learn_many(X[:3000], y[:3000])
    arena = model._arena
    assert arena.capacities["node"] == arena.capacities["box"] == 10_000
    assert sum(array.nbytes for array in arena.arrays) < 2**26
    assert model.memory_usage < 1.1 * pickle.loads(pickle.dumps(model)).memory_usage
    model.learn_many(X[3000:], y[3000:])
    assert model._arena.nodes is arena.nodes and model._arena.boxes is arena.boxes


NO_MEMORY_TO_RESERVE = """
import pickle, resource
import numpy as np, pandas as pd
from forests import state_of
from river_amf import AMFClassifier

rng = np.random.default_rng(0)
X, y = pd.DataFrame(rng.random((9000, 100))), rng.integers(0, 2, 9000)
model = AMFClassifier(seed=1)
model.learn_many(X[:5000], y[:5000])
twin, arena = pickle.loads(pickle.dumps(model)), model._arena
assert arena.boxes.nbytes > 2**29
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**29, -1))
for forest in model, twin:
    for x in X[5000:6000].assign(new=0.5), X[6000:]:
        forest.learn_many(x, y[x.index])
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
assert state_of(model) == state_of(twin)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory can be limited on Linux")
def test_forest_without_reserved_memory_learns():
    # uncompiled, it takes minutes
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", NO_MEMORY_TO_RESERVE], env=environment, check=True)


def test_too_many_classes_for_memory_are_refused():
    model = AMFClassifier(n_classes=10**12)
    before = state_of(model)
    with pytest.raises(MemoryError):
        model.learn_one({"a": 1.0}, "x")
    assert state_of(model) == before
