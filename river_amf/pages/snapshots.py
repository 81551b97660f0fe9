"""The samples of a playground, and what is seen of forests that learn them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.classifier import AdaptiveAMFClassifier, AMFClassifier
from river_amf.inspection.importance import feature_index
from river_amf.pages.cells import cells_of, mass_by_depth

MOST_LABELS = 6  # for each of which there is a color that is seen on light and dark
NO_DRIFT, SWAP, TURN = "none", "swap", "turn"
PLAIN, ADAPTIVE = "plain", "adaptive"
WITH, WITHOUT = "with", "without"
N_TREES = (10, 1)
WINDOW = 100  # samples whose predictions make up the accuracy

_CLASSES = {PLAIN: AMFClassifier, ADAPTIVE: AdaptiveAMFClassifier}
_ROUND = {"circles"}  # which look the same however they are turned
_MARGIN = 0.05  # around the samples, as a fraction of their range
_SPREAD = 0.2  # of the distance of two whole numbers
_MOST_NAMED = 10  # of rows that are left out
_TREE = 0  # the one whose cells are drawn; as its index is even, it never starts afresh

Row = tuple[dict[Hashable, float], Any]


class Snapshot(NamedTuple):
    """A view of a forest after some samples."""

    surface: NDArray[np.float32]  # (height, width, n_labels), probabilities from the bottom row up
    boxes: NDArray[np.float64]  # (n_leaves, 4), the cells of a tree: left, right, bottom, top
    proba: NDArray[np.float32]  # (n_leaves, n_labels), what the tree predicts there
    mass: NDArray[np.float64]  # (n_levels,), share of the trees' predictions by depth
    accuracy: float  # of the predictions for the last samples
    n_nodes: int  # of all trees


class VariantRun(NamedTuple):
    """A forest along its samples, with points as they are drawn."""

    points: NDArray[np.float64]  # (n_samples, 2)
    codes: NDArray[np.int64]  # (n_samples,), indices into the labels
    start: int  # the number of samples before the drift, 0 without one
    snapshots: Sequence[Snapshot]  # one for each step


class Samples(NamedTuple):
    """Samples in the order of the stream."""

    title: str
    features: tuple[Hashable, Hashable]  # of the horizontal and the vertical axis
    labels: list[Any]
    points: NDArray[np.float64]  # (n_samples, 2)
    codes: NDArray[np.int64]  # (n_samples,), indices into the labels
    left_out: Sequence[int] = ()  # rows that lack a feature or a label, from 1

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

    def spread(self) -> Samples:
        """Return the samples as they are drawn: whole numbers jittered, as many would coincide."""
        jitter = np.random.default_rng(0).uniform(-_SPREAD, _SPREAD, self.points.shape)
        return self._replace(points=self.points + self.is_whole * jitter)

    @property
    def is_whole(self) -> NDArray[np.bool_]:
        """Whether each of the two features has whole numbers alone."""
        whole: NDArray[np.bool_] = (self.points == np.rint(self.points)).all(axis=0)
        return whole

    @property
    def remark(self) -> str:
        """Which rows are left out, in a sentence, or nothing."""
        n, listed = len(self.left_out), [*map(str, self.left_out[:_MOST_NAMED])]
        if n == 0:
            return ""
        more = f" and {n - _MOST_NAMED:,} more" if n > _MOST_NAMED else ""
        rows = "Row" if n == 1 else "Rows"
        return f"{rows} {', '.join(listed)}{more} left out: a feature or the label is missing."

    def drifts(self) -> list[str]:
        """Return the drifts that change anything, none first."""
        return [NO_DRIFT, SWAP] if self.title in _ROUND else [NO_DRIFT, SWAP, TURN]

    def after(self, drift: str) -> Samples:
        """Return the samples after labels move on (`SWAP`) or the view turns (`TURN`) halfway."""
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


class Variant(NamedTuple):
    """A forest and its stream; each field is a switch of the page."""

    kind: str
    n_trees: int
    aggregation: str
    drift: str


def _learn(
    forest: AMFClassifier,
    samples: Samples,
    rows: Sequence[Row],
    steps: Sequence[int],
    was_right: list[bool],
    resolution: int,
) -> Iterator[Snapshot]:
    """Predict each row and then learn it; yield a snapshot at each number of samples."""
    for x, y in rows:
        was_right.append(forest.predict_one(x) == y)
        forest.learn_one(x, y)
        if len(was_right) in steps:
            yield _snapshot(forest, samples, was_right, resolution)


def _snapshot(
    forest: AMFClassifier, samples: Samples, was_right: list[bool], resolution: int
) -> Snapshot:
    """Return what is seen now; labels are in the order of the samples'."""
    places = [samples.labels.index(label) for label in forest._labels]
    boxes, leaves = cells_of(forest, _TREE, samples.features, samples.view)
    answers = forest._without_trace("predict_proba_many", _grid(samples, resolution)).to_numpy()
    proba = np.zeros((len(leaves), len(samples.labels)), np.float32)
    surface = np.zeros((len(answers), len(samples.labels)), np.float32)
    proba[:, places], surface[:, places] = leaves, answers
    return Snapshot(
        surface=surface.reshape(resolution, resolution, -1),
        boxes=boxes,
        proba=proba,
        mass=mass_by_depth(forest),
        accuracy=float(np.mean(was_right[-WINDOW:])),
        n_nodes=forest.n_nodes,
    )


def _grid(samples: Samples, resolution: int) -> pd.DataFrame:
    """Return the places for which forests predict, row by row from the bottom."""
    left, right, bottom, top = samples.view
    ends = (left, right, resolution), (bottom, top, resolution)
    sides = np.meshgrid(*(np.linspace(*end) for end in ends))
    columns = feature_index(samples.features)
    return pd.DataFrame(np.column_stack([side.ravel() for side in sides]), columns=columns)


def steps_of(n_samples: int, middle: int, n_steps: int) -> list[int]:
    """Return the numbers of samples for snapshots, close together where much changes.

    >>> steps_of(100, 50, 10)
    [2, 8, 18, 32, 50, 52, 58, 68, 82, 100]
    """
    last = n_steps // 2
    early, late = (
        {-(-length * k * k // last**2) for k in range(1, last + 1)}  # rounded up
        for length in (middle, n_samples - middle)
    )
    return sorted(early | {middle + n for n in late})


def run_all(
    samples: Samples, n_steps: int, resolution: int, seed: int | None
) -> tuple[list[int], dict[Variant, VariantRun]]:
    """Return the steps, and what each variant of the forest has learned at each of them."""
    middle, drawn = samples.middle, samples.spread()
    low, high = samples.view.reshape(2, 2).T
    steps = steps_of(len(samples.codes), middle, n_steps)
    runs = {}
    for kind, n_trees, aggregation in itertools.product(_CLASSES, N_TREES, (WITH, WITHOUT)):
        forest = _CLASSES[kind](n_trees, use_aggregation=aggregation == WITH, seed=seed)
        hits: list[bool] = []
        first = [*samples.rows()][:middle]
        early = [*_learn(forest, samples, first, steps, hits, resolution)]
        for drift in samples.drifts():  # all of them go on from what was learned before
            drifted = samples.after(drift)
            last = [*drifted.rows()][middle:]
            late = _learn(copy.deepcopy(forest), samples, last, steps, [*hits], resolution)
            runs[Variant(kind, n_trees, aggregation, drift)] = VariantRun(
                drawn.after(drift).points.clip(low, high),
                drifted.codes,
                middle if drift != NO_DRIFT else 0,
                [*early, *late],
            )
    return steps, runs
