from __future__ import annotations

import datetime as dt
import math
import re
import signal
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from losses import log_loss, losses
from river import (
    base,
    compose,
    datasets,
    dummy,
    evaluate,
    linear_model,
    metrics,
    multiclass,
    naive_bayes,
    neighbors,
    preprocessing,
    tree,
    utils,
)

from river_amf import AMFClassifier, baselines, evaluation
from river_amf.evaluation import (
    EvaluationError,
    compare,
    load_stream,
    prequential,
    runs,
)

FIGURES = ["accuracy", "kappa", "log-loss", "us_per_sample", "memory"]
SAMPLES = [({"a": i * 7 % 10, "b": i % 3}, i * 7 % 10 > 4) for i in range(40)]


def three_labels(n_samples):
    """Samples whose labels are words; the third label comes late."""
    for i in range(n_samples):
        x = {"a": float(i * 7 % 10), "b": i % 4}
        yield x, "late" if i > 20 and x["b"] == 2 else ("high" if x["a"] > 4 else "low")


class Majority(base.Classifier):
    """A classifier that predicts only labels, and none at first."""

    def __init__(self):
        self.counts = {}

    def predict_one(self, x, **kwargs):
        return max(self.counts, key=self.counts.get, default=None)

    def learn_one(self, x, y):
        self.counts[y] = self.counts.get(y, 0) + 1


class Odd(base.Classifier):
    """A classifier whose probabilities may be odd, and whose label does not follow from them."""

    def __init__(self, proba=None):
        self.proba = proba

    def predict_one(self, x, **kwargs):
        return "high"

    def predict_proba_one(self, x, **kwargs):
        return self.proba

    def learn_one(self, x, y):
        pass


class Failing(base.Classifier):
    """A classifier that predicts from the start, and fails after `n_good` samples."""

    def __init__(self, error=None, n_good=16, when="learn_one"):
        self.error = error
        self.n_good = n_good
        self.when = when
        self.n = 0

    def predict_proba_one(self, x, **kwargs):
        if self.when == "predict_proba_one" and self.n == self.n_good:
            raise self.error
        return {True: 1.0}

    def learn_one(self, x, y):
        if self.when == "learn_one" and self.n == self.n_good:
            raise self.error
        self.n += 1


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""

    class Clock:
        now = 0.0

    monkeypatch.setattr(runs.time, "perf_counter", lambda: Clock.now)
    return Clock


def slow(clock, seconds=1.0):
    class Slow(Failing):
        def learn_one(self, x, y):
            clock.now += seconds

    return Slow()


# The metrics equal river's


def of_river(model, samples, metric):
    return evaluate.progressive_val_score(samples, model, metric).get()


MODELS = {
    "forest": lambda: AMFClassifier(n_estimators=3, seed=1),
    "bayes": naive_bayes.GaussianNB,
    "last": dummy.NoChangeClassifier,
    "prior": dummy.PriorClassifier,
    "neighbours": lambda: neighbors.KNNClassifier(n_neighbors=3),
    "tree": tree.HoeffdingTreeClassifier,
    "one against one": lambda: multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
    "perceptron": lambda: (
        preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.Perceptron())
    ),
    "labels alone": Majority,
    "piped labels": lambda: compose.Discard("b") | Majority(),
}


@pytest.mark.parametrize("name", MODELS)
def test_figures_are_those_of_river(name):
    samples = list(three_labels(300))
    others = [metrics.MacroF1(), metrics.CohenKappa, "weightedprecision", "CrossEntropy"]
    comparison = compare(samples, {name: MODELS[name]()}, others)
    row = comparison.table.loc[name]
    assert list(comparison.table.columns) == [
        *("n_samples", "accuracy", "kappa", "log-loss", "MacroF1", "WeightedPrecision"),
        *("CrossEntropy", "us_per_sample", "memory", "status"),
    ]
    assert (row["n_samples"], row["status"]) == (300, "ok")
    for column, metric in [
        ("accuracy", metrics.Accuracy()),
        ("kappa", metrics.CohenKappa()),
        ("MacroF1", metrics.MacroF1()),
        ("WeightedPrecision", metrics.WeightedPrecision()),
    ]:
        assert row[column] == of_river(MODELS[name](), samples, metric)
    if name in ("labels alone", "piped labels", "one against one"):
        assert math.isnan(row["log-loss"])
    else:
        assert row["CrossEntropy"] == of_river(MODELS[name](), samples, metrics.CrossEntropy())
        assert row["log-loss"] == pytest.approx(log_loss(MODELS[name](), samples), rel=1e-12)
        assert row["log-loss"] > row["CrossEntropy"]  # "high" and "late" came once unforeseen


