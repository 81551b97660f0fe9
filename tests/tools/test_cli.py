"""The command: what it prints of streams and files, how it ends, and what it refuses."""

import io
import os
import random
import re
import signal
import subprocess
import sys

import pandas as pd
import pytest
from river import evaluate, metrics

import river_amf
from river_amf import AdaptiveAMFClassifier, OnlineDummyClassifier, cli, evaluation
from river_amf.classifier import AMFClassifier
from river_amf.evaluation.recording import Run

COMMAND = [sys.executable, "-m", "river_amf", "evaluate"]
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def rows_of(output):
    """Return the lines before a table, and its rows: the first cell -> column -> text."""
    lines = [re.sub(r" ([KMG]?i?B)\b", r"_\1", line) for line in output.splitlines()]
    lines = [line.split() for line in lines if "is not ahead of" not in line]
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


def test_evaluate_prints_the_figures_of_river(run):
    options = ["--limit", 230, "--seed", 7, "--n-estimators", 3, "--metrics", "macrof1, Accuracy"]
    titles, rows = rows_of(run("evaluate", "ImageSegments", *options)[1])
    assert titles[0].startswith("target: ") and titles[0].endswith("features: 18 numbers")
    described = "ImageSegments: 230 samples; AdaptiveAMFClassifier(n_estimators=3, seed=7)"
    assert titles[1:] == [described]
    assert list(rows) == [*map(str, range(20, 221, 20)), "230", "last-class", "majority"]
    stream = evaluation.load_stream("ImageSegments", limit=230)
    model = AdaptiveAMFClassifier(n_estimators=3, seed=7)
    log_loss = evaluation.compare(stream, {"model": model}).table["log-loss"]["model"]
    assert rows["230"]["log-loss"] == f"{log_loss:.4f}"
    for column, metric in (("accuracy", metrics.Accuracy()), ("MacroF1", metrics.MacroF1())):
        expected = evaluate.progressive_val_score(stream, model.clone(), metric).get()
        assert rows["230"][column] == f"{expected:.4f}"


@pytest.mark.parametrize(("name", "column"), [("ImageSegments", "log-loss"), ("WaterFlow", "R2")])
def test_naive_baselines_are_those_of_compare(name, column, run):
    _, rows = rows_of(run("evaluate", name, "--model", "knn", "--limit", 230, "--delay", 9)[1])
    table = evaluation.compare(name, "knn", limit=230, delay=9).table
    assert [*rows][-2:] == [*table.index[1:]]
    assert [float(row[column]) for row in [*rows.values()][-3:]] == pytest.approx(
        table[column].to_list(), abs=1e-4
    )
    assert all(row["us/sample"] > "0" and row["memory"].endswith("B") for row in rows.values())


@pytest.mark.parametrize("options", [{"delay": "2d"}, {"batch": "1d", "delay": "36h"}])
def test_labels_of_a_file_come_late(options, run, write, monkeypatch):
    lines = [f"{i * 7 % 50},2024-05-{i // 11 + 1:02},{i * 7 % 50 > 30}\n" for i in range(300)]
    text = "months,since,churn\n" + "".join(lines)
    path, words = write(text), [f"--{name}={value}" for name, value in options.items()]
    expected = evaluation.report(path, "gaussian-nb", **options)
    accuracy = [f"{value:.4f}" for value in expected.table["accuracy"]]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    for source, option in ((path, "--model"), ("-", "--model"), (path, "--models")):
        command = "compare" if option == "--models" else "evaluate"
        _, table = rows_of(run(command, source, option, "gaussian-nb", *words)[1])
        assert [row["accuracy"] for row in table.values()][-3:] == accuracy
    assert expected.facts["delay"] == options["delay"]


def test_first_line_shows_what_was_understood(run, write):
    _, output, lines = run("evaluate", write(CHURN), "--drop", "id")
    assert lines == []
    assert output.splitlines()[:2] == [
        "target: churn (the last column; --target names another), 2 labels (no 170, yes 103);"
        " features: 1 category, 1 number, 1 date; 27 rows without a target skipped",
        "table.csv: 273 samples; AdaptiveAMFClassifier(seed=1)",
    ]
    _, _, (line,) = run("evaluate", write(CHURN))
    assert line.startswith("river-amf: table.csv: column 'id': 273 distinct texts, nearly all")
    _, output, _ = run("evaluate", write("a,rings\n" + "1,7\n2,8\n3,9\n" * 9))
    task = "classification, as these numbers suggest; or choose --task regression"
    assert output.splitlines()[1] == task


