"""The cost of a sample: ours one by one, in blocks and in threads, and river's. Prints Markdown.

    python tests/benchmarks/speed.py
    python tests/benchmarks/speed.py --streams Bananas elec2

Three tables: microseconds to predict and learn a sample of real streams, beside river's
classifiers; a call of the smallest model; and bytes and accuracy on elec2, if it is among the
streams, ours and river's. The ways are timed in turn in one process; a cost is the median of the
repeats, and a ratio the median of the ratios within a repeat.
"""

import functools
import gc
import statistics
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from river import evaluate, metrics
from runs import alone, river_forest
from streams import available, begin, load, make_parser, print_header, print_row

from river_amf import AMFClassifier

STREAMS = ("Bananas", "elec2", "Shuttle", "ImageSegments", "letter", "weather")
BUDGET = 4095  # nodes a tree
SMALL_BUDGET = 1900  # with it ours takes a tenth of the bytes of river's with the other one
ROWS = 20_000  # of a stream, at most
REPEATS, OTHERS = 5, 3  # the latter of models that are not ours
CALLS = 20_000


class Case(NamedTuple):
    """A stream as a dataframe and as samples."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    samples: list[tuple[dict[str, float], Any]]


def load_case(name: str, data: Path) -> Case:
    """Load a stream with all columns as numbers, as river's forest takes no categories."""
    samples = [({n: float(v) for n, v in x.items()}, y) for x, y in load(name, data, ROWS)]
    features, labels = zip(*samples, strict=True)
    return Case(name, pd.DataFrame(list(features)), pd.Series(labels), samples)


# Ways to run a stream


def one_by_one(model: Any, case: Case) -> None:
    predict, learn = model.predict_proba_one, model.learn_one
    for x, y in case.samples:
        predict(x)
        learn(x, y)


def in_one_block(model: Any, case: Case) -> None:
    model.predict_proba_then_learn_many(case.X, case.y)


class Way(NamedTuple):
    make: Callable[..., Any]
    walk: Callable[[Any, Case], None]
    repeats: int
    streams: tuple[str, ...] = STREAMS


OURS = functools.partial(AMFClassifier, seed=1)
RIVERS = functools.partial(river_forest, seed=1)
WAYS = {
    "per sample": Way(OURS, one_by_one, REPEATS),
    "blocks": Way(OURS, in_one_block, REPEATS),
    "blocks, 2 threads": Way(functools.partial(OURS, n_jobs=2), in_one_block, REPEATS),
    "river AMF": Way(RIVERS, one_by_one, OTHERS, STREAMS[:4]),
    "river ARF": Way(functools.partial(alone("arf"), 1), one_by_one, OTHERS, ("elec2",)),
    "river Hoeffding tree": Way(functools.partial(alone("hoeffding-gain"), 1), one_by_one, OTHERS),
}
RATIOS = [  # ways, of which the first is slower
    ("river AMF", "per sample"),
    ("river ARF", "per sample"),
    ("per sample", "blocks"),
    ("blocks", "blocks, 2 threads"),
]


def print_streams(names: list[str], data: Path) -> None:
    """Print the cost of a sample of each stream, and how many times slower some ways are."""
    ratios = [f"{slow} / {fast}" for slow, fast in RATIOS]
    print_header("stream, us per sample", "samples", "features", *WAYS, *ratios)
    for name in names:
        case = load_case(name, data)
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for repeat in range(REPEATS):
            for title, way in WAYS.items():
                if repeat < way.repeats and name in way.streams:
                    model = way.make()
                    gc.collect()  # what the one before has left
                    start = time.perf_counter()
                    way.walk(model, case)
                    times[title].append(1e6 * (time.perf_counter() - start) / len(case.y))
        paired = [[a / b for a, b in zip(times[s], times[f], strict=False)] for s, f in RATIOS]
        cells = [statistics.median(cell) if cell else "" for cell in (*times.values(), *paired)]
        print_row((name, *case.X.shape, *cells))


def print_floor() -> None:
    """Print the cost of a call with one tree of one node: all but the walk."""
    x = {f"x{j}": j / 10 for j in range(10)}
    print_header("1 tree, 10 features, 1 sample learned", "us")
    for call in ("predict_proba_one(x)", "learn_one(x, True)"):
        model = OURS(n_estimators=1)
        model.learn_one(x, True)
        timer = timeit.Timer(f"model.{call}", globals={"x": x, "model": model})
        print_row((call, 1e6 * statistics.median(timer.repeat(REPEATS, CALLS)) / CALLS))


def print_memory(data: Path) -> None:
    """Print bytes, nodes and accuracy on elec2, ours and river's, with and without a budget."""
    print_header("elec2", "max_nodes", "bytes", "nodes", "bytes per node", "accuracy")
    case = load_case("elec2", data)
    for name, make, budgets, count in (
        ("river", RIVERS, (None, BUDGET), lambda model: sum(tree._n_nodes for tree in model)),
        ("ours", OURS, (None, BUDGET, SMALL_BUDGET), lambda model: model.n_nodes),
    ):
        for budget in budgets:
            model = make(max_nodes=budget)
            accuracy = evaluate.progressive_val_score(case.samples, model, metrics.Accuracy())
            n_bytes, n_nodes = model._raw_memory_usage, count(model)
            print_row((name, budget, n_bytes, n_nodes, n_bytes / n_nodes, accuracy.get()))


def main(argv: list[str] | None = None) -> int:
    arguments = begin(make_parser(__doc__, STREAMS), argv)
    names = available(arguments.streams, arguments.data)
    print_streams(names, arguments.data)
    print()
    print_floor()
    if "elec2" in names:
        print()
        print_memory(arguments.data)
    return 0 if names else 1


if __name__ == "__main__":
    raise SystemExit(main())
