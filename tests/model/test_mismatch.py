"""Values of the wrong kind that count as missing: `on_mismatch="missing"`."""

import copy
import decimal
import enum
import io
import math
import pickle
import warnings

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import compose

import river_amf
from river_amf import AdaptiveAMFClassifier, AMFClassifier, MismatchWarning
from river_amf.engine.settings import begin

FORESTS = [AMFClassifier, AdaptiveAMFClassifier]


class Shade(enum.StrEnum):
    """Text of another type."""

    RED = "red"


def made(kind=AMFClassifier, **parameters):
    return kind(**{"n_estimators": 3, "seed": 42, "on_mismatch": "missing"} | parameters)


def quietly(call, *args):
    """Return what a call returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MismatchWarning)
        return call(*args)


def told(call, *args, **kwargs):
    """Return what a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **kwargs)
    assert {warning.category for warning in caught} <= {MismatchWarning}
    return [str(warning.message) for warning in caught]


def learn(model, rows, labels=None, weights=None):
    for i, x in enumerate(rows):
        label = i % 2 if labels is None else labels[i]
        model.learn_one(x, label, w=1.0 if weights is None else weights[i])


def learn_quietly(model, *args):
    told(learn, model, *args)
    return model


def kinds_of(model):
    return dict(zip(model._features, model._features.is_categorical, strict=True))


# What settles the kind of a feature


def test_texts_that_mean_missing_settle_no_kind():
    for text in ("", "NA", "N/A", "nan", "null", "?", "-"):
        for value in (3.0, "red", ("a", 1)):
            rows = [{"a": text}, {"a": text}, {"a": value}, {"a": value}]
            model, twin = learn_quietly(made(), rows), made()
            learn(twin, [{}, {}, *rows[2:]])
            assert kinds_of(model) == {"a": value != 3.0}
            assert pickle.dumps(model) == pickle.dumps(twin)


def test_the_first_value_settles_the_kind():
    model = made()
    learn(model, [{"color": Shade.RED, "size": 1.0}, {"color": "?"}])
    assert kinds_of(model) == {"color": True, "size": False}
    assert told(learn, model, [{"color": 1.0, "size": "?"}, {"color": 2.0, "size": "red"}]) == [
        "feature 'color' has held categories so far, got the number 1.0; such values count as "
        "missing",
        "feature 'size' has held numbers so far, got '?' of type str; such values count as missing",
    ]
    assert model._features.categories("color") == {"red": 0, "?": 1}


def test_neither_predictions_nor_samples_without_weight_settle_a_kind():
    model = made()
    learn(model, [{"size": 1.0}])
    model.predict_one({"temp": "a"})
    model.learn_one({"temp": "b"}, 0, w=0)
    learn(model, [{"temp": 1.0}])
    assert kinds_of(model) == {"size": False, "temp": False}


# What counts as missing


@pytest.mark.parametrize("kind", FORESTS)
def test_a_value_of_the_wrong_kind_is_like_an_absent_key(kind):
    dirty, clean = [], []
    for i in range(200):
        x = {"size": i * i % 23, "color": ["red", "tan", "sky"][i % 3], "width": i % 5}
        wrong = {"size": "N/A"} if i % 10 == 8 else {"color": i} if i % 10 == 9 else {}
        dirty.append(x | wrong)
        clean.append({name: value for name, value in x.items() if name not in wrong})
    labels = [i * i % 23 > 11 for i in range(200)]
    model, twin = made(kind), made(kind)
    assert [text.partition(" has")[0] for text in told(learn, model, dirty, labels)] == [
        *("feature 'size'", "feature 'color'")
    ]
    learn(twin, clean, labels)
    for x, y in zip(dirty, clean, strict=True):
        assert model.predict_proba_one(x) == twin.predict_proba_one(y)
    assert pickle.dumps(model) == pickle.dumps(twin)


def test_all_else_is_still_an_error_and_leaves_no_trace():
    model = learn_quietly(made(), [{"size": 1.0}, {"color": "red"}, {"color": "tan", "late": "?"}])
    bad = [math.inf, [1.0], 1j, pd.Timestamp("2020"), 10**400, decimal.Decimal("sNaN")]
    for name in ("size", "color", "late", "new"):
        for value in bad:
            for x in ({name: value}, {"size": "bad", "color": 1.0, name: value}):
                before = pickle.dumps(model)
                for call in (model.learn_one, model.predict_one)[: 1 if name in "late new" else 2]:
                    with warnings.catch_warnings():
                        warnings.simplefilter("error", MismatchWarning)
                        with pytest.raises((TypeError, ValueError), match=name):
                            call(*(x, 0)[: 1 + (call == model.learn_one)])
                assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="label None is missing"):
        model.learn_one({"size": "bad"}, None)
    assert told(learn, model, [{"size": "bad"}]) != []


# Warnings


