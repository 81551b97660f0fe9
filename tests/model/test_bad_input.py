"""Bad input raises an error that names it and leaves no trace; odd but valid input works."""

import copy
import datetime
import decimal
import enum
import fractions
import math
import pickle
import random
import types
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river.utils import VectorDict

from river_amf import AdaptiveAMFClassifier, AMFClassifier, OnlineDummyClassifier

INFINITE = [
    math.inf,
    -math.inf,
    np.float64("inf"),
    np.float32("-inf"),
    decimal.Decimal("Infinity"),
    decimal.Decimal("1e400"),
    10**400,
    -(10**400),
    fractions.Fraction(10**400),
]
UNHASHABLE = [[1.0], {"nested": 1.0}, {1.0}, bytearray(b"red"), np.array([1.0, 2.0]), ("a", [1])]
CATEGORIES = ["1.5", "", b"red", ("a", 1), frozenset({1})]
NUMBERS = [0, 1.5, True, np.bool_(False), np.int8(3), decimal.Decimal("0.5"), 10**400, math.inf]
NOT_DICTS = [None, 1.0, "size", ["size"], [("size", 1.0)], pd.Series({"size": 1.0})]
COMPLEX = [1j, complex(1), np.complex128(1 + 1j), np.complex64(1)]
TIMES = [np.timedelta64(5), np.timedelta64(5, "s"), np.datetime64("2020-01-01")]
TIMES += [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5), datetime.time(5)]
TIMES += [datetime.timedelta(1), pd.Timestamp("2020"), pd.Timedelta(5), pd.Period("2020")]
MISSING_LABELS = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, decimal.Decimal("nan")]
MISSING_LABELS += [np.ma.masked, np.datetime64("NaT"), np.timedelta64("NaT"), complex("nan")]
UNHASHABLE_LABELS = [["a"], {"a": 1}, {"a"}, ("a", []), np.array(["a"])]
NOT_WEIGHTS = [None, "1", b"1", 1j, [1.0], (1.0,), {}, pd.NA, np.array(1.0)]
NOT_WEIGHTS += [np.complex128(1), np.complex64(1), np.timedelta64(1), np.ma.masked]
OUT_OF_RANGE_WEIGHTS = [-1, -1e-300, math.inf, -math.inf, math.nan, np.float32("nan"), 10**400]
OUT_OF_RANGE_WEIGHTS += map(decimal.Decimal, ("1e400", "nan"))
OUT_OF_RANGE_WEIGHTS += [np.longdouble("1e4000")]


def fresh():
    return AMFClassifier(n_estimators=3, seed=42, n_classes=2)


def numeric():
    model = fresh()
    for i in range(60):
        model.learn_one({"size": i % 7, "width": i / 3}, i % 2)
    return model


def mixed():
    model = fresh()
    for i in range(60):
        x = {"size": i % 7, "width": i / 3, "color": ["red", "tan", "blue"][i % 3]}
        model.learn_one(x, i % 2)
    return model


def adaptive():
    model = AdaptiveAMFClassifier(n_estimators=3, seed=42, n_classes=2)
    for i in range(80):
        x = {"size": i % 7, "width": i / 3, "color": ["red", "tan", "blue"][i % 3]}
        model.learn_one(x, i % 2)
    return model


def made(kind=AMFClassifier, **parameters):
    return kind(n_estimators=3, seed=42, **parameters)


def short(value):
    """Name a case briefly, because some numbers here have 400 digits."""
    return repr(value)[:30]


# Input is rejected alike at all stages, so all values are tried at one stage, and one value of each
# kind at all stages.
stages = pytest.mark.parametrize("make_model", [fresh, numeric, mixed, adaptive])


def learn(model, x, y=0, w=1.0):
    model.learn_one(x, y, w=w)


def learn_with_weight_zero(model, x):
    model.learn_one(x, 0, w=0)


def predict(model, x):
    model.predict_one(x)


