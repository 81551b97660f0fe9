"""Bad input raises an error that names it and leaves the model as it was, singly and in blocks."""

import datetime
import decimal
import fractions
import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forests import fresh, objects, state_of

from river_amf import AMFClassifier, AMFRegressor, OnlineDummyClassifier

COLORS = ["red", "tan", "blue"]
GOOD = {"size": 1.0, "width": 1.0, "color": "red"}
WRONG = (TypeError, ValueError)


def trained(kind=AMFClassifier, n_samples=60, **parameters):
    model = fresh(kind, **parameters)
    for i in range(n_samples):
        model.learn_one({"size": i % 7, "width": i / 3, "color": COLORS[i % 3]}, i % 2)
    return model


def dummy():
    model = OnlineDummyClassifier()
    model.learn_one({}, "a")
    return model


def short_repr(value):
    try:
        return repr(value)[:500]
    except ValueError:
        return f"<{type(value).__name__}>"


def short(value):
    """Name a case briefly, because some values have long texts."""
    return f"{type(value).__name__} {short_repr(value):.20}"


def refusal(model, error, call, *args, **kwargs):
    """Check that a call raises and leaves the model as it was; return the message."""
    before = state_of(model)
    try:
        call(*args, **kwargs)
    except error as raised:
        assert state_of(model) == before
        return str(raised)
    return pytest.fail(f"{call.__name__} takes {short(args)}")


def learns(model):
    """Return the call that predicts a block and then learns it."""
    is_regressor = isinstance(model, AMFRegressor)
    name = "predict_then_learn_many" if is_regressor else "predict_proba_then_learn_many"
    return getattr(model, name)


def assert_refused(model, error, words, x=GOOD, y=0, w=1.0):
    """Check that all methods refuse a sample; as a row of a block, with its number."""
    message = refusal(model, error, model.learn_one, x, y, w=w)
    assert all(word in message for word in words), message
    if isinstance(model, OnlineDummyClassifier):
        return
    n_features, is_of_x = len(model._features), x is not GOOD
    if is_of_x:
        assert refusal(model, error, model.learn_one, x, y, w=0) == message
    predicts = is_of_x and (not n_features or all(map(model._features.is_known, x)))
    if predicts:  # unknown features are ignored
        assert refusal(model, error, model.predict_one, x) == message
        assert refusal(model, error, model.novelty_one, x) == message
    for n_before in (0, 2) if n_features else (0,):
        rows = [GOOD] * n_before + [GOOD | x if is_of_x else x] + [GOOD] * (n_before > 0)
        X = pd.DataFrame({name: objects(*(z.get(name) for z in rows)) for name in rows[n_before]})
        labels, weights = [0] * len(rows), [1.0] * len(rows)
        labels[n_before], weights[n_before] = y, w
        calls = [(model.learn_many, X, labels, weights), (learns(model), X, labels, weights)]
        for call in [*calls, *[(model.predict_many, X)] * predicts]:
            assert refusal(model, error, *call) == f"row {n_before}: {message}"


class HasFloat:
    """Converts to a number, but is none."""

    def __float__(self):
        return 1.0


INFINITE = [math.inf, np.float32("-inf"), decimal.Decimal("1e400"), -(10**400)]
INFINITE += [fractions.Fraction(10**400)]
UNHASHABLE = [[1.0], {"nested": 1.0}, np.array([1.0, 2.0]), ("a", [1])]
DATES = [np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), pd.Timestamp("2020")]
DATES += [pd.Period("2020"), datetime.time(5), np.timedelta64(5, "s"), datetime.timedelta(1)]
SNAN = decimal.Decimal("sNaN")

