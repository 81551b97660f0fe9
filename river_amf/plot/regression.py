"""The surface of a regressor over two features: its predictions, or how sure it is of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from river_amf import trends
from river_amf.evaluation.intervals import intervals_of
from river_amf.forest import river_model
from river_amf.kinds import Number, shown
from river_amf.parameters import flag, integer
from river_amf.plot.canvas import Axes, new_axes
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

_PREDICTIONS, _WIDTHS = "viridis", "Blues"  # color maps that grow steadily darker or lighter


def regression_surface(
    model: Any,
    features: Sequence[Hashable] | None = None,
    samples: Iterable[Sample] = (),
    *,
    width: bool = False,
    level: float | None = None,
    trees: int | Iterable[int] | None = None,
    aggregated: bool | None = None,
    fixed: dict[Hashable, Any] | None = None,
    resolution: int = 100,
    ax: Axes | None = None,
) -> Axes:
    """Draw what a regressor predicts over two numeric features, or how wide its intervals are.

    A color bar beside the surface tells the numbers. The samples have the colors of their targets;
    those beyond all predictions have the color of the lowest or highest one.

    Parameters
    ----------
    model
        A forest, any other river regressor, including a pipeline, or a fitted estimator of
        `river_amf.sklearn`, whose features are the names of its columns or 0, 1, ...
    features, samples
        As in `decision_surface`, with numbers in the place of labels.
    width
        Whether to draw the width of the prediction intervals instead of the predictions. This takes
        a model that gives intervals, as in `evaluation.interval_history`. The samples are gray.
    level
        Probability with which the interval holds the target, strictly between 0 and 1; only with
        `width`. By default that of the model itself, which is 0.9 for a forest. Only forests can be
        asked for another.
    trees, aggregated
        As in `decision_surface`; not with `width`, as it takes the whole forest to give intervals.
    fixed
        Dict with values for other features. Features without a value are missing.
    resolution
        Number of points along each axis.
    ax
        Axes to draw on; by default those of a new figure. The color bar takes room from them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on. `ax.images[0]` is the surface, an image of shape (resolution,
        resolution) with the numbers, and `ax.images[0].colorbar` is the color bar.

    Raises
    ------
    TypeError
        If the model is a classifier, or gives no intervals although `width` asks for them; if
        `trees` or `aggregated` is given and the model is not a forest; if a target is not a number,
        or if `ax` or `trees` has the wrong type.
    ValueError
        If the features are not two different numeric features, if `resolution` is not an integer
        >= 2, if another argument is invalid or does not go with the others, or if the model has not
        learned anything yet.
    IndexError
        If there is no tree with a given index.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFRegressor, evaluation, plot
    >>> model = AMFRegressor(seed=1)
    >>> for x, y in evaluation.STREAMS["friedman"].take(500):
    ...     model.learn_one(x, y)
    >>> predictions, widths = Figure(layout="constrained").subplots(1, 2)
    >>> ax = plot.regression_surface(model, (0, 3), resolution=20, ax=predictions)
    >>> ax.images[0].colorbar.ax.get_ylabel()
    'prediction'
    >>> ax = plot.regression_surface(model, (0, 3), width=True, resolution=20, ax=widths)
    >>> ax.images[0].colorbar.ax.get_ylabel()
    'width of the interval'

    """
    integer(2)("resolution", resolution)
    flag("width", width)
    if aggregated is not None:
        flag("aggregated", aggregated)
    if width and not (trees is None and aggregated is None):
        raise ValueError("trees and aggregated must be None with width: intervals are the forest's")
    if level is not None and not width:
        raise ValueError(f"level must be None without width, got {shown(level)}")
    samples = list(samples)
    model = river_model(model)
    if isinstance(model, base.Classifier):
        raise TypeError(
            f"model must be a regressor, got {type(model).__name__}; decision_surface draws"
            " classifiers"
        )
    interval_of = intervals_of(model, level) if width else None
    check_has_learned(model)
    grid = make_grid(model, features, samples, fixed or {}, resolution)
    if interval_of is not None:
        values = np.array([interval_of(x).width for x in grid.points])
    elif trees is None and aggregated is None:
        values = _predict(model, grid)
    else:
        values = _predict_by_part(model, grid, part_of(model, trees, aggregated=aggregated))
    picture = values.reshape(grid.shape)
    if np.isnan(picture).all():
        raise ValueError(NOTHING)
    points = grid.located(model, samples)
    for *_, y in points:
        if not (width or isinstance(y, Number)):
            raise TypeError(f"samples must have numbers as targets, got {shown(y)}")
    ax = new_axes(ax, (5.4, 4.2))
    image = grid.draw(ax, picture, cmap=_WIDTHS if width else _PREDICTIONS)
    if points:
        across, up, targets = zip(*points, strict=True)
        colors = "#777777" if width else image.to_rgba(np.array(targets, dtype=np.float64))
        ax.scatter(across, up, c=colors, **POINT)
    ax.figure.colorbar(image, ax=ax, label=_label(level) if width else "prediction")
    return ax


def _predict(model: Any, grid: Grid) -> NDArray[np.float64]:
    """Return the predictions of a regressor, NaN where it has none."""
    if as_forest(model) is not None:
        return np.asarray(model.predict_many(grid.frame()))
    answers = [model.predict_one(x) for x in grid.points]
    return np.array(answers, dtype=np.float64)  # None, as some models say before they know, is NaN


def _predict_by_part(forest: Any, grid: Grid, part: Part) -> NDArray[np.float64]:
    """Return the predictions of the forest, or the mean of those of some trees."""

    def predict() -> NDArray[np.float64]:
        engine = forest._engine.restricted_to(None, aggregated=part.aggregated)
        if part.trees is None:
            return np.array([lock.run(engine.predict, x) for x in grid.points])
        # Trees are heard in their places in the forest, on which it depends what a trend adds.
        heard = [lock.run(engine.listen, x) for x in grid.points]
        votes = [trends.of_trees(engine.arena, each)[part.trees] for each in heard]
        return np.asarray(np.mean(votes, axis=1) + engine.labels.origin)

    lock = forest._engine.lock
    predictions: NDArray[np.float64] = forest._read(predict)
    return predictions


def _label(level: float | None) -> str:
    """Return what the widths of intervals are called."""
    return "width of the interval" if level is None else f"width of the {100 * level:g} % interval"
