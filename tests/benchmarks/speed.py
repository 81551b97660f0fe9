"""What a sample costs: ours one by one, in blocks and in threads, and river's. Prints Markdown.

    python tests/benchmarks/speed.py
    python tests/benchmarks/speed.py --streams Bananas elec2

- `streams`: test-then-train on real streams, against river's classifiers.
- `floor`: a call of the smallest model.
- `memory`: bytes and accuracy on elec2, if it is among the streams, ours and river's.

The ways are timed in turn in one process; a cost is the median of the repeats, and a ratio the
median of the ratios within a repeat. "Goal" is what the project set out to reach. The exit status
is 1 if a goal was missed, or if there was nothing to measure.
"""

import collections
import functools
import gc
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from river import evaluate, forest, metrics
from river.base import Classifier
from runs import alone, river_forest
from streams import as_numbers, available, load, make_parser, print_header, print_row

from river_amf import AMFClassifier

STREAMS = ("Bananas", "elec2", "Shuttle", "ImageSegments", "letter", "weather")
BUDGET = 4095  # nodes a tree
SMALL_BUDGET = 1900  # ours takes a tenth of the bytes that river's takes with the other one
ROWS = 20_000  # of a stream, at most
REPEATS, OTHERS = 5, 3  # the latter of models that are not ours
CALLS = 20_000


missed: list[str] = []  # goals, in this run


def check(name: str, value: float, goal: str) -> float:
    """Check a goal such as ">= 25", and return the value."""
    sign, bound = goal.split()
    if not (value >= float(bound) if sign == ">=" else value <= float(bound)):
        missed.append(name)
    return value


# A stream, and the ways to run it


class Case(NamedTuple):
    """A stream as a dataframe and as samples; all columns are numbers."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    samples: list[tuple[dict[str, float], Any]]


def one_by_one(model: Classifier, case: Case) -> float:
    """Predict and learn sample by sample; returns microseconds a sample, as all of these do."""
    samples = case.samples
    predict, learn = model.predict_proba_one, model.learn_one
    start = time.perf_counter()
    for x, y in samples:
        predict(x)
        learn(x, y)
    return 1e6 * (time.perf_counter() - start) / len(case.y)


def in_one_block(model: AMFClassifier, case: Case) -> float:
    """Predict and learn the whole stream in one call."""
    start = time.perf_counter()
    model.predict_proba_then_learn_many(case.X, case.y)
    return 1e6 * (time.perf_counter() - start) / len(case.y)


class Way(NamedTuple):
    """A way to run a stream."""

    make_model: Callable[..., Any]
    walk: Callable[[Any, Case], float]
    is_ours: bool = False
    streams: tuple[str, ...] = ()  # on these alone, if any


OURS = functools.partial(AMFClassifier, seed=1)
RIVERS = functools.partial(river_forest, seed=1)

COMPARISONS = {
    "per sample": Way(OURS, one_by_one, True),
    "blocks": Way(OURS, in_one_block, True),
    "blocks, 2 threads": Way(functools.partial(OURS, n_jobs=2), in_one_block, True),
    "river AMF": Way(RIVERS, one_by_one, streams=("Bananas", "elec2", "Shuttle", "ImageSegments")),
    "river ARF": Way(functools.partial(alone("arf"), seed=1), one_by_one, streams=("elec2",)),
    "river Hoeffding tree": Way(functools.partial(alone("hoeffding-gain"), seed=1), one_by_one),
}


def measure(case: Case, names: Iterable[str]) -> dict[str, list[float]]:
    """Time ways in turn; returns the microseconds a sample of each repeat."""
    times = collections.defaultdict(list)
    for repeat in range(REPEATS):
        for name in names:
            way = COMPARISONS[name]
            if way.is_ours or repeat < OTHERS:
                model = way.make_model()
                gc.collect()  # what the one before has left
                times[name].append(way.walk(model, case))
    return times


def paired_ratio(slow: list[float], fast: list[float]) -> float:
    """Return the median of the ratios within a repeat; some have fewer repeats than others."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=False))


# Real streams

# stream, what is divided by what, and the goal
RATIOS = [
    ("Bananas", "river AMF", "per sample", ">= 20"),
    ("elec2", "river AMF", "per sample", ">= 25"),
    ("Shuttle", "river AMF", "per sample", ">= 25"),
    ("ImageSegments", "river AMF", "per sample", ">= 20"),
    ("elec2", "river ARF", "per sample", ">= 40"),
    ("Bananas", "per sample", "blocks", ">= 1.5"),
    ("elec2", "per sample", "blocks", ">= 1.2"),
    ("letter", "blocks", "blocks, 2 threads", ">= 1.6"),
]


