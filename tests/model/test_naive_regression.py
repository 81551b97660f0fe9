"""The compiled forest for real targets against the slow reference, fed the same random draws."""

import itertools

import naive_regression as naive
import numpy as np
import pytest
import test_naive
from forests import by_hand
from generated import PARAMETERS_OF_NUMBERS, streams_of_numbers
from hypothesis import assume, given, settings
from regressors import ends
from test_naive import check_same_features, check_same_novelty, same_nodes

from river_amf import AMFRegressor
from river_amf.engine.settings import begin
from river_amf.kernels.tree.estimates import LEAST_COUNT
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
    model = AMFRegressor(n_estimators=n_estimators, seed=5, **parameters)
    arena = begin(model)
    random_states, keys = arena.trees["random_state"].tolist(), arena.trees["key"].tolist()
    trend_key = int(arena.trends["key"][-1]) if len(arena.trends) else 0
    return model, naive.NaiveRegressor(random_states, keys, trend_key=trend_key, **parameters)


def check_same_tree(model, reference, tree, scale, tolerance=TOLERANCE):
    """Compare a tree node by node; `scale` is the range of the targets."""

    def check_same_sums(row, sums):
        assert row[MEAN] == pytest.approx(sums.mean, rel=1e-12, abs=tolerance * scale)
        rounding = max(ROUNDING * scale**2, LEAST_COUNT)  # smaller ones become 0
        assert row[SQUARES] == pytest.approx(sums.squares, rel=1e-9, abs=rounding)

    arena, expected = model._arena, reference.trees[tree]
    for row, node in same_nodes(model, tree, expected, 1e-9):
        assert row["n_samples"] == pytest.approx(node.n_samples(), rel=1e-12)
        check_same_sums(arena.targets[tree, row.name], node.sums())
        if model.fading_factor is not None:
            faded, sums = arena.faded[tree, row.name], node.faded_sums()
            assert faded[FADED_SHARE] == pytest.approx(node.share, rel=1e-9)
            assert faded[FADED_SUM] == pytest.approx(sums.weight, rel=1e-12)
            check_same_sums(faded[FADED_COUNTS:], sums)
    if expected.root:
        noise = expected.noise() or 0.0
        assert arena.trees["variance"][tree] == pytest.approx(noise, rel=1e-9)


def check_same_state(model, reference):
    check_same_features(model, reference, 1e-9)


def check_same_errors(model, reference):
    errors = zip(model._arena.row_errors, reference.stack.squares.values(), strict=True)
    for (weight, squares), expected in errors:
        assert (weight, squares) == pytest.approx((expected.weight, expected.total), rel=1e-8)


def learn_both(model, reference, stream, tolerance=TOLERANCE):
    first, scale = next((float(y) for _, y, w in stream if w > 0), 0.0), 0.0

    def check(name, *arguments, rel=1e-9, tolerance=10 * tolerance):
        expected = getattr(reference, name)(*arguments)
        answer = getattr(model, name)(*arguments)
        answer = ends(answer) if isinstance(expected, tuple) else answer
        assert answer == pytest.approx(expected, rel=rel, abs=tolerance * scale)

    for i, (x, y, w) in enumerate(stream):
        check("predict_one", x, rel=1e-15, tolerance=tolerance)
        if i % 7 == 0:
            check("predict_interval_one", x, 0.8)
            check("predict_quantile_one", x, 0.3)
            check("predict_quantile_one", x, 0.5)
            check_same_novelty(model, reference, x)
        model.learn_one(x, y, w)
        reference.learn_one(x, y, w)
        if w > 0:
            scale = max(scale, abs(float(y) - first))
    return scale


def check_equal(model, reference, stream):
    scale = learn_both(model, reference, stream)
    if reference.n_learned:
        for tree in range(model.n_estimators):
            check_same_tree(model, reference, tree, scale)
        check_same_state(model, reference)


@settings(max_examples=150)
@given(streams_of_numbers(max_size=60), PARAMETERS_OF_NUMBERS)
def test_any_stream_equals_the_reference(stream, parameters):
    largest = max((abs(float(y)) for _, y, _ in stream), default=0.0)
    # or products of differences between trends are subnormal, and lose digits
    assume("linear" not in parameters or largest == 0.0 or largest > 1e-140)
    check_equal(*pair(**parameters), stream)


