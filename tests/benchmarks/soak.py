"""Ten million samples, one at a time: memory, time and accuracy along the way. Prints Markdown.

    python tests/benchmarks/soak.py                                    # 10^7, all forests
    python tests/benchmarks/soak.py --samples 1000000 --forests AdaptiveAMFClassifier

The generated stream has categories and numbers, one of them a timestamp that never comes back;
values are missing, one feature for long; two concepts take turns, twenty times in all, and the
scale of the numbers drifts all the time. New features, categories and labels appear in its first
half only, so in the second half nothing should grow. Each row covers a tenth of it: accuracy, the
processor time to predict and learn a sample, and, where it ends, the memory of the model and of
the process. Regressors learn the number of the label and a slope, and are judged by R^2. The plain
forests keep all that they learn, so they get `max_nodes=5000`, the default of the others.

It needs no stream of the folder of `--data`, which every script here takes.
"""

import itertools
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import command
import numpy as np
from river import metrics

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor

FORESTS = {
    "AMFClassifier": (AMFClassifier, {"max_nodes": 5000}),
    "AdaptiveAMFClassifier": (AdaptiveAMFClassifier, {}),
    "AMFRegressor": (AMFRegressor, {"max_nodes": 5000}),
    "AdaptiveAMFRegressor": (AdaptiveAMFRegressor, {}),
}
ROWS = 10  # of the table, for each forest
PART = 10_000  # samples that are generated at once

N_NUMBERS = 6
N_LATE = 4  # features that appear later
INFORMATIVE = (0, 1, N_NUMBERS)  # the last of them is late
N_CONCEPTS = 20  # two in turn
LABELS = ("a", "b", "c", "d", "e")  # three of them appear later
COLORS = ("red", "green", "blue", "white", "black")

GROWTH = 1.02  # the second half's memory, and that of the process, may grow this much
SLOWDOWN = 1.25  # and the time per sample
LOSS = 0.02  # and the score may fall by this


class Row(NamedTuple):
    """What is measured along a part of the stream."""

    n_samples: int  # from the start
    n_features: int
    n_labels: int
    mb: float  # of 10^6 bytes
    rss_mb: float
    us: float  # of processor time, to predict and learn a sample
    score: float  # accuracy or R^2


def rss() -> float:
    """Return the bytes of memory that this process occupies, NaN if not on Linux."""
    pages = Path("/proc/self/statm")
    if not pages.exists():
        return math.nan
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def part_of_stream(start: int, n_samples: int, n_part: int) -> list[tuple[dict[str, Any], str]]:
    """Generate `n_part` samples of a stream of `n_samples`, from the one with this number.

    >>> (x, label), = part_of_stream(0, 100, 1)
    >>> x["time"], x["color"] in COLORS, label in LABELS
    (1700000000.0, True, True)
    """
    rng = np.random.default_rng(start)
    progress = (start + np.arange(n_part)) / n_samples
    arrived = np.minimum(2.0 * progress, 1.0)  # what is to appear has, by half of the stream
    numbers = rng.normal(size=(n_part, N_NUMBERS + N_LATE))
    colors = rng.integers(0, len(COLORS), n_part)
    shops = (rng.random(n_part) * (10 + 290 * arrived)).astype(int)

    # the label: the largest of some scores, by one of two concepts, or in one case of ten any
    n_labels = (2 + (len(LABELS) - 2) * arrived).astype(int)
    concepts = (progress * N_CONCEPTS).astype(int) % 2
    labels = np.empty(n_part, int)
    for concept in np.unique(concepts):
        of_concept = np.random.default_rng([7, concept])
        scores = numbers[:, INFORMATIVE] @ of_concept.normal(size=(len(INFORMATIVE), len(LABELS)))
        scores += of_concept.normal(size=(len(COLORS), len(LABELS)))[colors]
        scores += of_concept.normal(size=(7, len(LABELS)))[shops % 7]
        scores[np.arange(len(LABELS)) >= n_labels[:, np.newaxis]] = -np.inf
        labels = np.where(concepts == concept, scores.argmax(axis=1), labels)
    labels = np.where(rng.random(n_part) < 0.1, rng.integers(0, n_labels), labels)

    scaled = (1.0 + progress)[:, np.newaxis] * numbers + np.sin(50.0 * progress)[:, np.newaxis]
    is_missing = rng.random(scaled.shape) < 0.05
    is_missing[:, 1] |= (progress > 0.6) & (progress < 0.8)
    for j in range(N_LATE):
        is_missing[:, N_NUMBERS + j] |= arrived < (j + 1) / N_LATE
    columns = {f"n{j}": scaled[:, j].tolist() for j in range(scaled.shape[1])}
    columns["time"] = (1.7e9 + start + np.arange(n_part)).tolist()
    columns["color"] = [COLORS[k] for k in colors]
    columns["shop"] = [f"shop {k}" for k in shops]
    gaps = np.pad(is_missing, ((0, 0), (0, 3)))
    rows = zip(*columns.values(), strict=True)
    samples = [dict(zip(columns, row, strict=True)) for row in rows]
    for i, j in np.argwhere(gaps).tolist():
        del samples[i][f"n{j}"]
    return [(x, LABELS[k]) for x, k in zip(samples, labels.tolist(), strict=True)]


