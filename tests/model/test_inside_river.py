"""Our forests inside river's wrappers, ensembles, selections and pipelines."""

import random

import pytest
from river import (
    bandit,
    compose,
    ensemble,
    metrics,
    model_selection,
    preprocessing,
)

from river_amf import AdaptiveAMFClassifier, AMFClassifier


def small(kind=AMFClassifier, **parameters):
    return kind(n_estimators=3, **{"seed": 1} | parameters)


def stream(n_samples, concept=lambda x: x["a"] > x["b"], seed=1):
    """Two informative numbers, an uninformative category and number, and occasional gaps."""
    rng = random.Random(seed)
    for _ in range(n_samples):
        x = {"a": rng.random(), "b": rng.random(), "noise": rng.random()}
        y = concept(x)
        if rng.random() < 0.1:
            del x["noise"]  # not None, which river's trees cannot handle
        yield x | {"color": rng.choice(["red", "green"])}, y


def answers(model, samples):
    """Predict, then learn; return the answers."""
    given = []
    for x, y in samples:
        given.append(model.predict_one(x))
        model.learn_one(x, y)
    return given


def accuracy(model, samples, last):
    """Predict, then learn; return the share of right answers among the last ones."""
    samples = list(samples)
    given = answers(model, samples)
    pairs = list(zip(given, samples, strict=True))[-last:]
    return sum(label == y for label, (_, y) in pairs) / last


# Ensembles


ENSEMBLES = [
    ensemble.BaggingClassifier,
    ensemble.ADWINBaggingClassifier,
    ensemble.LeveragingBaggingClassifier,
    ensemble.AdaBoostClassifier,
    ensemble.ADWINBoostingClassifier,
    ensemble.BOLEClassifier,
]


# the adaptive forest has the same methods as the other, so one wrapper is enough
@pytest.mark.parametrize(
    ("wrapper", "kind"),
    [*((wrapper, AMFClassifier) for wrapper in ENSEMBLES), (ENSEMBLES[0], AdaptiveAMFClassifier)],
)
def test_ensembles_learn_and_their_members_differ(wrapper, kind):
    model = wrapper(small(kind), n_models=3, seed=1)
    assert accuracy(model, stream(1000), last=500) > 0.85
    x, _ = next(stream(1, seed=2))
    probas = [member.predict_proba_one(x)[True] for member in model]
    assert len(set(probas)) == 3
    total = sum(model.predict_proba_one(x).values())
    assert total == pytest.approx(1.0, abs=1e-9)


# Selection


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
def test_the_better_forest_is_found(select):
    models = [*(small(max_nodes=1, seed=seed) for seed in (2, 3)), small()]
    model = select(models)
    assert accuracy(model, stream(1500), last=500) > 0.85
    assert model.best_model is models[2]


# Pipelines


def test_numbers_and_categories_go_their_ways_in_a_union():
    numbers = compose.Select("a", "b") | preprocessing.StandardScaler()
    colors = compose.Select("color") | preprocessing.OneHotEncoder()
    model = (numbers + colors) | small()
    assert accuracy(model, stream(1000), last=500) > 0.85
    assert not model.clone().predict_proba_one({"a": 0.1, "b": 0.2, "color": "red"})


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_keywords_that_no_classifier_has_are_refused_and_left_out_by_pipelines(kind):
    model = small(kind)
    model.learn_one({"a": 1.0}, "b")
    for call in (model.predict_one, model.predict_proba_one):
        with pytest.raises(TypeError, match="unexpected keyword argument 't'"):
            call({"a": 1.0}, t=3)
    pipeline = preprocessing.StandardScaler() | model
    assert pipeline.predict_one({"a": 1.0}, t=3) == "b"
    assert pipeline.predict_proba_one({"a": 1.0}, t=3) == {"b": 1.0}
