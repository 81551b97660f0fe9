"""Surfaces of a model over two features: what it predicts, or how sure it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.evaluation.history import intervals_of
from river_amf.explain import trend_experts
from river_amf.inputs import frames
from river_amf.inputs.kinds import Number, shown
from river_amf.parameters import flag
from river_amf.plot.axes import (
    Axes,
    LinearSegmentedColormap,
    add_legend,
    label_colors,
    new_axes,
    to_rgb,
)
from river_amf.plot.grids import NOTHING, Grid, Sample, as_forest, make_grid

_STRONGEST = 0.7  # strength of the surface's colors, so that samples of the same color stand out
_PREDICTIONS, _WIDTHS = "viridis", "Blues"  # color maps that grow steadily darker or lighter


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

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river import datasets
    >>> from river_amf import AMFClassifier, plot
    >>> model, samples = AMFClassifier(seed=1), list(datasets.Bananas().take(200))
    >>> for x, y in samples:
    ...     model.learn_one(x, y)
    >>> ax = plot.decision_surface(model, samples=samples, resolution=50, ax=Figure().subplots())
    >>> ax.images[0].get_array().shape
    (50, 50)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['False', 'True']
    """
    grid = make_grid("classifier", model, features, samples, trees, aggregated, fixed, resolution)
    labels, proba = _predict_probabilities(grid)
    if not labels:
        raise ValueError(NOTHING)
    ax = new_axes(ax, (5.0, 4.2))
    colors = label_colors({*labels, *(y for _, y in grid.samples)})
    known = [label for label in colors if label in labels]
    surface = proba[:, [labels.index(label) for label in known]]
    _draw_probabilities(ax, grid, surface, [colors[label] for label in known])
    grid.draw_samples(ax, [colors[y] for *_, y in grid.located()])
    add_legend(ax, colors, loc="best", ncols=-(-len(colors) // 10))
    return ax


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
    fixed, resolution, ax
        As in `decision_surface`. The color bar takes room from the axes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on. `ax.images[0]` is the surface, an image of shape (resolution,
        resolution) with the numbers, and `ax.images[0].colorbar` is the color bar.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river_amf import AMFRegressor, evaluation, plot
    >>> model = AMFRegressor(seed=1)
    >>> for x, y in evaluation.STREAMS["friedman"].take(500):
    ...     model.learn_one(x, y)
    >>> ax = Figure(layout="constrained").subplots()
    >>> ax = plot.regression_surface(model, (0, 3), width=True, resolution=20, ax=ax)
    >>> ax.images[0].colorbar.ax.get_ylabel()
    'width of the interval'
    """
    flag("width", width)
    if width and not (trees is None and aggregated is None):
        raise ValueError("trees and aggregated must be None with width: intervals are the forest's")
    if level is not None and not width:
        raise ValueError(f"level must be None without width, got {shown(level)}")
    grid = make_grid("regressor", model, features, samples, trees, aggregated, fixed, resolution)
    name = "prediction"
    if width:
        interval_of = intervals_of(grid.model, level)
        values = np.array([interval_of(x).width for x in grid.points])
        name = f"width of the {'' if level is None else f'{100 * level:g} % '}interval"
    else:
        values = _predict_numbers(grid)
    if np.isnan(values).all():
        raise ValueError(NOTHING)
    targets = [y for *_, y in grid.located()]
    for y in targets:
        if not (width or isinstance(y, Number)):
            raise TypeError(f"samples must have numbers as targets, got {shown(y)}")
    ax = new_axes(ax, (5.4, 4.2))
    image = grid.draw(ax, values, cmap=_WIDTHS if width else _PREDICTIONS)
    colors = "#777777" if width else image.to_rgba(np.array(targets, dtype=np.float64))
    grid.draw_samples(ax, colors)
    ax.figure.colorbar(image, ax=ax, label=name)
    return ax


def _predict_probabilities(grid: Grid) -> tuple[list[Hashable], NDArray[np.float64]]:
    """Return the labels that a classifier knows, and its probabilities (n_points, n_labels)."""
    model = grid.model
    if as_forest(model) is None:
        answers = [model.predict_proba_one(x) for x in grid.points]
        labels = list(dict.fromkeys(label for answer in answers for label in answer))
        rows = [[answer.get(label, 0.0) for label in labels] for answer in answers]
        return labels, np.array(rows)
    if grid.aggregated is None:
        proba = model._without_trace("predict_proba_many", grid.frame()).to_numpy()
        return model._labels_of(proba), proba
    table = frames.read_columns(frames.read_frame(grid.frame()))

    def predict() -> Any:
        engine = model._engine.restricted_to(grid.trees, aggregated=grid.aggregated)
        return engine.predict_block(table, len(grid.points), model)

    proba = model._read(predict)
    return model._labels_of(proba), proba


def _predict_numbers(grid: Grid) -> NDArray[np.float64]:
    """Return the predictions of a regressor, NaN where it has none."""
    model = grid.model
    if as_forest(model) is None:
        answers = [model.predict_one(x) for x in grid.points]
        return np.array(answers, dtype=np.float64)  # None, before some models know, is NaN
    if grid.aggregated is None:
        return np.asarray(model._without_trace("predict_many", grid.frame()))

    def predict() -> Any:
        engine = model._engine.restricted_to(None, aggregated=grid.aggregated)
        if grid.trees is None:
            return np.array([engine.predict(x) for x in grid.points])
        # Trees keep their places in the forest, on which it depends what a trend adds.
        outputs = [engine.expert_outputs(x) for x in grid.points]
        votes = [trend_experts.of_trees(engine.arena, each)[grid.trees] for each in outputs]
        return np.mean(votes, axis=1) + engine.labels.origin

    return np.asarray(model._read(predict))


def _draw_probabilities(
    ax: Axes, grid: Grid, proba: NDArray[np.float64], colors: list[str]
) -> None:
    """Draw probabilities (n_points, n_labels), of the second label if there are two, or colors."""
    # Either way, a color is paler the closer the largest probability is to chance.
    full = 1.0 + _STRONGEST * (np.array([to_rgb(color) for color in colors]) - 1.0)
    if len(colors) == 2:
        scale = LinearSegmentedColormap.from_list("labels", [full[0], (1.0, 1.0, 1.0), full[1]])
        grid.draw(ax, proba[:, 1], cmap=scale, vmin=0.0, vmax=1.0)
        return
    chance = 1.0 / len(colors) if len(colors) > 1 else 0.0
    certainty = (proba.max(axis=1) - chance) / (1.0 - chance)
    picture = 1.0 + certainty[:, None] * (full[proba.argmax(axis=1)] - 1.0)
    grid.draw(ax, picture.clip(0.0, 1.0))
