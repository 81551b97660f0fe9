"""The references themselves: their recursions against enumeration, on small cases."""

import itertools
import math
import random

import naive
import naive_regression
import pytest
from generated import PARAMETERS, PARAMETERS_OF_NUMBERS, streams, streams_of_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_aggregation import masses_by_enumeration
from naive_growth import Sample
from scipy import stats

SEEDS = [123456789012345, 987654321098765], [17, 4]


def log_of_all_ways(probabilities):
    """Sum the products of every way of switching between two estimators; return the logarithm."""
    total = 0.0
    for ways in itertools.product((0, 1), repeat=len(probabilities)):
        product = 0.5 * math.prod(p[way] for p, way in zip(probabilities, ways, strict=True))
        for one, other in itertools.pairwise(ways):
            product *= naive.SWITCHING / 2 + (1 - naive.SWITCHING) * (one == other)
        total += product
    return math.log(total)


def test_share_of_labels_sums_over_all_ways():
    labels = [0, 1, 1, 2, 0, 0, 1, 2]
    mixture = naive.Mixture([0.0] * 3, [0.0] * 3, 0.0, 0.5, 0.3, 0.7)
    probabilities = []  # of each label, by the whole and the faded counts
    log_p = 0.0
    for t, y in enumerate(labels):
        before = labels[:t]
        whole = (before.count(y) + 0.3) / (t + 0.9)
        powers = [0.7 ** (t - 1 - i) for i in range(t)]
        faded = sum(p for p, other in zip(powers, before, strict=True) if other == y)
        probabilities.append((whole, (faded + 0.3) / (sum(powers) + 0.9)))
        log_p += mixture.learn(y, 1.0)
    assert log_p == pytest.approx(log_of_all_ways(probabilities), rel=1e-12)


def test_share_of_targets_sums_over_all_ways():
    # for any two densities; sigma^2 and the parent's estimate do not matter to that
    rng = random.Random(6)
    forest = naive_regression.NaiveRegressor(*SEEDS, fading_factor=0.6)
    node, densities = naive_regression.RegressionNode(forest, 0.0), []
    for _ in range(9):
        sample = Sample(rng.gauss(0, 1), 1.0, {})
        laws = node.sums(), node.faded_sums()
        logs = [naive_regression.log_density(sample.target, law, 0.3, 2.0) for law in laws]
        densities.append([*map(math.exp, logs)])
        log_p, node.share = node.score(sample, 0.3, 2.0)
        node.samples.append(sample)
        node.log_densities.append(log_p)
    assert node.log_w() == pytest.approx(log_of_all_ways(densities), rel=1e-12)


def replayed_log_w(node):
    """Return the log-weight of a node that learns its samples once more, to the same share."""
    share, log_w = node.replay()
    assert node.share == pytest.approx(share, rel=1e-12)
    return log_w


def check_visits(tree, values, log_w):
    """Compare the masses of a walk both ways with those of all prunings, times shares of x."""
    visits = tree.visits(values, least_mass=0.0)
    assert math.fsum(visit.share for visit in visits) == pytest.approx(1.0, rel=1e-12)
    nodes = [visit.node for visit in visits]
    expected = masses_by_enumeration([tree.root, *nodes], log_w, tree.forest.split_prior)[1:]
    for visit, mass in zip(visits, expected, strict=True):
        share = math.fsum(v.share for v in visits if v.node in tree.nodes(visit.node))
        assert visit.mass == pytest.approx(share * mass, rel=1e-9, abs=1e-12)


LABELS = streams(max_size=14), PARAMETERS, [None, 0.3, 0.6, 0.95]
TARGETS = streams_of_numbers(max_size=24), PARAMETERS_OF_NUMBERS, [None, 0.5]


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "is_regressor"), [(LABELS, False), (TARGETS, True)])
@settings(max_examples=80)
@given(data=st.data())
def test_masses_are_those_of_all_prunings(draws, is_regressor, data):
    stream, parameters, factors = draws
    parameters = data.draw(parameters) | {"fading_factor": data.draw(st.sampled_from(factors))}
    parameters |= {"use_aggregation": True, "max_nodes": min(parameters.get("max_nodes", 9), 9)}
    if is_regressor:
        model = naive_regression.NaiveRegressor(*SEEDS, **parameters)
    else:  # C and a do not change, so that nodes with fading are as if they had learned a replay
        model = naive.NaiveForest(*SEEDS, **parameters | {"n_classes": 3, "dirichlet": 0.2})
    fades = not is_regressor and model.fading_factor is not None
    log_w = replayed_log_w if fades else model.tree_kind.node_kind.log_w
    for x, y, w in data.draw(stream):
        model.learn_one(x, y, w)
        for tree in model.trees:
            for question in (x, {"a": 1.5, "b": 2}, {"color": "red", 7: 0}, {}):
                values = model.encode(question, tree.tree_key)
                path = tree.path(values) if tree.root else []
                if path:
                    expected = masses_by_enumeration(path, log_w, model.split_prior)
                    assert tree.masses(path) == pytest.approx(expected, rel=1e-9, abs=1e-12)
                    check_visits(tree, values, log_w)


@pytest.mark.parametrize("n", [0, 1, 2.5, 40])
def test_density_is_that_of_student(n):
    node = naive_regression.Sums(n, 3.0 if n else 0.0, 7.0 if n > 1 else 0.0)
    prior_mean, noise = -1.5, 0.4
    alpha = 0.5 + n / 2
    beta = 0.5 * noise + node.squares / 2 + n * (node.mean - prior_mean) ** 2 / (2 * (1 + n))
    law = stats.t(
        2 * alpha,
        loc=(n * node.mean + prior_mean) / (n + 1),
        scale=math.sqrt(beta * (n + 2) / (alpha * (n + 1))),
    )
    for y in (-1.5, 3.0, 0.2, 1e4):
        log_density = naive_regression.log_density(y, node, prior_mean, noise)
        assert log_density == pytest.approx(law.logpdf(y), rel=1e-12)
