"""What a sample costs: ours one by one, in blocks and in threads, river's and plain C++.

    python tests/benchmarks/speed.py                     # all parts
    python tests/benchmarks/speed.py streams floor       # or some: sweeps, long, memory
    python tests/benchmarks/speed.py --csv speed.csv --picture speed.png
    python tests/benchmarks/speed.py --quick             # a smoke test: its figures mean nothing

- `streams`: test-then-train on real streams, against river's classifiers and, with `--yardstick`,
  a C++ program. `--everywhere` runs all of them on all streams, which is slow.
- `sweeps`: generated streams, by nodes, features, trees and classes.
- `long`: up to a million samples, with and without a budget of nodes, and of one label.
- `floor`: a call of the smallest model.
- `memory`: bytes and accuracy on elec2, ours and river's.

Before any of our ways to run a stream is timed, all of them are proven to give the same
probabilities and the same model, bit for bit. The ways are timed in turn in one process; a cost is
the median of the repeats, and a ratio the median of the ratios within a repeat. Tables are
Markdown. "Goal" is what the project set out to reach. The exit status is 1 if a goal was missed, or
if there was nothing to measure.
"""

import argparse
import collections
import csv
import functools
import gc
import importlib.util
import itertools
import pickle
import statistics
import time
import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import command
import numpy as np
import pandas as pd
from command import print_header, print_row
from river import forest, metrics
from river.base import Classifier
from runs import alone, river_forest
from streams import as_numbers, available, load

from river_amf import AMFClassifier
from river_amf.evaluation import progressive_val_score

STREAMS = ("Bananas", "elec2", "Shuttle", "ImageSegments", "letter", "weather")
BUDGET = 4095  # nodes a tree
SMALL_BUDGET = 1900  # ours takes a tenth of the bytes that river's takes with the other one


class Size(NamedTuple):
    """How much is measured, and on what."""

    rows: int = 20_000  # of a real stream, at most
    ours: int = 5  # repeats
    others: int = 3
    generated: int = 30_000  # samples of a sweep
    proven: int = 10_000  # of these
    thousand: int = 1_000  # as many samples of a long stream are called a thousand
    window: int = 4_000
    seeds: tuple[int, ...] = (1, 2, 3)  # of the long streams
    calls: int = 20_000
    everywhere: bool = False
    streams: tuple[str, ...] = STREAMS
    data: Path = command.DATA


QUICK = Size(300, 2, 1, 600, 300, 5, 100, (1,), 200)


class Figure(NamedTuple):
    """A line of the CSV: a value with its unit, or a ratio."""

    part: str
    stream: str
    what: str
    value: float | str
    unit: str
    ratio: float | str
    goal: str


figures: list[Figure] = []
missed: list[str] = []  # goals, in this run


def check(name: str, value: float, goal: str) -> None:
    """Check a goal such as ">= 25"."""
    if goal:
        sign, bound = goal.split()
        if not (value >= float(bound) if sign == ">=" else value <= float(bound)):
            missed.append(name)


def note(
    part: str, stream: str, what: str, value: float, unit: str = "us", goal: str = ""
) -> float:
    """Keep a value, check its goal, and return it."""
    figures.append(Figure(part, stream, what, value, unit, "", goal))
    check(f"{what} on {stream}", value, goal)
    return value


def note_ratio(part: str, stream: str, what: str, ratio: float, goal: str = "") -> float:
    """Keep a ratio, check its goal, and return it."""
    figures.append(Figure(part, stream, what, "", "", ratio, goal))
    check(f"{what} on {stream}", ratio, goal)
    return ratio


# A stream, and the ways to run it


