"""The decision surface of a classifier over two features."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf import frames, paths
from river_amf.classifier import AMFClassifier
from river_amf.explanation import name
from river_amf.forest import river_model
from river_amf.kinds import Number, as_number, is_missing, shown
from river_amf.parameters import flag, integer
from river_amf.plot.canvas import (
    Axes,
    LinearSegmentedColormap,
    add_legend,
    label_colors,
    new_axes,
    to_rgb,
)

Sample = tuple[dict[Any, Any], Hashable]

_NOTHING = "model has not learned any samples yet, so there is nothing to draw"
_MARGIN = 0.05  # around the samples, as a fraction of their range
_STRONGEST = 0.7  # strength of the surface's colors, so that samples of the same color stand out
_POINT: dict[str, Any] = {"s": 14.0, "linewidths": 0.6, "edgecolors": "white", "zorder": 2}


def decision_surface(
    model: Any,
    features: Sequence[Hashable] | None = None,
    samples: Iterable[Sample] = (),
    *,
    trees: int | Iterable[int] | None = None,
    aggregated: bool | None = None,
    fixed: dict[Hashable, Any] | None = None,
    resolution: int = 100,
    ax: Axes | None = None,
) -> Axes:
    """Draw what a classifier predicts over two numeric features.

    Each point has the color of its most probable label, and is paler the less probable that label
    is.

    Parameters
    ----------
    model
        A forest, any other river classifier, including a pipeline, or a fitted estimator of
        `river_amf.sklearn`, whose features are the names of its columns or 0, 1, ...
    features
        The two features for the horizontal and the vertical axis. By default the features of the
        forest or of the samples, of which there must be exactly two.
    samples
        Pairs (features, label) to draw as points. The surface covers their range; without samples
        it covers the range that the forest has seen.
    trees
        Index of one tree of the forest, or several indices, to draw the mean prediction of these
        trees. `None` draws the prediction of the whole forest, with its learned vote if it has one.
    aggregated
        Whether the trees predict with all their prunings (`True`) or only with their leaves
        (`False`). `None` does what the model does.
    fixed
        Dict with values for other features. Features without a value are missing.
    resolution
        Number of points along each axis.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on. `ax.images[0]` is the surface: with two labels, an image of
        shape (resolution, resolution) with the probability of the second label in the legend, fit
        for `ax.figure.colorbar`; otherwise an RGB image of shape (resolution, resolution, 3).

    Raises
    ------
    TypeError
        If `trees` or `aggregated` is given and the model is not a forest, or if `ax` or `trees` has
        the wrong type.
    ValueError
        If the features are not two different numeric features, if `resolution` is not an integer
        >= 2, if another argument is invalid, or if the model has not learned anything yet.
    IndexError
        If there is no tree with a given index.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river import datasets
    >>> from river_amf import AMFClassifier, plot
    >>> model, samples = AMFClassifier(seed=1), list(datasets.Bananas().take(200))
    >>> for x, y in samples:
    ...     model.learn_one(x, y)
    >>> forest, leaves = Figure().subplots(1, 2)
    >>> ax = plot.decision_surface(model, samples=samples, ax=forest)
    >>> ax = plot.decision_surface(model, trees=0, aggregated=False, resolution=50, ax=leaves)
    >>> ax.images[0].get_array().shape
    (50, 50)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['False', 'True']

    """
    integer(2)("resolution", resolution)
    if aggregated is not None:
        flag("aggregated", aggregated)
    samples = list(samples)
    model = river_model(model)
    forest = _forest(model)
    if forest is not None and forest._arena is None:
        raise ValueError(_NOTHING)
    horizontal, vertical = _two_features(model, features, fixed or {}, samples)
    sides = [_grid(model, feature, samples, resolution) for feature in (horizontal, vertical)]
    points = _points(horizontal, vertical, sides, fixed or {})
    if trees is None and aggregated is None:
        labels, proba = _predict(model, points)
    else:
        labels, proba = _predict_by_trees(model, points, trees, aggregated=aggregated)
    if not labels:
        raise ValueError(_NOTHING)
    ax = new_axes(ax, (5.0, 4.2))
    colors = label_colors({*labels, *(y for _, y in samples)})
    known = [label for label in colors if label in labels]
    surface = proba[:, [labels.index(label) for label in known]]
    _draw_surface(ax, sides, surface, [colors[label] for label in known])
    _draw_samples(ax, forest, samples, horizontal, vertical, colors)
    ax.set_xlabel(name(horizontal), parse_math=False)
    ax.set_ylabel(name(vertical), parse_math=False)
    add_legend(ax, colors, loc="best", ncols=-(-len(colors) // 10))
    return ax


def _forest(model: Any) -> AMFClassifier | None:
    """Return the model if it is a forest, otherwise None."""
    # Not isinstance, which is also true of a river pipeline that ends in a forest.
    return model if issubclass(type(model), AMFClassifier) else None


def _two_features(
    model: Any,
    features: Sequence[Hashable] | None,
    fixed: dict[Hashable, Any],
    samples: list[Sample],
) -> list[Hashable]:
    """Return the two features for the axes, or raise ValueError."""
    known: list[Hashable] = list(dict.fromkeys(key for x, _ in samples for key in x))
    forest = _forest(model)
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


def _grid(
    model: Any, feature: Hashable, samples: list[Sample], resolution: int
) -> NDArray[np.float64]:
    """Return the values of a feature for which to predict, or raise ValueError."""
    forest = _forest(model)
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


def _counts_as_missing(forest: AMFClassifier | None, value: Any) -> bool:
    """Whether the value of a numeric feature counts as missing, for this forest if it is one."""
    is_lenient = forest is not None and forest.on_mismatch == "missing"
    return is_missing(value) or (is_lenient and not isinstance(value, Number))


def _points(
    horizontal: Hashable,
    vertical: Hashable,
    sides: list[NDArray[np.float64]],
    fixed: dict[Hashable, Any],
) -> list[dict[Hashable, Any]]:
    """Return the grid points as samples, row by row from the bottom."""
    for feature in (horizontal, vertical):
        if feature in fixed:
            raise ValueError(f"fixed: {shown(feature)} is on an axis and cannot have a fixed value")
    across, up = (side.tolist() for side in sides)
    return [{**fixed, horizontal: a, vertical: b} for b in up for a in across]


def _frame(points: list[dict[Hashable, Any]]) -> pd.DataFrame:
    """Return samples with identical features as a dataframe."""
    names = list(points[0])
    columns = [pd.Series([x[name] for x in points]) for name in names]
    index = pd.Index(np.array([*names, None], object)[:-1], tupleize_cols=False)
    return pd.concat(columns, axis=1).set_axis(index, axis=1)


def _predict(
    model: Any, points: list[dict[Hashable, Any]]
) -> tuple[list[Hashable], NDArray[np.float64]]:
    """Return the labels that a classifier knows, and its probabilities (n_points, n_labels)."""
    forest = _forest(model)
    if forest is not None:
        proba = forest.predict_proba_many(_frame(points)).to_numpy()
        return forest._labels_of(proba), proba
    answers = [model.predict_proba_one(x) for x in points]
    labels = list(dict.fromkeys(label for answer in answers for label in answer))
    return labels, np.array([[answer.get(label, 0.0) for label in labels] for answer in answers])


def _predict_by_trees(
    model: Any,
    points: list[dict[Hashable, Any]],
    trees: int | Iterable[int] | None,
    *,
    aggregated: bool | None,
) -> tuple[list[Hashable], NDArray[np.float64]]:
    """Return the labels and the predictions of the chosen trees, in the form of `_predict`."""
    forest = _forest(model)
    if forest is None:
        raise TypeError(
            "model must be a forest if trees or aggregated is given, "
            f"got {type(model).__name__}; for a pipeline, pass its last step"
        )
    chosen = range(forest.n_estimators) if trees is None else trees
    chosen = chosen if isinstance(chosen, Iterable) else [chosen]
    indices = [paths.check_tree(forest.n_estimators, tree) for tree in chosen]
    if not indices:
        raise ValueError(f"trees must contain at least one index, got {shown(trees)}")
    aggregated = forest.use_aggregation if aggregated is None else bool(aggregated)
    table = frames.read_columns(frames.read_frame(_frame(points)))

    def predict() -> NDArray[np.float64]:
        engine = forest._engine.restricted_to(
            None if trees is None else indices, aggregated=aggregated
        )
        return engine.predict_block(table, len(points), forest.n_jobs)

    proba = forest._read(predict)
    return forest._labels_of(proba), proba


def _draw_surface(
    ax: Axes,
    sides: list[NDArray[np.float64]],
    proba: NDArray[np.float64],
    colors: list[str],
) -> None:
    """Draw probabilities (n_points, n_labels), of the second label if there are two, or colors."""
    # Either way, a color is paler the closer the largest probability is to chance.
    left, right, bottom, top = (
        float(edge + outwards * 0.5 * (side[1] - side[0]))
        for side in sides
        for edge, outwards in ((side[0], -1), (side[-1], 1))
    )
    shape = len(sides[1]), len(sides[0])
    full = 1.0 + _STRONGEST * (np.array([to_rgb(color) for color in colors]) - 1.0)
    style: dict[str, Any] = {}
    if len(colors) == 2:
        picture = proba[:, 1].reshape(shape)
        scale = LinearSegmentedColormap.from_list("labels", [full[0], (1.0, 1.0, 1.0), full[1]])
        style = {"cmap": scale, "vmin": 0.0, "vmax": 1.0}
    else:
        chance = 1.0 / len(colors) if len(colors) > 1 else 0.0
        certainty = (proba.max(axis=1) - chance) / (1.0 - chance)
        picture = 1.0 + certainty[:, None] * (full[proba.argmax(axis=1)] - 1.0)
        picture = picture.reshape(*shape, 3).clip(0.0, 1.0)
    ax.imshow(
        picture,
        origin="lower",
        extent=(left, right, bottom, top),
        aspect="auto",
        interpolation="nearest",
        **style,
    )


def _draw_samples(
    ax: Axes,
    forest: AMFClassifier | None,
    samples: list[Sample],
    horizontal: Hashable,
    vertical: Hashable,
    colors: dict[Hashable, str],
) -> None:
    """Draw the samples that have both features, in the colors of their labels."""
    points = [
        (float(x[horizontal]), float(x[vertical]), colors[y])
        for x, y in samples
        if not any(_counts_as_missing(forest, x.get(axis)) for axis in (horizontal, vertical))
    ]
    if points:
        across, up, color = zip(*points, strict=True)
        ax.scatter(across, up, c=color, **_POINT)
