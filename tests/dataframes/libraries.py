"""Libraries of dataframes, and the check that a block is learned and predicted like its rows."""

import copy
import math
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forests import fresh, state_without_pending

from river_amf import AMFRegressor


class Library(NamedTuple):
    """A library makes frames and series, and lists the rows of a frame."""

    frame: Any  # of lists by name
    series: Any  # of a list
    rows: Any  # of a frame as dicts, made by its own means, are what a model learns one by one
    names: Any  # of the columns of some labels


def as_texts(labels):
    return [str(label) for label in labels]


Pandas = Library(pd.DataFrame, pd.Series, lambda X: X.to_dict("records"), list)
Polars = Library(pl.DataFrame, pl.Series, lambda X: X.to_dicts(), as_texts)
Arrow = Library(
    pa.table, lambda values: pa.chunked_array([values]), lambda X: X.to_pylist(), as_texts
)
LIBRARIES = {"pandas": Pandas, "polars": Polars, "pyarrow": Arrow}
libraries = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


def answer(model, x):
    """Return probabilities of labels, or a number with the ends of its interval, by name."""
    if isinstance(model, AMFRegressor):
        ends = model.predict_interval_one(x, 0.8)
        return {"prediction": model.predict_one(x), "lower": ends.lower, "upper": ends.upper}
    return model.predict_proba_one(x)


def learn(model, rows, targets, weights=None):
    """Learn one by one; return the answers before each."""
    answers = []
    for i, (x, y) in enumerate(zip(rows, targets, strict=True)):
        answers.append(answer(model, x))
        model.learn_one(x, y, w=1.0 if weights is None else weights[i])
    return answers


def predict_then_learn(model, X, targets, weights=None):
    if isinstance(model, AMFRegressor):
        return model.predict_then_learn_many(X, targets, weights)
    return model.predict_proba_then_learn_many(X, targets, weights)


def labels_of(model):
    return list(copy.deepcopy(model).predict_proba_one({}))  # as this is a prediction like others


def values_of(library, answers):
    assert type(answers) is type(library.series([]))
    return nw.from_native(answers, series_only=True).to_list()


def matrix_of(library, answers):
    """Return the names of columns, and the numbers, in a frame of the library."""
    assert type(answers) is type(library.frame({}))
    frame = nw.from_native(answers)
    assert set(frame.schema.dtypes()) <= {nw.Float64}
    assert not any(column.to_list().count(None) for column in frame.iter_columns())
    columns = [column.to_numpy() for column in frame.iter_columns()]
    return list(frame.columns), np.array(columns).T.reshape(len(frame), len(columns))


def assert_answers(library, predicted, model, answers):
    """Check that predictions for a block hold these answers bit for bit, a column for a label."""
    if isinstance(model, AMFRegressor):
        assert values_of(library, predicted) == [each["prediction"] for each in answers]
        return
    labels = labels_of(model)
    names, values = matrix_of(library, predicted)
    assert names == library.names(labels)
    if labels:  # 0 for a label not yet seen, NaN where there was none
        expected = [[p.get(label, 0.0 if p else math.nan) for label in labels] for p in answers]
        np.testing.assert_array_equal(values, np.reshape(expected, (len(answers), len(labels))))


def assert_predicts(model, X, library):
    rows = library.rows(X)
    answers = [answer(model, x) for x in rows]
    assert values_of(library, model.predict_many(X)) == [model.predict_one(x) for x in rows]
    if isinstance(model, AMFRegressor):
        names, ends = matrix_of(library, model.predict_interval_many(X, 0.8))
        assert names == ["lower", "upper"]
        assert ends.tolist() == [[each["lower"], each["upper"]] for each in answers]
    else:
        assert_answers(library, model.predict_proba_many(X), model, answers)


def assert_twins(model, twin):
    assert state_without_pending(model) == state_without_pending(twin)


def assert_learns(library, blocks, **parameters):
    """Check that blocks (X, y, w) teach and are predicted as their rows; return a forest."""
    # A row that was never predicted is not one whose label comes at once.
    model, alone, reader, labeler, twin = (fresh(**parameters) for _ in range(5))
    for X, y, w in blocks:
        assert model.learn_many(X, y, w) is None
        for i, (x, target) in enumerate(zip(library.rows(X), y, strict=True)):
            alone.learn_one(x, target, 1.0 if w is None else w[i])
        predicted = predict_then_learn(reader, X, y, w)
        answers = learn(twin, library.rows(X), y, w)
        assert_answers(library, predicted, twin, answers)
        assert_twins(model, alone)
        assert_twins(reader, twin)
        if not isinstance(model, AMFRegressor):
            labels = [max(proba, key=proba.get, default=None) for proba in answers]
            assert values_of(library, labeler.predict_then_learn_many(X, y, w)) == labels
            assert_twins(labeler, twin)
    for X, _, _ in blocks:
        assert_predicts(model, X, library)
    return model
