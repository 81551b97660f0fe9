"""Whole streams of StreamArena, beside the figures that are published there. Prints Markdown.

    python tests/benchmarks/whole_streams.py --data FOLDER
    python tests/benchmarks/whole_streams.py --data FOLDER --streams electricity bike --seeds 1

The folder, or folders in it, holds npz files as in github.com/TechyNilesh/samlb (`X`, `y` and
`feature_names`) or CSV files as in github.com/TechyNilesh/StreamArena (the target last). Columns of
text are categories, all others numbers.

Test-then-train from the first row to the last, in blocks, default parameters, means over the seeds:
log-loss, accuracy and kappa-temporal, or RMSE and R2. As in StreamArena probabilities are at least
1e-7, kappa-temporal is relative to the last label, and R2 to the mean of the targets so far.

Published: ARF and SRP, SOKNL and ARF for regression, of 100 trees, means of ten runs, and FIMT-DD,
from `leaderboard/data/baseline_runs.json` of StreamArena (commit 2bb632afe155), in
whole_streams.csv; which streams are simulations is ours. "Same" is whether the last label, or the
mean so far, is as good as there: if not, the rows or their order differ.

    git clone https://github.com/aldopaim/AdaptiveRandomTreeEnsemble
    python tests/benchmarks/whole_streams.py --arte --data AdaptiveRandomTreeEnsemble/datasets

With `--arte`, accuracies beside those of ARTE and its peers, in arte.csv (README.md).
"""

import argparse
import functools
import math
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from streams import HERE, add_seeds, begin, make_parser, print_header, print_row

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.evaluation import load_stream

PUBLISHED = pd.read_csv(HERE / "whole_streams.csv", index_col=["stream", "model"])
TASKS = PUBLISHED.groupby(level="stream")[["task", "kind"]].first()
BLOCK = 10_000  # rows
FLOOR = 1e-7  # of probabilities, as in StreamArena
ALIASES = {"new_airlines": "airlines", "elec2": "electricity"}  # StreamArena's names

FORESTS = {
    "classification": (AMFClassifier, AdaptiveAMFClassifier),
    "regression": (AMFRegressor, AdaptiveAMFRegressor),
}
PEERS = {"classification": ("ARF", "SRP"), "regression": ("ARF-Reg", "SOKNL", "FIMT-DD")}
MEASURES = {
    "classification": ["log_loss", "accuracy", "kappa_temporal"],
    "regression": ["rmse", "r2"],
}


def find(folder: Path) -> dict[str, Path]:
    """Return the files of a folder with the streams of StreamArena, by name."""
    files: dict[str, Path] = {}
    for path in sorted([*folder.rglob("*.npz"), *folder.rglob("*.csv*")]):
        name = path.name.partition(".")[0]
        name = ALIASES.get(name, name)
        if name in TASKS.index:
            files.setdefault(name, path)
    return files


def blocks_of(path, is_regression):
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            names, X, y = (arrays[name] for name in ("feature_names", "X", "y"))
        for start in range(0, len(y), BLOCK):
            rows = slice(start, start + BLOCK)
            yield pd.DataFrame(X[rows], columns=names.astype(str)), y[rows]
        return
    types = {  # those of the first block
        name: float if pd.api.types.is_numeric_dtype(column) else str
        for name, column in pd.read_csv(path, nrows=BLOCK).items()
    }
    target = next(reversed(types))
    types[target] = float if is_regression else str
    for frame in pd.read_csv(path, dtype=types, chunksize=BLOCK):
        yield frame.drop(columns=target), frame[target].to_numpy()


def run_classifier(model, blocks):
    """Return measures by name; "floor" is the accuracy of the last label."""
    n = hits = repeats = 0
    loss, last = 0.0, None
    for X, y in blocks:
        proba = model.predict_proba_then_learn_many(X, y)
        places, values = proba.columns.get_indexer(y), np.nan_to_num(proba.to_numpy())
        loss -= np.log(np.maximum(values[np.arange(len(y)), places], FLOOR)).sum()
        hits += ((values.argmax(axis=1) == places) & (values.max(axis=1) > 0.0)).sum()
        repeats += (y[1:] == y[:-1]).sum() + (y[0] == last)
        last, n = y[-1], n + len(y)
    accuracy, floor = hits / n, repeats / n
    kappa = (accuracy - floor) / (1.0 - floor)
    measures = {"log_loss": loss / n, "accuracy": accuracy, "kappa_temporal": kappa}
    return {**measures, "n": n, "floor": floor}