@pytest.mark.parametrize("name", ["amf", "knn"])
def test_evaluate_of_a_regressor(name, run, write):
    path = write(PRICES)
    titles, rows = rows_of(run("evaluate", path, "--model", name, "--metrics", "MAPE")[1])
    assert titles[:2] == [
        "target: price (the last column; --target names another), numbers from 0.5 to 106.5;"
        " features: 1 number, 1 category",
        "regression, as these numbers suggest; or choose --task classification",
    ]
    table = evaluation.compare(path, name, seed=1).table
    for model, row in ((name, "200"), ("mean", "mean"), ("last-value", "last-value")):
        for metric in ("MAE", "RMSE"):
            assert float(rows[row][metric]) == pytest.approx(table[metric][model], rel=1e-4)
    assert (rows["200"]["coverage"] != "-") == (name == "amf")


def test_baseline_that_is_ahead_is_named(run, write):
    rng = random.Random(1)
    rents = sorted(f"{rng.lognormvariate(11, 0.6):06.0f}" for _ in range(40)) * 2
    path = write("a,y\n" + "".join(f"{rng.random()},{y}.5\n" for y in rents))
    for command, helps in (
        (["evaluate", path, "--model", "knn", "--n-estimators", 3], "not take --n-estimators"),
        (["evaluate", path], "--recent target"),
        (["evaluate", path, "--recent", "target", "--limit", 75], "`river-amf compare`"),
        (["compare", path, "--models", "amf"], "--shuffle mixes them."),
    ):
        status, output, lines = run(*command)
        last = [*output.splitlines(), *lines][-1] if status else output.splitlines()[-1]
        assert helps in last and (status or "is not ahead of last-value, which" in last)
    path = write("a,y\n" + "".join(f"{i % 7},{i % 7 > 3}\n" for i in range(60)))
    assert "ahead" not in run("evaluate", path)[1]


def test_options_of_files_are_those_of_load_stream(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("# ö\n1;2\t-9\t1.001,5\tgröß\n3\tx;y\t--\tja\n".encode("latin-1"))
    options = ["--encoding", "latin-1", "--no-header", "--missing=--,-9", "--comment", "#"]
    options += ["--decimal", ",", "--thousands", ".", "--categorical", "1"]
    status, output, lines = run("evaluate", path, *options, "--separator", "\t")
    assert (status, lines) == (0, [])
    features = "features: 2 categories, 1 number"
    assert output.startswith(
        f"target: 3 (the last column; --target names another), 2 labels (größ 1, ja 1); {features}"
    )


def test_compare_prints_the_figures_of_a_comparison(run, write, tmp_path):
    path, models = tmp_path / "results.csv", ["amf", "gaussian-nb", "last-class"]
    page, options = tmp_path / "page.html", ["--limit", 230, "--seed", 7, "--metrics", "macrof1"]
    options += ["--csv", path, "--html", page]
    status, output, lines = run("compare", "ImageSegments", "--models", ",".join(models), *options)
    assert (status, lines) == (0, [])
    titles, rows = rows_of(output)
    assert titles[1] == "ImageSegments: 230 samples"
    assert list(rows) == [*models, "majority"]
    body = page.read_text(encoding="utf-8").partition("<tbody>")[2].partition("</tbody>")[0]
    assert re.findall(r"<th>(?:<.*?>)*(.*?)<", body) == [*rows]
    expected = evaluation.compare("ImageSegments", models, ["MacroF1"], limit=230, seed=7).table
    columns = ["n_samples", "accuracy", "kappa", "log-loss", "MacroF1", "status"]
    pd.testing.assert_frame_equal(pd.read_csv(path, index_col="model")[columns], expected[columns])
    assert [row["MacroF1"] for row in rows.values()] == [f"{v:.4f}" for v in expected["MacroF1"]]
    _, output, _ = run("compare", write(PRICES), "--models", "knn,amf,KNN")
    assert list(rows_of(output)[1]) == ["knn", "amf", "last-value", "mean"]


EXAMPLE = "`river-amf evaluate Bananas` is an example"


def test_help_and_version(run, monkeypatch):
    status, _, (line,) = run()
    assert (status, line) == (2, "river-amf: error: the following arguments are required: COMMAND")
    assert "usage: river-amf" in run("--help")[1]
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("evaluate", "--help")[1]
    assert "--dates" in shown and "Examples:\n  river-amf e" in shown
    assert len(shown.splitlines()) <= 45
    assert "  linear             * linear regression" in run("models")[1]
    for command in ("evaluate", "inspect", "compare"):
        assert run(command)[2] == [f"river-amf: error: argument FILE: is missing; {EXAMPLE}"]
    assert run("--version")[:2] == (0, f"river-amf {river_amf.__version__}\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate nowhere.csv", "'nowhere.csv'"),
        ("evaluate a\0b", "no stream or file 'a\\x00b'"),
        ("evaluate TABLE --metrics F1", "F1 needs labels True/False or 0/1, but tab"),
        ("evaluate Bananas --limit 0", "argument --limit: invalid positive_int value: '0'"),
        ("evaluate Bananas --delay -1", "delay must be an integer >= 0 or a duration such as 1d,"),
        ("evaluate Bananas --predictions no/p.csv", "No such file or directory: 'no/p.csv'"),
        ("evaluate TABLE --predictions TABLE", "is the input, or written by another option"),
        (
            "evaluate Bananas --html a --predictions a",
            "--html: a is the input, or written by another",
        ),
        ("evaluate Bananas --model knm", "unknown model 'knm' (did you mean 'knn'?"),
        ("evaluate Bananas --model knn --n-estimators 1", "does not take --n-estimators"),
        ("evaluate Bananas --model knn --save FILE", "model 'knn' cannot be saved"),
        (
            "evaluate Bananas --html FILE",
            '--html needs plotly (the extra html): pip install "plotly>=6"',
        ),
        ("compare Bananas --models ,", "models is empty"),
    ],
    ids=lambda value: value[:40],
)
def test_failure_is_one_line(command, message, run, write, tmp_path, monkeypatch):
    monkeypatch.setattr(Run, "go", lambda *_: 1 / 0)
    monkeypatch.setitem(sys.modules, "plotly", None)
    names = {"TABLE": write(CHURN), "FILE": tmp_path / "file"}
    status, output, lines = run(*(names.get(word, word) for word in command.split(" ")))
    assert (status, output) == (2, "")
    assert lines[-1].startswith("river-amf: error: ") and message in lines[-1]
    assert not (tmp_path / "file").exists() and write(CHURN).read_text() == CHURN


