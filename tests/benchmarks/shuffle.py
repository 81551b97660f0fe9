"""What `fit` of scikit-learn's estimators makes of the order of rows. Prints Markdown.

    python tests/benchmarks/shuffle.py

Each estimator is fitted on the first half of a stream in order of time, and on the same rows
shuffled, and predicts the next 1 000 rows, or as many as there are: accuracy, or R^2 of numbers.
"""

import statistics

import command
import pandas as pd
from streams import CODES, available

from river_amf import sklearn as estimators
from river_amf.evaluation import load_stream

STREAMS = {"elec2": ("classification", "Classifier"), "bike": ("regression", "Regressor")}


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_streams(parser, STREAMS)
    command.add_seeds(parser)
    arguments = parser.parse_args(argv)
    command.print_header("stream", "estimator", "shuffle=True", "shuffle=False")
    for name in (names := available(arguments.streams, arguments.data)):
        path, (task, ending) = arguments.data / f"{name}.csv.gz", STREAMS[name]
        stream = load_stream(path, categorical=CODES.get(name, ()), task=task)
        xs, y = zip(*stream, strict=True)
        X, half = pd.DataFrame(xs), len(y) // 2
        asked = slice(half, half + 1000)
        for adaptive in ("", "Adaptive"):
            kind = getattr(estimators, f"{adaptive}AMF{ending}")
            scores = [
                statistics.mean(
                    kind(shuffle=shuffle, random_state=seed)
                    .fit(X[:half], y[:half])
                    .score(X[asked], y[asked])
                    for seed in arguments.seeds
                )
                for shuffle in (True, False)
            ]
            command.print_row([name, kind.__name__, *(f"{score:.3f}" for score in scores)])
    return 0 if names else 1


if __name__ == "__main__":
    command.run(main)
