"""The learned vote: probabilities, the step of each sample, and side effects of predicting."""

import concurrent.futures
import copy
import math
import pickle
import random

import numpy as np
import pandas as pd
import pytest
from forests import pickled

from river_amf import AdaptiveAMFClassifier, AMFClassifier

PARAMETERS = {
    "vote": {"vote": "learned"},
    "one tree": {"vote": "learned", "n_estimators": 1},
    "fading": {"vote": "learned", "fading_factor": 0.5, "max_nodes": 41},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "logistic": {"vote": "learned", "linear": "logistic", "max_nodes": 41},
}
parameters = pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)


def made(kind=AMFClassifier, **parameters):
    return kind(**({"n_estimators": 3, "seed": 42} | parameters))


def make_stream(n_samples=400):
    """Numbers, categories, gaps, outliers; features, labels and categories that come late."""
    rng = random.Random(4)
    for i in range(n_samples):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "color": rng.choice(["red", "tan"])}
        if i % 50 == 49:
            x["b"] = 1e9
        if i > 150:
            x[f"late {i // 150}"] = rng.random()
        if rng.random() < 0.2:
            del x["a"]
        if rng.random() < 0.1:
            x["color"] = f"shade {i}" if i > 100 else None
        label = f"extra {i // 200}" if i > 200 and rng.random() < 0.1 else x["b"] > 0
        yield x, label, rng.choice([1.0, 1.0, 0.3, 2.5])


STREAM = list(make_stream())


def learnt(n_samples=300, **parameters):
    model = made(**parameters)
    for x, y, w in STREAM[:n_samples]:
        model.learn_one(x, y, w=w)
    return model


@parameters
def test_probabilities_sum_to_one(parameters):
    model = made(**parameters)
    for x, y, w in STREAM:
        model.learn_one(x, y, w=w)
        proba = model.predict_proba_one(x)
        assert all(0.0 <= p <= 1.0 for p in proba.values())
        assert math.fsum(proba.values()) == pytest.approx(1.0, abs=1e-9)


def test_each_sample_moves_the_vote_along_the_gradient():
    model = learnt(150, vote="learned")
    for x, y, w in STREAM[150:]:
        arena = model._arena
        weights = arena.trees["vote_weight"].copy()
        n_labels = len(model._labels)
        before = model.predict_proba_one(x)
        if y not in before or any(name not in model._features for name in x):
            model.learn_one(x, y, w=w)
            continue
        bias = arena.bias[:n_labels].copy()
        model.learn_one(x, y, w=w)
        p = np.array([*before.values()])
        is_label = np.array([label == y for label in before])
        expected = bias + 0.02 * min(w, 1.0) * (is_label - p)
        assert model._arena.bias[:n_labels] == pytest.approx(expected, abs=1e-12)
        assert not np.array_equal(model._arena.trees["vote_weight"], weights)


# A sample that was just predicted is not predicted again when it is learned


def nothing(model, x, y):
    pass


def same(model, x, y):
    model.predict_proba_one(x)


def twice(model, x, y):
    model.predict_one(x)
    model.predict_one(dict(reversed(x.items())))


def another(model, x, y):
    model.predict_proba_one(STREAM[7][0])


def empty(model, x, y):
    model.predict_proba_one({})


def same_then_another(model, x, y):
    model.predict_proba_one(x)
    model.predict_proba_one(x | {"b": 0.25})


def another_then_same(model, x, y):
    model.predict_proba_one(x | {"b": 0.25})
    model.predict_proba_one(x)


def modified_in_place(model, x, y):
    value = x.get("b")
    x["b"] = 0.125
    model.predict_proba_one(x)
    x["b"] = value


def less_known(model, x, y):
    model.predict_proba_one({name: value for name, value in x.items() if name != "color"})


def with_unknown(model, x, y):
    model.predict_proba_one(x | {"unknown": 5.0, "unknown color": "red"})


def refused(model, x, y):
    model.predict_proba_one(x)
    for bad in (x | {"b": math.inf}, x | {"b": "text"}):
        with pytest.raises(ValueError, match="'b'"):
            model.learn_one(bad, y)
        with pytest.raises(ValueError, match="'b'"):
            model.predict_proba_one(bad)


def in_another_thread(model, x, y):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(model.predict_proba_one, x).result()


def here_and_there(model, x, y):
    model.predict_proba_one(x)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(model.predict_proba_one, STREAM[3][0]).result()


def by_a_copy(model, x, y):
    model.predict_proba_one(x)
    twin = copy.deepcopy(model)
    twin.predict_proba_one(STREAM[11][0])
    twin.learn_one(x, y)


def of_weight_zero(model, x, y):
    model.predict_proba_one(x)
    model.learn_one(x, "never", w=0)


def as_a_block(model, x, y):
    model.predict_proba_many(pd.DataFrame([x, STREAM[5][0]]))


def stored(model, x, y):
    model.predict_proba_one(x)
    pickle.dumps(model)


