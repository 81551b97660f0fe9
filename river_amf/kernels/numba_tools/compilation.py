"""The decorators of compiled functions, and kernels, which are compiled for each kind of forest."""

from __future__ import annotations

import _thread
import atexit
import functools
import gc
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.templates import AbstractTemplate, Signature, infer_global

from river_amf.kernels.numba_tools import IS_COMPILED, cache, halfway, progress
from river_amf.kernels.numba_tools.views import FORESTS, SAMPLES, uncompiled
from river_amf.state.layout import KINDS

if TYPE_CHECKING:
    from river_amf.state.arena import Arena

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
R = TypeVar("R")

KERNELS: list[Kernel] = []
HELPERS: list[Any] = []

# Without reference counting, which would double the code and only allocating functions need.
_njit = functools.partial(numba.njit, error_model="numpy", _nrt=False, no_cfunc_wrapper=True)


def _njit_helper(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that kernels call, not again for each constant or size of integers."""
    compiled = _njit(function, no_cpython_wrapper=True, **halfway.OPTIONS, **options)
    if IS_COMPILED:
        HELPERS.append(compiled)
        template_of = compiled.get_call_template

        def get_call_template(arguments: Any, named: Any) -> Any:
            return template_of([*map(_widened, arguments)], named)

        compiled.get_call_template = get_call_template
    return compiled


def _widened(argument: Any) -> Any:
    """Return the type that a helper takes in the place of an argument's."""
    plain = numba.types.unliteral(argument)
    return numba.int64 if plain == numba.int32 else plain


class Kernel:
    """A function that Python calls with an arena, compiled once for each kind of forest."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self._function, self._compiled = function, _njit(function, **options)
        self._entries: dict[int, Callable[..., Any]] = {}
        KERNELS.append(self)

    def __call__(self, arena: Arena, *arguments: Any) -> Any:
        return self.of(arena.kind)(arena.address, *arguments)

    def of(self, kind: int) -> Callable[..., Any]:
        """Return the function for a kind of forest; its first argument is an arena's address."""
        if kind not in self._entries:
            self._entries[kind] = self._compile(kind)
        return self._entries[kind]

    def _compile(self, kind: int) -> Callable[..., Any]:
        by_name = {"Forest": FORESTS[kind], "Samples": SAMPLES}
        by_name |= {"int": numba.int64, "float": numba.float64}
        *names, _ = self._function.__annotations__.values()
        types = tuple(by_name[name] for name in names)
        if IS_COMPILED:
            return uninterrupted(self._load, types, functools.partial(_share, kind))
        return lambda *values: self._function(*map(uncompiled, values, types))

    def _load(self, types: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the code for some types, from the cache or compiled, if need be ordinarily."""
        self._compiled._cache = cache.KernelCache(self._function)
        try:
            return self._compiled.compile(types)
        except Exception:  # of whatever is different in Numba
            if not halfway.IS_ON:
                raise
        halfway.turn_off([*HELPERS, self._compiled])
        return self._load(types)


def _share(kind: int) -> float:
    """Return about which share of the code is compiled for the kinds of forests in use."""
    n_kernels = sum(len(each._entries) for each in KERNELS)
    n_helpers = sum(len(each.overloads) for each in HELPERS)
    # Each kind has about 200 helpers; a kernel takes as long as 8, as it is optimized.
    whole = len({kind, *kinds_in_use()}) * (200 + 8 * len(KERNELS))
    return min((n_helpers + 8 * n_kernels) / whole, 1.0)


def uninterrupted(
    call: Callable[[T], R], argument: T, share: Callable[[], float] = lambda: 0.0
) -> R:
    """Make a call in a thread of its own, as signal handlers only interrupt the main thread."""
    # (DESIGN.md: compiled code.) After an interrupt, the next call blocks until this has ended.
    result: Future[R] = Future()

    def make() -> None:
        with global_compiler_lock:
            # Numba makes almost no garbage; to look for it takes a tenth of the time.
            usual = gc.get_threshold()
            gc.set_threshold(50 * usual[0], *usual[1:])
            try:
                result.set_result(call(argument))
            except BaseException as error:
                result.set_exception(error)
            finally:
                gc.set_threshold(*usual)

    # `threading.Thread` takes locks, for which a signal handler could wait forever.
    _thread.start_new_thread(make, ())
    progress.show(result, share)
    return result.result()


# The end of the process in the midst of the compiler may be a crash.
atexit.register(global_compiler_lock.acquire)

if hasattr(os, "register_at_fork"):
    # A child with a copy of the lock, held by a thread that it does not have, could never compile.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a kernel that may take long: it releases the GIL."""
    return Kernel(function, nogil=True)


def quick_kernel(function: Callable[..., Any]) -> Kernel:
    """Make a kernel for one sample: it keeps the GIL."""
    # To release it costs 0.1 us, and to get it back up to 5 ms while another thread computes.
    return Kernel(function)


def allocating_kernel(function: Callable[..., Any]) -> Kernel:
    return Kernel(function, nogil=True, _nrt=True)


def helper(function: F) -> F:
    """Compile a function that only kernels call."""
    return cast(F, _njit_helper(function))


def allocating(function: F) -> F:
    return cast(F, _njit_helper(function, _nrt=True))


def hot(function: F) -> F:
    """Compile a helper that runs for every sample, inlined into its callers."""
    return cast(F, _njit_helper(function, forceinline=True))


def view(function: F) -> F:
    """Insert the source of a helper into its callers, before compilation."""
    # For helpers that return arrays, which Numba cannot do without reference counting, and large
    # ones, whose code is optimized again with that of each caller.
    return cast(F, _njit_helper(function, inline="always"))


@helper
def nothing(forest: Any, *values: Any) -> float:
    return 0.0


def choose(plain_classifier: Any, classifier: Any, regressor: Any) -> Any:
    """Return a function that calls one of these, by the kind of the forest, its first argument."""
    bodies = plain_classifier, classifier, regressor

    def call(forest: Any, *values: Any) -> Any:
        return bodies[forest.kind](forest, *values)

    implementations = {}

    class _Template(AbstractTemplate):  # type: ignore[misc]
        key = call

        def generic(self, arguments: Any, named: Any) -> Signature:
            dispatcher = numba.types.Dispatcher(bodies[arguments[0].kind])
            signature = dispatcher.get_call_type(self.context, arguments, named)
            implementations[signature.args] = dispatcher.get_overload(signature)
            return signature

        def get_impl_key(self, signature: Signature) -> Any:
            return implementations[signature.args]

    infer_global(call, numba.types.Function(_Template))
    return call


def extra(function: F) -> F:
    """Leave a helper out of what is compiled for plain classifiers; it takes a forest or tree."""
    return cast(F, choose(nothing, function, function))


def compile_kernels(kinds: Iterable[int]) -> None:
    for compiled in KERNELS:
        for kind in kinds:
            compiled.of(kind)


def kinds_in_use() -> set[int]:
    """Return the kinds of forests that any kernel has been compiled for."""
    return {kind for compiled in KERNELS for kind in compiled._entries}


def warm_up() -> None:
    """Compile all kernels now, instead of each when it is first needed.

    They are kept on disk, in the folder `NUMBA_CACHE_DIR` if it is set; later this takes about a
    second. Call it when an image is built or a server starts, as the command `river-amf warm-up`
    does. The logger `river_amf.kernels` logs compilation at level INFO.

    >>> import river_amf
    >>> river_amf.warm_up()
    """
    compile_kernels(KINDS)
