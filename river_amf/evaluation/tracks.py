"""Streams with four kinds of drift, built from river's generators.

`STREAMS` maps names to streams, `TRACKS` lists the streams of each kind of drift, and `BUNDLED`
names the datasets that come with river. All streams have labels:

- `sea_abrupt`: points labeled by whether x0 + x1 is greater than 8, 9, 7 and 9.5 in turn, with 10 %
  of the labels flipped. `sea_recurring`: thresholds 7 and 9.5, twice.
- `agrawal_abrupt`, `agrawal_gradual`: the first four rules for granting a loan.
- `stagger_abrupt`: the three rules about size, color and shape. `stagger_recurring`: the first and
  the last rule, twice.
- `led_gradual`: seven-segment digits with 9 % of the segments inverted, and 17 irrelevant features;
  1, 3, 5 and 7 of them swap places with segments.
- `rbf_moving`: 50 clusters with 4 labels, whose centers move by 0.001 per sample.
- `hyperplane_moving`: the two sides of a hyperplane whose 10 weights change by 0.001 per sample and
  reverse direction once in a thousand samples; 4 % of the labels are flipped.

A concept lasts 5,000 samples, each with its own seed; the moving streams drift throughout their
20,000 samples. A bundled dataset whose feature is a time has numbers instead: year and month, or
day, weekday and hour.
"""

import copy
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river.datasets import synth
from river.datasets.base import BINARY_CLF, SyntheticDataset

BUNDLED = (
    *("Bananas", "Phishing", "ImageSegments", "Shuttle"),
    *("AirlinePassengers", "ChickWeights", "SP500Stocks", "TrumpApproval", "WaterFlow"),
)
_PERIOD = 5_000  # samples
_WIDTH = 1_000  # samples


class DriftStream(SyntheticDataset):
    """A finite, reproducible stream of concepts: river's generators, each for `period` samples.

    If `width` is 0, the next concept takes over at once, otherwise gradually, as in river's
    `ConceptDriftStream`: near a drift at p, sample t (counted from 1) comes from the new concept
    with probability 1 / (1 + exp(-4 (t - p) / width)).
    """

    def __init__(
        self, name: str, concepts: Sequence[SyntheticDataset], period: int, width: int = 0
    ) -> None:
        first, n_samples = concepts[0], period * len(concepts)
        n_classes = 2 if first.task == BINARY_CLF else first.n_classes  # SEA has no number
        super().__init__(first.task, first.n_features, n_samples, n_classes, 1)  # type: ignore[no-untyped-call]
        self.name, self.period, self.width = name, period, width
        self.concepts = tuple(concepts)
        self.drifts = tuple(range(period, n_samples, period))

    def __iter__(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        """Yield the samples from the beginning; they are the same every time."""
        concepts = copy.deepcopy(self.concepts)  # so that two iterations can run at the same time
        if self.width == 0:
            return itertools.chain.from_iterable(c.take(self.period) for c in concepts)
        # Nested to the left, because then each drift is counted from the beginning of the stream.
        stream = concepts[0]
        for number, concept in enumerate(concepts[1:], start=1):
            stream = synth.ConceptDriftStream(
                stream, concept, position=number * self.period, width=self.width, seed=number
            )
        samples: Iterator[tuple[dict[Any, Any], Any]] = stream.take(self.n_samples)
        return samples


_sea = functools.partial(synth.SEA, noise=0.1)


def _led(n_swapped: int, seed: int) -> SyntheticDataset:
    return synth.LEDDrift(seed, 0.1, irrelevant_features=True, n_drift_features=n_swapped)


def _concepts(make: Callable[..., SyntheticDataset], *variants: int) -> list[SyntheticDataset]:
    """Return a generator for each variant, each with its own seed."""
    return [make(variant, seed=seed) for seed, variant in enumerate(variants, start=1)]


_RBF = synth.RandomRBFDrift(1, 1, n_classes=4, change_speed=0.001)
_HYPERPLANE = synth.Hyperplane(1, n_drift_features=10, mag_change=0.001, sigma=0.011)

_ALL = (
    DriftStream("sea_abrupt", _concepts(_sea, 0, 1, 2, 3), _PERIOD),
    DriftStream("agrawal_abrupt", _concepts(synth.Agrawal, 0, 1, 2, 3), _PERIOD),
    DriftStream("stagger_abrupt", _concepts(synth.STAGGER, 0, 1, 2), _PERIOD),
    DriftStream("agrawal_gradual", _concepts(synth.Agrawal, 0, 1, 2, 3), _PERIOD, _WIDTH),
    DriftStream("led_gradual", _concepts(_led, 1, 3, 5, 7), _PERIOD, _WIDTH),
    DriftStream("rbf_moving", [_RBF], 4 * _PERIOD),
    DriftStream("hyperplane_moving", [_HYPERPLANE], 4 * _PERIOD),
    DriftStream("sea_recurring", _concepts(_sea, 2, 3, 2, 3), _PERIOD),
    DriftStream("stagger_recurring", _concepts(synth.STAGGER, 0, 2, 0, 2), _PERIOD),
)
STREAMS = {stream.name: stream for stream in _ALL}
TRACKS = {
    kind: tuple(name for name in STREAMS if name.endswith(kind))
    for kind in ("abrupt", "gradual", "moving", "recurring")
}
