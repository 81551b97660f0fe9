"""Dataframes of all libraries: what columns, labels and weights may be, and what comes back."""

import datetime
import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forests import fresh, objects, state_of
from libraries import (
    LIBRARIES,
    Arrow,
    Pandas,
    Polars,
    assert_answers,
    assert_learns,
    assert_twins,
    labels_of,
    learn,
    libraries,
    matrix_of,
)

from river_amf import AdaptiveAMFClassifier


@libraries
def test_unknown_columns_are_ignored_in_prediction(library):
    model = fresh()
    model.learn_many(library.frame({"length": [1.0, 2.0]}), ["x", "y"])
    expected = [model.predict_proba_one({"length": length}) for length in (1.0, 2.0)]
    X = library.frame({"one": [math.inf, 1.0], "length": [1.0, 2.0], "two": ["red", None]})
    assert_answers(library, model.predict_proba_many(X), model, expected)


DECIMALS = [
    decimal.Decimal("0.1"),
    None,
    decimal.Decimal("-12.3456789012345678"),
    decimal.Decimal("123456789.0000000001"),
]
LARGE = [2**53 + 1, 2**62 + 3, -(2**63), 0]
DATES = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None, datetime.date(2020, 1, 1)]
TIMES = [datetime.datetime(2020, 1, 1, 5), datetime.datetime(2020, 1, 2), None, None]
PANDAS_COLUMNS = {
    "float64": pd.Series([0.1, 1e300, np.nan, 5e-324]),
    "float32": pd.Series([0.1, np.nan, 1e30, -0.0], dtype="float32"),
    "int64": pd.Series(LARGE),
    "uint64": pd.Series([2**64 - 1, 2**53 + 1, 0, 1], dtype="uint64"),
    "bool": pd.Series([True, False, True, True]),
    "Int64": pd.Series([*LARGE[:3], None], dtype="Int64"),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "str": pd.Series(["red", None, "tan", "red"]),
    "categories": pd.Series(pd.Categorical(["tan", "red", None, "tan"], ["red", "nil", "tan"])),
    "Decimals": objects(*DECIMALS),
    "int64[pyarrow]": pd.Series([1, 0, None, 1], dtype="int64[pyarrow]"),
    "bool[pyarrow]": pd.Series([1, 0, None, 1], dtype="bool[pyarrow]"),
    "string[pyarrow]": pd.Series(["red", "tan", None, "red"], dtype="string[pyarrow]"),
}
POLARS_COLUMNS = {
    "Float32": pl.Series([0.1, None, 1e30, math.nan], dtype=pl.Float32),
    "Int64": pl.Series([*LARGE[:3], None]),
    "UInt64": pl.Series([2**64 - 1, 2**53 + 1, None, 1], dtype=pl.UInt64),
    "Boolean": pl.Series([True, None, False, True]),
    "Decimal": pl.Series(DECIMALS),
    "String": pl.Series(["red", None, "tan", ""]),
    "Categorical": pl.Series(["tan", "red", None, "tan"], dtype=pl.Categorical),
    "Enum": pl.Series(["tan", "red", None, "tan"], dtype=pl.Enum(["red", "no", "tan"])),
    "Binary": pl.Series([b"red", None, b"", b"red"]),
    "Null": pl.Series([None] * 4),
}
ARROW_COLUMNS = {
    "float32": pa.array([0.1, None, 1e30, math.nan], pa.float32()),
    "int64": pa.array([*LARGE[:3], None]),
    "uint64": pa.array([2**64 - 1, 2**53 + 1, None, 1], pa.uint64()),
    "bool": pa.array([True, None, False, True]),
    "decimal128": pa.array(DECIMALS, pa.decimal128(38, 20)),
    "string": pa.array(["red", None, "tan", ""]),
    "dictionary": pa.array(["tan", "red", None, "tan"]).dictionary_encode(),
    "binary": pa.array([b"red", None, b"", b"red"]),
    "null": pa.nulls(4),
}
ALL_COLUMNS = [
    pytest.param(column, id=f"{library}: {name}")
    for library, columns in zip(
        LIBRARIES, (PANDAS_COLUMNS, POLARS_COLUMNS, ARROW_COLUMNS), strict=True
    )
    for name, column in columns.items()
]


def library_of(column):
    return LIBRARIES[type(column).__module__.partition(".")[0]]


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("column", ALL_COLUMNS)
def test_column_equals_its_values(column):
    library = library_of(column)
    X = library.frame({"length": [0.1, 0.2, 0.3, 0.4], "feature": column})
    assert_learns(library, [(X, [*labels], None) for labels in ("xyxy", "yyxz") * 2])


