"""What all plots share: matplotlib, axes, and the colors of labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.emphasis import COLORS
from river_amf.encoding import column_order
from river_amf.wording import name

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
    from matplotlib.patches import Patch, Rectangle
except ImportError as error:
    raise ImportError(
        'river_amf.plot needs matplotlib: pip install "matplotlib>=3.8"', name="matplotlib"
    ) from error

__all__ = [
    "Axes",
    "LinearSegmentedColormap",
    "Rectangle",
    "add_legend",
    "check_axes",
    "given_axes",
    "label_colors",
    "new_axes",
    "new_column",
    "plt",
    "to_rgb",
]


def new_axes(ax: Axes | None, size: tuple[float, float] = (8.0, 3.0)) -> Axes:
    """Return the given axes, or those of a new figure, whose size is in inches."""
    if ax is None:
        return plt.subplots(figsize=size, layout="constrained")[1]
    check_axes("ax", ax)
    return ax


def check_axes(name: str, ax: object) -> None:
    """Raise TypeError unless ax is a matplotlib Axes."""
    if not isinstance(ax, Axes):
        raise TypeError(f"{name} must be a matplotlib Axes, got {type(ax).__name__}")


def given_axes(axes: object) -> NDArray[Any]:
    """Return the axes given by a caller as a flat array."""
    return np.ravel(np.asarray(axes, dtype=object))


def new_column(n_axes: int, height: float = 1.8, *, sharex: bool = True) -> NDArray[Any]:
    """Return the axes of a new figure, stacked vertically, perhaps with a shared x axis."""
    size = (8.0, 0.6 + height * n_axes)
    figure, axes = plt.subplots(
        n_axes, sharex=sharex, squeeze=False, figsize=size, layout="constrained"
    )
    figure.align_ylabels()
    return axes[:, 0]


def label_colors(labels: Iterable[Hashable]) -> dict[Hashable, str]:
    """Return a color for each label, in ascending order of the labels."""
    try:
        labels = sorted(labels)  # type: ignore[type-var]
    except TypeError:  # labels of several types
        labels = sorted(labels, key=column_order)
    if len(labels) <= len(COLORS):
        return dict(zip(labels, COLORS, strict=False))
    scale = plt.get_cmap("turbo")
    return {label: to_hex(scale(k / (len(labels) - 1))) for k, label in enumerate(labels)}


def add_legend(ax: Axes, colors: dict[Hashable, str], **style: Any) -> None:
    """Add a legend that shows the color of each label."""
    patches = [Patch(color=color, label=name(label)) for label, color in colors.items()]
    legend = ax.legend(handles=patches, handlelength=1.0, **style)
    for text in legend.get_texts():
        text.set_parse_math(False)
