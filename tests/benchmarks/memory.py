"""What a bound on memory costs in accuracy. Prints Markdown.

    python tests/benchmarks/memory.py                  # 1 to 64 MB, both forests
    python tests/benchmarks/memory.py --streams elec2

Test-then-train over all rows of two real streams of `origins.py`, in blocks of 2000, with the
default parameters and `max_bytes`: accuracy, the largest `memory_usage` after a block, and nodes
per tree at the end. Sizes are in MB of 10^6 bytes.
"""

from typing import Any

import command
import pandas as pd
from streams import available, load

from river_amf import AdaptiveAMFClassifier, AMFClassifier

FORESTS = {"AMFClassifier": AMFClassifier, "AdaptiveAMFClassifier": AdaptiveAMFClassifier}
STREAMS = ("elec2", "rialto")
SIZES = (1, 4, 16, 64, None)
N_ROWS = 2000


def run(model: Any, frame: pd.DataFrame, labels: pd.Series) -> tuple[float, float, float]:
    """Return accuracy, largest memory in MB, and nodes per tree."""
    hits = largest = 0
    for start in range(0, len(frame), N_ROWS):
        rows = slice(start, start + N_ROWS)
        proba = model.predict_proba_then_learn_many(frame[rows], labels[rows]).fillna(0.0)
        hits += int((proba.idxmax(axis="columns") == labels[rows]).sum())
        largest = max(largest, model.memory_usage)
    return hits / len(frame), largest / 1e6, float(model._arena.trees["n_nodes"].mean())


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, STREAMS)
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    if not names:
        return 1
    print("| stream | forest | max_bytes | accuracy | largest memory, MB | nodes per tree |")
    print("|---|---|---|---|---|---|")
    for name in names:
        samples = load(name, arguments.data, None)
        frame, labels = pd.DataFrame([x for x, _ in samples]), pd.Series([y for _, y in samples])
        for forest, kind in FORESTS.items():
            for size in SIZES:
                model = kind(seed=1, max_bytes=size and size * 10**6)
                accuracy, largest, n_nodes = run(model, frame, labels)
                bound = f"{size} MB" if size else "None"
                figures = f"{accuracy:.4f} | {largest:.1f} | {n_nodes:.0f}"
                print(f"| {name} | {forest} | {bound} | {figures} |", flush=True)
    return 0


if __name__ == "__main__":
    command.run(main)
