"""The recipe for a forest over workers: killed at random moments, it has learned each row once."""

import json

import pytest
import ray
import recipes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder; processes of a test join the Ray of the tests, and share its two CPUs."""
    monkeypatch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
    return tmp_path


@pytest.mark.slow
def test_distributed_forest_learns_each_row_once(folder):
    killed, alone = folder / "killed", folder / "alone"
    for path in (killed, alone):
        path.mkdir()
        recipes.write_log(path, 400)
    assert recipes.kill_at("distributed", killed, 47)  # in a save
    model = recipes.finish("distributed", killed)
    assert model == recipes.finish("distributed", alone)
    published = (killed / "published.jsonl").read_text().splitlines()
    assert {json.loads(line)[0] for line in published} == {*range(400), "?"}
