"""Reading and writing of dataframes of any library that narwhals supports.

Pandas takes as long to import as the rest of this package; it waits until the first block of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.invalid import INVALID, OF_VALUES
from river_amf.inputs.kinds import (
    LARGEST_WEIGHT,
    PLAIN_NUMBERS,
    Number,
    as_category,
    check_weight,
    is_missing,
    is_plain_type,
    plain,
    shown,
)

if TYPE_CHECKING:
    import pandas as pd

# Types whose values are equal only if they are the same in every respect.
_ALIKE = frozenset({str, bytes, type(None)})
_NUMBERS = PLAIN_NUMBERS | {type(None)}
_KINDS = {"f": float, "i": int, "u": int, "b": bool}  # by the kind of a dtype of numpy


class Column(NamedTuple):
    """A column of a dataframe, as numbers or as coded values."""

    name: Hashable
    numbers: NDArray[np.float64] | None  # NaN where missing; None if the values are coded
    codes: NDArray[np.int64] = np.empty(0, np.int64)  # indices into `values`, -1 where missing
    values: list[Any] = []  # distinct  # noqa: RUF012
    rows: list[Any] | None = None  # the value of each row, where equal ones may differ: 1 and True
    kind: type = float  # of the numbers, if there are no rows: float, int or bool

    def at(self, row: int) -> Any:
        """Return the value in a row."""
        if self.rows is not None:
            return self.rows[row]
        if self.numbers is not None:
            return self.kind(self.numbers[row])
        return self.values[self.codes[row]]


def read_frame(X: Any) -> nw.DataFrame[Any]:
    """Return a dataframe wrapped by narwhals, or raise TypeError or ValueError."""
    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"the columns of X must have distinct names: {error}") from None
    except TypeError:
        are_dicts = isinstance(X, list | tuple) and any(isinstance(x, dict) for x in X)
        raise TypeError(
            "X must be a dataframe in memory (from pandas, polars, pyarrow or another library that "
            f"narwhals supports), got {shown(X)} of type {type(X).__name__}"
            f"{'; use pd.DataFrame(rows)' * are_dicts}"
        ) from None


def as_pandas(frame: nw.DataFrame[Any]) -> pd.DataFrame:
    """Return a frame as one of pandas; missing values stay None where they are not NaN."""
    import pandas as pd

    native = frame.to_native()
    if isinstance(native, pd.DataFrame):
        return native
    columns = {
        s.name: s.to_numpy() if s.dtype.is_numeric() else pd.Series(s.to_list(), dtype=object)
        for s in frame.iter_columns()
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def read_columns(frame: nw.DataFrame[Any]) -> list[Column]:
    """Return the columns of a dataframe."""
    dtypes: list[Any] = [*frame.to_native().dtypes] if _is_pandas(frame) else [None]
    with np.errstate(over="ignore"):  # numbers too large for float64 become infinite: an error
        if all(_is_plain(dtype) for dtype in dtypes):
            # all at once: for small blocks, this takes a tenth of the time of column by column
            table = frame.to_native().to_numpy(dtype=np.float64)
            return [
                Column(plain(name), table[:, j], kind=_KINDS[dtype.kind])
                for j, (name, dtype) in enumerate(zip(frame.columns, dtypes, strict=True))
            ]
        pairs = zip(frame.columns, frame.iter_columns(), strict=True)
        return [_read_column(plain(name), series) for name, series in pairs]


def _read_column(name: Hashable, series: Any) -> Column:
    dtype = series.dtype
    if dtype == nw.Boolean or (dtype.is_numeric() and not dtype.is_decimal()):
        kind = bool if dtype == nw.Boolean else int if dtype.is_integer() else float
        return Column(name, _numbers(series), kind=kind)
    values = series.to_native() if _is_pandas(series) else series.to_list()
    column = factorize(name, values, are_features=True)
    return _as_categories(column) if _is_categorical(dtype) else column


def _is_categorical(dtype: Any) -> bool:
    """Whether a dtype, as narwhals knows it, declares that its values are categories."""
    return bool(dtype in (nw.Categorical, nw.Enum))


def _as_categories(column: Column) -> Column:
    """Return a column in which numbers, too, are categories."""
    if column.numbers is not None:
        values: list[Any] = column.rows or column.numbers.tolist()
        return factorize(column.name, [*map(as_category, values)], are_features=True)
    table, values, _ = _coded([*map(as_category, column.values)], are_features=True)
    rows = None if column.rows is None else [*map(as_category, column.rows)]
    return Column(column.name, None, _taken(table, column.codes), values, rows)


def as_samples(frame: nw.DataFrame[Any]) -> Iterator[dict[Any, Any]]:
    """Yield the rows of a dataframe as samples, each the same as in a block.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [2], "floor": pd.Categorical([3])})
    >>> list(as_samples(read_frame(frame)))
    [{'size': 2, 'floor': '3'}]
    """
    dtypes = zip(frame.columns, (series.dtype for series in frame.iter_columns()), strict=True)
    categorical = [name for name, dtype in dtypes if _is_categorical(dtype)]
    for x in frame.iter_rows(named=True):
        for name in categorical:
            x[name] = as_category(x[name])
        yield x


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


def factorize(name: Hashable, values: Any, *, are_features: bool = False) -> Column:
    """Code values of any type by the distinct ones, in order of appearance."""
    import pandas as pd

    # Values that are one key of a dict are one value, as for a single sample. Of features, numbers
    # are kept apart by type, as one of two equal ones may be complex. Unhashable values are kept,
    # to be rejected later.
    is_typed = isinstance(values, pd.Series) and values.dtype != object
    if is_typed or (isinstance(values, np.ndarray) and values.dtype.kind in "iub"):
        with suppress(NotImplementedError, TypeError, ValueError):  # as of arrow's lists
            codes, distinct = pd.factorize(values)
            table, known, _ = _coded([*map(plain, distinct.tolist())], are_features)
            return Column(name, None, _taken(table, codes), known)
    listed = values if isinstance(values, list) else values.tolist()
    types = set(map(type, listed))
    if not all(map(is_plain_type, types)):
        listed = [*map(plain, listed)]
        types = set(map(type, listed))
    if are_features and types <= _NUMBERS:
        with suppress(OverflowError):  # the value is reported later
            return Column(name, np.array(listed, np.float64), rows=listed)
    codes, known, rows = _coded(listed, are_features)
    return Column(name, None, codes, known, rows)


def _taken(table: NDArray[np.int64], codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the entry of a table for each code, -1 for -1."""
    taken: NDArray[np.int64] = np.append(table, -1)[codes]
    return taken


