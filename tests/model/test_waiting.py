"""Samples that wait for their labels: learning them late is learning their dicts late."""

import collections
import copy
import datetime
import decimal
import enum
import fractions
import io
import json
import math
import pickle
import random
import sys

import numpy as np
import pandas as pd
import pytest
from river import compose, preprocessing, stream
from river.utils import VectorDict

from river_amf import AdaptiveAMFClassifier, AMFClassifier, MismatchWarning, PackedSample
from river_amf.frames import as_samples, read_frame

PARAMETERS = {
    "plain": lambda: AMFClassifier(n_estimators=3, seed=1),
    "adaptive": lambda: AdaptiveAMFClassifier(n_estimators=3, seed=1),
    "few categories": lambda: AMFClassifier(n_estimators=3, max_categories=4, seed=1),
    "few bytes": lambda: AMFClassifier(n_estimators=3, max_bytes=200_000, seed=1),
}


def samples(n_samples):
    """Yield samples with gaps, new features and new categories along the way, and odd numbers."""
    rng = random.Random(4)
    for i in range(n_samples):
        x = {
            "a": rng.random(),
            "b": rng.randrange(5),
            "color": f"shade {rng.randrange(2 + i // 9)}",
        }
        if rng.random() < 0.2:
            x["a"] = rng.choice([None, math.nan, np.float64(0.5), np.int64(3), True])
        if rng.random() < 0.2:
            del x["b"]
        if i > n_samples // 2:
            x[f"late {i % 3}"] = rng.random()
        yield x, f"label {rng.randrange(2 + i // 60)}"


@pytest.mark.parametrize("make_model", PARAMETERS.values(), ids=PARAMETERS)
def test_a_forest_learns_the_same_from_dicts_and_packed_samples(make_model):
    ours, expected, waiting = make_model(), make_model(), {}
    for i, x, y in stream.simulate_qa(samples(240), None, 30):
        assert expected.predict_proba_one(x) == ours.predict_proba_one(PackedSample(x))
        if y is None:
            waiting[i] = PackedSample(x)
        else:
            ours.learn_one(waiting.pop(i), y)
            expected.learn_one(x, y)
    assert not waiting
    assert pickle.dumps(ours) == pickle.dumps(expected)


def test_a_pipeline_takes_packed_samples():
    def make():
        numbers = compose.SelectType(float) | preprocessing.StandardScaler()
        words = compose.SelectType(str) | preprocessing.OneHotEncoder()
        return (numbers + words) | AMFClassifier(n_estimators=2, seed=1)

    ours, expected = make(), make()
    for i in range(60):
        x = {"a": i % 7 / 3, "color": "red" if i % 3 else "tan"}
        assert ours.predict_proba_one(PackedSample(x)) == expected.predict_proba_one(x)
        ours.learn_one(PackedSample(x), i % 2)
        expected.learn_one(x, i % 2)


