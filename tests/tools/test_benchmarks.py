"""The scripts of tests/benchmarks start, explain themselves and measure something tiny."""

import doctest
import gzip
import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from river_amf import AMFClassifier, AMFRegressor

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPTS = sorted(
    path.stem for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)

# a stream of its folder, or one that needs no file; and what makes a script quick
TINY = {
    "drift --table": {},
    "drift --picture drift.png": {},
    "late --models AdaptiveAMF,leaves,HAT --delays 0,10 --streams elec2,fried": {"ROWS": 100},
    "lock": {"SECONDS": 0.1},
    "origins": {},
    "regression --streams fried --seeds 1": {},
    "soak --samples 1000 --forests AdaptiveAMFClassifier": {"PART": 70},
    "soak --samples 1000 --forests AMFRegressor": {"PART": 70},
    "speed --streams elec2": {"REPEATS": 1, "OTHERS": 1, "CALLS": 100},
    "whole_streams --streams electricity,bike --seeds 1 --trees 2": {"BLOCK": 100},
    "shuffle --streams elec2 --seeds 1": {},
    "words --streams tweets --models river:logistic,majority --samples 50 --seeds 1": {},
}


@pytest.fixture
def status(monkeypatch, tmp_path):
    """Return the exit status of a script that is run in this process, in a folder with streams."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(1).normal(size=(300, 3))
    for name, target in (("elec2", numbers[:, 0] > 0), ("fried", numbers[:, 0])):
        rows = [f"{a},{b % 7:.0f},{c},{y}" for (a, b, c), y in zip(numbers, target, strict=True)]
        with gzip.open(f"{name}.csv.gz", "wt") as file:
            file.write("\n".join(["a,day,c,target", *rows]))

    names = np.array(["a", "b", "c"])
    np.savez("bike.npz", X=numbers, y=numbers[:, 0], feature_names=names, target_name="y")

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


@pytest.mark.parametrize("name", ["origins", "soak", "words"])
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
    assert "|" in out or "picture" in words or name == "origins"


@pytest.mark.usefixtures("status")
def test_whole_streams_are_scored_row_by_row(monkeypatch):
    script = importlib.import_module("whole_streams")
    monkeypatch.setattr(script, "BLOCK", 100)
    found = script.find(Path(), script.read_published())
    figures = script.run_classifier(AMFClassifier(2, seed=1), found["electricity"])
    model, losses, hits, repeats, last = AMFClassifier(2, seed=1), [], [], [], None
    for x, y in rows_of(script.blocks_of(found["electricity"])):
        proba = model.predict_proba_one(x)
        losses.append(-math.log(max(proba.get(y, 0.0), 1e-7)))
        hits.append(model.predict_one(x) == y)
        repeats.append(y == last)
        last = y
        model.learn_one(x, y)
    accuracy, floor = np.mean(hits), np.mean(repeats)
    kappa = (accuracy - floor) / (1 - floor)
    expected = [np.mean(losses), accuracy, kappa, 300, floor]
    assert [*figures.values()] == pytest.approx(expected, rel=1e-12)

    figures = script.run_regressor(AMFRegressor(2, seed=1), found["bike"])
    model, errors, means, seen = AMFRegressor(2, seed=1), [], [], []
    for x, y in rows_of(script.blocks_of(found["bike"])):
        errors.append((y - model.predict_one(x)) ** 2)
        means.append((y - np.mean(seen or [0.0])) ** 2)
        seen.append(y)
        model.learn_one(x, y)
    rmse, floor = np.sqrt([np.mean(errors), np.mean(means)])
    expected = [rmse, 1 - (rmse / floor) ** 2, 300, floor]
    assert [*figures.values()] == pytest.approx(expected, rel=1e-9)


def rows_of(blocks):
    for X, y in blocks:
        yield from zip(X.to_dict("records"), y.tolist(), strict=True)
