"""Evaluation of models that predict numbers: comparisons, blocks, late targets, intervals."""

import itertools
import math
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import (
    compose,
    conf,
    dummy,
    evaluate,
    forest,
    linear_model,
    metrics,
    preprocessing,
    stats,
    tree,
)
from river.conf import Interval
from river.datasets import TrumpApproval
from river.utils import Rolling

from river_amf import (
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    PackedSample,
    baselines,
    evaluation,
)
from river_amf.evaluation import (
    EvaluationError,
    Stream,
    compare,
    depth_history,
    drift_history,
    iter_progressive_val_score,
    progressive_val_score,
)
from river_amf.evaluation.interval_metrics import Coverage, Width
from river_amf.evaluation.targets import task_of_values

COLUMNS = ["n_samples", "MAE", "RMSE", "R2", "coverage", "width", "us_per_sample", "memory"]


def samples(n=300, seed=1):
    rng = random.Random(seed)
    for _ in range(n):
        x = {"a": rng.random(), "b": rng.gauss(0.0, 1.0), "color": rng.choice(["red", "tan"])}
        yield x, 100.0 + 10.0 * x["a"] + (x["color"] == "red") + rng.gauss(0.0, 0.5)


SAMPLES = list(samples())
FRAME = pd.DataFrame([x for x, _ in SAMPLES])
TARGETS = [y for _, y in SAMPLES]

FORESTS = [
    pytest.param(lambda: AMFRegressor(3, seed=1), id="plain"),
    pytest.param(lambda: AdaptiveAMFRegressor(3, seed=1), id="adaptive"),
]


def of_river(model, metric, stream=SAMPLES):
    return evaluate.progressive_val_score(stream, model, metric).get()


# Comparisons


@pytest.mark.slow
def test_figures_are_those_of_river():
    models = {
        "mean": dummy.StatisticRegressor(stats.Mean()),
        "tree": baselines.regressors(1)["hoeffding"](),
        "forest": AMFRegressor(3, seed=1),
        "river": baselines.regressors(1)["river-amf"](),
    }
    table = compare(SAMPLES, models).table
    assert list(table.columns) == [*COLUMNS, "status"]
    assert set(table["status"]) == {"ok"}
    for name, model in models.items():
        for metric in (metrics.MAE(), metrics.RMSE(), metrics.R2()):
            expected = of_river(model.clone(), metric)
            assert table.loc[name, type(metric).__name__] == pytest.approx(expected, rel=1e-12)


def test_a_model_that_predicts_nothing_before_the_first_sample_is_not_scored_there():
    model = preprocessing.MinMaxScaler() | forest.AMFRegressor(2, seed=1)
    stream = [({"a": x["a"]}, y) for x, y in SAMPLES]
    table = compare(stream, {"river": model}).table
    assert table.loc["river", "MAE"] == of_river(model.clone(), metrics.MAE(), stream)


@pytest.mark.parametrize("make", FORESTS)
def test_coverage_and_width_are_those_of_the_intervals(make):
    comparison = compare(SAMPLES, {"ours": make(), "theirs": linear()}, window=100)
    model, hits, widths = make(), [], []
    for x, y in SAMPLES:
        interval = model.predict_interval_one(x)
        hits.append(interval.lower <= y <= interval.upper)
        widths.append(interval.upper - interval.lower)
        model.learn_one(x, y)
    row = comparison.table.loc["ours"]
    assert row["coverage"] == pytest.approx(np.mean(hits))
    assert row["width"] == pytest.approx(np.mean(widths))
    curve = comparison.curves[comparison.curves["model"] == "ours"]
    assert list(curve.columns) == ["model", "n_samples", *COLUMNS[1:6]]
    assert curve["coverage"].tolist() == pytest.approx(
        [np.mean(hits[start : start + 100]) for start in (0, 100, 200)]
    )
    assert comparison.table.loc["theirs", ["coverage", "width"]].isna().all()


def linear():
    return baselines.regressors(1)["linear"]()


def test_intervals_are_found_in_pipelines_and_in_river_s_jackknife():
    jackknife = conf.RegressionJackknife(linear(), confidence_level=0.9)
    models = {
        "pipeline": compose.Discard("color") | AMFRegressor(3, seed=1),
        "jackknife": jackknife,
    }
    table = compare(SAMPLES, models).table
    assert table["coverage"].between(0.8, 0.99).all()
    assert (table["width"] > 0.0).all()


def test_names_are_those_of_the_regressors():
    table = compare(SAMPLES, ["mean", "KNN"], ["MAPE"], seed=1).table
    assert table.index.tolist() == ["mean", "knn"]
    assert table.loc["knn", "MAE"] < table.loc["mean", "MAE"]
    assert "MAPE" in table.columns


