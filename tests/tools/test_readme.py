"""The figures in README.md are those of the runs that tests/benchmarks keeps."""

from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "tests" / "benchmarks"
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXT = " ".join(README.split())


def table(name):
    lines = (BENCHMARKS / name).read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    body = [row for row in rows[2:] if len(row) == len(rows[0])]
    return pd.DataFrame(body, columns=rows[0]).set_index(rows[0][0])


@pytest.fixture(scope="module")
def runs():
    """Return mean accuracies on the twelve streams that drift, and mean times, by model."""
    moa = pd.read_csv(BENCHMARKS / "moa.csv", index_col="stream")
    rows = pd.read_csv(BENCHMARKS / "drift.csv")
    rows = rows[rows["stream"].isin(moa.index)]
    by_model = rows.pivot_table(["accuracy", "us_per_sample"], "stream", "model")
    assert len(by_model) == 12
    return by_model["accuracy"].join(moa), by_model["us_per_sample"].mean()


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("`AdaptiveAMFClassifier`", "AdaptiveAMF"),
        ("`AMFClassifier`", "AMF"),
        ("MOA's SRP", "MOA SRP"),
        ("MOA's ARF", "MOA ARF"),
        ("river's SRP", "SRP"),
        ("river's ARF", "ARF"),
    ],
)
def test_readme_has_mean_accuracies(runs, name, model):
    accuracies, times = runs
    (row,) = (line for line in README.splitlines() if line.startswith(f"| {name} | "))
    cells = [cell.strip(" *") for cell in row.strip("|").split("|")]
    n_best = (accuracies.idxmax(axis=1) == model).sum()
    us = f"{float(f'{times[model]:.3g}'):.0f}" if model in times else ""
    best = f"{n_best} of 12" if n_best == 12 else f"{n_best}"
    assert cells[1:] == [f"{accuracies[model].mean():.3f}", best, us]


def test_readme_has_figures_of_votes():
    mean, learned = (
        [float(part) for part in cell.split(" / ")] for cell in table("votes.md").loc["mean"][:2]
    )
    assert f"expected calibration error is {mean[2]:.3f}" in TEXT
    assert f'`vote="learned"` {learned[2]:.3f}' in TEXT
    assert f"accuracy is {100 * (learned[0] - mean[0]):.1f} points higher" in TEXT


def test_readme_has_figures_of_regression():
    means = table("regression.md").loc["mean of the ten"]
    ours, theirs = float(means["AdaptiveAMFRegressor"]), float(means["published: ASML-REG"])
    assert f"`AdaptiveAMFRegressor` is {ours:.3f}, that of ASML-REG [{theirs:.3f}]" in TEXT


def test_readme_has_figures_of_speed():
    ratios = table("speed.md")["river AMF / per sample"].replace("", "nan").astype(float).dropna()
    assert f"[{ratios.min():.0f} to {ratios.max():.0f} times]" in TEXT


def test_readme_is_short():
    assert len(README.splitlines()) <= 140
