"""Progressive validation as river runs it, and block by block where the data is a dataframe.

`progressive_val_score` and `iter_progressive_val_score` take what river's functions of these names
take, and dataframes as well. A forest runs over a dataframe in blocks of rows: each row is still
predicted before it is learnt, and every figure is the one of river's loop. All else goes to river.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from river import base, evaluate, metrics

from river_amf.encoding import shown
from river_amf.forest import AMFClassifier
from river_amf.frames import read_vector

Moment = str | Callable[[dict[base.typing.FeatureName, Any]], dt.datetime]
Delay = str | int | dt.timedelta | Callable[..., Any]

_Column = nw.Series[Any] | NDArray[Any] | list[Any]

_LEAST_STEP = 32  # rows; smaller blocks take longer than river's loop over samples
_BLOCK_ROWS = 4096  # few enough for the probabilities of thirty labels to stay within a megabyte


def progressive_val_score(
    dataset: Any,
    model: base.Estimator,
    metric: metrics.base.Metric,
    moment: Moment | None = None,
    delay: Delay | None = None,
    print_every: int = 0,
    show_time: bool = False,
    show_memory: bool = False,
    **print_kwargs: Any,
) -> metrics.base.Metric:
    """Test, then train a model on each sample in turn, and return the metric.

    It is `river.evaluate.progressive_val_score`, and gives the same figures, prints the same lines
    and leaves the same model. A forest of this package is faster on a dataframe, which it takes in
    blocks, unless there is a moment or a delay.

    Parameters
    ----------
    dataset
        A dataframe (pandas, polars, pyarrow and whatever else narwhals knows) whose labels are in
        the column `target`, else in the last one; a tuple `(X, y)` or `(X, y, w)` of a dataframe
        of features, the labels and the weights, these as series, arrays or lists; or what river
        takes: pairs `(x, y)`, triples `(x, y, {"w": w})`.
    model
        The model to evaluate; it learns.
    metric
        The metric to update, a sum of metrics or a rolling one.
    moment
        As in river: where a sample's time is found.
    delay
        As in river: how long after its features a sample's label is known.
    print_every
        Number of samples between two printed lines; 0 prints nothing.
    show_time
        Whether the lines tell the time passed.
    show_memory
        Whether the lines tell the size of the model.
    print_kwargs
        Passed on to `print`.

    Returns
    -------
    The metric that was passed.

    Raises
    ------
    TypeError
        If a dataframe is lazy, or the labels or weights are no series, array or list.
    ValueError
        If a dataframe has no feature besides the label, or the lengths of X, y and w differ; if
        the metric does not suit the model. A bad row raises what the model raises, before anything
        of its block is learnt.

    Examples
    --------
    >>> import pandas as pd
    >>> from river import datasets, metrics
    >>> from river_amf import AMFClassifier
    >>> from river_amf.evaluation.progressive import progressive_val_score

    >>> frame = pd.DataFrame([{**x, "target": y} for x, y in datasets.Bananas()])
    >>> metric = progressive_val_score(
    ...     frame, AMFClassifier(seed=1), metrics.Accuracy(), print_every=2000
    ... )
    [2,000] Accuracy: 8...%
    [4,000] Accuracy: 8...%
    [5,300] Accuracy: 8...%
    >>> metric.get() > 0.88
    True

    """
    step = print_every if show_time or show_memory else 0
    stream, model = _prepare(dataset, model, metric, moment, delay, step or 0)
    return evaluate.progressive_val_score(
        stream,
        model,
        metric,
        moment=moment,
        delay=delay,
        print_every=print_every,
        show_time=show_time,
        show_memory=show_memory,
        **print_kwargs,
    )


def iter_progressive_val_score(
    dataset: Any,
    model: base.Estimator,
    metric: metrics.base.Metric,
    moment: Moment | None = None,
    delay: Delay | None = None,
    step: int = 1,
    measure_time: bool = False,
    measure_memory: bool = False,
    yield_predictions: bool = False,
) -> Iterator[dict[str, Any]]:
    """Test, then train a model on each sample in turn, and yield where it stands on the way.

    It is `river.evaluate.iter_progressive_val_score`, and yields the same dicts. At each of them
    the model has learnt exactly as many samples as `Step` says: a block of a dataframe ends there,
    so that a small step leaves little of what blocks gain, and the smallest go to river's loop.

    Parameters
    ----------
    dataset, model, metric, moment, delay
        As in `progressive_val_score`.
    step
        Number of samples between two dicts; 0 yields none.
    measure_time
        Whether to add the time passed, `Time`.
    measure_memory
        Whether to add the size of the model in bytes, `Memory`.
    yield_predictions
        Whether to add what was predicted for the last sample, `Prediction`: probabilities if the
        metric takes these, else a label. The dict after the last sample has None if it comes
        before its step.

    Yields
    ------
    Dict of the metric by its class name (each one of a sum), the number of samples `Step`, and
    what else was asked for.

    Raises
    ------
    TypeError, ValueError
        As in `progressive_val_score`, once the first dict is asked for.

    Examples
    --------
    >>> import pandas as pd
    >>> from river import datasets, metrics
    >>> from river_amf import AMFClassifier
    >>> from river_amf.evaluation.progressive import iter_progressive_val_score

    >>> X, y = zip(*datasets.Bananas())
    >>> for state in iter_progressive_val_score(
    ...     (pd.DataFrame(X), list(y)), AMFClassifier(seed=1), metrics.Accuracy(), step=2000
    ... ):
    ...     print(state["Step"], state["Accuracy"].get() > 0.87)
    2000 True
    4000 True
    5300 True

    """
    stream, model = _prepare(dataset, model, metric, moment, delay, step or 0)
    yield from evaluate.iter_progressive_val_score(
        stream,
        model,
        metric,
        moment=moment,
        delay=delay,
        step=step,
        measure_time=measure_time,
        measure_memory=measure_memory,
        yield_predictions=yield_predictions,
    )


def iter_samples(dataset: Any) -> Iterable[Any]:
    """Return the rows of a dataframe one by one, as river takes samples; anything else as it is.

    >>> import pandas as pd
    >>> list(iter_samples(pd.DataFrame({"size": [1.5, 4.0], "target": ["small", "big"]})))
    [({'size': 1.5}, 'small'), ({'size': 4.0}, 'big')]
    """
    table = _read(dataset)
    samples: Iterable[Any] = dataset if table is None else table.samples()
    return samples


@dataclass(frozen=True)
class _Table:
    """Rows of features in a dataframe, with their labels and weights."""

    X: nw.DataFrame[Any]
    y: _Column
    w: _Column | None

    def __len__(self) -> int:
        return len(self.X)

    def rows(self, start: int, end: int) -> _Table:
        """Return the rows from start up to end."""
        w = None if self.w is None else self.w[start:end]
        return _Table(self.X[start:end], self.y[start:end], w)

    def blocks(self, step: float = 0) -> Iterator[_Table]:
        """Yield the rows in blocks; one ends at each multiple of a step, if that is a count."""
        is_count = step > 0 and step % 1 == 0
        start = 0
        while start < len(self):
            end = min(start + _BLOCK_ROWS, len(self))
            if is_count:
                end = min(end, start - start % int(step) + int(step))
            yield self.rows(start, end)
            start = end

    def samples(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows one by one, as river takes samples."""
        for block in self.blocks():
            xs, ys = block.X.iter_rows(named=True), _to_list(block.y)
            if block.w is None:
                yield from zip(xs, ys, strict=True)
            else:
                for x, y, w in zip(xs, ys, _to_list(block.w), strict=True):
                    yield x, y, {"w": w}


