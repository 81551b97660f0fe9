import math

import numpy as np
import pandas as pd
import pytest
from river import compose, conf, forest, linear_model, naive_bayes, preprocessing

from river_amf import AdaptiveAMFRegressor, AMFRegressor
from river_amf.evaluation import STREAMS, EvaluationError, interval_history

SAMPLES = list(STREAMS["friedman"].take(300))


def scaled(model):
    return preprocessing.StandardScaler() | model


def jackknife(level=0.9):
    return conf.RegressionJackknife(scaled(linear_model.LinearRegression()), level)


@pytest.mark.parametrize(
    "model",
    [
        jackknife(),
        scaled(conf.RegressionJackknife(linear_model.LinearRegression())),
        AMFRegressor(n_estimators=3, seed=1),
        AdaptiveAMFRegressor(n_estimators=3, seed=1),
        scaled(AMFRegressor(n_estimators=3, seed=1)),
    ],
    ids=["jackknife", "scaled jackknife", "forest", "adaptive forest", "scaled forest"],
)
def test_a_row_is_what_the_model_reports_before_it_learns_the_sample(model):
    by_hand = model.clone()
    rows = []
    for x, y in SAMPLES:
        prediction = by_hand.predict_one(x)
        interval = by_hand.predict_one(x, with_interval=True)
        rows.append((y, prediction, interval.lower, interval.upper))
        by_hand.learn_one(x, y)
    history = interval_history(SAMPLES, model)
    assert list(history.columns) == ["target", "prediction", "lower", "upper"]
    assert (history.index.name, list(history.index)) == ("sample", list(range(1, 301)))
    assert (history.dtypes == "float64").all()
    np.testing.assert_array_equal(history, rows)
    x = SAMPLES[0][0]
    assert model.predict_one(x) == by_hand.predict_one(x)  # it has learned the stream


@pytest.mark.parametrize("wrap", [lambda model: model, scaled], ids=["alone", "pipeline"])
def test_forests_give_intervals_of_any_level(wrap):
    histories = {
        level: interval_history(SAMPLES, wrap(AMFRegressor(n_estimators=3, seed=1)), level)
        for level in (None, 0.5, 0.9)
    }
    pd.testing.assert_frame_equal(histories[None], histories[0.9])
    wide, narrow = ((h["upper"] - h["lower"]).iloc[100:] for h in (histories[0.9], histories[0.5]))
    assert (narrow < wide).all()
    assert histories[0.5]["prediction"].equals(histories[0.9]["prediction"])


@pytest.mark.parametrize(
    "model",
    [
        linear_model.LinearRegression(),
        scaled(linear_model.LinearRegression()),
        forest.ARFRegressor(),
        naive_bayes.GaussianNB(),
        compose.Pipeline(),
    ],
)
def test_a_model_without_intervals_is_an_error(model):
    with pytest.raises(TypeError, match="model must give intervals, as a forest for regression or"):
        interval_history(SAMPLES, model)


def test_only_forests_can_be_asked_for_a_level():
    with pytest.raises(TypeError, match="level must be None for RegressionJackknife, which has a"):
        interval_history(SAMPLES, scaled(jackknife()), 0.8)
    for level in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="level must be"):
            interval_history(SAMPLES, AMFRegressor(), level)


def test_an_error_of_the_model_names_the_sample():
    samples = [*SAMPLES[:2], (SAMPLES[0][0], math.nan)]
    with pytest.raises(EvaluationError, match="sample 3: "):
        interval_history(samples, AMFRegressor(n_estimators=2))
    with pytest.raises(EvaluationError, match="sample 1 must be a pair"):
        interval_history([5], AMFRegressor())
