"""Relevance against a direct computation, and its effect on the trees."""

import copy
import itertools
import random

import naive_features
import numpy as np
import pandas as pd
import pytest

from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection
from river_amf.state.layout import MISSING_CODE

RELEVANCE_MEMORY = naive_features.RELEVANCE_MEMORY
RELEVANCE_FLOOR = naive_features.RELEVANCE_FLOOR


def forest(kind=AMFClassifier, **parameters):
    parameters = {"n_estimators": 1, "max_nodes": 3, "seed": 1} | parameters
    return kind(**parameters, split_intensity="relevance")


def intensities(model):
    return model._arena.intensity[0, : len(model._features)].tolist()


# The direct computation: from lists of all observations


def faded_weights(numbers, weights, n_learnt):
    return np.minimum(weights, 1e6) * np.exp(
        (n_learnt - np.asarray(numbers)) * np.log1p(-1 / RELEVANCE_MEMORY)
    )


def shares_of(codes, weights):
    return np.bincount(codes, weights) / weights.sum()


def tau(buckets, labels, w):
    """Fraction of the labels' Gini impurity that the buckets explain, corrected for chance."""
    _, buckets = np.unique(buckets, return_inverse=True)
    _, labels = np.unique(labels, return_inverse=True)
    impurity = 1 - (shares_of(labels, w) ** 2).sum()
    if impurity < 1e-12:
        return 0.0
    rest = sum(
        w[buckets == k].sum() * (1 - (shares_of(labels[buckets == k], w[buckets == k]) ** 2).sum())
        for k in range(buckets.max() + 1)
    )
    found = 1 - rest / w.sum() / impurity
    n = w.sum() ** 2 / (w**2).sum()
    n_buckets = buckets.max() + 1
    return max(0.0, found - (1 - found) * (n_buckets - 1) / max(n - n_buckets, 1.0))


def eta2(values, labels, w):
    """Between-class over total sum of squares."""
    values = values - values[0]
    mean = np.average(values, weights=w)
    total = (w * (values - mean) ** 2).sum()
    if total == 0:
        return 0.0
    between = 0.0
    for label in set(labels):
        own = labels == label
        between += w[own].sum() * (np.average(values[own], weights=w[own]) - mean) ** 2
    return between / total


class Direct:
    """Relevance of features in streams without outliers, computed from all observations."""

    def __init__(self):
        self.n_learnt = 0
        self.seen = {}  # name -> [(number, value, bucket, label, weight)]
        self.ends = {}  # name -> smallest and largest value
        self.codes = {}

    def learn(self, x, y, w):
        if w == 0:
            return
        self.n_learnt += 1
        for name, value in x.items():
            if value is None and name not in self.codes:
                continue
            observed = self.seen.setdefault(name, [])
            if value is None:
                bucket = MISSING_CODE % 64
            elif isinstance(value, str):
                codes = self.codes.setdefault(name, {})
                bucket = codes.setdefault(value, len(codes)) % 64
            else:
                low, high = self.ends.get(name, (value, value))
                low, high = self.ends[name] = min(low, value), max(high, value)
                # 16 parts of the range at the time of the value
                bucket = min(int((value - low) * (1 / (high - low)) * 16), 15) if high > low else 0
            observed.append((self.n_learnt, value, bucket, y, w))

    def relevance(self, name):
        numbers, values, buckets, labels, weights = zip(*self.seen[name], strict=True)
        w = faded_weights(numbers, np.array(weights), self.n_learnt)
        labels = np.array(labels)
        found = tau(buckets, labels, w)
        if name not in self.codes:
            found = max(found, eta2(np.array(values, dtype=float), labels, w))
        return found


def drifting_stream(n_samples, seed):
    """Drift, gaps, weights, a late feature, many categories, a new label midway."""
    rng = random.Random(seed)
    for i in range(n_samples):
        is_late = i > n_samples // 2
        x = {
            "a": rng.random(),
            "b": 1e3 + rng.gauss(0, 1),
            "steps": rng.randrange(5),
            "color": rng.choice(["red", "tan", "blue"]),
            "many": f"many {rng.randrange(100)}",
            "same": 7.0,
        }
        y = (x["b"] > 1e3) if is_late else (x["a"] > 0.5)
        y = y if rng.random() < 0.9 else x["color"] == "red"
        if is_late:
            x["late"] = rng.random() + y
            y = 2 if rng.random() < 0.1 else int(y)
        for name in ("a", "color", "many"):
            if rng.random() < 0.1 and i > 20:  # when "a" has had two values
                x[name] = None
        yield x, int(y), rng.choice([1.0, 1.0, 0.5, 3.0, 0.0])


@pytest.mark.parametrize(
    ("kind", "seed"), [*((AMFClassifier, seed) for seed in range(3)), (AdaptiveAMFClassifier, 3)]
)
def test_relevance_is_that_of_a_direct_computation(kind, seed):
    model, direct = forest(kind), Direct()
    for i, (x, y, w) in enumerate(drifting_stream(1500, seed)):
        model.learn_one(x, y, w=w)
        direct.learn(x, y, w)
        if i > 0 and i % 100 == 0:
            found = inspection.feature_relevance(model)
            assert set(found.index) == set(direct.seen)
            for name, value in found.items():
                assert value == pytest.approx(direct.relevance(name), abs=1e-9)
    assert found["same"] == pytest.approx(0.0, abs=1e-12)
    assert found.between(0.0, 1.0).all()


