"""Mini-batches: bit for bit the same as one sample at a time; bad rows leave no trace."""

import concurrent.futures
import copy
import datetime
import decimal
import enum
import math
import pickle
import random
import re

import numpy as np
import pandas as pd
import pytest
from generated import PARAMETERS
from hypothesis import given, settings
from hypothesis import strategies as st
from river import base, compose, preprocessing

from river_amf import AdaptiveAMFClassifier, AMFClassifier

VARIANTS = {
    "default": {},
    "budget": {"max_nodes": 151},
    "split_pure": {"split_pure": True},
    "split_pure, budget": {"split_pure": True, "max_nodes": 200},
    "n_classes": {"n_classes": 9, "step": 0.5},
    "unit": {"split_intensity": "unit"},
    "leaves alone": {"use_aggregation": False},
    "one tree": {"n_estimators": 1},
    "fading": {"fading_factor": 0.7, "split_pure": True},
    "relevance": {"split_intensity": "relevance"},
    "learned vote": {"vote": "learned"},
    "restarts": {"restart_threshold": 0.01},
    "adaptive": {"kind": AdaptiveAMFClassifier},
    "adaptive, budget": {"kind": AdaptiveAMFClassifier, "max_nodes": 151},
}
variants = pytest.mark.parametrize("parameters", VARIANTS.values(), ids=VARIANTS)


# For each library: how to make frames and series, and how to read their rows back without our code,
# for a model to learn one by one.


class Pandas:
    frame = pd.DataFrame
    series = pd.Series

    @staticmethod
    def part(X, start, stop):
        return X.iloc[start:stop]

    @staticmethod
    def rows(X):
        return X.to_dict("records")

    @staticmethod
    def labels(series):
        assert type(series) is pd.Series
        return series.tolist()

    @staticmethod
    def proba(frame):
        assert type(frame) is pd.DataFrame
        assert all(dtype == np.float64 for dtype in frame.dtypes)
        return list(frame.columns), frame.to_numpy()

    @staticmethod
    def names(labels):
        return labels


class Polars:
    @staticmethod
    def frame(columns):
        return pytest.importorskip("polars").DataFrame(columns)

    @staticmethod
    def series(values):
        return pytest.importorskip("polars").Series(values)

    @staticmethod
    def part(X, start, stop):
        return X[start:stop]

    @staticmethod
    def rows(X):
        return X.to_dicts()

    @staticmethod
    def labels(series):
        assert type(series) is pytest.importorskip("polars").Series
        return series.to_list()

    @staticmethod
    def proba(frame):
        pl = pytest.importorskip("polars")
        assert type(frame) is pl.DataFrame
        assert all(dtype == pl.Float64 for dtype in frame.dtypes)
        assert not any(series.null_count() for series in frame)
        # polars 1 cannot convert a frame without columns to an array
        return frame.columns, frame.to_numpy() if frame.columns else np.zeros(frame.shape)

    @staticmethod
    def names(labels):
        return [str(label) for label in labels]


class Arrow:
    @staticmethod
    def frame(columns):
        return pytest.importorskip("pyarrow").table(columns)

    @staticmethod
    def series(values):
        return pytest.importorskip("pyarrow").chunked_array([values])

    @staticmethod
    def part(X, start, stop):
        return X.slice(start, stop - start)

    @staticmethod
    def rows(X):
        return X.to_pylist()

    @staticmethod
    def labels(series):
        assert type(series) is pytest.importorskip("pyarrow").ChunkedArray
        return series.to_pylist()

    @staticmethod
    def proba(frame):
        pa = pytest.importorskip("pyarrow")
        assert type(frame) is pa.Table
        assert all(column.type == pa.float64() for column in frame.columns)
        assert not any(column.null_count for column in frame.columns)
        values = [column.to_pylist() for column in frame.columns]
        return frame.column_names, np.array(values).T if values else np.empty((0, 0))

    @staticmethod
    def names(labels):
        return [str(label) for label in labels]


LIBRARIES = {"pandas": Pandas, "polars": Polars, "pyarrow": Arrow}
libraries = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


def fresh(kind=AMFClassifier, **parameters):
    return kind(**({"n_estimators": 3, "seed": 42} | parameters))


def learn(model, rows, labels, weights=None):
    """Learn one by one; return the test-then-train predictions, one per row."""
    proba = []
    for i, (x, label) in enumerate(zip(rows, labels, strict=True)):
        proba.append(model.predict_proba_one(x))
        model.learn_one(x, label, w=1.0 if weights is None else weights[i])
    return proba


def labels_of(model):
    return list(model.predict_proba_one({}))


def as_matrix(proba, labels):
    """Make a matrix from dicts: 0 for a label not seen yet, NaN for an empty dict."""
    rows = [[p.get(label, 0.0 if p else math.nan) for label in labels] for p in proba]
    return np.array(rows).reshape(len(proba), len(labels))


def assert_proba(library, frame, model, proba):
    """Check that the frame holds exactly these predictions, with one column per label."""
    labels = labels_of(model)
    names, values = library.proba(frame)
    assert names == library.names(labels)
    if labels:
        np.testing.assert_array_equal(values, as_matrix(proba, labels))


def assert_predicts(model, X, library):
    """Check that the model predicts a block as it predicts its rows."""
    rows = library.rows(X)
    assert_proba(library, model.predict_proba_many(X), model, [*map(model.predict_proba_one, rows)])
    assert library.labels(model.predict_many(X)) == [*map(model.predict_one, rows)]


def assert_twins(model, twin):
    assert pickle.dumps(model) == pickle.dumps(twin)


