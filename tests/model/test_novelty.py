"""What is new in a sample; `test_naive` compares values, `test_call_sequences` looks for traces."""

import math

import pytest
from forests import forests

from river_amf import AMFClassifier, MismatchWarning

CLEAN = {"size": 4.0, "width": 2.0, "color": "r"}


def small(kind=AMFClassifier, n_samples=300, **parameters):
    model = kind(n_estimators=5, seed=1, **parameters)
    for i in range(n_samples):
        x = {"size": i % 10, "width": i * 7 % 13, "color": "rgb"[i % 3]}
        model.learn_one(x, float(i % 10 > 4))
    return model


@forests
def test_novelty_grows_with_distance(kind):
    model = small(kind)
    assert 0.0 <= model.novelty_one(CLEAN) < 0.1
    near, far, farther = (model.novelty_one(CLEAN | {"size": v}) for v in (10.0, 30.0, 1e300))
    assert 0.1 < near < far <= farther <= 1.0
    assert farther > 0.999
    assert model.novelty_one(CLEAN | {"color": "violet"}) > 0.3


@forests
def test_missing_number_has_no_distance(kind):
    model = small(kind)
    gap = CLEAN | {"size": None}
    assert model.novelty_one(gap) < 0.1
    assert model.novelty_one(gap | {"width": 1e9}) > 0.99
    no_color = CLEAN | {"color": None}
    assert model.novelty_one(no_color) > 0.3  # a category that was not learned
    model.learn_one(no_color, 0.0)
    assert model.novelty_one(no_color) < 0.1


def test_one_label_leaves_inside_and_outside():
    model, pure = (AMFClassifier(seed=1, split_pure=splits) for splits in (False, True))
    for forest in (model, pure):
        for i in range(100):
            forest.learn_one({"a": i % 7, "b": None if i % 3 else i % 5}, "normal")
    inside, outside = {"a": 3, "b": 2}, {"a": 7, "b": 2}
    assert [model.novelty_one(x) for x in (inside, outside, {})] == [0.0, 1.0, 0.0]
    assert pure.novelty_one(inside) == 0.0 < pure.novelty_one(outside) < 1.0


def test_mismatch_counts_as_missing():
    model = small(on_mismatch="missing")
    with pytest.warns(MismatchWarning):
        novelty = model.novelty_one(CLEAN | {"size": "N/A"})
    assert novelty == model.novelty_one(CLEAN | {"size": math.nan})
