"""Blocks that are refused: the error names the place, and the model is as it was before.

What is wrong is told in the first row and in the last, by each method and at both stages of a
model once; each bad value, label and weight is then met at both stages, in one row.
"""

import datetime
import decimal
import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from libraries import (
    LABELS,
    Arrow,
    Pandas,
    Polars,
    assert_predicts,
    assert_twins,
    fresh,
    learn,
    libraries,
    objects,
)

from river_amf import AMFClassifier


def learn_many(model, X, y, w=None):
    model.learn_many(X, y, w)


def predict_proba_then_learn_many(model, X, y, w=None):
    model.predict_proba_then_learn_many(X, y, w)


def predict_many(model, X, y):
    model.predict_many(X)


def predict_proba_many(model, X, y):
    model.predict_proba_many(X)


LEARNERS = [learn_many, predict_proba_then_learn_many]
CALLERS = [*LEARNERS, predict_many, predict_proba_many]


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


STAGES = [two_classes, experienced]


def assert_refused(make_model, error, words, call, *args):
    """The call raises, the message holds all `words` as whole words, and nothing has changed."""
    model = make_model()
    before = pickle.dumps(model)
    case = f"{call.__name__} of a model of {make_model.__name__}"
    try:
        call(model, *args)
    except error as caught:
        message = str(caught)
    else:
        pytest.fail(f"nothing is raised by {case}")
    for word in words:
        assert re.search(rf"(?<!\w){re.escape(str(word))}(?!\w)", message), case
    assert pickle.dumps(model) == before, case


def assert_refused_at_both_stages(error, words, call, *args):
    for make_model in STAGES:
        assert_refused(make_model, error, words, call, *args)


def assert_refused_everywhere(calls, error, words, *args):
    for call in calls:
        assert_refused_at_both_stages(error, words, call, *args)


def good_but(values, row, value):
    """Return a list with another value in one row."""
    return [*values[:row], value, *values[row + 1 :]]


rows = pytest.mark.parametrize("row", [1, 7, 11])

# Values

TODAY = datetime.date(2020, 1, 1)
BAD_VALUES = [
    ("length", math.inf, ValueError),
    ("length", np.float32("-inf"), ValueError),
    ("length", 10**400, ValueError),
    ("length", decimal.Decimal("Infinity"), ValueError),
    ("length", decimal.Decimal("sNaN"), ValueError),
    ("length", 1j, ValueError),
    ("length", "long", ValueError),
    ("length", b"long", ValueError),
    ("length", TODAY, ValueError),
    ("length", [1.0], TypeError),
    ("color", 2.0, ValueError),
    ("color", True, ValueError),
    ("color", decimal.Decimal(2), ValueError),
    ("color", ["red"], TypeError),
    ("color", {"red": 1}, TypeError),
    ("color", ("a", [1]), TypeError),
]


def frame_with(name, row, value):
    columns = good_columns()
    columns[name][row] = value
    return pd.DataFrame({name: objects(*values) for name, values in columns.items()})


@pytest.mark.parametrize(
    ("name", "value", "error"), BAD_VALUES, ids=[f"{n} {v!r:.20}" for n, v, _ in BAD_VALUES]
)
def test_a_bad_value_is_refused(name, value, error):
    X, words = frame_with(name, 7, value), [repr(name), "row 7"]
    assert_refused_at_both_stages(error, words, learn_many, X, good_labels())
    assert_refused(experienced, error, words, predict_proba_many, X, good_labels())


@rows
def test_a_bad_value_is_refused_in_any_row_by_each_method(row):
    for name, value, error in (("length", "long", ValueError), ("color", ["red"], TypeError)):
        X, words = frame_with(name, row, value), [repr(name), f"row {row}"]
        assert_refused_everywhere(LEARNERS, error, words, X, good_labels())
        for call in (predict_many, predict_proba_many):
            assert_refused(experienced, error, words, call, X, good_labels())


def test_a_bad_value_in_a_row_of_weight_zero_is_refused():
    X, w = frame_with("color", 7, 1.0), good_but([1.0] * 12, 7, 0.0)
    for call in LEARNERS:
        assert_refused(two_classes, ValueError, ["'color'", "row 7"], call, X, good_labels(), w)


