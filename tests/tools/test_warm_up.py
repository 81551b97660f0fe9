"""Everything can be compiled beforehand, and whoever waits for it is told."""

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
COUNTED = f"""
from river_amf import warm_up
from river_amf.kernels.numba_tools.compilation import _KERNELS

def counts():
    return {{str(kernel): len(kernel.overloads) for kernel in _KERNELS}}

warm_up()
before = counts()
{USE}
assert counts() == before and set(before.values()) == {{1}}, (before, counts())
"""


def test_after_warming_up_no_kernel_is_compiled_for_other_types():
    run = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.soak
def test_after_warming_up_nothing_is_compiled_any_more(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def run(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

    first, second = (run("-m", "river_amf", "warm-up") for _ in range(2))
    assert first.stdout.startswith("all kernels are compiled, after ")
    assert first.stderr.startswith("river-amf: compiling the kernels of the forest takes about ")
    assert first.stderr.count("\n") == 1 and str(tmp_path) in first.stderr
    assert second.stderr == ""
    compiled = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    assert len(compiled) > 40
    assert run("-c", USE).stderr == ""
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == compiled


def test_the_command_says_where_the_kernels_are(capsys):
    river_amf.warm_up()  # otherwise it may have to compile them
    assert cli.main(["warm-up"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("all kernels are compiled, after ")
    assert told.err == ""


def test_the_first_kernel_that_is_compiled_is_logged_with_a_reason(monkeypatch, caplog):
    monkeypatch.setattr(cache, "_said", set())
    caplog.set_level(logging.DEBUG, "river_amf.kernels")
    target = cpu_target.target_context
    for _ in range(2):
        assert cache.KernelCache(len, ["here"]).load_overload((), target) is None
    levels = [record.levelname for record in caplog.records]
    assert levels == ["INFO", "DEBUG", "DEBUG"]
    assert "kept in here" in caplog.messages[0]


def test_without_a_log_it_is_said_once_where_there_is_a_terminal(monkeypatch, capsys):
    target = cpu_target.target_context
    for is_terminal in (False, True):
        monkeypatch.setattr(cache, "_said", set())
        monkeypatch.setattr(sys.stderr, "isatty", lambda there=is_terminal: there)
        for _ in range(2):
            cache.KernelCache(len, ["here"]).load_overload((), target)
        error = capsys.readouterr().err
        assert error.count("river_amf: compiling the kernels of the forest takes") == is_terminal


INTERRUPTED = """
import itertools
import signal
from river_amf import AMFClassifier

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


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX has timers that send signals")
def test_interrupts_do_not_keep_anything_from_being_compiled(tmp_path):
    # Numba would lose what it was about to take note of
    handler = "import signal\nsignal.signal(signal.SIGALRM, signal.default_int_handler)"
    run = subprocess.run(
        [sys.executable, "-c", handler + INTERRUPTED],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (run.stderr, run.stdout) == ("", "True True\n")


FORKED = """
import os
import threading
from river_amf import AMFClassifier, kernels

def learn():
    AMFClassifier(n_estimators=2, seed=1).learn_one({"a": 1.0}, True)

thread = threading.Thread(target=kernels.warm_up)
thread.start()
while not kernels.are_in_use():
    pass
child = os.fork()
learn()
if child:
    thread.join()
    print(os.waitpid(child, 0)[1])
"""


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_forked_while_another_thread_compiles_can_compile(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FORKED],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.stderr, run.stdout) == ("", "0\n")