# features, values, error, words of the message
VALUES = [
    (("size", "new"), INFINITE, ValueError, "infinite or too large"),
    (("size", "color", "new"), [1j, np.complex64(1)], ValueError, "not a plain number; convert it"),
    (("size", "color", "new"), DATES, ValueError, "convert it to a number, for example of seconds"),
    (("size", "color", "new"), UNHASHABLE, TypeError, "unhashable"),
    (("size",), ["1.5", "", b"red", ("a", 1)], ValueError, "has held numbers so far"),
    (("color",), [0, 1.5, np.bool_(False), decimal.Decimal("0.5"), math.inf], ValueError, ""),
    (("size",), [np.array(1.0), HasFloat()], WRONG, ""),
    (("size", "new"), [SNAN], ValueError, "not a plain number"),
    (("size",), [10**5000], ValueError, "<int>"),
]
CASES = [
    (name, value, error, words)
    for names, values, error, words in VALUES
    for value in values
    for name in names
]


@pytest.mark.parametrize(("name", "value", "error", "words"), CASES, ids=short)
def test_bad_value_is_refused(name, value, error, words):
    words = [f"feature {name!r}", short_repr(value), words]
    assert_refused(trained(), error, words, {name: value})
    if name == "new":
        assert_refused(fresh(), error, words, {name: value})


@pytest.mark.parametrize("make", [fresh, trained, OnlineDummyClassifier])
def test_sample_must_be_mapping(make):
    model = make()
    for x in (None, 1.0, "size", [("size", 1.0)], pd.Series({"size": 1.0})):
        advice = f"got {x!r} of type"
        assert advice in refusal(model, TypeError, model.learn_one, x, 0)
        assert advice in refusal(model, TypeError, model.learn_one, x, 0, w=0)
        assert advice in refusal(model, TypeError, model.predict_one, x)
        assert advice in refusal(model, TypeError, model.predict_proba_one, x)


NAN = decimal.Decimal("nan")
MISSING = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, NAN, np.ma.masked]
UNHASHABLE_LABELS = [["a"], {"a": 1}, ("a", []), np.array(["a"])]
FINITE, RANGE = "y must be a finite number, got ", "y must be within 1e+100 of the first target"
TOO_MANY = "class number 3, but n_classes=2 and the labels"
NO_NUMBERS = ["5", b"5", 1j, [1.0], {}, np.array([1.0]), np.timedelta64(5), pd.Timestamp("2020")]
NO_NUMBERS += [HasFloat(), pd.Interval(0, 1)]
NOT_WEIGHTS = [None, "1", 1j, [1.0], {}, pd.NA, np.array(1.0), np.timedelta64(1), np.ma.masked]
BAD_WEIGHTS = [-1, -1e-300, math.inf, math.nan, 10**400, 1.7e308, np.longdouble("1e4000"), NAN]
WEIGHT = "w must be a finite number between 0 and 1e+300"

# the model that refuses them all, and those without its parameters or its samples
LABELED = [lambda: trained(n_classes=2), fresh, dummy]
TARGETED = [lambda: trained(AMFRegressor), lambda: fresh(AMFRegressor)]
WEIGHTED = [trained, fresh, dummy, lambda: trained(AMFRegressor)]

# models, name of the argument, values, error, words of the message
ARGUMENTS = [
    (LABELED, "y", [*MISSING, np.datetime64("NaT"), complex("nan")], ValueError, "is missing"),
    (LABELED, "y", UNHASHABLE_LABELS, TypeError, "unhashable"),
    (LABELED[:1], "y", ["third"], ValueError, TOO_MANY),
    (TARGETED, "y", [*MISSING, *INFINITE, SNAN, np.timedelta64("NaT")], ValueError, FINITE),
    (TARGETED, "y", NO_NUMBERS, TypeError, FINITE),
    (TARGETED[:1], "y", [1e101, -1.7e308], ValueError, RANGE),  # the first may be anywhere
    (WEIGHTED, "w", NOT_WEIGHTS, TypeError, WEIGHT),
    (WEIGHTED, "w", BAD_WEIGHTS, ValueError, WEIGHT),
]


