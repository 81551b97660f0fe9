"""Bad input raises an error that names it and leaves the model as it was, singly and in blocks."""

import datetime
import decimal
import fractions
import math
import pickle
import re
from collections import OrderedDict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)

COLORS = ["red", "tan", "blue"]
FORESTS = [AMFClassifier, AdaptiveAMFClassifier, AMFRegressor, AdaptiveAMFRegressor]


def fresh(kind=AMFClassifier, **given):
    return kind(n_estimators=3, seed=42, **given)


def trained(kind=AMFClassifier, n_samples=60, **given):
    model = fresh(kind, **given)
    for i in range(n_samples):
        model.learn_one({"size": i % 7, "width": i / 3, "color": COLORS[i % 3]}, i % 2)
    return model


GOOD = {"size": 1.0, "width": 1.0, "color": "red"}


def objects(*values):
    """Make a series of pandas that holds the values as they are."""
    column = np.empty(len(values), object)
    for row, value in enumerate(values):
        column[row] = value
    return pd.Series(column, dtype=object)


def named(value):
    """Name a case of a table whose values are shown at any length, or with their address."""
    return value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__)


def short(value):
    """Name a case briefly, because some numbers here have 400 digits."""
    return f"{type(value).__name__} {short_repr(value):.20}"


def short_repr(value):
    """Return the repr as messages show it."""
    try:
        return repr(value)[:500]
    except ValueError:
        return f"<{type(value).__name__}>"


def dummy():
    model = OnlineDummyClassifier()
    model.learn_one({}, "a")
    return model


def refusal(model, error, call, *args, **kwargs):
    """Check that a call raises and leaves no trace; return the message."""
    before = pickle.dumps(model)
    try:
        call(*args, **kwargs)
    except error as raised:
        assert pickle.dumps(model) == before
        return str(raised)
    return pytest.fail(f"{call.__name__} takes {short(args)}")


def learns(model):
    """Return the call that predicts a block and then learns it."""
    is_regressor = isinstance(model, AMFRegressor)
    name = "predict_then_learn_many" if is_regressor else "predict_proba_then_learn_many"
    return getattr(model, name)


def assert_refused(model, error, words, x=GOOD, y=0, w=1.0):
    """Check that a sample is refused by all methods; as a row of a block, with its number."""
    said = refusal(model, error, model.learn_one, x, y, w=w)
    assert all(word in said for word in words), said
    assert refusal(model, error, model.learn_one, OrderedDict(x), y, w=w) == said
    is_of_x = x is not GOOD
    if is_of_x:
        assert refusal(model, error, model.learn_one, x, y, w=0) == said
    if isinstance(model, OnlineDummyClassifier):
        return
    n_known = len(model._features)
    predicts = is_of_x and (not n_known or all(map(model._features.is_known, x)))
    if predicts:  # others are ignored
        for call in {model.predict_one, getattr(model, "predict_proba_one", model.predict_one)}:
            assert refusal(model, error, call, x) == said
    for n_before in (0, 2) if n_known else (0,):
        rows = [GOOD] * n_before + [GOOD | x if is_of_x else x] + [GOOD] * (n_before > 0)
        X = pd.DataFrame({name: objects(*(z.get(name) for z in rows)) for name in rows[n_before]})
        labels, weights = [0] * len(rows), [1.0] * len(rows)
        labels[n_before], weights[n_before] = y, w
        calls = [(model.learn_many, X, labels, weights), (learns(model), X, labels, weights)]
        for call in [*calls, *[(model.predict_many, X)] * predicts]:
            assert refusal(model, error, *call) == f"row {n_before}: {said}"


# ------------------------------------------------------------------------------------------ values

INFINITE = [math.inf, np.float64("-inf"), np.float32("-inf"), decimal.Decimal("Infinity")]
INFINITE += [decimal.Decimal("1e400"), 10**400, -(10**400), fractions.Fraction(10**400)]
UNHASHABLE = [[1.0], {"nested": 1.0}, {1.0}, bytearray(b"red"), np.array([1.0, 2.0]), ("a", [1])]
COMPLEX = [1j, complex(1), np.complex128(1 + 1j), np.complex64(1)]
DATES = [np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5)]
DATES += [pd.Timestamp("2020"), pd.Period("2020"), datetime.time(5)]
DATES += [np.timedelta64(5), np.timedelta64(5, "s"), datetime.timedelta(1), pd.Timedelta(5)]
TEXTS = ["1.5", "", b"red", ("a", 1), frozenset({1})]
NUMBERS = [0, 1.5, True, np.bool_(False), np.int8(3), decimal.Decimal("0.5")]
NUMBERS += [10**400, math.inf]


