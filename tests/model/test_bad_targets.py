"""Bad targets, levels and weights of the forests for numbers leave no trace; odd targets work."""

import decimal
import enum
import fractions
import math
import pickle
from collections import OrderedDict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forests import pickled
from regressors import ends, fresh, kinds

from river_amf import AdaptiveAMFRegressor, AMFRegressor


def short(value):
    """Name a case briefly, because some numbers here have 400 digits."""
    return type(value).__name__ + repr(value)[:20] if type(value) is not Unprintable else "no repr"


class Unprintable:
    """Has no repr."""

    def __repr__(self):
        raise RuntimeError("no repr")


class HasFloat:
    """Converts to a number, but is none."""

    def __float__(self):
        return 1.0


class Once(fractions.Fraction):
    """A number that converts only once."""

    turns = 0

    def __float__(self):
        self.turns += 1
        if self.turns > 1:
            raise RuntimeError("converted twice")
        return 1.0


class Level(enum.IntEnum):
    LOW = 3


def started(kind, n_samples=60):
    model = fresh(kind=kind)
    for i in range(n_samples):
        model.learn_one({"a": i % 7, "color": ["red", "tan"][i % 2]}, 1.5 * i)
    return model


MISSING = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.ma.masked, np.timedelta64("NaT")]
MISSING += [decimal.Decimal("nan"), decimal.Decimal("sNaN")]
INFINITE = [math.inf, -math.inf, np.float16("inf"), decimal.Decimal("Infinity"), 10**400]
INFINITE += [decimal.Decimal("1e400"), fractions.Fraction(-(10**400)), np.longdouble("1e4000")]
NO_NUMBERS = ["5", "", b"5", np.str_("5"), 1j, np.complex128(1), [1.0], (1.0,), {}, {1.0}]
NO_NUMBERS += [np.array(1.0), np.array([1.0]), np.timedelta64(5), np.datetime64("2020-01-01")]
NO_NUMBERS += [pd.Timestamp("2020"), pd.Timedelta(1), HasFloat(), Unprintable(), pd.Interval(0, 1)]
TOO_FAR = [1e101, -1.7e308, 10**150, fractions.Fraction(10**101)]


@kinds
@pytest.mark.parametrize("n_samples", [0, 60])
@pytest.mark.parametrize("y", [*MISSING, *INFINITE, *NO_NUMBERS, *TOO_FAR], ids=short)
def test_a_bad_target_is_refused_whatever_comes_with_it(kind, n_samples, y):
    model = started(kind, n_samples)
    if any(y is far for far in TOO_FAR) and not n_samples:
        return  # the first target may be anywhere
    before = pickle.dumps(model)
    known, new = {"a": 1.0, "color": "red"}, {"news": 1.0, "color": "new"}
    for x in (known, new, {}, OrderedDict(known)):
        for w in (1.0, 0.0, 2.5):
            with pytest.raises((TypeError, ValueError), match=r"y must be .*, got "):
                model.learn_one(x, y, w)
            assert pickle.dumps(model) == before
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "color": ["red", "new", "newer", "red"]})
    targets = [1.0, 2.0, y, y]
    column = np.empty(4, object)
    for row, target in enumerate(targets):
        column[row] = target
    for given in (targets, column, pd.Series(column, index=[*"dcba"])):
        for w in (None, [1, 1, 0, 1]):
            for call in (model.learn_many, model.predict_then_learn_many):
                with pytest.raises((TypeError, ValueError), match=r"^row 2: y must be "):
                    call(X, given, w)
                assert pickle.dumps(model) == before


COLUMNS_WITH_A_GAP = [
    pl.Series([1, 2, None, 4]),
    pl.Series([1.0, 2.0, math.nan, 4.0]),
    pa.array([1.0, 2.0, None, 4.0]),
    pd.Series([1, 2, None, 4], dtype="Int64"),
    pd.Series([1.0, 2.0, math.nan, 4.0]),
    pd.Series([True, False, None, True], dtype="boolean"),
    np.ma.array([1.0, 2.0, 3.0, 4.0], mask=[0, 0, 1, 0]),
    np.ma.array([1, 2, 3, 4], mask=[0, 0, 1, 0]),
    np.array([1.0, 2.0, math.inf, 4.0], np.float32),
    np.array(["1", "2", "1e4000", "4"], np.longdouble),
]


@kinds
@pytest.mark.parametrize(
    "y",
    COLUMNS_WITH_A_GAP,
    ids=lambda y: f"{type(y).__name__} {y.dtype}" if hasattr(y, "dtype") else type(y).__name__,
)
def test_the_row_of_a_missing_or_infinite_target_is_named(kind, y):
    model = started(kind)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"^row 2: y must be a finite number, got "):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}), y)
    assert pickle.dumps(model) == before


