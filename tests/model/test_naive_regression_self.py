"""The reference of the forest for numbers: its sums against textbook forms, on small cases."""

import itertools
import math
import random

import naive_regression as naive
import pytest
from generated import PARAMETERS_OF_NUMBERS, streams_of_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

STATES = [123456789012345, 987654321098765]


def forest(n_estimators=2, **parameters):
    return naive.NaiveRegressor(STATES[:n_estimators], [17, 4][:n_estimators], **parameters)


def scale_of(stream):
    """Return the largest distance of a target from the first one."""
    return max(abs(float(y) - float(stream[0][1])) for _, y, _ in stream)


# One node ----------------------------------------------------------------------------------------


def test_differences_of_log_gammas():
    assert naive.lgamma_half(0.5) == pytest.approx(-math.log(math.pi) / 2, rel=1e-14)
    for alpha in (0.5, 3.25, 29.4, 29.5, 29.99, 30.0, 47.0, 1e3, 1e7, 1e12):
        # lgamma(alpha + 1) - lgamma(alpha)
        both = naive.lgamma_half(alpha) + naive.lgamma_half(alpha + 0.5)
        assert both == pytest.approx(math.log(alpha), rel=1e-14, abs=3e-14)


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


def test_a_whole_weight_fades_as_repeated_targets_do():
    twice = naive.sums(naive.fade([(1.0, 1.0), (4.0, 1.0), (4.0, 1.0)], 0.7))
    assert naive.sums(naive.fade([(1.0, 1.0), (4.0, 2.0)], 0.7)) == pytest.approx(twice, rel=1e-14)


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


@pytest.mark.slow
@settings(max_examples=50)
@given(streams_of_numbers(max_size=30), PARAMETERS_OF_NUMBERS)
def test_the_samples_of_a_cell_are_those_of_its_halves(stream, parameters):
    model = forest(**parameters)
    for x, y, w in stream:
        model.learn_one(x, y, w)
        for node in (node for tree in model.trees for node in tree.nodes()):
            assert len(node.log_densities) == len(node.samples)
            if node.is_leaf():
                continue
            halves = node.left.sums(), node.right.sums()
            n, mean, _ = node.sums()
            assert n == pytest.approx(sum(half.weight for half in halves), rel=1e-12)
            pooled = sum(half.weight * half.mean for half in halves) / n
            assert mean == pytest.approx(pooled, rel=1e-12, abs=1e-12 * scale_of(stream))
    for tree in model.trees:
        for node in tree.nodes():
            if not node.is_leaf():
                both = [id(sample) for half in (node.left, node.right) for sample in half.samples]
                assert sorted(both) == sorted(map(id, node.samples))
        if tree.root:
            assert len(tree.root.samples) == sum(w > 0 for _, _, w in stream)


@pytest.mark.slow
@settings(max_examples=50)
@given(
    streams_of_numbers(max_size=40, targets=("plain", "ties", "a jump", "heavy tails", "tiny")),
    PARAMETERS_OF_NUMBERS,
)
def test_a_tree_grows_by_the_density_it_gave(stream, parameters):
    # the density of the average is the average of the densities
    model = forest(**(parameters | {"step": 1.0, "trend": None}))
    for x, y, _ in stream:
        before = {tree: tree.root and tree.root.log_wbar() for tree in model.trees}
        n_nodes = {tree: len(tree.nodes()) for tree in model.trees}
        noise = {tree: tree.noise() for tree in model.trees}
        given = {}
        for tree in model.trees if model.n_learnt else ():
            path = tree.path(model.encode(x, tree.tree_key))
            sample = naive.Sample(x, float(y) - model.first_target, 1.0, {})
            prior_means = [tree.targets().mean, *tree.estimates(path)]
            given[tree] = [
                math.log(mass) + node.score(sample, prior_mean, noise[tree])[0]
                for mass, node, prior_mean in zip(
                    naive.masses_by_recursion(path), path, prior_means, strict=False
                )
                if mass > 0
            ]
        model.learn_one(x, y)
        for tree, terms in given.items():
            if len(tree.nodes()) == n_nodes[tree]:
                largest = max(terms)
                density = largest + math.log(math.fsum(math.exp(t - largest) for t in terms))
                grown = tree.root.log_wbar() - before[tree]
                assert grown == pytest.approx(density, rel=1e-9, abs=1e-9)


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


