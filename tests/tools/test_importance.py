"""Importance of features: by the trees, by permutation, and along a stream."""

import collections
import math
import pickle
import random

import numpy as np
import pandas as pd
import pytest
from river import compose, linear_model, naive_bayes, preprocessing, tree
from river.utils import VectorDict

import river_amf.sklearn
from river_amf import (
    AdaptiveAMFClassifier,
    AMFClassifier,
    AMFRegressor,
    MismatchWarning,
    OnlineDummyClassifier,
    PackedSample,
    evaluation,
    inspection,
)
from river_amf.evaluation import EvaluationError
from river_amf.inspection import PermutationImportance

VARIANTS = {
    "plain": (AMFClassifier, {}),
    "leaves": (AMFClassifier, {"use_aggregation": False}),
    "pure": (AMFClassifier, {"split_pure": True, "split_intensity": "unit"}),
    "budget": (AMFClassifier, {"max_nodes": 15}),
    "adaptive": (AdaptiveAMFClassifier, {}),
}


def stream(n_samples=400, seed=3):
    """One telling number and category each, noise, and a feature that comes late and has gaps."""
    rng = random.Random(seed)
    for k in range(n_samples):
        x = {"a": rng.random(), "color": rng.choice("rgb"), ("no", 1): rng.random()}
        if k > 150 and rng.random() < 0.7:
            x["late"] = rng.random()
        y = "up" if x["a"] > 0.6 else "down" if x["color"] == "r" else "flat"
        yield x, y


def trained(kind=AMFClassifier, **parameters):
    model = kind(3, seed=5, **parameters)
    for x, y in stream():
        model.learn_one(x, y)
    return model


# By the trees


def by_hand(model):
    """The shares by a walk over the rows of the tables of nodes, tree by tree."""
    totals = {name: collections.Counter() for name in ("splits", "mass", "impurity")}
    for k in range(len(model)):
        table = inspection.node_table(model, k)
        nodes = {row.node: row for row in table.itertuples()}
        n_splits = sum(row.left >= 0 for row in nodes.values())
        root = next(row for row in nodes.values() if row.parent < 0)

        def gini(row, root=root):
            fractions = [n / row.n_samples for n in row.counts.values()]
            return row.n_samples / root.n_samples * (1 - sum(f * f for f in fractions))

        pending = [(root, 1.0)]
        while pending:
            row, mass = pending.pop()
            if row.left < 0:
                continue
            if model.use_aggregation:
                mass /= 1 + math.exp(min(row.log_odds, 700))
            left, right = nodes[row.left], nodes[row.right]
            totals["splits"][row.feature] += 1 / n_splits
            totals["mass"][row.feature] += mass * row.n_samples / root.n_samples
            totals["impurity"][row.feature] += mass * (gini(row) - gini(left) - gini(right))
            pending += [(left, mass), (right, mass)]
    return {
        name: {feature: value / sum(total.values()) for feature, value in total.items()}
        for name, total in totals.items()
    }


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS.values(), ids=VARIANTS)
def test_shares_are_those_of_a_walk_over_the_tables_of_nodes(kind, parameters):
    model = trained(kind, **parameters)
    table = inspection.feature_importance(model)
    assert table.columns.tolist() == ["splits", "mass", "impurity", "relevance"]
    assert table.index.tolist() == ["a", "color", ("no", 1), "late"]
    for name, expected in by_hand(model).items():
        for feature, value in table[name].items():
            assert value == pytest.approx(expected.get(feature, 0.0), abs=1e-9), (name, feature)
        assert table[name].sum() == pytest.approx(1.0)
        assert f"`{name}`" in inspection.feature_importance.__doc__
    if model.split_intensity == "relevance":
        pd.testing.assert_series_equal(table["relevance"], inspection.feature_relevance(model))
    else:
        assert table["relevance"].isna().all()


def test_what_tells_the_label_is_the_most_important():
    for kind in (AMFClassifier, AdaptiveAMFClassifier):
        impurity = inspection.feature_importance(trained(kind))["impurity"]
        assert {*impurity.nlargest(2).index} == {"a", "color"}
        assert impurity[["a", "color"]].sum() > 0.8


