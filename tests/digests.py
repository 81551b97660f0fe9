"""Digests of what forests predict and hold, to compare two commits on one machine.

    python tests/digests.py before.json           # at one commit
    python tests/digests.py after.json            # at another
    python tests/digests.py before.json after.json

The forests and the streams below are run in several ways, through public calls and pickles alone.
The ways of one forest have to agree with each other. Two commits have to agree in each prediction,
and in the bytes of each array in use, whatever its name; records are compared field by field. The
settings are left out, as they follow from the parameters. An array or field that only one of the
commits has is listed.
"""

import copy
import gzip
import hashlib
import io
import itertools
import json
import math
import pickle
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from river import datasets

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    load,
)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LINEAR = {"vote": "learned", "linear": True}
FEW = {"n_estimators": 4, "seed": 1}

CLASSIFIERS = {
    "plain": (AMFClassifier, {}),
    "adaptive": (AdaptiveAMFClassifier, {}),
    "split_pure": (AMFClassifier, {"split_pure": True, "fading_factor": 0.7}),
    "no aggregation": (AMFClassifier, {"use_aggregation": False, "split_intensity": "unit"}),
    "max_nodes": (AMFClassifier, {"max_nodes": 61, "step": 0.5}),
    "adaptive, max_nodes": (AdaptiveAMFClassifier, {"max_nodes": 61, "max_categories": 5}),
    "linear experts": (AMFClassifier, LINEAR),
    "relevance": (AMFClassifier, {"split_intensity": "relevance", "split_prior": 0.8}),
    "restarts": (AMFClassifier, {"drift_threshold": 0.01}),
    "few categories": (AMFClassifier, {"max_categories": 4, "split_intensity": "relevance"}),
    "n_classes": (AMFClassifier, {"n_classes": 30}),
}
SPARSE = {
    "plain sparse": (AMFClassifier, {"absent": "zero"}),
    "sparse": (AdaptiveAMFClassifier, {"absent": "zero"}),
    "few words": (AdaptiveAMFClassifier, {"absent": "zero", "max_words": 40}),
    "few columns": (
        AdaptiveAMFClassifier,
        {"absent": "zero", "max_split_words": 3, "max_nodes": 41},
    ),
}
REGRESSORS = {
    "plain": (AMFRegressor, {}),
    "mean": (AMFRegressor, {"vote": "mean"}),
    "adaptive": (AdaptiveAMFRegressor, {}),
    "mean vote": (AdaptiveAMFRegressor, {"vote": "mean"}),
    "no linear": (AdaptiveAMFRegressor, {"linear": False}),
    "linear": (AMFRegressor, {"linear": True}),
    "no aggregation": (AMFRegressor, {"use_aggregation": False, "split_intensity": "unit"}),
    "max_nodes": (AdaptiveAMFRegressor, {"max_nodes": 61, "max_categories": 5}),
}


def rows_of(stream, n):
    """Return the first rows of a stream of pairs, with weights."""
    draw = random.Random(3)
    weights = [1.0, 1.0, 1.0, 2.0, 0.0, 0.3]
    return [(x, y, draw.choice(weights)) for x, y in itertools.islice(stream, n)]


