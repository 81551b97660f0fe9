"""Histories along a stream: of accuracy and drift, of the depth of trees, and of intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from river import base, compose
from river.conf import Interval

from river_amf.classifier import AMFClassifier
from river_amf.evaluation import prequential
from river_amf.evaluation.prequential import OnPrediction, TestThenTrain, has_intervals, last_step
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.sources import iter_source
from river_amf.evaluation.tasks import CLASSIFICATION, of_model
from river_amf.inputs.kinds import shown
from river_amf.inspection import feature_relevance, weighted_depth
from river_amf.parameters import integer
from river_amf.regressor import AMFRegressor, check_level

COLUMNS = ("target", "prediction", "lower", "upper")  # of a history of intervals


@dataclass(frozen=True, eq=False)
class DriftHistory:
    """Accuracy, or error, and drift indicators of a forest along a stream, from `drift_history`.

    Both tables are indexed by `n_samples`, the number of samples learned at each checkpoint.

    Parameters
    ----------
    curve
        DataFrame of shape (n_checkpoints, 2). Column `accuracy`, or of a regressor `MAE`, is over
        the samples since the previous checkpoint; `fading_share` is the model's at the checkpoint,
        NaN if it does not fade.
    relevance
        DataFrame of shape (n_checkpoints, n_features), with the features in order of first
        appearance: `inspection.feature_relevance` at the checkpoint, NaN for features that had not
        appeared yet. It has no columns if the model does not track relevance.

    Examples
    --------
    >>> from river_amf import AdaptiveAMFClassifier, evaluation
    >>> stream = evaluation.load_stream("Phishing", limit=400)
    >>> history = evaluation.drift_history(stream, AdaptiveAMFClassifier(seed=1), every=200)
    >>> history.curve.shape, history.relevance.shape
    ((2, 2), (2, 9))
    """

    curve: pd.DataFrame
    relevance: pd.DataFrame


def drift_history(samples: Any, model: base.Estimator, every: int = 200) -> DriftHistory:
    """Run a forest over a stream, test-then-train, and record how it responds to drift.

    `plot.drift` draws the result.

    Parameters
    ----------
    samples
        A stream as in `compare`. It must be finite; take as many samples as you need from an
        endless river generator, as in `SEA().take(10_000)`.
    model
        A forest, or a river pipeline that ends in one (otherwise TypeError). It learns the stream;
        a sample that it rejects raises EvaluationError.
    every
        Number of samples between checkpoints. The end of the stream is always a checkpoint.

    Examples
    --------
    The label of this stream depends first on size and color, then on color and shape:

    >>> from river_amf import AdaptiveAMFClassifier, evaluation
    >>> stream = evaluation.STREAMS["stagger_abrupt"]
    >>> model = AdaptiveAMFClassifier(n_estimators=3, seed=1)
    >>> history = evaluation.drift_history(stream.take(8000), model, every=1000)
    >>> bool(history.curve["fading_share"][5000] < 0.1 < history.curve["fading_share"][8000])
    True
    >>> history.relevance.loc[[5000, 8000]] > 0.1
               color  shape   size
    n_samples
    5000        True  False   True
    8000        True   True  False
    """
    forest = _last_forest(model)
    measure, metric = next(iter((of_model(model) or CLASSIFICATION).windowed.items()))
    scores = Scores({}, {measure: metric()})
    curve: list[tuple[float, float]] = []
    relevance: list[pd.Series] = []

    def take_stock() -> None:
        curve.append((scores.window()[measure], forest.fading_share))
        if forest.split_intensity == "relevance":
            relevance.append(feature_relevance(forest))

    index = _run(samples, model, every, take_stock, scores)
    columns = [measure, "fading_share"]
    return DriftHistory(
        pd.DataFrame(curve, index, columns, dtype=np.float64), relevance_table(index, relevance)
    )


def depth_history(samples: Any, model: base.Estimator, every: int = 200) -> pd.DataFrame:
    """Run a forest over a stream, test-then-train, and record how deep its trees predict.

    The weighted depth of a prediction is the mean depth of the nodes on its path, each weighted by
    its mass in the prediction (`inspection.weighted_depth`).

    Parameters
    ----------
    samples, model, every
        As in `drift_history`.

    Returns
    -------
    DataFrame
        Indexed by `n_samples`, with one column per `tree`: the mean weighted depth of its
        predictions for the samples since the previous checkpoint, each made before the sample was
        learned. NaN if it made none. `plot.weighted_depth` draws it.

    Examples
    --------
    >>> from river_amf import AMFClassifier, evaluation
    >>> stream = evaluation.load_stream("Bananas", limit=1000)
    >>> history = evaluation.depth_history(stream, AMFClassifier(n_estimators=2, seed=1), every=500)
    >>> history.index.tolist(), history.columns.tolist()
    ([500, 1000], [0, 1])
    >>> bool((history.loc[500] < history.loc[1000]).all())
    True
    """
    forest = _last_forest(model)
    depths: list[Any] = []
    means: list[Any] = []

    def measure(n: int, x: Any, *_: Any) -> None:
        depths.append(weighted_depth(forest, as_seen(model, x)))

    def take_stock() -> None:
        means.append(pd.DataFrame(depths).mean().to_numpy())
        depths.clear()

    index = _run(samples, model, every, take_stock, Scores({}), measure)
    columns = pd.RangeIndex(forest.n_estimators, name="tree")
    return pd.DataFrame(np.reshape(means, (len(index), len(columns))), index, columns)


def interval_history(
    samples: Any, model: base.Regressor, level: float | None = None
) -> pd.DataFrame:
    """Run a regressor over a stream, test-then-train, and record its predictions and intervals.

    Parameters
    ----------
    samples
        A finite stream, as in `drift_history`.
    model
        A forest for regression, or a regressor of river that gives intervals if it is asked for a
        prediction `with_interval=True`, such as `river.conf.RegressionJackknife`; or a pipeline
        that ends in one. It learns the stream. TypeError if it gives no intervals.
    level
        Share of the targets that are to be in their intervals, strictly between 0 and 1. By default
        that of the model itself, which is 0.9 for a forest. Only forests can be asked for another.

    Returns
    -------
    DataFrame
        A row for each sample, indexed by `sample`, its number from 1, with the `target`, the
        `prediction` from before it was learned, and the ends of its interval, `lower` and `upper`.
        The prediction is NaN where there was none. `plot.intervals` draws all rows or some of them.

    Examples
    --------
    >>> from river import conf, linear_model, preprocessing
    >>> from river_amf import evaluation
    >>> line = preprocessing.StandardScaler() | linear_model.LinearRegression()
    >>> model = conf.RegressionJackknife(line, confidence_level=0.9)
    >>> history = evaluation.interval_history("TrumpApproval", model)
    >>> late = history.loc[501:]
    >>> bool(late["target"].between(late["lower"], late["upper"]).mean() > 0.8)
    True
    """
    interval_of = intervals_of(model, level)
    rows: list[tuple[Any, ...]] = []

    def note(n: int, x: Any, y: Any, answer: prequential.Answer) -> None:
        interval = answer.beside if level is None else prequential.timed(n, interval_of, x)[0]
        number = math.nan if answer.prediction is None else answer.prediction
        rows.append((y, number, interval.lower, interval.upper))

    _run(samples, model, 1, lambda: None, Scores({}), note)
    index = pd.RangeIndex(1, len(rows) + 1, name="sample")
    return pd.DataFrame(rows, index, [*COLUMNS], dtype="float64")


def intervals_of(model: Any, level: float | None) -> Callable[[Any], Interval]:
    """Return a function from features to the model's interval, or raise."""
    if not has_intervals(model):
        raise TypeError(
            "model must give intervals, as a forest for regression or river's"
            f" conf.RegressionJackknife around a regressor, got {shown(model)}"
        )
    if level is None:
        # river's pipelines pass the argument on
        return lambda x: model.predict_one(x, with_interval=True)
    last = last_step(model)
    if not hasattr(last, "predict_interval_one"):
        raise TypeError(
            f"level must be None for {type(last).__name__}, which has a level of its own; only"
            " forests give intervals of any level"
        )
    check_level("level", level)
    return lambda x: last.predict_interval_one(as_seen(model, x), level)