@libraries
def test_an_infinite_value_in_the_last_row_is_refused(library):
    X = library.frame(good_columns() | {"length": [None, *[1.0] * 10, math.inf]})
    assert_refused_everywhere(CALLERS, ValueError, ["'length'", "row 11"], X, good_labels())


@libraries
@pytest.mark.parametrize(
    ("name", "value"),
    [("length", "long"), ("length", TODAY), ("color", 1.5), ("color", 1), ("color", True)],
    ids=str,
)
def test_a_column_of_the_other_kind_is_refused(library, name, value):
    X = library.frame(good_columns() | {name: [None] * 7 + [value] * 5})
    for call in (learn_many, predict_proba_many):
        assert_refused(experienced, ValueError, [repr(name), "row 7"], call, X, good_labels())


@pytest.mark.parametrize("library", [Polars, Arrow])
def test_a_column_of_lists_is_refused(library):
    X = library.frame(good_columns() | {"notes": [None] * 7 + [["a", "b"]] * 5})
    assert_refused_everywhere(LEARNERS, TypeError, ["'notes'", "row 7"], X, good_labels())


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_a_column_of_complex_numbers_is_refused(dtype):
    X = pd.DataFrame(good_columns() | {"length": np.array([math.nan] * 7 + [1.0] * 5, dtype)})
    assert_refused_everywhere(LEARNERS, ValueError, ["'length'", "row 7"], X, good_labels())


def test_a_complex_number_that_equals_another_number_is_refused():
    for values in ([1, 1 + 0j], [1 + 0j, 1.0], [True, np.complex64(1)]):
        X = pd.DataFrame({"length": objects(*values)})
        assert_refused_everywhere(LEARNERS, ValueError, ["'length'", "type"], X, good_labels()[:2])


def test_numbers_too_large_for_float64_are_refused_without_a_warning():
    X = pd.DataFrame(good_columns() | {"length": np.array(["1"] * 11 + ["1e4000"], np.longdouble)})
    assert_refused_everywhere(CALLERS, ValueError, ["'length'", "row 11"], X, good_labels())
    w = np.array(["1"] * 11 + ["1e4000"], np.longdouble)
    X = pd.DataFrame(good_columns())
    assert_refused_everywhere(LEARNERS, ValueError, ["w", "row 11"], X, good_labels(), w)


@pytest.mark.parametrize("of", ["list", "struct"])
def test_a_column_of_pandas_with_nested_values_of_arrow_is_refused(of):
    pa = pytest.importorskip("pyarrow")
    nested = pa.array([None] * 11 + [["a"] if of == "list" else {"a": 1}])
    values = pd.Series(pd.arrays.ArrowExtensionArray(nested))
    X, words = pd.DataFrame(good_columns() | {"notes": values}), ["'notes'", "row 11"]
    assert_refused_everywhere(LEARNERS, TypeError, words, X, good_labels())
    words = ["label", "missing", "row 0"]
    assert_refused_everywhere(LEARNERS, ValueError, words, pd.DataFrame(good_columns()), values)


# The first error


def test_the_error_of_the_first_bad_row_is_raised_whatever_column_it_is_in():
    columns = {"length": [1.0, 2.0, 3.0, math.inf], "new": [1.0, "x", 2.0, 3.0]}
    X = pd.DataFrame({name: objects(*values) for name, values in columns.items()})
    good = good_labels()
    for y in (good[:4], [*good[:3], None], [*good[:2], "third", ["d"]]):
        assert_refused_everywhere(LEARNERS, ValueError, ["'new'", "row 1"], X, y)
    y, X = ["above", "below", "third", ["d"]], X[["length"]]
    assert_refused_everywhere(LEARNERS, ValueError, ["'third'", "row 2"], X, y)


class Unhashable:
    """Raises an error of its own when it is hashed."""

    def __hash__(self):
        raise RuntimeError("no hash")


def test_an_error_of_a_value_itself_is_raised_as_it_is():
    X, y = pd.DataFrame({"length": [1.0, 2.0]}), ["above", Unhashable()]
    assert_refused_everywhere(LEARNERS, RuntimeError, ["no hash"], X, y)
    X, y = pd.DataFrame({"color": objects("red", Unhashable())}), ["above", "below"]
    assert_refused_everywhere(LEARNERS, RuntimeError, ["no hash"], X, y)


# Labels


