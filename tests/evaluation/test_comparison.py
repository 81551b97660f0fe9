"""Comparisons: figures of river's loop, any source, any model, and failures as rows."""

import datetime as dt
import functools
import itertools
import math
import random
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
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
    stats,
    tree,
)

from river_amf import AMFClassifier, AMFRegressor, baselines, evaluation
from river_amf.evaluation import EvaluationError, Stream, compare, load_stream, prequential
from river_amf.evaluation.metrics import make_metrics
from river_amf.evaluation.prequential import schedule_of
from river_amf.evaluation.prequential import test_then_train as steps_of

SAMPLES = [({"a": i * 7 % 10, "b": i % 3}, i * 7 % 10 > 4) for i in range(40)]
NUMBERS = [({"a": i * 7 % 10, "b": i % 3}, 100.0 + i * 7 % 10 + i % 3 / 4) for i in range(150)]


def three_labels(n_samples):
    """Yield samples whose labels are words; the third label comes late."""
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


class Certain(Majority):
    """A classifier whose probabilities leave out all labels but one."""

    def predict_proba_one(self, x, **kwargs):
        return {self.predict_one(x): 1.0} if self.counts else {}


class Failing(base.Classifier):
    """A classifier that predicts from the start, and raises after `n_good` samples."""

    def __init__(self, error=None, n_good=16):
        self.error, self.n_good, self.n = error, n_good, 0

    def predict_proba_one(self, x, **kwargs):
        return {True: 1.0}

    def learn_one(self, x, y):
        if self.n == self.n_good:
            raise self.error
        self.n += 1


def of_river(model, samples, metric):
    first, *samples = samples  # whose prediction river scores, too, if there is one
    model = model.clone()
    model.learn_one(*first)
    return evaluate.progressive_val_score(samples, model, metric).get()


MODELS = {
    "forest": AMFClassifier(n_estimators=3, seed=1),
    "bayes": naive_bayes.GaussianNB(),
    "last": dummy.NoChangeClassifier(),
    "one against one": multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
    "one label": Certain(),
    "labels alone": Majority(),
    "piped labels": compose.Discard("b") | Majority(),
}
WITHOUT_PROBA = ("labels alone", "piped labels", "one against one")


@pytest.mark.parametrize("name", MODELS)
def test_metrics_of_classifiers_are_those_of_river(name):
    samples, model = list(three_labels(300)), MODELS[name]
    others = [metrics.MacroF1(), metrics.CohenKappa, "weightedprecision", "CrossEntropy"]
    table = compare(samples, {name: model}, others).table
    row = table.loc[name]
    assert list(table.columns) == [
        *("n_samples", "accuracy", "kappa", "log-loss", "MacroF1", "WeightedPrecision"),
        *("CrossEntropy", "us_per_sample", "memory", "status"),
    ]
    assert (row["n_samples"], row["status"]) == (300, "ok")
    expected = {"accuracy": metrics.Accuracy(), "kappa": metrics.CohenKappa()}
    expected |= {"MacroF1": metrics.MacroF1(), "WeightedPrecision": metrics.WeightedPrecision()}
    for column, metric in expected.items():
        assert row[column] == of_river(model, samples, metric)
    if name in WITHOUT_PROBA:
        assert math.isnan(row["log-loss"])
    else:
        assert row["CrossEntropy"] == of_river(model, samples, metrics.CrossEntropy())


def test_area_under_roc_curve_is_exact():
    rng, metric = random.Random(1), make_metrics(["rocauc"], Stream("", SAMPLES))["ROCAUC"]
    trues, others = ([rng.randrange(90) / 9999 for _ in range(n)] for n in (9, 500))
    for n, p in enumerate(trues + others):
        metric.update(n < 9, {False: 1 - p, True: p})
    wins = [(p > q) + (p == q) / 2 for p in trues for q in others]
    assert metric.get() == pytest.approx(np.mean(wins), abs=1e-12)


