"""One file of JSON and numpy arrays: a zip archive that `unzip -l` lists and `numpy.load` opens.

=========== ====================================================================================
header.json JSON in ASCII: an object with `format`, from 1 on, `river_amf`, the version that
            wrote it, and what the arrays do not tell
NAME.npy    each array, little-endian in C order: of "<f8", "<i8", "<i4", "<u8", or of records
            of these without padding
comment     "sha256:" and the SHA-256 of all bytes before its 64 hexadecimal digits
=========== ====================================================================================

Members are stored as they are, one after the other, with one time stamp for all, so that models
that are equal give files that are equal. The CRC-32 of zip tells whether a member has changed, but
not names, sizes and places, most of which an archive holds twice; hence the checksum of all.

What this says of the header's place, `format`, `river_amf` and the comment holds for every format
to come, so that an older release can say what wrote a newer file. `FORMAT` is to be raised with
each entry, parameter, field or array that is added; files that lack it take its default.

A header takes `LONGEST_HEADER` bytes, 1 GiB, at most: some ten million names. Nothing in a file is
run, no size in it is believed before it agrees with that of the file, and no header is held in
memory before the checksum agrees.
"""

from __future__ import annotations

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
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from river_amf import layout
from river_amf._version import __version__
from river_amf.encoding import shown
from river_amf.persistence.replacement import replacing

FORMAT = 1
LONGEST_HEADER = 2**30

_HEADER = "header.json"
_ARRAY = re.compile(r"\w+\.npy", re.ASCII)
_COMMENT = b"sha256:"
_N_DIGITS = 64
_START = b"PK\3\4"  # of what stands before a member: 30 bytes and its name
_START_BYTES = 30
_END = b"PK\5\6"  # of what stands at the end: 22 bytes, the last two of a length, and the comment
_END_BYTES = 22
# what the directory says of a member
_COMPARED = "compress_size compress_type flag_bits date_time create_system external_attr comment"
_PIECE_BYTES = 2**20  # of an array or a file that are handled at once
_LONGEST_VERSION = 40  # that a message shows
# what zipfile raises of an archive that cannot be
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
# Arrays are read into our own dtypes where they are equal: others would make other pickles.
_OWN = {dtype: dtype for dtype in (*_SCALARS, *_RECORDS)}

_REQUIRED = object()

Array = NDArray[Any]
Header = dict[str, Any]


class FileError(ValueError):
    """A file that cannot be loaded; the message says what is wrong with it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import river_amf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.amf")
    ...     _ = path.write_text("no model")
    ...     try:
    ...         river_amf.load(path)
    ...     except river_amf.persistence.FileError as error:
    ...         print("is no file of river_amf" in str(error))
    True
    """


def take(header: Any, name: str, default: Any = _REQUIRED) -> Any:
    """Take an entry out of a header, or out of an object in it.

    One that is absent is its default; without a default, FileError is raised.

    >>> take({"river_amf": "0.1"}, "labels", [])
    []
    >>> take({"river_amf": "0.1"}, "kind")
    Traceback (most recent call last):
    river_amf.persistence.container.FileError: is damaged: its header lacks 'kind'
    """
    if type(header) is not dict:
        raise FileError(f"is damaged: {shown(header)} stands where {name!r} and more should")
    if name not in header and default is _REQUIRED:
        raise FileError(f"is damaged: its header lacks {name!r}")
    return header.pop(name, default)


def _is_ours(dtype: np.dtype[Any]) -> bool:
    """Whether files take arrays of a type: a number, or a record of numbers without padding."""
    fields = [(name, dtype[name]) for name in dtype.names or ()]
    is_plain = bool(fields) and all(field in _SCALARS for _, field in fields)
    return dtype in _OWN or (is_plain and dtype == np.dtype(fields))


