"""The reference itself: its recursions against enumeration, on small cases."""

import itertools
import math
import random

import naive
import naive_features
import pytest
from generated import streams
from hypothesis import given, settings
from hypothesis import strategies as st

STATES = [123456789012345, 987654321098765]


def forest(n_estimators=2, **parameters):
    return naive.NaiveForest(STATES[:n_estimators], [17, 4][:n_estimators], **parameters)


def softmax(z):
    return [math.exp(v) / math.fsum(math.exp(u) for u in z) for v in z]


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


def test_whole_weights_of_faded_counts_are_repeated_samples():
    once, twice = (naive.Mixture([0.0] * 2, [0.0] * 2, 0.0, 0.5, 0.5, 0.7) for _ in range(2))
    for y in (0, 1, 1):
        once.learn(y, 2.0)
        twice.learn(y, 1.0)
        twice.learn(y, 1.0)
    assert once.counts == twice.counts
    assert once.faded_counts == pytest.approx(twice.faded_counts, rel=1e-14)
    assert once.faded_total == pytest.approx(twice.faded_total, rel=1e-14)
    # weights next to one, where the two ways to compute an increment meet
    counts = [3.0, 5.0]
    assert naive.log_whole(counts, 1, 1.0, 0.5) == pytest.approx(
        naive.log_whole(counts, 1, 1 + 1e-13, 0.5), abs=1e-11
    )


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


@settings(max_examples=60, deadline=None)
@given(streams(max_size=40), FADING)
def test_stored_odds_equal_those_of_replays_if_the_prior_is_constant(stream, parameters):
    model = forest(n_classes=3, dirichlet=0.2, **parameters)
    b = model.split_prior

    def check(node):
        """Check the odds of a subtree; return its log wbar."""
        _, own = node.replay()
        if node.is_leaf():
            return own
        below = check(node.left) + check(node.right)
        expected = math.log1p(-b) - math.log(b) + own - below
        assert node.odds == pytest.approx(expected, rel=1e-10, abs=1e-10)
        return naive.log_add(math.log1p(-b) + own, math.log(b) + below)

    for x, y, w in stream:
        model.learn_one(x, y, w)
    for tree in model.trees:
        check(tree.root)


