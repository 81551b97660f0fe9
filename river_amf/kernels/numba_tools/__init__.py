"""How kernels are compiled and cached, and how they see the arrays.

`insides` and `cache` build on the insides of Numba, which saves most of the time to compile; but
these differ between its versions. So one switch leads past them, to `plain` functions of
`numba.njit`. It is thrown by the environment (`RIVER_AMF_PLAIN_NJIT=1`) and on versions of Numba
that are not known. Predictions are the same, but each process compiles for minutes.
"""

import logging
import os

import numba

KNOWN_VERSIONS = (0, 61), (0, 68)  # the oldest and the newest


def is_known(version: tuple[int, ...]) -> bool:
    """Return whether the insides of a version of Numba are those that this package builds on."""
    oldest, newest = KNOWN_VERSIONS
    return oldest <= version[:2] <= newest


IS_COMPILED = not numba.config.DISABLE_JIT
_IS_KNOWN = is_known(numba.version_info.short)
USES_INSIDES = IS_COMPILED and _IS_KNOWN and not os.environ.get("RIVER_AMF_PLAIN_NJIT")

if IS_COMPILED and not _IS_KNOWN:
    logging.getLogger("river_amf.kernels").warning(
        "this version of river_amf does not know Numba %s, so each process compiles the kernels"
        " anew, for minutes; with Numba %d.%d to %d.%d it takes seconds",
        numba.__version__,
        *KNOWN_VERSIONS[0],
        *KNOWN_VERSIONS[1],
    )
