"""What fading, relevance, restarts and the learned vote cost in time. Prints Markdown.

    python tests/benchmarks/costs.py
    python tests/benchmarks/costs.py --streams Bananas,elec2

Microseconds a sample, predict and learn, 10 trees, at most 20 000 rows, as ratios to the plain
forest without a budget of nodes: all ways take turns in one process, and a ratio is the median of
the ratios within a repeat.
"""

import statistics
import time

import command
import pandas as pd
from streams import available, load

from river_amf import AdaptiveAMFClassifier, AMFClassifier

REPEATS = 5
N_ROWS = 20_000
STREAMS = ["Bananas", "elec2", "letter", "adult", "phishing_websites"]
WAYS = {
    "plain": (AMFClassifier, {}),
    "fading": (AMFClassifier, {"fading_factor": 0.5}),
    "relevance": (AMFClassifier, {"split_intensity": "relevance"}),
    "both": (AMFClassifier, {"fading_factor": 0.5, "split_intensity": "relevance"}),
    "adaptive": (AdaptiveAMFClassifier, {}),
    "adaptive, no budget": (AdaptiveAMFClassifier, {"max_nodes": None}),
}


def one_by_one(model, samples):
    """Predict and learn sample by sample; returns the seconds."""
    start = time.perf_counter()
    for x, y in samples:
        model.predict_proba_one(x)
        model.learn_one(x, y)
    return time.perf_counter() - start


def in_a_block(model, frame, labels):
    """Predict and learn a dataframe; returns the seconds."""
    start = time.perf_counter()
    model.predict_proba_then_learn_many(frame, labels)
    return time.perf_counter() - start


def main(argv: list[str] | None = None) -> int:
    """Time all ways on all streams; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, STREAMS)
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    if not names:
        return 1
    print("| stream | | " + " | ".join(WAYS) + " |")
    print("|---" * (len(WAYS) + 2) + "|")
    for name in names:
        samples = list(load(name, arguments.data, N_ROWS))
        labels = pd.Series([y for _, y in samples])
        frame = pd.DataFrame([x for x, _ in samples])
        seconds = {"per sample": [], "blocks": []}
        for _ in range(REPEATS + 1):  # the first compiles
            make = [cls(seed=1, **kwargs) for cls, kwargs in WAYS.values()]
            seconds["per sample"].append([one_by_one(model, samples) for model in make])
            make = [cls(seed=1, **kwargs) for cls, kwargs in WAYS.values()]
            seconds["blocks"].append([in_a_block(model, frame, labels) for model in make])
        for how, repeats in seconds.items():
            us = 1e6 * statistics.median(r[0] for r in repeats[1:]) / len(samples)
            ratios = [
                statistics.median(r[i] / r[0] for r in repeats[1:]) for i in range(1, len(WAYS))
            ]
            cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"| {name} | {how} | {us:.1f} us | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    command.run(main)
