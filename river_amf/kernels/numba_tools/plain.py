"""Views, arrays and parts in plain Numba, through the interface that it has for extensions.

Each attribute of a view is a function, and each part is compiled into the kernels that call it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, make_attribute_wrapper, overload_attribute

from river_amf.kernels.numba_tools.views import OF_TREES, TreeView, Views


@intrinsic
def _entry(typingctx, view, offset):  # type: ignore[no-untyped-def]
    """Return the entry of a record at an offset."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        first = builder.ptrtoint(arguments[0], cgutils.intp_t)
        place = builder.add(first, arguments[1])
        return builder.load(builder.inttoptr(place, cgutils.intp_t.as_pointer()))

    return types.intp(view, types.intp), generate


@intrinsic
def _pointer_to(typingctx, place):  # type: ignore[no-untyped-def]
    """Return an address, or a view, as a pointer."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        is_view = isinstance(place, Views)
        cast = builder.bitcast if is_view else builder.inttoptr
        return cast(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(place if isinstance(place, Views) else types.intp), generate


@numba.njit
def array_at(address: Any, shape: Any, dtype: Any) -> Any:
    """Return the array of this shape and dtype at an address."""
    return numba.carray(_pointer_to(address), shape, dtype)


def define_attributes(views: Views) -> None:
    """Define the attributes of a view."""
    _define(views, "handle", "array_at(view, (1,), dtype)[0]", views.dtype)
    for name, field in views.fields.items():
        entries = [name, *(f"{axis}_capacity" for axis in field.axes)]
        reads = [f"_entry(view, {views.offsets.get(entry)})" for entry in entries]
        lengths = [
            str(axis) if isinstance(axis, int) else read
            for axis, read in zip(field.axes, reads[1:], strict=True)
        ]
        array = f"array_at({reads[0]}, ({', '.join(lengths)},), dtype)"
        _define(views, name, array, field.dtype)


def _define(kind: Any, name: str, value: str, dtype: Any = None) -> None:
    """Define an attribute of a type, given its value as an expression of `view`."""
    known = {"array_at": array_at, "_entry": _entry, "dtype": np.dtype(dtype)}
    exec(f"def made(view):\n    return lambda view: {value}", known)
    overload_attribute(kind, name)(known["made"])


for each in ("forest", "t", "intensity"):
    make_attribute_wrapper(TreeView, each, each)
_define(TreeView, "settings", "view.forest.settings[0]")
_define(TreeView, "state", "view.forest.trees[view.t]")
for each in OF_TREES.keys() - {"trees"}:
    _define(TreeView, each, f"view.forest.{each}[view.t]")
