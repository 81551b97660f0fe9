"""The file format: JSON and numpy arrays in a zip archive, for `unzip -l` and `numpy.load` too.

A member `header.json`, an object in ASCII, has `format` (an integer from 1), `river_amf` (the
version that wrote the file), and everything that is not in the arrays. A member NAME.npy is an
array of the table `layout.FIELDS`. Members are stored uncompressed, with one timestamp, so that
equal models give equal files. Entries, parameters and arrays that a file lacks get their defaults.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from river_amf._version import __version__
from river_amf.inputs.kinds import shown
from river_amf.persistence.validation import FileError, require
from river_amf.state.layout import COPIED, FIELDS, PENDING_FIELDS

FORMAT = 1

_ARRAYS = {name: FIELDS[name] for name in COPIED} | PENDING_FIELDS
_HEADER = "header.json"
_PICKLE = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))
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
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), text)
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.file_size = array.nbytes  # by which zipfile decides on zip64
            with archive.open(entry, "w") as member:
                npy.write_array(member, array, (1, 0), allow_pickle=False)
    return file.tell()


def read(data: bytes) -> tuple[Header, dict[str, Array]]:
    """Return the header and the arrays of an archive, or raise any error."""
    if data.startswith(_PICKLE):
        what = "if you trust its source, load it with pickle and call save"
        raise FileError(f"is not a river_amf file, but seems to be a pickle: {what}")
    if not data.startswith(b"PK\3\4"):
        raise FileError("is not a river_amf file (it does not begin like one)")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {*archive.namelist()}
        if _HEADER not in members:
            raise FileError(f"is not a river_amf file (it has no {_HEADER})")
        require(len(members) == len(archive.namelist()), "members, some of which come twice,")
        is_stored = not any(entry.compress_type for entry in archive.infolist())
        require(is_stored, "compression, of which there should be none,")  # few bytes give many
        header, lengths = _header_of(archive.read(_HEADER)), dict[str, int]()
        known = {f"{name}.npy": name for name in _ARRAYS}
        if not members <= {_HEADER, *known}:
            what = f"{_HEADER} and some of {', '.join(known)}, got {shown(sorted(members))}"
            raise FileError(f"is damaged: its members must be {what}")
        return header, {
            name: _array_of(name, archive.read(member), lengths)
            for member, name in known.items()
            if member in members
        }


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


def _array_of(name: str, data: bytes, lengths: dict[str, int]) -> Array:
    """Return an array, after comparing its shape with the table, other arrays and its bytes."""
    field, member = _ARRAYS[name], io.BytesIO(data)
    version = npy.read_magic(member)
    shape, is_fortran, dtype = npy.read_array_header_1_0(member)
    content = member.read()
    axes = zip(field.axes, shape, strict=False)
    wanted = tuple(lengths.setdefault(a, n) if isinstance(a, str) else a for a, n in axes)
    if (
        (version, is_fortran, dtype) != ((1, 0), False, field.dtype)
        or (len(shape), shape) != (len(field.axes), wanted)
        or min(shape) < 0
        or math.prod(shape) * field.itemsize != len(content)
    ):
        what = f"{np.dtype(field.dtype)} and, along {field.axes}, of the lengths {wanted}"
        got = f"its {len(content)} bytes are said to be of {dtype} and {shown(shape)}"
        raise FileError(f"is damaged: the array {name} must be of {what}, but {got}")
    # of our own dtype, as others that are equal would change later pickles
    return np.frombuffer(content, field.dtype).reshape(wanted).copy()
