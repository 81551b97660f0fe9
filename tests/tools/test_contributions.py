"""`inspection.contributions`: it sums to the prediction, and equals walks that are plain to see.

`test_call_sequences` has it between other calls, on which it leaves no trace.
"""

import itertools
import math
import random

import generated
import numpy as np
import pandas as pd
import pytest
from forests import QUESTIONS, STREAM, learn, trained
from hypothesis import given, settings
from regressors import NUMBERS

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    inspection,
)
from river_amf.kernels.features.standardization import LARGEST_SCORE
from river_amf.state.layout import N_UNITS

EXACT = 1e-9
SHARED = {"step": 0.02}  # so that all nodes on a path have a share in the prediction
MODELS = {
    "mean": trained(STREAM, **SHARED),
    "leaves": trained(STREAM, use_aggregation=False),
    "classes": trained(STREAM, n_classes=9),
    "fading": trained(STREAM, fading_factor=0.7),
    "learned vote": trained(STREAM, vote="learned", **SHARED),
    "adaptive": trained(STREAM, AdaptiveAMFClassifier),
    "words": trained(STREAM, AdaptiveAMFClassifier, absent="zero"),
    "mean of regressor": trained(NUMBERS, AMFRegressor, vote="mean", **SHARED),
    "stack": trained(NUMBERS, AMFRegressor),
    "fading regressor": trained(NUMBERS, AMFRegressor, fading_factor=0.7, use_aggregation=False),
    "adaptive regressor": trained(NUMBERS, AdaptiveAMFRegressor),
    "last target": trained(NUMBERS, AdaptiveAMFRegressor, recent="target"),
    "one tree": trained(NUMBERS, AdaptiveAMFRegressor, n_estimators=1),
}


def of_models(*names):
    return pytest.mark.parametrize("model", [MODELS[name] for name in names], ids=names)


def expected_sum(model, x, label=None):
    if isinstance(model, AMFRegressor):
        return model.predict_one(x)
    proba = model.predict_proba_one(x)
    label = model.predict_one(x) if label is None else label
    logs = {c: math.log(p) for c, p in proba.items()}
    if model.vote == "mean":
        return proba[label]
    factor = 2.0 if len(logs) == 2 else 1.0  # log-odds
    return factor * (logs[label] - sum(logs.values()) / len(logs))


def assert_sums(model, x, label=None):
    parts, expected = inspection.contributions(model, x, label), expected_sum(model, x, label)
    assert parts.sum() == pytest.approx(expected, rel=EXACT, abs=EXACT)


def assert_votes(model, x):
    """Check that the parts of each vote sum to it, but for bounds and constants of all labels."""
    outputs, counters = model._engine.expert_outputs(x, has_parts=True), model._arena.counters[0]
    is_regressor, n_trees = isinstance(model, AMFRegressor), len(model)
    n = int(model._arena.settings["n_cosines"][0])
    cosines = outputs.terms[1:2, 1 : 1 + n] if is_regressor else outputs.additive_inputs[3:4, :n]
    if np.abs(cosines).max(initial=0.0) >= LARGEST_SCORE:
        return
    width = 1 if is_regressor else len(model._labels)
    for v, vote in enumerate(outputs.votes[: len(outputs.votes) - (not is_regressor), :width]):
        parts = outputs.parts[v, :, :width].sum(axis=0)
        if v >= n_trees and is_regressor:
            parts = parts.clip(counters["least_target"], counters["largest_target"])
        elif v >= n_trees:
            parts, vote = parts - parts.mean(), vote - vote.mean()
        limit = 1e-5 if v == n_trees and not is_regressor else EXACT  # float32
        np.testing.assert_allclose(parts, vote, rtol=limit, atol=limit)


def branches(steps):
    """Return the paths from the root to each end of a walk, with the share of x that takes it."""
    ends, stack = [], []
    for step in steps.itertuples():
        stack = [*stack[: step.depth], step]
        if step.goes is None:
            ends.append(stack)
    total = sum(_ways(path) for path in ends)
    return [(path, _ways(path) / total) for path in ends]


def _ways(path):
    """Return the share of x that takes a path: of samples, where a number is missing."""
    share = 1.0
    for above, below in itertools.pairwise(path):
        if above.goes == "both":
            share *= below.n_samples / above.n_samples
    return share