@pytest.mark.parametrize("label", [None, math.nan, pd.NA, pd.NaT, np.ma.masked], ids=repr)
def test_a_missing_label_is_refused(label):
    labels, X = good_but(good_labels(), 7, label), pd.DataFrame(good_columns())
    for y in (labels, objects(*labels), np.array(labels, dtype=object)):
        assert_refused_at_both_stages(ValueError, ["label", "row 7"], learn_many, X, y)


@pytest.mark.parametrize("label", [["a"], {"a": 1}, ("a", [])], ids=repr)
def test_an_unhashable_label_is_refused(label):
    labels, X = good_but(good_labels(), 7, label), pd.DataFrame(good_columns())
    for y in (labels, objects(*labels)):
        assert_refused_at_both_stages(TypeError, ["label", "row 7"], learn_many, X, y)


@rows
def test_a_bad_label_is_refused_in_any_row_by_each_learning_method(row):
    X = pd.DataFrame(good_columns())
    for label, error in ((None, ValueError), (["a"], TypeError)):
        y, words = good_but(good_labels(), row, label), ["label", f"row {row}"]
        assert_refused_everywhere(LEARNERS, error, words, X, y)


@libraries
@pytest.mark.parametrize("labels", [["x"] * 11, [1.5] * 11, [True] * 11], ids=lambda y: str(y[0]))
def test_a_gap_in_a_series_of_labels_is_refused(library, labels):
    X, y = library.frame(good_columns()), library.series([*labels, None])
    assert_refused(two_classes, ValueError, ["label", "row 11"], learn_many, X, y)


@libraries
def test_one_label_more_than_n_classes_is_refused(library):
    labels, words = good_but(good_labels(), 11, "third"), ["label", "'third'", "n_classes=2"]
    X = library.frame(good_columns())
    for weight in (0.0, 1.0):
        w = [1.0] * 11 + [weight]
        for y in (labels, library.series(labels)):
            assert_refused_everywhere(LEARNERS, ValueError, [*words, "row 11"], X, y, w)


MASKED = {
    "int": np.ma.array([1] * 12, mask=[0] * 11 + [1]),
    "float": np.ma.array([1.0] * 12, mask=[0] * 11 + [1]),
    "objects": np.ma.array(np.array(["a"] * 12, object), mask=[0] * 11 + [1]),
    "text": np.ma.array(["a"] * 12, mask=[0] * 11 + [1]),
    "dates": np.ma.array(np.array([1] * 12, "M8[s]"), mask=[0] * 11 + [1]),
    "records": np.ma.array(np.array([(1, 2)] * 12, "i4,i4"), mask=[(0, 0)] * 11 + [(0, 1)]),
}


@pytest.mark.parametrize("y", MASKED.values(), ids=MASKED)
def test_a_masked_label_is_missing(y):
    X, words = pd.DataFrame(good_columns()), ["label", "missing", "row 11"]
    for call in LEARNERS:
        assert_refused(two_classes, ValueError, words, call, X, y)
    two_classes().learn_many(X.head(11), y[:11])


def test_an_index_of_several_levels_is_no_series_of_labels_or_weights():
    X = pd.DataFrame({"length": [1.0, 2.0]})
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    assert_refused_everywhere(LEARNERS, TypeError, ["y", "MultiIndex"], X, index)
    assert_refused_everywhere(LEARNERS, TypeError, ["w", "MultiIndex"], X, ["above", "x"], index)
    fresh().learn_many(X, list(index))


def test_durations_without_a_unit_are_no_labels():
    X, y = pd.DataFrame({"length": [1.0, 2.0]}), np.array([1, 2], "m8")
    assert_refused_everywhere(LEARNERS, TypeError, ["y", "unit"], X, y)
    words = ["label", "unhashable", "row 0"]
    assert_refused_everywhere(LEARNERS, TypeError, words, X, list(y))


def test_labels_that_cannot_be_compared_are_refused_before_the_first_row_is_learnt():
    X, y = pd.DataFrame({"a": [1.0, 2.0]}), [decimal.Decimal(1), np.int64(1)]
    for call in LEARNERS:
        assert_refused(two_classes, TypeError, ["label", "row 1", "compared"], call, X, y)
    X = pd.DataFrame({"shape": objects(*((value,) for value in y))})
    words = ["'shape'", "row 1", "compared"]
    assert_refused_everywhere(LEARNERS, TypeError, words, X, ["above", "below"])


