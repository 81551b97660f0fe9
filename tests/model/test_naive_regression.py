"""The compiled forest for numbers against the object-per-node reference, fed the same draws."""

import itertools

import naive_regression as naive
import numpy as np
import pytest
from forests import by_hand
from generated import PARAMETERS_OF_NUMBERS, streams_of_numbers
from hypothesis import assume, given, settings
from regressors import ends
from test_naive import check_same_features, same_nodes

from river_amf import AMFRegressor, inspection
from river_amf.engine.settings import begin
from river_amf.state.layout import FADED_COUNTS, FADED_SHARE, FADED_SUM, MEAN, SQUARES

TOLERANCE = 1e-10  # of predictions, relative to the range of the targets
ROUNDING = 1e-14  # of sums of squares, relative to the square of the range

ADAPTIVE = {
    "n_estimators": 4,
    "fading_factor": 0.5,
    "drift_threshold": 3.0,
    "split_intensity": "relevance",
    "split_prior": 0.7,
    "vote": "learned",
    "linear": True,
    "recent": "errors",
    "max_nodes": 101,
}
LONGER = {
    "plain": {},
    "budget": {"max_nodes": 101},
    "unit": {"split_intensity": "unit", "split_prior": 0.8, "step": 0.5},
    "leaf alone": {"use_aggregation": False},
    "fading": {"fading_factor": 0.5},
    "fading, budget": {"fading_factor": 0.7, "max_nodes": 51, "split_prior": 0.7, "step": 2.0},
    "hardly any fading": {"fading_factor": 1 - 1e-12},
    "relevance": {"split_intensity": "relevance"},
    "mean": {"vote": "mean"},
    "recent errors": {"recent": "errors", "n_estimators": 4},
    "last target": {"recent": "target", "n_estimators": 3},
    "linear": {"linear": True, "n_estimators": 3},
    "linear, one tree": {"linear": True, "n_estimators": 1},
    "adaptive": ADAPTIVE,
    "adaptive, last target": ADAPTIVE | {"recent": "target"},
    "adaptive, unit": ADAPTIVE | {"split_intensity": "unit", "max_categories": 5},
    "nothing but fading": {"fading_factor": 1e-12, "max_categories": 5},
}

BY_HAND = {"unit", "hardly any fading", "relevance", "linear", "adaptive, unit"}
BY_HAND |= {"budget", "mean", "recent errors", "nothing but fading"}


def pair(n_estimators=2, **parameters):
    """Make a compiled and a naive forest that draw the same random numbers."""
    model = AMFRegressor(n_estimators=n_estimators, seed=5, **parameters)
    arena = begin(model)
    random_states, keys = arena.trees["random_state"].tolist(), arena.trees["key"].tolist()
    trend_key = int(arena.trends["key"][-1]) if len(arena.trends) else 0
    return model, naive.NaiveRegressor(random_states, keys, trend_key=trend_key, **parameters)


def check_same_tree(model, reference, tree, scale, tolerance=TOLERANCE):
    """Compare a tree node by node; `scale` is the range of the targets."""
    arena, own = model._arena, reference.trees[tree]
    if own.root is None:
        assert len(inspection.node_table(model, tree)) == 0
        return
    log_odds = own.log_odds()
    for row, node in same_nodes(model, tree, own.root, log_odds.get, 1e-9):
        index, sums = row.name, node.sums()
        assert row["n_samples"] == node.n_samples()
        mean, squares = arena.targets[tree, index, [MEAN, SQUARES]]
        assert mean == pytest.approx(sums.mean, rel=1e-12, abs=tolerance * scale)
        assert squares == pytest.approx(sums.squares, rel=1e-9, abs=ROUNDING * scale**2)
        if model.fading_factor is not None:
            faded, sums = arena.faded[tree, index], node.faded_sums()
            assert faded[FADED_SHARE] == pytest.approx(node.share, rel=1e-9)
            assert faded[FADED_SUM] == pytest.approx(sums.weight, rel=1e-12)
            mean, squares = faded[FADED_COUNTS + MEAN], faded[FADED_COUNTS + SQUARES]
            assert mean == pytest.approx(sums.mean, rel=1e-12, abs=tolerance * scale)
            assert squares == pytest.approx(sums.squares, rel=1e-9, abs=ROUNDING * scale**2)
    assert arena.trees["random_state"][tree] == own.random.state
    state = arena.trees[tree]
    assert state["variance"] == pytest.approx(own.noise() or 0.0, rel=1e-9)
    assert state["n_losses"] == len(own.losses)
    assert (state["n_restarts"], state["restarted_at"]) == (own.n_restarts, own.restarted_at)


def check_same_state(model, reference):
    """Compare the state outside the trees."""
    check_same_features(model, reference, 1e-9)


