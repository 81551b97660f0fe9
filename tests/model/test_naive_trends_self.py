"""The reference of trends, stacks and intervals: against textbook forms, on small cases."""

import math
import random
from statistics import NormalDist

import naive_trends as naive
import numpy as np
import pytest


def row(numbers, categories=None, places=None):
    """Make a sample of the trends whose numbers are in the first columns."""
    return naive.TrendRow(
        len(numbers) + len(categories or {}),
        dict(enumerate(numbers)),
        categories or {},
        places or dict.fromkeys(range(len(numbers)), 0.0),
    )


def test_steps_of_a_ridge_lead_to_the_solution_of_the_normal_equations():
    rng = np.random.default_rng(1)
    ridge = naive.Ridge(decay=0.95, ridge=2.0)
    X = np.column_stack([np.ones(40), rng.standard_normal((40, 6)), np.zeros(40)])
    X[:, 6] = X[:, 5]  # collinear
    y, w = rng.standard_normal(40), rng.choice([1.0, 2.0, 0.5], 40)
    for inputs, target, weight in zip(X, y, w, strict=True):
        ridge.learn(inputs, float(target), float(weight))
    for _ in range(3000):  # the weight of these is so small that they change no sum
        ridge.learn(X[0], 0.0, 1e-200)
    # as if each weight came bit by bit
    later = np.concatenate([np.cumsum(w[::-1])[-2::-1], [0.0]])
    faded = 0.95**later * (1 - 0.95**w) / 0.05
    ridges = np.diag([0.001] + [2.0] * 7)
    expected = np.linalg.solve((X.T * faded) @ X + ridges, X.T @ (faded * y))
    assert ridge.weights == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_each_step_of_a_ridge_lowers_its_loss():
    rng = np.random.default_rng(2)
    ridge = naive.Ridge(decay=0.9, ridge=1.0)
    for _ in range(50):
        inputs = np.concatenate([[1.0], 1e3 * rng.standard_normal(3), [0.0]])
        before = ridge.weights if len(ridge.weights) else np.zeros(5)
        ridge.learn(inputs, float(rng.standard_cauchy()), 1.0)
        own = ridge.products + np.diag([0.001] + [1.0] * 4)

        def loss(w, own=own):
            return w @ own @ w - 2 * ridge.moments @ w

        assert loss(ridge.weights) <= loss(before) + 1e-9 * abs(loss(before))


def test_a_ridge_predicts_within_the_range_of_its_targets():
    ridge = naive.Ridge(decay=0.99, ridge=1.0)
    for i in range(50):
        ridge.learn(np.array([1.0, i % 5]), 2.0 * (i % 5), 1.0)
    assert ridge.predict(np.array([1.0, 2.0])) == pytest.approx(4.0, abs=0.1)
    assert ridge.predict(np.array([1.0, 100.0])) == 8.0
    assert ridge.predict(np.array([1.0, -100.0])) == 0.0
    # inputs that it has not heard of
    assert ridge.predict(np.array([1.0, 2.0, 7.0])) == ridge.predict(np.array([1.0, 2.0]))


def test_large_errors_are_drawn_in_once_there_are_enough():
    squares = naive.FadedMean(naive.ERROR_DECAY)
    for _ in range(23):
        assert squares.winsorized(1e9) == 1e9
        squares.add(4.0, 1.0)
    assert squares.weight > 20
    assert squares.winsorized(1e9) == pytest.approx(20.0)
    assert squares.winsorized(-1e9) == pytest.approx(-20.0)
    assert squares.winsorized(19.0) == 19.0


def test_a_faded_mean_counts_weights_bit_by_bit():
    once, twice = naive.FadedMean(0.8), naive.FadedMean(0.8)
    once.add(3.0, 1.0)
    twice.add(3.0, 1.0)
    once.add(5.0, 2.0)
    twice.add(5.0, 1.0)
    twice.add(5.0, 1.0)
    assert once.mean() == pytest.approx(twice.mean(), rel=1e-14)
    assert once.weight == pytest.approx(twice.weight, rel=1e-14)