def naive_terms(path, values):
    """Return the terms of a path: the change if the node below, not this one, is the last."""
    left, so_far, before, terms = 1.0, 0.0, values[0], []
    for step, value, below in zip(path, values, values[1:], strict=False):
        so_far, left = so_far + left * step.share * value, left * (1.0 - step.share)
        terms.append((step.feature, so_far + left * below - before))
        before = so_far + left * below
    return terms


@of_models("mean", "leaves", "fading", "mean of regressor")
def test_contributions_equal_walks(model):
    for x in QUESTIONS:
        label = None if isinstance(model, AMFRegressor) else model.predict_one(x)
        expected = dict.fromkeys(["baseline", *model._features], 0.0)
        for t in range(len(model)):
            steps = inspection.path(model, x, t)
            for path, share in branches(steps):
                values = [s.estimate if label is None else s.proba[label] for s in path]
                expected["baseline"] += share * values[0] / len(model)
                for feature, term in naive_terms(path, values):
                    expected[feature] += share * term / len(model)
        parts = inspection.contributions(model, x)
        assert [*parts.index] == [*expected]
        np.testing.assert_allclose(parts, [*expected.values()], rtol=EXACT, atol=EXACT)


def test_contributions_to_a_clipped_prediction_sum_to_it():
    rows = [({"a": math.sin(n / 9)}, float(n)) for n in range(99)]
    model = learn(AdaptiveAMFRegressor(4, seed=1), rows)
    for a in (-50.0, 9.0):
        assert_sums(model, {"a": a})


def test_logarithms_of_trees_equal_walks():
    model, n_branched = MODELS["learned vote"], 0
    for x in QUESTIONS:
        votes = model._engine.expert_outputs(x, has_parts=True).parts
        for t in range(len(model)):
            steps = [*inspection.path(model, x, t).itertuples()]
            n_branched += steps[-1].depth + 1 < len(steps)
            for label, parts in zip(model._labels, votes[t].T, strict=False):
                expected = dict.fromkeys(model._features, 0.0)
                so_far = steps[0].proba[label]
                for k, step in enumerate(steps[1:], start=1):
                    above = next(s for s in steps[k - 1 :: -1] if s.depth < step.depth)
                    below = itertools.takewhile(lambda s, d=step.depth: s.depth > d, steps[k + 1 :])
                    mass = step.mass + sum(s.mass for s in below)
                    before = so_far + 0.001
                    so_far += mass * (step.proba[label] - above.proba[label])
                    expected[above.feature] += math.log((so_far + 0.001) / before)
                np.testing.assert_allclose(parts[1:-1], [*expected.values()], atol=EXACT)
            assert len(steps) > 3 and np.abs(votes[t, 1:-1]).max() > 0.001
    assert n_branched > 20


def test_restarted_trees_count_with_what_they_predict():
    for name in ("mean", "learned vote", "stack"):
        model = MODELS[name].clone(include_attributes=True)
        model._arena.trees["root"][1], model._arena.trees["n_nodes"][1] = -1, 0
        assert_sums(model, QUESTIONS[0])
        assert_votes(model, QUESTIONS[0])


@of_models("adaptive", "adaptive regressor")
def test_constant_cosines_have_no_contributions(model):
    model = model.clone(include_attributes=True)
    model._arena.cosines[:, 1] = 1e-24  # variances that are those of rounding
    assert_votes(model, QUESTIONS[0])


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_contributions_sum_to_the_prediction(model):
    for x in QUESTIONS:
        assert_sums(model, x)
        assert_votes(model, x)
        if not isinstance(model, AMFRegressor):
            for label in model._labels:
                assert_sums(model, x, label)


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
@settings(max_examples=25)
@given(samples=generated.streams(), parameters=generated.PARAMETERS)
def test_contributions_sum_for_any_classifier(kind, samples, parameters):
    model = learn(kind(n_estimators=2, seed=1, **parameters), samples)
    for x in [{}, *(x for x, _, _ in samples)]:
        assert_sums(model, x)


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
@settings(max_examples=25)
@given(
    samples=generated.streams_of_numbers(targets=("plain", "ties", "a jump")),
    parameters=generated.PARAMETERS_OF_NUMBERS,
)
def test_contributions_sum_for_any_regressor(kind, samples, parameters):
    model = learn(kind(n_estimators=3, seed=1, **parameters), samples)
    for x in [{}, *(x for x, _, _ in samples)]:
        assert_sums(model, x)


