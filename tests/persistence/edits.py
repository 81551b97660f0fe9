"""Files that a stranger has edited, including the checksum, are rejected or load as working models.

Run this as a script, in its own process, because a wrong link may crash it:
`python edits.py FILE FOLDER SEED N` makes N edits of a file, and prints how many were rejected
and how many were loaded. `python edits.py FILE FOLDER` does every sort of damage to every array,
and prints what was loaded.
"""

import random
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import river_amf
from river_amf.persistence import container

FLOATS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e308, -1e308, 5e-324, 2.0**63, 1e18]
INTEGERS = [-(2**31), -3, -2, -1, 0, 1, 2, 3, 5, 17, 64, 65, 1000, 2**31 - 1]
JSON = [None, True, -1, 0, 1, 2, 3, 7, 10**6, 2**63, 1e300, 0.5, "", "a", [], {}, [["int", "-0x1"]]]


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


def edit_array(array, rng):
    """Change a few numbers of an array, or its shape, and return it."""
    if rng.random() < 0.1:
        axis = rng.randrange(array.ndim)
        return np.concatenate([array, array], axis) if rng.random() < 0.5 else array[:-1].copy()
    for _ in range(rng.choice([1, 1, 2, 5])):
        part = array
        if array.dtype.names:
            part = array[rng.choice(array.dtype.names)]
        place = tuple(rng.randrange(length) for length in part.shape)
        integers = part.dtype.kind != "f"
        choices = INTEGERS if integers else FLOATS
        value = rng.choice([*choices, part[tuple(rng.randrange(n) for n in part.shape)]])
        if part.dtype.kind == "u":
            value = abs(int(value))
        part[place] = value
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


def edited(path, target, rng):
    """Write an edited copy of a file, with the right checksum."""
    header, arrays = container.read(path)
    if rng.random() < 0.25:
        header["model"] = edit_json(header["model"], rng)
    else:
        name = rng.choice([name for name, array in arrays.items() if array.size])
        arrays[name] = edit_array(arrays[name], rng)
    container.write(target, header, arrays)


def use(model):
    """Predict and learn, one by one and in blocks."""
    if isinstance(model, river_amf.AMFRegressor):
        use_regressor(model)
        return
    stream = list(samples(150))
    X, y = pd.DataFrame([x for x, _, _ in stream]), [label for _, label, _ in stream]
    for x, label, weight in stream:
        model.predict_proba_one(x)
        model.learn_one(x, label, w=weight)
    model.predict_proba_then_learn_many(X, y)
    model.predict_proba_many(X)


def use_regressor(model):
    """Predict and learn targets, one by one and in blocks."""
    stream = list(targets(150))
    X, y = pd.DataFrame([x for x, _, _ in stream]), [target for _, target, _ in stream]
    for x, target, weight in stream:
        model.predict_interval_one(x)
        model.learn_one(x, target, w=weight)
    model.predict_then_learn_many(X, y)
    model.predict_interval_many(X)
    model.debug_one(X.to_dict("records")[0])


def is_refused(path):
    """Load a file and use the model in it; return whether it was rejected."""
    try:
        model = river_amf.load(path)
    except river_amf.persistence.FileError:
        return True
    if model.n_estimators > 100:  # of an untrained model
        return False
    try:
        use(model)
    except ValueError as error:  # edits may turn categories into numbers
        known = ("has held", "would be class number", "of the first target")
        if not any(text in str(error) for text in known):
            raise
    return False


def damages(array):
    """Yield copies of an array with every sort of damage, and a name for each."""
    yield "cut", array[:-1].copy()
    yield "doubled", np.concatenate([array, array])
    yield "flat", array.reshape(-1, 1, 1)
    for field in array.dtype.names or [None]:
        values = array if field is None else array[field]
        for value in FLOATS if values.dtype.kind == "f" else INTEGERS:
            if values.dtype.kind == "u" and value < 0:
                continue
            for place, index in (("first", 0), ("last", -1)):
                damaged = array.copy()
                part = damaged if field is None else damaged[field]
                part.reshape(-1)[index] = value
                if field is not None:
                    damaged[field] = part
                yield f"{field or 'values'}, {place}: {value}", damaged


def damage_all(path, folder):
    """Print every damage to a file that is not refused; the model in it has to work."""
    header, arrays = container.read(path)
    target = str(Path(folder, "damaged.amf"))
    for name, array in arrays.items():
        without = {other: arrays[other] for other in arrays if other != name}
        container.write(target, header, without)
        if not is_refused(target):
            print(f"{name}: missing")
        for what, damaged in damages(array) if array.size else []:
            container.write(target, header, arrays | {name: damaged})
            if not is_refused(target):
                print(f"{name}: {what}")


def main(path, folder, seed, n_edits):
    """Print how many of the edits of a file are rejected, and how many load."""
    n_refused = 0
    for i in range(int(n_edits)):
        target = str(Path(folder, "edited.amf"))
        edited(path, target, random.Random(f"{seed} {i}"))
        n_refused += is_refused(target)
    print(n_refused, int(n_edits) - n_refused)


if __name__ == "__main__":
    damage_all(*sys.argv[1:]) if len(sys.argv) == 3 else main(*sys.argv[1:])
