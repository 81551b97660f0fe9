"""The figures of the README but those of speed: accuracy, start-up. Prints them as Markdown.

    python tests/benchmarks/figures.py            # all of them
    python tests/benchmarks/figures.py accuracy   # or: river, startup

Accuracy and log-loss are test-then-train with default parameters and 10 trees, the mean of three
seeds; `river` compares accuracy with `river.forest.AMFClassifier`. Start-up is the time from the
first import to the first prediction in a new process. The streams of ../shared/data are left out,
and named, where that folder is missing. The exit status is 1 if a promise did not hold.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

from peers import river_forest
from river import metrics
from river.base import Classifier
from river.preprocessing import MinMaxScaler
from streams import SHARED, load

from river_amf import AMFClassifier
from river_amf.evaluation import Stream, progressive_val_score

missed: list[str] = []  # promises that did not hold in this run

SEEDS = (1, 2, 3)
REPEATS = 3

# stream, rows, accuracy and log-loss that the project promises (at least, at most)
ACCURACY = [
    ("Bananas", None, 0.885, 0.275),
    ("Phishing", None, 0.90, 0.29),
    ("ImageSegments", None, 0.93, 0.33),
    ("Shuttle", 20_000, 0.997, None),
    ("elec2", None, 0.81, None),
    ("letter", None, 0.85, None),
    ("adult", None, 0.825, None),
    ("airlines", 50_000, 0.63, None),
]
AGAINST_RIVER = [("Bananas", None), ("elec2", 20_000)]

FIRST_PREDICTION = """
import time
start = time.perf_counter()
import river.evaluate
river_imported = time.perf_counter()
from river_amf import AMFClassifier
model = AMFClassifier(seed=1)
model.learn_one({"a": 1.0, "b": 2.0}, True)
model.predict_proba_one({"a": 1.0, "b": 2.0})
print(river_imported - start, time.perf_counter() - river_imported)
"""


def available(name: str) -> bool:
    """Say so where a stream is missing."""
    if name[0].isupper() or (SHARED / f"{name}.csv.gz").exists():
        return True
    print(f"| {name} | left out: no {SHARED / name}.csv.gz |")
    return False


def accuracy() -> None:
    """Print accuracy and log-loss on each stream."""
    print("| stream | samples | accuracy | promised | log-loss | promised | nodes a tree |")
    print("|---|---|---|---|---|---|---|")
    for name, limit, least_accuracy, most_log_loss in ACCURACY:
        if not available(name):
            continue
        stream = load(name, limit)
        scores, losses, nodes = [], [], []
        for seed in SEEDS:
            model = AMFClassifier(seed=seed)
            both = metrics.Accuracy() + metrics.CrossEntropy()
            score, loss = progressive_val_score(stream, model, both).get()
            scores.append(score)
            losses.append(loss)
            nodes.append(model._arena.trees["n_nodes"].mean())
        if statistics.mean(scores) < least_accuracy:
            missed.append(f"accuracy on {name}")
        if most_log_loss is not None and statistics.mean(losses) > most_log_loss:
            missed.append(f"log-loss on {name}")
        loss_promised = "" if most_log_loss is None else f"<= {most_log_loss}"
        print(
            f"| {name} | {stream.n_samples} | {statistics.mean(scores):.4f} | >= {least_accuracy} "
            f"| {statistics.mean(losses):.4f} | {loss_promised} | {statistics.mean(nodes):.0f} |",
            flush=True,
        )


def as_numbers(stream: Stream) -> Stream:
    """Turn codes back into numbers: river's forest takes no categories."""
    samples = [({name: float(value) for name, value in x.items()}, y) for x, y in stream]
    return Stream(stream.name, len(samples), stream.n_numeric, stream.n_categorical, samples)


def mean_accuracy(make_model: Callable[..., Classifier], stream: Stream) -> float:
    """Return the test-then-train accuracy, the mean over the seeds."""
    return statistics.mean(
        progressive_val_score(stream, make_model(seed=seed), metrics.Accuracy()).get()
        for seed in SEEDS
    )


def against_river() -> None:
    """Print accuracies, ours and river's; `speed.py` has the time that they take."""
    print("| stream | river_amf | river | river, scaled |")
    print("|---|---|---|---|")
    for name, limit in AGAINST_RIVER:
        if not available(name):
            continue
        stream = as_numbers(load(name, limit))
        scores = [
            mean_accuracy(AMFClassifier, stream),
            mean_accuracy(river_forest, stream),
            mean_accuracy(lambda seed: MinMaxScaler() | river_forest(seed=seed), stream),
        ]
        print(f"| {name} | {scores[0]:.4f} | {scores[1]:.4f} | {scores[2]:.4f} |", flush=True)


def startup() -> None:
    """Print the time from the first import to the first prediction, with and without a cache."""
    print("| compile cache | river's import, s | ours up to the first prediction, s | promised |")
    print("|---|---|---|---|")
    cache = tempfile.mkdtemp()
    try:
        for name, promised, most in (("cold", "<= 20 in all", 20), ("warm", "<= 2 on top", 2)):
            runs = [first_prediction(cache) for _ in range(1 if name == "cold" else REPEATS)]
            river, ours = (statistics.median(times) for times in zip(*runs, strict=True))
            if ours + (river if name == "cold" else 0) > most:
                missed.append(f"{name} start")
            print(f"| {name} | {river:.2f} | {ours:.2f} | {promised} |", flush=True)
    finally:
        shutil.rmtree(cache)


def first_prediction(cache: str) -> tuple[float, float]:
    """Time a first prediction in a new process: river's import, and the rest."""
    output = subprocess.run(
        [sys.executable, "-c", FIRST_PREDICTION],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    river, ours = map(float, output.split())
    return river, ours


if __name__ == "__main__":
    parts = {"accuracy": accuracy, "river": against_river, "startup": startup}
    for part in sys.argv[1:] or parts:
        parts[part]()
        print()
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)
