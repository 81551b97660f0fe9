"""Forests that learn two features, step by step, as a page with a slider."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from river_amf.explain.formatting import name
from river_amf.pages.document import Page
from river_amf.pages.playground_page import Option, Scene, Switch, VariantRun, playground_page
from river_amf.pages.snapshots import (
    ADAPTIVE,
    NO_DRIFT,
    PLAIN,
    SWAP,
    TURN,
    WINDOW,
    WITH,
    WITHOUT,
    Samples,
    Variant,
)

_MOST_MOVES = 3  # of labels that are listed

_KINDS = Switch(
    "Forest",
    [
        Option(
            PLAIN,
            "plain",
            "Plain: AMFClassifier, the forest of the paper. It never forgets, and all samples count"
            " the same.",
        ),
        Option(
            ADAPTIVE,
            "adaptive",
            "Adaptive: AdaptiveAMFClassifier, for streams that drift. Its nodes learn how far to"
            " trust recent samples alone, linear models vote beside the trees, and trees that fail"
            " start afresh.",
        ),
    ],
)
_TREES = Switch(
    "Trees",
    [
        Option("10", "10", "Ten trees: each splits at other places, and their mean is smooth."),
        Option("1", "1", "One tree: all borders run along the axes."),
    ],
)
_AGGREGATION = Switch(
    "Aggregation",
    [
        Option(
            WITH,
            "with",
            "With aggregation: a tree predicts the average of all its prunings, weighted by how"
            " well each has predicted so far. So small cells count where they have proved"
            " better than the large ones around them.",
        ),
        Option(
            WITHOUT,
            "without",
            "Without aggregation: the leaf alone answers, however few samples it has seen.",
        ),
    ],
)
_DRIFTS = {
    NO_DRIFT: ("none", "No drift: the stream stays as it is."),
    SWAP: ("labels swap", "Drift: after {middle} samples, labels change places: {places}."),
    TURN: ("the shape turns", "Drift: after {middle} samples, the shape makes a quarter turn."),
}


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
        `("plain", 10, "with", "none")`. A run has the `points` and `codes` of its samples, and a
        list of `snapshots`, one for each step, with the probabilities on a grid (`surface`), the
        cells of the first tree (`boxes` and `proba`), the share of each depth in the predictions
        (`mass`), the `accuracy` of the last 100 predictions, and `n_nodes`.

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
        n, middle = len(samples.codes), samples.middle
        labels = [name(label) for label in samples.labels]
        moves = [f"{a} is {b} now" for a, b in zip(labels, labels[1:] + labels[:1], strict=True)]
        places = ", ".join([*moves[:_MOST_MOVES], *["and so on"] * (len(moves) > _MOST_MOVES)])
        drifts = []
        for drift in samples.drifts():
            title, text = _DRIFTS[drift]
            drifts.append(Option(drift, title, text.format(middle=middle, places=places)))
        scene = Scene(
            [name(feature) for feature in samples.features],
            labels,
            samples.view,
            self.steps,
            WINDOW,
            [_KINDS, _TREES, _AGGREGATION, Switch("Drift halfway", drifts)],
            {tuple(map(str, variant)): run for variant, run in self.runs.items()},
        )
        text = (
            f"A forest reads {n} samples one by one. It predicts the label of each from two"
            " features and then learns it. Press Play, or drag the slider, to see what it knows"
            " after some of them; the switches choose another forest, or a stream that drifts"
            " halfway."
        )
        return playground_page(f"Playground: {samples.title}", text, scene)

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
