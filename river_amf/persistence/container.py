"""The file format: JSON and numpy arrays in a zip archive, for `unzip -l` and `numpy.load` too.

Its first member is `header.json`, an object in ASCII with `format` (an integer from 1), `river_amf`
(the version that wrote the file), and everything that is not in the arrays. A member NAME.npy is an
array of the table `layout.FIELDS`. Members are stored uncompressed, with one timestamp, so that
equal models give equal files. An extra field of the first one tells the size of the whole, to which
an open file is read. Entries, parameters and arrays that a file lacks get their defaults. Before
anything is allocated, sizes are compared with that of the file, types and shapes with the table.
"""

from __future__ import annotations

import json
import math
import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from river_amf._version import __version__
from river_amf.inputs.kinds import shown
from river_amf.persistence.places import MOST_IN_MEMORY, PIECE_BYTES, check_regular
from river_amf.persistence.validation import FileError, require
from river_amf.state.layout import COPIED, FIELDS, PENDING_FIELDS

FORMAT = 1
START_BYTES = 53  # a local file header, the name of the first member, and the extra field

_ARRAYS = {name: FIELDS[name] for name in COPIED} | PENDING_FIELDS
_HEADER = "header.json"
_EXTRA = struct.Struct("<2sHQ")  # the kind of the field, the bytes that follow, and the size
_NAME = _HEADER.encode() + _EXTRA.pack(b"AM", 8, 0)[:4]
_PICKLE = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))
_ENCRYPTED = 1  # a bit of the flags of a member
_LONGEST_START = 2000  # bytes of what an array says of itself
_REQUIRED = object()

Array = NDArray[Any]
Header = dict[str, Any]


def take(header: Any, name: str, default: Any = _REQUIRED) -> Any:
    """Remove an entry from a header or an object in it, and return it, or its default if absent."""
    if type(header) is not dict:
        raise FileError(f"is damaged: it has {shown(header)} in place of an object with {name!r}")
    if name not in header and default is _REQUIRED:
        raise FileError(f"is damaged: its header lacks {name!r}")
    return header.pop(name, default)


def write(file: IO[bytes], header: Header, arrays: dict[str, Array]) -> int:
    """Write an archive to an empty file and return its size."""
    text = json.dumps({"format": FORMAT} | header, allow_nan=False, separators=(",", ":"))
    archive = zipfile.ZipFile(file, "w")
    try:
        archive.writestr(_entry(_HEADER, 0, _EXTRA.pack(b"AM", 8, 0)), text)
        for name, array in arrays.items():
            entry = _entry(f"{name}.npy", array.nbytes + _LONGEST_START)
            with archive.open(entry, "w") as member:
                npy.write_array(member, array, (1, 0), allow_pickle=False)
        archive.close()
    finally:
        archive.fp = None  # after an error it must not be completed, which may be another error
    size = file.seek(0, os.SEEK_END)
    file.seek(START_BYTES - _EXTRA.size)
    file.write(_EXTRA.pack(b"AM", 8, size))
    return size


def _entry(name: str, size: int, extra: bytes = b"") -> zipfile.ZipInfo:
    """Return the directory entry of a member; by the size zipfile knows if it needs zip64."""
    entry = zipfile.ZipInfo(name)
    entry.create_system, entry.file_size, entry.extra = 3, size, extra  # Unix, on any system
    return entry


@contextmanager
def opened(place: Any) -> Iterator[IO[bytes]]:
    """Open a path, or the model that comes next in an open file, as a file to read in any order."""
    if isinstance(place, str):
        check_regular(place, "load from")
        with open(place, "rb") as file:
            yield file
        return
    with tempfile.SpooledTemporaryFile(MOST_IN_MEMORY) as copy:
        _copy(place, copy, START_BYTES)
        copy.seek(0)
        _copy(place, copy, archive_size(copy.read()) - START_BYTES)
        copy.seek(0)
        yield copy


def _copy(file: Any, copy: IO[bytes], size: int) -> None:
    """Copy the next bytes of an open file, fewer only at its end."""
    while size > 0 and (piece := file.read(min(size, PIECE_BYTES))):
        copy.write(piece)
        size -= len(piece)


