"""The points for which surfaces over two features show what a model predicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf import paths
from river_amf.forest import Forest
from river_amf.kinds import Number, as_number, is_missing, shown
from river_amf.plot.canvas import Axes
from river_amf.wording import name

Sample = tuple[dict[Any, Any], Any]

NOTHING = "model has not learned any samples yet, so there is nothing to draw"
POINT: dict[str, Any] = {"s": 14.0, "linewidths": 0.6, "edgecolors": "white", "zorder": 2}
_MARGIN = 0.05  # around the samples, as a fraction of their range


class Grid(NamedTuple):
    """Points on a grid over two features, row by row from the bottom."""

    features: tuple[Hashable, Hashable]  # of the horizontal and the vertical axis
    sides: tuple[NDArray[np.float64], NDArray[np.float64]]  # their values
    points: list[dict[Hashable, Any]]  # with the values of other features

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.sides[1]), len(self.sides[0])

    def frame(self) -> pd.DataFrame:
        """Return the points as a dataframe."""
        names = list(self.points[0])
        columns = [pd.Series([x[name] for x in self.points]) for name in names]
        index = pd.Index(np.array([*names, None], object)[:-1], tupleize_cols=False)
        return pd.concat(columns, axis=1).set_axis(index, axis=1)

    def draw(self, ax: Axes, picture: NDArray[np.float64], **style: Any) -> Any:
        """Draw a picture with a pixel for each point, name the axes, and return the image."""
        left, right, bottom, top = (
            float(edge + outwards * 0.5 * (side[1] - side[0]))
            for side in self.sides
            for edge, outwards in ((side[0], -1), (side[-1], 1))
        )
        extent = left, right, bottom, top
        horizontal, vertical = self.features
        ax.set_xlabel(name(horizontal), parse_math=False)
        ax.set_ylabel(name(vertical), parse_math=False)
        return ax.imshow(
            picture, origin="lower", extent=extent, aspect="auto", interpolation="nearest", **style
        )

    def located(self, model: Any, samples: list[Sample]) -> list[tuple[float, float, Any]]:
        """Return the places and the targets of the samples that have both features."""
        forest = as_forest(model)
        return [
            (float(x[self.features[0]]), float(x[self.features[1]]), y)
            for x, y in samples
            if not any(_counts_as_missing(forest, x.get(axis)) for axis in self.features)
        ]


def make_grid(
    model: Any,
    features: Sequence[Hashable] | None,
    samples: list[Sample],
    fixed: dict[Hashable, Any],
    resolution: int,
) -> Grid:
    """Return the points over two features, or raise ValueError."""
    horizontal, vertical = _two_features(model, features, fixed, samples)
    sides = (
        _values(model, horizontal, samples, resolution),
        _values(model, vertical, samples, resolution),
    )
    for feature in (horizontal, vertical):
        if feature in fixed:
            raise ValueError(f"fixed: {shown(feature)} is on an axis and cannot have a fixed value")
    across, up = (side.tolist() for side in sides)
    points = [{**fixed, horizontal: a, vertical: b} for b in up for a in across]
    return Grid((horizontal, vertical), sides, points)


class Part(NamedTuple):
    """The trees of a forest that a surface is to show, and how they are to predict."""

    trees: list[int] | None  # None: all, with their learned vote
    aggregated: bool


def part_of(model: Any, trees: int | Iterable[int] | None, *, aggregated: bool | None) -> Part:
    """Return the chosen trees of a forest, or raise."""
    forest = as_forest(model)
    if forest is None:
        raise TypeError(
            "model must be a forest if trees or aggregated is given, "
            f"got {type(model).__name__}; for a pipeline, pass its last step"
        )
    aggregated = forest.use_aggregation if aggregated is None else bool(aggregated)
    if trees is None:
        return Part(None, aggregated)
    chosen = trees if isinstance(trees, Iterable) else [trees]
    indices = [paths.check_tree(forest.n_estimators, tree) for tree in chosen]
    if not indices:
        raise ValueError(f"trees must contain at least one index, got {shown(trees)}")
    return Part(indices, aggregated)


def as_forest(model: Any) -> Forest | None:
    """Return the model if it is a forest, otherwise None."""
    # Not isinstance, which is also true of a river pipeline that ends in a forest.
    return model if issubclass(type(model), Forest) else None


def check_has_learned(model: Any) -> None:
    """Raise ValueError if the model is a forest that has not learned anything."""
    forest = as_forest(model)
    if forest is not None and forest._arena is None:
        raise ValueError(NOTHING)


def _two_features(
    model: Any,
    features: Sequence[Hashable] | None,
    fixed: dict[Hashable, Any],
    samples: list[Sample],
) -> list[Hashable]:
    """Return the two features for the axes, or raise ValueError."""
    known: list[Hashable] = list(dict.fromkeys(key for x, _ in samples for key in x))
    forest = as_forest(model)
    if forest is not None and len(forest._features):
        known = list(forest._features)
    chosen = known if features is None else list(features)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        way_out = "choose two of them" if len(chosen) > 2 else "name them, and pass samples"
        raise ValueError(
            f"features must be two different names, got {shown(chosen)}; {way_out}: "
            "features=('a', 'b')"
        )
    for feature in chosen:
        if known and feature not in known:
            raise ValueError(f"features: {shown(feature)} is not one of {shown(known)}")
    for feature in fixed if forest is not None else ():
        if feature not in known:
            raise ValueError(f"fixed: {shown(feature)} is not one of {shown(known)}")
    return chosen


def _values(
    model: Any, feature: Hashable, samples: list[Sample], resolution: int
) -> NDArray[np.float64]:
    """Return the values of a feature for which to predict, or raise ValueError."""
    forest = as_forest(model)
    values = [x[feature] for x, _ in samples if not _counts_as_missing(forest, x.get(feature))]
    is_categorical = forest is not None and forest._features.categories(feature) is not None
    if is_categorical or not all(isinstance(value, Number) for value in values):
        raise ValueError(f"feature {shown(feature)} is categorical; it must be numeric")
    if not values and forest is not None and forest._arena is not None:
        values = forest._arena.ranges[:, forest._features.column(feature)].tolist()
    if not values:
        raise ValueError(f"feature {shown(feature)} has no known values; pass samples")
    numbers = [as_number(feature, value) for value in values]
    low, high = min(numbers), max(numbers)
    margin = _MARGIN * (high - low) if high > low else 0.5
    return np.linspace(low - margin, high + margin, int(resolution))


def _counts_as_missing(forest: Forest | None, value: Any) -> bool:
    """Whether the value of a numeric feature counts as missing, for this forest if it is one."""
    is_lenient = forest is not None and forest.on_mismatch == "missing"
    return is_missing(value) or (is_lenient and not isinstance(value, Number))
