"""PartitionedForest: the same over actors as in one process, errors, deaths, and river."""

import os
import pickle
import signal

import numpy as np
import pandas as pd
import pytest
import ray
from partitioned import Together
from partitioned_streams import (
    CLASSIFIERS,
    REGRESSORS,
    WORDS,
    blocks_of,
    labelled,
    numbered,
)
from river import base, metrics

from river_amf import AMFClassifier, AMFRegressor, evaluation
from river_amf.ray import PartitionedForest

pytestmark = pytest.mark.slow  # every forest starts processes
MODELS = {**CLASSIFIERS, **REGRESSORS, **WORDS}


def stream_of(name, n_rows=300):
    return numbered(n_rows) if name in REGRESSORS else labelled(n_rows)


@pytest.fixture
def forest():
    with PartitionedForest(AMFClassifier(n_estimators=3, seed=1), n_workers=2) as forest:
        yield forest


@pytest.mark.parametrize("name", MODELS)
def test_over_actors_it_is_the_same_as_in_one_process(name):
    X, y, w = stream_of(name)
    together = Together(MODELS[name], 2)
    with PartitionedForest(MODELS[name], n_workers=2) as forest:
        for block in blocks_of(X[:200], y[:200], w[:200], 60):
            forest.learn_many(*block)
            together.learn(*block)
        rest = X[200:], y[200:], w[200:]
        if name in REGRESSORS:
            said = forest.predict_then_learn_many(*rest).to_numpy()
            wanted = together.predict_then_learn(*rest)
        else:
            frame = forest.predict_proba_then_learn_many(*rest)
            wanted = together.predict_proba_then_learn(*rest)
            assert [*frame.columns] == [*wanted.columns]
            said, wanted = frame.to_numpy(), wanted.to_numpy()
        models = forest.models()
    np.testing.assert_array_equal(said, wanted)
    assert [*map(pickle.dumps, models)] == [*map(pickle.dumps, together.models)]


def test_single_rows_and_blocks_say_the_same():
    X, y, w = labelled(100)
    model = CLASSIFIERS["adaptive"]
    rows = [{k: v for k, v in row.items() if pd.notna(v)} for _, row in X.iterrows()]
    with PartitionedForest(model, 2) as one, PartitionedForest(model, 2) as many:
        for x, label, weight in zip(rows[:20], y, w, strict=False):
            one.learn_one(x, label, weight)
        many.learn_many(X[:20], y[:20], w[:20])
        assert [*map(pickle.dumps, one.models())] == [*map(pickle.dumps, many.models())]
        proba = many.predict_proba_many(X[:5])
        assert [one.predict_proba_one(x) for x in rows[:5]] == proba.to_dict("records")
        assert [one.predict_one(x) for x in rows[:5]] == many.predict_many(X[:5]).tolist()


def test_before_the_first_sample_it_says_what_a_forest_says(forest):
    X = pd.DataFrame({"a": [1.0, 2.0]})
    assert forest.predict_proba_many(X).shape == (2, 0)
    assert forest.predict_many(X).tolist() == [None, None]
    assert (forest.predict_proba_one({"a": 1.0}), forest.predict_one({"a": 1.0})) == ({}, None)
    proba = forest.predict_proba_then_learn_many(X, ["p", "q"])
    assert proba.isna().all(axis=1).tolist() == [True, False]
    with PartitionedForest(AMFRegressor(seed=1), n_workers=2) as numbers:
        assert numbers.predict_many(X).tolist() == [0.0, 0.0]
        assert numbers.predict_one({"a": 1.0}) == 0.0
        assert numbers.predict_then_learn_many(X, [5.0, 6.0]).tolist() == [0.0, 5.0]


BAD = [
    ({"a": [1.0, np.inf]}, ["p", "q"], "row 1: feature 'a'"),
    ({"a": [1.0, "x"]}, ["p", "q"], "row 1: feature 'a' has held numbers so far"),
    ({"a": [1.0, 2.0]}, ["p", None], "row 1: label None is missing"),
]


