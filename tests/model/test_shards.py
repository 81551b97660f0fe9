"""A forest cut by its trees: coordinator and shards do what the whole does, to the byte."""

import pickle
import random

import numpy as np
import pandas as pd
import pytest
from cuts import (
    CutForest,
    as_block,
    assert_same_future,
    in_blocks,
    same,
    taking_turns,
    whole_learns,
)
from forests import COARSE_STREAM, STREAM, VARIANTS
from generated import PARAMETERS, PARAMETERS_OF_NUMBERS, streams, streams_of_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from regressors import NUMBERS, REGRESSORS

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
)
from river_amf.engine import settings as of_forests

SOME = [0.0, 1.0, 1.0, 1.0, 2.0, 0.3]  # weights


def fresh(kind=AMFClassifier, **parameters):
    return kind(**({"n_estimators": 3, "seed": 42} | parameters))


def weighted(samples, seed=1):
    """Give some samples another weight, also 0."""
    rng = random.Random(seed)
    return [(x, y, rng.choice(SOME)) for x, y, _ in samples]


# Any stream, cut anyhow


@st.composite
def cuts(draw):
    """Draw how many trees and shards there are, and what is done between two blocks."""
    n_trees = draw(st.sampled_from([1, 2, 3, 4, 7]))
    turns = draw(st.lists(st.booleans(), min_size=1, max_size=5))
    return {
        "n_estimators": n_trees,
        "n_shards": draw(st.integers(1, n_trees + 1)),
        "n_waiting": draw(st.integers(0, 3)),
        "turns": turns,
        "sizes": draw(st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(any)),
        "predicts": draw(st.booleans()),
    }


def check(kind, parameters, samples, how, level=0.0, is_cut_again=True):
    """Check a forest that is cut when it is new, put together on the way, and cut again."""
    rest = dict(how)
    n_shards, sizes, predicts = (rest.pop(name) for name in ("n_shards", "sizes", "predicts"))
    n_waiting, moves = rest.pop("n_waiting"), taking_turns(rest.pop("turns"))
    model = kind(seed=1, **(parameters | rest))
    blocks = [*in_blocks(samples, sizes)]
    half = len(blocks) // 2
    cut = CutForest(model, n_shards, n_waiting, moves)
    assert_same_future(model, cut, blocks[:half], predicts, level)
    if is_cut_again:  # from now on a forest that has learned, cut into other shards
        cut = CutForest(cut.gather(), max(n_shards - 1, 1), n_waiting, moves)
    assert_same_future(model, cut, blocks[half:], predicts, level)
    for X, _, _ in blocks:
        assert cut.predict(X, level).tobytes() == model._predict_block(X, level).tobytes()
    assert_same_future(model, cut, blocks[:1], predicts, level)


CLASSIFIERS = st.sampled_from([AMFClassifier, AMFClassifier, AdaptiveAMFClassifier])
DRIFT = st.fixed_dictionaries(
    {},
    optional={
        "fading_factor": st.sampled_from([0.5, 0.9]),
        "restart_threshold": st.sampled_from([0.01, 1.0]),
    },
)


@settings(max_examples=15)
@given(CLASSIFIERS, PARAMETERS, DRIFT, streams(), cuts(), st.randoms(use_true_random=False))
def test_any_classifier_may_be_cut(kind, parameters, drift, samples, how, rng):
    if "linear" in parameters and kind is AMFClassifier:
        parameters = parameters | {"vote": "learned"}
    samples = [(x, y, rng.choice(SOME)) for x, y, _ in samples]
    check(kind, parameters | drift, samples, how)


@settings(max_examples=15)
@given(
    st.sampled_from([AMFRegressor, AdaptiveAMFRegressor]),
    PARAMETERS_OF_NUMBERS,
    streams_of_numbers(),
    cuts(),
    st.sampled_from([0.0, 0.8]),
)
def test_any_regressor_may_be_cut(kind, parameters, samples, how, level):
    check(kind, parameters, samples, how, level)


WORDS = ["good", "bad", "sky", "sea", "tree", "fish"]


