"""Runs of `drift.py`: the streams, the models, what is measured, and the table that keeps it."""

import csv
import functools
import gc
import itertools
import math
import multiprocessing
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from river import ensemble, forest, preprocessing, tree
from river.base import Classifier
from river.compose import Pipeline
from streams import DATA, load, versions

from river_amf import baselines, evaluation
from river_amf.evaluation.prequential import most_probable
from river_amf.evaluation.streams import Sample

TABLE = Path(__file__).with_name("drift.csv")

PIECE = 250  # samples of a point of a curve
WARM_UP = 500
AFTERMATH = 2_000
SMALL = ("Bananas", "Phishing", "ImageSegments")
TRACKS = evaluation.STREAMS

# Features


def fill(samples: list[Sample]) -> list[Sample]:
    """Put 0 for a missing number."""
    cells = (item for x, _ in samples for item in x.items())
    zeros = {name: 0.0 for name, value in cells if not isinstance(value, str)}
    return [(zeros | x, y) for x, y in samples]


def one_hot(samples: list[Sample]) -> list[Sample]:
    """Make a column of 0 and 1 of each category, after the numbers, and put 0 for a missing one."""

    def columns(x):
        items = sorted(x.items(), key=lambda item: isinstance(item[1], str))
        return {f"{n}={v}" if isinstance(v, str) else n: one_or_number(v) for n, v in items}

    def one_or_number(value):
        return 1.0 if isinstance(value, str) else float(value)

    return fill([(columns(x), y) for x, y in samples])


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
    """A model for a seed, a note on it, and how features are encoded for it."""

    make: Callable[[int], Classifier]
    note: str
    encode: Callable[[list[Sample]], list[Sample]] = list


STRINGS = "strings and gaps as they are"
ONE_HOT = "categories one-hot, 0 for gaps"
NOMINAL = "strings as they are, `binary_split=True`, 0 for gaps"
OURS = ("AMF", "AdaptiveAMF")

MODELS = {
    "AMF": Entry(alone("amf"), f"`river_amf.AMFClassifier`; {STRINGS}"),
    "AdaptiveAMF": Entry(alone("adaptive"), f"`river_amf.AdaptiveAMFClassifier`; {STRINGS}"),
    "river-AMF": Entry(
        lambda seed: preprocessing.MinMaxScaler() | river_forest(seed=seed),
        f"`river.forest.AMFClassifier` behind a `MinMaxScaler`, as advised, though on satimage it "
        f"reaches 0.829 without; {ONE_HOT}",
        one_hot,
    ),
    "ARF": Entry(alone("arf"), f"`river.forest.ARFClassifier`; {NOMINAL}", fill),
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
    "kNN": Entry(  # the scaler of the baseline would leave out columns of 0 and 1
        lambda seed: preprocessing.StandardScaler() | alone("knn")(seed),
        "`river.neighbors.KNNClassifier`, 10 neighbors of the last 1000 samples, exact search, "
        f"behind a `StandardScaler`; {ONE_HOT}",
        one_hot,
    ),
    "NB": Entry(alone("gaussian-nb"), f"`river.naive_bayes.GaussianNB`; {ONE_HOT}", one_hot),
    "last-label": Entry(
        alone("last-class"), "`river.dummy.NoChangeClassifier`: the last label; no log-loss"
    ),
}


# A run


class Run(NamedTuple):
    """A stream, a model and a seed."""

    stream: str
    model: str
    seed: int


class Scored(NamedTuple):
    """The right predictions of a run, its mean log-loss, and microseconds per sample."""

    hits: list[bool]  # of all samples, the first one included
    confidences: list[float]  # the probability of each predicted label
    log_loss: float
    us: float

    @property
    def accuracy(self) -> float:
        """The accuracy after the first sample."""
        return float(np.mean(self.hits[1:]))


def loss_of(y: Any, proba: dict[Any, float], labels: set[Any]) -> float:
    """Return the log-loss of a label that was seen before; one that is not named has 0."""
    total = sum(proba.values())
    share = proba.get(y, 0.0) / total if total > 0.0 else 1.0 / len(labels)
    return -math.log(max(share, 1e-15))


