"""Streams of all kinds of features and labels, and what any classifier has to answer on them."""

import math
import random

import forests
import pytest
from river import base

LABELS = {
    "strings": ["no", "yes", "perhaps"],
    "booleans": [False, True, False],
    "integers": [0, 1, 7],
    "numbers and a boolean": [False, 1.5, 7],
    "tuples": [("a", 1), ("b", 1), ("b", 2)],
}


def mixed_stream(n_samples, labels=None, seed=1):
    """Numbers, booleans, categories and gaps; halfway, features change and a new label appears.

    The feature names are of two types. Without labels the targets are numbers.
    """
    rng = random.Random(seed)
    for number in range(n_samples):
        is_late = number >= n_samples // 2
        x = {
            "length": rng.gauss(0.0, 1.0),
            7: rng.randint(0, 3),
            "color": rng.choice(["red", "green", ("a", "tuple"), *["late"] * is_late]),
            ("new",) if is_late else "flag": rng.random() * 1e6 if is_late else rng.random() < 0.5,
        }
        y = 1000.0 + 50.0 * x["length"] + 20.0 * (x["color"] == "red")
        if labels is not None:
            y = labels[(x["length"] > 0) + (is_late and x["color"] == "red")]
        for feature in list(x):
            fate = rng.random()
            if fate < 0.05:
                del x[feature]
            elif fate < 0.15:
                x[feature] = rng.choice([None, math.nan])
        yield ({} if rng.random() < 0.02 else x), y


def check_answer(model, x, seen):
    """Check a prediction after the first sample, and that the sample is unchanged."""
    before = repr(x)
    proba = model.predict_proba_one(x)
    assert proba.keys() <= seen
    assert all(p >= 0.0 for p in proba.values())
    assert sum(proba.values()) == pytest.approx(1.0, abs=1e-9)
    label = model.predict_one(x)
    assert label in seen
    assert proba[label] == max(proba.values())
    assert repr(x) == before


def walk(model, samples):
    is_regressor = isinstance(model, base.Regressor)
    return forests.walk(model, samples, "predict_one" if is_regressor else "predict_proba_one")
