"""How long a new process takes until its first predictions, and what is compiled. Prints Markdown.

    python tests/benchmarks/start_up.py
    python tests/benchmarks/start_up.py --before FOLDER    # beside another checkout of river_amf

Each process imports river_amf, learns and predicts single samples and then a block; once with an
empty cache of compiled code, as after an installation, and once with a full one. The times are
seconds of CPU since the import began, as compiling takes one core; the import of river is left out.
The second table says which kernels and parts are compiled, each with the functions that it calls.
With `--before`, the checkouts take turns. It needs no stream of the folder of `--data`.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import command

REPEATS = 3
ROOT = Path(__file__).resolve().parents[2]
GOALS = {"AMFClassifier": 0.5, "AdaptiveAMFClassifier": 0.6}  # of the time before

PROCESS = """
import json
import sys
import time
import pandas as pd
import river.forest

start = time.process_time()
import numba.core.event
import river_amf

seconds, running = {}, []

class Kernels(numba.core.event.Listener):
    def on_start(self, event):
        running.append((event.data["dispatcher"].py_func.__name__, time.process_time()))

    def on_end(self, event):
        name, began = running.pop()
        if not running:
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - began

numba.core.event.register("numba:compile", Kernels())
model = getattr(river_amf, sys.argv[1])(seed=1)
laps = [time.process_time() - start]
xs = [{"a": float(i % 7), "b": "xyz"[i % 3]} for i in range(200)]
ys = [i % 7 > 3 for i in range(200)]
for x, y in zip(xs, ys):
    model.predict_proba_one(x)
    model.learn_one(x, y)
laps.append(time.process_time() - start)
model.learn_many(pd.DataFrame(xs), ys)
model.predict_many(pd.DataFrame(xs))
laps.append(time.process_time() - start)
print(json.dumps([laps, seconds]))
"""


def measure(checkout: Path, model: str, cache: str) -> tuple[list[float], dict[str, float]]:
    """Return the seconds after the import, single samples and blocks, and those by kernel."""
    environment = {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, model],
        env=os.environ | environment,
        cwd=checkout,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise command.Failed(f"{model} did not start: {' '.join(done.stderr.splitlines()[-1:])}")
    laps, seconds = json.loads(done.stdout)
    return laps, seconds


def median(runs: list[list[float]]) -> list[float]:
    """Return the median of each column."""
    return [statistics.median(column) for column in zip(*runs, strict=True)]


def main(argv: list[str] | None = None) -> int:
    """Print both tables; returns the exit status."""
    parser = command.make_parser(__doc__)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="a checkout to compare with")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N")
    arguments = parser.parse_args(argv)
    checkouts = {"now": ROOT}
    if arguments.before is not None:
        checkouts = {"before": arguments.before.resolve(), "now": ROOT}
    cold: dict[tuple[str, str], list[list[float]]] = {}
    warm: dict[tuple[str, str], list[list[float]]] = {}
    by_kernel: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(arguments.repeats):
        for model in GOALS:
            for when, checkout in checkouts.items():
                cache = tempfile.mkdtemp()
                try:
                    laps, seconds = measure(checkout, model, cache)
                    cold.setdefault((when, model), []).append(laps)
                    by_kernel.setdefault((when, model), []).append(seconds)
                    warm.setdefault((when, model), []).append(measure(checkout, model, cache)[0])
                finally:
                    shutil.rmtree(cache)
    missed = print_waits(cold, warm)
    print()
    print_kernels(by_kernel)
    return command.verdict(missed)


def print_waits(
    cold: dict[tuple[str, str], list[list[float]]], warm: dict[tuple[str, str], list[list[float]]]
) -> list[str]:
    """Print the seconds up to the first predictions; return the goals that were missed."""
    print("| model | checkout | cache | import | single samples | blocks | of before | goal |")
    print("|---|---|---|---|---|---|---|---|")
    missed = []
    for cache, runs in (("empty", cold), ("full", warm)):
        for (when, model), laps in runs.items():
            ratio = goal = ""
            if when == "now" and cache == "empty" and ("before", model) in runs:
                share = median(laps)[2] / median(runs["before", model])[2]
                ratio, goal = f"{share:.2f}", f"<= {GOALS[model]}"
                if share > GOALS[model]:
                    missed.append(f"start of {model}")
            imported, single, blocks = median(laps)
            cells = f"{imported:.2f} | {single:.2f} | {blocks:.2f} | {ratio} | {goal}"
            print(f"| {model} | {when} | {cache} | {cells} |")
    return missed


def print_kernels(runs: dict[tuple[str, str], list[dict[str, float]]]) -> None:
    """Print the seconds by kernel."""
    medians = {
        column: {
            name: statistics.median(run.get(name, 0.0) for run in seconds) for name in seconds[0]
        }
        for column, seconds in runs.items()
    }
    names = dict.fromkeys(name for column in medians.values() for name in column)
    print("| compiled | " + " | ".join(f"{model}, {when}" for when, model in medians) + " |")
    print("|---|" + "---|" * len(medians))
    for name in names:
        cells = [f"{column[name]:.2f}" if name in column else "" for column in medians.values()]
        print(f"| {name} | " + " | ".join(cells) + " |")
    totals = [f"{sum(column.values()):.2f}" for column in medians.values()]
    print("| in all | " + " | ".join(totals) + " |")


if __name__ == "__main__":
    command.run(main)
