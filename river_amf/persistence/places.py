"""Where models are saved: at a path, whose file is replaced as a whole, or in an open file.

A path must lead to a regular file: a pipe might keep a reader waiting, and a device has no end. An
open file need not support `seek`, so an archive is copied to and from it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from typing import IO, Any

from river_amf.inputs.kinds import shown

PIECE_BYTES = 2**20  # how much is copied at once
MOST_IN_MEMORY = 2**24  # how much of a copy is kept in memory rather than in a file, in bytes


def place_of(target: Any, method: str) -> str | Any:
    """Return a path as a str, and an open file as it is; raise TypeError for anything else."""
    if isinstance(target, str | bytes | os.PathLike):
        return os.fsdecode(target)
    if not callable(getattr(target, method, None)):
        what = f"{shown(target)} of type {type(target).__name__}"
        raise TypeError(f"expected a path or a binary file with a method {method!r}, got {what}")
    if hasattr(target, "encoding"):
        raise TypeError(f"{name_of(target)} is open in text mode; open it with mode '{method[0]}b'")
    return target


def name_of(place: Any) -> str:
    """Return what messages call a path or an open file."""
    name = place if isinstance(place, str) else getattr(place, "name", None)
    return f"the file {name!r}" if name and isinstance(name, str) else f"the {type(place).__name__}"


def write(place: Any, write_to: Callable[[IO[bytes]], int]) -> int:
    """Call a function that writes an archive and returns its size; put this in its place."""
    if isinstance(place, str):
        return int(replace(place, write_to))
    with tempfile.SpooledTemporaryFile(MOST_IN_MEMORY) as copy:
        size = write_to(copy)
        copy.seek(0)
        while piece := copy.read(PIECE_BYTES):
            if place.write(piece) not in (None, len(piece)):
                raise OSError(f"{name_of(place)} took only a part of what was written to it")
    return size


def replace(path: str, write: Callable[[IO[bytes]], Any]) -> Any:
    """Write a file that replaces `path` once it is safely on disk, unless an error is raised."""
    path = os.path.realpath(path)  # a symbolic link stays, and the file that it points to changes
    mode = None
    if os.path.exists(path):
        mode = check_regular(path, "save to")
        open(path, "r+b").close()  # raises if it is a folder or cannot be written
    temporary = os.path.join(os.path.dirname(path), f".river_amf-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            result = write(file)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
        _sync_folder(os.path.dirname(path))
    except BaseException as error:
        try:
            os.unlink(temporary)
        except OSError as other:
            _raise_of_handler(other)
        if isinstance(error, OSError) and error.filename == temporary:
            error.filename, error.filename2 = path, None
        raise
    return result


def _sync_folder(path: str) -> None:
    """Put the names in a folder safely on disk, where the system can do that."""
    try:
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:  # Windows opens no folders, and some file systems cannot sync them
        _raise_of_handler(error)


def _raise_of_handler(error: OSError) -> None:
    """Raise an error unless it is one of the system; a handler may raise TimeoutError."""
    if error.errno is None:
        raise error


def check_regular(path: str, doing: str) -> int:
    """Return the permissions of a regular file or folder, or raise OSError."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = f"it is not a regular file; to {doing} it, open it and pass the open file"
        raise OSError(errno.EINVAL, what, path)
    return stat.S_IMODE(mode)
