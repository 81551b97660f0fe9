"""Log messages: trees that restart in a block of rows, and words that are forgotten."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from river_amf.state.arena import Arena

_logger = logging.getLogger("river_amf.events")


def forgot_words(n_forgotten: int, n_kept: int) -> None:
    """Log words that are forgotten, if any are."""
    if n_forgotten:
        _logger.info(
            "the %d rarest words are forgotten, %d are kept (max_words)", n_forgotten, n_kept
        )


def restarted(arena: Arena, n_restarts: Any) -> None:
    """Log trees that have restarted; `n_restarts` has the number of earlier ones."""
    trees = np.flatnonzero(arena.trees["n_restarts"] > n_restarts)
    if len(trees):
        _logger.info("after a drift, the trees %s have restarted", trees.tolist())
