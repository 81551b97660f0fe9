"""Full trees: streams whose range or law moves once `max_nodes` is reached. Prints Markdown.

    python tests/benchmarks/full.py

Ten trees, seed 1, default parameters but for `max_nodes`. Of regressors the mean absolute error of
each quarter of a stream, of classifiers the accuracy of each fifth, with a limit and without. The
noise of targets has a standard deviation of 1, so no model has an error below 0.80 for long; one
label in ten is drawn at random. Every sample is predicted before it is learned.
"""

import itertools
import math
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from streams import make_parser, print_header, print_row

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.evaluation.prequential import test_then_train

Stream = Iterator[tuple[dict[str, Any], Any]]
LIMITS = (5_000, None)  # nodes
ROWS: int | None = None  # of a stream; all


def moved_range(draw: random.Random) -> Stream:
    """Yield a feature whose range moves from [0, 1] to [1, 2] halfway."""
    for i in range(8_000):
        u = draw.random() + (i >= 4_000)
        yield {"a": u}, 10.0 * math.sin(3.0 * u) + draw.gauss(0.0, 1.0)


def regimes(draw: random.Random) -> Stream:
    """Yield ten regimes, each with ranges and a level of its own, beside a feature at random."""
    for i in range(12_000):
        regime = i // 1_200
        x = {"a": regime + draw.random(), "b": draw.random()}
        yield x, 10.0 * (regime * 7 % 10) + draw.gauss(0.0, 1.0)


def growing_trend(draw: random.Random) -> Stream:
    """Yield a clock that never stands still, and a season."""
    for i in range(12_000):
        yield {"clock": i / 100.0, "hour": i % 24}, i / 100.0 + (i % 24) + draw.gauss(0.0, 1.0)


def new_shops(draw: random.Random) -> Stream:
    """Yield categories of which the older ones go and new ones come."""
    means: dict[int, float] = {}
    for i in range(12_000):
        shop = i // 150 + draw.randrange(20)
        mean = means.setdefault(shop, draw.gauss(0.0, 5.0))
        yield {"shop": f"shop {shop}", "b": draw.random()}, mean + draw.gauss(0.0, 1.0)


def wandering_price(draw: random.Random) -> Stream:
    """Yield a price that wanders, and whether it is above a slower average of itself."""
    price = slow = 100.0
    for _ in range(25_000):
        price += draw.gauss(0.0, 1.0)
        slow += 0.02 * (price - slow)
        label = price > slow if draw.random() > 0.1 else draw.random() > 0.5
        yield {"price": price, "slow": slow, "noise": draw.random()}, label


def moving_blobs(draw: random.Random) -> Stream:
    """Yield three classes around centers that move on, side by side."""
    for i in range(25_000):
        label = draw.randrange(3)
        x = {"a": i / 1_000.0 + draw.gauss(0.0, 1.0), "b": 3.0 * label + draw.gauss(0.0, 1.0)}
        x["b"] += 4.0 * math.sin(i / 2_000.0)
        yield x, label if draw.random() > 0.1 else draw.randrange(3)


def new_customers(draw: random.Random) -> Stream:
    """Yield a number that grows with each customer, and a rule that holds for a hundred."""
    for i in range(25_000):
        customer = i // 10
        x = {"customer": customer, "amount": draw.random()}
        label = (x["amount"] > 0.5) ^ (customer // 100 % 2 == 1)
        yield x, label if draw.random() > 0.1 else draw.random() > 0.5


REGRESSORS = dict.fromkeys(
    (moved_range, regimes, growing_trend, new_shops), (AMFRegressor, AdaptiveAMFRegressor)
)
CLASSIFIERS = dict.fromkeys(
    (wandering_price, moving_blobs, new_customers), (AMFClassifier, AdaptiveAMFClassifier)
)
STREAMS = REGRESSORS | CLASSIFIERS


def scores(model: Any, stream: Stream, is_regression: bool) -> list[float]:
    """Return the mean error of each quarter, or the accuracy of each fifth."""
    steps = test_then_train(model, stream)
    if is_regression:
        return means([abs(step.y - step.prediction) for step in steps], 4)
    return means([step.y == step.prediction for step in steps], 5)


def means(values: list[float], n_parts: int) -> list[float]:
    """Return the mean of each part."""
    return [float(part.mean()) for part in np.array_split(values, n_parts)]


def main(argv: list[str] | None = None) -> int:
    """Print the table; return the exit status."""
    streams = {stream.__name__: stream for stream in STREAMS}
    names = make_parser(__doc__, [*streams]).parse_args(argv).streams
    print_header("stream", "model", "max_nodes", "error or accuracy of each part")
    for name in names:
        stream = streams[name]
        for kind, limit in itertools.product(STREAMS[stream], LIMITS):
            samples = itertools.islice(stream(random.Random(1)), ROWS)
            parts = scores(kind(seed=1, max_nodes=limit), samples, stream in REGRESSORS)
            print_row([name, kind.__name__, limit, " ".join(f"{part:.3f}" for part in parts)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