def target_of(x: dict[str, Any], label: str) -> float:
    """Return what a regressor learns: the number of the label and a slope.

    >>> target_of({"n0": 0.5}, "c")
    2.5
    """
    return LABELS.index(label) + x.get("n0", 0.0)


def rows_of(forest: str, n_samples: int) -> Iterator[Row]:
    """Run a forest along the stream."""
    kind, parameters = FORESTS[forest]
    is_regressor = issubclass(kind, AMFRegressor)
    kind().learn_one({"a": 0.0}, 0)  # compiles, before anything is timed
    model = kind(seed=1, **parameters)
    labels, features = set(), set()
    cuts = [n_samples * k // ROWS for k in range(ROWS + 1)]
    for first, end in itertools.pairwise(cuts):
        metric, seconds = metrics.R2() if is_regressor else metrics.Accuracy(), 0.0
        for start in range(first, end, PART):
            samples = part_of_stream(start, n_samples, min(PART, end - start))
            labels.update(label for _, label in samples)
            if is_regressor:
                samples = [(x, target_of(x, label)) for x, label in samples]
            predictions = []
            since = time.process_time()
            for x, y in samples:
                predictions.append(model.predict_one(x))
                model.learn_one(x, y)
            seconds += time.process_time() - since
            features.update(*(x for x, _ in samples))
            for (_, y), prediction in zip(samples, predictions, strict=True):
                metric.update(y, prediction)
        n_here = max(end - first, 1)
        mb, us = model.memory_usage / 1e6, 1e6 * seconds / n_here
        yield Row(end, len(features), len(labels), mb, rss() / 1e6, us, metric.get())


def goals_missed(forest: str, rows: list[Row]) -> list[str]:
    """Name what has got worse from the middle of the stream to its end.

    >>> middle = Row(500, 9, 5, 20.0, 300.0, 10.0, 0.8)
    >>> goals_missed("forest", [middle] * 9 + [middle._replace(mb=30.0)])
    ['memory of forest']
    """
    middle, last = rows[len(rows) // 2], rows[-1]
    worse = {
        "memory of": last.mb > GROWTH * middle.mb,
        "memory of the process with": last.rss_mb > GROWTH * middle.rss_mb,
        "time per sample of": last.us > SLOWDOWN * middle.us,
        "score of": last.score < middle.score - LOSS,
    }
    return [f"{what} {forest}" for what, is_missed in worse.items() if is_missed]


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    parser.add_argument("--samples", type=command.whole, default=10**7, metavar="N")
    forests = command.names("forest", FORESTS)
    parser.add_argument("--forests", type=forests, default=list(FORESTS), metavar="NAME,NAME")
    arguments = parser.parse_args(argv)
    names = ("samples", "features", "labels", "memory, MB", "process, MB", "us", "score")
    command.print_header("forest", *names)
    missed = []
    for forest in arguments.forests:
        rows = []
        for row in rows_of(forest, arguments.samples):
            rows.append(row)
            command.print_row((forest, *row))
        missed += goals_missed(forest, rows)
    return command.verdict(missed)


if __name__ == "__main__":
    command.run(main)
