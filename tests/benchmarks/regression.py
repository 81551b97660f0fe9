"""How well numbers are predicted: our forests, published figures and river's models.

    python tests/benchmarks/regression.py                         # all parts but `river`
    python tests/benchmarks/regression.py streams --streams fried,bike --seeds 1
    python tests/benchmarks/regression.py river --models AMF,arf  # hours; writes regression.csv

- `streams`: R2 and RMSE of both forests, 10 trees, beside what is published on the same files and
  what river's models reach (from regression.csv, where `rows` says how many rows they have run).
- `coverage`: the share of targets in the 90 % intervals of `AdaptiveAMFRegressor` after the first
  1 000 rows, over the whole stream and in its windows of 1 000 rows, and that of other levels.
- `speed`: microseconds of processor time to predict and learn a sample, single samples in one
  thread, beside `AdaptiveAMFClassifier` (which tells targets above the median from others) and
  river's `ARFRegressor` and `AMFRegressor`.
- `river`: runs river's models as in `baselines.regressors()`, and some as they come.

Test-then-train over the first 50 000 rows; R2 and RMSE are means over the seeds. Ten of the streams
come from `origins.py`; gas, protein and pumadyn32nm are left out where there are no such files.

Published: ARF-Reg, SOKNL, HAT-Reg and ASML-REG, means of ten runs, from `CSV_RESULTS` of
github.com/TechyNilesh/ASML-REG (commit 71ea74b60dd1); SGB(Oza), RMSE, mean of five runs, from
github.com/nuwangunasekara/SGBR (commit c7b63d140b88). "Goal" is what the project set out to reach.
The exit status is 1 if a goal was missed, or if there was nothing to measure.
"""

import argparse
import functools
import itertools
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import command
import numpy as np
import pandas as pd
from regression_peers import COLUMNS, RIVER, SHORT, Table, amf, arf, read_table, write_row
from streams import available, file_of

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFRegressor
from river_amf.evaluation import compare, load_stream

missed: list[str] = []  # goals, in this run

N_ROWS = 50_000
N_TIMED = 3_000
LEVEL = 0.9
LEVELS = (0.5, 0.8, 0.95, 0.99)
WINDOW = 1_000


class Published(NamedTuple):
    """R2 of others, and the RMSE of SGB(Oza) where that is known."""

    arf: float
    soknl: float
    hat: float
    asml: float
    sgb: float | None


PUBLISHED = {
    "House8L": Published(0.497, 0.530, 0.407, 0.534, 34230),
    "MetroTraffic": Published(0.214, 0.275, 0.127, 0.448, 1688),
    "abalone": Published(0.595, 0.343, 0.562, 0.616, 2.396),
    "ailerons": Published(0.619, 0.649, 0.767, 0.791, 0.0562),
    "bike": Published(0.758, 0.715, 0.744, 0.838, 47.3),
    "cpu_activity": Published(0.799, 0.912, 0.720, 0.900, None),
    "elevators": Published(0.654, 0.628, 0.665, 0.792, 0.00359),
    "fried": Published(0.828, 0.833, 0.811, 0.846, 1.663),
    "kin8nm": Published(0.472, 0.423, 0.307, 0.630, None),
    "white_wine": Published(0.303, 0.284, 0.116, 0.342, None),
}
TITLES = tuple(f"published: {name}" for name in ("ARF-Reg", "SOKNL", "HAT-Reg", "ASML-REG"))
OTHERS = ("gas", "protein", "pumadyn32nm")  # where nothing drifts, or nothing can be told
STREAMS = (*PUBLISHED, *OTHERS)
FORESTS = {"AMFRegressor": AMFRegressor, "AdaptiveAMFRegressor": AdaptiveAMFRegressor}


# Streams


def available_streams(chosen: list[str], data: Path) -> list[str]:
    """Return the streams that there are files of, and say which ones are left out."""
    names = available([name for name in chosen if name not in OTHERS], data)
    for name in OTHERS:
        if name in chosen:
            if file_of(name, data).exists():
                names.append(name)
            else:
                command.say(f"left out, not in {data}: {name}.csv.gz")
    return names


