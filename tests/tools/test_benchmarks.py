"""The scripts of tests/benchmarks start, and measure something tiny."""

import doctest
import gzip
import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"

# arguments, and what makes a script quick
TINY = {
    "contributions --streams additive elec2 --seeds 1": {"LEARNED": 100, "EXPLAINED": 2},
    "drift --table": {},
    "forgetting --streams elec2 --seeds 1": {"ROWS": 100},
    "gaps --streams elec2 --seeds 1": {"BEFORE": 100, "ROWS": 200},
    "late --models AdaptiveAMF leaves --delays 0 10 --streams elec2 fried": {"ROWS": 100},
    "novelty --streams elec2 --seeds 1": {"TESTED": 20},
    "origins": {},
    "pauses --rows 100 --models AMFClassifier --streams noise": {"FIRST": 10},
    "regression --streams fried --seeds 1": {},
    "speed --streams elec2": {"ROWS": 50, "REPEATS": 1, "OTHERS": 1, "CALLS": 9},
    "votes --streams elec2 --seeds 1": {},
    "whole_streams --arte --seeds 1": {},
    "whole_streams --streams electricity bike --seeds 1 --trees 2": {"BLOCK": 100},
    "words --streams tweets --models logistic amf --samples 50 --seeds 1": {},
}


@pytest.fixture
def streams(monkeypatch, tmp_path):
    """Enter a folder with streams, from which the scripts can be imported."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(1).normal(size=(300, 3))
    for name, target in (("elec2", numbers[:, 0] > 0), ("fried", numbers[:, :2].sum(axis=1))):
        rows = [f"{a},{b % 7:.0f},{c},{y}" for (a, b, c), y in zip(numbers, target, strict=True)]
        with gzip.open(f"{name}.csv.gz", "wt") as file:
            file.write("\n".join(["a,day,c,target", *rows]))

    names = np.array(["a", "b", "c"])
    np.savez("bike.npz", X=numbers, y=numbers[:, 0], feature_names=names, target_name="y")


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize("words", TINY)
def test_script_starts(words, capsys, monkeypatch):
    name, *argv = words.split()
    script = importlib.import_module(name)
    for constant, value in TINY[words].items():
        monkeypatch.setattr(script, constant, value)
    assert script.main([*argv, "--data", "."]) in (0, 1)  # 1 if all streams are missing
    out, err = capsys.readouterr()
    assert "error" not in err
    assert "|" in out or name == "origins"


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize("name", ["origins", "words"])
def test_examples_in_docstrings(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > results.failed == 0


def test_every_script_is_started():
    scripts = [path for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text()]
    assert {path.stem for path in scripts} == {words.split()[0] for words in TINY}
