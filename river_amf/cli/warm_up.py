"""The subcommand `warm-up`: compiles all kernels beforehand."""

from __future__ import annotations

import argparse
import time

import river_amf
from river_amf.kernels.compilation import CACHE_FOLDERS

DESCRIPTION = (
    "Compile all kernels now, instead of each when it is first needed. They are kept on disk, so"
    " this is done once for each release, machine and user, such as when an image is built."
    " NUMBA_CACHE_DIR says where they are kept."
)


def run(arguments: argparse.Namespace) -> int:
    """Compile, say how long it took, and return the exit status."""
    start = time.perf_counter()
    river_amf.warm_up()
    where = f"in {CACHE_FOLDERS[-1]}" if CACHE_FOLDERS else "nowhere, as no folder can be written"
    print(f"all kernels are compiled, after {time.perf_counter() - start:.1f} s; kept {where}")
    return 0
