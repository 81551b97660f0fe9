"""Models for keys equal a dict of models, whichever of them are in memory."""

import copy
import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import recipes
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_keyed import NaiveKeyed
from river import linear_model, naive_bayes, preprocessing

from river_amf import AMFClassifier, AMFRegressor, OnlineDummyClassifier
from river_amf.keyed import KeyedClassifier, KeyedRegressor

LOGISTIC = preprocessing.StandardScaler() | linear_model.LogisticRegression()
CLASSIFIERS = {
    "forest": AMFClassifier(n_estimators=2, seed=1),
    "logistic": LOGISTIC,
    "bayes": naive_bayes.GaussianNB(),
    "dummy": OnlineDummyClassifier(),
    "words": AMFClassifier(n_estimators=2, seed=1, absent="zero"),
}
REGRESSORS = {
    "forest": AMFRegressor(n_estimators=2, seed=1),
    "linear": preprocessing.StandardScaler() | linear_model.LinearRegression(),
}
KEYS = ("ann", 7, ("shop", 2), "", datetime.date(2020, 1, 1))


def stream(n, *, n_keys=3, seed=0):
    """Return samples with keys, and their labels."""
    rng = np.random.default_rng(seed)
    samples = []
    for _ in range(n):
        who = int(rng.integers(n_keys))
        x = {"a": float(rng.normal()), "user": f"user {who}", "b": float(rng.normal())}
        samples.append((x, bool(x["a"] > (who - 1) / 2)))
    return samples


def frame_of(samples):
    """Return samples as a frame and labels."""
    X, y = zip(*samples, strict=True)
    return pd.DataFrame(X), [*y]


def features_of(frame):
    """Return the rows of a frame of numbers and keys as samples."""
    return frame.to_dict("records")


SAMPLE = st.tuples(st.sampled_from(KEYS), st.integers(-3, 3), st.booleans())
ONE = st.tuples(st.sampled_from(["learn", "predict"]), SAMPLE)
MANY = st.tuples(st.sampled_from(["block", "test then train"]), st.lists(SAMPLE, max_size=6))
OTHER = st.tuples(st.sampled_from(["flush", "crash", "copy", "no room"]), st.none())


class Pair:
    """A model for each key and a dict of models, which do the same."""

    def __init__(self, factory, folder, max_in_memory):
        self.parameters = {"max_in_memory": max_in_memory, "folder": folder}
        self.factory = factory
        self.naive = NaiveKeyed(factory.clone, "user")
        self.flushed = {}
        self.start()

    def start(self):
        self.model = KeyedClassifier(self.factory, "user", **self.parameters)

    def do(self, name, what):
        if name in ("learn", "predict"):
            what = [what]
        rows = [{"value": float(value), "user": key} for key, value, _ in what or []]
        labels = [label for *_, label in what or []]
        frame = pd.DataFrame({"value": [row["value"] for row in rows]}, dtype=float)
        frame["user"] = pd.Series([row["user"] for row in rows], dtype=object)
        getattr(self, name.replace(" ", "_"))(rows, frame, labels)

    def learn(self, rows, _frame, labels):
        self.model.learn_one(rows[0], labels[0])
        self.naive.learn_one(rows[0], labels[0])

    def predict(self, rows, _frame, _labels):
        for method in ("predict_one", "predict_proba_one"):
            found = getattr(self.model, method)(rows[0])
            assert found == self.naive.answer(method, rows[0])

    def block(self, rows, frame, labels):
        self.model.learn_many(frame, labels)
        self.naive.learn_many(rows, labels)

    def test_then_train(self, rows, frame, labels):
        proba = self.model.predict_proba_then_learn_many(frame, labels)
        assert len(proba) == len(rows)
        for (_, found), x, y in zip(proba.iterrows(), rows, labels, strict=True):
            expected = self.naive.answer("predict_proba_one", x)
            assert found.isna().all() if not expected else found.sum() == pytest.approx(1)
            assert {label: found[label] for label in expected} == expected
            self.naive.learn_one(x, y)

    def flush(self, *_):
        self.model.flush()
        self.flushed = copy.deepcopy(self.naive.models)

    def crash(self, *_):
        if self.parameters["folder"] is not None:
            self.model.close()
            self.start()
            self.naive.models = copy.deepcopy(self.flushed)

    def copy(self, *_):
        self.flush()
        data = pickle.dumps(self.model)
        self.model.close()
        self.model = pickle.loads(data)

    def no_room(self, *_):
        self.model.max_in_memory = 1

    def check(self):
        assert {*self.model} == {*self.naive.models}
        assert len(self.model) == len(self.naive.models)
        for key, expected in self.naive.models.items():
            assert pickle.dumps(self.model[key]) == pickle.dumps(expected)
        self.model.close()


