"""What may be a key, and which keys are the same."""

import datetime as dt
import enum
import subprocess
import sys
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_amf.keyed.keys import key_of, key_text, share_of

CEST = dt.timezone(dt.timedelta(hours=2))
MOMENT = dt.datetime(2020, 1, 1, 12)
IN_UTC = dt.datetime(2020, 1, 1, 10, tzinfo=dt.UTC)  # the same in CEST
SAME = [
    (1, 1.0, True, np.int64(1), np.float32(1), np.True_, Decimal("1.0"), Fraction(1)),
    (0, 0.0, -0.0, False),
    (0.5, np.float16(0.5), Decimal("0.5"), Fraction(1, 2)),
    (0.1, np.float64(0.1)),
    (Decimal("0.1"), Fraction(1, 10)),
    (-(2**70), -float(2**70)),
    (float("inf"), np.float32("inf"), Decimal("inf")),
    ("1", np.str_("1"), enum.StrEnum("Key", {"ONE": "1"}).ONE),
    (b"1", np.bytes_(b"1")),
    ((1, "a"), (1.0, np.str_("a"))),
    ("",),
    ("\ud800",),
    (("\ud83d\ude00",),),
    (("\U0001f600",),),
    (Decimal("1e400"), 10**400, Fraction(10**400)),
    (Fraction(10**400, 3),),
    (Decimal("-inf"), -float("inf")),
    (Fraction(1, 10**400),),
    ((),),
    (("a", ("b",)),),
    ("['a']",),
    ('t:["s:a"]',),
    (("a",),),
    (MOMENT, np.datetime64(MOMENT), pd.Timestamp(MOMENT)),
    (MOMENT.replace(tzinfo=CEST), pd.Timestamp(MOMENT, tz=CEST), IN_UTC),
    (MOMENT.date(),),
    (MOMENT.time(),),
    (dt.timedelta(seconds=5), pd.Timedelta(5, "s"), np.timedelta64(5, "s")),
    (uuid.UUID(int=1),),
]  # fmt: skip


def test_equal_keys_have_one_text_and_others_have_another():
    texts = [{key_text(key) for key in keys} for keys in SAME]
    assert [len(own) for own in texts] == [1] * len(SAME)
    assert len(set.union(*texts)) == len(SAME)


@pytest.mark.parametrize("keys", SAME, ids=lambda keys: ascii(keys[0]))
def test_a_key_comes_back_from_its_text(keys):
    found = key_of(key_text(keys[0]))
    assert found == keys[0] and hash(found) == hash(keys[0])
    assert key_text(found) == key_text(keys[0])


KEYS = st.recursive(
    st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.binary(), st.booleans()),
    lambda keys: st.lists(keys, max_size=3).map(tuple),
    max_leaves=4,
)


@pytest.mark.slow
@given(KEYS, KEYS)
def test_texts_are_equal_where_keys_are(one, other):
    assert (key_text(one) == key_text(other)) == (one == other)
    assert key_of(key_text(one)) == one


@pytest.mark.parametrize(
    "key", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("nan"), ("a", None)]
)
def test_a_missing_key_is_refused(key):
    with pytest.raises(ValueError, match="a key must not be missing, got"):
        key_text(key)


@pytest.mark.parametrize(
    "key",
    [
        *([1], {"a": 1}, {1}, frozenset(), 1j, object(), enum.Enum("Key", "A").A, 10**2000, len),
        *(pd.Timestamp(1, unit="ns"), pd.Timedelta(1, unit="ns"), Decimal("1e2000")),
        *(Fraction(1, 10**2000), Fraction(10**2000, 3)),
    ],
)
def test_other_things_are_no_keys(key):
    with pytest.raises(TypeError, match="a key must be text, bytes, a number, a date, a UUID or a"):
        key_text(key)


def test_the_text_of_a_nested_tuple_grows_with_its_depth_only():
    key = '"\\'
    for _ in range(50):
        key = (key, 1)
    assert key_of(key_text(key)) == key and len(key_text(key)) < 1000
    assert key_text((("a", ("b",)), 3)) == 't:[["s:a", ["s:b"]], "i:3"]'
    with pytest.raises(TypeError, match="nested up to 50 deep"):
        key_text((key,))


def test_shares_are_the_same_in_every_process_and_release():
    texts = [f"s:user {i}" for i in range(8)]
    shares = [share_of(text, 5) for text in texts]
    assert shares == [1, 0, 0, 2, 3, 3, 3, 2]
    code = f"from river_amf.keyed.keys import share_of; print([share_of(t, 5) for t in {texts}])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(shares)
    counts = np.bincount([share_of(f"i:{i:x}", 4) for i in range(4000)])
    assert counts.min() > 900
