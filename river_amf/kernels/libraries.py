"""Less work for Numba: machine code is made of kernels only, and no longer of each helper as well.

Numba compiles every function on its own: it links in the functions that this one calls, optimizes
the whole, and generates machine code. Of a helper that only other compiled code calls, nothing of
that is needed, as its caller does it all again. Here, helpers stay as they come from Numba; a
kernel links in all that it needs at once, and then is optimized.

This builds on internals of Numba, which differ between its versions: `tests/tools/test_warm_up.py`
fails where they no longer fit.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager

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
        """What Numba calls to tell machine code its globals, of which there are none."""
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
