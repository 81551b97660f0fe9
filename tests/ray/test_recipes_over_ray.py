"""The recipe for a forest over workers: killed at random moments, it has learned each row once."""

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
    distributed = recipes.check("distributed", tmp_path, n_kills=2, seed=2, longest=2.0)
    (tmp_path / "alone").mkdir()
    recipes.write_log(tmp_path / "alone", 400)
    alone, _ = recipes.finish("one_model", tmp_path / "alone")
    assert distributed == alone


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_a_distributed_forest_learns_each_row_once_whenever_it_is_killed(tmp_path, address, seed):
    recipes.check("distributed", tmp_path, n_kills=10, seed=seed, longest=2.0)
