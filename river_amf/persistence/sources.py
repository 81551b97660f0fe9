"""What models are written to and read from: files by their paths, and open files.

A path must lead to a regular file. Anything else might keep `open` waiting, as a pipe does without
a writer, or never end.

An open file is read from its position to the end of the model and not a byte further, so that one
model can follow another and a connection can stay open. That is why the parts of the archive are
gone through from the start: `zipfile` would look for its end first. If the file cannot be read
in any order, or only slowly (a socket, `GzipFile`), the model goes to a temporary file on the way.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Protocol

from river_amf.persistence.errors import FileError

_PIECE_BYTES = 2**20  # how much is copied at once
_MOST_IN_MEMORY = 2**24  # how much of a stream is kept in memory rather than in a file, in bytes
_LEAST_CHECKED = 2**28  # files up to this size, in bytes, are read without asking for room first
_LARGEST_SHORT = 2**32 - 1  # in place of this size of a member, its extra field has the right one
_FURTHEST = 2**62  # further than any file goes, and still a number that `seek` takes
_QUICK = (io.BytesIO, io.FileIO, io.BufferedReader, io.BufferedRandom)
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Writable(Protocol):
    """A file that is open for writing in binary mode, or anything with its `write`."""

    def write(self, data: bytes, /) -> Any:
        """Write some bytes."""


class Readable(Protocol):
    """A file that is open for reading in binary mode, or anything with its `read`."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size` of them, or none at the end."""


def place_of(target: Any, method: str) -> str | Any:
    """Return a path as a str, and an open file as it is; raise TypeError for anything else.

    >>> place_of(b"model.amf", "read")
    'model.amf'
    >>> place_of(3, "read")
    Traceback (most recent call last):
    TypeError: expected a path or a binary file that is open for reading, got 3 of type int
    """
    if isinstance(target, str | bytes | os.PathLike):
        return os.fsdecode(target)
    doing, mode = ("writing", "wb") if method == "write" else ("reading", "rb")
    if not callable(getattr(target, method, None)):
        raise TypeError(
            f"expected a path or a binary file that is open for {doing}, got {target!r:.500} of "
            f"type {type(target).__name__}"
        )
    encoding = getattr(target, "encoding", None)
    if isinstance(target, io.TextIOBase) or isinstance(encoding, str):
        raise TypeError(f"{name_of(target)} is open in text mode; open it with mode {mode!r}")
    return target


def name_of(place: Any) -> str:
    """Return what messages call a path or an open file.

    >>> name_of("model.amf"), name_of(io.BytesIO())
    ("the file 'model.amf'", 'the BytesIO')
    """
    if not isinstance(place, str):
        name = getattr(place, "name", None)
        if not isinstance(name, str | bytes) or not name:
            return f"the {type(place).__name__}"
        place = os.fsdecode(name)
    return f"the file {place!r}"


# --------------------------------------------------------------------------------------- writing


def writer(file: Any) -> Callable[[bytes], None]:
    """Return a function that writes all of some bytes to an open file."""

    def write(data: bytes) -> None:
        data = bytes(data)  # as not every `write` takes a view
        while data:
            n_written = file.write(data)
            if n_written is None and not isinstance(file, io.RawIOBase):
                return  # it does not say
            if not n_written:
                raise BlockingIOError(
                    errno.EAGAIN, f"{name_of(file)} took only a part; it must not be non-blocking"
                )
            data = data[n_written:]

    return write


# --------------------------------------------------------------------------------------- reading


@contextmanager
def opened(place: Any) -> Iterator[IO[bytes]]:
    """Open a path, or the model that comes next in an open file, as a file to read in any order.

    >>> with opened(io.BytesIO(b"PK")) as file:
    ...     file.read()
    b'PK'
    """
    if isinstance(place, str):
        with _opened_path(place) as file:
            yield _window(file, 0, os.fstat(file.fileno()).st_size)
    elif isinstance(place, _QUICK) and place.seekable():
        place.read(0)  # raises if it is not open for reading
        start = place.tell()
        size = max(place.seek(0, os.SEEK_END) - start, 0)
        whole = _window(place, start, size)
        pass_archive(whole)
        size = min(whole.tell(), size)
        yield _window(place, start, size)
        place.seek(start + size)
    else:
        with tempfile.SpooledTemporaryFile(_MOST_IN_MEMORY) as copy:
            pass_archive(_Copied(place, copy))
            yield _window(copy, 0, copy.tell())