class HasFloat:
    """Converts to a number, but is none."""

    def __float__(self):
        return 1.0


# features, values, error, words of the message
VALUES = [
    (("size", "new"), INFINITE, ValueError, "infinite or too large"),
    (("size", "color", "new"), COMPLEX, ValueError, "is not a plain number; convert it"),
    (("size", "color", "new"), DATES, ValueError, "convert it to a number, for example of seconds"),
    (("size", "color", "new"), UNHASHABLE, TypeError, "unhashable"),
    (("size",), TEXTS, ValueError, "has held numbers so far"),
    (("color",), NUMBERS, ValueError, ""),
    (("size",), [np.array(1.0), HasFloat()], (TypeError, ValueError), ""),
    (("size", "new"), [decimal.Decimal("sNaN")], ValueError, "not a plain number"),
    (("size",), [10**5000], ValueError, "<int>"),
]
CASES = [
    pytest.param(name, value, error, words, id=f"{name} {short(value)}")
    for names, values, error, words in VALUES
    for value in values
    for name in names
]


@pytest.mark.parametrize(("name", "value", "error", "words"), CASES)
def test_a_bad_value_is_refused(name, value, error, words):
    words = [f"feature {name!r}", short_repr(value), words]
    assert_refused(trained(), error, words, {name: value})
    if name == "new":
        assert_refused(fresh(), error, words, {name: value})


@pytest.mark.parametrize("kind", FORESTS)
def test_every_forest_refuses_bad_input(kind):
    for model in (fresh(kind), trained(kind)):
        for value, error in ((math.inf, ValueError), ([1.0], TypeError)):
            known = model._features.is_known("size")
            for name in ("size",) if known else ("new",):
                assert_refused(model, error, [repr(name)], {name: value})
        for y, error in ((None, ValueError), (["a"], TypeError)):
            assert_refused(model, error, [repr(y)], y=y)
        for w, error in ((-1, ValueError), (None, TypeError)):
            assert_refused(model, error, [repr(w)], w=w)


@pytest.mark.parametrize("make_model", [fresh, trained])
def test_good_news_around_a_bad_value_leave_no_trace(make_model):
    for position in range(4):
        news = [("news 1", 1.0), ("news 2", "red"), *GOOD.items(), (3, 0.5)]
        news.insert(position, ("bad", math.inf))
        assert_refused(make_model(), ValueError, ["'bad'", "inf"], dict(news))
    if make_model is trained:
        assert_refused(trained(), ValueError, ["'size'"], {"color": "new", "size": "bad"})


NOT_DICTS = [None, 1.0, "size", ["size"], [("size", 1.0)], pd.Series({"size": 1.0})]


@pytest.mark.parametrize("make_model", [fresh, trained, OnlineDummyClassifier])
def test_a_sample_that_is_no_mapping_is_refused(make_model):
    for x in NOT_DICTS:
        model = make_model()
        for call in (
            lambda x: model.learn_one(x, 0),  # noqa: B023
            lambda x: model.learn_one(x, 0, w=0),  # noqa: B023
            model.predict_one,
            model.predict_proba_one,
        ):
            advice = "got a Series; pass x.to_dict()" if isinstance(x, pd.Series) else repr(x)
            assert advice in refusal(model, TypeError, call, x)


# ---------------------------------------------------------------- labels, targets, weights, levels

