"""The file format: JSON and numpy arrays in a zip archive, for `unzip -l` and `numpy.load` too.

=========== ====================================================================================
header.json JSON in ASCII: an object with `format` (an integer from 1), `river_amf` (the version
            that wrote the file), and everything that is not in the arrays
NAME.npy    each array, little-endian in C order: of "<f8", "<i8", "<i4", "<u8", or of records
            of these without padding
comment     "sha256:" and the SHA-256 of all bytes before its 64 hexadecimal digits
=========== ====================================================================================

Members are stored uncompressed, one after the other, all with the same timestamp, so that equal
models give equal files. The CRC-32 values of zip show whether the content of a member has changed,
but do not cover names, sizes and positions, most of which an archive holds twice. Hence the
checksum of the whole file.

The position of the header, `format`, `river_amf` and the comment will stay the same in every future
format, so that an older release can tell which release wrote a newer file. Increase `FORMAT`
whenever an entry, parameter, field or array is added; files that lack it get its default.

A header has at most `LONGEST_HEADER` bytes (1 GiB), enough for about ten million names. Nothing in
a file is executed, no size in it is trusted before it has been compared with the size of the file,
and no header is read into memory before the checksum has been verified. Nor can a small file fill
the memory: headers are parsed no further than their content makes sense (see `headers`), and the
directory has a bound.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import os
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from river_amf import layout
from river_amf._version import __version__
from river_amf.kinds import shown
from river_amf.persistence import headers, sources
from river_amf.persistence.errors import FileError
from river_amf.persistence.replacement import replace

FORMAT = 5
LONGEST_HEADER = 2**30

_HEADER = "header.json"
_ARRAY = re.compile(r"\w+\.npy", re.ASCII)
_COMMENT = b"sha256:"
_N_DIGITS = 64
_START = b"PK\3\4"  # the start of a local file header: 30 bytes, then the name of the member
_START_BYTES = 30
_PICKLE = re.compile(rb"\x80[\2-\5]")  # of protocol 2 or later
_DATE = 1 << 5 | 1  # the first of January 1980
_LARGEST_SHORT = 2**32 - 1  # in place of a size or position of which an extra field has the value
_END = b"PK\5\6"  # the start of the end record: 22 bytes (the last two a length), then the comment
_END_BYTES = 22
# the attributes of a member in the directory that must be as we write them
_COMPARED = "compress_size compress_type flag_bits date_time create_system external_attr comment"
_LARGEST_DIRECTORY = 2**16  # in bytes; the entries of zipfile take twenty times as much
_PIECE_BYTES = 2**20  # how much of an array or a file is handled at once
_LONGEST_VERSION = 40  # maximum number of characters of a version in a message
# errors that zipfile raises for a malformed archive
_MISFITS = (
    zipfile.BadZipFile,
    struct.error,
    ArithmeticError,
    LookupError,
    RuntimeError,
    ValueError,
)

_SCALARS = [np.dtype(name) for name in ("f8", "i8", "i4", "u8")]
_RECORDS = [dtype for f in layout.FIELDS.values() if (dtype := np.dtype(f.dtype)).names]
# Arrays are read into our own dtypes if those are equal, as others would change later pickles.
_OWN = {dtype: dtype for dtype in (*_SCALARS, *_RECORDS)}

_REQUIRED = object()

Array = NDArray[Any]
Header = dict[str, Any]


def take(header: Any, name: str, default: Any = _REQUIRED) -> Any:
    """Remove an entry from a header (or an object in it) and return it, or its default if absent.

    >>> take({"river_amf": "0.1"}, "labels", [])
    []
    >>> take({"river_amf": "0.1"}, "kind")
    Traceback (most recent call last):
    river_amf.persistence.errors.FileError: is damaged: its header lacks 'kind'
    """
    if type(header) is not dict:
        raise FileError(f"is damaged: it has {shown(header)} in place of an object with {name!r}")
    if name not in header and default is _REQUIRED:
        raise FileError(f"is damaged: its header lacks {name!r}")
    return header.pop(name, default)


def _is_ours(dtype: np.dtype[Any]) -> bool:
    """Whether a file can hold arrays of a dtype: numbers, or records of these without padding."""
    fields = [(name, dtype[name]) for name in dtype.names or ()]
    is_plain = bool(fields) and all(field in _SCALARS for _, field in fields)
    return dtype in _OWN or (is_plain and dtype == np.dtype(fields))


def _entry(name: str) -> zipfile.ZipInfo:
    """Return the directory entry of a member, except its sizes and CRC-32."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system = 3  # Unix, whose permissions follow
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


