"""Trees cut back to fewer nodes: what happens when `max_bytes` has to hold more than before.

New features and labels make every node larger, so trees that filled the memory have to give up
nodes. The nodes with the fewest samples go, and those above them become leaves, which keep their
counts, box and faded counts. The odds above them are corrected, as after any change of structure
(DESIGN.md: bytes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf import kernels, paths
from river_amf.budget import Limits
from river_amf.kernels import NEVER, NONE, UNLISTED
from river_amf.layout import FIELDS
from river_amf.state import Arena

Array = NDArray[Any]
_LARGEST_LOG_ODDS = 1e300


def within(arena: Arena, limits: Limits) -> Arena:
    """Return an arena whose trees and store are cut to these limits."""
    settings = arena.settings.copy()
    for name, limit in limits._asdict().items():
        settings[name] = limit
    arrays = {name: getattr(arena, name).copy() for name in FIELDS} | {"settings": settings}
    cut(arrays, limits.max_nodes)
    n_nodes = int(arrays["trees"]["n_nodes"].max())
    aside = arena.replacing(**arrays).resized(box=max(arena.rooms["box"], n_nodes))
    while (lack := kernels.keep_few_rows(aside.address)) < 0:
        kernels.compile_part(lack, aside.task)
    kernels.compact_rows(aside.address)
    most = {"node": limits.max_nodes, "box": limits.max_nodes, "row": limits.max_rows}
    return aside.resized(**{axis: min(aside.rooms[axis], most[axis]) for axis in most})


def cut(arrays: dict[str, Array], max_nodes: int) -> None:
    """Cut the trees in these arrays back to at most `max_nodes` nodes each, in place."""
    for t in range(len(arrays["trees"])):
        if arrays["trees"]["n_nodes"][t] > max_nodes:
            _cut_tree(arrays, t, (max_nodes - 1) // 2)


def _cut_tree(arrays: dict[str, Array], t: int, n_splits: int) -> None:
    """Keep the splits of a tree with the most samples."""
    tree = arrays["trees"][t]
    n_nodes = int(tree["n_nodes"])
    nodes = arrays["nodes"][t, :n_nodes]
    levels = paths.levels(nodes, int(tree["root"]))
    is_kept = _kept_splits(nodes, levels, n_splits)
    stays = is_kept[nodes["parent"]]
    stays[tree["root"]] = True
    _correct_odds(nodes, levels, is_kept, stays, float(arrays["settings"]["log_stop"][0]))
    _unlist(nodes, arrays["links"][t], ~stays)
    ends = stays & ~is_kept & (nodes["left"] != NONE)
    for name, value in (("left", NONE), ("right", NONE), ("feature", NONE)):
        nodes[name][ends] = value
    for name, number in (("threshold", 0.0), ("odds", 0.0), ("odds_scale", 0.0)):
        nodes[name][ends] = number
    nodes["split_time"][ends] = NEVER
    _close_up(arrays, t, stays)


def _kept_splits(nodes: Array, levels: list[NDArray[np.intp]], n_splits: int) -> NDArray[np.bool_]:
    """Return which nodes remain split: those with the most samples."""
    # The weight of a chain that was split late is approximate, so a node might weigh more than the
    # one above it. Here it counts as much at most, so no split stays without those above it.
    weights = nodes["n_samples"].copy()
    depths = np.zeros(len(nodes), np.int64)
    for depth, level in enumerate(levels[1:], start=1):
        weights[level] = np.minimum(weights[level], weights[nodes["parent"][level]])
        depths[level] = depth
    inner = np.flatnonzero(nodes["left"] != NONE)
    order = np.lexsort((inner, depths[inner], -weights[inner]))
    is_kept = np.zeros(len(nodes), bool)
    is_kept[inner[order[:n_splits]]] = True
    return is_kept


def _correct_odds(
    nodes: Array,
    levels: list[NDArray[np.intp]],
    is_kept: NDArray[np.bool_],
    stays: NDArray[np.bool_],
    log_stop: float,
) -> None:
    """Correct the odds above nodes that become leaves."""
    # The growth of a node is the log of the factor by which the cut multiplies its wbar. A leaf has
    # wbar = w, and an inner node wbar = (1-b) w (1 + exp(-r)).
    growth = np.zeros(len(nodes))
    for level in reversed(levels):
        here = level[stays[level] & (nodes["left"][level] != NONE)]
        log_odds = np.log(nodes["odds"][here]) + nodes["odds_scale"][here] * kernels.LOG_SCALE
        below = growth[nodes["left"][here]] + growth[nodes["right"][here]]
        after = np.clip(log_odds - below, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
        of_kept = np.logaddexp(0.0, -after) - np.logaddexp(0.0, -log_odds)
        of_ends = -log_stop - np.logaddexp(0.0, -log_odds)
        growth[here] = np.where(is_kept[here], np.where(below == 0.0, 0.0, of_kept), of_ends)
        changed = is_kept[here] & (below != 0.0)
        scale = np.rint(after / kernels.LOG_SCALE)
        rest = after - scale * kernels.LOG_SCALE
        bound = 0.5 * kernels.LOG_SCALE
        nodes["odds"][here[changed]] = np.exp(np.clip(rest, -bound, bound))[changed]
        nodes["odds_scale"][here[changed]] = scale[changed] + 0.0


def _unlist(nodes: Array, links: Array, goes: NDArray[np.bool_]) -> None:
    """Take the samples that some leaves keep off their lists."""
    rows = nodes["slot"][goes & (nodes["n_rows"] > 0)]
    while len(rows):
        following = links[rows]
        links[rows] = UNLISTED
        rows = following[following != NONE]


def _close_up(arrays: dict[str, Array], t: int, stays: NDArray[np.bool_]) -> None:
    """Renumber the nodes that stay, and their boxes, in the order of before."""
    tree = arrays["trees"][t]
    n_nodes, n_boxes = int(tree["n_nodes"]), int(tree["n_boxes"])
    kept = np.flatnonzero(stays)
    number = np.full(n_nodes + 1, NONE)  # the last is for NONE
    number[kept] = np.arange(len(kept))
    for name in ("nodes", "counts", "targets", "faded"):
        arrays[name][t, : len(kept)] = arrays[name][t, kept]
    nodes = arrays["nodes"][t, : len(kept)]
    for name in ("left", "right", "parent"):
        nodes[name] = number[nodes[name]]
    has_box = nodes["n_rows"] == 0
    boxes = np.sort(nodes["slot"][has_box])
    place = np.full(max(n_boxes, 1), NONE)
    place[boxes] = np.arange(len(boxes))
    nodes["slot"][has_box] = place[nodes["slot"][has_box]]
    arrays["boxes"][t, : len(boxes)] = arrays["boxes"][t, boxes]
    tree["root"] = number[tree["root"]]
    tree["n_nodes"], tree["n_boxes"] = len(kept), len(boxes)