@st.composite
def bags(draw):
    """Draw samples of words, with gaps, zeros and categories; some words and labels come late."""
    n = draw(st.integers(1, 60))
    rng = random.Random(draw(st.integers(0, 9999)))
    samples = []
    for i in range(n):
        label = rng.choice("ab" if i < n // 2 else "abc")
        known = WORDS[: 3 + i // 8]
        x = {word: rng.choice([1, 1, 2, 0.5, 0, None]) for word in rng.choices(known, k=3)}
        if label == "a" and rng.random() < 0.8:
            x["good"] = 1
        if rng.random() < 0.3:
            x["color"] = rng.choice(["red", "tan", "blue"])
        samples.append((x, label, rng.choice(SOME)))
    return samples


@settings(max_examples=10)
@given(
    CLASSIFIERS,
    st.fixed_dictionaries(
        {},
        optional={
            "max_vocabulary": st.sampled_from([2, 4]),
            "max_columns": st.sampled_from([1, 2]),
            "max_nodes": st.sampled_from([3, 15]),
            "max_categories": st.just(1),
            "vote": st.just("learned"),
            "linear": st.just("logistic"),
            "split_pure": st.booleans(),
        },
    ),
    bags(),
    cuts(),
)
def test_any_forest_of_words_may_be_cut(kind, parameters, samples, how):
    if "linear" in parameters and kind is AMFClassifier:
        parameters = parameters | {"vote": "learned"}
    # over shards, late labels of words are taken as if they came at once
    check(kind, parameters | {"absent": "zero", "max_pending": 0}, samples, how)


# Streams on which everything grows


FORESTS = VARIANTS | {
    "restarts, budget": {"restart_threshold": 0.01, "max_nodes": 151, "n_estimators": 5},
    "fading late": {"fading_factor": 0.7, "n_estimators": 4},
    "one tree": {"kind": AdaptiveAMFClassifier, "n_estimators": 1},
    "threads": {"kind": AdaptiveAMFClassifier, "linear": "cosines", "n_jobs": 3},
}
SIZES = (0, 3, 64, 1, 0, 200, 17)


@pytest.mark.parametrize("parameters", FORESTS.values(), ids=FORESTS)
def test_classifiers_of_all_kinds(parameters):
    model = fresh(**({"n_estimators": 5} | parameters))
    cut = CutForest(model, 2, n_waiting=2, moves=taking_turns([False, True, False]))
    assert_same_future(model, cut, [*in_blocks(weighted(STREAM), SIZES)])


@pytest.mark.parametrize("parameters", REGRESSORS.values(), ids=REGRESSORS)
def test_regressors_of_all_kinds(parameters):
    model = fresh(**({"kind": AMFRegressor, "n_estimators": 5} | parameters))
    cut = CutForest(model, 2, n_waiting=2, moves=taking_turns([False, True, False]))
    assert_same_future(model, cut, [*in_blocks(weighted(NUMBERS), SIZES)], level=0.9)


def test_budgets_that_some_shards_have_spent_and_others_not():
    model = fresh(AMFClassifier, max_nodes=41, n_estimators=6)
    cut = CutForest(model, 6, n_waiting=2)
    were_mixed = False
    for block in in_blocks(weighted(COARSE_STREAM), (7,)):
        assert_same_future(model, cut, [block])
        stored = [int(shard.arena.counters["n_stored"][0]) for shard in cut.shards]
        if not were_mixed and 0 in stored and max(stored) > 0:
            were_mixed = True
            cut = CutForest(cut.gather(), 6)
    assert were_mixed
    assert not any(shard.arena.counters["n_rows"][0] for shard in cut.shards)


def test_trees_that_restart_alone_in_their_shard():
    for parameters in ({}, {"max_nodes": 101}, {"split_pure": True}):
        model = fresh(AdaptiveAMFClassifier, n_estimators=4, restart_threshold=0.5, **parameters)
        cut = CutForest(model, 4, n_waiting=2, moves=taking_turns([False, False, True]))
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(1600, 2)), columns=["a", "b"])
        y = (X.a > 0) ^ (np.arange(1600) // 400 % 2 == 1)
        blocks = [(X[i : i + 130], y[i : i + 130].tolist(), None) for i in range(0, 1600, 130)]
        assert_same_future(model, cut, blocks)
        assert (model._arena.trees["n_restarts"] > 0).tolist() == [False, True, False, True]


def test_regressors_that_restart_may_be_cut():
    model = fresh(AdaptiveAMFRegressor, n_estimators=4, restart_threshold=0.5)
    cut = CutForest(model, 4, n_waiting=2, moves=taking_turns([False, False, True]))
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["a", "b"])
    y = np.where(np.arange(1000) < 500, np.abs(X.a), -9.0 * np.abs(X.b)).tolist()
    blocks = [(X[i : i + 130], y[i : i + 130], None) for i in range(0, 1000, 130)]
    assert_same_future(model, cut, blocks)
    assert (model._arena.trees["n_restarts"] > 0).tolist() == [False, True, False, True]