@functools.cache
def frame_of(name: str, data: Path, limit: int = N_ROWS) -> tuple[pd.DataFrame, pd.Series]:
    """Load a stream as a dataframe and its targets."""
    stream = load_stream(data / f"{name}.csv.gz", limit=limit, task="regression")
    samples = list(stream)
    return pd.DataFrame([x for x, _ in samples]), pd.Series([y for _, y in samples])


class Run(NamedTuple):
    """The predictions along a stream, with intervals."""

    y: np.ndarray
    prediction: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def r2(self) -> float:
        """The share of the variance that is explained."""
        return 1.0 - np.mean((self.y - self.prediction) ** 2) / np.var(self.y)

    @property
    def rmse(self) -> float:
        """The root mean squared error."""
        return np.sqrt(np.mean((self.y - self.prediction) ** 2))

    @property
    def hits(self) -> np.ndarray:
        """Which targets are in their intervals, after the first window."""
        return ((self.lower <= self.y) & (self.y <= self.upper))[WINDOW:]


def run(kind: str, name: str, seed: int, data: Path, level: float = LEVEL) -> Run:
    """Run one of our forests along a stream, in blocks."""
    X, y = frame_of(name, data)
    model = FORESTS[kind](n_estimators=10, seed=seed)
    return Run(y.to_numpy(), *model._test_then_train(X, y, None, level))


def report(what: str, measured: float, spec: str, relation: str, goal: float) -> None:
    """Print a line about a goal."""
    is_met = measured >= goal if relation == ">=" else measured <= goal
    print(f"| {what} | {measured:{spec}} | {relation} {goal:g} |", flush=True)
    if not is_met:
        missed.append(what)


def print_header(*titles: str) -> None:
    """Print the head of a Markdown table."""
    print(f"| {' | '.join(titles)} |")
    print("|---" * len(titles) + "|", flush=True)


# The parts


class Figures(NamedTuple):
    """Means over the seeds."""

    r2: float
    rmse: float


def figures_of(kind: str, name: str, arguments: argparse.Namespace) -> Figures:
    """Return the figures of a forest on a stream."""
    runs = [run(kind, name, seed, arguments.data) for seed in arguments.seeds]
    return Figures(
        statistics.mean(one.r2 for one in runs), statistics.mean(one.rmse for one in runs)
    )


def by_stream(names: list[str], arguments: argparse.Namespace) -> None:
    """Print R2 and RMSE of our forests and of others, and the goals."""
    print_header("stream", *FORESTS, *TITLES, *(f"RMSE: {name}" for name in (*FORESTS, "SGB(Oza)")))
    ours: dict[str, dict[str, Figures]] = {}
    for name in names:
        ours[name] = {kind: figures_of(kind, name, arguments) for kind in FORESTS}
        others = PUBLISHED.get(name)
        cells = [f"{each.r2:.3f}" for each in ours[name].values()]
        cells += [f"{r2:.3f}" for r2 in others[:4]] if others else [""] * 4
        cells += [f"{each.rmse:.5g}" for each in ours[name].values()]
        cells.append(f"{others.sgb:g}" if others and others.sgb else "")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if set(PUBLISHED) <= set(ours):
        means = [statistics.mean(ours[name][kind].r2 for name in PUBLISHED) for kind in FORESTS]
        means += [
            statistics.mean(column) for column in list(zip(*PUBLISHED.values(), strict=True))[:4]
        ]
        print(f"| mean of the ten | {' | '.join(f'{mean:.3f}' for mean in means)} | | | |")
    print()
    table = read_table()
    print_river(names, table, arguments.data)
    check_streams(ours, table)


def shown(row: dict[str, str] | None, n_all: int) -> str:
    """Return an R2 as a cell, with the number of rows if these are not all."""
    if row is None:
        return ""
    r2, n = float(row["r2"]), int(row["rows"])
    cell = f"{r2:.3f}" if r2 > -10.0 else "< -10"  # how far below nothing it is says nothing
    return cell if n >= n_all else f"{cell} ({n})"


