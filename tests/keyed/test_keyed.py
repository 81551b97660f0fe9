"""Models for keys equal a dict of models, whichever of them are in memory."""

import copy
import datetime
import itertools
import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forests import FORESTS, learn, state_of
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_keyed import NaiveKeyed, states_of
from river import base, linear_model, naive_bayes, preprocessing, tree
from river.conf import Interval

from river_amf import AdaptiveAMFRegressor, AMFClassifier, OnlineDummyClassifier
from river_amf.forest import Forest
from river_amf.keyed import KeyedClassifier, KeyedRegressor

SCALER = preprocessing.StandardScaler()
MODELS = {
    **{kind.__name__: kind(n_estimators=2, seed=1) for kind in FORESTS},
    "words": AMFClassifier(n_estimators=2, seed=1, absent="zero"),
    "logistic": SCALER | linear_model.LogisticRegression(),
    "bayes": naive_bayes.GaussianNB(),
    "dummy": OnlineDummyClassifier(),
    "linear": SCALER | linear_model.LinearRegression(),
}
KEYS = ("ann", 7, ("shop", 2), "", datetime.date(2020, 1, 1))
LIBRARIES = {
    "pandas": lambda X: X,
    "polars": pl.from_pandas,
    "pyarrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
}


def keyed(name, **options):
    model = MODELS[name]
    kind = KeyedRegressor if isinstance(model, base.Regressor) else KeyedClassifier
    return kind(model, "user", **options), NaiveKeyed(model.clone)


def stream(n, name="AMFClassifier"):
    """Return a frame with keys, few of them with many rows, and labels or targets."""
    rng = np.random.default_rng(0)
    who = rng.choice(5, n, p=[0.5, 0.3, 0.1, 0.05, 0.05])
    columns = {"a": rng.normal(size=n), "user": [f"user {i}" for i in who]}
    X = pd.DataFrame(columns | {"b": rng.normal(size=n)}, index=np.arange(n) + 7)
    labels = X["a"] > (who - 1) / 2
    return X, X["a"] + labels if isinstance(MODELS[name], base.Regressor) else labels


def listed(answers, library):
    """Return a series as a list, a frame of probabilities as those of True, None without."""
    assert type(answers).__module__.split(".")[0] == library
    if isinstance(answers, pd.DataFrame | pl.DataFrame | pa.Table):
        answers = answers[True if library == "pandas" else "True"]
    values = answers.to_pylist() if library == "pyarrow" else answers.to_list()
    return [None if value != value else value for value in values]


@pytest.mark.parametrize(
    ("max_in_memory", "library"), [(None, "pandas"), (1, "polars"), (2, "pyarrow")]
)
@pytest.mark.parametrize("name", MODELS)
def test_keyed_equals_a_dict(name, max_in_memory, library):
    model, naive = keyed(name, max_in_memory=max_in_memory)
    X, y = stream(1500, name)
    w = pd.Series(np.arange(1500) % 4 / 2, X.index)
    proba = "predict_proba" if isinstance(model, base.Classifier) else "predict"
    for x, label, weight in zip(X[:100].to_dict("records"), y, w, strict=False):
        for method in (f"{proba}_one", "predict_one"):
            assert getattr(model, method)(x) == naive.answer(method, x)
        for learner in (model, naive):
            learner.learn_one(x, label, **({} if name == "bayes" else {"w": weight}))
    block = X[100:800], y[100:800], None if name == "bayes" else w[100:800]
    naive.learn_many(*block)
    model.learn_many(LIBRARIES[library](block[0]), *block[1:])

    def answer(x):
        """Return the answer of the dict, of which blocks have that for True."""
        expected = naive.answer(f"{proba}_one", x)
        is_proba = isinstance(expected, dict) and expected
        return expected.get(True, 0.0) if is_proba else expected or None

    rows, frame = X[800:].to_dict("records"), LIBRARIES[library](X[800:])
    answers = model.predict_many(frame)
    assert library != "pandas" or answers.index.equals(frame.index)
    expected = [naive.answer("predict_one", x) for x in rows]
    assert listed(answers, library) == pytest.approx(expected)
    answers = getattr(model, f"{proba}_many")(frame)
    assert listed(answers, library) == pytest.approx([*map(answer, rows)])
    expected = []
    for x, label in zip(rows, y[800:], strict=True):
        expected.append(answer(x))
        naive.learn_one(x, label)
    answers = getattr(model, f"{proba}_then_learn_many")(frame, y[800:])
    assert listed(answers, library) == pytest.approx(expected)
    if isinstance(MODELS[name], Forest):  # river's models keep the name of a column of labels
        assert states_of(model) == states_of(naive.models)


