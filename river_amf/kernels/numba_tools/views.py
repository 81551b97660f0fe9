"""How compiled code gets at arrays, given the address of a record of their addresses and lengths.

A *view* of such a record has the arrays as its attributes, and is passed on as a single pointer,
which halves the time to compile (DESIGN.md: the arena).
"""

from __future__ import annotations

import ctypes
import functools
import operator
from collections.abc import Mapping
from typing import Any

import numba
import numpy as np
from numba import extending
from numba.core import cgutils, types
from numba.core.typing import arraydecl
from numba.core.typing.templates import AttributeTemplate, infer_global

from river_amf.state import layout

OF_TREES = {name: field for name, field in layout.FIELDS.items() if field.axes[0] == "tree"}


class UncompiledViews:
    """A view of a record of addresses, where nothing is compiled."""

    def __init__(self, address: int, views: Views) -> None:
        self.handle = uncompiled_array(address, (1,), views.dtype)[0]
        self.kind = views.kind
        self._fields = views.fields

    def __getattr__(self, name: str) -> Any:
        dtype, axes = self._fields[name][:2]
        shape = tuple(
            axis if isinstance(axis, int) else int(self.handle[f"{axis}_capacity"]) for axis in axes
        )
        array = uncompiled_array(self.handle[name], shape, dtype)
        array = array[0] if axes == (1,) else array
        setattr(self, name, array)
        return array


class UncompiledTree:
    """One tree's part of a forest, where nothing is compiled."""

    nodes: Any

    def __init__(self, forest: UncompiledViews, t: int, intensity: Any, given: Any) -> None:
        self.kind, self.settings = forest.kind, forest.settings
        self.state = forest.trees[t]
        self.t, self.intensity, self.given = t, intensity, given
        for name in OF_TREES:
            setattr(self, name, getattr(forest, name)[t])


def uncompiled_array(address: int, shape: tuple[int, ...], dtype: Any) -> Any:
    return numba.carray(ctypes.c_void_p(int(address)), tuple(map(int, shape)), dtype)


def uncompiled(value: Any, kind: types.Type) -> Any:
    """Return an argument of a kernel, which is a view if it is the address of one."""
    return UncompiledViews(value, kind) if isinstance(kind, Views) else value


class Views(types.Type):
    """The type of a view of a record; its value is the address of the record."""

    def __init__(
        self,
        name: str,
        record: np.dtype[Any],
        fields: Mapping[str, layout.Field],
        kind: int | None = None,
        *,
        is_constant: bool = True,
    ) -> None:
        # A record is constant if no call of a kernel changes its addresses and lengths.
        self.dtype = record
        self.record = numba.from_dtype(record)
        self.fields = fields
        self.kind = kind
        self.offsets = {name: record.fields[name][1] for name in record.names}  # type: ignore[index,union-attr]
        self.is_constant = is_constant
        super().__init__(name=name)


class TreeView(types.Type):
    """The type of one tree's part of a forest: the view of the forest, and which tree it is."""

    def __init__(self, forest: Views) -> None:
        self.forest, self.kind = forest, forest.kind
        super().__init__(name=f"Tree{forest.name}")


FORESTS = [Views(f"Forest{kind}", layout.HANDLE, layout.FIELDS, kind) for kind in layout.KINDS]
SAMPLES = Views("Samples", layout.BLOCK, layout.BLOCK_FIELDS)
OF_SAMPLES = {
    "t": types.intp,
    "intensity": types.Array(types.float64, 1, "C"),
    "given": types.Array(types.float64, 2, "C"),
}
extending.register_model(Views)(extending.models.OpaqueModel)


@extending.register_model(TreeView)
class _TreeModel(extending.models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, tree: TreeView) -> None:
        members = [("forest", tree.forest), *OF_SAMPLES.items()]
        super().__init__(manager, tree, members)


@extending.unbox(Views)
def _view_at(views: Views, address: Any, context: Any) -> extending.NativeValue:
    return extending.NativeValue(context.pyapi.long_as_voidptr(address))


def _type_of(field: layout.Field, n_fixed: int = 0) -> Any:
    """Return the type of an array, once its first axes have an index; of one record its own."""
    dtype = numba.from_dtype(np.dtype(field.dtype))
    return dtype if field.axes == (1,) else types.Array(dtype, len(field.axes) - n_fixed, "C")


@extending.infer_getattr
class _ViewsAttributes(AttributeTemplate):  # type: ignore[misc]
    key = Views

    def generic_resolve(self, views: Views, name: str) -> Any:
        if name == "handle":
            return views.record
        return _type_of(views.fields[name]) if name in views.fields else None


