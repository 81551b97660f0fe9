"""Delayed labels: our forests at several delays. Prints Markdown.

    python tests/benchmarks/late.py

With a delay of D, sample t is learned once sample t + D has been predicted; the first 8 000 rows,
seed 1, ten trees. Of classifiers, accuracy and log-loss of all predictions after the first label; a
label that was unknown then is a miss, without a log-loss; no probability is below 1e-15. Of
regressors, R2 and the share of targets in 90 % intervals, both after row 1 100.

`AdaptiveAMF` is compared with itself without pending predictions (`at-once`:
`max_delayed_labels=0`), behind a `StandardScaler` (`scaled`), and with simpler forests: `AMF`,
`mean` (`vote="mean"`), `leaves` (`AMF` with `use_aggregation=False`).

`hours-k` has one feature, a number below k, whose rows repeat: in turn from 24 on, else at random.

With `--batches 30 300` rows are predicted and then learned in batches of so many, and with `--jump`
targets jump; README.md has what is measured. ARF and a logistic regression are those of river.
"""

import functools
import itertools
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import streams
from river import compose, preprocessing
from runs import loss_of

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.baselines import classifiers
from river_amf.evaluation.prequential import test_then_train

LABELS = ("elec2", "weather", "rialto", "letter", "bank")
TARGETS = ("MetroTraffic", "elevators", "bike", "abalone", "fried")
HOURS = {f"hours-{k}": k for k in (1, 3, 24, 168)}
AFTER_JUMP = [(0, 25), (25, 50), (50, 100), (100, 200), (200, 500), (25, 200)]
IN_BATCHES = ("elec2", "weather", "rialto", "adult", "airlines", "gmsc", "letter")
JUMP_AT, JUMP_DELAY = 2_000, 100
DELAYS = [0, 10, 100, 1_000]
ROWS = 8_000
WARM_UP = 1_100  # rows of a regressor that are not scored


def scaled(kind: type, seed: int) -> compose.Pipeline:
    """Return a forest behind a scaler of numbers."""
    numbers = compose.SelectType((int, float)) | preprocessing.StandardScaler()
    return (numbers + compose.SelectType(str)) | kind(seed=seed)


def models_of(adaptive: type, plain: type) -> dict[str, Callable[..., Any]]:
    return {
        "AdaptiveAMF": adaptive,
        "scaled": functools.partial(scaled, adaptive),
        "at-once": functools.partial(adaptive, max_delayed_labels=0),
        "AMF": plain,
        "mean": functools.partial(adaptive, vote="mean"),
    }


CLASSIFIERS = models_of(AdaptiveAMFClassifier, AMFClassifier)
REGRESSORS = models_of(AdaptiveAMFRegressor, AMFRegressor)
REGRESSORS |= {"leaves": functools.partial(AMFRegressor, use_aggregation=False)}
ALONE = {"ARF": "arf", "logistic": "logistic"}  # models of river, by our names for them
MODELS = [*REGRESSORS]


def classify(stream: str, model: str, delay: int, data: Path) -> tuple[float, float]:
    """Return accuracy and log-loss."""
    samples = list(streams.load(stream, data, ROWS))
    steps = test_then_train(CLASSIFIERS[model](seed=1), samples, lambda n: n - delay)
    hits, losses, labels = [], [], set()
    after_first = itertools.islice(steps, delay + 1, None)
    for (_, learned), step in zip(samples, after_first, strict=False):
        labels.add(learned)
        hits.append(step.prediction == step.y)
        if step.y in labels:
            losses.append(loss_of(step.y, step.uncertainty, labels))
    return float(np.mean(hits)), float(np.mean(losses))


