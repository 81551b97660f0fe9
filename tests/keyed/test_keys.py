"""Types of keys, which keys are the same, and errors with the row and the key."""

import datetime as dt
import enum
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_keyed import states_of
from river import linear_model

from river_amf import AMFClassifier, AMFRegressor
from river_amf.keyed import KeyedClassifier, KeyedRegressor
from river_amf.keyed.keys import key_of, key_text

CEST = dt.timezone(dt.timedelta(hours=2))
MOMENT = dt.datetime(2020, 1, 1, 12)
SAME = [
    (1, 1.0, True, np.int64(1), np.float32(1), np.True_),
    (0, -0.0, False),
    (-(2**70), -float(2**70)),
    ("1", np.str_("1"), enum.StrEnum("Key", {"ONE": "1"}).ONE),
    ("[1]",),
    ((1, "a"), (1.0, np.str_("a"))),
    ((1,), (True,)),
    ((), ()),
    (MOMENT, pd.Timestamp(MOMENT), MOMENT.replace(fold=1)),
    (MOMENT.replace(tzinfo=CEST), MOMENT.replace(hour=10, tzinfo=dt.UTC)),
    (MOMENT.date(),),
    (uuid.UUID(int=1),),
]


def test_equal_keys_have_one_text():
    texts = [{key_text(key) for key in keys} for keys in SAME]
    assert [len(same) for same in texts] == [1] * len(SAME)
    assert len(set.union(*texts)) == len(SAME)
    assert [key_of(text) for same in texts for text in same] == [keys[0] for keys in SAME]


SCALAR = st.one_of(
    st.text(), st.integers(), st.booleans(), st.uuids(), st.dates(), st.datetimes(),
    st.integers(-9, 9).map(float),
)  # fmt: skip
KEY = SCALAR | st.lists(SCALAR, max_size=3).map(tuple)


@given(KEY, KEY)
def test_texts_are_equal_where_keys_are(one, other):
    assert (key_text(one) == key_text(other)) == (one == other)
    assert key_of(key_text(one)) == one


REFUSED = {
    "a key must not be missing, got": [None, float("nan"), pd.NA, pd.NaT, ("a", None)],
    "cannot be written as text": [
        *("\ud800", 10**5000, ("a", "\udc00"), dt.datetime.min.replace(tzinfo=CEST)),
        ("a", dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-1)))),
    ],
    "a key must be text, a whole .*; convert it to str": [
        *([1], {"a": 1}, 1j, object(), 0.5, float("inf"), b"a", Decimal(1), dt.time(), (("a",),)),
        *(pd.Timestamp(1, unit="ns"), np.timedelta64(1, "s"), enum.Enum("Key", "A").A),
    ],
}


@pytest.mark.parametrize("message", REFUSED)
def test_other_keys_are_refused(message):
    for key in REFUSED[message]:
        with pytest.raises((TypeError, ValueError), match=message):
            key_text(key)


FRAME = pd.DataFrame({"user": [*"abcab"], "a": [1.0, 2.0, 3.0, 4.0, 5.0]})
LABELS = [True, False, True, False, True]
FOREST = AMFClassifier(n_estimators=2, seed=1)
LOGISTIC = linear_model.LogisticRegression()


def users(*names):
    return FRAME.assign(user=[*names])


BLOCKS = {
    "not a frame": ([[1, 2]], LABELS, None, TypeError, "X must be a dataframe"),
    "no key": (FRAME[["a"]], LABELS, None, ValueError, r"X lacks the column 'user' .*has \['a'\]"),
    "missing": (users(*"ab", None, *"ab"), LABELS, None, ValueError, "row 2: column 'user': a key"),
    "NaN": (users(1, 2, 3, np.nan, 1), LABELS, None, ValueError, "row 3: column"),
    "a list": (users("a", "b", [1], "a", "b"), LABELS, None, TypeError, "row 2: .* must be text"),
    "few labels": (FRAME, LABELS[:4], None, ValueError, "X has 5 rows, but y has 4 values"),
    "few weights": (FRAME, LABELS, [1.0], ValueError, "X has 5 rows, but w has 1 values"),
    "order": (FRAME, pd.Series(LABELS)[::-1], None, ValueError, "y has the index of X in another"),
    "bad weight": (FRAME, LABELS, [1, 1, -1, 1, 1], ValueError, "row 2: w must be a finite number"),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_bad_block_changes_no_model(name):
    X, y, w, kind, message = BLOCKS[name]
    model = KeyedClassifier(FOREST, "user")
    model.learn_many(FRAME, LABELS)
    before = states_of(model)
    with pytest.raises(kind, match=message):
        model.predict_proba_then_learn_many(X, y, w)
    assert states_of(model) == before


@pytest.mark.parametrize("n", [1, 100])  # row by row, and as a block
@pytest.mark.parametrize("max_in_memory", [None, 1])
def test_bad_row_of_a_forest_changes_no_key(n, max_in_memory):
    X = pd.DataFrame({"user": [*"aabbcc"] * n, "a": 1.0})
    forest = AMFRegressor(n_estimators=2, seed=1)
    model = KeyedRegressor(forest, "user", max_in_memory=max_in_memory)
    y = np.ones(6 * n)
    model.learn_many(X[:2], y[:2])
    before, mixed = states_of(model), X.assign(a=["red" if i == 3 else 1.0 for i in range(6 * n)])
    with pytest.raises(ValueError, match=r"^row 3: the key 'b': feature 'a' has .*red"):
        model.learn_many(mixed, y)
    with pytest.raises(ValueError, match=r"^row 2: the key 'b': .*inf"):
        model.learn_many(X, np.where(np.arange(6 * n) == 2, np.inf, y))
    assert states_of(model) == before and {*model} == {"a"}
    with pytest.raises(ValueError, match=r"^row 5: the key 'c': feature 'a': .*infinite"):
        model.predict_many(X[:6].assign(a=[1, 1, 1, 1, 1, np.inf]))


def test_error_of_river_notes_row_and_key():
    model = KeyedClassifier(LOGISTIC, "user")
    with pytest.raises(Exception) as caught:
        model.learn_many(FRAME.assign(a=[1, "red", 2, 3, 4]), LABELS)
    assert caught.value.__notes__ == ["in row 1, of the key 'b'"]
    assert {*model} == {"a"}  # which has learned, as its first row comes before


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1], "x must be a dict"),
        ({"a": 1}, r"x lacks the feature 'user' of its key; it has \['a'\]"),
        ({"user": None}, "feature 'user': a key must not be missing, got None"),
        ({"user": "a", "a": float("inf")}, "infinite"),
    ],
)
def test_bad_sample_changes_nothing(x, message):
    model = KeyedClassifier(FOREST, "user")
    model.learn_many(FRAME, LABELS)
    before = states_of(model)
    for call in (lambda: model.learn_one(x, True), lambda: model.predict_one(x)):
        with pytest.raises((TypeError, ValueError), match=message):
            call()
    assert states_of(model) == before


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (KeyedClassifier, {"model": 3}, "river classifier, got a value of type int"),
        (KeyedClassifier, {"model": lambda: 3}, "river classifier, got a value of type int"),
        (KeyedRegressor, {"model": LOGISTIC}, "river regressor, got .* type LogisticRegression"),
        (KeyedClassifier, {"max_in_memory": 0}, "max_in_memory must be an integer >= 1 or None"),
    ],
)
def test_parameters_are_checked(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(**{"model": LOGISTIC, "key": "user"} | parameters)