@pytest.mark.parametrize("kind", ["forest", "dummy", "words"])
@given(
    operations=st.lists(st.one_of(ONE, MANY, OTHER), max_size=12),
    max_in_memory=st.sampled_from([1, 2, None]),
    has_folder=st.booleans(),
)
@settings(max_examples=40)
def test_keyed_equals_a_dict_after_any_calls(
    tmp_path_factory, kind, operations, max_in_memory, has_folder
):
    folder = tmp_path_factory.mktemp("models") if has_folder else None
    pair = Pair(CLASSIFIERS[kind], folder, max_in_memory)
    for name, what in operations:
        pair.do(name, what)
    pair.check()


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("max_in_memory", [None, 1])
def test_classifier_samples_equal_a_dict(kind, max_in_memory):
    model = KeyedClassifier(CLASSIFIERS[kind], "user", max_in_memory=max_in_memory)
    naive = NaiveKeyed(CLASSIFIERS[kind].clone, "user")
    for x, y in stream(150):
        before = dict(x)
        assert model.predict_proba_one(x) == naive.answer("predict_proba_one", x)
        assert model.predict_one(x) == naive.answer("predict_one", x)
        model.learn_one(x, y)
        assert x == before
        naive.learn_one(x, y)


@pytest.mark.parametrize("max_in_memory", [None, 1])
@pytest.mark.parametrize("kind", ["forest", "logistic", "bayes"])
def test_learn_many_passes_blocks(kind, max_in_memory):
    model = KeyedClassifier(CLASSIFIERS[kind], "user", max_in_memory=max_in_memory)
    naive = NaiveKeyed(CLASSIFIERS[kind].clone, "user")
    X, y = frame_of(stream(1600, n_keys=5))
    y = pd.Series(y)
    for rows in (slice(0, 500), slice(500, 1600)):  # one by one, and most as blocks
        model.learn_many(X[rows], y[rows])
        naive.learn_blocks(X[rows], y[rows])
    assert model.predict_many(X).tolist() == naive.predict_blocks("predict_many", X)
    proba = model.predict_proba_many(X)
    expected = [naive.answer("predict_proba_one", x)[True] for x in features_of(X)]
    assert proba[True].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("max_in_memory", [None, 1])
@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressor_equals_a_dict(kind, max_in_memory):
    model, blocks = (
        KeyedRegressor(REGRESSORS[kind], "user", max_in_memory=max_in_memory) for _ in range(2)
    )
    naive, naive_blocks = (NaiveKeyed(REGRESSORS[kind].clone, "user") for _ in range(2))
    X, y = frame_of(stream(1200, n_keys=5))
    y = X["a"] + y
    expected = []
    for x, target in zip(features_of(X), y, strict=True):
        expected.append(naive.answer("predict_one", x))
        assert model.predict_one(x) == expected[-1]
        model.learn_one(x, target)
        naive.learn_one(x, target)
    blocks.learn_many(X, y)
    naive_blocks.learn_blocks(X, y)
    assert blocks.predict_many(X).tolist() == naive_blocks.predict_blocks("predict_many", X)
    twin = model.clone()
    assert twin.predict_then_learn_many(X, y).tolist() == expected


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_frames_of_all_libraries_are_alike(library, kind):
    samples = stream(700)
    X, y = frame_of(samples)
    frame = {
        "pandas": lambda: X.set_index(np.arange(700) + 7),
        "polars": lambda: pl.from_pandas(X),
        "pyarrow": lambda: pa.Table.from_pandas(X),
    }[library]()
    model = KeyedClassifier(CLASSIFIERS[kind], "user", max_in_memory=2)
    twin = KeyedClassifier(CLASSIFIERS[kind], "user")
    model.learn_many(frame, y)
    twin.learn_many(X, y)
    assert [*model] and {*model} == {*twin}
    expected = twin.predict_many(X).tolist()
    found = model.predict_many(frame)
    assert type(found).__module__.split(".")[0] == library
    assert (found.to_pylist() if library == "pyarrow" else found.to_list()) == expected
    proba = model.predict_proba_many(frame)
    assert type(proba) is type(frame)
    values = (proba.to_pandas() if library == "pyarrow" else proba).to_numpy()
    assert np.array_equal(values, twin.predict_proba_many(X).to_numpy())
    if library == "pandas":
        assert found.index.equals(frame.index) and proba.index.equals(frame.index)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_test_then_train_of_long_blocks(kind):
    X, y = frame_of(stream(700))
    model = KeyedClassifier(CLASSIFIERS[kind], "user")
    naive = NaiveKeyed(CLASSIFIERS[kind].clone, "user")
    proba = model.predict_proba_then_learn_many(X, y)
    for row, (x, label) in enumerate(zip(features_of(X), y, strict=True)):
        expected = naive.answer("predict_proba_one", x)
        assert {label: proba.loc[row, label] for label in expected} == expected
        assert expected or proba.loc[row].isna().all()
        naive.learn_one(x, label)


