"""Checks of the arrays that only regressors have, as in `soundness`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.layout import FADED_COUNTS, MEAN, SQUARES
from river_amf.persistence.soundness import check_statistics, demand, lies

Array = NDArray[Any]

_ANY = kernels.LARGEST_FLOAT  # any finite number
_FACTOR = 1e300  # up to this, products with counts and sums stay finite
_FARTHEST = 1e110  # of targets and their means, so that their squares stay finite
_NEWEST = 2 * kernels.LARGEST_NEWEST  # weight of the newest sample
_LARGEST_COUNT = 2**62


def check(arrays: dict[str, Array]) -> None:
    """Raise FileError if the kernels could not work on what a forest keeps of targets.

    >>> from river_amf import AMFRegressor
    >>> model = AMFRegressor()
    >>> model.learn_one({"length": 2.5}, 12.0)
    >>> arrays = model._arena.used_arrays()
    >>> check(arrays)
    >>> arrays["errors"][0] = -1.0
    >>> check(arrays)
    Traceback (most recent call last):
    river_amf.persistence.errors.FileError: is damaged: its errors of the forest cannot be right
    """
    # The shapes have been checked.
    trees, faded = arrays["trees"], arrays["faded"]
    for name in ("variance", "error_weight", "error_squares"):
        demand(lies(trees[name], 0, _FARTHEST**2), "errors of trees")
    demand(lies(arrays["errors"], 0, _FACTOR), "errors of the forest")
    for t, n_nodes in enumerate(trees["n_nodes"].tolist()):
        _check_moments(arrays["targets"][t, :n_nodes], "targets")
        if faded.shape[2]:
            _check_moments(faded[t, :n_nodes, FADED_COUNTS:], "faded targets")
    check_statistics(arrays["residual_features"])
    demand(lies(arrays["residual_moments"], -_ANY, _ANY), "moments of features")
    for name in ("buckets", "residual_buckets", "profiles"):
        _check_means(arrays[name], "profiles" if name == "profiles" else "buckets of features")
    _check_counters(arrays["counters"])
    _check_trends(arrays)
    _check_stacks(arrays)


def _check_moments(moments: Array, what: str) -> None:
    """Check means and sums of squares."""
    demand(lies(moments[:, MEAN], -_FARTHEST, _FARTHEST), f"means of {what}")
    demand(lies(moments[:, SQUARES], 0, _ANY), f"squares of {what}")


def _check_means(means: Array, what: str) -> None:
    """Check weights and the means of the targets that they belong to."""
    demand(lies(means[..., :1], 0, _ANY), what)
    demand(lies(means[..., 1:], -_FARTHEST, _FARTHEST), what)


def _check_counters(counters: Array) -> None:
    """Check what is known of all targets, and of recent errors."""
    least, largest = counters["least_target"], counters["largest_target"]
    demand(lies(least, -_FARTHEST, 0) and lies(largest, 0, _FARTHEST), "range of targets")
    demand(lies(counters["target_mean"], -_FARTHEST, _FARTHEST), "mean of targets")
    for name in ("target_weight", "target_squares", "fast_weight", "slow_weight"):
        demand(lies(counters[name], 0, _FACTOR), "sums of targets and errors")
    for name in ("fast_errors", "slow_errors"):
        demand(lies(counters[name], -_FACTOR, _FACTOR), "sums of targets and errors")
    demand(lies(counters["newest_profile"], 1, _NEWEST), "weight of the newest target")


def _check_trends(arrays: dict[str, Array]) -> None:
    trends = arrays["trends"]
    demand(lies(trends["newest_weight"], 1, _NEWEST), "weights of the newest sample in trends")
    demand(lies(trends["n_learned"], 0, _LARGEST_COUNT), "samples of trends")
    for trend, name in zip(trends, ("fast", "smooth"), strict=False):
        sums, n_terms = arrays[f"{name}_sums"], arrays[name].shape[1]
        demand(0 <= trend["next_term"] < n_terms, "next terms of trends")
        demand(lies(sums, -_FACTOR, _FACTOR), "sums of trends")
        demand((np.diagonal(sums, axis1=1, axis2=2) >= 0).all(), "sums of trends")
        for of in (name, f"{name}_rests"):
            demand(lies(arrays[of], -_FACTOR, _FACTOR), "coefficients of trends")


def _check_stacks(arrays: dict[str, Array]) -> None:
    stacks, sums = arrays["stacks"], arrays["stack_sums"]
    demand(lies(stacks["n_learned"], 0, _LARGEST_COUNT), "samples of stacks")
    demand(lies(stacks["weight"], 0, _FACTOR), "errors of stacks")
    demand(lies(stacks["error_squares"], 0, _FARTHEST**2), "errors of stacks")
    demand(lies(sums, -_FACTOR, _FACTOR), "sums of stacks")
    demand((np.diagonal(sums, axis1=1, axis2=2) >= 0).all(), "sums of stacks")
    for name in ("stack_products", "stack_weights"):
        demand(lies(arrays[name], -_FACTOR, _FACTOR), "weights of stacks")
