"""Relevance against the reference where its trees are too slow, and at the limits of floats."""

import itertools
import random

import naive
import numpy as np
import pandas as pd
import pytest
from naive_features import Columns
from naive_growth import relative

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.inspection import feature_relevance


def forest(kind=AMFClassifier, **parameters):
    parameters = {"n_estimators": 1, "max_nodes": 3, "seed": 1} | parameters
    return kind(**parameters, split_intensity="relevance")


def intensities(model):
    return model._arena.intensity[0, : len(model._features)].tolist()


class Reference(Columns):
    """The features of the reference forest, without its trees."""

    split_intensity, on_mismatch = "relevance", "raise"
    max_categories = max_features = None
    measure = staticmethod(naive.relevance)

    def __init__(self, vote="mean"):
        super().__init__()
        self.vote, self.weights = vote, []

    def learn(self, x, y, w, get_intensities=list):
        """Learn a sample; return what the function makes of the features before its label."""
        if w == 0:
            return None
        if self.vote == "learned":
            self.weights.append(w)
            w = relative(self.weights)
        x = self.checked(x)
        self.admit_categories(x)
        filled = self.filled(x)
        self.add_values(x)
        before = get_intensities()
        self.observe(filled, (y,), w)
        return before


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
def test_relevance_equals_the_reference(kind, seed):
    model = forest(kind)
    reference = Reference(model.vote)
    for i, (x, y, w) in enumerate(drifting_stream(1500, seed)):
        model.learn_one(x, y, w=w)
        is_checked = i > 0 and i % 100 == 0
        expected = reference.learn(x, y, w, reference.split_intensities if is_checked else list)
        if is_checked:
            assert not w or intensities(model) == pytest.approx(expected, rel=1e-9)
            relevance = feature_relevance(model)
            assert list(relevance.index) == list(reference.columns)
            for name, column in reference.columns.items():
                expected = column.relevance(reference.n_learned)
                assert relevance[name] == pytest.approx(expected, abs=1e-9)
    assert relevance["same"] == pytest.approx(0.0, abs=1e-12)
    assert relevance.between(0.0, 1.0).all()


def test_relevance_of_a_long_stream_keeps_its_digits():
    # Weights are made smaller now and then. Those of labels that are gone used to reach squares
    # below 2.2e-308 after 150 000 samples, with which a sample took forty times as long.
    rng, model, reference = np.random.default_rng(9), forest(n_classes=9), Reference()
    # the ends of the range come first, because the reference sees only the last block
    first = pd.DataFrame({"a": [0.0, 1.0] * 50, "color": ["red", "tan"] * 50})
    model.learn_many(first, [f"label {i % 9}" for i in range(100)])
    newest, n_labels = [], []
    for _ in range(14):
        X = pd.DataFrame({"a": rng.random(20_000), "color": rng.choice(["red", "tan"], 20_000)})
        y = np.where((X["a"] > 0.5) | (X["color"] == "red"), "label 0", "label 1")
        model.learn_many(X, y)
        arena = model._arena
        weights = np.concatenate([arena.moments[0, :, 0], arena.buckets[0].ravel()])
        assert (weights[weights > 0.0] ** 2 > 2.3e-308).all()
        newest.append(float(arena.counters["newest_weight"][0]))
        n_labels.append(np.count_nonzero(arena.moments[0, :, 0]))
    assert sum(later < earlier for earlier, later in itertools.pairwise(newest)) >= 2
    assert max(newest) <= 1e60 and (n_labels[0], n_labels[-1]) == (9, 2)
    for x, label in zip(first.to_dict("records")[:2], y, strict=False):
        reference.learn(x, label, 1.0)
    for x, label in zip(X.to_dict("records"), y, strict=True):
        reference.learn(x, label, 1.0)
    relevance = feature_relevance(model)
    for name, column in reference.columns.items():
        expected = column.relevance(reference.n_learned)
        assert relevance[name] == pytest.approx(expected, abs=1e-9) and expected > 0.2


def test_relevance_to_targets_survives_smaller_weights():
    # those of the twin are so large at once that the next sample makes them smaller
    rng, (model, twin) = random.Random(1), (forest(AMFRegressor) for _ in range(2))
    for i in range(300):
        if i == 200:
            arena, features = twin._arena, twin._arena.features
            features["squares"] *= 2.0**400
            sums = [features[name] for name in ("weight", "total", "within")]
            sums += [arena.moments[:, 0, 1], arena.moments[:, 1, 0], arena.buckets[..., 0]]
            for array in (*sums, arena.counters["newest_weight"]):
                array *= 2.0**200
        x = {"a": rng.random(), "b": rng.random()}
        for each in (model, twin):
            each.learn_one(x, x["a"] + 0.5 * x["b"])
    assert twin._arena.counters["newest_weight"] < 2.0 < model._arena.counters["newest_weight"]
    relevance = feature_relevance(model).tolist()
    assert feature_relevance(twin).tolist() == pytest.approx(relevance, rel=1e-9)


@pytest.mark.parametrize("weights", [[1e300, 1.0], [1e-300], [5e-324, 1e6], [1e-9, 1e9]], ids=str)
def test_relevance_of_any_weights_is_a_share(weights):
    model = forest(max_nodes=31)
    for i, (x, y, _) in enumerate(drifting_stream(600, 10)):
        model.learn_one(x, y, w=weights[i % len(weights)])
        assert feature_relevance(model).between(0.0, 1.0).all()
        assert np.isfinite(intensities(model)).all()
        assert np.isfinite(model._arena.own_intensity).all()


@pytest.mark.parametrize("kind", [AdaptiveAMFClassifier, AdaptiveAMFRegressor])
def test_features_that_only_matter_together_are_split(kind):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.random((4000, 6)), columns=list("abcdef"))
    model = kind(seed=1)
    model.learn_many(X, (X["a"] > 0.5) ^ (X["b"] > 0.5))
    intensity = model._arena.own_intensity.sum(axis=0)
    assert intensity[:2].sum() > 0.6 * intensity.sum()  # a third by their ranges alone
