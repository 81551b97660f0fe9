"""Regressors: targets of any size, maps of targets, drifts, and intervals."""

import math
import random

import numpy as np
import pandas as pd
import pytest
from forests import learn, state_of, walk
from generated import PARAMETERS_OF_NUMBERS, TARGETS, streams_of_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from regressors import NUMBERS, ends, fresh, kinds, regressors, trained
from river import base
from river.conf import Interval

from river_amf import AdaptiveAMFRegressor, AMFRegressor


@kinds
def test_prediction_without_samples_is_zero(kind):
    model = kind(seed=1)
    assert isinstance(model, base.MiniBatchRegressor)
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    for x in ({}, {"a": 1.0}, {"color": "red"}):
        assert model.predict_one(x) == 0.0
        assert model.predict_interval_one(x) == Interval(-math.inf, math.inf)
        assert model.predict_quantile_one(x, [0.1, 0.5, 0.9]) == [-math.inf, 0.0, math.inf]
    assert model.predict_many(frame).to_dict() == {7: 0.0, 9: 0.0}
    assert model.predict_interval_many(frame).to_numpy().tolist() == [[-math.inf, math.inf]] * 2
    assert model.predict_quantile_many(frame, 0.5).tolist() == [0.0, 0.0]


@kinds
def test_negative_zero_is_zero(kind):
    X, states = pd.DataFrame({"a": np.arange(60.0) % 7}), set()
    for zero in (0.0, -0.0):
        y = [float(n) if n % 3 == 1 else zero for n in range(60)]
        single, listed, block = (kind(2, seed=1) for _ in range(3))
        learn(single, zip(X.to_dict("records"), y, strict=True))
        listed.learn_many(X, y)
        block.learn_many(X, np.array(y))
        states |= {*map(state_of, (single, listed, block))}
    assert len(states) == 1


@kinds
@pytest.mark.parametrize("y", [1e8 + 0.1, 1e200])
def test_first_prediction_is_the_first_target(kind, y):
    model = kind(seed=1)
    model.learn_one({"a": 1.0}, y)
    for x in ({}, {"a": 1.0}, {"a": -5.0}):
        assert model.predict_one(x) == y and type(model.predict_one(x)) is float
    with pytest.raises(ValueError, match="first target"):
        model.learn_one({"a": 1.0}, y + 1e200)
    with pytest.raises(ValueError, match="first target"):  # of the same block, too
        kind(seed=1).learn_many(pd.DataFrame({"a": [1.0, 2.0]}), [1e200, 0.0])


@kinds
@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("fading_factor", [1e-12, 0.5, 1 - 1e-12])
def test_targets_of_any_size_have_finite_predictions(kind, targets, fading_factor):
    rng = random.Random(2)
    values = TARGETS[targets]([rng.uniform(-10, 10) for _ in range(150)])
    low, high = float(min(values)), float(max(values))
    vote = "mean" if kind is AMFRegressor else "learned"
    model = kind(n_estimators=3, seed=1, fading_factor=fading_factor, vote=vote)
    weights = (1.0, 1e-9, 2.0, 1e6, 1.0, 5e-324, 1.0)
    for i, y in enumerate(values):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "color": rng.choice("pqr")}
        model.learn_one(x, y, weights[i % 7] if i > 75 else 1.0)
        prediction = model.predict_one(x)
        lower, upper = ends(model.predict_interval_one(x))
        assert math.isfinite(prediction) and lower <= upper
        assert i == 0 or (math.isfinite(lower) and math.isfinite(upper))
        if vote == "mean":  # no average is outside the range of what it averages
            slack = 1e-9 * (high - low) + 1e-15 * abs(low)
            assert low - slack <= prediction <= high + slack


