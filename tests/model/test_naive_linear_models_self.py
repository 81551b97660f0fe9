"""The reference of the linear experts itself, against closed forms on small cases."""

import copy
import math
import random

import naive
import naive_linear_models
import numpy as np
import pytest
from generated import streams
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_linear_models import CosineModel, LinearModel, Row

KEYS = [11, 12, 13]


def forest(linear="cosines", **parameters):
    return naive.NaiveForest(
        [123456789012345, 987654321098765],
        [17, 4],
        vote="learned",
        linear=linear,
        linear_keys=KEYS,
        **parameters,
    )


# Learning ----------------------------------------------------------------------------------------


def learned(linear_model, n_samples=40, n_labels=3, seed=5):
    rng = random.Random(seed)
    for _ in range(n_samples):
        z = {0: rng.gauss(0, 1), 2: rng.gauss(0, 1)}
        linear_model.learn(
            Row(3, z, {1: rng.randrange(100)}), z, rng.randrange(n_labels), 1.0, n_labels
        )
    return linear_model


@pytest.mark.parametrize(("n_columns", "step"), [(3, 0.3), (12, 0.3), (27, 0.2), (48, 0.15)])
@pytest.mark.parametrize("weight", [1.0, 0.25, 1e-9, 1e6])
def test_a_step_follows_the_gradient_divided_by_the_root_of_its_squares(weight, n_columns, step):
    linear_model = learned(LinearModel())
    z = {0: 0.5, 2: -2.0}
    row = Row(n_columns, z, {1: 77})
    inputs = linear_model.inputs(row, z)
    before = copy.deepcopy(linear_model)
    linear_model.learn(row, z, 1, weight, 3)
    assert list(inputs) == ["intercept", 0, 2, (1, 77)]
    for c in range(3):
        for i in inputs:
            ends = []
            for change in (1e-6, -1e-6):
                moved = copy.deepcopy(before)
                moved.weights[c, i] += change
                ends.append(-moved.log_proba(inputs, 3)[1])
            slope = min(weight, 1.0) * (ends[0] - ends[1]) / 2e-6
            squares = 0.999 * before.squares[c, i] + slope**2
            assert linear_model.squares[c, i] == pytest.approx(squares, rel=1e-7)
            expected = before.weights[c, i] - step * slope / math.sqrt(squares)
            assert linear_model.weights[c, i] == pytest.approx(expected, abs=1e-7)


# Cosines -----------------------------------------------------------------------------------------


def test_cosines_in_closed_form():
    linear_model = CosineModel(7)
    phases = naive_linear_models.draw_phases(7, 100)
    assert linear_model.cosines({}) == pytest.approx(np.cos(phases), abs=1e-15)
    for d in (1, 3, 8, 9, 40):
        z = np.random.default_rng(d).normal(size=d)
        w = np.array([naive_linear_models.draw_directions(7, j, 100) for j in range(d)])
        scale = 0.5 if d <= 8 else 0.5 * math.sqrt(8 / d)
        expected = np.cos(phases + scale * (z @ w))
        assert linear_model.cosines(dict(enumerate(z))) == pytest.approx(expected, abs=1e-12)


# The pool ----------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(streams(max_size=14), st.sampled_from(["logistic", "cosines"]))
def test_all_weights_of_the_vote_move_along_its_gradient(stream, linear):
    model = forest(linear)
    for x, y, w in stream:
        before = copy.deepcopy(model)
        is_new = y not in model.labels or any(
            value == value and value is not None and name not in model.columns
            for name, value in x.items()
        )
        model.learn_one(x, y, w)
        if is_new:
            continue
        moved = weights_of_the_vote(model)
        for (where, k, rate), (now, _, _) in zip(weights_of_the_vote(before), moved, strict=True):
            start, ends = where[k], []
            for change in (1e-5, -1e-5):
                where[k] = start + change
                ends.append(math.log(before.predict_proba_one(x)[y]))
            where[k] = start
            expected = start + rate * min(w, 1.0) * (ends[0] - ends[1]) / 2e-5
            assert now[k] == pytest.approx(expected, abs=1e-8)


def weights_of_the_vote(model):
    """List where each weight is, and the rate at which it learns."""
    return [
        *((model.vote_weights, t, naive.VOTE_RATE) for t in range(2)),
        *((model.biases, c, naive.BIAS_RATE) for c in range(len(model.labels))),
        *(
            (vars(linear_model), "vote_weight", naive_linear_models.LINEAR_RATE)
            for linear_model in model.linear_models.linear_models
        ),
    ]
