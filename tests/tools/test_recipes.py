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


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_one_model_learns_each_row_once_whenever_it_is_killed(tmp_path, seed):
    recipes.check("one_model", tmp_path, n_kills=20, seed=seed)
