"""How well real targets are predicted: our forests, published figures and river's models.

    python tests/benchmarks/regression.py
    python tests/benchmarks/regression.py --streams fried bike --seeds 1
    python tests/benchmarks/regression.py --river AMF arf         # hours; writes regression.csv

R2 and RMSE of both forests, 10 trees, beside what is published on the same files and what river's
models reach (from regression.csv, where `rows` is the number of rows of a run): those of
`baselines.regressors()`, and some with their own defaults.

Test-then-train over the first 50 000 rows; R2 and RMSE are means over the seeds. Ten of the streams
come from `origins.py`; gas, protein and pumadyn32nm are left out where there are no such files.

README.md says where the published figures are from.
"""

import argparse
import functools
import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import streams
from river import forest, tree

from river_amf import AdaptiveAMFRegressor, AMFRegressor, baselines
from river_amf.baselines.preparation import TargetScaler
from river_amf.baselines.river_models import behind_scalers, linear_regression
from river_amf.evaluation import compare

N_ROWS = 50_000
PUBLISHED = pd.read_csv(streams.HERE / "published.csv", index_col="stream")  # R2, RMSE of SGB
STREAMS = (*PUBLISHED.index, "gas", "protein", "pumadyn32nm")
FORESTS = (AMFRegressor, AdaptiveAMFRegressor)
TABLE = streams.HERE / "regression.csv"


def hat(seed, **options):
    """Return river's adaptive Hoeffding tree."""
    return tree.HoeffdingAdaptiveTreeRegressor(seed=seed, **options)


def amf(seed):
    """Return river's Mondrian forest."""
    return forest.AMFRegressor(n_estimators=10, seed=seed)


def baseline(name):
    return lambda seed: baselines.regressors(seed)[name]()


RIVER = {name: baseline(name) for name in baselines.regressors() if name not in ("amf", "adaptive")}
RIVER |= {
    "HAT": hat,
    "HAT, scaled": lambda seed: behind_scalers(hat(seed, leaf_model=linear_regression())),
    "ARF": lambda seed: forest.ARFRegressor(n_models=10, seed=seed),
    "AMF": amf,
    "AMF, target scaled": lambda seed: TargetScaler(amf(seed)),
}
SHORT = {"ARF": 5_000, "bagging": 5_000, "srp": 2_000}  # rows, as they are slow
COLUMNS = ["model", "stream", "rows", "r2", "rmse", "mae", "us"]


def run(kind: type, name: str, seed: int, data: Path) -> tuple[float, float]:
    """Run one of our forests along a stream, in one block; return R2 and RMSE."""
    X, y = streams.frame_of(name, data, N_ROWS, "regression")
    prediction = kind(n_estimators=10, seed=seed).predict_then_learn_many(X, y)
    error = np.mean((y - prediction) ** 2)
    return 1.0 - error / np.var(y), np.sqrt(error)


def by_stream(names: list[str], arguments: argparse.Namespace) -> None:
    """Print R2 and RMSE of our forests and of others."""
    *with_r2, with_rmse = PUBLISHED.columns
    ours = [kind.__name__ for kind in FORESTS]
    titles = (*ours, *(f"published: {name}" for name in with_r2))
    streams.print_header("stream", *titles, *(f"RMSE: {name}" for name in (*ours, with_rmse)))
    r2 = pd.DataFrame(index=names, columns=titles, dtype=float)
    for name in names:
        runs = [[run(kind, name, n, arguments.data) for n in arguments.seeds] for kind in FORESTS]
        (*scores,), (*errors,) = np.mean(runs, axis=1).T
        published = PUBLISHED.reindex([name]).iloc[0]
        r2.loc[name] = [*scores, *published[with_r2]]
        cells = [f"{score:.3f}" for score in r2.loc[name]]
        cells += [f"{error:.5g}" for error in (*errors, published[with_rmse])]
        streams.print_row([name, *("" if cell == "nan" else cell for cell in cells)])
    if set(PUBLISHED.index) <= set(names):
        means = r2.loc[PUBLISHED.index].mean(skipna=False)
        streams.print_row(["mean of the ten", *(f"{mean:.3f}" for mean in means), "", "", ""])


def print_river(names: list[str], data: Path) -> None:
    """Print the R2 of river's models, with the number of rows if these are not all."""
    print()
    streams.print_header("river's models", *names)
    n_rows = {name: len(streams.frame_of(name, data, N_ROWS, "regression")[1]) for name in names}
    runs = {(row.model, row.stream): row for row in pd.read_csv(TABLE).itertuples()}
    for model in RIVER:
        cells = []
        for name in names:
            row = runs.get((model, name))
            r2 = "" if row is None else f"{row.r2:.3f}" if row.r2 > -10.0 else "< -10"
            is_part = row is not None and row.rows < n_rows[name]
            cells.append(f"{r2} ({row.rows:.0f})" if is_part else r2)
        streams.print_row((model, *cells))


def run_river(names: list[str], arguments: argparse.Namespace) -> None:
    """Run river's models, and write each row in place of an older one."""
    streams.print_header(*COLUMNS)
    for model, name in itertools.product(arguments.river, names):
        X, y = streams.frame_of(name, arguments.data, SHORT.get(model, N_ROWS), "regression")
        make = functools.partial(RIVER[model], arguments.seeds[0])
        row = compare((X, y), {model: make}, task="regression", window=len(y)).table.iloc[0]
        if row["status"] != "ok":
            print(f"{model} on {name}: {row['status']}", file=sys.stderr)
            continue
        figures = [f"{row[column]:.6g}" for column in ("R2", "RMSE", "MAE", "us_per_sample")]
        cells = [model, name, str(len(y)), *figures]
        table = pd.read_csv(TABLE, dtype=str)
        others = table[(table["model"] != model) | (table["stream"] != name)]
        pd.concat([others, pd.DataFrame([cells], columns=COLUMNS)]).to_csv(TABLE, index=False)
        streams.print_row(cells)


def main(argv: list[str] | None = None) -> int:
    parser = streams.make_parser(__doc__, STREAMS)
    streams.add_seeds(parser)
    streams.add_names(parser, "--river", [*RIVER], [])
    arguments = streams.begin(parser, argv)
    names = streams.available(arguments.streams, arguments.data)
    if arguments.river:
        run_river(names, arguments)
    elif names:
        by_stream(names, arguments)
        print_river(names, arguments.data)
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main())
