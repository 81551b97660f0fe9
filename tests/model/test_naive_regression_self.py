"""The reference of the forest for numbers: its sums against textbook forms, on small cases."""

import itertools
import math
import random
from statistics import NormalDist

import naive_regression as naive
import naive_trends
import numpy as np
import pytest
from generated import PARAMETERS_OF_NUMBERS, streams_of_numbers
from hypothesis import given, settings
from scipy import stats

STATES = [123456789012345, 987654321098765]


def forest(n_estimators=2, **parameters):
    return naive.NaiveRegressor(STATES[:n_estimators], [17, 4][:n_estimators], **parameters)


def scale_of(stream):
    """Return the largest distance of a target from the first one."""
    return max(abs(float(y) - float(stream[0][1])) for _, y, _ in stream)


# One node ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2.5, 40])
def test_the_density_is_students(n):
    node = naive.Sums(n, 3.0 if n else 0.0, 7.0 if n > 1 else 0.0)
    prior_mean, noise = -1.5, 0.4
    alpha = 0.5 + n / 2
    beta = 0.5 * noise + node.squares / 2 + n * (node.mean - prior_mean) ** 2 / (2 * (1 + n))
    law = stats.t(
        2 * alpha,
        loc=(n * node.mean + prior_mean) / (n + 1),
        scale=math.sqrt(beta * (n + 2) / (alpha * (n + 1))),
    )
    for y in (-1.5, 3.0, 0.2, 1e4):
        log_density = naive.log_density(y, node, prior_mean, noise)
        assert log_density == pytest.approx(law.logpdf(y), rel=1e-12)


def test_the_densities_of_a_node_multiply_to_that_of_all_its_targets():
    # of a normal law whose mean and variance have the conjugate prior
    rng = random.Random(3)
    targets = [rng.gauss(2.0, 3.0) for _ in range(20)]
    prior_mean, noise = 0.7, 5.0
    one_by_one = math.fsum(
        naive.log_density(y, naive.sums((other, 1.0) for other in targets[:i]), prior_mean, noise)
        for i, y in enumerate(targets)
    )
    n, mean, squares = naive.sums((y, 1.0) for y in targets)
    beta = 0.5 * noise + squares / 2 + n * (mean - prior_mean) ** 2 / (2 * (1 + n))
    at_once = math.lgamma(0.5 + n / 2) - math.lgamma(0.5)
    at_once += 0.5 * math.log(0.5 * noise) - (0.5 + n / 2) * math.log(beta)
    at_once += -0.5 * math.log(1 + n) - n / 2 * math.log(2 * math.pi)
    assert one_by_one == pytest.approx(at_once, rel=1e-12)


@pytest.mark.parametrize("factor", [1e-12, 0.3, 0.999, 1 - 1e-12])
def test_faded_sums_are_those_of_an_update_step_by_step(factor):
    rng = random.Random(4)
    values = [(rng.gauss(5, 1), rng.choice([1.0, 2.0, 0.25, 1e-9, 30.0])) for _ in range(40)]
    n = mean = squares = 0.0
    for y, w in values:
        n, squares = n * factor**w, squares * factor**w
        added = -math.expm1(w * math.log(factor)) / (1 - factor)
        n += added
        off = y - mean
        mean += off * added / n
        squares += added * off * (y - mean)
    found = naive.sums(naive.fade(values, factor))
    assert found.weight == pytest.approx(n, rel=1e-12)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert found.squares == pytest.approx(squares, rel=1e-9, abs=1e-14)


# Trees -------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=150)
@given(streams_of_numbers(max_size=24), PARAMETERS_OF_NUMBERS)
def test_the_recursion_is_the_average_of_all_prunings(stream, parameters):
    parameters["max_nodes"] = min(parameters.get("max_nodes", 9), 9)
    recursive, enumerating = forest(**parameters), forest(**parameters, enumerates=True)
    for x, y, w in stream:
        expected = enumerating.predict_one(x)
        assert recursive.predict_one(x) == pytest.approx(
            expected, rel=1e-15, abs=1e-12 * scale_of(stream)
        )
        recursive.learn_one(x, y, w)
        enumerating.learn_one(x, y, w)


