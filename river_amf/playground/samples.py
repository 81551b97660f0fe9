"""The samples of a playground: two numbers and a label each, and what a drift makes of them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf.encoding import column_order
from river_amf.evaluation.errors import EvaluationError, suggest
from river_amf.evaluation.files import STANDARD_INPUT
from river_amf.evaluation.sources import read_source
from river_amf.evaluation.tasks import CLASSIFICATION
from river_amf.evaluation.tracks import BUNDLED, STREAMS, open_dataset
from river_amf.kinds import Number, as_number, is_missing, shown
from river_amf.pages.playground import MOST_LABELS
from river_amf.toys import TOYS

LEAST_SAMPLES, MOST_SAMPLES = 20, 3000  # of more, pages would be large and slow
NO_DRIFT, SWAP, TURN = "none", "swap", "turn"

_ROUND = {"circles"}  # which look the same however they are turned
_MARGIN = 0.05  # around the samples, as a fraction of their range


class Samples(NamedTuple):
    """Samples in the order of the stream."""

    title: str
    features: tuple[Hashable, Hashable]  # of the horizontal and the vertical axis
    labels: list[Any]
    points: NDArray[np.float64]  # (n_samples, 2)
    codes: NDArray[np.int64]  # (n_samples,), indices into the labels

    @property
    def middle(self) -> int:
        """The number of samples before a drift."""
        return len(self.codes) // 2

    @property
    def view(self) -> NDArray[np.float64]:
        """The part of the plane that is drawn: left, right, bottom, top."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        margin = np.where(high > low, _MARGIN * (high - low), 0.5)
        return np.column_stack([low - margin, high + margin]).ravel()

    def drifts(self) -> list[str]:
        """Return the drifts that change anything, none first."""
        return [NO_DRIFT, SWAP] if self.title in _ROUND else [NO_DRIFT, SWAP, TURN]

    def after(self, drift: str) -> Samples:
        """Return the samples with a drift in the middle.

        With `SWAP` each label takes the place of the next one. With `TURN` the picture makes a
        quarter turn about the middle of its view.
        """
        points, codes = self.points.copy(), self.codes.copy()
        late = slice(self.middle, None)
        if drift == SWAP:
            codes[late] = (codes[late] + 1) % len(self.labels)
        elif drift == TURN:
            low, high = self.view.reshape(2, 2).T
            center, half = 0.5 * (low + high), 0.5 * (high - low)
            across, up = ((points[late] - center) / half).T
            points[late] = center + half * np.column_stack([-up, across])
        return self._replace(points=points, codes=codes)

    def rows(self) -> Iterator[tuple[dict[Hashable, float], Any]]:
        """Yield the samples as pairs (features, label)."""
        horizontal, vertical = self.features
        for (across, up), code in zip(self.points.tolist(), self.codes.tolist(), strict=True):
            yield {horizontal: across, vertical: up}, self.labels[code]


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
    check_name(source)
    read = read_source(source, n_samples, CLASSIFICATION)
    pairs = list(read.samples)
    chosen = _two_features(pairs, features, read.name)
    rows = [
        (_numbers(x, chosen), y)
        for x, y in pairs
        if not any(is_missing(value) for value in (y, *map(x.get, chosen)))
    ]
    if len(rows) < LEAST_SAMPLES:
        raise EvaluationError(
            f"a playground needs at least {LEAST_SAMPLES} samples with both features and a label, "
            f"{read.name} has {len(rows)}"
        )
    labels = _in_order(y for _, y in rows)
    if not 2 <= len(labels) <= MOST_LABELS:
        raise EvaluationError(
            f"a playground needs 2 to {MOST_LABELS} labels, {read.name} has {len(labels)} in its "
            f"first {len(rows)} samples"
        )
    places = {label: code for code, label in enumerate(labels)}
    points = np.array([point for point, _ in rows])
    samples = Samples(read.name, chosen, labels, points, np.array([places[y] for _, y in rows]))
    with np.errstate(over="ignore"):
        ends = samples.view.reshape(2, 2)
    for feature, own in zip(chosen, ends, strict=True):
        if not np.isfinite(own).all():
            raise EvaluationError(f"the range of feature {shown(feature)} is too large to draw")
    return samples


def check_name(source: Any) -> None:
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


def _two_features(
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


def _numbers(x: dict[Hashable, Any], features: tuple[Hashable, Hashable]) -> list[float]:
    """Return the values of both features, or raise if one is not a number."""
    for feature in features:
        if not isinstance(x[feature], Number):
            raise EvaluationError(
                f"feature {shown(feature)} must be numeric, but has the value {shown(x[feature])}"
            )
    return [as_number(feature, x[feature]) for feature in features]


def _in_order(labels: Iterable[Hashable]) -> list[Any]:
    """Return distinct labels in ascending order."""
    distinct = set(labels)
    try:
        return sorted(distinct)
    except TypeError:  # labels of several types
        return sorted(distinct, key=column_order)
