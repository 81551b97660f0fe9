"""One file of JSON and numpy arrays: what is in it, byte by byte, and how it is written whole.

All numbers are little-endian.

====================== ===========================================================================
8 bytes                `MAGIC`
4, 8, 8 bytes          the format (from 1 on), the length of the header, that of the file (unsigned)
header                 JSON in ASCII: an object with `river_amf`, the version that wrote it, and
                       `arrays`, a list of [name, type, shape]; a type is "<f8", "<i8", "<i4",
                       "<u8", or a list of [field, type] for records without padding
32 bytes               SHA-256 of all that comes before
arrays                 one after the other, each in C order
32 bytes               SHA-256 of all that comes before
====================== ===========================================================================

These lines hold for every format to come, so that an older release can say what wrote a newer file.
A header takes `LONGEST_HEADER` bytes, 1 GiB, at most: some ten million names. Nothing in a file is
run, no size in it is believed before it agrees with that of the file, and no header is held in
memory before its checksum agrees.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from river_amf import state
from river_amf._version import __version__
from river_amf.encoding import shown
from river_amf.persistence.replacement import replacing

MAGIC = b"\x89AMF\r\n\x1a\n"  # neither text nor what a transfer as text would leave alone
FORMAT = 1
LONGEST_HEADER = 2**30

_REQUIRED = object()
_PREFIX = struct.Struct("<8sIQQ")
_DIGEST_SIZE = 32
_PIECE_BYTES = 2**22  # of an array or a header that are handled at once
_LONGEST_SHAPE = 8
_LONGEST_VERSION = 40  # that a message shows
_SCALARS = {name: np.dtype(name) for name in ("<f8", "<i8", "<i4", "<u8")}

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


def describe(dtype: np.dtype[Any]) -> str | list[list[str]]:
    """Return the type of an array as a header tells it.

    >>> describe(np.dtype("f8"))
    '<f8'
    """
    if dtype.names is None:
        return dtype.newbyteorder("<").str
    return [[name, dtype[name].newbyteorder("<").str] for name in dtype.names]


# Arrays are read into our own dtypes where they are equal: others would make other pickles.
_OWN = {
    json.dumps(describe(dtype)): dtype
    for dtype in (
        *(np.dtype(name) for name in ("f8", "i8", "i4", "u8")),
        *(state.TREE, state.NODE, state.FEATURE, state.SAMPLE),
    )
}


# --------------------------------------------------------------------------------------- writing


def write(path: str, header: Header, arrays: dict[str, Array]) -> None:
    """Write a file, or leave the one that was there whole if that fails.

    Parameters
    ----------
    path
        Where to; a symbolic link stays, and what it points to is replaced.
    header
        What goes into the header beside `arrays`.
    arrays
        Of the types that a header can tell. They are written piece by piece: no copy is made of
        the whole.

    Raises
    ------
    OSError
        If it cannot be written, as `open` would.
    ValueError
        If the header is longer than `LONGEST_HEADER`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/file", {"river_amf": "0.1"}, {"a": np.arange(3.0)})
    ...     header, arrays = read(f"{folder}/file")
    >>> header["river_amf"], arrays["a"].tolist()
    ('0.1', [0.0, 1.0, 2.0])
    """
    shapes = [[name, describe(array.dtype), array.shape] for name, array in arrays.items()]
    text = json.dumps(header | {"arrays": shapes}, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > LONGEST_HEADER:
        raise ValueError(
            f"cannot save to {path!r}: labels, categories and names take {len(text)} bytes, and a "
            f"file holds {LONGEST_HEADER} at most"
        )
    length = _PREFIX.size + len(text) + 2 * _DIGEST_SIZE
    length += sum(array.nbytes for array in arrays.values())
    prefix = _PREFIX.pack(MAGIC, FORMAT, len(text), length)
    with replacing(path) as file:
        for data in _contents(prefix, text, arrays.values()):
            file.write(data)


def _contents(prefix: bytes, text: bytes, arrays: Iterable[Array]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file in pieces."""
    digest = hashlib.sha256(prefix)
    digest.update(text)
    yield prefix
    yield text
    yield _sum(digest)
    for array in arrays:
        for piece in _pieces(array):
            little = np.ascontiguousarray(piece, piece.dtype.newbyteorder("<"))
            data = little.reshape(-1).view(np.uint8).data
            digest.update(data)
            yield data
    yield digest.digest()


def _sum(digest: Any) -> bytes:
    """Return the digest so far, and take it in itself."""
    result: bytes = digest.digest()
    digest.update(result)
    return result


