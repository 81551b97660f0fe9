"""How functions are compiled: four decorators, and how compiled code takes an address.

No Python objects, the GIL released, IEEE semantics without fastmath, as NaN means missing. What is
compiled runs uncompiled as well (NUMBA_DISABLE_JIT=1).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.extending import intrinsic

from river_amf.kernels import cache

F = TypeVar("F", bound=Callable[..., Any])

CACHE_FOLDER = "" if numba.config.DISABLE_JIT else cache.folder(numba.config.CACHE_DIR)

_njit = functools.partial(numba.njit, error_model="numpy", nogil=True)
# Without a wrapper for Python, which halves the time to compile.
_njit_helper = functools.partial(_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def kernel(function: F) -> F:
    """Compile a function that Python calls; it is cached on disk with all that it calls.

    Numba asks for the folder when a function is decorated, and never again: it is ours for that
    long, and for other packages what it was.
    """
    if not CACHE_FOLDER:
        return cast(F, _njit(function))
    # of the classes that look for a folder the user may have named some that do not look here
    ours: dict[str, Any] = {"CACHE_DIR": CACHE_FOLDER, "CACHE_LOCATOR_CLASSES": ""}
    before = {name: getattr(numba.config, name, None) for name in ours}
    try:
        for name, value in ours.items():
            setattr(numba.config, name, value)
        return cast(F, _njit(function, cache=True))
    finally:
        for name, value in before.items():
            setattr(numba.config, name, value)


def helper(function: F) -> F:
    """Compile a function that only kernels call."""
    return cast(F, _njit_helper(function))


def hot(function: F) -> F:
    """Compile a helper that every sample runs through, into its callers."""
    return cast(F, _njit_helper(function, forceinline=True))


def view(function: F) -> F:
    """Let the source of a helper stand in its callers.

    For what returns records, which Numba cannot; and for a long helper of one caller, which would
    be optimised by itself first: that took an eighth of all compiling.
    """
    return cast(F, _njit_helper(function, inline="always"))


if numba.config.DISABLE_JIT:

    def pointer(address: int) -> Any:
        """Return an address as a pointer."""
        return ctypes.c_void_p(int(address))

else:

    @intrinsic
    def pointer(typingctx, address):  # type: ignore[no-untyped-def]
        """Return an address as a pointer."""

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return numba.types.voidptr(address), generate
