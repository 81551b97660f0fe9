"""The subcommand `river-amf warm-up`: all kernels, compiled beforehand."""

from __future__ import annotations

import argparse
import time

import river_amf
from river_amf.kernels.numba_tools import cache

DESCRIPTION = (
    "Compile all kernels, and keep them on disk, in the folder NUMBA_CACHE_DIR if it is set."
)


def run(arguments: argparse.Namespace) -> int:
    """Compile, print how long it took, and return the exit status."""
    start = time.perf_counter()
    river_amf.warm_up()
    where = f"in {cache.FOLDER}" if cache.FOLDER else "nowhere, as no folder can be written"
    print(f"all kernels are compiled, after {time.perf_counter() - start:.1f} s; kept {where}")
    return 0 if cache.FOLDER else 1