@pytest.mark.parametrize(
    ("makes", "name", "value", "error", "words"),
    [(makes, name, v, *more) for makes, name, values, *more in ARGUMENTS for v in values],
    ids=short,
)
def test_bad_label_target_or_weight_is_refused(makes, name, value, error, words):
    for model in (make() for make in makes):
        for x in (GOOD, {"news": 1.0, "color": "new"}, {}):
            for w in (0, 2.5):
                arguments = {"y": 0, "w": w} | {name: value}
                assert words in refusal(model, error, model.learn_one, x, **arguments)
        parts = [words] if words in (FINITE, RANGE) else [words, short_repr(value)]
        assert_refused(model, error, parts, **{name: value})


LEVELS = [0, 1, -0.1, 90, math.nan, math.inf, None, "0.9", True, 1j, np.array(0.5), 10**400]


@pytest.mark.parametrize("level", LEVELS, ids=short)
@pytest.mark.parametrize("make", [fresh, trained])
def test_bad_level_is_refused(make, level):
    model, X = make(AMFRegressor), pd.DataFrame({"size": [1.0, 2.0]})
    for call, x in (
        (model.predict_interval_one, {"size": 1.0}),
        (model.predict_interval_many, X),
        (model.predict_interval_many, X[:0]),
    ):
        message = refusal(model, ValueError, call, x, level)
        assert "level must be a number strictly between 0 and 1" in message


N = 12
COLUMNS = {"size": [i / 3 for i in range(N)], "color": COLORS * 4}
LABELS = [0, 1] * 6
LAST = [0] * (N - 1) + [1]  # a mask
LONG = np.array(["1"] * 11 + ["1e4000"], np.longdouble)
LATE = {  # a name with a column that is bad from row 7 on
    "size": ("x", datetime.date(2020, 1, 1)),
    "color": (1.5, True),
    "n": (["a"], {"a": 1}),
}


def in_all(columns):
    return pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)


def in_series(values):
    return pd.Series(values), pl.Series(values), pa.chunked_array([values])


FRAMES = [
    *((X, "row 11: feature 'size'") for X in in_all(COLUMNS | {"size": [*[1.0] * 11, math.inf]})),
    *(
        (X, f"row 7: feature '{name}'")
        for name, values in LATE.items()
        for value in values
        for X in in_all(COLUMNS | {name: [None] * 7 + [value] * 5})
    ),
    (pd.DataFrame({"size": np.array([math.nan] * 7 + [1.0] * 5, "c16")}), "row 7: feature 'size'"),
    (pd.DataFrame({"size": objects(*[1] * 11, 1 + 0j)}), "row 11: feature 'size'.*type"),
    (pd.DataFrame({"size": LONG}), "row 11: feature 'size'"),
    (pd.DataFrame(np.ones((N, 2)), columns=["size", "size"]), "'size'"),
    (pa.table([[1.0] * N, [1.0] * N], names=["size", "size"]), "'size'"),
    *((X, f"X must be a dataframe.*{type(X).__name__}") for X in (None, "size", {"size": 1.0})),
    *((X, r"use pd\.DataFrame\(X\)") for X in ([[1.0]], np.array(1.0), pd.Series([1.0]))),
    ([{"size": 1.0}], r"X must be a dataframe .*; use pd\.DataFrame\(rows\)"),
    (pl.LazyFrame(COLUMNS), r"X must be a dataframe .*LazyFrame; use X\.collect\(\)"),
]


@pytest.mark.parametrize(("X", "words"), FRAMES)
def test_bad_frame_is_refused(X, words):
    model = trained()
    calls = [(model.learn_many, LABELS), (learns(model), LABELS)]
    if "feature 'n'" not in words:
        calls += [(model.predict_many,), (model.predict_proba_many,)]
    if "X must" in words:
        calls += [(AMFClassifier(absent="zero").learn_many, LABELS)]
    for call, *more in calls:
        assert re.search(words, refusal(model, WRONG, call, X, *more))