NAN = decimal.Decimal("nan")
MISSING = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, NAN, np.ma.masked]
MISSING_LABELS = [*MISSING, np.datetime64("NaT"), np.timedelta64("NaT"), complex("nan")]
UNHASHABLE_LABELS = [["a"], {"a": 1}, {"a"}, ("a", []), np.array(["a"])]
FINITE, RANGE = "y must be a finite number, got ", "y must be within 1e+100 of the first target"
TOO_MANY = "class number 3, but n_classes=2 and the labels"
INFINITE_TARGETS = [*INFINITE, np.longdouble("1e4000")]
NO_NUMBERS = ["5", "", b"5", np.str_("5"), 1j, np.complex128(1), [1.0], (1.0,), {}, {1.0}]
NO_NUMBERS += [np.array(1.0), np.array([1.0]), np.timedelta64(5), np.datetime64("2020-01-01")]
NO_NUMBERS += [pd.Timestamp("2020"), pd.Timedelta(1), HasFloat(), pd.Interval(0, 1)]
NOT_WEIGHTS = [None, "1", b"1", 1j, [1.0], (1.0,), {}, pd.NA, np.array(1.0)]
NOT_WEIGHTS += [np.complex128(1), np.complex64(1), np.timedelta64(1), np.ma.masked]
BAD_WEIGHTS = [-1, -1e-300, math.inf, -math.inf, math.nan, 10**400, 1.7e308, np.float32("nan")]
BAD_WEIGHTS += [decimal.Decimal("1e400"), NAN, np.longdouble("1e4000")]
WEIGHT = "w must be a finite number between 0 and 1e+300"

# the model that refuses them all, and those that do without its parameters or what it has learned
LABELLED = [lambda: trained(n_classes=2), fresh, dummy]
TARGETED = [lambda: trained(AMFRegressor), lambda: fresh(AMFRegressor)]
WEIGHTED = [trained, fresh, dummy, lambda: trained(AMFRegressor)]

# models, name of the argument, values, error, words of the message
ARGUMENTS = [
    (LABELLED, "y", MISSING_LABELS, ValueError, "is missing"),
    (LABELLED, "y", UNHASHABLE_LABELS, TypeError, "unhashable"),
    (LABELLED[:1], "y", ["third"], ValueError, TOO_MANY),
    (TARGETED, "y", [*MISSING, *INFINITE_TARGETS, decimal.Decimal("sNaN")], ValueError, FINITE),
    (TARGETED, "y", NO_NUMBERS, TypeError, FINITE),
    (TARGETED, "y", [np.timedelta64("NaT")], ValueError, FINITE),
    (TARGETED[:1], "y", [1e101, -1.7e308, 1e150], ValueError, RANGE),  # the first may be anywhere
    (WEIGHTED, "w", NOT_WEIGHTS, TypeError, WEIGHT),
    (WEIGHTED, "w", BAD_WEIGHTS, ValueError, WEIGHT),
]


@pytest.mark.parametrize(
    ("makes", "name", "value", "error", "words"),
    [(makes, name, v, *rest) for makes, name, values, *rest in ARGUMENTS for v in values],
    ids=short,
)
def test_a_bad_label_target_or_weight_is_refused_whatever_comes_with_it(
    makes, name, value, error, words
):
    for model in (make() for make in makes):
        for x in (GOOD, {"news": 1.0, "color": "new"}, {}):
            for w in (0, 1.0, 2.5):
                given = {"y": 0, "w": w} | {name: value}
                assert words in refusal(model, error, model.learn_one, x, **given)
        named = [words] if words in (FINITE, RANGE) else [words, short_repr(value)]
        assert_refused(model, error, named, **{name: value})


LEVELS = [0, 1, -0.1, 90, math.nan, math.inf, None, "0.9", b"", [], True, 1j, pd.NA]
LEVELS += [np.array(0.5), decimal.Decimal("0.5"), np.int64(1), 10**400]


@pytest.mark.parametrize("level", LEVELS, ids=short)
def test_a_bad_level_is_refused_with_what_would_be_right(level):
    X = pd.DataFrame({"size": [1.0, 2.0]})
    for model in (fresh(AMFRegressor), trained(AMFRegressor)):
        for call, x in (
            (model.predict_interval_one, {"size": 1.0}),
            (model.predict_interval_many, X),
            (model.predict_interval_many, X[:0]),
        ):
            said = refusal(model, ValueError, call, x, level)
            assert "level must be a number strictly between 0 and 1" in said


# ------------------------------------------------------------------------------------------ blocks


