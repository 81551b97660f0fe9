"""How well numbers are predicted: our forests, published figures and river's models.

    python tests/benchmarks/regression.py
    python tests/benchmarks/regression.py --streams fried bike --seeds 1
    python tests/benchmarks/regression.py --river AMF arf         # hours; writes regression.csv

R2 and RMSE of both forests, 10 trees, beside what is published on the same files and what river's
models reach (from regression.csv, where `rows` says how many rows they have run): those of
`baselines.regressors()`, and some as they come.

Test-then-train over the first 50 000 rows; R2 and RMSE are means over the seeds. Ten of the streams
come from `origins.py`; gas, protein and pumadyn32nm are left out where there are no such files.

Published: ARF-Reg, SOKNL, HAT-Reg and ASML-REG, means of ten runs, from `CSV_RESULTS` of
github.com/TechyNilesh/ASML-REG (commit 71ea74b60dd1); SGB(Oza), RMSE, mean of five runs, from
github.com/nuwangunasekara/SGBR (commit c7b63d140b88).
"""

import argparse
import functools
import itertools
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from river import forest, tree
from river.base import Regressor
from streams import HERE, add_names, add_seeds, available, make_parser, print_header, print_row

from river_amf import AdaptiveAMFRegressor, AMFRegressor, baselines
from river_amf.baselines.preparation import TargetScaler
from river_amf.baselines.river_models import behind_scalers, linear_regression
from river_amf.evaluation import compare, load_stream

N_ROWS = 50_000


PUBLISHED = pd.read_csv(HERE / "published.csv", index_col="stream")  # R2, RMSE of SGB
OTHERS = ("gas", "protein", "pumadyn32nm")  # where nothing drifts, or nothing can be told
STREAMS = (*PUBLISHED.index, *OTHERS)
FORESTS = {"AMFRegressor": AMFRegressor, "AdaptiveAMFRegressor": AdaptiveAMFRegressor}


# Streams


@functools.cache
def frame_of(name: str, data: Path, limit: int = N_ROWS) -> tuple[pd.DataFrame, pd.Series]:
    """Load a stream as a dataframe and its targets."""
    stream = load_stream(data / f"{name}.csv.gz", limit=limit, task="regression")
    samples = list(stream)
    return pd.DataFrame([x for x, _ in samples]), pd.Series([y for _, y in samples])


def run(kind: str, name: str, seed: int, data: Path) -> tuple[float, float]:
    """Run one of our forests along a stream, in blocks; return R2 and RMSE."""
    X, y = frame_of(name, data)
    prediction = FORESTS[kind](n_estimators=10, seed=seed).predict_then_learn_many(X, y)
    error = np.mean((y - prediction) ** 2)
    return 1.0 - error / np.var(y.to_numpy()), np.sqrt(error)


# River's models, and the table of what came of them

TABLE = HERE / "regression.csv"


def hat_scaled(seed: int) -> Regressor:
    """Return river's adaptive Hoeffding tree as the Hoeffding tree of the baselines is."""
    model = tree.HoeffdingAdaptiveTreeRegressor(leaf_model=linear_regression(), seed=seed)
    return behind_scalers(model)


def arf(seed: int) -> Regressor:
    """Return river's adaptive random forest as it comes."""
    return forest.ARFRegressor(n_models=10, seed=seed)


def amf(seed: int) -> Regressor:
    """Return river's Mondrian forest as it comes."""
    return forest.AMFRegressor(n_estimators=10, seed=seed)


OURS = ("amf", "adaptive")  # among the baselines
RIVER: dict[str, Callable[[int], Regressor]] = {
    **{
        name: lambda seed, name=name: baselines.regressors(seed)[name]()
        for name in baselines.regressors()
        if name not in OURS
    },
    "HAT": lambda seed: tree.HoeffdingAdaptiveTreeRegressor(seed=seed),
    "HAT, scaled": hat_scaled,
    "ARF": arf,
    "AMF": amf,
    "AMF, target scaled": lambda seed: TargetScaler(amf(seed)),
}
SHORT = {"ARF": 5_000, "bagging": 5_000, "srp": 2_000}  # rows, as they are slow
COLUMNS = ("model", "stream", "rows", "r2", "rmse", "mae", "us")