BOTH = [AMFClassifier, AMFRegressor]
LENGTHS = {0: "12 rows, but y has 0", 11: "12 rows, but y has 11", 13: "but y has 13"}
# forests, labels, words of the message
Y = [
    *((BOTH, y, "row 11: ") for y in in_series([*[1.5] * 11, None])),
    *((BOTH[:1], y, "row 11: label .* missing") for y in in_series([*["x"] * 11, None])),
    (BOTH, pd.Series([*[1] * 11, None], dtype="Int64"), "row 11: "),
    (BOTH, objects(*[1] * 11, None), "row 11: "),
    (BOTH, np.ma.array([1.0] * N, mask=LAST), "row 11: "),
    (BOTH[:1], np.ma.array(["a"] * N, mask=LAST), "row 11: label .* is missing"),
    (BOTH[1:], LONG, "row 11: y must be a finite"),
    *((BOTH, y, words) for n, words in LENGTHS.items() for y in ([1] * n, *in_series([1] * n))),
    (BOTH, np.ones((N, 1)), "y must have one dimension"),
    *((BOTH, y, "y") for y in (None, 5, "ab", {0: 1.0}, iter([1.0]))),
    *((BOTH, y, r"dataframe; pass a column .* y\['target'\]") for y in in_all({"target": [1] * N})),
    (BOTH, pd.Series(LABELS)[::-1], "y has the index of X in another order"),
    (BOTH[1:], pd.Series(["1"] * N), "row 0: y must"),
    (BOTH[1:], pd.Series(pd.date_range("2020", periods=N)), "row 0: y must"),
]
W = [
    *(([1] * n, words.replace("y", "w")) for n, words in LENGTHS.items()),
    *((w, "row 11: w must") for w in (LONG, np.ma.array([1] * N, mask=LAST), [*[1.0] * 11, -1.0])),
    *((np.array([1] * N, dtype), "row 0: w must") for dtype in ("c16", "m8[s]", "M8[s]")),
    *((w, "row 0: w must") for w in in_series(["1"] * N)),
    *((w, "w must be a series, .*, got a dataframe") for w in in_all({"target": [1] * N})),
    (pd.Series([1.0] * N)[::-1], "w has the index of X in another order"),
]
SERIES = [(kind, y, None, words) for kinds, y, words in Y for kind in kinds]
SERIES += [(AMFClassifier, LABELS, w, words) for w, words in W]


@pytest.mark.parametrize(("kind", "y", "w", "words"), SERIES)
def test_bad_column_of_labels_or_weights_is_refused(kind, y, w, words):
    for model in (fresh(kind), trained(kind)):
        for call in (model.learn_many, learns(model)):
            message = refusal(model, WRONG, call, pd.DataFrame(COLUMNS), y, w)
            assert re.search(words, message), message


def test_first_bad_row_is_named_in_any_column():
    X = pd.DataFrame({"size": [1.0, 2.0, 3.0, math.inf], "new": objects(1.0, "x", 2.0, 3.0)})
    for model in (fresh(n_classes=2), trained(n_classes=2)):
        for y in ([0, 1, 0, 1], [0, 1, 0, None], [0, 1, "third", ["d"]]):
            assert "row 1: feature 'new'" in refusal(model, ValueError, model.learn_many, X, y)
        message = refusal(model, ValueError, model.learn_many, X[["size"]], [0, 1, "third", ["d"]])
        assert "row 2: label 'third'" in message


class Interrupted:
    """Raises an error of its own, as a signal handler may, when it is hashed."""

    def __hash__(self):
        raise ValueError("of the handler")


def test_error_of_hash_is_raised_as_it_is():
    model = trained()
    for x, y in ((GOOD | {"color": Interrupted()}, 0), (GOOD, Interrupted())):
        assert refusal(model, ValueError, model.learn_one, x, y) == "of the handler"
