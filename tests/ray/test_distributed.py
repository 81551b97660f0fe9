"""A forest over workers is the mean of forests of one process, to the bit, whatever happens."""

import io
import os
import pickle
import random
import signal
import threading
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from processes import kill, process
from river import base, metrics
from river.conf import Interval

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    MismatchWarning,
    inspection,
)
from river_amf.persistence import FileError, save_with_notes
from river_amf.ray import DistributedForest


def mean(answers, sizes):
    """Return the mean of answers, number by number; of intervals, that of both ends."""
    first = answers[0]
    if first is None:
        return None
    if isinstance(first, dict):
        return {label: mean([a[label] for a in answers], sizes) for label in first}
    if isinstance(first, list):
        return [mean(numbers, sizes) for numbers in zip(*answers, strict=True)]
    if isinstance(first, Interval):
        return mean([[a.lower, a.upper] for a in answers], sizes)
    return sum(size / sum(sizes) * a for size, a in zip(sizes, answers, strict=True))


class Both:
    """A forest over two workers beside forests of one process, whose answers are averaged."""

    def __init__(self, model):
        self.sizes = [*map(len, np.array_split(range(model.n_estimators), 2))]
        self.models = [
            model.clone({"n_estimators": size, "seed": model.seed + i})
            for i, size in enumerate(self.sizes)
        ]
        self.forest = DistributedForest(model, 2)
        self.labels = not isinstance(model, AMFRegressor) and (
            "predict_one",
            "predict_many",
            "predict_then_learn_many",
        )

    def naive(self, method, *arguments, **keywords):
        """Return the mean of the answers, or the most probable labels."""
        if self.labels and method in self.labels:
            proba = self.naive(method.replace("predict", "predict_proba"), *arguments)
            is_block = isinstance(proba, pd.DataFrame)
            return proba.idxmax(axis=1) if is_block else max(proba, key=proba.get, default=None)
        answers = [getattr(model, method)(*arguments, **keywords) for model in self.models]
        return mean(answers, self.sizes)

    def __call__(self, method, *arguments, **keywords):
        """Call a method of both, whose answers have to be equal."""
        answer = getattr(self.forest, method)(*arguments, **keywords)
        expected = self.naive(method, *arguments, **keywords)
        if isinstance(answer, Interval):
            answer = [answer.lower, answer.upper]
        assert answer.equals(expected) if hasattr(answer, "equals") else answer == expected


