"""Blocks of rows: learned and predicted bit for bit like one sample at a time."""

import datetime
import decimal
import enum
import fractions
import math

import numpy as np
import pandas as pd
import pytest
from forests import STREAM, VARIANTS, forests, fresh, objects, state_of
from generated import PARAMETERS, PARAMETERS_OF_NUMBERS, TARGETS, any_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from libraries import (
    LIBRARIES,
    Pandas,
    assert_learns,
    assert_twins,
    labels_of,
    learn,
    libraries,
    predict_then_learn,
)
from regressors import NUMBERS, REGRESSORS

from river_amf import AMFClassifier, AMFRegressor

of_each_task = pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
ALL = {f"classifier, {name}": parameters for name, parameters in VARIANTS.items()}
ALL |= {
    f"regressor, {name}": {"kind": AMFRegressor} | parameters
    for name, parameters in REGRESSORS.items()
}

SAMPLES = [x for x, _, _ in STREAM]
COLUMNS = {
    name: [x.get(name) for x in SAMPLES] for name in dict.fromkeys(k for x in SAMPLES for k in x)
}
WEIGHTS = [0.0 if i % 50 == 3 else w for i, (_, _, w) in enumerate(STREAM)]


def stream_of(library, kind):
    samples = NUMBERS if issubclass(kind, AMFRegressor) else STREAM
    return library.frame(COLUMNS), [y for _, y, _ in samples], WEIGHTS


def blocks_of(library, kind, sizes):
    """Cut the stream into blocks of these sizes, again and again."""
    X, y, w = stream_of(library, kind)
    start = turn = 0
    while start < len(y):
        cut = slice(start, start + sizes[turn % len(sizes)])
        yield X[cut], y[cut], w[cut]
        start, turn = cut.stop, turn + 1


# Each kind of forest learns frames of pandas, and one of each task learns frames of each library:
# what a forest learns are arrays, whatever library they come from.
@pytest.mark.parametrize("parameters", ALL.values(), ids=ALL)
def test_block_equals_rows(parameters, request):
    if "absent" not in parameters:  # rows of words are learned one by one
        request.getfixturevalue("chunks")
    kind = parameters.get("kind", AMFClassifier)
    assert_learns(Pandas, [*blocks_of(Pandas, kind, (700, 1000))], **parameters)


@pytest.mark.usefixtures("chunks")
@libraries
@of_each_task
def test_block_of_each_library_equals_rows(library, kind):
    assert_learns(library, [*blocks_of(library, kind, (700, 1, 1000))], kind=kind)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("n_jobs", [2, 3, 16, -1])
@forests
def test_threads_change_nothing(kind, n_jobs):
    alone, model = (fresh(kind, n_estimators=5, n_jobs=n) for n in (1, n_jobs))
    for X, y, w in blocks_of(Pandas, kind, (700, 1000)):
        predicted, expected = (predict_then_learn(forest, X, y, w) for forest in (model, alone))
        assert predicted.equals(expected)
        assert model.predict_many(X).tolist() == alone.predict_many(X).tolist()
    model.n_jobs = 1
    assert_twins(model, alone)


@libraries
def test_input_is_never_changed(library):
    X, labels, weights = next(blocks_of(library, AMFClassifier, (50,)))
    y, w = library.series(labels), library.series(weights)
    before = [*map(state_of, (X, y, w))]
    model = fresh()
    model.learn_many(X, y, w)
    model.predict_proba_then_learn_many(X, y, w)
    model.predict_many(X)
    assert [*map(state_of, (X, y, w))] == before


MISSING = st.none()
VALUES = {
    "length": st.floats(-10, 10)
    | st.sampled_from([-0.0, 5e-324, 1e-300, 1e300, -1e300, 1.7e308])
    | MISSING,
    "width": st.integers(0, 3).map(float) | MISSING,
    "grade": st.integers(-3, 2**60) | MISSING,
    "alive": st.booleans() | MISSING,
    "color": st.sampled_from(["red", "tan", "blue"]) | MISSING,
    "shape": st.sampled_from(["round", "flat"]) | MISSING,
    "nothing": MISSING,
}