def test_a_stack_finds_the_voter_that_is_right_and_stays_near_its_voters():
    rng = random.Random(3)
    stack = naive.Stack(2)
    for _ in range(500):
        truth = rng.gauss(0, 3)
        voters = [truth + rng.gauss(0, 0.1), rng.gauss(0, 3)]
        base = sum(voters) / 2
        stack.learn(base, voters, truth - base, truth - base, 1.0)
    assert stack.say(2.0, [4.0, 0.0]) == pytest.approx(4.0, abs=0.2)
    stack.weights = np.array([50.0, 0.0])
    assert stack.say(2.0, [4.0, 0.0]) == 6.0
    assert stack.say(2.0, [2.0, 2.0]) == 2.0


def test_units_do_not_matter_to_a_stack():
    rng = random.Random(4)
    stacks = [naive.Stack(3), naive.Stack(3)]
    for _ in range(60):
        voters = [rng.gauss(0, 1) for _ in range(3)]
        base, error = rng.gauss(0, 1), rng.gauss(0, 1)
        for stack, unit in zip(stacks, (1.0, -1e12), strict=True):
            of_unit = [unit * v for v in voters]
            stack.learn(unit * base, of_unit, unit * error, unit * error, 1.0)
    assert stacks[0].weights == pytest.approx(stacks[1].weights, rel=1e-10)


def test_a_profile_is_the_mean_of_the_targets_at_a_place():
    profiles = naive.Profiles()
    for i in range(400):
        place = float(i % 17)
        profiles.learn(row([place], places={0: place}), place**2, 1.0)
    deviation = math.sqrt(profiles.squares / profiles.weight)
    for place in (0.0, 3.0, 16.0, 7.25):
        (e,) = profiles.inputs(row([place], places={0: place}))
        k = int(place)
        between = k**2 + (place - k) * ((k + 1) ** 2 - k**2)
        # with 23 targets each, means are drawn towards that of all by a 24th
        assert e == pytest.approx((between - profiles.mean) / deviation, rel=0.06)
    assert profiles.inputs(row([None], places={})) == [0.0]


def test_the_profile_of_a_category_is_its_own():
    profiles = naive.Profiles()
    for i in range(300):
        profiles.learn(naive.TrendRow(1, {}, {0: i % 3}, {}), float(i % 3), 1.0)
    low, middle, high, unknown = (
        profiles.inputs(naive.TrendRow(1, {}, {0: code}, {}))[0] for code in (0, 1, 2, 9)
    )
    assert low < -1.0 and abs(middle) < 0.1 and high > 1.0
    assert unknown == 0.0
    assert profiles.inputs(naive.TrendRow(1, {}, {}, {})) == [0.0]


def test_columns_are_folded_with_alternating_signs():
    values = [float(j) for j in range(130)]
    slots = naive.folded(values)
    assert len(slots) == 64
    assert slots[1] == 1.0 - 65.0 + 129.0 and slots[5] == 5.0 - 69.0
    assert naive.folded([4.0, 5.0]) == [4.0, 5.0]


def test_intervals_are_normal_at_first_and_follow_the_errors():
    vote = naive.Vote(is_learned=False, has_trend=False)
    assert vote.bins.sum() == pytest.approx(10.0)
    for level in (0.5, 0.9, 0.99):
        low, high = vote.interval(3.0, 2.0, level)
        z = NormalDist().inv_cdf((1 + level) / 2)
        assert (high - 3.0) / 2.0 == pytest.approx(z, rel=0.02)
        assert 3.0 - low == pytest.approx(high - 3.0, rel=1e-9)
    rng = random.Random(5)
    for _ in range(4000):
        vote.learn([0.0], [4.0], (), 2.0 * rng.expovariate(1.0), 1.0)
    low, high = vote.interval(0.0, 2.0, 0.8)
    assert low == pytest.approx(-2.0 * math.log(0.9), abs=0.1)
    assert high == pytest.approx(-2.0 * math.log(0.1), rel=0.15)


def test_the_scale_is_the_geometric_mean_of_those_of_the_trees():
    vote = naive.Vote(is_learned=False, has_trend=False)
    assert vote.scale([1.0, 3.0], [0.0, 12.0], 1.0) == 0.0  # a tree that is sure
    assert vote.scale([0.0, 3.0], [0.0, 12.0], 1.0) == pytest.approx(2.0)
    vote.stack.squares.add(4e12, 1.0)
    assert vote.scale([1.0, 1.0], [0.0, 16.0], 1.0) == pytest.approx(math.sqrt(2.0 * 4.0))