def learn_both(model, reference, stream, tolerance=TOLERANCE):
    """Let both learn a stream, and compare every prediction; return the range of the targets."""
    first, scale = next((float(y) for _, y, w in stream if w > 0), 0.0), 0.0
    for i, (x, y, w) in enumerate(stream):
        expected = reference.predict_one(x)
        close = pytest.approx(expected, rel=1e-15, abs=tolerance * scale)
        assert model.predict_one(x) == close
        if i % 7 == 0:
            expected = reference.predict_interval_one(x, 0.8)
            close = pytest.approx(expected, rel=1e-9, abs=10 * tolerance * scale)
            assert ends(model.predict_interval_one(x, 0.8)) == close
            for q in (0.3, 0.5):
                expected = reference.predict_quantile_one(x, q)
                close = pytest.approx(expected, rel=1e-9, abs=10 * tolerance * scale)
                assert model.predict_quantile_one(x, q) == close
        model.learn_one(x, y, w)
        reference.learn_one(x, y, w)
        if w > 0:
            scale = max(scale, abs(float(y) - first))
    return scale


@settings(max_examples=150)
@given(streams_of_numbers(max_size=60), PARAMETERS_OF_NUMBERS)
def test_predictions_and_trees_equal_the_reference(stream, parameters):
    largest = max((abs(float(y)) for _, y, _ in stream), default=0.0)
    # see below for these: products of differences between trends are subnormal, and lose digits
    assume("linear" not in parameters or largest == 0.0 or largest > 1e-140)
    model, reference = pair(**parameters)
    scale = learn_both(model, reference, stream)
    if reference.n_learnt:
        for tree in range(2):
            check_same_tree(model, reference, tree, scale)
        check_same_state(model, reference)


def long_stream(n_samples=240):
    """Yield numbers with outliers, categories, gaps, a new feature, repeats; targets that jump."""
    rare = {30: 1e9, 50: 1e9, 200: 20.0, 201: 300.0, 202: -2000.0, 203: -1e6}
    for i in range(n_samples):
        x = {
            "a": -1e5 if i == 40 else (i * 37 % 101) / 7,
            "b": (i * i) % 53,
            "c": "pqrstuvw"[i * 11 % 8],
            "d": None if i % 3 else i % 17,
            "e": rare.get(i, 1e9 if i % 71 == 50 else (i * 13 % 89) / 89),
        }
        if i > 100:
            x["f"] = i % 31
        y = 1e4 + x["b"] * (1 if i < 150 else -1) + 3.0 * (x["c"] > "s") + (i * 29 % 13) / 9
        if i % 97 == 60:
            y += 1e5
        yield x if i % 7 else {"a": i % 3}, y, 1.0 if i < 180 else (1.0, 0.5, 2.0, 0.0)[i % 4]


@pytest.mark.parametrize("parameters", by_hand(LONGER, BY_HAND))
def test_a_longer_stream_equals_the_reference(parameters):
    model, reference = pair(**parameters)
    scale = learn_both(model, reference, list(long_stream()))
    for tree in range(model.n_estimators):
        check_same_tree(model, reference, tree, scale)
    check_same_state(model, reference)


@pytest.mark.parametrize("parameters", [{"vote": "mean"}, ADAPTIVE], ids=["mean", "adaptive"])
def test_restarts_equal_the_reference(parameters):
    model, reference = pair(**parameters | {"n_estimators": 3, "drift_threshold": 3.0})
    stream = [({"a": i * 37 % 101, "b": i * i % 53}, i * 29 % 13, 1.0) for i in range(370)]
    stream = [(x, y * (100 if i > 310 else 1) + x["a"], w) for i, (x, y, w) in enumerate(stream)]
    scale = learn_both(model, reference, stream)
    assert [tree.n_restarts for tree in reference.trees] == [0, 1, 0]
    for tree in range(3):
        check_same_tree(model, reference, tree, scale)
    check_same_state(model, reference)


def wide_stream(n_samples, n_columns):
    """Yield many numbers, some of which come late, and many categories."""
    for i in range(n_samples):
        n = n_columns if i > n_samples // 2 else n_columns // 2
        x = {f"x{j:03}": (i * (7 + 2 * j)) % (29 + j) for j in range(n)}
        x |= {"kind": f"kind {i * 17 % 90}", "gap": None if i % 3 else i % 5}
        yield x, x["x000"] - x["x001"] + 3.0 * (x["kind"] > "kind 4"), (1.0, 0.5, 2.0)[i % 3]


