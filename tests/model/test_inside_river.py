"""Our forests inside river's ensembles, selections, pipelines and transformed targets."""

import math
import random

import pytest
from forests import forests, walk
from forests import fresh as small
from river import bandit, compose, ensemble, metrics, model_selection, preprocessing
from river.conf import Interval

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

REGRESSORS = [AMFRegressor, AdaptiveAMFRegressor]
regressors = pytest.mark.parametrize("kind", REGRESSORS)


def stream(n_samples, kind=AMFClassifier):
    """Two informative numbers, a category, an uninformative number, and occasional gaps."""
    rng = random.Random(1)
    for _ in range(n_samples):
        x = {"a": rng.random(), "b": rng.random(), "noise": rng.random()}
        y = x["a"] > x["b"]
        if rng.random() < 0.1:
            del x["noise"]  # not None, which river's trees cannot handle
        x["color"] = rng.choice(["red", "green"])
        if issubclass(kind, AMFRegressor):
            y = 20.0 + 5.0 * x["a"] + 8.0 * x["b"] + 2.0 * (x["color"] == "red")
            y += rng.gauss(0.0, 0.3)
        yield x, y


def score(model, samples, last=500):
    """Predict, then learn; return the accuracy or the R^2 of the last predictions."""
    samples = list(samples)
    predictions, targets = walk(model, samples)[-last:], [y for _, y in samples][-last:]
    metric = metrics.Accuracy() if isinstance(targets[0], bool) else metrics.R2()
    for pair in zip(targets, predictions, strict=True):
        metric.update(*pair)
    return metric.get()


@pytest.mark.parametrize(
    ("kind", "wrapper"),
    [
        (AMFClassifier, ensemble.BaggingClassifier),
        (AMFClassifier, ensemble.ADWINBaggingClassifier),
        (AMFClassifier, ensemble.LeveragingBaggingClassifier),
        (AMFClassifier, ensemble.AdaBoostClassifier),
        (AMFClassifier, ensemble.ADWINBoostingClassifier),
        (AMFClassifier, ensemble.BOLEClassifier),
        (AdaptiveAMFClassifier, ensemble.BaggingClassifier),
        (AMFRegressor, ensemble.BaggingRegressor),
        (AMFRegressor, ensemble.SRPRegressor),
        (AdaptiveAMFRegressor, ensemble.BaggingRegressor),
    ],
)
def test_ensemble_learns_and_its_members_differ(kind, wrapper):
    samples = [(x | {"color": float(x["color"] == "red")}, y) for x, y in stream(1000, kind)]
    model = wrapper(small(kind), n_models=3, seed=1)
    assert score(model, samples) > (0.4 if kind in REGRESSORS else 0.85)
    predict = getattr(kind, "predict_proba_one", kind.predict_one)
    predictions = {str(predict(getattr(m, "model", m), samples[0][0])) for m in model}
    assert len(predictions) == 3
    again = wrapper(small(kind), n_models=3, seed=1)
    assert walk(model.clone(), samples[:100]) == walk(again, samples[:100])


@pytest.mark.parametrize(
    "select",
    [
        lambda models: model_selection.SuccessiveHalvingClassifier(
            models, metrics.CrossEntropy(), budget=2000
        ),
        lambda models: model_selection.BanditClassifier(
            models, metrics.Accuracy(), bandit.EpsilonGreedy(epsilon=0.1, burn_in=100, seed=1)
        ),
    ],
    ids=["halving", "bandit"],
)
def test_selection_finds_better_forest(select):
    models = [*(small(max_nodes=1, seed=seed) for seed in (2, 3)), small()]
    model = select(models)
    assert score(model, stream(1500)) > 0.85
    assert model.best_model is models[2]


@forests
def test_unknown_keywords_are_refused(kind):
    model, x = small(kind), {"a": 1.0}
    model.learn_one(x, 2.0)
    calls = [(model.learn_one, {"y": 2.0, "weight": 2.0})]
    if kind in REGRESSORS:
        calls.append((model.predict_one, {"with_interval": True, "levels": 0.5}))
    for call, arguments in calls:
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{[*arguments][-1]}'"):
            call(x, **arguments)
    # in predictions wrappers and pipelines may pass any
    assert (preprocessing.StandardScaler() | model).predict_one(x, t=3) == 2.0
    assert model.predict_one(x, t=3) == 2.0
    if kind not in REGRESSORS:
        assert ensemble.BaggingClassifier(model, 2).predict_proba_one(x, t=3) == {}
        assert model.predict_proba_one(x, t=3) == {2.0: 1.0}


@regressors
@pytest.mark.parametrize(
    "wrap",
    [
        preprocessing.TargetStandardScaler,
        preprocessing.TargetMinMaxScaler,
        lambda model: compose.TargetTransformRegressor(model, math.log1p, math.expm1),
    ],
    ids=["standard", "min and max", "logarithm"],
)
def test_transformed_target_is_learned(kind, wrap):
    model, samples = wrap(small(kind)), [*stream(800, kind)]
    assert score(model, samples) > 0.5
    assert walk(model.clone(), samples) == walk(wrap(small(kind)), samples)


@regressors
def test_pipeline_predicts_intervals(kind):
    model, n_inside = preprocessing.StandardScaler() | small(kind), 0
    for x, y in stream(800, kind):
        x = {"a": x["a"], "b": x["b"]}
        interval = model.predict_one(x, with_interval=True)
        assert type(interval) is Interval
        n_inside += y in interval
        model.learn_one(x, y)
    assert 0.86 < n_inside / 800 < 0.94
    scaled = model["StandardScaler"].transform_one(x)
    expected = model[kind.__name__].predict_interval_one(scaled, 0.8)
    assert model.predict_one(x, with_interval=True, level=0.8) == expected
    assert expected.width < interval.width
    with pytest.raises(ValueError, match="level must be a number strictly between 0 and 1"):
        model.predict_one(x, with_interval=True, level=90)