def _checksum(file: IO[bytes], size: int) -> bytes:
    """Return the SHA-256 of the first `size` bytes of a file."""
    digest = hashlib.sha256()
    file.seek(0)
    for start in range(0, size, _PIECE_BYTES):
        digest.update(file.read(min(_PIECE_BYTES, size - start)))
    return digest.hexdigest().encode()


# --------------------------------------------------------------------------------------- writing


def write(place: str | sources.Writable, header: Header, arrays: dict[str, Array]) -> int:
    """Write a file and return its size, or raise an error and leave an existing one intact.

    The errors are OSError, TypeError and ValueError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(f"{folder}/file", {"river_amf": "0.1"}, {"a": np.arange(3.0)})
    ...     header, arrays = read(f"{folder}/file")
    ...     with np.load(f"{folder}/file") as opened:
    ...         header, arrays["a"].tolist(), opened["a"].tolist()
    ({'river_amf': '0.1'}, [0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    """
    header = {"format": FORMAT} | header
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > LONGEST_HEADER:
        raise ValueError(
            f"cannot save to {sources.name_of(place)}: labels, categories and names take "
            f"{len(text)} bytes, but a file can hold at most {LONGEST_HEADER}"
        )
    starts = {name: _start_of(name, array) for name, array in arrays.items()}

    size = 0

    def write_to(write: Callable[[Any], Any]) -> None:
        nonlocal size
        archive = _Archive(write)
        archive.add(_HEADER, lambda: [text])
        for name, array in arrays.items():
            archive.add(f"{name}.npy", functools.partial(_content, starts[name], array))
        size = archive.finish()

    if isinstance(place, str):
        replace(place, lambda file: write_to(file.write))
    else:
        write_to(sources.writer(place))
    return size


class _Archive:
    """A zip archive that is written from its first byte to its last, without going back."""

    # zipfile goes back to complete what it says of a member, which few open files can, and an
    # exception in the middle of a member would become another one when it closes the archive.

    def __init__(self, write: Callable[[Any], Any]) -> None:
        self._write = write
        self._digest = hashlib.sha256()
        self._position = 0
        self._entries: list[tuple[zipfile.ZipInfo, int]] = []

    def _put(self, data: Any) -> None:
        self._digest.update(data)
        self._write(data)
        self._position += len(data)

    def add(self, name: str, pieces: Callable[[], Iterable[Any]]) -> None:
        """Write a member, whose pieces are asked for twice."""
        entry = _entry(name)
        entry.CRC = 0
        for piece in pieces():
            entry.CRC = zlib.crc32(piece, entry.CRC)
            entry.file_size += len(piece)
        entry.compress_size = entry.file_size
        self._entries.append((entry, self._position))
        self._put(entry.FileHeader(entry.file_size > zipfile.ZIP64_LIMIT))
        for piece in pieces():
            self._put(piece)

    def finish(self) -> int:
        """Write the directory and the checksum; return the size of the archive."""
        start = self._position
        for entry, position in self._entries:
            self._put(_directory_entry(entry, position))
        size, count = self._position - start, len(self._entries)
        if start > zipfile.ZIP64_LIMIT or size > zipfile.ZIP64_LIMIT:
            end = self._position
            counts = (0, 0, count, count, size, start)
            self._put(struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, *counts))
            self._put(struct.pack("<4sLQL", b"PK\6\7", 0, end, 1))
            start, size = min(start, _LARGEST_SHORT), min(size, _LARGEST_SHORT)
        n_comment = len(_COMMENT) + _N_DIGITS
        end_record = struct.pack("<4s4H2LH", _END, 0, 0, count, count, size, start, n_comment)
        self._put(end_record + _COMMENT)
        self._write(self._digest.hexdigest().encode())
        return self._position + _N_DIGITS