@pytest.mark.slow
def test_all_regressors_are_the_default():
    table = compare(SAMPLES[:30], seed=1, task="regression").table
    assert table.index.tolist() == list(baselines.regressors())
    assert set(table["status"]) == {"ok"}


def test_figures_of_any_size_are_shown():
    large = [(x, 1e9 * y) for x, y in SAMPLES[:50]]
    small = [(x, 1e-9 * y) for x, y in SAMPLES[:50]]
    for stream, exponent in ((large, "e+1"), (small, "e-0")):
        assert exponent in str(compare(stream, ["mean"]))


# The task


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 1.0], "regression"),
        ([*range(201)], "regression"),
        ([*range(200)], "classification"),
        ([1.0, 2.0], "classification"),
        ([True, False], "classification"),
        (["0.5", "0.25"], "classification"),
        ([0.5, "x"], "classification"),
        ([np.float64(0.5)], "regression"),
        ([("a", 1)], "classification"),
        ([], "classification"),
    ],
)
def test_the_task_that_values_suggest(values, expected):
    assert task_of_values(values) == expected


@pytest.mark.slow
def test_models_tell_the_task_or_else_the_target_does():
    few = [(x, round(y) % 7) for x, y in SAMPLES]  # as the number of rings of an abalone
    assert "accuracy" in compare(few, ["knn"]).table
    assert "MAE" in compare(few, ["knn"], task="regression").table
    assert "MAE" in compare(few, [AMFRegressor(2, seed=1)]).table
    assert "MAE" in compare(few, [tree.HoeffdingTreeRegressor]).table
    assert "MAE" in compare(TrumpApproval(), ["knn"], limit=50).table
    assert "accuracy" in compare(SAMPLES, ["majority"], task="classification").table
    assert "accuracy" in compare(SAMPLES, [AMFClassifier(2, seed=1)]).table
    as_frame = FRAME.assign(target=TARGETS)
    assert "MAE" in compare(as_frame, ["mean"]).table
    assert "MAE" in compare(as_frame, [AMFRegressor(2, seed=1)]).table


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: compare(SAMPLES, ["logistic"]),
            "'logistic' is a classifier, but the task is regression, which needs a regressor",
        ),
        (
            lambda: compare("Bananas", ["srp"]),
            "'srp' is a regressor, but the task is classification, which needs a classifier",
        ),
        (
            lambda: compare(SAMPLES, [AMFClassifier()], task="regression"),
            "'AMFClassifier' is a classifier, but the task is regression",
        ),
        (
            lambda: compare(SAMPLES, [AMFRegressor(), AMFClassifier()]),
            "'AMFClassifier' is a classifier, but the task is regression",
        ),
        (
            lambda: compare("Bananas", [AMFRegressor()]),
            "a stream for classification, not for regression",
        ),
        (
            lambda: compare([({}, "x")], [AMFRegressor()]),
            "holds labels such as 'x', and the models are regressors",
        ),
        (lambda: compare(SAMPLES, ["mean"], ["MacroF1"]), "'MacroF1' is not a river regression"),
        (lambda: compare("Bananas", ["amf"], ["MAE"]), "but one for regression"),
        (lambda: compare(SAMPLES, ["mean"], positive="x"), "has no labels, as the task is regr"),
        (lambda: compare(SAMPLES, ["mean"], task="clustering"), "task must be 'classification', "),
        (
            lambda: compare(SAMPLES, ["mean"], [metrics.Accuracy()]),
            "Accuracy must be a regression metric",
        ),
        (
            lambda: compare(Stream("s", 300, 3, 0, SAMPLES, 0, "regression", "y"), ["logistic"]),
            "the task is regression, as 'y' holds numbers such as 1",
        ),
    ],
)
def test_what_does_not_fit_the_task_is_told(call, message):
    with pytest.raises((EvaluationError, TypeError, ValueError), match=message):
        call()


# Blocks


@pytest.mark.parametrize("make", FORESTS)
@pytest.mark.parametrize(
    "options",
    [{}, {"delay": 20}, {"moment": None, "delay": lambda x, y: 5 if x["a"] < 0.5 else 60}],
    ids=["at once", "late", "as it comes"],
)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_blocks_are_river_s_loop_to_the_bit(make, options, library):
    frame = library(FRAME.to_dict("list"))
    weights = [1.0 + i % 3 for i in range(len(TARGETS))]
    triples = [(x, y, {"w": w}) for (x, y), w in zip(SAMPLES, weights, strict=True)]
    expected, model = make(), make()
    ours = progressive_val_score((frame, TARGETS, weights), model, metrics.RMSE(), **options)
    theirs = evaluate.progressive_val_score(triples, expected, metrics.RMSE(), **options)
    assert ours.get() == theirs.get()
    assert [model.predict_one(x) for x, _ in SAMPLES] == [
        expected.predict_one(x) for x, _ in SAMPLES
    ]


