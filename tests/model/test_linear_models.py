"""Linear experts in the learned vote: what users rely on, and numbers at the limits of floats.

`test_naive.py` compares them with a slow reference. Copies, files, blocks, budgets and units are
tested with those of all forests.
"""

import math
import random

import numpy as np
import pytest
from test_naive import check_same_linear_models, pair

from river_amf import AMFClassifier, inspection

ABSURD = [1e300, -1e300, 1.7e308, -1.7e308, 5e-324, -5e-324, 1e-160, -0.0, 0.0, 1e150, -1e-300]


def check_is_sane(model):
    """Check that all numbers are finite, that none is subnormal, and that zeros have no sign."""
    arena = model._arena
    arrays = [getattr(arena, name) for name in ("hidden_squares", "output_squares")]
    assert all((array > 0).all() for array in arrays)
    arrays += [getattr(arena, name) for name in ("hidden_weights", "output_weights")]
    for array in arrays:  # of float32
        assert np.isfinite(array).all()
        assert not ((array != 0) & (np.abs(array) < 1.2e-38)).any()
    arrays = [arena.cosines, arena.bias]
    arrays += [arena.standards["mean"], arena.standards["variance"]]
    for array in [*arrays, arena.linear_models["vote_weight"]]:
        assert np.isfinite(array).all()
        assert not ((array != 0) & (np.abs(array) < 2.3e-308)).any()
        assert not np.signbit(array[array == 0]).any()


def test_linear_weights_equal_reference():
    model, reference = pair(vote="learned", linear=True, max_categories=3)
    for i in range(100):
        x = {"size": i * 7 % 31, "color": "rgbyo"[i * 3 % 5], 7: i % 2 if i > 30 else None}
        for forest in (model, reference):
            forest.learn_one(x, "abc"[i % 7 % 3])
    table = inspection.linear_weights(model)
    assert " ".join(table.columns) == "linear_model feature input label weight"
    titles = [(None, None), ("color", "profile"), ("size", "value"), ("size", "profile")]
    titles += [(7, "value"), (7, "profile")]
    for name, expert in zip(
        ("additive", "smooth additive"), reference.linear_models.linear_models[-2:], strict=True
    ):
        shown = table[table.linear_model == name]
        assert [*zip(shown.feature, shown.input, strict=True)][::3] == titles
        assert shown.label.tolist()[:3] == [*reference.labels]
        first, second, third, _ = expert.starts(3)
        inputs = [0, first + 1, second, second + 1, third, third + 1]
        weights = expert.weights[:, inputs].T.ravel()
        assert shown.weight.tolist() == pytest.approx(weights.tolist(), abs=1e-10)


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
def test_rare_streams_equal_reference(parameters):
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
    check_is_sane(model)
    assert min(votes) < -7


@pytest.mark.parametrize("intensity", ["range", "unit"])
def test_outlier_costs_few_errors(intensity):
    rng, correct = random.Random(9), [0, 0]
    parameters = {"vote": "learned", "linear": True, "split_intensity": intensity}
    models = [AMFClassifier(n_estimators=3, seed=42, max_nodes=1, **parameters) for _ in range(2)]
    for i in range(600):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)}
        y = x["a"] + x["b"] > 0
        for k, model in enumerate(models):
            correct[k] += i > 300 and model.predict_one(x) is y
            model.learn_one(x | {"a": 1e300} if k and i in (3, 120) else x, y)
    assert correct[1] > correct[0] - 12
    check_is_sane(models[1])


def test_offset_leaves_a_feature_standardized():
    model = AMFClassifier(n_estimators=1, max_nodes=1, vote="learned", linear=True)
    for i in range(40):
        model.learn_one({"a": 1e12 + i % 5}, i % 5 > 2)
    standardized = model._engine.expert_outputs({"a": 1e12}).standardized
    assert standardized[0, 0] == pytest.approx(-math.sqrt(2), abs=0.1)