def test_bad_input_changes_no_worker(forest):
    forest.learn_many(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), ["p", "q", "p"])
    before = [*map(pickle.dumps, forest.models())]
    for columns, y, message in BAD:
        X, of_one = pd.DataFrame(columns), message.removeprefix("row 1: ")
        for call in (forest.learn_many, forest.predict_proba_then_learn_many):
            with pytest.raises((TypeError, ValueError), match=f"^{message}"):
                call(X, y)
        with pytest.raises((TypeError, ValueError), match=f"^{of_one}"):
            forest.learn_one({"a": columns["a"][1]}, y[1])
    assert [*map(pickle.dumps, forest.models())] == before
    forest.learn_many(X[:1], y[:1])


def test_bad_input_to_predict_raises_at_once(forest):
    X = pd.DataFrame({"a": [1.0, np.inf]})
    for _ in range(2):  # before and after the first sample
        with pytest.raises(ValueError, match="row 1: feature 'a': the value inf"):
            forest.predict_many(X)
        with pytest.raises(ValueError, match=r"^feature 'a': the value inf"):
            forest.predict_proba_one({"a": np.inf})
        forest.learn_many(X[:1], ["p"])


def test_a_word_that_is_to_be_a_category_is_refused_and_stays_a_word():
    with PartitionedForest(WORDS["words"], n_workers=2, max_waiting=0) as forest:
        forest.learn_many(pd.DataFrame({"win": [1, 1, 2, 1]}), ["spam"] * 4)
        X = pd.DataFrame({"win": [None, None, None, "prize"]}, dtype=object)
        with pytest.raises(ValueError, match=r"^row 3: feature 'win' has held numbers so far"):
            forest.learn_many(X, ["new"] * 4)
        assert forest.predict_proba_one({"win": 1}) == {"spam": 1.0}
        forest.learn_many(pd.DataFrame({"win": [1, 1]}), ["spam"] * 2)  # it is a number still
        forest.learn_many(pd.DataFrame({"who": ["ann", "bob"]}), ["new"] * 2)  # nobody knows it
        assert set(forest.predict_proba_one({"win": 1})) == {"spam", "new"}


@pytest.mark.parametrize("checkpoint_every", [30, 100_000])
def test_a_worker_that_dies_is_started_anew_as_it_was(checkpoint_every):
    X, y, w = labelled(300)
    model = CLASSIFIERS["adaptive"]
    together = Together(model, 2)
    with PartitionedForest(model, n_workers=2, checkpoint_every=checkpoint_every) as forest:
        for k, block in enumerate(blocks_of(X, y, w, 50)):
            forest.learn_many(*block)
            together.learn(*block)
            if k in (1, 4):
                os.kill(forest._team.workers[k % 2].process(), signal.SIGKILL)
        assert [*map(pickle.dumps, forest.models())] == [*map(pickle.dumps, together.models)]


def test_it_is_a_river_model(forest):
    assert isinstance(forest, PartitionedForest)
    assert isinstance(forest, base.MiniBatchClassifier)
    twin = forest.clone({"max_waiting": 5})
    assert (twin.max_waiting, twin.n_workers, twin.model.seed) == (5, 2, 1)
    twin.close()
    with PartitionedForest(AMFRegressor()) as numbers:  # whose workers start when needed
        assert isinstance(numbers, base.MiniBatchRegressor)
    metric = metrics.Accuracy()
    stream = [({"a": i % 7}, i % 7 < 3) for i in range(100)]
    evaluation.progressive_val_score(stream, forest, metric)
    assert metric.get() > 0.7


def test_what_is_no_forest_or_no_number_is_refused():
    with pytest.raises(TypeError, match="model must be a forest, got str"):
        PartitionedForest("forest")
    for name, value in {"n_workers": 0, "max_waiting": -1, "checkpoint_every": 0}.items():
        with pytest.raises(ValueError, match=name):
            PartitionedForest(AMFClassifier(), **{name: value})


def test_a_closed_one_says_so_and_leaves_no_actor(forest):
    forest.learn_one({"a": 1}, "p")
    worker = forest._team.workers[0]
    forest.close()
    forest.close()
    with pytest.raises(RuntimeError, match="this PartitionedForest has been closed"):
        forest.predict_one({"a": 1})
    with pytest.raises(ray.exceptions.RayActorError):
        worker.process()
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        pickle.dumps(forest)