TIMES_OF_LIBRARIES = {
    "datetime64": pd.Series(TIMES, dtype="datetime64[ns]"),
    "timedelta64": pd.Series([1, 2, None, 3], dtype="timedelta64[s]"),
    "Period": pd.Series(pd.period_range("2020", periods=4, freq="M")),
    "dates": objects(*DATES),
    "dates as categories": objects(*DATES).astype("category"),
    "Date": pl.Series(DATES),
    "Duration": pl.Series([datetime.timedelta(1)] * 4),
    "Time": pl.Series([datetime.time(5)] * 4),
    "timestamp": pa.array(TIMES),
    "date32": pa.array(DATES),
}


@pytest.mark.parametrize("column", TIMES_OF_LIBRARIES.values(), ids=TIMES_OF_LIBRARIES)
def test_column_of_times_is_refused_with_advice(column):
    advice = "convert it to a number, .*date_features"
    X = library_of(column).frame({"length": [0.1, 0.2, 0.3, 0.4], "when": column})
    numeric = fresh()
    numeric.learn_one({"length": 1.0, "when": 1.0}, "x")
    for model in (fresh(), numeric):
        before = state_of(model)
        with pytest.raises(ValueError, match=rf"row 0: feature 'when'.*{advice}"):
            model.learn_many(X, list("xyxy"))
        assert state_of(model) == before


NUMBERS_AS_CATEGORIES = {
    "int": pd.Series([30, 10, None, 30], dtype="Int64").astype("category"),
    "ordered": pd.Series(pd.Categorical([30, 10, None, 30], [10, 20, 30], ordered=True)),
    "among text": pd.Series(pd.Categorical(objects("30", 10, None, 30))),
    "dictionary": (pa.array([30, 10, None, 30]).dictionary_encode()),
    "dictionary in pandas": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array([30, 10, None, 30]).dictionary_encode())
    ),
}


@pytest.mark.parametrize("column", NUMBERS_AS_CATEGORIES.values(), ids=NUMBERS_AS_CATEGORIES)
def test_numbers_in_categories_are_text(column):
    library = library_of(column)
    X = library.frame({"length": [0.1, 0.2, 0.3, 0.4], "code": column})
    codes = ["30", "10", None, "30"]
    rows = [x | {"code": code} for x, code in zip(library.rows(X), codes, strict=True)]
    model, twin = fresh(), fresh()
    for labels in ("xyxy", "yyxz"):
        model.learn_many(X, list(labels))
        learn(twin, rows, labels)
        assert_twins(model, twin)
    expected = [twin.predict_proba_one(x) for x in rows]
    assert_answers(library, model.predict_proba_many(X), twin, expected)
    with pytest.raises(ValueError, match=r"'code' has held cat.*30; pass a str.* on_mismatch="):
        model.predict_one({"code": 30})


def test_infinity_may_be_a_category():
    model = AdaptiveAMFClassifier(1, seed=1)
    model.learn_many(pd.DataFrame({"code": pd.Categorical([math.inf, 2.0])}), [True, False])
    assert model._features.categories("code") == {"inf": 0, "2": 1}


LABELS_OF_PANDAS = {
    "bool": pd.Series([True, False, True]),
    "int": pd.Series([3, 1, 3]),
    "float": pd.Series([0.5, -1.0, 0.5]),
    "str": pd.Series(["spam", "ham", "spam"]),
    "category": pd.Series(pd.Categorical(["spam", "ham", "spam"], ["egg", "ham", "spam"])),
    "Int64": pd.Series([3, 1, 3], dtype="Int64"),
    "dates": objects(DATES[0], DATES[1], DATES[0]),
}
TEXTS = ["spam", "ham", "spam"]
X = {"length": [1.0, 2.0, 1.0]}
TIMES_AS_LABELS = [
    pd.Series([10, 20, 10]).astype("int64").astype(f"{kind}[{unit}]")
    for kind, unit in (("M8", "ns"), ("M8", "us"), ("M8", "s"), ("m8", "ns"))
]
# the library of the frame, labels, and what they are
SERIES = [(Pandas, y, y.tolist()) for y in LABELS_OF_PANDAS.values()]
SERIES += [
    (Pandas, labels, y.tolist())
    for y in TIMES_AS_LABELS
    for labels in (y, y.array, pd.Index(y), y.to_numpy())
]
SERIES += [
    (library, as_series(values), values)
    for library in (Pandas, Polars, Arrow)
    for values in (TEXTS, [3, 1, 3], [True, False, True])
    for as_series in (tuple, np.array, lambda y: np.array(y, object), library.series)
]
SERIES += [(Arrow, pa.array(TEXTS), TEXTS), (Pandas, pd.Categorical(TEXTS), TEXTS)]
SERIES += [(Polars, pl.Series(TEXTS, dtype=pl.Categorical), TEXTS)]
SERIES += [(Polars, pl.Series(TEXTS, dtype=pl.Enum(["egg", "ham", "spam"])), TEXTS)]
SERIES += [(Pandas, pd.Series(TEXTS).array, TEXTS)]


