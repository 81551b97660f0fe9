"""Where models are saved: at a path, whose file is replaced as a whole, or in an open file."""

import contextlib
import errno
import glob
import os
import platform
import secrets
import stat
from collections.abc import Callable, Iterator
from typing import IO, Any

from river_amf.inputs.kinds import shown

fcntl: Any = None
with contextlib.suppress(ImportError):  # on Windows, where nothing is removed
    import fcntl

_PREFIX = f".river_amf-{platform.node()}-"  # other machines may not see its locks


def check_binary(file: Any, method: str) -> None:
    """Raise TypeError unless an open file has a method, for bytes."""
    if not callable(getattr(file, method, None)) or hasattr(file, "encoding"):
        what = f"{shown(file)} of type {type(file).__name__}"
        raise TypeError(f"expected a path or a binary file with a method {method!r}, got {what}")


def name_of(file: Any) -> str:
    name = os.fspath(file) if isinstance(file, os.PathLike) else file
    name = name if isinstance(name, str) else getattr(file, "name", None)
    return f"the file {name!r}" if name and isinstance(name, str) else f"the {type(file).__name__}"


@contextlib.contextmanager
def named(path: os.PathLike[str]) -> Iterator[None]:
    """Give errors without the name of a file, as of a full disk, this one."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or os.fspath(path)
        raise


def replace(path: str, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file that replaces `path` once it is safely on disk, unless an error is raised."""
    path = os.path.realpath(path)  # a symbolic link stays, and the file that it points to changes
    mode = os.stat(path).st_mode if os.path.exists(path) else None
    if mode is not None:
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        open(path, "r+b").close()  # raises if it is a folder or cannot be written
    _remove_abandoned(os.path.dirname(path))
    temporary = os.path.join(os.path.dirname(path), f"{_PREFIX}{secrets.token_hex(8)}.tmp")
    try:
        with _locked(temporary) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            if fcntl is None:  # Windows cannot rename an open file
                file.close()
            os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in (None, temporary):
            error.filename = path
            del error.filename2  # which would be shown even as None
        raise


def _locked(temporary: str) -> IO[bytes]:
    """Return a new file, which this process has locked as long as it is open."""
    while True:
        file = open(temporary, "xb")  # noqa: SIM115 (it is closed by the caller)
        with contextlib.suppress(OSError, AttributeError):  # without fcntl or such locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(temporary):
            return file
        file.close()  # another process has removed it before it was locked


def _remove_abandoned(folder: str) -> None:
    """Remove temporary files from a folder whose processes have been killed."""
    for path in glob.glob(f"{glob.escape(os.path.join(folder, _PREFIX))}*.tmp"):
        with contextlib.suppress(OSError, AttributeError), open(path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if a process has locked it
            os.unlink(path)