def make_stream(n_samples):
    """Make columns, labels and weights, with gaps and late features, categories and labels."""
    rng = random.Random(7)
    columns = {name: [] for name in ("length", "color", "grade", "alive", "late", "all gone")}
    labels, weights = [], []
    for i in range(n_samples):
        length = rng.gauss(0, 1)
        shade = f"shade {rng.randrange(i)}" if i > n_samples // 5 and rng.random() < 0.2 else None
        label = "above" if (length > 0) ^ (rng.random() < 0.15) else "below"
        columns["length"].append(None if rng.random() < 0.2 else length)
        columns["color"].append(shade or rng.choice(["red", "tan", None]))
        columns["grade"].append(rng.randrange(4))
        columns["alive"].append(rng.choice([True, False]))
        columns["late"].append(1e9 * rng.random() if i > n_samples // 2 else None)
        columns["all gone"].append(None)
        labels.append(f"extra {2 * i // n_samples}" if i > 300 and rng.random() < 0.1 else label)
        weights.append(rng.choice([1.0, 1.0, 2.0, 0.3, 0.0]))
    return columns, labels, weights


COLUMNS, LABELS, WEIGHTS = make_stream(1000)


def stream_of(library):
    return library.frame(COLUMNS), LABELS, WEIGHTS


def blocks_of(library, sizes):
    """Cut the stream into blocks of these sizes, repeated as needed."""
    X, labels, weights = stream_of(library)
    start = turn = 0
    while start < len(labels):
        stop = min(start + sizes[turn % len(sizes)], len(labels))
        yield library.part(X, start, stop), labels[start:stop], weights[start:stop]
        start, turn = stop, turn + 1


def trained(n_samples=300, **parameters):
    model = fresh(**parameters)
    rows = pd.DataFrame(COLUMNS).head(n_samples).to_dict("records")
    learn(model, rows, LABELS[:n_samples], WEIGHTS[:n_samples])
    return model


# Blocks equal their rows


def test_the_forest_is_a_mini_batch_classifier_of_river():
    assert isinstance(AMFClassifier(), base.MiniBatchClassifier)


def test_the_stream_makes_everything_grow_and_spends_the_budget():
    arena = trained(1000)._arena
    assert arena.trees["n_nodes"].min() > 4 * 64
    assert arena.counters["n_rows"][0] > 2 * 64
    assert arena.settings["n_labels"][0] == 4
    budget = trained(1000, max_nodes=151)._arena
    assert budget.trees["n_nodes"].tolist() == [151] * 3
    assert trained(60, max_nodes=151)._arena.trees["n_nodes"].max() < 151


@libraries
@variants
def test_a_block_is_learnt_like_its_rows(library, parameters):
    X, labels, weights = stream_of(library)
    model, twin = fresh(**parameters), fresh(**parameters)
    assert model.learn_many(X, labels, weights) is None
    learn(twin, library.rows(X), labels, weights)
    assert_twins(model, twin)
    assert_predicts(model, X, library)


@libraries
@variants
def test_a_block_is_predicted_then_learnt_like_its_rows(library, parameters):
    X, labels, weights = stream_of(library)
    model, twin = fresh(**parameters), fresh(**parameters)
    frame = model.predict_proba_then_learn_many(X, labels, weights)
    proba = learn(twin, library.rows(X), labels, weights)
    assert_proba(library, frame, twin, proba)
    assert_twins(model, twin)


@libraries
@pytest.mark.parametrize("sizes", [(1,), (7,), (1000,), (0, 3, 0, 0, 64, 1)], ids=str)
def test_the_cuts_of_a_stream_do_not_matter(library, sizes):
    model, reader, twin = fresh(), fresh(), trained(1000)
    for X, labels, weights in blocks_of(library, sizes):
        rows = library.rows(X)
        proba = [reader.predict_proba_one(x) for x in rows[:1]]
        model.learn_many(X, labels, weights)
        frame = reader.predict_proba_then_learn_many(X, labels, weights)
        assert_proba(library, library.part(frame, 0, len(proba)), reader, proba)
    assert_twins(model, twin)
    assert_twins(reader, twin)


@libraries
def test_samples_and_blocks_may_alternate(library):
    model, twin = fresh(), fresh()
    for turn, (X, labels, weights) in enumerate(blocks_of(library, (50,))):
        rows = library.rows(X)
        if turn % 2:
            model.learn_many(X, labels, weights)
        else:
            learn(model, rows, labels, weights)
        learn(twin, rows, labels, weights)
        if turn % 5 == 3:
            model = copy.deepcopy(pickle.loads(pickle.dumps(model)))
    assert_twins(model, twin)


@libraries
def test_a_block_of_one_label_may_be_followed_by_another(library):
    model, twin = fresh(), fresh()
    rng = random.Random(5)
    columns = {"length": [rng.random() for _ in range(300)], "grade": [i % 3 for i in range(300)]}
    labels = ["same"] * 280 + ["other", "same"] * 10
    X = library.frame(columns)
    model.learn_many(X, labels)
    learn(twin, library.rows(X), labels)
    assert_twins(model, twin)


EXTREME = st.sampled_from([-0.0, 5e-324, 1e-300, 1e300, -1e300, 1.7e308])
MISSING = st.none()
VALUES = {
    "length": st.floats(-10, 10) | EXTREME | MISSING,
    "width": st.integers(0, 3).map(float) | MISSING,
    "grade": st.integers(-3, 2**60) | MISSING,
    "alive": st.booleans() | MISSING,
    "color": st.sampled_from(["red", "tan", "blue"]) | MISSING,
    "shape": st.sampled_from(["round", "flat"]) | MISSING,
}


@st.composite
def blocks(draw):
    """Draw the columns, labels and weights of a few blocks; columns come and go."""
    result = []
    for labels in draw(st.lists(st.sampled_from(["x", "xy", "yxz"]), min_size=1, max_size=4)):
        n = draw(st.integers(0, 9))
        names = draw(st.lists(st.sampled_from(list(VALUES)), unique=True, min_size=1))

        def lists(values, n=n):
            return draw(st.lists(values, min_size=n, max_size=n))

        columns = {name: lists(VALUES[name]) for name in names}
        weights = lists(st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0, 0.0]))
        result.append((columns, lists(st.sampled_from(labels)), weights))
    return result


@libraries
@settings(max_examples=40)
@given(blocks=blocks(), parameters=PARAMETERS, predicts=st.booleans())
def test_any_blocks_are_like_their_rows(library, blocks, parameters, predicts):
    model, twin = fresh(n_estimators=2, **parameters), fresh(n_estimators=2, **parameters)
    for columns, labels, weights in blocks:
        X = library.frame(columns)
        proba = learn(twin, library.rows(X), labels, weights)
        if predicts:
            frame = model.predict_proba_then_learn_many(X, labels, weights)
            assert_proba(library, frame, twin, proba)
        else:
            model.learn_many(X, labels, weights)
        assert_twins(model, twin)
    for columns, _, _ in blocks:
        assert_predicts(model, library.frame(columns), library)
    assert_twins(model, twin)


# Columns


@libraries
def test_columns_come_and_go_in_any_order(library):
    frames = [
        {"length": [1.0, 2.0, None, 1.5]},
        {"color": ["red", None, "tan", "red"], "length": [1.0, 7.0, 3.0, None]},
        {"width": [None, None, 3.0, 4.0], "color": [None, "blue", None, "red"]},
        {"alive": [True, False, None, True], "aside": [1, 2, 3, 4], "length": [0.5, 1.0, 2.0, 9.0]},
        {"length": [4.0, 3.0, 2.0, 1.0]},
    ]
    frames = [library.frame(columns) for columns in frames]
    model, twin = fresh(), fresh()
    for X in frames:
        model.learn_many(X, ["x", "y", "x", "y"])
        learn(twin, library.rows(X), ["x", "y", "x", "y"])
        assert_twins(model, twin)
        for question in frames:
            assert_predicts(model, question, library)