def classify_batches(stream: str, model: str, size: int, data: Path) -> float:
    """Return the log-loss."""
    samples = list(streams.load(stream, data, 20_000))
    make = classifiers(1)[ALONE[model]] if model in ALONE else None
    classifier = make() if make else CLASSIFIERS[model](seed=1)
    labels, losses = set(), []
    for step in test_then_train(classifier, samples, lambda n: (n - 1) // size * size):
        if step.n > max(1_000, size) and not step.is_new:
            losses.append(loss_of(step.y, step.uncertainty, labels))
        labels.add(step.y)
    return float(np.mean(losses))


def hours(k: int) -> list[tuple[dict[str, float], float]]:
    """Return samples of one feature with k values."""
    draw, samples = random.Random(1), []
    for n in range(ROWS):
        hour = n % k if k >= 24 else draw.randrange(k)
        y = math.sin(2.0 * math.pi * hour / k) + 0.5 * math.sin(n / 150) + draw.gauss(0.0, 0.3)
        samples.append(({"hour": float(hour)}, y))
    return samples


def regress(stream: str, model: str, delay: int, data: Path) -> tuple[float, float]:
    """Return R2 and coverage."""
    if stream in HOURS:
        samples = hours(HOURS[stream])
    else:
        samples = streams.load(stream, data, ROWS, "regression").samples
    steps = test_then_train(REGRESSORS[model](seed=1), samples, lambda n: n - delay)
    scored = itertools.islice(steps, max(delay + 1, min(WARM_UP, len(samples) // 4)), None)
    rows = [(s.y, s.prediction, s.uncertainty.lower, s.uncertainty.upper) for s in scored]
    y, prediction, lower, upper = np.array(rows).T
    coverage = np.mean((lower <= y) & (y <= upper))
    return float(1.0 - np.mean((y - prediction) ** 2) / np.var(y)), float(coverage)


def errors_after_jump(model: str, seed: int) -> list[float]:
    """Return the mean absolute error of some rows."""
    draw, samples = random.Random(seed), []
    for n in range(JUMP_AT + JUMP_DELAY + AFTER_JUMP[-2][1] + 1):
        u = draw.random()
        samples.append(({"u": u}, 5.0 * u + draw.gauss(0.0, 0.5) + 10.0 * (n >= JUMP_AT)))
    steps = test_then_train(REGRESSORS[model](seed=seed), samples, lambda n: n - JUMP_DELAY)
    after = itertools.islice(steps, JUMP_AT + JUMP_DELAY + 1, None)
    errors = np.abs([step.y - step.prediction for step in after])
    return [float(errors[start:stop].mean()) for start, stop in AFTER_JUMP]


def main(argv: list[str] | None = None) -> int:
    parser = streams.make_parser(__doc__, (*LABELS, *TARGETS, *HOURS))
    streams.add_names(parser, "--models", MODELS, MODELS)
    parser.add_argument("--delays", type=int, nargs="+", default=DELAYS)
    parser.add_argument("--jump", action="store_true")
    parser.add_argument("--batches", type=int, nargs="+", metavar="ROWS")
    arguments = streams.begin(parser, argv)
    if arguments.jump:
        streams.print_header("model", *(f"{start} to {stop}" for start, stop in AFTER_JUMP))
        for model in (name for name in arguments.models if name in REGRESSORS):
            errors = np.mean([errors_after_jump(model, seed) for seed in range(1, 6)], axis=0)
            streams.print_row((model, *(f"{error:.2f}" for error in errors)))
        return 0
    if arguments.batches:
        names = streams.available(IN_BATCHES, arguments.data)
        streams.print_header("batches of", "model", *names)
        for size, model in itertools.product(arguments.batches, (*CLASSIFIERS, *ALONE)):
            losses = (classify_batches(name, model, size, arguments.data) for name in names)
            streams.print_row((size, model, *(f"{loss:.3f}" for loss in losses)))
        return 0
    made = [name for name in arguments.streams if name in HOURS]
    names = streams.available([n for n in arguments.streams if n not in made], arguments.data)
    names += made
    streams.print_header("stream", "model", *(f"D = {delay}" for delay in arguments.delays))
    for stream, model in itertools.product(names, arguments.models):
        score, models = (classify, CLASSIFIERS) if stream in LABELS else (regress, REGRESSORS)
        if model in models:
            scores = (score(stream, model, delay, arguments.data) for delay in arguments.delays)
            streams.print_row((stream, model, *(f"{a:.3f} / {b:.3f}" for a, b in scores)))
    return 0 if names else 1


if __name__ == "__main__":
    raise SystemExit(main())
