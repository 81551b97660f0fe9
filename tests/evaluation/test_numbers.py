"""Evaluation of models that predict numbers: comparisons, blocks, late targets, intervals."""

import math
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import (
    conf,
    dummy,
    evaluate,
    metrics,
    stats,
    tree,
)
from river.conf import Interval
from river.datasets import TrumpApproval
from river.utils import Rolling
from river_amf.evaluation.column_types import task_of_values

from river_amf import (
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    baselines,
)
from river_amf.evaluation import (
    NMPIW,
    Coverage,
    EvaluationError,
    IntervalScore,
    Stream,
    Width,
    compare,
    progressive_val_score,
)

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


def test_figures_are_those_of_river():
    models = {
        "mean": dummy.StatisticRegressor(stats.Mean()),
        "tree": baselines.regressors(1)["hoeffding"](),
        "forest": AMFRegressor(3, seed=1),
        "river": baselines.regressors(1)["amf-of-river"](),
    }
    table = compare(SAMPLES[:150], models).table
    assert list(table.columns) == [*COLUMNS, "status"]
    assert set(table["status"]) == {"ok"}
    for name, model in models.items():
        for metric in (metrics.MAE(), metrics.RMSE(), metrics.R2()):
            expected = of_river(model.clone(), metric, SAMPLES[:150])
            assert table.loc[name, type(metric).__name__] == pytest.approx(expected, rel=1e-12)


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
    assert row["width"] == pytest.approx(np.mean([w for w in widths if np.isfinite(w)]))
    curve = comparison.curves[comparison.curves["model"] == "ours"]
    assert list(curve.columns) == ["model", "n_samples", *COLUMNS[1:6]]
    assert curve["coverage"].tolist() == pytest.approx(
        [np.mean(hits[start : start + 100]) for start in (0, 100, 200)]
    )
    assert comparison.table.loc["theirs", ["coverage", "width"]].isna().all()


def linear():
    return baselines.regressors(1)["linear"]()


def test_all_regressors_are_the_default():
    usual = compare(SAMPLES[:30], seed=1, task="regression").table
    assert usual.index.tolist() == [
        *("last-value", "mean", "linear", "knn", "hoeffding", "arf", "amf", "adaptive")
    ]
    table = compare(SAMPLES[:30], "all", seed=1, task="regression").table
    assert table.index.tolist() == list(baselines.regressors())
    assert set(table["status"]) == {"ok"}


# The task


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 1.0], "regression"),
        ([*range(51)], "regression"),
        ([*range(50)], "classification"),
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


def test_the_models_decide_the_task_or_else_the_target():
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


FOR_RINGS = Stream("s", 300, 3, 0, SAMPLES, 0, "regression", "y")


@pytest.mark.parametrize(
    ("dataset", "models", "options", "message"),
    [
        (
            SAMPLES,
            ["logistic"],
            {},
            "'logistic' is a classifier, but the task is regression, which",
        ),
        (
            "Bananas",
            ["srp"],
            {},
            "'srp' is a regressor, but the task is classif",
        ),
        (
            SAMPLES,
            [AMFClassifier()],
            {"task": "regression"},
            "'AMFClassifier' is a classifier, but",
        ),
        (
            SAMPLES,
            [AMFRegressor(), AMFClassifier()],
            {},
            "'AMFClassifier' is a classifier, but the",
        ),
        ("Bananas", [AMFRegressor()], {}, "a stream for classification, not for regression"),
        ([({}, "x")], [AMFRegressor()], {}, "labels such as 'x', and the models are regressors"),
        (SAMPLES, ["mean"], {"metrics": ["MacroF1"]}, "'MacroF1' is not a river regression"),
        ("Bananas", ["amf"], {"metrics": ["MAE"]}, "but one for regression"),
        (SAMPLES, ["mean"], {"positive": "x"}, "none of the metrics needs one"),
        (SAMPLES, ["mean"], {"task": "clustering"}, "task must be 'classification', "),
        (SAMPLES, ["mean"], {"metrics": [metrics.Accuracy()]}, "Accuracy must be a regress"),
        (FOR_RINGS, ["logistic"], {}, "the task is regression, as 'y' holds numbers such as 1"),
    ],
)
def test_what_does_not_fit_the_task_is_reported(dataset, models, options, message):
    with pytest.raises((EvaluationError, TypeError, ValueError), match=message):
        compare(dataset, models, **options)


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