@libraries
def test_new_features_and_categories_are_numbered_as_the_rows_bring_them(library):
    X = library.frame(
        {
            "z": [None, None, 1.0, 2.0],
            "b": [None, 3.0, 1.0, 1.0],
            "color": ["tan", None, "red", "tan"],
            "a": [None, 1.0, 2.0, 3.0],
            "shape": [None, None, "flat", "round"],
        }
    )
    model = fresh()
    model.learn_many(X, ["x", "y", "y", "x"])
    assert list(model._features) == ["color", "a", "b", "shape", "z"]
    assert list(model._features.categories("color")) == ["tan", "red"]
    assert list(model._features.categories("shape")) == ["flat", "round"]


@libraries
def test_a_column_without_values_is_no_feature_and_fits_every_feature(library):
    model, twin = fresh(), fresh()
    for columns in (
        {"length": [1.0, 2.0], "color": ["red", "tan"], "unknown": [None, None]},
        {"length": [None, None], "color": [None, None], "unknown": [None, None]},
        {"length": [math.nan, math.nan], "color": [math.nan, math.nan]},
        {"length": [3.0, None], "unknown": ["here", None]},
    ):
        X = library.frame(columns)
        model.learn_many(X, ["x", "y"])
        learn(twin, library.rows(X), ["x", "y"])
        assert_twins(model, twin)
        assert_predicts(model, X, library)


@libraries
def test_predicting_ignores_unknown_columns_whatever_they_hold(library):
    model = fresh()
    model.learn_many(library.frame({"length": [1.0, 2.0]}), ["x", "y"])
    expected = [model.predict_proba_one({"length": length}) for length in (1.0, 2.0)]
    X = library.frame({"one": [math.inf, 1.0], "length": [1.0, 2.0], "two": ["red", None]})
    assert_proba(library, model.predict_proba_many(X), model, expected)
    X = library.frame({"one": [1.0, 2.0]})
    assert_proba(library, model.predict_proba_many(X), model, [model.predict_proba_one({})] * 2)


@pytest.mark.parametrize(
    "names",
    [[0, 1, 2], [2, "1", (0,)], [True, None, "x"], pd.MultiIndex.from_product([["a"], [3, 2, 1]])],
    ids=str,
)
def test_names_of_columns_may_be_any_hashable(names):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.random((40, 3)), columns=names)
    labels = (X.iloc[:, 0] > 0.5).tolist()
    model, twin = fresh(), fresh()
    model.learn_many(X, labels)
    learn(twin, Pandas.rows(X), labels)
    assert_twins(model, twin)
    assert_predicts(model, X, Pandas)


def test_a_frame_without_columns_has_empty_rows():
    X = pd.DataFrame(index=range(5))
    model, twin = fresh(), fresh()
    model.learn_many(X, list("xyxxy"))
    learn(twin, [{}] * 5, "xyxxy")
    assert_twins(model, twin)
    assert model.predict_many(X).tolist() == ["x"] * 5


def test_the_memory_behind_a_frame_does_not_matter():
    whole = pd.DataFrame(np.random.default_rng(4).random((60, 4)), columns=list("abcd"))
    for X in (whole.iloc[::-2, ::-1], whole.iloc[5:25, 1:3], whole.T.copy().T, whole[["d", "a"]]):
        labels = (X["d" if "d" in X else "c"] > 0.5).tolist()
        model, twin = fresh(), fresh()
        model.learn_many(X, labels)
        learn(twin, Pandas.rows(X), labels)
        assert_twins(model, twin)
        assert_predicts(model, X, Pandas)


def test_a_table_of_arrow_may_be_in_pieces():
    pa = pytest.importorskip("pyarrow")
    colors = ["red", "tan", None, "blue", "red", "grey"]
    pieces = [
        pa.table({"length": [float(i), None], "color": pa.array(two).dictionary_encode()})
        for i, two in enumerate([colors[:2], colors[2:4], colors[4:]])
    ]
    X = pa.concat_tables(pieces)
    labels = pa.chunked_array([["x", "y", "x"], [], ["x"], ["y", "y"]])
    model, twin = fresh(), fresh()
    model.learn_many(X, labels, pa.chunked_array([[1.0, 2.0], [1.0, 0.5, 1.0, 1.0]]))
    learn(twin, X.to_pylist(), labels.to_pylist(), [1.0, 2.0, 1.0, 0.5, 1.0, 1.0])
    assert_twins(model, twin)
    assert_predicts(model, X, Arrow)


# Values of all types


class Color(enum.Enum):
    RED = 1
    TAN = 2


