"""Linear experts in the learned vote: what users rely on, and numbers at the limits of floats.

`test_naive.py` compares them with a slow reference, and `test_naive_linear_models_self.py` that
reference with closed forms. Copies, files, blocks and budgets are tested with those of all forests.
"""

import copy
import math
import pickle
import random
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from forests import STREAM, pickled
from test_naive import check_same_linear_models, pair

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection

PARAMETERS = {
    "logistic": {"vote": "learned", "linear": "logistic"},
    "cosines": {"vote": "learned", "linear": "cosines", "max_categories": 5},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "adaptive, budget": {"kind": AdaptiveAMFClassifier, "max_nodes": 41, "linear": "logistic"},
}
parameters = pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)


def made(kind=AMFClassifier, **parameters):
    return kind(**({"n_estimators": 3, "seed": 42} | parameters))


def probabilities(model, stream):
    """Return what is predicted for each sample before it is learned."""
    predicted = []
    for x, y, w in stream:
        predicted.append(model.predict_proba_one(x))
        model.learn_one(x, y, w=w)
    return predicted


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


def scaled(stream, factor):
    """Multiply all numbers by a factor."""
    return [
        ({k: v * factor if isinstance(v, float | int) else v for k, v in x.items()}, y, w)
        for x, y, w in stream
    ]


# Users' views


@parameters
@pytest.mark.parametrize("power", [-60, 3, 60])
def test_powers_of_two_as_units_change_not_a_bit(parameters, power):
    expected = probabilities(made(**parameters), STREAM[:330])
    assert probabilities(made(**parameters), scaled(STREAM[:330], 2.0**power)) == expected


@pytest.mark.parametrize("linear", ["logistic", "cosines"])
def test_units_hardly_matter_to_a_linear_model(linear):
    # trees of one node leave it to the linear experts to predict
    both = [made(vote="learned", linear=linear, max_nodes=1) for _ in range(2)]
    plain = probabilities(both[0], STREAM[:330])
    for p, q in zip(plain, probabilities(both[1], scaled(STREAM[:330], 1e-3 / 7)), strict=True):
        assert q == pytest.approx(p, abs=1e-9)


@parameters
def test_the_order_of_keys_changes_not_a_bit(parameters):
    stream = STREAM[:400]
    reverse = [(dict(reversed(x.items())), y, w) for x, y, w in stream]
    models = [made(**parameters), made(**parameters)]
    assert probabilities(models[0], stream) == probabilities(models[1], reverse)


