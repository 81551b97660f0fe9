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

from river_amf._version import __version__
from river_amf.inputs.kinds import shown
from river_amf.persistence.validation import FileError, require
from river_amf.state.layout import COPIED, FIELDS, PENDING_FIELDS, Array

FORMAT = 1

_ARRAYS = {name: FIELDS[name] for name in COPIED} | PENDING_FIELDS
_HEADER = "header.json"

Header = dict[str, Any]


def write(file: IO[bytes], header: Header, arrays: dict[str, Array]) -> None:
    """Write an archive to an empty file."""
    text = json.dumps({"format": FORMAT} | header, allow_nan=False, separators=(",", ":"))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), text)
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.file_size = array.nbytes  # by which zipfile decides on zip64
            with archive.open(entry, "w") as member:
                npy.write_array(member, array, (1, 0), allow_pickle=False)


def read(data: bytes) -> tuple[Header, dict[str, Array]]:
    """Return the header and the arrays of an archive, or raise any error."""
    if not data.startswith(b"PK\3\4"):
        raise FileError("is not a river_amf file (it does not begin like one)")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {*archive.namelist()}
        if _HEADER not in members:
            raise FileError(f"is not a river_amf file (it has no {_HEADER})")
        require(len(members) == len(archive.namelist()), "members, some of which come twice,")
        is_stored = not any(entry.compress_type for entry in archive.infolist())
        require(is_stored, "compression, of which there should be none,")  # few bytes give many
        header = _header_of(archive.read(_HEADER))
        names = {f"{name}.npy": name for name in _ARRAYS}
        if not members <= {_HEADER, *names}:
            raise FileError(f"is damaged: its members cannot be {shown(sorted(members))}")
        return header, {
            name: _array_of(name, archive.read(member))
            for member, name in names.items()
            if member in members
        }


def _header_of(text: bytes) -> Header:
    """Return the header, or raise an error, which names the version that wrote a later format."""
    header: Header = json.loads(text.decode("ascii"), parse_constant=int)  # which refuses NaN
    format_, version = header["format"], header.get("river_amf")
    if type(format_) is not int or format_ < 1:
        raise FileError(f"is damaged: its format must be an integer >= 1, got {shown(format_)}")
    if format_ > FORMAT:
        what = f"{__version__}, which reads formats up to {FORMAT}: upgrade river_amf"
        by = f"by river_amf {ascii(version)[:40]} in format {shown(format_)}"
        raise FileError(f"was saved {by}; this is river_amf {what}")
    require(type(version) is str, "river_amf, the version that wrote it,")
    return header


def _array_of(name: str, data: bytes) -> Array:
    """Return an array after comparing its dtype, its number of axes and its bytes."""
    field, member = _ARRAYS[name], io.BytesIO(data)
    version = npy.read_magic(member)
    shape, is_fortran, dtype = npy.read_array_header_1_0(member)
    content, axes = member.read(), field.axes
    expected = ((1, 0), False, field.dtype, len(axes))
    n_bytes = math.prod(shape) * field.itemsize
    if (version, is_fortran, dtype, len(shape)) != expected or n_bytes != len(content):
        got = f"it has {len(content)} bytes, {dtype} and the shape {shown(shape)}"
        raise FileError(f"is damaged: {name} must be {field.dtype} with the axes {axes}, but {got}")
    # of the dtype of the table, as an equal one would change later pickles
    return np.frombuffer(content, field.dtype).reshape(shape).copy()
