"""What more trees gain, and what they cost. Prints Markdown.

    python tests/benchmarks/trees.py                  # 10, 20, 40 and 100 trees of both forests
    python tests/benchmarks/trees.py --seeds 1 --streams elec2,car

Test-then-train over the first 50 000 rows (spam: 8 000) of the real streams of `origins.py`:
accuracy, log-loss, microseconds of processor time to predict and learn a sample from a dataframe in
one thread, and memory at the end; means over the streams and the seeds.
"""

import concurrent.futures
import functools
import statistics
import time
from pathlib import Path
from typing import NamedTuple

import command
import numpy as np
import pandas as pd
from streams import DATA, available, frame_of

from river_amf import AdaptiveAMFClassifier, AMFClassifier

FORESTS = {"AMFClassifier": AMFClassifier, "AdaptiveAMFClassifier": AdaptiveAMFClassifier}
N_TREES = (10, 20, 40, 100)


class Figures(NamedTuple):
    """Of a forest on a stream."""

    accuracy: float
    log_loss: float
    us: float  # of processor time, to predict and learn a sample
    mb: float  # of 10^6 bytes


@functools.cache
def warm_up(forest: str) -> None:
    """Compile the kernels, or load them, before anything is timed."""
    frame, labels = pd.DataFrame({"a": [0.0, 1.0]}), pd.Series([False, True])
    FORESTS[forest]().predict_proba_then_learn_many(frame, labels)


def measure(model: AMFClassifier, frame: pd.DataFrame, labels: pd.Series) -> Figures:
    """Run a new model along a stream."""
    start = time.process_time()
    proba = model.predict_proba_then_learn_many(frame, labels)
    seconds = time.process_time() - start
    of_label = proba.to_numpy()[np.arange(len(frame)), proba.columns.get_indexer(labels)]
    hits = proba[1:].idxmax(axis="columns") == labels[1:]  # the first row has no prediction
    of_label = of_label[of_label > 0]  # as in river, a label's first sample has no loss
    return Figures(
        accuracy=hits.mean(),
        log_loss=-np.log(of_label).sum() / len(hits),
        us=1e6 * seconds / len(frame),
        mb=model.memory_usage / 1e6,
    )


def run(forest: str, n_trees: int, data: Path, name: str, seed: int) -> Figures:
    """Run a forest along a stream."""
    frame, labels = frame_of(name, data, DATA[name])
    warm_up(forest)
    return measure(FORESTS[forest](n_estimators=n_trees, seed=seed), frame, labels)


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, DATA)
    command.add_seeds(parser)
    parser.add_argument(
        "--jobs", type=command.whole, default=1, metavar="N", help="processes (default: 1)"
    )
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    if not names:
        return 1
    print("| forest | trees | accuracy | log-loss | us per sample | memory, MB |")
    print("|---|---|---|---|---|---|")
    all_names, all_seeds = zip(*((n, s) for n in names for s in arguments.seeds), strict=True)
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for forest in FORESTS:
            for n_trees in N_TREES:
                of_one = functools.partial(run, forest, n_trees, arguments.data)
                figures = zip(*pool.map(of_one, all_names, all_seeds), strict=True)
                accuracy, log_loss, us, mb = map(statistics.mean, figures)
                cells = f"{accuracy:.4f} | {log_loss:.4f} | {us:.1f} | {mb:.0f}"
                print(f"| {forest} | {n_trees} | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    command.run(main)
