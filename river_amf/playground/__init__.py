"""Forests that learn two features, step by step, as a page with a slider."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from river_amf.pages.document import Page
from river_amf.pages.playground import (
    Option,
    Run,
    Scene,
    Switch,
    playground_page,
)
from river_amf.parameters import integer
from river_amf.playground.samples import (
    LEAST_SAMPLES,
    MOST_SAMPLES,
    NO_DRIFT,
    SWAP,
    TURN,
    Samples,
    read_samples,
)
from river_amf.playground.snapshots import (
    ADAPTIVE,
    PLAIN,
    WINDOW,
    WITH,
    WITHOUT,
    Variant,
    run_all,
)
from river_amf.wording import name

__all__ = ["Playground", "playground"]

_MOST_STEPS, _MOST_POINTS = 100, 100
_MOST_MOVES = 3  # of labels that are told

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
            " well each has predicted so far. So small cells are heard where they have proved"
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
    """Forests along a stream of two features, and the page that shows them.

    `playground` makes it.

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
    runs: dict[Variant, Run] = field(repr=False)

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
            title, told = _DRIFTS[drift]
            drifts.append(Option(drift, title, told.format(middle=middle, places=places)))
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

        Parameters
        ----------
        path
            Where to write it.

        Raises
        ------
        ImportError
            If plotly is missing (the extra `html`).
        OSError
            If the file cannot be written.

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


def playground(
    samples: Any = "moons",
    *,
    n_samples: int = 1000,
    features: Sequence[Hashable] | None = None,
    n_steps: int = 50,
    resolution: int = 60,
    seed: int | None = None,
) -> Playground:
    """Let forests learn two features, and return a page on which a slider steps through it.

    For each step, the page shows what the forest predicts over both features, the cells of one
    tree, which depth of the trees answers, and the accuracy so far. Switches choose between
    `AMFClassifier` and `AdaptiveAMFClassifier`, one tree and ten, with and without aggregation, and
    a drift in the middle: labels that swap, or a shape that turns.

    Parameters
    ----------
    samples
        A toy: `"moons"`, `"circles"`, `"blobs"`, `"linear"` or `"spiral"`. Or whatever
        `evaluation.compare` takes: the name of a stream, the path of a file, a dataframe with the
        labels, `(X, y)`, or an iterable of pairs (features, label).
    n_samples
        Number of samples, from 20 to 3000; of a longer stream, the first ones are taken.
    features
        Names of the features for the horizontal and the vertical axis, for streams that have more
        than two. Samples that lack one of them, or their label, are left out.
    n_steps
        Number of positions of the slider, from 2 to 100. They are closer together at first and
        after a drift.
    resolution
        Number of points along each axis for which the forest predicts, from 2 to 100.
    seed
        Seed for reproducible samples and forests.

    Returns
    -------
    Playground
        What was seen of the forests, and the page: `save(path)` writes it.

    Raises
    ------
    ValueError
        If a parameter is out of its bounds; if there are not two numeric features, at least 20
        samples and two to six labels; or if there is no such toy, stream or file.

    Examples
    --------
    >>> from river_amf import plot
    >>> bananas = plot.playground("Bananas", n_samples=60, n_steps=4, resolution=8, seed=1)
    >>> bananas.samples.features, bananas.samples.labels
    (('1', '2'), [False, True])
    >>> len(bananas.runs)  # two forests, one tree or ten, with aggregation or not, three streams
    24
    """
    integer(LEAST_SAMPLES, MOST_SAMPLES)("n_samples", n_samples)
    integer(2, _MOST_STEPS)("n_steps", n_steps)
    integer(2, _MOST_POINTS)("resolution", resolution)
    integer(0, optional=True)("seed", seed)
    read = read_samples(samples, int(n_samples), features, seed)
    steps, runs = run_all(read, int(n_steps), int(resolution), seed)
    return Playground(read, steps, runs)
