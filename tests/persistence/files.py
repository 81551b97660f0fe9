"""Files of models as tests make, edit and read them."""

import json
import os
from pathlib import Path

import edits
import pytest

import river_amf
from river_amf import AMFClassifier
from river_amf.persistence import FileError, Saved, container


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
    with path.open("rb") as file:
        return container.read(file)[:2]


def write_parts(path, header, arrays):
    """Write a file of these parts."""
    with path.open("wb") as file:
        container.write(file, header, arrays)


def edited_error(path, header, arrays):
    """Return the message with which a file of these parts is refused."""
    write_parts(path, header, arrays)
    return error_of(path)


def subprocess_env():
    """Return an environment in which another process finds the package."""
    root = str(Path(river_amf.__file__).parent.parent)
    return os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


def refuse(error):
    """Return a function that raises this error, whatever it is given."""

    def raise_it(*_, **__):
        raise error

    return raise_it


# Files member by member


class Raw(Saved):
    """A model that is what its file says, so that only an archive can be damaged."""

    _file_kind = "Raw"

    @classmethod
    def _from_file(cls, header, arrays):
        return header, arrays


UNTRAINED = {"format": container.FORMAT, "river_amf": river_amf.__version__}
UNTRAINED |= {"kind": "AMFClassifier", "model": {"parameters": {}, "labels": []}}
RAW = UNTRAINED | {"kind": "Raw"}


def file_of(header, edit=lambda entries: None, **arrays):
    """Return the bytes of a file with this header and the texts of these arrays."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    members = [(f"{name}.npy", data) for name, data in arrays.items()]
    return edits.archive_of([("header.json", text), *members], edit)


def npy_of(text, data=b"", version=b"\1\0"):
    """Return an array as numpy writes it, but for its description."""
    start = b"\x93NUMPY" + version + len(text).to_bytes(2, "little")
    return start + text.encode() + data


def described(descr="'<f8'", shape="(0,)", order="False"):
    """Return the description of an array as numpy writes it."""
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


BIAS = npy_of(described())  # an empty array, as if there were no classes
