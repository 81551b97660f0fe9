"""Compile all kernels, and keep them on disk, in the folder NUMBA_CACHE_DIR if it is set."""

import argparse
import time

import river_amf
from river_amf.kernels.numba_tools import cache


def run(arguments: argparse.Namespace) -> int:
    start = time.perf_counter()
    river_amf.warm_up()
    where = f"in {cache.FOLDER}" if cache.FOLDER else "nowhere, as no folder can be written"
    print(f"all kernels are compiled, after {time.perf_counter() - start:.1f} s; kept {where}")
    return 0 if cache.FOLDER else 1
