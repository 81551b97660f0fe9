from __future__ import annotations

import csv
import errno
import gzip
import random
import re
import signal
import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from losses import log_loss
from river import evaluate, metrics
from river.dummy import PriorClassifier

import river_amf
from river_amf import baselines, cli, evaluation
from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.evaluation.prequential import WARM_UP
from river_amf.evaluation.runs import Run

pytestmark = pytest.mark.usefixtures("no_figures")

COMMAND = [sys.executable, "-m", "river_amf"]
MIXED = "size,colour,code,target\n1.5,red,2,yes\n,NA,10,no\n-3,None,,yes\n2.5,,2,no\n" + (
    "1.4,red,2,yes\n2.6,blue,10,no\n" * 20
)


def start(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=300, check=False, **options
    )


def table_of(output):
    """Return the title line, the column names and the rows (name -> text) of a printed table."""
    title, header, *lines = output.splitlines()
    columns = header.split()
    split = [re.sub(r" ([KMG]?i?B)$", r"_\1", line).split() for line in lines]
    return title, columns, [dict(zip(columns, cells, strict=True)) for cells in split]


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.csv.gz"
    path.write_bytes(gzip.compress(MIXED.encode()))
    return str(path)


# Output


def test_table_has_the_figures_of_river(capsys):
    arguments = ["evaluate", "ImageSegments", "--limit", "230", "--seed", "7"]
    assert (
        cli.main([*arguments, "--n-estimators", "3", "--metrics", "macrof1, Accuracy,CrossEntropy"])
        == 0
    )
    output = capsys.readouterr().out
    title, columns, rows = table_of(output)
    assert title == (
        "ImageSegments: 230 samples; features: 18 numeric;"
        " AdaptiveAMFClassifier(n_estimators=3, seed=7)"
    )
    assert columns == [
        *("samples", "accuracy", "log-loss", "MacroF1", "CrossEntropy", "us/sample", "memory"),
    ]
    assert [int(row["samples"]) for row in rows] == [*range(20, 221, 20), 230]
    assert len({len(line) for line in output.splitlines()[1:]}) == 1  # aligned
    stream = evaluation.load_stream("ImageSegments", limit=230)
    model = AdaptiveAMFClassifier(n_estimators=3, seed=7)
    assert rows[-1]["log-loss"] == f"{log_loss(model, stream):.4f}"
    for column, name in [("accuracy", "Accuracy"), ("MacroF1",) * 2, ("CrossEntropy",) * 2]:
        model = AdaptiveAMFClassifier(n_estimators=3, seed=7)
        expected = evaluate.progressive_val_score(stream, model, getattr(metrics, name)()).get()
        assert rows[-1][column] == f"{expected:.4f}"
    assert all(float(row["us/sample"]) > 0 for row in rows)
    assert all(re.fullmatch(r"[\d.]+_[KM]iB", row["memory"]) for row in rows)


