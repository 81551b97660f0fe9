"""The forests for numbers inside river's wrappers, ensembles, selections and pipelines."""

import math
import random

import pytest
from regressors import kinds
from river import (
    compose,
    ensemble,
    metrics,
    preprocessing,
)
from river.conf import Interval

from river_amf import AMFRegressor


def small(kind=AMFRegressor, **parameters):
    return kind(n_estimators=3, **{"seed": 1} | parameters)


def stream(n_samples, seed=1):
    """A slope, steps, a category, noise, and an uninformative number; targets are positive."""
    rng = random.Random(seed)
    for _ in range(n_samples):
        x = {"a": rng.random(), "b": rng.randrange(4), "noise": rng.random()}
        x["color"] = rng.choice(["red", "green"])
        y = 20.0 + 5.0 * x["a"] + 3.0 * x["b"] + 2.0 * (x["color"] == "red")
        yield x, y + rng.gauss(0.0, 0.3)


SAMPLES = [*stream(800)]


def answers(model, samples):
    """Predict, then learn; return the answers."""
    given = []
    for x, y in samples:
        given.append(model.predict_one(x))
        model.learn_one(x, y)
    return given


def r2(model, samples=SAMPLES, last=400):
    """Predict, then learn; return the R^2 of the last answers."""
    metric = metrics.R2()
    pairs = [*zip(answers(model, samples), samples, strict=True)]
    for answer, (_, y) in pairs[-last:]:
        assert isinstance(answer, float) and math.isfinite(answer)
        metric.update(y, answer)
    return metric.get()


# Targets


@kinds
@pytest.mark.parametrize(
    "wrap",
    [
        preprocessing.TargetStandardScaler,
        preprocessing.TargetMinMaxScaler,
        lambda model: compose.TargetTransformRegressor(model, math.log1p, math.expm1),
    ],
    ids=["standard", "min and max", "logarithm"],
)
def test_a_transformed_target_is_learned(kind, wrap):
    model = wrap(small(kind))
    first = answers(model, SAMPLES)
    assert r2(wrap(small(kind))) > 0.5
    assert answers(model.clone(), SAMPLES) == first


# Ensembles


@kinds
@pytest.mark.parametrize("wrapper", [ensemble.BaggingRegressor, ensemble.SRPRegressor])
def test_ensembles_learn_and_their_members_differ(kind, wrapper):
    numbers = [(x | {"color": float(x["color"] == "red")}, y) for x, y in SAMPLES]
    model = wrapper(small(kind), n_models=3, seed=1)
    assert r2(model, numbers) > 0.4
    members = [member.predict_one(numbers[0][0]) for member in model]
    assert len({*members}) == 3
    again = wrapper(small(kind), n_models=3, seed=1)
    assert answers(model.clone(), numbers[:100]) == answers(again, numbers[:100])


# Intervals


@kinds
def test_a_pipeline_hands_intervals_through(kind):
    model = preprocessing.StandardScaler() | small(kind)
    numbers = [({"a": x["a"], "b": x["b"]}, y) for x, y in SAMPLES]
    inside = 0
    for x, y in numbers:
        interval = model.predict_one(x, with_interval=True)
        assert type(interval) is Interval
        inside += y in interval
        model.learn_one(x, y)
    assert 0.86 < inside / len(numbers) < 0.94
    scaled = model["StandardScaler"].transform_one(x)
    expected = model[kind.__name__].predict_interval_one(scaled, 0.8)
    assert model.predict_one(x, with_interval=True, level=0.8) == expected
    assert expected.width < interval.width
    with pytest.raises(ValueError, match="level must be a number strictly between 0 and 1"):
        model.predict_one(x, with_interval=True, level=90)


@kinds
def test_keywords_that_no_regressor_has_are_refused_and_left_out_by_pipelines(kind):
    model = small(kind)
    model.learn_one({"a": 1.0}, 2.0)
    for call, name in [
        (lambda: model.predict_one({"a": 1.0}, with_intervall=True), "with_intervall"),
        (lambda: model.predict_one({"a": 1.0}, with_interval=True, levels=0.5), "levels"),
        (lambda: model.learn_one({"a": 1.0}, 2.0, weight=2.0), "weight"),
    ]:
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            call()
    pipeline = preprocessing.StandardScaler() | model
    assert pipeline.predict_one({"a": 1.0}, t=3) == 2.0
