"""What has been lost is not gone on with, and parameters cannot be changed on the way."""

import pandas as pd
import pytest
from processes import team_of
from river import linear_model

from river_amf import AMFClassifier
from river_amf.ray import DistributedForest, DistributedKeyedClassifier

X = pd.DataFrame({"user": ["ann", "bob"] * 3, "price": range(6)})
Y = [True, False] * 3

MADE = {
    "forest": lambda: DistributedForest(AMFClassifier(n_estimators=2, seed=1), 1),
    "keys": lambda: DistributedKeyedClassifier(linear_model.LogisticRegression(), "user", 1),
}


@pytest.fixture(scope="module", params=MADE)
def model(request, one_ray):
    with MADE[request.param]() as model:
        model.learn_many(X, Y)
        model.predict_many(X)
        yield model
        model.close()  # without a flush, which would raise


def test_a_question_that_fails_changes_nothing(model, monkeypatch):
    expected = model.predict_many(X)

    def fail(*_):
        raise MemoryError("too little")

    monkeypatch.setattr(team_of(model).workers[0], "result", fail)
    with pytest.raises(MemoryError):
        model.predict_many(X)
    monkeypatch.undo()
    assert model.predict_many(X).equals(expected)
    model.learn_many(X, Y)


def test_parameters_that_workers_have_are_read_only(model):
    for name in ("n_workers", "max_waiting", "checkpoint_every"):
        before = getattr(model, name)
        with pytest.raises(AttributeError, match=f"{name} is read-only"):
            setattr(model, name, 3)
        assert getattr(model, name) == before


def test_a_block_that_is_lost_ends_it(model, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("too little")

    fails = "tell" if isinstance(model, DistributedForest) else "result"
    monkeypatch.setattr(team_of(model).workers[0], fails, fail)
    with pytest.raises(MemoryError, match="too little"):
        for _ in range(4):  # blocks are learned while others wait
            model.learn_many(X, Y)
    monkeypatch.undo()
    for call in (lambda: model.learn_many(X, Y), lambda: model.predict_many(X)):
        with pytest.raises(RuntimeError, match=r"is of no use any more; .*: too little"):
            call()
