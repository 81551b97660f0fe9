"""The references themselves: their recursions against enumeration, on small cases."""

import itertools
import math
import random

import naive
import naive_regression
import pytest
from generated import PARAMETERS_OF_NUMBERS, streams, streams_of_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

SEEDS = [123456789012345, 987654321098765], [17, 4]

FADING = st.fixed_dictionaries(
    {"fading_factor": st.sampled_from([0.3, 0.6, 0.95])},
    optional={
        "split_pure": st.booleans(),
        "max_nodes": st.sampled_from([1, 3, 7]),
        "split_prior": st.sampled_from([0.2, 0.8]),
        "step": st.sampled_from([0.5, 2.0]),
        "split_intensity": st.sampled_from(["unit", "relevance"]),
        "vote": st.just("learned"),
    },
)


def log_of_all_ways(probabilities):
    """Sum the products of every way of switching between two estimators; return the logarithm."""
    total = 0.0
    for ways in itertools.product((0, 1), repeat=len(probabilities)):
        product = 0.5 * math.prod(p[way] for p, way in zip(probabilities, ways, strict=True))
        for one, other in itertools.pairwise(ways):
            product *= naive.SWITCHING / 2 + (1 - naive.SWITCHING) * (one == other)
        total += product
    return math.log(total)


def test_a_node_weighs_every_way_of_switching_between_its_two_estimators():
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


def test_a_node_of_numbers_weighs_every_way_of_switching_between_its_two_densities():
    # as if the two densities were given; sigma^2 and the parent's estimate do not matter to that
    rng = random.Random(6)
    forest = naive_regression.NaiveRegressor(*SEEDS, fading_factor=0.6)
    node, densities = naive_regression.RegressionNode(forest, 0.0), []
    for _ in range(9):
        sample = naive_regression.Sample({}, rng.gauss(0, 1), 1.0, {})
        logs = [
            naive_regression.log_density(sample.target, sums, 0.3, 2.0)
            for sums in (node.sums(), node.faded_sums())
        ]
        densities.append([*map(math.exp, logs)])
        log_p, node.share = node.score(sample, 0.3, 2.0)
        node.samples.append(sample)
        node.log_densities.append(log_p)
    expected = log_of_all_ways(densities)
    assert math.fsum(node.log_densities) == pytest.approx(expected, rel=1e-12)


def log_weights_by_prunings(node, share_and_log_w, split_prior):
    """List log pi(T) + sum over its leaves of log w_v, with the leaves, for all prunings T."""
    own = node.log_evidence + share_and_log_w[node][1]
    if node.is_leaf():
        return [([node], own)]
    found = [([node], math.log1p(-split_prior) + own)]
    for side in itertools.product(
        log_weights_by_prunings(node.left, share_and_log_w, split_prior),
        log_weights_by_prunings(node.right, share_and_log_w, split_prior),
    ):
        (left, log_left), (right, log_right) = side
        log_weight = node.log_evidence + math.log(split_prior) + log_left + log_right
        found.append((left + right, log_weight))
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(streams(max_size=14), FADING)
def test_fading_with_a_constant_prior_is_the_average_of_all_prunings(stream, parameters):
    # If C and a are constant, each node is as if it had learned its samples from a fresh state, and
    # the log-odds follow from the weights of these replays, whatever the structure went through.
    model = naive.NaiveForest(*SEEDS, n_classes=3, dirichlet=0.2, **parameters)
    for x, y, w in stream:
        model.learn_one(x, y, w)
    for tree in model.trees:
        replays = {node: node.replay() for node in tree.nodes()}
        for node, (share, _) in replays.items():
            assert node.share == pytest.approx(share, rel=1e-12)
        if len(replays) > 9:
            continue
        prunings = log_weights_by_prunings(tree.root, replays, model.split_prior)
        largest = max(log_weight for _, log_weight in prunings)
        for x in ({"a": 1.5, "b": 2}, {"color": "red", 7: 0}, {}):
            values = model.encode(x, tree.tree_key)
            path = tree.path(values)
            expected, total = [0.0] * 3, 0.0
            for leaves, log_weight in prunings:
                (own,) = (leaf for leaf in leaves if leaf in path)
                weight = math.exp(log_weight - largest)
                of_leaf = own.mixture().predict()
                expected = [e + weight * p for e, p in zip(expected, of_leaf, strict=True)]
                total += weight
            expected = [e / total for e in expected]
            assert tree.predict(values) == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
@settings(max_examples=150)
@given(streams_of_numbers(max_size=24), PARAMETERS_OF_NUMBERS)
def test_the_recursion_for_numbers_is_the_average_of_all_prunings(stream, parameters):
    parameters["max_nodes"] = min(parameters.get("max_nodes", 9), 9)
    recursive, enumerating = (
        naive_regression.NaiveRegressor(*SEEDS, **parameters, enumerates=enumerates)
        for enumerates in (False, True)
    )
    scale = max(abs(float(y) - float(stream[0][1])) for _, y, _ in stream)
    tolerance = max(1e-12 * scale, 9 * 5e-324)  # numbers that small have few digits
    for x, y, w in stream:
        expected = enumerating.predict_one(x)
        assert recursive.predict_one(x) == pytest.approx(expected, rel=1e-15, abs=tolerance)
        recursive.learn_one(x, y, w)
        enumerating.learn_one(x, y, w)


@pytest.mark.parametrize("n", [0, 1, 2.5, 40])
def test_the_density_is_students(n):
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
