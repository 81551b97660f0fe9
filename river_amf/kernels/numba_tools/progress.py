"""What is shown while kernels are compiled: a line, once, and how far it is."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from tqdm import tqdm

LOGGER = logging.getLogger("river_amf.kernels")


@functools.cache
def announce(where: str) -> None:
    """Log that kernels are compiled, once, or print it in an interactive session."""
    text = f"compiling the kernels of the forest, once for this release and machine; {where}"
    LOGGER.info(text)
    if not LOGGER.isEnabledFor(logging.INFO) and hasattr(sys, "ps1"):
        print(f"river_amf: {text}", file=sys.stderr)


def show(result: Future[Any], share: Callable[[], float]) -> None:
    """Show, until a result is there, which share is done, where someone may watch."""
    is_logged = LOGGER.isEnabledFor(logging.INFO)
    is_shown = sys.stderr and (hasattr(sys, "ps1") or (is_logged and sys.stderr.isatty()))
    if is_shown and not wait([result], 0.5).done:  # it takes longer than to load a kernel
        with tqdm(total=1.0, initial=share(), leave=False, bar_format="{l_bar}{bar}|") as bar:
            while not wait([result], 0.1).done:
                bar.update(share() - bar.n)
