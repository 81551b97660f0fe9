"""The command under attack: interrupted, cut off, out of memory, and with broken streams."""

import io
import os
import subprocess
import sys

import pytest

from river_amf import __main__ as process
from river_amf import cli, evaluation
from river_amf.classifier import AMFClassifier
from river_amf.evaluation import table_files

COMMAND = [sys.executable, "-m", "river_amf"]

unix = pytest.mark.skipif(os.name != "posix", reason="a shell and signals of Unix")


def test_process_ends_with_the_status_of_the_command(monkeypatch):
    class Ended(SystemExit):
        """At once, without waiting for a kernel that is being compiled."""

    def leave(status):
        raise Ended(status)

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(process.signal, "signal", print)
    ends = [(lambda: 1, 1, SystemExit), (lambda: sys.exit(2), 2, SystemExit)]
    for main, status, kind in [*ends, (lambda: 143, 143, Ended), (interrupt, 130, Ended)]:
        monkeypatch.setattr(process, "main", main)
        with pytest.raises(kind) as raised:
            process.run()
        assert (raised.value.code, type(raised.value)) == (status, kind)


@unix
@pytest.mark.parametrize(
    ("redirection", "status"),
    [(">&- 2>&- <&-", "0"), ("2>&1 | true", "141"), (">/dev/full", "2"), ("2>/dev/full", "0")],
)
def test_streams_that_fail_leave_no_traceback(redirection, status, tmp_path):
    redirected = redirection.replace("|", '; echo $? >"$STATUS"; } |')
    line = f'{{ "$@" {redirected}' + ("" if "|" in redirection else '; echo $? >"$STATUS"; }')
    environment = os.environ | {"STATUS": str(tmp_path / "status")}
    command = [*COMMAND, "evaluate", "--model", "majority", "--limit", "50"]
    command = ["sh", "-c", line, "sh", *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (tmp_path / "status").read_text().strip() == status
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    if status == "2":
        last = done.stderr.replace("\r", "\n").splitlines()[-1].strip()
        assert last == "river-amf: error: cannot write the output: No space left on device"


@unix
@pytest.mark.parametrize(
    ("target", "status", "expected"), [("größe", 0, r"gr\xf6\xdfe.csv: 18"), ("γ", 2, r"'\u03b2'")]
)
def test_names_beyond_the_encoding_are_escaped(target, status, expected, tmp_path):
    (tmp_path / "größe.csv").write_text("β,größe\n" + "1,jä\n2,né\n" * 9, encoding="utf-8")
    command = [*COMMAND, "evaluate", "größe.csv", "--target", target, "--model", "majority"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == status
    assert expected in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_files_are_written_though_the_table_is_not_read(monkeypatch, tmp_path):
    class Left(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    path = tmp_path / "table.csv"
    monkeypatch.setattr(sys, "stdout", Left())
    assert cli.main(["compare", "--models", "majority", "--limit", "9", "--csv", str(path)]) == 141
    assert "majority,9," in path.read_text()


def test_lack_of_memory_is_one_line(monkeypatch, tmp_path, run):
    def refuse(*_, **__):
        raise MemoryError("Unable to allocate 4 GiB")

    def parse(*_, **__):
        raise table_files.pd.errors.ParserError("Error tokenizing data. C error: out of memory")

    start, advice = "river-amf: error: ", "; --limit reads fewer samples, --n-estimators grows "
    path = tmp_path / "large.csv"
    path.write_text("a,b\n1,2\n")
    for place, name, fault, message in (
        (evaluation, "load_stream", refuse, "out of memory: Unable to allocate 4 GiB"),
        (AMFClassifier, "learn_one", refuse, "sample 1: MemoryError: Unable to allocate 4 GiB"),
        (table_files.pd, "read_csv", parse, f"out of memory: cannot read {path}"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, fault)
            arguments = [path] if fault is parse else ["--limit", 5]
            assert run("evaluate", *arguments)[2][-1].startswith(start + message + advice)


def test_unknown_error_is_one_line(monkeypatch, run):
    def fail(*_, **options):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(evaluation, "load_stream", fail)
    _, _, (line,) = run("evaluate")
    assert line.startswith("river-amf: error: RuntimeError: two lines; ")
    assert "python -X dev" in line
    monkeypatch.setattr(sys, "flags", type("Flags", (), {"dev_mode": True}))
    with pytest.raises(RuntimeError, match="two"):
        cli.main(["evaluate"])
