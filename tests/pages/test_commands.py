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


def text_of(path):
    """Return the text of a page between its tags."""
    return re.sub("<[^<>]*>", "", path.read_text(encoding="utf-8"))


def models_of(path):
    """Return the first cells of the rows of the table of results."""
    table = path.read_text(encoding="utf-8").partition("<tbody>")[2].partition("</tbody>")[0]
    return [re.sub("<.*?>", "", cell) for cell in re.findall(r"<th>(.*?)</th>", table)]


def test_evaluate_writes_a_page(run, tmp_path):
    page, csv = tmp_path / "page.html", tmp_path / "predictions.csv"
    options = ["evaluate", "Bananas", "--limit", 400, "--seed", 1]
    _, plain, _ = run(*options)
    status, output, _ = run(*options, "--html", page, "--predictions", csv)
    assert status == 0
    for line, other in zip(plain.splitlines(), output.splitlines(), strict=True):
        assert line.split()[:3] == other.split()[:3]
    assert models_of(page) == ["adaptive", "last-class", "majority"]
    assert len(csv.read_text().splitlines()) == 401
    assert output.split()[-5] in text_of(page)  # the accuracy
    run("evaluate", "Bananas", "--limit", 100, "--model", "majority", "--html", page)
    assert models_of(page) == ["majority", "last-class"]
    run("evaluate", "TrumpApproval", "--limit", 300, "--seed", 1, "--html", page)
    assert models_of(page) == ["adaptive", "last-value", "mean"]


def test_compare_writes_a_page(run, tmp_path):
    page, csv = tmp_path / "page.html", tmp_path / "table.csv"
    options = ["--models", "amf,gaussian-nb", "--limit", 300, "--seed", 1, "--window", 50]
    status, output, _ = run("compare", "Bananas", *options, "--html", page, "--csv", csv)
    assert status == 0
    names = ["amf", "gaussian-nb", "last-class", "majority"]
    assert models_of(page) == names
    assert [line.split(",")[0] for line in csv.read_text().splitlines()] == ["model", *names]
    assert [line.split()[0] for line in output.splitlines()[1:]] == ["model", *names]
    assert "over the last 50 samples" in text_of(page)


@pytest.mark.parametrize("options", [["evaluate", "--model"], ["compare", "--models"]])
def test_interrupted_run_has_a_page_until_then(run, tmp_path, monkeypatch, options):
    learn, pressed = TestThenTrain._learn, []

    def interrupted(self, *sample):
        learn(self, *sample)
        if self.n_samples == 150 and self._on_learned is not None and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TestThenTrain, "_learn", interrupted)
    page = tmp_path / "page.html"
    assert run(*options, "gaussian-nb", "--html", page)[0] == 130
    assert "<td>interrupted after 150 samples</td>" in page.read_text(encoding="utf-8")
    assert models_of(page) == ["gaussian-nb", "last-class", "majority"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "--html", "no/such/folder/page.html"], "cannot write the page to no/such"),
        (["compare", "--html", "no/such/folder/page.html"], "cannot write the page to no/such"),
        (["evaluate", "--html", "a", "--predictions", "a"], "would both write to a"),
        (["compare", "--html", "a", "--csv", "a"], "would both write to a"),
        (["evaluate", "--html", "page.html"], '(the extra html): pip install "plotly>=6"'),
        (["compare", "--html", "page.html"], '(the extra html): pip install "plotly>=6"'),
    ],
)
def test_pages_that_cannot_be_written(run, arguments, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if "plotly" in message:
        monkeypatch.setitem(sys.modules, "plotly", None)
    status, output, line = run(*arguments)
    assert (status, output) == (2, "")
    assert message in line
    assert not [*tmp_path.iterdir()]
