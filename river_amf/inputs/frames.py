"""Read dataframes and series of any library that narwhals supports, and sparse matrices.

Functions import pandas, which takes half a second, so that single samples never need it.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from river_amf.inputs import kinds
from river_amf.inputs.invalid import in_row
from river_amf.inputs.kinds import as_category, check_weight, plain, shown

if TYPE_CHECKING:
    import pandas as pd

_CATEGORICAL = (nw.Categorical, nw.Enum)
# Types whose equal values are the same in every respect.
_ALIKE = frozenset({str, bytes, int, bool, type(None)})
_KINDS = {"f": float, "i": int, "u": int, "b": bool}  # by the kind of a dtype of numpy


class Column(NamedTuple):
    """A column of a dataframe, as numbers or as coded values."""

    name: Hashable
    numbers: NDArray[np.float64] | None  # NaN where missing; None if the values are coded
    codes: NDArray[np.int64] = np.empty(0, np.int64)  # indices into `values`
    values: list[Any] = []  # distinct, but for unusual ones  # noqa: RUF012
    kind: type = float  # of the numbers: float, int or bool

    def at(self, row: int) -> Any:
        """Return the value in a row, None for a missing number."""
        if self.numbers is None:
            return self.values[self.codes[row]]
        number = self.numbers[row]
        return None if number != number else self.kind(number)


def read_frame(X: Any) -> nw.DataFrame[Any]:
    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"the columns of X must have distinct names: {error}") from None
    except TypeError:
        are_dicts = isinstance(X, list | tuple) and any(isinstance(x, dict) for x in X)
        is_array = isinstance(X, list | tuple) or hasattr(X, "__array__")
        other = "; use X.collect()" * hasattr(X, "collect")
        advice = f"; use pd.DataFrame({'rows' if are_dicts else 'X'})" if is_array else other
        raise TypeError(
            "X must be a dataframe in memory (from pandas, polars, pyarrow or another library that "
            f"narwhals supports), got {shown(X)} of type {type(X).__name__}"
            f"{advice}"
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
    dtypes: list[Any] = [*frame.to_native().dtypes] if is_pandas(frame) else [None]
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
    values = series.to_list()
    if dtype in _CATEGORICAL:
        categories = {value: as_category(value) for value in dict.fromkeys(values)}
        values = [categories[value] for value in values]
    return factorize(name, values)


def as_samples(frame: nw.DataFrame[Any]) -> Iterator[dict[Any, Any]]:
    """Yield the rows of a dataframe as samples with the same values as in a block."""
    categorical = [name for name, dtype in frame.schema.items() if dtype in _CATEGORICAL]
    for x in frame.iter_rows(named=True):
        for name in categorical:
            x[name] = as_category(x[name])
        yield x


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"


def is_pandas(data: nw.DataFrame[Any] | nw.Series[Any]) -> bool:
    return bool(data.implementation.is_pandas())


def _numbers(series: nw.Series[Any]) -> NDArray[np.float64]:
    native = series.to_native()
    if is_pandas(series):
        return np.asarray(native.to_numpy(dtype="float64", na_value=np.nan))
    if series.implementation.is_pyarrow():
        return np.asarray(native.cast("float64", safe=False).to_numpy())
    return np.asarray(series.cast(nw.Float64).to_numpy())


def factorize(name: Hashable, values: list[Any]) -> Column:
    """Return values of any type as codes; values of unusual types have a code for each row."""
    import pandas as pd

    types = set(map(type, values))
    if not types <= kinds.EXACT:
        values = [*map(plain, values)]
    if types == {str}:
        codes, texts = pd.factorize(as_objects(values))
        return Column(name, None, codes.astype(np.int64), texts.tolist())
    table: dict[Any, int] = {}
    keys = ((type(v), v if type(v) in _ALIKE else row) for row, v in enumerate(values))
    codes = np.array([table.setdefault(key, len(table)) for key in keys], np.int64)
    distinct = [value if kind in _ALIKE else values[value] for kind, value in table]
    return Column(name, None, codes, distinct)


def as_objects(values: list[Any]) -> NDArray[Any]:
    return np.fromiter(values, object, len(values))


def read_labels(y: Any, n_rows: int) -> Column:
    values = read_vector("y", y, n_rows)
    return factorize("y", values if isinstance(values, list) else values.tolist())


def read_targets(y: Any, n_rows: int) -> Column:
    """Return targets as a column, of numbers if all are, or raise TypeError or ValueError."""
    values = read_vector("y", y, n_rows)
    if isinstance(values, list):
        return Column("y", None, np.arange(n_rows), values)
    with np.errstate(over="ignore"):  # of a longdouble, which is refused later
        return Column("y", values.astype(np.float64))


def read_weights(w: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the checked sample weights, which default to 1 for each row."""
    values = np.ones(n_rows) if w is None else read_vector("w", w, n_rows)
    if not isinstance(values, list):
        with np.errstate(over="ignore"):
            weights: NDArray[np.float64] = values.astype(np.float64)
        if ((weights >= 0.0) & (weights <= kinds.LARGEST_WEIGHT)).all():
            return weights
    checked = (in_row(row, check_weight, value) for row, value in enumerate(values))
    return np.fromiter(checked, np.float64, n_rows)


