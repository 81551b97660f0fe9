"""How compiled code gets at arrays, given addresses: views that cost nothing until they are used.

Python passes the address of a record of addresses and lengths, such as the handle of an arena. A
*view* of such a record has the arrays as its attributes. Compiled code passes a view on as a single
pointer, and reads the address and the lengths of an array when it uses it. So functions have few
arguments, which halves the time to compile them; and arrays are not reference-counted, as Python
keeps them alive during a call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import models, register_model

from river_amf.state.layout import FIELDS, Field

OF_TREES = {name: field for name, field in FIELDS.items() if field.axes[0] == "tree"}

# -------------------------------------------------------------------------------- without compiling


class UncompiledViews:
    """A view of a record of addresses, where nothing is compiled."""

    def __init__(self, address: int, views: Views) -> None:
        self.handle = uncompiled_array(address, (1,), views.dtype)[0]
        self._fields = views.fields

    def __getattr__(self, name: str) -> Any:
        dtype, axes = self._fields[name][:2]
        shape = tuple(
            axis if isinstance(axis, int) else int(self.handle[f"{axis}_capacity"]) for axis in axes
        )
        array = uncompiled_array(self.handle[name], shape, dtype)
        setattr(self, name, array)
        return array


class UncompiledTree:
    """One tree's part of a forest, where nothing is compiled."""

    nodes: Any

    def __init__(self, forest: UncompiledViews, t: int, intensity: Any) -> None:
        self.settings = forest.settings[0]
        self.state = forest.trees[t]
        self.intensity = intensity
        for name in OF_TREES:
            setattr(self, name, getattr(forest, name)[t])


def uncompiled_array(address: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return the array of this shape and dtype at an address."""
    return numba.carray(ctypes.c_void_p(int(address)), tuple(map(int, shape)), dtype)


# --------------------------------------------------------------------------------- in compiled code


class Views(types.Type):
    """The type of a view of a record; its value is the address of the record."""

    def __init__(
        self, record: np.dtype[Any], fields: Mapping[str, Field], *, is_constant: bool = True
    ) -> None:
        # A record is constant if no call of a kernel changes its addresses and lengths.
        self.dtype = record
        self.record = numba.from_dtype(record)
        self.fields = fields
        self.offsets = {name: record.fields[name][1] for name in record.names}  # type: ignore[index,union-attr]
        self.is_constant = is_constant
        super().__init__(name=f"Views({', '.join(fields)})")


class TreeView(types.Type):
    """The type of one tree's part of a forest: the view of the forest, and which tree it is."""

    def __init__(self, forest: Views) -> None:
        self.forest = forest
        super().__init__(name="TreeView")


INTENSITY = types.Array(types.float64, 1, "C")
register_model(Views)(models.OpaqueModel)


@register_model(TreeView)
class _TreeModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, tree: TreeView) -> None:
        members = [("forest", tree.forest), ("t", types.intp), ("intensity", INTENSITY)]
        super().__init__(manager, tree, members)