def predict_proba(model, x):
    model.predict_proba_one(x)


LEARNERS = [learn, learn_with_weight_zero]
CALLS = [*LEARNERS, predict, predict_proba]


def good_row(model):
    """A sample with a value for each feature of the model."""
    return {name: "red" if name == "color" else 1.0 for name in model._features}


def assert_refused(model, error, names, call, *args, **kwargs):
    """Check that the call raises with the repr of all `names`, and leaves the model unchanged."""
    before = pickle.dumps(model)
    try:
        call(model, *args, **kwargs)
    except error as raised:
        message = str(raised)
    else:
        pytest.fail(f"{call.__name__} takes {short(args)} {kwargs}")
    for name in names:
        assert repr(name) in message, call.__name__
    assert pickle.dumps(model) == before, call.__name__


def assert_value_refused(model, error, name, value, calls=CALLS):
    """A value is rejected by every method: in a full row, alone, and by the slow path."""
    for call in calls:
        for x in (good_row(model) | {name: value}, {name: value}, OrderedDict({name: value})):
            assert_refused(model, error, [name, value], call, x)


# Values


@pytest.mark.parametrize("value", INFINITE, ids=short)
def test_an_infinite_value_is_refused(value):
    assert_value_refused(mixed(), ValueError, "size", value)
    assert_value_refused(mixed(), ValueError, "new", value, LEARNERS)


@pytest.mark.parametrize("value", COMPLEX, ids=short)
def test_a_complex_number_is_refused_whatever_its_imaginary_part(value):
    for name in ("size", "color"):
        assert_value_refused(mixed(), ValueError, name, value)
    assert_value_refused(mixed(), ValueError, "new", value, LEARNERS)


@pytest.mark.parametrize("value", TIMES, ids=short)
def test_a_date_or_duration_is_refused_with_what_to_do_instead(value):
    for name in ("size", "color"):
        assert_value_refused(mixed(), ValueError, name, value)
    assert_value_refused(mixed(), ValueError, "new", value, LEARNERS)
    with pytest.raises(ValueError, match="convert it to a number, for example of seconds"):
        mixed().learn_one({"size": value}, 0)


@pytest.mark.parametrize("value", UNHASHABLE, ids=short)
def test_an_unhashable_value_is_refused(value):
    for name in ("size", "color"):
        assert_value_refused(mixed(), TypeError, name, value)
    assert_value_refused(mixed(), TypeError, "new", value, LEARNERS)


@pytest.mark.parametrize("value", CATEGORIES, ids=short)
def test_a_category_where_a_number_was_is_refused(value):
    assert_value_refused(mixed(), ValueError, "size", value)


@pytest.mark.parametrize("value", NUMBERS, ids=short)
def test_a_number_where_a_category_was_is_refused(value):
    assert_value_refused(mixed(), ValueError, "color", value)


class HasFloat:
    def __float__(self):
        return 1.0


@pytest.mark.parametrize("value", [np.array(1.0), HasFloat()], ids=["0-d array", "has __float__"])
def test_what_only_converts_to_a_number_is_refused(value):
    assert_value_refused(mixed(), (TypeError, ValueError), "size", value)


@stages
def test_bad_values_are_refused_at_every_stage(make_model):
    model = make_model()
    errors = [(math.inf, ValueError), ([1.0], TypeError)]
    if len(model._features):
        for value, error in [*errors, ("red", ValueError), (np.array(1.0), TypeError)]:
            assert_value_refused(model, error, "size", value)
    for value, error in errors:
        assert_value_refused(model, error, "new", value, LEARNERS)


@stages
def test_good_news_around_a_bad_value_leave_no_trace(make_model):
    model = make_model()
    for call in LEARNERS:
        for position in range(4):
            news = [("news 1", 1.0), ("news 2", "red"), *good_row(model).items(), (3, 0.5)]
            news.insert(position, ("bad", math.inf))
            assert_refused(model, ValueError, ["bad", math.inf], call, dict(news))


