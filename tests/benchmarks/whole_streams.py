"""Whole streams of StreamArena, beside the figures that are published there. Prints Markdown.

    python tests/benchmarks/whole_streams.py --data FOLDER
    python tests/benchmarks/whole_streams.py --data FOLDER --streams electricity bike --seeds 1

The folder, or folders in it, holds npz files as in github.com/TechyNilesh/samlb (`X`, `y` and
`feature_names`) or CSV files as in github.com/TechyNilesh/StreamArena (the target last). Models get
blocks of rows; columns of text are categories, all others numbers.

Test-then-train from the first row to the last, default parameters, means over the seeds: log-loss,
accuracy and kappa-temporal, or RMSE and R2. As in StreamArena probabilities are at least 1e-7,
kappa-temporal is relative to the last label, and R2 to the mean of the targets so far.

Published: ARF and SRP, SOKNL and ARF for regression, of 100 trees, means of ten runs, and FIMT-DD,
from `leaderboard/data/baseline_runs.json` of StreamArena (commit 2bb632afe155), in
whole_streams.csv; which streams are simulations is ours. "Same" tells whether the last label, or
the mean so far, is as good as there: else the rows, or their order, are others.
"""

import argparse
import csv
import math
import statistics
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from streams import HERE, add_seeds, make_parser, print_header, print_row

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

TABLE = HERE / "whole_streams.csv"
BLOCK = 10_000  # rows
FLOOR = 1e-7  # of probabilities, as in StreamArena
ALIASES = {"new_airlines": "airlines", "elec2": "electricity"}  # StreamArena's names

FORESTS = {
    "classification": (AMFClassifier, AdaptiveAMFClassifier),
    "regression": (AMFRegressor, AdaptiveAMFRegressor),
}
PEERS = {"classification": ("ARF", "SRP"), "regression": ("ARF-Reg", "SOKNL", "FIMT-DD")}
MEASURES = {
    "classification": ("log_loss", "accuracy", "kappa_temporal"),
    "regression": ("rmse", "r2"),
}
FLOORS = {"classification": ("NoChange", "accuracy"), "regression": ("TargetMean", "rmse")}

Figures = dict[str, float]  # by measure
Published = dict[str, dict[str, dict[str, str]]]  # rows of the table by stream and model
Block = tuple[pd.DataFrame, NDArray[Any]]


class Source(NamedTuple):
    """A file with a stream, which is real or a simulation."""

    path: Path
    task: str
    kind: str


# Files


