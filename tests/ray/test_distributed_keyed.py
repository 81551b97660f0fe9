"""Models for keys over actors are those of one process, whoever dies."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from processes import kill
from river import evaluate, linear_model, metrics, preprocessing

from river_amf import AMFClassifier, AMFRegressor
from river_amf.keyed import KeyedClassifier, KeyedRegressor
from river_amf.ray import DistributedKeyedClassifier, DistributedKeyedRegressor

FOREST = AMFClassifier(n_estimators=2, seed=1)
SCALED = preprocessing.StandardScaler() | linear_model.LogisticRegression()


def block(n, seed, n_keys=7):
    """Return a frame with keys, and labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    X.insert(1, "user", [f"user {i}" for i in rng.integers(n_keys, size=n)])
    return X, (X["a"] > 0).tolist()


def pickles(model):
    return {key: pickle.dumps(model[key]) for key in model}


def test_workers_equal_one_process():
    local = KeyedClassifier(FOREST, "user")
    with DistributedKeyedClassifier(
        FOREST, "user", 2, max_in_memory=3, checkpoint_every=90
    ) as model:
        for i in range(6):
            X, y = block(40, seed=i)
            if i in (2, 5):
                kill(model)
            if i % 2:
                model.learn_many(pl.from_pandas(X) if i % 4 == 1 else X, y)
                local.learn_many(X, y)
            else:
                found = model.predict_proba_then_learn_many(X, y)
                pd.testing.assert_frame_equal(found, local.predict_proba_then_learn_many(X, y))
        X, _ = block(50, seed=99, n_keys=9)
        assert model.predict_many(X).tolist() == local.predict_many(X).tolist()
        found, expected = model.predict_proba_many(X), local.predict_proba_many(X)
        pd.testing.assert_frame_equal(found, expected)
        assert {*model} == {*local} and len(model) == 7
        assert model.n_in_memory <= 2  # of three, one each
        assert pickles(model) == pickles(local)


def test_regressors_equal_one_process():
    forest = AMFRegressor(n_estimators=2, seed=1)
    local = KeyedRegressor(forest, "user")
    blocks = [block(30, seed=i)[0] for i in range(3)]
    with DistributedKeyedRegressor(forest, "user", n_workers=1) as model:
        for X in blocks:
            found, expected = (m.predict_then_learn_many(X, X["b"]) for m in (model, local))
            assert found.tolist() == expected.tolist()
        assert pickles(model) == pickles(local)


def test_samples_are_learned_where_their_keys_live():
    local = KeyedClassifier(SCALED, "user")
    X, y = block(40, seed=1)
    stream = [*zip(X.to_dict("records"), y, strict=True)]
    with DistributedKeyedClassifier(SCALED, "user", n_workers=2, checkpoint_every=9) as model:
        accuracy = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
        expected = evaluate.progressive_val_score(stream, local, metrics.Accuracy())
        assert accuracy.get() == expected.get()
        model.learn_one(stream[0][0], y[0], w=2.0)
        local.learn_one(stream[0][0], y[0], w=2.0)
        x = {"user": "user 1", "a": 0.5, "b": 0.1}
        assert model.predict_proba_one(x) == local.predict_proba_one(x)
        assert "user 1" in model and "nobody" not in model and None not in model
        del model["user 1"]
        assert "user 1" not in model and len(model) == 6
        for call in (lambda: model["user 1"], lambda: model.__delitem__("user 1")):
            with pytest.raises(KeyError):
                call()
        del local["user 1"]
        kill(model)
        assert {*model} == {*local}
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            pickle.dumps(model)
        assert model.clone().key == "user"


def test_bad_blocks_change_no_worker():
    X, y = block(40, seed=1)
    with DistributedKeyedClassifier(FOREST, "user", n_workers=2) as model:
        model.learn_many(X, y)
        before = pickles(model)
        for bad, labels, message in (
            (X[["a"]], y, "X lacks the column 'user'"),
            (X, y[:-1], "X has 40 rows, but y has 39"),
            (X, [*y[:-1], None], f"row 39: the key '{X['user'][39]}': .*label"),
            (X.assign(a=[*X["a"][:-3], np.inf, 0, 0]), y, f"row 37: the key '{X['user'][37]}'"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                model.predict_proba_then_learn_many(bad, labels)
        assert pickles(model) == before
    with DistributedKeyedClassifier(SCALED, "user", n_workers=2) as model:
        with pytest.raises(Exception) as caught:
            model.learn_many(X.assign(a=[*X["a"][:-1], "much"]), y)
        assert caught.value.__notes__ == [f"in row 39, of the key '{X['user'][39]}'"]
        assert len(model) == 0
    with pytest.raises(ValueError, match="n_workers must be an integer"):
        DistributedKeyedClassifier(FOREST, "user", n_workers=0)


def test_folder_is_that_of_one_process(tmp_path):
    local = KeyedClassifier(FOREST, "user", max_in_memory=2)
    blocks = [block(30, seed=i) for i in range(4)]
    options = {"folder": tmp_path, "max_in_memory": 4}
    with DistributedKeyedClassifier(FOREST, "user", 2, **options) as model:
        for i in (0, 1):
            model.learn_many(*blocks[i])
            local.learn_many(*blocks[i])
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
        assert pickles(model) == pickles(local)
        kill(model)
        model.learn_many(*blocks[2])
        local.learn_many(*blocks[2])
    with KeyedClassifier(FOREST, "user", folder=tmp_path) as model:
        assert model.position == {"offset": 2}
        assert pickles(model) == pickles(local)
