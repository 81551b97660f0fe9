"""The arena of a forest cut by its trees, and put together again (DESIGN.md: shards).

A *coordinator* has all that a forest knows but the nodes of its trees: the statistics of the
features, the linear models and the vote. A *shard* has some of the trees, the samples that their
leaves keep, and the statistics of the features, but nothing of what only the vote needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.state.arena import Arena
from river_amf.state.layout import COORDINATOR, COPIED, FIELDS, SHARD, lengths_in_use, shapes

Array = NDArray[Any]

_OF_TREES = [name for name in COPIED if FIELDS[name].axes[0] == "tree"]
_OF_ROWS = [name for name in COPIED if FIELDS[name].axes[0] == "row"]  # samples in the store

# The settings that cutting changes. A coordinator has trees without nodes that may not get any, so
# no kernel enlarges them or stores samples for them.
_OF_COORDINATOR = {
    "role": COORDINATOR,
    "max_nodes": 0,
    "split_pure": 1,
    "restart_threshold": 0.0,
    "judges_trees": 0,
}
_OF_SHARD = {
    "role": SHARD,
    "max_pending": 0,
    "n_linear_models": 0,
    "n_trends": 0,
    "has_sparse_expert": 0,
    "has_memory": 0,
}


def bounds(n_trees: int, n_shards: int) -> list[tuple[int, int]]:
    """Return the first tree of each shard, and its end; each has one tree at least.

    >>> bounds(10, 3), bounds(2, 3)
    ([(0, 3), (3, 6), (6, 10)], [(0, 1), (1, 2)])
    """
    n_shards = min(n_shards, n_trees)
    cuts = [n_trees * k // n_shards for k in range(n_shards + 1)]
    return list(itertools.pairwise(cuts))


def coordinator_of(arena: Arena) -> Arena:
    """Return a coordinator for a forest, which shares nothing with it."""
    arrays = _changed(arena, _OF_COORDINATOR)
    if arrays["settings"]["n_words"][0]:  # whose rows go one by one
        arrays["settings"]["max_pending"] = 0
    trees = arrays["trees"]
    trees["root"], trees["n_nodes"], trees["n_boxes"] = kernels.NONE, 0, 0
    arrays["counters"]["n_rows"] = arrays["counters"]["n_stored"] = 0
    return Arena.of(_fitted(arrays))


def shard_of(arena: Arena, first: int, end: int) -> Arena:
    """Return a shard with the trees from `first` to `end` of a forest, which shares nothing."""
    arrays = _changed(arena, _OF_SHARD | {"first_tree": first})
    for name in _OF_TREES:
        arrays[name] = arrays[name][first:end]
    shard = Arena.of(_fitted(arrays))
    kernels.compact_rows(shard.address)
    if not _keeps_rows(shard):
        shard.counters["n_rows"] = shard.counters["n_stored"] = 0
    return shard.drop_rows()


def whole_of(coordinator: Arena, shards: Sequence[Arena], settings: Array) -> Arena:
    """Return the arena of a forest, given its coordinator, its shards in order and its settings."""
    parts = []
    for shard in shards:
        kernels.compact_rows(shard.address)
        parts.append(shard.used_arrays())
    arrays = {name: array.copy() for name, array in coordinator.used_arrays().items()}
    for name in ("first_tree", "max_pending", *_OF_COORDINATOR):
        arrays["settings"][name] = settings[name]
    trees = np.concatenate([part["trees"] for part in parts])
    trees["vote_weight"] = arrays["trees"]["vote_weight"]
    numbers = np.unique(np.concatenate([part["samples"]["number"] for part in parts]))
    counters = arrays["counters"]
    counters["n_rows"] = len(numbers)
    counters["n_stored"] = max(int(part["counters"]["n_stored"][0]) for part in parts)
    wanted = shapes(lengths_in_use(arrays["settings"], counters, trees))
    for name in (*_OF_TREES, *_OF_ROWS):
        fill = kernels.UNLISTED if name == "links" else 0
        arrays[name] = np.full(wanted[name], fill, FIELDS[name].dtype)
    arrays["trees"] = trees
    first = 0
    for part in parts:
        end = first + len(part["trees"])
        _place(arrays, slice(first, end), part, np.searchsorted(numbers, part["samples"]["number"]))
        first = end
    return Arena.of(arrays)


def _place(arrays: dict[str, Array], where: slice, part: dict[str, Array], row: Array) -> None:
    """Put the trees of a shard, whose rows get other numbers, in their place."""
    for name in set(_OF_TREES) - {"trees", "links"}:
        array = part[name]
        arrays[name][(where, *map(slice, array.shape[1:]))] = array
    for name in _OF_ROWS:
        arrays[name][row] = part[name]
    links = part["links"]
    is_row = links >= 0
    arrays["links"][where, row] = np.where(is_row, row[np.where(is_row, links, 0)], links)
    nodes = arrays["nodes"][where]
    keeps = nodes["n_rows"] > 0
    nodes["slot"][keeps] = row[nodes["slot"][keeps]]


def _changed(arena: Arena, settings: dict[str, Any]) -> dict[str, Array]:
    """Return the arrays of an arena with other settings; counters and trees may be changed, too."""
    arrays = arena.used_arrays()
    arrays |= {name: arrays[name].copy() for name in ("settings", "counters", "trees")}
    for name, value in settings.items():
        arrays["settings"][name] = value
    return arrays


def _fitted(arrays: dict[str, Array]) -> dict[str, Array]:
    """Return copies of arrays, no larger than the settings say."""
    lengths = lengths_in_use(arrays["settings"], arrays["counters"], arrays["trees"])
    return {
        name: arrays[name][tuple(map(slice, shape))].copy()
        for name, shape in shapes(lengths).items()
        if name in arrays
    }


def _keeps_rows(shard: Arena) -> bool:
    """Whether some tree of a shard may still keep samples, as `is_keeping_rows` in the kernels."""
    settings = shard.settings[0]
    if settings["split_pure"]:
        return False
    is_late = bool((shard.trees["n_nodes"] + 2 <= settings["max_nodes"]).any())
    has_odd = settings["first_tree"] + len(shard.trees) > 1
    return is_late or bool(settings["restart_threshold"] > 0.0 and has_odd)