def samples(n_rows=900, model=None):
    """Return numbers, categories and missing values, and labels that come late, or targets."""
    numbers = np.random.default_rng(0)
    X = pd.DataFrame(numbers.normal(size=(n_rows, 3)), columns=list("abc"))
    y = X["a"] + np.sin(3 * X["b"]) + 0.1 * numbers.normal(size=n_rows)
    X["kind"] = numbers.choice(list("uvwxyz"), n_rows)
    X["late"] = np.where(np.arange(n_rows) < n_rows // 3, np.nan, numbers.normal(size=n_rows))
    if getattr(model, "absent", "missing") == "zero":
        X = pd.DataFrame({f"word {name}": 1.0 * (X[name] > 1.0) for name in "abc"})
    if isinstance(model, AMFRegressor):
        return X, y
    labels = pd.Series(np.digitize(y, [-1.0, 0.5]))
    return X, labels.where((labels < 2) | (labels.index > n_rows // 4), 1)


MODELS = {
    "AMFClassifier": AMFClassifier(n_estimators=5, seed=1, max_nodes=101, max_categories=3),
    "AdaptiveAMFClassifier": AdaptiveAMFClassifier(n_estimators=5, seed=1, drift_threshold=0.5),
    "AMFRegressor": AMFRegressor(n_estimators=5, seed=1),
    "AdaptiveAMFRegressor": AdaptiveAMFRegressor(n_estimators=5, seed=1, recent="target"),
    "words": AdaptiveAMFClassifier(n_estimators=5, seed=1, absent="zero"),
}


def strike(forest):
    """Kill a worker at a random moment of the next call."""
    pid = forest._workers.call(process)[0]
    threading.Timer(random.uniform(0, 0.02), os.kill, [pid, signal.SIGKILL]).start()


@pytest.mark.parametrize("name", MODELS)
def test_forest_equals_mean_of_forests(name):
    model, (X, y) = MODELS[name], samples(model=MODELS[name])
    both, is_regressor = Both(model), isinstance(model, AMFRegressor)
    assert isinstance(both.forest, base.Regressor if is_regressor else base.Classifier)
    rows = [x.dropna().to_dict() for _, x in X[:40].iterrows()]
    predict = "predict" if is_regressor else "predict_proba"
    for method in (f"{predict}_one", "predict_one", "novelty_one"):
        both(method, rows[0])
    for i, x in enumerate(rows):
        both(f"{predict}_one", x)
        both("novelty_one", x)
        if i < 20:  # all other labels come later
            both("learn_one", x, y[i])
    both("learn_many", X[20:300], y[20:300], np.where(np.arange(280) % 7 == 0, 0.0, 1.5))
    both.forest._workers.checkpoints()
    for start, stop in ((300, 300), (300, 301), (301, 600)):
        if stop == 600:
            strike(both.forest)
        both(f"{predict}_then_learn_many", X[start:stop], y[start:stop])
    both("predict_then_learn_many", X[600:700], y[600:700])
    for method in {f"{predict}_many", "predict_many"}:
        both(method, X)
    both("predict_one", rows[0])
    if is_regressor:
        both("predict_one", rows[0], with_interval=True, level=0.5)
        both("predict_interval_one", rows[0], level=0.8)
        both("predict_interval_many", X, level=0.8)
        for q in (0.3, [0.1, 0.9]):
            both("predict_quantile_one", rows[0], q)
            both("predict_quantile_many", X, q)
    kill(both.forest._workers)
    both("learn_many", X[700:], y[700:])
    both("predict_many", X)
    assert both.forest._raw_memory_usage > 10_000
    both.forest.close()


@pytest.mark.parametrize("name", ["AdaptiveAMFClassifier", "AdaptiveAMFRegressor"])
def test_one_worker_is_one_process(name):
    (X, y), one = samples(model=MODELS[name]), MODELS[name].clone()
    frame = pl.from_pandas(X)
    with DistributedForest(MODELS[name], 1) as forest:
        for model in (one, forest):
            model.learn_many(frame[:300], y[:300])
        proba = "predict_interval_many" if name.endswith("Regressor") else "predict_proba_many"
        for method in ("predict_many", proba):
            assert getattr(forest, method)(frame).equals(getattr(one, method)(frame))


BAD = {
    "infinite": (lambda X, y: (X.assign(a=np.where(X.index == 33, np.inf, X.a)), y), "row 33: "),
    "missing label": (lambda X, y: (X, y.where(y.index != 33)), "row 33: "),
    "kind": (lambda X, y: (X.assign(kind=1.0), y), "feature 'kind'"),
    "length": (lambda X, y: (X, y[:-1]), "y has 99"),
}


@pytest.fixture(scope="module")
def both(one_ray):
    """Return a forest that has learned, beside the naive one."""
    pair = Both(AMFClassifier(n_estimators=3, seed=1))
    pair("learn_many", *samples(300))
    yield pair
    pair.forest.close()


@pytest.mark.parametrize("name", BAD)
def test_bad_blocks_change_no_worker(both, name):
    X, y = samples(100)
    spoil, message = BAD[name]
    workers = both.forest._workers
    before, pids = workers.checkpoints(), workers.call(process)
    for method in ("learn_many", "predict_proba_then_learn_many"):
        with pytest.raises((TypeError, ValueError), match=message):
            getattr(both.forest, method)(*spoil(X, y))
    assert (workers.checkpoints(), workers.call(process)) == (before, pids)
    both("learn_many", X, y)


def test_file_has_all_workers(both, tmp_path):
    X, y = samples(100)
    path = tmp_path / "forest.amf"
    both.forest.save(path)
    data = path.read_bytes()
    with DistributedForest.load(path) as loaded:
        assert (loaded.n_workers, loaded.model.n_estimators) == (2, 3)
        loaded.save(path)
        assert path.read_bytes() == data
        both("learn_many", X, y)
        loaded.learn_many(X, y)
        assert loaded.predict_proba_many(X).equals(both.naive("predict_proba_many", X))
    alone = io.BytesIO()
    MODELS["AMFClassifier"].save(alone)
    with zipfile.ZipFile(path, "w") as archive:
        for worker in range(2):
            with archive.open(f"{worker}.amf", "w") as file:
                save_with_notes(MODELS["AMFClassifier"], file, {"worker": [worker, 2]})
    with pytest.raises(FileError, match="do not belong to one forest"):
        DistributedForest.load(path)
    for n_kept in (0, 1):
        with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(path, "w") as other:
            for entry in archive.infolist()[:n_kept]:
                other.writestr(entry, archive.read(entry))
        with pytest.raises(FileError, match="does not hold the forests of all workers"):
            DistributedForest.load(path)
    for damaged in (b"", alone.getvalue(), data[:-50], data[:999] + b"x" + data[1000:]):
        path.write_bytes(damaged)
        with pytest.raises(FileError):
            DistributedForest.load(path)


def test_open_seed_is_drawn_once():
    X, y = samples(100)
    X["a"] = X["a"].astype(object).where(X.index != 7, "?")
    with DistributedForest(AMFClassifier(n_estimators=4, on_mismatch="missing"), 2) as forest:
        with pytest.warns(MismatchWarning) as caught:
            forest.learn_many(X, y)
        assert len(caught) == 1
        first, second = map(pickle.loads, forest._workers.checkpoints())
        assert second.seed == first.seed + 1
        assert forest.model.seed is None


def test_unsuitable_models_are_refused():
    model, trained = AMFClassifier(n_estimators=3), AMFClassifier(n_estimators=3)
    trained.learn_one({"a": 1.0}, True)
    for arguments, kind, message in (
        ((metrics.Accuracy(), 2), TypeError, "model must be a forest of river_amf"),
        ((model, 4), ValueError, "n_workers must be at most n_estimators, 3, got 4"),
        ((model, 0), ValueError, "n_workers must be an integer >= 1"),
        ((trained, 2), ValueError, r"model has learned.*; pass model\.clone\(\)"),
    ):
        with pytest.raises(kind, match=message):
            DistributedForest(*arguments)
    forest = DistributedForest(model, 2).clone({"n_workers": 3})
    assert (forest.n_workers, forest.model.n_estimators) == (3, 3)
    with pytest.raises(TypeError, match="over workers cannot be copied or pickled"):
        pickle.dumps(forest)
    with pytest.raises(TypeError, match="for a forest over workers, train one in this process"):
        inspection.contributions(forest, {"a": 1.0})