def test_categories_and_missing_values(mixed, tmp_path, capsys):
    predictions = tmp_path / "predictions.csv"
    arguments = ["evaluate", mixed, "--categorical", "code", "--predictions", str(predictions)]
    assert cli.main([*arguments, "--seed", "1"]) == 0
    title, _, rows = table_of(capsys.readouterr().out)
    assert title.startswith("mixed.csv.gz: 44 samples; features: 1 numeric and 2 categorical; ")
    assert float(rows[-1]["accuracy"]) > 0.7
    with open(predictions, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[:2] == [["sample", "target", "prediction", "probability"], ["1", "yes", "", ""]]
    assert [int(line[0]) for line in lines[1:]] == list(range(1, 45))
    assert all(0.5 <= float(line[3]) <= 1 for line in lines[2:])
    hits = sum(line[1] == line[2] for line in lines[2:])
    assert f"{hits / 43:.4f}" == rows[-1]["accuracy"]


@pytest.mark.parametrize(
    ("arguments", "described"),
    [
        (["--seed", "7"], "AdaptiveAMFClassifier(n_estimators=10, seed=7)"),
        (["--model", "amf", "--n-estimators", "2"], "AMFClassifier(n_estimators=2, seed=None)"),
        (["--model", "adaptive", "--seed", "7"], "AdaptiveAMFClassifier(n_estimators=10, seed=7)"),
        (["--model", "majority"], "PriorClassifier()"),
        (["--model", "perceptron"], "perceptron, one per label"),
        (["--model", "bagging", "--seed", "7"], "bagging of ten Hoeffding trees"),
    ],
)
def test_models_go_by_name(arguments, described, capsys):
    assert cli.main(["evaluate", "--limit", "30", *arguments]) == 0
    title, _, rows = table_of(capsys.readouterr().out)
    assert title == f"Bananas: 30 samples; features: 2 numeric; {described}"
    assert rows[-1]["samples"] == "30"


def test_a_track_is_run_stream_by_stream_and_summed_up(tmp_path, capsys):
    predictions = tmp_path / "predictions.csv"
    arguments = ["--n-estimators", "3", "--seed", "7", "--metrics", "MacroF1"]
    arguments += ["--track", "Recurring", "--limit", "300", "--predictions", str(predictions)]
    assert cli.main(["evaluate", *arguments]) == 0
    *tables, summary = capsys.readouterr().out.split("\n\n")
    names = list(evaluation.TRACKS["recurring"])
    header, *lines = (line.split(maxsplit=1) for line in summary.splitlines())
    assert header[0] == "stream"
    assert [name for name, _ in lines] == [*names, "mean"]
    for name, table, (_, line) in zip(names, tables, lines, strict=False):
        title, columns, rows = table_of(table)
        assert title.startswith(f"{name}: 300 samples; features: 3 numeric; AdaptiveAMFClas")
        assert columns == header[1].split()
        assert table.splitlines()[-1].split() == line.split()
        # each stream has its own model and metrics
        model = AdaptiveAMFClassifier(n_estimators=3, seed=7)
        stream = evaluation.load_stream(name, limit=300)
        expected = evaluate.progressive_val_score(stream, model, metrics.Accuracy()).get()
        assert rows[-1]["accuracy"] == f"{expected:.4f}"
    accuracies = [float(line.split()[1]) for _, line in lines]
    assert accuracies[-1] == pytest.approx(sum(accuracies[:-1]) / 2, abs=1e-4)
    with open(predictions, newline="", encoding="utf-8") as file:
        written = list(csv.reader(file))
    assert written[0] == ["stream", "sample", "target", "prediction", "probability"]
    assert [row[:2] for row in written[1:]] == [
        [name, str(n + 1)] for name in names for n in range(300)
    ]


def test_tracks_are_listed(capsys):
    assert cli.main(["tracks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(evaluation.TRACKS)
    assert lines[lines.index("drift") + 1] == "  all of the above"
    cells = {line.split()[0]: line.split(maxsplit=5) for line in lines if " samples " in line}
    assert sorted(cells) == sorted([*evaluation.STREAMS, *evaluation.BUNDLED])
    assert cells["stagger_abrupt"][1:5] == ["15000", "samples", "3", "features"]
    assert cells["stagger_abrupt"][5] == "drifts after 5000, 10000"
    assert cells["led_gradual"][5] == "drifts around 5000, 10000, 15000, each over 1000"
    assert cells["rbf_moving"][5] == "drifts continuously"
    assert cells["friedman_gradual"][5] == "drifts around 5000, 10000, each over 1000"
    assert cells["planes"][5] == "does not drift"
    assert cells["Bananas"] == ["Bananas", "5300", "samples", "2", "features"]


def test_help_and_version(capsys):
    assert cli.main([]) == 2
    assert "usage: river-amf" in capsys.readouterr().out
    with pytest.raises(SystemExit) as raised:
        cli.main(["--version"])
    assert raised.value.code == 0
    assert capsys.readouterr().out == f"river-amf {river_amf.__version__}\n"


def test_command_runs(mixed, tmp_path):
    predictions = tmp_path / "predictions.csv"
    done = start("evaluate", mixed, "--limit", "30", "--predictions", str(predictions))
    assert done.returncode == 0
    assert table_of(done.stdout)[2][-1]["samples"] == "30"
    assert done.stderr == f"wrote the predictions to {predictions}\n"
    assert len(predictions.read_text().splitlines()) == 31


# Errors

FAILURES = [
    (["nowhere.csv"], "'nowhere.csv'"),
    (["Bananas", "--target", "x"], "not for Bananas"),
    (["TABLE", "--target", "colr"], "did you mean 'colour'?"),
    (["TABLE", "--categorical", "code,shape"], "no feature column 'shape'"),
    (["--metrics", "MacroF"], "did you mean 'MacroF1'?"),
    (["--metrics", "MAE"], "'MAE' is not a river classification metric"),
    (
        ["TABLE", "--metrics", "F1"],
        "F1 needs labels True/False or 0/1, but mixed.csv.gz has the label 'yes'",
    ),
    (["TABLE", "--metrics", "LogLoss"], "MacroF1 takes any labels"),
    (["--limit", "0"], "--limit: must be a whole number from 1 to 2147483647, got '0'"),
    (["--limit", "many"], "'many'"),
    (["--n-estimators", "-1"], "--n-estimators"),
    (["--seed", "-1"], "--seed"),
    (["--limit", "1" * 30], "--limit"),
    (["--predictions", "nowhere/p.csv"], "cannot write the predictions to nowhere/p.csv"),
    (["TABLE", "--predictions", "TABLE"], "it is the input stream"),
    (["--colour"], "--colour"),
    (["--model", "forest"], "--model: invalid choice: 'forest'"),
    (["--model", "majority", "--n-estimators", "1"], "does not take --n-estimators"),
    (["--model", "majority", "--seed", "1"], "model 'majority' does not take --seed"),
    (["--model", "bagging", "--n-estimators", "1"], "'bagging' does not take --n-estimators"),
    (["--track", "abrubt"], "unknown track 'abrubt' (did you mean 'abrupt'?"),
    (["Bananas", "--track", "drift"], "cannot be combined with STREAM 'Bananas'"),
    (["--track", "drift", "--target", "a"], "cannot be combined with --target"),
    (["--track", "drift", "--categorical", "a"], "cannot be combined with --categorical"),
    (["--track", "drift", "--no-header"], "cannot be combined with --no-header"),
    (["--track", "drift", "--missing", "?"], "cannot be combined with --missing"),
    (["--track", "drift", "--metrics", "F1"], "0/1, but led_gradual has the label 4"),
]


def assert_one_line(message, error):
    assert "Traceback" not in error
    lines = [line for line in error.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("river-amf: error: ")
    assert message in lines[0]


def assert_fails(arguments, message, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 2
    output, error = capsys.readouterr()
    assert output == ""
    assert_one_line(message, error)


@pytest.mark.parametrize(("arguments", "message"), FAILURES)
def test_a_failure_is_one_line(arguments, message, mixed, capsys):
    assert_fails(["evaluate", *(mixed if a == "TABLE" else a for a in arguments)], message, capsys)


def test_the_stream_survives_a_run_that_would_overwrite_it(mixed):
    with pytest.raises(SystemExit):
        cli.main(["evaluate", mixed, "--predictions", mixed])
    assert evaluation.load_stream(mixed).n_samples == 44


def test_a_sample_that_the_model_refuses_is_one_line(monkeypatch, capsys):
    def refuse(self, x, y, w=1.0):
        raise ValueError("feature '1':\nno such value")

    monkeypatch.setattr(AMFClassifier, "learn_one", refuse)
    with pytest.raises(SystemExit) as raised:
        cli.main(["evaluate", "--limit", "5"])
    assert raised.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "river-amf: error: sample 1: feature '1': no such value"


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="a full device of Unix")
def test_a_full_disk_is_one_line(capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(["evaluate", "--limit", "50", "--predictions", "/dev/full"])
    assert raised.value.code == 2
    assert "No space left" in capsys.readouterr().err.splitlines()[-1]


# Interruptions


@pytest.fixture
def long_stream(tmp_path):
    rng = random.Random(1)
    path = tmp_path / "long.csv"
    with open(path, "w", encoding="utf-8") as file:
        file.write("a,b,target\n")
        for _ in range(100_000):
            file.write(f"{rng.random():.6f},{rng.random():.6f},{rng.randrange(2)}\n")
    return str(path)


def begin(*arguments):
    """Start the command and wait for the first row of its table."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([*COMMAND, *arguments], stdout=pipe, stderr=pipe, text=True)
    first_lines = [process.stdout.readline() for _ in range(3)]
    return process, "".join(first_lines)


def test_ctrl_c_prints_the_table_so_far(long_stream, tmp_path):
    predictions = tmp_path / "predictions.csv"
    process, first_lines = begin("evaluate", long_stream, "--predictions", str(predictions))
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in error
    rows = table_of(first_lines + output)[2]
    n_samples = int(rows[-1]["samples"])
    assert 10_000 <= n_samples < 100_000
    assert error.splitlines() == [
        f"interrupted after {n_samples} samples",
        f"wrote the predictions to {predictions}",
    ]
    lines = predictions.read_text().splitlines()
    assert len(lines) == 1 + n_samples
    assert lines[-1].startswith(f"{n_samples},")


def test_ctrl_c_within_a_sample_lets_it_finish(monkeypatch, capsys):
    learn = AMFClassifier.learn_one
    calls = []

    def learn_and_interrupt(self, x, y, w=1.0):
        learn(self, x, y, w)
        calls.append(y)
        if len(calls) == WARM_UP + 23:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(AMFClassifier, "learn_one", learn_and_interrupt)
    assert cli.main(["evaluate", "--limit", "200"]) == 130
    output, error = capsys.readouterr()
    assert [row["samples"] for row in table_of(output)[2]] == ["20", "23"]
    assert error.splitlines()[-1] == "interrupted after 23 samples"
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_before_the_run_and_a_second_one(monkeypatch, capsys):
    def interrupt(*_, **options):
        calls.append("learn")
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    calls, before = [], signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(AMFClassifier, "learn_one", interrupt)
    assert cli.main(["evaluate", "--limit", "20"]) == 130
    assert calls == ["learn"]
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.setattr(evaluation, "load_stream", interrupt)
    assert cli.main(["evaluate"]) == 130


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="pipes of Unix")
def test_a_reader_that_leaves_is_no_error(long_stream):
    process, _ = begin("evaluate", long_stream, "--limit", "20000")
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=300) == 141
    assert not re.search("Traceback|Exception|error", error)


# compare


def rows_of(output):
    """Return the title and the rows (model -> column -> text) of a printed comparison."""
    title, header, *lines = output.splitlines()
    columns = header.split()
    rows = {}
    for line in lines:
        cells = re.sub(r" ([KMG]?i?B) ", r"_\1 ", line).split(maxsplit=len(columns) - 1)
        rows[cells[0]] = dict(zip(columns, cells, strict=True))
    return title, rows


def test_compare_prints_the_figures_of_a_comparison(capsys):
    arguments = ["--limit", "230", "--seed", "7", "--metrics", "macrof1"]
    models = ["amf", "gaussian-nb", "last-class"]
    assert cli.main(["compare", "ImageSegments", *arguments, "--models", ",".join(models)]) == 0
    title, rows = rows_of(capsys.readouterr().out)
    assert title == "ImageSegments: 230 samples"
    assert list(rows) == models
    expected = evaluation.compare("ImageSegments", models, ["MacroF1"], limit=230, seed=7).table
    for name, row in rows.items():
        for column in ("accuracy", "kappa", "log-loss", "MacroF1"):
            assert row[column] == f"{expected[column][name]:.4f}"
        assert row["status"] == "ok"
        assert float(row["us/sample"]) > 0


def test_compare_writes_files(mixed, tmp_path, capsys):
    paths = {name: tmp_path / name for name in ("csv", "curves", "markdown", "png")}
    arguments = ["--models", "AMF,majority,amf", "--window", "11", "--seed", "1"]
    for name, path in paths.items():
        arguments += [f"--{name}", str(path)]
    assert cli.main(["compare", mixed, "--categorical", "code", *arguments]) == 0
    title, rows = rows_of(capsys.readouterr().out)
    assert title == "mixed.csv.gz: 44 samples"
    table = pd.read_csv(paths["csv"], index_col="model")
    assert table.index.tolist() == list(rows) == ["amf", "majority"]
    assert [f"{value:.4f}" for value in table["accuracy"]] == [
        row["accuracy"] for row in rows.values()
    ]
    curves = pd.read_csv(paths["curves"])
    assert curves["model"].tolist() == ["amf"] * 4 + ["majority"] * 4
    assert curves["n_samples"].tolist() == [11, 22, 33, 44] * 2
    stream = evaluation.load_stream(mixed, categorical=["code"])
    makers = {name: baselines.classifiers(seed=1)[name] for name in rows}
    expected = evaluation.compare(stream, makers, window=11)
    pd.testing.assert_frame_equal(curves, expected.curves, check_dtype=False)
    lines = paths["markdown"].read_text().splitlines()
    assert [line.split()[1] for line in lines[2:]] == ["amf", "majority"]
    assert paths["png"].read_bytes().startswith(b"\x89PNG\r\n")


def test_compare_without_matplotlib_reports_what_is_missing_and_runs_nothing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for module in [name for name in sys.modules if name.startswith("river_amf.plot")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delattr(river_amf, "plot")
    monkeypatch.setattr(Run, "go", lambda *_: 1 / 0)
    assert_fails(["compare", "--png", "p.png"], 'pip install "matplotlib>=3.8"', capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "'nowhere.csv'"),
        (
            ["--models", "amf,ganssian-nb"],
            "unknown model 'ganssian-nb' (did you mean 'gaussian-nb'?",
        ),
        (["--models", ","], "--models must name at least one model"),
        (["--window", "0"], "--window: must be a whole number from 1"),
        (["--time-limit", "0"], "--time-limit: must be a positive number of seconds, got '0'"),
        (["--time-limit", "soon"], "'soon'"),
        (["--time-limit", "nan"], "'nan'"),
        (["--csv", "nowhere/t.csv"], "cannot write the table to nowhere/t.csv: No such file"),
        (["--markdown", "nowhere/t.md"], "cannot write the table to nowhere/t.md"),
        (["--curves", "."], "cannot write the curves to .: Is a directory"),
        (["--png", "nowhere/p.png"], "cannot write the plot to nowhere/p.png"),
        (["TABLE", "--csv", "TABLE"], "it is the input stream"),
        (["--csv", "FILE", "--curves", "FILE"], "--csv and --curves would both write to"),
    ],
)
def test_compare_shows_what_is_wrong_before_it_runs(
    arguments, message, mixed, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(Run, "go", lambda *_: 1 / 0)
    names = {"TABLE": mixed, "FILE": str(tmp_path / "file")}
    assert_fails(["compare", *(names.get(a, a) for a in arguments)], message, capsys)
    assert not (tmp_path / "file").exists()


def test_files_from_before_are_left_until_the_end(tmp_path, monkeypatch, capsys):
    path = tmp_path / "table.csv"
    path.write_text("precious")
    assert_fails(["compare", "--csv", str(path), "--models", "no"], "unknown model 'no'", capsys)
    assert path.read_text() == "precious"


def fail(self, x, y, w=1.0):
    raise ValueError("no such value")


def test_a_model_that_fails_is_a_row_and_all_that_fail_are_status_1(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(AMFClassifier, "learn_one", fail)
    arguments = ["compare", "--limit", "20", "--models"]
    assert cli.main([*arguments, "amf,majority"]) == 0
    _, rows = rows_of(capsys.readouterr().out)
    assert rows["amf"]["status"] == "sample 1: ValueError: no such value"
    assert rows["amf"]["accuracy"] == "-"
    assert rows["majority"]["status"] == "ok"
    path = tmp_path / "picture.png"
    assert cli.main([*arguments, "amf,adaptive", "--png", str(path)]) == 1
    output, error = capsys.readouterr()
    assert set(rows_of(output)[1]) == {"amf", "adaptive"}
    reported = "no plot, {} was {}: comparison has no accuracy to draw"
    assert error.splitlines()[-1] == reported.format(path, "not written")
    assert not path.exists()
    path.write_bytes(b"older")
    assert cli.main([*arguments, "amf", "--png", str(path)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == reported.format(path, "left unchanged")
    assert path.read_bytes() == b"older"


def test_a_file_that_cannot_be_written_is_named_and_the_others_are_written(
    monkeypatch, tmp_path, capsys
):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", full)
    paths = {name: tmp_path / name for name in ("csv", "curves", "png", "markdown")}
    arguments = [part for name, path in paths.items() for part in (f"--{name}", str(path))]
    with pytest.raises(SystemExit) as exit_:
        cli.main(["compare", "--limit", "60", "--models", "majority", *arguments])
    assert exit_.value.code == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    for name, what in [("csv", "table"), ("curves", "curves"), ("png", "plot")]:
        assert f"cannot write the {what} to {paths[name]}: No space left on device" in line
    assert "majority" in paths["markdown"].read_text()
    assert not plt.get_fignums()


def test_ctrl_c_prints_the_rows_so_far_and_writes_the_files(monkeypatch, tmp_path, capsys):
    calls = []

    def interrupt(self, x, y, w=1.0):
        calls.append(y)
        if len(calls) == 20 + 7:  # the first 20 are the warm-up
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(PriorClassifier, "learn_one", interrupt)
    path = tmp_path / "table.csv"
    arguments = ["--limit", "20", "--models", "last-class,majority,perceptron", "--csv", str(path)]
    assert cli.main(["compare", *arguments]) == 130
    output, error = capsys.readouterr()
    _, rows = rows_of(output)
    statuses = ["ok", "interrupted after 6 samples", "not run"]
    assert [row["status"] for row in rows.values()] == statuses
    assert pd.read_csv(path)["status"].tolist() == statuses
    assert error.splitlines()[-1] == "interrupted"
