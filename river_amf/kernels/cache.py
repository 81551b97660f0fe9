"""Compiled code on disk: where it is kept between processes, and how it is read and written.

Numba looks up compiled code by the source file of the function that Python calls. It does not
notice changes in other files, in functions that this one calls. So the cache folder is named after
a hash of all source files of the kernels: after any change or upgrade, whatever the timestamps of
the files, there is a new folder, and the old ones are removed.

The folder is in the first of these places that is writable:

1. the one that the user has set for Numba (`NUMBA_CACHE_DIR`);
2. `__pycache__` next to the kernels;
3. the user's cache (`XDG_CACHE_HOME` or `~/.cache`, `~/Library/Caches`, `%LOCALAPPDATA%`).

A folder that is there but cannot be written, as in an image that is mounted read-only, is read
before the others. If none can be written, each process compiles what it does not find, and warns
once. A file that is missing, damaged or unreadable only costs the time to compile.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import shutil
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

_PREFIX = "river_amf-"  # marks our folders, which are removed when they are outdated
_HERE = Path(__file__).resolve().parent
SOURCES = (*sorted(_HERE.glob("[!.]*.py")), _HERE.parent / "layout.py")  # not lock files of editors

_DIGEST = hashlib.sha256
_is_warned = False  # the warning is given once, not once for each kernel
_is_told = False
_LOGGER = logging.getLogger("river_amf.kernels")


class KernelCache(NullCache):  # type: ignore[misc]
    """The compiled code of one kernel, as Numba asks for it and hands it over."""

    # Numba's own cache needs a folder that can be written even to read, and any error of the file
    # system ends the call that needed the code.
    def __init__(self, function: Callable[..., Any], folders: Sequence[str]) -> None:
        module = function.__module__.rpartition(".")[2]
        python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        name = f"{module}.{function.__qualname__}.{python}"
        self._name = function.__qualname__
        self._files = [_Files(folder, name, "") for folder in folders]

    @property
    def cache_path(self) -> str | None:
        """The folder that is written."""
        return self._files[-1].folder if self._files else None

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, or None."""
        target.refresh()
        key = signature, target.codegen().magic_tuple()
        for files in self._files:
            try:
                return CompileResult._rebuild(target, *files.load(key))
            except Exception:  # whatever is wrong with the file, the code can be compiled
                continue
        _tell(self._name, self.cache_path)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write the code for a signature, or warn once that it cannot be written."""
        try:
            if not self._files:
                raise OSError("there is no folder that can be written")
            key = signature, result.library.codegen.magic_tuple()
            self._files[-1].save(key, result._reduce())
        except Exception as error:  # such as a full disk; the code is there, so the call goes on
            _warn(error)

    def flush(self) -> None:
        """Leave the files alone: code compiled again replaces them."""


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel in one folder: an index, and one for each signature."""

    # Each file of code starts with a digest of what follows, because damaged code could crash the
    # process, and contains its key, because an index can be older than the file that it points to.

    @property
    def folder(self) -> str:
        """The folder of the files."""
        return str(self._cache_path)

    def load(self, key: Any) -> Any:
        """Return the data of a key, or raise."""
        path = Path(self._data_path(self._load_index()[key]))
        digest, data = _split(path.read_bytes())
        if digest != self._digest(data):
            raise ValueError(f"{path} is damaged")
        stored, payload = pickle.loads(data)
        if stored != key:
            raise ValueError(f"{path} is for another signature")
        return payload

    def save(self, key: Any, payload: Any) -> None:
        """Write the data of a key, or raise."""
        os.makedirs(self._cache_path, exist_ok=True)  # another version may have removed it
        super().save(key, (key, payload))

    def _load_index(self) -> dict[Any, str]:
        try:
            return dict(super()._load_index())
        except Exception:  # empty, cut or unreadable: as if it were not there, and to be replaced
            return {}

    def _save_data(self, name: str, payload: Any) -> None:
        data = self._dump(payload)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        # other versions of Numba may be unable to read the data
        return _DIGEST(numba.__version__.encode() + data).digest()


def _split(content: bytes) -> tuple[bytes, bytes]:
    """Return the digest at the start of a file, and the rest."""
    size = _DIGEST().digest_size
    return content[:size], content[size:]


def _warn(error: Exception) -> None:
    """Warn that compiled code cannot be kept, unless that has been said before."""
    global _is_warned
    if _is_warned:
        return
    _is_warned = True
    if SOURCES[-1].exists():
        advice = "set NUMBA_CACHE_DIR to a folder that can be written"
    else:
        advice = "not even in NUMBA_CACHE_DIR, because the sources of river_amf are not installed"
    warnings.warn(
        f"river_amf cannot cache its compiled kernels, so each process compiles them again"
        f" ({error}); {advice}",
        RuntimeWarning,
        stacklevel=2,
    )


def _tell(name: str, folder: str | None) -> None:
    """Log that a kernel is compiled, the first time in a way that explains the wait."""
    global _is_told
    if not _is_told:
        _is_told = True
        kept = f"they are kept in {folder}" if folder else "there is no folder to keep them in"
        _LOGGER.info("compiling the kernels of the forest takes about ten seconds; %s", kept)
    _LOGGER.debug("compiling %s", name)


def folders(users_own: str = "") -> list[str]:
    """Return the cache folders to read for the current sources, the last of them to write too."""
    try:
        name = _PREFIX + source_hash(SOURCES)
    except OSError:  # the package is installed without its sources
        return []
    found = []
    for place in _places(users_own):
        path = place / name
        is_there = os.path.isdir(path)
        is_writable = _can_be_written(path)
        if is_there or is_writable:
            found.append(str(path))
        if is_writable:
            if not is_there:
                _remove_others(place, name)
            break
    return found


def source_hash(sources: Iterable[Path]) -> str:
    """Return a hash of the names and contents of files."""
    digest = hashlib.sha256()
    for path in sources:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _places(users_own: str) -> Iterator[Path]:
    """Yield the places where the folder may be, the best one first."""
    # In places shared with other installations, each has its own subfolder, so that they do not
    # remove each other's folders.
    of_installation = hashlib.sha256(os.fsencode(_HERE)).hexdigest()[:16]
    if users_own:
        with suppress(OSError):  # from a relative path in a folder that has been removed
            # absolute, because the process may change its folder before it writes
            users_own = os.path.abspath(users_own)
        yield Path(users_own, of_installation)
    yield _HERE / "__pycache__"
    if sys.platform == "win32":
        users_cache = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        users_cache = "~/Library/Caches"
    else:
        users_cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = Path(os.path.expanduser(users_cache))
    if home.is_absolute():  # it is not if the process has no home
        yield home / "river_amf" / of_installation


def _can_be_written(path: Path) -> bool:
    """Whether files can be created in a folder, which is created first if necessary."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    return True


def _remove_others(place: Path, name: str) -> None:
    """Remove the folders of other sources."""
    # a process that still runs these sources compiles again when it needs to
    with suppress(OSError):
        for path in place.glob(f"{_PREFIX}*"):
            if path.name != name:
                shutil.rmtree(path, ignore_errors=True)
