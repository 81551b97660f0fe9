"""Files of other releases: what came later has its default, and every release is read."""

import importlib
import json
import math
import pickle
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from files import edited_error, parts_in
from forests import STREAM, answers, learn, trained

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)
from river_amf.persistence import container, soundness

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier])
def test_parameters_that_came_later_have_the_default_of_their_class(path, kind):
    model = learn(kind(), STREAM[:100])
    header, arrays = parts_in(model, path)
    parameters = header["model"]["parameters"]
    for name, value in parameters.items():
        header["model"]["parameters"] = {n: v for n, v in parameters.items() if n != name}
        container.write(str(path), header, arrays)
        assert getattr(river_amf.load(path), name) == value
    del header["model"]["parameters"]
    container.write(str(path), header, arrays)
    assert answers(river_amf.load(path)) == answers(model)


def test_what_else_came_later_has_the_default_of_a_new_model(path):
    for kind in (AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier):
        header = {"river_amf": "0.1", "kind": kind.__name__, "model": {}}
        container.write(str(path), header, {})
        assert pickle.dumps(river_amf.load(path)) == pickle.dumps(kind())
    header["model"] = {"labels": ["a", "b"]}
    container.write(str(path), header, {})
    assert river_amf.load(path).predict_proba_one({}) == {"a": 0.5, "b": 0.5}


def test_a_field_that_came_later_has_its_default_in_older_files(path, monkeypatch):
    model = trained(STREAM[:300])
    assert (model._arena.features["credit"] == 0).all()
    header, arrays = parts_in(model, path)
    features = arrays["features"]
    older = [name for name in features.dtype.names if name != "credit"]
    arrays["features"] = np.zeros(len(features), [(n, features.dtype[n]) for n in older])
    for name in older:
        arrays["features"][name] = features[name]
    assert "fields of features" in edited_error(path, header, arrays)
    monkeypatch.setitem(soundness.ADDED, "features", {"credit": 0.0})
    assert pickle.dumps(river_amf.load(path)) == pickle.dumps(model)


# Fixtures


FIXTURE_PARAMETERS = {
    "forest": {"kind": AMFClassifier, "n_estimators": 2},
    "adaptive": {"kind": AdaptiveAMFClassifier, "n_estimators": 2, "max_nodes": 41},
    "dummy": {"kind": OnlineDummyClassifier},
}


def fixture_stream(n_samples):
    """Numbers, categories, gaps, weights; labels that are tuples, True and numpy's."""
    rng = random.Random(11)
    labels = [("left", 1), True, np.int64(7)]
    for i in range(n_samples):
        x = {
            "a": rng.gauss(0, 1),
            ("b", 2): rng.randrange(5),
            "c": rng.choice(["red", ("t", None)]),
        }
        if rng.random() < 0.2:
            del x["a"]
        if i > 50:
            x["late"] = rng.choice([0.5, None])
        yield x, labels[(x[("b", 2)] + (rng.random() < 0.2)) % 3], rng.choice([1.0, 1.0, 0.5])


def fixture_answers(model):
    """Return the probabilities that a model gives to the fixture's questions."""
    questions = [{}, {"c": "never seen"}, *(x for x, _, _ in fixture_stream(40))]
    return [list(model.predict_proba_one(x).values()) for x in questions]


FIXTURE_ESTIMATORS = {  # name -> class, parameters and given classes
    "sklearn_forest": ("AMFClassifier", {"n_estimators": 2, "random_state": 5}, None),
    "sklearn_adaptive": (
        "AdaptiveAMFClassifier",
        {"n_estimators": 2, "max_nodes": 41, "random_state": 5, "n_jobs": None},
        ["broad", "deep", "tall", "wide"],
    ),
    "sklearn_dummy": ("OnlineDummyClassifier", {"n_classes": 5}, None),
}


