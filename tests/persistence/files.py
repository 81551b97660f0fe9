"""Files of models as tests make, edit and read them."""

import hashlib
import io
import json
import os
import warnings
import zipfile
from pathlib import Path

import edits
import numpy as np
import pytest

import river_amf
from river_amf import AMFClassifier
from river_amf.persistence import FileError, container


def reloaded(model, path):
    """Save a model and load it again."""
    model.save(path)
    return river_amf.load(path)


def error_of(path):
    """Return the message with which a file is refused, which names it."""
    with pytest.raises(FileError) as caught:
        river_amf.load(path)
    assert repr(os.fsdecode(path)) in str(caught.value)
    return str(caught.value)


def small_file(path):
    """Save a small forest; returns the bytes."""
    model = AMFClassifier(n_estimators=1, seed=1)
    for x, label, weight in edits.samples(12):
        model.learn_one(x, label, w=weight)
    model.save(path)
    return path.read_bytes()


def parts_in(model, path):
    """Save a model; returns the header and the arrays of its file."""
    model.save(path)
    return container.read(str(path))


def edited_error(path, header, arrays):
    """Return the message with which a file of these parts is refused."""
    container.write(str(path), header, arrays)
    return error_of(path)


def subprocess_env():
    """Return an environment in which another process finds the package."""
    root = str(Path(river_amf.__file__).parent.parent)
    return os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


def refuse(error):
    """Return a function that raises this error, whatever it is given."""

    def raise_it(*_):
        raise error

    return raise_it


# Files byte by byte


def member_of(name, data, **changes):
    """Return what a zip archive says of a member as we write it, but for changes, and the data."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, 0o100644 << 16
    for what, value in changes.items():
        setattr(entry, what, value)
    return entry, data


def signed(data):
    """Return a file with the checksum that it should have."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def archive_of(members, edit=lambda entries: None):
    """Return a file of such members, its checksum right; the directory is edited at the end."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that comes twice
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = b"sha256:" + bytes(64)
            for entry, data in members:
                archive.writestr(entry, data)
            edit(archive.filelist)
    return signed(file.getvalue())


def file_of(header, edit=lambda entries: None, **arrays):
    """Return the bytes of a file with this header and these arrays, its checksum right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    members = [member_of(f"{name}.npy", data) for name, data in arrays.items()]
    return archive_of([member_of("header.json", text), *members], edit)


def npy_of(text, data=b"", version=b"\1\0"):
    """Return an array as numpy writes it, but for its description."""
    start = b"\x93NUMPY" + version + len(text).to_bytes(2, "little")
    return start + text.encode() + data


def described(descr="'<f8'", shape="(0,)", order="False"):
    """Return the description of an array as numpy writes it."""
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def counts_of(*counts):
    """Return the bytes of an array of numbers."""
    file = io.BytesIO()
    np.save(file, np.array(counts, np.float64))
    return file.getvalue()


DUMMY = {"river_amf": river_amf.__version__, "format": container.FORMAT}


DUMMY |= {"kind": "OnlineDummyClassifier", "model": {"parameters": {}, "labels": []}}


COUNTS = npy_of(described())


def set_of_last(*whats, value):
    """Return an edit of the last entry of a directory."""
    return lambda entries: [setattr(entries[-1], what, value) for what in whats]


SIZES = "file_size", "compress_size"
