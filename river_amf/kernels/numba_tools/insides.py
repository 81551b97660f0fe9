"""What builds on the insides of Numba, to compile in half the time; the rest is `plain` Numba.

Libraries: Numba compiles every function on its own. It links in the functions that this one calls,
optimizes the whole, and generates machine code. Of a helper that only other compiled code calls,
nothing of that is needed, as its caller does it all again. Here, helpers stay as they come from
Numba; a kernel links in all that it needs at once, and then is optimized.

Views, arrays and parts: an attribute of a view, or a call of a part, is a few instructions, instead
of a function or of all the code of the part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global
from numba.extending import infer_getattr, intrinsic, lower_builtin, lower_getattr_generic
from numba.np import arrayobj

from river_amf.kernels.numba_tools.views import INTENSITY, OF_TREES, TreeView, Views
from river_amf.state.layout import FIELDS, PARTS, SETTINGS, TREE, Field

# -------------------------------------------------------------------------------------- libraries

# Passes of Numba for closures, array expressions and the like, a twentieth of the time.
_UNUSED = {
    "DeadBranchPrune",
    "FindLiterallyCalls",
    "InlineClosureLikes",
    "InlineOverloads",
    "LiteralPropagationSubPipelinePass",
    "LiteralUnroll",
    "MakeFunctionToJitFunction",
    "NopythonRewrites",
    "RewriteDynamicRaises",
    "RewriteSemanticConstants",
    "WithLifting",
}


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel, with that of all functions that it calls."""

    def add_linking_library(self, library: Any) -> None:
        """Link in a library, and those that it has not linked in itself."""
        # Callers come before what they call, as the linker drops what nothing refers to.
        for each in (library, *getattr(library, "not_linked", ())):
            if not any(each is other for other in self._linking_libraries):
                super().add_linking_library(each)


class HelperLibrary(KernelLibrary):
    """The code of a helper, as Numba generates it."""

    @property
    def not_linked(self) -> list[Any]:
        """The libraries of the functions that it calls, directly or not."""
        return self._linking_libraries

    @property
    def codegen(self) -> Any:
        """The object by which Numba tells machine code its globals, of which there are none."""
        return _NoGlobals

    def finalize(self) -> None:
        """Leave everything to the kernels."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        return 0


class _NoGlobals:
    @staticmethod
    def set_env(name: str, environment: object) -> None:
        """Do nothing."""


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler, with a library of our own."""

    library: Any = KernelLibrary

    def define_pipelines(self) -> list[Any]:
        """Return Numba's pipeline, without the passes for what kernels do not use."""
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        manager = PassManager("kernel")
        for each in DefaultPassBuilder.define_nopython_pipeline(state).passes:
            if each[0].__name__ not in _UNUSED:
                manager.passes.append(each)
        manager.finalize()
        return [manager]


class HelperCompiler(KernelCompiler):
    """The same for helpers."""

    library = HelperLibrary


# -------------------------------------------------------------------------- views, arrays and parts


def _type_of(field: Field, n_fixed: int = 0) -> Any:
    """Return the type of an array, once its first axes have an index."""
    dtype = numba.from_dtype(np.dtype(field.dtype))
    return types.Array(dtype, len(field.axes) - n_fixed, "C")


@infer_getattr
class _ViewsAttributes(AttributeTemplate):  # type: ignore[misc]
    key = Views

    def generic_resolve(self, views: Views, name: str) -> Any:
        if name == "handle":
            return views.record
        return _type_of(views.fields[name]) if name in views.fields else None


@infer_getattr
class _TreeAttributes(AttributeTemplate):  # type: ignore[misc]
    key = TreeView

    def generic_resolve(self, tree: TreeView, name: str) -> Any:
        own = {
            "settings": numba.from_dtype(SETTINGS),
            "state": numba.from_dtype(TREE),
            "intensity": INTENSITY,
        }
        if name in own:
            return own[name]
        return _type_of(OF_TREES[name], 1) if name in OF_TREES else None


