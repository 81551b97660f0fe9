"""Blocks of a regression: learned and predicted bit for bit like one sample at a time."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from forests import pickled
from generated import PARAMETERS_OF_NUMBERS, TARGETS
from hypothesis import given, settings
from hypothesis import strategies as st
from regressors import NUMBERS, REGRESSORS, answers, ends, fresh, kinds, learn, regressors, trained

X = pd.DataFrame([x for x, _, _ in NUMBERS])
Y = [y for _, y, _ in NUMBERS]
W = [0.0 if i % 50 == 3 else w for i, (_, _, w) in enumerate(NUMBERS)]
SAMPLES = [(x, y, w) for (x, y, _), w in zip(NUMBERS, W, strict=True)]


def cuts(sizes):
    """Yield slices of the stream of these lengths in turn."""
    start, turn = 0, 0
    while start < len(SAMPLES):
        yield slice(start, min(start + sizes[turn % len(sizes)], len(SAMPLES)))
        start += sizes[turn % len(sizes)]
        turn += 1


def one_by_one(model, samples=SAMPLES, level=None):
    """Let a model predict and learn samples; return the predictions, with intervals if asked."""
    found = []
    for x, y, w in samples:
        interval = ends(model.predict_interval_one(x, level)) if level else ()
        found.append((model.predict_one(x), *interval))
        model.learn_one(x, y, w)
    return found


def assert_twins(model, twin):
    """Check that two models are the same, to the bit."""
    assert pickled(model) == pickled(twin)
    assert answers(model) == answers(twin)


# Blocks ------------------------------------------------------------------------------------------


@regressors
def test_a_block_is_learned_and_predicted_like_its_rows(parameters):
    model, reader, twin = (fresh(**parameters) for _ in range(3))
    assert model.learn_many(X, pd.Series(Y), pd.Series(W)) is None
    predictions = reader.predict_then_learn_many(X, pd.Series(Y), pd.Series(W))
    expected = one_by_one(twin)
    assert predictions.tolist() == [prediction for (prediction,) in expected]
    assert predictions.dtype == np.float64 and predictions.index.equals(X.index)
    assert predictions.name is None
    assert_twins(model, twin)
    assert_twins(reader, twin)
    assert model.predict_many(X).tolist() == [twin.predict_one(x) for x, _, _ in SAMPLES]
    intervals = model.predict_interval_many(X, level=0.8)
    assert list(intervals.columns) == ["lower", "upper"] and intervals.index.equals(X.index)
    assert [tuple(row) for row in intervals.to_numpy().tolist()] == [
        ends(twin.predict_interval_one(x, 0.8)) for x, _, _ in SAMPLES
    ]


@regressors
def test_evaluation_takes_predictions_and_intervals_of_a_block(parameters):
    model, twin = fresh(**parameters), fresh(**parameters)
    found = []
    for cut in cuts((40, 1, 7)):
        block = model._test_then_train(X[cut], Y[cut], W[cut], level=0.9)
        intervals = block.intervals().tolist()
        found += [(p, *ends) for p, ends in zip(block.prediction, intervals, strict=True)]
    assert found == one_by_one(twin, level=0.9)
    assert_twins(model, twin)
    assert model._test_then_train(X[:3], Y[:3], W[:3])[1:] == (None, None)


@kinds
@pytest.mark.parametrize("sizes", [(1,), (13,), (1000,), (2, 64, 1, 300)], ids=str)
def test_the_cuts_of_a_stream_do_not_matter(kind, sizes):
    model, twin = fresh(kind=kind), trained(SAMPLES, kind=kind)
    for turn, cut in enumerate(cuts(sizes)):
        if turn % 3 == 1:
            learn(model, SAMPLES[cut])
        elif turn % 3 == 2:
            model.predict_then_learn_many(X[cut], Y[cut], W[cut])
        else:
            model.learn_many(X[cut], Y[cut], W[cut])
    assert_twins(model, twin)


@pytest.mark.parametrize("n_jobs", [2, 3, 16, -1])
@pytest.mark.parametrize("variant", ["default", "fading", "adaptive"])
def test_the_number_of_threads_changes_no_result(n_jobs, variant):
    parameters = {"n_estimators": 5} | REGRESSORS[variant]
    alone, model = fresh(**parameters), fresh(**parameters, n_jobs=n_jobs)
    for cut in cuts((400, 100)):
        expected = alone.predict_then_learn_many(X[cut], Y[cut], W[cut])
        pd.testing.assert_series_equal(
            model.predict_then_learn_many(X[cut], Y[cut], W[cut]), expected, check_exact=True
        )
    for call in (lambda m: m.predict_many(X), lambda m: m.predict_interval_many(X)):
        assert call(model).to_numpy().tolist() == call(alone).to_numpy().tolist()
    model.n_jobs = 1
    assert_twins(model, alone)


VALUES = {
    "length": st.floats(-10, 10) | st.sampled_from([-0.0, 1e-300, -1e300]) | st.none(),
    "width": st.integers(0, 3).map(float) | st.none(),
    "color": st.sampled_from(["red", "tan", "blue"]) | st.none(),
}


@st.composite
def blocks(draw):
    """Draw the columns, targets and weights of a few blocks; columns come and go."""
    make = TARGETS[draw(st.sampled_from([*TARGETS]))]
    found = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0, 9))
        names = draw(st.lists(st.sampled_from(list(VALUES)), unique=True, min_size=1))
        size = {"min_size": n, "max_size": n}
        columns = {name: draw(st.lists(VALUES[name], **size)) for name in names}
        values = draw(st.lists(st.floats(-10, 10), **size))
        weights = draw(st.lists(st.sampled_from([1.0, 1.0, 0.5, 2.0, 0.0]), **size))
        found.append((pd.DataFrame(columns), make(values) if values else [], weights))
    return found


@settings(max_examples=100)
@given(blocks(), PARAMETERS_OF_NUMBERS, st.booleans(), st.sampled_from([1, 3]))
def test_any_blocks_are_like_their_rows(blocks, parameters, predicts, n_jobs):
    model, twin = (fresh(n_estimators=2, n_jobs=n_jobs, **parameters) for _ in range(2))
    for frame, targets, weights in blocks:
        rows = [
            {name: value for name, value in row.items() if value is not None}
            for row in frame.astype(object).where(frame.notna(), None).to_dict("records")
        ]
        expected = one_by_one(twin, zip(rows, targets, weights, strict=True))
        if predicts:
            found = model.predict_then_learn_many(frame, targets, weights)
            assert found.tolist() == [prediction for (prediction,) in expected]
        else:
            model.learn_many(frame, targets, weights)
        assert pickled(model) == pickled(twin)


# Targets of blocks -------------------------------------------------------------------------------


# Copies ------------------------------------------------------------------------------------------

COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.mark.parametrize(
    ("parameters", "make_copy"),
    [
        *((parameters, COPIES["pickle"]) for parameters in REGRESSORS.values()),
        *((REGRESSORS["adaptive"], make_copy) for make_copy in COPIES.values()),
    ],
)
def test_copies_have_equal_futures_and_leave_each_other_alone(parameters, make_copy):
    for cut in (1, 300):
        model = trained(SAMPLES[:cut], **parameters)
        before = pickle.dumps(model)
        twin = make_copy(model)
        assert pickle.dumps(twin) == before
        learn(make_copy(model), SAMPLES[cut:])
        assert pickle.dumps(model) == before
        assert answers(twin) == answers(model)
        assert one_by_one(model, SAMPLES[cut:]) == one_by_one(twin, SAMPLES[cut:])
        assert_twins(model, twin)