def test_a_bug_is_not_taken_for_a_lack_of_probabilities():
    class Buggy(Majority):
        def predict_proba_one(self, x, **kwargs):
            return self.no_such_thing

    status = compare(SAMPLES, [Buggy]).table["status"]["Buggy"]
    assert status.startswith("sample 1: AttributeError: ")
    assert "no_such_thing" in status


# Seeds


def test_seeds_give_means_and_standard_deviations():
    models = {"amf": "amf", "mine": AMFClassifier(n_estimators=2), "knn": "knn", "own": Majority}
    table = compare(SAMPLES, models, seed=3, seeds=4, window=20)
    one_by_one = [compare(SAMPLES, ["amf"], seed=seed).table.iloc[0] for seed in range(3, 7)]
    by_hand = [AMFClassifier(n_estimators=2, seed=seed) for seed in range(3, 7)]
    mine = [of_river(model, SAMPLES, metrics.Accuracy()) for model in by_hand]
    assert [*table.table.columns[:5]] == [
        *("n_samples", "accuracy", "accuracy std", "kappa", "kappa std")
    ]
    row = table.table.loc["amf"]
    for column in ("accuracy", "log-loss"):
        values = [one[column] for one in one_by_one]
        assert row[column] == pytest.approx(np.mean(values))
        assert row[f"{column} std"] == pytest.approx(np.std(values, ddof=1))
    assert table.table["accuracy"]["mine"] == pytest.approx(np.mean(mine))
    assert row["log-loss std"] > 0
    assert (table.table.loc[["knn", "own"], "accuracy std"] == 0).all()
    assert math.isnan(table.table["log-loss std"]["own"])
    worse = [(x, i % 2) for i, (x, _) in enumerate(SAMPLES)]
    assert "-0.0000" not in str(compare(worse, ["last-class"], seeds=2))  # of kappa
    assert table.curves.query("model == 'amf'")["n_samples"].tolist() == [20, 40]
    assert set(table.table["status"]) == {"ok"}
    with pytest.raises(ValueError, match="seeds must be"):
        compare(SAMPLES, models, seeds=1)


# The curves


@pytest.mark.parametrize(
    ("window", "name"),
    [*((window, "forest") for window in (1, 7, 40, 100)), (7, "labels alone"), (7, "last")],
)
def test_windows_are_those_of_a_slow_loop(window, name):
    samples = list(three_labels(40))
    curves = compare(samples, {name: MODELS[name]()}, window=window).curves
    model, expected, seen = MODELS[name](), [], set()
    hits, outputs = [], []
    for n, (x, y) in enumerate(samples, start=1):
        label = model.predict_one(x)
        if label is not None:
            hits.append(label == y)
        if name != "labels alone":
            outputs.append((y, dict(model.predict_proba_one(x)), y not in seen))
        seen.add(y)
        model.learn_one(x, y)
        if n % window == 0 or n == len(samples):
            values = (hits, losses(outputs))
            expected.append((name, n, *(np.mean(v) if v else math.nan for v in values)))
            hits, outputs = [], []
    columns = ["model", "n_samples", "accuracy", "log-loss"]
    pd.testing.assert_frame_equal(curves, pd.DataFrame(expected, columns=columns), rtol=1e-12)


# What is accepted as a dataset


DATASETS = {
    "stream": lambda: evaluation.Stream("toy", len(SAMPLES), 2, 0, SAMPLES),
    "list": lambda: SAMPLES,
    "generator": lambda: (sample for sample in SAMPLES),
    "tuple": lambda: tuple(SAMPLES),
    "frame": lambda: pd.DataFrame([{**x, "target": y} for x, y in SAMPLES]),
    "X, y": lambda: (pl.DataFrame([x for x, _ in SAMPLES]), [y for _, y in SAMPLES]),
}