def not_finite(model):
    """Return the names of the arrays of a forest that hold a number that is not finite."""
    arrays = model._arena.used_arrays()
    n_nodes = arrays["trees"]["n_nodes"].tolist()
    for name in ("nodes", "targets", "faded"):  # beyond are uninitialized nodes
        arrays[name] = np.concatenate([arrays[name][t, :n] for t, n in enumerate(n_nodes)])
    for name in ("ranges", "limits", "recent", "stand_ins", "boxes", "rows"):  # of features
        del arrays[name]
    parts = [(n, f, a[f] if f else a) for n, a in arrays.items() for f in a.dtype.names or [None]]
    names = {(name, field) for name, field, values in parts if not np.isfinite(values).all()}
    return names - {("nodes", "split_time"), ("nodes", "threshold"), ("nodes", "time")}


JUMPS = {  # from small to large, and the weight of the first samples
    "beyond the squares": (1e-60, 1e100, 1.0),
    "beyond the squares, from hardly anything": (1e-138, 1e50, 1.0),
    "huge weights": (0.3, 1.0, 1e98),
    "huge weights, then common ones": (1e-5, 3e-5, 1e98),
    "huge weights and targets": (1e98, -9e99, 1e98),
    "tiny weights": (1e-9, 1.0, 5e-324),
}


@kinds
@pytest.mark.parametrize("small, large, weight", JUMPS.values(), ids=JUMPS)
@pytest.mark.parametrize("fading_factor", [None, 0.5, 1 - 1e-12])
def test_jumps_of_targets_overflow_nothing(kind, small, large, weight, fading_factor):
    model = kind(n_estimators=2, seed=1, fading_factor=fading_factor)
    rng = random.Random(3)
    for i in range(120):
        x = {"a": rng.randrange(5), "b": rng.random()}
        y = large if i > 60 and i % 5 == 0 else small * (x["a"] + i % 2)
        model.learn_one(x, y, weight if i < 30 else 1.0)
        if i % 10 == 5:
            numbers = [model.predict_one(x), *ends(model.predict_interval_one(x))]
            assert all(map(math.isfinite, numbers))
    assert not_finite(model) == set()


@kinds
def test_huge_sums_of_weights_are_refused(kind):
    model = trained(NUMBERS[:20], kind=kind, vote="mean")
    before = state_of(model)
    for w in (1.1e100, 1e300):
        with pytest.raises(ValueError, match=r"more than 1e\+100"):
            model.learn_one({"fine": 1.0}, 1.0, w)
        with pytest.raises(ValueError, match=r"row 1: .*more than 1e\+100"):
            model.learn_many(pd.DataFrame({"fine": [1.0, 2.0]}), [1.0, 2.0], [1.0, w])
        with pytest.raises(ValueError, match=r"more than 1e\+100"):
            kind(vote="mean").learn_one({"fine": 1.0}, 1.0, w)
    assert state_of(model) == before


@kinds
def test_constant_targets_are_predicted_exactly(kind):
    model = kind(n_estimators=3, seed=1)
    for i in range(400):
        model.learn_one({"a": i * 7 % 11, "color": "pqr"[i % 3]}, 0.1)
        assert model.predict_one({"a": i}) == 0.1
        if i > 0:
            assert model.predict_interval_one({"a": i}) == Interval(0.1, 0.1)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    streams_of_numbers(max_size=40, targets=("plain", "ties", "a jump", "heavy tails", "ints")),
    PARAMETERS_OF_NUMBERS,
    st.sampled_from([-1.0, 3.0, 1e-12, -1e-6, 1e12]),
    st.sampled_from([0.0, 1.0, 1e8]),
)
def test_affine_maps_of_targets_map_predictions(stream, parameters, factor, offset):
    plain, mapped = (AMFRegressor(n_estimators=2, seed=3, **parameters) for _ in range(2))
    targets = [y for _, y, w in stream if w > 0]
    scale = max(targets, default=0) - min(targets, default=0)
    for x, y, w in stream:
        if len(plain._labels):
            # the rounding of the mapped targets themselves is 1e-16 of the offset
            close = {"rel": 1e-12, "abs": 1e-9 * scale * abs(factor) + 1e-12 * offset}
            expected = factor * plain.predict_one(x) + offset
            if scale * abs(factor) > 1e-6 * offset:
                assert mapped.predict_one(x) == pytest.approx(expected, **close)
        plain.learn_one(x, y, w)
        mapped.learn_one(x, factor * y + offset, w)