def in_all(columns):
    """Return a frame of each library."""
    return pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)


def in_series(values):
    return pd.Series(values), pl.Series(values), pa.chunked_array([values])


def in_frames(values):
    return [make({"target": values}) for make in (pd.DataFrame, pl.DataFrame, pa.table)]


N = 12
COLUMNS = {"size": [i / 3 for i in range(N)], "color": COLORS * 4}
LABELS = [0, 1] * 6
LAST = [0] * (N - 1) + [1]  # a mask
TODAY = datetime.date(2020, 1, 1)
FAR = np.float32([1] * 11 + [math.inf])
LONG = np.array(["1"] * 11 + ["1e4000"], np.longdouble)


def but(values, value, row=-1):
    """Return a list with another value in one row."""
    values = list(values)
    values[row] = value
    return values


def nested(value):
    """Return a series of pandas that holds a nested value of arrow in its last row."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array([None] * 11 + [value])))


MASKED = [
    *(np.ma.array([1] * N, mask=LAST), np.ma.array([1.0] * N, mask=LAST)),
    *(np.ma.array(objects(*["a"] * N).to_numpy(), mask=LAST), np.ma.array(["a"] * N, mask=LAST)),
    np.ma.array(np.array([1] * N, "M8[s]"), mask=LAST),
]
PAIRS = pd.MultiIndex.from_tuples([("a", 1)] * N)
FRAMES = [
    *((X, "row 11: feature 'size'") for X in in_all(COLUMNS | {"size": [*[1.0] * 11, math.inf]})),
    *((X, "row 7: feature 'size'") for X in in_all(COLUMNS | {"size": [None] * 7 + ["x"] * 5})),
    *((X, "row 7: feature 'size'") for X in in_all(COLUMNS | {"size": [None] * 7 + [TODAY] * 5})),
    *((X, "row 7: feature 'color'") for X in in_all(COLUMNS | {"color": [None] * 7 + [1.5] * 5})),
    *((X, "row 7: feature 'color'") for X in in_all(COLUMNS | {"color": [None] * 7 + [True] * 5})),
    *((X, "row 7: feature 'n'") for X in in_all(COLUMNS | {"n": [None] * 7 + [["a"]] * 5})),
    (pd.DataFrame(COLUMNS | {"n": nested(["a"])}), "row 11: feature 'n'"),
    (pd.DataFrame(COLUMNS | {"n": nested({"a": 1})}), "row 11: feature 'n'"),
    (pd.DataFrame({"size": np.array([math.nan] * 7 + [1.0] * 5, "c16")}), "row 7: feature 'size'"),
    (pd.DataFrame({"size": objects(*[1] * 11, 1 + 0j)}), "row 11: feature 'size'.*type"),
    (pd.DataFrame({"size": objects(*[1.0] * 11, np.complex64(1))}), "row 11: .*'size'.*type"),
    (pd.DataFrame({"size": LONG}), "row 11: feature 'size'"),
    (pd.DataFrame(np.ones((N, 2)), columns=["size", "size"]), "'size'"),
    (pa.table([[1.0] * N, [1.0] * N], names=["size", "size"]), "'size'"),
    *((X, f"X must be a dataframe.*{type(X).__name__}") for X in (None, 3, "size", {"size": 1.0})),
    *((X, "X must be a dataframe") for X in ([[1.0]], np.array([[1.0]]), pd.Series([1.0]))),
    ([{"size": 1.0}], r"X must be a dataframe .*; use pd\.DataFrame\(rows\)"),
    (pl.LazyFrame(COLUMNS), "X must be a dataframe .*LazyFrame"),
]  # fmt: skip


@pytest.mark.parametrize(("X", "words"), FRAMES, ids=named)
def test_a_bad_frame_is_refused(X, words):
    model = trained()
    calls = [(model.learn_many, LABELS), (learns(model), LABELS)]
    if "feature 'n'" not in words:
        calls += [(model.predict_many,), (model.predict_proba_many,)]
    for call, *rest in calls:
        assert re.search(words, refusal(model, (TypeError, ValueError), call, X, *rest))
    if "X must" in words:
        words_model = AMFClassifier(absent="zero", seed=1)
        said = refusal(words_model, TypeError, words_model.learn_many, X, LABELS)
        assert re.search(words, said)


BOTH = [AMFClassifier, AMFRegressor]
LENGTHS = [(0, "12 rows, but y has 0"), (11, "12 rows, but y has 11"), (13, "but y has 13")]
# forests, labels, words of the message
Y = [
    *((BOTH, y, "row 11: ") for y in in_series([*[1.5] * 11, None])),
    *((BOTH, y, "row 11: ") for y in in_series([*[True] * 11, None])),
    *((BOTH[:1], y, "row 11: label .* missing") for y in in_series([*["x"] * 11, None])),
    (BOTH, pd.Series([*[1] * 11, None], dtype="Int64"), "row 11: "),
    (BOTH, objects(*[1] * 11, None), "row 11: "),
    *((BOTH[:1], y, "row 11: label .* is missing") for y in MASKED),
    *((BOTH[1:], y, "row 11: y must be a finite") for y in (*MASKED[:2], LONG, FAR)),
    *((BOTH, y, words) for n, words in LENGTHS for y in ([1] * n, np.ones(n), *in_series([1] * n))),
    (BOTH, np.ones((N, 1)), "y must have one dimension"),
    *((BOTH, y, "y") for y in (None, 5, "ab", {0: 1.0}, iter([1.0]))),
    *((BOTH, y, r"got a dataframe; pass a column .* y\['target'\]") for y in in_frames([1] * N)),
    (BOTH, pd.Series(LABELS)[::-1], "y has the index of X in another order"),
    (BOTH, PAIRS, "y must .* MultiIndex"),
    (BOTH, np.array([1] * N, "m8"), "y of dtype .* unit"),
    (BOTH[:1], list(np.array([1] * N, "m8")), "row 0: label .* unhashable"),
    (BOTH[1:], pd.Series(["1"] * N), "row 0: y must"),
    (BOTH[1:], pd.Series(pd.date_range("2020", periods=N)), "row 0: y must"),
    (BOTH[1:], np.array([1 + 0j] * N), "row 0: y must"),
    (BOTH[:1], nested(["a"]), "row 0: label .* missing"),
]  # fmt: skip
W = [
    *(([1] * n, words.replace("y", "w")) for n, words in LENGTHS),
    *((w, "row 11: w must") for w in (LONG, MASKED[0], MASKED[1], pd.Series(but([1.0] * N, -1.0)))),
    *((np.array([1] * N, dtype), "row 0: w must") for dtype in ("c16", "m8[s]", "M8[s]")),
    *((w, "row 0: w must") for w in in_series(["1"] * N)),
    *((w, "w must be a series, .*, got a dataframe") for w in in_frames([1] * N)),
    (pd.Series([1.0] * N)[::-1], "w has the index of X in another order"),
    (PAIRS, "w must .* MultiIndex"),
]
SERIES = [(kind, y, None, words) for kinds, y, words in Y for kind in kinds]
SERIES += [(AMFClassifier, LABELS, w, words) for w, words in W]


@pytest.mark.parametrize(("kind", "y", "w", "words"), SERIES, ids=named)
def test_bad_labels_targets_and_weights_of_a_block_are_refused(kind, y, w, words):
    for model in (fresh(kind), trained(kind)):
        for call in (model.learn_many, learns(model)):
            y = iter([1.0]) if isinstance(y, type(iter([]))) else y
            said = refusal(model, (TypeError, ValueError), call, pd.DataFrame(COLUMNS), y, w)
            assert re.search(words, said), said


def test_the_error_of_the_first_bad_row_is_raised_whatever_column_it_is_in():
    X = pd.DataFrame({"size": [1.0, 2.0, 3.0, math.inf], "new": objects(1.0, "x", 2.0, 3.0)})
    for model in (fresh(n_classes=2), trained(n_classes=2)):
        for y in ([0, 1, 0, 1], [0, 1, 0, None], [0, 1, "third", ["d"]]):
            assert "row 1: feature 'new'" in refusal(model, ValueError, model.learn_many, X, y)
        said = refusal(model, ValueError, model.learn_many, X[["size"]], [0, 1, "third", ["d"]])
        assert "row 2: label 'third'" in said


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
@pytest.mark.parametrize("label", ["\ud800", 10**5000], ids=["no Unicode", "no str"])
def test_labels_that_cannot_name_a_column_are_refused_before_they_are_learnt(make, label):
    X, y = make({"length": [1.0, 4.0, 2.0]}), ["above", "below", label]
    model = fresh()
    assert "cannot name a column" in refusal(model, ValueError, learns(model), X, y)
    model.learn_many(X, y)
    for call, *rest in ((learns(model), ["above"] * 3), (model.predict_proba_many,)):
        assert "cannot name a column" in refusal(model, ValueError, call, X, *rest)


# -------------------------------------------------------------------------------- objects that lie


class Unprintable:
    """Has no repr."""

    def __repr__(self):
        raise RuntimeError("no repr")


class Own:
    """Raises an error of its own when it is hashed or compared."""

    def __init__(self, *fails):
        self.fails = fails

    def __hash__(self):
        if "hash" in self.fails:
            raise RuntimeError("not hashable")
        return hash("red")

    def __eq__(self, other):
        raise RuntimeError("not comparable")


class EqualToAll:
    """Claims to equal everything."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(1.0)


