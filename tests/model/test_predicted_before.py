"""What was predicted before a sample is learned changes nothing, not even in a learned vote."""

import concurrent.futures
import copy
import math
import pickle
import random

import pandas as pd
import pytest
from forests import pickled

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier

PARAMETERS = {
    "vote": {"vote": "learned"},
    "one tree": {"vote": "learned", "n_estimators": 1},
    "fading": {"vote": "learned", "fading_factor": 0.5, "max_nodes": 41},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "linear": {"vote": "learned", "linear": True, "max_nodes": 41},
    "regressor": {"kind": AdaptiveAMFRegressor},
}


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


# A sample that was just predicted is not predicted again when it is learned


def in_a_thread(model, x):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(ask, model, x).result()


def modified_in_place(model, x, y):
    value = x.get("b")
    x["b"] = 0.125
    ask(model, x)
    x["b"] = value


def refused(model, x, y):
    ask(model, x)
    for bad in (x | {"b": math.inf}, x | {"b": "text"}):
        with pytest.raises(ValueError, match="'b'"):
            model.learn_one(bad, y)
        with pytest.raises(ValueError, match="'b'"):
            ask(model, bad)


def by_a_copy(model, x, y):
    twin = copy.deepcopy(model)
    ask(twin, STREAM[11][0])
    twin.learn_one(x, y)


def ask(model, *xs):
    for x in xs:
        if isinstance(model, AdaptiveAMFRegressor):
            model.predict_interval_one(x, 0.7)
        else:
            model.predict_proba_one(x)


# what is done with a model and a sample before it is learned
WAYS = {
    "same": lambda model, x, y: ask(model, x),
    "twice": lambda model, x, y: ask(model, x, dict(reversed(x.items()))),
    "another": lambda model, x, y: ask(model, STREAM[7][0]),
    "empty": lambda model, x, y: ask(model, {}),
    "same, then another": lambda model, x, y: ask(model, x, x | {"b": 0.25}),
    "another, then same": lambda model, x, y: ask(model, x | {"b": 0.25}, x),
    "modified in place": modified_in_place,
    "less known": lambda model, x, y: ask(model, {n: v for n, v in x.items() if n != "color"}),
    "unknown": lambda model, x, y: ask(model, x | {"unknown": 5.0, "unknown color": "red"}),
    "refused": refused,
    "in a thread": lambda model, x, y: in_a_thread(model, x),
    "here and there": lambda model, x, y: (
        ask(model, x),
        in_a_thread(model, STREAM[3][0]),
    ),
    "by a copy": lambda model, x, y: (ask(model, x), by_a_copy(model, x, y)),
    "of weight 0": lambda model, x, y: (ask(model, x), model.learn_one(x, -7.0, w=0)),
    "as a block": lambda model, x, y: model.predict_many(pd.DataFrame([x, STREAM[5][0]])),
    "stored": lambda model, x, y: (ask(model, x), pickle.dumps(model)),
}


@pytest.mark.parametrize("name", ["one tree", "adaptive", "linear", "regressor"])
def test_predictions_leave_learning_unchanged(name):
    ways = {"nothing": lambda model, x, y: None} | WAYS
    models = {way: made(**PARAMETERS[name]) for way in ways}
    for i, (x, y, w) in enumerate(STREAM[:230]):
        y = float(len(str(y))) if name == "regressor" else y
        for way, model in models.items():
            # from the start, and with new labels and features
            if i > 0 and (i < 9 or i % 9 == 4 or 145 < i < 160 or i > 205):
                ways[way](model, dict(x), y)
            model.learn_one(dict(x), y, w=w)
    expected = pickled(models["nothing"])
    assert [way for way in WAYS if pickled(models[way]) != expected] == []


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("call", ["learn_many", "predict_proba_then_learn_many"])
def test_block_makes_predictions_obsolete(name, call):
    # the block has no new labels or features, so nothing else reveals that it was learned
    rng = random.Random(5)
    rows = [({"a": rng.random(), "b": rng.random()}, rng.random() < 0.5) for _ in range(300)]
    models = []
    for asks in (False, True):
        model = made(**PARAMETERS[name])
        for x, y in rows[:100]:
            model.learn_one(x, y)
        if asks:
            ask(model, rows[0][0])
        learns = getattr(model, call, None) or model.predict_then_learn_many
        learns(pd.DataFrame([x for x, _ in rows]), [y for _, y in rows])
        model.learn_one(*rows[0])
        models.append(pickle.dumps(model))
    assert models[0] == models[1]
