"""Progressive validation as in river, and block by block for dataframes.

`progressive_val_score` and `iter_progressive_val_score` accept everything that river's functions of
the same names accept, and dataframes too. A forest processes a dataframe in blocks of rows: each
row is still predicted before it is learned, and every value equals that of river's loop. Everything
else is passed on to river.
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

from river_amf.forest import AMFClassifier
from river_amf.frames import as_samples, read_vector
from river_amf.kinds import shown

Moment = str | Callable[[dict[base.typing.FeatureName, Any]], dt.datetime]
Delay = str | int | dt.timedelta | Callable[..., Any]

_Column = nw.Series[Any] | NDArray[Any] | list[Any]

_LEAST_STEP = 32  # rows; smaller blocks are slower than river's loop over samples
_BLOCK_ROWS = 4096  # the probabilities of thirty labels then take less than a megabyte


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
    """Test a model on each sample in turn, then train it on that sample, and return the metric.

    This is `river.evaluate.progressive_val_score`: it computes the same values, prints the same
    lines and trains the model in the same way. In addition it accepts dataframes, on which the
    forests of this package are faster because they process them in blocks, unless `moment` or
    `delay` is given.

    Parameters
    ----------
    dataset
        A dataframe of shape (n_samples, n_features + 1) from pandas, polars, pyarrow or any other
        library that narwhals supports, with the labels in the column `target` if there is one and
        otherwise in the last column; a tuple `(X, y)` or `(X, y, w)` of a dataframe of shape
        (n_samples, n_features), the labels and the sample weights, both of shape (n_samples,), as
        series, arrays or lists; or anything that river accepts, such as an iterable of pairs
        `(x, y)` or triples `(x, y, {"w": w})`.
    model
        The model to evaluate. It learns the samples.
    metric
        The metric to update; it may be a sum of metrics or a rolling metric.
    moment
        As in river: the feature, or a function of the features, that gives the time of a sample.
    delay
        As in river: how long after its features the label of a sample becomes known.
    print_every
        Number of samples between printed lines; 0 prints nothing.
    show_time
        Whether the lines show the elapsed time.
    show_memory
        Whether the lines show the memory usage of the model.
    print_kwargs
        Keyword arguments for `print`.

    Returns
    -------
    river.metrics.base.Metric
        The metric that was passed in.

    Raises
    ------
    TypeError
        If a dataframe is lazy, or if the labels or weights are not a series, array or list.
    ValueError
        If a dataframe has no feature besides the label, if the lengths of X, y and w differ, or if
        the metric does not suit the model. For an invalid row, the model's own error is raised
        before any row of its block is learned.

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
    """Test and train a model on each sample in turn, and yield its state along the way.

    This is `river.evaluate.iter_progressive_val_score`, and yields the same dicts. At each of them
    the model has learned exactly `Step` samples. Blocks of a dataframe end there, so a small step
    loses most of the speed gained from blocks, and the smallest steps use river's loop.

    Parameters
    ----------
    dataset, model, metric, moment, delay
        As in `progressive_val_score`.
    step
        Number of samples between dicts; 0 yields none.
    measure_time
        Whether to add the elapsed time as `Time`.
    measure_memory
        Whether to add the memory usage of the model, in bytes, as `Memory`.
    yield_predictions
        Whether to add the prediction for the latest sample as `Prediction`: probabilities if the
        metric needs them, otherwise a label. It is None in the dict after the last sample if the
        stream ends between two steps.

    Yields
    ------
    dict
        The metric under its class name (for a sum, each of its metrics), the number of samples
        under `Step`, and any of the above.

    Raises
    ------
    TypeError, ValueError
        As in `progressive_val_score`, when the first dict is requested.

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
    """Return the rows of a dataframe as samples for river, and anything else unchanged."""
    table = _read(dataset)
    samples: Iterable[Any] = dataset if table is None else table.samples()
    return samples


@dataclass(frozen=True)
class _Table:
    """Rows of features in a dataframe, with their labels and perhaps weights."""

    X: nw.DataFrame[Any]
    y: _Column
    w: _Column | None

    def __len__(self) -> int:
        return len(self.X)

    def rows(self, start: int, end: int) -> _Table:
        """Return the rows from start up to, but not including, end."""
        w = None if self.w is None else self.w[start:end]
        return _Table(self.X[start:end], self.y[start:end], w)

    def blocks(self, step: float = 0) -> Iterator[_Table]:
        """Yield the rows in blocks; one ends at every multiple of a positive, whole step."""
        is_count = step > 0 and step % 1 == 0
        start = 0
        while start < len(self):
            end = min(start + _BLOCK_ROWS, len(self))
            if is_count:
                end = min(end, start - start % int(step) + int(step))
            yield self.rows(start, end)
            start = end

    def samples(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows one by one, as samples for river."""
        for block in self.blocks():
            xs, ys = as_samples(block.X), _to_list(block.y)
            if block.w is None:
                yield from zip(xs, ys, strict=True)
            else:
                for x, y, w in zip(xs, ys, _to_list(block.w), strict=True):
                    yield x, y, {"w": w}