def objects(*values):
    return pd.Series(values, dtype=object)


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
    "float16": pd.Series([0.1, np.nan, 3.0, 1.0], dtype="float16"),
    "int8": pd.Series([1, -128, 127, 0], dtype="int8"),
    "int64": pd.Series(LARGE),
    "uint64": pd.Series([2**64 - 1, 2**53 + 1, 0, 1], dtype="uint64"),
    "bool": pd.Series([True, False, True, True]),
    "Int64": pd.Series([*LARGE[:3], None], dtype="Int64"),
    "UInt8": pd.Series([255, None, 0, 1], dtype="UInt8"),
    "Float64": pd.Series([0.1, None, 2.0, 1e300], dtype="Float64"),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "str": pd.Series(["red", None, "tan", "red"]),
    "string": pd.Series(["red", None, "tan", ""], dtype="string"),
    "categories": pd.Series(pd.Categorical(["tan", "red", None, "tan"], ["red", "nil", "tan"])),
    "ordered categories": pd.Series(pd.Categorical([*"baab"], [*"xab"], ordered=True)),
    "numbers as categories": pd.Series(pd.Categorical([30, 10, None, 30], [10, 20, 30])),
    "no categories": pd.Series(pd.Categorical([None] * 4)),
    "datetime64": pd.Series(TIMES, dtype="datetime64[ns]"),
    "Decimals": objects(*DECIMALS),
    "numbers of all types": objects(1, np.float32(0.1), decimal.Decimal("0.1"), np.bool_(True)),
    "numbers with gaps": objects(10**300, None, 0.5, pd.NA),
    "booleans with gaps": objects(True, None, False, math.nan),
    "categories with gaps": objects("red", math.nan, pd.NaT, "tan"),
    "nothing": objects(None, math.nan, pd.NA, pd.NaT),
    "dates": objects(*DATES),
    "tuples": objects((1,), (2.0,), (True,), ()),
    "enum": objects(Color.TAN, Color.RED, None, Color.TAN),
    "all sorts": objects("1", b"1", frozenset({1}), ("a", None)),
}
POLARS_COLUMNS = {
    "Float32": lambda pl: pl.Series([0.1, None, 1e30, math.nan], dtype=pl.Float32),
    "Int64": lambda pl: pl.Series([*LARGE[:3], None]),
    "UInt64": lambda pl: pl.Series([2**64 - 1, 2**53 + 1, None, 1], dtype=pl.UInt64),
    "Boolean": lambda pl: pl.Series([True, None, False, True]),
    "Decimal": lambda pl: pl.Series(DECIMALS),
    "String": lambda pl: pl.Series(["red", None, "tan", ""]),
    "Categorical": lambda pl: pl.Series(["tan", "red", None, "tan"], dtype=pl.Categorical),
    "Enum": lambda pl: pl.Series(["tan", "red", None, "tan"], dtype=pl.Enum(["red", "no", "tan"])),
    "Binary": lambda pl: pl.Series([b"red", None, b"", b"red"]),
    "Date": lambda pl: pl.Series(DATES),
    "Datetime": lambda pl: pl.Series(TIMES),
    "Null": lambda pl: pl.Series([None] * 4),
}
ARROW_COLUMNS = {
    "float32": lambda pa: pa.array([0.1, None, 1e30, math.nan], pa.float32()),
    "int64": lambda pa: pa.array([*LARGE[:3], None]),
    "uint64": lambda pa: pa.array([2**64 - 1, 2**53 + 1, None, 1], pa.uint64()),
    "bool": lambda pa: pa.array([True, None, False, True]),
    "decimal128": lambda pa: pa.array(DECIMALS, pa.decimal128(38, 20)),
    "string": lambda pa: pa.array(["red", None, "tan", ""]),
    "large_string": lambda pa: pa.array(["red", None, "tan", ""], pa.large_string()),
    "dictionary": lambda pa: pa.array(["tan", "red", None, "tan"]).dictionary_encode(),
    "dictionary of numbers": lambda pa: pa.array([30, 10, None, 30]).dictionary_encode(),
    "binary": lambda pa: pa.array([b"red", None, b"", b"red"]),
    "date32": lambda pa: pa.array(DATES),
    "timestamp": lambda pa: pa.array(TIMES, pa.timestamp("us")),
    "null": lambda pa: pa.nulls(4),
}


def assert_column_is_like_its_values(library, column):
    X = library.frame({"length": [0.1, 0.2, 0.3, 0.4], "feature": column})
    model, twin = fresh(), fresh()
    for _ in range(2):
        for labels in (["x", "y", "x", "y"], ["y", "y", "x", "z"]):
            model.learn_many(X, labels)
            learn(twin, library.rows(X), labels)
            assert_twins(model, twin)
    assert_predicts(model, X, library)


@pytest.mark.parametrize("column", PANDAS_COLUMNS.values(), ids=PANDAS_COLUMNS)
def test_a_column_of_pandas_is_like_its_values(column):
    assert_column_is_like_its_values(Pandas, column)


@pytest.mark.parametrize("make_column", POLARS_COLUMNS.values(), ids=POLARS_COLUMNS)
def test_a_column_of_polars_is_like_its_values(make_column):
    assert_column_is_like_its_values(Polars, make_column(pytest.importorskip("polars")))


@pytest.mark.parametrize("make_column", ARROW_COLUMNS.values(), ids=ARROW_COLUMNS)
def test_a_column_of_arrow_is_like_its_values(make_column):
    assert_column_is_like_its_values(Arrow, make_column(pytest.importorskip("pyarrow")))


@pytest.mark.parametrize("dtype", ["int64[pyarrow]", "bool[pyarrow]", "string[pyarrow]"])
def test_pandas_may_hold_columns_of_arrow(dtype):
    pytest.importorskip("pyarrow")
    values = ["red", "tan", None, "red"] if dtype.startswith("string") else [1, 0, None, 1]
    assert_column_is_like_its_values(Pandas, pd.Series(values, dtype=dtype))


def test_the_type_of_a_column_may_change_from_block_to_block():
    model, twin = fresh(), fresh()
    for numbers, words in [
        (pd.Series([1, 2]), pd.Series(["red", "tan"])),
        (pd.Series([0.5, None]), pd.Series(pd.Categorical(["blue", "red"]))),
        (pd.Series([True, False]), objects("grey", "tan")),
        (objects(1, decimal.Decimal("0.5")), pd.Series(["red", None], dtype="string")),
        (pd.Series([3, None], dtype="Int64"), objects(b"red", ("tan",))),
    ]:
        X = pd.DataFrame({"length": numbers, "color": words})
        model.learn_many(X, ["x", "y"])
        learn(twin, Pandas.rows(X), ["x", "y"])
        assert_twins(model, twin)
        assert_predicts(model, X, Pandas)


# Labels

LABELS_OF_PANDAS = {
    "bool": pd.Series([True, False, True]),
    "int": pd.Series([3, 1, 3]),
    "float": pd.Series([0.5, -1.0, 0.5]),
    "str": pd.Series(["spam", "ham", "spam"]),
    "category": pd.Series(pd.Categorical(["spam", "ham", "spam"], ["egg", "ham", "spam"])),
    "boolean": pd.Series([True, False, True], dtype="boolean"),
    "Int64": pd.Series([3, 1, 3], dtype="Int64"),
    "string": pd.Series(["spam", "ham", "spam"], dtype="string"),
    "tuples": objects(("a", 1), ("b", 2), ("a", 1)),
    "dates": objects(DATES[0], DATES[1], DATES[0]),
    "all sorts": objects("1", 2, ("c",)),
    "equal ones": objects(True, 1, 1.0),
}


@pytest.mark.parametrize("y", LABELS_OF_PANDAS.values(), ids=LABELS_OF_PANDAS)
def test_labels_are_what_the_series_holds(y):
    X = pd.DataFrame({"length": [1.0, 2.0, 1.0]})
    model, twin = fresh(), fresh()
    model.learn_many(X, y)
    learn(twin, Pandas.rows(X), y.tolist())
    assert_twins(model, twin)
    assert list(map(type, labels_of(model))) == list(map(type, labels_of(twin)))
    assert_predicts(model, X, Pandas)


