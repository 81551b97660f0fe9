"""Compiled code on disk: Numba's own cache, for all sources of the kernels together.

Numba looks up compiled code by the file of the function that Python calls, and misses changes in
other files. Here it goes by a hash of all files. Code is kept in the first folder that can be
written, or that already has some: the user's choice (`NUMBA_CACHE_DIR`), `__pycache__` next to the
kernels, or the user's cache. If there is none, each process compiles, and warns once.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.misc.appdirs import AppDirs

_HERE = Path(__file__).resolve().parents[1]  # the folder of the kernels
SOURCES = [*sorted(_HERE.rglob("[!.]*.py")), _HERE.parent / "state" / "layout.py"]
_LOGGER = logging.getLogger("river_amf.kernels")
_reported: set[str] = set()  # what is reported once, not for each kernel


def stamp_of(sources: Iterable[Path]) -> str:
    """Return a hash of the names and contents of files."""
    digest = hashlib.sha256()
    for path in sources:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def folder() -> Path | None:
    """Return the folder of compiled code, or None."""
    # In places that installations share, each has its own folder, or they would replace each
    # other's code. Paths are absolute, because a process may change its folder before it writes.
    name = f"river_amf-{hashlib.sha256(os.fsencode(_HERE)).hexdigest()[:16]}"
    places = [_HERE / "__pycache__" / "numba", Path(AppDirs("numba").user_cache_dir) / name]
    if numba.config.CACHE_DIR:
        places.insert(0, Path(os.path.abspath(numba.config.CACHE_DIR), name))
    for place in places:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
            return place
        with suppress(OSError):
            if any(place.glob("*.nbi")):
                return place
    return None


STAMP, FOLDER = stamp_of(SOURCES), folder()


class _Locator(_CacheLocator):  # type: ignore[misc]
    """The place of the code, and the version of its sources."""

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
        """Return the code for a signature, or None."""
        try:
            if FOLDER and (code := super().load_overload(signature, target)) is not None:
                return code
        except Exception:  # such as a damaged file, which is replaced
            with suppress(OSError):
                self.flush()
        if "compiling" not in _reported:
            _reported.add("compiling")
            kept = f"they are kept in {FOLDER}" if FOLDER else "none is kept"
            text = (
                "compiling the kernels of the forest, once for this release and machine, which"
                f" takes about twenty seconds; {kept}"
            )
            _LOGGER.info(text)
            if not _LOGGER.isEnabledFor(logging.INFO) and sys.stderr and sys.stderr.isatty():
                print(f"river_amf: {text}", file=sys.stderr)
        _LOGGER.debug("compiling %s", self._name)
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Write the code for a signature, or warn once that it cannot be written."""
        try:
            if FOLDER is None:
                raise OSError("there is no folder that can be written")
            super().save_overload(signature, code)
        except Exception as error:  # such as a full disk; the code is there, so the call goes on
            if "warning" not in _reported:
                _reported.add("warning")
                text = (
                    "river_amf cannot cache its compiled kernels, so each process compiles them"
                    f" again ({error}); set NUMBA_CACHE_DIR to a folder that can be written"
                )
                warnings.warn(text, RuntimeWarning, stacklevel=2)
