"""Where linear models and profiles keep categories, of which there may be more than 64.

`test_linear_models.py` and `test_naive_regression.py` compare them with slow references.
"""

import random

import numpy as np
import pytest
from forests import learn

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor
from river_amf.state.layout import lengths_in_use

KINDS = AdaptiveAMFClassifier, AdaptiveAMFRegressor
kinds = pytest.mark.parametrize("kind", KINDS)


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


def test_new_category_adds_nothing():
    model = made(AdaptiveAMFClassifier)
    learn(model, ((x, y > 0, w) for x, y, w in STREAM if x["shop"] is not None))
    x = {"size": 0.5, "color": "r"}
    absent, new = (
        model._engine.expert_outputs(x | {"shop": shop}).votes[-3] for shop in (None, "new")
    )
    known = model._engine.expert_outputs(x | {"shop": "shop 0"}).votes[-3]
    assert np.array_equal(absent, new)
    assert not np.array_equal(absent, known)
