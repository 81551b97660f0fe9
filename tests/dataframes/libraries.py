"""Libraries of dataframes, a stream in frames of each, and forests that learn it row by row."""

import math
import random

import numpy as np
import pandas as pd
import pytest
from forests import pickled

from river_amf import AMFClassifier

# A library makes frames and series, and says what is in them. The rows, made by its own means, are
# what a model learns one by one.


class Pandas:
    """Frames and series of pandas, where a frame has an index and any names."""

    frame = pd.DataFrame
    series = pd.Series

    @staticmethod
    def part(X, start, stop):
        """Cut rows out of a frame."""
        return X.iloc[start:stop]

    @staticmethod
    def rows(X):
        """List the rows as dicts."""
        return X.to_dict("records")

    @staticmethod
    def labels(series):
        """List the labels in a series that was predicted."""
        assert type(series) is pd.Series
        return series.tolist()

    @staticmethod
    def proba(frame):
        """Return the names and the matrix of a frame of probabilities."""
        assert type(frame) is pd.DataFrame
        assert all(dtype == np.float64 for dtype in frame.dtypes)
        return list(frame.columns), frame.to_numpy()

    @staticmethod
    def names(labels):
        """Return what the columns of these labels are called."""
        return labels


class Polars:
    """Frames and series of polars, where names are texts."""

    @staticmethod
    def frame(columns):
        """Make a frame of lists by name."""
        return pytest.importorskip("polars").DataFrame(columns)

    @staticmethod
    def series(values):
        """Make a series of a list."""
        return pytest.importorskip("polars").Series(values)

    @staticmethod
    def part(X, start, stop):
        """Cut rows out of a frame."""
        return X[start:stop]

    @staticmethod
    def rows(X):
        """List the rows as dicts."""
        return X.to_dicts()

    @staticmethod
    def labels(series):
        """List the labels in a series that was predicted."""
        assert type(series) is pytest.importorskip("polars").Series
        return series.to_list()

    @staticmethod
    def proba(frame):
        """Return the names and the matrix of a frame of probabilities."""
        pl = pytest.importorskip("polars")
        assert type(frame) is pl.DataFrame
        assert all(dtype == pl.Float64 for dtype in frame.dtypes)
        assert not any(series.null_count() for series in frame)
        # polars 1 makes no array of a frame without columns
        return frame.columns, frame.to_numpy() if frame.columns else np.zeros(frame.shape)

    @staticmethod
    def names(labels):
        """Return what the columns of these labels are called."""
        return [str(label) for label in labels]


class Arrow:
    """Frames and series of pyarrow, where a series is a chunked array."""

    @staticmethod
    def frame(columns):
        """Make a frame of lists by name."""
        return pytest.importorskip("pyarrow").table(columns)

    @staticmethod
    def series(values):
        """Make a series of a list."""
        return pytest.importorskip("pyarrow").chunked_array([values])

    @staticmethod
    def part(X, start, stop):
        """Cut rows out of a frame."""
        return X.slice(start, stop - start)

    @staticmethod
    def rows(X):
        """List the rows as dicts."""
        return X.to_pylist()

    @staticmethod
    def labels(series):
        """List the labels in a series that was predicted."""
        assert type(series) is pytest.importorskip("pyarrow").ChunkedArray
        return series.to_pylist()

    @staticmethod
    def proba(frame):
        """Return the names and the matrix of a frame of probabilities."""
        pa = pytest.importorskip("pyarrow")
        assert type(frame) is pa.Table
        assert all(column.type == pa.float64() for column in frame.columns)
        assert not any(column.null_count for column in frame.columns)
        values = [column.to_pylist() for column in frame.columns]
        return frame.column_names, np.array(values).T if values else np.empty((0, 0))

    @staticmethod
    def names(labels):
        """Return what the columns of these labels are called."""
        return [str(label) for label in labels]


