"""Linear experts in the learned vote: what users rely on, and numbers at the limits of floats.

`test_naive.py` compares them with a slow reference. Copies, files, blocks, budgets and units are
tested with those of all forests.
"""

import math
import random

import numpy as np
import pytest
from forests import STREAM, learn
from test_naive import check_same_linear_models, pair

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection

PARAMETERS = {
    "linear": {"vote": "learned", "linear": True, "max_categories": 5},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "adaptive, budget": {"kind": AdaptiveAMFClassifier, "max_nodes": 41},
}
parameters = pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)


def made(kind=AMFClassifier, **parameters):
    return kind(**({"n_estimators": 3, "seed": 42} | parameters))


def check_is_sane(model):
    """All numbers of the linear experts are finite, none is subnormal, and zeros have no sign."""
    arena = model._arena
    for name in ("standards", "linear_models"):
        for field in ("mean", "variance", "vote_weight"):
            if field in getattr(arena, name).dtype.names:
                check_are_sane(getattr(arena, name)[field])
    for name in ("linear_coefficients", "category_weights", "cosines", "bias"):
        check_are_sane(getattr(arena, name))
    for name in ("linear_squares", "category_squares"):
        assert (getattr(arena, name) > 0).all()
        check_are_sane(getattr(arena, name))


def check_are_sane(values):
    assert np.isfinite(values).all()
    assert not ((values != 0) & (np.abs(values) < 2.3e-308)).any()
    assert not np.signbit(values[values == 0]).any()


# Users' views


def test_trees_are_the_same_beside_linear_models():
    plain = made(vote="learned")
    combined = made(vote="learned", linear=True)
    for model in (plain, combined):
        learn(model, STREAM[:330])
    one, other = plain._arena.used_arrays(), combined._arena.used_arrays()
    for arrays in (one, other):
        assert arrays["trees"]["vote_weight"].any()
        arrays["trees"]["vote_weight"] = 0.0
    for name in ("trees", "nodes", "counts", "boxes", "rows", "samples", "features"):
        assert one[name].tobytes() == other[name].tobytes()


def test_linear_weights_are_those_of_the_reference():
    parameters = {"vote": "learned", "linear": True, "max_categories": 3}
    model, reference = pair(**parameters)
    for i in range(100):
        x = {"size": i * 7 % 31, "color": "rgbyo"[i * 3 % 5], 7: i % 2 if i > 30 else None}
        for forest in (model, reference):
            forest.learn_one(x, "abc"[i % 7 % 3])
    table = inspection.linear_weights(model)
    assert " ".join(table.columns) == "linear_model feature category label weight"
    for column in table.columns:
        assert f"`{column}`" in inspection.linear_weights.__doc__
    assert set(table.linear_model) == {"logistic"}
    weights = reference.linear_models.linear_models[0].weights
    names = [("intercept", None, None)]
    for name, column in reference.columns.items():
        if column.is_categorical:
            in_order = sorted(column.codes, key=column.codes.__getitem__)
            names += [((column.index, column.place(c)), name, c) for c in in_order]
        else:
            names.append((column.index, name, None))
    rows = zip(*(table[name] for name in table.columns), strict=True)
    for key, feature, category in names:
        for c, label in enumerate(reference.labels):
            _, *found, weight = next(rows)
            assert found == [feature, category, label]
            assert weight == pytest.approx(weights[c, key], abs=1e-11)
    assert not [*rows]
    assert table.weight.abs().min() > 0


# Against the reference, where the streams of test_naive.py do not lead


def rare_stream(n_samples=650):
    """More features than directions are scaled for, many categories, absurd numbers."""
    rng = random.Random(13)
    for i in range(n_samples):
        x = {f"x{j}": rng.gauss(0, 1) for j in range(6 + i // 150)}
        x |= {"page": f"page {rng.randrange(150)}", "price": 10 * math.sin(i / 30) + rng.random()}
        y = x["x0"] + 2 * (x["price"] > 0) + (x["page"] > "page 7") > 1.5
        x["switch"] = float(400 < i < 420)
        if i % 90 == 70:
            x["x1"] = rng.choice(ABSURD)
        if i % 7 == 0:
            x["x2"] = None
        yield x, "rare" if i % 400 == 9 else y, rng.choice([1.0, 1.0, 0.5, 2.0, 0.01])


@pytest.mark.parametrize(
    "parameters",
    [{}, {"max_categories": 80}, pytest.param({"split_intensity": "unit"}, marks=pytest.mark.soak)],
)
def test_rare_streams_equal_the_reference(parameters):
    parameters = {"vote": "learned", "linear": True} | parameters
    model, reference = pair(n_estimators=1, max_nodes=1, **parameters)
    votes = []
    for i, (x, y, w) in enumerate(rare_stream()):
        if i % 3 == 0:
            expected = reference.predict_proba_one(x)
            assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-12)
            if i > 0:
                votes.append(model._engine.expert_outputs(x).votes[1:, :2].min())
        model.learn_one(x, y, w=w)
        reference.learn_one(x, y, w)
    check_same_linear_models(model, reference)
    assert min(votes) < -7


# The limits of floats

ABSURD = [1e300, -1e300, 1.7e308, -1.7e308, 5e-324, -5e-324, 1e-160, -0.0, 0.0, 1e150, -1e-300]


@parameters
@pytest.mark.parametrize("intensity", ["range", "unit"])
def test_absurd_numbers_leave_all_numbers_sane(parameters, intensity):
    rng = random.Random(7)
    model = made(**parameters | {"split_intensity": intensity})
    for i in range(400):
        x = {"a": rng.gauss(0, 1), "b": rng.choice(ABSURD), "c": 1e9 + i, "d": 0.1, "e": -0.0}
        if i % 40 in (0, 1, 25):
            x["a"] = rng.choice(ABSURD)
        if i > 200:
            x["late"] = rng.choice(ABSURD)
        if i % 50 == 9:
            x = dict.fromkeys(x)
        proba = model.predict_proba_one(x)
        assert all(0.0 <= p <= 1.0 for p in proba.values())
        model.learn_one(x, rng.random() < 0.5, w=rng.choice([1.0, 1e-9, 1e6, 1e-200]))
    check_is_sane(model)


@pytest.mark.parametrize("intensity", ["range", "unit"])
def test_one_outlier_spoils_nothing(intensity):
    rng = random.Random(9)
    models = [
        made(vote="learned", linear=True, split_intensity=intensity, max_nodes=1) for _ in range(2)
    ]
    correct = [0, 0]
    for i in range(600):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)}
        y = x["a"] + x["b"] > 0
        for k, model in enumerate(models):
            correct[k] += i > 300 and model.predict_one(x) is y
            model.learn_one(x | {"a": 1e300} if k and i in (3, 120) else x, y)
    assert correct[1] > correct[0] - 12
    check_is_sane(models[1])