def test_states_along_the_way_are_those_of_river():
    options = {"step": 64, "yield_predictions": True}
    ours = iter_progressive_val_score(
        (FRAME, TARGETS), AMFRegressor(3, seed=1), metrics.MAE() + metrics.R2(), **options
    )
    theirs = evaluate.iter_progressive_val_score(
        SAMPLES, AMFRegressor(3, seed=1), metrics.MAE() + metrics.R2(), **options
    )
    for one, other in itertools.zip_longest(ours, theirs):
        assert one["Step"] == other["Step"]
        assert one["Prediction"] == other["Prediction"]
        assert one["MAE"].get() == other["MAE"].get()


def test_a_subclass_of_its_own_mind_is_run_row_by_row():
    class Negative(AMFRegressor):
        def predict_one(self, x, with_interval=False, **kwargs):
            return -super().predict_one(x)

    score = progressive_val_score((FRAME, TARGETS), Negative(3, seed=1), metrics.MAE())
    assert score.get() > 100.0


def test_a_frame_with_a_column_of_numbers_is_for_regressors():
    frame = FRAME.assign(target=TARGETS)
    expected = of_river(AMFRegressor(3, seed=1), metrics.MAE())
    assert progressive_val_score(frame, AMFRegressor(3, seed=1), metrics.MAE()).get() == expected
    with pytest.raises(ValueError, match=r"is 'target' the target\?.* or take a regressor"):
        progressive_val_score(frame, AMFClassifier(3, seed=1), metrics.Accuracy())


def test_a_bad_target_is_told_by_its_row_and_nothing_of_its_block_is_learnt():
    model = AMFRegressor(3, seed=1)
    with pytest.raises(ValueError, match=r"row 280: .*nan"):
        progressive_val_score(
            (FRAME, [*TARGETS[:280], math.nan, *TARGETS[281:]]), model, metrics.MAE()
        )
    assert model.predict_one(SAMPLES[0][0]) == 0.0


# Histories


def test_a_history_of_drift_has_the_error():
    history = drift_history(SAMPLES, AdaptiveAMFRegressor(3, seed=1), every=100)
    assert history.curve.columns.tolist() == ["MAE", "fading_share"]
    comparison = compare(SAMPLES, [AdaptiveAMFRegressor(3, seed=1)], window=100)
    assert history.curve["MAE"].tolist() == comparison.curves["MAE"].tolist()


def test_a_history_of_depth_has_a_column_for_each_tree():
    history = depth_history(SAMPLES, AMFRegressor(3, seed=1), every=100)
    assert history.shape == (3, 3)
    assert (history.loc[300] > 0.0).all()


# Metrics of intervals


def test_metrics_of_intervals_may_roll_and_be_added():
    pairs = [(1.0, Interval(0.0, 2.0)), (3.0, Interval(0.0, 2.0)), (5.0, Interval(4.0, 5.0))]
    coverage, width, rolling = Coverage(), Width(), Rolling(Coverage, 2)
    for y, interval in pairs:
        for metric in (coverage, width, rolling):
            metric.update(y, interval)
    assert coverage.get() == pytest.approx(2 / 3)
    assert width.get() == pytest.approx(5 / 3)
    assert rolling.get() == pytest.approx(0.5)
    assert coverage.bigger_is_better
    assert not width.bigger_is_better
    table = compare(SAMPLES, [AMFRegressor(3, seed=1)], [Rolling(Coverage, 50)]).table
    assert 0.5 < table["Rolling"].item() <= 1.0


def test_a_linear_model_without_intervals_has_none():
    table = compare(
        [({"a": x["a"]}, y) for x, y in SAMPLES], [linear_model.LinearRegression()]
    ).table
    assert math.isnan(table["width"].item())


def test_a_time_limit_holds_for_regressors():
    table = compare(SAMPLES, ["knn", "amf"], time_limit=60.0).table
    assert set(table["status"]) == {"ok"}


def test_the_first_thousand_targets_of_a_stream_of_pairs_tell():
    late = [({"a": 1.0}, 1)] * 1000 + [({"a": 1.0}, 0.5)] * 10
    assert "accuracy" in compare(late, ["amf"]).table
    assert evaluation.load_stream("TrumpApproval").task == "regression"


# Targets that come late


@pytest.mark.parametrize("make", FORESTS)
def test_packed_samples_wait_for_numbers_too(make):
    model, twin, waiting = make(), make(), []
    for x, y in SAMPLES[:100]:
        assert model.predict_one(PackedSample(x)) == twin.predict_one(x)
        waiting.append((PackedSample(x), x, y))
        if len(waiting) > 10:
            packed, plain, late = waiting.pop(0)
            model.learn_one(packed, late)
            twin.learn_one(plain, late)
    assert model.predict_interval_one(x) == twin.predict_interval_one(x)
