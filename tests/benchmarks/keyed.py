"""A model for each key: what routing takes, and what memory is bounded to. Prints Markdown.

    python tests/benchmarks/keyed.py                 # all of it: about ten minutes
    python tests/benchmarks/keyed.py routing         # rows per second, with models that do nothing
    python tests/benchmarks/keyed.py memory          # 100,000 keys, 1,000 of them in memory

`routing` cuts frames of 10,000 and 100,000 rows, ten columns and 1,000 keys for models that do
nothing, and fails below 200,000 rows a second. `memory` runs each set of models in a process of its
own, twice: with a thousand in memory and with all of them. It fails if memory grows by more than a
tenth after the first 10,000 keys, or if any model differs. It needs no stream of the folder of
`--data`.
"""

import concurrent.futures
import hashlib
import multiprocessing
import time

import command
import numpy as np
import pandas as pd
from river import base, linear_model, preprocessing

from river_amf import AMFClassifier
from river_amf.keyed import KeyedClassifier

PARTS = ("routing", "memory")
LEAST_ROUTED = 200_000  # rows a second
MOST_GROWTH = 1.1
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


def routing():
    """Print how many rows a second reach models that do nothing; return the goals missed."""
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
    return missed


MODELS = {
    "scaler, logistic regression": (
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        100_000,
        1000,
    ),
    "AMFClassifier": (AMFClassifier(n_estimators=2, seed=1), 5000, 50),
}
FEATURES = ("a", "b", "c")


def resident():
    """Return what this process has in memory, in MB."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
    return 0.0


def digest_of(model):
    """Return a digest of what the models predict, by key."""
    digest = hashlib.sha256()
    points = [dict.fromkeys(FEATURES, value) for value in (-1.0, 0.1, 2.0)]
    for key in sorted(model):
        proba = [model.predict_proba_one({"user": key, **x}).get(True) for x in points]
        digest.update(repr((key, proba)).encode())
    return digest.hexdigest()


def visit(name, limit):
    """Let each key learn ten samples in two rounds; return memory and time."""
    factory, n_keys, _ = MODELS[name]
    model = KeyedClassifier(factory, "user", max_models=limit)
    rng = np.random.default_rng(SEED)
    first, start = None, time.perf_counter()
    for _ in range(2):
        for i, key in enumerate(rng.permutation(n_keys).tolist()):
            if first is None and i == n_keys // 10:
                first = resident()
            for values in rng.normal(size=(5, 3)).tolist():
                x = dict(zip(FEATURES, values, strict=True))
                model.learn_one({"user": key, **x}, x["a"] > 0)
    seconds = time.perf_counter() - start
    last = resident()
    return first, last, seconds / (10 * n_keys) * 1e6, digest_of(model)


def memory():
    """Print memory and time with few models in memory and with all; return the goals missed."""
    print("| models | keys | in memory | MB after a tenth of the keys | in the end | us a sample |")
    print("|---|---|---|---|---|---|")
    missed = []
    for name, (_, n_keys, few) in MODELS.items():
        digests = []
        for limit in (few, None):
            spawn = multiprocessing.get_context("spawn")  # a fork would begin with our memory
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as process:
                first, last, microseconds, digest = process.submit(visit, name, limit).result()
            digests.append(digest)
            print(
                f"| {name} | {n_keys} | {limit or 'all'} | {first:.0f} | {last:.0f} |"
                f" {microseconds:.0f} |",
                flush=True,
            )
            if limit is not None and last > MOST_GROWTH * first:
                missed.append(f"memory of {name}")
        if digests[0] != digests[1]:
            missed.append(f"equal models of {name}")
    return missed


def main(argv: list[str] | None = None) -> int:
    """Run the parts; returns the exit status."""
    parser = command.make_parser(__doc__)
    command.add_parts(parser, PARTS)
    arguments = parser.parse_args(argv)
    missed = []
    for part in dict.fromkeys(arguments.parts or PARTS):
        missed += {"routing": routing, "memory": memory}[part]()
        print()
    return command.verdict(missed)


if __name__ == "__main__":
    command.run(main)