def test_values_without_a_repr_are_refused_with_their_type():
    for model in (fresh(), trained()):
        for x in ({"size": math.inf, Unprintable(): 1.0}, {"a": math.inf, "b": Unprintable()}):
            assert "inf" in refusal(model, ValueError, model.learn_one, x, 0)
        refusal(model, TypeError, model.learn_one, {}, 0, w=Unprintable())
    for kind, x, y in (
        (AMFClassifier, {"size": Unprintable()}, 0),
        (AMFRegressor, {}, Unprintable()),
    ):
        model = trained(kind)
        said = refusal(model, (TypeError, ValueError), model.learn_one, x, y)
        assert "<Unprintable>" in said


def test_an_error_of_a_value_itself_is_raised_as_it_is():
    for fails in ((), ("hash",)):
        model = trained()
        x = GOOD | {"color": Own(*fails)}
        assert "not " in refusal(model, RuntimeError, model.learn_one, x, 0)
        X = pd.DataFrame({"color": objects("red", Own(*fails))})
        assert "not " in refusal(model, RuntimeError, model.learn_many, X, [0, 1])
        model = AMFClassifier(seed=1)
        model.learn_one({}, "red")
        assert "not " in refusal(model, RuntimeError, model.learn_one, {}, Own(*fails))
        X = pd.DataFrame({"a": [1.0, 2.0]})
        assert "not " in refusal(model, RuntimeError, model.learn_many, X, ["red", Own(*fails)])


