"""What makes a Mondrian forest forget, each means by itself. Prints Markdown.

    python tests/benchmarks/forgetting.py

Test-then-train accuracy over the first 10 000 rows, one sample at a time, with ten trees, mean of
the seeds. forgetting.md explains the rows.
"""

import functools
import statistics

from runs import TRACKS, score
from streams import add_seeds, available, begin, load, make_parser, print_header, print_row

from river_amf import AdaptiveAMFClassifier, AMFClassifier

ROWS = 10_000
TRACK_NAMES = ("sea_abrupt", "agrawal_abrupt", "stagger_abrupt", "hyperplane_moving")
STREAMS = ("elec2", "weather", "car", "keystroke", "rialto", "spam", *TRACK_NAMES)
FADING, RESTARTS = {"fading_factor": 0.45}, {"drift_threshold": 4.0}
RELEVANCE, VOTE = {"split_intensity": "relevance"}, {"vote": "learned"}
WAYS = {
    "the paper's forest": {},
    "fading": FADING,
    "restarts": RESTARTS,
    "relevance": RELEVANCE,
    "a learned vote": VOTE,
    "fading and a learned vote": FADING | VOTE,
    "all four": FADING | RESTARTS | RELEVANCE | VOTE,
}
FORESTS = {title: functools.partial(AMFClassifier, **ways) for title, ways in WAYS.items()}
FORESTS["`AdaptiveAMFClassifier`"] = AdaptiveAMFClassifier


def main(argv: list[str] | None = None) -> int:
    parser = make_parser(__doc__, STREAMS)
    add_seeds(parser)
    arguments = begin(parser, argv)
    names = available(arguments.streams, arguments.data)
    rows = {n: [*(TRACKS.get(n) or load(n, arguments.data, ROWS))][:ROWS] for n in names}
    print_header("", *names, "mean")

    for title, make in FORESTS.items():
        cells = [
            statistics.fmean(score(make(seed=s), rows[name]).accuracy for s in arguments.seeds)
            for name in names
        ]
        print_row((title, *(f"{cell:.3f}" for cell in (*cells, statistics.fmean(cells)))))
    return int(not names)


if __name__ == "__main__":
    raise SystemExit(main())