@dataclass
class Case:
    """A stream as a dataframe and as samples, and what parameters of ours to take."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    parameters: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def samples(self) -> list[tuple[dict[Any, float], Any]]:
        """The pairs of features and label, each made at one time, as a stream makes them."""
        names = list(self.X.columns)
        rows = (dict(zip(names, row, strict=True)) for row in self.X.to_numpy().tolist())
        return list(zip(rows, self.y.tolist(), strict=True))

    def part(self, start: int, stop: int) -> "Case":
        """Return the samples from `start` to `stop`."""
        return Case(self.name, self.X[start:stop], self.y[start:stop], self.parameters)


Answers = collections.deque  # of all that was predicted; of length 0 when timed


def microseconds(start: float, case: Case) -> float:
    """Return the time since `start` for each sample."""
    return 1e6 * (time.perf_counter() - start) / len(case.y)


def one_by_one(model: Classifier, case: Case, answers: Answers) -> float:
    """Predict and learn sample by sample; returns microseconds a sample, as all of these do."""
    samples = case.samples
    predict, learn, keep = model.predict_proba_one, model.learn_one, answers.append
    start = time.perf_counter()
    for x, y in samples:
        keep(predict(x))
        learn(x, y)
    return microseconds(start, case)


def in_one_block(model: AMFClassifier, case: Case, answers: Answers) -> float:
    """Predict and learn the whole stream in one call."""
    start = time.perf_counter()
    answers.append(model.predict_proba_then_learn_many(case.X, case.y))
    return microseconds(start, case)


def in_cpp(yardstick: Callable[..., str], case: Case, answers: Answers) -> float:
    """Read off the line that the C++ program prints."""
    line = yardstick(case.X.to_numpy(), pd.factorize(case.y)[0])
    return float(line.split(" us ")[0])


class Way(NamedTuple):
    """A way to run a stream."""

    make_model: Callable[..., Any]
    walk: Callable[[Any, Case, Answers], float]
    is_ours: bool = False
    streams: tuple[str, ...] = ()  # on these alone, if any


OURS = functools.partial(AMFClassifier, seed=1)
RIVERS = functools.partial(river_forest, seed=1)

# Here all columns are numbers, which river's trees split in two whatever a baseline asks for.

COMPARISONS = {
    "per sample": Way(OURS, one_by_one, True),
    "blocks": Way(OURS, in_one_block, True),
    "blocks, 2 threads": Way(functools.partial(OURS, n_jobs=2), in_one_block, True),
    "river AMF": Way(RIVERS, one_by_one, streams=("Bananas", "elec2", "Shuttle", "ImageSegments")),
    "river ARF": Way(
        functools.partial(alone("arf"), seed=1),
        one_by_one,
        streams=("elec2",),
    ),
    "river Hoeffding tree": Way(functools.partial(alone("hoeffding-gain"), seed=1), one_by_one),
}
OUR_WAYS = [name for name, way in COMPARISONS.items() if way.is_ours]
YARDSTICK = "C++ yardstick"


def add_yardstick(folder: Path) -> None:
    """Add the C++ program to the ways to run a stream; a line says why if it does not run."""
    spec = importlib.util.spec_from_file_location("yardstick", folder / "run.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        in_cpp(module.yardstick, Case("four", pd.DataFrame(np.eye(4)), pd.Series([0, 1, 0, 1])), [])
    except Exception as error:  # it is not ours, nor is the compiler
        command.print_line(f"{YARDSTICK}: left out: {type(error).__name__}: {error}")
    else:
        COMPARISONS[YARDSTICK] = Way(
            lambda: module.yardstick, in_cpp, streams=("elec2", "letter", "weather")
        )


PROVEN = ("labels", "probabilities", "model")


def prove(case: Case) -> None:
    """Make sure that all of our ways predict and learn the same, bit for bit."""
    first, *others = (run_to_the_end(COMPARISONS[name], case) for name in OUR_WAYS)
    for name, other in zip(OUR_WAYS[1:], others, strict=True):
        for what, expected, got in zip(PROVEN, first, other, strict=True):
            if expected != got:
                raise command.Failed(f"{case.name}, {name}: other {what} than {OUR_WAYS[0]}")


def run_to_the_end(way: Way, case: Case) -> tuple[list[Any], bytes, bytes]:
    """Return the labels, the probabilities and the state of the model."""
    model, answers = way.make_model(**case.parameters), Answers()
    way.walk(model, case, answers)
    model.n_jobs = 1
    proba = one_table(answers)
    return list(proba), proba.to_numpy(np.float64).tobytes("C"), pickle.dumps(model)


def one_table(answers: Answers) -> pd.DataFrame:
    """Return probabilities as blocks have them: 0 for labels to come, NaN in the first row."""
    if isinstance(answers[0], pd.DataFrame):
        return answers[0]
    proba = pd.DataFrame(list(answers))
    proba.iloc[1:] = proba.iloc[1:].fillna(0.0)
    return proba


def measure(case: Case, names: Iterable[str], size: Size) -> dict[str, list[float]]:
    """Time ways in turn; returns the microseconds a sample of each repeat."""
    times = collections.defaultdict(list)
    for repeat in range(max(size.ours, size.others)):
        for name in names:
            way = COMPARISONS[name]
            if repeat < (size.ours if way.is_ours else size.others):
                model = way.make_model(**case.parameters)
                gc.collect()  # what the one before has left
                times[name].append(way.walk(model, case, Answers(maxlen=0)))
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
    ("elec2", "blocks", "C++ yardstick", "<= 1.5"),
    ("letter", "blocks", "C++ yardstick", "<= 1.5"),
    ("weather", "blocks", "C++ yardstick", "<= 1.5"),
]


def streams(size: Size) -> None:
    """Print what a sample of each real stream costs, and the ratios that have a goal."""
    times = {}
    print_header("stream, us a sample", "samples", "features", *COMPARISONS)
    for name in size.streams:
        times[name] = run_stream(real_case(name, size), size)
    print()
    print_header("stream", "what", "ratio", "goal")
    for name, slow, fast, goal in RATIOS:
        if name in times and times[name].keys() >= {slow, fast}:
            what = f"{slow} / {fast}"
            ratio = paired_ratio(times[name][slow], times[name][fast])
            print_row((name, what, note_ratio("streams", name, what, ratio, goal), goal))


def real_case(name: str, size: Size) -> Case:
    """Load a stream with all columns as numbers, as river's forest takes no categories."""
    features, labels = zip(*as_numbers(load(name, size.data, size.rows)), strict=True)
    return Case(name, pd.DataFrame(list(features)), pd.Series(labels))