def read_vector(name: str, values: Any, n_rows: int) -> Any:
    """Return any series, array or list as a numpy array of real numbers or a list."""
    import pandas as pd

    values = unmasked(values)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got the shape {values.shape}")
    if _is_plain(getattr(values, "dtype", None)):
        result: Any = np.asarray(values)
    elif isinstance(values, pd.Series | pd.Index | pd.api.extensions.ExtensionArray | np.ndarray):
        is_time = values.dtype.kind in "mM"  # which numpy converts to an integer
        result = (pd.Series(values) if is_time else values).tolist()
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        result = list(values)
    else:
        is_frame = nw.dependencies.is_into_dataframe(values)
        try:  # pyarrow has arrays that narwhals does not support
            is_array = hasattr(values, "to_pylist") and not is_frame
            values = values if is_array else nw.from_native(values, series_only=True)
            result = values.to_pylist() if is_array else values.to_list()
        except TypeError:
            got = "a dataframe" if is_frame else f"{shown(values)} of type {type(values).__name__}"
            advice = f"; pass a column of it, such as {name}['target']" * is_frame
            raise TypeError(
                f"{name} must be a series, an array or a list, got {got}{advice}"
            ) from None
    if len(result) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but {name} has {len(result)} values")
    return result


def check_order(X: Any, **vectors: Any) -> None:
    """Raise ValueError if a series of pandas has the index of X in another order."""
    import pandas as pd

    index = X.index if isinstance(X, pd.DataFrame) else None
    for name, values in vectors.items():
        if index is None or not isinstance(values, pd.Series) or values.index.equals(index):
            continue
        entries, others = values.index.tolist(), index.tolist()
        if entries != others and Counter(entries) == Counter(others):
            raise ValueError(
                f"{name} has the index of X in another order, but rows are matched by position; "
                f"pass {name}.loc[X.index], or {name}.to_numpy() if the positions are right"
            )


def unmasked(values: Any) -> Any:
    """Return a masked array as a plain one with NaN, NaT or None; anything else as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask, plain = np.ma.getmaskarray(values), np.asarray(values)
    if not mask.any():
        return plain
    plain = plain.copy() if plain.dtype.kind in "fcmM" else plain.astype(object)
    plain[mask] = None if plain.dtype == object else "NaT" if plain.dtype.kind in "mM" else np.nan
    return plain


# Blocks of rows in which a 0 means absent


def is_matrix(X: Any) -> bool:
    scipy = sys.modules.get("scipy.sparse")  # if it is one, scipy has been imported
    return scipy is not None and bool(scipy.issparse(X))


def frame_of(X: Any) -> nw.DataFrame[Any]:
    """Return a dataframe of the kind that predictions for X have."""
    if not is_matrix(X):
        return read_frame(X)
    import pandas as pd

    return read_frame(pd.DataFrame(index=pd.RangeIndex(X.shape[0])))


def read_rows(X: Any) -> list[dict[Hashable, Any]]:
    return _read_matrix(X) if is_matrix(X) else _read_frame(read_frame(X))


def _read_matrix(X: Any) -> list[dict[Hashable, Any]]:
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise TypeError(
            "a sparse X must have two dimensions and hold real numbers, got "
            f"{X.ndim} and the dtype {X.dtype}"
        )
    rows = X.tocsr()
    if not rows.has_canonical_format:  # entries may come twice, and are to be added up
        rows = rows.copy()
        rows.sum_duplicates()
    with np.errstate(over="ignore"):  # infinite numbers are refused later
        numbers = rows.data.astype(np.float64).tolist()
    names, starts = rows.indices.tolist(), rows.indptr.tolist()
    return [
        dict(zip(names[start:stop], numbers[start:stop], strict=True))
        for start, stop in itertools.pairwise(starts)
    ]


def _read_frame(frame: nw.DataFrame[Any]) -> list[dict[Hashable, Any]]:
    samples: list[dict[Hashable, Any]] = [{} for _ in range(len(frame))]
    for column in read_columns(frame):
        numbers = column.numbers
        for row in range(len(frame)) if numbers is None else np.flatnonzero(numbers).tolist():
            value = column.at(row)
            if not kinds.is_zero(value):
                samples[row][column.name] = value
    return samples


def refuse_matrix(X: Any) -> None:
    """Raise TypeError if X is a sparse matrix, whose zeros would count as missing."""
    if is_matrix(X):
        raise TypeError(
            f"X is a sparse matrix, {shown(type(X).__name__)}, in which most features are absent; "
            'absent ones count as missing here, so use absent="zero" or pass a dense array (of '
            "categories as they are, or by OneHotEncoder(sparse_output=False))"
        )
