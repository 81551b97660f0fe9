"""A page on which a slider steps through what forests have learned of two features.

The page has four figures: the surface with the points, the cells of one tree, where its mass lies,
and the accuracy. All of them are drawn by `playground.js` from arrays of whole numbers, which are
packed into one text; the figures made here are the frames into which it draws.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_amf.pages.document import Figure, Page, Section, inert, text_of_file
from river_amf.pages.palette import COLORS

MOST_LABELS = 6  # for each of which there is a color that is seen on light and dark

_LEVELS = 256  # of a byte, which all labels share
_FINE = 65535  # parts of the view, and of a mass of 1
_DEEPEST = 20  # the depth from which on all nodes are counted together
_STRONGEST = 0.75  # opacity of the surface's colors, so that points of the same color stand out

_SHARE = {"range": [0, 1.02], "tickformat": ".0%", "fixedrange": True}  # an axis of percentages
_ABOVE = {
    "orientation": "h",
    "x": 0,
    "y": 1.02,
    "yanchor": "bottom",
    "itemsizing": "constant",
}  # legends

_OF_SURFACE = (
    "Each place has the color of the most probable label there, and is fainter the less probable"
    " that is. The points are the samples learned so far; after a drift, those since then."
)
_OF_CELLS = (
    "Each rectangle is a leaf of one tree, in the color of what this tree alone predicts in it."
    " Leaves split only where labels meet, so cells are small along the border and large elsewhere."
)
_OF_MASS = (
    "A tree answers with nodes along the path of a sample, each with a share: 0 is the root, which"
    " has seen all samples, and the leaves are at the right. The bars are the mean over all trees"
    " and over the samples that they have learned."
)
_OF_ACCURACY = (
    "Each sample is predicted before it is learned. The strong line is the forest that the switches"
    " choose; the faint one is the other kind of forest, for comparison."
)


class Snapshot(NamedTuple):
    """A view of a forest after some samples."""

    surface: NDArray[np.float32]  # (height, width, n_labels), probabilities from the bottom row up
    boxes: NDArray[np.float64]  # (n_leaves, 4), the cells of a tree: left, right, bottom, top
    proba: NDArray[np.float32]  # (n_leaves, n_labels), what the tree predicts there
    mass: NDArray[np.float64]  # (n_levels,), share of the trees' predictions by depth
    accuracy: float  # of the predictions for the last samples
    n_nodes: int  # of all trees


class VariantRun(NamedTuple):
    """A forest along its samples."""

    points: NDArray[np.float64]  # (n_samples, 2)
    codes: NDArray[np.int64]  # (n_samples,), indices into the labels
    start: int  # the number of samples before the drift, 0 without one
    snapshots: Sequence[Snapshot]  # one for each step


class Option(NamedTuple):
    """One position of a switch, and what it does, in plain words."""

    value: str
    name: str
    text: str


class Switch(NamedTuple):
    """A choice between options."""

    title: str
    options: Sequence[Option]


class Scene(NamedTuple):
    """All that the page shows."""

    features: Sequence[str]  # of the horizontal and the vertical axis
    labels: Sequence[str]
    view: NDArray[np.float64]  # left, right, bottom, top
    steps: Sequence[int]  # numbers of samples
    window: int  # the samples that count in the accuracy
    switches: Sequence[Switch]
    runs: Mapping[tuple[str, ...], VariantRun]  # by the value of each switch


class ArrayPool:
    """Arrays one after another in one text; equal ones are kept once."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._size = 0

    def add(self, array: NDArray[Any]) -> int:
        """Take an array in, and return the byte at which it begins, which is even."""
        data = array.tobytes()
        data += b"\0" * (len(data) % 2)
        if data not in self._places:
            self._places[data] = self._size
            self._size += len(data)
        return self._places[data]

    def text(self) -> str:
        """Return all arrays, compressed."""
        # without the time, so that equal pages are equal files
        return base64.b64encode(gzip.compress(b"".join(self._places), mtime=0)).decode()


def playground_page(title: str, text: str, scene: Scene) -> Page:
    """Return the page of a playground."""
    controls = "\n".join(
        [
            f"<style>{text_of_file('playground.css')}</style>",
            _controls(scene),
            f'<script type="application/json" id="scene">{_script_data(scene)}</script>',
        ]
    )
    parts = [
        Section("A forest learns", text, figures(scene), controls),
        Section("What the switches have chosen", body='<ul id="explained"></ul>'),
    ]
    return Page(title, parts, scripts=[text_of_file("playground.js")])


