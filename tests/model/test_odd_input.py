"""Odd but valid input works: values, names, labels, targets and weights of all types and sizes."""

import decimal
import enum
import fractions
import math
import random
import types
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forests import forests, fresh, state_of, walk
from hypothesis import given, settings
from hypothesis import strategies as st
from test_bad_input import GOOD, short, trained

from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor

stages = pytest.mark.parametrize("make", [fresh, trained])


@stages
@forests
def test_weight_zero_changes_nothing(make, kind):
    model = make(kind)
    before = state_of(model)
    for x, w in ((GOOD, 0), (GOOD | {"new": 1.0}, 0.0), (GOOD | {"new": "red"}, False)):
        model.learn_one(x, 0, w=w)
    for x, y in (({"size": 1e9, "width": -1e9}, 0), ({"color": "new"}, 5.0), ({}, 0)):
        model.learn_one(x, y, w=0)
    assert state_of(model) == before


@stages
@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda x: defaultdict(float, x), Counter])
def test_samples_are_never_changed(make, kind):
    model = make()
    for original in ({}, {"size": 2.0}, {"new": 1.0, "size": None}, GOOD):
        x = kind(original)
        model.predict_proba_one(x)
        model.predict_one(x)
        model.learn_one(x, 0)
        model.learn_one(x, 1, w=0)
        assert [*x.items()] == [*original.items()]


Suit = enum.Enum("Suit", {"CLUBS": "c", "HEARTS": "h", "SPADES": "s"})


def plain_sample(i):
    x = {"v": i * i % 23, "w": i * i % 3 % 2, "c": "chs"[i * i % 7 % 3]}
    return {name: x[name] for name, every in [("v", 5), ("c", 7), ("w", 11)] if i % every}


def numbers(kind, names="vw"):
    return lambda x: x | {name: kind(x[name]) for name in names if name in x}


def categories(*values):
    by_name = dict(zip("chs", values, strict=True))
    return lambda x: x | ({"c": by_name[x["c"]]} if "c" in x else {})


def gaps(value):
    return lambda x: dict.fromkeys("vcw", value) | x


NUMBERS = [int, float, np.int8, np.int16, np.int64, np.uint8, np.float16, np.float32, np.float64]
NUMBERS += [np.longdouble, decimal.Decimal, fractions.Fraction]
CATEGORIES = [(b"c", b"h", b"s"), (("c", 1), ("h", 2), ()), map(frozenset, ["c", "h", ""]), Suit]
CATEGORIES += [[pd.Interval(i, i + 1) for i in range(3)], ("c", b"h", ("s",)), ("", "nan", "None")]
MISSING = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")]
MISSING += [np.ma.masked, np.timedelta64("NaT"), decimal.Decimal("nan"), complex("nan")]
MISSING += [np.complex128("nan")]
MAPPINGS = [OrderedDict, UserDict, types.MappingProxyType, ChainMap, Counter]
MAPPINGS += [lambda x: defaultdict(float, x)]
ODD = {f"number {kind.__name__}": numbers(kind) for kind in NUMBERS}
ODD |= {f"number {kind.__name__}": numbers(kind, "w") for kind in (bool, np.bool_)}
ODD |= {f"categories {k}": categories(*values) for k, values in enumerate(CATEGORIES)}
ODD |= {f"missing {short(value)}": gaps(value) for value in MISSING}
ODD |= {f"mapping {kind.__name__}": kind for kind in MAPPINGS}


def answers(samples):
    """Return the test-then-train predictions of the plain labels."""
    rng = random.Random(5)
    rows = ((x, (i * i % 23 > 11) ^ (rng.random() < 0.1)) for i, x in enumerate(samples))
    return walk(fresh(), rows, "predict_proba_one")


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_samples_count_as_plain_ones(odd):
    samples = [plain_sample(i) for i in range(200)]
    assert answers([odd(x) for x in samples]) == answers(samples)


NAMES = [1, "1", b"1", (1, 2), "late", Suit.CLUBS, None, 2.5]


@given(st.permutations(NAMES))
@settings(max_examples=25)
def test_order_of_keys_does_not_matter(names):
    rng = random.Random(6)
    first, second = (AMFClassifier(n_estimators=2, seed=1) for _ in range(2))
    for i in range(30):
        x = {name: rng.random() for name in NAMES if i > 10 or name != "late"}
        x |= {"1": rng.choice(["red", "tan"]), None: rng.choice(["oak", "elm"])}
        shuffled = {name: x[name] for name in names if name in x}
        assert second.predict_proba_one(shuffled) == first.predict_proba_one(x)
        first.learn_one(x, x[1] > 0.5)
        second.learn_one(shuffled, x[1] > 0.5)
    assert state_of(second) == state_of(first)


