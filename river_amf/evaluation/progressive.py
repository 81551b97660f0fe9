"""Progressive validation as in river, and block by block for dataframes.

`progressive_val_score` and `iter_progressive_val_score` accept everything that river's functions of
the same names accept, and dataframes too. A forest processes a dataframe in blocks of rows: each
row is still predicted before it is learned, and every value equals that of river's loop, also where
labels come late (see `delays`). Everything else is passed on to river.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, evaluate, metrics

from river_amf.evaluation import delays
from river_amf.evaluation.blocks import Blocks, blocks_of
from river_amf.evaluation.delays import Delay, Moment, Session
from river_amf.evaluation.rows import Table, iter_samples, read_table
from river_amf.evaluation.sources import load_for
from river_amf.frames import read_frame, read_weights
from river_amf.rows import renumbered

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
        sample weights, both of
        shape (n_samples,), as series, arrays or lists, where X may also be a series of texts for a
        pipeline that reads them (a sample of a sparse matrix has the features stored for it, of
        which columns are the names); or anything that river accepts, such as an
        iterable of pairs `(x, y)` or triples `(x, y, {"w": w})`; or the name of a stream or the
        path of a file, as in `load_stream`.
    model
        The model to evaluate. It learns the samples.
    metric
        The metric to update; it may be a sum of metrics or a rolling metric.
    moment
        As in river: the feature, or a function of the features, that gives the time of a sample.
        By default, the time is the number of the sample.
    delay
        As in river: how long after its features the label of a sample becomes known, as a number, a
        timedelta, the name of a feature or a function of the features and the label. The sample is
        predicted at once; it is scored and learned when its label is known, or at the end of the
        stream. By default, that is right after the prediction.
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
        If a dataframe has no feature besides the target, or if the model is no regressor and the
        column is hardly one of labels, as it has fractions or more than 200 distinct numbers in its
        first 1000 rows (pass `(X, y)` if it is); if the lengths of X, y and w differ, or if the
        metric does not suit the model. For an invalid row, the model's own error is raised before
        any row of its block is learned.

    Notes
    -----
    With a delay, the order of questions and answers is that of `river.stream.simulate_qa`. A label
    that is None never comes: as in river, its sample is not learned (and the stream is processed
    sample by sample).

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

    With labels that come a thousand samples late:

    >>> late = progressive_val_score(frame, AMFClassifier(seed=1), metrics.Accuracy(), delay=1000)
    >>> late.get() < metric.get()
    True

    Numbers are predicted by a regressor:

    >>> from river_amf import AMFRegressor
    >>> frame = pd.DataFrame([{**x, "target": y} for x, y in datasets.TrumpApproval()])
    >>> progressive_val_score(frame, AMFRegressor(seed=1), metrics.MAE()).get() < 1.0
    True

    """
    step = print_every if show_time or show_memory else 0
    stream, model, times = _prepare(dataset, model, metric, delays.Times(moment, delay), step or 0)
    return evaluate.progressive_val_score(
        stream,
        model,
        metric,
        **times._asdict(),
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
    stream, model, times = _prepare(dataset, model, metric, delays.Times(moment, delay), step or 0)
    yield from evaluate.iter_progressive_val_score(
        stream,
        model,
        metric,
        **times._asdict(),
        step=step,
        measure_time=measure_time,
        measure_memory=measure_memory,
        yield_predictions=yield_predictions,
    )


def _prepare(
    dataset: Any, model: Any, metric: Any, times: delays.Times, step: int
) -> tuple[Iterable[Any], Any, delays.Times]:
    """Return the stream, model and times for river's loop, which inspects the model at each step.

    A step of 0 means never. If the metric does not suit the model, it is river that raises.
    """
    is_of_numbers = isinstance(model, base.Regressor)
    if isinstance(dataset, str | Path):
        dataset = load_for(dataset, model)
    table = read_table(dataset, asks=not is_of_numbers)
    if table is None:
        return iter_samples(dataset), model, times
    is_worth_it = not 0 < step < _LEAST_STEP
    blocks = blocks_of(model, metric) if is_worth_it and metric.works_with(model) else None
    if blocks is None:
        return table.samples(), model, times
    if times == delays.IN_ORDER:
        return _answers(table, blocks, step), blocks.replay, times
    labels = table.labels()
    if any(label is None for label in labels):  # river takes it for a question
        return table.samples(), model, times
    sessions = delays.sessions(table.samples, len(table), times, step, _BLOCK_ROWS)
    return _late_answers(table, labels, blocks, sessions), blocks.replay, delays.IN_ORDER


def _answers(table: Table, blocks: Blocks, step: int) -> Iterator[tuple[Any, Any]]:
    """Run a forest block by block; yield its prediction for each row, and the row's label."""
    # Blocks end at multiples of the step, where river's loop inspects the model: it must not have
    # learned any row beyond.
    start = 0
    for block in table.blocks(_BLOCK_ROWS, step):
        with _naming(range(start, start + len(block))):
            predictions = blocks.learn(*block.native())
        yield from zip(predictions, block.labels(), strict=True)
        start += len(block)


def _late_answers(
    table: Table, labels: list[Any], blocks: Blocks, sessions: Iterable[Session]
) -> Iterator[tuple[Any, Any]]:
    """Run a forest session by session; yield the prediction for each row once it is answered."""
    waiting: dict[int, Any] = {}  # the predictions for rows without an answer
    for session in sessions:
        rows, is_answer = session
        with _naming(rows):
            predictions = _run(table, blocks, session)
        waiting.update(zip(rows[~is_answer].tolist(), predictions, strict=True))
        for row in rows[is_answer].tolist():
            yield waiting.pop(row), labels[row]


def _run(table: Table, blocks: Blocks, session: Session) -> Iterable[Any]:
    """Let a forest predict the questions of a session, and learn its answers."""
    # An event is a row of a block in which rows of weight 0 are predicted, but not learned. The
    # predictions for answers, which nobody needs, cost less than many short blocks would.
    rows, is_answer = session
    if not is_answer.any():
        return blocks.ask(read_frame(table.X[rows]))
    # The labels of questions are not known yet, and of no account: they get that of an answer.
    known = np.where(is_answer, rows, rows[is_answer.argmax()])
    X, y, w = table.taken(rows, known).native()
    weights = np.where(is_answer, read_weights(w, len(rows)), 0.0)
    return blocks.learn(X, y, weights, ~is_answer)


@contextmanager
def _naming(rows: Sequence[int] | NDArray[np.int64]) -> Iterator[None]:
    """Let errors name the row of the dataset rather than that of a block of these rows."""
    try:
        yield
    except (TypeError, ValueError) as error:
        named = renumbered(error, rows)
        raise named from named.__cause__