@pytest.mark.parametrize(
    ("kind", "limit"), [*((kind, 25) for kind in DATASETS), ("generator", None), ("list", 1000)]
)
def test_a_dataset_may_be_anything_that_has_samples(kind, limit):
    models = {"forest": AMFClassifier(seed=1), "bayes": naive_bayes.GaussianNB()}
    table = compare(DATASETS[kind](), models, limit=limit).table
    for name, model in models.items():
        expected = of_river(model.clone(), SAMPLES[:limit], metrics.Accuracy())
        assert table["accuracy"][name] == expected
    assert set(table["n_samples"]) == {min(limit or 1000, 40)}


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ([], "list has no samples"),
        (iter(()), "has no samples; note that a generator can be read only once"),
        (evaluation.Stream("toy", 0, 0, 0, []), "toy has no samples"),
        (pd.DataFrame({"a": [], "target": []}), "DataFrame has no samples"),
        ("Banana", "did you mean 'Bananas'"),
        (datasets.synth.SEA(), "SEA is endless; set a limit"),
        ([*SAMPLES[:2], "xy"], r"sample 3 must be a pair \(x, y\), got 'xy'"),
        ([({"a": 1}, True, {"w": 2.0})], "sample 1 must be a pair"),
        (5, "dataset must be a stream or its name, .* got 5"),
        (None, "dataset must be a stream or its name, .* got None"),
    ],
)
def test_a_dataset_that_does_not_do_is_reported_before_any_run(dataset, message):
    with pytest.raises(EvaluationError, match=message):
        compare(dataset, [Majority])


# The models


def test_models_are_cloned_and_made_in_order():
    model = AMFClassifier(seed=1)
    model.learn_one({"a": 1}, True)
    models = {"given": model, "class": Majority, "function": lambda: AMFClassifier(seed=2), 3: Odd}
    comparison = compare(SAMPLES, models)
    assert comparison.table.index.tolist() == ["given", "class", "function", "3"]
    assert comparison.table.index.name == "model"
    assert list(dict.fromkeys(comparison.curves["model"])) == ["given", "class", "function", "3"]
    expected = of_river(AMFClassifier(seed=1), SAMPLES, metrics.Accuracy())
    assert comparison.table["accuracy"]["given"] == expected
    assert model.predict_proba_one({"a": 1}) == {True: 1.0}


def test_models_go_by_name():
    samples = load_stream("Phishing", limit=60)
    table = compare(samples, ["amf", "KNN", Majority, "amf"], seed=3).table
    assert table.index.tolist() == ["amf", "knn", "Majority", "amf 2"]
    for name in ("amf", "knn"):
        expected = of_river(baselines.classifiers(seed=3)[name](), samples, metrics.Accuracy())
        assert table["accuracy"][name] == expected
    named = compare(samples, {"forest": "amf"}, seed=3).table
    assert named["accuracy"]["forest"] == table["accuracy"]["amf"] == table["accuracy"]["amf 2"]


def test_the_baselines_are_the_default():
    usual = compare(SAMPLES[:12], seed=1).table.index.tolist()
    assert usual == [
        *("last-class", "majority", "gaussian-nb", "knn", "logistic", "hoeffding-gain", "arf"),
        *("amf", "adaptive"),
    ]
    comparison = compare(SAMPLES[:12], "all", seed=1)
    assert comparison.table.index.tolist() == list(baselines.classifiers())
    assert set(comparison.table["status"]) == {"ok"}
    again = compare(SAMPLES[:12], {"forest": AMFClassifier(seed=1)})
    assert comparison.table["log-loss"]["amf"] == again.table["log-loss"]["forest"]


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ([], ValueError, "models is empty"),
        ({}, ValueError, "models is empty"),
        (
            Majority(),
            TypeError,
            "models must be a dict or list of models, 'all' or None, got Majority",
        ),
        (Majority, TypeError, "models must be a dict or list"),
        ("knn", TypeError, "models must be a dict or list"),
        (["amf", "kn"], EvaluationError, "unknown model 'kn' .did you mean 'knn'"),
        ({"mine": "forest"}, EvaluationError, "unknown model 'forest'"),
        ({"a": 3}, TypeError, "model 'a' must be a river classifier or regressor, or a .* got 3"),
        (
            [linear_model.LinearRegression()],
            EvaluationError,
            "labels such as False, and the models are regressors: take classifiers",
        ),
        (
            [Majority(), linear_model.LinearRegression()],
            TypeError,
            "model 'LinearRegression' is a regressor, but the task is classification",
        ),
        ([preprocessing.StandardScaler()], TypeError, "model 'StandardScaler' must be"),
        (
            {1: Majority, "1": Odd},
            ValueError,
            "models 1 and '1' would both be named '1' in the table",
        ),
    ],
)
def test_models_that_are_none_are_reported_before_any_run(models, error, message):
    with pytest.raises(error, match=message):
        compare(SAMPLES, models)