@pytest.mark.parametrize(
    ("n_columns", "bound"), [(14, None), (14, 70), pytest.param(140, None, marks=pytest.mark.soak)]
)
def test_many_columns_and_categories_equal_the_reference(n_columns, bound):
    # with 14 the scale of the cosines changes as columns come; 140 are folded twice
    model, reference = pair(**ADAPTIVE | {"n_estimators": 2, "max_categories": bound})
    scale = learn_both(model, reference, list(wide_stream(110, n_columns)))
    for tree in range(2):
        check_same_tree(model, reference, tree, scale)
    check_same_state(model, reference)


@pytest.mark.parametrize("fading_factor", [None, 0.5])
def test_a_jump_after_many_equal_targets(fading_factor):
    model, reference = pair(n_estimators=1, fading_factor=fading_factor, max_nodes=15)
    stream = [({"a": i * 7 % 11}, 0.1, 1.0) for i in range(400)]
    for x, y, w in stream:
        model.learn_one(x, y, w)
        assert model.predict_one({"a": 3}) == 0.1
    for x, y, w in stream:
        reference.learn_one(x, y, w)
    jump = [({"a": i * 5 % 11}, 7.1 if i % 3 else 7.4, 1.0) for i in range(30)]
    for x, y, w in jump:
        assert model.predict_one(x) == pytest.approx(reference.predict_one(x), abs=TOLERANCE)
        model.learn_one(x, y, w)
        reference.learn_one(x, y, w)
    check_same_tree(model, reference, 0, 7.3)


def test_targets_whose_squares_are_too_small_are_not_scored():
    model, reference = pair(fading_factor=0.5)
    stream = [({"a": i * 7 % 11}, 1e-150 * (i * 5 % 17), 1.0) for i in range(40)]
    scale = learn_both(model, reference, stream)
    for tree in range(2):
        check_same_tree(model, reference, tree, scale)
        n_nodes = model._arena.trees["n_nodes"][tree]
        assert model._arena.faded[tree, :n_nodes, FADED_SHARE] == pytest.approx(0.5)


def test_tiny_targets_lose_digits_and_no_more():
    tiny = [0.0] * 6 + [1e-150] + [0.0] * 6
    samples = [({"a": 0}, y) for y in tiny]
    model, reference = pair(linear=True)
    # the same in another unit, in which all digits are there
    larger, _ = pair(linear=True)
    unit = 2.0**400
    for x, y in samples:
        for prediction in (model.predict_one(x), reference.predict_one(x)):
            assert prediction == pytest.approx(larger.predict_one(x) / unit, rel=0.1, abs=1e-160)
        model.learn_one(x, y)
        reference.learn_one(x, y, 1.0)
        larger.learn_one(x, y * unit)


@pytest.mark.parametrize("fading_factor", [None, 0.5])
def test_one_weight_of_a_million(fading_factor):
    # a sum of log densities of 1e6 has nine digits behind the point, and less in what follows
    model, reference = pair(fading_factor=fading_factor)
    stream = [({"a": i * 7 % 11, "b": i * i % 13}, i * 5 % 17, 1.0) for i in range(60)]
    stream[20] = (*stream[20][:2], 1e6)
    learn_both(model, reference, stream, tolerance=1e-7)


@pytest.mark.parametrize("weights", [(1e6,), (1e6, 1.0), (1e-9, 1e6)])
@pytest.mark.parametrize("fading_factor", [None, 1e-12, 0.5, 1 - 1e-12])
def test_many_weights_of_a_million_keep_to_the_range_of_the_targets(weights, fading_factor):
    model = AMFRegressor(n_estimators=2, seed=5, fading_factor=fading_factor, vote="mean")
    cycle = itertools.cycle(weights)
    for i in range(300):
        x = {"a": i * 7 % 11, "b": i * i % 13}
        model.learn_one(x, x["a"] - x["b"], next(cycle))
        assert -12.0 <= model.predict_one(x) <= 10.0


def test_ten_million_samples_of_a_node():
    # in one node, whose sums can be compared with those of numpy
    model = AMFRegressor(n_estimators=1, seed=5, max_nodes=1)
    rng = np.random.default_rng(3)
    targets = 1e8 + rng.standard_normal(1000)
    weights = np.full(1000, 1e4)
    for y, w in zip(targets.tolist(), weights.tolist(), strict=True):
        model.learn_one({"a": 1.0}, y, w)
    mean, squares = model._arena.targets[0, 0, [MEAN, SQUARES]]
    assert model._arena.nodes["n_samples"][0, 0] == 1e7
    off = targets - targets[0]
    assert mean == pytest.approx(off.mean(), rel=1e-12)
    assert squares == pytest.approx(np.sum(1e4 * (off - off.mean()) ** 2), rel=1e-12)
    assert model.predict_one({}) == pytest.approx(targets.mean(), rel=1e-15)
