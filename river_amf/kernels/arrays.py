"""The arrays as the kernels see them: views of the arrays in `state`, made from their addresses.

These views are not reference-counted, as Python keeps the arrays alive during a call. Counting
references, for each view and each time it is passed to a function, took half the time of a walk.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from river_amf.kernels.compilation import hot, view
from river_amf.kernels.views import TreeView, Views, array_at, view_of
from river_amf.layout import BLOCK, BLOCK_FIELDS, FIELDS, HANDLE, PARTS, Field

NONE = -1  # no node, box, row or tree to resume with; also the end of a list of rows
UNLISTED = -2  # the link of a row that no leaf of the tree keeps
NEVER = math.inf  # the split time of a node that is not split
LARGEST_FLOAT = 1.7976931348623157e308

# Types for the reader; arrays and records are those of `layout`.
Array = Any
Record = Any
Word = Any  # a uint64 of which only the lower 32 bits are used


Forest = Any  # a view of the arrays of `layout.FIELDS`, and of the handle
Samples = Any  # the same for `layout.BLOCK_FIELDS`
# One tree's part of a forest: the arrays that have an axis of trees, its record `state`, the
# `settings`, and the split `intensity` at the time of the sample that is being learned.
Tree = Any

_PARTS = {"parts": Field(np.int64, (len(PARTS),))}
FOREST = Views(HANDLE, FIELDS | _PARTS)
TREE = TreeView(FOREST)
forest_of = view_of(FOREST)
samples_of = view_of(Views(BLOCK, BLOCK_FIELDS))


@view
def sample_of(address: int, width: int) -> Array:
    """The (3, n_features) values of an encoded sample."""
    return array_at(address, (3, width), np.float64)


@hot
def output_of(address: int, forest: Forest) -> tuple[Array, Array, Array]:
    """The arrays of `state.Room`: the forest's answer, the votes, and the sample seen."""
    # The votes are as those of the forest. The sample comes after the version of the forest.
    n_voters, width = forest.votes.shape[0], forest.votes.shape[2]
    votes = address + 8 * width
    seen = votes + 8 * n_voters * width
    return (
        array_at(address, (width,), np.float64),
        array_at(votes, (n_voters, 1, width), np.float64),
        array_at(seen, (1 + forest.intensity.shape[1],), np.float64),
    )


@hot
def inputs_of(address: int, forest: Forest) -> tuple[Array, Array]:
    """More arrays of `state.Room`: the standardised sample, and the inputs of the voices."""
    n_voters, width = forest.votes.shape[0], forest.votes.shape[2]
    n_paces, n_features = len(forest.standards), forest.intensity.shape[1]
    standardised = address + 8 * ((1 + n_voters) * width + 1 + n_features)
    inputs = standardised + 8 * n_paces * n_features
    shape = forest.inputs.shape
    return (
        array_at(standardised, (n_paces, n_features), np.float64),
        array_at(inputs, (shape[0], shape[1], shape[2]), np.float64),
    )


@view
def terms_of(output: int, forest: Forest) -> Array:
    """One more array of `state.Room`: the terms that the trends hear, instead of voices."""
    n_voters, width = forest.votes.shape[0], forest.votes.shape[2]
    n_paces, n_features = len(forest.standards), forest.intensity.shape[1]
    terms = output + 8 * ((1 + n_voters) * width + 1 + (1 + n_paces) * n_features)
    return array_at(terms, (4, forest.terms.shape[2]), np.float64)


@hot
def unsigned(index: int) -> int:
    """An index known not to be negative, which saves the check whether it counts from the end."""
    return np.uint64(index)  # type: ignore[return-value]
