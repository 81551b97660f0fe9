"""Warnings about features: each comes once, before anything is learned."""

import copy
import io
import pickle
import random
import warnings

import pandas as pd
import pytest
from river import feature_extraction, preprocessing

import river_amf
from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.engine.cautions import FEW_FEATURES, LARGE_NODES

KINDS = [AMFClassifier, AdaptiveAMFClassifier, AMFRegressor, AdaptiveAMFRegressor]
kinds = pytest.mark.parametrize("kind", KINDS)


def tags(n, n_features=20, n_present=2):
    """Return samples that have a few of the features; the first one has all."""
    rng = random.Random(1)
    names = [f"tag{k}" for k in range(n_features)]
    return [dict.fromkeys(names if i == 0 else rng.sample(names, n_present), 1) for i in range(n)]


def caught(call, *arguments):
    """Return the warnings that a call gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(*arguments)
    return [str(warning.message) for warning in found]


def at_rows(model, rows):
    """Learn rows one by one; return the warnings with the row that each came at."""
    texts = []
    for i, x in enumerate(rows):
        texts += [(i, text) for text in caught(model.learn_one, x, i % 2)]
    return texts


def frame(rows):
    return pd.DataFrame(rows, dtype=float)


# Most features are absent


@kinds
def test_few_of_many_features(kind):
    model = kind(n_estimators=2, seed=1)
    ((row, text),) = at_rows(model, tags(300))
    assert row == 64
    zeros = "pass the zeros" if issubclass(kind, AMFRegressor) else 'use absent="zero"'
    for part in ("20 features", "last 64 samples had 2.28 on", "words, tags and hashed", zeros):
        assert part in text


def test_samples_since_the_last_check_count():
    rows = tags(200, 20, 20) + tags(400)
    ((row, text),) = at_rows(AMFClassifier(n_estimators=1), rows)
    assert row == 512 and "last 256 samples had 2 on" in text


@pytest.mark.parametrize(
    "n_features, n_present, is_few", [(16, 4, True), (15, 1, False), (16, 5, False)]
)
def test_a_quarter_of_sixteen_features_is_few(n_features, n_present, is_few):
    found = at_rows(AMFClassifier(n_estimators=1), tags(129, n_features, n_present))
    assert [row for row, _ in found] == [128] * is_few  # after 64, the first row counts, too


@pytest.mark.parametrize(
    "before",
    [
        feature_extraction.BagOfWords(),
        preprocessing.FeatureHasher(n_features=20, seed=1),
        preprocessing.OneHotEncoder(drop_zeros=True),
    ],
    ids=lambda before: type(before).__name__,
)
def test_words_hashes_and_one_hot_codes_are_few(before):
    rng, model = random.Random(2), before | AMFClassifier(n_estimators=1)
    found = []
    for i in range(150):
        words = [f"word{rng.randrange(40)}" for _ in range(4)]
        x = dict.fromkeys(words, 1)
        if isinstance(before, feature_extraction.BagOfWords):
            x = " ".join(words)
        if isinstance(before, preprocessing.OneHotEncoder):
            x = {"a": words[0], "b": words[1]}
        found += caught(model.learn_one, x, i % 2)
    assert len(found) == 1 and "absent ones count as missing" in found[0]


@kinds
@pytest.mark.parametrize("missing", [0.0, 1 / 3])
def test_complete_samples_and_gaps_give_no_warning(kind, missing):
    rng, model = random.Random(3), kind(n_estimators=2, seed=1)
    rows = [{k: rng.random() for k in range(30) if rng.random() >= missing} for _ in range(300)]
    assert at_rows(model, rows) == []
    model.learn_many(frame(rows), [0, 1] * 150)
    assert model._engine.cautions.given == set()


def test_absent_zero_gives_no_warning():
    model = AMFClassifier(absent="zero", n_estimators=2)
    assert at_rows(model, tags(200, 900)) == []


# Nodes are large


@kinds
def test_a_node_of_more_than_ten_kilobytes(kind):
    model = kind(n_estimators=1, seed=1)
    texts, n_bytes = [], []
    for i in range(660):
        n_bytes.append(0 if i == 0 else model._arena.nbytes)
        texts += [(i, text) for text in caught(model.learn_one, {f"session_{i}": 1, "x": i}, i % 2)]
    (_, _), (row, text) = texts
    size = int(text.split(" bytes")[0].split()[-1].replace(",", ""))
    assert f"there are {row + 2} features" in text and 10_000 < size <= 10_016
    assert f"the forest takes {n_bytes[row]:,} so far" in text
    assert model._engine.cautions.given == {FEW_FEATURES, LARGE_NODES}


def test_the_bytes_of_a_node_are_those_of_its_arrays():
    model = AMFClassifier(n_estimators=1, fading_factor=0.5, seed=1)
    row = dict.fromkeys(range(700), 1.0)
    ((_, text),) = at_rows(model, [row, row | {700: 1.0}])
    assert f"700 features, so a node takes {64 + 16 * 700 + 8 + 24:,} bytes" in text


# Categories are numbers as texts


@kinds
@pytest.mark.parametrize("is_block", [False, True])
def test_numbers_as_texts(kind, is_block):
    def learn(model, texts):
        rows = [{"a": text, "b": "x" + text} for text in texts]
        if is_block:
            return caught(model.learn_many, pd.DataFrame(rows), [1.0] * len(rows))
        return [text for x in rows for text in caught(model.learn_one, x, 1.0)]

    model, mixed = kind(n_estimators=2, seed=1), kind(n_estimators=2, seed=1)
    numbers = [f"{i / 4}" for i in range(60)]
    assert learn(model, numbers[:19]) == []
    (message,) = learn(model, numbers)
    assert message.startswith("feature 'a' holds categories, but its first 20 are all numbers")
    assert "such as '4.75': pass float(value)" in message
    assert learn(model, [str(i) for i in range(100, 130)]) == []
    assert learn(mixed, [*numbers[:10], "none", *numbers[10:]]) == []
    model = kind(n_estimators=2, seed=1)
    learn(model, numbers[:19])
    with pytest.raises(UserWarning, match="feature 'a'"):
        model.learn_one({"a": "19", "b": "y"}, 2.0)
    assert model.n_samples == 19


# Blocks, errors, copies and files


@kinds
@pytest.mark.parametrize("sizes", [[300], [64, 236], [65, 235], [1, 40, 259], [100] * 3])
def test_blocks_warn_as_their_rows_do(kind, sizes):
    rows = tags(300)
    one, many = kind(n_estimators=2, seed=1), kind(n_estimators=2, seed=1)
    ((_, expected),) = at_rows(one, rows)
    texts, start = [], 0
    for size in sizes:
        labels = [i % 2 for i in range(start, start + size)]
        texts += caught(many.learn_many, frame(rows[start : start + size]), labels)
        start += size
    assert texts == [expected]
    assert pickle.dumps(one) == pickle.dumps(many)


def test_blocks_with_weights_and_new_features_warn():
    rows, weights = tags(500), [0.0 if i % 3 == 1 else 1.0 for i in range(500)]
    rows = [x | {"new": 1.0} if i > 150 else x for i, x in enumerate(rows)]
    rows[1:90] = tags(90, 20, 12)[1:]
    one, many = AMFClassifier(n_estimators=1, seed=1), AMFClassifier(n_estimators=1, seed=1)
    found = [
        text
        for i, (x, w) in enumerate(zip(rows, weights, strict=True))
        for text in caught(one.learn_one, x, i % 2, w)
    ]
    labels = [i % 2 for i in range(500)]
    assert len(found) == 1 and found == caught(many.learn_many, frame(rows), labels, weights)
    assert pickle.dumps(one) == pickle.dumps(many)


@kinds
def test_blocks_warn_of_large_nodes(kind):
    model = kind(n_estimators=1, seed=1)
    wide = pd.DataFrame([[1.0] * 700] * 3)
    (text,) = caught(model.learn_many, wide, [0, 1, 1])
    assert "700 features" in text
    assert caught(model.learn_many, wide, [0, 1, 1]) == []


@kinds
def test_errors_leave_the_model_unchanged(kind):
    rows = tags(66)
    model = kind(n_estimators=2, seed=1)
    for i, x in enumerate(rows[:64]):
        model.learn_one(x, i % 2)
    twin, third = copy.deepcopy(model), copy.deepcopy(model)
    with pytest.raises(RuntimeWarning, match="20 features"):
        model.learn_one(rows[64], 0)
    third._engine.cautions.given.add(FEW_FEATURES)
    assert pickle.dumps(model) == pickle.dumps(third)
    with pytest.raises(RuntimeWarning, match="20 features"):
        twin.learn_many(frame(rows[64:]), [0, 1])
    assert pickle.dumps(twin) == pickle.dumps(third)
    for other in (model, twin):  # learned at the second attempt
        other.learn_many(frame(rows[64:]), [0, 1])
        assert other.n_samples == 66


@kinds
def test_first_wide_rows_are_learned_when_repeated(kind):
    model, wide = kind(n_estimators=1, seed=1), dict.fromkeys(range(700), 1.0)
    with pytest.raises(RuntimeWarning, match="700 features"):
        model.learn_one(wide, 1)
    assert model.n_samples == 0 and len(model._features) == 0
    model.learn_one(wide, 1)
    assert model.n_samples == 1


@kinds
@pytest.mark.parametrize("n_learned", [30, 200])
def test_copies_and_files_warn_as_the_model_does(kind, n_learned):
    rows = tags(300)
    model = kind(n_estimators=2, seed=1)
    before = at_rows(model, rows[:n_learned])
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), river_amf.load(file)]
    for other in [model, *others]:
        assert len(before + at_rows(other, rows[n_learned:])) == 1
    assert {pickle.dumps(other) for other in others} == {pickle.dumps(model)}
