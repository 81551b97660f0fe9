"""Labels, names of features and categories: what a file keeps with its type, and refuses."""

import contextlib
import datetime as dt
import enum
import json
import math
import uuid
import zoneinfo
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from files import (
    reloaded,
)
from forests import STREAM, learn
from hypothesis import given, settings
from hypothesis import strategies as st

from river_amf import (
    AMFClassifier,
    OnlineDummyClassifier,
)
from river_amf.kinds import Number
from river_amf.persistence.errors import FileError
from river_amf.persistence.headers import outline
from river_amf.persistence.values import from_json


class Color(enum.Enum):
    RED = 1


class Text(str):
    __slots__ = ()


NUMPY = [
    *(np.dtype(name).type(5) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
    *(np.dtype(name).type(0.1) for name in ("f2", "f4", "f8")),
    np.bool_(True),
    np.uint64(2**64 - 1),
    np.float32("-inf"),
    np.longlong(7).astype(np.int64),
]


class Shade(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    LARGE = 3


EAST = dt.timezone(dt.timedelta(hours=2))
TIMES = [
    *(dt.date(2020, 1, 31), dt.time(5, 30), dt.time(5, tzinfo=EAST), dt.timedelta(-1, 2, 3)),
    *(
        dt.datetime(2020, 1, 31, 5, 0, 0, 7),
        dt.datetime(1, 1, 1),
        dt.datetime(2020, 1, 1, 5, fold=1),
    ),
    *(dt.datetime(2020, 1, 31, tzinfo=dt.UTC), dt.datetime(2020, 1, 31, tzinfo=EAST)),
    *(pd.Timestamp("2020-01-31 05:00:00.000000001"), pd.Timestamp(1, unit="s").as_unit("s")),
    *(pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020-01-31T00:00+02:00"), pd.Timedelta(-5)),
    *(np.datetime64("2020-01"), np.datetime64("2020-01-31T05", "us"), np.timedelta64(5, "D")),
]


VALUES = [
    *("", "a", "1", "ä\n\x00", "\ud800", "\ud83d\ude00", "\U0001f600", "NaN", "null"),
    *(True, False, 0, 1, -1, 2**63 - 1, 2**63, -(2**63), 10**4000, -(10**40)),
    *(0.0, -0.0, 1.0, 0.1, 5e-324, 1.7e308, math.inf, -math.inf),
    *((), (1,), ("a", (None, True, 1.0, (np.int64(3),))), ("tuple", ("a",)), ("int", "0x1")),
    *NUMPY,
    *TIMES,
    *(b"", b"a\0", uuid.UUID(int=2**127), Decimal("0.10"), Decimal("-1E+400"), Decimal("Infinity")),
    *(
        Fraction(-1, 3),
        Fraction(2**1024 - 1, 2),
        pd.Interval(0, 1),
        pd.Interval(0.5, math.inf, "left"),
    ),
    *(pd.Interval(pd.Timestamp("2020"), pd.Timestamp("2021"), "both"), (b"a", (dt.date(1, 1, 1),))),
]


# values of subclasses, and what they hold
HELD = {
    **{
        np.str_("text"): "text",
        np.str_("\0"): "\0",
        np.bytes_(b"a"): b"a",
        Text("text 2"): "text 2",
    },
    **{Shade.RED: "red", Size.LARGE: 3},
}


OTHERS = [
    *(frozenset([1]), Color.RED, 1j, object, len, Fraction(2**1024, 3), pd.Period("2020")),
    *(dt.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris")), np.datetime64(1, "25s")),
    *(pd.Timestamp("2020", tz="Europe/Paris"), (Decimal("nan"),), np.complex64(1)),
    *(np.longdouble(1) if np.dtype("g").itemsize > 8 else 1j, (1, (1j,)), (math.nan,)),
    *((np.float64("nan"),), range(3)),
]


def is_same(value, other):
    """Whether two values are equal and of the same type, down to the sign of zeros."""
    if type(value) is not type(other):
        return False
    if isinstance(value, tuple):
        return len(value) == len(other) and all(map(is_same, value, other))
    if isinstance(value, float | np.floating):
        return value == other and math.copysign(1, value) == math.copysign(1, other)
    return value == other


def names_in(model):
    """Everything in a forest that came from the user."""
    features = model._features
    return [
        *model._labels,
        *features,
        *(value for name in features for value in features.categories(name) or ()),
    ]


@pytest.mark.parametrize("kind", dict.fromkeys(map(type, VALUES)), ids=lambda kind: kind.__name__)
def test_labels_names_and_categories_come_back_with_their_type(path, kind):
    for value in (value for value in VALUES if type(value) is kind):
        assert_comes_back(path, value)


def assert_comes_back(path, value):
    """A value is a label, a name and a category after loading, and in the next file."""
    model = AMFClassifier(n_estimators=1, seed=1)
    category = value if isinstance(value, str | tuple | bytes | pd.Interval) else (value,)
    model.learn_one({"a": 1, ("name", value): 0.5, "color": category}, value)
    model.learn_one({value: 0.5, "color": "blue"}, ("other", value))
    twin = reloaded(model, path)
    assert all(map(is_same, names_in(twin), names_in(model))), ascii(value)[:99]
    assert is_same(tuple(twin.predict_proba_one({"a": 1})), (value, ("other", value)))
    learn(twin, STREAM[:50]).save(path)
    learn(model, STREAM[:50]).save(path.with_name("other"))
    assert path.read_bytes() == path.with_name("other").read_bytes(), ascii(value)[:99]


@pytest.mark.parametrize("role", ["label", "feature", "category"])
def test_values_of_other_types_raise_and_touch_no_file(path, role):
    for value in OTHERS:
        if role == "category" and isinstance(value, Number | dt.datetime | pd.Period):
            continue  # a number or a date is no category
        model = AMFClassifier(n_estimators=1)
        category = value if role == "category" else "red"
        if role == "category" and isinstance(value, np.generic):
            category = (value,)
        x = {value if role == "feature" else "name": 1.0, "color": category}
        model.learn_one(x, value if role == "label" else "a")
        path.write_text("old")
        with pytest.raises(TypeError, match=role) as caught:
            model.save(path)
        assert repr(value) in str(caught.value)
        assert [entry.read_text() for entry in path.parent.iterdir()] == ["old"], repr(value)


@pytest.mark.parametrize("value", HELD, ids=lambda value: type(value).__name__)
def test_values_of_subclasses_are_learnt_and_saved_as_what_they_hold(path, value):
    held = HELD[value]
    model, twin = (AMFClassifier(n_estimators=1, seed=1) for _ in range(2))
    for learner, each in ((model, value), (twin, held)):
        learner.learn_one({"a": 1, each: 0.5, "color": each}, each)
        learner.learn_one({"a": 2, held: 0.7, "color": held}, held)
        learner.learn_one({"a": 2, value: 0.7, "color": value}, value)
    model.save(path)
    twin.save(path.with_name("other"))
    assert path.read_bytes() == path.with_name("other").read_bytes()
    for each in (model, reloaded(model, path)):
        assert list(each.predict_proba_one({each: 0.6})) == [held]
        assert type(each.predict_one({})) is type(held)
        if isinstance(held, str | bytes):
            assert [*map(type, each._features.categories("color"))] == [type(held)]
    dummy = OnlineDummyClassifier()
    dummy.learn_one({}, value)
    dummy.learn_one({}, held)
    assert repr(dummy.predict_proba_one({})) == repr({held: 1.0})


def test_values_of_subclasses_within_tuples_are_saved_as_what_they_hold(path):
    model = learn(OnlineDummyClassifier(), [({}, (Shade.RED, (Size.LARGE,)), 1.0)])
    assert repr([*reloaded(model, path)._labels]) == "[('red', (3,))]"


MALFORMED = [
    *(["UUID", 5], ["UUID", "x"], ["bytes", "0"], ["bytes", None], ["Decimal", "sNaN"]),
    *(["Decimal", "nan"], ["Decimal", 1], ["Decimal", "one"], ["Fraction", ["0x1", "0x0"]]),
    *(["Fraction", ["0x1"]], ["Fraction", ["0x1", hex(2**1024)]], ["Fraction", [1, 2]]),
    *(["date", "2020"], ["date", None], ["datetime", "today"], ["time", [5]], ["timedelta", 5]),
    *(["timedelta", [1, 2]], ["timedelta", [1, 2, 3, 4]], ["timedelta", [10**20, 0, 0]]),
    *(["Timestamp", [0, "s", 10**9]], ["Timestamp", [-(2**63), "ns"]], ["Timestamp", "2020"]),
    *(["Timestamp", [0, "s", "UTC"]], ["Timedelta", [5, "M"]], ["Timedelta", [2**62, "Y"]]),
    *(["datetime64", [1, "generic"]], ["datetime64", [10**30, "s"]], ["timedelta64", [0.5, "s"]]),
    *(["Interval", [1, 0, "right"]], ["Interval", ["a", "b", "right"]], ["Interval", [0, 1]]),
    *(["Interval", [0, 1, "in"]], ["Interval", [0, 1, "left", 2]], ["Interval", 5]),
]


@pytest.mark.parametrize("item", MALFORMED, ids=str)
def test_what_no_value_is_written_as_is_refused(item):
    with pytest.raises(FileError, match="does not encode a value"):
        from_json(item)
    with pytest.raises(FileError, match="does not encode a value"):
        from_json(outline(json.dumps({"item": item}))["item"])


@pytest.mark.parametrize(
    "item",
    [
        *(["Decimal", "3" * 10**6], ["Decimal", "1e999999999999999999"], ["bytes", "ab" * 10**6]),
        *(["date", "2" * 10**6], ["Fraction", ["0x" + "f" * 10**6, "0x" + "e" * 10**6]]),
    ],
    ids=lambda item: item[0],
)
def test_long_values_take_no_longer_than_their_length(item):
    with contextlib.suppress(FileError):
        hash(from_json(item))


def test_tuples_too_deep_are_refused_when_they_are_saved(path):
    for depth, fits in ((50, True), (51, False), (10_000, False)):
        value = "core"
        for _ in range(depth):
            value = (value,)
        model = learn(OnlineDummyClassifier(), [({}, value, 1.0)])
        if fits:
            assert [*reloaded(model, path)._labels] == [value]
        else:
            with pytest.raises(TypeError, match="nested up to 50 deep"):
                model.save(path)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=())),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats(allow_nan=False, width=16).map(np.float16),
    st.floats(allow_nan=False).map(np.float64),
    st.datetimes(),
    st.dates(),
    st.timedeltas(),
    st.uuids(),
    st.binary(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.booleans().map(np.bool_),
)


ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple))


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(ANYTHING, unique=True, max_size=8), st.lists(ANYTHING, unique=True, max_size=8))
def test_any_labels_and_categories_come_back(tmp_path_factory, labels, categories):
    model = AMFClassifier(n_estimators=1, seed=1)
    for label in labels or ["a"]:
        if label is not None:
            for category in categories:
                model.learn_one({"color": ("a", category), ("f", category): 1}, label)
    twin = reloaded(model, tmp_path_factory.mktemp("any") / "model.amf")
    assert len(names_in(twin)) == len(names_in(model))
    assert all(map(is_same, names_in(twin), names_in(model)))
