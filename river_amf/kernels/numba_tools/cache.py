"""Numba's cache for all sources of the kernels together (DESIGN.md: compiled code).

It is kept in the first folder that can be written, or that already has some: `NUMBA_CACHE_DIR`,
`__pycache__` next to the kernels, or the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.misc.appdirs import AppDirs

from river_amf.kernels.numba_tools import halfway
from river_amf.kernels.numba_tools.progress import LOGGER, announce

_HERE = Path(__file__).resolve().parents[1]  # the folder of the kernels
SOURCES = [*sorted(_HERE.rglob("[!.]*.py")), _HERE.parent / "state" / "layout.py"]
_WARNED = "RIVER_AMF_HAS_WARNED"  # in the environment, which child processes inherit


def folder() -> Path | None:
    # Installations that share a cache have a folder each, or they would replace each other's code.
    # Paths are absolute, because a process may change its folder before it writes.
    name = f"river_amf-{hashlib.sha256(os.fsencode(_HERE)).hexdigest()[:16]}"
    folders = [_HERE / "__pycache__" / "numba", Path(AppDirs("numba").user_cache_dir) / name]
    if numba.config.CACHE_DIR:
        folders.insert(0, Path(os.path.abspath(numba.config.CACHE_DIR), name))
    for folder in folders:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            return folder
        with suppress(OSError):
            if any(folder.glob("*.nbi")):
                return folder
    return None


FOLDER = folder()
_PARTS = (part for path in SOURCES for part in (path.name.encode(), path.read_bytes()))
STAMP = hashlib.sha256(b"\0".join(_PARTS) + bytes([halfway.IS_ON])).hexdigest()


class _Locator(_CacheLocator):  # type: ignore[misc]
    @classmethod
    def from_function(cls, function: Any, path: str) -> _Locator:
        return cls()

    def get_cache_path(self) -> str:
        return str(FOLDER)

    def get_source_stamp(self) -> str:
        return STAMP

    def get_disambiguator(self) -> str:
        return "kernel"


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The compiled code of one kernel."""

    _impl_class = _Implementation

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            if FOLDER and (code := super().load_overload(signature, target)) is not None:
                return code
        except Exception:  # such as a damaged file, which is replaced
            with suppress(OSError):
                self.flush()
        announce(f"they are kept in {FOLDER}" if FOLDER else "none is kept")
        LOGGER.debug("compiling %s", self._name)
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Write the code for a signature, or warn, once with child processes, that it cannot be."""
        try:
            if FOLDER is None:
                raise OSError("there is no folder that can be written")
            super().save_overload(signature, code)
        except Exception as error:  # such as a full disk; the call goes on with the code
            if _WARNED in os.environ:
                return
            os.environ[_WARNED] = "1"
            reason = getattr(error, "strerror", None) or error
            text = (
                "river_amf cannot cache its compiled kernels, so each process compiles them again"
                f" ({reason}); set NUMBA_CACHE_DIR to a folder that can be written"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=2)
