"""How long a new process takes until its first predictions. Prints Markdown.

    python tests/benchmarks/start_up.py
    python tests/benchmarks/start_up.py --before FOLDER    # beside another checkout of river_amf

Each process imports river_amf, learns and predicts single samples and then a block; once with an
empty cache of compiled code, as after an installation, and once with a full one. The times are
seconds of CPU since the import began, as compiling takes one core; the import of river is left out.
With `--before`, the checkouts take turns. It needs no stream of the folder of `--data`.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from streams import make_parser, print_header, print_row

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("AMFClassifier", "AdaptiveAMFClassifier", "AMFRegressor", "AdaptiveAMFRegressor")

PROCESS = """
import json
import sys
import time
import pandas as pd
import river.forest

start = time.process_time()
import river_amf

model = getattr(river_amf, sys.argv[1])(seed=1)
laps = [time.process_time() - start]
xs = [{"a": float(i % 7), "b": "xyz"[i % 3]} for i in range(200)]
ys = [i % 7 for i in range(200)]
for x, y in zip(xs, ys):
    model.predict_one(x)
    model.learn_one(x, y)
laps.append(time.process_time() - start)
model.learn_many(pd.DataFrame(xs), ys)
model.predict_many(pd.DataFrame(xs))
laps.append(time.process_time() - start)
print(json.dumps(laps))
"""


def measure(checkout: Path, model: str, cache: str) -> list[float]:
    """Return the seconds after the import, single samples and blocks."""
    environment = {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, model],
        env=os.environ | environment,
        cwd=checkout,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{model} did not start: {' '.join(done.stderr.splitlines()[-1:])}")
    return json.loads(done.stdout)


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = make_parser(__doc__)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="a checkout to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args(argv)
    checkouts = {"now": ROOT}
    if arguments.before is not None:
        checkouts = {"before": arguments.before.resolve(), "now": ROOT}
    print_header("model", "checkout", "cache", "import", "single samples", "blocks")
    for model in MODELS:
        runs: dict[tuple[str, str], list[list[float]]] = {}
        for _ in range(arguments.repeats):
            for when, checkout in checkouts.items():
                with tempfile.TemporaryDirectory() as cache:
                    for state in ("empty", "full"):
                        laps = measure(checkout, model, cache)
                        runs.setdefault((when, state), []).append(laps)
        for names, laps in runs.items():
            medians = [f"{statistics.median(lap):.2f}" for lap in zip(*laps, strict=True)]
            print_row((model, *names, *medians))
    return 0


if __name__ == "__main__":
    sys.exit(main())
