"""Progressive validation as in river, and block by block for dataframes.

A forest processes a dataframe in blocks of rows: each row is still predicted before it is learned,
and every value equals that of river's loop. Everything else, such as labels that come late, is
passed on to river.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, evaluate, metrics
from river.conf import Interval

from river_amf.classifier import AMFClassifier
from river_amf.evaluation.metrics import inner, is_of_intervals, needs_positive, parts_of
from river_amf.evaluation.prequential import has_intervals
from river_amf.evaluation.sources import Table, iter_samples, load_for, read_table
from river_amf.evaluation.usage_errors import EvaluationError
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
        target of a dataframe has fractions or more than 50 distinct numbers in its first 1000 rows
        (pass `(X, y)` if these are labels), or if a metric of True and False gets other labels. For
        an invalid row, the model's own error is raised before any row of its block is learned.

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
    >>> from river import metrics
    >>> from river_amf import AMFClassifier
    >>> from river_amf.evaluation import iter_progressive_val_score
    >>> model, metric = AMFClassifier(seed=1), metrics.Accuracy()
    >>> states = iter_progressive_val_score("Bananas", model, metric, step=2000)
    >>> [(state["Step"], state["Accuracy"].get() > 0.8) for state in states]
    [(2000, True), (4000, True), (5300, True)]
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
        if not has_intervals(model):
            raise TypeError(
                "model must give intervals, as a forest for regression or river's"
                f" conf.RegressionJackknife around a regressor, got {shown(model)}"
            )
        seen = _WithIntervals(model)
    if isinstance(dataset, str | Path):
        dataset = load_for(dataset, model)
    table = read_table(dataset, needs_labels=not is_of_numbers)
    binary = next((each for each in parts_of(metric) if needs_positive(each)), None)
    if table is None:
        samples = iter_samples(dataset)
        return samples if binary is None else _with_truths(samples, binary), seen, times
    if binary is not None:
        for y in table.labels():
            _check_truth(y, binary)
    # labels that come late leave no blocks: each row is learned between two that are predicted
    is_worth_it = times == (None, None) and not 0 < step < _LEAST_STEP
    if not (is_worth_it and _runs_blocks(model) and metric.works_with(model)):
        return table.samples(), seen, times
    replay = (_NumberReplay if is_of_numbers else _LabelReplay)(model)
    return _predictions_in_order(table, model, step, metric), replay, times


def _with_truths(samples: Iterable[Any], metric: Any) -> Iterator[Any]:
    """Yield the samples, or raise at one whose label a binary metric would count as negative."""
    for sample in samples:
        _check_truth(sample[1], metric)
        yield sample


def _check_truth(y: Any, metric: Any) -> None:
    """Raise unless a label is True or False, or never comes."""
    if y not in (True, False, None):
        name = type(inner(metric)).__name__
        raise EvaluationError(
            f"metric {name} needs labels True/False or 0/1, got {shown(y)}: which label is"
            f" positive? Let labels be y == {shown(y)}, or use compare(metrics=['{name}'],"
            f" positive={shown(y)})"
        )


def _runs_blocks(model: Any) -> bool:
    """Whether a model is a forest that runs blocks exactly as ours do."""
    # This looks at the class, as isinstance is true of a river pipeline that ends in a forest.
    return any(
        issubclass(type(model), forest)
        and all(
            getattr(type(model), name, None) is getattr(forest, name, None)
            for name in ("learn_one", "predict_one", "predict_proba_one")
        )
        for forest in (AMFClassifier, AMFRegressor)
    )


def _predictions_in_order(
    table: Table, forest: Any, step: float, metric: Any
) -> Iterator[tuple[Any, Any]]:
    """Run a forest block by block; yield its prediction for each row, and the row's label."""
    # Blocks end at multiples of the step, where river's loop inspects the model: it must not have
    # learned any row beyond.
    given = most_probable_labels if getattr(metric, "requires_labels", True) else _probabilities
    levels = (LEVEL,) if _needs_intervals(metric) else ()
    start = 0
    for block in table.blocks(_BLOCK_ROWS, step):
        try:
            answers = forest._test_then_train(*block.native(), *levels)
        except INVALID as error:  # which names the row of the block
            named = renumbered(error, np.arange(start, start + len(block)))
            raise named from named.__cause__
        if levels:
            predictions: Any = map(Interval, answers.lower.tolist(), answers.upper.tolist())
        elif isinstance(forest, AMFRegressor):
            predictions = answers.prediction.tolist()
        else:
            predictions = given(*answers)
        yield from zip(predictions, block.labels(), strict=True)
        start += len(block)


def _needs_intervals(metric: Any) -> bool:
    """Whether a metric, or each of a sum, is about intervals; raise if some of them are not."""
    kinds = {is_of_intervals(part) for part in parts_of(metric)}
    if len(kinds) > 1:
        raise TypeError(f"metrics of intervals cannot be added to others, got {shown(metric)}")
    return True in kinds


def _probabilities(
    proba: NDArray[np.float64], n_known: NDArray[np.int_], labels: list[Any]
) -> Iterator[dict[Any, float]]:
    """Yield the probabilities of each row, by known label."""
    for row, known in zip(proba, n_known.tolist(), strict=True):
        yield dict(zip(labels[:known], row.tolist(), strict=False))


class _Replay(base.Base):
    """Replays a forest's predictions, which it is given in place of the features."""

    def __init__(self, forest: Any) -> None:
        self._forest = forest

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        return x

    predict_proba_one = predict_one

    def learn_one(self, x: Any, y: Any) -> None:
        """Do nothing: the forest has learned the sample together with its block."""

    @property
    def _raw_memory_usage(self) -> int:
        size: int = self._forest._raw_memory_usage
        return size


class _LabelReplay(_Replay, base.Classifier):
    pass


class _NumberReplay(_Replay, base.Regressor):
    pass


class _WithIntervals(_NumberReplay):
    """A regressor that predicts intervals."""

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        return self._forest.predict_one(x, with_interval=True, **kwargs)

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        self._forest.learn_one(x, y, **kwargs)