def run_stream(case: Case, size: Size) -> dict[str, list[float]]:
    """Prove, time, and print a row of costs."""
    prove(case)
    names = [
        name
        for name, way in COMPARISONS.items()
        if size.everywhere or not way.streams or case.name in way.streams
    ]
    times = measure(case, names, size)
    print_row((case.name, *case.X.shape, *costs("streams", case, times)))
    return times


def costs(part: str, case: Case, times: dict[str, list[float]]) -> list[float | str]:
    """Keep the medians; returns them in the order of `COMPARISONS`, blank where there is none."""
    return [
        note(part, case.name, name, statistics.median(times[name])) if name in times else ""
        for name in COMPARISONS
    ]


# Generated streams


class Clusters:
    """Endless samples of Gaussian clusters, of which one in twenty has another cluster's label."""

    def __init__(self, seed: int, n_features: int = 10, n_classes: int = 2) -> None:
        self.rng = np.random.default_rng(seed)
        self.names = [f"x{j}" for j in range(n_features)]
        self.n_classes = n_classes
        self.centres = self.rng.random((50, n_features))
        self.labels = self.rng.permutation(50) % n_classes

    def draw(self, n_samples: int, name: str = "clusters", **parameters: Any) -> Case:
        """Return the next samples."""
        rng = self.rng
        cluster = rng.integers(50, size=n_samples)
        values = rng.normal(self.centres[cluster], 0.1)
        shift = rng.integers(1, self.n_classes, size=n_samples) * (rng.random(n_samples) < 0.05)
        labels = (self.labels[cluster] + shift) % self.n_classes
        return Case(name, pd.DataFrame(values, columns=self.names), pd.Series(labels), parameters)