def test_metrics_of_regressors_are_those_of_river():
    average = dummy.StatisticRegressor(stats.Mean())
    models = {"average": average, "forest": AMFRegressor(3, seed=1)}
    samples = [(x, y + {40: 50.0, 90: -50.0}.get(i, 0.0)) for i, (x, y) in enumerate(NUMBERS)]
    table = compare(samples, models, ["mae", metrics.SMAPE]).table
    assert [*table][:7] == ["n_samples", "MAE", "RMSE", "R2", "coverage", "width", "SMAPE"]
    for name, model in models.items():
        for metric in (metrics.MAE(), metrics.RMSE(), metrics.R2(), metrics.SMAPE()):
            expected = pytest.approx(of_river(model, samples, metric))
            assert table.loc[name, type(metric).__name__] == expected
    forest, hits, widths = AMFRegressor(3, seed=1), [], []
    for x, y in samples:
        interval = forest.predict_interval_one(x)
        hits.append(interval.lower <= y <= interval.upper)
        widths.append(interval.upper - interval.lower)
        forest.learn_one(x, y)
    assert table["coverage"]["forest"] == pytest.approx(np.mean(hits[1:]))
    finite = [width for width in widths[1:] if np.isfinite(width)]
    assert table["width"]["forest"] == pytest.approx(np.mean(finite))
    assert table.loc["average", ["coverage", "width"]].isna().all()


TIMES = [dt.datetime(2024, 5, 18) + dt.timedelta(hours=i // 3 * 5) for i in range(40)]  # Saturday
TIMED = [({"day": time, **x}, y) for time, (x, y) in zip(TIMES, SAMPLES, strict=True)]
BAYES = compose.Discard("day") | naive_bayes.GaussianNB()


@pytest.mark.parametrize("hours", [0, 1, 5, 24, 50])
def test_labels_are_delayed_in_time_as_in_river(hours):
    delay = {"moment": "day", "delay": dt.timedelta(hours=hours)}
    table = compare(TIMED, {"m": BAYES}, **delay).table
    accuracy = evaluate.progressive_val_score(TIMED, BAYES.clone(), metrics.Accuracy(), **delay)
    assert table["accuracy"]["m"] == accuracy.get()
    same = compare(TIMED, {"m": BAYES}, moment="day", delay=f"{60 * hours}min").table
    assert same["accuracy"]["m"] == table["accuracy"]["m"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"batch": 15}, [0, 15, 15, 30, 30]),
        ({"batch": "1d"}, [0, 15, 15, 30, 30]),
        ({"batch": "1w"}, [0, 0, 0, 30, 30]),  # from Monday on
        ({"batch": 15, "delay": 20}, [0, 0, 0, 11, 11]),
        ({"batch": dt.timedelta(1), "delay": 20}, [0, 0, 0, 11, 11]),
        ({"batch": "1d", "delay": "25h"}, [0, 3, 3, 18, 18]),
    ],
)
def test_batch_is_predicted_before_it_is_learned(options, expected):
    schedule = schedule_of(evaluation.Stream("toy", TIMED), **options, moment="day")
    assert [schedule(n) for n in (14, 15, 29, 30, 40)] == expected


@pytest.mark.parametrize(
    ("last", "options", "message"),
    [
        ("2024-05-16", {"moment": "a"}, "row 4 of t.csv has 2024-05-16 00:.* in 'a': .* in order"),
        ("NA", {"moment": "a"}, "row 4 of t.csv has no date in 'a'"),
        ("2024-05-17", {}, r"moment must be one of the dates \['a', 'b'\] of t.csv, got None"),
        ("2024-05-17", {"moment": "y"}, r"one of the dates \['a', 'b'\] of t.csv, got 'y'"),
        ("2024-05-17", {"delay": "1y"}, "duration such as 1d, 12h, .* got '1y'"),
    ],
)
def test_bad_time_is_named(last, options, message, tmp_path):
    path, row = tmp_path / "t.csv", "2024-05-17,2024-05-17"
    path.write_text(f"a,b,y\n{row},0\n{row},\n{row},1\n{last},2024-05-17,1\n")
    with pytest.raises(EvaluationError, match=message):
        compare(path, "knn", target="y", **{"delay": "1d"} | options)
    with pytest.raises(EvaluationError, match="a feature with dates of list, got None"):
        compare(TIMED, BAYES, batch="1d")