def _directory_entry(entry: zipfile.ZipInfo, position: int) -> bytes:
    """Return the entry of a member in the directory, as zipfile writes it."""
    name, size, large = entry.filename.encode("ascii"), entry.file_size, []
    if size > zipfile.ZIP64_LIMIT:
        large, size = [size, size], _LARGEST_SHORT
    if position > zipfile.ZIP64_LIMIT:
        large, position = [*large, position], _LARGEST_SHORT
    extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    version = zipfile.ZIP64_VERSION if large else zipfile.DEFAULT_VERSION
    versions = (version, entry.create_system, version, 0)
    sizes = (entry.CRC, size, size, len(name), len(extra), 0)
    return (
        struct.pack(
            "<4s4B4H3L5H2L",
            *(b"PK\1\2", *versions, entry.flag_bits, entry.compress_type, 0, _DATE, *sizes),
            *(0, 0, entry.external_attr, position),
        )
        + name
        + extra
    )


def _start_of(name: str, array: Array) -> bytes:
    """Return the start of an array in a file, or raise TypeError if it cannot be saved."""
    dtype = array.dtype.newbyteorder("=")
    if not (_ARRAY.fullmatch(f"{name}.npy") and _is_ours(dtype)):
        raise TypeError(
            f"cannot save the array {name!r} of {dtype}: its name must consist of ASCII letters, "
            "digits and underscores, its type be float64, int64, int32, uint64 or a record of these"
        )
    descr = npy.dtype_to_descr(dtype.newbyteorder("<"))
    start = io.BytesIO()
    npy.write_array_header_1_0(
        start, {"descr": descr, "fortran_order": False, "shape": array.shape}
    )
    return start.getvalue()


def _content(start: bytes, array: Array) -> Iterator[Any]:
    """Yield the pieces of an array in a file."""
    dtype = array.dtype.newbyteorder("<")
    yield start
    for piece in _pieces(array):
        yield np.ascontiguousarray(piece, dtype).reshape(-1).view(np.uint8).data