def fixture_table(n_rows):
    """Columns of numbers with gaps and of categories, and labels that are strings."""
    rng = random.Random(12)
    table = pd.DataFrame(
        {
            "size": [rng.choice([rng.gauss(0, 1), math.nan]) for _ in range(n_rows)],
            "color": [rng.choice(["red", "tan", None]) for _ in range(n_rows)],
        }
    )
    kinds = (table["size"].fillna(0.0) > 0.0) + (table["color"] == "tan").astype(int)
    return table, [("deep", "broad", "tall")[kind] for kind in kinds]


FIXTURE_REGRESSORS = {
    "regressor": (AMFRegressor, {"n_estimators": 2, "seed": 5}),
    "adaptive_regressor": (AdaptiveAMFRegressor, {"n_estimators": 2, "max_nodes": 41, "seed": 5}),
}
FIXTURE_ESTIMATORS_OF_TARGETS = {
    "sklearn_regressor": ("AMFRegressor", {"n_estimators": 2, "random_state": 5}),
    "sklearn_adaptive_regressor": (
        "AdaptiveAMFRegressor",
        {"n_estimators": 2, "max_nodes": 41, "random_state": 5, "n_jobs": None},
    ),
}


def targets_of(samples):
    """Yield samples with numbers in the place of labels."""
    rng = random.Random(13)
    for x, _, weight in samples:
        yield x, 1e4 + 3.0 * (x.get("a") or 0.0) + x[("b", 2)] + rng.gauss(0, 0.5), weight


def fixture_numbers(model):
    """Return the predictions and intervals that a regressor gives to the fixture's questions."""
    questions = [{}, {"c": "never seen"}, *(x for x, _, _ in fixture_stream(40))]
    intervals = [model.predict_interval_one(x) for x in questions]
    ends = [[interval.lower, interval.upper] for interval in intervals]
    return [[model.predict_one(x), *own] for x, own in zip(questions, ends, strict=True)]


def fixture_models(n_samples):
    """Yield the name of each fixture, its model and what that predicts."""
    for name, (kind, parameters) in FIXTURE_REGRESSORS.items():
        model = learn(kind(**parameters), targets_of(fixture_stream(n_samples)))
        yield name, model, fixture_numbers(model)
    for name, parameters in FIXTURE_PARAMETERS.items():
        parameters = dict(parameters)
        kind = parameters.pop("kind")
        seed = {} if kind is OnlineDummyClassifier else {"seed": 5}
        model = learn(kind(**parameters, **seed), fixture_stream(n_samples))
        yield name, model, fixture_answers(model)
    face = importlib.import_module("river_amf.sklearn")
    for name, (kind, parameters, classes) in FIXTURE_ESTIMATORS.items():
        estimator = getattr(face, kind)(**parameters)
        estimator.partial_fit(*fixture_table(n_samples), classes=classes)
        yield name, estimator, estimator.predict_proba(fixture_table(40)[0]).tolist()
    for name, (kind, parameters) in FIXTURE_ESTIMATORS_OF_TARGETS.items():
        table, labels = fixture_table(n_samples)
        estimator = getattr(face, kind)(**parameters).fit(table, [len(label) for label in labels])
        yield name, estimator, estimator.predict(fixture_table(40)[0]).tolist()


def make_fixtures(release, n_samples=120):
    """Write files of each class, with what their models predict, where there are none.

    By hand, in this folder: `python -c "import test_releases as t; t.make_fixtures('0.1')"`.
    Nothing has been published: a change of the format deletes those of 0.1 and makes them anew.
    """
    FIXTURES.mkdir(exist_ok=True)
    for name, model, expected in fixture_models(n_samples):
        file = FIXTURES / f"{name}-{release}.amf"
        if not file.exists():
            model.save(file)
            file.with_suffix(".json").write_text(json.dumps(expected, indent=0) + "\n")


def fixtures_of(names):
    """Parametrize a test by the files of such names, of every release."""
    files = [file for file in FIXTURES.glob("*.amf") if file.stem.partition("-")[0] in names]
    return pytest.mark.parametrize("file", sorted(files), ids=lambda file: file.stem)


