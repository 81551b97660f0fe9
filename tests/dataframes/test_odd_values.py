"""Blocks of odd values teach what their rows teach one by one, or are refused alike."""

import datetime
import decimal
import enum
import fractions
import math
import pickle
from collections import namedtuple

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import fresh, objects

Pair = namedtuple("Pair", "a b")


class One(enum.IntEnum):
    """An integer of another type."""

    ONE = 1


class Two(enum.StrEnum):
    """Text of another type."""

    A = "a"
    B = "b"


NUMBERS = [1, 1.0, True, 0, 0.0, -0.0, False, 2**53, 2**53 + 1, float(2**53), 2**63, 2**64]
NUMBERS += [0.1, np.float16(0.1), np.float32(0.1), np.float64(0.1), np.bool_(True), One.ONE]
NUMBERS += [decimal.Decimal(3), decimal.Decimal("3.0"), decimal.Decimal("0.1"), 3]
NUMBERS += [fractions.Fraction(1), fractions.Fraction(1, 10), np.int64(1), np.uint64(2**63)]
GAPS = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, decimal.Decimal("nan"), np.ma.masked]
GAPS += [complex("nan"), np.timedelta64("NaT"), np.datetime64("NaT")]
OTHERS = ["", "a", "1", b"a", np.str_("a"), np.bytes_(b"a"), "\ud800", Two.A, Two.B]
OTHERS += [("a", math.nan), (1,), (True,), (1.0,), Pair(1, 2), (1, 2), frozenset({math.nan})]
OTHERS += [(decimal.Decimal("nan"),), pd.Interval(0, 1), int]
TIMES = [pd.Timestamp("2020"), pd.Timedelta(5), datetime.date(2020, 1, 1), datetime.time(5)]
TIMES += [pd.Period("2020"), np.timedelta64(1, "s"), np.datetime64("2020")]
BAD = [math.inf, 10**400, decimal.Decimal("sNaN"), 1j, complex(1), [1], {"a": 1}]
BAD += [np.array([1.0]), np.array(1.0), ("a", [1])]


def any_of(*lists):
    """Draw a value by its place, as Hypothesis would compare the values."""
    values = [value for values in lists for value in values]
    return st.integers(0, len(values) - 1).map(values.__getitem__)


# each time another NaN, which a dict takes for another value
OTHER_NAN = st.builds(lambda: ("a", float("nan"))) | st.builds(lambda: frozenset({float("nan")}))
LABELS = any_of(NUMBERS, OTHERS, TIMES) | OTHER_NAN
CATEGORIES = any_of(OTHERS, GAPS) | OTHER_NAN
WEIGHTS = st.sampled_from([1.0, 1.0, 2.0, 0.0])
GOOD = st.tuples(any_of(NUMBERS, GAPS), CATEGORIES, LABELS, WEIGHTS)
ANY = any_of(NUMBERS, OTHERS, GAPS, TIMES, BAD) | OTHER_NAN
MIXED = st.tuples(ANY, ANY, ANY, WEIGHTS)
KNOWN = [({"a": 1.0, "b": "a"}, 1), ({"a": 2.0, "b": OTHERS[8]}, OTHERS[8])]


def learn_one_by_one(model, rows):
    """Return the first error, as a block tells it."""
    for i, (a, b, label, weight) in enumerate(rows):
        try:
            model.learn_one({"a": a, "b": b}, label, w=weight)
        except (TypeError, ValueError) as error:
            return type(error), f"row {i}: {error}"
    return None


def learn_block(model, rows):
    """Return the error."""
    a, b, labels, weights = map(list, zip(*rows, strict=True))
    X = pd.DataFrame({"a": objects(*a), "b": objects(*b)})
    for y in (labels, objects(*labels)):
        before = pickle.dumps(model)
        try:
            model.learn_many(X, y, weights)
        except (TypeError, ValueError) as error:
            result = type(error), str(error)
            assert pickle.dumps(model) == before
        else:
            return None
    return result


def answer(model, x):
    """Return the probabilities or the error."""
    try:
        return list(model.predict_proba_one(x).values())
    except (TypeError, ValueError) as error:
        return str(error)


def assert_alike(rows, n_classes, known):
    """Check that a block does what its rows do."""
    one, block = (fresh(n_classes=n_classes, n_estimators=2) for _ in range(2))
    for x, label in known:
        one.learn_one(x, label)
        block.learn_one(x, label)
    expected = learn_one_by_one(one, rows)
    assert learn_block(block, rows) == expected
    if expected is None:
        # the very same objects, and the same trees
        for left, right in zip(knowledge(one), knowledge(block), strict=True):
            assert [*map(identity, left)] == [*map(identity, right)]
        for x in QUESTIONS:
            assert answer(one, x) == answer(block, x)
    return expected


QUESTIONS = [{"a": a, "b": b} for a in (0.1, 2.0**53, None) for b in ("a", OTHERS[8], (1,), None)]


def identity(value):
    """Tell which object this is, or what it holds if it may be a copy of text, say."""
    return (type(value), value) if type(value) in (str, bytes, int, float) else id(value)


def knowledge(model):
    """List the labels and the categories that a model knows."""
    features = model._features
    return [model._labels, *(features.categories(name) or () for name in features)]


@given(st.lists(GOOD, min_size=1, max_size=8), st.sampled_from([[], KNOWN]))
@settings(max_examples=60, deadline=None)
def test_a_block_of_odd_values_teaches_what_its_rows_teach(rows, known):
    known = known if all(type(b) is not float for _, b, _, _ in rows) else []
    assert assert_alike(rows, None, known) is None


@given(
    st.lists(MIXED, min_size=1, max_size=5),
    st.sampled_from([None, 2, 3]),
    st.sampled_from([[], KNOWN]),
)
@settings(max_examples=120, deadline=None)
def test_a_block_of_odd_values_is_refused_as_its_rows_are(rows, n_classes, known):
    assert_alike(rows, n_classes, known)