def paint(proba: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the most probable label and its probability in a byte each.

    Each of L labels has M = 256 // L levels: label k has k M if all labels are equally probable,
    and k M + M - 1 if it is certain.

    Parameters
    ----------
    proba
        Probabilities of shape (..., L).

    Returns
    -------
    ndarray of shape (...)
        The bytes.

    Examples
    --------
    >>> import numpy as np
    >>> paint(np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]))
    array([127,   0, 192, 255], dtype=uint8)
    """
    n_labels = proba.shape[-1]
    n_levels = _LEVELS // n_labels
    certainty = (proba.max(axis=-1) - 1.0 / n_labels) / (1.0 - 1.0 / n_labels)
    level = np.rint(certainty.clip(0.0, 1.0) * (n_levels - 1))
    return np.asarray(proba.argmax(axis=-1) * n_levels + level, np.uint8)


def figures(scene: Scene) -> list[Figure]:
    """Return the figures without data, but with all that does not change."""
    from river_amf.pages.charts import go  # which needs plotly

    return [
        Figure(_surface(scene), "What the forest predicts", _OF_SURFACE, id="surface"),
        Figure(
            go.Figure(layout=_plane(scene)), "The cells of its first tree", _OF_CELLS, id="cells"
        ),
        Figure(_mass(), "Which depth of the trees answers", _OF_MASS, id="mass"),
        Figure(
            _accuracy(scene),
            f"Accuracy of the last {scene.window} predictions",
            _OF_ACCURACY,
            id="accuracy",
        ),
    ]


def _plane(scene: Scene) -> dict[str, Any]:
    """Return the layout of a figure over both features."""
    from river_amf.pages.charts import escaped

    names, ends = map(escaped, scene.features), scene.view.reshape(2, 2).tolist()
    across, up = (
        {"title": {"text": name}, "range": end, "zeroline": False, "showgrid": False}
        for name, end in zip(names, ends, strict=True)
    )
    kept = {"uirevision": "kept"}  # a view that was zoomed in, from step to step
    return {"height": 400, "margin": {"t": 46}, "xaxis": across, "yaxis": up, **kept}


def _surface(scene: Scene) -> Any:
    """Return the figure of the predictions, with the points of each label."""
    from river_amf.pages.charts import escaped, go

    drawn = go.Figure(layout={**_plane(scene), "showlegend": True, "legend": _ABOVE})
    drawn.add_heatmap(
        showscale=False,
        colorscale=_colorscale(len(scene.labels)),
        zmin=0,
        zmax=_LEVELS - 1,
        hovertemplate="%{text}<extra></extra>",
    )
    for label, color in zip(scene.labels, COLORS, strict=False):
        marker = {"color": color, "line": {"color": "#ffffff", "width": 0.6}}
        drawn.add_scatter(mode="markers", name=escaped(label), marker=marker, hoverinfo="skip")
    return drawn


def _mass() -> Any:
    """Return the figure of the mass at each depth."""
    from river_amf.pages.charts import go

    depths = {"type": "category", "tickangle": 0, "fixedrange": True}
    drawn = go.Figure(layout={"height": 300, "bargap": 0.15, "xaxis": depths, "yaxis": _SHARE})
    drawn.update_xaxes(title_text="splits above the node")
    drawn.add_bar(
        x=[*map(str, range(_DEEPEST)), f"{_DEEPEST}+"],
        marker={"color": "var(--soft)"},
        hovertemplate="%{y:.1%} at depth %{x}<extra></extra>",
    )
    return drawn


def _accuracy(scene: Scene) -> Any:
    """Return the figure of the accuracy: the drift, both kinds of forest, and the step."""
    from river_amf.pages.charts import go

    samples = {"range": [0, 1.02 * scene.steps[-1]], "fixedrange": True}
    drawn = go.Figure(layout={"height": 300, "xaxis": samples, "yaxis": _SHARE})
    drawn.update_layout(showlegend=True, legend={**_ABOVE, "traceorder": "reversed"})
    drawn.update_xaxes(title_text="samples")
    drawn.add_scatter(
        mode="lines+text",
        line={"color": "var(--soft)", "width": 1, "dash": "dot"},
        text=["drift"],
        textposition="top right",
        textfont={"color": "var(--soft)"},
    )
    for color, width in (("var(--faint)", 2.0), ("var(--ink)", 2.5)):
        drawn.add_scatter(mode="lines", line={"color": color, "width": width})
    drawn.add_scatter(mode="markers", marker={"color": "var(--ink)", "size": 11}, cliponaxis=False)
    drawn.update_traces(hovertemplate="%{y:.1%} after %{x} samples")
    for trace in (drawn.data[0], drawn.data[-1]):
        trace.update(hoverinfo="skip", hovertemplate=None, showlegend=False)
    return drawn


def _colorscale(n_labels: int) -> list[list[Any]]:
    """Return the colors of all bytes that `paint` gives: from none to that of the label."""
    n_levels, end = _LEVELS // n_labels, _LEVELS - 1
    stops: list[list[Any]] = []
    for label, color in zip(range(n_labels), COLORS, strict=False):
        for level, opacity in ((0, 0.0), (n_levels - 1, _STRONGEST)):
            stops.append([(label * n_levels + level) / end, _rgba(color, opacity)])
    last = stops[-1][1]
    return [*stops, [1.0, last]]  # 256 need not be a multiple of the number of labels


def _rgba(color: str, opacity: float) -> str:
    """Return a color such as `#0072b2` with an opacity, in CSS."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def _controls(scene: Scene) -> str:
    """Return the slider, the switches, and the lines for what is seen."""
    last = len(scene.steps) - 1
    return "\n".join(
        [
            '<div class="steps"><button type="button" id="play">Play</button>',
            f'<input type="range" id="step" min="0" max="{last}" value="{last}"',
            ' aria-label="samples learned"><output id="count" for="step"></output></div>',
            '<div class="switches">',
            *(_switch(switch, number) for number, switch in enumerate(scene.switches)),
            "</div>",
            '<p id="told"></p>',
        ]
    )