def _pieces(array: Array) -> Iterator[Array]:
    """Yield an array in pieces of some megabytes at most, in C order."""
    if array.nbytes <= _PIECE_BYTES:
        yield array
        return
    n_rows = max(_PIECE_BYTES * len(array) // array.nbytes, 1)
    for start in range(0, len(array), n_rows):
        piece = array[start : start + n_rows]
        yield from _pieces(piece[0]) if array.ndim > 1 and n_rows == 1 else (piece,)


# --------------------------------------------------------------------------------------- reading


def read(path: str) -> tuple[Header, dict[str, Array]]:
    """Read a file.

    Parameters
    ----------
    path
        Where from.

    Returns
    -------
    The header, and the arrays in memory of their own.

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
        source = _Source(file)
        header, length = _read_header(source)
        shapes = _read_shapes(header)
        expected = source.position + _DIGEST_SIZE
        expected += sum(dtype.itemsize * math.prod(shape) for _, dtype, shape in shapes)
        if expected != length:
            raise FileError(f"is damaged: its arrays take {expected} bytes, not {length}")
        arrays = {name: source.take_array(dtype, shape) for name, dtype, shape in shapes}
        source.check_digest()
    return header, arrays


_CHANGED = "has been changed since it was saved (its checksum differs)"


class _Source:
    """A file that is read, and hashed on the way."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.size = os.fstat(file.fileno()).st_size
        self.position = 0

    def take(self, length: int) -> bytes:
        """Read so many bytes, fewer at the end of the file."""
        data = self._file.read(length)
        self.position += len(data)
        self._digest.update(data)
        return data

    def take_array(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        """Read an array, whose size has been checked."""
        array: Array = np.empty(shape, dtype)
        data = array.reshape(-1).view(np.uint8).data
        if self._file.readinto(data) != len(data):  # type: ignore[attr-defined]
            raise FileError("is truncated: it became shorter while it was read")
        self.position += len(data)
        self._digest.update(data)
        return array if sys.byteorder == "little" else array.byteswap(inplace=True)

    def check_digest(self) -> None:
        """Compare the digest that comes next with that of all before it."""
        expected = self._digest.digest()
        if self.take(_DIGEST_SIZE) != expected:
            raise FileError(_CHANGED)

    def check_ahead(self, length: int) -> None:
        """Compare the digest after so many bytes with theirs, in pieces, and read nothing yet."""
        digest = self._digest.copy()
        for start in range(0, length, _PIECE_BYTES):
            digest.update(self._file.read(min(_PIECE_BYTES, length - start)))
        if self._file.read(_DIGEST_SIZE) != digest.digest():
            raise FileError(_CHANGED)
        self._file.seek(self.position)


def _read_header(source: _Source) -> tuple[Header, int]:
    """Read the header and check its digest; returns it and the length of the file as saved."""
    prefix = source.take(_PREFIX.size)
    if not prefix:
        raise FileError("is empty")
    if prefix[: len(MAGIC)] != MAGIC[: len(prefix)]:
        raise FileError("is no file of river_amf (it does not begin as one)")
    if len(prefix) < _PREFIX.size:
        raise FileError(f"is truncated: it has {len(prefix)} bytes")
    _, format_, header_length, length = _PREFIX.unpack(prefix)
    if source.position + header_length + _DIGEST_SIZE > source.size:
        raise FileError(f"is truncated: it has {source.size} bytes of {length}")
    if header_length > LONGEST_HEADER:
        raise FileError(
            f"is damaged: its header should take {header_length} bytes, and {LONGEST_HEADER} are "
            "the most"
        )
    source.check_ahead(header_length)
    text = source.take(header_length)
    source.check_digest()  # again, lest it has been changed meanwhile
    if format_ > FORMAT:
        raise FileError(_too_new(text, format_))
    if format_ < 1:
        raise FileError(f"is damaged: it is of the unknown format {format_}")
    header = _parsed(text)
    if source.size < length:
        raise FileError(f"is truncated: it has {source.size} bytes of {length}")
    if source.size > length:
        raise FileError(f"has {source.size - length} bytes after its end")
    return header, length


def _too_new(text: bytes, format_: int) -> str:
    """Say what has written a file of a format to come, as far as its header tells."""
    version = "of a later release"
    with suppress(FileError):
        version = ascii(_parsed(text)["river_amf"][:_LONGEST_VERSION])
    return (
        f"was saved by river_amf {version} in format {format_}; this is river_amf "
        f"{__version__}, which reads up to format {FORMAT}: upgrade river_amf"
    )


def _parsed(text: bytes) -> Header:
    """Parse the JSON of a header."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        header = json.loads(text.decode("ascii"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise FileError(f"is damaged: its header is no JSON of ours ({error})") from None
    if not isinstance(header, dict) or not isinstance(header.get("river_amf"), str):
        raise FileError("is damaged: its header does not say which river_amf wrote it")
    return header


def _read_shapes(header: Header) -> list[tuple[str, np.dtype[Any], tuple[int, ...]]]:
    """Return name, dtype and shape of each array."""
    try:
        shapes = [
            (_name(name), _dtype(kind), _shape(shape))
            for name, kind, shape in take(header, "arrays")
        ]
        if len({name for name, _, _ in shapes}) != len(shapes):
            raise ValueError("a name comes twice")
    except FileError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"is damaged: its list of arrays is none of ours ({error})") from None
    return shapes


def _name(name: Any) -> str:
    if type(name) is not str or not name:
        raise ValueError("a name is no text")
    return name


def _dtype(kind: Any) -> np.dtype[Any]:
    own = _OWN.get(json.dumps(kind))
    if own is not None:
        return own
    if type(kind) is not list or any(scalar not in _SCALARS for _, scalar in kind):
        raise ValueError(f"unknown type {json.dumps(kind)[:99]}")
    return np.dtype([(_name(name), _SCALARS[scalar]) for name, scalar in kind]).newbyteorder("=")


def _shape(shape: Any) -> tuple[int, ...]:
    lengths = tuple(shape)
    if len(lengths) > _LONGEST_SHAPE or not all(
        type(length) is int and 0 <= length < 2**40 for length in lengths
    ):
        raise ValueError(f"impossible shape {json.dumps(shape)[:99]}")
    return lengths
