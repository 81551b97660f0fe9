"""The recipes for a log: killed at random moments, a service has learned each row once."""

import json
import pickle

import pytest
import recipes

pytestmark = pytest.mark.slow


def n_labels(folder):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return sum("y" in json.loads(line) for line in lines)


def test_one_model_learns_each_row_once(tmp_path):
    model = pickle.loads(recipes.check("one_model", tmp_path, n_kills=4, seed=1))
    assert model[0].n_samples == n_labels(tmp_path / "calm")


def test_a_model_for_each_key_learns_each_row_once(tmp_path):
    models = pickle.loads(recipes.check("keyed", tmp_path, n_kills=4, seed=3))
    assert [key for key, _ in models] == [*"abcde"]
    n_learned = sum(pickle.loads(model)[0].n_samples for _, model in models)
    assert n_learned == n_labels(tmp_path / "calm")


@pytest.mark.soak
@pytest.mark.parametrize("recipe", ["one_model", "keyed"])
@pytest.mark.parametrize("seed", range(5))
def test_each_row_is_learned_once_whenever_a_process_is_killed(tmp_path, recipe, seed):
    recipes.check(recipe, tmp_path, n_kills=20, seed=seed)