def _coded(
    values: list[Any], are_features: bool
) -> tuple[NDArray[np.int64], list[Any], list[Any] | None]:
    """Return the codes, distinct values and rows of a column."""
    import pandas as pd

    if _ALIKE.issuperset(map(type, values)):  # pandas' notion of equality is that of a dict
        places, texts = pd.factorize(_objects(values))
        return places.astype(np.int64), texts.tolist(), None
    try:
        codes, known = _looked_up(values, are_features)
    except OF_VALUES:  # a value is unhashable, or raises when it is compared
        numbers, known = _numbered(values, are_features)
        codes = np.array(numbers, np.int64)
    return codes, known, values


def _looked_up(values: list[Any], are_features: bool) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the codes and distinct values of hashable values, each of which is numbered once."""
    # across types, equal features may be different things
    keys = [*zip(map(type, values), values, strict=True)] if are_features else values
    distinct = dict.fromkeys(keys)
    numbered = [value for _, value in distinct] if are_features else list(distinct)
    numbers, known = _numbered(numbered, are_features)
    table = dict(zip(distinct, numbers, strict=True))
    return np.fromiter(map(table.__getitem__, keys), np.int64, len(keys)), known


def _numbered(values: list[Any], are_features: bool) -> tuple[list[int], list[Any]]:
    """Return numbers in order of appearance, -1 where missing; an unhashable value has its own."""
    codes: list[int] = []
    distinct: list[Any] = []
    known: dict[Any, int] = {}
    for value in values:
        try:
            kind = type(value) if isinstance(value, Number) else None
            key = (kind, value) if are_features else value
            code = -1 if is_missing(value) else known.setdefault(key, len(distinct))
        except OF_VALUES:
            code = len(distinct)
        if code == len(distinct):
            distinct.append(value)
        codes.append(code)
    return codes, distinct


def read_labels(y: Any, n_rows: int) -> Column:
    """Return labels as a column, or raise TypeError or ValueError."""
    return factorize("y", read_vector("y", y, n_rows))


def read_targets(y: Any, n_rows: int) -> Column:
    """Return targets as a column, of numbers if all are, or raise TypeError or ValueError."""
    values = read_vector("y", y, n_rows)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # of a longdouble, which is refused later
            numbers = values.astype(np.float64)
        return Column("y", numbers)
    listed = values if isinstance(values, list) else values.tolist()
    return Column("y", None, np.arange(n_rows), listed, listed)


def read_weights(w: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the checked sample weights, which default to 1 for each row."""
    import pandas as pd

    if w is None:
        return np.ones(n_rows)
    values = read_vector("w", w, n_rows)
    weights = np.empty(n_rows)
    values = values.to_list() if isinstance(values, pd.Series) else values
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        with np.errstate(over="ignore"):
            weights[:] = values
        is_bad = ~((weights >= 0.0) & (weights <= LARGEST_WEIGHT))
        values = values.tolist() if is_bad.any() else []
    for row, value in enumerate(values):
        try:
            weights[row] = check_weight(value)
        except INVALID as error:
            raise type(error)(f"row {row}: {error}") from None
    return weights


