"""What the lock of a model costs a call for one sample when nobody waits. Prints Markdown.

    python tests/benchmarks/lock.py

Nanoseconds of CPU time: calls of a forest with a single leaf, with the lock, and of its engine,
which has none, take turns in one process. It needs no stream of the folder of `--data`.
"""

import statistics
import time

import command

from river_amf import AMFClassifier

REPEATS = 201
N_CALLS = 2000


def nanoseconds(call, *arguments):
    """Return the CPU time of a call."""
    start = time.process_time_ns()
    for _ in range(N_CALLS):
        call(*arguments)
    return (time.process_time_ns() - start) / N_CALLS


class Bare:
    """The calls of a forest without its lock."""

    def __init__(self, model):
        self._engine = model._engine
        self.model = model

    def learn_one(self, x, y, w=1.0):
        """Learn a sample."""
        return self._engine.learn(x, y, w, self.model)

    def predict_proba_one(self, x, **kwargs):
        """Predict a sample."""
        return self._engine.predict(x)


def main(argv: list[str] | None = None) -> int:
    """Time calls with and without the lock; returns the exit status."""
    parser = command.make_parser(__doc__)
    parser.parse_args(argv)
    model = AMFClassifier(seed=1)
    x, y = {"a": 1.0, "b": 2.0}, True
    model.learn_one(x, y)
    bare = Bare(model)
    print("| call | with the lock | without | difference |\n|---|---|---|---|")
    calls = {
        "predict_proba_one": ((model.predict_proba_one, x), (bare.predict_proba_one, x)),
        "learn_one": ((model.learn_one, x, y), (bare.learn_one, x, y)),
    }
    for name, ways in calls.items():
        times = [[nanoseconds(*way) for way in ways] for _ in range(REPEATS)]
        locked, free = (statistics.median(column) for column in zip(*times, strict=True))
        extra = statistics.median(a - b for a, b in times)
        print(f"| {name} | {locked:.0f} ns | {free:.0f} ns | {extra:.0f} ns |")
    return 0


if __name__ == "__main__":
    command.run(main)