class _Replay(base.Classifier):
    """Says what a forest has said already, where that stands in the place of the features."""

    def __init__(self, forest: AMFClassifier) -> None:
        self._forest = forest

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        return x

    def predict_proba_one(self, x: Any, **kwargs: Any) -> Any:
        return x

    def learn_one(self, x: Any, y: Any) -> None:
        """Do nothing: the forest has learnt the sample with its block."""

    @property
    def _raw_memory_usage(self) -> int:
        return self._forest._raw_memory_usage


def _prepare(
    dataset: Any, model: Any, metric: Any, moment: Moment | None, delay: Delay | None, step: int
) -> tuple[Iterable[Any], Any]:
    """Return the stream and the model to give to river's loop, which will look at the model.

    It does so at each multiple of the step, 0 for never. A metric that does not suit the model is
    left to river, which raises.
    """
    table = _read(dataset)
    if table is None:
        return dataset, model
    in_order = moment is None and delay is None
    is_worth_it = not 0 < step < _LEAST_STEP
    if not (in_order and is_worth_it and _takes_blocks(type(model)) and metric.works_with(model)):
        return table.samples(), model
    answers = _answers(table, model, step, as_labels=metric.requires_labels)
    return answers, _Replay(model)


def _answers(
    table: _Table, forest: AMFClassifier, step: int, *, as_labels: bool
) -> Iterator[tuple[Any, Any]]:
    """Run a forest block by block; yield what it predicts for each row, and the row's label.

    A block ends at each multiple of the step, so that the forest has learnt no more than the rows
    of which the answers have been asked for.
    """
    given = _most_probable if as_labels else _probabilities
    for block in table.blocks(step):
        X, y, w = block.X.to_native(), _to_native(block.y), _to_native(block.w)
        yield from zip(given(*forest._test_then_train(X, y, w)), _to_list(block.y), strict=True)