def test_a_new_category_beside_a_bad_value_leaves_no_trace():
    for call in LEARNERS:
        x = {"color": "new", "size": "bad"}
        assert_refused(mixed(), ValueError, ["size", "bad"], call, x)


def test_a_category_and_a_number_cannot_both_be_first():
    model = fresh()
    learn(model, {"a": 1.0, "b": "red"})
    assert_refused(model, ValueError, ["a", "red"], learn, {"a": "red", "b": "red"})
    assert_refused(model, ValueError, ["b", 1.0], learn, {"a": 1.0, "b": 1.0})


@pytest.mark.parametrize(
    "value",
    [np.timedelta64(5, "s"), decimal.Decimal("sNaN"), 10**5000],
    ids=["timedelta64", "signaling NaN", "more digits than repr allows"],
)
def test_the_error_names_the_feature_even_of_a_value_that_resists(value):
    for call in CALLS:
        assert_refused(numeric(), (TypeError, ValueError), ["size"], call, {"size": value})


# Objects that lie


class Unprintable:
    """Has no repr."""

    def __repr__(self):
        raise RuntimeError("no repr")


class EqualToAll:
    """Claims to equal everything."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(1.0)


class Unsteady:
    """Has another hash each time."""

    turns = 0

    def __hash__(self):
        Unsteady.turns += 1
        return Unsteady.turns

    def __eq__(self, other):
        return False


class Once(fractions.Fraction):
    """A number that converts only once."""

    turns = 0

    def __float__(self):
        self.turns += 1
        if self.turns > 1:
            raise RuntimeError("converted twice")
        return 1.0


class Fickle(dict):
    """A dict with other items after the first time."""

    turns = 0

    def items(self):
        self.turns += 1
        return super().items() if self.turns == 1 else {"size": math.inf, "color": 1.0}.items()


class Incomparable:
    """Raises when it is compared."""

    def __eq__(self, other):
        raise RuntimeError("not comparable")

    def __hash__(self):
        return hash("red")


@stages
def test_a_name_without_a_repr_is_a_name(make_model):
    model = make_model()
    names = [Unprintable(), Unprintable(), 10**5000, 10**5001]
    model.learn_one(good_row(model) | dict.fromkeys(names, 1.0), 0)
    assert set(names) <= set(model._features)
    assert sum(model.predict_proba_one({names[0]: 2.0}).values()) == pytest.approx(1.0)


@stages
def test_values_without_a_repr_are_refused_with_their_type(make_model):
    for x in ({"size": math.inf, Unprintable(): 1.0}, {"new": math.inf, "newer": Unprintable()}):
        assert_refused(make_model(), ValueError, [math.inf], learn, x)
    assert_refused(make_model(), TypeError, [], learn, {}, 0, Unprintable())
    if make_model is not fresh:
        with pytest.raises(ValueError, match="<Unprintable>"):
            make_model().learn_one({"size": Unprintable()}, 0)


@stages
def test_each_value_is_read_only_once(make_model):
    model, twin = make_model(), make_model()
    x = good_row(model)
    once = dict.fromkeys((name for name in x if name != "color"), 1.0) | {"new": 1.0}
    model.learn_one(x | {name: Once(1) for name in once}, 0)
    twin.learn_one(x | once, 0)
    model.learn_one(Fickle(x | {"newer": 2.0}), 1)
    twin.learn_one(x | {"newer": 2.0}, 1)
    assert pickle.dumps(model) == pickle.dumps(twin)


@pytest.mark.parametrize("n_features", [1, 2, 70])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        *((complex(1), ValueError), (np.complex128(1), ValueError), (np.array(1.0), TypeError)),
        *((EqualToAll(), ValueError), (decimal.Decimal("sNaN"), ValueError)),
    ],
    ids=["complex", "numpy's complex", "0-d array", "equal to all", "signaling NaN"],
)
def test_a_dict_that_is_changed_after_the_prediction_is_checked_anew(n_features, value, error):
    model = AMFClassifier(n_estimators=2, seed=1)
    x = dict.fromkeys(map(str, range(n_features)), 1.0)
    model.learn_one(x, 0)
    before = pickle.dumps(model)
    model.predict_one(x)
    x["0"] = value
    with pytest.raises(error, match="feature '0'"):
        model.learn_one(x, 0)
    assert pickle.dumps(model) == before


def test_a_number_that_another_one_equals_only_to_numpy_is_learnt_itself():
    model, twin = made(), made()
    for i in range(20):
        x = {"size": np.float32(i / 10)}
        model.predict_one(x)
        x["size"] = i / 10
        assert x["size"] == np.float32(i / 10)
        model.learn_one(x, i % 2)
        twin.learn_one({"size": i / 10}, i % 2)
    assert pickle.dumps(model) == pickle.dumps(twin)


def test_a_label_whose_hash_changes_does_no_harm():
    model = made()
    for i in range(50):
        model.learn_one({"size": i % 7}, Unsteady())
    assert len(model.predict_proba_one({"size": 1})) == 50


class Tiring:
    """Can be hashed a few times only."""

    def __init__(self, turns):
        self.turns = turns

    def __hash__(self):
        self.turns -= 1
        if self.turns < 0:
            raise RuntimeError("hashed too often")
        return 5


@pytest.mark.parametrize("turns", range(1, 5))
@stages
def test_what_raises_when_it_is_hashed_again_leaves_no_trace_or_is_learnt(make_model, turns):
    for x in ({"color": 0}, {"shape": 0}, {"color": 0, "shape": 0, "new": 1.0}):
        model = made() if make_model is fresh else make_model()
        before = pickle.dumps(model)
        bad = {name: Tiring(turns) if value == 0 else value for name, value in x.items()}
        try:
            model.learn_one(good_row(model) | bad, 1)
        except RuntimeError:
            assert pickle.dumps(model) == before
            model.learn_one(good_row(model), 1)
        model.predict_one({"size": 1.0})
    model = made()
    model.learn_one({"size": 1.0}, 0)
    before = pickle.dumps(model)
    try:
        model.learn_one({"size": 1.0, "color": "new"}, Tiring(turns))
    except RuntimeError:
        assert pickle.dumps(model) == before
        model.learn_one({"size": 1.0}, 1)


@stages
def test_what_raises_when_it_is_compared_leaves_no_trace(make_model):
    model = make_model()
    if "color" in model._features:
        assert_refused(model, RuntimeError, [], learn, good_row(model) | {"color": Incomparable()})
    model = AMFClassifier(seed=1)
    learn(model, {}, "red")
    assert_refused(model, RuntimeError, [], learn, {}, Incomparable())


def test_labels_that_cannot_be_compared_are_refused():
    model = AMFClassifier(seed=1)
    learn(model, {}, decimal.Decimal(1))
    assert_refused(model, TypeError, [np.int64(1), [decimal.Decimal(1)]], learn, {}, np.int64(1))
    model = AMFClassifier(seed=1)
    learn(model, {"a": (decimal.Decimal(1),)})
    assert_refused(model, TypeError, ["a", (np.int64(1),)], learn, {"a": (np.int64(1),)})


# Samples that are no mappings


@pytest.mark.parametrize("make_model", [fresh, mixed, OnlineDummyClassifier])
def test_a_sample_that_is_no_mapping_is_refused(make_model):
    for x in NOT_DICTS:
        for call in CALLS:
            assert_refused(make_model(), TypeError, [x], call, x)


# Labels


def assert_label_refused(model, error, label):
    """A label is rejected whatever comes with it, including new features and weight zero."""
    for x in (good_row(model), good_row(model) | {"new": 1.0}, {}):
        for w in (0, 1):
            assert_refused(model, error, [label], learn, x, label, w=w)


BAD_LABELS = [(label, ValueError) for label in MISSING_LABELS]
BAD_LABELS += [(label, TypeError) for label in UNHASHABLE_LABELS]


@pytest.mark.parametrize(("label", "error"), BAD_LABELS, ids=short)
def test_a_missing_or_unhashable_label_is_refused(label, error):
    assert_label_refused(mixed(), error, label)
    dummy = OnlineDummyClassifier()
    learn(dummy, {}, "a")
    for w in (0, 1):
        assert_refused(dummy, error, [label], learn, {}, label, w=w)


@stages
def test_bad_labels_are_refused_at_every_stage(make_model):
    model = make_model()
    assert_label_refused(model, ValueError, None)
    assert_label_refused(model, TypeError, ["a"])
    if len(model._labels):
        assert_label_refused(model, ValueError, "third")


def test_the_error_of_one_label_too_many_names_the_limit_and_the_labels_seen():
    with pytest.raises(ValueError, match=r"n_classes=2.*\[0, 1\]"):
        numeric().learn_one({}, "third")


# Weights

BAD_WEIGHTS = [(w, ValueError) for w in OUT_OF_RANGE_WEIGHTS]
BAD_WEIGHTS += [(w, TypeError) for w in NOT_WEIGHTS]


def assert_weight_refused(model, error, w):
    """A weight is rejected whatever comes with it."""
    for x in (good_row(model), good_row(model) | {"new": 1.0}, {}):
        assert_refused(model, error, [w], learn, x, w=w)


@pytest.mark.parametrize(("w", "error"), BAD_WEIGHTS, ids=short)
def test_a_weight_out_of_range_or_no_number_is_refused(w, error):
    assert_weight_refused(mixed(), error, w)
    assert_refused(OnlineDummyClassifier(), error, [w], learn, {}, w=w)


@stages
def test_bad_weights_are_refused_at_every_stage(make_model):
    model = make_model()
    assert_weight_refused(model, ValueError, -1)
    assert_weight_refused(model, TypeError, None)


@stages
def test_weight_zero_changes_nothing(make_model):
    model = make_model()
    row = good_row(model)
    before = pickle.dumps(model)
    model.learn_one(row, 0, w=0)
    model.learn_one(row | {"new": 1.0}, 0, w=0.0)
    model.learn_one(row | {"new": "red"}, 0, w=False)
    model.learn_one({"size": 1e9, "width": -1e9}, 0, w=0)
    model.learn_one({}, 0, w=0)
    assert pickle.dumps(model) == before


def test_weight_zero_adds_neither_a_label_nor_a_category():
    model = AMFClassifier()
    learn(model, {"color": "red"}, "a")
    before = pickle.dumps(model)
    model.learn_one({"color": "blue"}, "b", w=0)
    assert pickle.dumps(model) == before


def assert_learns_with_weight(model, w):
    """A stream with such weights yields probabilities."""
    for i in range(20):
        model.learn_one({"size": i % 5}, i % 2, w=w)
        proba = model.predict_proba_one({"size": i % 5})
        assert sum(proba.values()) == pytest.approx(1.0, abs=1e-9), w


every_kind = pytest.mark.parametrize(
    "kind", [AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier]
)


@every_kind
def test_weights_of_any_size_lead_to_probabilities(kind):
    for w in (5e-324, 1e-300, 1e-9, 1e9, 1e100, 1e300):
        assert_learns_with_weight(kind(), w)


@every_kind
def test_the_largest_weights_are_refused_or_lead_to_probabilities(kind):
    for w in (1e307, 1.7e308):
        model = kind()
        try:
            learn(model, {}, w=w)
        except ValueError as error:
            assert repr(w) in str(error)
            assert pickle.dumps(model) == pickle.dumps(kind())
        else:
            assert_learns_with_weight(model, w)


# Fresh models


def test_prediction_before_the_first_sample_refuses_a_bad_value():
    for call in (predict, predict_proba):
        for value, error in [(math.inf, ValueError), ([1.0], TypeError)]:
            assert_refused(fresh(), error, ["new", value], call, {"new": value})


# The input itself


@stages
def test_input_is_never_mutated(make_model):
    for kind in (dict, OrderedDict, lambda x: defaultdict(float, x), Counter):
        model = make_model()
        for original in ({}, {"size": 2.0}, {"new": 1.0, "size": None}, good_row(model)):
            x = kind(original)
            model.predict_proba_one(x)
            model.predict_one(x)
            model.learn_one(x, 0)
            model.learn_one(x, 1, w=0)
            assert dict(x) == original, type(x)
            assert list(x) == list(original), type(x)


@stages
def test_empty_dicts_learn(make_model):
    model = make_model()
    for _ in range(100):
        model.learn_one({}, 1)
    assert model.predict_one({}) == 1
    assert model.predict_proba_one({})[1] > 0.6


def test_a_stream_of_empty_dicts_predicts_the_frequencies():
    model, dummy = AMFClassifier(), OnlineDummyClassifier()
    for i in range(50):
        model.learn_one({}, "abca"[i % 4])
        dummy.learn_one({}, "abca"[i % 4])
    assert model.predict_proba_one({}) == pytest.approx(dummy.predict_proba_one({}), abs=1e-12)


# Numbers, categories and missing values of all types


def answers(samples, labels, **parameters):
    """Return the test-then-train predictions."""
    model = AMFClassifier(n_estimators=3, seed=42, **parameters)
    result = []
    for x, label in zip(samples, labels, strict=True):
        result.append(list(model.predict_proba_one(x).values()))
        model.learn_one(x, label)
    return result


def noisy_labels(values, threshold):
    rng = random.Random(5)
    return [(value > threshold) ^ (rng.random() < 0.1) for value in values]


NUMBER_TYPES = [
    int,
    float,
    np.int8,
    np.int16,
    np.int64,
    np.uint8,
    np.float16,
    np.float32,
    np.float64,
    np.longdouble,
    decimal.Decimal,
    fractions.Fraction,
]


def test_a_number_is_a_number_whatever_its_type():
    values = [i * i % 23 for i in range(200)]
    labels = noisy_labels(values, 11)
    expected = answers([{"v": float(v), "w": v % 5} for v in values], labels)
    for kind in NUMBER_TYPES:
        samples = [{"v": kind(v), "w": kind(v % 5)} for v in values]
        assert answers(samples, labels) == expected, kind


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_a_boolean_is_a_number(kind):
    values = [i * i % 3 == 1 for i in range(200)]
    labels = noisy_labels(values, 0)
    expected = answers([{"v": float(v)} for v in values], labels)
    assert answers([{"v": kind(v)} for v in values], labels) == expected


class Suit(enum.Enum):
    CLUBS = "c"
    HEARTS = "h"
    SPADES = "s"


@pytest.mark.parametrize(
    "categories",
    [
        [b"c", b"h", b"s"],
        [("c", 1), ("h", 2), ()],
        [frozenset("c"), frozenset("h"), frozenset()],
        list(Suit),
        [pd.Interval(0, 1), pd.Interval(1, 2), pd.Interval(2, 3)],
        ["c", b"h", ("s",)],
        ["", "nan", "None"],
    ],
    ids=short,
)
def test_a_category_is_a_category_whatever_its_type(categories):
    values = [i * i % 7 % 3 for i in range(200)]
    labels = noisy_labels(values, 0)
    expected = answers([{"c": "chs"[v], "v": v} for v in values], labels)
    assert answers([{"c": categories[v], "v": v} for v in values], labels) == expected


@pytest.mark.parametrize(
    "missing",
    [
        *(math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s"), np.ma.masked),
        *(np.timedelta64("NaT"), decimal.Decimal("nan"), complex("nan"), np.complex128("nan")),
    ],
    ids=short,
)
def test_all_kinds_of_missing_values_are_like_an_absent_key(missing):
    absent, present = [], []
    for i in range(200):
        x = {"v": i * i % 23, "w": i % 4, "c": "red" if i % 3 else "tan"}
        gaps = [name for name, every in [("v", 5), ("c", 7), ("w", 11)] if i % every == 0]
        absent.append({name: value for name, value in x.items() if name not in gaps})
        present.append(x | dict.fromkeys(gaps, missing))
    labels = noisy_labels([i * i % 23 for i in range(200)], 11)
    assert answers(present, labels) == answers(absent, labels)


MAPPINGS = [OrderedDict, UserDict, VectorDict, types.MappingProxyType, ChainMap]
MAPPINGS += [lambda x: defaultdict(float, x)]


@pytest.mark.parametrize("kind", MAPPINGS, ids=lambda kind: kind.__name__)
def test_any_mapping_is_a_sample(kind):
    samples = [{"v": i * i % 23, "c": "red" if i % 3 else "tan"} for i in range(200)]
    if kind is VectorDict:  # which holds numbers only
        samples = [{"v": x["v"], "c": len(x["c"])} for x in samples]
    labels = noisy_labels([x["v"] for x in samples], 11)
    assert answers([kind(x) for x in samples], labels) == answers(samples, labels)
    model, dummy = mixed(), OnlineDummyClassifier()
    assert model.debug_one(kind({"size": 1.0})) == model.debug_one({"size": 1.0})
    dummy.learn_one(kind({"size": 1.0}), 0)
    assert dummy.predict_proba_one(kind({"size": 1.0})) == {0: 1.0}


NAMES = [1, "1", b"1", (1, 2), "late", Suit.CLUBS, None, 2.5]


@given(st.permutations(NAMES))
@settings(max_examples=25)
def test_the_order_of_keys_does_not_matter(names):
    rng = random.Random(6)
    samples = []
    for i in range(30):
        x = {name: rng.random() for name in NAMES if i > 10 or name != "late"}
        samples.append(x | {"1": rng.choice(["red", "tan"]), None: rng.choice(["oak", "elm"])})
    first, second = (AMFClassifier(n_estimators=2, seed=1) for _ in range(2))
    for x in samples:
        shuffled = {name: x[name] for name in names if name in x}
        assert second.predict_proba_one(shuffled) == first.predict_proba_one(x)
        first.learn_one(x, x[1] > 0.5)
        second.learn_one(shuffled, x[1] > 0.5)
    assert pickle.dumps(second) == pickle.dumps(first)


@pytest.mark.parametrize(
    "labels",
    [
        (True, False),
        (np.bool_(True), np.bool_(False)),
        (1, 0),
        (np.int64(1), np.int64(0)),
        (0.5, -0.5),
        ("yes", "no"),
        (b"yes", b"no"),
        (("yes", 1), ()),
        (frozenset({1}), frozenset()),
        (Suit.CLUBS, Suit.HEARTS),
        ("yes", 0),
        ("nan", "None"),
    ],
    ids=short,
)
def test_a_label_may_be_any_hashable(labels):
    model = AMFClassifier(n_estimators=3, seed=42)
    for i in range(40):
        model.learn_one({"v": i % 10}, labels[i % 10 < 5])
    assert model.predict_one({"v": 1}) == labels[1]
    assert model.predict_one({"v": 8}) == labels[0]
    assert set(model.predict_proba_one({"v": 8})) == set(labels)


def test_numpy_and_python_booleans_are_one_label():
    model = AMFClassifier(n_classes=2)
    for i in range(20):
        model.learn_one({"v": i}, (bool, np.bool_)[i % 2](i % 4 < 2))
    assert set(model.predict_proba_one({"v": 1})) == {True, False}


# Numbers of all sizes

SCALES = {
    "timestamps a minute apart": lambda u: 1.7e9 + 60 * round(100 * u),
    "microseconds of timestamps": lambda u: 1.7e9 + 1e-6 * round(100 * u),
    "identifiers": lambda u: 2**53 - round(1000 * u),
    "1e-12": lambda u: 1e-12 * u,
    "1e-300": lambda u: 1e-300 * u,
    "denormal": lambda u: 5e-324 * round(100 * u),
    "1e39": lambda u: 1e39 * u,
    "1e300": lambda u: 1e300 * u,
    "up to ±1.7e308": lambda u: 1.7e308 * (2 * u - 1),
    "exactly ±1.7e308": lambda u: math.copysign(1.7e308, u - 0.5),
    "largest and smallest": lambda u: 1.7976931348623157e308 if u > 0.5 else 5e-324,
}
scales = pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)


def toy_stream(scale, n_samples=600):
    rng = random.Random(9)
    for _ in range(n_samples):
        u = rng.random()
        if abs(u - 0.5) > 0.02:
            yield {"v": scale(u)}, u > 0.5


@scales
@pytest.mark.parametrize(
    "parameters",
    [{}, {"split_pure": True}, {"max_nodes": 101}, {"kind": AdaptiveAMFClassifier}],
    ids=["default", "split_pure", "max_nodes", "adaptive"],
)
def test_a_feature_of_any_scale_is_split_on(scale, parameters):
    model = made(**parameters)
    hits = []
    for x, label in toy_stream(scale):
        hits.append(model.predict_one(x) == label)
        model.learn_one(x, label)
    assert np.mean(hits[100:]) > 0.9


@pytest.mark.parametrize("name", [name for name in SCALES if name != "denormal"])
def test_a_feature_of_any_scale_is_split_on_beside_one_of_another(name):
    kinds = [AMFClassifier] + [AdaptiveAMFClassifier] * name.startswith(("1e", "exactly"))
    for kind in kinds:
        model = kind(n_estimators=5, seed=42)
        rng = random.Random(10)
        hits = []
        for x, label in toy_stream(SCALES[name], n_samples=1500):
            x["noise"] = rng.random()
            hits.append(model.predict_one(x) == label)
            model.learn_one(x, label)
        assert np.mean(hits[500:]) > 0.9, kind


@scales
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"split_pure": True},
        {"split_intensity": "relevance"},
        {"split_intensity": "unit", "split_pure": True},
        {"split_intensity": "unit", "kind": AdaptiveAMFClassifier},
        {"split_pure": True, "kind": AdaptiveAMFClassifier},  # by relevance
    ],
    ids=["range", "range, pure", "relevance", "unit, pure", "unit, adaptive", "adaptive, pure"],
)
def test_predictions_stay_finite_and_sum_to_one(scale, parameters):
    model = made(**parameters)
    for i, (x, label) in enumerate(toy_stream(scale, n_samples=200)):
        label = "noise" if i % 10 == 0 else label
        model.learn_one(x | {"other": -x["v"], "unit": i % 7}, label)
        for question in (x, {"v": -x["v"]}, {"v": 1.7976931348623157e308}, {"v": 0.0}):
            proba = model.predict_proba_one(question)
            assert all(0.0 <= p <= 1.0 for p in proba.values())
            assert sum(proba.values()) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("make_model", [mixed, adaptive])
def test_copying_a_model_after_refusals_gives_the_same_future(make_model):
    model = make_model()
    undisturbed = copy.deepcopy(model)
    for i in range(60):
        x = {"size": i % 5, "width": i / 7, "color": "red"}
        for bad in (x | {"size": math.inf}, x | {"color": 1}, x | {"width": [1]}, None):
            with pytest.raises((TypeError, ValueError)):
                model.learn_one(bad, 0)
        model.learn_one(x, i % 2)
        undisturbed.learn_one(x, i % 2)
    assert pickle.dumps(model) == pickle.dumps(undisturbed)
