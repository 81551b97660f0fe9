"""Progressive validation as in river, and block by block for dataframes.

A forest processes a dataframe in blocks of rows: each row is still predicted before it is learned,
and every value equals that of river's loop. Everything else, such as labels that come late, is
passed on to river.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, evaluate, metrics
from river.conf import Interval

from river_amf.classifier import AMFClassifier
from river_amf.evaluation.history import intervals_of
from river_amf.evaluation.metrics import is_of_intervals
from river_amf.evaluation.sources import Table, iter_samples, load_for, read_table
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import shown
from river_amf.inputs.labels import most_probable_labels
from river_amf.inputs.row_problems import renumbered
from river_amf.regressor import LEVEL, AMFRegressor

Moment = str | Callable[[dict[base.typing.FeatureName, Any]], dt.datetime]
Delay = str | int | dt.timedelta | Callable[..., Any]
_Times = tuple[Moment | None, Delay | None]

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
    forests of this package are faster because they process them in blocks.

    Parameters
    ----------
    dataset
        A dataframe of shape (n_samples, n_features + 1) from pandas, polars, pyarrow or any other
        library that narwhals supports, with the target (labels or numbers) in the column `target`
        if there is one and otherwise in the last column; a tuple `(X, y)` or `(X, y, w)` of a
        dataframe, array or sparse matrix of shape (n_samples, n_features), the target and the
        sample weights, both of shape (n_samples,), where X may also be a series of texts for a
        pipeline that reads them; or anything that river accepts, such as an iterable of pairs
        `(x, y)` or triples `(x, y, {"w": w})`; or the name of a stream or the path of a file, as in
        `load_stream`.
    model
        The model to evaluate. It learns the samples.
    metric
        The metric to update; it may be a sum of metrics or a rolling metric. Those of intervals,
        such as `Coverage`, cannot be added to others, and need a regressor that gives intervals.
    moment, delay
        As in river: the time of a sample (a feature, or a function of the features; by default its
        number), and how long after it the label becomes known, as a number, a timedelta, a feature
        or a function of the features and the label. The sample is predicted at once; it is scored
        and learned when its label is known, or at the end of the stream. By default, that is right
        after the prediction. A label that is None never comes, and its sample is not learned.
    print_every, show_time, show_memory, print_kwargs
        As in river: number of samples between printed lines, what these show, and keyword arguments
        for `print`.

    Raises
    ------
    TypeError, ValueError
        If the metric does not suit the model, or the dataset is none, or, for a classifier, if the
        target of a dataframe has fractions or more than 200 distinct numbers in its first 1000 rows
        (pass `(X, y)` if these are labels). For an invalid row, the model's own error is raised
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

    With labels that come a thousand samples late:

    >>> late = progressive_val_score(frame, AMFClassifier(seed=1), metrics.Accuracy(), delay=1000)
    >>> late.get() < metric.get()
    True
    """
    step = print_every if show_time or show_memory else 0
    samples, model, times = _loop_arguments(dataset, model, metric, (moment, delay), step or 0)
    return evaluate.progressive_val_score(
        samples,
        model,
        metric,
        *times,
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
    measure_time, measure_memory, yield_predictions
        Whether to add the elapsed `Time`, the `Memory` of the model in bytes, and the `Prediction`
        for the latest sample: probabilities if the metric needs them, otherwise a label. It is None
        in the last dict if the stream ends between two steps.

    Yields
    ------
    dict
        The metric under its class name (for a sum, each of its metrics), the number of samples
        under `Step`, and any of the above.

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
    samples, model, times = _loop_arguments(dataset, model, metric, (moment, delay), step or 0)
    yield from evaluate.iter_progressive_val_score(
        samples,
        model,
        metric,
        *times,
        step=step,
        measure_time=measure_time,
        measure_memory=measure_memory,
        yield_predictions=yield_predictions,
    )


def _loop_arguments(
    dataset: Any, model: Any, metric: Any, times: _Times, step: float
) -> tuple[Iterable[Any], Any, _Times]:
    """Return the stream, model and times for river's loop, which inspects the model at each step.

    A step of 0 means never. If the metric does not suit the model, it is river that raises.
    """
    is_of_numbers = isinstance(model, base.Regressor)
    seen = model
    if _needs_intervals(metric):
        intervals_of(model, None)  # or raise
        seen = _WithIntervals(model)
    if isinstance(dataset, str | Path):
        dataset = load_for(dataset, model)
    table = read_table(dataset, needs_labels=not is_of_numbers)
    if table is None:
        return iter_samples(dataset), seen, times
    # labels that come late leave no blocks: each row is learned between two that are predicted
    is_worth_it = times == (None, None) and not 0 < step < _LEAST_STEP
    blocks = _blocks_of(model, metric) if is_worth_it and metric.works_with(model) else None
    if blocks is None:
        return table.samples(), seen, times
    return _predictions_in_order(table, blocks, step), blocks.replay, times


def _predictions_in_order(table: Table, blocks: Blocks, step: float) -> Iterator[tuple[Any, Any]]:
    """Run a forest block by block; yield its prediction for each row, and the row's label."""
    # Blocks end at multiples of the step, where river's loop inspects the model: it must not have
    # learned any row beyond.
    start = 0
    for block in table.blocks(_BLOCK_ROWS, step):
        with _naming(np.arange(start, start + len(block))):
            predictions = blocks.learn(*block.native())
        yield from zip(predictions, block.labels(), strict=True)
        start += len(block)


@contextmanager
def _naming(rows: NDArray[np.int64]) -> Iterator[None]:
    """Let errors name the row of the dataset rather than that of a block of these rows."""
    try:
        yield
    except INVALID as error:
        named = renumbered(error, rows)
        raise named from named.__cause__


def _needs_intervals(metric: Any) -> bool:
    """Whether a metric, or each of a sum, is about intervals; raise if some of them are not."""
    parts = metric if isinstance(metric, metrics.base.Metrics) else [metric]
    kinds = {is_of_intervals(part) for part in parts}
    if len(kinds) > 1:
        raise TypeError(f"metrics of intervals cannot be added to others, got {shown(metric)}")
    return True in kinds


class Blocks:
    """A forest that runs blocks of rows, and the estimator that stands for it in river's loop.

    It replays the predictions, each of which takes the place of the features.
    """

    def __init__(self, forest: Any, *, as_labels: bool, as_intervals: bool) -> None:
        self._forest = forest
        self._levels = (LEVEL,) if as_intervals else ()
        self._is_of_numbers = isinstance(forest, AMFRegressor)
        self._given = most_probable_labels if as_labels else _probabilities
        self.replay = _NumberReplay(forest) if self._is_of_numbers else _LabelReplay(forest)

    def learn(self, X: Any, y: Any, w: Any) -> Any:
        """Predict each row of a block and learn it; return the predictions."""
        answers = self._forest._test_then_train(X, y, w, *self._levels)
        if self._levels:
            return map(Interval, answers.lower.tolist(), answers.upper.tolist())
        return answers.prediction.tolist() if self._is_of_numbers else self._given(*answers)


def _blocks_of(model: Any, metric: Any) -> Blocks | None:
    """Return how a model runs blocks, if it is a forest that does so exactly as ours do."""
    # This looks at the class, as isinstance is true of a river pipeline that ends in a forest.
    for forest in (AMFClassifier, AMFRegressor):
        methods = ("learn_one", "predict_one", "predict_proba_one", "predict_interval_one")
        if issubclass(type(model), forest) and all(
            getattr(type(model), name) is getattr(forest, name)
            for name in methods
            if hasattr(forest, name)
        ):
            as_labels = getattr(metric, "requires_labels", True)
            return Blocks(model, as_labels=as_labels, as_intervals=_needs_intervals(metric))
    return None


class _Replay(base.Base):
    """Replays a forest's predictions, which it is given in place of the features."""

    def __init__(self, forest: Any) -> None:
        self._forest = forest

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        return x

    def learn_one(self, x: Any, y: Any) -> None:
        """Do nothing: the forest has learned the sample together with its block."""

    @property
    def _raw_memory_usage(self) -> int:
        size: int = self._forest._raw_memory_usage
        return size


class _LabelReplay(_Replay, base.Classifier):
    def predict_proba_one(self, x: Any, **kwargs: Any) -> Any:
        return x


class _NumberReplay(_Replay, base.Regressor):
    pass


class _WithIntervals(_NumberReplay):
    """A regressor that predicts intervals."""

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        return self._forest.predict_one(x, with_interval=True, **kwargs)

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        self._forest.learn_one(x, y, **kwargs)


def _probabilities(
    proba: NDArray[np.float64], n_known: NDArray[np.int_], labels: list[Any]
) -> Iterator[dict[Any, float]]:
    """Yield the probabilities of each row, by known label."""
    for row, known in zip(proba, n_known.tolist(), strict=True):
        yield dict(zip(labels[:known], row.tolist(), strict=False))