def test_the_shares_weigh_every_way_of_switching_between_the_densities():
    # as if the two densities were given; sigma^2 and the parent's estimate do not matter to that
    rng = random.Random(6)
    node = naive.RegressionNode(forest(fading_factor=0.6), 0.0)
    densities = []
    for _ in range(9):
        sample = naive.Sample({}, rng.gauss(0, 1), 1.0, {})
        sums = node.sums(), node.faded_sums()
        densities.append([math.exp(naive.log_density(sample.target, s, 0.3, 2.0)) for s in sums])
        log_p, node.share = node.score(sample, 0.3, 2.0)
        node.samples.append(sample)
        node.log_densities.append(log_p)
    total = 0.0
    for ways in itertools.product((0, 1), repeat=len(densities)):
        product = 0.5 * math.prod(p[way] for p, way in zip(densities, ways, strict=True))
        for one, other in itertools.pairwise(ways):
            product *= naive.SWITCHING / 2 + (1 - naive.SWITCHING) * (one == other)
        total += product
    assert math.fsum(node.log_densities) == pytest.approx(math.log(total), rel=1e-12)


# Trends and intervals -----------------------------------------------------------------------------


def test_steps_of_a_ridge_lead_to_the_solution_of_the_normal_equations():
    rng = np.random.default_rng(1)
    ridge = naive_trends.Ridge(decay=0.95, ridge=2.0)
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


def test_a_profile_is_the_mean_of_the_targets_at_a_place():
    profiles = naive_trends.Profiles()
    for i in range(400):
        place = float(i % 17)
        profiles.learn(naive_trends.TrendRow(1, {0: place}, {}, {0: place}), place**2, 1.0)
    deviation = math.sqrt(profiles.squares / profiles.weight)
    for place in (0.0, 3.0, 16.0, 7.25):
        (e,) = profiles.inputs(naive_trends.TrendRow(1, {0: place}, {}, {0: place}))
        k = int(place)
        between = k**2 + (place - k) * ((k + 1) ** 2 - k**2)
        # with 23 targets each, means are drawn towards that of all by a 24th
        assert e == pytest.approx((between - profiles.mean) / deviation, rel=0.06)


def test_intervals_are_normal_at_first_and_follow_the_errors():
    vote = naive_trends.Vote(is_learned=False)
    vote.targets *= 20  # enough of them for intervals to go by errors alone
    assert vote.bins.sum() == pytest.approx(10.0)
    for level in (0.5, 0.9, 0.99):
        low, high = vote.interval(3.0, 2.0, level)
        z = NormalDist().inv_cdf((1 + level) / 2)
        assert (high - 3.0) / 2.0 == pytest.approx(z, rel=0.02)
        assert 3.0 - low == pytest.approx(high - 3.0, rel=1e-9)
    rng = random.Random(5)
    for _ in range(4000):
        vote.learn(naive_trends.Votes([0.0], [4.0]), 2.0 * rng.expovariate(1.0), 1.0)
    low, high = vote.interval(0.0, 2.0, 0.8)
    assert low == pytest.approx(-2.0 * math.log(0.9), abs=0.1)
    assert high == pytest.approx(-2.0 * math.log(0.1), rel=0.15)


def test_the_scale_is_the_geometric_mean_of_those_of_the_trees():
    vote = naive_trends.Vote(is_learned=False)
    votes = naive_trends.Votes([1.0, 3.0], [0.0, 12.0])
    assert vote.scale(votes, 1.0) == 0.0  # a tree that is sure
    assert vote.scale(votes._replace(trees=[0.0, 3.0]), 1.0) == pytest.approx(2.0)
    vote.stack.squares.add(4e12, 1.0)
    votes = naive_trends.Votes([1.0, 1.0], [0.0, 16.0])
    assert vote.scale(votes, 1.0) == pytest.approx(math.sqrt(2.0 * 4.0))
