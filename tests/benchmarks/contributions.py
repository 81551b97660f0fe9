"""How close `inspection.contributions` comes to exact Shapley values. Prints Markdown.

    python tests/benchmarks/contributions.py --data FOLDER

Correlations with exact interventional Shapley values of five features (all 32 subsets, against 30
learned samples), of contributions by path, and by permutations against 20 of these samples. The
synthetic problems have five standard normal features. In a real stream the five features with the
largest importance vary, and all others are those of the sample that is explained. 3 000 rows are
learned, and the next 40 predictions explained, of the most probable label. Means over the seeds.
"""

import functools
import itertools
import math
import random

import numpy as np
import pandas as pd
from streams import add_seeds, available, begin, load, make_parser, print_header, print_row

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.inspection import contributions, feature_importance

PROBLEMS = {
    "additive": lambda a, b, c, d, e: 2.0 * a + b - 1.5 * c,
    "interaction": lambda a, b, c, d, e: a + b * c + d,
    "xor": lambda a, b, c, d, e: math.copysign(1.0, a * b),
}
LABELS = "adult", "elec2", "phishing_websites", "satimage", "bank", "weather"
TARGETS = "House8L", "MetroTraffic", "abalone", "ailerons", "bike", "cpu_activity"
CLASSIFIERS = {
    "AMFClassifier": AMFClassifier,
    "AMFClassifier, learned vote": functools.partial(AMFClassifier, vote="learned"),
    "AdaptiveAMFClassifier": AdaptiveAMFClassifier,
}
REGRESSORS = {"AMFRegressor": AMFRegressor, "AdaptiveAMFRegressor": AdaptiveAMFRegressor}
LEARNED, EXPLAINED, BACKGROUND, SAMPLED = 3_000, 40, 30, 20


def values_of(model, label, rows):
    """Return what contributions to the predictions for some rows sum to."""
    X = pd.DataFrame(rows)
    if label is None:
        return model.predict_many(X).to_numpy()
    proba = model.predict_proba_many(X)
    if model.vote == "learned":
        proba = np.log(proba.clip(lower=np.finfo(float).tiny))
        others = proba.drop(columns=label) if proba.shape[1] == 2 else proba
        proba = proba.sub(others.mean(axis=1), axis=0)
    return proba[label].to_numpy()


def shapley(model, label, x, background, names):
    """Return the Shapley values of some features of x, against the background."""
    subsets = [*itertools.product((False, True), repeat=len(names))]
    rows = [
        row | {name: x.get(name) for name, is_in in zip(names, subset, strict=True) if is_in}
        for subset in subsets
        for row in background
    ]
    means = values_of(model, label, rows).reshape(len(subsets), -1).mean(axis=1)
    values, found = dict(zip(subsets, means, strict=True)), np.zeros(len(names))
    for subset, j in itertools.product(subsets, range(len(names))):
        if not subset[j]:
            weight = 1.0 / (len(names) * math.comb(len(names) - 1, sum(subset)))
            with_j = (*subset[:j], True, *subset[j + 1 :])
            found[j] += weight * (values[with_j] - values[subset])
    return found


def correlations(model, samples, seed):
    """Return the correlations by path and by permutations."""
    for x, y in samples[:LEARNED]:
        model.learn_one(x, y)
    names = feature_importance(model)["impurity"].nlargest(5).index.tolist()
    drawn = random.Random(seed).sample(samples[:LEARNED], BACKGROUND)
    columns = [], [], []
    for x, _ in samples[LEARNED:]:
        label = None if isinstance(model, AMFRegressor) else model.predict_one(x)
        rows = [x | {name: row.get(name) for name in names} for row, _ in drawn]
        columns[0].extend(shapley(model, label, x, rows, names))
        columns[1].extend(contributions(model, x, label)[names])
        by_permutations = contributions(model, x, label, "permutations", rows[:SAMPLED])
        columns[2].extend(by_permutations[names])
    return np.corrcoef(columns)[0, 1:]


def samples_of(name, seed, data, is_regression):
    """Return the samples to learn and to explain."""
    n, task = LEARNED + EXPLAINED, "regression" if is_regression else None
    if name not in PROBLEMS:
        return [*load(name, data, n, task).samples]
    values = np.random.default_rng(seed).normal(size=(n, 6)).tolist()
    targets = [PROBLEMS[name](*row[:5]) + 0.3 * row[5] for row in values]
    labels = targets if is_regression else [y > 0.0 for y in targets]
    rows = [dict(zip("abcde", row, strict=False)) for row in values]
    return [*zip(rows, labels, strict=True)]


def main(argv: list[str] | None = None) -> int:
    parser = make_parser(__doc__, (*PROBLEMS, *LABELS, *TARGETS))
    add_seeds(parser)
    arguments = begin(parser, argv)
    names = [name for name in arguments.streams if name in PROBLEMS]
    names += available([n for n in arguments.streams if n not in PROBLEMS], arguments.data)
    print_header("problem or stream", "model", "path", f"{SAMPLED} permutations")
    for name, (kind, make) in itertools.product(names, (CLASSIFIERS | REGRESSORS).items()):
        found, is_regression = [], kind in REGRESSORS
        if name in (LABELS if is_regression else TARGETS):
            continue
        for seed in arguments.seeds:
            samples = samples_of(name, seed, arguments.data, is_regression)
            found.append(correlations(make(seed=seed), samples, seed))
        print_row((name, kind, *(f"{value:.3f}" for value in np.mean(found, axis=0))))
    return int(not names)


if __name__ == "__main__":
    raise SystemExit(main())
