"""Reading and writing of dataframes of any library that narwhals supports."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.encoding import LARGEST_WEIGHT, check_weight, is_missing, shown


class Column(NamedTuple):
    """A column of a dataframe, as numbers or as coded values."""

    name: Hashable
    numbers: NDArray[np.float64] | None  # NaN where missing; None if the values are coded
    codes: NDArray[np.int64]  # indices into `values`, -1 where missing
    values: list[Any]  # distinct


def read_frame(X: Any) -> nw.DataFrame[Any]:
    """Return a dataframe wrapped by narwhals, or raise TypeError or ValueError."""
    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"the columns of X must have distinct names: {error}") from None
    except TypeError:
        raise TypeError(
            "X must be a dataframe in memory (from pandas, polars, pyarrow or another library that "
            f"narwhals supports), got {shown(X)} of type {type(X).__name__}"
        ) from None


def read_columns(frame: nw.DataFrame[Any]) -> list[Column]:
    """Return the columns of a dataframe."""
    if _is_pandas(frame) and all(_is_plain(dtype) for dtype in frame.to_native().dtypes):
        # all at once: for small blocks, this takes a tenth of the time of column by column
        table = frame.to_native().to_numpy(dtype=np.float64)
        return [
            Column(name, table[:, j], np.empty(0, np.int64), [])
            for j, name in enumerate(frame.columns)
        ]
    pairs = zip(frame.columns, frame.iter_columns(), strict=True)
    return [_read_column(name, series) for name, series in pairs]


def _read_column(name: Hashable, series: Any) -> Column:
    dtype = series.dtype
    if dtype == nw.Boolean or (dtype.is_numeric() and not dtype.is_decimal()):
        return Column(name, _numbers(series), np.empty(0, np.int64), [])
    return factorize(name, series.to_native() if _is_pandas(series) else series.to_list())


def _is_plain(dtype: Any) -> bool:
    """Whether a dtype is a numpy dtype of real numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"


def _is_pandas(data: nw.DataFrame[Any] | nw.Series[Any]) -> bool:
    return bool(data.implementation.is_pandas())


def _numbers(series: nw.Series[Any]) -> NDArray[np.float64]:
    native = series.to_native()
    if _is_pandas(series):
        return np.asarray(native.to_numpy(dtype="float64", na_value=np.nan))
    if series.implementation.is_pyarrow():
        return np.asarray(native.cast("float64", safe=False).to_numpy())
    return np.asarray(series.cast(nw.Float64).to_numpy())


def factorize(name: Hashable, values: Any) -> Column:
    """Code values of any type by the distinct ones, in order of appearance."""
    # Values that compare equal are one, as in a dict. Unhashable values are kept, to be rejected
    # later with a proper message.
    if isinstance(values, list):
        values = np.fromiter(values, object, len(values))
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:
        return _factorize_unhashable(name, values)
    return Column(name, None, codes.astype(np.int64), distinct.tolist())


def _factorize_unhashable(name: Hashable, values: Any) -> Column:
    """Code values some of which are unhashable; each of these gets its own code."""
    codes: list[int] = []
    distinct: list[Any] = []
    known: dict[Any, int] = {}
    for value in values:
        try:
            code = -1 if is_missing(value) else known.setdefault(value, len(distinct))
        except TypeError:
            code = len(distinct)
        if code == len(distinct):
            distinct.append(value)
        codes.append(code)
    return Column(name, None, np.array(codes, dtype=np.int64), distinct)


def read_labels(y: Any, n_rows: int) -> Column:
    """Return labels as a column, or raise TypeError or ValueError."""
    values = read_vector("y", y, n_rows)
    return factorize("y", values)


def read_weights(w: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the checked sample weights, which default to 1 for each row."""
    if w is None:
        return np.ones(n_rows)
    values = read_vector("w", w, n_rows)
    weights = np.empty(n_rows)
    values = values.to_list() if isinstance(values, pd.Series) else values
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        weights[:] = values
        is_bad = ~((weights >= 0.0) & (weights <= LARGEST_WEIGHT))
        values = values.tolist() if is_bad.any() else []
    for row, value in enumerate(values):
        try:
            weights[row] = check_weight(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"row {row}: {error}") from None
    return weights


def read_vector(name: str, values: Any, n_rows: int) -> Any:
    """Return any series, array or list as a pandas series, a numpy array or a list."""
    result = values
    if isinstance(values, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        result = pd.Series(values)
        result = result.to_numpy() if _is_plain(result.dtype) else result
    elif isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(
                f"{name} must have one dimension, got an array of shape {values.shape}"
            )
        result = pd.Series(values) if values.dtype.kind in "mM" else values
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        result = list(values)
    else:
        result = _series_to_list(name, values)
    if len(result) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but {name} has {len(result)} values")
    return result


def _series_to_list(name: str, values: Any) -> list[Any]:
    try:
        return list(nw.from_native(values, series_only=True).to_list())
    except TypeError:
        pass
    if hasattr(values, "to_pylist"):  # pyarrow's Array, which narwhals does not support
        return list(values.to_pylist())
    raise TypeError(
        f"{name} must be a series, an array or a list, got {shown(values)} of type "
        f"{type(values).__name__}"
    )


def proba_frame(
    frame: nw.DataFrame[Any], labels: list[Hashable], proba: NDArray[np.float64]
) -> Any:
    """Return probabilities as a dataframe of the same library as `frame`, by label."""
    if _is_pandas(frame):
        columns = pd.Index(_objects(labels)).infer_objects()
        return pd.DataFrame(proba, index=frame.to_native().index, columns=columns)
    names = column_names(frame, labels)
    columns = {name: proba[:, c] for c, name in enumerate(names)}
    return nw.from_dict(columns, backend=frame.implementation).to_native()


def column_names(frame: nw.DataFrame[Any], labels: list[Hashable]) -> list[Any]:
    """Return a column name per label for a dataframe like `frame`, or raise ValueError."""
    if _is_pandas(frame):
        return labels
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        raise ValueError(
            f"labels {shown(labels)} do not give distinct column names in {frame.implementation}, "
            "where names are text; pass X as a pandas dataframe"
        )
    return names


def check_column_names(frame: nw.DataFrame[Any], known: Iterable[Hashable], y: Any) -> None:
    """Raise ValueError if `column_names` would do so once the labels in `y` are known."""
    if _is_pandas(frame):  # which takes any label as a name
        return
    try:
        labels = read_labels(y, len(frame)).values
        column_names(frame, list(dict.fromkeys([*known, *labels])))
    except TypeError:  # a bad label is rejected later, where labels are checked
        return


def label_series(
    frame: nw.DataFrame[Any], labels: list[Hashable], codes: NDArray[np.int64] | None
) -> Any:
    """Return labels, given their codes (or None), as a series of the same library as `frame`."""
    taken = _objects([None] * len(frame) if codes is None else labels)
    taken = taken if codes is None else taken[codes]
    if _is_pandas(frame):
        series = pd.Series(taken, index=frame.to_native().index, dtype=object)
        return series if codes is None else series.infer_objects()
    try:
        return nw.new_series("", taken.tolist(), backend=frame.implementation).to_native()
    except (TypeError, ValueError):
        raise TypeError(
            f"labels {shown(labels)} of several types do not fit into one {frame.implementation} "
            "series; pass X as a pandas dataframe"
        ) from None


def _objects(values: list[Any]) -> NDArray[Any]:
    """Return a one-dimensional array of objects, even if they are tuples or lists."""
    return np.fromiter(values, object, len(values))