NO_COLUMNS = [
    (pd.DataFrame({"y": [1.0, 2.0]}), TypeError),
    (np.ones((2, 1)), ValueError),
    ([1.0], ValueError),
    ([1.0, 2.0, 3.0], ValueError),
    ({0: 1.0, 1: 2.0}, TypeError),
    ("12", TypeError),
    (1.0, TypeError),
    (None, TypeError),
    (iter([1.0, 2.0]), TypeError),
    (pd.Series(["1", "2"]), TypeError),
    (pd.Series(pd.date_range("2020", periods=2)), TypeError),
    (np.array([1, 2], "m8[s]"), TypeError),
    (np.array([1 + 0j, 2 + 0j]), TypeError),
]


@kinds
@pytest.mark.parametrize(("y", "error"), NO_COLUMNS, ids=lambda value: type(value).__name__)
def test_what_is_no_column_of_numbers_is_refused(kind, y, error):
    model = started(kind)
    before = pickle.dumps(model)
    with pytest.raises(error, match="y"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), y)
    assert pickle.dumps(model) == before


# Odd targets that are numbers

ODD = [0, -0.0, True, np.bool_(True), np.int8(-3), np.uint64(2**64 - 1), 2**70, -(10**99), 5e-324]
ODD += [np.float16(1.5), np.float32(1.1), np.longdouble("1.1"), Level.LOW]
ODD += [decimal.Decimal("1.1"), fractions.Fraction(1, 3)]


@kinds
@pytest.mark.parametrize("n_samples", [0, 60])
@pytest.mark.parametrize("y", ODD, ids=short)
def test_a_number_of_any_type_is_learned_as_its_float(kind, n_samples, y):
    model, twin = started(kind, n_samples), started(kind, n_samples)
    model.learn_one({"a": 1.0}, y)
    twin.learn_one({"a": 1.0}, float(y))
    assert pickle.dumps(model) == pickle.dumps(twin)
    frame = pd.DataFrame({"a": [2.0, 3.0]})
    for x in frame.to_dict("records"):
        twin.learn_one(x, float(y))
    content = pickle.dumps(model)
    for column in ([y, y], (y, y), np.array([y, y]), pd.Series([y, y], dtype=object)):
        model = pickle.loads(content)
        model.learn_many(frame, column)
        assert pickle.dumps(model) == pickle.dumps(twin), type(column)


@kinds
@pytest.mark.parametrize("n_samples", [0, 60])
def test_a_target_is_read_only_once(kind, n_samples):
    models = [started(kind, n_samples) for _ in range(3)]
    models[0].learn_one({"a": 1.0, "new": 2.0}, Once(1))
    models[1].learn_one({"a": 1.0, "new": 2.0}, 1.0)
    models[2].learn_many(pd.DataFrame({"a": [1.0], "new": [2.0]}), [Once(1)])
    assert len({pickle.dumps(model) for model in models}) == 1


ODD_COLUMNS = [
    *(
        pl.Series([1, 2, 3]),
        pl.Series([True, False, True]),
        pl.Series([decimal.Decimal("1.5")] * 3),
    ),
    *(pa.array([1.0, 2.0, 3.0]), pa.chunked_array([[1], [2, 3]])),
    *(pd.array([1, 2, 3], dtype="Int8"), pd.Series([1, 2, 3], dtype="int64[pyarrow]")),
    *(pd.Series([1, 2, 3], dtype="category"), pd.Index([1, 2, 3]), range(3), (1, 2.5, True)),
    *(np.array([1, 2, 3], ">f4"), np.ma.array([1.0, 2.0, 3.0]), pd.arrays.SparseArray([0.0, 1, 0])),
]


@kinds
@pytest.mark.parametrize("y", ODD_COLUMNS, ids=lambda y: type(y).__name__)
def test_a_column_of_any_library_is_learned_as_its_floats(kind, y):
    model, twin = started(kind), started(kind)
    model.learn_many(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), y)
    listed = y.to_pylist() if hasattr(y, "to_pylist") else list(y)
    for a, target in zip([1.0, 2.0, 3.0], listed, strict=True):
        twin.learn_one({"a": a}, float(target))
    assert pickle.dumps(model) == pickle.dumps(twin)


@kinds
def test_rows_of_a_block_are_matched_by_their_place_not_by_their_index(kind):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[5, 5, 0])
    shuffled = pd.Series([10.0, 20.0, 30.0], index=[0, 5, 7])
    model, twin = fresh(kind=kind), fresh(kind=kind)
    predictions = model.predict_then_learn_many(frame, shuffled)
    assert list(predictions.index) == [5, 5, 0]
    assert list(model.predict_interval_many(frame).index) == [5, 5, 0]
    for a, y in zip(frame.a, shuffled, strict=True):
        twin.learn_one({"a": a}, y)
    assert pickled(model) == pickled(twin)