@pytest.mark.parametrize("method", ["path", "permutations"])
@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_contributions_of_two_labels_are_log_odds(kind, method):
    model, rng = kind(3, vote="learned", seed=1), random.Random(1)
    rows = [{"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)} for _ in range(200)]
    for x in rows:
        model.learn_one(x, "yes" if x["a"] + 0.5 * rng.gauss(0, 1) > 0.3 else "no")
    background = rows[:9] if method == "permutations" else None
    for x in rows[:20]:
        yes, no = (inspection.contributions(model, x, c, method, background) for c in ("yes", "no"))
        p = model.predict_proba_one(x)["yes"]
        assert yes.sum() == pytest.approx(math.log(p / (1.0 - p)), rel=EXACT)
        assert yes.tolist() == (-no).tolist()
        assert yes.name == "contribution (log-odds)"
        assert f"(they sum to the log-odds of {model.predict_one(x)!r})" in model.debug_one(x)
    model.learn_one(rows[0], "maybe")
    parts = inspection.contributions(model, rows[1], "yes", method, background)
    assert parts.sum() == pytest.approx(expected_sum(model, rows[1], "yes"), rel=EXACT)
    assert parts.name == "contribution (log P less its mean over labels)"


@of_models("stack", "adaptive regressor", "last target", "one tree")
def test_regressors_only_have_a_rest_at_bounds(model):
    rests = [inspection.contributions(model, x)["rest"] for x in QUESTIONS]
    assert rests.count(0.0) > 0.8 * len(rests)


def test_units_are_shared_by_argument():
    model, rng = AdaptiveAMFClassifier(2, seed=1), random.Random(1)
    for _ in range(300):
        x = {name: rng.gauss(0, 1) for name in "abc"}
        model.learn_one(x, x["a"] * x["b"] > 0)
    arena, x = model._arena, {"a": 0.5, "b": -1.0, "c": None}
    outputs = model._engine.expert_outputs(x, has_parts=True)
    parts = outputs.parts[2]
    expected = np.zeros((3, 2))
    for k in range(1, N_UNITS):
        first, *weights = arena.hidden_weights[:7, k].tolist()  # two inputs of each feature
        u = [outputs.standardized[:2, j] @ weights[2 * j : 2 * j + 2] for j in range(3)]
        b, s = 0.1 + first, sum(u)
        for j, c in itertools.product(range(3), range(2)):
            change = max(b + s, 0.0) - max(b, 0.0)
            expected[j, c] += float(arena.output_weights[c, k]) * change * u[j] / s
    np.testing.assert_allclose(parts[1:-1], expected, atol=1e-7)  # of 0.1 in float32
    assert not parts[-1].any() and not parts[3].any()


@pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
@pytest.mark.parametrize("vote", ["mean", "learned"])
def test_unused_features_contribute_nothing(kind, vote):
    model = kind(n_estimators=4, vote=vote, seed=1)
    for i in range(400):
        model.learn_one({"constant": 3.0, "a": i % 10, "one": "red"}, i % 10 < 5)
    parts = inspection.contributions(model, {"constant": 3.0, "a": 2, "one": "red"})
    assert parts["constant"] == parts["one"] == 0.0
    assert abs(parts["a"]) > 0.3


@pytest.mark.parametrize("kind", [AdaptiveAMFClassifier, AdaptiveAMFRegressor])
def test_features_that_share_weights_sum(kind):
    model, rng = kind(2, seed=1), random.Random(1)
    rows = [
        {j: rng.gauss(0, 1) if j % 3 else rng.choice("ab") for j in range(70)} for _ in range(60)
    ]
    for x in rows:
        model.learn_one(x, round(x[1] + x[65] + (x[0] == "a") + (x[66] == "b")))
    for x in rows[:9]:
        assert_sums(model, x)
        assert_votes(model, x)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_contributions_of_block_equal_rows(model):
    X = pd.DataFrame(QUESTIONS, range(5, 5 + len(QUESTIONS)))
    for label in (None, *([] if isinstance(model, AMFRegressor) else model._labels)):
        table = inspection.contributions_many(model, X, label)
        assert table.index.equals(X.index)
        for x, (_, row) in zip(X.to_dict("records"), table.iterrows(), strict=True):
            parts = inspection.contributions(model, x, label)
            assert row[parts.index].tolist() == parts.tolist()
            assert row.drop(parts.index).eq(0.0).all()
            assert table.columns.name == parts.name
    table = inspection.contributions_many(model, X[:0])
    assert len(table) == 0 and [*table][: 1 + len(model._features)] == [
        "baseline",
        *model._features,
    ]


def test_contributions_of_block_refuse_bad_rows():
    X = pd.DataFrame({"fine": [1.0, math.inf]})
    with pytest.raises(ValueError, match="row 1: "):
        inspection.contributions_many(MODELS["mean"], X)
    with pytest.raises(ValueError, match=r"label must be one of .*, got 'new'"):
        inspection.contributions_many(MODELS["mean"], X, "new")
    assert [*inspection.contributions_many(AMFRegressor(), X[:1])] == ["baseline"]


def test_contributions_refuse_other_labels():
    for name, label in (("mean", "new"), ("stack", 3.0)):
        with pytest.raises(ValueError, match=f"label must be .*, got {label!r}"):
            inspection.contributions(MODELS[name], QUESTIONS[0], label)
    for kind, unit in ((AMFClassifier, "probability"), (AMFRegressor, "unit of the target")):
        parts = inspection.contributions(kind(), {"a": 1.0})
        assert parts.to_dict() == {"baseline": 0.0} and parts.name == f"contribution ({unit})"


def by_permutations(model, x, background, label=None):
    return inspection.contributions(model, x, label, "permutations", background)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_permutations_sum_to_the_prediction(model):
    for x in QUESTIONS[::4]:
        parts = by_permutations(model, x, QUESTIONS[:5])
        assert parts.sum() == pytest.approx(expected_sum(model, x), rel=EXACT, abs=EXACT)
        label = None if isinstance(model, AMFRegressor) else model.predict_one(x)
        baseline = np.mean([expected_sum(model, row, label) for row in QUESTIONS[:5]])
        assert parts.iloc[0] == pytest.approx(baseline, rel=EXACT)


def test_permutations_approach_shapley_values():
    model, (x, row) = MODELS["adaptive"], ({"fine": 1.0, "coarse": 3.0}, {"fine": -1.0})
    row |= {"coarse": 0.0, "color": "red"}
    parts, expected = by_permutations(model, x, [row] * 500), dict.fromkeys(row, 0.0)
    for order in itertools.permutations(row):
        mixed, before = dict(row), expected_sum(model, row, "above")
        for name in order:
            mixed[name] = x.get(name)
            after = expected_sum(model, mixed, "above")
            expected[name] += (after - before) / 6
            before = after
    assert parts[[*row]].tolist() == pytest.approx([*expected.values()], abs=0.03)
    assert parts.drop(index=[*row, "baseline"]).eq(0.0).all()


def test_permutations_take_frames():
    model, rows = MODELS["adaptive regressor"], [x for x, _, _ in NUMBERS[600:620]]
    expected = by_permutations(model, QUESTIONS[0], rows)
    of_frame = by_permutations(model, QUESTIONS[0], pd.DataFrame(rows))
    pd.testing.assert_series_equal(of_frame, expected)


def test_bad_backgrounds_are_refused():
    model, x = MODELS["mean"], QUESTIONS[0]
    for background, error, text in (
        ([], ValueError, "background must have at least one sample"),
        (None, ValueError, "background must be given"),
        ([x, {"fine": "text"}], ValueError, "row 1: "),
        ([x, None], TypeError, "row 1: "),
    ):
        with pytest.raises(error, match=text):
            by_permutations(model, x, background)
    with pytest.raises(ValueError, match="background must be given"):
        inspection.contributions(model, x, background=[x])
    with pytest.raises(ValueError, match="method must be 'path' or 'permutations', got 'walk'"):
        inspection.contributions(model, x, method="walk")
    assert by_permutations(AMFRegressor(), x, [x]).to_dict() == {"baseline": 0.0}
