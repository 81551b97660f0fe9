"""Runs of `drift.py`: the streams, the models, what is measured, and the table that keeps it."""

import csv
import functools
import gc
import importlib.metadata
import itertools
import multiprocessing
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import ensemble, forest, preprocessing, tree
from river.base import Classifier
from river.compose import Pipeline
from river.metrics import Accuracy, CrossEntropy
from streams import DATA, load

import river_amf
from river_amf import baselines, evaluation
from river_amf.evaluation.prequential import Step, most_probable
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.streams import Sample

TABLE = Path(__file__).with_name("drift.csv")

PIECE = 250  # samples between two looks at the clock, and of a point of a curve
WARM_UP = 500
AFTERMATH = 2_000

# Streams

SMALL = ("Bananas", "Phishing", "ImageSegments")
TRACKS = evaluation.STREAMS


class Course(NamedTuple):
    """A stream, and the numbers of samples after which it drifts, where they are known."""

    samples: list[Sample]
    n_features: int
    drifts: tuple[int, ...] = ()


def open_course(name: str, data: Path) -> Course:
    """Load a stream, or make a track."""
    if name in TRACKS:
        track = TRACKS[name]
        return Course(list(track), track.n_features, track.drifts)
    samples = list(load(name, data, DATA.get(name)))
    return Course(samples, len({feature for x, _ in samples for feature in x}))


def fill(samples: list[Sample]) -> list[Sample]:
    """Put 0 for a missing number."""
    numbers = {
        name: 0.0 for x, _ in samples for name, value in x.items() if not isinstance(value, str)
    }
    return [(numbers | x, y) for x, y in samples]


def one_hot(samples: list[Sample]) -> list[Sample]:
    """Make a column of 0 and 1 of each category, and put 0 for a missing number."""
    cells = [item for x, _ in samples for item in x.items()]
    zeros = {name: 0.0 for name, value in cells if not isinstance(value, str)}
    zeros |= {f"{name}={value}": 0.0 for name, value in cells if isinstance(value, str)}
    return [(zeros | dict(map(one_hot_item, x.items())), y) for x, y in samples]


def one_hot_item(item: tuple[str, Any]) -> tuple[str, float]:
    """Return the column that is not 0, and its number."""
    name, value = item
    return (f"{name}={value}", 1.0) if isinstance(value, str) else (name, float(value))


def as_they_are(samples: list[Sample]) -> list[Sample]:
    """Change nothing."""
    return samples


# Models. Of strings and one-hot columns each is given what suits it. Hoeffding trees are better and
# cheaper with strings if they split in two (ARF on 10 000 rows of adult: 0.831; one-hot 0.823, with
# a branch for each category 0.829). SRP, which draws columns, is better with one-hot ones (there
# 0.834 against 0.826).


river_forest = functools.partial(forest.AMFClassifier, n_estimators=10)  # as many trees as ours has


def alone(name: str) -> Callable[[int], Classifier]:
    """Return what makes a baseline for a seed, without the steps that encode features before it.

    Here columns are encoded before the run, with all categories known and at no cost to the model.
    """

    def make(seed: int) -> Classifier:
        model = baselines.classifiers(seed)[name]()
        return [*model.steps.values()][-1] if isinstance(model, Pipeline) else model

    return make


class Entry(NamedTuple):
    """A model, and what it is given."""

    make: Callable[[int], Classifier]
    note: str
    encode: Callable[[list[Sample]], list[Sample]]
    is_ours: bool = False
    has_probabilities: bool = True


def scaled_knn(seed: int) -> Classifier:
    """Make river's nearest neighbours behind a scaler, for columns of 0 and 1 too.

    The baseline scales numbers alone, and these columns cannot be told from numbers any more.
    """
    return preprocessing.StandardScaler() | alone("knn")(seed)


OURS = "strings and gaps as they are"
ONE_HOT = "categories one-hot, 0 for gaps"
NOMINAL = "strings as they are, `binary_split=True`, 0 for gaps"

MODELS = {
    "AMF": Entry(
        alone("amf"),
        f"`river_amf.AMFClassifier`; {OURS}",
        as_they_are,
        is_ours=True,
    ),
    "AdaptiveAMF": Entry(
        alone("adaptive"), f"`river_amf.AdaptiveAMFClassifier`; {OURS}", as_they_are, is_ours=True
    ),
    "river-AMF": Entry(
        lambda seed: preprocessing.MinMaxScaler() | river_forest(seed=seed),
        f"`river.forest.AMFClassifier` behind a `MinMaxScaler`, as advised, though on satimage it "
        f"reaches 0.829 without; {ONE_HOT}",
        one_hot,
    ),
    "ARF": Entry(
        alone("arf"),
        f"`river.forest.ARFClassifier`; {NOMINAL}",
        fill,
    ),
    "SRP": Entry(
        lambda seed: ensemble.SRPClassifier(n_models=10, seed=seed),
        f"`river.ensemble.SRPClassifier`; {ONE_HOT}",
        one_hot,
    ),
    "LevBag": Entry(
        alone("leveraging-bagging"),
        f"`river.ensemble.LeveragingBaggingClassifier` of Hoeffding trees; {NOMINAL}",
        fill,
    ),
    "HAT": Entry(
        lambda seed: tree.HoeffdingAdaptiveTreeClassifier(binary_split=True, seed=seed),
        f"`river.tree.HoeffdingAdaptiveTreeClassifier`; {NOMINAL}",
        fill,
    ),
    "kNN": Entry(
        scaled_knn,
        "`river.neighbors.KNNClassifier`, 10 neighbours of the last 1000 samples, exact search, "
        f"behind a `StandardScaler`; {ONE_HOT}",
        one_hot,
    ),
    "NB": Entry(alone("gaussian-nb"), f"`river.naive_bayes.GaussianNB`; {ONE_HOT}", one_hot),
    "last-label": Entry(
        alone("last-class"),
        "`river.dummy.NoChangeClassifier`: what came last comes again",
        as_they_are,
        has_probabilities=False,
    ),
}


