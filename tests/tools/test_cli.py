"""The command: what it prints of streams and files, how it ends, and what it refuses."""

from __future__ import annotations

import errno
import random
import re
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from losses import log_loss
from river import evaluate, metrics
from river.dummy import PriorClassifier

import river_amf
from river_amf import AdaptiveAMFClassifier, cli, evaluation
from river_amf.classifier import AMFClassifier
from river_amf.evaluation.runs import Run

COMMAND = [sys.executable, "-m", "river_amf"]


def rows_of(output):
    """Return the lines before a table, and its rows: the first cell -> column -> text."""
    lines = [re.sub(r" ([KMG]?i?B)\b", r"_\1", line).split() for line in output.splitlines()]
    at = next(i for i, cells in enumerate(lines) if "us/sample" in cells)
    titles = lines[at] if "status" in lines[at] else lines[at][1:]
    named = [(cells[0], cells[1 : len(titles) + 1]) for cells in lines[at + 1 :]]
    rows = {name: dict(zip(titles, cells, strict=True)) for name, cells in named}
    return output.splitlines()[:at], rows


PRICES = "size,color,price\n" + "".join(
    f"{i * 37 % 100 / 10},{'red' if i % 3 else 'tan'},{i * 37 % 100 + 5 * (i % 3)}.5\n"
    for i in range(200)
)
CHURN = "id,plan,months,since,churn\n" + "".join(
    f"u{i},{'ab'[i % 2]},{i * 7 % 50},2024-05-{i % 28 + 1:02},"
    f"{'' if i % 11 == 5 else 'yes' if i * 7 % 50 > 30 else 'no'}\n"
    for i in range(300)
)

# evaluate


def test_evaluate_prints_the_figures_of_river(run):
    options = ["--limit", 230, "--seed", 7, "--n-estimators", 3, "--metrics", "macrof1, Accuracy"]
    _, output, _ = run("evaluate", "ImageSegments", *options)
    titles, rows = rows_of(output)
    assert titles[0].startswith("target: ") and titles[0].endswith("features: 18 numbers")
    described = "ImageSegments: 230 samples; AdaptiveAMFClassifier(n_estimators=3, seed=7)"
    assert titles[1:] == [described]
    assert list(rows) == [*map(str, range(20, 221, 20)), "230", "majority"]
    stream = evaluation.load_stream("ImageSegments", limit=230)
    model = AdaptiveAMFClassifier(n_estimators=3, seed=7)
    assert rows["230"]["log-loss"] == f"{log_loss(model, stream):.4f}"
    for column, metric in (("accuracy", metrics.Accuracy()), ("MacroF1", metrics.MacroF1())):
        model = AdaptiveAMFClassifier(n_estimators=3, seed=7)
        expected = evaluate.progressive_val_score(stream, model, metric).get()
        assert rows["230"][column] == f"{expected:.4f}"
    expected = evaluate.progressive_val_score(stream, PriorClassifier(), metrics.Accuracy()).get()
    assert rows["majority"]["accuracy"] == f"{expected:.4f}"


def test_first_line_shows_what_was_understood(run, write):
    _, output, lines = run("evaluate", write(CHURN), "--drop", "id")
    assert lines == []
    assert output.splitlines()[:2] == [
        "target 'churn': 2 labels (no 170, yes 103); features: 1 category, 1 number, 1 date;"
        " 27 rows without a target skipped",
        "table.csv: 273 samples; AdaptiveAMFClassifier(seed=1)",
    ]
    _, _, (line,) = run("evaluate", write(CHURN))
    assert line.startswith("river-amf: table.csv: column 'id': 273 distinct texts, nearly all")
    _, output, _ = run("evaluate", write("a,rings\n" + "1,7\n2,8\n3,9\n" * 9))
    assert output.splitlines()[1] == "--task regression predicts these labels as numbers"


@pytest.mark.parametrize("name", ["amf", "knn"])
def test_evaluate_of_numbers(name, run, write):
    path = write(PRICES)
    _, output, _ = run("evaluate", path, "--model", name, "--metrics", "MAPE")
    titles, rows = rows_of(output)
    assert titles[:2] == [
        "target 'price': numbers from 0.5 to 106.5; features: 1 number, 1 category",
        "--task classification takes these numbers as labels",
    ]
    table = evaluation.compare(path, name, seed=1).table
    for each, row in ((name, "200"), ("mean", "mean"), ("last-value", "last-value")):
        for metric in ("MAE", "RMSE"):
            assert float(rows[row][metric]) == pytest.approx(table[metric][each], rel=1e-4)
    assert ("coverage" in rows["200"]) == (name == "amf")