def longer_stream():
    """Yield outliers, rare categories, gaps, a new feature, repeats; targets that jump."""
    for i, (x, _, _) in enumerate(itertools.islice(test_naive.longer_stream(), 240)):
        if i <= 100:
            del x["f"]
        y = 1e4 + x["b"] * (1 if i < 150 else -1) + 3.0 * (x["c"] > "s") + (i * 29 % 13) / 9
        if i % 97 == 60:
            y += 1e5
        yield x if i % 7 else {"a": i % 3}, y, 1.0 if i < 180 else (1.0, 0.5, 2.0, 0.0)[i % 4]


@pytest.mark.parametrize("parameters", by_hand(LONGER, BY_HAND))
def test_longer_stream_equals_the_reference(parameters):
    model, reference = pair(**parameters)
    check_equal(model, reference, list(longer_stream()))
    check_same_errors(model, reference)


def test_ramp_with_missing_categories_equals_the_reference():
    model, reference = pair(**ADAPTIVE)  # its voters are behind, so stacks reach their limits
    kinds = ["pq"[i % 2] for i in range(120)]
    kinds[49], kinds[63], kinds[70] = "r", None, None  # "r" has a large error, so None is wide
    targets = [5.0 * i + i % 2 + 90.0 * (kind == "r") for i, kind in enumerate(kinds)]
    rows = [{"a": i % 10, "kind": kind} for i, kind in enumerate(kinds)]
    check_equal(model, reference, [*zip(rows, targets, [1.0] * 120, strict=True)])


@pytest.mark.parametrize("parameters", [{"vote": "mean"}, ADAPTIVE], ids=["mean", "adaptive"])
def test_restarts_equal_the_reference(parameters):
    model, reference = pair(**parameters | {"n_estimators": 2, "drift_threshold": 3.0})
    stream = [({"a": i * 37 % 101, "b": i * i % 53}, i * 29 % 13, 1.0) for i in range(370)]
    stream = [(x, y * (100 if i > 310 else 1) + x["a"], w) for i, (x, y, w) in enumerate(stream)]
    check_equal(model, reference, stream)
    assert [tree.n_restarts for tree in reference.trees] == [0, 1]


def wide_stream(n_samples, n_columns):
    """Yield many numbers, half of them from the middle on, and many categories."""
    for i in range(n_samples):
        n = n_columns if i > n_samples // 2 else n_columns // 2
        x = {f"x{j:03}": (i * (7 + 2 * j)) % (29 + j) for j in range(n)}
        x |= {"kind": f"kind {i * 17 % 90}", "gap": None if i % 3 else i % 5}
        yield x, x["x000"] - x["x001"] + 3.0 * (x["kind"] > "kind 4"), (1.0, 0.5, 2.0)[i % 3]


@pytest.mark.parametrize(
    ("n_columns", "bound"), [(14, None), (14, 70), pytest.param(140, None, marks=pytest.mark.soak)]
)
def test_many_columns_equal_the_reference(n_columns, bound):
    # with 14 the scale of the cosines changes as columns come; 140 are folded twice
    parameters = ADAPTIVE | {"n_estimators": 2, "max_categories": bound}
    model, reference = pair(**parameters)
    check_equal(model, reference, list(wide_stream(110, n_columns)))
    check_same_errors(model, reference)


@pytest.mark.parametrize("fading_factor", [None, 0.5])
def test_weight_of_a_million_equals_the_reference(fading_factor):
    # a sum of log densities of 1e6 has nine digits behind the point, and less in what follows
    stream = [({"a": i * 7 % 11, "b": i * i % 13}, i * 5 % 17, 1.0) for i in range(60)]
    stream[20] = (*stream[20][:2], 1e6)
    learn_both(*pair(fading_factor=fading_factor), stream, tolerance=1e-7)


def test_sums_of_ten_million_samples_equal_numpy():
    model = AMFRegressor(n_estimators=1, seed=5, max_nodes=1, vote="mean")
    targets = 1e8 + np.random.default_rng(3).standard_normal(1000)
    for y in targets.tolist():
        model.learn_one({"a": 1.0}, y, 1e4)
    mean, squares = model._arena.targets[0, 0, [MEAN, SQUARES]]
    assert model._arena.nodes["n_samples"][0, 0] == 1e7
    off = targets - targets[0]
    assert mean == pytest.approx(off.mean(), rel=1e-12)
    assert squares == pytest.approx(np.sum(1e4 * (off - off.mean()) ** 2), rel=1e-12)
    assert model.predict_one({}) == pytest.approx(targets.mean(), rel=1e-15)
