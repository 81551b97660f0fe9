"""A forest over workers is the forest of one process, to the byte, whatever happens to them."""

import copy
import gc
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import ray
from forests import pickled
from processes import has_ended, kill, team_of
from river import metrics

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    MismatchWarning,
)
from river_amf.ray import DistributedForest, workers

N_ROWS = 1500


def samples(n_rows=N_ROWS, seed=0):
    """Return numbers, categories and missing values, labels that come late, and targets."""
    numbers = np.random.default_rng(seed)
    X = pd.DataFrame(numbers.normal(size=(n_rows, 3)), columns=list("abc"))
    X["kind"] = numbers.choice(list("uvwxyz"), n_rows)
    X["late"] = np.where(np.arange(n_rows) < n_rows // 3, np.nan, numbers.normal(size=n_rows))
    targets = X["a"] + np.sin(3 * X["b"]) + np.where(np.arange(n_rows) > n_rows // 2, X["c"], 0.0)
    labels = pd.Series(np.digitize(targets, [-1.0, 0.5]).astype(str))
    labels[: n_rows // 4] = labels[: n_rows // 4].replace("2", "1")
    return X, labels, targets + 0.1 * numbers.normal(size=n_rows)


def words(n_rows=300):
    """Return counts of words, of which some come late, and labels."""
    numbers = np.random.default_rng(1)
    y = numbers.integers(0, 2, n_rows)
    chances = [0.05 + 0.4 * ((k + y) % 2 == 0) for k in range(12)]
    counts = {f"w{k}": (numbers.random(n_rows) < p) * 1.0 for k, p in enumerate(chances)}
    X = pd.DataFrame(counts)
    X.loc[: n_rows // 2, "w3"] = 0.0
    return X, pd.Series(y.astype(bool))


def data_for(model):
    """Return rows and what a model is to predict."""
    if model.absent == "zero":
        return words()
    X, labels, targets = samples()
    return X, targets if isinstance(model, AMFRegressor) else labels


def then_learn(model, *block):
    """Predict each row of a block, and learn it."""
    if isinstance(model, AMFRegressor):
        return model.predict_then_learn_many(*block)
    return model.predict_proba_then_learn_many(*block)


def assert_equal(a, b):
    """Fail unless two frames or series are the same, bit for bit."""
    pd.testing.assert_frame_equal(pd.DataFrame(a), pd.DataFrame(b), check_exact=True)


def assert_equal_models(forest, model):
    """Fail unless the gathered forest is the other one, to the byte."""
    gathered = forest.gather()
    assert type(gathered) is type(model)
    assert pickled(gathered) == pickled(model)


MODELS = {
    "adaptive": AdaptiveAMFClassifier(n_estimators=4, seed=1, restart_threshold=0.5),
    "budget": AMFClassifier(n_estimators=5, seed=1, max_nodes=101, max_categories=3),
    "adaptive regressor": AdaptiveAMFRegressor(n_estimators=3, seed=1, recent="target"),
    # over shards, late labels of words are taken as if they came at once
    "words": AdaptiveAMFClassifier(n_estimators=3, seed=1, absent="zero", max_pending=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_is_the_forest_of_one_process(name):
    model = MODELS[name]
    one = model.clone()
    X, y = data_for(model)
    w = np.where(np.arange(len(X)) % 7 == 0, 0.0, 1.5)
    third = len(X) // 3
    with DistributedForest(model, 2, block_size=170, checkpoint_every=400) as forest:
        for each in (one, forest):
            each.learn_many(X[:third], y[:third], w[:third])
        for start, stop in ((third, third), (third, third + 1), (third + 1, 2 * third)):
            block = X[start:stop], y[start:stop]
            assert_equal(*(then_learn(each, *block) for each in (one, forest)))
        assert forest.predict_many(X).equals(one.predict_many(X))
        row = X.iloc[2 * third].dropna().to_dict()
        assert forest.predict_one(row) == one.predict_one(row)
        for each in (one, forest):
            each.learn_one(row, y[2 * third], w=0.5)
            for start in range(2 * third, len(X), 40):  # several are on their way
                each.learn_many(X[start : start + 40], y[start : start + 40])
        assert forest.predict_one(row) == one.predict_one(row)
        assert_equal_models(forest, one)
        assert not hasattr(model._engine.arena, "trees")  # the one that was given is not changed


@pytest.fixture(scope="module")
def learnt():
    """Return a learnt forest, the same over two workers, and rows with labels."""
    # Each test leaves both equal. That it is one pair for all saves a minute, and is a test, too.
    X, y, _ = samples()
    one = AdaptiveAMFClassifier(n_estimators=4, seed=1, max_pending=0)  # one may predict more
    one.learn_many(X[:300], y[:300])
    with DistributedForest(one, 2, block_size=100, checkpoint_every=500) as forest:
        yield one, forest, X, y


def test_what_is_read_of_it_is_that_of_the_whole(learnt):
    one, forest, X, y = learnt
    for each in (one, forest):
        each.learn_many(X[300:600], y[300:600])
    assert forest.fading_share == one.fading_share
    assert [tree.n_nodes for tree in forest] == [tree.n_nodes for tree in one]
    x = X.iloc[0].to_dict()
    assert forest.debug_one(x) == one.debug_one(x)
    assert 0.5 < forest.memory_usage / one.memory_usage < 2.0
    assert repr(forest).startswith("DistributedForest")


BAD = {
    "infinite": (lambda X, y: (X.assign(a=np.where(X.index == 333, np.inf, X.a)), y), "row 333: "),
    "missing label": (lambda X, y: (X, y.where(y.index != 333)), "row 333: "),
    "kind": (lambda X, y: (X.assign(kind=1.0), y), "feature 'kind'"),
    "length": (lambda X, y: (X, y[:-1]), "y has 399"),
    "not a frame": (lambda X, y: (X.to_numpy(), y), "X must be a dataframe"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_block_changes_no_worker(learnt, name):
    one, forest, X, y = learnt
    spoil, message = BAD[name]
    X_, y_ = X[300:700].reset_index(drop=True), y[300:700].reset_index(drop=True)
    with pytest.raises((TypeError, ValueError), match=message):
        forest.learn_many(*spoil(X_, y_))
    with pytest.raises((TypeError, ValueError), match=message):
        then_learn(forest, *spoil(X_, y_))
    assert_equal_models(forest, one)


def test_an_open_seed_is_one_for_all_workers_and_each_warning_comes_once():
    X, y, _ = samples(400)
    X["a"] = X["a"].astype(object).where(X.index != 7, "?")
    with DistributedForest(AMFClassifier(n_estimators=4, on_mismatch="missing"), 2) as forest:
        with pytest.warns(MismatchWarning) as caught:
            forest.learn_many(X, y)
        assert len(caught) == 1
        before = pickled(forest.gather())
        pids = forest._engine.processes()
        kill(team_of(forest).workers[0])
        assert forest._engine.processes()[0] not in pids  # whoever is dead is started anew
        forest.learn_many(X[:0], y[:0])
        assert pickled(forest.gather()) == before
        assert forest.gather().seed is None


# Deaths


class Killer(threading.Thread):
    """Kills one of a forest's workers from time to time."""

    def __init__(self, forest, n_times, pause):
        super().__init__(daemon=True)
        self.n_killed, self.forest = 0, forest
        self.n_times, self.dice, self.pause = n_times, np.random.default_rng(1), pause

    def run(self):
        while self.n_killed < self.n_times:
            time.sleep(self.dice.uniform(0, self.pause))
            try:
                os.kill(self.dice.choice(self.forest._engine.processes()), signal.SIGKILL)
                self.n_killed += 1
            except (ProcessLookupError, RuntimeError):  # dead already, or at the end
                continue


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "in_folder"), [(AMFClassifier, True), (AdaptiveAMFRegressor, False)]
)
def test_workers_that_are_killed_come_back_as_they_were(kind, in_folder, tmp_path):
    X, labels, targets = samples(2400)
    y = labels if kind is AMFClassifier else targets
    one = kind(n_estimators=4, seed=1)
    folder = tmp_path / "checkpoints" if in_folder else None
    with DistributedForest(
        one, 2, block_size=50, checkpoint_every=300, checkpoint_folder=folder
    ) as forest:
        killer = Killer(forest, 2, 0.8)
        killer.start()
        for start in range(0, len(X), 200):
            block = X[start : start + 200], y[start : start + 200]
            if start % 400:
                for each in (one, forest):
                    each.learn_many(*block)
            else:
                assert_equal(*(then_learn(each, *block) for each in (one, forest)))
        killer.join()
        assert forest.predict_many(X[:300]).equals(one.predict_many(X[:300]))
        assert_equal_models(forest, one)
        if in_folder:
            assert {path.suffix for path in folder.iterdir()} - {".tmp"} == {".checkpoint"}
    if in_folder:
        assert [*folder.glob("*.checkpoint")] == []  # which serve that forest only


ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which workers cannot import


class Flaky:
    """Adds numbers, and fails or dies when it is told to, as long as a file is there."""

    def __init__(self, total=0, how=""):
        self.total, self.how = total, how

    def add(self, number, file=None):
        self.total += number
        if file is not None and Path(file).exists():
            if self.how == "once":
                Path(file).unlink()
            if self.how == "dies":
                os._exit(1)
            raise MemoryError("as it happens")
        return self.total

    def sum(self):
        return self.total

    def __setstate__(self, state):
        if state["how"] == "at once":
            raise ValueError("it fails at once")
        self.__dict__.update(state)


def test_calls_are_kept_until_the_next_checkpoint_and_repeated_after_an_error(tmp_path):
    (tmp_path / "file").touch()
    worker = workers.Worker(Flaky(10, "once"), 3)
    most = 0
    for _ in range(20):
        worker.result(worker.tell("add", 1, n_rows=1))
        most = max(most, len(worker._log))
    assert most < 20
    told = [worker.tell("add", 1), worker.tell("add", 2, str(tmp_path / "file"))]
    told.append(worker.tell("add", 4))
    assert [worker.result(task) for task in told] == [31, 33, 37]
    worker.end()


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("", MemoryError, "as it happens"),
        ("dies", RuntimeError, "has died 2 times in the same call"),
        ("at once", RuntimeError, "a worker cannot start: ValueError: it fails at once"),
    ],
)
def test_an_error_that_does_not_go_away_is_raised(how, error, message, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_MOST_DEATHS", 1)
    monkeypatch.setattr(workers, "_MOST_ERRORS", 1)
    (tmp_path / "file").touch()
    worker = workers.Worker(Flaky(10, how), 100)
    worker.tell("add", 1)
    with pytest.raises(error, match=message):
        worker.result(worker.tell("add", 2, str(tmp_path / "file")))
    worker.end()


def test_a_checkpoint_that_cannot_be_written_is_warned_of_and_tried_again(tmp_path):
    folder, away = tmp_path / "checkpoints", tmp_path / "away"
    one = AMFClassifier(n_estimators=2, seed=1)
    X, y, _ = samples(300)
    blocks = [(X[k : k + 20], y[k : k + 20]) for k in range(0, 300, 20)]
    with DistributedForest(one, 1, checkpoint_every=20, checkpoint_folder=folder) as forest:
        forest.predict_many(X[:1])  # the worker starts
        folder.rename(away)
        folder.touch()  # in the place of a full disk
        with pytest.warns(RuntimeWarning, match="a checkpoint .* could not be made.*: .*checkp"):
            for block in blocks[:5]:
                then_learn(forest, *block)
        worker = team_of(forest).workers[0]
        assert len(worker._log) == 5
        folder.unlink()
        away.rename(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the one before
            for block in blocks[5:]:
                then_learn(forest, *block)
        assert len(worker._log) < 5
        kill(worker)
        one.learn_many(X, y)
        assert_equal_models(forest, one)


def test_a_checkpoint_that_was_given_up_spoils_no_other(tmp_path):
    worker = workers.Worker(Flaky(), 1, tmp_path)
    worker.result(worker.tell("add", 1, n_rows=1))
    ray.wait([worker._coming[0]])
    worker._take_checkpoint()
    for total in (2, 3):
        task = worker.tell("add", 1, n_rows=1)
        kill(worker)  # which tells its process after the next checkpoint has been written
        assert worker.result(worker.ask("sum")) == total
        assert worker.result(task) == total
    worker.end()
    assert [*tmp_path.iterdir()] == []


# The end


def test_a_checkpoint_goes_on_with_any_number_of_workers(learnt, tmp_path):
    one, forest, X, y = learnt
    for each in (one, forest):
        each.learn_many(X[300:700], y[300:700])
    forest.save(tmp_path / "new")
    twin = copy.deepcopy(one)
    for each in (one, forest):
        each.learn_many(X[:100], y[:100])  # which the checkpoint does not have
    with DistributedForest.load(tmp_path / "new", 1, block_size=90) as loaded:
        assert (loaded.n_workers, loaded.block_size) == (1, 90)
        for each in (twin, loaded):
            each.learn_many(X[700:], y[700:])
        assert_equal_models(loaded, twin)
    with pytest.raises(FileNotFoundError):
        DistributedForest.load(tmp_path / "none")


@pytest.mark.parametrize("by", ["close", "drop"])
def test_workers_end_with_the_forest_though_it_is_broken(by, monkeypatch):
    forest = DistributedForest(AMFClassifier(seed=1, n_estimators=2), 1)
    forest.learn_one({"a": 1.0}, True)
    pids = forest._engine.processes()
    assert len(pids) == 1
    broken = "vote" if by == "close" else "_count"  # after the shards have learned, or before it
    monkeypatch.setattr(forest._engine._coordinator, broken, lambda *_: [][0])
    with pytest.raises(IndexError):
        forest.predict_proba_then_learn_many(pd.DataFrame({"a": [2.0]}), [True])
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="of no use any more"):
        forest.learn_one({"a": 1.0}, True)
    if by == "close":
        forest.close()
        forest.close()
        with pytest.raises(RuntimeError, match="has been closed"):
            forest.predict_one({"a": 1.0})
    del forest
    gc.collect()
    assert all(map(has_ended, pids))


def test_one_that_has_not_begun_can_be_closed(monkeypatch):
    forest = DistributedForest(AMFClassifier(seed=1, n_estimators=2), 2)
    monkeypatch.setattr(ray, "put", lambda _: pytest.fail("nothing is to be sent"))
    forest.close()


def test_an_interrupt_ends_the_wait_and_not_the_block(learnt):
    one, forest, X, y = learnt
    forest.learn_many(X[300:400], y[300:400])  # all is there and warm

    def interrupt(number, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.004)
        with pytest.raises(TimeoutError):
            while True:
                forest.predict_many(X)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    forest.learn_many(X[400:500], y[400:500])
    one.learn_many(X[300:500], y[300:500])
    assert_equal_models(forest, one)


def test_what_cannot_be_distributed_is_refused():
    with pytest.raises(TypeError, match="must be a forest"):
        DistributedForest(metrics.Accuracy())
    for name in ("n_workers", "block_size", "checkpoint_every"):
        with pytest.raises(ValueError, match=f"{name} must be an integer >= 1"):
            DistributedForest(AMFClassifier(), **{name: 0})
    with pytest.raises(TypeError, match="what it gathers can"):
        pickle.dumps(DistributedForest(AMFClassifier()))


def test_parameters_are_those_of_the_model():
    model = AdaptiveAMFClassifier(n_estimators=3, seed=7)
    forest = DistributedForest(model, 2, block_size=10)
    assert (forest.n_estimators, forest.seed, forest.vote) == (3, 7, "learned")
    twin = forest.clone()
    assert type(twin) is type(forest)
    assert (twin.seed, twin.n_workers, twin.block_size) == (7, 2, 10)
    with pytest.raises(AttributeError, match="read-only"):
        forest.seed = 8
    assert ray.is_initialized()