def read_vector(name: str, values: Any, n_rows: int) -> Any:
    """Return any series, array or list as a pandas series, a numpy array or a list."""
    import pandas as pd

    result = values
    if isinstance(values, pd.MultiIndex):
        raise TypeError(
            f"{name} must be a series, an array or a list, got a MultiIndex; "
            f"pass list({name}) to make its tuples the values"
        )
    if isinstance(values, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        result = pd.Series(values)
        result = result.to_numpy() if _is_plain(result.dtype) else result
    elif isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(
                f"{name} must have one dimension, got an array of shape {values.shape}"
            )
        if isinstance(values, np.ma.MaskedArray):
            result = unmasked(values)
        if values.dtype.kind in "mM":
            result = _times(name, result)
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        result = list(values)
    elif nw.dependencies.is_into_dataframe(values):
        raise TypeError(
            f"{name} must be a series, an array or a list, got a dataframe; pass a column of it, "
            f"such as {name}['target']"
        )
    else:
        result = _series_to_list(name, values)
    if len(result) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but {name} has {len(result)} values")
    return result


def check_order(X: Any, **vectors: Any) -> None:
    """Raise ValueError if a series of pandas has the index of X in another order."""
    import pandas as pd

    for name, values in vectors.items():
        are_pandas = isinstance(X, pd.DataFrame) and isinstance(values, pd.Series)
        if are_pandas and _are_reordered(values.index, X.index):
            raise ValueError(
                f"{name} has the index of X in another order, but rows are matched by position; "
                f"pass {name}.loc[X.index], or {name}.to_numpy() if the positions are right"
            )


def _are_reordered(index: pd.Index[Any], other: pd.Index[Any]) -> bool:
    """Return whether two indexes have the same entries in different orders."""
    if index.equals(other):
        return False
    entries, others = index.tolist(), other.tolist()
    return entries != others and Counter(entries) == Counter(others)


def _times(name: str, values: NDArray[Any]) -> pd.Series[Any]:
    """Return an array of dates or durations as a series, or raise TypeError."""
    import pandas as pd

    try:
        return pd.Series(values)
    except (TypeError, ValueError) as error:  # without a unit
        raise TypeError(f"{name} of dtype {values.dtype} cannot be read: {error}") from None


def unmasked(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return a masked array as a plain one, with NaN, NaT or None where something is masked."""
    mask, plain = np.ma.getmaskarray(values), np.asarray(values)
    if mask.dtype.names is not None:
        fields = np.ascontiguousarray(mask).view(np.bool_).reshape(*mask.shape, -1)
        mask = np.asarray(fields.any(axis=-1))
    if not mask.any():
        return plain
    plain = plain.copy() if plain.dtype.kind in "fcmM" else plain.astype(object)
    plain[mask] = None if plain.dtype == object else "NaT" if plain.dtype.kind in "mM" else np.nan
    return plain


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
    import pandas as pd

    if _is_pandas(frame):
        return pd.DataFrame(proba, index=frame.to_native().index, columns=_index(labels))
    names = column_names(frame, labels)
    columns = {name: proba[:, c] for c, name in enumerate(names)}
    return nw.from_dict(columns, backend=frame.implementation).to_native()


def _index(labels: list[Hashable]) -> pd.Index[Any]:
    """Return labels as an index, of their own type if it can hold each of them as it is."""
    import pandas as pd

    index: pd.Index[Any] = pd.Index(_objects(labels), dtype=object)
    with suppress(NotImplementedError, UnicodeError):  # as of float16, or text that is not valid
        inferred = index.infer_objects()
        index = inferred if inferred.tolist() == labels else index
    return index


def column_names(frame: nw.DataFrame[Any], labels: list[Hashable]) -> list[Any]:
    """Return a column name per label for a dataframe like `frame`, or raise ValueError."""
    if _is_pandas(frame):
        return labels
    names = [_as_text(frame, label) for label in labels]
    if len(set(names)) < len(names):
        raise ValueError(
            f"labels {shown(labels)} do not give distinct column names in {frame.implementation}, "
            "where names are text; pass X as a pandas dataframe"
        )
    return names


def _as_text(frame: nw.DataFrame[Any], label: Hashable) -> str:
    """Return a label as the name of a column, or raise ValueError."""
    try:
        text = str(label)
        text.encode()
    except OF_VALUES:
        raise ValueError(
            f"label {shown(label)} cannot name a column in {frame.implementation}, where names are "
            "valid Unicode text; pass X as a pandas dataframe"
        ) from None
    return text


def check_column_names(frame: nw.DataFrame[Any], known: Iterable[Hashable], y: Any) -> None:
    """Raise ValueError if `column_names` would do so once the labels in `y` are known."""
    if _is_pandas(frame):  # which takes any label as a name
        return
    try:
        labels = dict.fromkeys([*known, *read_labels(y, len(frame)).values])
    except TypeError:  # a bad label is rejected later, where labels are checked
        return
    column_names(frame, list(labels))


def label_series(
    frame: nw.DataFrame[Any], labels: list[Hashable], codes: NDArray[np.int64] | None
) -> Any:
    """Return labels, given their codes (or None), as a series of the same library as `frame`."""
    import pandas as pd

    taken = _objects([None] * len(frame) if codes is None else labels)
    taken = taken if codes is None else taken[codes]
    if _is_pandas(frame):
        series = pd.Series(taken, index=frame.to_native().index, dtype=object)
        return series if codes is None else _inferred(series)
    listed = taken.tolist()

    with suppress(Exception):  # each library has its own
        narwhal = nw.new_series("", listed, backend=frame.implementation)
        if narwhal.to_list() == listed:  # not rounded, or lists instead of tuples
            return narwhal.to_native()
    raise TypeError(
        f"labels {shown(labels)} of several types, or of one that it cannot hold as they are, do "
        f"not fit into one {frame.implementation} series; pass X as a pandas dataframe"
    )


def number_series(frame: nw.DataFrame[Any], numbers: NDArray[np.float64]) -> Any:
    """Return numbers as a series of the same library as `frame`."""
    import pandas as pd

    if _is_pandas(frame):
        return pd.Series(numbers, index=frame.to_native().index)
    return nw.new_series("", numbers, backend=frame.implementation).to_native()


def _inferred(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return a series of objects in their own type, if it can hold each of them as it is."""
    with suppress(UnicodeError):
        inferred = series.infer_objects()
        return inferred if inferred.tolist() == series.tolist() else series
    return series


def _objects(values: list[Any]) -> NDArray[Any]:
    """Return a one-dimensional array of objects, even if they are tuples or lists."""
    return np.fromiter(values, object, len(values))