@kinds
@pytest.mark.parametrize("factor", [-1.0, 2.0**30, -(2.0**-30)])
def test_powers_of_two_map_intervals(kind, factor):
    # and a negative one exchanges the ends
    plain, mapped = fresh(kind=kind), fresh(kind=kind)
    for i, (x, y, w) in enumerate(NUMBERS[:600]):
        if i % 5 == 0 and i:
            assert mapped.predict_one(x) == pytest.approx(factor * plain.predict_one(x), rel=1e-12)
            expected = sorted(factor * end for end in ends(plain.predict_interval_one(x)))
            assert ends(mapped.predict_interval_one(x)) == pytest.approx(expected, rel=1e-9)
        plain.learn_one(x, y, w)
        mapped.learn_one(x, factor * y, w)


def smooth(rng):
    """Draw five features and a smooth function of them."""
    x = {name: rng.random() for name in "abcde"}
    curve = math.sin(math.pi * x["a"] * x["b"]) + 2.0 * (x["c"] - 0.5) ** 2 + x["d"]
    return x, curve


@pytest.mark.slow
def test_slow_rotation_is_followed():
    errors, t = [], np.linspace(0.0, 2.0 * np.pi, 6000)
    for seed in range(1, 4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(6000, 4))
        y = 5 * np.cos(t) * X[:, 0] + 5 * np.sin(t) * X[:, 1] + rng.normal(0, 0.5, 6000)
        model = AdaptiveAMFRegressor(seed=seed)
        errors.append(np.abs(model.predict_then_learn_many(frame_of(X), y) - y)[3000:].mean())
    assert np.mean(errors) < 0.46  # 0.40 with the coefficients known


def frame_of(X):
    return pd.DataFrame(X, columns=[*"abcd"])


def share_of_mean(model, y, n_features=1):
    """Return the mean of predictions made before each target, divided by that of the targets."""
    X = pd.DataFrame(np.random.default_rng(7).random((len(y), n_features))).rename(columns=str)
    return model.predict_then_learn_many(X, y)[1000:].mean() / y[1000:].mean()


@pytest.mark.slow
@kinds
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("n", [50, 100, 200, 300])
def test_rare_large_targets_count(kind, linear, n):
    y = np.where(np.random.default_rng(n).random(12_000) < 1 / n, 1000.0, 0.0)
    share = share_of_mean(kind(seed=1, linear=linear), y, n_features=1 + n % 3)
    assert share == pytest.approx(1.0, abs=0.4 if n == 300 else 0.25)


@pytest.mark.slow
@kinds
def test_claims_of_all_sizes_count(kind):
    shares = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.where(rng.random(12_000) < 0.02, rng.lognormal(6.5, 0.5, 12_000), 0.0)
        shares.append(share_of_mean(kind(seed=seed, linear=True), y, n_features=3))
    assert np.mean(shares) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("glitch", "rows", "most"),
    [
        (-999.0, [*range(150, 12_000, 1200)], 0.54),  # 0.47 without any
        (65535.0, [*range(150, 12_000, 1200)], 0.54),
        (1e9, [7, *range(150, 12_000, 1200)], 0.54),
        (1e90, [1500], 0.54),
        (1e9, [*range(7, 12_000, 97)], 1.0),
    ],
)
def test_glitches_do_little_harm(glitch, rows, most):
    rng = np.random.default_rng(2)
    X = frame_of(rng.normal(size=(12_000, 4)))
    y = 2 * X["a"] + np.sin(2 * X["b"]) + X["c"] * (X["d"] > 0) + rng.normal(0, 0.5, 12_000)
    targets = y.copy()
    targets.iloc[rows] = glitch
    errors = (AdaptiveAMFRegressor(seed=1).predict_then_learn_many(X, targets) - y).abs()
    assert errors[1000:].drop(rows, errors="ignore").mean() < most


