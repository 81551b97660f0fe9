"""Log messages for those who run a forest: trees that restart, and what is forgotten.

The logger is `river_amf.events`. Messages come where an exception from a signal handler leaves
nothing half done. Single samples come here only if something is forgotten: which trees start afresh
is up to the kernels, and to look for them would take a microsecond of each single call, so only
restarts in blocks are logged. `kernels.numba_tools.cache` logs what is compiled.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.encoding import Features
from river_amf.inputs.kinds import shown
from river_amf.state.arena import Arena

_logger = logging.getLogger("river_amf.events")


def forgot(features: Features, before: Features, names: Iterable[Hashable]) -> None:
    """Log categories that have been forgotten, given the features that had new ones."""
    for name in names:
        known, old = features.categories(name), before.categories(name)
        if known is not None and old is not None and len(known) < len(old) - 1:
            _logger.info(
                "feature %s: the %d rarest categories are forgotten, %d are kept (max_categories)",
                shown(name),
                len(old) - len(known),
                len(known),
            )


def forgot_words(n_forgotten: int, n_kept: int) -> None:
    """Log words that are forgotten, if any are."""
    if n_forgotten:
        _logger.info(
            "the %d rarest words are forgotten, %d are kept (max_vocabulary)", n_forgotten, n_kept
        )


def restarted(arena: Arena, n_losses: NDArray[Any], n_learned: int) -> None:
    """Log trees that have started afresh in a block; `n_losses` is from before it."""
    trees = np.arange(len(n_losses))
    afresh = trees[(trees % 2 == 1) & (arena.trees["n_losses"] < n_losses + n_learned)]
    if len(afresh):
        _logger.info("after a drift, the trees %s have started afresh", afresh.tolist())


def logs_restarts() -> bool:
    """Whether restarts are logged, so that it is worth looking for them."""
    return _logger.isEnabledFor(logging.INFO)
