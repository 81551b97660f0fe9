"""All of river's own checks of estimators, with none skipped."""

import inspect
from collections import Counter

import pytest
from forests import FORESTS
from river import base, checks, preprocessing

import river_amf
from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor, OnlineDummyClassifier

DEFAULTS = [*FORESTS, OnlineDummyClassifier]
MODELS = {kind.__name__: kind() for kind in DEFAULTS} | {
    "scaler | classifier": preprocessing.StandardScaler() | AMFClassifier(),
    "scaler | regressor": preprocessing.StandardScaler() | AMFRegressor(),
    "leaf alone, budget": AMFClassifier(n_estimators=3, use_aggregation=False, max_nodes=15),
    "words": AdaptiveAMFClassifier(n_estimators=3, absent="zero"),
}
# A scaler that has seen a whole block scales the first rows by later ones, so blocks differ from
# single rows. Without a scaler the check runs.
NOT_OF_A_SCALER = "check_learn_many_matches_learn_one"
SLOW = "check_bounded_memory_growth"  # one second per dataset


def all_checks():
    """Yield all checks of all models, some of which come once for each of several datasets."""
    for name, model in MODELS.items():
        n_seen = Counter()
        for check in checks.yield_checks(model):
            kind = check.__name__
            n_seen[kind] += 1
            if "scaler" not in name or kind != NOT_OF_A_SCALER:
                marks = [pytest.mark.slow] * (kind == SLOW)
                yield pytest.param(model, check, id=f"{name}: {kind} {n_seen[kind]}", marks=marks)


@pytest.mark.parametrize(("model", "check"), [*all_checks()])
def test_river_check(model, check):
    check(model.clone())


def test_no_check_is_skipped():
    assert [name for name, model in MODELS.items() if model._unit_test_skips()] == []


def test_all_public_estimators_are_checked():
    public = [getattr(river_amf, name) for name in river_amf.__all__]
    estimators = {p for p in public if inspect.isclass(p) and issubclass(p, base.Estimator)}
    assert estimators == {*DEFAULTS}
