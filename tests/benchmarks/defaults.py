"""What each default of `AdaptiveAMFClassifier` gains, on the streams of ../shared/data. Markdown.

    python tests/benchmarks/defaults.py            # the table of the docstring and the README
    python tests/benchmarks/defaults.py --grid     # the neighbours of each default, to choose it

Test-then-train accuracy over the first 50 000 rows (spam: 8 000), 10 trees, the mean of three
seeds; each row is the adaptive forest with one parameter changed. Bananas, Phishing and
ImageSegments, which river bundles and which do not drift, are no part of the mean.
"""

import argparse
import functools
import statistics
from concurrent.futures import ProcessPoolExecutor

import pandas as pd
from river import metrics
from streams import load

from river_amf import AdaptiveAMFClassifier, AMFClassifier
from river_amf.evaluation import progressive_val_score

SEEDS = (1, 2, 3)
DATA = [
    "elec2",
    "weather",
    "adult",
    "bank",
    "car",
    "letter",
    "satimage",
    "keystroke",
    "rialto",
    "gmsc",
    "phishing_websites",
    "spam",
]
STATIONARY = ["Bananas", "Phishing", "ImageSegments"]
WITHOUT = {
    "AMFClassifier": None,
    "AdaptiveAMFClassifier": {},
    "fading_factor=None": {"fading_factor": None},
    'split_intensity="range"': {"split_intensity": "range"},
    "restart_threshold=None": {"restart_threshold": None},
    'vote="mean"': {"vote": "mean"},
    "split_prior=0.5": {"split_prior": 0.5},
    "max_nodes=None": {"max_nodes": None},
}
GRID = {
    "AdaptiveAMFClassifier": {},
    **{f"fading_factor={g}": {"fading_factor": g} for g in (0.4, 0.6, 0.7)},
    **{f"restart_threshold={k}": {"restart_threshold": k} for k in (4.0, 6.0, 8.0)},
    **{f"split_prior={b}": {"split_prior": b} for b in (0.6, 0.8, 0.9)},
    **{f"max_nodes={n}": {"max_nodes": n} for n in (2047, 4095, 8191)},
}


def accuracy(parameters: dict | None, name: str, seed: int) -> float:
    """Return the test-then-train accuracy; the first prediction does not count."""
    if parameters is None:
        model = AMFClassifier(seed=seed)
    else:
        model = AdaptiveAMFClassifier(seed=seed, **parameters)
    samples = load(name, 8_000 if name == "spam" else 50_000)
    frame = pd.DataFrame([x for x, _ in samples])
    labels = pd.Series([y for _, y in samples])
    return progressive_val_score((frame, labels), model, metrics.Accuracy()).get()


def of_stream(variants: dict[str, dict | None], name: str) -> list[float]:
    """Return the accuracy of each variant on one stream, the mean of the seeds."""
    return [
        statistics.mean(accuracy(parameters, name, seed) for seed in SEEDS)
        for parameters in variants.values()
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grid", action="store_true", help="the neighbours of each default")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    arguments = parser.parse_args()
    variants = GRID if arguments.grid else WITHOUT
    names = DATA + STATIONARY
    with ProcessPoolExecutor(arguments.jobs) as pool:
        columns = list(pool.map(functools.partial(of_stream, variants), names))
    print("| | mean | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 2) + "|")
    for variant, row in zip(variants, zip(*columns, strict=True), strict=True):
        mean = statistics.mean(row[: len(DATA)])
        print(f"| {variant} | {mean:.4f} | " + " | ".join(f"{a:.4f}" for a in row) + " |")


if __name__ == "__main__":
    main()