@st.composite
def blocks_with_parameters(draw):
    """Draw a library, parameters, and blocks whose columns and labels come and go."""
    library = draw(st.sampled_from([*LIBRARIES.values()]))
    is_regression = draw(st.booleans())
    parameters = draw(PARAMETERS_OF_NUMBERS if is_regression else PARAMETERS)
    make = TARGETS[draw(st.sampled_from([*TARGETS]))]
    blocks = []
    for labels in draw(st.lists(st.sampled_from(["x", "xy", "yxz"]), min_size=1, max_size=4)):
        size = {"min_size": draw(st.integers(0, 9))}
        size["max_size"] = size["min_size"]
        names = draw(st.lists(st.sampled_from([*VALUES]), unique=True, min_size=1))
        columns = {name: draw(st.lists(VALUES[name], **size)) for name in names}
        y = draw(st.lists(st.floats(-10, 10) if is_regression else st.sampled_from(labels), **size))
        w = draw(st.lists(st.sampled_from([1.0, 1.0, 1.0, 0.5, 2.0, 0.0]), **size))
        blocks.append((library.frame(columns), make(y) if is_regression and y else y, w))
    kind = {"kind": AMFRegressor} if is_regression else {}
    return library, blocks, parameters | kind | {"n_jobs": draw(st.sampled_from([1, 3]))}


@pytest.mark.usefixtures("chunks")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blocks_with_parameters())
def test_any_blocks_equal_rows(drawn):
    library, blocks, parameters = drawn
    assert_learns(library, blocks, n_estimators=2, **parameters)


One = enum.IntEnum("One", {"ONE": 1})
Text = enum.StrEnum("Text", {"A": "a"})
ODD_NUMBERS = [1, 1.0, True, -0.0, 2**53 + 1, float(2**53), 2**63, np.float32(0.1), np.bool_(True)]
ODD_NUMBERS += [decimal.Decimal("0.1"), fractions.Fraction(1, 10), np.uint64(2**63), One.ONE]
GAPS = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, decimal.Decimal("nan"), complex("nan")]
OTHERS = ["", "a", "1", b"a", np.str_("a"), "\ud800", Text.A, ("a", math.nan), (1,), (True,)]
OTHERS += [frozenset({1}), (decimal.Decimal("nan"),), pd.Interval(0, 1), int]
BAD = [pd.Timestamp("2020"), datetime.time(5), np.timedelta64(1, "s"), math.inf, 10**400, 1j, [1]]
BAD += [decimal.Decimal("sNaN"), np.array([1.0]), ("a", [1]), {"a": 1}]


ANY = any_of(ODD_NUMBERS, OTHERS, GAPS, BAD)
GOOD_ROWS = st.tuples(any_of(ODD_NUMBERS, GAPS), any_of(OTHERS, GAPS), any_of(ODD_NUMBERS, OTHERS))


@settings(max_examples=150)
@given(
    st.lists(GOOD_ROWS, min_size=1, max_size=8)
    | st.lists(st.tuples(ANY, ANY, ANY), min_size=1, max_size=5),
    st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.0]), min_size=8, max_size=8),
    st.sampled_from([None, 2, 3]),
    st.booleans(),
)
def test_odd_values_equal_rows_or_are_refused_alike(rows, weights, n_classes, has_learned):
    model, twin = (fresh(n_classes=n_classes, n_estimators=2) for _ in range(2))
    for forest in (model, twin):
        learn(forest, [{"a": 1.0, "b": "a"}] * has_learned, [1] * has_learned)
    before, expected = state_of(model), None
    for i, ((a, b, label), weight) in enumerate(zip(rows, weights, strict=False)):
        try:
            twin.learn_one({"a": a, "b": b}, label, w=weight)
        except (TypeError, ValueError) as error:
            expected = type(error), f"row {i}: {error}"
            break
    a, b, labels = map(list, zip(*rows, strict=True))
    X = pd.DataFrame({"a": objects(*a), "b": objects(*b)})
    try:
        model.learn_many(X, labels, weights[: len(rows)])
    except (TypeError, ValueError) as error:
        assert (type(error), str(error)) == expected
        assert state_of(model) == before
    else:
        assert expected is None
        assert [*map(repr, labels_of(model))] == [*map(repr, labels_of(twin))]
        for x in ({"a": 0.1}, {"a": 2.0**53, "b": None}, {"b": "a"}, {"b": (1,)}):
            assert proba_or_error(model, x) == proba_or_error(twin, x)


def proba_or_error(model, x):
    try:
        return list(model.predict_proba_one(x).values())
    except ValueError as error:
        return str(error)
