"""The recipes for a log: killed at random moments, a service has learned each row once."""

import json
import pickle
import random

import pytest
import recipes

from river_amf import AdaptiveAMFClassifier, load

pytestmark = pytest.mark.slow


def n_labels(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return sum(json.loads(line).get("y") is not None for line in lines)


def test_one_model_learns_each_row_once(tmp_path):
    model = pickle.loads(recipes.check("one_model", tmp_path, n_kills=1, seed=1))
    assert model[0].n_samples == n_labels(tmp_path / "calm")


def test_a_model_for_each_key_learns_each_row_once(tmp_path):
    models = pickle.loads(recipes.check("keyed", tmp_path, n_kills=1, seed=3))
    assert [key for key, _ in models] == [*"abcde"]
    n_learned = sum(pickle.loads(model)[0].n_samples for _, model in models)
    assert n_learned == n_labels(tmp_path / "calm")


def test_labels_of_the_day_after_score_predictions(tmp_path):
    names = {}
    exec(recipes.code(), names)
    draw = random.Random(1)
    rows = [{"size": draw.random(), "hour": draw.randrange(24)} for _ in range(600)]
    labels = {str(n): x["size"] > 0.5 for n, x in enumerate(rows)}
    kept, at_once = names["new"](), AdaptiveAMFClassifier(max_delayed_labels=0, seed=1)
    kept.save(tmp_path / "model.amf")
    for day in range(0, 600, 100):
        model = load(tmp_path / "model.amf")
        asked = list(enumerate(rows))[day : day + 100]
        answers = [names["answer"](model, tmp_path, str(n), x) for n, x in asked]
        assert answers == [kept.predict_one(x) for _, x in asked]
        model.save(tmp_path / "model.amf")
        names["learn_day"](load(tmp_path / "model.amf"), tmp_path, labels)
        for n, x in asked:
            kept.learn_one(x, labels[str(n)])
            at_once.learn_one(x, labels[str(n)])
    x = {"size": 0.6, "hour": 3}
    proba = load(tmp_path / "model.amf").predict_proba_one(x)
    assert proba == kept.predict_proba_one(x) != at_once.predict_proba_one(x)


def test_new_rows_are_found_and_learned():
    names = {}
    exec(recipes.code(), names)
    draw = random.Random(1)
    rows = [{"size": draw.random(), "hour": draw.randrange(24)} for _ in range(3000)]
    for n in range(2000, 3000, 100):
        rows[n]["size"] = 10.0 + n
    model = names["new"]()
    found = [*names["new_rows"](model, [(x, x["size"] > 0.5) for x in rows])]
    far = [x for x, _ in found if x["size"] > 1]
    assert far == rows[2000::100] and len(found) < 0.05 * len(rows)
    assert model.n_samples == len(rows)


@pytest.mark.soak
@pytest.mark.parametrize("recipe", ["one_model", "keyed"])
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_learned_once_despite_kills(tmp_path, recipe, seed):
    recipes.check(recipe, tmp_path, n_kills=20, seed=seed)
