"""Damaged and hostile files are refused, or load as models that work.

Run this as a script, in its own process, because a wrong link may crash it: `python edits.py SEED N
FILE...` makes N edits of each file, and prints how many were refused and how many were loaded.
"""

import io
import random
import resource
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from files import samples, targets

import river_amf
from river_amf.persistence import FileError, container

FLOATS = [np.nan, np.inf, -np.inf, -1e6, -1.0, 0.0, 0.5, 1e308, -1e308, 5e-324, 2.0**63, 1e18]
INTEGERS = [-(2**31), -3, -2, -1, 0, 1, 2, 3, 5, 17, 64, 65, 1000, 2**31 - 1]
JSON = [None, True, -1, 0, 1, 2, 3, 7, 10**6, 2**63, 1e300, 0.5, "", "a", [], {}, [["int", "-0x1"]]]
MOST_MEMORY = 2**30  # more than what the process has after a model was used


def edit_array(array, rng):
    """Change a few numbers of an array, all floats of a field, or the shape, and return it."""
    if rng.random() < 0.1:
        axis = rng.randrange(array.ndim)
        return np.concatenate([array, array], axis) if rng.random() < 0.5 else array[:-1].copy()
    for _ in range(rng.choice([1, 1, 2, 5])):
        part = array[rng.choice(array.dtype.names)] if array.dtype.names else array
        choices = FLOATS if part.dtype.kind == "f" else INTEGERS
        value = rng.choice([*choices, part[tuple(rng.randrange(n) for n in part.shape)]])
        place = tuple(rng.randrange(length) for length in part.shape)
        place = ... if part.dtype.kind == "f" and rng.random() < 0.3 else place
        is_unsigned = part.dtype.kind == "u"
        part[place] = abs(int(value)) % 256**part.itemsize if is_unsigned else value
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
    return rng.choice(JSON)


def with_edited_part(data, rng):
    """Edit the header, or the numbers or the shape of an array."""
    header, arrays = container.read(data)
    if rng.random() < 0.5:
        header["model"] = edit_json(header["model"], rng)
    else:
        name = rng.choice([name for name, array in arrays.items() if array.size])
        arrays[name] = edit_array(arrays[name], rng)
    file = io.BytesIO()
    container.write(header, arrays, file)
    return file.getvalue()


def with_edited_bytes(data, rng):
    """Change, cut out or repeat a few bytes."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        start = rng.choice([rng.randrange(len(data)), max(len(data) - rng.randrange(1, 4000), 0)])
        end = max(start, min(start + rng.choice([1, 2, 4, 8, 50, 1000]), len(data) - 100))
        part = data[start:end]
        data[start:end] = rng.choice([rng.randbytes(len(part)), b"\xff" * len(part), b"", part * 2])
    return bytes(data)


def use(model):
    """Predict and learn, one by one and in blocks."""
    is_regressor = isinstance(model, river_amf.AMFRegressor)
    stream = list(targets(60) if is_regressor else samples(60))
    for x, label, weight in stream:
        model.predict_interval_one(x) if is_regressor else model.predict_proba_one(x)
        model.learn_one(x, label, w=weight)
    proba = "predict" if is_regressor else "predict_proba"
    X, y = pd.DataFrame([x for x, _, _ in stream]), [label for _, label, _ in stream]
    getattr(model, f"{proba}_then_learn_many")(X, y)
    getattr(model, "predict_interval_many" if is_regressor else "predict_proba_many")(X)
    model.debug_one(stream[0][0])


def is_refused(data, before):
    """Load an edited file and use the model in it; return whether it was refused."""
    try:
        model = river_amf.load(io.BytesIO(data))
    except FileError as error:
        assert str(error).startswith("the BytesIO ")
        return True
    model.save(file := io.BytesIO())
    assert before in (None, file.getvalue())  # as its checksums were not edited
    if model.n_estimators > 100:  # of an untrained model
        return False
    try:
        use(model)
    except ValueError as error:  # edits may turn categories into numbers
        expected = ("has held", "would be class number", "of the first target", "on_mismatch")
        if not any(text in str(error) for text in expected):
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
        data = Path(path).read_bytes()
        for i in range(int(n_edits)):
            print(f"edit {i} of {path}", file=sys.stderr)  # the last one is what failed
            rng = random.Random(f"{seed} {Path(path).name} {i}")
            edit = rng.choice([with_edited_part, with_edited_bytes])
            n_refused += is_refused(edit(data, rng), data if edit is with_edited_bytes else None)
    print(n_refused, int(n_edits) * len(paths) - n_refused)


if __name__ == "__main__":
    main(*sys.argv[1:])
