"""Parts: functions that are compiled on their own, when first needed, and called by address.

A part that several kernels call is compiled once instead of with each of them, and one that a
forest does not need is not compiled for it. The addresses are in a table that all forests share
(`layout.PART_ADDRESSES`), which has 0 for a part that has not been compiled. Kernels check that
before they change anything that must not change twice, and answer `UNCOMPILED` minus the number of
the part; then Python compiles it and makes the same call again.

Classification and regression have tables of their own, and some parts stand for another function in
each: what nodes predict and learn, and the vote. So the kernels that Python calls serve both tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin

from river_amf.kernels.answers import UNCOMPILED
from river_amf.kernels.compilation import cached
from river_amf.kernels.views import Views
from river_amf.layout import PART_ADDRESSES, PARTS, TASKS

F = TypeVar("F", bound=Callable[..., Any])

INTEGER, NUMBER, NO_VALUE = types.int64, types.float64, types.none
ROW = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")
VOTES = types.Array(types.float64, 3, "C")

# The numbers of the parts.
LEARN_TREE = PARTS.index("learn_tree")
EXPAND_LEAF = PARTS.index("expand_leaf")
WEIGH_FADED_CELL = PARTS.index("weigh_faded_cell")
LIST_ROW_AND_THIN = PARTS.index("list_row_and_thin")
RELEASE_ROWS = PARTS.index("release_rows")
BOUND_ROWS = PARTS.index("bound_rows")
UPDATE_INTENSITY = PARTS.index("update_intensity")
WEIGH_FEATURES = PARTS.index("weigh_features")
TAKE_VOTE = PARTS.index("take_vote")
POOL_VOTES = PARTS.index("pool_votes")
LEARN_VOTE = PARTS.index("learn_vote")
JUDGE_TREE = PARTS.index("judge_tree")
STANDARDISE = PARTS.index("standardise")
USE_VOICE = PARTS.index("use_voice")
USE_VOICES = PARTS.index("use_voices")
FOLLOW_TRENDS = PARTS.index("follow_trends")
HEAR_WORDS = PARTS.index("hear_words")
TEACH_WORDS = PARTS.index("teach_words")
COUNT_WORDS = PARTS.index("count_words")

_PARTS: dict[tuple[int, str], tuple[Any, tuple[Any, ...]]] = {}  # by task and name
_BOTH = tuple(range(len(TASKS)))


def part(
    returns: Any,
    *arguments: Any,
    task: int | None = None,
    name: str | None = None,
    allocates: bool = False,
) -> Callable[[F], F]:
    """Make a function a part, with a forest as its first argument, for one task or for all."""
    tasks = _BOTH if task is None else (task,)

    def decorate(function: F) -> F:
        own = name or function.__name__
        if numba.config.DISABLE_JIT:
            for each in tasks:
                PART_ADDRESSES[each, PARTS.index(own)] = 1
                _PARTS[each, own] = function, arguments
            return cast(F, _plain_caller(own))
        compiled = cached(function, no_cpython_wrapper=True, _nrt=allocates)
        for each in tasks:
            _PARTS[each, own] = compiled, arguments
        return cast(F, _caller(own, returns, arguments))

    return decorate


def _plain_caller(name: str) -> Callable[..., Any]:
    """Return what stands for a part where nothing is compiled."""

    def call(forest: Any, *values: Any) -> Any:
        return _PARTS[int(forest.settings[0]["task"]), name][0](forest, *values)

    return call


def _caller(name: str, returns: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
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
        kind = context.call_conv.get_function_type(returns, arguments)
        function = builder.inttoptr(address, kind.as_pointer())
        status, result = context.call_conv.call_function(
            builder, function, returns, arguments, values
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return call


def compile_part(answer: int, task: int) -> None:
    """Compile the part that a kernel has found missing, for a forest with this task."""
    if numba.config.DISABLE_JIT:
        return
    number = UNCOMPILED - answer
    compiled, arguments = _PARTS[task, PARTS[number]]
    compiled.compile(arguments)
    result = compiled.overloads[arguments]
    name = result.fndesc.llvm_func_name
    address = result.library.get_pointer_to_function(name)
    for each in range(len(TASKS)):
        if _PARTS.get((each, PARTS[number]), (None,))[0] is compiled:
            PART_ADDRESSES[each, number] = address


def compile_parts() -> None:
    """Compile all parts."""
    for task, name in _PARTS:
        compile_part(UNCOMPILED - PARTS.index(name), task)
