"""`debug_one`: its tables agree with the model and with `inspection`."""

import math
import random
import re

import numpy as np
import pytest
from forests import state_of
from river import compose, preprocessing

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.explain.debug import tables_of
from river_amf.explain.linear_weights import weights_of
from river_amf.inspection import contributions, path


def make(model, n=300):
    """Let a model learn a stream of numbers, categories and missing values."""
    rng = random.Random(1)
    for i in range(n):
        x = {"size": rng.gauss(0, 1), "color": rng.choice("abcdefgh"), ("odd", 1): rng.random()}
        y = "big" if x["size"] > 0.5 else "red" if x["color"] in "ab" else "other"
        if isinstance(model, AMFRegressor):
            y = 500.0 + len(y) + x["size"]
        if i % 5 == 0:
            del x["size"]
        model.learn_one(x, y)
    return model


X = {"size": 0.7, "color": "c"}
SAMPLES = [X, {"size": -9e9, "color": "a", ("odd", 1): 0.4}, {"color": "new", ("odd", 1): 1e300}]
MODELS = {
    "mean": AMFClassifier(n_estimators=3, seed=1),
    "leaves, classes": AMFClassifier(3, n_classes=4, use_aggregation=False, seed=1),
    "learned vote": AMFClassifier(n_estimators=3, vote="learned", seed=1),
    "linear models": AdaptiveAMFClassifier(n_estimators=3, seed=1),
    "words": AdaptiveAMFClassifier(n_estimators=3, absent="zero", seed=1),
    "mean of regressor": AMFRegressor(4, vote="mean", seed=1),
    "stack": AMFRegressor(4, seed=1),
    "leaves of regressor": AMFRegressor(4, use_aggregation=False, seed=1),
    "trend": AdaptiveAMFRegressor(4, seed=1),
    "last target": AdaptiveAMFRegressor(4, recent="target", seed=1),
    "one tree": AdaptiveAMFRegressor(1, seed=1),
}
MODELS = {name: make(model) for name, model in MODELS.items()}
every_sample = pytest.mark.parametrize("x", SAMPLES)


def of_models(*names):
    return pytest.mark.parametrize("model", [MODELS[name] for name in names], ids=names)


def explained(model, x):
    """Return the tables that explain a prediction, by the first words of their titles."""
    tables = tables_of(model, x, None)
    return {re.split(r": |, | \(", title)[0]: table for title, table in tables.items()}


@every_sample
@of_models("mean", "leaves, classes", "learned vote", "linear models", "words")
def test_experts_give_the_prediction(model, x):
    tables, proba = explained(model, x), model.predict_proba_one(x)
    best = sorted(proba, key=lambda label: -proba[label])
    assert tables["Prediction"].probability.to_dict() == {repr(k): proba[k] for k in best}
    experts = tables["Trees" if model.vote == "mean" else "Experts"]
    p = experts[[*map(repr, best)]]
    for tree in range(3):
        steps = path(model, x, tree)
        mixed = [sum(steps.mass * [of_node[label] for of_node in steps.proba]) for label in best]
        assert p.loc[f"tree {tree}"].tolist() == pytest.approx(mixed)
        assert experts.depth.iloc[tree] == pytest.approx(sum(steps.mass * steps.depth))
    log_p = np.log(p[:3] + 0.001), np.log(p[3:-1]).clip(lower=-7)
    powers = p.sum()
    if model.vote == "learned":
        powers = np.exp(p.loc["bias"] + experts.weight[:-1] @ np.concatenate(log_p))
        share = model._engine.expert_outputs(x).plain_share
        plain = np.exp(np.log(p[:3:2] + 0.001).mean())
        powers = (1 - share) * powers / powers.sum() + share * plain / plain.sum()
    assert (powers / powers.sum()).tolist() == pytest.approx([proba[label] for label in best])


@every_sample
@of_models("linear models", "words")
def test_inputs_add_up_to_linear_models(model, x):
    tables, outputs = explained(model, x), model._engine.expert_outputs(x, has_parts=True)
    shown, (first, second, *_) = tables["Inputs of linear models"], tables["Prediction"].index
    inputs = weights_of(model, outputs)
    inputs["label"] = inputs.label.map(repr)
    products = inputs.weight * inputs.value
    scores = products.groupby([inputs.linear_model, inputs.label]).sum()
    for linear_model in inputs.linear_model.unique():
        p = tables["Experts"].loc[linear_model]
        difference = scores[linear_model, first] - scores[linear_model, second]
        assert np.log(p[first] / p[second]) == pytest.approx(difference)
    strongest = products[inputs.label == first].to_numpy()
    strongest = strongest - products[inputs.label == second].to_numpy()
    strongest = strongest[np.argsort(-np.abs(strongest))]
    assert shown["product"].tolist()[:8] == pytest.approx(strongest[:8])
    assert shown["product"].sum() == pytest.approx(np.nansum(strongest))


def stacked(table):
    """Return the prediction of a stack: within half a range around that of its voters."""
    base, low, high = table.prediction.iloc[0], table.prediction.min(), table.prediction.max()
    p = base + (table.weight * (table.prediction - base)).sum()
    return np.clip(p, low - (high - low) / 2, high + (high - low) / 2)


