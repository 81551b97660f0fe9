"""Values of the wrong kind that count as missing: `on_mismatch="missing"`."""

import copy
import decimal
import enum
import functools
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import test_naive
from forests import forests, fresh, state_of
from generated import any_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from river import compose

from river_amf import AMFClassifier, MismatchWarning

Shade = enum.StrEnum("Shade", {"RED": "red"})  # text of another type
made = functools.partial(fresh, on_mismatch="missing")


def caught(call, *args, **kwargs):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        call(*args, **kwargs)
    assert {warning.category for warning in record} <= {MismatchWarning, UserWarning}
    return [str(warning.message) for warning in record]


def learn(model, rows, labels=None, weights=None):
    n = len(rows)
    columns = rows, labels or [i % 2 for i in range(n)], weights or [1.0] * n
    for x, y, w in zip(*columns, strict=True):
        model.learn_one(x, y, w)


def kinds_of(model):
    return dict(zip(model._features, model._features.is_categorical, strict=True))


def text_of(name, held, got):
    return f"feature '{name}' has held {held} so far, got {got}; such values count as missing"


@pytest.mark.parametrize("text", ["", "NA", "N/A", "nan", "null", "?", "-"])
def test_text_of_missing_settles_no_kind(text):
    for value in (3.0, "red", ("a", 1)):
        rows = [{"a": text}, {"a": text}, {"a": value}, {"a": value}]
        model, twin = made(), made()
        caught(learn, model, rows)
        learn(twin, [{}, {}, *rows[2:]])
        assert kinds_of(model) == {"a": value != 3.0}
        assert state_of(model) == state_of(twin)


def test_first_value_settles_kind():
    model = made()
    learn(model, [{"color": Shade.RED, "size": 1.0}, {"color": "?"}])
    assert caught(learn, model, [{"color": 1.0, "size": "?"}, {"color": 2.0, "size": "red"}]) == [
        text_of("color", "categories", "the number 1.0"),
        text_of("size", "numbers", "'?' of type str"),
    ]
    assert model._features.categories("color") == {"red": 0, "?": 1}
    # neither predictions nor samples without weight settle it
    model.predict_one({"temp": "a", "size": 1.0})
    model.learn_one({"temp": "b"}, 0, w=0)
    learn(model, [{"temp": 1.0}])
    assert kinds_of(model) == {"color": True, "size": False, "temp": False}


def test_each_feature_warns_once_and_copies_again():
    model = made()
    learn(model, [{"a": 1.0, "b": 2.0, "c": "x"}, {"c": "y"}])
    text = text_of("a", "numbers", "'?' of type str")
    assert caught(model.predict_one, {"a": "?", "b": 1.0}) == [text]
    rows = [{"a": "?", "b": "?"}, {"a": "!", "b": "!"}]
    assert caught(learn, model, rows) == [text.replace("'a'", "'b'")]
    assert len(caught(model.predict_one, {"a": 1.0, "b": "?", "c": 1.0})) == 1
    assert caught(model.predict_proba_many, pd.DataFrame({"a": ["?"], "c": [1.0]})) == []
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert len(caught(twin.predict_one, {"a": "?", "b": "?", "c": 1.0})) == 3


X = pd.DataFrame({"a": ["N/A"]})
CALLS = {
    "predict_one": lambda model: model.predict_one({"a": "?"}),
    "learn_one": lambda model: model.learn_one({"a": "?", "new": 1.0}, "new label"),
    "pipeline": lambda model: (compose.Select("a") | model).learn_one({"a": "?"}, 1),
    "learn_many": lambda model: model.learn_many(X.assign(new="b"), [1]),
    "predict_many": lambda model: model.predict_many(X),
}


@pytest.mark.parametrize("call", CALLS)
def test_warning_names_caller_or_is_error(call):
    model = made()
    learn(model, [{"a": 1.0}])
    before = state_of(model)
    for _ in range(2):  # an error leaves no trace, and comes again
        with warnings.catch_warnings(action="error"), pytest.raises(MismatchWarning):
            CALLS[call](model)
        assert state_of(model) == before
    with pytest.warns(MismatchWarning) as record:
        CALLS[call](model)
    assert [warning.filename for warning in record] == [__file__]