@fixtures_of(FIXTURE_PARAMETERS)
def test_files_of_every_release_are_read(file):
    model = river_amf.load(file)
    name = file.stem.partition("-")[0]
    assert type(model) is FIXTURE_PARAMETERS[name]["kind"]
    assert [*map(type, model._labels)] == [tuple, bool, np.int64]
    expected = json.loads(file.with_suffix(".json").read_text())
    for proba, recorded in zip(fixture_answers(model), expected, strict=True):
        assert proba == pytest.approx(recorded, rel=1e-12, abs=1e-12)
    learn(model, [({"a": 0.0, "new": 1.0, "c": "blue"}, "new label", 3.0)] * 40)
    learn(model, fixture_stream(20))
    assert model.predict_proba_one({"a": 0.0, "new": 1.0})["new label"] > 0.2
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1)


@fixtures_of(FIXTURE_ESTIMATORS)
def test_estimators_of_every_release_are_read(file):
    pytest.importorskip("sklearn", reason="the file holds an estimator of scikit-learn")
    estimator = river_amf.load(file)
    kind, parameters, classes = FIXTURE_ESTIMATORS[file.stem.partition("-")[0]]
    assert type(estimator) is getattr(importlib.import_module("river_amf.sklearn"), kind)
    assert parameters.items() <= estimator.get_params().items()
    assert estimator.classes_.tolist() == (classes or ["broad", "deep", "tall"])
    assert estimator.feature_names_in_.tolist() == ["size", "color"]
    table, labels = fixture_table(40)
    expected = json.loads(file.with_suffix(".json").read_text())
    np.testing.assert_allclose(estimator.predict_proba(table), expected, rtol=1e-12, atol=1e-12)
    estimator.partial_fit(table, labels)
    assert set(estimator.predict(table)) <= set(estimator.classes_)


@fixtures_of(FIXTURE_REGRESSORS)
def test_regressors_of_every_release_are_read(file):
    model = river_amf.load(file)
    kind, parameters = FIXTURE_REGRESSORS[file.stem.partition("-")[0]]
    assert type(model) is kind
    assert {name: getattr(model, name) for name in parameters} == parameters
    expected = json.loads(file.with_suffix(".json").read_text())
    np.testing.assert_allclose(fixture_numbers(model), expected, rtol=1e-12)
    learn(model, [({"a": 0.0, "new": 1.0, "c": "blue"}, 2e4, 3.0)] * 40)
    assert model.predict_one({"a": 0.0, "new": 1.0, "c": "blue"}) > 1.2e4
    learn(model, targets_of(fixture_stream(20)))
    assert 9e3 < model.predict_one({}) < 2.1e4


@fixtures_of(FIXTURE_ESTIMATORS_OF_TARGETS)
def test_estimators_of_targets_of_every_release_are_read(file):
    estimator = river_amf.load(file)
    kind, parameters = FIXTURE_ESTIMATORS_OF_TARGETS[file.stem.partition("-")[0]]
    assert type(estimator) is getattr(importlib.import_module("river_amf.sklearn"), kind)
    assert parameters.items() <= estimator.get_params().items()
    assert estimator.feature_names_in_.tolist() == ["size", "color"]
    table, labels = fixture_table(40)
    expected = json.loads(file.with_suffix(".json").read_text())
    np.testing.assert_allclose(estimator.predict(table), expected, rtol=1e-12)
    estimator.partial_fit(table, [len(label) for label in labels])


def test_there_is_a_fixture_of_each_class():
    names = {file.stem.removesuffix("-0.1") for file in FIXTURES.glob("*-0.1.amf")}
    of_labels, of_targets = FIXTURE_PARAMETERS, FIXTURE_REGRESSORS
    of_estimators = {*FIXTURE_ESTIMATORS, *FIXTURE_ESTIMATORS_OF_TARGETS}
    assert names == {*of_labels, *of_targets, *of_estimators}
    kinds = {container.read(str(file))[0]["kind"] for file in FIXTURES.glob("*-0.1.amf")}
    names = ("AMFClassifier", "AdaptiveAMFClassifier", "OnlineDummyClassifier")
    names += ("AMFRegressor", "AdaptiveAMFRegressor")
    assert kinds == {*names, *(f"sklearn.{name}" for name in names)}