def test_a_forest_without_splits_has_shares_of_zero():
    model = AMFClassifier()
    assert inspection.feature_importance(model).shape == (0, 4)
    model.learn_one({"a": 1.0}, "b")
    table = inspection.feature_importance(model)
    assert table.loc["a", ["splits", "mass", "impurity"]].tolist() == [0.0, 0.0, 0.0]


def test_a_tree_that_has_just_restarted_is_left_out():
    model = AMFClassifier(2, restart_threshold=2.0, seed=1)
    rng = random.Random(1)
    while model[1].n_nodes or not model.n_nodes:
        x = {"a": rng.random()}
        model.learn_one(x, (x["a"] > 0.5) is (model.n_samples < 2000))
    assert inspection.feature_importance(model).loc["a", "splits"] == 1.0


@pytest.mark.parametrize("model", [OnlineDummyClassifier(), "amf", None])
def test_shares_are_of_forests_only(model):
    name = type(model).__name__
    with pytest.raises(TypeError, match=f"model must be a forest, got {name}"):
        inspection.feature_importance(model)


# By permutation


class ByHand:
    """Permutation importance as it is defined: all measurements kept, all means taken anew."""

    def __init__(self, model, loss, n_latest, stride, fading_factor, seed):
        self.model, self.loss, self.n_latest, self.stride = model, loss, n_latest, stride
        self.factor = 1.0 if fading_factor is None else fading_factor
        self.rng = random.Random(seed)
        self.slots, self.n_seen, self.growths = [], 0, {}

    def loss_of(self, x, y):
        if self.loss == "error":
            return float(self.model.predict_one(x) != y)
        return -math.log(max(self.model.predict_proba_one(x).get(y, 0.0), 1e-15))

    def update(self, x, y):
        if self.slots and self.n_seen % self.stride == 0 and self.model.predict_one(x) is not None:
            for name, growths in self.growths.items():
                other = dict(x)
                other.pop(name, None)
                source = self.rng.choice(self.slots)
                if name in source:
                    other[name] = source[name]
                growths.append(self.loss_of(other, y) - self.loss_of(x, y))
        for name in x:
            self.growths.setdefault(name, [])
        if self.n_seen < self.n_latest:
            self.slots.append(x)
        else:
            self.slots[self.n_seen % self.n_latest] = x
        self.n_seen += 1

    def get(self):
        result = {}
        for name, growths in self.growths.items():
            weights = [self.factor**age for age in reversed(range(len(growths)))]
            result[name] = np.average(growths, weights=weights) if growths else math.nan
        return result


MODELS = {
    "forest": lambda: AMFClassifier(3, seed=5),
    "adaptive": lambda: AdaptiveAMFClassifier(3, seed=5),
    "tree": lambda: tree.HoeffdingTreeClassifier(grace_period=50),
    "pipeline": lambda: compose.SelectType(float) | naive_bayes.GaussianNB(),
}


@pytest.mark.parametrize(
    ("name", "loss", "n_latest", "stride", "fading_factor"),
    [
        ("forest", "log", 100, 1, None),
        ("forest", "error", 7, 3, 0.95),
        ("adaptive", "log", 1, 1, 0.99),
        ("tree", "log", 100, 2, None),
        ("pipeline", "error", 30, 1, None),
    ],
)
def test_it_is_the_mean_growth_of_the_loss(name, loss, n_latest, stride, fading_factor):
    make = MODELS[name]
    model, twin = make(), make()
    settings = {"n_latest": n_latest, "stride": stride, "fading_factor": fading_factor, "seed": 7}
    importance = PermutationImportance(model, loss, **settings)
    oracle = ByHand(twin, loss, **settings)
    for x, y in stream():
        importance.update(x, y)
        oracle.update(x, y)
        model.learn_one(x, y)
        twin.learn_one(x, y)
    expected = oracle.get()
    measured = importance.get()
    assert (measured.name, measured.index.tolist()) == ("importance", list(expected))
    for feature, value in measured.items():
        assert value == pytest.approx(expected[feature], abs=1e-9), feature