@every_sample
@of_models("mean of regressor", "stack", "leaves of regressor", "trend", "last target", "one tree")
def test_voters_give_the_prediction(model, x):
    tables, interval, p = explained(model, x), model.predict_interval_one(x), model.predict_one(x)
    shown = tables["Prediction"].iloc[0].to_dict()
    assert shown == {"prediction": p, "lower": interval.lower, "upper": interval.upper}
    trees = tables["Trees"].prediction
    assert trees.tolist() == pytest.approx([tree.predict_one(x) for tree in model])
    if model.vote == "mean":
        assert p == pytest.approx(trees.mean())
        return
    voters, last = tables["Voters"].prediction, tables.get("Last target")
    assert voters["even trees"] == pytest.approx(trees[::2].mean())
    assert voters["base"] == pytest.approx((voters["even trees"] + voters["odd trees"]) / 2)
    assert p == pytest.approx(stacked(tables["Voters"] if last is None else last))
    assert (last is not None) == (model.recent == "target")
    if last is not None:
        assert last.prediction["all voters"] == pytest.approx(stacked(tables["Voters"]))
    if "Inputs of the trends" in tables and x is X:  # where no trend is clipped
        added = tables["Inputs of the trends"]["product"].sum()
        assert added == pytest.approx(voters["fast trend"] + voters["smooth trend"])


@every_sample
@of_models("mean", "linear models", "trend")
def test_explanations_end_with_contributions(model, x):
    [*_, title], table = tables_of(model, x, None), explained(model, x)["Contributions"]
    parts = contributions(model, x)
    assert title.startswith("Contributions (they sum to ")
    assert table.contribution.sum() == pytest.approx(parts.sum())
    assert table.contribution.iloc[0] == parts.iloc[0]
    sizes = abs(table.contribution[1:4])
    assert [*sizes] == sorted(abs(parts[[*model._features]]), reverse=True)


def test_many_contributions_are_cut():
    model = AMFClassifier(n_estimators=2, seed=1)
    for i in range(100):
        model.learn_one({j: (i * j) % 7 for j in range(1, 9)}, i % 3 == 0)
    table, parts = explained(model, {1: 3, 2: 0})["Contributions"], contributions
    assert [*table.index][::6] == ["baseline", "3 others"]
    assert table.contribution.sum() == pytest.approx(parts(model, {1: 3, 2: 0}).sum())


@every_sample
@of_models("mean", "trend")
def test_conditions_hold_of_the_sample(model, x):
    steps, table = path(model, x), explained(model, x)["Path in tree 0"]
    columns = [name for name in ("node", "share", "mass", "mean", "estimate") if name in steps]
    assert table[columns].to_numpy().tolist() == steps[columns].to_numpy().tolist()
    if "proba" in steps:
        best = model.predict_one(x)
        assert table[f"p({best!r})"].tolist() == [p[best] for p in steps.proba]
    assert table.index[-1] == "leaf" and len(table) > 2
    for condition, step in zip(table.index, steps.itertuples(), strict=True):
        if step.goes is None:
            assert condition == ("leaf" if step.feature is None else "hardly any mass left")
            continue
        is_left, left = step.goes == "left", step.categories_left
        if step.value is None:
            assert step.goes == "both"
            expected = f"missing: {step.goes}"
        elif left is None:
            expected = f"{'<=' if is_left else '>'} {step.threshold}"
            assert (step.value <= step.threshold) == is_left
        elif step.value == "new":
            expected = f"has a new category: {step.goes}, by chance"
        else:
            assert (step.value in left) == is_left
            ordered = sorted(left, key=lambda category: (category != step.value, category))
            more = f", +{len(left) - 3}" * (len(left) > 3)
            named = f"{', '.join(map(repr, ordered[:3]))}{more}"
            expected = f"{'in' if is_left else 'not in'} {{{named}}}"
        assert condition == f"{step.feature} {expected}"


def test_many_labels_are_cut():
    model = AMFClassifier(n_estimators=2, seed=1)
    for i in range(200):
        model.learn_one({"a": i % 40}, f"label number {i % 40} with a name that goes on and on")
    tables = explained(model, {"a": 3})
    assert tables["Prediction"].index[-1] == "35 others"
    assert tables["Prediction"].probability.sum() == pytest.approx(1.0)
    assert tables["Path in tree 0"].counts.iloc[0].endswith(", +36")


@of_models("mean", "linear models", "trend")
def test_debug_one_changes_nothing(model):
    assert model.clone().debug_one(X).startswith("No sample has been learned yet")
    before = state_of(model)
    with pytest.raises(ValueError, match="infinite"):
        model.debug_one({"size": math.inf})
    assert f"any tree from 0 to {len(model) - 1}\n\nContrib" in model.debug_one({}, tree=1)
    assert state_of(model) == before


def test_restarted_trees_have_no_path():
    model = make(AMFClassifier(n_estimators=2, seed=1))
    model._arena.trees["root"][1] = -1
    model._arena.trees["n_nodes"][1] = 0
    assert "\nPath in tree 1, of 0 nodes, as it has just restarted\n" in model.debug_one(X)


def test_pipelines_explain_their_forest():
    scaler = compose.SelectType(float) | preprocessing.StandardScaler()
    scaler += compose.Select("color")
    model = make(scaler | AMFClassifier(n_estimators=2, seed=1))
    assert model["AMFClassifier"].debug_one(model.transform_one(X)) in model.debug_one(X)
