"""Forests that share a stream: who learns which row, and the mean of what they predict."""

import pickle

import numpy as np
import pandas as pd
import pytest
from partitioned import Together
from partitioned_streams import (
    CLASSIFIERS,
    REGRESSORS,
    WORDS,
    blocks_of,
    labelled,
    numbered,
)
from scipy.sparse import csr_array

from river_amf import AMFClassifier, AMFRegressor, frames, sparse_rows
from river_amf.partitions import NOBODY, Dealer, new_partitions, taken_rows

MODELS = {**CLASSIFIERS, **REGRESSORS, **WORDS}


def stream_of(name, n_rows=300):
    return numbered(n_rows) if name in REGRESSORS else labelled(n_rows)


def alone(model, X, y, w, k, n):
    """Return what the forest of partition k learns, with river_amf's public methods."""
    (clone, _) = new_partitions(model, n)[k]
    is_learnt = w > 0
    own = is_learnt & ((np.cumsum(is_learnt) - 1) % n == k)
    clone.learn_many(X[own], y[own], w[own])
    return clone


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("size", [7, 100, 300])
def test_each_forest_is_the_one_that_learns_its_rows_alone(name, size):
    X, y, w = stream_of(name)
    learnt, asked = Together(MODELS[name], 3), Together(MODELS[name], 3)
    for block in blocks_of(X, y, w, size):
        learnt.learn(*block)
        ask = asked.predict_then_learn if name in REGRESSORS else asked.predict_proba_then_learn
        ask(*block)
    for k, (one, other) in enumerate(zip(learnt.models, asked.models, strict=True)):
        wanted = pickle.dumps(alone(MODELS[name], X, y, w, k, 3))
        assert pickle.dumps(one) == wanted
        assert pickle.dumps(other) == wanted


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_are_the_mean_over_forests_that_know_labels(name):
    X, y, w = labelled(60)
    together = Together(CLASSIFIERS[name], 3)
    frame = together.predict_proba_then_learn(X, y, w)
    proba, labels = frame.to_numpy(), [*frame.columns]
    forests = [model for model, _ in new_partitions(CLASSIFIERS[name], 3)]
    turn, known = 0, {}
    for row in range(60):
        x = {k: v for k, v in X.iloc[row].items() if pd.notna(v)}
        said = [f.predict_proba_one(x) for f in forests]
        said = [p for p in said if p]
        wanted = [sum(p.get(label, 0.0) for p in said) / max(len(said), 1) for label in labels]
        if said:
            assert proba[row] == pytest.approx(wanted, abs=1e-12)
        else:
            assert np.isnan(proba[row]).all()
        if w[row] > 0:
            forests[turn % 3].learn_one(x, y[row], w[row])
            known.setdefault(y[row])
            turn += 1
    assert labels == list(known)


@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_are_the_mean_over_forests_that_have_learnt(name):
    X, y, w = numbered(60)
    predicted = Together(REGRESSORS[name], 3).predict_then_learn(X, y, w)
    forests = [model for model, _ in new_partitions(REGRESSORS[name], 3)]
    turn = 0
    for row in range(60):
        x = {k: v for k, v in X.iloc[row].items() if pd.notna(v)}
        said = [f.predict_one(x) for f in forests[: min(turn, 3)]]
        assert predicted[row] == pytest.approx(sum(said) / max(len(said), 1), rel=1e-12)
        if w[row] > 0:
            forests[turn % 3].learn_one(x, y[row], w[row])
            turn += 1


def read(model, X, y, w=None):
    frame = frames.read_frame(X)
    weights = frames.read_weights(w, len(X))
    return frames.read_columns(frame), model._read_labels(y, len(X)), weights


def test_rows_are_dealt_by_their_number_and_rows_of_weight_0_to_nobody():
    model = AMFClassifier(seed=1)
    dealer = Dealer(model, 3)
    X = pd.DataFrame({"a": range(5)})
    first = dealer.deal(*read(model, X, list("aabab"), [1, 1, 0, 1, 1]))
    assert first.block.turns.tolist() == [0, 1, NOBODY, 2, 0]
    assert (first.n_known.tolist(), first.labels) == ([0, 1, 1, 1, 1], ["a", "b"])
    second = dealer.deal(*read(model, X, list("caaaa")))
    assert second.block.turns.tolist() == [1, 2, 0, 1, 2]
    assert (second.n_known.tolist(), second.labels) == ([2, 3, 3, 3, 3], ["a", "b", "c"])


BAD = {
    "kind": ({"a": [1.0, 2.0], "c": ["x", 5.0]}, ["p", "q"], None, "row 1: feature 'c'"),
    "infinite": ({"a": [1.0, np.inf]}, ["p", "q"], None, "row 1: feature 'a'"),
    "label": ({"a": [1.0, 2.0]}, ["p", None], None, "row 1: label None is missing"),
    "classes": ({"a": [1.0, 2.0]}, ["p", "z"], None, "row 1: label 'z' would be class number 4"),
    "length": ({"a": [1.0, 2.0]}, ["p"], None, "X has 2 rows, but y has 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_block_is_refused_before_anybody_sees_it(name):
    columns, y, w, message = BAD[name]
    model = AMFClassifier(n_classes=3, seed=1)
    dealer = Dealer(model, 2)
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": ["x", "y", "x"]})
    dealer.deal(*read(model, X, ["p", "q", "r"]))
    before = pickle.dumps({k: v for k, v in vars(dealer).items() if k != "_model"})
    with pytest.raises((TypeError, ValueError), match=message):
        dealer.deal(*read(model, pd.DataFrame(columns), y, w))
    assert pickle.dumps({k: v for k, v in vars(dealer).items() if k != "_model"}) == before


def test_a_bad_target_is_refused():
    model = AMFRegressor(seed=1)
    dealer = Dealer(model, 2)
    X = pd.DataFrame({"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match="row 1: y must be a finite number"):
        dealer.deal(*read(model, X, [1.0, np.nan]))
    with pytest.raises(ValueError, match=r"row 1: with w=1e\+300, the weights of all samples"):
        dealer.deal(*read(model, X, [1.0, 2.0], [1.0, 1e300]))
    assert dealer.n_learnt == 0


ROWS = np.array([3, 4, 11, 30, 39])


def test_rows_taken_of_a_matrix_are_those_of_the_rows():
    X = csr_array(np.random.default_rng(1).poisson(0.7, (40, 6)).astype(float))
    taken, wanted = taken_rows(sparse_rows.read_rows(X), ROWS), sparse_rows.read_rows(X[ROWS])
    assert [*taken.samples()] == [*wanted.samples()]


def values_of(column):
    is_coded = column.numbers is None
    return [None if is_coded and column.codes[row] < 0 else column.at(row) for row in range(5)]


def test_rows_taken_of_a_dataframe_are_those_of_the_rows():
    X = labelled(40)[0].assign(mixed=[1, "one", 2.5, None, True] * 8)
    table = frames.read_columns(frames.read_frame(X))
    wanted = frames.read_columns(frames.read_frame(X.iloc[ROWS]))
    for one, other in zip(taken_rows(table, ROWS), wanted, strict=True):
        assert repr(values_of(one)) == repr(values_of(other))


def test_seeds_follow_from_that_of_the_model_and_differ():
    def seeds(seed, n):
        return [model.seed for model, _ in new_partitions(AMFClassifier(seed=seed), n)]

    assert seeds(1, 4)[:2] == seeds(1, 2)
    assert len({*seeds(1, 4), *seeds(2, 4)}) == 8
    assert len({*seeds(None, 4), *seeds(None, 4)}) == 8
