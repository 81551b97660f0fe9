"""How helpers are compiled: halfway, as kernels include their code (DESIGN.md: compiled code)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numba
from llvmlite.binding import Linkage, parse_assembly
from numba.core import codegen
from numba.core.compiler import Compiler
from numba.core.targetconfig import ConfigStack

# The versions of Numba with which test_forest_is_the_same_in_both_ways has run.
IS_ON = numba.version_info.short in {(0, 61), (0, 68)}
IS_ON = IS_ON and "RIVER_AMF_ORDINARY_COMPILER" not in os.environ

# Passes for closures, overloads and array expressions, which helpers do not have.
_UNUSED = {"DeadBranchPrune", "InlineClosureLikes", "InlineOverloads", "NopythonRewrites"}

_Library: Any = getattr(codegen, "JITCodeLibrary", object)


class _HelperLibrary(_Library):  # type: ignore[misc]
    _final_module: Any

    def _optimize_final_module(self) -> None:
        """Leave the code as it is."""

    def _finalize_final_module(self) -> None:
        """Make machine code of the variables only that Numba sets."""
        whole = self._final_module
        names = [each.name for each in whole.global_variables if each.linkage == Linkage.common]
        text = "\n".join(f'@"{name}" = common global i64 0' for name in names)
        self._final_module = parse_assembly(text)
        super()._finalize_final_module()
        self._final_module = whole


class _HelperCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler without what helpers do not need."""

    def define_pipelines(self) -> Any:
        # Numba's own functions, such as `max`, are not compiled again for those that are inlined.
        ConfigStack().top().forceinline = False
        state = self.state
        state.library = _HelperLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        managers = super().define_pipelines()
        for manager in managers:
            manager.passes[:] = (each for each in manager.passes if each[0].__name__ not in _UNUSED)
        return managers


OPTIONS = {"pipeline_class": _HelperCompiler} if IS_ON else {}


def turn_off(functions: Iterable[Any]) -> None:
    """Let functions be compiled in the ordinary way, and anew."""
    global IS_ON
    IS_ON = False
    for each in functions:
        each._compiler = type(each)(each.py_func, each.locals, each.targetoptions)._compiler
        each.overloads.clear()