WAYS = [same, twice, another, empty, same_then_another, another_then_same, modified_in_place]
WAYS += [less_known, with_unknown, refused, in_another_thread, here_and_there, by_a_copy]
WAYS += [of_weight_zero, as_a_block, stored]


@pytest.mark.parametrize("name", ["one tree", "adaptive", "logistic"])
def test_what_was_predicted_before_changes_nothing_of_what_is_learnt(name):
    models = {way: made(**PARAMETERS[name]) for way in [nothing, *WAYS]}
    for i, (x, y, w) in enumerate(STREAM[:230]):
        for way, model in models.items():
            # from the start, and with new labels and features
            if i > 0 and (i < 9 or i % 9 == 4 or 145 < i < 160 or i > 205):
                way(model, dict(x), y)
            model.learn_one(dict(x), y, w=w)
    expected = pickled(models[nothing])
    assert [way.__name__ for way in WAYS if pickled(models[way]) != expected] == []


@parameters
@pytest.mark.parametrize("call", ["learn_many", "predict_proba_then_learn_many"])
def test_a_prediction_from_before_a_block_is_not_used_after_it(parameters, call):
    # the block has no new labels or features, so nothing else reveals that it was learned
    rng = random.Random(5)
    rows = [({"a": rng.random(), "b": rng.random()}, rng.random() < 0.5) for _ in range(300)]
    models = []
    for asks in (False, True):
        model = made(**parameters)
        for x, y in rows[:100]:
            model.learn_one(x, y)
        if asks:
            model.predict_proba_one(rows[0][0])
        getattr(model, call)(pd.DataFrame([x for x, _ in rows]), [y for _, y in rows])
        model.learn_one(*rows[0])
        models.append(pickle.dumps(model))
    assert models[0] == models[1]


@pytest.mark.parametrize(
    ("name", "n_jobs"), [*((name, 2) for name in PARAMETERS), ("fading", 1), ("adaptive", 5)]
)
def test_blocks_in_threads_are_like_their_rows(name, n_jobs):
    parameters = PARAMETERS[name]
    X, y, w = zip(*STREAM, strict=True)
    expected = []
    rows = made(**parameters)
    for x, label, weight in STREAM:
        expected.append(rows.predict_proba_one(x))
        rows.learn_one(x, label, w=weight)
    blocks = made(**parameters, n_jobs=n_jobs)
    names = list(dict.fromkeys(name for x in X for name in x))
    frame = pd.DataFrame({name: [x.get(name) for x in X] for name in names})
    proba = blocks.predict_proba_then_learn_many(frame, pd.Series(y, dtype=object), list(w))
    for row, p in zip(proba.to_dict("records"), expected, strict=True):
        assert {label: row[label] for label in p} == p
    blocks.n_jobs = 1
    assert pickle.dumps(blocks) == pickle.dumps(rows)


# Trees that restart


def restarting(kind=AMFClassifier, **parameters):
    return kind(**({"n_estimators": 4, "seed": 3, "restart_threshold": 0.5} | parameters))


def moving_stream(n_samples=2400):
    rng = random.Random(6)
    for i in range(n_samples):
        x = {"a": rng.random(), "b": rng.random(), "color": rng.choice(["red", "tan"])}
        name = "ab"[i // 600 % 2]
        yield x, (x[name] > 0.5) ^ (rng.random() < 0.05), rng.choice([1.0, 1.0, 0.5])


RESTARTS = {
    "plain": {},
    "budget": {"max_nodes": 101},
    "vote": {"vote": "learned", "split_pure": True},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "adaptive, budget": {"kind": AdaptiveAMFClassifier, "max_nodes": 61},
}


@pytest.mark.parametrize(
    ("name", "n_jobs"), [*((name, 3) for name in RESTARTS), ("vote", 1), ("adaptive, budget", 1)]
)
def test_trees_start_afresh_alike_in_blocks_and_after_copies(name, n_jobs):
    parameters = RESTARTS[name]
    stream = list(moving_stream())
    rows, copied = restarting(**parameters), restarting(**parameters)
    blocks = restarting(**parameters, n_jobs=n_jobs)
    n_restarts, seen, expected = np.zeros(4), np.zeros(4), []
    for i, (x, y, w) in enumerate(stream):
        expected.append(rows.predict_proba_one(x))
        for model in (rows, copied):
            model.learn_one(x, y, w=w)
        if i % 97 == 0:
            copied = pickle.loads(pickle.dumps(copied))
        losses = rows._arena.trees["n_losses"]
        n_restarts += losses < seen
        seen = losses.copy()
    assert (n_restarts[[1, 3]] > 0).all()
    assert not n_restarts[[0, 2]].any()
    start = 0
    for size in (1, 299, 800, 64, 1236):
        X, y, w = zip(*stream[start : start + size], strict=True)
        proba = blocks.predict_proba_then_learn_many(pd.DataFrame(X), list(y), list(w))
        for row, p in zip(proba.to_dict("records"), expected[start:], strict=False):
            assert {label: row[label] for label in p} == p
        start += size
    blocks.n_jobs = 1
    assert pickle.dumps(blocks) == pickle.dumps(rows) == pickle.dumps(copied)