@kinds
def test_columns_of_one_name_are_refused(kind):
    model = started(kind)
    before = pickle.dumps(model)
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    for call in (
        lambda: model.learn_many(frame, [1.0]),
        lambda: model.predict_then_learn_many(frame, [1.0]),
        lambda: model.predict_many(frame),
        lambda: model.predict_interval_many(frame),
    ):
        with pytest.raises(ValueError, match="a"):
            call()
    assert pickle.dumps(model) == before


@kinds
def test_frames_without_columns_or_rows_are_blocks(kind):
    model, twin = started(kind), started(kind)
    nothing = pd.DataFrame(index=range(2))
    assert model.predict_then_learn_many(nothing, [1.0, 2.0]).tolist() == [
        twin.predict_one({}),
        [twin.learn_one({}, 1.0), twin.predict_one({})][1],
    ]
    twin.learn_one({}, 2.0)
    assert pickle.dumps(model) == pickle.dumps(twin)
    empty = pd.DataFrame({"a": []})
    model.learn_many(empty, [])
    for frame in (empty, pd.DataFrame()):
        assert model.predict_many(frame).shape == (0,)
        assert model.predict_interval_many(frame).shape == (0, 2)
        assert [*model.predict_interval_many(frame).columns] == ["lower", "upper"]
    assert pickle.dumps(model) == pickle.dumps(twin)


# Levels

BAD_LEVELS = [0, 1, -0.1, 90, math.nan, math.inf, None, "0.9", b"", [], True, 1j, pd.NA]
BAD_LEVELS += [np.array(0.5), decimal.Decimal("0.5"), np.int64(1), 10**400]


@kinds
@pytest.mark.parametrize("level", BAD_LEVELS, ids=short)
def test_a_bad_level_is_refused_with_what_would_be_right(kind, level):
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    for model in (fresh(kind=kind), started(kind)):
        before = pickle.dumps(model)
        for call in (
            lambda model=model: model.predict_interval_one({"a": 1.0}, level),
            lambda model=model: model.predict_interval_many(frame, level),
            lambda model=model: model.predict_interval_many(frame[:0], level),
        ):
            with pytest.raises(ValueError, match="level must be a number strictly between 0 and 1"):
                call()
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("level", [np.float32(0.5), fractions.Fraction(1, 2)])
def test_a_level_of_any_type_is_that_number(level):
    model = started(AMFRegressor)
    expected = ends(model.predict_interval_one({"a": 1.0}, 0.5))
    assert ends(model.predict_interval_one({"a": 1.0}, level)) == expected


@kinds
@pytest.mark.parametrize("level", [5e-324, 1e-12, 1 - 1e-12, math.nextafter(1.0, 0.0)])
def test_levels_near_their_limits_give_finite_intervals(kind, level):
    lower, upper = ends(started(kind).predict_interval_one({"a": 1.0}, level))
    assert -math.inf < lower <= upper < math.inf


@kinds
def test_an_interval_that_fails_leaves_the_next_prediction_as_it_was(kind):
    model = started(kind)
    expected = model.predict_one({"a": 1.0}), ends(model.predict_interval_one({"a": 1.0}))
    for level in (0.99, 0.5):
        for bad in ({"a": math.inf}, {"a": "red"}, {"a": [1.0]}, None):
            with pytest.raises((TypeError, ValueError)):
                model.predict_interval_one(bad, level)
        assert model.predict_one({"a": 1.0}) == expected[0]
        assert ends(model.predict_interval_one({"a": 1.0})) == expected[1]


# Weights


@pytest.mark.parametrize("kind", [AMFRegressor, AdaptiveAMFRegressor])
@pytest.mark.parametrize("w", [-1.0, math.nan, math.inf, "1", None, 1j, [1.0], 1e301])
def test_a_bad_weight_is_refused(kind, w):
    model = started(kind)
    before = pickle.dumps(model)
    for x in ({"a": 1.0}, {"new": 1.0}):
        with pytest.raises((TypeError, ValueError), match="w"):
            model.learn_one(x, 1.0, w=w)
    if w is not None:
        with pytest.raises((TypeError, ValueError), match=r"row 1: .*w"):
            model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), [1.0, 2.0], [1.0, w])
    assert pickle.dumps(model) == before
    for heavy in (1e99, 1e99):  # all weights together are at most 1e100
        model.learn_one({"a": 1.0}, 5.0, w=heavy)
        assert math.isfinite(model.predict_one({"a": 1.0}))