LIBRARIES = {"pandas": Pandas, "polars": Polars, "pyarrow": Arrow}


libraries = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


def fresh(kind=AMFClassifier, **parameters):
    """Make a small forest of a fixed seed."""
    return kind(**({"n_estimators": 3, "seed": 42} | parameters))


def learn(model, rows, labels, weights=None):
    """Learn one by one; test-then-train predictions, one a row."""
    proba = []
    for i, (x, label) in enumerate(zip(rows, labels, strict=True)):
        proba.append(model.predict_proba_one(x))
        model.learn_one(x, label, w=1.0 if weights is None else weights[i])
    return proba


def labels_of(model):
    """List the labels that a model knows, in its order."""
    return list(model.predict_proba_one({}))


def as_matrix(proba, labels):
    """Make a matrix of dicts: 0 for a label not yet seen, NaN where there was none."""
    rows = [[p.get(label, 0.0 if p else math.nan) for label in labels] for p in proba]
    return np.array(rows).reshape(len(proba), len(labels))


def assert_proba(library, frame, model, proba):
    """Check that the frame holds these predictions bit for bit, in a column for each label."""
    labels = labels_of(model)
    names, values = library.proba(frame)
    assert names == library.names(labels)
    if labels:
        np.testing.assert_array_equal(values, as_matrix(proba, labels))


def assert_predicts(model, X, library):
    """Check that the model predicts a block like its rows."""
    rows = library.rows(X)
    assert_proba(library, model.predict_proba_many(X), model, [*map(model.predict_proba_one, rows)])
    assert library.labels(model.predict_many(X)) == [*map(model.predict_one, rows)]


def assert_twins(model, twin):
    """Check that two models are the same to the last bit."""
    assert pickled(model) == pickled(twin)


def objects(*values):
    """Make a series of pandas that holds the values as they are."""
    return pd.Series(values, dtype=object)


def make_stream(n_samples):
    """Columns, labels and weights; gaps, and new features, categories and labels on the way."""
    rng = random.Random(7)
    columns = {name: [] for name in ("length", "color", "grade", "alive", "late", "all gone")}
    labels, weights = [], []
    for i in range(n_samples):
        length = rng.gauss(0, 1)
        shade = f"shade {rng.randrange(i)}" if i > n_samples // 5 and rng.random() < 0.2 else None
        label = "above" if (length > 0) ^ (rng.random() < 0.15) else "below"
        columns["length"].append(None if rng.random() < 0.2 else length)
        columns["color"].append(shade or rng.choice(["red", "tan", None]))
        columns["grade"].append(rng.randrange(4))
        columns["alive"].append(rng.choice([True, False]))
        columns["late"].append(1e9 * rng.random() if i > n_samples // 2 else None)
        columns["all gone"].append(None)
        labels.append(f"extra {2 * i // n_samples}" if i > 300 and rng.random() < 0.1 else label)
        weights.append(rng.choice([1.0, 1.0, 2.0, 0.3, 0.0]))
    return columns, labels, weights


COLUMNS, LABELS, WEIGHTS = make_stream(1000)


def stream_of(library):
    """Return the stream as a frame of a library, its labels and its weights."""
    return library.frame(COLUMNS), LABELS, WEIGHTS


def blocks_of(library, sizes):
    """Cut the stream into blocks of these sizes, again and again."""
    X, labels, weights = stream_of(library)
    start = turn = 0
    while start < len(labels):
        stop = min(start + sizes[turn % len(sizes)], len(labels))
        yield library.part(X, start, stop), labels[start:stop], weights[start:stop]
        start, turn = stop, turn + 1


def trained(n_samples=300, **parameters):
    """Make a forest that has learnt the start of the stream one by one."""
    model = fresh(**parameters)
    rows = pd.DataFrame(COLUMNS).head(n_samples).to_dict("records")
    learn(model, rows, LABELS[:n_samples], WEIGHTS[:n_samples])
    return model