def _pieces(array: Array) -> Iterator[Array]:
    """Yield an array in pieces of at most a megabyte (or one item, if that is larger)."""
    if array.nbytes <= _PIECE_BYTES:
        yield array
        return
    n_rows = max(_PIECE_BYTES * len(array) // array.nbytes, 1)
    for start in range(0, len(array), n_rows):
        piece = array[start : start + n_rows]
        yield from _pieces(piece[0]) if array.ndim > 1 and n_rows == 1 else (piece,)


# --------------------------------------------------------------------------------------- reading


def read(place: str | sources.Readable) -> tuple[Header, dict[str, Array]]:
    """Return the header of a file, without `format`, and its arrays; or raise OSError or FileError.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     read(file.name)
    Traceback (most recent call last):
    river_amf.persistence.errors.FileError: is empty
    """
    with sources.opened(place) as file:
        header, arrays = parts(file)
        del header["format"]
        return headers.plain(header), arrays


def parts(file: IO[bytes]) -> tuple[Header, dict[str, Array]]:
    """Return the header and arrays of an opened file; arrays in the header are `Unparsed`."""
    _check_whole(file)
    try:
        members = _members(file)
        header = _read_header(file, next(members)[1])
        arrays = {
            name.removesuffix(".npy"): _read_array(file, name, size) for name, size in members
        }
    except FileError:
        raise
    except _MISFITS as error:
        raise FileError(f"is damaged: it is not a valid archive ({shown(error)})") from None
    return header, arrays


def _check_whole(file: IO[bytes]) -> None:
    """Check that a file begins and ends as it should, and verify its checksum."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(_START_BYTES + len(_HEADER))
    if not start:
        raise FileError("is empty")
    if _PICKLE.match(start):
        raise FileError(
            "is not a river_amf file, but seems to be a pickle: if you trust whoever made it, load "
            "it with pickle and call save"
        )
    if not (_START.startswith(start[:4]) and _HEADER.encode().startswith(start[_START_BYTES:])):
        raise FileError("is not a river_amf file (it does not begin like one)")
    file.seek(max(size - 2**16, 0))
    rest = file.read()
    end = rest[rest.rfind(_END) :] if _END in rest else b""
    if len(end) < _END_BYTES:
        raise FileError(f"is truncated, or has extra data after its end: it has {size} bytes")
    surplus = len(end) - _END_BYTES - int.from_bytes(end[_END_BYTES - 2 : _END_BYTES], "little")
    if surplus < 0:
        raise FileError(f"is truncated: it has {size} of {size - surplus} bytes")
    if surplus > 0:
        raise FileError(f"has extra bytes after its end: {surplus}")
    sources.demand_room(size)
    if end[_END_BYTES:] != _COMMENT + _checksum(file, size - _N_DIGITS):
        raise FileError("has been changed since it was saved (its checksum differs)")


def _members(file: IO[bytes]) -> Iterator[tuple[str, int]]:
    """Go to one member after the other, check its place and header, and yield its name and size."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size - sources.pass_archive(file) > _LARGEST_DIRECTORY:
        raise FileError("is damaged: its directory is too large")
    with zipfile.ZipFile(file) as archive:
        entries, end = archive.infolist(), archive.start_dir
    names: set[str] = set()
    position = 0
    for entry in entries:
        name, size, own = entry.filename, entry.file_size, _entry(entry.filename)
        own.CRC, own.file_size, own.compress_size = entry.CRC, size, size
        expected = own.FileHeader(size > zipfile.ZIP64_LIMIT)
        file.seek(position)
        found = file.read(len(expected))
        is_ours = (
            (_ARRAY.fullmatch(name) if names else name == _HEADER)
            and name not in names
            and entry.header_offset == position
            and all(getattr(entry, what) == getattr(own, what) for what in _COMPARED.split())
            and found[:4] == expected[:4]
            and found[6:] == expected[6:]  # the two bytes in between are the version of zip
        )
        position += len(expected) + size
        if not is_ours or position > end:
            raise FileError(f"is damaged: its member {shown(name)} was not written by river_amf")
        names.add(name)
        file.seek(position - size)
        yield name, size
    if position != end:
        raise FileError("is damaged: it holds data outside its members")


def _read_header(file: IO[bytes], size: int) -> Header:
    """Read the header, or raise FileError; for a later format, that says which release wrote it."""
    if size > LONGEST_HEADER:
        raise FileError(
            f"is damaged: its header claims to have {size} bytes, but the limit is {LONGEST_HEADER}"
        )

    try:
        text = file.read(size).decode("ascii")
    except ValueError as error:
        raise FileError(f"is damaged: its header is not valid JSON ({error})") from None
    header = headers.outline(text)
    format_, version = take(header, "format"), header.get("river_amf")
    if type(format_) is not int or format_ < 1:
        raise FileError(f"is damaged: its format must be an integer >= 1, got {shown(format_)}")
    if format_ > FORMAT:
        by = ascii(version[:_LONGEST_VERSION]) if type(version) is str else "(a later release)"
        raise FileError(
            f"was saved by river_amf {by} in format {shown(format_)}; this is river_amf "
            f"{__version__}, which reads formats up to {FORMAT}: upgrade river_amf"
        )
    if type(version) is not str:
        raise FileError("is damaged: its header does not say which version of river_amf wrote it")
    expanded: Header = headers.expanded(header)
    return {"format": format_} | expanded


def _read_array(file: IO[bytes], name: str, size: int) -> Array:
    """Read an array."""
    # This bypasses zipfile, which would copy the array and compute its CRC-32 as well.
    end = file.tell() + size
    try:
        dtype, shape = _read_type(file)
    except Exception as error:  # of many types, as the text goes through Python's own parser
        raise FileError(f"is damaged: {name} is not a valid array ({shown(error)})") from None
    if file.tell() + dtype.itemsize * math.prod(shape) != end:
        raise FileError(f"is damaged: the size of {name} does not match its shape")
    array: Array = np.empty(shape, dtype)
    data = array.reshape(-1).view(np.uint8).data
    if file.readinto(data) != len(data):  # type: ignore[attr-defined]
        raise FileError("is truncated: it became shorter while it was being read")
    return array if sys.byteorder == "little" else array.byteswap(inplace=True)


def _read_type(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Read the dtype and shape of an array; raise any kind of error if they are not acceptable."""
    version = npy.read_magic(file)
    if version != (1, 0):
        raise ValueError(version)
    shape, is_fortran, stored = npy.read_array_header_1_0(file)
    dtype = stored.newbyteorder("=")
    if not _is_ours(dtype) or stored != dtype.newbyteorder("<"):
        raise TypeError(stored)
    if is_fortran or any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(shape)
    return _OWN.get(dtype, dtype), shape
