"""The surface of a model over two features: the prediction at each point of a grid."""

import contextlib
import copy
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import NDArray
from river import base

from river_amf.ensemble import river_model
from river_amf.forest import Forest
from river_amf.inputs.kinds import as_number, is_missing, shown
from river_amf.outputs.formatting import name
from river_amf.parameters import integer
from river_amf.plot.axes import add_legend, label_colors, new_axes, patches

Sample = tuple[dict[Any, Any], Any]

_MARGIN = 0.05  # around the values, as a fraction of their range
_STRONGEST = 0.7  # strength of the surface's colors, so that samples of the same color stand out


def decision_surface(
    model: Any,
    features: Iterable[Hashable] | None = None,
    samples: Iterable[Sample] = (),
    *,
    resolution: int = 100,
    ax: Axes | None = None,
) -> Axes:
    """Draw the predictions of a classifier or a regressor over two numeric features.

    For a classifier, each point has the color of its most probable label, and is paler the less
    probable that label is. For a regressor, a color bar shows the scale. A copy of the model
    predicts. Without a model, prediction or range to draw, TypeError or ValueError is raised.

    Parameters
    ----------
    model
        A forest, any other river classifier or regressor, including a pipeline, or a fitted
        estimator of `river_amf.sklearn`, whose features are the names of its columns or 0, 1, ...
    features
        The features of the axes, by default all of the forest or the samples. The rest is missing.
    samples
        Pairs (features, label or target) to draw as points. The surface covers their range, or
        without samples that of the forest's data.
    resolution
        Number of points along each axis.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from river import datasets
    >>> from river_amf import AMFClassifier, plot
    >>> model = AMFClassifier(seed=1)
    >>> for x, y in datasets.Bananas().take(200):
    ...     model.learn_one(x, y)
    >>> ax = plot.decision_surface(model, resolution=50, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('1', '2')
    """
    integer(2)("resolution", resolution)
    samples, model = list(samples), copy.deepcopy(river_model(model))
    if not isinstance(model, base.Classifier | base.Regressor):
        raise TypeError(f"model must be a river classifier or regressor, got {shown(model)}")
    # not isinstance, which is also true of a river pipeline that ends in a forest
    forest: Any = model if issubclass(type(model), Forest) else None
    if features is None:
        features = dict.fromkeys(k for x, _ in samples for k in x)
        features = features if forest is None else forest._features
    names = list(features)
    if len({*names}) != 2:
        raise ValueError(f"features must be two different names, got {shown(names)}")
    across, up = (_grid_values(forest, feature, samples, resolution) for feature in names)
    points = [dict(zip(names, (a, b), strict=True)) for b in up.tolist() for a in across.tolist()]
    located = [(x, y) for x, y in samples if not any(is_missing(x.get(k)) for k in names)]
    style: dict[str, Any]
    if isinstance(model, base.Regressor):
        values = np.array([model.predict_one(x) for x in points], np.float64)
        ax = new_axes(ax, (5.4, 4.2))
        mesh = ax.pcolormesh(across, up, values.reshape(resolution, -1), shading="nearest")
        ax.figure.colorbar(mesh, ax=ax, label="prediction")
        style = {"c": [y for _, y in located], "cmap": mesh.cmap, "norm": mesh.norm}
    else:
        answers = [_probabilities(model, x) for x in points]
        labels = set().union(*answers)
        if not labels:
            raise ValueError("model has not learned any samples yet: there is nothing to draw")
        colors = label_colors(labels | {y for _, y in located})
        proba = np.array([[answer.get(label, 0.0) for label in colors] for answer in answers])
        chance = 1.0 / len(labels) if len(labels) > 1 else 0.0
        strength = _STRONGEST * ((proba.max(axis=1) - chance) / (1.0 - chance)).clip(0.0, 1.0)
        hues = np.array([to_rgb(color) for color in colors.values()])[proba.argmax(axis=1)]
        picture = 1.0 + strength[:, None] * (hues - 1.0)  # white where all are equal
        ax = new_axes(ax, (5.0, 4.2))
        ax.pcolormesh(across, up, picture.reshape(resolution, -1, 3), shading="nearest")
        add_legend(ax, handles=patches(colors), loc="best", ncols=-(-len(colors) // 10))
        style = {"c": [colors[y] for _, y in located]}
    if located:
        a, b = ([x[feature] for x, _ in located] for feature in names)
        ax.scatter(a, b, s=14.0, linewidths=0.6, edgecolors="white", **style)
    ax.set_xlabel(name(names[0]), parse_math=False)
    ax.set_ylabel(name(names[1]), parse_math=False)
    return ax


def _grid_values(
    forest: Any, feature: Hashable, samples: list[Sample], resolution: int
) -> NDArray[np.float64]:
    """Return the values of a feature on the grid, or raise ValueError."""
    values = (x[feature] for x, _ in samples if not is_missing(x.get(feature)))
    numbers = [as_number(feature, value) for value in values]
    if not numbers and forest is not None and forest._features.categories(feature) is None:
        column = forest._features.column(feature)
        numbers = [] if column is None else forest._arena.ranges[:, column].tolist()
    if not numbers:
        raise ValueError(f"feature {shown(feature)} has no numbers so far; pass samples")
    low, high = min(numbers), max(numbers)
    margin = _MARGIN * (high - low) if high > low else 0.5
    return np.linspace(low - margin, high + margin, resolution)


def _probabilities(model: Any, x: dict[Hashable, Any]) -> dict[Any, float]:
    """Return probabilities by label, 1 for the only one of a model without probabilities."""
    with contextlib.suppress(NotImplementedError):
        return dict(model.predict_proba_one(x))
    label = model.predict_one(x)
    return {} if label is None else {label: 1.0}