# Weights


@pytest.mark.parametrize("weight", [-1.0, -1e-300, math.nan, math.inf, -math.inf, 1.7e308])
def test_a_weight_out_of_range_is_refused(weight):
    weights, X = good_but([1.0] * 12, 7, weight), pd.DataFrame(good_columns())
    for w in (weights, np.array(weights), pd.Series(weights)):
        words = ["w", "row 7"]
        assert_refused_at_both_stages(ValueError, words, learn_many, X, good_labels(), w)


@pytest.mark.parametrize(
    "weight",
    [None, "1", b"1", 1j, [1.0], np.complex128(1), np.ma.masked, np.timedelta64(1, "s")],
    ids=repr,
)
def test_a_weight_that_is_no_number_is_refused(weight):
    weights, X = good_but([1.0] * 12, 7, weight), pd.DataFrame(good_columns())
    for w in (weights, objects(*weights)):
        words = ["w", "row 7"]
        assert_refused_at_both_stages(TypeError, words, learn_many, X, good_labels(), w)


@rows
def test_a_bad_weight_is_refused_in_any_row_by_each_learning_method(row):
    X = pd.DataFrame(good_columns())
    for weight, error in ((-1.0, ValueError), ("1", TypeError)):
        w, words = good_but([1.0] * 12, row, weight), ["w", f"row {row}"]
        assert_refused_everywhere(LEARNERS, error, words, X, good_labels(), w)


def test_masked_complex_and_timed_weights_are_refused():
    X = pd.DataFrame(good_columns())
    for name in ("int", "float"):
        words = ["w", "row 11"]
        w = MASKED[name]
        assert_refused_everywhere(LEARNERS, (TypeError, ValueError), words, X, good_labels(), w)
    for dtype in ("complex128", "m8[s]", "M8[s]"):
        w = np.array([1] * 12, dtype)
        assert_refused_everywhere(LEARNERS, TypeError, ["w", "row 0"], X, good_labels(), w)


@libraries
def test_weights_of_text_are_refused(library):
    X, w = library.frame(good_columns()), library.series(["1"] * 12)
    assert_refused(two_classes, TypeError, ["w", "row 0"], learn_many, X, good_labels(), w)


@libraries
def test_other_lengths_of_labels_or_weights_are_refused(library):
    X = library.frame(good_columns())
    for length in (0, 11, 13):
        labels, weights = ["above"] * length, [1.0] * length
        for y in (labels, np.array(labels), library.series(labels)):
            assert_refused_everywhere(LEARNERS, ValueError, ["y", "12", length], X, y)
        for w in (weights, np.array(weights), library.series(weights)):
            words = ["w", "12", length]
            assert_refused_everywhere(LEARNERS, ValueError, words, X, good_labels(), w)


# Results

ODD_LABELS = {
    "no Unicode": ["\ud800", "b"],
    "float16": [np.float16(0.5), np.float16(1)],
    "rounded by pandas": [2**53 + 1, 0.5],
    "longdouble": [np.longdouble("0.1"), 0.5],
    "tuples with NaN": [("a", math.nan), ("b", math.nan)],
    "large": [2**70, 1],
    "complex": [1j, 2],
    "all sorts": [True, 2],
}


@pytest.mark.parametrize("labels", ODD_LABELS.values(), ids=ODD_LABELS)
def test_odd_labels_name_columns_and_rows_in_pandas_as_they_are(labels):
    X, model = pd.DataFrame({"length": [1.0, 4.0]}), fresh()
    for answer in (model.predict_proba_then_learn_many(X, labels), model.predict_proba_many(X)):
        assert list(answer.columns) == labels
    model.learn_many(pd.concat([X] * 20), labels * 20)
    assert model.predict_many(X).tolist() == labels


@pytest.mark.parametrize("library", [Polars, Arrow])
@pytest.mark.parametrize("label", ["\ud800", 10**5000], ids=["no Unicode", "no str"])
def test_labels_that_cannot_name_a_column_are_refused_before_they_are_learnt(library, label):
    X, y = library.frame({"length": [1.0, 4.0, 2.0]}), ["above", "below", label]
    call, words = predict_proba_then_learn_many, ["label", "column"]
    assert_refused(fresh, ValueError, words, call, X, y)
    model = fresh()
    model.learn_many(X, y)
    for make_model in (lambda: model, lambda: pickle.loads(pickle.dumps(model))):
        assert_refused(make_model, ValueError, words, call, X, ["above"] * 3)
        assert_refused(make_model, ValueError, words, predict_proba_many, X, y)


