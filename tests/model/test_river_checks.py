"""All of river's own checks of estimators; of keyed models, behind a step that gives keys."""

import inspect
import re
from collections import Counter

import pytest
from forests import FORESTS
from river import base, checks, compose, linear_model, preprocessing

import river_amf
from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor, OnlineDummyClassifier
from river_amf.keyed import KeyedClassifier, KeyedRegressor


def with_key(x):
    return {**x, "user": len(x) % 2}


KEYS = compose.FuncTransformer(with_key)
SCALED = preprocessing.StandardScaler() | linear_model.LogisticRegression()
KEYED = {
    "forest": KEYS | KeyedClassifier(AMFClassifier(n_estimators=2), "user", max_in_memory=1),
    "regressor": KEYS | KeyedRegressor(AMFRegressor(n_estimators=2), "user", max_in_memory=1),
    "scaled": KEYS | KeyedClassifier(SCALED, "user"),
    "alone": KeyedClassifier(SCALED, "user"),
    "regressor alone": KeyedRegressor(linear_model.LinearRegression(), "user"),
}
# A frame has no keys, as the function adds them to dicts alone.
NOT_OF_KEYS = r"check_(learn|predict|predict_proba)_many_matches|check_bounded_memory_growth"
# checks that call no method
ALONE = "repr|str|tags|clone_(same|is_idem|changes|with)|init|doc|mutate|pickling_supports|get_par"
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


def checks_of_keyed():
    for name, model in KEYED.items():
        pattern = f"check_({ALONE})" if "alone" in name else f"(?!{NOT_OF_KEYS})"
        for number, check in enumerate(checks.yield_checks(model)):
            if re.match(pattern, check.__name__):
                yield pytest.param(model, check, id=f"keyed {name}: {check.__name__} {number}")


@pytest.mark.parametrize(("model", "check"), [*all_checks(), *checks_of_keyed()])
def test_river_check(model, check):
    check(model.clone())


def test_no_check_is_skipped():
    assert [name for name, model in MODELS.items() if model._unit_test_skips()] == []


def test_all_public_estimators_are_checked():
    public = [getattr(river_amf, name) for name in river_amf.__all__]
    estimators = {p for p in public if inspect.isclass(p) and issubclass(p, base.Estimator)}
    assert estimators == {*DEFAULTS}