def test_weights_go_with_their_rows():
    X, y = frame_of(stream(700))
    w = np.arange(700) % 4
    for kind in ("forest", "logistic", "dummy"):
        model = KeyedClassifier(CLASSIFIERS[kind], "user")
        model.learn_many(X, y, w)
        ones = KeyedClassifier(CLASSIFIERS[kind], "user")
        ones.learn_many(X, y)
        x = {"user": "user 1", "a": 0.3, "b": 0.3}
        assert model.predict_proba_one(x) != ones.predict_proba_one(x)
    naive = NaiveKeyed(CLASSIFIERS["forest"].clone, "user")
    naive.learn_many(features_of(X), y, w.tolist())
    model = KeyedClassifier(CLASSIFIERS["forest"], "user")
    for x, label, weight in zip(features_of(X), y, w.tolist(), strict=True):
        model.learn_one(x, label, w=weight)
    for key, expected in naive.models.items():
        assert pickle.dumps(model[key]) == pickle.dumps(expected)


def test_factory_may_be_a_function():
    made = []

    def factory():
        made.append(AMFClassifier(n_estimators=2, seed=1))
        return made[-1]

    model = KeyedClassifier(factory, "user")
    assert len(made) == 1  # to check the factory
    X = pd.DataFrame({"user": ["ann", "bo", "ann"], "a": [1.0, 2.0, 3.0]})
    model.learn_many(X, [True, False, True])
    assert [model["ann"], model["bo"]] == made[1:]


def test_key_of_several_columns():
    keyed = KeyedClassifier(CLASSIFIERS["forest"], ["country", "shop"])
    naive = NaiveKeyed(CLASSIFIERS["forest"].clone, "user")
    X, y = frame_of(stream(60))
    X["user"] = [("de", i) if i % 2 else ("fr", i) for i in range(60) for i in [i % 5]]
    naive.learn_many(features_of(X), y)
    table = X.drop(columns="user")
    table.insert(1, "shop", [float(shop) for _, shop in X["user"]])
    table["country"] = [country for country, _ in X["user"]]
    keyed.learn_many(pl.from_pandas(table[:30]), y[:30])
    for x, label in zip(features_of(table[30:]), y[30:], strict=True):
        keyed.learn_one(x, label)
    assert {*keyed} == {*naive.models} and ("de", 1) in keyed
    for key, expected in naive.models.items():
        assert pickle.dumps(keyed[key]) == pickle.dumps(expected)


def test_factory_may_copy_a_common_model():
    common, names = AMFClassifier(n_estimators=2, seed=1), {}
    X, y = frame_of(stream(60))
    common.learn_many(X[["a", "b"]], y)
    exec(recipes.code(), names)
    model, x = names["new_from"](common), {"a": 0.3, "b": 0.1}
    before = common.predict_proba_one(x)
    assert model.predict_proba_one({"user": "new"} | x) == before
    model.learn_one({"user": "ann"} | x, True)
    twin = copy.deepcopy(common)
    twin.learn_one(x, True)
    assert pickle.dumps(model["ann"]) == pickle.dumps(twin)
    assert common.predict_proba_one(x) == before
    assert pickle.loads(pickle.dumps(model)).predict_proba_one({"user": "new"} | x) == before


def test_it_is_a_mapping():
    model = KeyedClassifier(LOGISTIC, "user", max_in_memory=1)
    assert bool(model) and len(model) == 0
    for key in ("ann", 7, "bob"):
        model.learn_one({"user": key, "a": 1.0}, True)
    assert len(model) == 3 and {*model} == {"ann", 7, "bob"}
    assert "ann" in model and 7.0 in model and "eve" not in model
    assert None not in model and [] not in model
    assert {*model.keys()} == {*dict(model.items())}
    del model["ann"]
    assert "ann" not in model and len(model) == 2
    for missing in ("ann", "eve"):
        with pytest.raises(KeyError):
            model[missing]
        with pytest.raises(KeyError):
            del model[missing]
    model.learn_one({"user": "ann", "a": 1.0}, True)
    assert model["ann"]["StandardScaler"].counts["a"] == 1


def test_keywords_go_to_the_model():
    model = KeyedRegressor(REGRESSORS["forest"], "user")
    for day in range(20):
        model.learn_one({"user": "ann", "day": day % 7}, float(day))
    x = {"user": "ann", "day": 3}
    expected = model["ann"].predict_interval_one({"day": 3}, 0.5)
    assert model.predict_one(x, with_interval=True, level=0.5) == expected
    for who in ("ann", "bob"):
        with pytest.raises(TypeError, match="unexpected keyword argument 'with_intervall'"):
            model.predict_one(x | {"user": who}, with_intervall=True)