@extending.infer_getattr
class _TreeAttributes(AttributeTemplate):  # type: ignore[misc]
    key = TreeView

    def generic_resolve(self, tree: TreeView, name: str) -> Any:
        if name in OF_TREES:
            return _type_of(OF_TREES[name], 1)
        settings, state = numba.from_dtype(layout.SETTINGS), numba.from_dtype(layout.TREE)
        return ({"settings": settings, "state": state} | OF_SAMPLES).get(name)


@extending.lower_getattr_generic(Views)
def _array_in(context: Any, builder: Any, views: Views, address: Any, name: str) -> Any:
    if name == "handle":
        return builder.bitcast(address, context.get_value_type(views.record))
    first = _load(builder, views, address, name)
    kind = _type_of(views.fields[name])
    if isinstance(kind, types.Record):
        return builder.inttoptr(first, context.get_value_type(kind))
    lengths = _lengths(context, builder, views, address, views.fields[name])
    return _array(context, builder, kind, first, lengths)


@extending.lower_getattr_generic(TreeView)
def _array_of_tree(context: Any, builder: Any, tree: TreeView, value: Any, name: str) -> Any:
    parts = cgutils.create_struct_proxy(tree)(context, builder, value=value)
    if name in OF_SAMPLES:
        return getattr(parts, name)
    if name == "settings":
        return _array_in(context, builder, tree.forest, parts.forest, name)
    in_forest = "trees" if name == "state" else name
    field = layout.FIELDS[in_forest]
    lengths = _lengths(context, builder, tree.forest, parts.forest, field)[1:]
    kind = numba.from_dtype(np.dtype(field.dtype))
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind)))
    for length in lengths:
        size = builder.mul(size, length)
    first = _load(builder, tree.forest, parts.forest, in_forest)
    first = builder.add(first, builder.mul(parts.t, size))
    if name == "state":
        return builder.inttoptr(first, context.get_value_type(kind))
    return _array(context, builder, _type_of(field, 1), first, lengths)


def _load(builder: Any, views: Views, address: Any, name: str) -> Any:
    where = cgutils.pointer_add(builder, address, views.offsets[name], cgutils.intp_t.as_pointer())
    entry = builder.load(where)
    if views.is_constant:  # what is written elsewhere does not change it
        entry.set_metadata("invariant.load", builder.module.add_metadata([]))
    return entry


def _lengths(
    context: Any, builder: Any, views: Views, address: Any, field: layout.Field
) -> list[Any]:
    return [
        context.get_constant(types.intp, axis)
        if isinstance(axis, int)
        else _load(builder, views, address, f"{axis}_capacity")
        for axis in field.axes
    ]


def _array(context: Any, builder: Any, kind: Any, address: Any, lengths: list[Any]) -> Any:
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [context.get_constant(types.intp, itemsize)]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    # Numba's `populate_array` writes to memory, which takes twice the code.
    parts = {
        "nitems": functools.reduce(builder.mul, lengths),
        "itemsize": strides[-1],
        "data": builder.inttoptr(address, context.get_data_type(kind.dtype).as_pointer()),
        "shape": cgutils.pack_array(builder, lengths),
        "strides": cgutils.pack_array(builder, strides),
    }
    array = context.get_constant_null(kind)
    for name, part in parts.items():
        array = context.data_model_manager[kind].set(builder, array, part, name)
    return array


# What is for this target, Numba tries first, and not after some twenty other kinds of indexing.
_FIRST = {"metadata": {"target": "cpu"}}
infer_global(operator.getitem)(type("_GetItem", (arraydecl.GetItemBuffer,), _FIRST))
infer_global(operator.setitem)(type("_SetItem", (arraydecl.SetItemBuffer,), _FIRST))


@extending.intrinsic
def array_at(typingctx, address, shape, dtype):  # type: ignore[no-untyped-def]
    array = types.Array(dtype.dtype, len(shape), "C")
    lengths = types.UniTuple(types.intp, len(shape))  # type: ignore[attr-defined]

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _array(
            context, builder, array, arguments[0], cgutils.unpack_tuple(builder, arguments[1])
        )

    return array(types.intp, lengths, dtype), generate


@extending.intrinsic
def tree_of(typingctx, forest, t, intensity, given):  # type: ignore[no-untyped-def]
    """Return one tree's part of a forest, with its split intensities and those of a sample."""
    tree = TreeView(forest)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        members = cgutils.create_struct_proxy(tree)(context, builder)
        members.forest, members.t, members.intensity, members.given = arguments
        return members._getvalue()

    return tree(forest, *OF_SAMPLES.values()), generate