# name, shape of the stream, parameters of the forest; where nothing is said there are 10 features,
# 2 classes, 10 trees and no budget
SWEEPS: list[tuple[str, dict[str, int], dict[str, int]]] = [
    ("the base", {}, {}),
    ("255 nodes", {}, {"max_nodes": 255}),
    ("1023 nodes", {}, {"max_nodes": 1023}),
    ("4095 nodes", {}, {"max_nodes": BUDGET}),
    ("2 features", {"n_features": 2}, {}),
    ("50 features", {"n_features": 50}, {}),
    ("1 tree", {}, {"n_estimators": 1}),
    ("50 trees", {}, {"n_estimators": 50}),
    ("10 classes", {"n_classes": 10}, {}),
    ("50 classes", {"n_classes": 50}, {}),
]


def sweeps(size: Size) -> None:
    """Print what a sample of a generated stream costs, one thing changed at a time."""
    print("The base: 10 features, 2 classes, 10 trees, no budget of nodes.\n")
    print_header("us a sample", "nodes a tree", *OUR_WAYS)
    for name, shape, parameters in SWEEPS:
        case = Clusters(1, **shape).draw(size.generated, name, **parameters)
        prove(case.part(0, size.proven))
        times = measure(case, OUR_WAYS, size)
        print_row((name, nodes_a_tree(case), *costs("sweeps", case, times)[: len(OUR_WAYS)]))


def nodes_a_tree(case: Case) -> int:
    """Return how many nodes our trees have at the end, on average."""
    model = OURS(**case.parameters)
    model.learn_many(case.X, case.y)
    return count_our_nodes(model) // model.n_estimators


def count_our_nodes(model: AMFClassifier) -> int:
    """Count the nodes of all trees."""
    return int(model._arena.trees["n_nodes"].sum())


# Long streams


class Window(NamedTuple):
    """Microseconds a sample around some place of a stream, and bytes."""

    per_sample: float
    blocks: float
    memory: int


def long(size: Size) -> None:
    """Print what a sample costs late in a stream, and the slowest calls."""
    print_header("stream", "what", "early", "late", "late / early", "goal")
    compare_windows("no budget", {}, (10, 200), size, "<= 3.5", "")
    compare_windows("4095 nodes", {"max_nodes": BUDGET}, (100, 1000), size, "<= 1.1", "<= 1.01")
    print()
    one_label(size)


def compare_windows(
    name: str,
    parameters: dict[str, int],
    thousands: tuple[int, int],
    size: Size,
    time_goal: str,
    memory_goal: str,
) -> None:
    """Print costs and bytes around two places of a stream, the medians over the seeds."""
    prove(Clusters(1).draw(size.proven, name, **parameters))
    runs = [run_windows(seed, parameters, thousands, size) for seed in size.seeds]
    places = [f"{1000 * number:,} samples".replace(",", " ") for number in thousands]
    goals = (time_goal, "", memory_goal)
    for what, goal in zip(Window._fields, goals, strict=True):
        unit = "B" if what == "memory" else "us"
        values = [[float(getattr(window, what)) for window in run] for run in runs]
        ends = [
            note("long", name, f"{what} at {place}", statistics.median(column), unit)
            for place, column in zip(places, zip(*values, strict=True), strict=True)
        ]
        ratio = statistics.median(late / early for early, late in values)
        if what == "memory":
            ratio = max(ratio, 1 / ratio) if memory_goal else ratio  # equal, to 1 %
        note_ratio("long", name, f"{what}, late / early", ratio, goal)
        shown = [f"{place}: {end:.4g} {unit}" for place, end in zip(places, ends, strict=True)]
        print_row((name, what, *shown, ratio, goal))


