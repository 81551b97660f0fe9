"""Writing a file completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` once it is safely on disk, unless an error is raised.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "file")
    ...     with replacing(str(path)) as file:
    ...         _ = file.write(b"all of it")
    ...     path.read_text()
    'all of it'
    """
    if not path:  # which realpath would take for the current folder
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    path = os.path.realpath(path)  # a symbolic link stays, and the file that it points to changes
    mode = _mode_of(path)
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".river_amf-{secrets.token_hex(8)}.tmp")
    try:
        # opened like any new file, so that it gets the permissions that the user's umask sets
        file = open(temporary, "x+b")  # noqa: SIM115
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _mode_of(path: str) -> int | None:
    """Return the permissions of the file to be replaced (None if new), or raise OSError."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):  # such as a device
        raise OSError(f"cannot save to {path!r}: it is not a regular file")
    with open(path, "r+b"):  # raises if it is a folder or cannot be written
        return stat.S_IMODE(found.st_mode)


def _sync_folder(folder: str) -> None:
    """Make sure that the new name is on disk too, if the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
