"""What the lock of a model costs a call for one sample, alone and among threads. Prints Markdown.

    python tests/benchmarks/lock.py

Nanoseconds of CPU time: calls of a forest with a single leaf, with the lock, and of its engine,
which has none, take turns in one process. Then calls a second of one thread that learns and 1, 2
and 4 that predict, as against a `threading.Lock` of the caller's around each call of the engine,
and the longest call. It needs no stream of the folder of `--data`.
"""

import contextlib
import statistics
import threading
import time

import command

from river_amf import AMFClassifier

REPEATS = 201
N_CALLS = 2000
SECONDS = 2.0  # of a measurement among threads


def nanoseconds(call, *arguments):
    """Return the CPU time of a call."""
    start = time.process_time_ns()
    for _ in range(N_CALLS):
        call(*arguments)
    return (time.process_time_ns() - start) / N_CALLS


class Bare:
    """The calls of a forest without its lock, or with another one around each."""

    def __init__(self, model, lock=None):
        self._engine, self._model = model._engine, model
        self._lock = contextlib.nullcontext() if lock is None else lock

    def learn_one(self, x, y):
        """Learn a sample."""
        with self._lock:
            self._engine._learn(x, y, 1.0, self._model)

    def predict_proba_one(self, x):
        """Predict a sample."""
        with self._lock:
            return self._engine.answer(x)


def among_threads(model, n_predicting, x, y):
    """Return the calls a second of all threads, and the longest call in seconds."""
    over, counts, longest = threading.Event(), [0] * (n_predicting + 1), [0.0] * (n_predicting + 1)

    def repeat(k):
        while not over.is_set():
            start = time.perf_counter()
            if k:
                model.predict_proba_one(x)
            else:
                model.learn_one(x, y)
            longest[k] = max(longest[k], time.perf_counter() - start)
            counts[k] += 1

    threads = [threading.Thread(target=repeat, args=(k,)) for k in range(n_predicting + 1)]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)
    over.set()
    for thread in threads:
        thread.join()
    return sum(counts) / SECONDS, max(longest)


def main(argv: list[str] | None = None) -> int:
    """Time calls with and without the lock; returns the exit status."""
    command.make_parser(__doc__).parse_args(argv)
    model = AMFClassifier(seed=1)
    x, y = {"a": 1.0, "b": 2.0}, True
    model.learn_one(x, y)
    command.print_header("call", "with the lock", "without", "difference")
    engine = model._engine
    calls = {
        "predict_proba_one": ((model.predict_proba_one, x), (engine.answer, x)),
        "learn_one": ((model.learn_one, x, y), (engine._learn, x, y, 1.0, model)),
    }
    for name, ways in calls.items():
        times = [[nanoseconds(*way) for way in ways] for _ in range(REPEATS)]
        locked, free = (statistics.median(column) for column in zip(*times, strict=True))
        extra = statistics.median(a - b for a, b in times)
        print(f"| {name} | {locked:.0f} ns | {free:.0f} ns | {extra:.0f} ns |")
    print()
    command.print_header("threads that predict", "calls/s", "lock outside", "ratio", "longest call")
    for n in (1, 2, 4):
        own, wait = among_threads(model, n, x, y)
        outside, _ = among_threads(Bare(model, threading.Lock()), n, x, y)
        print(f"| {n} | {own:.0f} | {outside:.0f} | {own / outside:.2f} | {1000 * wait:.0f} ms |")
    return 0


if __name__ == "__main__":
    command.run(main)
