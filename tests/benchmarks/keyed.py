"""How many rows a second reach a model for each key. Prints Markdown.

    python tests/benchmarks/keyed.py

Frames of 10,000 and 100,000 rows, ten columns and 1,000 keys are cut for models that do nothing;
below 200,000 rows a second the exit status is 1. It needs no stream of the folder of `--data`.
"""

import time

import command
import numpy as np
import pandas as pd
from river import base

from river_amf.keyed import KeyedClassifier

LEAST_ROUTED = 200_000  # rows a second
REPEATS = 7
SEED = 1


class Nothing(base.MiniBatchClassifier):
    """A classifier that takes no time."""

    def learn_one(self, x, y):
        """Do nothing."""

    def learn_many(self, X, y):
        """Do nothing."""

    def predict_one(self, x):
        """Return the same label."""
        return True

    def predict_many(self, X):
        """Return the same label for each row."""
        return [True] * len(X)


def frame(n_rows, n_keys, rng):
    """Return rows with keys in any order, and labels."""
    X = pd.DataFrame(rng.normal(size=(n_rows, 10)), columns=[f"x{i}" for i in range(10)])
    X["user"] = [f"user {i}" for i in rng.integers(n_keys, size=n_rows)]
    return X, pd.Series(X["x0"] > 0)


def main(argv: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    command.make_parser(__doc__).parse_args(argv)
    print("| rows | call | rows a second |\n|---|---|---|")
    missed = []
    for n_rows in (10_000, 100_000):
        X, y = frame(n_rows, 1000, np.random.default_rng(SEED))
        model = KeyedClassifier(Nothing(), "user")
        model.learn_many(X, y)
        calls = {"learn_many": (model.learn_many, X, y), "predict_many": (model.predict_many, X)}
        for name, (call, *given) in calls.items():
            times = []
            for _ in range(REPEATS):
                start = time.perf_counter()
                call(*given)
                times.append(time.perf_counter() - start)
            speed = n_rows / np.median(times)
            print(f"| {n_rows} | {name} | {speed:,.0f} |", flush=True)
            if speed < LEAST_ROUTED:
                missed.append(f"{name} of {n_rows} rows")
    return command.verdict(missed)


if __name__ == "__main__":
    command.run(main)