def _run(
    samples: Any,
    model: Any,
    every: int,
    take_stock: Callable[[], None],
    scores: Scores,
    on_prediction: OnPrediction | None = None,
) -> pd.Index:
    """Run a model, take stock at each checkpoint, and return where these were."""
    integer(1)("every", every)
    places: list[int] = []
    loop = TestThenTrain(model, scores, on_prediction)
    for n_samples in loop.run(iter_source(samples, model), prequential.every(every)):
        places.append(n_samples)
        take_stock()
    return pd.Index(places, dtype=np.int64, name="n_samples")


def as_seen(model: Any, x: Any) -> Any:
    """Return a sample as it reaches the forest at the end of a pipeline."""
    while isinstance(model, compose.Pipeline):
        x = model.transform_one(x)
        model = next(reversed(model.steps.values()))
    return x


def _last_forest(model: Any) -> AMFClassifier | AMFRegressor:
    """Return the model if it is a forest, or the forest at the end of a pipeline."""
    last = last_step(model)
    if not isinstance(last, AMFClassifier | AMFRegressor):
        raise TypeError(
            f"model must be a forest, or a pipeline that ends in one, got {shown(model)}"
        )
    return last


def relevance_table(index: pd.Index, relevance: Sequence[pd.Series]) -> pd.DataFrame:
    """Return the relevances as rows, NaN for features that appear only later."""
    names = relevance[-1].index if relevance else pd.Index([], dtype=object)
    table = np.full((len(index), len(names)), math.nan)
    for row, known in zip(table, relevance, strict=False):
        row[: len(known)] = known  # new features are appended
    return pd.DataFrame(table, index, names)