class Early(dummy.PriorClassifier):
    """A classifier that predicts before it has learned."""

    def predict_proba_one(self, x, **kwargs):
        return super().predict_proba_one(x) or {True: 0.5}


@pytest.mark.parametrize("delay", [0, 1, 7, 39])
@pytest.mark.parametrize(
    ("samples", "model"),
    [
        (SAMPLES, Early()),
        (list(three_labels(40)), naive_bayes.GaussianNB()),
        (list(three_labels(40)), Certain()),
        (NUMBERS, dummy.StatisticRegressor(stats.Mean())),
        (NUMBERS, AMFRegressor(2, seed=1)),
    ],
)
def test_nothing_is_scored_before_the_first_label(samples, model, delay):
    is_number = isinstance(model, base.Regressor)
    result, model = evaluation.report(samples, {"m": model}, delay=delay), model.clone()
    n_first, scored, losses, seen = max(delay, 1), [], [], set()
    for n, (x, y) in enumerate(samples, start=1):
        prediction = model.predict_one(x)
        if n > n_first:
            scored.append(abs(prediction - y) if is_number else prediction == y)
        if n > n_first and not is_number and (y in (p := model.predict_proba_one(x)) or y in seen):
            losses.append(-math.log(min(max(p.get(y, 0.0), 1e-15), 1 - 1e-15)))
        if n >= n_first:
            model.learn_one(*samples[n - n_first])
            seen.add(samples[n - n_first][1])
    row = result.table.loc["m"]
    assert row["MAE" if is_number else "accuracy"] == pytest.approx(np.mean(scored), rel=1e-12)
    if is_number:
        assert result.latest["m"]["prediction"].isna().sum() == n_first
    else:
        assert row["log-loss"] == pytest.approx(np.mean(losses), rel=1e-12)
        assert result.confusion["m"].to_numpy().sum() == len(scored)


class Ending(AMFClassifier):
    predict_one = staticmethod(lambda x: True)

    def predict_proba_one(self, x):
        if self.n_samples > 5:
            raise NotImplementedError
        return super().predict_proba_one(x)


def test_probabilities_that_end_have_no_score():
    row = compare(SAMPLES, {"m": Ending()}).table.loc["m"]
    assert row["accuracy"] > 0.0 and math.isnan(row["log-loss"])


FRAME = pd.DataFrame([{**x, "y": y} for x, y in SAMPLES])[["y", "a", "b"]]
X, Y = FRAME[["a", "b"]], FRAME["y"].tolist()
DATASETS = {
    "stream": (evaluation.Stream("toy", SAMPLES), None),
    "list": (SAMPLES, None),
    "generator": (iter(SAMPLES), None),
    "frame": (FRAME[["a", "b", "y"]], None),
    "column": (FRAME, "y"),
    "polars": (pl.DataFrame(FRAME.to_dict("list")), "y"),
    "X, y": ((pl.DataFrame(X.to_dict("list")), Y), None),
    "X and target": (X, FRAME["y"]),
    "array": (X.to_numpy(), np.array(Y)),
}


@pytest.mark.parametrize(
    ("kind", "limit"), [*((kind, 25) for kind in DATASETS), ("column", None), ("list", 1000)]
)
def test_dataset_may_be_anything_with_samples(kind, limit):
    dataset, target = DATASETS[kind]
    table = compare(dataset, AMFClassifier(seed=1), target=target, limit=limit).table
    expected = of_river(AMFClassifier(seed=1), SAMPLES[:limit], metrics.Accuracy())
    assert table["accuracy"]["AMFClassifier"] == expected
    assert set(table["n_samples"]) == {min(limit or 1000, 40)}


