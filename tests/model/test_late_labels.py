"""Labels that come late judge what was predicted then (DESIGN.md: late labels)."""

import copy
import io
import pickle
import random

import numpy as np
import pandas as pd
import pytest
import test_naive
import test_naive_regression
from generated import streams, streams_of_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from river import evaluate, metrics

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    evaluation,
    load,
)
from river_amf.state import arena

CLASSIFIERS = {
    "mean": {},
    "restarts": {"drift_threshold": 0.01, "n_estimators": 4},
    "learned vote": {"vote": "learned", "fading_factor": 0.5},
    "linear": {"vote": "learned", "linear": True, "max_categories": 2},
    "adaptive": test_naive.ADAPTIVE,
    "few": test_naive.ADAPTIVE | {"max_delayed_labels": 3},
    "none": test_naive.ADAPTIVE | {"max_delayed_labels": 0},
}
REGRESSORS = {
    "mean": {"vote": "mean"},
    "last target": {"recent": "target", "n_estimators": 4},
    "linear": {"linear": True, "n_estimators": 3},
    "adaptive": test_naive_regression.ADAPTIVE,
    "few": test_naive_regression.ADAPTIVE | {"max_delayed_labels": 3},
}


def events(n, draw):
    """Yield what is done with which row: rows are predicted, some twice, and learned some time."""
    waiting = []
    for row in range(n):
        for _ in range(draw.choice([0, 1, 1, 1, 2])):
            yield "predict", row
        waiting.append(row)
        while waiting and draw.random() < 0.5:
            other = draw.choice([0, 0, -1, draw.randrange(len(waiting))])
            yield "learn", waiting[other]
            if draw.random() < 0.9:  # or it is learned once more
                waiting.pop(other)
        if draw.random() < 0.2:
            yield "predict", draw.randrange(n)
    for row in waiting:
        yield "learn", row


def run(model, reference, stream, draw, check):
    """Predict and learn in any order, and compare each prediction."""
    for what, row in events(len(stream), draw):
        x, y, w = stream[row]
        if what == "predict":
            check(model, reference, x)
        else:
            model.learn_one(x, y, w)
            reference.learn_one(x, y, w)
        assert len(copy.deepcopy(model)._engine.late) == len(reference.pending.list)


def same_probabilities(model, reference, x):
    expected = reference.predict_proba_one(x)
    assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-11)


@settings(max_examples=60, deadline=None)
@given(streams(max_size=40), st.sampled_from(sorted(CLASSIFIERS)), st.integers(0, 1000))
def test_classifiers_equal_the_reference(stream, name, seed):
    parameters = {"n_estimators": 2} | CLASSIFIERS[name]
    model, reference = test_naive.pair(**parameters)
    run(model, reference, stream, random.Random(seed), same_probabilities)
    if reference.labels:
        test_naive.check_same_state(model, reference)


def same_numbers(model, reference, x):
    scale = 1.0 + max((abs(y) for tree in reference.trees[:1] for y, _ in tree.learnt), default=0.0)
    tolerance = test_naive_regression.TOLERANCE * scale
    assert model.predict_one(x) == pytest.approx(reference.predict_one(x), abs=tolerance)


@settings(max_examples=60, deadline=None)
@given(
    streams_of_numbers(max_size=30, targets=("plain", "ties", "a jump", "offset")),
    st.sampled_from(sorted(REGRESSORS)),
    st.integers(0, 1000),
)
def test_regressors_equal_the_reference(stream, name, seed):
    parameters = {"n_estimators": 2} | REGRESSORS[name]
    model, reference = test_naive_regression.pair(**parameters)
    run(model, reference, stream, random.Random(seed), same_numbers)


