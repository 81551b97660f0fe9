"""River's own checks, for models behind a step that gives each sample a key."""

import re

import pytest
from river import checks, compose, linear_model, preprocessing

from river_amf import AMFClassifier, AMFRegressor
from river_amf.keyed import KeyedClassifier, KeyedRegressor


def with_key(x):
    return {**x, "user": len(x) % 2}


KEYS = compose.FuncTransformer(with_key)
SCALED = preprocessing.StandardScaler() | linear_model.LogisticRegression()
MODELS = {
    "forest": KEYS | KeyedClassifier(AMFClassifier(n_estimators=2), "user", max_in_memory=1),
    "regressor": KEYS | KeyedRegressor(AMFRegressor(n_estimators=2), "user", max_in_memory=1),
    "scaled": KEYS | KeyedClassifier(SCALED, "user"),
    "alone": KeyedClassifier(SCALED, "user"),
    "regressor alone": KeyedRegressor(linear_model.LinearRegression(), "user"),
}
# A frame has no keys, as the function adds them to dicts alone.
NOT_RUN = r"check_(learn|predict|predict_proba)_many_matches|check_bounded_memory_growth"
# checks that call no method
ALONE = "repr|str|tags|clone_(same|is_idem|changes|with)|init|doc|mutate|pickling_supports|get_par"
CASES = [
    pytest.param(model, check, id=f"{name}: {check.__name__} {number}")
    for name, model in MODELS.items()
    for number, check in enumerate(checks.yield_checks(model))
    if not re.match(NOT_RUN, check.__name__)
    and ("alone" not in name or re.match(f"check_({ALONE})", check.__name__))
]


@pytest.mark.parametrize(("model", "check"), CASES)
def test_river_check(model, check):
    check(model.clone())
