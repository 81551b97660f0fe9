"""Lines along a stream, labeled where they end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from river_amf.inputs.kinds import printable
from river_amf.pages.palette import GREY
from river_amf.plot.axes import Axes, plt

_MARK = "#777777"  # color of a drift
_NAME_OF_OTHERS = "#808080"  # darker than their lines, to be read


def draw_line(ax: Axes, values: pd.Series, **style: Any) -> Any:
    """Draw values that were recorded along a stream, and return the line."""
    (line,) = ax.plot(values.index.to_numpy(), values.to_numpy(), **style)
    ax.margins(x=0.0)
    ax.set_xlabel("samples")
    ax.spines[["top", "right"]].set_visible(False)
    return line


def mark_drifts(panels: Iterable[Axes], drifts: Iterable[float]) -> None:
    """Mark the places of drifts in panels below each other, and name the first in the top one."""
    panels, drifts = list(panels), list(drifts)
    for panel in panels:
        for place in drifts:
            panel.axvline(
                place, label="drift", color=_MARK, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0
            )
    for place in drifts[:1]:
        panels[0].annotate(
            "drift",
            (place, 1.0),
            (0, 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            color=_MARK,
        )


def height_for(n_names: int) -> float:
    """Return a height for axes, in inches, that leaves room for the names beside them."""
    return max(3.0, 0.6 + 0.2 * n_names)


def name_at_the_end(
    ax: Axes, lines: Sequence[Any], *, led: bool = False, others: Sequence[Any] = ()
) -> None:
    """Write the label of each line at its end; if led, a connector in its style leads there.

    The others get one name together, where the middle one of them ends.
    """
    ax.autoscale_view()  # otherwise it would wait until the figure is drawn
    to_axes = ax.transData + ax.transAxes.inverted()

    def end(line: Any) -> float:
        return float(to_axes.transform(line.get_xydata()[-1])[1])

    names = [str(line.get_label()) for line in lines]
    if others:
        lines = [*lines, sorted(others, key=end)[len(others) // 2]]
        names.append(f"{len(others)} others" if len(others) > 1 else str(others[0].get_label()))
    ends = [end(line) for line in lines]
    order = np.argsort(ends, kind="stable")
    height = 72 * ax.bbox.height / ax.figure.dpi  # height of the axes, in points
    places = _spread([ends[k] for k in order], _label_height() / height)
    for k, place in zip(order, places, strict=True):
        start, offset = (ends[k], (24, (place - ends[k]) * height)) if led else (place, (4, 0))
        _draw_name(ax, names[k], lines[k], (1.0, start), offset, led=led, xycoords="axes fraction")


def name_points(ax: Axes, points: Sequence[Any]) -> None:
    """Write the label of each point beside it, moved up, with a connector, if there is no room."""
    ax.autoscale_view()
    scale = 72 / ax.figure.dpi
    places = {point: scale * ax.transData.transform(point.get_xydata()[0]) for point in points}
    written: list[tuple[float, float, float]] = []  # left, right and vertical position, in points
    for point, (x, y) in sorted(places.items(), key=lambda item: item[1][1]):
        left, right = x, x + 0.7 * plt.rcParams["font.size"] * (len(point.get_label()) + 1)
        height = y
        for other_left, other_right, other in sorted(written, key=lambda label: label[2]):
            if left < other_right and other_left < right and height < other + _label_height():
                height = max(height, other + _label_height())
        written.append((left, right, height))
        name = str(point.get_label())
        _draw_name(ax, name, point, point.get_xydata()[0], (8, height - y), led=height > y)


def _draw_name(
    ax: Axes, name: str, line: Any, end: Any, offset: tuple[float, float], *, led: bool, **at: Any
) -> None:
    """Write the name of a line at an offset from its end, in points."""
    color = line.get_color()
    style = {"color": color, "linestyle": line.get_linestyle()}
    if style["linestyle"] == "None":  # a point
        style |= {"linestyle": "-", "linewidth": 0.5}
    ax.annotate(
        printable(name),
        end,
        offset,
        **at,
        textcoords="offset points",
        va="center",
        color=_NAME_OF_OTHERS if color == GREY else color,
        parse_math=False,
        arrowprops={"arrowstyle": "-", "relpos": (0, 0.5), **style} if led else None,
    )


def _label_height() -> float:
    """Return the height of a line of text in points."""
    return 1.25 * float(plt.rcParams["font.size"])


def _spread(places: Sequence[float], gap: float) -> list[float]:
    """Return ascending places moved apart by a gap: first upward, then down again from the top."""
    gap = min(gap, 1.0 / max(len(places) - 1, 1))
    spread: list[float] = []
    for place in places:
        spread.append(max(place, spread[-1] + gap) if spread else place)
    top = 1.0
    for k in reversed(range(len(spread))):
        spread[k] = min(spread[k], top)
        top = spread[k] - gap
    return spread