def test_compare_ends_with_1_if_all_models_fail(run, monkeypatch):
    def fail(self, x, y, w=1.0):
        raise ValueError("no such value")

    monkeypatch.setattr(AMFClassifier, "learn_one", fail)
    status, output, _ = run("compare", "Bananas", "--limit", 20, "--models", "amf,last-class")
    assert status == 0 and "sample 1: ValueError: no such value" in output
    assert run("compare", "Bananas", "--limit", 20, "--models", "amf,adaptive")[0] == 1


def test_ids_are_written_as_they_are_in_the_file(run, write, tmp_path):
    lines = ["code,zip,a,target", "0041,01067,1.50,1", "42,,2,", "0043,1e3,NA,0", "44,NA,3,1"]
    path, out, model = write("\n".join(lines)), tmp_path / "p.csv", tmp_path / "m"
    options = ["--keep", "code, zip", "--keep", "a"]
    run("evaluate", path, *options, "--drop", "zip", "--predictions", out, "--save", model)
    expected = [line.rpartition(",")[0] for line in lines]
    kept = [line.split(",")[1:4] for line in out.read_text().splitlines()]
    assert [",".join(cells) for cells in kept] == [expected[0], *expected[1:2], *expected[3:]]
    kept = [line.split(",")[1:4] for line in run("predict", model, path, *options)[1].splitlines()]
    assert [",".join(cells) for cells in kept] == expected


