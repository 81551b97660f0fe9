"""Parts: functions that are compiled on their own, for the forests that need them.

A part that several kernels call is compiled once instead of with each of them, and one that a
forest does not need is not compiled for it. The settings of a forest and the capacity of its arena
say which it needs (`compile_for`), so kernels need not ask. They call a part by its address, which
is in a table that all forests share (`layout.PART_ADDRESSES`).

Classification and regression have tables of their own, and some parts stand for another function in
each: what nodes predict and learn, and the vote. So the kernels that Python calls serve both tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
from numba import types

from river_amf.kernels.numba_tools import IS_COMPILED, USES_INSIDES
from river_amf.kernels.numba_tools.compilation import cached, compile_kernels
from river_amf.state.layout import CLASSIFICATION, PART_ADDRESSES, PARTS, TASKS

if TYPE_CHECKING:
    from river_amf.state.arena import Arena
if USES_INSIDES:
    from river_amf.kernels.numba_tools.insides import caller_of

F = TypeVar("F", bound=Callable[..., Any])

INTEGER, NUMBER, NO_VALUE = types.int64, types.float64, types.none
ROW = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")
VOTES = types.Array(types.float64, 3, "C")

_PARTS: dict[tuple[int, str], tuple[Any, tuple[Any, ...]]] = {}  # by task and name


def part(
    returns: Any,
    *arguments: Any,
    task: int | None = None,
    name: str | None = None,
    allocates: bool = False,
) -> Callable[[F], F]:
    """Make a function a part, with a forest as its first argument, for one task or for all."""
    tasks = range(len(TASKS)) if task is None else (task,)

    def decorate(function: F) -> F:
        own = name or function.__name__
        if not USES_INSIDES:
            return cast(F, _plain_caller(own, function, tasks))
        compiled = cached(function, no_cpython_wrapper=True, _nrt=allocates)
        _PARTS.update(((each, own), (compiled, arguments)) for each in tasks)
        return cast(F, caller_of(own, returns, arguments))

    return decorate


# What stands for a part that has no address: it asks for the task, and calls what is compiled into
# it. The other task's function, if there is one, may be defined after this.
_PLAIN = f"""
def {{name}}(forest, *values):
    if forest.settings[0]["task"] == {CLASSIFICATION}:
        return of_task_0(forest, *values)
    return of_task_1(forest, *values)
"""
_PLAIN_PARTS: dict[str, dict[str, Any]] = {}  # by name and task


def _plain_caller(name: str, function: F, tasks: Iterable[int]) -> Any:
    """Return what kernels call in place of a part, without any address."""
    compiled = numba.njit(function, error_model="numpy") if IS_COMPILED else function
    known = _PLAIN_PARTS.setdefault(name, {f"of_task_{each}": compiled for each in range(2)})
    known.update((f"of_task_{each}", compiled) for each in tasks)
    exec(_PLAIN.format(name=name), known)
    return numba.njit(known[name]) if IS_COMPILED else known[name]


def compile_for(arena: Arena, *, learns: bool) -> None:
    """Compile the parts that a forest needs to predict or learn samples, if they are missing.

    The arena takes note of it. The answer changes only with its capacity, so kernels that learn may
    be called once `arena.can_learn` is set, and those that predict once `arena.can_predict` is.
    """
    if arena.can_learn if learns else arena.can_predict:
        return
    settings = arena.settings[0]
    takes_votes = not learns or settings["learns_vote"] or settings["judges_trees"]
    needed = _to_learn(arena) if learns else set()
    if takes_votes:
        needed |= _to_predict(settings)
    for number, name in enumerate(PARTS if USES_INSIDES else ()):
        if name in needed and not PART_ADDRESSES[arena.task, number]:
            _compile(arena.task, name)
    arena.can_learn = arena.can_learn or learns
    arena.can_predict = arena.can_predict or bool(takes_votes)


def _to_predict(settings: Any) -> set[str]:
    """Return which parts are needed to predict samples."""
    n_linear_models, n_trends = settings["n_linear_models"], settings["n_trends"]
    parts = {
        "take_vote": True,
        "pool_votes": settings["learns_vote"],
        "standardise": n_linear_models or n_trends,
        "run_linear_model": n_linear_models,
        "follow_trends": n_trends,
        "predict_sparse": settings["has_sparse_expert"],
        "run_experts": n_linear_models or n_trends or settings["n_words"],
    }
    return {name for name, is_needed in parts.items() if is_needed}


def _to_learn(arena: Arena) -> set[str]:
    """Return which parts are needed to learn samples, beside those that predict trees' votes."""
    # Two are rare: a list may grow too long with the rows that the store still has capacity for,
    # and a tree may use up its budget if it has the capacity for that many nodes.
    settings, capacities = arena.settings[0], arena.capacities
    splits_late = not settings["split_pure"]
    n_free = capacities["row"] - int(arena.counters["n_rows"][0])
    may_thin = capacities["row"] > settings["longest_list"] and splits_late
    may_thin = may_thin and arena.longest() + n_free > settings["longest_list"]
    may_be_spent = capacities["node"] + 2 > settings["max_nodes"]
    parts = {
        "learn_tree": True,
        "update_intensity": True,
        "expand_leaf": splits_late,
        "weigh_faded_cell": splits_late and settings["fades"],
        "list_row_and_thin": may_thin,
        "release_rows": may_be_spent and settings["task"] == CLASSIFICATION,
        "weigh_features": settings["relevance"],
        "learn_vote": settings["learns_vote"],
        "judge_tree": settings["judges_trees"],
        "count_words": settings["n_words"],
        "learn_sparse": settings["has_sparse_expert"],
        "run_experts": settings["n_words"],
    }
    return {name for name, is_needed in parts.items() if is_needed}


def _compile(task: int, name: str) -> None:
    """Compile a part, and put its address into the tables."""
    compiled, arguments = _PARTS[task, name]
    compiled.compile(arguments)
    result = compiled.overloads[arguments]
    address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    for each in range(len(TASKS)):
        if _PARTS.get((each, name), (None,))[0] is compiled:
            PART_ADDRESSES[each, PARTS.index(name)] = address


def are_in_use() -> bool:
    """Whether anything has been compiled or read so far."""
    return bool(PART_ADDRESSES.any())


def warm_up() -> None:
    """Compile all kernels now, instead of each when it is first needed.

    They are compiled once for each release, machine and user, in about 20 seconds, and then kept
    on disk (`NUMBA_CACHE_DIR` says where). Call this when an image is built or a server starts, so
    that no prediction has to wait. If everything has been compiled before, it is read, in less than
    half a second. The command `river-amf warm-up` does the same.

    The logger `river_amf.kernels` says at level INFO when something is compiled.

    Examples
    --------
    >>> import river_amf
    >>> river_amf.warm_up()
    """
    for task, name in _PARTS:
        _compile(task, name)
    compile_kernels()