@pytest.mark.parametrize(
    "values", [["spam", "ham", "spam", "egg"], [3, 1, 3, 2], [True, False] * 2], ids=str
)
@libraries
def test_labels_come_in_a_series_an_array_or_a_list(library, values):
    X = library.frame({"length": [1.0, 2.0, 1.0, 3.0]})
    twin = fresh()
    learn(twin, library.rows(X), values)
    for y in (values, np.array(values), np.array(values, dtype=object), library.series(values)):
        model = fresh()
        model.learn_many(X, y)
        assert_twins(model, twin)
        model = fresh()
        model.predict_proba_then_learn_many(X, y)
        assert_twins(model, twin)
    assert_predicts(twin, X, library)


def test_labels_and_weights_may_be_an_array_of_arrow():
    pa = pytest.importorskip("pyarrow")
    X = pa.table({"length": [1.0, 2.0, 1.0]})
    model, twin = fresh(), fresh()
    model.learn_many(X, pa.array(["spam", "ham", "spam"]), pa.array([1, 2, 1]))
    learn(twin, X.to_pylist(), ["spam", "ham", "spam"], [1, 2, 1])
    assert_twins(model, twin)


def test_labels_may_be_categories_of_polars():
    pl = pytest.importorskip("polars")
    X = pl.DataFrame({"length": [1.0, 2.0, 1.0]})
    values = ["spam", "ham", "spam"]
    twin = fresh()
    learn(twin, X.to_dicts(), values)
    for dtype in (pl.Categorical, pl.Enum(["egg", "ham", "spam"])):
        model = fresh()
        model.learn_many(X, pl.Series(values, dtype=dtype))
        assert_twins(model, twin)


@libraries
def test_ties_go_to_the_label_seen_first(library):
    X = library.frame({"length": [1.0, 1.0]})
    model = fresh()
    model.learn_many(X, ["z", "a"])
    names, values = library.proba(model.predict_proba_many(X))
    assert names == ["z", "a"]
    assert (values == 0.5).all()
    assert library.labels(model.predict_many(X)) == ["z", "z"]


# Weights


@libraries
@pytest.mark.parametrize(
    "values", [[0.5, 2.0, 0.0, 1e300], [1, 0, 3, 2], [True, False, True, True]], ids=str
)
def test_weights_come_in_a_series_an_array_or_a_list(library, values):
    X, labels = library.frame({"length": [1.0, 2.0, 1.0, 3.0]}), ["x", "y", "y", "x"]
    twin = fresh()
    learn(twin, library.rows(X), labels, values)
    for w in (values, np.array(values), library.series(values)):
        model = fresh()
        model.learn_many(X, labels, w=w)
        assert_twins(model, twin)
        model = fresh()
        model.predict_proba_then_learn_many(X, labels, w=w)
        assert_twins(model, twin)


def test_weights_are_numbers_of_any_type():
    w = [decimal.Decimal("0.5"), np.float32(0.1), True, 2]
    X = pd.DataFrame({"length": [1.0, 2.0, 1.0, 3.0]})
    model, twin = fresh(), fresh()
    model.learn_many(X, [*"xyyx"], w)
    learn(twin, Pandas.rows(X), "xyyx", w)
    assert_twins(model, twin)


@pytest.mark.parametrize("make_model", [fresh, trained])
def test_weight_zero_changes_nothing(make_model):
    X = pd.DataFrame({"length": [1e9, -1e9], "color": ["new", "newer"], "more": [1.0, 2.0]})
    model = make_model()
    before = pickle.dumps(model)
    model.learn_many(X, ["other", "another"], [0, 0])
    frame = model.predict_proba_then_learn_many(X, ["other", "another"], [0, 0])
    assert pickle.dumps(model) == before
    assert_proba(Pandas, frame, model, [model.predict_proba_one(x) for x in Pandas.rows(X)])


def test_rows_of_weight_zero_settle_nothing_for_later_rows():
    X = pd.DataFrame({"code": objects("red", 1.0, 2.0), "color": objects(1, "red", "tan")})
    model, twin = fresh(n_classes=2), fresh(n_classes=2)
    model.learn_many(X, ["none", "x", "y"], [0, 1, 1])
    learn(twin, Pandas.rows(X), ["none", "x", "y"], [0, 1, 1])
    assert_twins(model, twin)
    assert labels_of(model) == ["x", "y"]


# The form of predictions


@libraries
def test_before_the_first_sample_nothing_is_predicted(library):
    X = library.frame({"length": [1.0, 2.0, 3.0]})
    model = fresh()
    assert library.proba(model.predict_proba_many(X))[0] == []
    assert library.labels(model.predict_many(X)) == [None] * 3
    assert_twins(model, fresh())


def test_before_the_first_sample_a_frame_of_pandas_keeps_its_index():
    X = pd.DataFrame({"length": [1.0, 2.0]}, index=["one", "two"])
    assert fresh().predict_proba_many(X).shape == (2, 0)
    pd.testing.assert_index_equal(fresh().predict_proba_many(X).index, X.index)
    pd.testing.assert_index_equal(fresh().predict_many(X).index, X.index)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["b", "a", "a"], name="name"),
        pd.Index([2.5, -1.0, 0.0]),
        pd.date_range("2020-01-01", periods=3),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        pd.RangeIndex(9, 0, -3),
    ],
    ids=lambda index: type(index).__name__,
)
def test_the_index_of_pandas_is_kept(index):
    X = pd.DataFrame({"length": [1.0, 2.0, 3.0]}, index=index)
    model = fresh()
    frame = model.predict_proba_then_learn_many(X, ["x", "y", "x"])
    for answer in (frame, model.predict_proba_many(X), model.predict_many(X)):
        pd.testing.assert_index_equal(answer.index, index)


def test_rows_and_labels_belong_together_by_place_not_by_index():
    X = pd.DataFrame({"length": [1.0, 2.0, 3.0]}, index=[0, 1, 2])
    y = pd.Series(["x", "y", "z"], index=[2, 1, 0])
    w = pd.Series([1.0, 2.0, 3.0], index=[1, 0, 2])
    model, twin = fresh(), fresh()
    model.learn_many(X, y, w)
    learn(twin, Pandas.rows(X), ["x", "y", "z"], [1.0, 2.0, 3.0])
    assert_twins(model, twin)


@pytest.mark.parametrize("n_classes", [None, 5])
@libraries
def test_columns_are_the_labels_seen_so_far_in_order_of_appearance(library, n_classes):
    X = library.frame({"length": [1.0, 2.0, 1.0]})
    model = fresh(n_classes=n_classes)
    model.learn_many(X, [True, True, False])
    assert library.proba(model.predict_proba_many(X))[0] == library.names([True, False])
    frame = model.predict_proba_then_learn_many(X, [7, False, 5])
    assert library.proba(frame)[0] == library.names([True, False, 7, 5])


