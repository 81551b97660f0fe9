"""Everything can be compiled beforehand, and a line says so while it is compiled."""

import logging
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future

import numba
import pytest
from numba.core.registry import cpu_target

import river_amf
from river_amf import cli
from river_amf.kernels.numba_tools import cache, halfway, progress

# calls of all kinds
USE = """
import pandas as pd
from river_amf import AdaptiveAMFClassifier, AMFClassifier, inspection

X = pd.DataFrame({"a": range(3000), "b": list("rgb") * 1000})
y = [i > 2900 and i % 3 for i in range(3000)]
for model in (AMFClassifier(n_estimators=2), AdaptiveAMFClassifier(n_estimators=2, max_nodes=50)):
    model.learn_many(X, y)
    model.learn_one({"a": 3.5, "b": "x"}, "new", w=2.0)
    model.predict_proba_many(X)
    model.debug_one({"a": 1.0})
    model.novelty_one({"a": 1.0})
    inspection.node_table(model)
"""

DIGESTS = """
import hashlib, io
import pandas as pd
from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier

X, y = pd.DataFrame({"a": range(900), "b": list("rgb") * 300}), [k % 7 for k in range(900)]
for model in (AMFClassifier(seed=1), AdaptiveAMFClassifier(seed=1), AdaptiveAMFRegressor(seed=1)):
    model.learn_many(X, y)
    model.save(file := io.BytesIO())
    print(model.predict_many(X).to_list(), hashlib.sha256(file.getvalue()).hexdigest())
"""


def run(*arguments, **environment):
    options = {"capture_output": True, "text": True, "check": True, "timeout": 300}
    done = subprocess.run([sys.executable, *arguments], env=os.environ | environment, **options)
    return done.stdout, done.stderr


@pytest.mark.soak
def test_warm_up_compiles_everything(tmp_path):
    here = {"NUMBA_CACHE_DIR": str(tmp_path)}
    (output, error), (_, again) = (run("-m", "river_amf", "warm-up", **here) for _ in range(2))
    assert output.startswith("all kernels are compiled, after ")
    assert error.startswith("river-amf: compiling the kernels of the forest, once for this ")
    assert error.count("\n") == 1 and str(tmp_path) in error and again == ""
    files = {*tmp_path.rglob("*.nb?")}
    assert len(files) > 30 and run("-c", USE, **here)[1] == ""
    assert {*tmp_path.rglob("*.nb?")} == files


@pytest.mark.soak
def test_forest_is_the_same_in_both_ways(tmp_path):
    assert halfway.IS_ON, f"list Numba {numba.__version__} in halfway.py, if this passes with it"
    ways = {}, {"RIVER_AMF_ORDINARY_COMPILER": "1"}
    halfway_made, ordinary = (run("-c", DIGESTS, NUMBA_CACHE_DIR=str(tmp_path), **w) for w in ways)
    assert halfway_made == ordinary and ordinary[0].count("\n") == 3


@pytest.mark.parametrize(("folder", "status"), [("here", 0), (None, 1)])
def test_warm_up_prints_where_kernels_are_kept(folder, status, monkeypatch, capsys):
    river_amf.warm_up()  # otherwise it may have to compile
    monkeypatch.setattr(cache, "FOLDER", folder)
    assert cli.main(["warm-up"]) == status
    output = capsys.readouterr().out
    assert output.endswith("kept in here\n" if folder else "as no folder can be written\n")


@pytest.mark.parametrize("is_interactive", [False, True])
@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("level", [logging.DEBUG, logging.WARNING])
def test_compiling_is_shown_once(level, is_terminal, is_interactive, monkeypatch, caplog, capsys):
    progress.announce.cache_clear()
    caplog.set_level(level, "river_amf.kernels")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    if is_interactive:
        monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    kernel = cache.KernelCache(run)  # of which there is no compiled code
    assert [kernel.load_overload((), cpu_target.target_context) for _ in range(2)] == [None, None]
    is_logged = level == logging.DEBUG
    assert [r.levelname for r in caplog.records] == ["INFO", "DEBUG", "DEBUG"] * is_logged
    threading.Timer(0.7, (result := Future()).set_result, [None]).start()
    progress.show(result, lambda: 0.25)
    printed = capsys.readouterr().err
    assert printed.count("river_amf: compiling the kernels") == (is_interactive and not is_logged)
    assert (" 25%|" in printed) == (is_interactive or (is_terminal and is_logged))


# an exception in the midst of LLVM could crash the process at the next compilation
INTERRUPTED = """
import itertools, signal
from contextlib import suppress
from river_amf import AMFClassifier

signal.signal(signal.SIGALRM, signal.default_int_handler)
model = AMFClassifier(n_estimators=2, seed=1)
for n_interrupts in itertools.count():
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    with suppress(KeyboardInterrupt):
        model.learn_one({"a": 1.0}, True)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        break
model.learn_one({"a": 2.0}, False)
print(n_interrupts > 3, 2 <= model.n_samples <= 2 + n_interrupts)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs timers that send signals")
def test_compiling_survives_interrupts(tmp_path):
    assert run("-c", INTERRUPTED, NUMBA_CACHE_DIR=str(tmp_path)) == ("True True\n", "")


@pytest.mark.skipif(os.name != "posix", reason="needs os.kill")
def test_ctrl_c_while_compiling_ends_command(tmp_path):
    command = [sys.executable, "-m", "river_amf", "evaluate", "Bananas"]
    here = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=here, **quiet) as process:
        assert "compiling the kernels" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=300)
    assert (process.returncode, error) == (130, "interrupted\n")
    assert not [*tmp_path.rglob("*.nb?")]  # it ends before even the first kernel is compiled


FORKED = """
import os, threading, time
import numba
from numba.core.compiler_lock import global_compiler_lock
from river_amf import AMFClassifier

def compile_slowly():
    with global_compiler_lock:
        has_begun.set()
        time.sleep(0.3)

has_begun = threading.Event()
threading.Thread(target=compile_slowly).start()
has_begun.wait()
if child := os.fork():
    print(os.waitpid(child, 0)[1])
else:
    os._exit(numba.njit(lambda x: x + 1)(-1))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_child_forked_while_compiling_compiles():
    assert run("-c", FORKED)[0] == "0\n"