def _entry(name: str) -> zipfile.ZipInfo:
    """Return what the directory says of a member before anything is in it."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system = 3  # Unix, whose permissions follow
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    return entry


def _checksum(file: IO[bytes], size: int) -> bytes:
    """Return the SHA-256 of the first so many bytes of a file."""
    digest = hashlib.sha256()
    file.seek(0)
    for start in range(0, size, _PIECE_BYTES):
        digest.update(file.read(min(_PIECE_BYTES, size - start)))
    return digest.hexdigest().encode()


# --------------------------------------------------------------------------------------- writing


def write(path: str, header: Header, arrays: dict[str, Array]) -> None:
    """Write a file, or leave the one that was there whole if that fails.

    No copy is made of the whole.

    Raises
    ------
    OSError
        If it cannot be written, as `open` would.
    TypeError
        If an array is of a type that files do not take, or its name is not of ASCII letters, digits
        and underscores.
    ValueError
        If the header is longer than `LONGEST_HEADER`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/file", {"river_amf": "0.1"}, {"a": np.arange(3.0)})
    ...     header, arrays = read(f"{folder}/file")
    ...     with np.load(f"{folder}/file") as opened:
    ...         header, arrays["a"].tolist(), opened["a"].tolist()
    ({'river_amf': '0.1'}, [0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    """
    header = {"format": FORMAT} | header
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > LONGEST_HEADER:
        raise ValueError(
            f"cannot save to {path!r}: labels, categories and names take {len(text)} bytes, and a "
            f"file holds {LONGEST_HEADER} at most"
        )
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = _COMMENT + bytes(_N_DIGITS)
            archive.writestr(_entry(_HEADER), text)
            for name, array in arrays.items():
                _write_array(archive, name, array)
        file.write(_checksum(file, file.tell() - _N_DIGITS))


def _write_array(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    dtype = array.dtype.newbyteorder("=")
    if not (_ARRAY.fullmatch(f"{name}.npy") and _is_ours(dtype)):
        raise TypeError(f"files take no array {name!r} of {dtype}")
    dtype = dtype.newbyteorder("<")
    descr = npy.dtype_to_descr(dtype)
    start = io.BytesIO()
    npy.write_array_header_1_0(
        start, {"descr": descr, "fortran_order": False, "shape": array.shape}
    )
    is_large = start.tell() + array.nbytes > zipfile.ZIP64_LIMIT
    with archive.open(_entry(f"{name}.npy"), "w", force_zip64=is_large) as member:
        member.write(start.getvalue())
        for piece in _pieces(array):
            member.write(np.ascontiguousarray(piece, dtype).reshape(-1).view(np.uint8).data)


def _pieces(array: Array) -> Iterator[Array]:
    """Yield an array in pieces of a megabyte at most, if its rows are no longer, in C order."""
    if array.nbytes <= _PIECE_BYTES:
        yield array
        return
    n_rows = max(_PIECE_BYTES * len(array) // array.nbytes, 1)
    for start in range(0, len(array), n_rows):
        piece = array[start : start + n_rows]
        yield from _pieces(piece[0]) if array.ndim > 1 and n_rows == 1 else (piece,)


# --------------------------------------------------------------------------------------- reading


def read(path: str) -> tuple[Header, dict[str, Array]]:
    """Read a file: returns its header without `format`, and arrays in memory of their own.

    Raises
    ------
    OSError
        If it cannot be opened or read.
    FileError
        If it is no file of ours, newer, truncated or changed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     read(file.name)
    Traceback (most recent call last):
    river_amf.persistence.container.FileError: is empty
    """
    with open(path, "rb") as file:
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
            raise FileError(f"is damaged: it is no archive of ours ({shown(error)})") from None
    return header, arrays


def _check_whole(file: IO[bytes]) -> None:
    """Check that a file begins and ends as ours do, and that its checksum agrees."""
    start = file.read(_START_BYTES + len(_HEADER))
    if not start:
        raise FileError("is empty")
    if not (_START.startswith(start[:4]) and _HEADER.encode().startswith(start[_START_BYTES:])):
        raise FileError("is no file of river_amf (it does not begin as one)")
    size = os.fstat(file.fileno()).st_size
    file.seek(max(size - 2**16, 0))
    rest = file.read()
    end = rest[rest.rfind(_END) :] if _END in rest else b""
    if len(end) < _END_BYTES:
        raise FileError(f"is truncated, or has much after its end: it has {size} bytes")
    surplus = len(end) - _END_BYTES - int.from_bytes(end[_END_BYTES - 2 : _END_BYTES], "little")
    if surplus < 0:
        raise FileError(f"is truncated: it has {size} bytes of {size - surplus}")
    if surplus > 0:
        raise FileError(f"has {surplus} bytes after its end")
    if end[_END_BYTES:] != _COMMENT + _checksum(file, size - _N_DIGITS):
        raise FileError("has been changed since it was saved (its checksum differs)")


def _members(file: IO[bytes]) -> Iterator[tuple[str, int]]:
    """Go to one member after the other, and yield its name and size.

    Each is known by then to lie in the file, where its directory says, and to be one of ours.
    """
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
            and found[6:] == expected[6:]  # what is between is the version of zip
        )
        position += len(expected) + size
        if not is_ours or position > end:
            raise FileError(f"is damaged: its member {shown(name)} is none of ours")
        names.add(name)
        file.seek(position - size)
        yield name, size
    if position != end:
        raise FileError("is damaged: it holds more than its members")


def _read_header(file: IO[bytes], size: int) -> Header:
    """Read the header, or say what has written one of a format to come."""
    if size > LONGEST_HEADER:
        raise FileError(
            f"is damaged: its header should take {size} bytes, and {LONGEST_HEADER} are the most"
        )

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        header: Header = json.loads(file.read(size).decode("ascii"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise FileError(f"is damaged: its header is no JSON of ours ({error})") from None
    format_, version = take(header, "format"), header.get("river_amf")
    if type(format_) is not int or format_ < 1:
        raise FileError(f"is damaged: it is of the unknown format {shown(format_)}")
    if format_ > FORMAT:
        by = ascii(version[:_LONGEST_VERSION]) if type(version) is str else "of a later release"
        raise FileError(
            f"was saved by river_amf {by} in format {shown(format_)}; this is river_amf "
            f"{__version__}, which reads up to format {FORMAT}: upgrade river_amf"
        )
    if type(version) is not str:
        raise FileError("is damaged: its header does not say which river_amf wrote it")
    return header


def _read_array(file: IO[bytes], name: str, size: int) -> Array:
    """Read an array; not through zipfile, which would copy it and compute its CRC-32 as well."""
    end = file.tell() + size
    try:
        dtype, shape = _read_type(file)
    except Exception as error:  # of many types, as Python's own parser is given the text
        raise FileError(f"is damaged: {name} is no array of ours ({shown(error)})") from None
    if file.tell() + dtype.itemsize * math.prod(shape) != end:
        raise FileError(f"is damaged: {name} has not the size that it tells")
    array: Array = np.empty(shape, dtype)
    data = array.reshape(-1).view(np.uint8).data
    if file.readinto(data) != len(data):  # type: ignore[attr-defined]
        raise FileError("is truncated: it became shorter while it was read")
    return array if sys.byteorder == "little" else array.byteswap(inplace=True)


def _read_type(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Read what stands before the numbers of an array, or raise anything if it is none of ours."""
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