def test_sparse_matrices_and_texts_are_datasets():
    forest = AMFClassifier(seed=1, absent="zero")
    words = (lambda text: dict.fromkeys(text.split(), 1)) | forest
    matrix = scipy.sparse.csr_array(X.to_numpy(dtype=float))
    for dataset, model in ((matrix, forest), (pd.Series(["win a prize", "see you"] * 20), words)):
        assert set(compare(dataset, {"m": model}, target=Y).table["status"]) == {"ok"}


def make_a_forest():
    return AMFClassifier(n_estimators=2, seed=1)


def test_models_are_cloned_and_named():
    model = AMFClassifier(seed=1)
    model.learn_one({"a": 1}, True)
    table = compare(SAMPLES, {"trained": model, 3: Failing(n_good=99)}).table
    assert table.index.tolist() == ["trained", "3", "last-class", "majority"]
    assert table["accuracy"]["trained"] == of_river(model, SAMPLES, metrics.Accuracy())
    assert model.predict_proba_one({"a": 1}) == {True: 1.0}
    partial, knn = functools.partial(AMFClassifier, seed=2), baselines.classifiers(1)["knn"]
    makers = [make_a_forest, partial, knn, Majority, Majority(), "AMF", "amf", "majority"]
    names = ["make_a_forest", "AMFClassifier", "knn", "Majority", "Majority 2"]
    table = compare(SAMPLES, makers, seed=3).table
    assert table.index.tolist() == [*names, "amf", "amf 2", "majority", "last-class"]
    amf = of_river(baselines.classifiers(seed=3)["amf"](), SAMPLES, metrics.Accuracy())
    assert table["accuracy"]["amf"] == table["accuracy"]["amf 2"] == amf


@pytest.mark.parametrize(
    ("samples", "n_usual", "every"),
    [(SAMPLES[:12], 9, baselines.classifiers(1)), (NUMBERS[:60], 8, baselines.regressors(1))],
)
def test_baselines_are_the_default(samples, n_usual, every):
    usual = compare(samples, seed=1).table.index.tolist()
    assert len(usual) == n_usual and usual[-3:] == ["arf", "amf", "adaptive"]
    table = compare(samples, every).table
    assert table.index.tolist() == list(every)
    assert set(table["status"]) == {"ok"}


FEW = [(x, round(y) % 7) for x, y in NUMBERS]  # as the number of rings of an abalone


@pytest.mark.parametrize(
    ("samples", "models", "options", "metric"),
    [
        (FEW, "knn", {}, "accuracy"),
        (FEW, "knn", {"task": "regression"}, "MAE"),
        (FEW, [AMFRegressor(2, seed=1)], {}, "MAE"),
        (FEW, [tree.HoeffdingTreeRegressor], {}, "MAE"),
        (datasets.TrumpApproval(), "knn", {"limit": 50}, "MAE"),
        (NUMBERS, [AMFClassifier(2, seed=1)], {}, "accuracy"),
    ],
)
def test_models_or_the_target_decide_the_task(samples, models, options, metric):
    assert metric in compare(samples, models, **options).table


RINGS = evaluation.Stream("s", NUMBERS, task="regression", target="y")


