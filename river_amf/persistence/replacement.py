"""Writing a file completely or not at all.

A file is written under another name and then renamed. If the process is killed meanwhile, this
temporary file is left behind, and the next save to its folder removes it. It must not remove the
file of a process that is still writing, so each writer holds a lock (`flock`) on its file, which
the system releases when the process ends, however it ends. Nothing is removed without that lock.
Some network file systems do not pass locks on to other computers: so a file from another computer,
or from before a restart, must also have been left alone for a day. (A process id in the name would
mean nothing in another container or on another computer, and may be taken again. A file without a
name, by `O_TMPFILE`, cannot replace another, and few network file systems have it.)
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import platform
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

if sys.platform != "win32":
    import fcntl

_NAME = re.compile(r"\.river_amf-(?:([0-9a-f]{8})-)?[0-9a-f]{16}\.tmp")  # 0.1 named no computer
_PATIENCE = 86_400.0  # how long a file from another computer must have been left alone, in seconds
_TRIES = 100
_own: set[str] = set()  # the temporary files of this process, as a lock may not exclude itself


def replace(path: str, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file that replaces `path` once it is safely on disk, unless an error is raised.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "file")
    ...     replace(str(path), lambda file: file.write(b"all of it"))
    ...     path.read_text()
    'all of it'
    """
    # This is no context manager: an interrupt between its start and the block would leave the file.
    if not path:  # which realpath would take for the current folder
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    path = os.path.realpath(path)  # a symbolic link stays, and the file that it points to changes
    mode = _mode_of(path)
    folder = os.path.dirname(path)
    remove_leftovers(folder)
    for _ in range(_TRIES):
        name = f".river_amf-{_computer()}-{secrets.token_hex(8)}.tmp"
        if _replace_by(os.path.join(folder, name), path, mode, write):
            break
    else:
        raise OSError(errno.EAGAIN, "its temporary files were removed while it was saved", path)
    with suppress(OSError):
        _sync_folder(folder)


def _replace_by(
    temporary: str, path: str, mode: int | None, write: Callable[[IO[bytes]], object]
) -> bool:
    """Write a file under a temporary name; return False if it was taken for a leftover at once."""
    _own.add(temporary)
    try:
        with _created(temporary, path) as file:
            if not _locked(file):
                return False
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, mode)
            if os.name != "nt":  # where an open file cannot be renamed
                os.replace(temporary, path)  # before the lock goes
        if os.name == "nt":
            os.replace(temporary, path)
    except BaseException as error:
        if not isinstance(error, FileExistsError):  # of another writer
            with suppress(OSError):
                os.unlink(temporary)
        raise
    finally:
        _own.discard(temporary)
    return True


def _created(temporary: str, path: str) -> IO[bytes]:
    try:
        # opened like any new file, so that it gets the permissions that the user's umask sets
        return open(temporary, "xb")
    except OSError as error:
        if error.filename != temporary:  # raised by a signal handler, such as a TimeoutError
            raise
        raise OSError(error.errno, error.strerror, path) from None


def _locked(file: IO[bytes]) -> bool:
    """Lock a new file, where that is possible; return False if another process removes it."""
    if sys.platform == "win32":  # which does not remove open files
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # there are no locks here, so nobody removes anything
        return True
    return os.fstat(file.fileno()).st_nlink > 0


def remove_leftovers(folder: str) -> None:
    """Remove what killed processes have left in a folder, and nothing that is still in use.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, f".river_amf-{_computer()}-0123456789abcdef.tmp")
    ...     path.touch()
    ...     remove_leftovers(folder)
    ...     path.exists()
    False
    """
    with suppress(OSError):
        for name in os.listdir(folder or os.curdir):
            found = _NAME.fullmatch(name)
            path = os.path.join(folder, name)
            if found and path not in _own:
                with suppress(OSError):
                    _remove_if_left(path, is_from_here=found[1] == _computer())


def _remove_if_left(path: str, *, is_from_here: bool) -> None:
    """Remove a temporary file unless it is in use, or may be."""
    found = os.lstat(path)
    is_old = time.time() - found.st_mtime > _PATIENCE
    if not stat.S_ISREG(found.st_mode) or not (is_old or is_from_here):
        return
    if sys.platform == "win32":  # an open file cannot be removed; one between closing and renaming
        if is_old:
            os.unlink(path)
        return
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)  # still locked: a writer that has just made it sees that it is gone
    finally:
        os.close(handle)


@functools.cache
def _computer() -> str:
    """Return eight digits for this computer since it was last started."""
    name = platform.node()
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        name += file.read()
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _mode_of(path: str) -> int | None:
    """Return the permissions of the file to be replaced (None if new), or raise OSError."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):  # such as a device
        raise OSError(
            errno.EINVAL,
            "it is not a regular file; to save to it, open it and pass the open file",
            path,
        )
    with open(path, "r+b"):  # raises if it is a folder or cannot be written
        return stat.S_IMODE(found.st_mode)


def _sync_folder(folder: str) -> None:
    """Make sure that the new name is on disk too, if the system supports it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