def test_intensities_are_ranges_times_relevance_before_the_sample():
    model = forest()
    rng = random.Random(3)
    for i in range(500):
        x = {"a": rng.random() * 100, "b": rng.random(), "color": rng.choice(["red", "tan"])}
        y = x["a"] > 50
        relevance = inspection.feature_relevance(model).to_numpy() if i else None
        model.learn_one(x, y)
        if i < 2:
            continue
        raised = RELEVANCE_FLOOR + relevance
        ranges = model._arena.ranges[1, :3] - model._arena.ranges[0, :3]
        base = [
            1.0 if name == "color" else 1 / width
            for name, width in zip(model._features, ranges, strict=True)
        ]
        assert intensities(model) == pytest.approx(base * raised / raised.mean(), rel=1e-12)


def test_the_label_of_a_sample_has_no_say_in_how_it_is_split():
    model = forest(max_nodes=None, n_estimators=3, n_classes=3)
    rng = random.Random(4)
    for _ in range(300):
        x = {"a": rng.random(), "b": rng.random(), "c": rng.random()}
        model.learn_one(x, int(x["a"] > 0.5))
    for _ in range(20):
        x = {name: 3 * rng.random() - 1 for name in "abc"}
        before = inspection.feature_relevance(model)
        twins = [copy.deepcopy(model) for _ in range(2)]
        for label, twin in enumerate(twins):
            twin.learn_one(x, label)
        assert intensities(twins[0]) == intensities(twins[1])
        assert not inspection.feature_relevance(twins[0]).equals(before)
        # splits of nodes that are impure in any case are drawn alike
        model.learn_one(x, int(x["a"] > 0.5))


def test_a_stream_long_enough_for_weights_to_be_made_smaller():
    n_samples = 140_000
    rng = np.random.default_rng(9)
    columns = {
        "a": rng.random(n_samples),
        "b": rng.normal(size=n_samples),
        "color": rng.choice(["red", "tan", "blue"], n_samples),
    }
    # the ends of the ranges come first, because the direct computation sees only the last samples
    columns["a"][:2], columns["b"][:2] = (0.0, 1.0), (-9.0, 9.0)
    columns["a"][2:40] = columns["a"][40:78]
    y = (columns["a"] + 0.3 * columns["b"] > 0.5) | (columns["color"] == "red")
    model = forest()
    newest = []
    for start in range(0, n_samples, 20_000):
        block = slice(start, start + 20_000)
        model.learn_many(pd.DataFrame({k: v[block] for k, v in columns.items()}), y[block])
        newest.append(float(model._arena.counters["newest_weight"][0]))
    assert sum(later < earlier for earlier, later in itertools.pairwise(newest)) == 2
    assert max(newest) <= 1e60
    last = slice(n_samples - 20_000, None)  # earlier ones have less than e^-50 of their weight
    w = faded_weights(np.arange(n_samples)[last] + 1, 1.0, n_samples)
    found = inspection.feature_relevance(model)
    low, high = model._arena.ranges[:, :2]
    for j, name in enumerate("ab"):
        assert list(model._features)[j] == name
        v = columns[name][last]
        buckets = np.minimum(((v - low[j]) * (1 / (high[j] - low[j])) * 16).astype(int), 15)
        expected = max(eta2(v, y[last], w), tau(buckets, y[last], w))
        assert found[name] == pytest.approx(expected, abs=1e-9)
    assert found["color"] == pytest.approx(tau(columns["color"][last], y[last], w), abs=1e-9)


def test_labels_that_are_gone_leave_no_numbers_that_are_slow_to_compute_with():
    # Their weights used to reach squares below 2.2e-308 after 150 000 samples, and for the next
    # 70 000 a sample took forty times as long.
    model = forest(n_estimators=1, max_nodes=3)
    model.learn_many(
        pd.DataFrame({"a": np.arange(100) % 7}), [f"label {i % 9}" for i in range(100)]
    )
    n_kept = []
    for _ in range(14):
        a = np.random.default_rng(1).random(20_000)
        model.learn_many(pd.DataFrame({"a": 7 * a}), np.where(a > 0.5, "label 0", "label 1"))
        arena = model._arena
        weights = np.concatenate([arena.moments[0, :, 0], arena.buckets[0].ravel()])
        assert (weights[weights > 0.0] ** 2 > 2.3e-308).all()
        n_kept.append(np.count_nonzero(arena.moments[0, :, 0]))
    assert n_kept[0] == 9
    assert n_kept[-1] == 2
    assert inspection.feature_relevance(model)["a"] > 0.7


@pytest.mark.parametrize("weights", [[1e300, 1.0], [1e-300], [5e-324, 1e6], [1e-9, 1e9]], ids=str)
def test_weights_of_any_size_give_relevance_between_0_and_1(weights):
    model = forest(max_nodes=31)
    for i, (x, y, _) in enumerate(drifting_stream(600, 10)):
        model.learn_one(x, y, w=weights[i % len(weights)])
        assert inspection.feature_relevance(model).between(0.0, 1.0).all()
        assert np.isfinite(intensities(model)).all()