def test_what_tells_the_label_has_importance_and_noise_has_none():
    model = AMFClassifier(seed=1)
    importance = PermutationImportance(model, seed=1, fading_factor=0.99)
    for x, y in stream(1000):
        importance.update(x, y)
        model.learn_one(x, y)
    measured = importance.get()
    assert measured["a"] > 0.3 and measured["color"] > 0.1
    assert abs(measured[("no", 1)]) < 0.05 and abs(measured["late"]) < 0.05


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_measuring_leaves_the_model_as_it_is(kind):
    model, twin = kind(3, seed=5), kind(3, seed=5)
    importance = PermutationImportance(model, seed=1)
    for x, y in stream():
        assert model.predict_proba_one(x) == twin.predict_proba_one(x)
        before = dict(x)
        importance.update(x, y)
        assert x == before
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert pickle.dumps(model) == pickle.dumps(twin)


def test_nothing_is_measured_before_there_is_a_prediction():
    for loss in ("log", "error"):
        importance = PermutationImportance(AMFClassifier(), loss)
        for x, y in stream(10):
            importance.update(x, y)
        assert importance.get().index.tolist() == ["a", "color", ("no", 1)]
        assert importance.get().isna().all()


def test_the_error_needs_no_probabilities():
    model = linear_model.PAClassifier()
    importance = PermutationImportance(model, "error", seed=1)
    rng = random.Random(1)
    for _ in range(500):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)}
        importance.update(x, x["a"] > 0)
        model.learn_one(x, x["a"] > 0)
    measured = importance.get()
    assert measured["a"] > 0.3 > 0.1 > measured["b"]


def test_estimators_of_scikit_learn_are_measured_too():
    rows = list(stream(200))
    X = pd.DataFrame([{"a": x["a"], "color": x["color"]} for x, _ in rows])
    y = [label for _, label in rows]
    estimator = river_amf.sklearn.AMFClassifier(3, random_state=1).fit(X, y)
    of_estimator = PermutationImportance(estimator, seed=1)
    of_model = PermutationImportance(estimator.model_, seed=1)
    for x, label in zip(X.to_dict("records"), y, strict=True):
        of_estimator.update(x, label)
        of_model.update(x, label)
    pd.testing.assert_series_equal(of_estimator.get(), of_model.get())


@pytest.mark.parametrize("kind", [collections.UserDict, VectorDict, PackedSample])
def test_any_mapping_is_measured(kind):
    rows = [({"a": i % 7 / 3, "b": float(i % 2)}, i % 7 > 3) for i in range(60)]
    model = AMFClassifier(3, seed=5)
    for x, y in rows:
        model.learn_one(x, y)
    ours, expected = (PermutationImportance(model, seed=1) for _ in range(2))
    for x, y in rows:
        ours.update(kind(x), y)
        expected.update(x, y)
    pd.testing.assert_series_equal(ours.get(), expected.get())
    with pytest.raises(TypeError, match="x must be a dict of features"):
        ours.update([1.0], "up")


def test_values_of_the_wrong_kind_are_measured_as_missing():
    def measured(on_mismatch, dirty):
        rng, model = random.Random(2), AMFClassifier(3, on_mismatch=on_mismatch, seed=5)
        importance = PermutationImportance(model, seed=1)
        for i in range(200):
            x = {"a": rng.random(), "b": rng.random()}
            y = x["a"] > 0.5
            if i % 9 == 4:
                x["a"] = dirty
            importance.update(x, y)
            model.learn_one(x, y)
        return importance.get()

    with pytest.warns(MismatchWarning, match="'a'"):
        ours = measured("missing", "N/A")
    pd.testing.assert_series_equal(ours, measured("raise", None))
    assert ours["a"] > 0.1