LABELS = [(True, False), (np.bool_(True), np.bool_(False)), (1, 0), (np.int64(1), np.int64(0))]
LABELS += [(0.5, -0.5), ("yes", "no"), (b"yes", b"no"), (("yes", 1), ()), ("yes", 0)]
LABELS += [(frozenset({1}), frozenset()), (Suit.CLUBS, Suit.HEARTS), ("nan", "None")]


@pytest.mark.parametrize("labels", LABELS, ids=short)
def test_labels_may_be_any_hashables(labels):
    model = fresh()
    for i in range(40):
        model.learn_one({"v": i % 10}, labels[i % 10 < 5])
    assert model.predict_one({"v": 1}) == labels[1]
    assert model.predict_one({"v": 8}) == labels[0]
    assert set(model.predict_proba_one({"v": 8})) == set(labels)


Level = enum.IntEnum("Level", {"LOW": 3})
TARGETS = [0, -0.0, True, np.bool_(True), np.int8(-3), np.uint64(2**64 - 1), 2**70, -(10**99)]
TARGETS += [5e-324, np.float16(1.5), np.float32(1.1), np.longdouble("1.1"), Level.LOW]
TARGETS += [decimal.Decimal("1.1"), fractions.Fraction(1, 3)]
COLUMNS = [[y, y, y] for y in TARGETS]
COLUMNS += [pl.Series([1, 2, 3]), pl.Series([True, False, True]), np.array([1, 2, 3], ">f4")]
COLUMNS += [pa.array([1.0, 2.0, 3.0]), pa.chunked_array([[1], [2, 3]]), range(3), (1, 2.5, True)]
COLUMNS += [pd.array([1, 2, 3], dtype="Int8"), pd.Series([1, 2, 3], dtype="int64[pyarrow]")]
COLUMNS += [pd.Series([1, 2, 3], dtype="category"), pd.Index([1, 2, 3])]
COLUMNS += [np.ma.array([1.0, 2.0, 3.0]), pd.arrays.SparseArray([0.0, 1, 0])]
COLUMNS += [pl.Series([decimal.Decimal(1)] * 3), pd.Series([1, 2, 3], index=[9, 9, 0])]


@stages
@pytest.mark.parametrize("column", COLUMNS, ids=short)
def test_targets_are_learned_as_floats(make, column):
    single, block, twin = (make(AMFRegressor) for _ in range(3))
    sizes, targets = [1.0, 2.0, 3.0], getattr(column, "to_pylist", lambda: list(column))()
    block.learn_many(pd.DataFrame({"size": sizes}), column)
    for size, y in zip(sizes, targets, strict=True):
        single.learn_one({"size": size}, y)
        twin.learn_one({"size": size}, float(y))
    assert state_of(single) == state_of(block) == state_of(twin)


SCALES = {
    "timestamps a minute apart": lambda u: 1.7e9 + 60 * round(100 * u),
    "microseconds of timestamps": lambda u: 1.7e9 + 1e-6 * round(100 * u),
    "identifiers": lambda u: 2**53 - round(1000 * u),
    "1e-12": lambda u: 1e-12 * u,
    "1e-300": lambda u: 1e-300 * u,
    "denormal": lambda u: 5e-324 * round(100 * u),
    "1e39": lambda u: 1e39 * u,
    "1e300": lambda u: 1e300 * u,
    "up to ±1.7e308": lambda u: 1.7e308 * (2 * u - 1),
    "exactly ±1.7e308": lambda u: math.copysign(1.7e308, u - 0.5),
    "largest and smallest": lambda u: 1.7976931348623157e308 if u > 0.5 else 5e-324,
}


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"split_pure": True},
        {"max_nodes": 101},
        {"split_intensity": "relevance"},
        {"split_intensity": "unit", "split_pure": True},
        {"kind": AdaptiveAMFClassifier},
        {"split_intensity": "unit", "kind": AdaptiveAMFClassifier},
        {"split_pure": True, "kind": AdaptiveAMFClassifier},  # by relevance
    ],
    ids=str,
)
def test_features_of_any_scale_are_split(scale, parameters):
    model, rng, hits = fresh(**parameters), random.Random(9), []
    for i in range(400):
        u = rng.random()
        if abs(u - 0.5) < 0.02:
            continue
        x, label = {"v": scale(u), "other": -scale(u), "unit": i % 7}, u > 0.5
        hits.append(model.predict_one(x) == label)
        model.learn_one(x, label)
        for question in (x, {"v": -x["v"]}, {"v": 1.7976931348623157e308}, {"v": 0.0}):
            proba = model.predict_proba_one(question)
            assert all(0.0 <= p <= 1.0 for p in proba.values())
            assert sum(proba.values()) == pytest.approx(1.0, abs=1e-9)
    if model.split_intensity != "unit":  # with which rates follow the scale
        assert np.mean(hits[100:]) > 0.9
