"""Which of many curves are in color."""

import math

import pytest
from river import ensemble, linear_model, preprocessing

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    baselines,
)
from river_amf.pages import palette
from river_amf.pages.palette import ADAPTIVE, AMF, LAST, OTHER, OTHERS, looks, role_of

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = palette.COLORS
GREY = palette.GREY
NINETEEN = [*baselines.classifiers()]
ROLES = {"amf": AMF, "adaptive": ADAPTIVE, "last-class": LAST}


def colors(scores, roles=ROLES, **options):
    """Return the colors of those that are not grey, after checking how the others look."""
    drawn = looks(scores, roles, **options)
    assert [*drawn] == [*scores]
    for look in drawn.values():
        assert look.is_named == (look.color != GREY) == (look.width > OTHERS.width)
        assert look.dash == ("dash" if look.color == BLACK else "solid")
    return {name: look.color for name, look in drawn.items() if look.color != GREY}


@pytest.mark.parametrize(
    ("make", "role"),
    [
        (AMFClassifier, AMF),
        (AMFRegressor, AMF),
        (AdaptiveAMFClassifier, ADAPTIVE),
        (AdaptiveAMFRegressor, ADAPTIVE),
        (type("Mine", (AdaptiveAMFClassifier,), {}), ADAPTIVE),
        (lambda: preprocessing.StandardScaler() | AMFClassifier(), AMF),
        (
            lambda: preprocessing.StandardScaler() | (preprocessing.Normalizer() | AMFRegressor()),
            AMF,
        ),
        (lambda: ensemble.BaggingClassifier(AMFClassifier()), OTHER),  # river's, of ours
        (linear_model.LogisticRegression, OTHER),
        (type("AMFClassifier", (linear_model.LogisticRegression,), {}), OTHER),
    ],
)
def test_the_class_of_the_last_step_tells_the_role(make, role):
    assert role_of(make()) == role


def test_the_roles_of_the_baselines():
    makers = [*baselines.classifiers().items(), *baselines.regressors().items()]
    roles = {name: role_of(make()) for name, make in makers if name != "mlp"}
    assert {name: role for name, role in roles.items() if role != OTHER} == {
        **ROLES,
        "last-value": LAST,
    }


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["knn", "arf"], {"knn": BLUE, "arf": VERMILION}),
        (["knn", "amf"], {"knn": VERMILION, "amf": BLUE}),
        (["adaptive", "amf"], {"adaptive": VERMILION, "amf": BLUE}),
        (["last-class", "adaptive"], {"last-class": BLACK, "adaptive": VERMILION}),
        (
            ["last-class", "arf", "amf", "knn", "adaptive", "mlp"],
            {
                "last-class": BLACK,
                "arf": GREEN,
                "amf": BLUE,
                "knn": PURPLE,
                "adaptive": VERMILION,
                "mlp": ORANGE,
            },
        ),
    ],
)
@pytest.mark.parametrize("score", [0.5, math.nan])
def test_a_handful_of_curves_are_all_in_color_whatever_their_scores(names, expected, score):
    assert colors(dict.fromkeys(names, score)) == expected


def test_without_scores_that_differ_the_first_are_in_color_and_without_roles_the_best_three():
    assert len({*palette.COLORS, GREY}) == 8
    assert looks({}, {}) == {}
    ours = {"last-class": BLACK, "amf": BLUE, "adaptive": VERMILION}
    first = {"majority": GREEN, "knn": PURPLE, "gaussian-nb": ORANGE}
    assert colors(dict.fromkeys(NINETEEN, 0.5)) == first | ours
    scores = {name: float(k) for k, name in enumerate(NINETEEN)}
    assert colors(scores, {}) == {"amf": BLUE, "adaptive": VERMILION, "dummy": GREEN}


def test_of_nineteen_ours_the_best_three_and_the_last_label_are_in_color():
    scores = {name: 0.5 + 0.01 * k for k, name in enumerate(NINETEEN)}
    scores |= {"amf": 0.1, "adaptive": 0.2, "last-class": 0.0, "knn": 0.91, "mlp": 0.92}
    expected = {"last-class": BLACK, "knn": GREEN, "mlp": PURPLE, "amf": BLUE}
    assert colors(scores) == {**expected, "adaptive": VERMILION, "dummy": ORANGE}


def test_of_errors_the_smallest_are_the_best():
    names = [*baselines.regressors()]
    roles = {"amf": AMF, "adaptive": ADAPTIVE, "last-value": LAST}
    scores = {name: 9.0 - 0.1 * k for k, name in enumerate(names)}
    scores |= {"linear": math.inf, "knn": 1e-9, "srp": 0.5, "arf": 0.7}
    ours = {"amf": BLUE, "adaptive": VERMILION, "last-value": BLACK}
    best = {"knn": GREEN, "arf": PURPLE, "srp": ORANGE}
    assert colors(scores, roles, smaller_is_better=True) == {**best, **ours}
    scores["linear"] = 1e300
    worst = {"mean": PURPLE, "linear": GREEN, "hoeffding": ORANGE}
    assert colors(scores, roles).keys() == worst.keys() | ours.keys()


def test_an_unknown_score_is_never_among_the_best_but_ours_are_in_color():
    scores = dict.fromkeys(NINETEEN, math.nan)
    ours = {"last-class": BLACK, "amf": BLUE, "adaptive": VERMILION}
    assert colors(scores) == ours
    assert colors(scores | {"arf": 0.1}) == {"arf": GREEN, **ours}
    assert colors(scores | {"arf": 0.1}, smaller_is_better=True) == {"arf": GREEN, **ours}


def test_of_many_forests_the_best_are_in_color_as_far_as_colors_go():
    scores = {f"amf {k}": 0.1 * k for k in range(9)}
    roles = dict.fromkeys(scores, AMF)
    first = {"amf 3": BLUE, "amf 4": VERMILION, "amf 5": GREEN}
    rest = {"amf 6": PURPLE, "amf 7": ORANGE, "amf 8": SKY}
    assert colors(scores, roles) == {**first, **rest}
    scores |= {"amf 8": math.nan, "arf": 0.0, "knn": math.nan}
    drawn = colors(scores, roles)
    assert drawn == {
        "amf 3": BLUE,
        "amf 4": VERMILION,
        "amf 5": GREEN,
        "amf 6": PURPLE,
        "amf 7": ORANGE,
        "arf": SKY,
    }