def mixed(n, *, is_regression=False):
    """Return numbers, categories, gaps; and labels, features and a drift on the way."""
    draw = random.Random(7)
    for i in range(n):
        x = {"a": draw.gauss(0, 1), "b": draw.randrange(5), "c": draw.choice("pqrs"), "d": math.nan}
        if draw.random() < 0.1:
            x["a"] = draw.choice([None, -999.0])
        if draw.random() < 0.2:
            x["c"] = f"shade {draw.randrange(40)}"
        if i > n // 3:
            x["late"] = draw.random() + (x["c"] == "p")
        if draw.random() < 0.1:
            del x["b"]
        number = (x["a"] or 0.0) + (x["c"] < "q") + x.get("late", 0.0) * (1 if i < n // 2 else -2)
        y = round(number, 3) if is_regression else f"label {int(number > 0) + 2 * (i % 97 == 96)}"
        yield x, y


def texts(n):
    """Return bags of words, of which new ones keep coming, with a number and a category."""
    draw = random.Random(9)
    for i in range(n):
        words = [int(draw.paretovariate(0.6)) % (20 + i) for _ in range(12)]
        x = dict(Counter(f"w{word}" for word in words)) | {"length": draw.random() if i % 3 else 0}
        if i % 4 == 0:
            x["sender"] = draw.choice("xyz")
        is_spam = (sum(word % 3 == 1 for word in words) > 3) ^ (i > n // 2 and words[0] == 1)
        yield x, "spam" if is_spam else "ham"


def shared(name, n):
    """Return rows of a file of the shared streams, or none without these."""
    path = DATA / f"{name}.csv.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt") as file:
        frame = pd.read_csv(file, nrows=n)
    target = frame.pop("target").tolist()
    kinds = [float if pd.api.types.is_numeric_dtype(frame[name]) else str for name in frame]
    for row, y in zip(frame.itertuples(index=False), target, strict=True):
        pairs = zip(frame.columns, kinds, row, strict=True)
        yield {name: None if pd.isna(v) else kind(v) for name, kind, v in pairs}, y


def streams():
    """Yield each stream with its name, rows and forests."""
    yield "mixed", rows_of(mixed(700), 700), CLASSIFIERS
    yield "images", rows_of(datasets.ImageSegments(), 500), CLASSIFIERS
    yield "elec2", rows_of(shared("elec2", 900), 900), CLASSIFIERS
    yield "bank", rows_of(shared("bank", 500), 500), CLASSIFIERS
    yield "texts", rows_of(texts(400), 400), SPARSE
    yield "mixed numbers", rows_of(mixed(700, is_regression=True), 700), REGRESSORS
    yield "approval", rows_of(datasets.TrumpApproval(), 700), REGRESSORS
    yield "bike", rows_of(shared("regression/bike", 700), 700), REGRESSORS
    yield "abalone", rows_of(shared("regression/abalone", 500), 500), REGRESSORS


def one_by_one(model, rows):
    """Predict and learn single samples; return the predictions."""
    answers = []
    for x, y, w in rows:
        if hasattr(model, "predict_proba_one"):
            answers.append(sorted((repr(k), v) for k, v in model.predict_proba_one(x).items()))
        else:
            interval = model.predict_interval_one(x)
            answers.append([model.predict_one(x), interval.lower, interval.upper])
        model.learn_one(x, y, w=w)
    return answers


def blocks(model, rows):
    """Yield blocks of rows as dataframes, with targets and weights."""
    for start, stop in itertools.pairwise([0, 1, 40, len(rows)]):
        xs, ys, ws = zip(*rows[start:stop], strict=True)
        frame = pd.DataFrame(list(xs), dtype=object)
        if getattr(model, "absent", "missing") == "zero":
            words = [name for name in frame if name != "sender"]
            frame[words] = frame[words].fillna(0)
        yield frame, list(ys), list(ws)


def in_blocks(model, rows):
    """Learn blocks without predicting, then predict single samples; return the predictions."""
    for block in blocks(model, rows):
        model.learn_many(*block)
    return one_by_one(model, rows[::7])


def in_blocks_predicted(model, rows):
    """Predict and learn blocks; return all predictions as bytes."""
    answers = []
    for block in blocks(model, rows):
        if hasattr(model, "predict_proba_one"):
            table = model.predict_proba_then_learn_many(*block)
            table = table[sorted(table.columns, key=repr)]
        else:
            table = model.predict_then_learn_many(*block)
        answers.append(np.ascontiguousarray(table, dtype=float).tobytes().hex())
    return answers


def saved(model, rows, tmp):
    """Save and load on the way; return the model and its predictions."""
    half = len(rows) // 2
    answers = one_by_one(model, rows[:half])
    model.save(tmp / "model.amf")
    model = load(tmp / "model.amf")
    return model, answers + one_by_one(model, rows[half:])


def copied(model, rows):
    """Copy and pickle on the way; return the model and its predictions."""
    third = len(rows) // 3
    answers = one_by_one(model, rows[:third])
    model = copy.deepcopy(model)
    answers += one_by_one(model, rows[third : 2 * third])
    model = pickle.loads(pickle.dumps(model))
    return model, answers + one_by_one(model, rows[2 * third :])


class Arrays(pickle.Pickler):
    """Collects the arrays of what it pickles."""

    def __init__(self):
        super().__init__(io.BytesIO())
        self.found = []

    def reducer_override(self, thing):
        """Note an array, and pickle it as usual."""
        if isinstance(thing, np.ndarray) and thing.size:
            self.found.append(thing)
        return NotImplemented


def digest(thing):
    """Return a short digest of some bytes, or of the text of anything else."""
    content = thing if isinstance(thing, bytes) else repr(thing).encode()
    return hashlib.sha256(content).hexdigest()[:12]


def arrays_of(model):
    """Return digests of the arrays of a model, the settings left out."""
    pickler = Arrays()
    pickler.dump(model)
    columns = []
    for array in pickler.found:
        if array.dtype.names is None:
            columns.append(array)
        elif "log_split" not in array.dtype.names:
            columns += [array[name] for name in array.dtype.names]
    return sorted(digest(np.ascontiguousarray(column).tobytes()) for column in columns)


def run(kind, parameters, rows, tmp):
    """Return the digests of a forest on a stream, after comparing the ways to run it."""

    def make(**more):
        return kind(**(FEW | parameters | more))

    model, with_blocks, in_threads, with_both = make(), make(), make(n_jobs=2), make(n_jobs=2)
    answers = one_by_one(model, rows)
    loaded, of_loaded = saved(make(), rows, tmp)
    copy_, of_copy = copied(make(), rows)
    result = {"single": digest(answers), "arrays": arrays_of(model)}
    assert of_loaded == of_copy == answers
    assert arrays_of(loaded) == arrays_of(copy_) == result["arrays"]
    after = in_blocks(with_blocks, rows)
    assert in_blocks(in_threads, rows) == after
    assert arrays_of(with_blocks) == arrays_of(in_threads)
    result |= {"after blocks": digest(after), "arrays after blocks": arrays_of(with_blocks)}
    result["blocks"] = digest(in_blocks_predicted(with_both, rows))
    assert arrays_of(with_both) == result["arrays"]
    return result


def compare(before, after):
    """Print what differs between two commits; return whether anything does."""
    differs = before.keys() != after.keys()
    for case in before.keys() & after.keys():
        old, new = before[case], after[case]
        for what in old:
            if isinstance(old[what], str):
                is_equal, note = old[what] == new[what], ""
            else:
                gone, come = Counter(old[what]), Counter(new[what])
                gone, come = gone - come, come - gone
                is_equal, note = not (gone or come), f": {gone.total()} gone, {come.total()} new"
            if not is_equal:
                differs = True
                print(f"{case}, {what}{note}")
    print("they differ" if differs else f"equal: {len(before)} forests on streams")
    return differs


def main():
    """Write the digests of this commit, or compare two files of them."""
    if len(sys.argv) > 2:
        before, after = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
        return compare(before, after)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, rows, forests in streams():
            for variant, (kind, parameters) in forests.items() if rows else ():
                print(f"{name}: {variant}", flush=True)
                results[f"{name}: {variant}"] = run(kind, parameters, rows, Path(folder))
    Path(sys.argv[1]).write_text(json.dumps(results, indent=1, sort_keys=True))
    return False


if __name__ == "__main__":
    sys.exit(main())
