"""The mean of the paper beside a learned vote: `AMFClassifier` with either. Prints Markdown.

    python tests/benchmarks/votes.py

Test-then-train over the first 50 000 rows (spam: 8 000), 10 trees, means over the seeds: accuracy,
log-loss, expected calibration error, and microseconds of processor time to predict and learn a
sample. The error is the mean, over samples, of the distance between confidence and accuracy in
their bin, of ten: the confidence is the probability of the predicted label.
"""

import statistics

import numpy as np
import streams
from runs import WARM_UP, Scored, score

from river_amf import AMFClassifier

STREAMS = streams.DATA | {"airlines": 50_000}
N_BINS = 10


def calibration_error(scored: Scored) -> float:
    confidences, hits = np.array(scored.confidences[1:]), np.array(scored.hits[1:])
    bins = np.minimum((confidences * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, hits - confidences, N_BINS)
    return float(np.abs(gaps).sum() / len(hits))


def main(argv: list[str] | None = None) -> int:
    parser = streams.make_parser(__doc__, [*STREAMS])
    streams.add_seeds(parser)
    arguments = streams.begin(parser, argv)
    rows = []
    streams.print_header("stream", "mean", "learned", "time")
    for name in streams.available(arguments.streams, arguments.data):
        samples, row = list(streams.load(name, arguments.data, STREAMS[name])), []
        for vote in ("mean", "learned"):
            score(AMFClassifier(vote=vote, seed=1), samples[:WARM_UP])
            of_seeds = [score(AMFClassifier(vote=vote, seed=s), samples) for s in arguments.seeds]
            figures = [(s.accuracy, s.log_loss, calibration_error(s), s.us) for s in of_seeds]
            row.append([*map(statistics.mean, zip(*figures, strict=True))])
        rows.append(row)
        print_figures(name, row)
    if rows:
        print_figures("mean", np.mean(rows, axis=0))
    return 0 if rows else 1


def print_figures(name, row) -> None:
    """Print accuracy, log-loss and calibration error of both, and the ratio of times."""
    (*mean, us), (*learned, us_learned) = row
    texts = (" / ".join(f"{figure:.4f}" for figure in some) for some in (mean, learned))
    streams.print_row((name, *texts, f"{us_learned / us:.2f}"))


if __name__ == "__main__":
    raise SystemExit(main())
