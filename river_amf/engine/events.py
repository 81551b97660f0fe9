"""Log messages: trees that restart, and words that are forgotten.

The logger is `river_amf.events`. Which trees restart is up to the kernels, and to look for them
would take a microsecond of each single call, so only restarts in blocks are logged.
`kernels.numba_tools.cache` logs what is compiled.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_amf.state.arena import Arena

_logger = logging.getLogger("river_amf.events")


def forgot_words(n_forgotten: int, n_kept: int) -> None:
    """Log words that are forgotten, if any are."""
    if n_forgotten:
        _logger.info(
            "the %d rarest words are forgotten, %d are kept (max_vocabulary)", n_forgotten, n_kept
        )


def restarted(arena: Arena, n_restarts: NDArray[Any]) -> None:
    """Log trees that have restarted in a block; `n_restarts` is from before it."""
    trees = np.flatnonzero(arena.trees["n_restarts"] > n_restarts)
    if len(trees):
        _logger.info("after a drift, the trees %s have restarted", trees.tolist())


def logs_restarts() -> bool:
    """Whether restarts are logged, so that it is worth looking for them."""
    return _logger.isEnabledFor(logging.INFO)
