"""The reference itself: its recursions against enumeration, on small cases."""

import itertools
import math
import random

import naive
import pytest
from generated import streams
from hypothesis import given, settings
from hypothesis import strategies as st

STATES = [123456789012345, 987654321098765]


def forest(n_estimators=2, **parameters):
    return naive.NaiveForest(STATES[:n_estimators], [17, 4][:n_estimators], **parameters)


# Fading ------------------------------------------------------------------------------------------

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
    total = 0.0
    for ways in itertools.product((0, 1), repeat=len(labels)):
        product = 0.5 * math.prod(p[way] for p, way in zip(probabilities, ways, strict=True))
        for one, other in itertools.pairwise(ways):
            product *= naive.SWITCHING / 2 + (1 - naive.SWITCHING) * (one == other)
        total += product
    assert log_p == pytest.approx(math.log(total), rel=1e-12)


def log_weights_by_prunings(node, share_and_log_w, split_prior):
    """List log pi(T) + sum over its leaves of log w_v, with the leaves, for all prunings T."""
    own = share_and_log_w[node][1]
    if node.is_leaf():
        return [([node], own)]
    found = [([node], math.log1p(-split_prior) + own)]
    for side in itertools.product(
        log_weights_by_prunings(node.left, share_and_log_w, split_prior),
        log_weights_by_prunings(node.right, share_and_log_w, split_prior),
    ):
        (left, log_left), (right, log_right) = side
        found.append((left + right, math.log(split_prior) + log_left + log_right))
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(streams(max_size=14), FADING)
def test_fading_with_a_constant_prior_is_the_average_of_all_prunings(stream, parameters):
    # If C and a are constant, each node is as if it had learned its samples from a fresh state, and
    # the log-odds follow from the weights of these replays, whatever the structure went through.
    model = forest(n_classes=3, dirichlet=0.2, **parameters)
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


# Relevance ---------------------------------------------------------------------------------------


def test_correlation_ratio():
    values, labels, weights = [1.0, 2.0, 4.0, 7.0], "xxyy", [1.0, 1.0, 2.0, 1.0]
    repeated = [1.0, 2.0, 4.0, 4.0, 7.0]
    mean = sum(repeated) / 5
    total = sum((v - mean) ** 2 for v in repeated)
    within = 2 * 0.25 + 2 * 1 + 4
    assert naive.correlation_ratio(values, labels, weights) == pytest.approx(1 - within / total)
    moved = [1e9 + 1024 * v for v in values]
    assert naive.correlation_ratio(moved, labels, weights) == pytest.approx(1 - within / total)
    assert naive.correlation_ratio([0.1] * 3, "xyx", [0.3, 0.7, 0.9]) == 0
    assert naive.correlation_ratio([0.1, 0.7, 0.7], "xyy", [0.3, 0.7, 0.9]) == 1
    assert naive.correlation_ratio([1e308, -1e308], "xy", [1.0, 1.0]) == 0
    assert naive.correlation_ratio([1.0, 3.0, 9.0], "xxx", [1.0, 0.5, 2.0]) == 0


def test_corrected_tau():
    # tau by definition: how much rarer wrong guesses are if they are drawn from the bucket
    buckets, labels = [0, 0, 0, 1, 1, 3, 3, 3, 3, 3], "xxyyyxxxxy"
    pairs = list(zip(buckets, labels, strict=True))

    def wrong(others):
        return sum(other != own for _, own in others for _, other in others) / len(others)

    blind = wrong(pairs) / 10
    seeing = sum(wrong([p for p in pairs if p[0] == k]) for k in (0, 1, 3)) / 10
    tau = 1 - seeing / blind
    expected = tau - (1 - tau) * 2 / (10 - 3)
    assert naive.corrected_tau(buckets, labels, [1.0] * 10) == pytest.approx(expected)
    assert naive.corrected_tau(buckets, labels, [0.01] * 10) == pytest.approx(expected)
    assert naive.corrected_tau([0, 1, 1], "xyy", [1.0, 2.0, 3.0]) == pytest.approx(1)
    assert naive.corrected_tau([0, 1, 1], "xxx", [1.0, 2.0, 3.0]) == 0
    rng = random.Random(4)
    noise = [[rng.randrange(30), rng.randrange(2)] for _ in range(600)]
    assert naive.corrected_tau(*zip(*noise, strict=True), [1.0] * 600) < 0.03