@settings(max_examples=40, deadline=None)
@given(streams(max_size=40, weighted=False), FADING)
def test_a_tree_grows_by_the_probability_it_gave(stream, parameters):
    model = forest(**(parameters | {"step": 1.0}))
    for x, y, w in stream:
        if y not in model.labels:
            model.learn_one(x, y, w)
            continue
        expected = []
        for tree in model.trees:
            values = model.encode(x, tree.tree_key)
            expected.append(tree.predict(values)[model.labels.index(y)])
        grown = []
        original = naive.NaiveTree._learn_fading

        def noting(tree, path, sample, grown=grown, original=original):
            grown.append((bool(tree.log_growth), original(tree, path, sample)))

        naive.NaiveTree._learn_fading = noting
        try:
            model.learn_one(x, y, w)
        finally:
            naive.NaiveTree._learn_fading = original
        for p, (structure_changed, log_g) in zip(expected, grown, strict=True):
            if not structure_changed:
                assert log_g == pytest.approx(math.log(p), rel=1e-10, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(streams(max_size=30))
def test_fading_that_forgets_nothing_changes_nothing(stream):
    still = forest(n_classes=3, split_prior=0.7)
    fading = forest(n_classes=3, split_prior=0.7, fading_factor=1 - 1e-10)
    for x, y, _ in stream:
        still.learn_one(x, y, 1.0)
        fading.learn_one(x, y, 1.0)
        assert fading.predict_proba_one(x) == pytest.approx(still.predict_proba_one(x), abs=1e-7)
    assert fading.fading_share() == pytest.approx(0.5, abs=1e-7)
    for mine, other in zip(fading.trees, still.trees, strict=True):
        assert mine.random.state == other.random.state
        for node, twin in zip(mine.nodes(), other.nodes(), strict=True):
            assert node.log_odds() == pytest.approx(twin.log_odds(), abs=1e-6)


@pytest.mark.parametrize("use_aggregation", [True, False])
def test_the_share_is_that_of_faded_counts_in_the_prediction(use_aggregation):
    model = forest(fading_factor=0.6, max_nodes=15, use_aggregation=use_aggregation)
    rng = random.Random(5)
    for i in range(200):
        x, y = {"a": rng.random(), "b": rng.random()}, i % 3 == 0
        expected = []
        for tree in model.trees if i > 1 else ():
            mass, share = 1.0, 0.0
            for node in tree.path(model.encode(x, tree.tree_key)):
                own = 1.0 if node.is_leaf() else 1 / (1 + math.exp(-node.odds)) * use_aggregation
                share += mass * own * node.share
                mass *= 1 - own
            expected.append(tree.fading_share + (share - tree.fading_share) / naive.SHARE_MEMORY)
        n_nodes = [len(tree.nodes()) for tree in model.trees]
        model.learn_one(x, y)
        for tree, of_tree, before in zip(model.trees, expected, n_nodes, strict=False):
            if len(tree.nodes()) == before:
                assert tree.fading_share == pytest.approx(of_tree, rel=1e-12)
    assert model.fading_share() != 0.5


def test_a_new_label_leaves_odds_and_shares_as_they_are():
    model = forest(n_estimators=1, fading_factor=0.6)
    for i in range(40):
        model.learn_one({"a": i % 8, "b": i % 5}, i % 8 > 3)
    (tree,) = model.trees
    before = {node: (node.odds, node.share) for node in tree.nodes()}
    path = tree.path(model.encode({"a": 7, "b": 4}, tree.tree_key))
    model.learn_one({"a": 7, "b": 4}, "new")
    beside = [node for node in before if node not in path]
    assert beside
    assert all((node.odds, node.share) == before[node] for node in beside)
    assert model.current_dirichlet() == 0.01
    # a new label has the class's prior everywhere, and no faded counts
    assert tree.root.mixture().faded_counts[2] == 1
    assert all(node.mixture().faded_counts[2] == 0 for node in beside)


def test_the_top_of_an_expansion_keeps_its_share_and_the_new_nodes_replay():
    model = forest(n_estimators=1, fading_factor=0.6)
    for i in range(10):
        model.learn_one({"a": i}, "x")
    (tree,) = model.trees
    assert tree.root.share == pytest.approx(0.5)  # a single class, which both estimators predict
    shares = {}
    learn = tree._learn_fading
    tree._learn_fading = lambda path, sample: (
        shares.update({node: node.share for node in tree.nodes()}),
        learn(path, sample),
    )
    model.learn_one({"a": 4.5}, "y")
    assert len(shares) > 2
    assert shares.pop(tree.root) == pytest.approx(0.5)
    for node, share in shares.items():
        stored = [sample for sample in node.samples if sample.target == "x"]
        mixture = model.fresh_mixture()
        for _ in stored:
            mixture.learn(0, 1.0)
        assert share == mixture.share


@pytest.mark.slow
def test_faded_counts_win_where_the_label_changes_and_share_says_so():
    model = forest(fading_factor=0.6)
    for i in range(600):
        model.learn_one({"a": i % 10}, i // 20 % 2)
    assert model.fading_share() > 0.6
    assert model.predict_proba_one({"a": 3})[599 // 20 % 2] > 0.8
    model = forest(fading_factor=0.6)
    rng = random.Random(1)
    for i in range(600):
        model.learn_one({"a": i % 10}, rng.random() < 0.7)
    assert model.fading_share() < 0.3


# Observed range ----------------------------------------------------------------------------------


def observed(values):
    observed_range, told = naive_features.ObservedRange(), []
    for value in values:
        told.append(observed_range.add(value))
    return observed_range, told


def test_without_outliers_the_range_holds_all():
    rng = random.Random(2)
    values = [rng.gauss(0, 1) for _ in range(500)]
    observed_range, told = observed(values)
    assert (observed_range.low, observed_range.high) == (min(values), max(values))
    assert not any(suspect or dropped for suspect, dropped in told)


@pytest.mark.parametrize(
    ("outliers", "kept"),
    [
        ([100.0], []),
        ([-1000.0, 100.0], []),
        ([-100.0, -101.0, 700.0, 10000.0], []),
        ([-100.0, 100.0], []),
        ([32.5], []),
        ([28.0], [28.0]),  # not far enough
        ([100.0, 101.0, 102.0], [100.0, 101.0, 102.0]),  # too many
    ],
)
def test_the_few_far_values_are_dropped_when_the_buffer_is_full(outliers, kept):
    inner = [i / (63 - len(outliers)) for i in range(64 - len(outliers))]
    values = [*inner, *outliers]
    random.Random(3).shuffle(values)
    before, told = observed(values[:-1])
    assert (before.low, before.high) == (min(values[:-1]), max(values[:-1]))
    after, told = observed(values)
    assert (after.low, after.high) == (min([0.0, *kept]), max([1.0, *kept]))
    assert told[-1] == (values[-1] in outliers and not kept, len(kept) < len(outliers))
    assert not any(dropped for _, dropped in told[:-1])


def test_a_far_value_counts_when_there_are_five():
    inner = [i / 63 for i in range(64)]
    suspects = [100.0, -200.0, 100.0, 300.0]
    observed_range, told = observed([*inner, *suspects])
    assert (observed_range.low, observed_range.high, observed_range.credit) == (0.0, 1.0, 4.0)
    assert [suspect for suspect, _ in told[64:]] == [True] * 4
    assert observed_range.draw_in(500.0) == 1.0
    assert observed_range.add(500.0) == (False, False)
    assert (observed_range.low, observed_range.high, observed_range.credit) == (0.0, 500.0, 0.0)
    # values inside the range use up the credit
    observed_range, _ = observed([*inner, *suspects, *[0.5] * 30])
    assert observed_range.credit == pytest.approx(2.5)
    # a value not far outside is added, and does not change the credit
    assert observed_range.draw_in(30.9) == 30.9
    assert observed_range.add(30.9) == (False, False)
    assert (observed_range.high, observed_range.credit) == (30.9, pytest.approx(2.5))


def test_a_constant_is_judged_again_once_it_varies():
    observed_range, _ = observed([2.0] * 63 + [-999.0])
    assert (observed_range.low, observed_range.high) == (-999.0, 2.0)
    assert (observed_range.recent, observed_range.is_settled) == ([-999.0, 2.0], False)
    for i in range(62):
        told = observed_range.add(1.0 + i / 61)
    assert told == (False, True)
    assert (observed_range.low, observed_range.high) == (1.0, 2.0)


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


def test_relevance_leaves_out_what_is_missing_late_or_suspect():
    model = forest(split_intensity="relevance")
    for i in range(70):
        x = {"a": i % 7 + 10 * (i % 2), "b": None if i % 3 else float(i % 2), "c": "pq"[i % 2]}
        if i > 50:
            x["late"] = i
        model.learn_one(x, i % 2)
    a, b, c, late = model.columns.values()
    assert [len(column.observations) for column in (a, b, c, late)] == [70, 24, 70, 19]
    assert [o.number for o in late.observations] == list(range(52, 71))
    assert b.relevance(70) == c.relevance(70) == 1
    before = model.split_intensities()
    model.learn_one({"a": 1e6}, 0)
    assert len(a.observations) == 70
    assert model.split_intensities() == pytest.approx(before, rel=1e-12)  # age alone changes little
    raised = [naive_features.RELEVANCE_FLOOR + column.relevance(71) for column in (a, b, c, late)]
    base = [1 / 16, 1, 1, 1 / 18]
    expected = [lam * r / (sum(raised) / 4) for lam, r in zip(base, raised, strict=True)]
    assert model.split_intensities() == pytest.approx(expected, rel=1e-12)


def test_relevance_starts_afresh_when_outliers_are_dropped():
    model = forest(split_intensity="relevance")
    for i in range(63):
        model.learn_one({"a": 1e9 if i == 5 else i % 4, "b": i % 4}, i % 2)
    a, b = model.columns.values()
    assert a.relevance(63) < 0.1 < b.relevance(63)
    model.learn_one({"a": 3, "b": 3}, 1)
    assert [len(column.observations) for column in (a, b)] == [1, 64]


# Vote --------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(streams(max_size=20), st.sampled_from([None, 0.6]))
def test_the_vote_moves_along_the_gradient_of_the_log_probability(stream, fading_factor):
    model = forest(vote="learned", fading_factor=fading_factor)
    for i, (x, y, w) in enumerate(stream):
        before = [list(model.vote_weights), list(model.biases)]
        if y not in model.labels:
            before[1].append(0.0)
            model.learn_one(x, y, w)
        elif i > 0:
            trees = [tree.predict(model.encode(x, tree.tree_key)) for tree in model.trees]
            label = model.labels.index(y)

            def log_p(weights, biases, trees=trees, label=label):
                z = [
                    bias
                    + sum(
                        v * math.log(tree[c] + naive.VOTE_FLOOR)
                        for v, tree in zip(weights, trees, strict=True)
                    )
                    for c, bias in enumerate(biases)
                ]
                return math.log(softmax(z)[label])

            assert math.exp(log_p(*before)) == pytest.approx(model.predict_proba_one(x)[y])
            model.learn_one(x, y, w)
            after = [model.vote_weights, model.biases]
            rates = [naive.VOTE_RATE, naive.BIAS_RATE]
            for part, rate in enumerate(rates):
                for k, value in enumerate(before[part]):
                    ends = []
                    for change in (1e-5, -1e-5):
                        moved = [list(values) for values in before]
                        moved[part][k] = value + change
                        ends.append(log_p(*moved))
                    slope = (ends[0] - ends[1]) / 2e-5
                    expected = value + rate * min(w, 1.0) * slope
                    assert after[part][k] == pytest.approx(expected, abs=1e-8)
        else:
            model.learn_one(x, y, w)
            assert [model.vote_weights, model.biases[:1]] == [[0.5, 0.5], [0.0]]
        assert sum(model.predict_proba_one(x).values()) == pytest.approx(1)
