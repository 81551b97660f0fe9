"""What an odd -999 or 1e9 costs: one value in a thousand of each numeric feature. Prints Markdown.

    python tests/benchmarks/outliers.py
    python tests/benchmarks/outliers.py --streams elec2

Test-then-train accuracy with 10 trees, the mean of three seeds, as the stream is and with either
outlier in it.
"""

import statistics

import command
import numpy as np
import pandas as pd
from river import metrics
from streams import available, load

from river_amf import AdaptiveAMFClassifier, AMFClassifier
from river_amf.evaluation import progressive_val_score

SEEDS = (1, 2, 3)
STREAMS = ("elec2", "letter")
OUTLIERS = (None, -999.0, 1e9)
FORESTS = {
    "range": (AMFClassifier, {}),
    "relevance": (AMFClassifier, {"split_intensity": "relevance"}),
    "adaptive": (AdaptiveAMFClassifier, {}),
}


def with_outliers(frame: pd.DataFrame, outlier: float | None) -> pd.DataFrame:
    """Return the frame with one number in a thousand replaced."""
    rng = np.random.default_rng(0)
    frame = frame.copy()
    for name in frame.select_dtypes("number") if outlier is not None else ():
        frame[name] = frame[name].astype(float).where(rng.random(len(frame)) >= 0.001, outlier)
    return frame


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, STREAMS)
    arguments = parser.parse_args(argv)
    names = available(arguments.streams, arguments.data)
    if not names:
        return 1
    print("| stream | forest | as it is | -999 | 1e9 |")
    print("|---|---|---|---|---|")
    for stream in names:
        samples = load(stream, arguments.data)
        labels = pd.Series([y for _, y in samples])
        frame = pd.DataFrame([x for x, _ in samples])
        for name, (forest, parameters) in FORESTS.items():
            cells = []
            for outlier in OUTLIERS:
                spoilt = with_outliers(frame, outlier)
                scores = []
                for seed in SEEDS:
                    model = forest(seed=seed, **parameters)
                    metric = progressive_val_score((spoilt, labels), model, metrics.Accuracy())
                    scores.append(metric.get())
                cells.append(f"{statistics.mean(scores):.4f}")
            print(f"| {stream} | {name} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    command.run(main)
