"""Forests that learn two features, step by step, as a page with a slider.

The frame is `playground.html`. `playground.js` draws into it what is in the arrays of whole numbers
that are packed into one text here.
"""

from __future__ import annotations

import base64
import gzip
import string
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.explain.formatting import name
from river_amf.inputs.kinds import printable
from river_amf.pages.charts import markup
from river_amf.pages.document import Page, Section, data_script, escaped, text_of_file
from river_amf.pages.palette import COLORS
from river_amf.pages.snapshots import WINDOW, Samples, Variant, VariantRun

_LEVELS = 256  # of a byte, which all labels share
_FINE = 65535  # parts of the view, and of a mass of 1
_DEEPEST = 20  # the depth from which on all nodes are counted together
_MOST_MOVES = 3  # of labels that are listed

_JITTERED = "Whole numbers are drawn a little apart, as their points would hide each other."
_INTRODUCTION = (
    "A forest reads {} samples one by one. It predicts the label of each from two features and then"
    " learns it. Press Play, or drag the slider, to see what it knows after some of them; the"
    " switches choose another forest, or a stream that drifts halfway."
)


@dataclass(frozen=True)
class Playground:
    """Forests along a stream of two features, and the page that shows them, from `playground`.

    Parameters
    ----------
    samples
        The samples without a drift: `features`, `labels`, `points` and `codes`.
    steps
        Numbers of samples, one for each position of the slider.
    runs
        What is seen of each forest, by `(kind, n_trees, aggregation, drift)`, such as
        `("plain", 10, "with", "none")`. A run has the `points` and `codes` of its samples, as they
        are drawn, and a list of `snapshots`, one for each step, with the probabilities on a grid
        (`surface`), the cells of the first tree (`boxes` and `proba`), the share of each depth in
        the predictions (`mass`), the `accuracy` of the last 100 predictions, and `n_nodes`.

    Examples
    --------
    >>> from river_amf import plot
    >>> moons = plot.playground("moons", n_samples=60, n_steps=4, resolution=8, seed=1)
    >>> moons.steps
    [8, 30, 38, 60]
    >>> moons.runs["plain", 10, "with", "none"].snapshots[-1].surface.shape
    (8, 8, 2)
    """

    samples: Samples
    steps: list[int]
    runs: dict[Variant, VariantRun] = field(repr=False)

    @property
    def page(self) -> Page:
        """The page, with its text in `html`."""
        samples = self.samples
        labels = [name(label) for label in samples.labels]
        moves = [f"{a} is {b} now" for a, b in zip(labels, labels[1:] + labels[:1], strict=True)]
        frame = string.Template(text_of_file("playground.html")).substitute(
            last=len(self.steps) - 1,
            middle=samples.middle,
            places=escaped(", ".join(moves[:_MOST_MOVES]) + ", ..." * (len(moves) > _MOST_MOVES)),
            window=WINDOW,
            jittered=_JITTERED if samples.is_whole.any() else "",
        )
        style = f"<style>{text_of_file('playground.css')}</style>"
        body = "\n".join([style, frame, data_script(self._scene(), "scene")])
        text = f"{_INTRODUCTION.format(len(samples.codes))}\n\n{samples.remark}"
        parts = [
            Section("A forest learns", text, body=body),
            Section("What the switches have chosen", body='<ul id="explained"></ul>'),
        ]
        scripts = [text_of_file("playground.js")]
        return Page(f"Playground: {samples.title}", parts, scripts=scripts)

    def save(self, path: str | Path) -> None:
        """Write the page to an HTML file, which is overwritten if it exists.

        The file needs nothing else: no server, no network, and no other file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from river_amf import plot
        >>> path = pathlib.Path(tempfile.mkdtemp(), "line.html")
        >>> line = plot.playground("linear", n_samples=40, n_steps=2, resolution=4, seed=1)
        >>> line.save(path)
        >>> "<h1>Playground: linear</h1>" in path.read_text(encoding="utf-8")
        True
        """
        self.page.save(path)

    def _scene(self) -> dict[str, Any]:
        """Return all that the script needs."""
        samples, pool = self.samples, ArrayPool()
        low, high = samples.view.reshape(2, 2).T
        ends = np.repeat(low, 2), np.repeat(high, 2)  # of boxes
        runs = {}
        for variant, run in self.runs.items():
            shots = run.snapshots
            runs["|".join(map(str, variant))] = {
                "points": pool.add(_fine((run.points - low) / (high - low))),
                "codes": pool.add(run.codes.astype(np.uint8)),
                "start": run.start,
                "surface": [pool.add(paint(each.surface)) for each in shots],
                "boxes": [
                    pool.add(_fine((each.boxes - ends[0]) / (ends[1] - ends[0]))) for each in shots
                ],
                "paints": [pool.add(paint(each.proba)) for each in shots],
                "cells": [len(each.boxes) for each in shots],
                "mass": [pool.add(_by_depth(each.mass)) for each in shots],
                "accuracy": [round(each.accuracy, 4) for each in shots],
                "nodes": [each.n_nodes for each in shots],
            }
        return {
            "features": [markup(name(feature)) for feature in samples.features],
            "labels": [printable(name(label)) for label in samples.labels],
            "colors": COLORS[: len(samples.labels)],
            "window": WINDOW,
            "levels": _LEVELS // len(samples.labels),
            "fine": _FINE,
            "view": samples.view.tolist(),
            "shape": shots[0].surface.shape[:2],
            "depths": _DEEPEST + 1,
            "steps": self.steps,
            "runs": runs,
            "pool": pool.text(),
        }


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


def paint(proba: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the most probable label and its probability in a byte each.

    Each of L labels has M = 256 // L levels: label k has k M if all labels are equally probable,
    and k M + M - 1 if it is certain. Probabilities have shape (..., L), bytes (...).

    >>> paint(np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]))
    array([127,   0, 192, 255], dtype=uint8)
    """
    n_labels = proba.shape[-1]
    n_levels = _LEVELS // n_labels
    certainty = (proba.max(axis=-1) - 1.0 / n_labels) / (1.0 - 1.0 / n_labels)
    level = np.rint(certainty.clip(0.0, 1.0) * (n_levels - 1))
    return np.asarray(proba.argmax(axis=-1) * n_levels + level, np.uint8)


def _fine(shares: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return shares of the view, or of a mass, as fine parts."""
    return np.asarray(np.rint(shares.clip(0.0, 1.0) * _FINE), "<u2")


def _by_depth(mass: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return the mass at each depth in fine parts, the deepest depths together."""
    levels = np.zeros(_DEEPEST + 1)
    np.add.at(levels, np.minimum(np.arange(len(mass)), _DEEPEST), mass)
    return _fine(levels)
