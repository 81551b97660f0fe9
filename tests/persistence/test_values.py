"""Labels, names of features and categories: what a file keeps with its type, and refuses."""

import datetime as dt
import enum
import math
import uuid
import zoneinfo
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from files import reloaded
from forests import STREAM, learn

from river_amf import AMFClassifier
from river_amf.inputs.kinds import Number
from river_amf.persistence import FileError
from river_amf.persistence.values import from_json

Color = enum.Enum("Color", {"RED": 1})
Shade = enum.StrEnum("Shade", {"RED": "red"})
Size = enum.IntEnum("Size", {"LARGE": 3})
EAST = dt.timezone(dt.timedelta(hours=2))
TIMES = [
    *(dt.date(2020, 1, 31), dt.time(5, 30), dt.time(5, tzinfo=EAST), dt.timedelta(-1, 2, 3)),
    *(dt.datetime(2020, 1, 31, 5, 0, 0, 7), dt.datetime(1, 1, 1)),
    *(dt.datetime(2020, 1, 31, tzinfo=dt.UTC), dt.datetime(2020, 1, 31, tzinfo=EAST)),
]


NUMPY = [
    *(np.dtype(name).type(5) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
    *(np.dtype(name).type(0.1) for name in ("f2", "f4", "f8")),
    *(np.bool_(True), np.uint64(2**64 - 1), np.float32("-inf")),
]
VALUES = [
    *("", "a", "1", "ä\n\x00", "\ud800", "\U0001f600", "NaN", "null"),
    *(True, False, 0, 1, -1, 2**63 - 1, 2**63, -(2**63), 10**4000, -(10**40)),
    *(0.0, -0.0, 1.0, 0.1, 5e-324, 1.7e308, math.inf, -math.inf),
    *((), (1,), ("a", (None, True, 1.0, (np.int64(3),))), ("tuple", ("a",)), ("int", "0x1")),
    *NUMPY,
    *TIMES,
    *(b"", b"a\0", (b"a", (dt.date(1, 1, 1),))),
]
# values of subclasses, and what they hold
HELD = {np.str_("text"): "text", np.str_("\0"): "\0", np.bytes_(b"a"): b"a"}
HELD |= {Shade.RED: "red", Size.LARGE: 3}
OTHERS = [
    *(frozenset([1]), Color.RED, 1j, object, len, range(3), uuid.UUID(int=1), pd.Interval(0, 1)),
    *(Fraction(1, 3), Decimal("0.1"), (1, (1j,)), (math.nan,), (np.float64("nan"),)),
    *(dt.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris")), pd.Timestamp("2020")),
    *(pd.Period("2020"), pd.Timedelta(5), np.datetime64(1, "s"), np.timedelta64(1, "s")),
    *(np.complex64(1), np.longdouble(1) if np.dtype("g").itemsize > 8 else 1j),
]


def names_in(model):
    """Everything in a forest that came from the user, with its type, down to the sign of zeros."""
    features = model._features
    categories = [value for name in features for value in features.categories(name) or ()]
    return [(type(value), repr(value)) for value in [*model._labels, *features, *categories]]


@pytest.mark.parametrize("kind", dict.fromkeys(map(type, VALUES)), ids=lambda kind: kind.__name__)
def test_values_come_back_with_their_type(path, kind):
    for value in (value for value in VALUES if type(value) is kind):
        model = AMFClassifier(n_estimators=1, seed=1)
        category = value if isinstance(value, str | tuple | bytes) else (value,)
        model.learn_one({"a": 1, ("name", value): 0.5, "color": category}, value)
        model.learn_one({value: 0.5, "color": "blue"}, ("other", value))
        twin = reloaded(model, path)
        assert names_in(twin) == names_in(model)
        learn(twin, STREAM[:50]).save(path)
        learn(model, STREAM[:50]).save(path.with_name("other"))
        assert path.read_bytes() == path.with_name("other").read_bytes(), ascii(value)[:99]


@pytest.mark.parametrize("role", ["label", "feature", "category"])
def test_other_values_raise_and_touch_no_file(path, role):
    numbers_and_dates = Number | dt.datetime | dt.timedelta | pd.Period  # which are no categories
    for value in OTHERS:
        if role == "category" and isinstance(value, numbers_and_dates):
            continue
        category = (value,) if isinstance(value, np.generic) else value
        x = {value if role == "feature" else "name": 1.0}
        x["color"] = category if role == "category" else "red"
        model = learn(AMFClassifier(1), [(x, value if role == "label" else "a", 1.0)])
        path.write_text("old")
        with pytest.raises(TypeError, match=f"{role}.*: files can hold .*; pickle") as caught:
            model.save(path)
        assert repr(value) in str(caught.value)
        assert [entry.read_text() for entry in path.parent.iterdir()] == ["old"], repr(value)


@pytest.mark.parametrize("value", HELD, ids=lambda value: type(value).__name__)
def test_values_of_subclasses_are_saved_as_builtins(path, value):
    model, twin = (
        learn(AMFClassifier(1), [({each: 0.5, "color": each}, (each,), 1.0)])
        for each in (value, HELD[value])
    )
    assert names_in(reloaded(model, path)) == names_in(twin)


MALFORMED = [
    *([], ["int"], ["int", "1", 2], [5, 5], [["int"], "1"], ["int", 5], ["int", "x"], ["other", 1]),
    *(["float", "nan"], ["float", ["inf"]], ["str", "0"], ["tuple", 5], {}, {"int": 1, "2": 3}),
    *(["int8", 1.5], ["int8", 1000], ["float32", "1"], ["int8", []], ["int8", ["int8", 1]]),
    *(["tuple", [["int"]]], ["bytes", "0"], ["bytes", None], ["date", "2020"], ["date", None]),
    *(["date", "2" * 10**6], ["datetime", "today"], ["time", [5]], ["timedelta", 5]),
    *(["timedelta", [10**20, 0, 0]], ["timedelta", [1, 2]], ["timedelta", [0.5, 0, 0]]),
]


@pytest.mark.parametrize("item", MALFORMED, ids=lambda item: str(item)[:50])
def test_malformed_values_are_refused(item):
    with pytest.raises(FileError, match="does not encode a value"):
        from_json(item)


def test_tuples_too_deep_are_not_saved(path):
    value = "core"
    for _ in range(50):
        value = (value,)
    assert [*reloaded(learn(AMFClassifier(1), [({}, value, 1.0)]), path)._labels] == [value]
    with pytest.raises(TypeError, match="nested up to 50 deep"):
        learn(AMFClassifier(1), [({}, (value,), 1.0)]).save(path)
