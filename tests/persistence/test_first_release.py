"""Files of version 0.1.0 load in all later versions, and predict what is written beside them.

Until 0.1.0 is released, `python tests/persistence/test_first_release.py` writes them anew. After
that they stay as they are: change what reads them.
"""

import gzip
import importlib.util
import json
import sqlite3
from pathlib import Path

import pytest
from river import base

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)
from river_amf.keyed import KeyedClassifier
from river_amf.persistence import FileError

FOLDER = Path(__file__).with_name("first_release")
OPTIONS = {"n_estimators": 2, "max_nodes": 41, "seed": 1}
FORESTS = {
    **{kind.__name__: kind(**OPTIONS) for kind in (AMFClassifier, AdaptiveAMFClassifier)},
    **{kind.__name__: kind(**OPTIONS) for kind in (AMFRegressor, AdaptiveAMFRegressor)},
    "words": AMFClassifier(**OPTIONS, absent="zero"),
}
NUMBERS = [i * 7 % 11 / 2 for i in range(40)]
KEYS = ["ann", 7, ("shop", 2)]


def sample(model, i):
    """Return features and a target; categories alone where numbers would take 300 kB."""
    a = NUMBERS[i]
    is_small = not isinstance(model, AdaptiveAMFRegressor)
    x = {"a": a if is_small else str(a), "color": ("red", "tan", None)[i % 3]}
    return x, a + 9.0 if isinstance(model, base.Regressor) else "high" if a > 2 else "low"


def predict(model, x):
    """Return a prediction as it is in JSON."""
    if isinstance(model, base.Regressor):
        interval = model.predict_interval_one(x)
        return [interval.lower, model.predict_one(x), interval.upper]
    return model.predict_proba_one(x)


def learn(model):
    for i in range(len(NUMBERS)):
        x, y = sample(model, i)
        predict(model, x)
        model.learn_one(x, y)


def predictions(model):
    rows = [sample(model, i)[0] for i in range(9)]
    return [predict(model, x) for x in [*rows, {}, {"color": "new"}]]


@pytest.mark.parametrize("name", FORESTS)
def test_forest_of_the_first_release(name):
    with gzip.open(FOLDER / f"{name}.amf.gz") as file:
        model = river_amf.load(file)
    assert type(model) is type(FORESTS[name])
    check(model, name)


def check(model, name):
    """Compare predictions with those beside the file; the model goes on learning."""
    expected = json.loads((FOLDER / "predictions.json").read_text())[name]
    for prediction, row in zip(predictions(model), expected, strict=True):
        assert prediction == pytest.approx(row, rel=1e-9)
    learn(model)


def test_forest_over_workers_names_its_load():
    message = r"over workers, which river_amf\.ray\.DistributedForest\.load loads"
    with gzip.open(FOLDER / "workers.amf.gz") as file, pytest.raises(FileError, match=message):
        river_amf.load(file)


@pytest.mark.ray
def test_workers_of_the_first_release():
    from river_amf.ray import DistributedForest

    with gzip.open(FOLDER / "workers.amf.gz") as file, DistributedForest.load(file) as forest:
        check(forest, "workers")


def keyed_model(folder):
    return KeyedClassifier(OnlineDummyClassifier(), "user", folder=folder)


def test_keyed_models_of_the_first_release(tmp_path):
    with sqlite3.connect(tmp_path / "models.sqlite") as database:
        database.executescript((FOLDER / "keyed.sql").read_text())
    database.close()
    with keyed_model(tmp_path) as model:
        assert {*model} == {*KEYS} and model.position == {"row": 3}
        for key in KEYS:
            assert model.predict_proba_one({"user": key}) == {str(key): 1.0}


def write_files():
    import tempfile

    path = FOLDER / "predictions.json"
    expected, models = json.loads(path.read_text()), dict(FORESTS)
    if importlib.util.find_spec("ray"):  # or the file stays as it is
        from river_amf.ray import DistributedForest

        models["workers"] = DistributedForest(AMFClassifier(**OPTIONS), 2)
    for name, model in models.items():
        learn(model)
        predict(model, sample(model, 0)[0])  # its label is missing
        file = FOLDER / f"{name}.amf"
        model.save(file)
        file.with_suffix(".amf.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        file.unlink()
        expected[name] = predictions(model)
    path.write_text(json.dumps(expected, indent=1) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        with keyed_model(folder) as model:
            for key in KEYS:
                model.learn_one({"user": key}, str(key))
            model.flush({"row": 3})
        with sqlite3.connect(Path(folder, "models.sqlite")) as database:
            ((number,),) = database.execute("PRAGMA application_id")
            lines = [f"PRAGMA application_id = {number};", *database.iterdump()]
    (FOLDER / "keyed.sql").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_files()
