"""Warnings of likely mistakes: few values, many features, text, long integers, sorted labels."""

import copy
import math
import pickle
import random
import warnings

import pandas as pd
import pytest
from forests import forests, learn, state_of
from forests import fresh as made
from river import feature_extraction, preprocessing
from test_mismatch import caught

from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor
from river_amf.evaluation import STREAMS, load_stream


def hashed(n_samples, n_names=60, n_present=2):
    """Return samples with a few of the features, of which more and more are known."""
    rng = random.Random(1)
    return [
        {f"{k}": 1 for k in rng.sample(range(min(n_present + i, n_names)), n_present)}
        for i in range(n_samples)
    ]


def at_rows(model, rows):
    """Learn rows one by one; return the warnings with the row that each came at."""
    found = []
    for i, x in enumerate(rows):
        found += [(i, text) for text in caught(model.learn_one, x, i % 2)]
    return found


def in_blocks(model, cuts, *columns):
    """Learn rows, labels and weights in blocks that end at `cuts`; return the warnings."""
    texts = []
    for start, stop in zip([0, *cuts], [*cuts, None], strict=True):
        rows, *others = (column[start:stop] for column in columns)
        texts += caught(model.learn_many, pd.DataFrame(rows), *others)
    return texts


@forests
def test_few_values_warn(kind):
    model, rows = made(kind), hashed(400)
    n_known = [len({name for x in rows[: i + 1] for name in x}) for i in range(400)]
    ((row, text),) = at_rows(model, rows)
    assert row == 64 + next(i for i, n in enumerate(n_known) if n >= 40)
    zeros = (
        "pass the zeros too" if issubclass(kind, AMFRegressor) else 'use absent="zero" for words'
    )
    for part in (f"{n_known[row - 1]} features", "last 64 samples had only 2 on", zeros):
        assert part in text
    assert "pass the string itself instead of OneHotEncoder" in text
    twin = pickle.loads(pickle.dumps(model))
    for other in (model, twin):  # only as there are twice as many features
        assert at_rows(other, hashed(200)) == []
    more = [{f"more {k}": 1} for k in range(150)]
    assert at_rows(model, more) == []
    assert len(at_rows(twin, more)) == 1


def test_bag_of_words_warns():
    rng, words = random.Random(1), [f"word{k}" for k in range(300)]
    texts = [" ".join(rng.choices(words, k=rng.randrange(5, 15))) for _ in range(200)]
    assert len(at_rows(feature_extraction.BagOfWords() | made(), texts)) == 1
    assert at_rows(feature_extraction.BagOfWords() | made(absent="zero"), texts) == []


@pytest.mark.parametrize(
    ("n_features", "n_values", "warns"),
    [(39, 2, False), (40, 9, True), (40, 10, False), (200, 20, True), (200, 21, False)],
)
def test_few_values_are_ten_or_a_tenth(n_features, n_values, warns):
    rng = random.Random(1)
    rows = [dict.fromkeys(range(n_features), "x"), *({} for _ in range(64))]
    for x in rows[1:]:
        x |= {k: "xy"[k == i % 2] for i, k in enumerate(rng.sample(range(n_features), n_values))}
        x |= {k: None for k in range(n_features) if k not in x}
    assert len(at_rows(made(), rows)) == warns


@forests
def test_outage_of_dense_samples_gives_no_warning(kind):
    model, rng = made(kind), random.Random(1)
    rows = [{k: rng.random() for k in range(500)} for _ in range(70)]
    rows += [dict.fromkeys(range(500)) | {"late": 1.0} for _ in range(80)]
    assert at_rows(model, rows) == []


@forests
@pytest.mark.parametrize("cuts", [[100], [1, 30, 75, 76, 110, 250]])
def test_blocks_warn_as_rows(kind, cuts):
    rows = hashed(300, n_present=4)
    weights = [0.0 if i % 9 == 1 else 1.0 for i in range(300)]
    one, many = made(kind, max_features=50), made(kind, max_features=50)
    expected, labels = [], [i % 2 for i in range(300)]
    for sample in zip(rows, labels, weights, strict=True):
        expected += caught(one.learn_one, *sample)
    texts = in_blocks(many, cuts, rows, labels, weights)
    assert {*texts} == {*expected} and len(texts) == len(expected) == 2
    assert state_of(many) == state_of(one)