@pytest.mark.parametrize("library", [Polars, Arrow])
@pytest.mark.parametrize(
    "labels",
    [
        *([("a", 1), ("b", 2)], [(1, 2), (3, 4)], ["\ud800", "b"], [1j, "b"]),
        [pd.Timestamp(1), pd.Timestamp(2)],
        [2**53 + 1, 0.5],
    ],
    ids=str,
)
def test_a_series_of_another_library_holds_the_labels_as_they_are_or_is_refused(library, labels):
    X, model = library.frame({"length": [1.0, 4.0]}), fresh()
    model.learn_many(library.frame({"length": [1.0, 4.0] * 20}), labels * 20)
    try:
        answer = library.labels(model.predict_many(X))
    except TypeError as error:
        assert "pass X as a pandas dataframe" in str(error)
    else:
        assert answer == labels


# Frames


@pytest.mark.parametrize(
    "X",
    [
        None,
        3,
        "length",
        {"length": 1.0},
        {"length": [1.0]},
        [{"length": 1.0}],
        np.array([[1.0]]),
        pd.Series([1.0]),
    ],
    ids=repr,
)
def test_what_is_no_frame_is_refused(X):
    assert_refused_everywhere(CALLERS, TypeError, ["X", type(X).__name__], X, ["above"])
    with pytest.raises(TypeError, match=r"(?i)data ?frame"):
        two_classes().learn_many(X, ["above"])


def test_a_lazy_frame_is_refused():
    X = pytest.importorskip("polars").LazyFrame(good_columns())
    assert_refused_everywhere(CALLERS, TypeError, ["X", "LazyFrame"], X, good_labels())


@pytest.mark.parametrize("y", [None, 5, "ab"], ids=repr)
def test_labels_that_are_no_series_array_or_list_are_refused(y):
    X = pd.DataFrame({"length": [1.0, 2.0]})
    assert_refused_everywhere(LEARNERS, (TypeError, ValueError), ["y"], X, y)


def test_a_name_that_two_columns_bear_is_refused():
    X = pd.DataFrame(np.ones((2, 3)), columns=["length", "width", "length"])
    assert_refused_everywhere(CALLERS, ValueError, ["'length'"], X, ["above", "below"])


def test_a_name_that_two_columns_of_arrow_bear_is_refused():
    pa = pytest.importorskip("pyarrow")
    X = pa.table([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], names=["width", "length", "width"])
    assert_refused_everywhere(CALLERS, ValueError, ["'width'"], X, ["above", "below"])


# What follows


@pytest.mark.parametrize(("call", "n_jobs"), [(learn_many, 1), (predict_proba_then_learn_many, 3)])
def test_a_refused_block_has_no_part_in_what_follows(call, n_jobs):
    model, twin = experienced(n_jobs=n_jobs), experienced(n_jobs=n_jobs)
    columns = good_columns() | {"color": ["new"] * 12, "more": [1.0] * 12, "last": [2.0] * 12}
    columns["last"][11] = math.inf
    words = ["'last'", "row 11"]
    assert_refused(lambda: model, ValueError, words, call, pd.DataFrame(columns), LABELS[:12])
    X = pd.DataFrame(good_columns() | {"other": ["x"] * 12})
    for one in (model, twin):
        one.learn_many(X, good_labels())
    assert_twins(model, twin)
    assert_predicts(model, X, Pandas)


@pytest.mark.parametrize("absent", ["missing", "zero"])
def test_a_list_of_dicts_is_refused_with_how_to_make_a_dataframe(absent):
    model = AMFClassifier(seed=1, absent=absent)
    model.learn_one({"length": 1.0}, "x")
    before = pickle.dumps(model)
    with pytest.raises(TypeError, match=r"X must be a dataframe .*; use pd\.DataFrame\(rows\)"):
        model.learn_many([{"length": 1.0, "color": "red"}], ["x"])
    with pytest.raises(TypeError, match=r"of type list$"):
        model.learn_many([[1.0]], ["x"])
    assert pickle.dumps(model) == before
