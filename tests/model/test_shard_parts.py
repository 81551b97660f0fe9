"""Hub and shards of a forest that is cut: what they hold, share and refuse."""

import copy
import math
import pickle
import warnings

import pandas as pd
import pytest
from cuts import (
    CutForest,
    as_block,
    assert_same_future,
    in_blocks,
    taking_turns,
    whole_learns,
)
from forests import STREAM
from regressors import NUMBERS

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    MismatchWarning,
)


def fresh(kind=AMFClassifier, **parameters):
    return kind(**({"n_estimators": 3, "seed": 42} | parameters))


# Bad blocks, and warnings


def half_bad():
    good = {"length": [0.5, 1.5, 2.5, 3.5], "color": ["red", "tan", "red", "blue"]}
    good_y, good_w = ["x", "y", "x", "y"], [1.0, 2.0, 0.0, 1.0]

    def frame(**columns):
        return pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in (good | columns).items()})

    new = {"new": [1.0, 2.0, 3.0, 4.0]}
    yield frame(length=[1.0, 1.0, 1.0, math.inf], **new), good_y, good_w, ValueError
    yield frame(length=[1.0, 1.0, 1.0, 1j]), good_y, good_w, ValueError
    yield frame(length=[1.0, 1.0, "long", 1.0], **new), good_y, good_w, ValueError
    yield frame(length=[1.0, 1.0, [1.0], 1.0]), good_y, good_w, TypeError
    yield frame(length=[1.0, 1.0, pd.Timestamp("2020"), 1.0]), good_y, good_w, ValueError
    yield frame(color=["red", "green", "red", 2.0], **new), good_y, good_w, ValueError
    yield frame(color=["red", "green", "red", ["red"]]), good_y, good_w, TypeError
    yield frame(new=[1.0, 1.0, 1.0, math.inf]), good_y, good_w, ValueError
    yield frame(new=["a", "b", "c", 1.0]), good_y, good_w, ValueError
    yield frame(**new), ["x", "v", "y", None], good_w, ValueError
    yield frame(**new), ["x", "v", "y", ["x"]], good_w, TypeError
    yield frame(**new), ["x", "v", "u", "t"], [1.0] * 4, ValueError  # more than n_classes
    yield frame(**new), ["x", "v", "y", "x"], [1.0, 1.0, 1e300, -1.0], ValueError
    yield frame(**new), ["x", "v", "y", "x"], [1.0, 1.0, 1.0, math.nan], ValueError
    yield frame(**new), ["x", "v", "y", "x"], [1.0, 1.0, 1.0, "1"], TypeError
    yield frame(**new), ["x", "v", "y"], good_w, ValueError
    yield frame(**new), good_y, good_w[:3], ValueError
    yield list(good_y), good_y, good_w, TypeError


BAD = [*half_bad()]


def assert_refused(cut, model, block, error, predicts=False):
    """Check that a bad block raises what the whole forest raises, and changes nothing."""
    before, whole = cut.bytes(), pickle.dumps(model)
    with pytest.raises(error) as expected:
        whole_learns(model, *block, predicts)
    with pytest.raises(error) as found:
        cut.learn(*block, predicts=predicts)
    assert str(found.value) == str(expected.value)
    assert (cut.bytes(), pickle.dumps(model)) == (before, whole)


@pytest.mark.parametrize("absent", ["missing", "zero"])
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "learnt"])
@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_bad_block_changes_neither_coordinator_nor_shards(bad, is_new, absent):
    model = fresh(n_classes=3, absent=absent, vote="learned", linear="logistic")
    cut = CutForest(model, 2, n_waiting=1)
    good = pd.DataFrame({"length": [1.0, 2.0] * 9, "color": ["red", "tan", "red"] * 6})
    block = good, ["x", "y", "y"] * 6, None
    if not is_new:
        assert_same_future(model, cut, [block, block])
    for predicts in (False, True):
        assert_refused(cut, model, bad[:3], bad[3], predicts)
    assert_same_future(model, cut, [block, block])


@pytest.mark.parametrize("y", [math.nan, math.inf, "high", None, 1e200])
def test_a_bad_target_changes_neither_coordinator_nor_shards(y):
    model = fresh(AdaptiveAMFRegressor)
    cut = CutForest(model, 3)
    blocks = [*in_blocks(NUMBERS[:90], (30,))]
    for block in blocks:
        X, good, w = block
        bad = pd.Series([*good[:-1], y], dtype=object)
        assert_refused(cut, model, (X, bad, w), TypeError if y == "high" else ValueError)
        assert_same_future(model, cut, [block])


