"""Warnings about features: each comes once, before anything is learned."""

import copy
import itertools
import pickle
import random
import warnings

import pandas as pd
import pytest
from forests import forests

from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor
from river_amf.engine.cautions import FEW_FEATURES


def tags(n, n_features=20, n_present=2):
    """Return samples that have a few of the features; the first one has all."""
    rng = random.Random(1)
    names = [f"tag{k}" for k in range(n_features)]
    return [dict.fromkeys(names if i == 0 else rng.sample(names, n_present), 1) for i in range(n)]


def caught(call, *arguments):
    """Return the warnings that a call gives."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        call(*arguments)
    return [str(warning.message) for warning in record]


def at_rows(model, rows):
    """Learn rows one by one; return the warnings with the row that each came at."""
    texts = []
    for i, x in enumerate(rows):
        texts += [(i, text) for text in caught(model.learn_one, x, i % 2)]
    return texts


# most features are absent


@forests
def test_few_of_many_features_warn(kind):
    ((row, text),) = at_rows(kind(n_estimators=2, seed=1), tags(300))
    assert row == 64
    zeros = "pass the zeros" if issubclass(kind, AMFRegressor) else 'use absent="zero"'
    for part in ("20 features", "last 64 samples had 2.28 on", "words, tags and hashed", zeros):
        assert part in text


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (tags(200, 20, 20) + tags(400), [512]),  # samples since the last check count
        (tags(129, 16, 4), [128]),  # after 64, the first row counts, too
        (tags(129, 15, 1), []),
        (tags(129, 16, 5), []),
    ],
)
def test_quarter_of_sixteen_features_is_few(rows, expected):
    assert [row for row, _ in at_rows(AMFClassifier(n_estimators=1), rows)] == expected
    assert at_rows(AMFClassifier(absent="zero", n_estimators=1), rows) == []


@forests
@pytest.mark.parametrize("missing", [0.0, 1 / 3])
def test_gaps_give_no_warning(kind, missing):
    rng, model = random.Random(3), kind(n_estimators=2, seed=1)
    rows = [{k: rng.random() for k in range(30) if rng.random() >= missing} for _ in range(300)]
    assert at_rows(model, rows) == []
    assert caught(model.learn_many, pd.DataFrame(rows, dtype=float), [0, 1] * 150) == []


# nodes are large


@forests
def test_large_nodes_warn(kind):
    model, sizes, texts = kind(n_estimators=1, seed=1), [], []
    for i in range(660):
        sizes.append(0 if i == 0 else model._arena.nbytes)
        texts += [(i, text) for text in caught(model.learn_one, {f"session_{i}": 1, "x": i}, i % 2)]
    (_, _), (row, text) = texts
    size = int(text.split(" bytes")[0].split()[-1].replace(",", ""))
    assert f"there are {row + 2} features" in text and 10_000 < size <= 10_016
    assert f"the forest takes {sizes[row]:,} so far" in text
    wide, block = pd.DataFrame([[1.0] * 700] * 3), kind(n_estimators=1, seed=1)
    (text,) = caught(block.learn_many, wide, [0, 1, 1])
    assert "700 features" in text
    assert caught(block.learn_many, wide, [0, 1, 1]) == []
    if kind is AdaptiveAMFClassifier:  # one label so far; its faded counts take 24 bytes
        assert f"a node takes {64 + 16 * 700 + 8 + 24:,} bytes" in text


# categories are numbers as texts


@forests
@pytest.mark.parametrize("is_block", [False, True])
def test_numbers_as_texts_warn(kind, is_block):
    def learn(model, texts):
        rows = [{"a": text, "b": "x" + text} for text in texts]
        if is_block:
            return caught(model.learn_many, pd.DataFrame(rows), [1.0] * len(rows))
        return [text for x in rows for text in caught(model.learn_one, x, 1.0)]

    model, mixed = kind(n_estimators=2, seed=1), kind(n_estimators=2, seed=1)
    numbers = [f"{i / 4}" for i in range(60)]
    assert learn(model, numbers[:19]) == []
    twin = copy.deepcopy(model)
    with pytest.raises(UserWarning, match="feature 'a'"):
        twin.learn_one({"a": "19", "b": "y"}, 2.0)
    assert twin.n_samples == 19
    (message,) = learn(model, numbers)
    assert message.startswith("feature 'a' holds categories, but its first 20 are all numbers")
    assert "such as '4.75': pass float(value)" in message
    assert learn(model, [str(i) for i in range(100, 130)]) == []
    assert learn(mixed, [*numbers[:10], "none", *numbers[10:]]) == []


# blocks, errors, copies and files


@forests
@pytest.mark.parametrize("cuts", [[], [64], [65], [1, 41], [100, 200, 300, 400]])
def test_blocks_warn_as_rows(kind, cuts):
    rows, weights = tags(500), [0.0 if i % 3 == 1 else 1.0 for i in range(500)]
    rows = [x | {"new": 1.0} if i > 150 else x for i, x in enumerate(rows)]
    one, many = kind(n_estimators=2, seed=1), kind(n_estimators=2, seed=1)
    expected, texts = [], []
    for i, (x, w) in enumerate(zip(rows, weights, strict=True)):
        expected += caught(one.learn_one, x, i % 2, w)
    for start, stop in itertools.pairwise([0, *cuts, 500]):
        labels = [i % 2 for i in range(start, stop)]
        frame = pd.DataFrame(rows[start:stop], dtype=float)
        texts += caught(many.learn_many, frame, labels, weights[start:stop])
    assert len(texts) == 1 and texts == expected
    assert pickle.dumps(one) == pickle.dumps(many)


@forests
def test_warning_as_error_changes_nothing_once(kind):
    rows = tags(66)
    model = kind(n_estimators=2, seed=1)
    at_rows(model, rows[:64])
    block, warned = copy.deepcopy(model), copy.deepcopy(model)
    warned._engine.cautions.given.add(FEW_FEATURES)
    frame = pd.DataFrame(rows[64:], dtype=float)
    with pytest.raises(RuntimeWarning, match="20 features"):
        model.learn_one(rows[64], 0)
    with pytest.raises(RuntimeWarning, match="20 features"):
        block.learn_many(frame, [0, 1])
    assert pickle.dumps(model) == pickle.dumps(block) == pickle.dumps(warned)
    for other in (model, block):  # learned at the second attempt
        other.learn_many(frame, [0, 1])
        assert other.n_samples == 66
    model, wide = kind(n_estimators=1, seed=1), dict.fromkeys(range(700), 1.0)
    with pytest.raises(RuntimeWarning, match="700 features"):
        model.learn_one(wide, 1)
    assert model.n_samples == 0 and len(model._features) == 0
    model.learn_one(wide, 1)
    assert model.n_samples == 1
