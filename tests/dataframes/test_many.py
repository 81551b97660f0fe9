"""Blocks of rows: learnt and predicted bit for bit like one sample at a time."""

import concurrent.futures
import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from generated import PARAMETERS
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import (
    COLUMNS,
    LIBRARIES,
    Pandas,
    assert_learns,
    assert_predicts,
    assert_proba,
    assert_twins,
    blocks_of,
    fresh,
    labels_of,
    learn,
    libraries,
    objects,
    stream_of,
    trained,
)
from river import preprocessing

from river_amf import AdaptiveAMFClassifier

VARIANTS = {
    "default": {},
    "budget": {"max_nodes": 151},
    "split_pure": {"split_pure": True},
    "split_pure, budget": {"split_pure": True, "max_nodes": 200},
    "n_classes": {"n_classes": 9, "step": 0.5},
    "unit": {"split_intensity": "unit"},
    "leaves alone": {"use_aggregation": False},
    "one tree": {"n_estimators": 1},
    "fading": {"fading_factor": 0.7, "split_pure": True},
    "relevance": {"split_intensity": "relevance"},
    "learned vote": {"vote": "learned"},
    "restarts": {"restart_threshold": 0.01},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "adaptive, budget": {"kind": AdaptiveAMFClassifier, "max_nodes": 151},
}


# Each kind of forest learns frames of pandas, and one kind learns frames of each library: what a
# forest learns are arrays, whatever library they come from.
PAIRS = [(variant, "pandas") for variant in VARIANTS]
PAIRS += [("default", library) for library in LIBRARIES if library != "pandas"]
variants = pytest.mark.parametrize(
    ("parameters", "library"),
    [(VARIANTS[variant], LIBRARIES[library]) for variant, library in PAIRS],
    ids=["-".join(pair) for pair in PAIRS],
)


# Blocks are like their rows


@variants
def test_a_block_is_learnt_and_predicted_like_its_rows(library, parameters):
    assert_learns(library, *stream_of(library), **parameters)


@pytest.mark.parametrize(
    "sizes",
    [(1,), (11,), (1000,), (0, 3, 0, 0, 64, 1)],
    ids=str,
)
def test_the_cuts_of_a_stream_do_not_matter(sizes):
    model, reader, twin = fresh(), fresh(), trained(1000)
    for X, labels, weights in blocks_of(Pandas, sizes):
        proba = [reader.predict_proba_one(x) for x in Pandas.rows(X[:1])]
        model.learn_many(X, labels, weights)
        frame = reader.predict_proba_then_learn_many(X, labels, weights)
        assert_proba(Pandas, frame[: len(proba)], reader, proba)
    assert_twins(model, twin)
    assert_twins(reader, twin)


def test_samples_and_blocks_may_alternate():
    model, twin = fresh(), fresh()
    for turn, (X, labels, weights) in enumerate(blocks_of(Pandas, (50,))):
        rows = Pandas.rows(X)
        if turn % 2:
            model.learn_many(X, labels, weights)
        else:
            learn(model, rows, labels, weights)
        learn(twin, rows, labels, weights)
        if turn % 5 == 3:
            model = copy.deepcopy(pickle.loads(pickle.dumps(model)))
    assert_twins(model, twin)


EXTREME = st.sampled_from([-0.0, 5e-324, 1e-300, 1e300, -1e300, 1.7e308])
MISSING = st.none()
VALUES = {
    "length": st.floats(-10, 10) | EXTREME | MISSING,
    "width": st.integers(0, 3).map(float) | MISSING,
    "grade": st.integers(-3, 2**60) | MISSING,
    "alive": st.booleans() | MISSING,
    "color": st.sampled_from(["red", "tan", "blue"]) | MISSING,
    "shape": st.sampled_from(["round", "flat"]) | MISSING,
}


@st.composite
def blocks(draw):
    """Draw the columns, labels and weights of a few blocks; columns come and go."""
    result = []
    for labels in draw(st.lists(st.sampled_from(["x", "xy", "yxz"]), min_size=1, max_size=4)):
        n = draw(st.integers(0, 9))
        names = draw(st.lists(st.sampled_from(list(VALUES)), unique=True, min_size=1))

        def lists(values, n=n):
            return draw(st.lists(values, min_size=n, max_size=n))

        columns = {name: lists(VALUES[name]) for name in names}
        weights = lists(st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0, 0.0]))
        result.append((columns, lists(st.sampled_from(labels)), weights))
    return result


