"""Odd but valid input works: values, names, labels, targets and weights of all types and sizes."""

import decimal
import enum
import fractions
import math
import pickle
import random
import types
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forests import forests
from hypothesis import given, settings
from hypothesis import strategies as st
from river.utils import VectorDict
from test_bad_input import GOOD, dummy, fresh, short, trained

from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor

stages = pytest.mark.parametrize("make", [fresh, trained])


# ------------------------------------------------------------------------------------- odd objects


class Once(fractions.Fraction):
    """A number that converts only once."""

    turns = 0

    def __float__(self):
        self.turns += 1
        if self.turns > 1:
            raise RuntimeError("converted twice")
        return 1.0


class Fickle(dict):
    """A dict with other items after the first time."""

    turns = 0

    def items(self):
        self.turns += 1
        return super().items() if self.turns == 1 else {"size": math.inf, "color": 1.0}.items()


@stages
@pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
def test_each_value_is_read_only_once(make, kind):
    once = dict.fromkeys(("size", "width", "new"), 1.0)
    one = Once(1) if kind is AMFRegressor else 1
    model, block, twin = (make(kind) for _ in range(3))
    model.learn_one(GOOD | {name: Once(1) for name in once}, one)
    block.learn_many(pd.DataFrame([GOOD | once]), [1])
    twin.learn_one(GOOD | once, 1)
    assert pickle.dumps(block) == pickle.dumps(twin)
    model.learn_one(Fickle(GOOD | {"newer": 2.0}), 1)
    twin.learn_one(GOOD | {"newer": 2.0}, 1)
    assert pickle.dumps(model) == pickle.dumps(twin)


# --------------------------------------------------------------------------------- samples, values


@stages
@forests
def test_weight_zero_changes_nothing(make, kind):
    model = make(kind)
    before = pickle.dumps(model)
    far = {"size": 1e9, "width": -1e9}
    for x, w in ((GOOD, 0), (GOOD | {"new": 1.0}, 0.0), (GOOD | {"new": "red"}, False)):
        model.learn_one(x, 0, w=w)
    for x, y in ((far, 0), ({"color": "new"}, 5.0), ({}, 0)):
        model.learn_one(x, y, w=0)
    assert pickle.dumps(model) == before


@stages
def test_input_is_never_mutated(make):
    for kind in (dict, OrderedDict, lambda x: defaultdict(float, x), Counter):
        model = make()
        for original in ({}, {"size": 2.0}, {"new": 1.0, "size": None}, GOOD):
            x = kind(original)
            model.predict_proba_one(x)
            model.predict_one(x)
            model.learn_one(x, 0)
            model.learn_one(x, 1, w=0)
            assert [*x.items()] == [*original.items()], type(x)


def answers(samples, labels, **parameters):
    """Return the test-then-train predictions."""
    model = fresh(**parameters)
    result = []
    for x, label in zip(samples, labels, strict=True):
        result.append(list(model.predict_proba_one(x).values()))
        model.learn_one(x, label)
    return result


def noisy_labels(values, threshold):
    rng = random.Random(5)
    return [(value > threshold) ^ (rng.random() < 0.1) for value in values]


NUMBER_TYPES = [int, float, np.int8, np.int16, np.int64, np.uint8, np.float16, np.float32]
NUMBER_TYPES += [np.float64, np.longdouble, decimal.Decimal, fractions.Fraction]


