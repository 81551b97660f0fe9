"""Pickles, deep copies and clones behave and continue like the original; and memory usage."""

import copy
import gc
import pickle
import tracemalloc

import pytest
from forests import STREAM, VARIANTS, answers, learn, trained, variants

from river_amf import AdaptiveAMFClassifier, AMFClassifier
from river_amf.state import arena as state

kinds = pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])


def pickled_by(protocol):
    return lambda model: pickle.loads(pickle.dumps(model, protocol))


COPIES = {
    f"protocol {protocol}": pickled_by(protocol)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
} | {
    "deepcopy": copy.deepcopy,
    "copy of a copy": lambda model: copy.deepcopy(pickle.loads(pickle.dumps(model))),
}


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
    n_trees, n_nodes = 3, arena.trees["n_nodes"].max()
    n_boxes, n_rows = arena.trees["n_boxes"].max(), arena.counters["n_rows"][0]
    n_features, n_classes = arena.settings["n_features"][0], arena.settings["n_classes"][0]
    assert arena.nodes.shape == (n_trees, n_nodes)
    assert arena.counts.shape == (n_trees, n_nodes, n_classes)
    assert arena.boxes.shape == (n_trees, n_boxes, 2, n_features)
    assert arena.rows.shape == (n_rows, n_features)
    assert arena.samples.shape == (n_rows,)
    assert arena.links.shape == (n_trees, n_rows)
    assert arena.ranges.shape == (2, n_features)
    assert arena.intensity.shape == (1, n_features)  # for each target of the trees
    assert arena.is_categorical.shape == (n_features,)
    assert arena.ranges.shape == arena.limits.shape == (2, n_features)
    assert arena.features.shape == (n_features,)
    assert arena.recent.shape == (n_features, 64)
    assert arena.bias.shape == (n_classes,)
    fades, has_relevance = (bool(arena.settings[name][0]) for name in ("fades", "relevance"))
    assert arena.faded.shape == (n_trees, n_nodes, fades * (2 + n_classes))
    assert arena.moments.shape == (n_features, has_relevance * n_classes, 2)
    assert arena.buckets.shape == (n_features, 64, has_relevance * n_classes)


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
