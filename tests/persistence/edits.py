"""Damaged and hostile files are refused, or load as models that work.

Run this as a script, in its own process, because a wrong link may crash it: `python edits.py SEED N
FILE...` makes N edits of each file, and prints how many were refused and how many were loaded.
"""

import io
import json
import random
import resource
import struct
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

import river_amf
from river_amf.persistence import FileError, container

FLOATS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e308, -1e308, 5e-324, 2.0**63, 1e18]
INTEGERS = [-(2**31), -3, -2, -1, 0, 1, 2, 3, 5, 17, 64, 65, 1000, 2**31 - 1]
JSON = [None, True, -1, 0, 1, 2, 3, 7, 10**6, 2**63, 1e300, 0.5, "", "a", [], {}, [["int", "-0x1"]]]
SIZES = [0, 1, 10, 99, 1000, 2**15, 2**16 - 1]
MOST_MEMORY = 2**30  # more than what the process has after a model was used


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


# Members of archives


def members_of(data):
    """Return the names and contents of the members of a file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(entry.filename, archive.read(entry)) for entry in archive.infolist()]


def archive_of(members, edit=lambda entries: None, **changes):
    """Return a file of such members as we write it; the directory is edited at the end."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")  # of a name that comes twice
        for name, data in members:
            extra = container._EXTRA.pack(b"AM", 8, 0) if name == "header.json" else b""
            entry = container._entry(name, len(data), extra)
            for what, value in changes.items() if entry.filename.endswith(".npy") else ():
                setattr(entry, what, value)
            archive.writestr(entry, data)
        edit(archive.filelist)
    return sized(file.getvalue())


def sized(data):
    """Return a file that tells its size."""
    return data[:45] + struct.pack("<Q", len(data)) + data[53:]


def set_of_last(*whats, value):
    """Return an edit of the last entry of a directory."""
    return lambda entries: [setattr(entries[-1], what, value) for what in whats]


# Edits


def edit_array(array, rng):
    """Change a few numbers of an array, or its shape, and return it."""
    if rng.random() < 0.1:
        axis = rng.randrange(array.ndim)
        return np.concatenate([array, array], axis) if rng.random() < 0.5 else array[:-1].copy()
    for _ in range(rng.choice([1, 1, 2, 5])):
        part = array
        if array.dtype.names:
            part = array[rng.choice(array.dtype.names)]
        choices = FLOATS if part.dtype.kind == "f" else INTEGERS
        value = rng.choice([*choices, part[tuple(rng.randrange(n) for n in part.shape)]])
        place = tuple(rng.randrange(length) for length in part.shape)
        part[place] = abs(int(value)) if part.dtype.kind == "u" else value
    return array


def edit_json(item, rng):
    """Change something anywhere in a JSON value, and return it."""
    if isinstance(item, dict | list) and item and rng.random() < 0.9:
        key = rng.choice([*item]) if isinstance(item, dict) else rng.randrange(len(item))
        if rng.random() < 0.1:
            del item[key]
        else:
            item[key] = edit_json(item[key], rng)
        return item
    if rng.random() < 0.05:
        depth = rng.choice([60, 900, 20_000])
        return f"{'[' * depth}{']' * depth}"  # unquoted later
    return rng.choice(JSON)


def with_edited_json(data, rng):
    """Edit the header, in which JSON may be nested deeply."""
    (name, text), *rest = members_of(data)
    header = json.loads(text)
    header["model"] = edit_json(header["model"], rng)
    text = json.dumps(header).replace('"[[', "[[").replace(']]"', "]]")
    return archive_of([(name, text.encode()), *rest])


def with_edited_array(data, rng):
    """Edit the numbers of an array, or its shape."""
    header, arrays, _ = container.read(io.BytesIO(data))
    name = rng.choice([name for name, array in arrays.items() if array.size])
    arrays[name] = edit_array(arrays[name], rng)
    file = io.BytesIO()
    container.write(file, header, arrays)
    return file.getvalue()