VALUES = {
    "float": [1.5, -0.0, math.inf, 5e-324],
    "int": [0, -7, 2**80],
    "bool": [True, False],
    "text": ["red", "", "\0", "grün", "\udc80"],
    "bytes": [b"", b"PK"],
    "missing": [None],
    "others": [decimal.Decimal("1.5"), ("a", 1), frozenset({2}), 1j],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_values_come_back_as_they_were(values):
    x = {("name", i): value for i, value in enumerate(values)}
    packed = PackedSample(x)
    for twin in (packed, pickle.loads(pickle.dumps(packed)), copy.deepcopy(packed)):
        assert (dict(twin), len(twin), list(twin)) == (x, len(x), list(x))
        assert [*map(repr, twin.values())] == [*map(repr, values)]
        assert [*map(type, twin.values())] == [*map(type, values)]
        assert twin == x
        assert ("name", 0) in twin
        assert twin["name", 0] == values[0]
        assert "other" not in twin
    assert repr(packed) == f"PackedSample({x})"


def test_numbers_of_numpy_become_python_s():
    x = dict(enumerate([np.float64(1.5), np.float32(0.1), np.int8(3), np.bool_(True), "red"]))
    values = [*PackedSample(x).values()]
    assert values == [1.5, float(np.float32(0.1)), 3, True, "red"]
    assert [*map(type, values)] == [float, float, int, bool, str]


def test_a_packed_sample_is_not_changed_with_its_dict():
    x = {"a": 1.0}
    packed = PackedSample(x)
    x["a"] = 2.0
    assert packed == {"a": 1.0}
    with pytest.raises(TypeError, match="item assignment"):
        packed["a"] = 3.0
    with pytest.raises(AttributeError):
        packed.other = 3.0


def test_names_that_are_equal_but_not_the_same_are_kept_apart():
    names = [1, True, 1.0, "1"]
    packed = [PackedSample({name: 2.5}) for name in names]
    assert [type(next(iter(sample))) for sample in packed] == [int, bool, float, str]


def test_any_mapping_can_be_packed_and_nothing_else():
    assert PackedSample(collections.UserDict(a=1.0)) == {"a": 1.0}
    assert PackedSample(PackedSample({"a": 1.0})) == PackedSample({"a": 1.0})
    assert len(PackedSample({})) == 0
    for x in ([1.0], None, "a"):
        with pytest.raises(TypeError, match="x must be a dict of features, such as"):
            PackedSample(x)


class Shade(enum.StrEnum):
    """Text of another type."""

    RED = "red"
    TAN = "tan"


@pytest.mark.parametrize(
    "kind", [collections.UserDict, collections.ChainMap, VectorDict], ids=lambda kind: kind.__name__
)
def test_packed_mappings_teach_what_their_dicts_do(kind):
    ours, expected = (AMFClassifier(n_estimators=3, seed=1) for _ in range(2))
    for i in range(60):
        x = {"a": i % 7 / 3, "b": float(i % 2)}
        ours.learn_one(PackedSample(kind(x)), i % 3)
        expected.learn_one(x, i % 3)
    assert pickle.dumps(ours) == pickle.dumps(expected)


def test_odd_values_teach_the_same_packed():
    colors = [Shade.RED, "red", np.str_("tan"), Shade.TAN, b"tan", ("tan", 1)]
    sizes = [decimal.Decimal("0.5"), fractions.Fraction(1, 2), np.float16(0.5), True, None]
    ours, expected = (AMFClassifier(n_estimators=3, seed=1) for _ in range(2))
    for i in range(60):
        x = {"color": colors[i % 6], Shade.RED: sizes[i % 5], "b": i % 4}
        ours.learn_one(PackedSample(x), i % 3)
        expected.learn_one(x, i % 3)
    assert list(ours._features) == list(expected._features) == ["b", "color", "red"]
    assert content(ours) == content(expected)
    when = {"when": datetime.date(2020, 1, 1)}
    for x in (when, PackedSample(when)):
        with pytest.raises(ValueError, match=r"feature 'when'.*convert it to a number"):
            ours.learn_one(x, 1)


def content(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def test_rows_of_dataframes_teach_the_same_packed():
    frame = pd.DataFrame({"size": [i % 7 for i in range(60)]})
    frame["code"] = pd.Categorical([30 + i % 3 for i in range(60)])
    labels = [i % 3 > 1 for i in range(60)]
    ours, expected = (AMFClassifier(n_estimators=3, seed=1) for _ in range(2))
    for x, y in zip(as_samples(read_frame(frame)), labels, strict=True):
        ours.learn_one(PackedSample(x), y)
    expected.learn_many(frame, labels)
    assert content(ours) == content(expected)
    assert list(ours._features.categories("code")) == ["30", "31", "32"]


def test_dirty_values_may_count_as_missing_packed():
    ours, expected = (
        AMFClassifier(n_estimators=3, on_mismatch="missing", seed=1) for _ in range(2)
    )
    rows = [{"temp": "N/A" if i % 5 == 0 else i % 7, "b": i % 2} for i in range(60)]
    for model, kind in ((ours, PackedSample), (expected, dict)):
        with pytest.warns(MismatchWarning, match="feature 'temp'") as caught:
            for i, x in enumerate(rows):
                model.predict_one(kind(x))
                model.learn_one(kind(x), i % 3)
        assert len(caught) == 1
    assert pickle.dumps(ours) == pickle.dumps(expected)


def test_a_packed_sample_takes_a_seventh_of_the_memory_of_a_dict_from_json():
    text = json.dumps({f"feature {i}": i / 7 for i in range(20)})
    x, packed = json.loads(text), PackedSample(json.loads(text))
    size = sum(map(sys.getsizeof, [packed, packed._values]))
    assert size < sum(map(sys.getsizeof, [x, *x, *x.values()])) / 7
    assert packed._names is PackedSample(x)._names


def test_pickles_of_a_queue_hold_each_name_once():
    waiting = {i: PackedSample({f"feature {j}": i / 7 + j for j in range(20)}) for i in range(50)}
    text = pickle.dumps(waiting)
    assert text.count(b"feature 7") == 1
    assert pickle.loads(text) == waiting
