"""The command under attack: interrupted, cut off, out of memory, and given what makes no sense."""

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
DUMMY = ["evaluate", "--model", "majority", "--limit", "50"]

unix = pytest.mark.skipif(os.name != "posix", reason="a shell and signals of Unix")


def end(arguments, capsys):
    """Run in this process what ends in an error, and return its status and its last line."""
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    return raised.value.code, capsys.readouterr().err.splitlines()[-1]


# The process


def test_the_process_ends_with_the_status_of_the_command(monkeypatch):
    class Ended(SystemExit):
        """At once, without waiting for a kernel that is being compiled."""

    def leave(status):
        raise Ended(status)

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "_exit", leave)
    ends = [(lambda: 1, 1, SystemExit), (lambda: sys.exit(2), 2, SystemExit)]
    for main, status, kind in [*ends, (lambda: 143, 143, Ended), (interrupt, 130, Ended)]:
        monkeypatch.setattr(process, "main", main)
        with pytest.raises(kind) as raised:
            process.run()
        assert (raised.value.code, type(raised.value)) == (status, kind)


# Streams that are closed, full or of another script


@unix
@pytest.mark.parametrize(
    ("redirection", "status"),
    [
        (">&- 2>&- <&-", "0"),
        ("2>&1 | true", "141"),
        (">/dev/full", "2"),
        ("2>/dev/full", "0"),
    ],
)
def test_streams_that_fail_leave_no_traceback(redirection, status, tmp_path):
    redirected = redirection.replace("|", '; echo $? >"$STATUS"; } |')
    line = f'{{ "$@" {redirected}' + ("" if "|" in redirection else '; echo $? >"$STATUS"; }')
    environment = os.environ | {"STATUS": str(tmp_path / "status")}
    command = ["sh", "-c", line, "sh", *COMMAND, *DUMMY]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (tmp_path / "status").read_text().strip() == status
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    if status == "2":
        last = done.stderr.replace("\r", "\n").splitlines()[-1].strip()
        assert last == "river-amf: error: cannot write the output: No space left on device"


@unix
def test_names_that_the_terminal_cannot_print_are_escaped(tmp_path):
    (tmp_path / "größe.csv").write_text("β,größe\n" + "1,jä\n2,né\n" * 9, encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    for target, status, expected in [("größe", 0, r"gr\xf6\xdfe.csv: 18"), ("γ", 2, r"'\u03b2'")]:
        arguments = ["evaluate", "größe.csv", "--target", target, "--model", "majority"]
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, env=environment, capture_output=True, timeout=300
        )
        assert done.returncode == status
        assert expected in (done.stdout + done.stderr).decode("ascii")
        assert b"Traceback" not in done.stderr


def test_files_are_written_even_if_nobody_reads_the_table(monkeypatch, tmp_path, capsys):
    class Left(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    path = tmp_path / "table.csv"
    monkeypatch.setattr(sys, "stdout", Left())
    assert cli.main(["compare", "--models", "majority", "--limit", "9", "--csv", str(path)]) == 141
    assert "majority,9," in path.read_text()


# Memory


def refuse(*_, **__):
    raise MemoryError("Unable to allocate 4 GiB")


def test_a_stream_too_large_for_the_memory_is_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(evaluation, "load_stream", refuse)
    status, line = end(["evaluate"], capsys)
    assert status == 2
    assert line.startswith("river-amf: error: out of memory: Unable to allocate 4 GiB; --limit")
    monkeypatch.undo()

    def parse(*_, **__):
        raise table_files.pd.errors.ParserError("Error tokenizing data. C error: out of memory")

    path = tmp_path / "large.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setattr(table_files.pd, "read_csv", parse)
    status, line = end(["compare", str(path), "--models", "majority"], capsys)
    assert f"out of memory: cannot read {path}; --limit" in line


def test_a_model_too_large_for_the_memory_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(AMFClassifier, "learn_one", refuse)
    status, line = end(["evaluate", "--limit", "5"], capsys)
    assert status == 2
    assert line.startswith("river-amf: error: sample 1: MemoryError: Unable to allocate 4 GiB; ")
    assert "--n-estimators grows fewer trees" in line


# Errors that nobody has thought of


def test_an_unknown_error_is_one_line_that_reports_how_to_see_more(monkeypatch, capsys):
    def fail(*_, **options):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(evaluation, "load_stream", fail)
    status, line = end(["evaluate"], capsys)
    assert status == 2
    assert line.startswith("river-amf: error: RuntimeError: two lines; ")
    assert "python -X dev" in line
    monkeypatch.setattr(sys, "flags", type("Flags", (), {"dev_mode": True}))
    with pytest.raises(RuntimeError, match="two"):
        cli.main(["evaluate"])