def archive_size(start: bytes) -> int:
    """Return the size that an archive tells in its first bytes, 0 if these are not ours."""
    is_ours = start.startswith(b"PK\3\4") and start[30:].startswith(_NAME)
    return int.from_bytes(start[-8:], "little") if is_ours and len(start) == START_BYTES else 0


def read(file: IO[bytes]) -> tuple[Header, dict[str, Array], int]:
    """Return the header of an opened file, its arrays and its size, or raise any error."""
    size = _checked_size(file)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        are_stored = all(
            e.file_size == e.compress_size and not (e.compress_type or e.flag_bits & _ENCRYPTED)
            for e in entries
        )
        is_possible = are_stored and sum(entry.file_size for entry in entries) <= size
        require(is_possible, f"directory, of stored members with less than {size} bytes,")
        header, lengths = _header_of(archive.read(_HEADER)), dict[str, int]()
        names = [entry.filename.removesuffix(".npy") for entry in entries]
        if sorted(names) != sorted({_HEADER, *_ARRAYS}.intersection(names)):
            what = f"header.json and NAME.npy, different ones of {(*_ARRAYS,)}, got {shown(names)}"
            raise FileError(f"is damaged: its members must be {what}")
        names.remove(_HEADER)
        return header, {name: _array_of(archive, name, lengths) for name in names}, size


def _checked_size(file: IO[bytes]) -> int:
    """Return the size of a file, or raise FileError unless it begins and ends as it should."""
    start, size = file.read(START_BYTES), file.seek(0, os.SEEK_END)
    if not size:
        raise FileError("is empty")
    if start.startswith(_PICKLE):
        what = "if you trust whoever made it, load it with pickle and call save"
        raise FileError(f"is not a river_amf file, but seems to be a pickle: {what}")
    if not (expected := archive_size(start)):
        raise FileError("is not a river_amf file (it does not begin like one)")
    if size != expected:
        what = "is truncated" if size < expected else "has extra bytes after its end"
        raise FileError(f"{what}: it has {size} bytes in place of {expected}")
    return size


def _header_of(text: bytes) -> Header:
    """Return the header, or raise an error, which names the version that wrote a later format."""
    header: Header = json.loads(text.decode("ascii"), parse_constant=int)  # which refuses NaN
    format_, version = take(header, "format"), header.get("river_amf")
    if type(format_) is not int or format_ < 1:
        raise FileError(f"is damaged: its format must be an integer >= 1, got {shown(format_)}")
    if format_ > FORMAT:
        what = f"{__version__}, which reads formats up to {FORMAT}: upgrade river_amf"
        by = f"by river_amf {ascii(version)[:40]} in format {shown(format_)}"
        raise FileError(f"was saved {by}; this is river_amf {what}")
    require(type(version) is str, "river_amf, the version that wrote it,")
    return header | {"format": format_}


def _array_of(archive: zipfile.ZipFile, name: str, lengths: dict[str, int]) -> Array:
    """Return an array, after comparing its shape with the table, other arrays and its size."""
    field, entry = _ARRAYS[name], archive.getinfo(f"{name}.npy")
    with archive.open(entry) as member:
        version = npy.read_magic(member)
        shape, is_fortran, dtype = npy.read_array_header_1_0(member, _LONGEST_START)
        n_bytes = entry.file_size - member.tell()
        axes = zip(field.axes, shape, strict=False)
        wanted = tuple(lengths.setdefault(a, n) if isinstance(a, str) else a for a, n in axes)
        if (
            (version, is_fortran, dtype) != ((1, 0), False, field.dtype)
            or (len(shape), shape) != (len(field.axes), wanted)
            or min(shape) < 0
            or math.prod(shape) * field.itemsize != n_bytes
        ):
            what = f"{np.dtype(field.dtype)} and, along {field.axes}, of the lengths {wanted}"
            got = f"its {n_bytes} bytes are said to be of {dtype} and {shown(shape)}"
            raise FileError(f"is damaged: the array {name} must be of {what}, but {got}")
        # of our own dtype, as others that are equal would change later pickles
        array = np.empty(wanted, field.dtype)
        data = array.reshape(-1).view(np.uint8).data
        for start in range(0, n_bytes, PIECE_BYTES):  # the CRC-32 is verified at the end
            data[start : start + PIECE_BYTES] = member.read(min(PIECE_BYTES, n_bytes - start))
    return array
