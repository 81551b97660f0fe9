"""Blocks, copies and files go on as the rows one by one would; and memory usage."""

import copy
import gc
import pickle
import random
import tracemalloc

import pandas as pd
import pytest
import test_outliers
import test_places
import test_presence
from forests import STREAM, VARIANTS, answers, content, learn, trained, variants, visits

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor, load
from river_amf.state import arena as state
from river_amf.state import layout


def pickled_by(protocol):
    return lambda model: pickle.loads(pickle.dumps(model, protocol))


COPIES = {
    f"protocol {protocol}": pickled_by(protocol)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
} | {
    "deepcopy": copy.deepcopy,
    "copy of a copy": lambda model: copy.deepcopy(pickle.loads(pickle.dumps(model))),
}


# Streams of all kinds


def moving(n_samples=2400):
    """Return samples whose label depends on another feature every now and then: trees restart."""
    rng, samples = random.Random(6), []
    for i in range(n_samples):
        x = {"a": rng.random(), "b": rng.random(), "color": rng.choice(["red", "tan"])}
        label = (x["ab"[i // 600 % 2]] > 0.5) ^ (rng.random() < 0.05)
        samples.append((x, label, rng.choice([1.0, 1.0, 0.5])))
    return samples


def outliers():
    """Return samples with sentinels, and with far values that are believed."""
    samples = test_outliers.with_sentinels(test_outliers.STREAM[:900], 1e9, every=40, first=3)
    samples[450:460] = [(x | {"c": -1e5}, y) for x, y in samples[450:460]]
    return [(x, y, 1.0) for x, y in samples]


SHOPS = [(x, y > 0, w) for x, y, w in test_places.STREAM]
COSINES = {"vote": "learned", "linear": True, "max_categories": 5}
RESTARTS = {"drift_threshold": 0.5}
OF_ALL = {
    "one category": ({"max_categories": 1}, [*visits(200)]),
    "few categories": ({"max_categories": 5}, [*visits(200)]),
    "outliers": ({}, outliers()),
    "restarts": (RESTARTS, moving()),
    "restarts, budget": (RESTARTS | {"max_nodes": 61}, moving()),
    "absence": ({}, test_presence.CHANGING),
    "absence, few categories": ({"max_categories": 2}, test_presence.CHANGING),
    "shops": ({}, SHOPS),
    "shops, of which some are forgotten": ({"max_categories": 100}, SHOPS),
}
CASES = {
    f"{kind.__name__}, {name}": (kind, *case)
    for kind in (AMFClassifier, AdaptiveAMFClassifier, AMFRegressor, AdaptiveAMFRegressor)
    for name, case in OF_ALL.items()
} | {
    "cosines": (
        AMFClassifier,
        COSINES,
        [(x, y, w * (i % 13 != 5)) for i, (x, y, w) in enumerate(STREAM)],
    ),
    "outliers, pure cells": (AMFClassifier, {"split_pure": True}, outliers()),
    "outliers, relevance": (AMFClassifier, {"split_intensity": "relevance"}, outliers()),
    "restarts, vote": (AMFClassifier, RESTARTS | {"vote": "learned"}, moving()),
}


@pytest.mark.parametrize(("kind", "parameters", "stream"), CASES.values(), ids=CASES)
def test_blocks_copies_and_files_are_like_rows_on_any_stream(kind, parameters, stream, tmp_path):
    is_regressor = issubclass(kind, AMFRegressor)
    if is_regressor:
        stream = [(x, float(5 * len(str(y)) + len(x)), w) for x, y, w in stream]
    rows, blocks, moved = (kind(3, seed=1, n_jobs=n, **parameters) for n in (1, 2, 1))
    expected = []
    for i, (x, y, w) in enumerate(stream):
        expected.append(rows.predict_one(x) if is_regressor else rows.predict_proba_one(x))
        rows.learn_one(x, y, w)
        moved.learn_one(x, y, w)
        if i % 60 == 20:
            moved.save(tmp_path / "model")
            moved = copy.deepcopy(pickle.loads(pickle.dumps(load(tmp_path / "model"))))
    assert rows.n_drifts_detected() > 0 or "drift_threshold" not in parameters
    for cut in (slice(1), slice(1, 63), slice(63, 66), slice(66, 150), slice(150, None)):
        X, y, w = map(list, zip(*stream[cut], strict=True))
        if is_regressor:
            assert blocks.predict_then_learn_many(pd.DataFrame(X), y, w).tolist() == expected[cut]
            continue
        proba = blocks.predict_proba_then_learn_many(pd.DataFrame(X), y, w)
        for row, p in zip(proba.to_dict("records"), expected[cut], strict=True):
            assert {label: row[label] for label in p} == p
    blocks.n_jobs = 1
    assert content(blocks) == content(rows) == content(moved)


# Pickle and deepcopy


# Every variant with every cut, and each way to copy with some of both.
FUTURES = [
    pytest.param(parameters, cut, make_copy, id=f"{name}, {cut} samples, {way}")
    for i, (name, parameters) in enumerate(VARIANTS.items())
    for j, cut in enumerate([0, 1, 100, 600])
    for way, make_copy in [[*COPIES.items()][(i + j) % len(COPIES)]]
]


@pytest.mark.parametrize(("parameters", "cut", "make_copy"), FUTURES)
def test_equal_futures_after_a_copy(parameters, cut, make_copy):
    model = trained(STREAM[:cut], **parameters)
    twin = make_copy(model)
    assert answers(twin) == answers(model)
    for i, (x, label, weight) in enumerate(STREAM[cut:]):
        if i < 9 or i % 9 == 0:
            assert twin.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, label, w=weight)
        twin.learn_one(x, label, w=weight)
    assert answers(twin) == answers(model)
    assert pickle.dumps(twin) == pickle.dumps(model)


@variants
def test_neither_the_copy_nor_the_original_touches_the_other(parameters):
    model = trained(STREAM[:300], **parameters)
    before = pickle.dumps(model)
    twin = copy.deepcopy(model)
    learn(copy.deepcopy(model), STREAM[300:])
    learn(pickle.loads(before), STREAM[300:])
    assert pickle.dumps(model) == before
    learn(model, STREAM[300:])
    assert pickle.dumps(twin) == before


# What is in a pickle


@variants
def test_a_pickle_is_what_is_in_use_and_nothing_else(parameters):
    data = pickle.dumps(trained(STREAM, **parameters))
    model = pickle.loads(data)
    assert pickle.dumps(model) == data
    arena = model._arena
    lengths = layout.lengths_in_use(arena.settings, arena.counters, arena.trees)
    assert {axis: arena.capacities[axis] for axis in lengths} == lengths


# Clone


@variants
def test_a_clone_is_untrained_and_becomes_the_same_model(parameters):
    model = trained(STREAM[:300], **parameters)
    before = pickle.dumps(model)
    clone = model.clone()
    assert clone._get_params() == model._get_params()
    assert clone.clone().predict_proba_one({}) == {}
    assert pickle.dumps(clone) == pickle.dumps(trained([], **parameters))
    assert pickle.dumps(learn(clone, STREAM[:300])) == before
    learn(clone, STREAM[300:])
    assert pickle.dumps(model) == before


def test_a_shallow_copy_shares_nothing_either():
    for n in (0, 300):
        model = trained(STREAM[:n])
        before = pickle.dumps(model)
        learn(copy.copy(model), STREAM[n : n + 300])
        assert pickle.dumps(model) == before


def test_a_pickle_of_another_layout_is_refused(monkeypatch):
    data = pickle.dumps(trained(STREAM[:50]))
    monkeypatch.setattr(state, "LAYOUT", "another")
    with pytest.raises(ValueError, match="another release"):
        pickle.loads(data)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"max_nodes": 301}, {"split_pure": True}, {"kind": AdaptiveAMFClassifier}],
)
def test_memory_usage_is_what_the_interpreter_has_given(parameters):
    samples = [
        ({"a": i * 37 % 101, "b": i * 11 % 53, "color": f"color {i % 40}"}, f"label {i * i % 7}")
        for i in range(1000)
    ]

    def learnt():
        model = trained([], **({"n_estimators": 5, "seed": 1} | parameters))
        for x, label in samples:
            model.learn_one(x, label)
        return model

    learnt()  # created once for all models
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        model = learnt()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # the Python objects around the arrays do not count: a few kilobytes, whatever its size
    assert 0 <= after - before - model.memory_usage < 16_000 + 0.01 * after
    assert model._raw_memory_usage == model.memory_usage
