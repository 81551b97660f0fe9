"""What the lock of a model costs among threads. Prints Markdown.

    python tests/benchmarks/lock.py

Calls a second of one thread that learns and 1, 2 and 4 that predict one sample, a forest with a
single leaf; as against a `threading.Lock` of the caller's around each call of its engine, which has
no lock; and the longest call. It needs no stream of the folder of `--data`.
"""

import sys
import threading
import time

from streams import make_parser, print_header

from river_amf import AMFClassifier

SECONDS = 2.0  # of a measurement among threads


class Outside:
    """The calls of a forest without its lock, but with another one around each."""

    def __init__(self, model):
        self._engine, self._model, self._lock = model._engine, model, threading.Lock()

    def learn_one(self, x, y):
        """Learn a sample."""
        with self._lock:
            self._engine.learn_any(x, y, 1.0, self._model)

    def predict_proba_one(self, x):
        """Predict a sample."""
        with self._lock:
            return self._engine.predict_any(x)


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
    """Print the table; returns the exit status."""
    make_parser(__doc__).parse_args(argv)
    model = AMFClassifier(seed=1)
    x, y = {"a": 1.0, "b": 2.0}, True
    model.learn_one(x, y)
    print_header("threads that predict", "calls/s", "lock outside", "ratio", "longest call")
    for n in (1, 2, 4):
        own, wait = among_threads(model, n, x, y)
        outside, _ = among_threads(Outside(model), n, x, y)
        print(f"| {n} | {own:.0f} | {outside:.0f} | {own / outside:.2f} | {1000 * wait:.0f} ms |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
