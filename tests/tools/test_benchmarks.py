"""The scripts of tests/benchmarks start, explain themselves and measure something tiny."""

import doctest
import gzip
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPTS = sorted(
    path.stem for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)

# a stream of its folder, or one that needs no file; and what makes a script quick
TINY = {
    "drift --table": {},
    "drift --picture drift.png": {},
    "figures --streams elec2": {"SEEDS": (1,)},
    "keyed": {"REPEATS": 1, "LEAST_ROUTED": 0},
    "late --quick --models AdaptiveAMF,leaves,HAT --delays 0,10 --streams elec2,fried": {},
    "lock": {"REPEATS": 3, "N_CALLS": 20, "SECONDS": 0.1},
    "origins": {},
    "pictures surfaces --to .": {},
    "regression streams speed --streams fried --seeds 1": {"N_TIMED": 20},
    "soak --samples 1000 --forests AdaptiveAMFClassifier": {"PART": 70},
    "soak --samples 1000 --forests AMFRegressor": {"PART": 70},
    "speed streams floor --streams elec2 --quick --csv speed.csv --picture speed.png": {},
    "shuffle --streams elec2 --seeds 1": {},
    "trees --streams elec2 --seeds 1": {"N_TREES": (2,)},
    "words --streams tweets --models river:logistic,dummy --samples 50 --seeds 1": {},
}


@pytest.fixture
def status(monkeypatch, tmp_path):
    """Return the exit status of a script that is run in this process, in a folder with streams."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(1).normal(size=(300, 3))
    for name, target in (("elec2", numbers[:, 0] > 0), ("fried", numbers[:, 0])):
        rows = [f"{a},{b},{c},{y}" for (a, b, c), y in zip(numbers, target, strict=True)]
        with gzip.open(f"{name}.csv.gz", "wt") as file:
            file.write("\n".join(["a,day,c,target", *rows]))

    def run(name, *argv):
        monkeypatch.setattr(sys, "argv", [f"{name}.py"])
        script = importlib.import_module(name)
        with pytest.raises(SystemExit) as ended:
            importlib.import_module("command").run(lambda: script.main(list(argv)))
        return ended.value.code

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_says_what_is_measured(name, status, capsys):
    assert status(name, "--help") == 0
    shown, _ = capsys.readouterr()
    assert importlib.import_module(name).__doc__.strip() in shown
    assert "--data FOLDER" in shown


@pytest.mark.parametrize("name", ["origins", "soak", "tweets"])
def test_examples_in_docstrings(name, status):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > results.failed == 0


@pytest.mark.parametrize("words", TINY)
def test_a_script_starts(words, status, capsys, monkeypatch):
    name, *argv = words.split()
    script = importlib.import_module(name)
    for constant, value in TINY[words].items():
        monkeypatch.setattr(script, constant, value)
    assert status(name, *argv, "--data", ".") in (0, 1)  # 1 if a goal is missed
    out, err = capsys.readouterr()
    assert "error" not in err
    assert "|" in out or "picture" in words or name in ("origins", "pictures")