@kinds
def test_intervals_hold_the_prediction_on_a_line(kind):
    model, n_outside = kind(n_estimators=2, seed=1, vote="mean", linear=False), 0
    for i in range(300):  # trees lag behind it, so errors have one sign
        x = {"a": i}
        prediction, (low, high) = model.predict_one(x), model.predict_quantile_one(x, [0.05, 0.95])
        n_outside += not low <= prediction <= high
        hull = min(low, prediction), max(high, prediction)
        assert ends(model.predict_interval_one(x)) == hull
        assert (*model.predict_interval_many(pd.DataFrame([x])).iloc[0],) == hull
        model.learn_one(x, float(i))
    assert n_outside > 100


LAWS = {
    "normal": lambda rng, x: rng.gauss(0.0, 1.0),
    "Laplace": lambda rng, x: rng.expovariate(1.0) * rng.choice([-1, 1]),
    "skewed": lambda rng, x: rng.expovariate(1.0),
    "heteroscedastic": lambda rng, x: rng.gauss(0.0, 0.2 + 2.0 * x["a"]),
    "heavy tails": lambda rng, x: rng.gauss(0.0, 1.0) / math.sqrt(rng.gammavariate(1.5, 0.5)),
}


@pytest.mark.slow
@kinds
@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover_their_level(kind, law):
    rng = random.Random(11)
    levels = (0.5, 0.8, 0.9, 0.99)
    model, hits = kind(seed=1), dict.fromkeys(levels, 0)
    n_asked = 0
    for i in range(5000):
        x = {"a": rng.random(), "b": rng.random()}
        y = 10.0 * x["b"] + 3.0 * LAWS[law](rng, x)
        if i >= 1000:
            n_asked += 1
            for level in levels:
                lower, upper = ends(model.predict_interval_one(x, level))
                hits[level] += lower <= y <= upper
        model.learn_one(x, y)
    for level in levels:
        assert hits[level] / n_asked == pytest.approx(level, abs=0.025), level


def covered(model, samples):
    """Return whether the interval of each sample covers its target."""
    samples = list(samples)
    intervals = walk(model, samples, "predict_interval_one")
    return [y in interval for interval, (_, y) in zip(intervals, samples, strict=True)]


@kinds
def test_intervals_cover_an_outage(kind):
    rng, samples = random.Random(3), []
    for i in range(1200):
        x = {name: rng.gauss(0.0, 1.0) for name in "abc"}
        y = 2.0 * x["a"] + x["b"] + rng.gauss(0.0, 0.3)
        samples.append((x if i < 1000 else {"b": x["b"], "c": x["c"]}, y))
    assert np.mean(covered(kind(seed=1), samples)[1000:]) >= 0.8


@kinds
def test_intervals_cover_new_categories(kind):
    rng, samples, effects = random.Random(1), [], [0.0]
    for i in range(4000):
        x = {"a": rng.random(), "shop": f"shop {rng.randrange(len(effects))}"}
        if i % 20 == 0:
            x["shop"] = f"shop {len(effects)}"
            effects.append(rng.gauss(0.0, 1.0))
        samples.append((x, x["a"] + effects[int(x["shop"][5:])] + rng.gauss(0.0, 0.3)))
    assert np.mean(covered(kind(seed=1), samples)[400::20]) >= 0.8