def test_two_runs_agree(run, tmp_path):
    for name in "ab":
        assert run("evaluate", "--limit", 300, "--predictions", tmp_path / name)[0] == 0
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


def test_missing_marker_of_dashes(run, write):
    path = write(
        "a,y\n" + "".join(f"{'--' if i % 3 else i / 2},{'xy'[i % 2]}\n" for i in range(60))
    )
    for markers in ("--", "--,-"):
        _, output, lines = run("evaluate", path, f"--missing={markers}")
        assert "features: 1 number" in output and lines == []


@pytest.mark.parametrize("separator", ["\t", "\\t", "tab"])
def test_options_of_files_are_those_of_load_stream(separator, run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("# ö\n1;2\t-9\t1.001,5\tgröß\n3\tx;y\t0,5\tja\n".encode("latin-1"))
    options = ["--separator", separator, "--encoding", "latin-1", "--no-header", "--missing=-9"]
    options += ["--decimal", ",", "--thousands", ".", "--comment", "#", "--categorical", "1"]
    status, output, lines = run("evaluate", path, *options)
    assert (status, lines) == (0, [])
    assert output.startswith(
        "target '3': 2 labels (größ 1, ja 1); features: 2 categories, 1 number"
    )


# compare


def test_compare_prints_the_figures_of_a_comparison(run, write, tmp_path):
    path, models = tmp_path / "results.csv", ["amf", "gaussian-nb", "last-class"]
    options = ["--limit", 230, "--seed", 7, "--metrics", "macrof1", "--csv", path]
    status, output, lines = run("compare", "ImageSegments", "--models", ",".join(models), *options)
    assert (status, lines) == (0, [f"wrote the table to {path}"])
    titles, rows = rows_of(output)
    assert titles[1] == "ImageSegments: 230 samples"
    assert list(rows) == [*models, "majority"]
    expected = evaluation.compare("ImageSegments", models, ["MacroF1"], limit=230, seed=7).table
    for name, row in rows.items():
        for column in ("accuracy", "kappa", "log-loss", "MacroF1"):
            value = expected[column][name]
            assert row[column] == (f"{value:.4f}" if value == value else "-")
        assert row["status"] == "ok"
    written = pd.read_csv(path, index_col="model")
    pd.testing.assert_series_equal(written["accuracy"], expected["accuracy"])
    _, output, _ = run("compare", write(PRICES), "--models", "knn,amf,KNN")
    assert list(rows_of(output)[1]) == ["knn", "amf", "mean", "last-value"]


def test_compare_ends_with_1_if_all_models_fail(run, monkeypatch):
    def fail(self, x, y, w=1.0):
        raise ValueError("no such value")

    monkeypatch.setattr(AMFClassifier, "learn_one", fail)
    status, output, _ = run("compare", "--limit", 20, "--models", "amf,last-class")
    assert status == 0 and "sample 1: ValueError: no such value" in output
    assert run("compare", "--limit", 20, "--models", "amf,adaptive")[0] == 1


def test_results_are_printed_though_a_file_cannot_be_written(run, monkeypatch, tmp_path):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    options = ["--limit", 60, "--models", "majority", "--csv", tmp_path / "table"]
    status, output, lines = run("compare", *options)
    assert status == 2 and "majority" in output
    assert lines[-1].endswith("cannot write the output: No space left on device")


# What is refused before a run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "nowhere.csv"], "'nowhere.csv'"),
        (["evaluate", ""], "the stream is ''"),
        (["evaluate", "a\0b"], "no stream or file 'a\\x00b'"),
        (["evaluate", "x" * 5000], "cannot read 'xxx"),
        (["evaluate", "Bananas", "--target", "x"], "not for Bananas"),
        (["evaluate", "TABLE", "--target", "chrn"], "did you mean 'churn'?"),
        (["evaluate", "--metrics", "MAE"], "'MAE' is not a river classification metric"),
        (["evaluate", "TABLE", "--metrics", "F1"], "F1 needs labels True/False or 0/1, but tab"),
        (["evaluate", "--limit", "0"], "--limit: must be a whole number from 1 to 2147483647"),
        (["evaluate", "--delay", "9", "--limit", "9"], "delay must be less than the number of"),
        (["evaluate", "--predictions", "no/p.csv"], "cannot write the predictions to 'no/p.csv'"),
        (["evaluate", "TABLE", "--predictions", "TABLE"], "it is the input stream"),
        (["evaluate", "--html", "a", "--predictions", "a"], "would both write to a"),
        (["evaluate", "--model", "knm"], "unknown model 'knm' (did you mean 'knn'?"),
        (["evaluate", "--model", "knn", "--n-estimators", "1"], "does not take --n-estimators"),
        (["evaluate", "--model", "knn", "--save", "FILE"], "model 'knn' cannot be saved"),
        (["evaluate", "TABLE", "--model", "amrules"], "model 'amrules' is a regressor, but the"),
        (["compare", "--models", ","], "--models must name at least one model"),
        (["compare", "--models", "amf,ganssian-nb"], "(did you mean 'gaussian-nb'?"),
        (["compare", "--csv", "no/t.csv"], "cannot write the table to 'no/t.csv': No such file"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_failure_is_one_line(arguments, message, run, write, tmp_path, monkeypatch):
    monkeypatch.setattr(Run, "go", lambda *_: 1 / 0)
    names = {"TABLE": write(CHURN), "FILE": tmp_path / "file"}
    status, output, lines = run(*(names.get(a, a) for a in arguments))
    assert (status, output) == (2, "")
    assert lines[-1].startswith("river-amf: error: ") and message in lines[-1]
    assert not (tmp_path / "file").exists() and write(CHURN).read_text() == CHURN


def test_typo_in_a_model_lists_the_models_of_the_task(run, write):
    _, _, (*_, line) = run("evaluate", write(PRICES), "--model", "hoefding")
    assert "did you mean 'hoeffding'?" in line and "'amrules'" in line
    assert "gaussian-nb" not in line


def test_without_plotly_there_is_no_page(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "plotly", None)
    for command in ("evaluate", "compare"):
        status, output, (line,) = run(command, "--html", tmp_path / "page.html")
        assert (status, output) == (2, "")
        assert line.endswith('--html needs plotly (the extra html): pip install "plotly>=6"')


def test_help_and_version(run):
    status, output, _ = run()
    assert status == 2 and "usage: river-amf" in output
    assert run("--version")[:2] == (0, f"river-amf {river_amf.__version__}\n")


# How it ends


@pytest.fixture
def long_stream(tmp_path):
    rng = random.Random(1)
    path = tmp_path / "long.csv"
    rows = [f"{rng.random():.6f},{rng.random():.6f},{rng.randrange(2)}\n" for _ in range(100_000)]
    path.write_text("a,b,target\n" + "".join(rows))
    return str(path)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_run_and_keep_what_there_is(number, status, long_stream, tmp_path):
    files = {name: tmp_path / name for name in ("predictions", "save", "html")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    pipe = subprocess.PIPE
    command = [*COMMAND, "evaluate", long_stream, *options]
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    first = "".join(process.stdout.readline() for _ in range(4))
    process.send_signal(number)
    output, error = process.communicate(timeout=300)
    assert process.returncode == status, error
    rows = rows_of(first + output)[1]
    n_samples = int([*rows][-2])
    assert 10_000 <= n_samples < 100_000 and [*rows][-1] == "majority"
    assert f"ended after {n_samples} samples" in error and "Traceback" not in error
    # the signal may come while the last sample is learned, or before it is written
    n_written = len(files["predictions"].read_text().splitlines()) - 1
    assert n_written in (n_samples - 1, n_samples)
    assert river_amf.load(files["save"]).n_samples in (n_samples, n_samples + 1)
    assert f"interrupted after {n_samples} samples" in files["html"].read_text()


def test_bad_row_of_standard_input_keeps_what_there_is(tmp_path):
    model, predictions, page = tmp_path / "m", tmp_path / "p", tmp_path / "h"
    lines = ["a,y", *(f"{i % 7},{'xy'[i % 7 > 3]}" for i in range(1200)), "oops,x", ""]
    command = [*COMMAND, "evaluate", "-", "--save", str(model), "--predictions", str(predictions)]
    for options in ([], ["--html", str(page)]):
        done = subprocess.run(
            [*command, *options], input="\n".join(lines), capture_output=True, text=True
        )
        assert done.returncode == 2
        last = "row 1201 of standard input has 'oops' in 'a', which held numbers before"
        assert done.stderr.splitlines()[-1] == f"river-amf: error: {last}"
        n_samples = int([*rows_of(done.stdout)[1]][-2])
        assert 1000 <= n_samples <= 1200
        assert river_amf.load(model).n_samples == n_samples
        assert len(predictions.read_text().splitlines()) == 1 + n_samples
    assert cells_of(page) == ["adaptive", "last-class", "majority"]


def test_waiting_for_standard_input_ends_with_ctrl_c():
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*COMMAND, "evaluate", "-"], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    process.stdin.write("a,y\n" + "1,x\n2,y\n" * 600)
    process.stdin.flush()
    for _ in range(4):
        process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=100)
    assert process.returncode == 130
    process.communicate()


@pytest.mark.parametrize(("kind", "status"), [(KeyboardInterrupt, 130), (cli.Terminated, 143)])
def test_signals_end_a_comparison_with_its_rows(kind, status, run, monkeypatch, tmp_path):
    calls = []

    def interrupt(self, x, y, w=1.0):
        calls.append(y)
        if len(calls) == 1 + 7:  # the first is the warm-up
            raise kind

    monkeypatch.setattr(PriorClassifier, "learn_one", interrupt)
    path = tmp_path / "table.csv"
    options = ["--limit", 20, "--models", "last-class,majority,perceptron", "--csv", path]
    ended, output, lines = run("compare", *options)
    statuses = ["ok", "interrupted after 6 samples", "not run"]
    assert (ended, lines[-1]) == (status, "interrupted")
    assert all(text in output for text in statuses)
    assert pd.read_csv(path)["status"].tolist() == statuses


def test_progress_bars_are_for_terminals(run, monkeypatch):
    command = ["compare", "--models", "majority", "--limit", 60]
    assert run(*command)[2] == []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert any("60" in line for line in run(*command)[2])


# Pages


def cells_of(path):
    """Return the first cells of the rows of the table of results."""
    table = path.read_text(encoding="utf-8").partition("<tbody>")[2].partition("</tbody>")[0]
    return [re.sub("<.*?>", "", cell) for cell in re.findall(r"<th>(.*?)</th>", table)]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["evaluate", "Bananas"], ["adaptive", "last-class", "majority"]),
        (["evaluate", "Bananas", "--model", "majority"], ["majority", "last-class"]),
        (["evaluate", "TrumpApproval"], ["adaptive", "last-value", "mean"]),
        (["compare", "Bananas", "--models", "amf"], ["amf", "last-class", "majority"]),
    ],
)
def test_pages_have_the_models_beside_naive_ones(arguments, names, run, tmp_path):
    page = tmp_path / "page.html"
    status, _, lines = run(*arguments, "--limit", 200, "--html", page)
    assert (status, lines[-1]) == (0, f"wrote the page to {page}")
    assert cells_of(page) == names


HOSTILE = "\x1b]0;owned\x07\x1b[31m\x9b"


def test_terminal_escapes_are_shown_as_text(run, tmp_path):
    path, model = tmp_path / f"t{HOSTILE}.csv", tmp_path / f"m{HOSTILE}"
    lines = [f"a{HOSTILE},b,target", *(f"{i},x{HOSTILE},y{HOSTILE}{i % 2}" for i in range(120))]
    path.write_text("\n".join(lines))
    for arguments in (
        ["evaluate", path, "--save", model],
        ["evaluate", path, "--target", HOSTILE],
        ["evaluate", HOSTILE],
        ["evaluate", "--model", HOSTILE],
        ["compare", path, "--models", "majority", "--csv", tmp_path / f"c{HOSTILE}"],
        ["inspect", model],
        ["predict", model, HOSTILE],
    ):
        _, output, errors = run(*arguments)
        text = output + "\n".join(errors)
        assert "x1b]0;owned" in text
        assert not {"\x1b", "\x07", "\x9b"} & {*text}, arguments