def _switch(switch: Switch, number: int) -> str:
    """Return a switch, of which the first option is on."""
    options = "".join(
        f'<label><input type="radio" name="switch-{number}" value="{html.escape(option.value)}"'
        f"{'' if place else ' checked'}><span>{html.escape(option.name)}</span></label>"
        for place, option in enumerate(switch.options)
    )
    return f"<fieldset><legend>{html.escape(switch.title)}</legend>{options}</fieldset>"


def _script_data(scene: Scene) -> str:
    """Return all that the script needs as JSON, which is safe within a script element."""
    pool = ArrayPool()
    runs = {"|".join(key): _run_data(scene, run, pool) for key, run in scene.runs.items()}
    first = next(iter(scene.runs.values())).snapshots[0]
    content = {
        "labels": scene.labels,
        "colors": COLORS[: len(scene.labels)],
        "strongest": _STRONGEST,
        "window": scene.window,
        "levels": _LEVELS // len(scene.labels),
        "fine": _FINE,
        "view": scene.view.tolist(),
        "shape": first.surface.shape[:2],
        "depths": _DEEPEST + 1,
        "steps": [*scene.steps],
        "switches": [
            {option.value: [option.name, option.text] for option in switch.options}
            for switch in scene.switches
        ],
        "runs": runs,
        "pool": pool.text(),
    }
    return inert(json.dumps(content, separators=(",", ":")))


def _run_data(scene: Scene, run: VariantRun, pool: ArrayPool) -> dict[str, Any]:
    """Return where in the pool the arrays of a run begin, with its plain numbers."""
    left, right, bottom, top = scene.view
    low, high = np.array([left, bottom]), np.array([right, top])
    lows, highs = np.repeat(low, 2), np.repeat(high, 2)  # of both ends of a box
    return {
        "points": pool.add(_fine(run.points, low, high)),
        "codes": pool.add(run.codes.astype(np.uint8)),
        "start": run.start,
        "surface": [pool.add(paint(each.surface)) for each in run.snapshots],
        "boxes": [pool.add(_fine(each.boxes, lows, highs)) for each in run.snapshots],
        "paints": [pool.add(paint(each.proba)) for each in run.snapshots],
        "cells": [len(each.boxes) for each in run.snapshots],
        "mass": [pool.add(_by_depth(each.mass)) for each in run.snapshots],
        "accuracy": [round(each.accuracy, 4) for each in run.snapshots],
        "nodes": [each.n_nodes for each in run.snapshots],
    }


def _fine(
    places: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.uint16]:
    """Return places between the ends of the view as fine parts of it."""
    return np.asarray(np.rint(((places - low) / (high - low)).clip(0.0, 1.0) * _FINE), "<u2")


def _by_depth(mass: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return the mass at each depth in fine parts, the deepest depths together."""
    levels = np.zeros(_DEEPEST + 1)
    shallow = mass[:_DEEPEST]
    levels[: len(shallow)] = shallow
    levels[_DEEPEST] = mass[_DEEPEST:].sum()
    return np.asarray(np.rint(levels.clip(0.0, 1.0) * _FINE), "<u2")
