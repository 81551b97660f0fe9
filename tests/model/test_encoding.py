"""The schema: samples become rows."""

import decimal
import math
from collections import OrderedDict

import numpy as np
import pandas as pd
import pytest
from forests import state_of
from hypothesis import given
from hypothesis import strategies as st

from river_amf.engine.restoring import header_of
from river_amf.inputs.kinds import is_missing
from river_amf.inputs.schema import Schema

ALL_MISSING = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT]
ALL_MISSING += [np.datetime64("NaT", "s"), np.timedelta64("NaT"), decimal.Decimal("nan")]
ALL_MISSING += [np.ma.masked, complex("nan")]
MISSING = st.sampled_from(ALL_MISSING)
NUMBERS = st.integers(-10, 10) | st.floats(allow_infinity=False) | st.booleans()
CATEGORIES = st.text(max_size=2) | st.tuples(st.integers(0, 2))
# each name has values of one kind, as Features requires
SAMPLES = st.fixed_dictionaries(
    {},
    optional={
        "size": NUMBERS | MISSING,
        7: NUMBERS | MISSING,
        "color": CATEGORIES | MISSING,
        ("shape",): CATEGORIES | MISSING,
    },
)


def schema_of(*samples):
    schema = Schema()
    for x in samples:
        schema, _ = schema.admit(schema.read(x, "label"))
    return schema


def test_columns_are_sorted_by_type_and_repr():
    schema = schema_of({"b": 1, (2,): 1, 10: 1, "a": "red", 9: 1, b"z": 1})
    assert list(schema) == [b"z", 10, 9, "a", "b", (2,)]


@given(st.lists(SAMPLES, max_size=5), SAMPLES)
def test_fast_and_slow_encoding_agree(samples, x):
    schema = schema_of(*samples)
    fast = schema.encode(x)
    if fast is not None:
        values = fast.values.copy()
        np.testing.assert_array_equal(values, schema.encode_any(OrderedDict(x)).values)


@given(st.lists(SAMPLES, max_size=5), SAMPLES)
def test_encode_any_gives_value_code_or_nan(samples, x):
    schema = schema_of(*samples, x)
    row = schema.encode_any(x).values[0]
    for name, value in zip(schema, row, strict=True):
        codes = schema.categories(name)
        if is_missing(x.get(name)):
            assert math.isnan(value)
        else:
            assert value == (float(x[name]) if codes is None else codes[x[name]])


@given(SAMPLES)
def test_encode_takes_admitted_samples(x):
    whole = {name: value for name, value in x.items() if not is_missing(value)}
    assert schema_of(whole).encode(whole) is not None


UNCOMMON = [
    {"size": 1.0, "more": 1.0},
    {"more": 1.0},
    {"size": 1.0, "color": "red", "more": 1.0},
    {"size": 1.0, "shape": "red"},
    {"size": 1.0, "color": "unknown"},
    {"size": pd.NA, "color": "red"},
    {"size": None, "color": "unknown"},
    {"size": "1", "color": "red"},
    {"size": 10**400, "color": "red"},
    {"size": [1.0], "color": "red"},
    {"size": 1.0, "color": ["red"]},
    {"size": 1.0, "color": math.nan},
    {"size": "1", "color": None},
    {"size": [1.0]},
    {"size": 1.0, "color": 0},
    OrderedDict(size=1.0, color="red"),
    [1.0, "red"],
    None,
]


def test_encode_returns_none_if_uncommon():
    schema = schema_of({"size": 1.0, "color": "red"})
    assert [x for x in UNCOMMON if schema.encode(x) is not None] == []


@given(st.lists(SAMPLES, max_size=3), SAMPLES)
def test_reading_leaves_the_schema(samples, x):
    schema = schema_of(*samples)
    before = state_of(header_of(schema))
    schema.read_features(x)
    schema.encode_any(x)
    schema.encode(x)
    assert state_of(header_of(schema)) == before


def test_changed_dict_is_encoded_again():
    schema = schema_of({"a": 1.0, "b": 2.0})
    x = {"a": 3.0, "b": 4.0}
    schema.encode_any(x)
    x["b"] = 5.0
    assert schema.encode_any(x).values[0].tolist() == [3.0, 5.0]
    x["b"] = np.array(5.5)
    with pytest.raises((TypeError, ValueError), match="'b'"):
        schema.encode_any(x)
    x["b"] = 6.0
    assert schema.encode_any({"a": 9.0}).values[0, 0] == 9.0
    assert schema.encode_any(x).values[0].tolist() == [3.0, 6.0]
