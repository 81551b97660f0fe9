"""Make dataframes and series of predictions, of the library that the samples came in.

Functions import pandas, which takes half a second, so that single samples never need it.
"""

from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from river_amf.inputs.frames import as_objects, is_pandas, read_labels
from river_amf.inputs.kinds import is_missing, shown


def proba_frame(
    frame: nw.DataFrame[Any], labels: list[Hashable], proba: NDArray[np.float64]
) -> Any:
    import pandas as pd

    if is_pandas(frame):
        columns = _inferred(pd.Index(as_objects(labels), dtype=object))
        return pd.DataFrame(proba, index=frame.to_native().index, columns=columns)
    named = dict(zip(column_names(frame, labels), proba.T, strict=True))
    return nw.from_dict(named, backend=frame.implementation).to_native()


def column_names(frame: nw.DataFrame[Any], labels: list[Hashable]) -> list[str]:
    """Return a column name per label for a dataframe unlike pandas', or raise ValueError."""
    names = [str(label) for label in labels]
    "".join(names).encode()  # or the library could refuse a name once the block is learned
    if len(set(names)) < len(names):
        raise ValueError(
            f"labels {shown(labels)} do not give distinct column names in {frame.implementation}, "
            "where names are text; pass X as a pandas dataframe"
        )
    return names


def check_column_names(frame: nw.DataFrame[Any], labels: Iterable[Hashable], y: Any) -> None:
    """Raise ValueError if the labels so far and those in `y` cannot all name columns."""
    if not is_pandas(frame):  # which takes any label as a name
        with suppress(TypeError):  # a bad label is rejected later, where labels are checked
            column_names(frame, [*dict.fromkeys([*labels, *read_labels(y, len(frame)).values])])


def check_series(frame: nw.DataFrame[Any], labels: Iterable[Hashable], y: Any) -> None:
    """Raise TypeError if the labels so far and those in `y` do not fit into one series."""
    if is_pandas(frame):  # which takes any labels
        return
    found = dict.fromkeys(labels)
    with suppress(TypeError):  # a bad label is rejected later, where labels are checked
        new = read_labels(y, len(frame)).values
        found |= dict.fromkeys(label for label in new if not is_missing(label))
    label_series(frame, [*found], np.arange(len(found)))


def label_series(
    frame: nw.DataFrame[Any], labels: list[Hashable], codes: NDArray[np.int64] | None
) -> Any:
    """Return the labels of some codes, or of None, as a series of the library of `frame`."""
    import pandas as pd

    values = as_objects([None] * len(frame)) if codes is None else as_objects(labels)[codes]
    if is_pandas(frame):
        series = pd.Series(values, index=frame.to_native().index, dtype=object)
        return series if codes is None else _inferred(series)
    with suppress(Exception):  # each library has its own
        narwhal = nw.new_series("", values.tolist(), backend=frame.implementation)
        if narwhal.to_list() == values.tolist():  # not rounded, or lists instead of tuples
            return narwhal.to_native()
    raise TypeError(
        f"labels {shown(labels)} of several types, or of one that it cannot hold as they are, do "
        f"not fit into one {frame.implementation} series; pass X as a pandas dataframe"
    )


def number_series(frame: nw.DataFrame[Any], numbers: NDArray[np.float64]) -> Any:
    import pandas as pd

    if is_pandas(frame):
        return pd.Series(numbers, index=frame.to_native().index)
    return nw.new_series("", numbers, backend=frame.implementation).to_native()


def _inferred(objects: Any) -> Any:
    """Return objects of pandas in a narrower dtype that keeps each of them as it is."""
    with suppress(NotImplementedError, UnicodeError):  # as of float16, or text that is not valid
        inferred = objects.infer_objects()
        return inferred if inferred.tolist() == objects.tolist() else objects
    return objects
