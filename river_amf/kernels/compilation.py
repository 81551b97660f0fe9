"""How functions are compiled: the decorators.

Compiled code uses no Python objects. It keeps to IEEE semantics, without fastmath, because NaN
means missing. It also runs uncompiled (NUMBA_DISABLE_JIT=1).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.compiler_lock import global_compiler_lock

from river_amf.kernels import cache
from river_amf.kernels.libraries import HelperCompiler, KernelCompiler

F = TypeVar("F", bound=Callable[..., Any])

COMPILER = global_compiler_lock  # whoever compiles holds it
CACHE_FOLDERS = [] if numba.config.DISABLE_JIT else cache.folders(numba.config.CACHE_DIR)

# Without reference counting, which only functions that allocate memory need: it would double the
# code that has to be compiled.
_njit = functools.partial(numba.njit, error_model="numpy", _nrt=False)
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # for calls from Python or C
_njit_helper = functools.partial(_njit, pipeline_class=HelperCompiler, **_NO_WRAPPERS)


_KERNELS: list[Any] = []
_TYPES = {"int": numba.int64, "float": numba.float64}  # of arguments, by annotation


def kernel(function: F) -> F:
    """Compile a function that Python calls and that may take long: it releases the GIL."""
    return _kernel(function, nogil=True)


def quick_kernel(function: F) -> F:
    """Compile a function that Python calls for one sample: it keeps the GIL."""
    # To release it costs 0.1 us, and to get it back up to 5 ms while another thread computes.
    return _kernel(function, nogil=False)


def allocating_kernel(function: F) -> F:
    """Compile a kernel that allocates memory."""
    return _kernel(function, nogil=True, _nrt=True)


def _kernel(function: F, **options: Any) -> F:
    """Compile a function that Python calls."""
    compiled = cached(function, **options)
    _KERNELS.append(compiled)
    return compiled


def compile_kernels() -> None:
    """Compile all kernels, for the types of their annotations, as they are called from Python."""
    if numba.config.DISABLE_JIT:
        return
    for compiled in _KERNELS:
        names = compiled.py_func.__code__.co_varnames[: compiled.py_func.__code__.co_argcount]
        annotations = compiled.py_func.__annotations__
        compiled.compile(tuple(_TYPES[annotations[name]] for name in names))


def cached(function: F, **options: Any) -> F:
    """Compile a function and everything that it calls, and cache the result on disk."""
    compiled = _njit(function, pipeline_class=KernelCompiler, no_cfunc_wrapper=True, **options)
    if not numba.config.DISABLE_JIT:
        compiled._cache = cache.KernelCache(function, CACHE_FOLDERS)
        compiled.compile = uninterrupted(compiled.compile)
    return cast(F, compiled)


def uninterrupted(call: F) -> F:
    """Return a function that makes a call in a thread of its own, and waits for it."""
    # An exception from a signal handler, such as Ctrl-C, can make Numba lose what it was about to
    # take note of, and then it cannot compile any more. Handlers only interrupt the main thread.
    # Who was waiting there goes on at once, and the next call waits for Numba's own lock.

    @functools.wraps(call)
    def make(*arguments: Any, **named: Any) -> Any:
        results: list[Any] = []
        errors: list[BaseException] = []
        end = threading.Lock()
        end.acquire()

        def work() -> None:
            try:
                results.append(call(*arguments, **named))
            except BaseException as error:
                errors.append(error)
            finally:
                end.release()

        try:
            threading.Thread(target=work).start()
        except RuntimeError:  # the system has no more threads
            return call(*arguments, **named)
        with end:
            if errors:
                raise errors[0]
            return results[0]

    return cast(F, make)


def helper(function: F) -> F:
    """Compile a function that only kernels call."""
    return cast(F, _njit_helper(function))


def allocating(function: F) -> F:
    """Compile a helper that allocates memory."""
    return cast(F, _njit_helper(function, _nrt=True))


def hot(function: F) -> F:
    """Compile a helper that runs for every sample, inlined into its callers."""
    return cast(F, _njit_helper(function, forceinline=True))


def view(function: F) -> F:
    """Insert the source of a helper into its callers, before compilation."""
    # This is for helpers that return arrays, which Numba does not support without reference
    # counting, and for a long helper with one caller.
    return cast(F, _njit_helper(function, inline="always"))
