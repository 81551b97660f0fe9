"""How functions are compiled: five decorators, and how compiled code gets a pointer.

Compiled code uses no Python objects. It keeps to IEEE semantics, without fastmath, because NaN
means missing. It also runs uncompiled (NUMBA_DISABLE_JIT=1).
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

CACHE_FOLDERS = [] if numba.config.DISABLE_JIT else cache.folders(numba.config.CACHE_DIR)

_njit = functools.partial(numba.njit, error_model="numpy")
# Without a wrapper for calls from Python, which halves the compile time.
_njit_helper = functools.partial(_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def kernel(function: F) -> F:
    """Compile a function that Python calls and that may take long: it releases the GIL."""
    return _cached(function, nogil=True)


def quick_kernel(function: F) -> F:
    """Compile a function that Python calls for one sample: it keeps the GIL."""
    # To release it costs 0.1 us, and to get it back up to 5 ms while another thread computes.
    return _cached(function, nogil=False)


def _cached(function: F, *, nogil: bool) -> F:
    """Compile a function and everything that it calls, and cache the result on disk."""
    compiled = _njit(function, nogil=nogil)
    if not numba.config.DISABLE_JIT:
        compiled._cache = cache.KernelCache(function, CACHE_FOLDERS)
    return cast(F, compiled)


def helper(function: F) -> F:
    """Compile a function that only kernels call."""
    return cast(F, _njit_helper(function))


def hot(function: F) -> F:
    """Compile a helper that runs for every sample, inlined into its callers."""
    return cast(F, _njit_helper(function, forceinline=True))


def view(function: F) -> F:
    """Insert the source of a helper into its callers, before compilation."""
    # This is for helpers that return tuples with records, which Numba does not support, and for a
    # long helper with one caller: optimizing it on its own took an eighth of the compile time.
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
