"""Files of models as tests make, edit and read them."""

import io
import json
import os
import random
import warnings
import zipfile

import numpy as np
import pytest

import river_amf
from river_amf.persistence import FileError, Saved, container


def samples(n_samples):
    """Yield samples of numbers and categories with gaps and noisy labels."""
    rng = random.Random(3)
    for i in range(n_samples):
        x = {"a": rng.gauss(0, 1), "b": rng.randrange(4), "c": rng.choice(["red", "tan", None])}
        if i % 5 == 0:
            del x["a"]
        yield x, (x["b"] > 1) ^ (rng.random() < 0.2), rng.choice([1.0, 1.0, 2.5])


def targets(n_samples):
    """Yield the same samples with targets, some of them heavy."""
    rng = random.Random(4)
    for x, label, weight in samples(n_samples):
        yield x, 1e3 + x["b"] + 5.0 * label + rng.gauss(0, 1) ** 5, weight


def reloaded(model, path):
    model.save(path)
    return river_amf.load(path)


def error_of(path):
    """Return the message with which a file is refused, which names it."""
    with pytest.raises(FileError) as caught:
        river_amf.load(path)
    assert repr(os.fsdecode(path)) in str(caught.value)
    return str(caught.value)


def parts_in(model, path):
    """Save a model; return the header and the arrays of its file."""
    model.save(path)
    return container.read(path.read_bytes())


def write_parts(path, header, arrays):
    with path.open("wb") as file:
        container.write(header, arrays, file)


def edited_error(path, header, arrays):
    """Return the message with which a file of these parts is refused."""
    write_parts(path, header, arrays)
    return error_of(path)


def refuse(error):
    def raise_it(*_, **__):
        raise error

    return raise_it


class Raw(Saved):
    """A model that is what its file says, so that only an archive can be damaged."""

    _file_kind = "Raw"

    @classmethod
    def _from_file(cls, header, arrays):
        return header, arrays


UNTRAINED = {"format": container.FORMAT, "river_amf": river_amf.__version__}
UNTRAINED |= {"kind": "AMFClassifier", "model": {"parameters": {}, "labels": []}}
RAW = UNTRAINED | {"kind": "Raw"}


def archive_of(members, edit=lambda entries: None, compression=zipfile.ZIP_STORED):
    """Return an archive of these members; the directory is edited at the end."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of a name that comes twice
        for name, data in members:
            archive.writestr(name, data)
        edit(archive.filelist)
    return file.getvalue()


def set_of_last(*whats, value):
    """Return an edit of the last entry of a directory."""
    return lambda entries: [setattr(entries[-1], what, value) for what in whats]


def file_of(header, edit=lambda entries: None, **arrays):
    """Return the bytes of a file with this header, which lists them, and these arrays."""
    header = {"arrays": [*arrays]} | header if isinstance(header, dict) else header
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    members = [(f"{name}.npy", data) for name, data in arrays.items()]
    return archive_of([("header.json", text), *members], edit)


def npy_of(descr="'<f8'", shape="(0,)", order="False", data=b"", version=b"\1\0"):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text.encode() + data


def inner(arrays):
    """Return an inner node of the first tree that is not its root."""
    nodes = arrays["nodes"][0]
    return int(np.flatnonzero((nodes["left"] >= 0) & (nodes["parent"] >= 0))[0])
