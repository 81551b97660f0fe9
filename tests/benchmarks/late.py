"""Labels that come late: our forests at several delays. Prints Markdown.

    python tests/benchmarks/late.py

With a delay of D, sample t is learned once sample t + D has been predicted; the first 8 000 rows,
seed 1, ten trees. Of classifiers, accuracy and log-loss of all predictions after the first label
came: a label that was unknown then is a miss, without a log-loss; no probability is below 1e-15. Of
regressors, R2 and the share of targets in 90 % intervals, both after row 1 100.

`AdaptiveAMF` is compared with itself without pending predictions (`at-once`:
`max_delayed_labels=0`), and with simpler forests: `AMF`, `mean` (`vote="mean"`), `leaves` (`AMF`
with `use_aggregation=False`).
"""

import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import regression
import streams

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.evaluation.prequential import most_probable
from river_amf.evaluation.streams import Sample

LABELS = ("elec2", "weather", "rialto", "letter", "bank")
NUMBERS = ("MetroTraffic", "elevators", "bike", "abalone", "fried")
DELAYS = [0, 10, 100, 1_000]
SEED = 1
ROWS = 8_000
WARM_UP = 1_100  # rows of a regressor that are not scored


class Run(NamedTuple):
    """A stream, a model and a delay."""

    stream: str
    model: str
    delay: int


Figures = tuple[float, float]
Make = Callable[[int], Any]  # a model for a seed


def ours(kind: type, **parameters: object) -> Make:
    """Return what makes a forest of ours."""
    return lambda seed: kind(n_estimators=10, seed=seed, **parameters)


CLASSIFIERS: dict[str, Make] = {
    "AdaptiveAMF": ours(AdaptiveAMFClassifier),
    "at-once": ours(AdaptiveAMFClassifier, max_delayed_labels=0),
    "AMF": ours(AMFClassifier),
    "mean": ours(AdaptiveAMFClassifier, vote="mean"),
}
REGRESSORS: dict[str, Make] = {
    "AdaptiveAMF": ours(AdaptiveAMFRegressor),
    "at-once": ours(AdaptiveAMFRegressor, max_delayed_labels=0),
    "AMF": ours(AMFRegressor),
    "leaves": ours(AMFRegressor, use_aggregation=False),
}
MODELS = ["AdaptiveAMF", "at-once", "AMF", "mean", "leaves"]


def walk(model: Any, predict: Callable[[Any], Any], samples: list[Sample], delay: int) -> list[Any]:
    """Predict all samples, and learn each of them so many samples later."""
    answers = []
    for number, (x, _) in enumerate(samples):
        answers.append(predict(x))
        if number >= delay:
            model.learn_one(*samples[number - delay])
    return answers


def classify(what: Run, data: Path) -> Figures:
    """Return accuracy and log-loss."""
    samples = list(streams.load(what.stream, data, ROWS))
    model = CLASSIFIERS[what.model](SEED)
    said = walk(model, lambda x: {**model.predict_proba_one(x)}, samples, what.delay)
    hits, losses, known = [], [], set()
    late = itertools.islice(zip(samples, said, strict=True), what.delay + 1, None)
    for (_, learned), ((_, y), proba) in zip(samples, late, strict=False):
        known.add(learned)
        hits.append(most_probable(proba) == y)
        if y in known:
            total = sum(proba.values())
            share = proba.get(y, 0.0) / total if total > 0.0 else 1.0 / len(known)
            losses.append(-math.log(max(share, 1e-15)))
    return float(np.mean(hits)), float(np.mean(losses))


def regress(what: Run, data: Path) -> Figures:
    """Return R2 and coverage."""
    X, numbers = regression.frame_of(what.stream, data, ROWS)
    samples = list(zip(X.to_dict("records"), numbers.tolist(), strict=True))
    model = REGRESSORS[what.model](SEED)

    def predict(x: Any) -> tuple[float, float, float]:
        interval = model.predict_interval_one(x, level=0.9)
        return model.predict_one(x), interval.lower, interval.upper

    warm_up = min(WARM_UP, len(samples) // 4)
    said, lower, upper = np.array(walk(model, predict, samples, what.delay))[warm_up:].T
    y = numbers.to_numpy()[warm_up:]
    coverage = np.mean((lower <= y) & (y <= upper))
    return float(1.0 - np.mean((y - said) ** 2) / np.var(y)), float(coverage)


def cell(figures: Figures | None) -> str:
    """Return a cell of the table."""
    return "" if figures is None else " / ".join(f"{figure:.3f}" for figure in figures)


def main(argv: list[str] | None = None) -> int:
    """Run, and print the tables; returns the exit status."""
    parser = streams.make_parser(__doc__, (*LABELS, *NUMBERS))
    streams.add_names(parser, "--models", MODELS, MODELS)
    parser.add_argument("--delays", type=int, nargs="+", default=DELAYS)
    arguments = parser.parse_args(argv)
    table: dict[Run, Figures] = {}
    names = streams.available(arguments.streams, arguments.data)
    planned = itertools.starmap(Run, itertools.product(names, arguments.models, arguments.delays))
    for what in planned:
        score, models = (classify, CLASSIFIERS) if what.stream in LABELS else (regress, REGRESSORS)
        if what.model not in models:
            continue
        table[what] = score(what, arguments.data)
        print(*what, cell(table[what]), file=sys.stderr, flush=True)
    streams.print_header("stream", "model", *(f"D = {delay}" for delay in arguments.delays))
    for stream, model in itertools.product((*LABELS, *NUMBERS), MODELS):
        cells = [cell(table.get(Run(stream, model, delay))) for delay in arguments.delays]
        if any(cells):
            streams.print_row([stream, model, *cells])
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main())
