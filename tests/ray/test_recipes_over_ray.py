"""The recipe for a forest over workers: killed at random moments, it has learned each row once."""

import json

import pytest
import ray
import recipes

from river_amf.ray import cluster


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder; processes of a test join the Ray of the tests, and share its two CPUs."""
    monkeypatch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
    for name, value in cluster._ENVIRONMENT.items():  # as it is on the loopback interface
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.mark.slow
def test_distributed_forest_learns_each_row_once(folder):
    killed, alone = folder / "killed", folder / "alone"
    for path in (killed, alone):
        path.mkdir()
        recipes.write_log(path, 400)
    assert recipes.kill_at("distributed", killed, 12)
    model, _ = recipes.finish("distributed", killed)
    assert model == recipes.finish("distributed", alone)[0]
    published = (killed / "published.jsonl").read_text().splitlines()
    assert {json.loads(line)[0] for line in published} == {*range(400)}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_distributed_forest_killed_at_any_moment(folder, seed):
    recipes.check("distributed", folder, n_kills=10, seed=seed, longest=2.0)