def print_river(names: list[str], table: Table, data: Path) -> None:
    """Print the R2 of river's models."""
    print_header("river's models", *names)
    for model in RIVER:
        cells = [shown(table.get((model, name)), len(frame_of(name, data)[1])) for name in names]
        print(f"| {model} | {' | '.join(cells)} |", flush=True)
    print()


def check_streams(ours: dict[str, dict[str, Figures]], table: Table) -> None:
    """Print the goals of accuracy."""
    print_header("what", "measured", "goal")
    adaptive = {name: each["AdaptiveAMFRegressor"] for name, each in ours.items()}
    if set(PUBLISHED) <= set(ours):
        mean = statistics.mean(adaptive[name].r2 for name in PUBLISHED)
        report("mean R2 of the ten", mean, ".4f", ">=", 0.71)
        n_ahead = sum(adaptive[name].r2 > max(PUBLISHED[name][:4]) for name in PUBLISHED)
        report("streams ahead of all that is published", n_ahead, "d", ">=", 8)
    for name, most in (("fried", 1.70), ("bike", 68.0)):
        if name in ours:
            report(f"RMSE, {name}", adaptive[name].rmse, ".4g", "<=", most)
    if "kin8nm" in ours:
        report("R2, kin8nm", adaptive["kin8nm"].r2, ".4f", ">=", 0.60)
    for name in OTHERS:
        if name in ours:
            lead = adaptive[name].r2 - ours[name]["AMFRegressor"].r2
            report(f"R2, {name}, beside the plain forest", lead, ".4f", ">=", -0.015)
    for name in ours:
        for model in ("AMF", "AMF, target scaled"):
            if (model, name) in table:
                lead = ours[name]["AMFRegressor"].r2 - float(table[model, name]["r2"])
                least = -0.005 if name == "pumadyn32nm" else 0.0
                report(f"R2, {name}, AMFRegressor beside river's {model}", lead, ".4f", ">=", least)


def coverage(names: list[str], arguments: argparse.Namespace) -> None:
    """Print how many targets are in their intervals, and the goals."""
    seed = arguments.seeds[0]
    levels = [f"{level:.0%}" for level in LEVELS]
    print_header("stream", "rows", "90 %", "least window", "greatest window", "width", *levels)
    goals = []
    for name in names:
        one = run("AdaptiveAMFRegressor", name, seed, arguments.data)
        whole = len(one.hits) // WINDOW * WINDOW
        windows = one.hits[:whole].reshape(-1, WINDOW).mean(axis=1)
        if not len(windows):
            continue
        width = np.mean((one.upper - one.lower)[WINDOW:]) / np.std(one.y)
        others = [
            run("AdaptiveAMFRegressor", name, seed, arguments.data, level).hits.mean()
            for level in LEVELS
        ]
        cells = [f"{part:.3f}" for part in (one.hits.mean(), windows.min(), windows.max())]
        cells += [f"{width:.2f} sd", *(f"{part:.3f}" for part in others)]
        print(f"| {name} | {len(one.y)} | {' | '.join(cells)} |", flush=True)
        goals += [
            (f"coverage, {name}, at least", one.hits.mean(), ">=", 0.88),
            (f"coverage, {name}, at most", one.hits.mean(), "<=", 0.92),
            (f"least window, {name}", windows.min(), ">=", 0.85),
            (f"greatest window, {name}", windows.max(), "<=", 0.95),
        ]
    print()
    print_header("what", "measured", "goal")
    for what, measured, relation, goal in goals:
        report(what, measured, ".3f", relation, goal)


def us_of(model: object, samples: Iterable[tuple[dict, object]], n: int) -> float:
    """Return microseconds of processor time to predict and learn a sample."""
    start = time.process_time()
    for x, y in samples:
        model.predict_one(x)
        model.learn_one(x, y)
    return 1e6 * (time.process_time() - start) / n


