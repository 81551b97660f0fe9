"""What each default of `AdaptiveAMFClassifier` gains. Prints Markdown.

    python tests/benchmarks/defaults.py            # the table of the docstring and the README
    python tests/benchmarks/defaults.py --grid     # the neighbors of each default, to choose it
    python tests/benchmarks/defaults.py --streams elec2,car --jobs 1

Test-then-train accuracy over the first 50 000 rows (spam: 8 000), 10 trees, the mean of three
seeds; each row is the adaptive forest with one parameter changed. The mean is over the streams of
`origins.py` alone, not over Bananas, Phishing and ImageSegments, which river bundles and which do
not drift; it says so where it is over some of them.
"""

import functools
import statistics
from pathlib import Path

import command
import pandas as pd
from river import metrics
from streams import available, load

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
    "linear=None": {"linear": None},
    'linear="logistic"': {"linear": "logistic"},
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


def accuracy(parameters: dict | None, name: str, data: Path, seed: int) -> float:
    """Return the test-then-train accuracy; the first prediction does not count."""
    if parameters is None:
        model = AMFClassifier(seed=seed)
    else:
        model = AdaptiveAMFClassifier(seed=seed, **parameters)
    samples = load(name, data, 8_000 if name == "spam" else 50_000)
    frame = pd.DataFrame([x for x, _ in samples])
    labels = pd.Series([y for _, y in samples])
    return progressive_val_score((frame, labels), model, metrics.Accuracy()).get()


def of_stream(variants: dict[str, dict | None], data: Path, name: str) -> list[float]:
    """Return the accuracy of each variant on one stream, the mean of the seeds."""
    return [
        statistics.mean(accuracy(parameters, name, data, seed) for seed in SEEDS)
        for parameters in variants.values()
    ]


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, DATA + STATIONARY)
    parser.add_argument("--grid", action="store_true", help="the neighbors of each default")
    parser.add_argument(
        "--jobs", type=command.whole, default=2, metavar="N", help="processes (default: 2)"
    )
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    if not names:
        return 1
    variants = GRID if arguments.grid else WITHOUT
    with command.processes(arguments.jobs) as pool:
        columns = list(pool.map(functools.partial(of_stream, variants, arguments.data), names))
    n_data = sum(name in DATA for name in names)
    some = "" if n_data in (0, len(DATA)) else f" (of {n_data})"
    print(f"| | mean{some} | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 2) + "|")
    for variant, row in zip(variants, zip(*columns, strict=True), strict=True):
        drifting = [a for a, name in zip(row, names, strict=True) if name in DATA]
        mean = f"{statistics.mean(drifting):.4f}" if drifting else ""
        print(f"| {variant} | {mean} | " + " | ".join(f"{a:.4f}" for a in row) + " |")
    return 0


if __name__ == "__main__":
    command.run(main)