# A run


class Run(NamedTuple):
    """A stream, a model and a seed."""

    stream: str
    model: str
    seed: int


class TooLong(Exception):
    """A model takes more than the time limit."""


NOTHING = "nothing"  # stands for a label, as to say nothing of a later sample is a miss


class Tally:
    """What became of the predictions, all but the first one."""

    def __init__(self) -> None:
        self.hits: list[bool] = []  # with the first one
        self.scores = Scores({"accuracy": Accuracy(), "log_loss": CrossEntropy()})
        self.repeats = Scores({"accuracy": Accuracy()})  # what it gains to say the last label
        self.seen: dict[Any, float] = {}
        self.last: Any = None

    def update(self, y: Any, proba: dict[Any, float]) -> None:
        """Compare a prediction with the label."""
        label = most_probable(proba)
        self.hits.append(label == y)
        if self.seen:
            total = sum(proba.values())
            if total > 0:
                proba = {name: p / total for name, p in proba.items()}
            else:
                proba = dict.fromkeys(self.seen, 1 / len(self.seen))
            said = NOTHING if label is None else label
            self.scores.add(Step(len(self.hits), {}, y, said, self.seen | proba, 0.0))
            self.repeats.add(Step(len(self.hits), {}, y, self.last, None, 0.0))
        self.seen[y] = 0.0
        self.last = y


def run(what: Run, data: Path, time_limit: float) -> dict[str, Any]:
    """Run a model along a stream; returns a row of the table."""
    entry, course = MODELS[what.model], open_course(what.stream, data)
    samples = entry.encode(course.samples)
    row: dict[str, Any] = {**what._asdict(), "n_features": course.n_features}
    walk(entry.make(what.seed), samples[:WARM_UP], time_limit)
    gc.collect()
    gc.freeze()  # so that no sweep through the samples is timed
    model = entry.make(what.seed)
    tally, seconds = walk(model, samples, time_limit)
    hits, scores = np.array(tally.hits), tally.scores.get()
    accuracy, repeats = scores["accuracy"], tally.repeats.get()["accuracy"]
    row |= {
        "status": "ok",
        "n_samples": len(samples),
        "accuracy": round(accuracy, 5),
        "kappa_temporal": round((accuracy - repeats) / (1 - repeats), 5),
        "log_loss": round(scores["log_loss"], 5) if entry.has_probabilities else "",
        "us_per_sample": round(1e6 * seconds / len(samples), 2),
        "memory_mb": round(model._raw_memory_usage / 1e6, 4),
        "after_drift": " ".join(aftermaths(hits, course)),
        "versions": versions(),
    }
    if course.drifts:
        counts = np.add.reduceat(hits, np.arange(0, len(hits), PIECE))
        row["hits"] = " ".join(map(str, counts.tolist()))  # right predictions in each piece
    return row


def walk(model: Classifier, samples: list[Sample], time_limit: float) -> tuple[Tally, float]:
    """Predict, learn and score; returns the seconds that the model took."""
    tally, seconds = Tally(), 0.0
    predict, learn = model.predict_proba_one, model.learn_one
    for start in range(0, len(samples), PIECE):
        if seconds > time_limit:
            raise TooLong(f"over {time_limit:g} s after {start} of {len(samples)} samples")
        piece = samples[start : start + PIECE]
        answers = []
        began = time.process_time()
        for x, y in piece:
            answers.append(predict(x))
            learn(x, y)
        seconds += time.process_time() - began
        for (_, y), proba in zip(piece, answers, strict=True):
            tally.update(y, proba)
    return tally, seconds


def aftermaths(hits: NDArray[np.bool_], course: Course) -> Iterator[str]:
    """Yield the accuracy after each drift."""
    for drift, end in itertools.pairwise((*course.drifts, len(hits))):
        yield f"{hits[drift : min(drift + AFTERMATH, end)].mean():.4f}"


@functools.cache
def versions() -> str:
    """Name all that a figure may depend on."""
    packages = ("river", "numpy", "numba")
    named = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    return "; ".join([f"python {platform.python_version()}", *named, river_amf.__version__])


def attempt(what: Run, data: Path, time_limit: float) -> dict[str, Any]:
    """Run, and tell what went wrong if anything did."""
    try:
        return run(what, data, time_limit)
    except TooLong as error:
        status = str(error)
    except Exception as error:
        status = f"failed: {type(error).__name__}: {error}"[:200]
    return {**what._asdict(), "status": status, "versions": versions()}


# What was measured


def read() -> dict[Run, dict[str, str]]:
    """Read the table of runs."""
    with open(TABLE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {Run(row["stream"], row["model"], int(row["seed"])): row for row in rows}


def keep(row: dict[str, Any]) -> None:
    """Write down what came of a run in place of what was there."""
    what = Run(row["stream"], row["model"], row["seed"])
    rows = {**read(), what: row}
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        columns = [*next(iter(rows.values()))]
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    print(*what, row.get("accuracy", row["status"]), flush=True)


def run_all(runs: Iterable[Run], data: Path, time_limit: float, jobs: int) -> None:
    """Run what is asked for, each in a process of its own, so that none can harm another."""
    one = functools.partial(attempt, data=data, time_limit=time_limit)
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(one, runs):
            keep(row)
