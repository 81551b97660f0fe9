"""How functions are compiled: the decorators.

Compiled code uses no Python objects. It keeps to IEEE semantics, without fastmath, because NaN
means missing. It also runs uncompiled (NUMBA_DISABLE_JIT=1).
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from llvmlite.binding import ffi

from river_amf.kernels.numba_tools import IS_COMPILED, USES_INSIDES

F = TypeVar("F", bound=Callable[..., Any])

CACHE_FOLDERS: list[str] = []  # of which the last one is written
_njit = functools.partial(numba.njit, error_model="numpy")
_njit_kernel = _njit_helper = _njit
_allocates: dict[str, Any] = {}  # the option for functions that allocate memory
if USES_INSIDES:
    from river_amf.kernels.numba_tools import cache, insides

    CACHE_FOLDERS = cache.folders(numba.config.CACHE_DIR)
    # Without reference counting, which only functions that allocate memory need: it would double
    # the code that has to be compiled.
    _njit = functools.partial(_njit, _nrt=False, no_cfunc_wrapper=True)
    _njit_kernel = functools.partial(_njit, pipeline_class=insides.KernelCompiler)
    _njit_helper = functools.partial(
        _njit, pipeline_class=insides.HelperCompiler, no_cpython_wrapper=True
    )
    _allocates = {"_nrt": True}

NO_MORE_THREADS = "can't start new thread"  # of the system, as the interpreter says it
_COMPILING = threading.RLock()  # held by whoever compiles, and by a fork
# LLVM's, which whoever drops compiled code needs, too, in any thread; a fork holds it as well
_LLVM = ffi.lib._lock._lock if USES_INSIDES else threading.RLock()

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
    return _kernel(function, nogil=True, **_allocates)


def _kernel(function: F, **options: Any) -> F:
    """Compile a function that Python calls."""
    compiled = cached(function, **options)
    if IS_COMPILED:
        _KERNELS.append(compiled)
    return compiled


def compile_kernels() -> None:
    """Compile all kernels, for the types of their annotations, as they are called from Python."""
    for compiled in _KERNELS:
        names = compiled.py_func.__code__.co_varnames[: compiled.py_func.__code__.co_argcount]
        annotations = compiled.py_func.__annotations__
        compiled.compile(tuple(_TYPES[annotations[name]] for name in names))


def cached(function: F, **options: Any) -> F:
    """Compile a function and everything that it calls, and cache the result on disk."""
    compiled = _njit_kernel(function, **options)
    if IS_COMPILED:
        compiled.compile = uninterrupted(compiled.compile)
        if USES_INSIDES:
            compiled._cache = cache.KernelCache(function, CACHE_FOLDERS)
    return cast(F, compiled)


def uninterrupted(call: F) -> F:
    """Return a function that makes a call in a thread of its own, and waits for it."""
    # An exception from a signal handler, such as Ctrl-C, can make Numba lose what it was about to
    # take note of, and then it cannot compile any more. Handlers only interrupt the main thread.
    # Who was waiting there goes on at once, and the next call waits for the thread to end.

    @functools.wraps(call)
    def make(*arguments: Any, **named: Any) -> Any:
        compiler = _Compiler(functools.partial(call, *arguments, **named))
        if isinstance(threading.current_thread(), _Compiler):  # of a kernel that calls this one
            compiler.run()
        else:
            try:
                compiler.start()
            except RuntimeError as error:
                if str(error) != NO_MORE_THREADS:
                    raise
                compiler.run()
        return compiler.answer()

    return cast(F, make)


class _Compiler(threading.Thread):
    """A thread that makes a call."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__()
        self._call = call
        self._result: Any = None
        self._error: BaseException | None = None
        self._end = threading.Lock()
        self._end.acquire()

    def run(self) -> None:
        """Make the call."""
        try:
            with _COMPILING:
                self._result = self._call()
        except BaseException as error:
            self._error = error
        finally:
            self._end.release()

    def answer(self) -> Any:
        """Wait for the call, and return its result or raise its error."""
        with self._end:
            if self._error is not None:
                raise self._error
            return self._result


def _begin_fork() -> None:
    """Before a fork, wait until nobody else compiles."""
    _COMPILING.acquire()
    _LLVM.acquire()


def _end_fork() -> None:
    """After a fork, let others compile."""
    for lock in (_LLVM, _COMPILING):
        with suppress(RuntimeError):  # a signal has ended the wait for the lock
            lock.release()


if hasattr(os, "register_at_fork"):
    # A child process has only the thread that forked. If another one had such a lock, the child
    # would wait for it forever.
    os.register_at_fork(before=_begin_fork)
    for _ in range(2):  # in case a signal handler breaks the first one off
        os.register_at_fork(after_in_parent=_end_fork, after_in_child=_end_fork)


def helper(function: F) -> F:
    """Compile a function that only kernels call."""
    return cast(F, _njit_helper(function))


def allocating(function: F) -> F:
    """Compile a helper that allocates memory."""
    return cast(F, _njit_helper(function, **_allocates))


def hot(function: F) -> F:
    """Compile a helper that runs for every sample, inlined into its callers."""
    return cast(F, _njit_helper(function, forceinline=USES_INSIDES))


def view(function: F) -> F:
    """Insert the source of a helper into its callers, before compilation."""
    # This is for helpers that return arrays, which Numba does not support without reference
    # counting, and for a long helper with one caller.
    return cast(F, _njit_helper(function, inline="always"))