@pytest.mark.parametrize("parameters", [{}, {"max_nodes": 31}, {"kind": AdaptiveAMFClassifier}])
def test_lists_that_are_thinned(parameters, monkeypatch):
    monkeypatch.setattr(of_forests, "LONGEST_LIST", 32)
    rng = random.Random(1)
    samples = [({"a": rng.gauss(0, 1), "b": rng.choice("pqr")}, "often", 1.0) for _ in range(700)]
    samples[::97] = [(x, "seldom", 1.0) for x, _, _ in samples[::97]]
    model = fresh(**({"n_estimators": 5} | parameters))
    cut = CutForest(model, 3, n_waiting=1, moves=taking_turns([False, True]))
    blocks = [*in_blocks(samples, (90, 11))]
    assert_same_future(model, cut, blocks[:9])
    n_kept = len(model._arena.__getstate__()["rows"])
    assert (
        cut.gather()._arena.capacities["row"] == n_kept
    )  # a row for each, in whatever shards it is
    assert_same_future(model, CutForest(cut.gather(), 5), blocks[9:])


def test_a_forest_that_was_cut_learns_single_samples_as_the_whole_one_does():
    model = fresh(AdaptiveAMFClassifier, n_estimators=4)
    cut = CutForest(model, 2)
    assert_same_future(model, cut, [as_block(STREAM[:400])])
    twin = cut.gather()
    for x, y, w in STREAM[400:]:
        assert twin.predict_proba_one(x) == model.predict_proba_one(x)
        for one in (model, twin):
            one.learn_one(x, y, w)
    assert pickle.dumps(twin) == pickle.dumps(model)


# Blocks that are taken before the vote on earlier ones


NEWS = [
    (pd.DataFrame({"a": [1.0, 2.0, 3.0]}), ["x", "x", "y"], None),
    (pd.DataFrame({"a": [1.0, 2.0, 9.0]}), ["x", "y", "x"], None),
    (pd.DataFrame({"a": [1.0, 2.5, 3.0], "b": [1, 2, 3]}), ["z", "y", "v"], [1.0, 2.0, 0.0]),
    (pd.DataFrame({"b": [1, 2], "c": ["red", "tan"]}), ["u", "x"], None),
    (pd.DataFrame({"d": [1.0], "c": ["blue"]}), ["t"], [0.0]),
    (pd.DataFrame({"d": [1.0, 5.0], "c": ["blue", "red"]}), ["t", "s"], None),
]


@pytest.mark.parametrize("n_waiting", [1, 3])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"vote": "learned"}, {"kind": AdaptiveAMFClassifier}, {"n_classes": 7, "dirichlet": 1.0}],
    ids=["mean", "learned", "adaptive", "n_classes"],
)
def test_a_vote_counts_the_labels_that_were_known_then(parameters, n_waiting):
    model = fresh(**parameters)
    cut = CutForest(model, 2, n_waiting)
    expected = [whole_learns(model, *block, True) for block in NEWS]
    found = []
    for k, block in enumerate(NEWS):
        found += cut.learn(*block, predicts=True)
        assert len(found) == max(k + 1 - n_waiting, 0)
    assert list(cut.coordinator.labels) == [*"xyzuts"]
    found += cut.finish()
    assert all(same(*pair) for pair in zip(found, expected, strict=True))
    assert [answers.answers.shape[1] for answers in found] == [2, 2, 3, 4, 4, 6]
    assert pickle.dumps(cut.gather()) == pickle.dumps(model)
