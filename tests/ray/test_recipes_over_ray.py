"""The recipe for a forest over workers: killed at random moments, it has learned each row once."""

import json

import pytest
import ray
import recipes

from river_amf.ray import cluster


@pytest.fixture
def address(monkeypatch):
    """Let the processes of a test join the Ray of the tests, whose two CPUs all of them share."""
    monkeypatch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
    for name, value in cluster._ENVIRONMENT.items():  # as it is on the loopback interface
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_a_distributed_forest_learns_each_row_once(tmp_path, address):
    killed, alone = tmp_path / "killed", tmp_path / "alone"
    for folder in (killed, alone):
        folder.mkdir()
        recipes.write_log(folder, 400)
    assert recipes.kill_at("distributed", killed, 12)
    model, _ = recipes.finish("distributed", killed)
    assert model == recipes.finish("distributed", alone)[0]
    published = (killed / "published.jsonl").read_text().splitlines()
    assert {json.loads(line)[0] for line in published} == {*range(400)}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_a_distributed_forest_learns_each_row_once_whenever_it_is_killed(tmp_path, address, seed):
    recipes.check("distributed", tmp_path, n_kills=10, seed=seed, longest=2.0)