def test_values_of_the_wrong_kind_are_told_of_once():
    model = fresh(on_mismatch="missing", max_categories=2)
    cut = CutForest(model, 3, n_waiting=1, moves=taking_turns([False, True]))
    X = pd.DataFrame({"a": [1.0, "?", 2.0, "!"], "b": ["N/A", 1.0, "red", 2.0]}, dtype=object)
    X["c"] = ["red", 1.0, "tan", "blue"]
    blocks = [(X, [0, 1, 0, 1], None), (X[::-1], [1, 0, 2, 1], None), (X, [0, 1, 0, 1], None)]
    told = []
    for learn in (lambda *block: whole_learns(model, *block, True), cut.learn):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for block in blocks:
                learn(*block)
            told.append([(w.category, str(w.message)) for w in caught])
    cut.finish()
    assert told[0] == told[1]
    assert {category for category, _ in told[0]} == {MismatchWarning} and len(told[0]) == 3
    assert pickle.dumps(cut.gather()) == pickle.dumps(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a new one, even in a shard that was moved
        cut.learn(*blocks[0])
        cut.predict(X)


def test_a_warning_that_is_raised_changes_neither_coordinator_nor_shards():
    cut = CutForest(fresh(on_mismatch="missing"), 2)
    cut.learn(pd.DataFrame({"a": [1.0, 2.0]}), [0, 1])
    before = cut.bytes()
    with pytest.raises(MismatchWarning):
        cut.learn(pd.DataFrame({"a": [1.0, "?"], "b": [1, 2]}), [0, 2])
    assert cut.bytes() == before


# What the parts are


def test_the_parts_share_nothing_with_the_forest_or_each_other():
    for model, stream in ((fresh(AdaptiveAMFClassifier), STREAM), (fresh(AMFRegressor), NUMBERS)):
        model.learn_many(*as_block(stream[:300]))
        whole = pickle.dumps(model)
        cut = CutForest(model, 2)
        assert pickle.dumps(cut.gather()) == whole
        before = cut.bytes()
        gathered = cut.gather()
        assert cut.bytes() == before  # to gather changes nothing
        cut.learn(*as_block(stream[300:500]))
        assert pickle.dumps(model) == whole == pickle.dumps(gathered)
        parts = cut.bytes()
        gathered.learn_many(*as_block(stream[500:]))
        model.learn_many(*as_block(stream[500:]))
        assert cut.bytes() == parts


def test_a_coordinator_has_no_nodes_and_a_shard_only_its_own_trees_and_no_vote():
    model = fresh(AdaptiveAMFClassifier, n_estimators=5, linear="cosines")
    cut = CutForest(model, 2)
    cut.learn(*as_block(STREAM))
    arena = cut.coordinator.arena
    assert not any(arena.capacities[axis] for axis in ("node", "box", "row"))
    assert arena.capacities["tree"] == 5 and arena.capacities["linear_model"] == 3
    for shard, n_trees in zip(cut.shards, (2, 3), strict=True):
        assert shard.arena.capacities["tree"] == shard.arena.capacities["voter"] == n_trees
        assert not shard.arena.capacities["linear_model"]
    regressor = CutForest(fresh(AdaptiveAMFRegressor), 3)
    regressor.learn(*as_block(NUMBERS))
    for shard in regressor.shards:
        assert not shard.arena.capacities["trend"] and shard.arena.capacities["tree_target"] == 2


@pytest.mark.parametrize(
    "make_copy", [copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))]
)
def test_copies_of_coordinator_and_shards_go_on_as_they_would(make_copy):
    model = fresh(AdaptiveAMFClassifier)
    cut = CutForest(model, 2)
    blocks = [*in_blocks(STREAM, (200,))]
    for block in blocks:
        assert_same_future(model, cut, [block])
        cut.coordinator = make_copy(cut.coordinator)
        cut.shards = [make_copy(shard) for shard in cut.shards]
    assert cut.coordinator.total_weight == pytest.approx(sum(w for _, _, w in STREAM))
    assert [(shard.first, shard.end) for shard in cut.shards] == [(0, 1), (1, 3)]


@pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
@pytest.mark.parametrize("max_nodes", [1, 2, 3])
def test_a_new_shard_has_room_for_its_first_leaf(kind, max_nodes):
    cut = CutForest(kind(n_estimators=2, seed=1, max_nodes=max_nodes), 2)
    cut.learn(pd.DataFrame({"a": [0.0, 1.0]}), [0.0, 1.0])
    for shard in cut.shards:
        assert shard.arena.capacities["node"] >= shard.arena.trees["n_nodes"].max() >= 1