TIMED = utils.TimeRolling(metrics.MacroF1, dt.timedelta(days=1))
ODD_F1 = [metrics.F1(pos_val="low")]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metrics": "F1"}, TypeError, "metrics must be a list of metrics, or None, got 'F1'"),
        ({"metrics": [metrics.MAE()]}, TypeError, "MAE must be a classification metric whose valu"),
        ({"metrics": [metrics.ConfusionMatrix]}, TypeError, "ConfusionMatrix must be a classifica"),
        ({"metrics": [3]}, TypeError, "int must be a classification metric"),
        ({"metrics": [metrics.FBeta(0.5), metrics.FBeta(2.0)]}, ValueError, "contains FBeta twice"),
        ({"metrics": [TIMED]}, TypeError, "TimeRolling of MacroF1 needs the time of each sample"),
        ({"metrics": ["MacroF"]}, EvaluationError, "did you mean 'MacroF1'"),
        ({"metrics": ["F1"]}, EvaluationError, "F1 needs labels True/False or 0/1, but .*positive"),
        ({"positive": "hi", "metrics": ["F1"]}, EvaluationError, "'hi' .did you mean 'high'"),
        ({"positive": "high"}, EvaluationError, "'high': none of the metrics needs one"),
        ({"positive": "high", "metrics": ODD_F1}, EvaluationError, "none of the metrics needs"),
        *(({"window": value}, ValueError, "window must be ") for value in (0, -5, 2.5, "7", True)),
        *(({"limit": value}, ValueError, "limit must be ") for value in (0, -5, 2.5, True)),
        *(
            ({"time_limit": n}, ValueError, "time_limit must")
            for n in (0, -1, math.inf, "10", True)
        ),
        *(({"progress": value}, ValueError, "progress must be ") for value in (None, "yes", 2)),
    ],
)
def test_options_that_do_not_do_are_reported_before_any_run(options, error, message):
    with pytest.raises(error, match=message):
        compare(list(three_labels(60)), [Majority], **options)


@pytest.mark.parametrize("positive", ["high", "low"])
def test_any_label_may_be_the_positive_one(positive):
    samples = list(three_labels(200))
    chosen = ["F1", "ROCAUC", "LogLoss", utils.Rolling(metrics.Precision, 50), "MacroF1"]
    row = compare(samples, [naive_bayes.GaussianNB], chosen, positive=positive).table.iloc[0]
    assert row["MacroF1"] == of_river(naive_bayes.GaussianNB(), samples, metrics.MacroF1())
    # river's F1(pos_val=...) is 0 for all but True, and its ROCAUC takes the probability of True
    by_hand = [
        *(metrics.ROCAUC(), metrics.LogLoss()),
        *(metrics.F1(), utils.Rolling(metrics.Precision, 50)),
    ]
    model = naive_bayes.GaussianNB()
    for x, y in samples:
        if proba := model.predict_proba_one(x):
            for metric in by_hand[:2]:
                metric.update(y == positive, proba.get(positive, 0.0))
            for metric in by_hand[2:]:
                metric.update(y == positive, max(proba, key=proba.get) == positive)
        model.learn_one(x, y)
    for name, metric in zip(["ROCAUC", "LogLoss", "F1", "Rolling"], by_hand, strict=True):
        assert row[name] == pytest.approx(metric.get(), rel=1e-12), name
    assert row["F1"] > 0.5
    assert 0.5 < row["ROCAUC"] < 1


# Failures become rows