def with_edited_members(data, rng):
    """Take away, repeat, rename, exchange or damage members, or what arrays say of themselves."""
    members = members_of(data)
    i, j = rng.randrange(len(members)), rng.randrange(1, len(members))
    (name, content), kind = members[i], rng.randrange(10)
    if kind == 0:
        del members[i]
    elif kind == 1:
        members.insert(j, members[i])
    elif kind == 2:
        members[i] = rng.choice(["../a.npy", "pure.npy", "a", "", members[j][0]]), content
    elif kind == 3:
        members[i], members[j] = (name, members[j][1]), (members[j][0], content)
    elif kind == 4:
        return archive_of(members, compress_type=zipfile.ZIP_DEFLATED)
    elif kind == 5:
        members[i] = name, content[: rng.randrange(len(content))]
    elif kind == 6:  # another shape, type or order, of the same length
        old = rng.choice([b"(", b"1", b"2", b", ", b"<f8", b"<i8", b"False", b"shape", b"'"])
        new = rng.choice([b"-", b"9", b"[", b"99", b"O", b"<f4", b"True ", b"L", b"0"])
        members[j] = members[j][0], members[j][1].replace(old, new.ljust(len(old)), 1)
    elif kind <= 8:  # another size or place in the directory
        whats = ["file_size", "compress_size", "header_offset", "flag_bits", "compress_type", "CRC"]
        edit = set_of_last(*rng.sample(whats, rng.choice([1, 2])), value=rng.choice(SIZES))
        return archive_of(members, edit)
    else:
        place = rng.randrange(len(content))
        members[i] = name, content[:place] + rng.randbytes(rng.choice([1, 4, 8])) + content[place:]
    return archive_of(members)


def with_edited_bytes(data, rng):
    """Change, cut out, repeat or append a few bytes."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        start = rng.choice([rng.randrange(len(data)), max(len(data) - rng.randrange(1, 4000), 0)])
        end = min(start + rng.choice([1, 2, 4, 8, 50, 1000]), len(data))
        kind = rng.randrange(7)
        if kind <= 1:
            data[start] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[start:end] = rng.randbytes(end - start)
        elif kind == 3:
            data[start:end] = rng.choice([b"\0", b"\xff"]) * (end - start)
        elif kind == 4:
            del data[start:end]
        elif kind == 5:
            data[start:start] = data[start:end]
        elif len(data) > 100:
            del data[start:]
        if len(data) < 100:
            break
    return bytes(data) if rng.random() < 0.3 else sized(bytes(data))


EDITS = [with_edited_json, with_edited_array, with_edited_members, with_edited_bytes]


def edited(data, seed):
    """Return an edited copy of a file."""
    rng = random.Random(seed)
    return rng.choice(EDITS)(data, rng)


# What becomes of them


def use(model):
    """Predict and learn, one by one and in blocks."""
    model = getattr(model, "model_", model)  # of an estimator of scikit-learn
    of_targets = isinstance(model, river_amf.AMFRegressor)
    stream = list(targets(60) if of_targets else samples(60))
    X, y = pd.DataFrame([x for x, _, _ in stream]), [label for _, label, _ in stream]
    for x, label, weight in stream:
        model.predict_interval_one(x) if of_targets else model.predict_proba_one(x)
        model.learn_one(x, label, w=weight)
    if of_targets:
        model.predict_then_learn_many(X, y)
        model.predict_interval_many(X)
        model.debug_one(stream[0][0])
    else:
        model.predict_proba_then_learn_many(X, y)
        model.predict_proba_many(X)


def is_refused(data, path):
    """Load a file and use the model in it; return whether it was refused."""
    Path(path).write_bytes(data)
    refusals = 0
    for source in (path, io.BytesIO(data)):
        try:
            model = river_amf.load(source)
        except FileError as error:
            refusals += 1
            assert str(error).startswith(("the file '", "the BytesIO "))
    if refusals:
        # what follows the model in an open file is not read
        assert refusals == 2 or len(data) > container.archive_size(data[:53])
        return True
    if getattr(model, "n_estimators", 0) > 100:  # of an untrained model
        return False
    try:
        use(model)
    except ValueError as error:  # edits may turn categories into numbers
        known = ("has held", "would be class number", "of the first target", "on_mismatch")
        if not any(text in str(error) for text in known):
            raise
    return False


def main(seed, n_edits, *paths):
    """Print how many of the edits of some files are refused, and how many load."""
    n_refused = 0
    for path in paths:
        use(river_amf.load(path))
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (n_pages * resource.getpagesize() + MOST_MEMORY, most))
    for path in paths:
        data, target = Path(path).read_bytes(), f"{path}.edited"
        for i in range(int(n_edits)):
            try:
                n_refused += is_refused(edited(data, f"{seed} {path} {i}"), target)
            except BaseException:
                print(f"edit {i} of {path}", file=sys.stderr)
                raise
    print(n_refused, int(n_edits) * len(paths) - n_refused)


def inner(arrays):
    """Return an inner node of the first tree that is not its root."""
    nodes = arrays["nodes"][0]
    return int(np.flatnonzero((nodes["left"] >= 0) & (nodes["parent"] >= 0))[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