@libraries
def test_a_label_not_yet_seen_has_no_probability_and_the_first_row_no_prediction(library):
    X = library.frame({"length": [1.0, 2.0, 1.0, 3.0]})
    frame = fresh().predict_proba_then_learn_many(X, ["x", "x", "y", "x"], [0, 1, 1, 1])
    names, values = library.proba(frame)
    assert names == ["x", "y"]
    assert np.isnan(values[:2]).all()
    assert values[2].tolist() == [1.0, 0.0]
    assert 0.0 < values[3, 1] < values[3, 0] < 1.0


@libraries
def test_an_empty_block_teaches_and_predicts_nothing(library):
    X = library.part(library.frame({"length": [1.0], "color": ["red"]}), 0, 0)
    for model in (fresh(), trained()):
        before = pickle.dumps(model)
        labels = labels_of(model)
        for y in ([], np.array([]), library.series([])):
            model.learn_many(X, y)
            model.learn_many(X, y, [])
            frame = model.predict_proba_then_learn_many(X, y)
            assert library.proba(frame)[0] == labels
            assert len(library.rows(frame)) == 0
        assert library.proba(model.predict_proba_many(X))[0] == labels
        assert len(library.rows(model.predict_proba_many(X))) == 0
        assert library.labels(model.predict_many(X)) == []
        assert pickle.dumps(model) == before


@libraries
def test_input_is_never_changed(library):
    X, labels, weights = stream_of(library)
    X, y, w = library.part(X, 0, 50), library.series(labels[:50]), library.series(weights[:50])
    before = pickle.dumps((library.rows(X), library.labels(y), library.labels(w)))
    model = fresh()
    model.learn_many(X, y, w)
    model.predict_proba_then_learn_many(X, y, w)
    model.predict_many(X)
    assert pickle.dumps((library.rows(X), library.labels(y), library.labels(w))) == before


def test_predicting_does_not_change_the_pickle():
    model, X = trained(), pd.DataFrame(COLUMNS)
    before = pickle.dumps(model)
    model.predict_proba_many(X)
    model.predict_many(X)
    assert pickle.dumps(model) == before


# Threads


@pytest.mark.parametrize(
    "parameters", [{}, {"max_nodes": 151}, {"kind": AdaptiveAMFClassifier}], ids=str
)
@pytest.mark.parametrize("n_jobs", [2, 3, 16, -1])
def test_the_number_of_threads_changes_no_result(n_jobs, parameters):
    parameters = {"n_estimators": 5} | parameters
    X, labels, weights = stream_of(Pandas)
    alone, model, reader = (fresh(n_jobs=n, **parameters) for n in (1, n_jobs, n_jobs))
    expected = alone.predict_proba_then_learn_many(X, labels, weights)
    model.learn_many(X, labels, weights)
    frame = reader.predict_proba_then_learn_many(X, labels, weights)
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)
    for other in (model, reader):
        pd.testing.assert_frame_equal(
            other.predict_proba_many(X), alone.predict_proba_many(X), check_exact=True
        )
        assert other.predict_many(X).tolist() == alone.predict_many(X).tolist()
        other.n_jobs = 1
        assert_twins(other, alone)


def test_the_number_of_threads_may_change_between_blocks():
    model, twin = fresh(), trained(1000)
    jobs = iter([1, 16, 2, -1, 3])
    for X, labels, weights in blocks_of(Pandas, (200,)):
        model.n_jobs = next(jobs)
        model.learn_many(X, labels, weights)
    model.n_jobs = 1
    assert_twins(model, twin)


@pytest.mark.parametrize("make_model", [fresh, trained])
@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, 1.0, "2", None, True], ids=repr)
def test_a_bad_number_of_threads_is_refused(make_model, n_jobs):
    model = make_model(n_jobs=2)
    with pytest.raises(ValueError, match="n_jobs") as caught:
        model.n_jobs = n_jobs
    assert repr(n_jobs) in str(caught.value)
    assert model.n_jobs == 2
    with pytest.raises(ValueError, match="n_jobs"):
        AMFClassifier(n_jobs=n_jobs)


def test_one_thread_is_the_default_and_copies_keep_the_number():
    assert AMFClassifier().n_jobs == 1
    model = trained(n_jobs=3)
    for twin in (model.clone(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.n_jobs == 3


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_several_threads_may_predict_at_once(n_jobs):
    model, X = trained(n_jobs=n_jobs), pd.DataFrame(COLUMNS)
    parts = [X.iloc[start : start + 250] for start in range(0, 1000, 250)] * 4
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(model.predict_proba_many, parts))
    for part, answer in zip(parts, answers, strict=True):
        pd.testing.assert_frame_equal(answer, model.predict_proba_many(part), check_exact=True)


# In a pipeline


def test_behind_a_scaler():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(5, 3, (200, 3)), columns=["one", "two", "three"])
    y = X["one"] > X["two"]
    pipeline = preprocessing.StandardScaler() | fresh()
    scaler, model = preprocessing.StandardScaler(), fresh()
    for start in range(0, 200, 50):
        part, labels = X.iloc[start : start + 50], y.iloc[start : start + 50]
        pipeline.learn_many(part, labels)
        scaler.learn_many(part)
        model.learn_many(scaler.transform_many(part), labels)
    scaled = scaler.transform_many(X)
    pd.testing.assert_frame_equal(pipeline.predict_proba_many(X), model.predict_proba_many(scaled))
    pd.testing.assert_series_equal(pipeline.predict_many(X), model.predict_many(scaled))
    assert (pipeline.predict_many(X) == y).mean() > 0.8


@libraries
def test_behind_a_selection_of_columns(library):
    X, labels, weights = stream_of(library)
    pipeline = compose.Select("length", "color") | fresh()
    pipeline.learn_many(X, labels, w=weights)
    twin = fresh()
    rows = [{name: x[name] for name in ("length", "color")} for x in library.rows(X)]
    learn(twin, rows, labels, weights)
    assert_twins(pipeline[-1], twin)
    assert library.labels(pipeline.predict_many(X)) == [*map(twin.predict_one, rows)]


# Errors leave no trace


def learn_many(model, X, y, w=None):
    model.learn_many(X, y, w)


def predict_proba_then_learn_many(model, X, y, w=None):
    model.predict_proba_then_learn_many(X, y, w)


def predict_many(model, X, y):
    model.predict_many(X)