def streams(names: list[str], data: Path) -> None:
    """Print what a sample of each real stream costs, and the ratios that have a goal."""
    times = {}
    print_header("stream, us a sample", "samples", "features", *COMPARISONS)
    for name in names:
        times[name] = run_stream(real_case(name, data))
    print()
    print_header("stream", "what", "ratio", "goal")
    for name, slow, fast, goal in RATIOS:
        if name in times and times[name].keys() >= {slow, fast}:
            what = f"{slow} / {fast}"
            ratio = paired_ratio(times[name][slow], times[name][fast])
            print_row((name, what, check(f"{what} on {name}", ratio, goal), goal))


def real_case(name: str, data: Path) -> Case:
    """Load a stream with all columns as numbers, as river's forest takes no categories."""
    samples = list(as_numbers(load(name, data, ROWS)))
    features, labels = zip(*samples, strict=True)
    return Case(name, pd.DataFrame(list(features)), pd.Series(labels), samples)


def run_stream(case: Case) -> dict[str, list[float]]:
    """Time a stream and print a row of costs."""
    names = [
        name for name, way in COMPARISONS.items() if not way.streams or case.name in way.streams
    ]
    times = measure(case, names)
    cells = [statistics.median(times[name]) if name in times else "" for name in COMPARISONS]
    print_row((case.name, *case.X.shape, *cells))
    return times


def count_our_nodes(model: AMFClassifier) -> int:
    """Count the nodes of all trees."""
    return int(model._arena.trees["n_nodes"].sum())


# The floor of a call

FLOOR = {"predict_proba_one(x)": "<= 2.5", "learn_one(x, True)": "<= 3"}


def floor() -> None:
    """Print what a call costs where there is one tree of one node: all but the walk."""
    x = {f"x{j}": j / 10 for j in range(10)}
    print_header("1 tree, 10 features, 1 sample learnt", "us", "goal")
    for call, goal in FLOOR.items():
        setup = "model = make(); model.learn_one(x, True)"
        known = {"x": x, "make": functools.partial(OURS, n_estimators=1)}
        timer = timeit.Timer(f"model.{call}", setup, globals=known)
        seconds = statistics.median(timer.repeat(REPEATS, CALLS))
        cost = check(call, 1e6 * seconds / CALLS, goal)
        print_row((call, cost, goal))


# Memory


def memory(data: Path) -> None:
    """Print bytes, nodes and accuracy on elec2, ours and river's, with and without a budget."""
    print_header("elec2", "max_nodes", "bytes", "nodes", "bytes a node", "accuracy")
    case = real_case("elec2", data)
    rivers = {b: weigh("river", RIVERS, b, case, count_rivers_nodes) for b in (None, BUDGET)}
    ours = {b: weigh("ours", OURS, b, case, count_our_nodes) for b in (None, BUDGET, SMALL_BUDGET)}
    for budget in rivers:
        check("bytes a node", ours[budget].of_a_node / rivers[budget].of_a_node, "<= 0.1")
    small, other = ours[SMALL_BUDGET], rivers[BUDGET]
    check("bytes with a budget", small.memory / other.memory, "<= 0.1")
    check("accuracy with a budget", small.accuracy, f">= {other.accuracy}")


class Weighed(NamedTuple):
    """What a model takes and what it gives."""

    memory: int
    of_a_node: float
    accuracy: float


def weigh(
    name: str, make: Callable[..., Classifier], budget: int | None, case: Case, count: Any
) -> Weighed:
    """Test, train and weigh a model, and print a row."""
    model = make(max_nodes=budget)
    accuracy = evaluate.progressive_val_score(case.samples, model, metrics.Accuracy()).get()
    n_bytes, nodes = model._raw_memory_usage, count(model)
    weighed = Weighed(n_bytes, n_bytes / nodes, accuracy)
    print_row((name, budget, n_bytes, nodes, *weighed[1:]))
    return weighed


def count_rivers_nodes(model: forest.AMFClassifier) -> int:
    """Count the nodes of all of river's trees."""
    n_nodes, pending = 0, [each._root for each in model]
    while pending:
        node = pending.pop()
        n_nodes += 1
        if not node.is_leaf:
            pending.extend(node.children)
    return n_nodes


def main(argv: list[str] | None = None) -> int:
    """Run the parts asked for; returns the exit status."""
    arguments = make_parser(__doc__, STREAMS).parse_args(argv)
    names = available(arguments.streams, arguments.data)
    streams(names, arguments.data)
    print()
    floor()
    if "elec2" in names:
        print()
        memory(arguments.data)
    if missed:
        print(f"missed: {', '.join(missed)}", file=sys.stderr)
    return int(bool(missed) or not names)


if __name__ == "__main__":
    sys.exit(main())
