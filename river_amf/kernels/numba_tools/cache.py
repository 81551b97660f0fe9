"""Compiled code on disk: Numba's own files, for all sources of the kernels together.

Numba looks up compiled code by the file of the function that Python calls, and misses changes in
other files. Here it goes by a hash of all files. Code is kept in the first place that can be
written: the folder that the user has set (`NUMBA_CACHE_DIR`), `__pycache__` next to the kernels, or
the user's cache. Folders before it that can only be read, as in an image, are read first. If none
can be written, each process compiles, and warns once. A damaged file only costs that time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile, NullCache
from numba.core.compiler import CompileResult

_HERE = Path(__file__).resolve().parents[1]  # the folder of the kernels
SOURCES = [*sorted(_HERE.rglob("[!.]*.py")), _HERE.parent / "state" / "layout.py"]


def stamp_of(sources: Iterable[Path]) -> str:
    """Return a hash of the names and contents of files."""
    digest = hashlib.sha256()
    for path in sources:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


# If the package is installed without its sources, nothing is kept.
STAMP = stamp_of(SOURCES) if SOURCES[-1].exists() else ""
_LOGGER = logging.getLogger("river_amf.kernels")
_said: set[str] = set()  # what is said once, not once for each kernel


class KernelCache(NullCache):  # type: ignore[misc]
    """The compiled code of one kernel, as Numba asks for it and hands it over."""

    def __init__(self, function: Callable[..., Any], folders: Sequence[str]) -> None:
        # the last of the folders is written, too
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._name = f"{name}.{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        self._folders = folders
        self._files = [_Files(folder, self._name, STAMP) for folder in folders]

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, or None."""
        target.refresh()
        key = signature, target.codegen().magic_tuple()
        for files in self._files:
            with suppress(Exception):  # whatever is wrong with a file, the code can be compiled
                return CompileResult._rebuild(target, *files.load(key))
        if "compiling" not in _said:
            _said.add("compiling")
            kept = f"they are kept in {self._folders[-1]}" if self._folders else "none is kept"
            text = f"compiling the kernels of the forest takes about ten seconds; {kept}"
            _LOGGER.info(text)
            if not _LOGGER.isEnabledFor(logging.INFO) and sys.stderr and sys.stderr.isatty():
                print(f"river_amf: {text}", file=sys.stderr)
        _LOGGER.debug("compiling %s", self._name)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write the code for a signature, or warn once that it cannot be written."""
        try:
            if not self._files:
                raise OSError("there is no folder that can be written")
            key = signature, result.library.codegen.magic_tuple()
            self._files[-1].save(key, result._reduce())
        except Exception as error:  # such as a full disk; the code is there, so the call goes on
            if "warning" not in _said:
                _said.add("warning")
                text = (
                    "river_amf cannot cache its compiled kernels, so each process compiles them"
                    f" again ({error}); set NUMBA_CACHE_DIR to a folder that can be written"
                )
                warnings.warn(text, RuntimeWarning, stacklevel=2)


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel in one folder: an index, and one for each signature."""

    # A file of code starts with a digest, as damaged code or that of other sources could crash the
    # process, and contains its key, because an index can be older than the file it points to.

    def save(self, key: Any, payload: Any) -> None:
        os.makedirs(self._cache_path, exist_ok=True)
        super().save(key, (key, payload))

    def load(self, key: Any) -> Any:
        content = Path(self._data_path(self._load_index()[key])).read_bytes()
        data = content[hashlib.sha256().digest_size :]
        stored, payload = pickle.loads(data) if content == self._signed(data) else (None, None)
        if stored != key:
            raise ValueError("is damaged, of other sources, or for another signature")
        return payload

    def _load_index(self) -> dict[Any, str]:
        try:
            return dict(super()._load_index())
        except Exception:  # empty, cut or unreadable: as if it were not there, and to be replaced
            return {}

    def _save_data(self, name: str, payload: Any) -> None:
        with self._open_for_write(self._data_path(name)) as file:
            file.write(self._signed(self._dump(payload)))

    def _signed(self, data: bytes) -> bytes:
        sources = f"{numba.__version__} {self._source_stamp}".encode()
        return hashlib.sha256(sources + data).digest() + data


def folders(users_own: str) -> list[str]:
    """Return the folders to read; the last of them can be written, if any can."""
    found: list[str] = []
    for place in _places(users_own) if STAMP else ():
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            tempfile.TemporaryFile(dir=place).close()
            return [*found, str(place)]
        if os.path.isdir(place):
            found.append(str(place))
    return found


def _places(users_own: str) -> Iterator[Path]:
    """Yield the places where the folder may be, the best one first."""
    # In places that installations share, each has its own folder, or they would replace each
    # other's code. Paths are absolute, because a process may change its folder before it writes.
    of_installation = f"river_amf-{hashlib.sha256(os.fsencode(_HERE)).hexdigest()[:16]}"
    if users_own:
        with suppress(OSError):  # a relative path in a folder that has been removed
            yield Path(os.path.abspath(users_own), of_installation)
    yield _HERE / "__pycache__" / "numba"
    users_own = {
        "win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local"),
        "darwin": "~/Library/Caches",
    }.get(sys.platform, os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    home = Path(os.path.expanduser(users_own))
    if home.is_absolute():  # it is not if the process has no home
        yield home / of_installation