@pytest.mark.parametrize(("library", "y", "values"), SERIES, ids=lambda v: type(v).__name__)
def test_labels_are_values_of_any_vector(library, y, values):
    frame, model, reader, twin = library.frame(X), fresh(), fresh(), fresh()
    model.learn_many(frame, y)
    reader.predict_proba_then_learn_many(frame, y)
    learn(twin, library.rows(frame), values)
    assert_twins(model, twin)
    assert_twins(reader, twin)
    assert [*map(type, labels_of(model))] == [*map(type, labels_of(twin))]
    if library is Pandas:
        assert model.predict_many(frame).tolist() == [*map(twin.predict_one, library.rows(frame))]


@pytest.mark.parametrize("library", [Polars, Arrow])
def test_labels_that_no_frame_can_hold_are_refused(library):
    model, table = fresh(), library.frame({"a": [1.0, 2.0]})
    before = state_of(model)
    with pytest.raises(ValueError, match="distinct column names"):
        model.predict_proba_then_learn_many(table, [1, "1"])
    for labels in ([1, "1"], [None, 1]):
        with pytest.raises((TypeError, ValueError), match=r"several types|is missing"):
            model.predict_then_learn_many(table, labels)
    assert state_of(model) == before
    model.learn_many(table, [1, "a"])
    with pytest.raises(TypeError, match="several types"):
        model.predict_many(table)


ODD = [decimal.Decimal("0.5"), np.float32(0.1), True]
ALL_WEIGHTS = [
    (library, as_series(values), values)
    for library in (Pandas, Polars, Arrow)
    for values in ([0.5, 2.0, 1e300], [True, False, True], [1, 0, 3])
    for as_series in (list, np.array, library.series)
]
ALL_WEIGHTS += [(Pandas, ODD, ODD), (Pandas, pd.array([1, 2, 3], dtype="Int64"), [1, 2, 3])]


@pytest.mark.parametrize(("library", "w", "values"), ALL_WEIGHTS, ids=lambda v: type(v).__name__)
def test_weights_are_values_of_any_vector(library, w, values):
    frame, model, twin = library.frame(X), fresh(), fresh()
    model.predict_proba_then_learn_many(frame, TEXTS, w=w)
    learn(twin, library.rows(frame), TEXTS, values)
    assert_twins(model, twin)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["b", "a", "a"], name="name"),
        pd.Index([2.5, -1.0, 0.0]),
        pd.Index(["a", 1, None], dtype=object),
        pd.date_range("2020-01-01", periods=3),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        pd.RangeIndex(9, 0, -3),
    ],
    ids=lambda index: type(index).__name__,
)
def test_index_is_kept_and_must_not_be_reordered(index):
    table, y, w = pd.DataFrame({"length": [1.0, 2.0, 3.0]}, index), ["x", "y", "z"], [1.0, 2.0, 3.0]
    model, twin = fresh(), fresh()
    for call in (model.learn_many, model.predict_proba_then_learn_many):
        with pytest.raises(ValueError, match=r"y has the index of X .* pass y\.loc\[X\.index\]"):
            call(table, pd.Series(y, index[::-1]), w)
        with pytest.raises(ValueError, match=r"w has the index of X .* or w\.to_numpy\(\)"):
            call(table, y, pd.Series(w, index[::-1]))
    assert_twins(model, twin)
    frame = model.predict_proba_then_learn_many(table, pd.Series(y, index), pd.Series(w, index))
    learn(twin, Pandas.rows(table), y, w)
    assert_twins(model, twin)
    for answer in (frame, model.predict_proba_many(table), model.predict_many(table)):
        pd.testing.assert_index_equal(answer.index, index)
    for entries in ([0, 1, 3], [2, 1, 1], ["2", "1", "0"]):  # of other entries, it is ignored
        for forest in (model, twin):
            forest.learn_many(table, pd.Series(y, entries) if forest is model else y, w)
    assert_twins(model, twin)


@libraries
def test_empty_block_changes_nothing(library):
    table = library.frame({"length": [1.0], "color": ["red"]})
    learned, empty = fresh(), table[0:0]
    learned.learn_many(table, ["x"])
    for model in (fresh(), learned):
        before = state_of(model)
        for y in ([], np.array([]), library.series([])):
            model.learn_many(empty, y, [])
            frame = model.predict_proba_then_learn_many(empty, y)
            names, values = matrix_of(library, frame)
            assert names == labels_of(model) and len(values) == 0
        assert len(model.predict_many(empty)) == 0
        assert state_of(model) == before


def test_rows_without_columns_equal_single_rows():
    model = AdaptiveAMFClassifier(seed=1)
    for label in ("x", "y", "y"):
        model.learn_one({}, label)
    rows = model.predict_proba_many(pd.DataFrame([{}, {}])).to_dict("records")
    assert rows == [model.predict_proba_one({})] * 2
