"""Where compiled code is kept between processes.

Numba finds compiled code by the file of the one function that Python calls, and does not see that a
function which this one calls, in another file, has changed. So the folder of the cache is named by
a hash of all sources that the kernels are made of: any change in them, and any upgrade whatever its
time stamps, makes a new folder, and the old ones are removed.

The folder lies in the first of these places that can be written:

1. the one that the user has set for Numba (`NUMBA_CACHE_DIR`);
2. `__pycache__` beside the kernels;
3. the user's own cache (`XDG_CACHE_HOME` or `~/.cache`, `~/Library/Caches`, `%LOCALAPPDATA%`).

Where none can, nothing is kept, and each process compiles for itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_PREFIX = "river_amf-"  # of a folder of ours, which is removed once it is old
_HERE = Path(__file__).resolve().parent
SOURCES = (*sorted(_HERE.glob("[!.]*.py")), _HERE.parent / "layout.py")  # no editor's lock files


def folder(users_own: str = "") -> str:
    """Return the folder for the code compiled from today's sources, and remove older ones.

    Parameters
    ----------
    users_own
        The folder that the user has set, empty if none.

    Returns
    -------
    Its path; empty if nothing can be kept.
    """
    try:
        name = _PREFIX + source_hash(SOURCES)
    except OSError:  # the package came without its sources
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
    """Yield where the folder may lie, the best place first.

    In one that is shared with other installations, ours has a folder of its own, lest they remove
    each other's.
    """
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
    if home.is_absolute():  # a process may have no home
        yield home / "river_amf" / of_installation


def _can_be_written(path: Path) -> bool:
    """Whether files can be made in a folder, which is made first if need be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return False
    return True


def _remove_others(place: Path, name: str) -> None:
    """Remove the folders of other sources; a process that still runs them makes its own again."""
    for path in place.glob(f"{_PREFIX}*"):
        if path.name != name:
            shutil.rmtree(path, ignore_errors=True)