@pytest.mark.parametrize(
    ("dataset", "models", "options", "error", "message"),
    [
        (iter(()), "knn", {}, EvaluationError, "has no labeled samples; note that a gener"),
        ("Banana", "knn", {}, EvaluationError, "did you mean 'Bananas'"),
        (datasets.synth.SEA(), "knn", {}, EvaluationError, "SEA is endless; set a limit"),
        ([*SAMPLES[:2], "xy"], "knn", {}, EvaluationError, r"sample 3 must be a pair .*'xy'"),
        (5, "knn", {}, EvaluationError, "dataset must be a stream or its name, .* got 5"),
        (FRAME, "knn", {"target": "z"}, EvaluationError, "must have a target column"),
        (FRAME, "knn", {"target": [1, 2]}, EvaluationError, "X has 40 rows, but the target is not"),
        ("Bananas", "knn", {"target": "z"}, EvaluationError, "target can only be chosen for a fi"),
        (SAMPLES, [], {}, EvaluationError, "models is empty"),
        (SAMPLES, 3, {}, EvaluationError, "models must be a model, the name of one, or .* got 3"),
        (SAMPLES, {1: "knn", "1": "amf"}, {}, EvaluationError, "models must have different names"),
        (SAMPLES, "knn", {"metrics": [3]}, EvaluationError, "int must be a classification metric"),
        (SAMPLES, ["kn"], {}, EvaluationError, "unknown model 'kn' .did you mean 'knn'"),
        (SAMPLES, [linear_model.LinearRegression()], {}, EvaluationError, "a regressor, but the"),
        (FRAME.assign(y=0.5), Majority(), {"target": "y"}, EvaluationError, "as 'y' holds numb"),
        (RINGS, "logistic", {}, EvaluationError, "regression, as 'y' holds numbers such as 1"),
        (SAMPLES, "knn", {"metrics": ["MAE"]}, EvaluationError, "not a river classification"),
        (SAMPLES, "knn", {"metrics": "F1"}, EvaluationError, "metrics must be a list of metrics"),
        (SAMPLES, "knn", {"metrics": [metrics.ConfusionMatrix]}, EvaluationError, "Matrix must"),
        (three_labels(9), "knn", {"metrics": ["F1"]}, EvaluationError, "MacroF1 takes any"),
        (SAMPLES, "knn", {"task": "clustering"}, ValueError, "task must be 'classification' "),
        (SAMPLES, "knn", {"delay": -1}, ValueError, "delay must be an integer >= 0 or a .* got -1"),
        (SAMPLES, "knn", {"window": 0}, ValueError, "window must be "),
    ],
)
def test_bad_argument_is_reported_before_any_run(dataset, models, options, error, message):
    with pytest.raises(error, match=message):
        compare(dataset, models, **options)


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA])
@pytest.mark.parametrize("kind", ["pairs", "frame", "stream"])
def test_samples_without_a_label_are_skipped(kind, missing):
    gaps = [(x, missing if i % 5 == 0 else y) for i, (x, y) in enumerate(NUMBERS)]
    labeled = [pair for i, pair in enumerate(NUMBERS) if i % 5]
    dataset, target = gaps, None
    if kind == "frame":
        dataset, target = pd.DataFrame([{**x, "y": y} for x, y in gaps]), "y"
    elif kind == "stream":
        dataset = evaluation.Stream("gaps", gaps, task="regression")
    for compared in (compare, evaluation.report):
        result = compared(dataset, AMFRegressor(2, seed=1), target=target, limit=100)
        assert {*result.table["n_samples"]} == {80} and {*result.table["status"]} == {"ok"}
        expected = compare(labeled[:80], AMFRegressor(2, seed=1)).table["MAE"]
        assert result.table["MAE"][expected.index].equals(expected)
    assert result.facts["rows"] == "80, and 20 without a target skipped"
    assert compare(dataset, "mean", target=target).stream.n_unlabeled == 30


