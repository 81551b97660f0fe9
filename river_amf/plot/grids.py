"""The points for which surfaces over two features show what a model predicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base

from river_amf.explain import paths
from river_amf.explain.formatting import name
from river_amf.explain.trees import river_model
from river_amf.forest import Forest
from river_amf.inputs.kinds import Number, as_number, is_missing, shown
from river_amf.inspection.importance import feature_index
from river_amf.parameters import flag, integer
from river_amf.plot.axes import Axes

Sample = tuple[dict[Any, Any], Any]

NOTHING = "model has not learned any samples yet, so there is nothing to draw"
_OTHERS: dict[str, tuple[type, str]] = {
    "classifier": (base.Regressor, "regression_surface draws regressors"),
    "regressor": (base.Classifier, "decision_surface draws classifiers"),
}
_MARGIN = 0.05  # around the samples, as a fraction of their range


class Grid(NamedTuple):
    """Points on a grid over two features, row by row from the bottom, and how to predict there."""

    model: Any
    samples: list[Sample]
    trees: list[int] | None  # None: all, with their learned vote
    aggregated: bool | None  # None: the model predicts as always
    features: tuple[Hashable, Hashable]  # of the horizontal and the vertical axis
    sides: tuple[NDArray[np.float64], NDArray[np.float64]]  # their values
    points: list[dict[Hashable, Any]]  # with the values of other features

    def frame(self) -> pd.DataFrame:
        """Return the points as a dataframe."""
        names = list(self.points[0])
        columns = [pd.Series([x[name] for x in self.points]) for name in names]
        return pd.concat(columns, axis=1).set_axis(feature_index(names), axis=1)

    def draw(self, ax: Axes, picture: NDArray[np.float64], **style: Any) -> Any:
        """Draw numbers or colors of the points as pixels, name the axes, and return the image."""
        across, up = self.sides
        picture = picture.reshape(len(up), len(across), *picture.shape[1:])
        halves = [0.5 * (side[1] - side[0]) for side in self.sides]  # of a pixel
        edges = [(s[0] - half, s[-1] + half) for s, half in zip(self.sides, halves, strict=True)]
        extent = tuple(np.ravel(edges).tolist())
        horizontal, vertical = self.features
        ax.set_xlabel(name(horizontal), parse_math=False)
        ax.set_ylabel(name(vertical), parse_math=False)
        return ax.imshow(
            picture, origin="lower", extent=extent, aspect="auto", interpolation="nearest", **style
        )

    def located(self) -> list[tuple[float, float, Any]]:
        """Return the places and the targets of the samples that have both features."""
        forest = as_forest(self.model)
        return [
            (float(x[self.features[0]]), float(x[self.features[1]]), y)
            for x, y in self.samples
            if not any(_counts_as_missing(forest, x.get(axis)) for axis in self.features)
        ]

    def draw_samples(self, ax: Axes, colors: Any) -> None:
        """Draw the located samples as points in these colors."""
        places = [place for *place, _ in self.located()]
        if places:
            across, up = zip(*places, strict=True)
            ax.scatter(across, up, c=colors, s=14.0, linewidths=0.6, edgecolors="white", zorder=2)


def make_grid(
    kind: str,
    model: Any,
    features: Sequence[Hashable] | None,
    samples: Iterable[Sample],
    trees: int | Iterable[int] | None,
    aggregated: bool | None,
    fixed: dict[Hashable, Any] | None,
    resolution: int,
) -> Grid:
    """Return the points over two features for a classifier or a regressor, or raise."""
    integer(2)("resolution", resolution)
    if aggregated is not None:
        flag("aggregated", aggregated)
    samples = list(samples)
    _check_order(features, samples)
    fixed, model = fixed or {}, river_model(model)
    other, hint = _OTHERS[kind]
    if isinstance(model, other):
        raise TypeError(f"model must be a {kind}, got {type(model).__name__}; {hint}")
    forest = as_forest(model)
    if forest is not None and forest._arena is None:
        raise ValueError(NOTHING)
    horizontal, vertical = _axis_features(forest, features, fixed, samples)
    across, up = (_values(forest, each, samples, resolution) for each in (horizontal, vertical))
    for feature in (horizontal, vertical):
        if feature in fixed:
            raise ValueError(f"fixed: {shown(feature)} is on an axis and cannot have a fixed value")
    points = [{**fixed, horizontal: a, vertical: b} for b in up.tolist() for a in across.tolist()]
    chosen = _chosen_trees(model, trees, aggregated)
    return Grid(model, samples, *chosen, (horizontal, vertical), (across, up), points)


def _check_order(features: Sequence[Hashable] | None, samples: list[Sample]) -> None:
    """Raise TypeError for a table in the place of features, or targets in that of samples."""
    try:
        hash((*(() if features is None else features),))  # a row of an array is no name
        is_right = not hasattr(features, "columns") and all(hasattr(x, "get") for x, _ in samples)
    except (TypeError, ValueError):
        is_right = False
    if not is_right:
        raise TypeError(
            "features must be two names, and samples pairs of a dict and a target; for X and y pass"
            " samples=zip(X.to_dict('records'), y), or of arrays"
            " samples=zip(map(dict, map(enumerate, X)), y)"
        )


def as_forest(model: Any) -> Forest | None:
    """Return the model if it is a forest, otherwise None."""
    # Not isinstance, which is also true of a river pipeline that ends in a forest.
    return model if issubclass(type(model), Forest) else None


def _chosen_trees(
    model: Any, trees: int | Iterable[int] | None, aggregated: bool | None
) -> tuple[list[int] | None, bool | None]:
    """Return the chosen trees of a forest and whether they are aggregated, or raise."""
    if trees is None and aggregated is None:
        return None, None
    forest = as_forest(model)
    if forest is None:
        raise TypeError(
            "model must be a forest if trees or aggregated is given, "
            f"got {type(model).__name__}; for a pipeline, pass its last step"
        )
    aggregated = forest.use_aggregation if aggregated is None else bool(aggregated)
    if trees is None:
        return None, aggregated
    chosen = trees if isinstance(trees, Iterable) else [trees]
    indices = [paths.check_tree(forest.n_estimators, tree) for tree in chosen]
    if not indices:
        raise ValueError(f"trees must contain at least one index, got {shown(trees)}")
    return indices, aggregated


def _axis_features(
    forest: Forest | None,
    features: Sequence[Hashable] | None,
    fixed: dict[Hashable, Any],
    samples: list[Sample],
) -> list[Hashable]:
    """Return the two features for the axes, or raise TypeError or ValueError."""
    known: list[Hashable] = list(dict.fromkeys(key for x, _ in samples for key in x))
    if forest is not None and len(forest._features):
        known = list(forest._features)
    chosen = known if features is None else list(features)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        way_out = "choose two of them" if len(chosen) > 2 else "name them, and pass samples"
        raise ValueError(
            f"features must be two different names, got {shown(chosen)}; {way_out}: "
            "features=('a', 'b')"
        )
    for parameter, names in (("features", chosen), ("fixed", fixed if forest is not None else ())):
        for feature in names:
            if known and feature not in known:
                raise ValueError(f"{parameter}: {shown(feature)} is not one of {shown(known)}")
    return chosen


def _values(
    forest: Forest | None, feature: Hashable, samples: list[Sample], resolution: int
) -> NDArray[np.float64]:
    """Return the values of a feature for which to predict, or raise ValueError."""
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
