"""Room in the arena, made when the kernels ask for it or limits change (DESIGN.md: room)."""

from __future__ import annotations

import math

from river_amf import events, kernels, pruning
from river_amf.budget import Limits
from river_amf.settings import NO_LIMIT, are_in_effect
from river_amf.state import Arena

_LEAST_GROWTH, _MOST_GROWTH = 1.5, 8.0  # bounds of the factor by which the room for nodes grows


def ready(arena: Arena, wanted: int, factor: float = 2.0) -> tuple[Arena, int]:
    """Return an arena with room for about `wanted` samples, and for how many it has room."""
    while (n_ready := kernels.ready_samples(arena.address, wanted)) < 0:
        arena = with_room(arena, n_ready, factor)
    return arena, n_ready


def with_room(arena: Arena, lack: int, factor: float = 2.0) -> Arena:
    """Return an arena in which what a kernel has run out of is larger by `factor`."""
    if lack <= kernels.UNCOMPILED:
        kernels.compile_part(lack, arena.task)
        return arena
    if lack == kernels.STORE_FULL:
        kernels.compact_rows(arena.address)
        larger, what = arena.fit_rows(), "samples"
    elif lack == kernels.NODES_FULL:
        larger, what = arena.grow_nodes(factor), "nodes"
    else:
        larger, what = arena.grow_boxes(factor), "boxes"
    events.grew(larger, what)
    return larger


def within(arena: Arena, limits: Limits) -> Arena:
    """Return an arena with these limits."""
    if are_in_effect(arena.settings, limits):
        return arena
    smaller = pruning.within(arena, limits)
    events.cut(arena, smaller)
    return smaller


def samples_to_check(arena: Arena) -> int:
    """Return how many samples may be stored until the size of the store has to be checked."""
    interval = int(arena.settings["interval"][0])
    return interval - int(arena.counters["n_stored"][0]) % interval if interval else NO_LIMIT


def growth(arena: Arena, to_come: int) -> float:
    """Return the factor by which to enlarge full arrays with `to_come` samples left in a block."""
    # About what those samples will need, so that the arrays are seldom moved. Trees grow a little
    # more slowly than the stream.
    root = int(arena.trees["root"][0])
    n_seen = 0.0 if root == kernels.NONE else float(arena.nodes["n_samples"][0, root])
    factor = math.pow(1.0 + to_come / max(n_seen, 1.0), 0.8)
    return min(max(_LEAST_GROWTH, factor), _MOST_GROWTH)