@parameters
def test_predicting_changes_nothing(parameters):
    # some rows are the same, and would be taken for those that wait
    quiet, asked = (made(**parameters, max_pending=0) for _ in range(2))
    for i, (x, y, w) in enumerate(STREAM[:330]):
        if i % 3:
            asked.predict_proba_one(x)
            asked.predict_proba_one(STREAM[i // 2][0])
        if i % 5 == 0:
            asked.predict_proba_one(x)
        for model in (quiet, asked):
            model.learn_one(x, y, w=w)
    assert pickled(quiet) == pickled(asked)


@parameters
@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_blocks_are_like_their_rows_to_the_bit(parameters, n_jobs):
    stream = [(x, y, 0.0 if i % 13 == 5 else w) for i, (x, y, w) in enumerate(STREAM[:500])]
    X, y, w = zip(*stream, strict=True)
    rows = made(**parameters)
    expected = probabilities(rows, stream)
    blocks = made(**parameters, n_jobs=n_jobs)
    names = list(dict.fromkeys(name for x in X for name in x))
    frame = pd.DataFrame({name: [x.get(name) for x in X] for name in names})
    found = []
    for start, stop in pairwise([0, 1, 40, 41, 300, 500]):
        proba = blocks.predict_proba_then_learn_many(
            frame[start:stop], list(y[start:stop]), list(w[start:stop])
        )
        found += proba.to_dict("records")
    for row, p in zip(found, expected, strict=True):
        assert {label: row[label] for label in p} == p
    blocks.n_jobs = 1
    assert pickle.dumps(blocks) == pickle.dumps(rows)


@parameters
def test_weight_zero_leaves_no_trace(parameters):
    model = made(**parameters)
    probabilities(model, STREAM[:200])
    before = pickle.dumps(model)
    model.learn_one({"fine": 1e300, "new": 5.0}, "new", w=0)
    for x, y, _ in STREAM[200:230]:
        model.learn_one(x, y, w=0)
    assert pickle.dumps(model) == before


@parameters
def test_weights_above_one_are_one_to_linear_models(parameters):
    model = made(**parameters)
    probabilities(model, STREAM[:105])
    x, y, _ = STREAM[105]
    arenas = []
    for w in (1.0, 1e6):
        twin = copy.deepcopy(model)
        twin.learn_one(x, y, w=w)
        arenas.append(twin._arena)
    for name in (
        "linear_models",
        "standards",
        "linear_coefficients",
        "category_weights",
        "cosines",
    ):
        assert getattr(arenas[0], name).tobytes() == getattr(arenas[1], name).tobytes()


@pytest.mark.parametrize("linear", ["logistic", "cosines", "auto"])
def test_trees_are_the_same_whatever_models_are_beside_them(linear):
    plain = made(vote="learned")
    combined = made(vote="learned", linear=linear)
    for model in (plain, combined):
        probabilities(model, STREAM[:330])
    one, other = plain._arena.used_arrays(), combined._arena.used_arrays()
    for arrays in (one, other):
        assert arrays["trees"]["vote_weight"].any()
        arrays["trees"]["vote_weight"] = 0.0
    for name in ("trees", "nodes", "counts", "boxes", "rows", "samples", "features"):
        assert one[name].tobytes() == other[name].tobytes()


def test_auto_is_cosines_where_the_vote_is_learned():
    assert probabilities(made(vote="learned", linear="auto"), STREAM[:99]) == probabilities(
        made(vote="learned", linear="cosines"), STREAM[:99]
    )
    assert probabilities(made(linear="auto"), STREAM[:99]) == probabilities(made(), STREAM[:99])
    mean = made(AdaptiveAMFClassifier, vote="mean")
    probabilities(mean, STREAM[:99])
    assert len(mean._arena.linear_models) == 0


@pytest.mark.parametrize("linear", ["logistic", "cosines"])
def test_linear_models_learn_at_once_what_trees_learn_slowly(linear):
    rng = random.Random(4)
    correct = {None: 0, linear: 0}
    models = {kind: made(vote="learned", linear=kind) for kind in correct}
    for _ in range(600):
        x = {f"x{j}": rng.gauss(0, 1) for j in range(20)}
        y = sum(x.values()) > 0
        for kind, model in models.items():
            correct[kind] += model.predict_one(x) is y
            model.learn_one(x, y)
    assert correct[linear] > correct[None] + 90


def test_the_fast_timescale_measures_against_the_last_samples():
    rng = random.Random(5)
    correct = {"logistic": 0, "cosines": 0}
    models = {kind: made(vote="learned", linear=kind, max_nodes=101) for kind in correct}
    level, lately = 0.0, 0.0
    for _ in range(1500):
        level += rng.gauss(0, 0.3)
        x = {"price": level + rng.gauss(0, 1)}
        y = x["price"] > lately
        lately += 0.03 * (x["price"] - lately)
        for kind, model in models.items():
            correct[kind] += model.predict_one(x) is y
            model.learn_one(x, y)
    assert correct["cosines"] > correct["logistic"] + 50


def test_a_linear_model_that_is_always_wrong_does_little_harm():
    rng = random.Random(6)
    models = {kind: made(vote="learned", linear=kind, n_classes=2) for kind in (None, "logistic")}
    correct = dict.fromkeys(models, 0)
    for i in range(2000):
        x = {"a": rng.random(), "b": rng.random()}
        y = (x["a"] > 0.5) ^ (x["b"] > 0.5)
        for kind, model in models.items():
            correct[kind] += i > 500 and model.predict_one(x) is y
            model.learn_one(x, y)
        models["logistic"]._arena.linear_coefficients[0, :, 1:3] = [[3.0, -3.0], [-3.0, 3.0]]
    assert correct["logistic"] > correct[None] - 15


def test_linear_weights_are_those_of_the_reference():
    parameters = {"vote": "learned", "linear": "cosines", "max_categories": 3}
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
            names += [((column.index, code % 64), name, c) for c, code in column.codes.items()]
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
    """More features than directions are scaled for, more categories than slots, absurd numbers."""
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


@pytest.mark.parametrize("intensity", ["range", pytest.param("unit", marks=pytest.mark.soak)])
def test_rare_streams_equal_the_reference(intensity):
    parameters = {"vote": "learned", "linear": "cosines", "split_intensity": intensity}
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


@pytest.mark.parametrize("first", [[0.0] * 21, [5.0] * 40, [0.1] * 21, [1e12, *[0.0] * 70]])
def test_a_feature_that_starts_as_a_constant_is_used_later(first):
    rng = random.Random(8)
    model = made(vote="learned", linear="logistic", max_nodes=1)
    for value in first:
        model.learn_one({"a": value}, rng.random() < 0.5)
    for _ in range(500):
        x = {"a": rng.gauss(0, 1)}
        model.learn_one(x, x["a"] > 0)
    assert model.predict_proba_one({"a": 2.0})[True] > 0.9
    assert model.predict_proba_one({"a": -2.0})[False] > 0.9


@pytest.mark.parametrize("linear", ["logistic", "cosines"])
@pytest.mark.parametrize("intensity", ["range", "unit"])
def test_one_outlier_spoils_nothing(linear, intensity):
    rng = random.Random(9)
    models = [
        made(vote="learned", linear=linear, split_intensity=intensity, max_nodes=1)
        for _ in range(2)
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


def test_a_feature_that_falls_silent_leaves_no_subnormal_numbers():
    model = made(vote="learned", linear="cosines", max_nodes=1, n_estimators=1)
    rng = np.random.default_rng(10)
    a = np.zeros(30_000)
    a[:50] = rng.normal(size=50)
    model.learn_many(pd.DataFrame({"a": a, "b": rng.normal(size=30_000)}), rng.random(30_000) < 0.5)
    check_is_sane(model)
    assert model._arena.standards["variance"][1, 0] == 0.0


@parameters
def test_samples_without_numbers_are_used(parameters):
    rng = random.Random(11)
    model = made(**parameters)
    for i in range(300):
        x = {} if i % 5 == 0 else {"color": rng.choice("pqr")}
        model.learn_one(x, x.get("color") == "p", w=1.0)
    assert model.predict_proba_one({"color": "p"})[True] > 0.9
    assert model.predict_proba_one({"color": "unseen"})[True] < 0.6
    check_is_sane(model)


def test_many_categories_take_no_more_room():
    model = made(vote="learned", linear="logistic", max_nodes=1)
    sizes = []
    for i in range(3000):
        model.learn_one({"user": f"user {i}", "color": "pq"[i % 2]}, i % 2 == 0)
        sizes.append(model._arena.category_weights.nbytes)
    assert len(set(sizes[10:])) == 1
    assert model.predict_proba_one({"user": "another", "color": "p"})[True] > 0.9


@pytest.mark.parametrize("linear", ["logistic", "cosines"])
def test_thousands_of_labels(linear):
    rng = random.Random(12)
    model = made(vote="learned", linear=linear, n_estimators=1, max_nodes=1)
    for i in range(2000):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)}
        model.learn_one(x, i if i < 1500 else 7)
    proba = model.predict_proba_one({"a": 0.0, "b": 0.0})
    assert len(proba) == 1500 and max(proba, key=proba.get) == 7
    assert math.fsum(proba.values()) == pytest.approx(1.0)
    check_is_sane(model)