@pytest.mark.parametrize(
    ("error", "described"),
    [(ValueError("no\n  such value"), "ValueError: no such value"), (MemoryError(), "MemoryError")],
)
def test_failing_model_is_a_row_and_the_others_run_on(error, described):
    models = {"before": Majority(), "bad": lambda: Failing(error), "after": Majority}
    models |= {"none": lambda: 1 / 0, "other": lambda: AMFRegressor()}
    comparison = compare(SAMPLES, models, window=5)
    table, none = comparison.table, "cannot be created: "
    assert table["status"].tolist()[:3] == ["ok", f"sample 17: {described}", "ok"]
    assert table["status"]["none"] == none + "ZeroDivisionError: division by zero"
    expected = none + "TypeError: model must be a river classifier, got AMFRegressor"
    assert table["status"]["other"].startswith(expected)
    assert table["n_samples"].tolist() == [40, 16, 40, 0, 0, 40, 40]
    assert table.loc[["bad", "none"], "accuracy":"memory"].isna().all(axis=None)
    assert table.loc["before", :"kappa"].equals(table.loc["after", :"kappa"])
    assert comparison.curves.query("model == 'bad'")["n_samples"].tolist() == [5, 10, 15]


def test_ctrl_c_ends_a_comparison_with_its_results():
    models = {"done": Majority, "current": lambda: Failing(KeyboardInterrupt(), 6)}
    models["never"] = Majority
    comparison = compare(SAMPLES, models, window=2)
    table = comparison.table
    interrupted = "interrupted after 6 samples"
    assert table["status"].tolist() == ["ok", interrupted, *["not run"] * 3]
    assert table["n_samples"].tolist() == [40, 6, 0, 0, 0]
    expected = of_river(Failing(n_good=99), SAMPLES[:6], metrics.Accuracy())
    assert table["accuracy"]["current"] == expected
    assert table.loc["current", ["us_per_sample", "memory"]].notna().all()
    assert table.loc["never", "accuracy":"memory"].isna().all()
    assert set(comparison.curves["model"]) == {"done", "current"}


@pytest.mark.parametrize("n_good", [0, 5, 30])
def test_failing_stream_ends_the_comparison(n_good):
    error = OSError("disk gone")

    class Torn:
        def __len__(self):
            return 40

        def __iter__(self):
            yield from SAMPLES[:n_good]
            raise error

    stream = evaluation.Stream("torn", Torn())
    with pytest.raises(EvaluationError, match="the stream cannot be read: ") as raised:
        compare(stream, [Majority, dummy.PriorClassifier])
    assert raised.value.__cause__ is error


def test_table_is_printed_with_its_names():
    comparison = compare(load_stream("Phishing", limit=40), {"<bad>\x1b": lambda: 1 / 0}, ["F1"])
    titles, *lines = str(comparison).splitlines()
    assert titles.split()[-4:] == ["F1", "us/sample", "memory", "status"]
    assert re.search(r"<bad>\\x1b +0 +- .*cannot be created: ZeroDivisionError", lines[0])
    accuracy = comparison.table["accuracy"]["last-class"]
    assert lines[1].split()[:3] == ["last-class", "40", f"{accuracy:.4f}"]
    assert "&lt;bad&gt;" in comparison._repr_html_()


@given(st.integers(1, 10**9))
def test_intervals_are_round_and_about_ten(n_samples):
    interval = prequential.round_interval(n_samples)
    assert str(interval).rstrip("0") in {"1", "2", "5"}
    assert min(n_samples, 6) <= n_samples // interval <= 15


def test_one_prediction_and_learning_are_timed(monkeypatch):
    class Counted(naive_bayes.GaussianNB):
        def predict_one(self, x):  # from other probabilities, perhaps
            return True

    monkeypatch.setattr(prequential.time, "perf_counter", itertools.count().__next__)
    samples = (({"a": next(clock)}, True) for clock in [itertools.count()] * 3)
    assert [step.seconds for step in steps_of(Counted(), samples)] == [1 + 1] * 3


def test_attribute_error_of_a_model_is_raised():
    class Faulty(naive_bayes.GaussianNB):
        def predict_proba_one(self, x):
            return self.never_set

    with pytest.raises(EvaluationError, match="never_set"):
        list(steps_of(Faulty(), [({"a": 1.0}, True)]))
