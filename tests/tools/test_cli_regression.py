"""The commands on files whose target is a number, and on others if the task is chosen."""

import csv
import random

import pandas as pd
import pytest
from river import metrics

from river_amf import AMFRegressor, baselines, cli
from river_amf.evaluation import load_stream, progressive_val_score

NUMBERS = ["MAE", "RMSE", "R2"]
INTERVALS = ["coverage", "width"]


@pytest.fixture
def prices(tmp_path):
    rng = random.Random(1)
    path = tmp_path / "prices.csv"
    lines = ["size,color,price"]
    for _ in range(200):
        size, color = round(rng.uniform(1.0, 9.0), 3), rng.choice(["red", "tan"])
        lines.append(f"{size},{color},{round(10.0 * size + 5.0 * (color == 'red'), 2)}")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def run(capsys):
    def run_command(*arguments):
        try:
            status = cli.main([*arguments])
        except SystemExit as error:
            status = error.code
        output = capsys.readouterr()
        return status, output.out.splitlines(), output.err.splitlines()

    return run_command


def test_evaluate_shows_why_it_is_a_regression(run, prices):
    status, lines, _ = run("evaluate", prices, "--seed", "1")
    assert status == 0
    assert lines[0].startswith("regression, as 'price' holds numbers such as ")
    assert "(--task classification takes them for labels, --target names another" in lines[0]
    assert lines[1] == (
        "prices.csv: 200 samples; features: 1 numeric and 1 categorical;"
        " AdaptiveAMFRegressor(n_estimators=10, seed=1)"
    )
    assert lines[2].split() == ["samples", *NUMBERS, *INTERVALS, "us/sample", "memory"]
    assert lines[-1].split()[0] == "200"
    chosen = run("evaluate", prices, "--seed", "1", "--task", "regression")[1]
    assert chosen[0] == lines[1]
    assert [line.split()[:5] for line in chosen[2:]] == [line.split()[:5] for line in lines[3:]]


def test_evaluate_has_the_figures_of_river(run, prices):
    for options in (["--model", "amf", "--n-estimators", "3"], ["--model", "knn"]):
        _, lines, _ = run("evaluate", prices, "--seed", "1", "--metrics", "MAPE", *options)
        model = baselines.regressors(1)[options[1]]()
        if options[1] == "amf":
            model = AMFRegressor(3, seed=1)
            assert lines[2].split()[1:7] == [*NUMBERS, *INTERVALS, "MAPE"]
        else:  # it has no intervals
            assert lines[2].split()[1:5] == [*NUMBERS, "MAPE"]
            assert lines[1].endswith("k-nearest neighbors, 10 of the last 1000 samples")
        expected = progressive_val_score(load_stream(prices), model, metrics.MAE())
        assert float(lines[-1].split()[1]) == pytest.approx(expected.get(), rel=1e-4)


@pytest.mark.parametrize(("name", "beside"), [("amf", ["lower", "upper"]), ("linear", [])])
def test_predictions_are_written_with_their_intervals(run, prices, tmp_path, name, beside):
    path = tmp_path / "predictions.csv"
    assert run("evaluate", prices, "--model", name, "--predictions", str(path))[0] == 0
    with open(path, newline="") as file:
        titles, first, *rows = csv.reader(file)
    assert titles == ["sample", "target", "prediction", *beside]
    assert first[2:] == ["0.0", "-inf", "inf"][: 1 + len(beside)]
    assert len(rows) == 199
    for row in rows[50:] if beside else ():
        _, _, prediction, lower, upper = map(float, row)
        assert lower <= prediction <= upper


def test_compare_runs_regressors(run, prices, tmp_path):
    curves, table = tmp_path / "curves.csv", tmp_path / "table.csv"
    files = ["--curves", str(curves), "--csv", str(table)]
    options = ["--models", "mean,knn,amf", "--window", "100", "--seed", "1", *files]
    status, lines, _ = run("compare", prices, *options)
    assert status == 0
    assert lines[0].startswith("regression, as 'price' holds numbers such as ")
    assert lines[1] == "prices.csv: 200 samples"
    assert lines[2].split()[:7] == ["model", "samples", *NUMBERS, *INTERVALS]
    assert [line.split()[0] for line in lines[3:]] == ["mean", "knn", "amf"]
    assert lines[3].split()[5:7] == ["-", "-"]
    windows = pd.read_csv(curves)
    assert windows.columns.tolist() == ["model", "n_samples", *NUMBERS, *INTERVALS]
    assert len(windows) == 6
    assert pd.read_csv(table, index_col="model")["MAE"].idxmin() != "mean"


def test_a_column_of_few_numbers_is_a_regression_if_that_is_chosen(run, tmp_path):
    path = tmp_path / "rings.csv"
    path.write_text("a,rings\n" + "".join(f"{i % 5},{i % 5 + 7}\n" for i in range(60)))
    status, lines, _ = run("evaluate", str(path), "--seed", "1")
    assert lines[0] == (
        "classification, as 'rings' holds few numbers, all of them whole"
        " (--task regression predicts them as numbers)"
    )
    assert lines[1].endswith("AdaptiveAMFClassifier(n_estimators=10, seed=1)")
    assert "accuracy" in lines[2]
    chosen = run("evaluate", str(path), "--seed", "1", "--task", "classification")[1]
    assert chosen[0] == lines[1]
    status, lines, _ = run("evaluate", str(path), "--seed", "1", "--task", "regression")
    assert status == 0
    assert "RMSE" in lines[1]
    assert lines[0].endswith("AdaptiveAMFRegressor(n_estimators=10, seed=1)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["evaluate", "FILE", "--model", "logistic"],
            "'logistic' is a classifier, but the task is",
        ),
        (["evaluate", "FILE", "--metrics", "Nonsense"], "'Nonsense' is not a river metric"),
        (["evaluate", "FILE", "--positive", "yes"], "none of the metrics needs one"),
        (["evaluate", "FILE", "--target", "color", "--task", "regression"], "has 'red' in 'color'"),
        (["evaluate", "FILE", "--task", "clustering"], "argument --task: invalid choice"),
        (["evaluate", "FILE", "--model", "knn", "--n-estimators", "3"], "does not take --n-est"),
    ],
)
def test_what_does_not_fit_is_one_line(run, prices, arguments, message):
    arguments = [prices if argument == "FILE" else argument for argument in arguments]
    status, lines, (line,) = run(*arguments)
    assert (status, lines) == (2, [])
    assert message in line


def test_rows_without_a_target_are_counted_and_text_reports_what_to_do(run, prices):
    with open(prices, "a") as file:
        file.write("1.5,red,\n2.5,tan,?\n")
    _, lines, _ = run("evaluate", prices, "--model", "mean")
    assert lines[1].startswith("prices.csv: 200 samples (2 rows without a target skipped)")
    with open(prices, "a") as file:
        file.write("3.5,red,cheap\n")
    status, _, (line,) = run("evaluate", prices, "--model", "mean")
    assert status == 2
    assert "row 203 of" in line
    assert "has 'cheap' in 'price', but regression predicts numbers; if that text stands" in line
