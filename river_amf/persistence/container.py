"""The file format: JSON and numpy arrays in a zip archive, for `unzip -l` and `numpy.load` too.

A member `header.json`, an object in ASCII, has `format` (an integer from 1), `river_amf` (the
version that wrote the file), `arrays` (their names), and everything that is not in the arrays. A
member NAME.npy is an array of the table `layout.FIELDS`. Members are stored uncompressed, with one
timestamp, so that equal models give equal files. What a header lacks gets its default.
"""

import io
import json
import math
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from river_amf._version import __version__
from river_amf.inputs.kinds import shown
from river_amf.persistence.validation import FileError, adopted, require
from river_amf.state.layout import Array

FORMAT = 1

_HEADER = "header.json"

Header = dict[str, Any]


def write(header: Header, arrays: dict[str, Array], file: IO[bytes]) -> None:
    header = {"format": FORMAT} | header | {"arrays": [*arrays]}
    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
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
        if "0.amf" in members:
            loader = "river_amf.ray.DistributedForest.load"
            raise FileError(f"holds a forest over workers, which {loader} loads")
        if _HEADER not in members:
            raise FileError(f"is not a river_amf file (it has no {_HEADER})")
        require(len(members) == len(archive.namelist()), "members, some of which come twice,")
        is_stored = not any(entry.compress_type for entry in archive.infolist())
        require(is_stored, "compression, of which there should be none,")  # few bytes give many
        header = _header_of(archive.read(_HEADER))
        names = header["arrays"]
        odd = members ^ {_HEADER, *(f"{name}.npy" for name in names)}
        require(not odd, f"list of arrays, from which members differ in {shown(sorted(odd))},")
        return header, adopted({n: _array_of(n, archive.read(f"{n}.npy")) for n in names})


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
    """Return an array of any dtype but of objects, as a view of the bytes."""
    member = io.BytesIO(data)
    is_right = npy.read_magic(member) == (1, 0)
    shape, is_fortran, dtype = npy.read_array_header_1_0(member)
    content = member.read()
    is_right &= not is_fortran and math.prod(shape) * dtype.itemsize == len(content)
    require(is_right, f"array {name}, with {len(content)} bytes and the shape {shown(shape)},")
    return np.frombuffer(content, dtype).reshape(shape)
