"""Parameters of the forests for numbers: what they accept, and that each one matters."""

import inspect
import math
import pickle
import random

import pytest
from regressors import kinds, learn
from test_parameters import (
    NOT_CHOICES,
    OF_THE_FOREST,
    message_of,
)

from river_amf import AdaptiveAMFRegressor, AMFRegressor

OF_CLASSIFIERS = ["n_classes", "dirichlet", "split_pure", "absent", "max_columns"]
OF_CLASSIFIERS += ["max_vocabulary", "linear"]
TABLE = {name: row for name, row in OF_THE_FOREST.items() if name not in OF_CLASSIFIERS} | {
    "trend": ([None, "ridge"], [*NOT_CHOICES, "Ridge", "none"], "None or 'ridge'"),
    "recent": ([None, "errors", "target"], [*NOT_CHOICES, "last"], "None or 'errors' or 'target'"),
}
each = pytest.mark.parametrize("name", TABLE)


def stream(n_samples, seed=3):
    rng = random.Random(seed)
    samples = []
    for _ in range(n_samples):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "c": rng.choice("pqrstu")}
        samples.append((x, 3.0 * x["a"] + (x["c"] < "r") + rng.gauss(0, 0.2), 1.0))
    return samples


SAMPLES = stream(250)
QUESTIONS = [x for x, _, _ in stream(20, seed=4)]


def answers(model):
    return [model.predict_one(x) for x in QUESTIONS]


def trained(kind=AMFRegressor, **parameters):
    return learn(kind(**({"n_estimators": 3, "seed": 42} | parameters)), SAMPLES)


def test_the_table_here_knows_every_parameter():
    for kind in (AMFRegressor, AdaptiveAMFRegressor):
        assert {*inspect.signature(kind).parameters} == {*TABLE}


def test_the_first_parameters_are_those_of_river_in_its_order():
    for kind in (AMFRegressor, AdaptiveAMFRegressor):
        parameters = inspect.signature(kind).parameters.values()
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert positional == ["n_estimators", "step", "use_aggregation", "max_nodes", "seed"]


def test_the_defaults_are_the_documented_ones():
    plain = {
        "n_estimators": 10,
        "step": 1.0,
        "use_aggregation": True,
        "max_nodes": None,
        "seed": None,
        "split_prior": 0.5,
        "max_categories": None,
        "split_intensity": "range",
        "fading_factor": None,
        "restart_threshold": None,
        "vote": "learned",
        "trend": None,
        "recent": None,
        "max_pending": 10_000,
        "on_mismatch": "raise",
        "n_jobs": 1,
    }
    assert AMFRegressor()._get_params() == plain
    assert AdaptiveAMFRegressor()._get_params() == plain | {
        "split_prior": 0.7,
        "max_nodes": 5000,
        "max_categories": 5000,
        "split_intensity": "relevance",
        "fading_factor": 0.5,
        "restart_threshold": 3.0,
        "trend": "ridge",
        "recent": "errors",
    }


def test_the_adaptive_forest_is_the_forest_with_other_parameters():
    adaptive = trained(AdaptiveAMFRegressor)
    plain = learn(AMFRegressor(**adaptive._get_params()), SAMPLES)
    assert answers(adaptive) == answers(plain)
    back = AdaptiveAMFRegressor(**trained()._get_params())
    assert answers(learn(back, SAMPLES)) == answers(trained())


@each
def test_a_good_value_is_kept_as_it_is_and_leads_to_finite_predictions(name):
    for value in TABLE[name][0]:
        model = learn(AMFRegressor(**({"n_estimators": 3} | {name: value})), SAMPLES[:40])
        assert getattr(model, name) is value
        assert all(math.isfinite(answer) for answer in answers(model)), value
        assert getattr(pickle.loads(pickle.dumps(model)), name) == value


@each
def test_a_bad_value_is_refused_with_the_name_the_value_and_what_would_be_right(name):
    _, bad, right = TABLE[name]
    for value in bad:
        message = message_of(name, value, AMFRegressor, **{name: value})
        assert message.startswith(f"{name} must be ")
        assert repr(value) in message
        assert right in message, value


@kinds
def test_every_parameter_but_one_is_read_only_after_the_first_sample(kind):
    model = kind(n_estimators=2, seed=1)
    model.max_nodes = 7
    model.learn_one({"a": 1.0}, 1.0)
    before = pickle.dumps(model)
    for name in TABLE:
        if name != "n_jobs":
            with pytest.raises(AttributeError, match=name):
                setattr(model, name, getattr(model, name))
    assert pickle.dumps(model) == before
    model.n_jobs = 2
    with pytest.raises(ValueError, match="n_jobs"):
        model.n_jobs = 0


CHANGES = [
    {"n_estimators": 4},
    {"step": 0.5},
    {"use_aggregation": False},
    {"max_nodes": 15},
    {"seed": 43},
    {"split_prior": 0.8},
    {"max_categories": 2},
    {"split_intensity": "relevance"},
    {"split_intensity": "unit"},
    {"fading_factor": 0.5},
    {"vote": "mean"},
    {"trend": "ridge"},
    {"recent": "errors"},
    {"recent": "target"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_each_parameter_changes_predictions(change):
    assert answers(trained(**change)) != answers(trained())