# The forest --------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=60)
@given(
    streams_of_numbers(max_size=40, targets=("plain", "ties", "a jump", "heavy tails")),
    PARAMETERS_OF_NUMBERS,
    st.sampled_from([-1.0, 0.5, 3.0, -1e-6, 1e6]),
    st.sampled_from([0.0, 1.0, -1000.0]),
)
def test_an_affine_map_of_the_target_maps_the_predictions(stream, parameters, factor, offset):
    plain, mapped = forest(**parameters), forest(**parameters)
    tolerance = 1e-9 * scale_of(stream) * abs(factor) + 1e-14 * abs(offset)
    for x, y, w in stream:
        if plain.n_learnt:
            expected = factor * plain.predict_one(x) + offset
            assert mapped.predict_one(x) == pytest.approx(expected, rel=1e-12, abs=tolerance)
        plain.learn_one(x, y, w)
        mapped.learn_one(x, factor * y + offset, w)


def test_constant_targets_are_not_scored():
    model = forest(fading_factor=0.6)
    for i in range(30):
        model.learn_one({"a": i * 7 % 11}, 0.1, 0.5 + i % 3)
    for tree in model.trees:
        assert all(not any(node.log_densities) for node in tree.nodes())
        assert all(node.share == pytest.approx(0.5) for node in tree.nodes())
        assert tree.noise() is None
    assert model.predict_one({"a": 3}) == 0.1


def test_sigma_is_a_running_mean_of_squared_errors():
    model = forest(n_estimators=1)
    rng = random.Random(8)
    (tree,) = model.trees
    kept = weight = 0.0
    n_clipped = 0
    for i in range(120):
        x, w = {"a": rng.random()}, rng.choice([1.0, 2.0, 0.5, 1e-9])
        y = x["a"] + rng.gauss(0, 0.1) + (1000.0 if i == 70 else 0.0)
        before = tree.noise()
        if i > 1:
            targets = tree.targets()
            variance = targets.squares / targets.weight
            expected = max(kept / weight, 1e-12 * variance) if weight > 20 else variance
            assert before == pytest.approx(expected, rel=1e-12)
        error = (y - model.predict_one(x)) ** 2
        if weight > 20 and error > 25 * before:
            error = 25 * before
            n_clipped += 1
        if i > 0:
            fade = 0.999**w
            kept = fade * kept + (1 - fade) / 0.001 * error
            weight = fade * weight + (1 - fade) / 0.001
        model.learn_one(x, y, w)
    assert 0 < n_clipped < 30


def test_a_jump_after_a_constant_is_not_clipped():
    model = forest(n_estimators=1)
    for _ in range(60):
        model.learn_one({"a": 1.0}, 5.0)
    model.learn_one({"a": 1.0}, 8.0)
    (tree,) = model.trees
    assert tree.noise() == pytest.approx(9.0 / tree.heard(), rel=1e-12)


def test_a_weight_of_two_is_not_learning_twice():
    once, twice = forest(), forest()
    for i in range(10):
        x, y = {"a": i * 3 % 7}, i * 5 % 9
        once.learn_one(x, y, 2.0)
        twice.learn_one(x, y)
        twice.learn_one(x, y)
    assert once.trees[0].targets() == pytest.approx(twice.trees[0].targets())
    assert once.predict_one({"a": 2}) != pytest.approx(twice.predict_one({"a": 2}), rel=1e-6)


@pytest.mark.parametrize(
    ("y", "error"),
    [(math.nan, ValueError), (math.inf, ValueError), ("1", TypeError), (None, TypeError)],
)
def test_targets_that_are_no_numbers_raise(y, error):
    model = forest()
    with pytest.raises(error, match="the target is"):
        model.learn_one({"a": 1}, y)
    model.learn_one({"a": 1}, 2)
    with pytest.raises(ValueError, match="too far"):
        model.learn_one({"a": 1}, -1.1e100)
