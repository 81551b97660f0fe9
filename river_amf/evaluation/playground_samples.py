"""Forests that learn two features of any stream, step by step, as a page with a slider."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from river_amf.evaluation.files import STANDARD_INPUT
from river_amf.evaluation.sources import read_source
from river_amf.evaluation.tasks import CLASSIFICATION
from river_amf.evaluation.tracks import BUNDLED, STREAMS, open_dataset
from river_amf.evaluation.usage_errors import EvaluationError, suggest
from river_amf.inputs.encoding import ascending
from river_amf.inputs.kinds import Number, as_number, is_missing, shown
from river_amf.pages.playground import Playground
from river_amf.pages.snapshots import MOST_LABELS, Samples, run_all
from river_amf.pages.toys import TOYS
from river_amf.parameters import integer

LEAST_SAMPLES, MOST_SAMPLES = 20, 3000  # of more, pages would be large and slow
_MOST_STEPS, _MOST_POINTS = 100, 100


def playground(
    samples: Any = "moons",
    *,
    n_samples: int = 1000,
    features: Sequence[Hashable] | None = None,
    n_steps: int = 50,
    resolution: int = 60,
    seed: int | None = None,
) -> Playground:
    """Let forests learn two features, and return a page on which a slider steps through it.

    For each step, the page shows what the forest predicts over both features, the cells of one
    tree, which depth of the trees answers, and the accuracy so far. Switches choose the forest, one
    tree or ten, with or without aggregation, and a drift in the middle. Its method `save` writes
    it. ValueError unless there are two numeric features, 20 samples or more and two to six labels.

    Parameters
    ----------
    samples
        A toy: `"moons"`, `"circles"`, `"blobs"`, `"linear"` or `"spiral"`. Or whatever
        `evaluation.compare` takes.
    n_samples
        Number of samples, from 20 to 3000; of a longer stream, the first ones are taken.
    features
        Names of the features for the horizontal and the vertical axis, for streams that have more
        than two. Rows that lack one of them, or their label, are left out, and the page says so.
    n_steps
        Number of positions of the slider, from 2 to 100. They are closer together at first and
        after a drift.
    resolution
        Number of points along each axis for which the forest predicts, from 2 to 100.
    seed
        Seed for reproducible samples and forests.

    Examples
    --------
    >>> from river_amf import plot
    >>> bananas = plot.playground("Bananas", n_samples=60, n_steps=4, resolution=8, seed=1)
    >>> bananas.samples.features, bananas.samples.labels
    (('1', '2'), [False, True])
    >>> len(bananas.runs)  # two forests, one tree or ten, with aggregation or not, three streams
    24
    """
    integer(LEAST_SAMPLES, MOST_SAMPLES)("n_samples", n_samples)
    integer(2, _MOST_STEPS)("n_steps", n_steps)
    integer(2, _MOST_POINTS)("resolution", resolution)
    integer(0, optional=True)("seed", seed)
    read = read_samples(samples, int(n_samples), features, seed)
    steps, runs = run_all(read, int(n_steps), int(resolution), seed)
    return Playground(read, steps, runs)


def read_samples(
    source: Any,
    n_samples: int,
    features: Sequence[Hashable] | None = None,
    seed: int | None = None,
) -> Samples:
    """Return the samples of a toy, or the first ones of anything that is accepted as a stream."""
    if isinstance(source, str) and source.lower() in TOYS:
        name = source.lower()
        if features is not None:
            raise EvaluationError(f"features can only be chosen for a stream, not for {name}")
        points, codes = TOYS[name](n_samples, seed=seed)
        labels = [chr(ord("A") + code) for code in range(int(codes.max()) + 1)]
        return Samples(name, ("x", "y"), labels, points, codes)
    check_source_name(source)
    read = read_source(source, n_samples, CLASSIFICATION)
    pairs = list(read.samples)
    chosen = _chosen_features(pairs, features, read.name)
    left_out = [
        number
        for number, (x, y) in enumerate(pairs, 1)
        if any(is_missing(value) for value in (y, *map(x.get, chosen)))
    ]
    gone = {*left_out}
    rows = [(_point(x, chosen), y) for n, (x, y) in enumerate(pairs, 1) if n not in gone]
    if len(rows) < LEAST_SAMPLES:
        raise EvaluationError(
            f"a playground needs at least {LEAST_SAMPLES} samples with both features and a label, "
            f"{read.name} has {len(rows)}"
        )
    labels = ascending({y for _, y in rows})
    if not 2 <= len(labels) <= MOST_LABELS:
        raise EvaluationError(
            f"a playground needs 2 to {MOST_LABELS} labels, {read.name} has {len(labels)} in its "
            f"first {len(rows)} samples"
        )
    places = {label: code for code, label in enumerate(labels)}
    points = np.array([point for point, _ in rows])
    codes = np.array([places[y] for _, y in rows])
    samples = Samples(read.name, chosen, labels, points, codes, left_out)
    with np.errstate(over="ignore"):
        ends = samples.view.reshape(2, 2)
    for feature, own in zip(chosen, ends, strict=True):
        if not np.isfinite(own).all():
            raise EvaluationError(f"the range of feature {shown(feature)} is too large to draw")
    return samples


def check_source_name(source: Any) -> None:
    """Raise for a name that is neither that of a toy, nor of a stream, nor of a file."""
    is_there = (
        not isinstance(source, str)
        or source == STANDARD_INPUT
        or source.lower() in TOYS
        or open_dataset(source) is not None
        or os.path.exists(source)
    )
    if not is_there:
        hint = suggest(source, (*TOYS, *BUNDLED, *STREAMS))
        raise EvaluationError(f"no toy, stream or file {source!r} ({hint})")


def _chosen_features(
    pairs: Iterable[tuple[Any, Any]], features: Sequence[Hashable] | None, name: str
) -> tuple[Hashable, Hashable]:
    """Return the two features for the axes, or raise."""
    known = list(dict.fromkeys(feature for x, _ in pairs for feature in x))
    if features is None:
        if len(known) < 2:
            raise EvaluationError(f"a playground needs two features, {name} has {shown(known)}")
        if len(known) > 2:
            raise EvaluationError(
                f"{name} has {len(known)} features; choose two of {shown(known)}:"
                " features=('a', 'b') (--features a,b)"
            )
        features = known
    chosen = tuple(features)
    for feature in chosen:
        if feature not in known:
            raise EvaluationError(f"features: {shown(feature)} is not one of {shown(known)}")
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise EvaluationError(f"features must be two different names, got {shown(chosen)}")
    return chosen


def _point(x: dict[Hashable, Any], features: tuple[Hashable, Hashable]) -> list[float]:
    """Return the values of both features, or raise if one is not a number."""
    for feature in features:
        if not isinstance(x[feature], Number):
            raise EvaluationError(
                f"feature {shown(feature)} must be numeric, but has the value {shown(x[feature])}"
            )
    return [as_number(feature, x[feature]) for feature in features]