def test_what_cannot_be_compared_is_refused():
    one, other = decimal.Decimal(1), np.int64(1)
    model = AMFClassifier(seed=1)
    X, shapes = pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"shape": objects((one,), (other,))})
    said = refusal(model, TypeError, model.learn_many, X, [one, other])
    assert re.search("row 1: label .* compared", said)
    said = refusal(model, TypeError, model.learn_many, shapes, [0, 1])
    assert re.search("row 1: feature 'shape'.* compared", said)
    model.learn_one({"shape": (one,)}, one)
    said = refusal(model, TypeError, model.learn_one, {}, other)
    assert f"label {other!r}" in said and repr([one]) in said
    said = refusal(model, TypeError, model.learn_one, {"shape": (other,)}, one)
    assert "feature 'shape'" in said and repr((other,)) in said


CHANGED = [(complex(1), ValueError), (np.complex128(1), ValueError), (np.array(1.0), TypeError)]
CHANGED += [(EqualToAll(), ValueError), (decimal.Decimal("sNaN"), ValueError)]


@pytest.mark.parametrize("n_features", [1, 2, 70])
def test_a_dict_that_is_changed_after_the_prediction_is_checked_anew(n_features):
    model = AMFClassifier(n_estimators=2, seed=1)
    x = dict.fromkeys(map(str, range(n_features)), 1.0)
    model.learn_one(x, 0)
    for value, error in CHANGED:
        x["0"] = 1.0
        model.predict_one(x)
        x["0"] = value
        assert "feature '0'" in refusal(model, error, model.learn_one, x, 0)