def score(model: Classifier, samples: list[Sample], time_limit: float = math.inf) -> Scored:
    """Predict and learn each sample; a new label has no loss, and the first sample no score.

    The time is the processor's, as other programs may run on the machine.
    """
    predictions, seconds = [], 0.0
    for start in range(0, len(samples), PIECE):
        if seconds > time_limit:
            raise TimeoutError(f"over {time_limit:g} s after {start} of {len(samples)} samples")
        began = time.process_time()
        for x, y in samples[start : start + PIECE]:
            predictions.append(model.predict_proba_one(x))
            model.learn_one(x, y)
        seconds += time.process_time() - began
    hits, losses, labels = [], [], set()
    for (_, y), proba in zip(samples, predictions, strict=True):
        hits.append(most_probable(proba) == y)
        losses.append(loss_of(y, proba, labels) if y in labels else 0.0)
        labels.add(y)
    confidences = [max(proba.values(), default=0.0) for proba in predictions]
    return Scored(hits, confidences, float(np.mean(losses[1:])), 1e6 * seconds / len(samples))


def measure(what: Run, data: Path, time_limit: float) -> dict[str, Any]:
    """Run a model along a stream; return the figures of its row."""
    entry, track = MODELS[what.model], TRACKS.get(what.stream)
    raw = list(track or load(what.stream, data, DATA.get(what.stream)))
    samples = entry.encode(raw)
    score(entry.make(what.seed), samples[:WARM_UP], time_limit)
    gc.collect()
    gc.freeze()  # so that no sweep through the samples is timed
    model = entry.make(what.seed)
    scored = score(model, samples, time_limit)
    hits, labels = np.array(scored.hits), [y for _, y in samples]
    repeats = np.mean([y == last for last, y in itertools.pairwise(labels)])
    drifts = track.drifts if track else ()
    ends = itertools.pairwise((*drifts, len(hits)))
    counts = np.add.reduceat(hits, np.arange(0, len(hits), PIECE)).tolist() if drifts else ()
    return {
        "status": "ok",
        "n_samples": len(samples),
        "n_features": len({feature for x, _ in raw for feature in x}),
        "accuracy": round(scored.accuracy, 5),
        "kappa_temporal": round((scored.accuracy - repeats) / (1 - repeats), 5),
        "log_loss": "" if what.model == "last-label" else round(scored.log_loss, 5),
        "us_per_sample": round(scored.us, 2),
        "memory_mb": round(model._raw_memory_usage / 1e6, 4),
        "after_drift": " ".join(
            f"{hits[drift : min(drift + AFTERMATH, end)].mean():.4f}" for drift, end in ends
        ),
        "hits": " ".join(map(str, counts)),  # right predictions in each piece
    }


def run(what: Run, data: Path, time_limit: float) -> dict[str, Any]:
    """Return the row of a run, with the reason if it has not ended."""
    row = {**what._asdict(), "versions": versions()}
    try:
        return row | measure(what, data, time_limit)
    except TimeoutError as error:
        return row | {"status": str(error)}
    except Exception as error:
        return row | {"status": f"failed: {type(error).__name__}: {error}"[:200]}


# What was measured


def read() -> dict[Run, dict[str, str]]:
    with open(TABLE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {Run(row["stream"], row["model"], int(row["seed"])): row for row in rows}


def keep(row: dict[str, Any]) -> None:
    """Write the row of a run, in place of an older one."""
    what = Run(row["stream"], row["model"], row["seed"])
    rows = {**read(), what: row}
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        columns = [*next(iter(rows.values()))]
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    print(*what, row.get("accuracy", row["status"]), flush=True)


def run_all(runs: Iterable[Run], data: Path, time_limit: float, jobs: int) -> None:
    """Run each in a process of its own, so that none can harm another."""
    one = functools.partial(run, data=data, time_limit=time_limit)
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(one, runs):
            keep(row)
