"""Compiling everything at once, instead of each kernel when it is first called."""

from __future__ import annotations

from river_amf.kernels import compilation, parts
from river_amf.layout import PART_ADDRESSES


def are_in_use() -> bool:
    """Whether anything has been compiled or read so far."""
    return bool(PART_ADDRESSES.any())


def warm_up() -> None:
    """Compile all kernels now, instead of each when it is first needed.

    They are compiled once for each release, machine and user, in about 20 seconds, and then kept
    on disk (`NUMBA_CACHE_DIR` says where). Call this when an image is built or a server starts, so
    that no prediction has to wait. If everything has been compiled before, it is read, in less than
    half a second. The command `river-amf warm-up` does the same.

    The logger `river_amf.kernels` says at level INFO when something is compiled.

    Examples
    --------
    >>> import river_amf
    >>> river_amf.warm_up()
    """
    parts.compile_parts()
    compilation.compile_kernels()
