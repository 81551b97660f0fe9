"""Libraries of dataframes, a stream in frames of each, and forests that learn it row by row."""

import math
import random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forests import pickled

from river_amf import AMFClassifier


class Library(NamedTuple):
    """A library makes frames and series, and says what is in them."""

    frame: Any  # of lists by name
    series: Any  # of a list
    part: Any  # the rows of a frame from one to another
    rows: Any  # of a frame as dicts, made by its own means, are what a model learns one by one
    labels: Any  # in a series that was predicted
    proba: Any  # the names and the matrix of a frame of probabilities
    names: Any  # of the columns of some labels


def as_texts(labels):
    """Return labels as text."""
    return [str(label) for label in labels]


def proba_of_pandas(frame):
    """Return the names and the matrix of a frame of pandas."""
    assert type(frame) is pd.DataFrame
    assert all(dtype == np.float64 for dtype in frame.dtypes)
    return list(frame.columns), frame.to_numpy()


def proba_of_polars(frame):
    """Return the names and the matrix of a frame of polars."""
    assert type(frame) is pl.DataFrame
    assert all(dtype == pl.Float64 for dtype in frame.dtypes)
    assert not any(series.null_count() for series in frame)
    # polars 1 makes no array of a frame without columns
    return frame.columns, frame.to_numpy() if frame.columns else np.zeros(frame.shape)


def proba_of_arrow(frame):
    """Return the names and the matrix of a frame of pyarrow."""
    assert type(frame) is pa.Table
    assert all(column.type == pa.float64() for column in frame.columns)
    assert not any(column.null_count for column in frame.columns)
    values = [column.to_pylist() for column in frame.columns]
    return frame.column_names, np.array(values).T if values else np.empty((0, 0))


def listed(kind, method):
    """Return a function that lists a series, which has to be of a kind."""

    def labels(series):
        assert type(series) is kind
        return getattr(series, method)()

    return labels


Pandas = Library(
    pd.DataFrame,
    pd.Series,
    lambda X, start, stop: X.iloc[start:stop],
    lambda X: X.to_dict("records"),
    listed(pd.Series, "tolist"),
    proba_of_pandas,
    list,
)
Polars = Library(
    pl.DataFrame,
    pl.Series,
    lambda X, start, stop: X[start:stop],
    lambda X: X.to_dicts(),
    listed(pl.Series, "to_list"),
    proba_of_polars,
    as_texts,
)
Arrow = Library(
    pa.table,
    lambda values: pa.chunked_array([values]),
    lambda X, start, stop: X.slice(start, stop - start),
    lambda X: X.to_pylist(),
    listed(pa.ChunkedArray, "to_pylist"),
    proba_of_arrow,
    as_texts,
)
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


def assert_learns(library, X, labels, weights=None, **parameters):
    """Check that blocks of these rows teach what the rows do one by one; return a forest."""
    model, reader, twin = (fresh(**parameters) for _ in range(3))
    assert model.learn_many(X, labels, weights) is None
    frame = reader.predict_proba_then_learn_many(X, labels, weights)
    proba = learn(twin, library.rows(X), labels, weights)
    assert_proba(library, frame, twin, proba)
    assert_twins(model, twin)
    assert_twins(reader, twin)
    assert_predicts(model, X, library)
    return model


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