@pytest.mark.parametrize(
    ("error", "described"),
    [
        (ValueError("no\n  such value"), "ValueError: no such value"),
        (TypeError("odd"), "TypeError: odd"),
        (KeyError("a"), "KeyError: 'a'"),
        (MemoryError(), "MemoryError"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (ZeroDivisionError("by 0"), "ZeroDivisionError: by 0"),
        (EvaluationError("by itself"), "EvaluationError: by itself"),
        (ValueError(), "ValueError"),
        (SystemExit(1), "SystemExit: 1"),
        (SystemExit(), "SystemExit"),
        (GeneratorExit(), "GeneratorExit"),
        (BaseException("of one's own"), "BaseException: of one's own"),
    ],
)
def test_a_model_that_fails_is_a_row_and_the_others_run_on(error, described):
    models = {
        "before": Majority(),
        "learning": lambda: Failing(error, 16, "learn_one"),
        "predicting": lambda: Failing(error, 16, "predict_proba_one"),
        "after": Majority,
    }
    comparison = compare(SAMPLES, models, window=5)
    table = comparison.table
    assert table["status"].tolist() == ["ok", *[f"sample 17: {described}"] * 2, "ok"]
    assert table["n_samples"].tolist() == [40, 16, 16, 40]
    assert table.loc[["learning", "predicting"], FIGURES].isna().all(axis=None)
    assert table.loc["before", FIGURES[:2]].equals(table.loc["after", FIGURES[:2]])
    for failing in ("learning", "predicting"):
        curve = comparison.curves[comparison.curves["model"] == failing]
        assert curve["n_samples"].tolist() == [5, 10, 15], failing
    assert not comparison.interrupted


class Leaving(Majority):
    def clone(self, *args, **kwargs):
        raise SystemExit("no clone")


@pytest.mark.parametrize(
    ("make", "described"),
    [
        (lambda: 1 / 0, "cannot be created: ZeroDivisionError: division by zero"),
        (lambda: 3, "cannot be created: TypeError: model must be a river classifier, got 3"),
        (
            linear_model.LinearRegression,
            "cannot be created: TypeError: model must be a river classifier",
        ),
        (sys.exit, "cannot be created: SystemExit"),
        (Leaving(), "cannot be created: SystemExit: no clone"),
    ],
)
def test_a_model_that_cannot_be_made_is_a_row(make, described):
    comparison = compare(SAMPLES, {"bad": make, "good": Majority})
    assert comparison.table["status"]["bad"].startswith(described)
    assert comparison.table["n_samples"].tolist() == [0, 40]
    assert comparison.table.loc["bad", FIGURES].isna().all()


def test_a_time_limit_ends_a_run_between_samples(clock):
    models = {"slow": slow(clock), "fast": Failing(n_good=100), "just": slow(clock, 0.25)}
    comparison = compare(SAMPLES, models, time_limit=10, window=4)
    table = comparison.table
    assert table["status"].tolist() == ["time limit of 10 s reached after 10 samples", "ok", "ok"]
    assert table["n_samples"].tolist() == [10, 40, 40]
    # the metrics cover the samples so far
    expected = of_river(Failing(n_good=100), SAMPLES[:10], metrics.Accuracy())
    assert table["accuracy"]["slow"] == expected
    assert table["us_per_sample"]["slow"] == pytest.approx(1e6)
    assert table["memory"].notna().all()
    slow_curve = comparison.curves.query("model == 'slow'")
    assert slow_curve["n_samples"].tolist() == [4, 8, 10]


class Interrupting(Failing):
    def learn_one(self, x, y):
        super().learn_one(x, y)
        if self.n == self.n_good:
            raise KeyboardInterrupt


def test_ctrl_c_ends_the_comparison_with_what_there_is(monkeypatch):
    monkeypatch.setattr(prequential, "WARM_UP", 3)
    models = {"done": Majority, "current": Interrupting(n_good=7), "never": Majority}
    comparison = compare(SAMPLES, models, window=2)
    table = comparison.table
    assert table["status"].tolist() == ["ok", "interrupted after 6 samples", "not run"]
    assert table["n_samples"].tolist() == [40, 6, 0]
    expected = of_river(Failing(n_good=100), SAMPLES[:6], metrics.Accuracy())
    assert table["accuracy"]["current"] == expected
    assert table.loc["current", ["us_per_sample", "memory"]].notna().all()
    assert table.loc["never", FIGURES].isna().all()
    assert set(comparison.curves["model"]) == {"done", "current"}
    assert comparison.interrupted


def test_a_signal_handler_that_exits_is_not_the_fault_of_a_model():
    class Ended(Failing):
        def learn_one(self, x, y):
            super().learn_one(x, y)
            if self.n == self.n_good:
                signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    try:
        for n_good in (3, 39):  # in the warm-up, and in the run
            with pytest.raises(SystemExit, match="7"):
                compare(SAMPLES, [Ended(n_good=n_good), Majority])
        status = compare(SAMPLES, [lambda: Failing(SystemExit(7))]).table["status"].item()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert status == "sample 17: SystemExit: 7"


class Signaling(Majority):
    """A classifier with a signal in what a run asks of it beside predictions."""

    place = None

    def __getstate__(self):
        self.reach("its pickle")
        return self.__dict__

    def reach(self, place):
        if self.place == place:
            signal.raise_signal(signal.SIGTERM)

    @property
    def n_nodes(self):
        self.reach("its nodes")
        return 1

    @property
    def _raw_memory_usage(self):
        self.reach("its memory")
        return 1


@pytest.mark.parametrize("place", ["its pickle", "its nodes", "its memory"])
def test_what_a_handler_raises_while_a_model_is_measured_comes_out(place, monkeypatch):
    def stop(*_):
        raise ValueError("stop")

    monkeypatch.setattr(Signaling, "place", place)
    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(ValueError, match="stop"):
            if place == "its nodes":
                evaluation.report(SAMPLES, {"model": Signaling()})
            else:
                compare(SAMPLES, {"model": Signaling}, seeds=2)
    finally:
        signal.signal(signal.SIGTERM, before)


def as_stream(samples):
    return evaluation.Stream("torn", 40, 2, 0, samples)


@pytest.mark.parametrize(
    ("error", "n_good", "wrap"),
    [
        *((OSError("disk gone"), n_good, as_stream) for n_good in (0, 5, 30)),
        (ValueError(), 5, iter),
        (SystemExit(3), 30, as_stream),
        (SystemExit(3), 0, iter),
    ],
)
def test_a_stream_that_fails_midway_is_not_the_fault_of_a_model(error, n_good, wrap):
    class Torn:
        def __iter__(self):
            yield from SAMPLES[:n_good]
            raise error

    stream = wrap(Torn())
    with pytest.raises(EvaluationError, match="the stream cannot be read: ") as raised:
        compare(stream, [Majority, dummy.PriorClassifier])
    assert raised.value.__cause__ is error


# Output


@pytest.fixture(scope="module")
def mixed():
    models = {
        "forest": AMFClassifier(seed=1),
        "labels | alone": Majority,
        "<bad>": lambda: Failing(ValueError("a|b <c>")),
    }
    return compare(SAMPLES, models, ["MacroF1"])


def test_the_table_is_printed_in_columns(mixed):
    lines = str(mixed).splitlines()
    assert lines[0].split() == [
        *("model", "samples", "accuracy", "kappa", "log-loss", "MacroF1", "us/sample", "memory"),
        "status",
    ]
    ends = [match.end() for match in re.finditer(r"\S+", lines[0])]
    accuracy = mixed.table["accuracy"]["forest"]
    assert lines[1][: ends[2]].split() == ["forest", "40", f"{accuracy:.4f}"]
    assert lines[2].startswith("labels | alone       40  ")
    assert lines[2][ends[3] : ends[4]].strip() == "-"  # no log-loss
    assert lines[3].endswith("  sample 17: ValueError: a|b <c>")
    assert all(line[ends[7] : ends[7] + 2] == "  " for line in lines)  # before the status
    assert repr(mixed) == str(mixed)


def test_markdown_has_the_same_cells(mixed, tmp_path):
    path = tmp_path / "table.md"
    text = mixed.to_markdown(path)
    assert path.read_text(encoding="utf-8") == text == mixed.to_markdown()
    lines = text.splitlines()
    assert len({len(line) for line in lines}) == 1  # aligned
    rows = [
        [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
    ]
    assert [rows[0], *rows[2:]] == mixed._cells()
    assert re.fullmatch(r"\| :-+ (\| -+: )+\| :-+ \|", lines[1])