def run_regressor(model, blocks):
    """Return measures by name; "floor" is the RMSE of the mean of the targets so far."""
    n, total, errors, errors_of_mean = 0, 0.0, 0.0, 0.0
    for X, y in blocks:
        y = y.astype(np.float64)
        errors += np.sum((model.predict_then_learn_many(X, y).to_numpy() - y) ** 2)
        sums = total + np.cumsum(y)
        means = (sums - y) / np.maximum(n + np.arange(len(y)), 1)
        errors_of_mean += np.sum((means - y) ** 2)
        total, n = sums[-1], n + len(y)
    rmse, r2 = math.sqrt(errors / n), 1.0 - errors / errors_of_mean
    return {"rmse": rmse, "r2": r2, "n": n, "floor": math.sqrt(errors_of_mean / n)}


def means_of(run, forests, blocks, arguments):
    """Return the measures of each forest on what a function returns, means over the seeds."""
    return [
        pd.DataFrame(
            run(forest(n_estimators=arguments.trees, seed=seed), blocks())
            for seed in arguments.seeds
        ).mean()
        for forest in forests
    ]


def cell(figures: pd.Series, task: str) -> str:
    digits = ".3f" if task == "classification" else ".4g"
    values = figures[MEASURES[task]].astype(float)
    return " / ".join("< -10" if value < -10.0 else format(value, digits) for value in values)


def is_same(name: str, figures: pd.Series, task: str) -> bool:
    """Return whether a model that reads no features is as good as in StreamArena."""
    if task == "classification":  # for the first row, NoChange predicts the first class
        accuracy = PUBLISHED.loc[(name, "NoChange"), "accuracy"]
        return abs(figures["floor"] - accuracy) <= 1.1 / figures["n"]
    return math.isclose(figures["floor"], PUBLISHED.loc[(name, "TargetMean"), "rmse"], rel_tol=1e-6)


def print_task(task: str, files: dict[str, Path], arguments: argparse.Namespace) -> None:
    print(f"{' / '.join(MEASURES[task])}:\n")
    forests, run = FORESTS[task], run_classifier if task == "classification" else run_regressor
    names = [forest.__name__ for forest in forests]
    print_header("stream", "kind", "rows", "same", *names, *PEERS[task])
    for name, path in files.items():
        try:
            blocks = functools.partial(blocks_of, path, task == "regression")
            figures = means_of(run, forests, blocks, arguments)
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise SystemExit(f"{path}: {error}") from error
        same = "yes" if is_same(name, figures[0], task) else "no"
        figures += [PUBLISHED.loc[(name, peer)] for peer in PEERS[task]]
        cells = [cell(one, task) for one in figures]
        print_row((name, TASKS.loc[name, "kind"], int(figures[0]["n"]), same, *cells))
    print()


def print_arte(arguments: argparse.Namespace) -> int:
    """Print accuracies beside those of ARTE; returns the exit status."""
    forests = FORESTS["classification"]
    published = pd.read_csv(HERE / "arte.csv", index_col="stream")
    names = [forest.__name__ for forest in forests]
    print_header("stream", "rows", "last label", *names, *published.columns[1:])
    paths = {name: arguments.data / f"{file}.zip" for name, file in published.iloc[:, 0].items()}
    there = {name: path for name, path in paths.items() if path.exists()}
    print(f"left out: {', '.join(paths.keys() - there.keys())}", file=sys.stderr)
    for name, path in there.items():
        samples = [*load_stream(path).samples]
        X, y = pd.DataFrame([x for x, _ in samples]), np.array([str(y) for _, y in samples])
        cuts = [slice(start, start + BLOCK) for start in range(0, len(y), BLOCK)]
        means = means_of(run_classifier, forests, [(X[c], y[c]) for c in cuts].copy, arguments)
        cells = means[0]["floor"], *(mean["accuracy"] for mean in means), *published.loc[name][1:]
        print_row((name, len(y), *(f"{cell:.4f}" for cell in cells)))
    return 0 if there else 1


def main(argv: list[str] | None = None) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--arte", action="store_true", help="the streams of ARTE")
    parser.add_argument("--streams", nargs="+", metavar="NAME", help="run these (default: all)")
    add_seeds(parser)
    parser.add_argument("--trees", type=int, default=10, help="default: 10")
    arguments = begin(parser, argv)
    if arguments.arte:
        return print_arte(arguments)
    names, files = arguments.streams or [*TASKS.index], find(arguments.data)
    if missing := [name for name in names if name not in files]:
        print(f"left out, not in {arguments.data}: {', '.join(missing)}", file=sys.stderr)
    files = {name: path for name, path in files.items() if name in names}
    for task in FORESTS:
        if of_task := {name: path for name, path in files.items() if TASKS.task[name] == task}:
            print_task(task, of_task, arguments)
    return 0 if files else 1


if __name__ == "__main__":
    sys.exit(main())