def test_a_bad_target_is_reported_by_its_row_and_nothing_of_its_block_is_learnt():
    model = AMFRegressor(3, seed=1)
    with pytest.raises(ValueError, match=r"row 280: .*nan"):
        progressive_val_score(
            (FRAME, [*TARGETS[:280], math.nan, *TARGETS[281:]]), model, metrics.MAE()
        )
    assert model.predict_one(SAMPLES[0][0]) == 0.0


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


def naive_interval_score(y, interval, level):
    score = interval.upper - interval.lower
    if y < interval.lower:
        score += 2 / (1 - level) * (interval.lower - y)
    if y > interval.upper:
        score += 2 / (1 - level) * (y - interval.upper)
    return score


def naive_scores(model, level):
    """Return the interval score and NMPIW of a model, row by row."""
    scores, widths = [], []
    for x, y in SAMPLES:
        interval = model.predict_one(x, with_interval=True)
        if math.isfinite(interval.width):
            scores.append(naive_interval_score(y, interval, level))
            widths.append(interval.width)
        model.learn_one(x, y)
    return np.mean(scores), np.mean(widths) / (max(TARGETS) - min(TARGETS))


def jackknife():
    return conf.RegressionJackknife(linear(), confidence_level=0.8)


@pytest.mark.parametrize(
    ("make", "level"), [*((*make.values, 0.9) for make in FORESTS), (jackknife, 0.8)]
)
def test_scores_of_intervals_are_the_naive_ones(make, level):
    score, nmpiw = naive_scores(make(), level)
    table = compare(SAMPLES, {"it": make()}, [IntervalScore(level), "nmpiw"]).table
    assert table.loc["it", "IntervalScore"] == pytest.approx(score, rel=1e-12)
    assert table.loc["it", "NMPIW"] == pytest.approx(nmpiw, rel=1e-12)
    both = IntervalScore(level) + NMPIW()
    assert progressive_val_score(SAMPLES, make(), both).get() == pytest.approx(
        [score, nmpiw], rel=1e-12
    )


@pytest.mark.parametrize("make", FORESTS)
def test_intervals_of_blocks_are_those_of_rows(make):
    metrics_of = [IntervalScore, NMPIW, Coverage, Width, lambda: Rolling(NMPIW, 50)]
    for metric in metrics_of:
        rows, blocks = make(), make()
        expected = progressive_val_score(SAMPLES, rows, metric()).get()
        assert progressive_val_score((FRAME, TARGETS), blocks, metric()).get() == expected
        assert blocks.predict_one(SAMPLES[0][0]) == rows.predict_one(SAMPLES[0][0])


def test_metrics_of_intervals_need_intervals():
    model = linear()
    with pytest.raises(TypeError, match=r"model must give intervals, .*got Pipeline"):
        progressive_val_score(SAMPLES, model, NMPIW())
    forest = AMFRegressor(3, seed=1)
    for metric in (metrics.MAE() + Coverage(), Coverage() + metrics.MAE()):
        with pytest.raises(TypeError, match="metrics of intervals cannot be added to others"):
            progressive_val_score((FRAME, TARGETS), forest, metric)
    assert forest.predict_one(SAMPLES[0][0]) == 0.0
    for level in (0, 1, math.nan, "0.9"):
        with pytest.raises((TypeError, ValueError), match="level must be"):
            IntervalScore(level)