@pytest.mark.parametrize(
    ("kind", "modulus"), [*((kind, 23) for kind in NUMBER_TYPES), (bool, 2), (np.bool_, 2)]
)
def test_a_number_is_a_number_whatever_its_type(kind, modulus):
    values = [i * i % 23 % modulus for i in range(200)]
    labels = noisy_labels(values, modulus // 2 - 1)
    expected = answers([{"v": float(v), "w": float(kind(v % 5))} for v in values], labels)
    assert answers([{"v": kind(v), "w": kind(v % 5)} for v in values], labels) == expected


class Suit(enum.Enum):
    CLUBS = "c"
    HEARTS = "h"
    SPADES = "s"


@pytest.mark.parametrize(
    "categories",
    [
        [b"c", b"h", b"s"],
        [("c", 1), ("h", 2), ()],
        [frozenset("c"), frozenset("h"), frozenset()],
        list(Suit),
        [pd.Interval(0, 1), pd.Interval(1, 2), pd.Interval(2, 3)],
        ["c", b"h", ("s",)],
        ["", "nan", "None"],
    ],
    ids=short,
)
def test_a_category_is_a_category_whatever_its_type(categories):
    values = [i * i % 7 % 3 for i in range(200)]
    labels = noisy_labels(values, 0)
    expected = answers([{"c": "chs"[v], "v": v} for v in values], labels)
    assert answers([{"c": categories[v], "v": v} for v in values], labels) == expected


@pytest.mark.parametrize(
    "missing",
    [
        *(math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s"), np.ma.masked),
        *(np.timedelta64("NaT"), decimal.Decimal("nan"), complex("nan"), np.complex128("nan")),
    ],
    ids=short,
)
def test_all_kinds_of_missing_values_are_like_an_absent_key(missing):
    absent, present = [], []
    for i in range(200):
        x = {"v": i * i % 23, "w": i % 4, "c": "red" if i % 3 else "tan"}
        gaps = [name for name, every in [("v", 5), ("c", 7), ("w", 11)] if i % every == 0]
        absent.append({name: value for name, value in x.items() if name not in gaps})
        present.append(x | dict.fromkeys(gaps, missing))
    labels = noisy_labels([i * i % 23 for i in range(200)], 11)
    assert answers(present, labels) == answers(absent, labels)


MAPPINGS = [OrderedDict, UserDict, VectorDict, types.MappingProxyType, ChainMap]
MAPPINGS += [lambda x: defaultdict(float, x)]


@pytest.mark.parametrize("kind", MAPPINGS, ids=lambda kind: kind.__name__)
def test_any_mapping_is_a_sample(kind):
    samples = [{"v": i * i % 23, "c": "red" if i % 3 else "tan"} for i in range(200)]
    if kind is VectorDict:  # which holds numbers only
        samples = [{"v": x["v"], "c": len(x["c"])} for x in samples]
    labels = noisy_labels([x["v"] for x in samples], 11)
    assert answers([kind(x) for x in samples], labels) == answers(samples, labels)
    for model in (trained(), dummy()):
        for call in (model.predict_proba_one, getattr(model, "debug_one", model.predict_one)):
            assert call(kind({"size": 1.0})) == call({"size": 1.0})


NAMES = [1, "1", b"1", (1, 2), "late", Suit.CLUBS, None, 2.5]


@given(st.permutations(NAMES))
@settings(max_examples=25)
def test_the_order_of_keys_does_not_matter(names):
    rng = random.Random(6)
    samples = []
    for i in range(30):
        x = {name: rng.random() for name in NAMES if i > 10 or name != "late"}
        samples.append(x | {"1": rng.choice(["red", "tan"]), None: rng.choice(["oak", "elm"])})
    first, second = (AMFClassifier(n_estimators=2, seed=1) for _ in range(2))
    for x in samples:
        shuffled = {name: x[name] for name in names if name in x}
        assert second.predict_proba_one(shuffled) == first.predict_proba_one(x)
        first.learn_one(x, x[1] > 0.5)
        second.learn_one(shuffled, x[1] > 0.5)
    assert pickle.dumps(second) == pickle.dumps(first)


@pytest.mark.parametrize(
    "labels",
    [
        (True, False),
        (np.bool_(True), np.bool_(False)),
        (1, 0),
        (np.int64(1), np.int64(0)),
        (0.5, -0.5),
        ("yes", "no"),
        (b"yes", b"no"),
        (("yes", 1), ()),
        (frozenset({1}), frozenset()),
        (Suit.CLUBS, Suit.HEARTS),
        ("yes", 0),
        ("nan", "None"),
    ],
    ids=short,
)
def test_a_label_may_be_any_hashable(labels):
    model = fresh()
    for i in range(40):
        model.learn_one({"v": i % 10}, labels[i % 10 < 5])
    assert model.predict_one({"v": 1}) == labels[1]
    assert model.predict_one({"v": 8}) == labels[0]
    assert set(model.predict_proba_one({"v": 8})) == set(labels)


# ----------------------------------------------------------------------------------------- targets


class Level(enum.IntEnum):
    LOW = 3


TARGETS = [0, -0.0, True, np.bool_(True), np.int8(-3), np.uint64(2**64 - 1), 2**70, -(10**99)]
TARGETS += [5e-324, np.float16(1.5), np.float32(1.1), np.longdouble("1.1"), Level.LOW]
TARGETS += [decimal.Decimal("1.1"), fractions.Fraction(1, 3)]


@stages
@pytest.mark.parametrize("y", TARGETS, ids=short)
def test_a_target_of_any_type_is_learned_as_its_float(make, y):
    model, twin = make(AMFRegressor), make(AMFRegressor)
    model.learn_one({"size": 1.0}, y)
    twin.learn_one({"size": 1.0}, float(y))
    assert pickle.dumps(model) == pickle.dumps(twin)
    for x in ({"size": 2.0}, {"size": 3.0}):
        twin.learn_one(x, float(y))
    content, expected = pickle.dumps(model), pickle.dumps(twin)
    for column in ([y, y], (y, y), np.array([y, y]), pd.Series([y, y], dtype=object)):
        model = pickle.loads(content)
        model.learn_many(pd.DataFrame({"size": [2.0, 3.0]}), column)
        assert pickle.dumps(model) == expected, type(column)


COLUMNS = [
    pl.Series([1, 2, 3]),
    pl.Series([True, False, True]),
    pl.Series([decimal.Decimal(1)] * 3),
]
COLUMNS += [pa.array([1.0, 2.0, 3.0]), pa.chunked_array([[1], [2, 3]]), np.array([1, 2, 3], ">f4")]
COLUMNS += [pd.array([1, 2, 3], dtype="Int8"), pd.Series([1, 2, 3], dtype="int64[pyarrow]")]
COLUMNS += [pd.Series([1, 2, 3], dtype="category"), pd.Index([1, 2, 3]), range(3), (1, 2.5, True)]
COLUMNS += [np.ma.array([1.0, 2.0, 3.0]), pd.arrays.SparseArray([0.0, 1, 0])]
COLUMNS += [np.array([1, 2, 3], np.int8), pd.Series([1, 2, 3], index=[9, 9, 0])]


@pytest.mark.parametrize("y", COLUMNS, ids=lambda y: type(y).__name__)
def test_a_column_of_targets_of_any_library_is_learned_as_its_floats(y):
    model, twin = trained(AMFRegressor), trained(AMFRegressor)
    model.learn_many(pd.DataFrame({"size": [1.0, 2.0, 3.0]}), y)
    listed = y.to_pylist() if hasattr(y, "to_pylist") else list(y)
    for size, target in zip([1.0, 2.0, 3.0], listed, strict=True):
        twin.learn_one({"size": size}, float(target))
    assert pickle.dumps(model) == pickle.dumps(twin)


# ------------------------------------------------------------------------------------------ scales

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
def test_a_feature_of_any_scale_is_split_on_and_leads_to_probabilities(scale, parameters):
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
