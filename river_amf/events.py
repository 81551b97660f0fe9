"""What happens to a forest, as log messages for those who run it.

The logger is `river_amf.events`. Messages come where an exception from a signal handler leaves
nothing half done: after what they tell of, or while it is built aside. Single samples come here
only in the rare cases that Python hears of. Restarts happen inside of kernels, and to look for them
would take a microsecond of each single call, so only those in blocks are told.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.encoding import Features
from river_amf.kinds import shown
from river_amf.state import Arena

_logger = logging.getLogger(__name__)


def arrived(
    features: Features, before: Features, new_labels: list[Hashable], n_labels: int
) -> None:
    """Tell of new labels and features."""
    if _logger.isEnabledFor(logging.DEBUG):
        for label in new_labels:
            _logger.debug("new label %s, %d in all", shown(label), n_labels)
        names = list(features)[len(before) :]
        if names:
            _logger.debug("new features %s, %d in all", shown(names), len(features))


def forgot(features: Features, before: Features, names: Iterable[Hashable]) -> None:
    """Tell of categories that have been forgotten, given the features that had new ones."""
    for name in names:
        known, old = features.categories(name), before.categories(name)
        if known is not None and old is not None and len(known) < len(old):
            n_forgotten = len(old) + 1 - len(known)
            _logger.info(
                "feature %s: the %d rarest categories are forgotten, %d are kept (max_categories)",
                shown(name),
                n_forgotten,
                len(known),
            )


def forgot_words(n_forgotten: int, n_kept: int) -> None:
    """Tell of words that are forgotten, if any are."""
    if n_forgotten:
        _logger.info(
            "the %d rarest words are forgotten, %d are kept (max_vocabulary)", n_forgotten, n_kept
        )


def cut(before: Arena, arena: Arena) -> None:
    """Tell of trees that have been cut to new limits."""
    n_before, n_nodes = int(before.trees["n_nodes"].sum()), int(arena.trees["n_nodes"].sum())
    if n_nodes < n_before:
        _logger.info(
            "max_bytes: the trees are cut from %d to %d nodes, at most %d each",
            n_before,
            n_nodes,
            arena.settings["max_nodes"][0],
        )


def released(arena: Arena) -> None:
    """Tell of trees that have used up their nodes."""
    most = int(arena.settings["max_nodes"][0])
    n_full = int((arena.trees["n_nodes"] + 2 > most).sum())
    if n_full:
        _logger.info(
            "%d of %d trees have used up their %d nodes and split no further",
            n_full,
            len(arena.trees),
            most,
        )


def restarted(arena: Arena, n_heard: NDArray[Any], n_learned: int) -> None:
    """Tell of trees that have started afresh in a block; `n_heard` is from before it."""
    trees = np.arange(len(n_heard))
    afresh = trees[(trees % 2 == 1) & (arena.trees["n_heard"] < n_heard + n_learned)]
    if len(afresh):
        _logger.info("after a drift, the trees %s have started afresh", afresh.tolist())


def tells_restarts() -> bool:
    """Whether restarts are logged, so that it is worth looking for them."""
    return _logger.isEnabledFor(logging.INFO)


def resumes(what: str) -> None:
    """Tell that a call finishes what an interrupted one has left."""
    _logger.info("an earlier call was interrupted: the %s that it had begun is finished", what)


def grew(arena: Arena, what: str) -> None:
    """Tell of arrays that have been enlarged."""
    if _logger.isEnabledFor(logging.DEBUG):
        _logger.debug("more room for %s: all arrays take %d bytes", what, arena.nbytes)