def predict_proba_many(model, X, y):
    model.predict_proba_many(X)


learners = pytest.mark.parametrize("call", [learn_many, predict_proba_then_learn_many])
callers = pytest.mark.parametrize(
    "call", [learn_many, predict_proba_then_learn_many, predict_many, predict_proba_many]
)


def two_classes(**parameters):
    return fresh(n_classes=2, **parameters)


def good_columns():
    return {"length": [i / 3 for i in range(12)], "color": ["red", "tan", "blue"] * 4}


def good_labels():
    return ["above", "below"] * 6


def experienced(**parameters):
    model = two_classes(**parameters)
    learn(model, Pandas.rows(pd.DataFrame(good_columns())) * 4, good_labels() * 4)
    return model


stages = pytest.mark.parametrize("make_model", [two_classes, experienced])
bad_rows = pytest.mark.parametrize("row", [1, 7, 11])


def assert_refused(model, error, words, call, *args):
    """Check that the call raises with all `words` in its message, and changes nothing."""
    before = pickle.dumps(model)
    with pytest.raises(error) as caught:
        call(model, *args)
    for word in words:
        assert re.search(rf"(?<!\w){re.escape(str(word))}(?!\w)", str(caught.value))
    assert pickle.dumps(model) == before


BAD_VALUES = [
    ("length", math.inf, ValueError),
    ("length", np.float32("-inf"), ValueError),
    ("length", 10**400, ValueError),
    ("length", decimal.Decimal("Infinity"), ValueError),
    ("length", decimal.Decimal("sNaN"), ValueError),
    ("length", 1j, ValueError),
    ("length", "long", ValueError),
    ("length", b"long", ValueError),
    ("length", DATES[0], ValueError),
    ("length", [1.0], TypeError),
    ("color", 2.0, ValueError),
    ("color", True, ValueError),
    ("color", decimal.Decimal(2), ValueError),
    ("color", ["red"], TypeError),
    ("color", {"red": 1}, TypeError),
    ("color", ("a", [1]), TypeError),
]
bad_values = pytest.mark.parametrize(
    ("name", "value", "error"), BAD_VALUES, ids=[f"{n} {v!r:.20}" for n, v, _ in BAD_VALUES]
)


def frame_with(name, row, value):
    columns = good_columns()
    columns[name][row] = value
    return pd.DataFrame({name: objects(*values) for name, values in columns.items()})


@stages
@learners
@bad_rows
@bad_values
def test_a_bad_value_is_refused(make_model, call, row, name, value, error):
    words = [repr(name), f"row {row}"]
    assert_refused(make_model(), error, words, call, frame_with(name, row, value), good_labels())


@bad_values
@pytest.mark.parametrize("call", [predict_many, predict_proba_many])
def test_a_bad_value_is_refused_when_predicting(call, name, value, error):
    X = frame_with(name, 7, value)
    assert_refused(experienced(), error, [repr(name), "row 7"], call, X, good_labels())


@learners
def test_a_bad_value_in_a_row_of_weight_zero_is_refused(call):
    X = frame_with("color", 7, 1.0)
    w = [1.0] * 7 + [0.0] + [1.0] * 4
    assert_refused(two_classes(), ValueError, ["'color'", "row 7"], call, X, good_labels(), w)


@libraries
@stages
@callers
def test_an_infinite_value_in_the_last_row_is_refused(library, make_model, call):
    X = library.frame(good_columns() | {"length": [None, *[1.0] * 10, math.inf]})
    words = ["'length'", "row 11"]
    assert_refused(make_model(), ValueError, words, call, X, good_labels())


@libraries
@callers
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("length", [None] * 7 + ["long"] * 5),
        ("color", [None] * 7 + [1.5] * 5),
        ("color", [None] * 7 + [1] * 5),
        ("color", [None] * 7 + [True] * 5),
        ("length", [None] * 7 + [DATES[0]] * 5),
    ],
    ids=str,
)
def test_a_column_of_the_other_kind_is_refused(library, call, name, values):
    X = library.frame(good_columns() | {name: values})
    words = [repr(name), "row 7"]
    assert_refused(experienced(), ValueError, words, call, X, good_labels())


@pytest.mark.parametrize("library", [Polars, Arrow])
@stages
@learners
def test_a_column_of_lists_is_refused(library, make_model, call):
    X = library.frame(good_columns() | {"notes": [None] * 7 + [["a", "b"]] * 5})
    words = ["'notes'", "row 7"]
    assert_refused(make_model(), TypeError, words, call, X, good_labels())


@stages
@learners
@bad_rows
@pytest.mark.parametrize("label", [None, math.nan, pd.NA, pd.NaT], ids=repr)
def test_a_missing_label_is_refused(make_model, call, row, label):
    labels = good_labels()
    labels[row] = label
    X = pd.DataFrame(good_columns())
    for y in (labels, objects(*labels), np.array(labels, dtype=object)):
        assert_refused(make_model(), ValueError, ["label", f"row {row}"], call, X, y)


@libraries
@pytest.mark.parametrize("labels", [["x"] * 11, [1.5] * 11, [True] * 11], ids=lambda y: str(y[0]))
def test_a_gap_in_a_series_of_labels_is_refused(library, labels):
    X, y = library.frame(good_columns()), library.series([*labels, None])
    assert_refused(two_classes(), ValueError, ["label", "row 11"], learn_many, X, y)


@stages
@learners
@bad_rows
@pytest.mark.parametrize("label", [["a"], {"a": 1}, ("a", [])], ids=repr)
def test_an_unhashable_label_is_refused(make_model, call, row, label):
    labels = good_labels()
    labels[row] = label
    X = pd.DataFrame(good_columns())
    for y in (labels, objects(*labels)):
        assert_refused(make_model(), TypeError, ["label", f"row {row}"], call, X, y)


@libraries
@stages
@learners
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_one_label_more_than_n_classes_is_refused(library, make_model, call, weight):
    labels = [*good_labels()[:11], "third"]
    X, w = library.frame(good_columns()), [1.0] * 11 + [weight]
    for y in (labels, library.series(labels)):
        words = ["label", "'third'", "n_classes=2", "row 11"]
        assert_refused(make_model(), ValueError, words, call, X, y, w)


@stages
@learners
@bad_rows
@pytest.mark.parametrize("weight", [-1.0, -1e-300, math.nan, math.inf, -math.inf, 1.7e308])
def test_a_weight_out_of_range_is_refused(make_model, call, row, weight):
    weights = [1.0] * 12
    weights[row] = weight
    X = pd.DataFrame(good_columns())
    for w in (weights, np.array(weights), pd.Series(weights)):
        assert_refused(make_model(), ValueError, ["w", f"row {row}"], call, X, good_labels(), w)


