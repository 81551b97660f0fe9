"""Axes, legends and the colors of labels."""

from collections.abc import Hashable, Iterable
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Patch

from river_amf.inputs.encoding import ascending
from river_amf.outputs.formatting import name
from river_amf.pages.charts import COLORS


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new figure, whose size is in inches."""
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def label_colors(labels: Iterable[Hashable]) -> dict[Hashable, str]:
    labels = ascending(labels)
    if len(labels) <= len(COLORS):
        return dict(zip(labels, COLORS, strict=False))
    scale = plt.get_cmap("turbo")
    return {label: to_hex(scale(k / (len(labels) - 1))) for k, label in enumerate(labels)}


def patches(colors: dict[Hashable, str]) -> list[Patch]:
    return [Patch(color=color, label=name(label)) for label, color in colors.items()]


def add_legend(ax: Axes, **style: Any) -> None:
    for text in ax.legend(**style).get_texts():
        text.set_parse_math(False)
