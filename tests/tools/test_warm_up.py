"""Everything can be compiled beforehand, and a line says so while it is compiled."""

import logging
import os
import subprocess
import sys

import pytest
from numba.core.registry import cpu_target

import river_amf
from river_amf import cli
from river_amf.kernels.numba_tools import cache

# calls of all kinds, with everything that is compiled only when it is needed
USE = """
import pandas as pd
from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection

X = pd.DataFrame({"a": range(3000), "b": list("rgb") * 1000})
y = [i > 2900 and i % 3 for i in range(3000)]
for model in (
    AMFClassifier(n_estimators=2, seed=1),
    AdaptiveAMFClassifier(n_estimators=2, max_nodes=50, seed=1),
):
    model.learn_many(X, y)
    model.learn_one({"a": 3.5, "b": "x"}, "new", w=2.0)
    model.predict_proba_many(X)
    model.predict_one({"a": 1.0})
    model.debug_one({"a": 1.0})
    inspection.node_table(model)
"""


def run(*arguments, **environment):
    """Run Python and return its output and what it printed on stderr."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return done.stdout, done.stderr


@pytest.mark.soak
def test_warm_up_leaves_nothing_to_compile(tmp_path):
    here = {"NUMBA_CACHE_DIR": str(tmp_path)}
    (output, error), (_, again) = (run("-m", "river_amf", "warm-up", **here) for _ in range(2))
    assert output.startswith("all kernels are compiled, after ")
    assert error.startswith("river-amf: compiling the kernels of the forest, once for this ")
    assert error.count("\n") == 1 and str(tmp_path) in error
    assert again == ""
    compiled = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    assert len(compiled) > 30
    assert run("-c", USE, **here)[1] == ""
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == compiled


@pytest.mark.parametrize(("folder", "status"), [("here", 0), (None, 1)])
def test_command_prints_where_kernels_are_kept(folder, status, monkeypatch, capsys):
    river_amf.warm_up()  # otherwise it may have to compile them
    monkeypatch.setattr(cache, "FOLDER", folder)
    assert cli.main(["warm-up"]) == status
    output, error = capsys.readouterr()
    assert output.startswith("all kernels are compiled, after ") and error == ""
    assert output.endswith("kept in here\n" if folder else "as no folder can be written\n")


def load_nothing():
    """Look for code that is not there, twice."""
    for _ in range(2):
        kernel = cache.KernelCache(load_nothing)
        assert kernel.load_overload((), cpu_target.target_context) is None


def test_first_compilation_is_logged(monkeypatch, caplog):
    monkeypatch.setattr(cache, "_reported", set())
    caplog.set_level(logging.DEBUG, "river_amf.kernels")
    load_nothing()
    assert [record.levelname for record in caplog.records] == ["INFO", "DEBUG", "DEBUG"]
    assert f"kept in {cache.FOLDER}" in caplog.messages[0]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_without_a_log_a_terminal_shows_it_once(is_terminal, monkeypatch, capsys):
    monkeypatch.setattr(cache, "_reported", set())
    monkeypatch.setattr(cache, "_LOGGER", logging.getLogger("of no command"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    load_nothing()
    error = capsys.readouterr().err
    assert error.count("river_amf: compiling the kernels of the forest, once for") == is_terminal


# in the midst of it, an exception would make Numba fail or crash at the next compilation
INTERRUPTED = """
import itertools
import signal
from river_amf import AMFClassifier

signal.signal(signal.SIGALRM, signal.default_int_handler)
model = AMFClassifier(n_estimators=2, seed=1)
for n_interrupts in itertools.count():
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        model.learn_one({"a": 1.0}, True)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        break
    except KeyboardInterrupt:
        continue
model.learn_one({"a": 2.0}, False)
print(n_interrupts > 3, 2 <= model.n_samples <= 2 + n_interrupts)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs timers that send signals")
def test_interrupts_while_compiling(tmp_path):
    assert run("-c", INTERRUPTED, NUMBA_CACHE_DIR=str(tmp_path)) == ("True True\n", "")
