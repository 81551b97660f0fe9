"""All of river's own checks of estimators, with none skipped."""

import inspect

import pytest
from river import base, checks, preprocessing

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)

# All checks run for each public estimator with its defaults, and for a pipeline.
AS_THEY_ARE = {
    "forest": AMFClassifier(),
    "adaptive": AdaptiveAMFClassifier(),
    "dummy": OnlineDummyClassifier(),
    "regressor": AMFRegressor(),
    "adaptive regressor": AdaptiveAMFRegressor(),
    "scaler | forest": preprocessing.StandardScaler() | AMFClassifier(),
    "scaler | regressor": preprocessing.StandardScaler() | AMFRegressor(),
}
# Parameters change what a forest keeps, and so the checks of that alone.
VARIANTS = {
    "budget, seed": AMFClassifier(n_estimators=3, max_nodes=15, seed=42),
    "pure cells split": AMFClassifier(n_estimators=3, split_pure=True, split_intensity="unit"),
    "leaves alone": AMFClassifier(n_estimators=3, use_aggregation=False),
    "fading": AMFClassifier(n_estimators=3, fading_factor=0.5, split_pure=True),
    "words": AdaptiveAMFClassifier(n_estimators=3, absent="zero"),
    "learned vote": AMFClassifier(n_estimators=3, vote="learned", split_intensity="relevance"),
    "scaled target": preprocessing.TargetStandardScaler(AMFRegressor(n_estimators=3)),
    "regressor, budget": AdaptiveAMFRegressor(n_estimators=3, max_nodes=15, seed=42),
    "regressor, trend": AMFRegressor(n_estimators=3, linear=True),
    "regressor, vote": AMFRegressor(n_estimators=3, vote="learned", use_aggregation=False),
}
STATEFUL = {
    "check_learn_one",
    "check_pickling",
    "check_predict_one_pure",
    "check_no_state_aliasing_with_input",
    "check_clone_is_independent",
    "check_learn_many_matches_learn_one",
    "check_seeding_is_idempotent",
    "check_bounded_memory_growth",
}
MODELS = AS_THEY_ARE | VARIANTS

PUBLIC_ESTIMATORS = [
    public
    for public in (getattr(river_amf, name) for name in river_amf.__all__)
    if inspect.isclass(public) and issubclass(public, base.Estimator)
]


# A scaler that has seen a whole block scales the first rows by later ones, so blocks differ from
# single rows, whatever the forest does. Without a scaler the check runs.
NOT_OF_A_SCALER = "check_learn_many_matches_learn_one"
SLOW = "check_bounded_memory_growth"  # one second per dataset


def checks_of(name):
    """Yield the checks of a model, each with its name and the number of its dataset."""
    times_seen = {}
    for check in checks.yield_checks(MODELS[name]):
        kind = check.__name__
        number = times_seen[kind] = times_seen.get(kind, 0) + 1
        if name in VARIANTS and (kind not in STATEFUL or (kind == SLOW and number > 1)):
            continue
        if "scaler" not in name or kind != NOT_OF_A_SCALER:
            yield check, kind, number


ALL_CHECKS = [
    pytest.param(
        MODELS[name],
        check,
        id=f"{name}: {kind} {number}",
        marks=[pytest.mark.slow] * (kind == SLOW),
    )
    for name in MODELS
    for check, kind, number in checks_of(name)
]


# in check_radically_disappearing_features one of about 18 is left
@pytest.mark.filterwarnings("ignore:there are 1. features:RuntimeWarning")
@pytest.mark.parametrize(("model", "check"), ALL_CHECKS)
def test_river_check(model, check):
    check(model.clone())


def test_no_check_is_skipped():
    assert [name for name, model in MODELS.items() if model._unit_test_skips()] == []


def test_no_public_estimator_is_left_out():
    kinds = {AMFClassifier, AdaptiveAMFClassifier, AMFRegressor, AdaptiveAMFRegressor}
    assert {*PUBLIC_ESTIMATORS} == kinds | {OnlineDummyClassifier}
    for estimator in PUBLIC_ESTIMATORS:
        assert any(
            type(model) is estimator and model._get_params() == estimator()._get_params()
            for model in AS_THEY_ARE.values()
        ), estimator