def speed(names: list[str], arguments: argparse.Namespace) -> None:
    """Print the time that a sample takes, and the goals."""
    makers = {
        "AdaptiveAMFClassifier": lambda: AdaptiveAMFClassifier(n_estimators=10, seed=1),
        "AMFRegressor": lambda: AMFRegressor(n_estimators=10, seed=1),
        "AdaptiveAMFRegressor": lambda: AdaptiveAMFRegressor(n_estimators=10, seed=1),
        "ARF": lambda: arf(1),
        "AMF": lambda: amf(1),
    }
    print_header("stream", *makers)
    times: dict[str, list[float]] = {name: [] for name in makers}
    for name in names:
        X, y = frame_of(name, arguments.data)
        rows, numbers = X[:N_TIMED].to_dict("records"), y[:N_TIMED].tolist()
        median = statistics.median(numbers)
        for kind, make in makers.items():
            is_river = kind in ("ARF", "AMF")
            targets = [t > median for t in numbers] if kind.endswith("Classifier") else numbers
            samples = list(zip(rows, targets, strict=True))
            if not is_river:
                us_of(make(), samples[:200], 200)  # so that nothing is compiled while it is timed
            repeats = 1 if is_river else 3
            least = min(us_of(make(), samples, len(samples)) for _ in range(repeats))
            times[kind].append(least)
        cells = [f"{times[kind][-1]:.1f}" for kind in makers]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print()
    print_header("what", "measured", "goal")
    ours = times["AdaptiveAMFRegressor"]
    for kind, spec, relation, goal in (
        ("AdaptiveAMFClassifier", ".2f", "<=", 2.0),
        ("ARF", ".1f", ">=", 25.0),
        ("AMF", ".1f", ">=", 15.0),
    ):
        ratios = [a / b for a, b in zip(ours, times[kind], strict=True)]
        ratio = statistics.geometric_mean(ratios)
        if relation == "<=":
            report(f"time, times that of {kind} (geometric mean)", ratio, spec, relation, goal)
        else:
            what = f"times as fast as river's {kind} (geometric mean)"
            report(what, 1.0 / ratio, spec, relation, goal)


def run_river(names: list[str], arguments: argparse.Namespace) -> None:
    """Run river's models, and write each figure as soon as it is known."""
    print_header(*COLUMNS)
    for model, name in itertools.product(arguments.models, names):
        X, y = frame_of(name, arguments.data)
        n = min(len(y), SHORT.get(model, N_ROWS))
        make = functools.partial(RIVER[model], arguments.seeds[0])
        table = compare((X[:n], y[:n]), {model: make}, task="regression", window=n).table
        row = table.iloc[0]
        if row["status"] != "ok":
            command.say(f"{model} on {name}: {row['status']}")
            continue
        figures = [row[column] for column in ("R2", "RMSE", "MAE", "us_per_sample")]
        write_row([model, name, n, *(f"{figure:.6g}" for figure in figures)])
        print(f"| {model} | {name} | {n} | {' | '.join(f'{f:.5g}' for f in figures)} |", flush=True)


PARTS: dict[str, Callable[[list[str], argparse.Namespace], None]] = {
    "streams": by_stream,
    "coverage": coverage,
    "speed": speed,
    "river": run_river,
}


def read_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = command.make_parser(__doc__)
    command.add_parts(parser, PARTS)
    command.add_streams(parser, STREAMS)
    parser.add_argument(
        "--seeds", type=command.wholes, default=[1, 2, 3], metavar="1,2", help="default: 1,2,3"
    )
    parser.add_argument(
        "--models",
        type=command.names("model", RIVER),
        default=list(RIVER),
        metavar="NAME,NAME",
        help=f"for the part `river` (default: all of {', '.join(RIVER)})",
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Print the parts asked for; returns the exit status."""
    arguments = read_arguments(argv)
    names = available_streams(arguments.streams, arguments.data)
    if not names:
        return 1
    for part in arguments.parts or [part for part in PARTS if part != "river"]:
        PARTS[part](names, arguments)
        print()
    return command.verdict(missed)


if __name__ == "__main__":
    command.run(main)
