"""Types of keys, and which keys are the same."""

import datetime as dt
import enum
import subprocess
import sys
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_amf.keyed.keys import key_of, key_text, share_of

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


@pytest.mark.parametrize("key", [None, float("nan"), pd.NA, pd.NaT, ("a", None)])
def test_missing_key_is_refused(key):
    with pytest.raises(ValueError, match="a key must not be missing, got"):
        key_text(key)


OTHERS = [
    *([1], {"a": 1}, 1j, object(), 0.5, float("inf"), b"a", Decimal(1), dt.time(), (("a",),)),
    *(pd.Timestamp(1, unit="ns"), np.timedelta64(1, "s"), enum.Enum("Key", "A").A),
]


@pytest.mark.parametrize("key", OTHERS)
def test_other_types_are_refused(key):
    with pytest.raises(TypeError, match=r"a key must be text, a whole .*; convert it to str"):
        key_text(key)


def test_key_that_cannot_be_written_is_refused():
    for key in ("\ud800", 10**5000, ("a", "\udc00")):
        with pytest.raises(ValueError, match=r"the key .* cannot be written as text"):
            key_text(key)


def test_shares_are_the_same_in_every_process():
    texts = [key_text(f"user {i}") for i in range(8)]
    code = f"from river_amf.keyed.keys import share_of; print([share_of(t, 5) for t in {texts}])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == str([share_of(text, 5) for text in texts])
    assert np.bincount([share_of(str(i), 4) for i in range(4000)]).min() > 900