def write_row(row: list[object]) -> None:
    """Put a row into the table, in place of an older one."""
    table = pd.read_csv(TABLE, dtype=str)
    others = table[(table["model"] != row[0]) | (table["stream"] != row[1])]
    pd.concat([others, pd.DataFrame([row], columns=COLUMNS)]).to_csv(TABLE, index=False)


# The tables


Figures = tuple[float, float]  # R2 and RMSE, means over the seeds


def figures_of(kind: str, name: str, arguments: argparse.Namespace) -> Figures:
    """Return the figures of a forest on a stream."""
    runs = [run(kind, name, seed, arguments.data) for seed in arguments.seeds]
    r2, rmse = map(statistics.mean, zip(*runs, strict=True))
    return r2, rmse


def by_stream(names: list[str], arguments: argparse.Namespace) -> None:
    """Print R2 and RMSE of our forests and of others."""
    *with_r2, with_rmse = PUBLISHED.columns
    titles = (*FORESTS, *(f"published: {name}" for name in with_r2))
    print_header("stream", *titles, *(f"RMSE: {name}" for name in (*FORESTS, with_rmse)))
    ours: dict[str, list[float]] = {}
    for name in names:
        others = PUBLISHED.reindex([name]).iloc[0]
        figures = [figures_of(kind, name, arguments) for kind in FORESTS]
        ours[name] = [*(r2 for r2, _ in figures), *others[with_r2]]
        errors = [*(rmse for _, rmse in figures), others[with_rmse]]
        cells = [*(f"{r2:.3f}" for r2 in ours[name]), *(f"{rmse:.5g}" for rmse in errors)]
        print_row([name, *("" if cell == "nan" else cell for cell in cells)])
    if set(PUBLISHED.index) <= set(ours):
        means = np.mean([ours[name] for name in PUBLISHED.index], axis=0)
        print_row(["mean of the ten", *(f"{mean:.3f}" for mean in means), "", "", ""])
    print()
    print_river(names, arguments.data)


def print_river(names: list[str], data: Path) -> None:
    """Print the R2 of river's models, with the number of rows if these are not all."""
    print_header("river's models", *names)
    known = pd.read_csv(TABLE).set_index(["model", "stream"])
    for model in RIVER:
        cells = []
        for name in names:
            row = known.loc[(model, name)] if (model, name) in known.index else None
            r2 = "" if row is None else f"{row.r2:.3f}" if row.r2 > -10.0 else "< -10"
            is_part = row is not None and row.rows < len(frame_of(name, data)[1])
            cells.append(f"{r2} ({row.rows:.0f})" if is_part else r2)
        print_row((model, *cells))


def run_river(names: list[str], arguments: argparse.Namespace) -> None:
    """Run river's models, and write each figure as soon as it is known."""
    print_header(*COLUMNS)
    for model, name in itertools.product(arguments.river, names):
        X, y = frame_of(name, arguments.data)
        n = min(len(y), SHORT.get(model, N_ROWS))
        make = functools.partial(RIVER[model], arguments.seeds[0])
        table = compare((X[:n], y[:n]), {model: make}, task="regression", window=n).table
        row = table.iloc[0]
        if row["status"] != "ok":
            print(f"{model} on {name}: {row['status']}", file=sys.stderr)
            continue
        figures = [row[column] for column in ("R2", "RMSE", "MAE", "us_per_sample")]
        write_row([model, name, n, *(f"{figure:.6g}" for figure in figures)])
        print(f"| {model} | {name} | {n} | {' | '.join(f'{f:.5g}' for f in figures)} |", flush=True)


def main(argv: list[str] | None = None) -> int:
    """Print the tables, or run river's models; returns the exit status."""
    parser = make_parser(__doc__, STREAMS)
    add_seeds(parser)
    add_names(parser, "--river", [*RIVER], [])
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    if arguments.river:
        run_river(names, arguments)
    elif names:
        by_stream(names, arguments)
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main())