def drifting(n, draw):
    """Return samples whose labels change their meaning, and sometimes a new label."""
    rows = []
    for i in range(n):
        x = {"a": draw.gauss(0, 1), "b": draw.randrange(3), "c": draw.choice("pq")}
        y = (x["a"] > 0) ^ (i // 350 % 2) if i % 40 else f"rare {i // 200}"
        rows.append((x, y, draw.choice([1.0, 1.0, 1.0, 2.0, 0.0])))
    return rows


RESTARTS = {
    "mean": (test_naive, {}),
    "learned vote": (test_naive, {"vote": "learned"}),
    "numbers": (test_naive_regression, {}),
    "numbers, trend": (test_naive_regression, {"linear": True}),
}


@pytest.mark.parametrize(("naive", "parameters"), RESTARTS.values(), ids=RESTARTS)
def test_trees_that_restart_equal_the_reference(naive, parameters):
    model, reference = naive.pair(drift_threshold=0.1, **parameters)
    is_regressor = isinstance(model, AMFRegressor)
    check, scale = (same_numbers, [2000.0]) if is_regressor else (same_probabilities, [])
    rows = drifting(400 if is_regressor else 500, random.Random(5))
    if is_regressor:
        rows = [(x, x["a"] + i * 29 % 13 * (i > 340) * 99.0, w) for i, (x, _, w) in enumerate(rows)]
    for i, (x, _, _) in enumerate(rows):
        check(model, reference, x)
        if i >= 9:
            model.learn_one(*rows[i - 9])
            reference.learn_one(*rows[i - 9])
    assert any(tree.n_restarts for tree in reference.trees)
    for tree in range(2):
        naive.check_same_tree(model, reference, tree, *scale)
    naive.check_same_state(model, reference)


def in_blocks(model, rows, draw, is_single):
    """Predict rows in bursts and learn them in bursts, later; return all predictions."""
    answers, waiting = [], []
    predict = model.predict_one if isinstance(model, AMFRegressor) else model.predict_proba_one
    predict_many = getattr(model, "predict_proba_many", None) or model.predict_many
    start = 0
    while start < len(rows) or waiting:
        stop = min(start + draw.choice([1, 3, 10]), len(rows))
        xs = [x for x, _, _ in rows[start:stop]]
        if is_single:
            found = [predict(x) for x in xs]
            answers += [list(p.values()) if type(p) is dict else p for p in found]
        elif xs:
            answers += np.asarray(predict_many(pd.DataFrame(xs, dtype=object))).tolist()
        waiting += range(start, stop)
        start = stop
        n = draw.randrange(len(waiting) + 1)
        now, waiting = waiting[:n], waiting[n:]
        if draw.random() < 0.3:
            now.reverse()
        at_once = draw.random() < 0.2
        block = [rows[row] for row in now]
        if is_single:
            for x, y, w in block:
                if at_once:
                    predict(x)
                model.learn_one(x, y, w)
        elif block:
            xs, ys, ws = zip(*block, strict=True)
            learn = model.learn_many
            if at_once:
                proba = "" if isinstance(model, AMFRegressor) else "proba_"
                learn = getattr(model, f"predict_{proba}then_learn_many")
            learn(pd.DataFrame(list(xs), dtype=object), list(ys), list(ws))
    return answers


ALL = {f"classifier, {name}": (AMFClassifier, more) for name, more in CLASSIFIERS.items()} | {
    f"regressor, {name}": (AMFRegressor, more) for name, more in REGRESSORS.items()
}


def made(name, n_estimators=3):
    kind, parameters = ALL[name]
    return kind(**({"n_estimators": n_estimators} | parameters), seed=3)


def drifting_for(name, n):
    """Return samples whose labels or targets drift."""
    rows = drifting(n, random.Random(2))
    if ALL[name][0] is AMFRegressor:
        rows = [(x, 2.0 * x["a"] + x["b"] + i // 60, w) for i, (x, _, w) in enumerate(rows)]
    return rows


def moved(model):
    """Return copies of a model of all kinds."""
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), load(file)]


@pytest.mark.parametrize("name", ALL)
def test_blocks_equal_single_samples(name):
    single, blocks, rows = made(name), made(name), drifting_for(name, 250)
    expected = in_blocks(single, rows, random.Random(4), is_single=True)
    found = in_blocks(blocks, rows, random.Random(4), is_single=False)
    assert [list(p) if type(p) is list else p for p in expected] == found
    assert pickle.dumps(single) == pickle.dumps(blocks)
    twins = moved(single)
    for x, y, w in rows[-40:]:
        for model in (single, *twins):
            model.learn_one(x, y, w)
    assert {pickle.dumps(twin) for twin in twins} == {pickle.dumps(single)}


@pytest.mark.parametrize("make", [AdaptiveAMFClassifier, AdaptiveAMFRegressor])
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_evaluations_of_all_kinds_agree(make, delay):
    rows = [(x, str(y)) for x, y, _ in drifting(120, random.Random(2))]
    if make is AdaptiveAMFRegressor:
        rows = [(x, float(len(x["c"]) + x["b"])) for x, _ in rows]
    is_regressor = make is AdaptiveAMFRegressor
    make_metric = metrics.MAE if is_regressor else metrics.CrossEntropy
    expected = evaluate.progressive_val_score(rows, make(seed=1), make_metric(), delay=delay).get()
    compared = evaluation.compare(rows, make(seed=1), [make_metric], delay=delay)
    assert compared.table[make_metric.__name__][make.__name__] == expected


@pytest.mark.parametrize("make", [AdaptiveAMFClassifier, AdaptiveAMFRegressor])
def test_a_late_chunk_leaves_nothing_to_the_next(make, monkeypatch):
    monkeypatch.setattr(arena, "_CHUNK_BYTES", 1)  # chunks of 64 rows
    single, blocks = make(n_estimators=3, seed=1), make(n_estimators=3, seed=1)
    rows = [(x, float(len(str(y)))) for x, y, _ in drifting(400, random.Random(6))]
    frame, targets = pd.DataFrame([x for x, _ in rows], dtype=object), [y for _, y in rows]
    for x, y in rows[:100]:
        single.learn_one(x, y)
    blocks.learn_many(frame[:100], targets[:100])
    for x, _ in rows[100:130]:
        single.predict_one(x)
    blocks.predict_many(frame[100:130])
    for x, y in rows[100:]:
        single.learn_one(x, y)
    blocks.learn_many(frame[100:], targets[100:])
    assert pickle.dumps(single) == pickle.dumps(blocks)


@pytest.mark.parametrize("name", ALL)
def test_predictions_are_part_of_copies_and_files(name):
    rows = drifting(60, random.Random(8))
    rows = [(x, float(len(str(y))), 0.0 if i < 3 else w) for i, (x, y, w) in enumerate(rows)]
    frame = pd.DataFrame([x for x, _, _ in rows], dtype=object)
    single, blocks = made(name), made(name)
    for x, y, w in rows[20:40]:
        single.learn_one(x, y, w)
        blocks.learn_one(x, y, w)
    for x, _, _ in [*rows[:20], rows[1]]:
        single.predict_one(x)
    blocks.predict_many(frame[:20])
    blocks.predict_many(frame[1:2])
    judges = name != "classifier, mean"
    n_kept = min(20, single.max_delayed_labels) * judges
    assert {len(copy.deepcopy(each)._engine.late) for each in (single, blocks)} == {n_kept}
    models = [single, *moved(single), pickle.loads(pickle.dumps(blocks)), blocks]
    for model in models[:-1]:
        for x, y, w in rows:
            model.learn_one(x, y, w)
    for part in slice(2), slice(2, 60):
        blocks.learn_many(frame[part], *zip(*[row[1:] for row in rows[part]], strict=True))
    assert len({pickle.dumps(model) for model in models}) == 1


def test_rows_of_words_are_found_without_zeros():
    model, twin = (AdaptiveAMFClassifier(absent="zero", n_estimators=2, seed=1) for _ in range(2))
    frame = pd.DataFrame({"a": [1, 0, 2], "b": [0, 1, 0], "c": ["x", None, "y"]})
    for each in model, twin:
        for x in frame.to_dict("records"):
            each.learn_one(x, bool(x["a"]))
    twin.predict_many(frame)
    for x in frame.to_dict("records"):
        model.predict_one({"zero": 0.0} | x)
    for each in model, twin:
        n_kept = []
        for x in frame.to_dict("records"):
            each.learn_one(x, bool(x["a"]))
            n_kept.append(len(each._engine.late))
        assert n_kept == [2, 1, 0]
    assert pickle.dumps(model) == pickle.dumps(twin)


@pytest.mark.parametrize("make", [AdaptiveAMFClassifier, AdaptiveAMFRegressor])
def test_what_is_predicted_before_anything_is_learned_makes_no_difference(make):
    asked, unasked = make(n_estimators=4, seed=1), make(n_estimators=4, seed=1)
    rows = [x for x, _, _ in drifting(40, random.Random(3))]
    for x in rows:
        asked.predict_one(x)
    for x in rows:
        asked.learn_one(x, x["b"])
        unasked.learn_one(x, x["b"])
    assert pickle.dumps(asked) == pickle.dumps(unasked)
