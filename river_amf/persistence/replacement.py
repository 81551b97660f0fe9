"""A file that is written whole, or not at all."""

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
    """Open a new file, and put it in the place of `path` once it is safe on the disk.

    It lies beside `path` meanwhile. If anything is raised, it goes, and what was there stays. A
    symbolic link stays too, and what it points to is replaced; permissions are kept.

    Raises
    ------
    OSError
        If it cannot be written, as `open` would; or if `path` is a device.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "file")
    ...     with replacing(str(path)) as file:
    ...         _ = file.write(b"all of it")
    ...     path.read_text()
    'all of it'
    """
    if not path:  # which realpath would take for this folder
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    path = os.path.realpath(path)
    mode = _mode_of(path)
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".river_amf-{secrets.token_hex(8)}.tmp")
    try:
        # opened as any new file, for the permissions that the user wants new files to have
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
    """Return the permissions of the file to be replaced, None without one.

    Raises what it raises to open that for writing. A device is not to be replaced by a file.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise OSError(f"cannot save to {path!r}, which is no regular file")
    with open(path, "r+b"):
        return stat.S_IMODE(found.st_mode)


def _sync_folder(folder: str) -> None:
    """Make the new name safe on the disk as well, where the system lets us."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
