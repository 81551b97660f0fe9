"""What the tests of estimators share: data, scikit-learn's checks, files and processes."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import river_amf
from river_amf.persistence import container

# skipped unless scipy accepts all arrays, as in the last test of all checks
SKIPPED = {"check_array_api_input"}


def checks_of(estimators, slow, names=None):
    """Return scikit-learn's checks, or those with certain names, as test cases; some are slow."""
    settings = "" if names is None else " with settings"
    for estimator, check in parametrize_with_checks(estimators).args[1]:
        name = getattr(check, "func", check).__name__
        if name not in SKIPPED and (names is None or name in names):
            marks = [pytest.mark.slow] * isinstance(estimator, slow)
            kind = type(estimator).__name__
            yield pytest.param(estimator, check, id=f"{kind}{settings}-{name}", marks=marks)


def mixed_columns(n_rows=300):
    """Columns of every kind that a dataframe may have, as lists."""
    rng = np.random.default_rng(5)
    days = [None, "2020-01-01", "2021-01-01"]
    columns = {
        "length": [None if rng.random() < 0.2 else float(v) for v in rng.normal(size=n_rows)],
        "color": [["red", "tan", None][k] for k in rng.integers(3, size=n_rows)],
        "alive": [bool(v) for v in rng.integers(2, size=n_rows)],
        "grade": [int(v) for v in rng.integers(5, size=n_rows)],
        "day": [days[k] for k in rng.integers(3, size=n_rows)],
        "all gone": [None] * n_rows,
    }
    return columns, np.where(np.array(columns["alive"]), "yes", "no")


def polars_frame(columns):
    """Return columns as a dataframe of polars."""
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns):
    """Return columns as a table of pyarrow."""
    return pytest.importorskip("pyarrow").table(columns)


LIBRARIES = {"pandas": pd.DataFrame, "polars": polars_frame, "pyarrow": arrow_table}


def rows_of(X):
    """Return a table as one dict per row."""
    return pd.DataFrame(X).to_dict("records")


def as_seen(estimator):
    """Return all attributes of an estimator in a form that can be compared."""
    return {
        name: pickle.dumps(value) if name == "model_" else repr(value)
        for name, value in vars(estimator).items()
    }


def error_of_edited(estimator, edit, path):
    """Return the error for the file of an estimator after its parts have been edited."""
    header, arrays = estimator._to_file()
    edit(header, arrays)
    kind = {"river_amf": "0.1", "kind": estimator._file_kind}
    with path.open("wb") as file:
        container.write(file, kind | {"model": header}, arrays)
    with pytest.raises(river_amf.persistence.FileError, match="is damaged: ") as caught:
        river_amf.load(path)
    return str(caught.value)


def run(code, **environment):
    """Run code in a process of its own."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=False
    )
