"""How an arena takes a block of samples: room, chunks and threads."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from river_amf import _kernels
from river_amf.state import Arena, Block

_LEAST_GROWTH, _MOST_GROWTH = 1.5, 8.0  # of the room for nodes at once
_WORTH_THREADS = 32  # samples; to start a thread takes as long as to learn some


def make_room(arena: Arena, full: int, factor: float = 2.0) -> None:
    """Give an arena the room that a kernel says is lacking, `factor` times what it has."""
    if full == _kernels.STORE_FULL:
        _kernels.compact_rows(arena.address)
        arena.fit_rows()
    elif full == _kernels.NODES_FULL:
        arena.grow_nodes(factor)
    else:
        arena.grow_boxes(factor)


def drop_rows(arena: Arena) -> None:
    """Give back the room of samples that no tree keeps any more."""
    _kernels.compact_rows(arena.address)
    arena.drop_rows()


def run(
    arena: Arena, block: Block, start: int, stop: int, *, tests: bool, learns: bool, n_jobs: int
) -> None:
    """Predict (`tests`), learn, or predict and learn the samples from `start` to `stop`.

    The trees are cut over `n_jobs` threads, -1 for as many as there are cores.
    """
    if start == stop:
        return
    block.prepare(arena, stop - start)
    arena.handle["n_learnt"] += learns
    n_trees = len(arena.trees)
    n_threads = min(n_trees, _n_cores() if n_jobs == -1 else n_jobs)
    n_threads = n_threads if stop - start >= _WORTH_THREADS else 1
    cuts = [n_trees * k // n_threads for k in range(n_threads + 1)]
    done = start
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(n_threads - 1)) if n_threads > 1 else None
        each = functools.partial(_map, pool) if pool else map
        while done < stop:
            factor = _growth(arena, stop - done)
            end = done + _next_chunk(arena, min(block.chunk, stop - done), learns, factor)
            chunk = arena.address, block.address, done, end
            _run_chunk(arena, chunk, tests, learns, cuts, each)
            done = end


def _n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _growth(arena: Arena, to_come: int) -> float:
    """Return how much more room to make when there is none left, and so many samples to come.

    About as much as they will take, to move the trees seldom: these grow a little slower than the
    stream.
    """
    root = int(arena.trees["root"][0])
    n_seen = 0.0 if root == _kernels.NONE else float(arena.nodes["n_samples"][0, root])
    growth = math.pow(1.0 + to_come / max(n_seen, 1.0), 0.8)
    return min(max(_LEAST_GROWTH, growth), _MOST_GROWTH)


def _map(pool: ThreadPoolExecutor, call: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
    """Map in all threads of a pool and in this one."""
    first, *others = zip(*columns, strict=False)
    futures = [pool.submit(call, *arguments) for arguments in others]
    return [call(*first), *(future.result() for future in futures)]


def _next_chunk(arena: Arena, wanted: int, learns: bool, factor: float) -> int:
    """Make room for a chunk of about so many samples; returns how many."""
    if not learns:
        return wanted
    while (n_ready := _kernels.ready_samples(arena.address, wanted)) < 0:
        make_room(arena, n_ready, factor)
    return n_ready


def _run_chunk(
    arena: Arena,
    chunk: tuple[int, int, int, int],
    tests: bool,
    learns: bool,
    cuts: list[int],
    each: Callable[..., Iterable[int]],
) -> None:
    """Let each thread's trees take a chunk, as often as they lack room."""
    n_late = _kernels.open_chunk(*chunk, learns)

    def run_trees(first: int, end: int) -> int:
        return _kernels.run_chunk(*chunk, first, end, tests, learns)

    while lacks := set(each(run_trees, cuts[:-1], cuts[1:])) - {_kernels.NOTHING}:
        for lack in lacks:
            make_room(arena, _kernels.FULL[lack])
    if _kernels.close_chunk(*chunk, tests, learns, n_late) == _kernels.RELEASED:
        drop_rows(arena)
