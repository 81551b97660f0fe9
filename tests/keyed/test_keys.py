"""Types of keys, and which keys are the same."""

import datetime as dt
import enum
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
