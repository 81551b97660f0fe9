"""Blocks, copies and files go on as the rows one by one would; and memory usage."""

import copy
import gc
import io
import pickle
import random
import tracemalloc

import forests
import pandas as pd
import pytest
import regressors
from forests import STREAM, VARIANTS, saved, state_of, trained

from river_amf import AdaptiveAMFClassifier, AMFRegressor, load

COPIES = {
    "protocol 2": lambda model: pickle.loads(pickle.dumps(model, 2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "clone": lambda model: model.clone(include_attributes=True),
    "copy of a copy": lambda model: copy.deepcopy(pickle.loads(pickle.dumps(model))),
    "file": lambda model: load(io.BytesIO(saved(model))),
}


def moving(n_samples=2400):
    """Return samples whose label depends on another feature every now and then: trees restart."""
    rng, samples = random.Random(6), []
    for i in range(n_samples):
        x = {"a": rng.random(), "b": rng.random(), "color": rng.choice(["red", "tan"])}
        label = (x["ab"[i // 600 % 2]] > 0.5) ^ (rng.random() < 0.05)
        samples.append((x, label, rng.choice([1.0, 1.0, 0.5])))
    return samples


@pytest.mark.usefixtures("chunks")
@forests.forests
def test_restarts_in_blocks_and_copies_equal_rows(kind):
    stream, parameters = moving(), {"drift_threshold": 0.5, "max_nodes": 61}
    is_regressor = issubclass(kind, AMFRegressor)
    if is_regressor:
        stream = [(x, float(5 * len(str(y)) + len(x)), w) for x, y, w in stream]
    rows, blocks, moved = (kind(3, seed=1, n_jobs=n, **parameters) for n in (1, 2, 1))
    expected = []
    for i, (x, y, w) in enumerate(stream):
        expected.append(rows.predict_one(x) if is_regressor else rows.predict_proba_one(x))
        rows.learn_one(x, y, w)
        moved.predict_one(x)
        moved.learn_one(x, y, w)
        if i % 60 == 20:
            moved = COPIES["copy of a copy"](COPIES["file"](moved))
    assert rows.n_restarts > 0
    for cut in (slice(1), slice(1, 63), slice(63, 66), slice(66, 150), slice(150, None)):
        X, y, w = map(list, zip(*stream[cut], strict=True))
        if is_regressor:
            assert blocks.predict_then_learn_many(pd.DataFrame(X), y, w).tolist() == expected[cut]
            continue
        proba = blocks.predict_proba_then_learn_many(pd.DataFrame(X), y, w)
        for row, p in zip(proba.to_dict("records"), expected[cut], strict=True):
            assert {label: row[label] for label in p} == p
    blocks.n_jobs = 1
    assert state_of(blocks) == state_of(rows) == state_of(moved)


# Every variant with some cuts, and each way to copy with some of both
FUTURES = [
    pytest.param(tools, stream, parameters, cut, way, id=f"{tools.__name__}: {name}, {cut}, {way}")
    for tools, stream, kinds in (
        (forests, STREAM, VARIANTS),
        (regressors, regressors.NUMBERS, regressors.REGRESSORS),
    )
    for i, (name, parameters) in enumerate(kinds.items())
    for j, cut in enumerate([0, 1, 100, 600] if name in ("default", "adaptive, budget") else [400])
    for way in ("file", [*COPIES][(i + j) % (len(COPIES) - 1)])
]


@pytest.mark.parametrize(("tools", "stream", "parameters", "cut", "way"), FUTURES)
def test_copies_have_equal_futures(tools, stream, parameters, cut, way):
    model = tools.trained(stream[:cut], **parameters)
    before = state_of(model)
    twin = COPIES[way](model)
    assert type(twin) is type(model)
    assert state_of(twin) == state_of(model) == before
    assert tools.answers(twin) == tools.answers(model)
    for array in twin._arena.arrays if cut else ():
        assert array.flags.owndata and array.flags.carray
    before = state_of(model)
    tools.learn(COPIES[way](model), stream[cut:])
    assert state_of(model) == before  # they share nothing
    for samples in (stream[cut:], stream[:50]):
        for forest in (model, twin):
            tools.learn(forest, samples)
        assert tools.answers(twin) == tools.answers(model)
        assert state_of(twin) == state_of(model)
        assert saved(twin) == saved(model)


@pytest.mark.parametrize(
    "parameters", [{}, {"max_nodes": 301}, {"split_pure": True}, {"kind": AdaptiveAMFClassifier}]
)
def test_memory_usage_equals_tracemalloc(parameters):
    def trained_model():
        model = trained([], **({"n_estimators": 5, "seed": 1} | parameters))
        for i in range(1000):
            x = {"a": i * 37 % 101, "b": i * 11 % 53, "color": f"color {i % 40}"}
            model.learn_one(x, f"label {i * i % 7}")
        return model

    trained_model()  # created once for all models
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    model = trained_model()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # the Python objects around the arrays do not count: a few kilobytes, whatever its size
    assert 0 <= after - before - model.memory_usage < 16_000 + 0.01 * after
    assert model._raw_memory_usage == model.memory_usage