def test_warning_as_error_leaves_model_unchanged():
    for rows in (hashed(300), [{f"{i}": 1} for i in range(9)]):
        model = made(max_features=None if len(rows) > 9 else 8)
        row, text = at_rows(copy.deepcopy(model), rows)[0]
        learn(model, [(x, i % 2) for i, x in enumerate(rows[:row])])
        before = state_of(model)
        for _ in range(2):
            with warnings.catch_warnings(action="error"), pytest.raises(UserWarning) as error:
                model.learn_one(rows[row], row % 2)
            assert str(error.value) == text
            assert state_of(model) == before
        with pytest.warns(UserWarning) as record:
            model.learn_one(rows[row], row % 2)
        assert [warning.filename for warning in record] == [__file__]


@forests
def test_features_beyond_bound_leave_no_trace(kind):
    rng, model, twin = random.Random(1), made(kind, max_features=4), made(kind, max_features=4)
    values = [1.0, "text", math.inf, [1], None]  # as in predictions, those ignored may be any
    for i in range(120):
        x = {name: rng.random() for name in ["a", "b", "c", 7][: 1 + i // 20]}
        x |= {"b": rng.choice(["red", "tan", None])} if "b" in x else {}
        # one sample brings more than there is room for; 7 is the first in the order of new columns
        more = {"z": 1.0, "y": "text"} if i == 60 else {}
        more = {f"new {i}": rng.choice(values)} if i > 60 else more
        assert model.predict_one(x | more) == twin.predict_one(x)
        texts = caught(model.learn_one, more | x, i % 2)
        assert len(texts) == (i == 60)
        assert not texts or texts[0].startswith("feature 'y' is ignored, and so is any other new")
        twin.learn_one(x, i % 2)
    assert [*model._features] == ["a", "b", "c", 7]
    assert state_of(model) == state_of(twin)


@pytest.mark.parametrize("bounds", [{"max_features": 9}, {"max_features": 50, "max_words": 9}])
def test_words_count_as_features(bounds):
    model, rng = made(AdaptiveAMFClassifier, absent="zero", **bounds), random.Random(1)
    for i in range(200):
        x = {f"word {rng.randrange(1 + i // 9)}": 1 for _ in range(3)}
        texts = caught(model.learn_one, {"color": "red"} | x, i % 2)
        assert not texts or "there are 9 already" in texts[0]
    assert [*model._features.words] == [f"word {k}" for k in range(8)]
    assert model._features.categories("color") == {"red": 0}


@forests
def test_memory_of_bounded_features_stays_small(kind):
    model, rng = kind(max_features=50, seed=1), random.Random(1)
    for i in range(2000):
        # a regressor has two nodes of 900 bytes for each size, in each of its trees
        x = {} if issubclass(kind, AMFRegressor) else {"size": rng.random()}
        caught(model.learn_one, x | {f"session {i}": 1}, i % 2)
    assert model.memory_usage < 30e6
    assert len(model._features) == 50
    assert b"session 1999" not in pickle.dumps(model)


TEXTS = {
    "times": lambda i: f"2026-03-{1 + i // 24:02}T{i % 24:02}:00:00Z",
    "text with gaps": lambda i: f"message {i}" if i % 3 else None,
    "a tenth known": lambda i: f"{i - (i % 10 == 9)}x",
    "whole numbers": lambda i: f"{i + 1000}",
}
OTHERS = {
    "a sixth known": lambda i: f"{i - (i % 6 == 5)}x",
    "codes": lambda i: f"{random.Random(i).randrange(400)}",
    "leading zeros": lambda i: f"{i % 50:05}.5",
    "pluses": lambda i: f"+{i % 50 + 10**9}.5",
    "parts of hashes": lambda i: f"{i % 50}e10",
}


@forests
@pytest.mark.parametrize("name", TEXTS | OTHERS)
@pytest.mark.parametrize("cuts", [[], [1, 50, 99, 100, 101, 250]])
def test_text_warns_if_values_are_new(kind, name, cuts):
    rows = [{"a": (TEXTS | OTHERS)[name](i), "b": i % 7} for i in range(400)]
    one, many = made(kind), made(kind)
    found = at_rows(one, rows)
    assert len(found) == (name in TEXTS)
    for row, text in found:
        assert 180 <= row < 320 and "feature 'a' holds categories, but nearly all of its" in text
        assert ("float(value)" in text) == (name == "whole numbers")
        assert all(part in text for part in ("parse_dates=['a']", "BagOfWords", "leave it out"))
    assert in_blocks(many, cuts, rows, [0, 1] * 200) == [text for _, text in found]
    assert state_of(many) == state_of(one)


@forests
@pytest.mark.parametrize("number", [2**53, 1e18, 10**17])
def test_integers_that_are_rounded_warn_once(kind, number):
    rows = [{"b": 1}, *[{"a": number, "b": 2}] * 3]
    texts = in_blocks(made(kind), [], rows[1:], [1, 0, 1])
    assert texts == [text for _, text in at_rows(made(kind), rows)]
    assert ["str(value) if they are ids" in text for text in texts] == [True] * (number == 10**17)


def unlike(n):
    return [{"a": math.sin(i), "b": math.cos(i * i)} for i in range(n)]


def test_labels_of_other_rows_give_one_warning():
    model, found = made(AdaptiveAMFClassifier), []
    for n, x in enumerate(unlike(1300)):
        model.predict_one({"a": -x["b"], "b": x["a"]})
        found += [(n, text) for text in caught(model.learn_one, x, n % 2)]
    (place, text), *more = found
    assert place == 1001 and "needs no scaler" in text and not more


def test_labels_of_blocks_of_other_rows_give_one_warning():
    model, rows = made(AMFRegressor), pd.DataFrame(unlike(1100))
    model.learn_many(rows[:10], [0.0] * 10)
    for start in range(0, 1100, 20):
        model.predict_many(1.0 - rows[start : start + 20])
    assert not caught(model.learn_many, rows, [*range(1100)])  # after one block of predictions


@pytest.mark.parametrize("delay", [0, 1, 1200])
def test_delayed_labels_give_no_warning(delay):
    model, rows = made(AdaptiveAMFClassifier), unlike(2500)
    for n, x in enumerate(rows):
        assert not caught(model.predict_one, x)
        assert n < delay or not caught(model.learn_one, rows[n - delay], n % 2)


def test_labels_behind_a_scaler_give_no_warning():
    model = preprocessing.StandardScaler() | made(AMFRegressor)
    for x in unlike(1500):
        model.predict_one(x)
        assert not caught(model.learn_one, x, x["a"])


def test_unlabeled_rows_give_no_warning():
    model, rows = made(AdaptiveAMFClassifier), unlike(2500)
    for n, x in enumerate(rows):
        if n < 100 or n % 400 < 100:
            model.predict_one(x)  # and never learned
        else:
            assert not caught(model.learn_one, x, n % 2)


RUNS = [  # labels, and the row of the warning
    ("a" * 100 + "b" * 150, 199),
    ("a" * 99 + "b" * 300, None),
    ("a" * 120 + "b" * 50 + "c" * 130 + "d" * 200, 399),
    ("a" * 120 + "b" * 99 + "a" + "b" * 200 + "c" * 300 + "d" * 300, None),
]


@pytest.mark.parametrize(("labels", "row"), RUNS)
@pytest.mark.parametrize("cuts", [[], [1, 20, 120, 150, 240]])
@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_labels_in_single_runs_warn(kind, labels, row, cuts):
    X, one, many, found = [{"a": i % 7} for i, _ in enumerate(labels)], made(kind), made(kind), []
    for i, sample in enumerate(zip(X, labels, strict=True)):
        one = copy.deepcopy(one) if i in (50, 90) else one  # with one label, nothing is lost
        found += [(i, text) for text in caught(one.learn_one, *sample)]
    assert [i for i, _ in found] == [row] * (row is not None and kind is AdaptiveAMFClassifier)
    assert all("shuffle" in text and "AMFClassifier" in text for _, text in found)
    assert in_blocks(many, cuts, X, [*labels]) == [text for _, text in found]
    assert state_of(many) == state_of(one)


@pytest.mark.parametrize("name", [*STREAMS, "Bananas", "Phishing", "ImageSegments", "Shuttle"])
def test_streams_give_no_warning(name):
    model = made(AdaptiveAMFClassifier)
    for _, y in load_stream(name, limit=1000):
        model.learn_one({}, y)
    assert not model._engine.starts
