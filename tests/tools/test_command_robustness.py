"""The command under attack: out of memory, and with broken streams."""

import io
import os
import subprocess
import sys

import pytest

from river_amf import cli, evaluation
from river_amf.classifier import AMFClassifier

COMMAND = [sys.executable, "-m", "river_amf", "evaluate"]

unix = pytest.mark.skipif(os.name != "posix", reason="a shell and signals of Unix")


@unix
@pytest.mark.parametrize(
    ("redirection", "status"),
    [(">&- 2>&- <&-", "0"), ("2>&1 | true", "141"), (">/dev/full", "2"), ("2>/dev/full", "0")],
)
def test_broken_streams_leave_no_traceback(redirection, status):
    own, _, pipe = redirection.partition("|")
    line = f'exec 3>&1; {{ "$@" 3>&- {own}; echo $? >&3; }}{pipe and "|"}{pipe}'
    command = ["sh", "-c", line, "sh", *COMMAND, "Bananas", "--model", "majority", "--limit", "50"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.split()[-1] == status
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    if status == "2":
        last = done.stderr.replace("\r", "\n").splitlines()[-1].strip()
        assert last == "river-amf: error: cannot write the output: No space left on device"


# Ctrl-C once the command has run for some seconds
STARTING = """
import os, signal, sys, threading
from river_amf.__main__ import run
threading.Timer(float(sys.argv.pop()), os.kill, (os.getpid(), signal.SIGINT)).start()
run()
"""


@unix
@pytest.mark.parametrize("seconds", ["0.02", "0.2", "0.5", "1.0"])
def test_ctrl_c_at_the_start_is_one_line(seconds):
    command = [sys.executable, "-c", STARTING, "evaluate", "Bananas", seconds]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@unix
@pytest.mark.parametrize(
    ("target", "status", "expected"), [("größe", 0, r"gr\xf6\xdfe.csv: 18"), ("γ", 2, r"'\u03b2'")]
)
def test_names_beyond_the_encoding_are_escaped(target, status, expected, tmp_path):
    (tmp_path / "größe.csv").write_text("β,größe\n" + "1,jä\n2,né\n" * 9, encoding="utf-8")
    command = [*COMMAND, "größe.csv", "--target", target, "--model", "majority"]
    options = {"cwd": tmp_path, "env": os.environ | {"PYTHONIOENCODING": "ascii"}}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == status
    assert expected in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_files_are_written_to_the_end_of_a_pipe(monkeypatch, tmp_path):
    class Left(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    path = tmp_path / "table.csv"
    monkeypatch.setattr(sys, "stdout", Left())
    assert (
        cli.main(["compare", "Bananas", "--models", "majority", "--limit", "9", "--csv", str(path)])
        == 141
    )
    assert "majority,9," in path.read_text()


@pytest.mark.parametrize(
    ("place", "name", "message"),
    [(evaluation, "load_stream", ""), (AMFClassifier, "learn_one", "sample 1: ")],
)
def test_lack_of_memory_is_one_line(place, name, message, monkeypatch, run):
    def fail(*_, **__):
        raise MemoryError("Unable to allocate 4 GiB")

    monkeypatch.setattr(place, name, fail)
    last = f"river-amf: error: {message}MemoryError: Unable to allocate 4 GiB"
    assert run("evaluate", "Bananas")[2] == [last]