def test_lists_may_be_repeated_and_names_have_commas(run, write, tmp_path):
    path = write(
        'id,"Town, street",b,y\n' + "".join(f'{i},"x, {i}",{i % 9},{i % 2}\n' for i in range(60))
    )
    options = [["id", "b"], ["id, b"], ["Town, street", "b"]]
    for chosen, left in zip(options, ("1 category", "1 category", "1 number"), strict=True):
        drops = [word for name in chosen for word in ("--drop", name)]
        status, output, _ = run("evaluate", path, *drops, "--metrics", "F1", "--metrics", "MCC")
        assert status == 0 and output.splitlines()[0].endswith(f"features: {left}")
        assert " F1 " in output and " MCC " in output
    model = tmp_path / "model"
    assert run("evaluate", path, "--drop", "id,b", "--save", model)[0] == 0
    assert run("predict", model, path)[2] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_run_and_keep_its_results(number, write, tmp_path):
    rng = random.Random(1)
    rows = [f"{rng.random():.6f},{rng.random():.6f},{rng.randrange(2)}\n" for _ in range(20_000)]
    files = {name: tmp_path / name for name in ("predictions", "save", "html")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    command = [*COMMAND, write("a,b,target\n" + "".join(rows)), *options]
    process = subprocess.Popen([*map(str, command)], text=True, **PIPES)
    first = "".join(process.stdout.readline() for _ in range(4))
    process.send_signal(number)
    output, error = process.communicate(timeout=300)
    assert process.returncode == 130, error
    rows = rows_of(first + output)[1]
    n_samples = int([*rows][-3])
    assert 2_000 <= n_samples < 20_000 and [*rows][-1] == "majority"
    assert error.splitlines()[-1] == "interrupted" and "Traceback" not in error
    # the signal may come while the last sample is learned, or before it is written
    n_written = len(files["predictions"].read_text().splitlines()) - 1
    assert n_written in (n_samples - 1, n_samples)
    assert river_amf.load(files["save"]).n_samples in (n_samples, n_samples + 1)
    assert f"interrupted after {n_samples} samples" in files["html"].read_text()


def test_bad_row_of_standard_input_keeps_the_results(tmp_path):
    model, predictions = tmp_path / "m", tmp_path / "p"
    lines = ["a,y", *(f"{i % 7},{'xy'[i % 7 > 3]}" for i in range(1200)), "oops,x", ""]
    command = [*COMMAND, "-", "--save", str(model), "--predictions", str(predictions)]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
    assert done.returncode == 2
    last = "row 1201 of standard input has 'oops' in 'a', which held numbers before; numbers (or"
    assert done.stderr.splitlines()[-1].startswith(f"river-amf: error: {last}")
    n_samples = int([*rows_of(done.stdout)[1]][-3])
    assert 1000 <= n_samples <= 1200
    assert river_amf.load(model).n_samples == n_samples
    assert len(predictions.read_text().splitlines()) == 1 + n_samples


def test_interrupt_ends_a_comparison_with_its_rows(run, monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(OnlineDummyClassifier, "learn_one", interrupt)
    path = tmp_path / "table.csv"
    command = "compare Bananas --limit 20 --models last-class,majority,perceptron --csv"
    status, output, lines = run(*command.split(), path)
    assert (status, lines) == (130, ["interrupted"])
    assert re.findall("(?m)(?:ok|not run)$", output) == ["ok", "not run", "not run"]
    assert pd.read_csv(path)["status"].tolist() == ["ok", "not run", "not run"]


def test_columns_of_zeros_give_no_advice_for_python(run, tmp_path):
    path, names = tmp_path / "one_hot.csv", [*map(str, range(50))]
    rows = [{name: int(name == names[i % 50]) for name in names} | {"y": i % 2} for i in range(150)]
    pd.DataFrame(rows).to_csv(path, index=False)
    assert run("evaluate", path)[::2] == (0, [])


HOSTILE = "\x1b]0;owned\x07\x1b[31m\x9b"


def test_terminal_escapes_are_shown_as_text(run, tmp_path):
    path, model = tmp_path / f"t{HOSTILE}.csv", tmp_path / f"m{HOSTILE}"
    lines = [f"a{HOSTILE},b,target", *(f"{i},x{HOSTILE},y{HOSTILE}{i % 2}" for i in range(120))]
    path.write_text("\n".join(lines))
    for arguments in (
        ["evaluate", path, "--save", model],
        ["evaluate", path, "--target", HOSTILE],
        ["evaluate", HOSTILE],
        ["evaluate", "Bananas", "--model", HOSTILE],
        ["compare", path, "--models", "majority", "--csv", tmp_path / f"c{HOSTILE}"],
        ["inspect", model],
        ["predict", model, HOSTILE],
    ):
        _, output, errors = run(*arguments)
        text = output + "\n".join(errors)
        assert "x1b]0;owned" in text
        assert not {"\x1b", "\x07", "\x9b"} & {*text}, arguments


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
    command = ["compare", "Bananas", "--models", "majority", "--limit", "9", "--csv", str(path)]
    assert cli.main(command) == 141
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