def _takes_blocks(kind: type) -> bool:
    """Whether a class is a forest that learns and predicts samples as our forest does.

    Asked of the class, as to isinstance a pipeline of river is what its last step is.
    """
    methods = ("learn_one", "predict_one", "predict_proba_one")
    return issubclass(kind, AMFClassifier) and all(
        getattr(kind, name) is getattr(AMFClassifier, name) for name in methods
    )


def _read(dataset: Any) -> _Table | None:
    """Return the table that a dataframe or a tuple stands for, None for anything else."""
    parts = dataset if isinstance(dataset, tuple) else (dataset,)
    frame = nw.from_native(parts[0], pass_through=True) if parts else None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"a dataframe must hold its rows, got a lazy one of type {type(parts[0]).__name__}; "
            "collect it first"
        )
    if not isinstance(frame, nw.DataFrame):
        return None
    if not isinstance(dataset, tuple):
        return _split_label(frame)
    if len(parts) not in (2, 3):
        raise ValueError(f"a tuple must be (X, y) or (X, y, w), got {len(parts)} parts")
    if not frame.columns:
        raise ValueError("X has no columns; it needs a feature at least")
    y = _as_column("y", parts[1], len(frame))
    w = parts[2] if len(parts) == 3 else None
    return _Table(frame, y, None if w is None else _as_column("w", w, len(frame)))


def _split_label(frame: nw.DataFrame[Any]) -> _Table:
    """Take the labels out of a dataframe: the column `target`, else the last one."""
    names = frame.columns
    if len(names) < 2:
        raise ValueError(
            "a dataframe must have a column of labels and a feature at least, "
            f"its columns are {shown(names)}; give (X, y) if the labels are elsewhere"
        )
    label = names.index("target") if "target" in names else len(names) - 1
    # By number and in a list, as names need not be strings in pandas.
    return _Table(frame.drop([names[label]]), frame[:, label], None)


def _as_column(name: str, values: Any, n_rows: int) -> _Column:
    """Return labels or weights as something to cut in blocks, or raise."""
    column = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(column, nw.Series | np.ndarray | list):
        column = read_vector(name, values, n_rows)
        column = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got an array of shape {column.shape}")
    if len(column) != n_rows:
        raise ValueError(f"{name} must be as long as X: X has {n_rows} rows, {name} {len(column)}")
    result: _Column = column
    return result


def _to_native(column: _Column | None) -> Any:
    return column.to_native() if isinstance(column, nw.Series) else column


def _to_list(column: _Column) -> list[Any]:
    """Return the values as Python's own objects."""
    if isinstance(column, list):
        return column
    values: list[Any] = column.to_list() if isinstance(column, nw.Series) else column.tolist()
    return values


def _most_probable(
    proba: NDArray[np.float64], n_known: NDArray[np.int_], labels: list[Any]
) -> list[Any]:
    """Return the label predicted for each row: the first of the most probable ones, or None.

    >>> proba = np.array([[0.0, 0.0], [1.0, 9.0], [0.5, 0.5]])
    >>> _most_probable(proba, np.array([0, 1, 2]), ["a", "b"])
    [None, 'a', 'a']
    """
    if not labels:
        return [None] * len(n_known)
    is_known = np.arange(len(labels)) < n_known[:, np.newaxis]
    best = np.where(is_known, proba, -1.0).argmax(axis=1)
    return [labels[i] if k else None for i, k in zip(best.tolist(), n_known.tolist(), strict=True)]


def _probabilities(
    proba: NDArray[np.float64], n_known: NDArray[np.int_], labels: list[Any]
) -> Iterator[dict[Any, float]]:
    """Yield the probabilities of each row by label.

    >>> list(_probabilities(np.array([[0.0], [1.0]]), np.array([0, 1]), ["a"]))
    [{}, {'a': 1.0}]
    """
    for row, known in zip(proba, n_known.tolist(), strict=True):
        yield dict(zip(labels[:known], row.tolist(), strict=False))