@lower_getattr_generic(Views)
def _array_in(context: Any, builder: Any, views: Views, address: Any, name: str) -> Any:
    """Generate the code for an attribute of a view."""
    if name == "handle":
        return builder.bitcast(address, context.get_value_type(views.record))
    first = _load(builder, views, address, name)
    lengths = _lengths(context, builder, views, address, views.fields[name])
    return _array(context, builder, _type_of(views.fields[name]), first, lengths)


@lower_getattr_generic(TreeView)
def _array_of_tree(context: Any, builder: Any, tree: TreeView, value: Any, name: str) -> Any:
    """Generate the code for an attribute of a tree."""
    parts = cgutils.create_struct_proxy(tree)(context, builder, value=value)
    if name == "intensity":
        return parts.intensity
    if name == "settings":
        first = _load(builder, tree.forest, parts.forest, name)
        return builder.inttoptr(first, context.get_value_type(numba.from_dtype(SETTINGS)))
    in_forest = "trees" if name == "state" else name
    field = FIELDS[in_forest]
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
    """Generate the code to read an entry of a record."""
    place = cgutils.pointer_add(builder, address, views.offsets[name], cgutils.intp_t.as_pointer())
    entry = builder.load(place)
    if views.is_constant:  # what is written elsewhere does not change it
        entry.set_metadata("invariant.load", builder.module.add_metadata([]))
    return entry


def _lengths(context: Any, builder: Any, views: Views, address: Any, field: Field) -> list[Any]:
    """Generate the code to read the lengths of an array."""
    return [
        context.get_constant(types.intp, axis)
        if isinstance(axis, int)
        else _load(builder, views, address, f"{axis}_capacity")
        for axis in field.axes
    ]


def _array(context: Any, builder: Any, kind: Any, address: Any, lengths: list[Any]) -> Any:
    """Generate the code for an array at an address."""
    array = arrayobj.make_array(kind)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [context.get_constant(types.intp, itemsize)]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    first = builder.inttoptr(address, array.data.type)
    arrayobj.populate_array(array, first, lengths, strides, itemsize, meminfo=None)
    return array._getvalue()


@intrinsic
def array_at(typingctx, address, shape, dtype):  # type: ignore[no-untyped-def]
    """Return the array of this shape and dtype at an address."""
    array = types.Array(dtype.dtype, len(shape), "C")
    lengths = types.UniTuple(types.intp, len(shape))  # type: ignore[attr-defined]

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _array(
            context, builder, array, arguments[0], cgutils.unpack_tuple(builder, arguments[1])
        )

    return array(types.intp, lengths, dtype), generate


def caller_of(name: str, returns: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return what kernels call in place of a part."""

    def call(*values: Any) -> Any:
        raise TypeError(f"{name} can be called by compiled code only")

    class _Template(AbstractTemplate):  # type: ignore[misc]
        key = call

        def generic(self, given: Any, named: Any) -> Any:
            return signature(returns, *arguments)

    infer_global(call, types.Function(_Template))

    @lower_builtin(call, *arguments)
    def _generate(context: Any, builder: Any, types_: Any, values: Any) -> Any:
        forest: Views = arguments[0]
        where = cgutils.pointer_add(
            builder, values[0], forest.offsets["parts"], cgutils.intp_t.as_pointer()
        )
        table = builder.load(where)
        entry = builder.add(table, context.get_constant(types.intp, 8 * PARTS.index(name)))
        address = builder.load(builder.inttoptr(entry, cgutils.intp_t.as_pointer()))
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, address)):
            text = f"{name} is not compiled: no call of compile_for came before"
            context.call_conv.return_user_exc(builder, RuntimeError, (text,))
        kind = context.call_conv.get_function_type(returns, arguments)
        function = builder.inttoptr(address, kind.as_pointer())
        status, result = context.call_conv.call_function(
            builder, function, returns, arguments, values
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return call