def _opened_path(path: str) -> IO[bytes]:
    """Open a regular file without waiting, or raise OSError."""
    _demand_regular(path, os.stat(path))
    file = open(path, "rb", buffering=0, opener=_opener)  # noqa: SIM115
    try:
        _demand_regular(path, os.fstat(file.fileno()))  # it may have become another since
    except BaseException:
        file.close()
        raise
    return file


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _demand_regular(path: str, found: os.stat_result) -> None:
    """Raise OSError unless a path leads to a regular file."""
    mode = found.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    raise OSError(
        errno.EINVAL,
        f"it is {kinds.get(stat.S_IFMT(mode), 'a device')} rather than a regular file; "
        "to load from it, open it and pass the open file",
        path,
    )


def demand_room(size: int) -> None:
    """Raise MemoryError if a model of so many bytes cannot fit, before any time goes into it."""
    # With holes, a file of any size takes a block of the disk.
    if size <= _LEAST_CHECKED:
        return
    limit = None
    for path in _LIMITS:  # of a container; the system would end the process without a word
        with suppress(OSError, ValueError), open(path) as file:
            limit = int(file.read())
            break
    flags = {} if os.name == "nt" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    try:
        mmap.mmap(-1, size, **flags).close()  # it reserves addresses, and touches no memory
    except (OSError, OverflowError):
        limit = 0
    if limit is not None and size > limit:
        raise MemoryError


class _Window(io.RawIOBase):
    """A part of a file as a file of its own."""

    def __init__(self, file: Any, start: int, size: int) -> None:
        self._file, self._start, self._size, self._position = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        if origin + offset < 0:
            raise ValueError(f"cannot seek to {origin + offset}")
        self._position = origin + offset
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")[: max(self._size - self._position, 0)]
        if not len(view):  # a place that far behind the end might be none that a file can go to
            return 0
        self._file.seek(self._start + self._position)
        n_read: int = self._file.readinto(view)
        self._position += n_read
        return n_read


def _window(file: Any, start: int, size: int) -> IO[bytes]:
    return io.BufferedReader(_Window(file, start, size))


class _Copied:
    """An open file that can only be read in order, with a copy of what has been read."""

    def __init__(self, file: Any, copy: IO[bytes]) -> None:
        self._file, self._copy = file, copy

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        data = self._file.read(size)
        if isinstance(data, str):
            raise TypeError(f"{name_of(self._file)} is open in text mode; open it with mode 'rb'")
        if data is None:
            raise BlockingIOError(
                errno.EAGAIN, f"{name_of(self._file)} has no data yet; it must not be non-blocking"
            )
        self._copy.write(data)
        return bytes(data)

    def tell(self) -> int:
        """Return how many bytes have been read."""
        return self._copy.tell()

    def seek(self, offset: int, _whence: int) -> None:
        """Pass over some bytes, or all that are left if they are fewer."""
        while offset > 0:
            data = self.read(min(offset, _PIECE_BYTES))
            if not data:
                break
            offset -= len(data)


def pass_archive(file: Any) -> int:
    """Go from the start of an archive to its end; return where its directory starts.

    The file is left at the end of the archive, or where the file itself ends if that comes first.
    Raises FileError at anything that is not a part of an archive, except at the start.
    """
    start = file.tell()
    directory: int | None = None
    while True:
        place = file.tell()
        kind = _next(file, 4)
        if kind == b"PK\3\4":  # a member: what it is, then its content
            fixed = _next(file, 26)
            names = _next(file, _number(fixed[22:24]) + _number(fixed[24:26]))
            size = _number(fixed[14:18])
            if size == _LARGEST_SHORT:
                size = _size_in(names[_number(fixed[22:24]) :])
            file.seek(min(size, _FURTHEST), os.SEEK_CUR)
            continue
        if directory is None:
            directory = int(place - start)
        if kind == b"PK\1\2":  # an entry of the directory
            fixed = _next(file, 42)
            size = sum(_number(fixed[i : i + 2]) for i in (24, 26, 28))
        elif kind == b"PK\6\6":  # the end of a large archive
            size = _number(_next(file, 8))
        elif kind == b"PK\6\7":
            size = 16
        elif kind == b"PK\5\6":
            file.seek(_number(_next(file, 18)[16:]), os.SEEK_CUR)
            return directory
        elif len(kind) < 4 or place == start:
            return directory
        else:
            raise FileError(
                f"is damaged: {kind!r} at byte {place - start} begins no part of a file"
            )
        file.seek(min(size, _FURTHEST), os.SEEK_CUR)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _size_in(extra: bytes) -> int:
    """Return the size of the content of a large member from its extra field."""
    is_ours = len(extra) == 20 and extra[:4] == b"\1\0\x10\0"
    return _number(extra[12:]) if is_ours else 0


def _next(file: Any, size: int) -> bytes:
    """Return the next bytes of a file; fewer only at its end."""
    data = b""
    while len(data) < size:
        more = file.read(size - len(data))
        if not more:
            break
        data += more
    return data