@settings(max_examples=100)
@given(
    library=st.sampled_from([*LIBRARIES.values()]),
    blocks=blocks(),
    parameters=PARAMETERS,
    predicts=st.booleans(),
)
def test_any_blocks_are_like_their_rows(library, blocks, parameters, predicts):
    model, twin = fresh(n_estimators=2, **parameters), fresh(n_estimators=2, **parameters)
    for columns, labels, weights in blocks:
        X = library.frame(columns)
        proba = learn(twin, library.rows(X), labels, weights)
        if predicts:
            frame = model.predict_proba_then_learn_many(X, labels, weights)
            assert_proba(library, frame, twin, proba)
        else:
            model.learn_many(X, labels, weights)
        assert_twins(model, twin)
    for columns, _, _ in blocks:
        assert_predicts(model, library.frame(columns), library)
    assert_twins(model, twin)


# Weights of zero


def test_rows_of_weight_zero_settle_nothing_for_later_rows():
    X = pd.DataFrame({"code": objects("red", 1.0, 2.0), "color": objects(1, "red", "tan")})
    model, twin = fresh(n_classes=2), fresh(n_classes=2)
    model.learn_many(X, ["none", "x", "y"], [0, 1, 1])
    learn(twin, Pandas.rows(X), ["none", "x", "y"], [0, 1, 1])
    assert_twins(model, twin)
    assert labels_of(model) == ["x", "y"]


# What a block leaves alone


@libraries
def test_input_is_never_changed(library):
    X, labels, weights = stream_of(library)
    X, y, w = library.part(X, 0, 50), library.series(labels[:50]), library.series(weights[:50])
    before = pickle.dumps((library.rows(X), library.labels(y), library.labels(w)))
    model = fresh()
    model.learn_many(X, y, w)
    model.predict_proba_then_learn_many(X, y, w)
    model.predict_many(X)
    assert pickle.dumps((library.rows(X), library.labels(y), library.labels(w))) == before


# Threads


@pytest.mark.parametrize(
    ("n_jobs", "parameters"),
    [
        *((n_jobs, {}) for n_jobs in (2, 3, 16, -1)),
        (3, {"max_nodes": 151}),
        (2, {"kind": AdaptiveAMFClassifier}),
    ],
    ids=str,
)
def test_the_number_of_threads_changes_no_result(n_jobs, parameters):
    parameters = {"n_estimators": 5} | parameters
    X, labels, weights = stream_of(Pandas)
    alone, model, reader = (fresh(n_jobs=n, **parameters) for n in (1, n_jobs, n_jobs))
    expected = alone.predict_proba_then_learn_many(X, labels, weights)
    model.learn_many(X, labels, weights)
    frame = reader.predict_proba_then_learn_many(X, labels, weights)
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)
    for other in (model, reader):
        pd.testing.assert_frame_equal(
            other.predict_proba_many(X), alone.predict_proba_many(X), check_exact=True
        )
        assert other.predict_many(X).tolist() == alone.predict_many(X).tolist()
        other.n_jobs = 1
        assert_twins(other, alone)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_several_threads_may_predict_at_once(n_jobs):
    model, X = trained(n_jobs=n_jobs), pd.DataFrame(COLUMNS)
    parts = [X.iloc[start : start + 250] for start in range(0, 1000, 250)] * 4
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(model.predict_proba_many, parts))
    for part, answer in zip(parts, answers, strict=True):
        pd.testing.assert_frame_equal(answer, model.predict_proba_many(part), check_exact=True)


# In a pipeline


def test_behind_a_scaler():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(5, 3, (200, 3)), columns=["one", "two", "three"])
    y = X["one"] > X["two"]
    pipeline = preprocessing.StandardScaler() | fresh()
    scaler, model = preprocessing.StandardScaler(), fresh()
    for start in range(0, 200, 50):
        part, labels = X.iloc[start : start + 50], y.iloc[start : start + 50]
        pipeline.learn_many(part, labels)
        scaler.learn_many(part)
        model.learn_many(scaler.transform_many(part), labels)
    scaled = scaler.transform_many(X)
    pd.testing.assert_frame_equal(pipeline.predict_proba_many(X), model.predict_proba_many(scaled))
    pd.testing.assert_series_equal(pipeline.predict_many(X), model.predict_many(scaled))
    assert (pipeline.predict_many(X) == y).mean() > 0.8