def read_published() -> Published:
    """Return StreamArena's figures."""
    published: Published = {}
    with open(TABLE, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            published.setdefault(row["stream"], {})[row["model"]] = row
    return published


def find(folder: Path, published: Published) -> dict[str, Source]:
    """Return the streams of StreamArena that are in a folder, by name."""
    found: dict[str, Source] = {}
    for path in sorted([*folder.rglob("*.npz"), *folder.rglob("*.csv*")]):
        name = path.name.partition(".")[0]
        name = ALIASES.get(name, name)
        if name in published:
            row = next(iter(published[name].values()))
            found.setdefault(name, Source(path, row["task"], row["kind"]))
    return found


def blocks_of(source: Source) -> Iterator[Block]:
    """Yield the rows of a file, block by block."""
    blocks = npz_blocks if source.path.suffix == ".npz" else csv_blocks
    try:
        yield from blocks(source)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise SystemExit(f"{source.path}: {error}") from error


def npz_blocks(source: Source) -> Iterator[Block]:
    """Yield blocks of `X` and `y`; one of them at a time is a frame."""
    with np.load(source.path) as arrays:
        names, X, y = (arrays[name] for name in ("feature_names", "X", "y"))
    for start in range(0, len(y), BLOCK):
        rows = slice(start, start + BLOCK)
        yield pd.DataFrame(X[rows], columns=names.astype(str)), y[rows]


def csv_blocks(source: Source) -> Iterator[Block]:
    """Yield blocks of rows; the types of the first block are those of all."""
    types: dict[Any, Any] = {}
    for name, column in pd.read_csv(source.path, nrows=BLOCK).items():
        types[name] = float if pd.api.types.is_numeric_dtype(column) else str
    target = next(reversed(types))
    types[target] = str if source.task == "classification" else float
    for frame in pd.read_csv(source.path, dtype=types, chunksize=BLOCK):
        yield frame.drop(columns=target), frame[target].to_numpy()


# Runs


def run_classifier(model: AMFClassifier, source: Source) -> Figures:
    """Run a classifier; "floor" is the accuracy of the last label."""
    n = hits = repeats = 0
    loss, last = 0.0, None
    for X, y in blocks_of(source):
        proba = model.predict_proba_then_learn_many(X, y)
        own, values = proba.columns.get_indexer(y), np.nan_to_num(proba.to_numpy())
        rows = np.arange(len(y))
        loss -= np.log(np.maximum(values[rows, own], FLOOR)).sum()
        hits += ((values.argmax(axis=1) == own) & (values.max(axis=1) > 0.0)).sum()
        repeats += (y[1:] == y[:-1]).sum() + (y[0] == last)
        last, n = y[-1], n + len(y)
    accuracy, floor = hits / n, repeats / n
    kappa = (accuracy - floor) / (1.0 - floor)
    measures = {"log_loss": loss / n, "accuracy": accuracy, "kappa_temporal": kappa}
    return {**measures, "n": n, "floor": floor}


def run_regressor(model: AMFRegressor, source: Source) -> Figures:
    """Run a regressor; "floor" is the RMSE of the mean of the targets so far."""
    n, total, errors, errors_of_mean = 0, 0.0, 0.0, 0.0
    for X, y in blocks_of(source):
        y = y.astype(np.float64)
        errors += np.sum((model.predict_then_learn_many(X, y).to_numpy() - y) ** 2)
        sums = total + np.cumsum(y)
        means = (sums - y) / np.maximum(n + np.arange(len(y)), 1)
        errors_of_mean += np.sum((means - y) ** 2)
        total, n = sums[-1], n + len(y)
    rmse, r2 = math.sqrt(errors / n), 1.0 - errors / errors_of_mean
    return {"rmse": rmse, "r2": r2, "n": n, "floor": math.sqrt(errors_of_mean / n)}


def mean_of_runs(forest: Any, source: Source, trees: int, seeds: list[int]) -> Figures:
    """Run a forest with each seed."""
    run = run_classifier if source.task == "classification" else run_regressor
    runs = [run(forest(n_estimators=trees, seed=seed), source) for seed in seeds]
    return {measure: statistics.mean(run[measure] for run in runs) for measure in runs[0]}


# The tables


def shown(figures: dict[str, Any], task: str) -> str:
    """Return the measures of a model as a cell."""
    digits = ".3f" if task == "classification" else ".4g"
    values = [float(figures[measure]) for measure in MEASURES[task]]
    return " / ".join("< -10" if value < -10.0 else format(value, digits) for value in values)


def is_same(figures: Figures, rows: dict[str, dict[str, str]], task: str) -> str:
    """Tell whether a model that reads no features is as good as in StreamArena."""
    model, measure = FLOORS[task]
    there = float(rows[model][measure])
    # for the first row, NoChange predicts the first class
    tolerance = 1.1 / figures["n"] if task == "classification" else 1e-6 * there
    return "yes" if abs(figures["floor"] - there) <= tolerance else "no"


def print_task(
    task: str, found: dict[str, Source], published: Published, arguments: argparse.Namespace
) -> None:
    """Print the streams of a task."""
    ours = [forest.__name__ for forest in FORESTS[task]]
    print(f"{' / '.join(MEASURES[task])}:\n")
    print_header("stream", "kind", "rows", "same", *ours, *PEERS[task])
    for name, source in found.items():
        figures = [
            mean_of_runs(forest, source, arguments.trees, arguments.seeds)
            for forest in FORESTS[task]
        ]
        rows = published[name]
        cells = [shown(one, task) for one in (*figures, *(rows[peer] for peer in PEERS[task]))]
        same = is_same(figures[-1], rows, task)
        print_row((name, source.kind, int(figures[0]["n"]), same, *cells))
    print()


def main(argv: list[str] | None = None) -> int:
    """Print a table for each task; returns the exit status."""
    parser = make_parser(__doc__)
    parser.add_argument("--streams", nargs="+", metavar="NAME", help="run these (default: all)")
    add_seeds(parser)
    parser.add_argument("--trees", type=int, default=10, help="default: 10")
    arguments = parser.parse_args(argv)
    published = read_published()
    found = find(arguments.data, published)
    asked = arguments.streams or [*published]
    missing = [name for name in asked if name not in found]
    if missing:
        print(f"left out, not in {arguments.data}: {', '.join(missing)}", file=sys.stderr)
    found = {name: source for name, source in found.items() if name in asked}
    for task in FORESTS:
        of_task = {name: source for name, source in found.items() if source.task == task}
        if of_task:
            print_task(task, of_task, published, arguments)
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
