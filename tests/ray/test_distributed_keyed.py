"""Models for keys over actors are those of one process, whoever dies."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from forests import state_of
from processes import kill

from river_amf import AMFClassifier, AMFRegressor
from river_amf.keyed import KeyedClassifier, KeyedRegressor
from river_amf.ray import DistributedKeyedClassifier, DistributedKeyedRegressor

FOREST = AMFClassifier(n_estimators=2, seed=1)
KINDS = {
    "forest": (FOREST, KeyedClassifier, DistributedKeyedClassifier),
    "regressor": (AMFRegressor(n_estimators=2, seed=1), KeyedRegressor, DistributedKeyedRegressor),
}


def block(n, seed, n_keys=7):
    """Return a frame with keys, and labels that are targets, too."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    X.insert(1, "user", [f"user {i}" for i in rng.integers(n_keys, size=n)])
    return X, (X["a"] > 0).tolist()


def states_of(model):
    return {key: state_of(model[key]) for key in model}


@pytest.mark.parametrize("name", KINDS)
def test_workers_equal_one_process(name):
    forest, kind, distributed = KINDS[name]
    predict = "predict" if kind is KeyedRegressor else "predict_proba"
    with distributed(forest, "user", 2, max_in_memory=3) as model:
        both = model, kind(forest, "user")

        def same(method, *arguments):
            answer, expected = (getattr(keyed, method)(*arguments) for keyed in both)
            assert answer.equals(expected) if hasattr(answer, "equals") else answer == expected

        for i in range(4):
            X, y = block(40, seed=i)
            if i % 2:
                kill(model._store.workers)
            same("learn_many", pl.from_pandas(X) if i == 1 else X, y, [2.0] * 40 if i else None)
            same(f"{predict}_then_learn_many", X, y)
        for x, label in zip(X.to_dict("records")[:9], y, strict=False):
            for method in (f"{predict}_one", "predict_one"):
                same(method, x)
            same("learn_one", x, label, 2.0)
        X, _ = block(50, seed=99, n_keys=9)
        for method in (f"{predict}_many", "predict_many"):
            same(method, X)
        assert len(model) == 7 and len(model._store.call("sizes")) <= 2  # of three, one each
        assert "user 1" in model and "new" not in model and None not in model
        same("__delitem__", "user 1")
        same("remove_unused", 10)
        with pytest.raises(KeyError):
            model["user 1"]
        assert {*model} == {*both[1]}
        assert states_of(model) == states_of(both[1])


def test_bad_blocks_change_no_worker():
    X, y = block(40, seed=1)
    with DistributedKeyedClassifier(FOREST, "user", n_workers=2) as model:
        model.learn_many(X, y)
        before = states_of(model)
        for bad, labels, message in (
            (X[["a"]], y, "X lacks the column 'user'"),
            (X, [*y[:-1], None], f"row 39: the key '{X['user'][39]}': .*label"),
            (X.assign(a=[*X["a"][:-3], np.inf, 0, 0]), y, f"row 37: the key '{X['user'][37]}'"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                model.predict_proba_then_learn_many(bad, labels)
        assert states_of(model) == before
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            pickle.dumps(model)
        assert model.clone().key == "user"
    with pytest.raises(ValueError, match="n_workers must be an integer"):
        DistributedKeyedClassifier(FOREST, "user", n_workers=0)


def test_folder_is_that_of_one_process(tmp_path):
    local = KeyedClassifier(FOREST, "user", max_in_memory=2)
    blocks = [block(30, seed=i) for i in range(4)]
    with DistributedKeyedClassifier(FOREST, "user", 2, folder=tmp_path, max_in_memory=4) as model:
        for keyed in (model, local):
            keyed.learn_many(*blocks[0])
        model.learn_one({"user": "gone", "a": 1.0}, True)
        model.flush(position={"offset": 1})
        del model["gone"]
        model.flush(position={"offset": 2})
        model.learn_many(*blocks[3])
        model.close()  # as if the process had died
        for call in (lambda: len(model), model.flush):
            with pytest.raises(OSError, match="released by close"):
                call()
    with DistributedKeyedClassifier(FOREST, "user", 1, folder=tmp_path) as model:
        assert model.position == {"offset": 2}
        assert states_of(model) == states_of(local)
        kill(model._store.workers)
        for keyed in (model, local):
            keyed.learn_many(*blocks[1])
    with KeyedClassifier(FOREST, "user", folder=tmp_path) as model:
        assert states_of(model) == states_of(local)
