"""Where linear models and profiles keep categories, of which there may be more than 64.

`test_linear_models.py` and `test_naive_regression.py` compare them with slow references.
"""

import copy
import pickle
import random

import numpy as np
import pandas as pd
import pytest
from forests import pickled

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, load
from river_amf.state.layout import lengths_in_use

KINDS = AdaptiveAMFClassifier, AdaptiveAMFRegressor
kinds = pytest.mark.parametrize("kind", KINDS)
bounds = pytest.mark.parametrize("bound", [None, 100])  # of which the second is exceeded


def visits(n_samples=500):
    """Yield shops with means of their own, of which new ones keep coming, and a few colors."""
    rng = random.Random(3)
    for i in range(n_samples):
        shop = rng.randrange(1 + i // 2)
        x = {"size": rng.random(), "shop": f"shop {shop}", "color": rng.choice("rgb")}
        if i % 50 == 7:
            x["shop"] = None
        yield x, shop * 37 % 11 - 5 + x["size"], rng.choice([1.0, 1.0, 0.0, 2.0])


STREAM = list(visits())


def made(kind, bound=None, **parameters):
    return kind(n_estimators=3, seed=1, max_categories=bound, **parameters)


def target(kind, y):
    return y > 0 if kind is AdaptiveAMFClassifier else y


def predictions(model, stream):
    """Return what is predicted for each sample before it is learned."""
    predicted = []
    for x, y, w in stream:
        is_regressor = isinstance(model, AdaptiveAMFRegressor)
        answer = model.predict_one(x) if is_regressor else model.predict_proba_one(x).get(True, 0.0)
        predicted.append(answer)
        model.learn_one(x, target(type(model), y), w)
    return predicted


@kinds
@bounds
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_with_new_categories_equal_rows(kind, bound, n_jobs):
    rows, blocks = made(kind, bound), made(kind, bound, n_jobs=n_jobs)
    expected, found = predictions(rows, STREAM), []
    for start, stop in [(0, 1), (1, 130), (130, 131), (131, 500)]:
        X, y, w = zip(*STREAM[start:stop], strict=True)
        block = pd.DataFrame(list(X)), [target(kind, each) for each in y], list(w)
        if kind is AdaptiveAMFRegressor:
            found += blocks.predict_then_learn_many(*block).tolist()
        else:
            table = blocks.predict_proba_then_learn_many(*block)
            found += table.reindex(columns=[True]).fillna(0.0)[True].tolist()
    assert found == expected
    blocks.n_jobs = 1
    assert pickle.dumps(blocks) == pickled(rows)


@kinds
@bounds
def test_copies_and_files_with_many_categories_go_on(kind, bound, tmp_path):
    model, expected = made(kind, bound), predictions(made(kind, bound), STREAM)
    found = predictions(model, STREAM[:200])
    model = copy.deepcopy(model)
    found += predictions(model, STREAM[200:300])
    model.save(tmp_path / "model.amf")
    model = load(tmp_path / "model.amf")
    assert found + predictions(model, STREAM[300:]) == expected


@kinds
@pytest.mark.parametrize("bound", [None, 100, 5])
def test_places_grow_with_the_largest_feature(kind, bound):
    model = made(kind, bound)
    array = "category_weights" if kind is AdaptiveAMFClassifier else "category_profiles"
    for x, y, _ in STREAM:
        model.learn_one(x, target(kind, y))
        arena, features = model._arena, model._features
        n_places = lengths_in_use(arena.settings, arena.counters, arena.trees)["place"]
        assert n_places == 1 + max(map(len, map(features.categories, ["shop", "color"])))
        assert n_places <= arena.capacities["place"] <= 2 * n_places
        assert arena.used_arrays()[array].shape[:2] == (2, n_places)
    assert n_places > 64 if bound is None else n_places == 1 + bound


def test_a_new_category_adds_nothing_to_linear_models():
    model = made(AdaptiveAMFClassifier, linear="logistic")
    predictions(model, [sample for sample in STREAM if sample[0]["shop"] is not None])
    x = {"size": 0.5, "color": "r"}
    absent, new = (
        model._engine.expert_outputs(x | {"shop": shop}).votes[-1] for shop in (None, "new")
    )
    known = model._engine.expert_outputs(x | {"shop": "shop 0"}).votes[-1]
    assert np.array_equal(absent, new)
    assert not np.array_equal(absent, known)