def test_sample_without_known_features_warns_once():
    model, frame = AMFClassifier(n_estimators=2, seed=1), pd.DataFrame({"Zip": [1.0, 2.0]})
    assert not caught(model.predict_one, {"Zip": 1.0})
    learn(model, [{"zip": 1.0, "city": "a"}, {"zip": 2.0}])
    assert not caught(model.predict_one, {}) and not caught(model.predict_one, {"Zip": 1, "zip": 1})
    twin, text = copy.deepcopy(model), "no feature, such as 'Zip', is known, so all are ignored"
    calls = [model.predict_one, model.predict_many, twin.predict_many, twin.predict_one]
    texts = [caught(c, frame if "many" in c.__name__ else {"Zip": 1.0}) for c in calls]
    assert texts == [[f"{text}; 'city' was learned"], []] * 2


NUMBERS = [1, 2.5, True, np.int64(3), decimal.Decimal("0.5"), 0.0]
TEXTS = ["N/A", "?", "red", "tan", b"red", ("a", 1), Shade.RED]
VALUES = [*NUMBERS, *NUMBERS, *TEXTS, None, math.nan, pd.NaT]


ROW = st.tuples(any_of(VALUES), any_of(NUMBERS, VALUES), any_of(TEXTS, VALUES))
SAMPLE = st.tuples(
    ROW.map(lambda row: dict(zip("abc", row, strict=True))),
    st.integers(0, 1),
    st.sampled_from([1.0, 1.0, 1.0, 0.0]),
)
STREAMS = st.lists(SAMPLE, min_size=1, max_size=14)


@pytest.mark.usefixtures("chunks")
@given(STREAMS, st.integers(0, 14), *[st.sampled_from([None, 1, 2])] * 2, st.booleans())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_learn_and_warn_as_rows(stream, cut, max_categories, max_features, predicts):
    bounds = {"max_categories": max_categories, "max_features": max_features}
    one, many = (made(**bounds, max_delayed_labels=0) for _ in range(2))
    expected, texts = caught(learn, one, *zip(*stream, strict=True)), []
    call = many.predict_proba_then_learn_many if predicts else many.learn_many
    for block in filter(None, (stream[:cut], stream[cut:])):
        rows, labels, weights = zip(*block, strict=True)
        texts += caught(call, pd.DataFrame(rows, dtype=object), labels, weights)
    assert texts == expected
    assert state_of(many) == state_of(one)


@given(STREAMS)
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore::river_amf.MismatchWarning")
def test_missing_mismatches_equal_reference(stream):
    model, reference = test_naive.pair(on_mismatch="missing")
    for x, y, w in stream:
        as_floats = {n: float(v) if isinstance(v, decimal.Decimal) else v for n, v in x.items()}
        z = {name: value for name, value in as_floats.items() if value is not pd.NaT}
        expected = reference.predict_proba_one(z)
        assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-12)
        model.learn_one(x, y, w)
        reference.learn_one(z, y, w)


@forests
@pytest.mark.parametrize("is_block", [False, True])
def test_numbers_as_texts_warn(kind, is_block):
    def learn(model, texts):
        rows = [{"a": text, "b": "x" + text} for text in texts]
        if is_block:
            return caught(model.learn_many, pd.DataFrame(rows), [1.0] * len(rows))
        return [text for x in rows for text in caught(model.learn_one, x, 1.0)]

    model, mixed = kind(n_estimators=2, seed=1), kind(n_estimators=2, seed=1)
    numbers = [f"{i / 4}" for i in range(60)]
    assert learn(model, numbers[:19]) == []
    twin = copy.deepcopy(model)
    with pytest.raises(UserWarning, match="feature 'a'"):
        twin.learn_one({"a": "19", "b": "y"}, 2.0)
    assert twin.n_samples == 19
    (message,) = learn(model, numbers)
    assert message.startswith("feature 'a' holds categories, but its first 20 are all numbers")
    assert "such as '4.75': pass float(value)" in message
    assert learn(model, [str(i) for i in range(100, 130)]) == []
    assert learn(mixed, [*numbers[:10], "none", *numbers[10:]]) == []