@pytest.mark.slow
@kinds
def test_intervals_cover_their_level_after_a_drift(kind):
    rng, samples = random.Random(13), []
    for i in range(6000):
        x, truth = smooth(rng)
        y = (truth if i < 3000 else 3.0 - truth) + rng.gauss(0.0, 0.1 if i < 4500 else 0.5)
        samples.append((x, y))
    hits = covered(kind(seed=1), samples)
    for start in range(1000, 6000, 1000):
        assert 0.85 <= np.mean(hits[start : start + 1000]) <= 0.95, start


@kinds
def test_early_intervals_are_twice_the_range(kind):
    model, rng, targets = kind(seed=1), random.Random(1), []
    for i in range(30):
        x, y = {"a": rng.random()}, 100.0 + rng.gauss(0.0, 1.0)
        model.learn_one({"a": 0.5}, -1e9, w=0.0)  # learns nothing
        interval = model.predict_interval_one(x, 0.5)
        if i < 2:
            assert ends(interval) == (-math.inf, math.inf)
        elif i < 20:
            least, largest = min(targets), max(targets)
            margin = pytest.approx((largest - least) / 2, rel=1e-9)
            assert interval.lower <= least and interval.upper >= largest
            assert interval.width >= 2 * (largest - least) * (1 - 1e-9)
            assert least - interval.lower == margin or interval.upper - largest == margin
        else:
            assert interval.width < max(targets) - min(targets)
        model.learn_one(x, y)
        targets.append(y)


@regressors
@pytest.mark.parametrize("n", [0, 1, 10, 400])
def test_quantiles_and_prediction_span_intervals(parameters, n):
    model, rows = trained(NUMBERS[:n], **parameters), [x for x, _, _ in NUMBERS[400:410]]
    X, qs = pd.DataFrame(rows), [0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995]
    table = model.predict_quantile_many(X, qs)
    assert table.columns.tolist() == qs
    for row, x in enumerate(rows):
        quantiles, prediction = model.predict_quantile_one(x, qs), model.predict_one(x)
        assert quantiles == sorted(quantiles) == table.iloc[row].tolist()
        assert model.predict_quantile_one(x, 0.75) == quantiles[4] and math.isfinite(quantiles[3])
        for k, level in enumerate([0.99, 0.9, 0.5]):
            interval = model.predict_one(x, with_interval=True, level=level)
            hull = Interval(min(quantiles[k], prediction), max(quantiles[-1 - k], prediction))
            assert model.predict_interval_one(x, level) == interval == hull
        assert model.predict_interval_one(x) == model.predict_interval_one(x, 0.9)
    assert model.predict_quantile_many(X, np.array([0.75]))[0.75].equals(table[0.75])
    assert model.predict_quantile_many(X, 0.75).tolist() == table[0.75].tolist()


@pytest.mark.parametrize("q", [0.0, [0.5, 1.0], math.nan, "0.5", None])
def test_quantiles_need_probabilities(q):
    model, x = AMFRegressor(), {"a": 1.0}
    for call, rows in ((model.predict_quantile_one, x), (model.predict_quantile_many, [x])):
        with pytest.raises(ValueError, match="q must be a number strictly between 0 and 1"):
            call(rows, q)


def random_walk(n, seed=4):
    """Yield features without information, and a target that only its last value predicts."""
    rng, y = random.Random(seed), 0.0
    for _ in range(n):
        y += rng.gauss(0.0, 1.0)
        yield {"a": rng.random(), "b": rng.gauss(0.0, 1.0)}, y


@kinds
def test_last_target_predicts_a_random_walk(kind):
    errors, last = {"target": 0.0, None: 0.0, "last": 0.0}, 0.0
    models = {recent: kind(n_estimators=4, seed=1, recent=recent) for recent in ("target", None)}
    for x, y in random_walk(1500):
        for recent, model in models.items():
            errors[recent] += abs(y - model.predict_one(x))
            model.learn_one(x, y)
        errors["last"] += abs(y - last)
        last = y
    assert errors["target"] < 1.05 * errors["last"]
    assert errors["target"] < 0.7 * errors[None]
