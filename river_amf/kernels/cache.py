"""Where compiled code is cached between processes.

Numba looks up compiled code by the source file of the function that Python calls. It does not
notice changes in other files, in functions that this one calls. So the cache folder is named after
a hash of all source files of the kernels: after any change or upgrade, whatever the timestamps of
the files, there is a new folder, and the old ones are removed.

The folder is in the first of these places that is writable:

1. the one that the user has set for Numba (`NUMBA_CACHE_DIR`);
2. `__pycache__` next to the kernels;
3. the user's cache (`XDG_CACHE_HOME` or `~/.cache`, `~/Library/Caches`, `%LOCALAPPDATA%`).

If none of them is, nothing is cached, and each process compiles the kernels itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_PREFIX = "river_amf-"  # marks our folders, which are removed when they are outdated
_HERE = Path(__file__).resolve().parent
SOURCES = (*sorted(_HERE.glob("[!.]*.py")), _HERE.parent / "layout.py")  # not lock files of editors


def folder(users_own: str = "") -> str:
    """Return the cache folder for the current sources ("" if there is none), and remove others."""
    try:
        name = _PREFIX + source_hash(SOURCES)
    except OSError:  # the package is installed without its sources
        return ""
    for place in _places(users_own):
        path = place / name
        is_new = not path.is_dir()
        if _can_be_written(path):
            if is_new:
                _remove_others(place, name)
            return str(path)
    return ""


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
    for path in place.glob(f"{_PREFIX}*"):
        if path.name != name:
            shutil.rmtree(path, ignore_errors=True)
