"""Small streams of two features whose shape is known: moons, circles, blobs, a line, spirals.

All labels come in random order from the first sample on, as a stream brings them. The shapes of
moons, circles and blobs are those of scikit-learn's `make_moons`, `make_circles` and `make_blobs`.
Each function returns points (n_samples, 2) and labels (n_samples,), from 0. `noise` is the standard
deviation of the normal noise that is added to each feature; ValueError if it is negative.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Toy = tuple[NDArray[np.float64], NDArray[np.int64]]

_INNER = 0.5  # radius of the inner circle
_CENTERS = np.array([[-1.0, -0.6], [1.0, -0.6], [0.0, 1.1]])
_TURNS = 1.5  # of an arm of the spiral around the centre


def moons(n_samples: int, *, noise: float = 0.25, seed: int | None = None) -> Toy:
    """Return two half circles that reach into each other, the upper one (0) and the lower (1)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n_samples)
    angle = rng.uniform(0.0, np.pi, n_samples)
    across, up = np.cos(angle), np.sin(angle)
    points = np.where(labels == 0, [across, up], [1.0 - across, 0.5 - up]).T
    return points + rng.normal(0.0, noise, points.shape), labels


def circles(n_samples: int, *, noise: float = 0.15, seed: int | None = None) -> Toy:
    """Return a circle of radius 1 (0), and within it one of half that radius (1)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n_samples)
    angle = rng.uniform(0.0, 2.0 * np.pi, n_samples)
    points = _around(np.where(labels == 0, 1.0, _INNER), angle)
    return points + rng.normal(0.0, noise, points.shape), labels


def blobs(n_samples: int, *, noise: float = 0.5, seed: int | None = None) -> Toy:
    """Return three clouds of normal points: lower left (0), lower right (1) and above (2)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(len(_CENTERS), size=n_samples)
    return _CENTERS[labels] + rng.normal(0.0, noise, (n_samples, 2)), labels


def linear(n_samples: int, *, noise: float = 0.3, seed: int | None = None) -> Toy:
    """Return normal points: 1 where the sum of features and noise is positive, otherwise 0."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_samples, 2))
    moved = points.sum(axis=1) + rng.normal(0.0, noise, n_samples)
    return points, (moved > 0.0).astype(np.int64)


def spiral(n_samples: int, *, noise: float = 0.04, seed: int | None = None) -> Toy:
    """Return the two arms of a spiral, hard for splits along the axes: 1 is 0 after half a turn."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n_samples)
    radius = np.sqrt(rng.uniform(0.01, 1.0, n_samples))  # as dense outside as inside
    points = _around(radius, np.pi * (2.0 * _TURNS * radius + labels))
    return points + rng.normal(0.0, noise, points.shape), labels


def _around(radius: NDArray[np.float64], angle: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


TOYS: dict[str, Callable[..., Toy]] = {
    toy.__name__: toy for toy in (moons, circles, blobs, linear, spiral)
}