def test_there_is_one_warning_for_each_feature_and_copies_warn_anew():
    model = made()
    learn(model, [{"a": 1.0, "b": 2.0, "c": "x"}, {"c": "y"}])
    assert told(model.predict_one, {"a": "?", "b": 1.0}) == [
        "feature 'a' has held numbers so far, got '?' of type str; such values count as missing"
    ]
    assert told(learn, model, [{"a": "?", "b": "?"}, {"a": "!", "b": "!"}]) == [
        "feature 'b' has held numbers so far, got '?' of type str; such values count as missing"
    ]
    assert len(told(model.predict_one, {"a": 1.0, "b": "?", "c": 1.0})) == 1
    assert told(model.predict_proba_many, pd.DataFrame({"a": ["?"], "c": [1.0]})) == []
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert len(told(twin.predict_one, {"a": "?", "b": "?", "c": 1.0})) == 3


def test_a_warning_names_the_line_of_the_caller():
    model = made()
    learn(model, [{"a": 1.0}])
    X = pd.DataFrame({"a": ["N/A"]})
    for call in (
        lambda: copy.copy(model).predict_one({"a": "?"}),
        lambda: (compose.Select("a") | copy.copy(model)).learn_one({"a": "?"}, 1),
        lambda: copy.copy(model).learn_one({"a": "?"}, 1),
        lambda: copy.copy(model).learn_many(X, [1]),
        lambda: copy.copy(model).predict_many(X),
    ):
        with pytest.warns(MismatchWarning) as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]


def test_a_warning_that_is_raised_leaves_no_trace_and_comes_again():
    model = made()
    learn(model, [{"a": 1.0, "b": "x"}, {"b": "y"}])
    before = pickle.dumps(model)
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0], "new": ["a", "b"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", MismatchWarning)
        for _ in range(2):
            for x in ({"a": "?"}, {"b": 1.0}, {"a": "?", "new": 1.0, "b": "w"}):
                with pytest.raises(MismatchWarning):
                    model.learn_one(x, "new label")
            with pytest.raises(MismatchWarning):
                model.learn_many(X, [1, 0])
            with pytest.raises(MismatchWarning):
                model.predict_many(X)
    assert pickle.dumps(model) == before


# Blocks, files and copies


NUMBERS = [1, 2.5, True, np.int64(3), decimal.Decimal("0.5"), 0.0]
TEXTS = ["N/A", "?", "red", "tan", b"red", ("a", 1), Shade.RED]
GAPS = [None, math.nan, pd.NaT]
VALUES = [*NUMBERS, *NUMBERS, *TEXTS, *GAPS]
ANY = st.integers(0, len(VALUES) - 1).map(VALUES.__getitem__)
NUMBER = st.integers(0, len(NUMBERS) - 1).map(NUMBERS.__getitem__)
TEXT = st.integers(0, len(TEXTS) - 1).map(TEXTS.__getitem__)
ROWS = st.tuples(ANY, NUMBER | ANY, TEXT | ANY, st.sampled_from([1.0, 1.0, 1.0, 0.0]))
STREAMS = st.lists(ROWS, min_size=1, max_size=14)


@given(STREAMS, st.integers(0, 14), st.sampled_from([None, 1, 2]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_blocks_teach_and_warn_as_their_rows_do(stream, cut, max_categories, predicts):
    one, block = made(max_categories=max_categories), made(max_categories=max_categories)
    rows = [dict(zip("abc", row, strict=False)) for row in stream]
    weights = [row[-1] for row in stream]
    expected = told(learn, one, rows, None, weights)
    X = pd.DataFrame(rows, dtype=object)
    found = []
    for part in (slice(0, cut), slice(cut, len(rows))):
        call = block.predict_proba_then_learn_many if predicts else block.learn_many
        labels = [i % 2 for i in range(len(rows))][part]
        found += told(call, X[part], labels, weights[part])
    assert found == expected
    files = io.BytesIO(), io.BytesIO()
    for model, file in zip((one, block), files, strict=True):
        model.save(file)
    assert files[0].getvalue() == files[1].getvalue()
    block = river_amf.load(io.BytesIO(files[1].getvalue()))
    for x in rows:
        assert quietly(one.predict_proba_one, x) == quietly(block.predict_proba_one, x)
    if len(one._labels):
        answers = [list(one.predict_proba_one(x).values()) for x in rows]
        np.testing.assert_array_equal(block.predict_proba_many(X).to_numpy(), answers)


@given(STREAMS)
@settings(max_examples=60, deadline=None)
def test_the_rule_is_that_of_the_reference(stream):
    model = made(n_estimators=2)
    trees = begin(model).trees
    states, keys = ([int(word) for word in trees[name]] for name in ("random_state", "key"))
    reference = naive.NaiveForest(states, keys, on_mismatch="missing")
    for i, (*values, w) in enumerate(stream):
        x = {
            name: float(value) if isinstance(value, decimal.Decimal) else value
            for name, value in zip("abc", values, strict=True)
            if value is not pd.NaT
        }
        expected = reference.predict_proba_one(x)
        assert quietly(model.predict_proba_one, x) == pytest.approx(expected, abs=1e-12)
        quietly(model.learn_one, x, i % 2, w)
        reference.learn_one(x, i % 2, w)
