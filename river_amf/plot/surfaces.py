"""The decision surface of a classifier over two features."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from river_amf import frames
from river_amf.forest import river_model
from river_amf.parameters import flag, integer
from river_amf.plot.canvas import (
    Axes,
    LinearSegmentedColormap,
    add_legend,
    label_colors,
    new_axes,
    to_rgb,
)
from river_amf.plot.grids import (
    NOTHING,
    POINT,
    Grid,
    Part,
    Sample,
    as_forest,
    check_has_learned,
    make_grid,
    part_of,
)

_STRONGEST = 0.7  # strength of the surface's colors, so that samples of the same color stand out


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
        If the model is a regressor, if `trees` or `aggregated` is given and it is not a forest, or
        if `ax` or `trees` has the wrong type.
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
    if isinstance(model, base.Regressor):
        raise TypeError(
            f"model must be a classifier, got {type(model).__name__}; regression_surface draws"
            " regressors"
        )
    check_has_learned(model)
    grid = make_grid(model, features, samples, fixed or {}, resolution)
    if trees is None and aggregated is None:
        labels, proba = _predict(model, grid)
    else:
        labels, proba = _predict_by_part(model, grid, part_of(model, trees, aggregated=aggregated))
    if not labels:
        raise ValueError(NOTHING)
    ax = new_axes(ax, (5.0, 4.2))
    colors = label_colors({*labels, *(y for _, y in samples)})
    known = [label for label in colors if label in labels]
    surface = proba[:, [labels.index(label) for label in known]]
    _draw_surface(ax, grid, surface, [colors[label] for label in known])
    points = grid.located(model, samples)
    if points:
        across, up, targets = zip(*points, strict=True)
        ax.scatter(across, up, c=[colors[y] for y in targets], **POINT)
    add_legend(ax, colors, loc="best", ncols=-(-len(colors) // 10))
    return ax


def _predict(model: Any, grid: Grid) -> tuple[list[Hashable], NDArray[np.float64]]:
    """Return the labels that a classifier knows, and its probabilities (n_points, n_labels)."""
    if as_forest(model) is not None:
        proba = model.predict_proba_many(grid.frame()).to_numpy()
        return model._labels_of(proba), proba
    answers = [model.predict_proba_one(x) for x in grid.points]
    labels = list(dict.fromkeys(label for answer in answers for label in answer))
    return labels, np.array([[answer.get(label, 0.0) for label in labels] for answer in answers])


def _predict_by_part(
    forest: Any, grid: Grid, part: Part
) -> tuple[list[Hashable], NDArray[np.float64]]:
    """Return the labels and the predictions of some trees, in the form of `_predict`."""
    table = frames.read_columns(frames.read_frame(grid.frame()))

    def predict() -> NDArray[np.float64]:
        engine = forest._engine.restricted_to(part.trees, aggregated=part.aggregated)
        answers: NDArray[np.float64] = engine.predict_block(table, len(grid.points), forest.n_jobs)
        return answers

    proba = forest._read(predict)
    return forest._labels_of(proba), proba


def _draw_surface(ax: Axes, grid: Grid, proba: NDArray[np.float64], colors: list[str]) -> None:
    """Draw probabilities (n_points, n_labels), of the second label if there are two, or colors."""
    # Either way, a color is paler the closer the largest probability is to chance.
    full = 1.0 + _STRONGEST * (np.array([to_rgb(color) for color in colors]) - 1.0)
    if len(colors) == 2:
        scale = LinearSegmentedColormap.from_list("labels", [full[0], (1.0, 1.0, 1.0), full[1]])
        grid.draw(ax, proba[:, 1].reshape(grid.shape), cmap=scale, vmin=0.0, vmax=1.0)
        return
    chance = 1.0 / len(colors) if len(colors) > 1 else 0.0
    certainty = (proba.max(axis=1) - chance) / (1.0 - chance)
    picture = 1.0 + certainty[:, None] * (full[proba.argmax(axis=1)] - 1.0)
    grid.draw(ax, picture.reshape(*grid.shape, 3).clip(0.0, 1.0))