@stages
@learners
@bad_rows
@pytest.mark.parametrize("weight", [None, "1", b"1", 1j, [1.0]], ids=repr)
def test_a_weight_that_is_no_number_is_refused(make_model, call, row, weight):
    weights = [1.0] * 12
    weights[row] = weight
    X = pd.DataFrame(good_columns())
    for w in (weights, objects(*weights)):
        assert_refused(make_model(), TypeError, ["w", f"row {row}"], call, X, good_labels(), w)


@libraries
def test_weights_of_text_are_refused(library):
    X, w = library.frame(good_columns()), library.series(["1"] * 12)
    assert_refused(two_classes(), TypeError, ["w", "row 0"], learn_many, X, good_labels(), w)


@libraries
@stages
@learners
@pytest.mark.parametrize("length", [0, 11, 13])
def test_other_lengths_of_labels_or_weights_are_refused(library, make_model, call, length):
    X, words = library.frame(good_columns()), ["12", length]
    labels, weights = ["above"] * length, [1.0] * length
    for y in (labels, np.array(labels), library.series(labels)):
        assert_refused(make_model(), ValueError, ["y", *words], call, X, y)
    for w in (weights, np.array(weights), library.series(weights)):
        assert_refused(make_model(), ValueError, ["w", *words], call, X, good_labels(), w)


NOT_FRAMES = [
    None,
    3,
    "length",
    {"length": 1.0},
    {"length": [1.0]},
    [{"length": 1.0}],
    np.array([[1.0]]),
    pd.Series([1.0]),
]


@stages
@callers
@pytest.mark.parametrize("X", NOT_FRAMES, ids=repr)
def test_what_is_no_frame_is_refused(make_model, call, X):
    assert_refused(make_model(), TypeError, ["X", type(X).__name__], call, X, ["above"])
    with pytest.raises(TypeError, match=r"(?i)data ?frame"):
        call(make_model(), X, ["above"])


@stages
@callers
def test_a_lazy_frame_is_refused(make_model, call):
    X = pytest.importorskip("polars").LazyFrame(good_columns())
    assert_refused(make_model(), TypeError, ["X", "LazyFrame"], call, X, good_labels())


@stages
@learners
@pytest.mark.parametrize("y", [None, 5, "ab"], ids=repr)
def test_labels_that_are_no_series_array_or_list_are_refused(make_model, call, y):
    X = pd.DataFrame({"length": [1.0, 2.0]})
    assert_refused(make_model(), (TypeError, ValueError), ["y"], call, X, y)


@stages
@callers
def test_a_name_that_two_columns_bear_is_refused(make_model, call):
    X = pd.DataFrame(np.ones((2, 3)), columns=["length", "width", "length"])
    assert_refused(make_model(), ValueError, ["'length'"], call, X, ["above", "below"])


@stages
@callers
def test_a_name_that_two_columns_of_arrow_bear_is_refused(make_model, call):
    pa = pytest.importorskip("pyarrow")
    X = pa.table([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], names=["width", "length", "width"])
    assert_refused(make_model(), ValueError, ["'width'"], call, X, ["above", "below"])


@pytest.mark.parametrize("n_jobs", [1, 3])
@learners
def test_a_refused_block_has_no_part_in_what_follows(call, n_jobs):
    model, twin = experienced(n_jobs=n_jobs), experienced(n_jobs=n_jobs)
    columns = good_columns() | {"color": ["new"] * 12, "more": [1.0] * 12, "last": [2.0] * 12}
    columns["last"][11] = math.inf
    assert_refused(
        model, ValueError, ["'last'", "row 11"], call, pd.DataFrame(columns), LABELS[:12]
    )
    X = pd.DataFrame(good_columns() | {"other": ["x"] * 12})
    for one in (model, twin):
        one.learn_many(X, good_labels())
    assert_twins(model, twin)
    assert_predicts(model, X, Pandas)


# Labels as users have them


def learnt_labels(X, y):
    model = AMFClassifier(n_estimators=2, seed=1)
    model.learn_many(X, y)
    return list(model._labels)


@pytest.mark.parametrize(
    "dtype", ["datetime64[ns]", "datetime64[us]", "datetime64[s]", "timedelta64[ns]"]
)
def test_times_are_labels_as_their_series_lists_them(dtype):
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0]})
    y = pd.Series([10, 20, 10]).astype("int64").astype(dtype)
    for labels in (y, y.array, pd.Index(y), y.to_numpy()):
        assert learnt_labels(X, labels) == y.tolist()[:2]


def test_arrays_of_pandas_are_labels_and_weights():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0]})
    text = pd.Series(["x", "y", "x"])
    for y in (text.values, text.array, pd.Categorical(text), text.astype("category").values):
        assert learnt_labels(X, y) == ["x", "y"]
    model, twin = AMFClassifier(seed=1), AMFClassifier(seed=1)
    model.learn_many(X, text, pd.array([1, 2, 3], dtype="Int64"))
    twin.learn_many(X, text, [1, 2, 3])
    assert pickle.dumps(model) == pickle.dumps(twin)


@pytest.mark.parametrize("library", [Polars, Arrow])
def test_labels_without_a_column_name_of_their_own_are_refused_before_they_are_learnt(library):
    model = AMFClassifier(seed=1)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="distinct column names"):
        model.predict_proba_then_learn_many(library.frame({"a": [1.0, 2.0]}), [1, "1"])
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("library", [Polars, Arrow])
def test_labels_of_several_types_do_not_fit_into_a_series_of_every_library(library):
    model = AMFClassifier(seed=1)
    X = library.frame({"a": [1.0, 2.0]})
    model.learn_many(X, [1, "a"])
    with pytest.raises(TypeError, match="several types"):
        model.predict_many(X)


# Memory


def test_blocks_leave_about_as_much_room_as_rows():
    X = pd.DataFrame(np.random.default_rng(1).random((6000, 4)))
    y = np.random.default_rng(2).integers(0, 2, 6000)
    rows, blocks = AMFClassifier(n_estimators=2, seed=1), AMFClassifier(n_estimators=2, seed=1)
    for x, label in zip(X.to_dict("records"), y.tolist(), strict=True):
        rows.learn_one(x, label)
    blocks.learn_many(X[:3000], y[:3000])
    for start in range(3000, 6000, 100):
        blocks.learn_many(X[start : start + 100], y[start : start + 100])
    assert blocks.memory_usage < 1.6 * rows.memory_usage