class _Replay(base.Classifier):
    """Replays a forest's predictions, which it is given in place of the features."""

    def __init__(self, forest: AMFClassifier) -> None:
        self._forest = forest

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        return x

    def predict_proba_one(self, x: Any, **kwargs: Any) -> Any:
        return x

    def learn_one(self, x: Any, y: Any) -> None:
        """Do nothing: the forest has learned the sample together with its block."""

    @property
    def _raw_memory_usage(self) -> int:
        return self._forest._raw_memory_usage


def _prepare(
    dataset: Any, model: Any, metric: Any, moment: Moment | None, delay: Delay | None, step: int
) -> tuple[Iterable[Any], Any]:
    """Return the stream and model for river's loop, which inspects the model at each step."""
    # A step of 0 means never. If the metric does not suit the model, it is river that raises.
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
    """Run a forest block by block; yield its prediction for each row, and the row's label."""
    # Blocks end at multiples of the step, where river's loop inspects the model: it must not have
    # learned any row beyond.
    given = _most_probable if as_labels else _probabilities
    for block in table.blocks(step):
        X, y, w = block.X.to_native(), _to_native(block.y), _to_native(block.w)
        yield from zip(given(*forest._test_then_train(X, y, w)), _to_list(block.y), strict=True)


def _takes_blocks(kind: type) -> bool:
    """Whether a class is a forest that learns and predicts samples exactly as ours does."""
    # This takes a class because isinstance is true of a river pipeline that ends in a forest.
    methods = ("learn_one", "predict_one", "predict_proba_one")
    return issubclass(kind, AMFClassifier) and all(
        getattr(kind, name) is getattr(AMFClassifier, name) for name in methods
    )


def _read(dataset: Any) -> _Table | None:
    """Return the table for a dataframe or a tuple with one, or None for anything else."""
    parts = dataset if isinstance(dataset, tuple) else (dataset,)
    frame = nw.from_native(parts[0], pass_through=True) if parts else None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"a dataframe must be in memory, got a lazy one of type {type(parts[0]).__name__}; "
            "collect it first"
        )
    if not isinstance(frame, nw.DataFrame):
        return None
    if not isinstance(dataset, tuple):
        return _split_label(frame)
    if len(parts) not in (2, 3):
        raise ValueError(f"a tuple must be (X, y) or (X, y, w), got {len(parts)} elements")
    if not frame.columns:
        raise ValueError("X must have at least one feature, but has no columns")
    y = _as_column("y", parts[1], len(frame))
    w = parts[2] if len(parts) == 3 else None
    return _Table(frame, y, None if w is None else _as_column("w", w, len(frame)))


def _split_label(frame: nw.DataFrame[Any]) -> _Table:
    """Split the labels off a dataframe: the column `target`, or else the last one."""
    names = frame.columns
    if len(names) < 2:
        raise ValueError(
            "a dataframe must have a label column and at least one feature column, "
            f"got the columns {shown(names)}; pass (X, y) if the labels are elsewhere"
        )
    label = names.index("target") if "target" in names else len(names) - 1
    # By position and in a list, because pandas column names need not be strings.
    return _Table(frame.drop([names[label]]), frame[:, label], None)


def _as_column(name: str, values: Any, n_rows: int) -> _Column:
    """Return labels or weights in a form that can be sliced into blocks, or raise."""
    column = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(column, nw.Series | np.ndarray | list):
        column = read_vector(name, values, n_rows)
        column = nw.from_native(column, series_only=True, pass_through=True)
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got an array of shape {column.shape}")
    if len(column) != n_rows:
        raise ValueError(
            f"{name} must have one value per row of X: X has {n_rows} rows, {name} has"
            f" {len(column)} values"
        )
    result: _Column = column
    return result


def _to_native(column: _Column | None) -> Any:
    return column.to_native() if isinstance(column, nw.Series) else column


def _to_list(column: _Column) -> list[Any]:
    """Return the values as native Python objects."""
    if isinstance(column, list):
        return column
    values: list[Any] = column.to_list() if isinstance(column, nw.Series) else column.tolist()
    return values


def _most_probable(
    proba: NDArray[np.float64], n_known: NDArray[np.int_], labels: list[Any]
) -> list[Any]:
    """Return the most probable known label of each row, the first one in a tie, or None."""
    if not labels:
        return [None] * len(n_known)
    is_known = np.arange(len(labels)) < n_known[:, np.newaxis]
    best = np.where(is_known, proba, -1.0).argmax(axis=1)
    return [labels[i] if k else None for i, k in zip(best.tolist(), n_known.tolist(), strict=True)]


def _probabilities(
    proba: NDArray[np.float64], n_known: NDArray[np.int_], labels: list[Any]
) -> Iterator[dict[Any, float]]:
    """Yield the probabilities of each row, by known label."""
    for row, known in zip(proba, n_known.tolist(), strict=True):
        yield dict(zip(labels[:known], row.tolist(), strict=False))
