"""River's own checks, for models behind a step that gives each sample a key."""

import pytest
from river import checks, compose, linear_model, naive_bayes, preprocessing

from river_amf import AMFClassifier, AMFRegressor
from river_amf.keyed import KeyedClassifier, KeyedRegressor


def with_key(x):
    """Return a sample with a key, which its checks leave out at will."""
    return {**x, "user": len(x) % 2}


def behind_keys(model):
    return compose.FuncTransformer(with_key) | model


SCALED = preprocessing.StandardScaler() | linear_model.LogisticRegression()
MODELS = {
    "forest": behind_keys(KeyedClassifier(AMFClassifier(n_estimators=2), "user", max_in_memory=1)),
    "regressor": behind_keys(KeyedRegressor(AMFRegressor(n_estimators=2), "user", max_in_memory=1)),
    "bayes": behind_keys(KeyedClassifier(naive_bayes.GaussianNB(), "user")),
    "scaled": behind_keys(KeyedClassifier(SCALED, "user")),
}
# A frame has no keys, as the function adds them to dicts alone. Three models in three seconds.
NOT_RUN = {
    "check_learn_many_matches_learn_one",
    "check_predict_many_matches_predict_one",
    "check_predict_proba_many_matches_predict_proba_one",
    "check_bounded_memory_growth",
}
ALONE = {
    "check_repr", "check_str", "check_tags", "check_clone_same_class", "check_clone_is_idempotent",
    "check_init_has_default_params_for_tests", "check_init_default_params_are_not_mutable",
    "check_doc", "check_clone_changes_memory_addresses", "check_mutate_can_be_idempotent",
    "check_pickling_supports_roundtrip", "check_repr_roundtrips_clone",
    "check_clone_with_new_params_applies", "check_get_params_matches_signature",
}  # fmt: skip
CASES = [
    pytest.param(model, check, id=f"{name}: {check.__name__} {number}")
    for name, model in MODELS.items()
    for number, check in enumerate(checks.yield_checks(model))
    if check.__name__ not in NOT_RUN
] + [
    pytest.param(kind(**parameters), check, id=f"{kind.__name__}: {check.__name__}")
    for kind in (KeyedClassifier, KeyedRegressor)
    for parameters in kind._unit_test_params()
    for check in checks.yield_checks(kind(**parameters))
    if check.__name__ in ALONE
]


# in check_radically_disappearing_features one of about 18 is left
@pytest.mark.filterwarnings("ignore:there are .* features:RuntimeWarning")
@pytest.mark.parametrize(("model", "check"), CASES)
def test_river_check(model, check):
    check(model.clone())
