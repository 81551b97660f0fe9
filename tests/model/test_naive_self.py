"""The reference itself: its recursions against enumeration, on small cases."""

import itertools
import math

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