def test_a_sample_that_the_model_refuses_is_not_measured():
    model = trained()
    importance = PermutationImportance(model, seed=1)
    for x, y in stream(20):
        importance.update(x, y)
    before = importance.get()
    with pytest.raises(ValueError, match="'a'"):
        importance.update({"a": math.inf}, "up")
    pd.testing.assert_series_equal(importance.get(), before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "loss must be 'log' or 'error', got 'hinge'"),
        ({"n_latest": 0}, "n_latest must be an integer >= 1, got 0"),
        ({"stride": 0.5}, "stride must be an integer >= 1, got 0.5"),
        ({"fading_factor": 1.0}, "fading_factor must be a number strictly between 0 and 1"),
        ({"seed": -1}, "seed must be an integer >= 0"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        PermutationImportance(AMFClassifier(), **settings)


@pytest.mark.parametrize("model", [preprocessing.StandardScaler(), "amf", None])
def test_what_is_no_classifier_is_an_error(model):
    for make in (PermutationImportance, lambda model: evaluation.importance_history([], model)):
        with pytest.raises(
            TypeError, match=f"river classifier or regressor, .*, got {type(model).__name__}"
        ):
            make(model)


# Along a stream


def test_a_history_has_the_means_between_checkpoints():
    model, twin = AMFClassifier(3, seed=5), AMFClassifier(3, seed=5)
    history = evaluation.importance_history(stream(), model, 150, n_latest=50, seed=7)
    assert history.index.tolist() == [150, 300, 400]
    assert history.columns.tolist() == ["a", "color", ("no", 1), "late"]
    assert (history.index.name, history.columns.name) == ("n_samples", "feature")
    oracle = ByHand(twin, "log", 50, 1, None, 7)
    for n, (x, y) in enumerate(stream(), 1):
        oracle.update(x, y)
        twin.learn_one(x, y)
        if n in history.index:
            expected = oracle.get()
            for feature, value in history.loc[n].items():
                assert value == pytest.approx(expected.get(feature, math.nan), nan_ok=True)
            oracle.growths = {feature: [] for feature in oracle.growths}
    assert pickle.dumps(model) == pickle.dumps(twin)


def test_a_history_of_nothing_is_empty_and_errors_name_the_sample():
    assert evaluation.importance_history([], AMFClassifier()).shape == (0, 0)
    with pytest.raises(EvaluationError, match="sample 2"):
        evaluation.importance_history([({"a": 1.0}, "b"), ({"a": math.inf}, "b")], AMFClassifier())
    with pytest.raises(ValueError, match="every must be an integer >= 1, got 0"):
        evaluation.importance_history([], AMFClassifier(), every=0)


# Regressors


def numbers(n=400, seed=4):
    """Yield samples of two numbers and a category, and targets that follow two of them."""
    rng = random.Random(seed)
    for _ in range(n):
        x = {"a": rng.gauss(0, 1), "idle": rng.gauss(0, 1), "color": rng.choice(["red", "tan"])}
        yield x, 1000.0 + 5.0 * x["a"] + (x["color"] == "red") + rng.gauss(0, 0.1)


def trained_on_numbers(**parameters):
    model = AMFRegressor(3, seed=5, **parameters)
    for x, y in numbers():
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize("parameters", [{}, {"use_aggregation": False}, {"fading_factor": 0.7}])
def test_impurity_of_targets_is_their_variance(parameters):
    model = trained_on_numbers(**parameters)
    found = inspection.feature_importance(model)
    expected = {name: np.zeros(3) for name in model._features}
    for t in range(3):
        table = inspection.node_table(model, t).set_index("node")
        total = table.n_samples.max()
        impurity = table.n_samples / total * table["std"] ** 2
        masses = {int(table.index[table.parent == -1][0]): 1.0}
        for node in table.sort_values("depth").itertuples():
            if node.left == -1:
                continue
            passed = masses[node.Index]
            if model.use_aggregation:
                passed /= 1.0 + math.exp(node.log_odds)
            masses[node.left] = masses[node.right] = passed
            children = impurity[node.left] + impurity[node.right]
            expected[node.feature] += [
                1.0 / (len(table) // 2),
                passed * node.n_samples / total,
                passed * max(impurity[node.Index] - children, 0.0),
            ]
    shares = np.array([*expected.values()])
    shares /= shares.sum(axis=0)
    np.testing.assert_allclose(found[["splits", "mass", "impurity"]], shares, rtol=0, atol=1e-9)
    assert found["impurity"].idxmax() == "a" and found["impurity"]["idle"] < 0.2


def test_importances_do_not_depend_on_offset_and_unit_of_the_target():
    plain, other = AMFRegressor(3, seed=5), AMFRegressor(3, seed=5)
    for x, y in numbers():
        plain.learn_one(x, y)
        other.learn_one(x, -1e6 * y + 1e3)
    ours, theirs = (inspection.feature_importance(model) for model in (plain, other))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_relevance_of_features_to_a_target():
    relevance = inspection.feature_relevance(trained_on_numbers(split_intensity="relevance"))
    assert relevance["a"] > 0.8 and relevance["idle"] < 0.1
    with pytest.raises(ValueError, match="such as AdaptiveAMFRegressor, keeps"):
        inspection.feature_relevance(trained_on_numbers())


def test_squared_errors_measure_a_regressor():
    model, twin = AMFRegressor(3, seed=5), AMFRegressor(3, seed=5)
    importance = PermutationImportance(model, n_latest=50, seed=7)
    latest, growths, rng = [], {}, random.Random(7)
    for n, (x, y) in enumerate(numbers(200)):
        importance.update(x, y)
        for name in growths:
            other = {**x, name: rng.choice(latest)[name]}
            before, after = ((model.predict_one(sample) - y) ** 2 for sample in (x, other))
            growths[name].append(after - before)
        for name in x:
            growths.setdefault(name, [])
        latest[n % 50 : n % 50 + 1] = [x]
        model.learn_one(x, y)
        twin.learn_one(x, y)
    measured = importance.get()
    assert measured.to_dict() == pytest.approx({k: np.mean(v) for k, v in growths.items()})
    assert measured.idxmax() == "a"
    assert pickle.dumps(model) == pickle.dumps(twin)


def test_any_regressor_is_measured():
    model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    importance = PermutationImportance(model, "squared", seed=1)
    for x, y in numbers():
        x.pop("color")
        importance.update(x, y - 1000.0)
        model.learn_one(x, y - 1000.0)
    assert importance.get()["a"] > 10.0 > abs(importance.get()["idle"])


@pytest.mark.parametrize("y", ["12", None, math.nan, math.inf])
def test_a_target_that_is_none_is_not_measured(y):
    importance = PermutationImportance(trained_on_numbers(), seed=1)
    samples = [x for x, _ in numbers(2)]
    importance.update(samples[0], 1000.0)
    with pytest.raises((TypeError, ValueError), match="y must be a finite number"):
        importance.update(samples[1], y)
    assert importance.get().isna().all()


@pytest.mark.parametrize(
    ("model", "loss", "message"),
    [
        (AMFRegressor(), "log", "loss must be 'squared', got 'log'; the model is a regressor"),
        (AMFClassifier(), "squared", "'log' or 'error', got 'squared'; the model is a classifier"),
    ],
)
def test_a_loss_of_the_other_task_is_refused(model, loss, message):
    with pytest.raises(ValueError, match=message):
        PermutationImportance(model, loss)


def test_a_history_of_a_regressor_has_the_means_between_checkpoints():
    model, twin = AMFRegressor(3, seed=5), AMFRegressor(3, seed=5)
    history = evaluation.importance_history(numbers(), model, 200, seed=7)
    importance = PermutationImportance(twin, seed=7)
    for n, (x, y) in enumerate(numbers(), 1):
        importance.update(x, y)
        twin.learn_one(x, y)
        if n in history.index:
            pd.testing.assert_series_equal(history.loc[n], importance.get(), check_names=False)
            importance._forget()
    assert history.index.tolist() == [200, 400]
    assert (history.idxmax(axis=1) == "a").all()