def run_windows(
    seed: int, parameters: dict[str, int], thousands: tuple[int, int], size: Size
) -> list[Window]:
    """Learn a stream fast up to each place, and measure there."""
    model, clusters = AMFClassifier(seed=seed, **parameters), Clusters(seed)
    windows, done = [], 0
    for number in thousands:
        start = number * size.thousand - size.window // 2
        learn_fast(model, clusters, start - done)
        windows.append(look(model, clusters, size.window))
        done = start + 2 * size.window
    return windows


def learn_fast(model: AMFClassifier, clusters: Clusters, n_samples: int) -> None:
    """Learn in blocks, in two threads."""
    model.n_jobs = 2
    for start in range(0, n_samples, 50_000):
        case = clusters.draw(min(50_000, n_samples - start))
        model.learn_many(case.X, case.y)
    model.n_jobs = 1


def look(model: AMFClassifier, clusters: Clusters, n_samples: int) -> Window:
    """Run a window sample by sample, and one in a block.

    The cost of a sample is the median over 20 pieces of the window: some piece may have all arrays
    moved, to be paid by as many samples as there have been.
    """
    case, nothing = clusters.draw(n_samples), Answers(maxlen=0)
    cuts = range(0, n_samples + 1, max(n_samples // 20, 1))
    pieces = [case.part(start, stop) for start, stop in itertools.pairwise(cuts)]
    for piece in pieces:
        piece.samples  # noqa: B018, made here so that no cache is swept between two pieces
    gc.collect()
    per_sample = statistics.median(one_by_one(model, piece, nothing) for piece in pieces)
    blocks = in_one_block(model, clusters.draw(n_samples), nothing)
    return Window(per_sample, blocks, model.memory_usage)


def one_label(size: Size) -> None:
    """Print the slowest calls on a stream of one label and after it, the medians over the seeds."""
    early, late = 100 * size.thousand, 1000 * size.thousand
    meet_another(Clusters(0), AMFClassifier(seed=0), (3 * size.thousand,))  # loads all kernels
    runs = [meet_another(Clusters(s), AMFClassifier(seed=s), (early, late)) for s in size.seeds]
    slowest, other, first, last = map(statistics.median, zip(*runs, strict=True))
    print_header("one label", "measured", "goal")
    for what, value, unit, goal in (
        ("slowest learn_one of 1 000 000 samples", slowest, "ms", "<= 20"),
        ("slowest learn_one of 100 with another label", other, "ms", "<= 20"),
        ("memory at 100 000 samples", first, "B", ""),
        ("memory at 1 000 000 samples", last, "B", ""),
    ):
        note("long", "one label", what, value, unit, goal)
        print_row((what, f"{value:.4g} {unit}", goal and f"{goal} {unit}"))


def meet_another(
    clusters: Clusters, model: AMFClassifier, places: tuple[int, ...]
) -> tuple[float, ...]:
    """Learn one label, then another.

    Returns the slowest call of each, in milliseconds, and the bytes at each place.
    """
    slowest, weights, done = 0.0, [], 0
    for place in places:
        while done < place:
            n_samples = min(20_000, place - done)
            slowest = max(slowest, slowest_call(model, clusters.draw(n_samples), "one"))
            done += n_samples
        weights.append(model.memory_usage)
    return slowest, slowest_call(model, clusters.draw(100), "other"), *weights


def slowest_call(model: AMFClassifier, case: Case, label: str) -> float:
    """Return the milliseconds of the slowest `learn_one`, without Python's garbage collection."""
    slowest, learn, samples = 0.0, model.learn_one, case.samples
    gc.disable()
    try:
        for x, _ in samples:
            start = time.perf_counter()
            learn(x, label)
            slowest = max(slowest, time.perf_counter() - start)
    finally:
        gc.enable()
    return 1e3 * slowest


# The floor of a call

FLOOR = {"predict_proba_one(x)": "<= 2.5", "learn_one(x, True)": "<= 3"}


def floor(size: Size) -> None:
    """Print what a call costs where there is one tree of one node: all but the walk."""
    x = {f"x{j}": j / 10 for j in range(10)}
    print_header("1 tree, 10 features, 1 sample learnt", "us", "goal")
    for call, goal in FLOOR.items():
        setup = "model = make(); model.learn_one(x, True)"
        names = {"x": x, "make": functools.partial(OURS, n_estimators=1)}
        timer = timeit.Timer(f"model.{call}", setup, globals=names)
        seconds = statistics.median(timer.repeat(size.ours, size.calls))
        cost = note("floor", "one node", call, 1e6 * seconds / size.calls, goal=goal)
        print_row((call, cost, goal))


# Memory


class Weighed(NamedTuple):
    """What a model takes and what it gives."""

    memory: int
    nodes: int
    accuracy: float


def memory(size: Size) -> None:
    """Print bytes, nodes and accuracy on elec2, ours and river's, with and without a budget."""
    print_header("elec2", "forest", "bytes", "nodes", "bytes a node", "accuracy")
    case = real_case("elec2", size)
    rivers = {b: weigh(RIVERS(max_nodes=b), case, count_rivers_nodes) for b in (None, BUDGET)}
    for budget, weighed in rivers.items():
        print_weighed(nodes_of(budget), "river AMF", weighed)
    shares = []
    for budget, rivers_budget in ((None, None), (BUDGET, BUDGET), (SMALL_BUDGET, BUDGET)):
        ours = weigh(OURS(max_nodes=budget), case, count_our_nodes)
        print_weighed(nodes_of(budget), "river_amf", ours)
        what, value = share(ours, rivers[rivers_budget])
        name = f"{nodes_of(budget)} against {nodes_of(rivers_budget)}"
        shares.append((name, what, note_ratio("memory", name, what, value, "<= 0.1")))
    print()
    print_header("elec2", "what", "share", "goal")
    for name, what, value in shares:
        print_row((name, what, value, "<= 0.1"))


def nodes_of(budget: int | None) -> str:
    """Return a name for a budget."""
    return f"{budget} nodes" if budget else "no budget"


def weigh(model: Classifier, case: Case, count: Callable[[Any], int]) -> Weighed:
    """Test, train and weigh a model."""
    accuracy = progressive_val_score(case.samples, model, metrics.Accuracy()).get()
    return Weighed(model._raw_memory_usage, count(model), accuracy)


def count_rivers_nodes(model: forest.AMFClassifier) -> int:
    """Count the nodes of all of river's trees."""
    n_nodes, pending = 0, [each._root for each in model]
    while pending:
        node = pending.pop()
        n_nodes += 1
        if not node.is_leaf:
            pending.extend(node.children)
    return n_nodes


def print_weighed(name: str, whose: str, weighed: Weighed) -> None:
    """Print and keep what was weighed."""
    for what, unit in (("memory", "B"), ("nodes", ""), ("accuracy", "")):
        note("memory", name, f"{whose}, {what}", getattr(weighed, what), unit)
    bytes_a_node = weighed.memory / weighed.nodes
    print_row((name, whose, weighed.memory, weighed.nodes, bytes_a_node, weighed.accuracy))


def share(ours: Weighed, rivers: Weighed) -> tuple[str, float]:
    """Return what share of river's bytes ours are.

    It is that of a node, as for the same number of nodes; or that of all nodes, where it is less
    and ours predict no worse.
    """
    of_a_node = ours.memory / ours.nodes / (rivers.memory / rivers.nodes)
    of_all = ours.memory / rivers.memory
    if ours.accuracy >= rivers.accuracy and of_all < of_a_node:
        return "bytes, ours / river's", of_all
    return "bytes a node, ours / river's", of_a_node


# Output


def write_csv(path: Path) -> None:
    """Write all figures."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Figure._fields)
        writer.writerows(figures)


# from slow to fast, in the colours of the picture: river's grey, ours blue
BARS = {
    "river ARF": "#4d4d4d",
    "river AMF": "#878787",
    "river Hoeffding tree": "#c4c4c4",
    "per sample": "#08519c",
    "blocks": "#3182bd",
    "blocks, 2 threads": "#9ecae1",
    YARDSTICK: "#e6550d",
}
BAR_WIDTH = 0.14


def draw(path: Path) -> None:
    """Draw the cost of a sample on the real streams, a bar for each way."""
    import matplotlib.pyplot as plt

    cost = {(f.stream, f.what): f.value for f in figures if f.part == "streams" and f.unit == "us"}
    names = [name for name in STREAMS if any(stream == name for stream, _ in cost)]
    picture, axes = plt.subplots(figsize=(12, 5.5), layout="constrained")
    for place, name in enumerate(names):
        draw_group(axes, place, {way: cost[name, way] for way in BARS if (name, way) in cost})
    for way, color in BARS.items():
        if way not in COMPARISONS:
            continue
        ours = "river_amf, " if COMPARISONS[way].is_ours else ""
        axes.bar(0, 0, color=color, label=ours + way)  # for the legend
    axes.set_yscale("log")
    axes.set_ylabel("microseconds a sample, to predict and learn")
    axes.set_xticks(range(len(names)), names)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#e0e0e0")
    axes.spines[["top", "right"]].set_visible(False)
    picture.legend(loc="outside upper center", ncols=4, frameon=False)
    picture.savefig(path, dpi=150)


def draw_group(axes: Any, place: int, cost: dict[str, float]) -> None:
    """Draw the bars of a stream side by side, with their figures."""
    for k, (way, us) in enumerate(cost.items()):
        x = place + BAR_WIDTH * (k - (len(cost) - 1) / 2)
        axes.bar(x, us, 0.9 * BAR_WIDTH, color=BARS[way])
        shown = f"{us:.0f}" if us >= 100 else f"{us:.1f}"
        axes.annotate(shown, (x, us), (0, 2), textcoords="offset points", fontsize=7, ha="center")


PARTS = {"streams": streams, "sweeps": sweeps, "long": long, "floor": floor, "memory": memory}
STREAMS_OF = dict.fromkeys(PARTS, ()) | {"streams": STREAMS, "memory": ("elec2",)}


def read_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = command.make_parser(__doc__)
    command.add_parts(parser, PARTS)
    command.add_streams(parser, STREAMS)
    parser.add_argument(
        "--yardstick",
        type=Path,
        metavar="FOLDER",
        help="compare with a C++ program: FOLDER/run.py has a function `yardstick(X, y)` that"
        " compiles and runs it, and returns a line that starts with `12.3 us `",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--picture", type=Path, metavar="FILE.png", help="draw the part `streams`")
    parser.add_argument("--everywhere", action="store_true", help="everything on all streams")
    parser.add_argument("--quick", action="store_true", help="a smoke test; checks no goal")
    arguments = parser.parse_args(argv)
    command.match_parts(parser, arguments, STREAMS_OF)
    if arguments.picture and "streams" not in arguments.parts:
        parser.error("--picture draws the part `streams`, which is not asked for")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Run the parts asked for; returns the exit status."""
    arguments = read_arguments(argv)
    names = available(arguments.streams, arguments.data)
    parts = command.parts_left(arguments.parts, STREAMS_OF, names)
    if "streams" in parts and arguments.yardstick:
        add_yardstick(arguments.yardstick)
    elif "streams" in parts:
        command.print_line(f"{YARDSTICK}: left out (--yardstick FOLDER names its folder)")
    size = (QUICK if arguments.quick else Size())._replace(
        everywhere=arguments.everywhere, streams=tuple(names), data=arguments.data
    )
    for part in parts:
        PARTS[part](size)
        print(flush=True)
        if arguments.csv:
            write_csv(arguments.csv)  # after each part, as all of them take long
    if arguments.picture and "streams" in parts:
        draw(arguments.picture)
    if not parts:
        return 1
    if arguments.quick:
        print("A smoke test: no goal was checked.")
        return 0
    return command.verdict(missed)


if __name__ == "__main__":
    command.run(main)
