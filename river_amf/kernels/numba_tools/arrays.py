"""The arrays as the kernels see them: views of those in `state`, not reference-counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from river_amf.kernels.numba_tools import IS_COMPILED, views
from river_amf.kernels.numba_tools.compilation import hot
from river_amf.kernels.numba_tools.views import UncompiledTree, UncompiledViews, Views
from river_amf.state.layout import N_TERM_ROWS

NONE = -1  # no node, box, row or tree to resume with; also the end of a list of rows
UNLISTED = -2  # the link of a row that no leaf of the tree keeps
NEVER = math.inf  # the split time of a node that is not split
LARGEST_FLOAT = 1.7976931348623157e308

# Types of annotations; arrays and records are those of `layout`.
Array = Any
Record = Any
Single = Any  # a float32
Word = Any  # a uint64 of which only the lower 32 bits are used
Forest = Any  # a view of the arrays of `layout.FIELDS`, and of the handle
Samples = Any  # the same for `layout.BLOCK_FIELDS`
# One tree's part of a forest: the arrays that have an axis of trees, its record `state`, the
# `settings`, its index `t`, its split `intensity`, and those `given` by the forest (`tree.gains`).
Tree = Any


tree_of: Any = views.tree_of if IS_COMPILED else UncompiledTree
array_at: Any = views.array_at if IS_COMPILED else views.uncompiled_array


def view_of(record: Views) -> Callable[[int], Any]:
    """Return the function from the address of a record to a view of it."""
    if not IS_COMPILED:
        return lambda address: UncompiledViews(address, record)

    @intrinsic
    def view(typingctx, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.inttoptr(arguments[0], context.get_value_type(record))

        return record(numba.types.intp), generate

    return view


@hot
def rows_of_sample(address: int, width: int) -> tuple[Array, Array, Array]:
    """Return the values of an encoded sample, and its two buffers (`learn_sample`)."""
    values = array_at(address, (3, width), np.float64)
    return values[0], values[1], values[2]


@hot
def output_of(address: int, forest: Forest) -> tuple[Array, Array, Array]:
    """Return the first of `layout.OUTPUT_FIELDS`: answer, version, sample seen."""
    at = forest.handle
    return (
        array_at(address, (forest.votes.shape[2],), np.float64),
        array_at(address + at["made_at_offset"], (1,), np.float64),
        array_at(address + at["seen_offset"], (forest.intensity.shape[1],), np.float64),
    )


@hot
def inputs_of(address: int, forest: Forest) -> tuple[Array, Array, Array, Array]:
    """Return the others: standardized sample, inputs of both kinds of models, terms of trends."""
    at = forest.handle
    standardized = at["standardized_row_capacity"], forest.intensity.shape[1]
    additive_inputs = at["additive_row_capacity"], at["common_input_capacity"]
    terms = at["fit_capacity"], N_TERM_ROWS, at["trend_input_capacity"]
    return (
        array_at(address + at["standardized_offset"], standardized, np.float64),
        array_at(address + at["inputs_offset"], (at["input_capacity"],), np.float64),
        array_at(address + at["additive_inputs_offset"], additive_inputs, np.float64),
        array_at(address + at["terms_offset"], terms, np.float64),
    )


@hot
def unsigned(index: int) -> int:
    """Return a non-negative index as unsigned, which saves the check for a negative one."""
    return np.uint64(index)  # type: ignore[return-value]


@hot
def dot(a: Array, b: Array, n: int) -> float:
    """Return the scalar product of the first n values, in four sums added at once."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for k in range(0, whole, 4):
        i0, i1, i2, i3 = unsigned(k), unsigned(k + 1), unsigned(k + 2), unsigned(k + 3)
        s0 += a[i0] * b[i0]
        s1 += a[i1] * b[i1]
        s2 += a[i2] * b[i2]
        s3 += a[i3] * b[i3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)
