"""Pages that the command writes, and what it refuses."""

import re
import signal
import sys

import pytest

from river_amf import cli
from river_amf.evaluation.prequential import TestThenTrain

pytestmark = pytest.mark.slow


@pytest.fixture
def run(capsys):
    """Run the command; return its status, its output, and the last line on stderr."""

    def run_command(*arguments):
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as error:
            status = error.code
        output, error = capsys.readouterr()
        assert "Traceback" not in error
        return status, output, error.strip().splitlines()[-1].split("\r")[-1] if error else ""

    return run_command


def cells_of(path):
    """Return the first cells of the rows of the table of results."""
    table = path.read_text(encoding="utf-8").partition("<tbody>")[2].partition("</tbody>")[0]
    return re.findall(r"<tr><th>(.*?)</th>", table)


def without_times(output):
    """Return the cells of the lines, but for that of the time."""
    return [[*cells[:3], *cells[4:]] for cells in map(str.split, output.splitlines())]


def test_evaluate_writes_the_page_of_its_model(run, tmp_path):
    page, csv = tmp_path / "page.html", tmp_path / "said.csv"
    options = ["--limit", 400, "--seed", 1, "--model", "adaptive"]
    status, plain, _ = run("evaluate", "Bananas", *options)
    assert status == 0
    status, output, _ = run("evaluate", "Bananas", *options, "--html", page, "--predictions", csv)
    assert status == 0
    assert without_times(output) == without_times(plain)
    assert cells_of(page) == ["adaptive", "last-class", "majority"]
    assert len(csv.read_text().splitlines()) == 401
    last = output.splitlines()[-1].split()
    assert f">{last[1]}<" in page.read_text(encoding="utf-8")


def test_evaluate_of_a_floor_or_of_numbers(run, tmp_path):
    page = tmp_path / "page.html"
    run("evaluate", "Bananas", "--limit", 100, "--model", "majority", "--html", page)
    assert cells_of(page) == ["majority", "last-class"]
    status, _, _ = run("evaluate", "TrumpApproval", "--limit", 300, "--seed", 1, "--html", page)
    assert status == 0
    assert cells_of(page) == ["adaptive", "last-value", "mean"]


def test_compare_writes_the_page_of_all_models(run, tmp_path):
    page, csv = tmp_path / "page.html", tmp_path / "table.csv"
    options = ["--models", "amf,gaussian-nb", "--limit", 300, "--seed", 1, "--window", 50]
    status, output, _ = run("compare", "Bananas", *options, "--html", page, "--csv", csv)
    assert status == 0
    names = ["amf", "gaussian-nb", "last-class", "majority"]
    assert cells_of(page) == names
    assert [line.split(",")[0] for line in csv.read_text().splitlines()] == ["model", *names]
    assert [line.split()[0] for line in output.splitlines()[1:]] == ["model", *names]
    assert "over the last 50 samples" in page.read_text(encoding="utf-8")


def test_a_run_that_is_interrupted_is_shown_as_far_as_it_went(run, tmp_path, monkeypatch):
    learn = TestThenTrain._learn
    pressed = []

    def interrupted(self, *sample):
        learn(self, *sample)
        if self.n_samples == 150 and self._on_learned is not None and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TestThenTrain, "_learn", interrupted)
    page = tmp_path / "page.html"
    status, _, line = run("evaluate", "Bananas", "--model", "gaussian-nb", "--html", page)
    assert (status, line) == (130, "interrupted after 150 samples")
    text = page.read_text(encoding="utf-8")
    assert "<td>interrupted after 150 samples</td>" in text
    assert cells_of(page) == ["gaussian-nb", "last-class", "majority"]
    page.unlink()
    pressed.clear()
    status, _, _ = run("compare", "Bananas", "--models", "gaussian-nb", "--html", page)
    assert status == 130
    assert "<td>interrupted after 150 samples</td>" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "--track", "bundled", "--html", "page.html"], "cannot be combined with"),
        (["evaluate", "--html", "no/such/folder/page.html"], "cannot write the page to no/such"),
        (["compare", "--html", "no/such/folder/page.html"], "cannot write the page to no/such"),
        (["evaluate", "--html", "a", "--predictions", "a"], "would both write to a"),
        (["compare", "--html", "a", "--csv", "a"], "would both write to a"),
    ],
)
def test_pages_that_cannot_be_written_are_reported_before_the_run(run, arguments, message):
    status, output, line = run(*arguments)
    assert (status, output) == (2, "")
    assert message in line


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_without_plotly_the_command_reports_what_to_install(run, command, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "plotly", None)
    path = tmp_path / "page.html"
    status, output, line = run(command, "--html", path)
    assert (status, output) == (2, "")
    assert line.endswith('--html needs plotly (the extra html): pip install "plotly>=6"')
    assert not path.exists()
