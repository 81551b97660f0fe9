"""The reference of the forest for numbers: its sums against textbook forms, on small cases."""

import itertools
import math
import random

import naive_regression as naive
import pytest
from generated import PARAMETERS_OF_NUMBERS, streams_of_numbers
from hypothesis import given, settings
from scipy import stats

STATES = [123456789012345, 987654321098765]
LEAST = 9 * 5e-324  # numbers that small have few digits


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
        tolerance = max(1e-12 * scale_of(stream), LEAST)
        assert recursive.predict_one(x) == pytest.approx(expected, rel=1e-15, abs=tolerance)
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
