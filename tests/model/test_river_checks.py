"""All of river's own checks of estimators, with none skipped."""

import inspect

import pytest
from river import base, checks, preprocessing

import river_amf
from river_amf import AdaptiveAMFClassifier, AMFClassifier, OnlineDummyClassifier

ALONE = {
    "forest": AMFClassifier(),
    "forest with a budget": AMFClassifier(n_estimators=3, max_nodes=15),
    "forest that splits pure cells": AMFClassifier(n_estimators=3, split_pure=True),
    "forest with unit intensity": AMFClassifier(n_estimators=3, split_intensity="unit"),
    "forest of leaves": AMFClassifier(n_estimators=3, use_aggregation=False),
    "forest with a seed": AMFClassifier(n_estimators=3, seed=42),
    "forest by relevance": AMFClassifier(n_estimators=3, split_intensity="relevance"),
    "forest that fades": AMFClassifier(n_estimators=3, fading_factor=0.5, split_pure=True),
    "forest with a learned vote": AMFClassifier(n_estimators=3, vote="learned"),
    "adaptive": AdaptiveAMFClassifier(),
    "adaptive with a budget": AdaptiveAMFClassifier(n_estimators=3, max_nodes=15, seed=42),
    "dummy": OnlineDummyClassifier(),
}
IN_PIPELINE = {
    "scaler | forest": preprocessing.StandardScaler() | AMFClassifier(),
    "scaler | forest with a budget": (
        preprocessing.StandardScaler() | AMFClassifier(n_estimators=3, max_nodes=15, seed=42)
    ),
    "scaler | adaptive": preprocessing.StandardScaler() | AdaptiveAMFClassifier(),
    "scaler | dummy": preprocessing.StandardScaler() | OnlineDummyClassifier(),
}
MODELS = ALONE | IN_PIPELINE

PUBLIC_ESTIMATORS = [
    public
    for public in (getattr(river_amf, name) for name in river_amf.__all__)
    if inspect.isclass(public) and issubclass(public, base.Estimator)
]


# A scaler that has seen a whole block scales the first rows by later ones, so blocks differ from
# single rows, whatever the forest does. Without a scaler the check runs.
NOT_OF_A_SCALER = "check_learn_many_matches_learn_one"


def all_checks():
    for name, model in MODELS.items():
        times_seen = {}
        for check in checks.yield_checks(model):
            if model in IN_PIPELINE.values() and check.__name__ == NOT_OF_A_SCALER:
                continue
            times_seen[check.__name__] = times_seen.get(check.__name__, 0) + 1
            number = times_seen[check.__name__]
            yield pytest.param(model, check, id=f"{name}: {check.__name__} {number}")


@pytest.mark.parametrize(("model", "check"), list(all_checks()))
def test_river_check(model, check):
    check(model.clone())


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_no_check_is_skipped(model):
    assert not model._unit_test_skips()


@pytest.mark.parametrize("estimator", PUBLIC_ESTIMATORS)
def test_no_public_estimator_is_left_out(estimator):
    assert any(
        type(model) is estimator and model._get_params() == estimator()._get_params()
        for model in ALONE.values()
    )
    last_steps = [list(pipeline.steps.values())[-1] for pipeline in IN_PIPELINE.values()]
    assert any(type(step) is estimator for step in last_steps)


def test_there_are_public_estimators():
    assert {AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier} == set(PUBLIC_ESTIMATORS)
