"""Where models are saved: at a path, whose file is replaced as a whole, or in an open file."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable
from typing import IO, Any

from river_amf.inputs.kinds import shown


def check_binary(file: Any, method: str) -> None:
    """Raise TypeError unless an open file has a method, for bytes."""
    if not callable(getattr(file, method, None)) or hasattr(file, "encoding"):
        what = f"{shown(file)} of type {type(file).__name__}"
        raise TypeError(f"expected a path or a binary file with a method {method!r}, got {what}")


def name_of(place: Any) -> str:
    """Return the name of a path or an open file in messages."""
    name = os.fspath(place) if isinstance(place, os.PathLike) else place
    name = name if isinstance(name, str) else getattr(place, "name", None)
    return f"the file {name!r}" if name and isinstance(name, str) else f"the {type(place).__name__}"


def replace(path: str, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file that replaces `path` once it is safely on disk, unless an error is raised."""
    path = os.path.realpath(path)  # a symbolic link stays, and the file that it points to changes
    mode = os.stat(path).st_mode if os.path.exists(path) else None
    if mode is not None:
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        open(path, "r+b").close()  # raises if it is a folder or cannot be written
    temporary = os.path.join(os.path.dirname(path), f".river_amf-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:
            error.filename, error.filename2 = path, None
        raise