SAMPLES = st.lists(
    st.tuples(st.sampled_from(KEYS), st.integers(-3, 3), st.booleans()), min_size=1, max_size=5
)
CALLS = ("learn", "predict", "block", "delete", "remove_unused", "flush", "crash", "copy")


@pytest.mark.parametrize("name", ["AdaptiveAMFClassifier", "dummy", "words"])
@given(
    calls=st.lists(st.tuples(st.sampled_from(CALLS), SAMPLES), max_size=12),
    max_in_memory=st.sampled_from([1, 2, None]),
    has_folder=st.booleans(),
)
@settings(max_examples=40)
def test_keyed_equals_a_dict_after_any_calls(
    tmp_path_factory, name, calls, max_in_memory, has_folder
):
    folder = tmp_path_factory.mktemp("models") if has_folder else None
    options = {"max_in_memory": max_in_memory, "folder": folder}
    model, naive = keyed(name, **options)
    flushed = copy.deepcopy(naive)
    for call, samples in calls:
        labels = [label for *_, label in samples]
        rows = [{"value": float(value), "user": key} for key, value, _ in samples]
        if call == "learn":
            learn(model, zip(rows, labels, strict=True))
        elif call == "predict":
            for x, method in itertools.product(rows, ("predict_one", "predict_proba_one")):
                assert getattr(model, method)(x) == naive.answer(method, x)
        elif call == "block":
            model.learn_many(pd.DataFrame(rows).astype({"user": object}), labels)
        elif call == "delete" and rows[0]["user"] in model:
            del model[rows[0]["user"]], naive.models[rows[0]["user"]]
        elif call == "remove_unused":
            assert {*model.remove_unused(len(rows))} == naive.remove_unused(len(rows))
        elif call in ("flush", "copy"):
            model.flush()
            flushed = copy.deepcopy(naive)
        elif call == "crash" and has_folder:
            model.close()
            model, naive = keyed(name, **options)[0], copy.deepcopy(flushed)
        if call in ("learn", "block"):
            learn(naive, zip(rows, labels, strict=True))
        if call == "copy":
            data = pickle.dumps(model)
            model.close()
            model = pickle.loads(data)
    assert len(model) == len(naive.models)
    assert states_of(model) == states_of(naive.models)
    model.close()


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_moved_model_keeps_its_predictions(is_wrapped):
    forest = AdaptiveAMFRegressor(2, seed=1)
    forest = preprocessing.PredClipper(forest, 0.0, 1.0) if is_wrapped else forest
    model, naive = KeyedRegressor(forest, "user", max_in_memory=1), NaiveKeyed(forest.clone)
    rows = [{"user": ["ann", "bob", "eve"][i % 3], "a": i * 7 % 5} for i in range(40)]
    for x, later in zip(rows, rows[4:], strict=False):
        assert model.predict_one(later) == naive.answer("predict_one", later)
        for learner in (model, naive):
            learner.learn_one(x, x["a"] > 2)
    assert states_of(model) == states_of(naive.models)


def test_numbers_in_categories_are_text():
    X, y = pd.DataFrame({"user": "a", "size": pd.Categorical([1, 2, 1])}), [True, False, True]
    model, twin = KeyedClassifier(AMFClassifier(1, seed=1), "user"), AMFClassifier(1, seed=1)
    model.learn_many(X, y)
    twin.learn_many(X[["size"]], y)
    assert state_of(model["a"]) == state_of(twin)


def test_step_without_blocks_gets_rows():
    model = KeyedClassifier(SCALER | tree.HoeffdingTreeClassifier(), "user")
    naive, (X, y) = NaiveKeyed(model.model.clone), stream(500)
    model.learn_many(X, y)
    rows = X.to_dict("records")
    learn(naive, zip(rows, y, strict=True))
    assert [*model.predict_many(X)] == [naive.answer("predict_one", x) for x in rows]


def test_key_of_several_columns():
    model = KeyedClassifier(MODELS["AMFClassifier"], ["country", "shop"])
    naive = NaiveKeyed(MODELS["AMFClassifier"].clone)
    X, y = stream(60)
    X["user"] = [(("fr", "de")[i % 2], i % 5) for i in range(60)]
    naive.learn_many(X, y)
    table = X[["a"]].assign(shop=[float(shop) for _, shop in X["user"]], b=X["b"])
    table["country"] = [country for country, _ in X["user"]]
    model.learn_many(pl.from_pandas(table[:30]), y[:30])
    learn(model, zip(table[30:].to_dict("records"), y[30:], strict=True))
    assert ("de", 1) in model and states_of(model) == states_of(naive.models)


def test_model_may_copy_a_common_model():
    common = AMFClassifier(n_estimators=2, seed=1)
    X, y = stream(60)
    common.learn_many(X[["a", "b"]], y)
    model, x = KeyedClassifier(partial(copy.deepcopy, common), "user"), {"a": 0.3, "b": 0.1}
    twin = copy.deepcopy(common)
    model.learn_one({"user": "ann"} | x, True)
    twin.learn_one(x, True)
    assert state_of(model["ann"]) == state_of(twin)
    expected = common.predict_proba_one(x)
    assert pickle.loads(pickle.dumps(model)).predict_proba_one({"user": "new"} | x) == expected


def test_keyed_model_is_a_mapping():
    model = KeyedClassifier(MODELS["logistic"], "user", max_in_memory=1)
    assert bool(model) and len(model) == 0
    for key in ("ann", 7, "bob"):
        model.learn_one({"user": key, "a": 1.0}, True)
    assert len(model) == 3 and {*model} == {*dict(model.items())} == {"ann", 7, "bob"}
    assert 7.0 in model and "eve" not in model and None not in model and [] not in model
    del model["ann"]
    assert "ann" not in model and len(model) == 2
    for call in (model.__getitem__, model.__delitem__):
        with pytest.raises(KeyError):
            call("ann")


def test_keywords_go_to_the_model():
    model = KeyedRegressor(MODELS["AMFRegressor"], "user")
    assert isinstance(model.predict_one({"user": "ann"}, with_interval=True), Interval)


def test_novelty_is_that_of_the_key():
    model = KeyedRegressor(MODELS["AMFRegressor"], "user")
    for a in (1.0, 2.0, 3.0):
        model.learn_one({"user": "ann", "a": a}, a)
    novelty = [model.novelty_one({"user": user, "a": 2.0}) for user in ("ann", "bob")]
    assert novelty == [model["ann"].novelty_one({"a": 2.0}), 1.0] and novelty[0] < 1


def test_key_that_learns_meanwhile_is_kept():
    model = KeyedClassifier(MODELS["logistic"], "user", max_in_memory=1)
    for user in "abccc":
        model.learn_one({"user": user}, True)
    removed = []
    steps = model._store.removing_unused(3, removed)
    model._store.call("advance", steps, 0)
    model.learn_one({"user": "b"}, True)
    assert not model._store.call("advance", steps, 1)
    assert removed == ['"a"'] and {*model} == {*"bc"}
    with pytest.raises(ValueError, match="n_samples must be an integer >= 1"):
        model.remove_unused(0)


def test_rows_before_a_bad_one_count_as_learned():
    model = KeyedClassifier(MODELS["logistic"], "user")
    X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, "red", 1.0]})
    with pytest.raises(TypeError):
        model.learn_many(X, [True, True, False])
    model.learn_one({"user": "eve", "price": 1.0}, True)
    assert model.remove_unused(1) == ["ann"]
