"""How a forest changes along a stream: accuracy or error, drift indicators and depth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from river import base, compose

from river_amf.classifier import AMFClassifier
from river_amf.evaluation import prequential
from river_amf.evaluation.interval_metrics import last_step
from river_amf.evaluation.prequential import TestThenTrain
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.sources import iter_source
from river_amf.evaluation.tasks import CLASSIFICATION, of_model
from river_amf.inspection import feature_relevance, weighted_depth
from river_amf.kinds import shown
from river_amf.parameters import integer
from river_amf.regressor import AMFRegressor


@dataclass(frozen=True, eq=False)
class DriftHistory:
    """Accuracy, or error, and drift indicators of a forest along a stream, from `drift_history`.

    Both tables are indexed by `n_samples`, the number of samples learned at each checkpoint.

    Parameters
    ----------
    curve
        DataFrame of shape (n_checkpoints, 2). Column `accuracy` is the accuracy, from 0 to 1, over
        the samples since the previous checkpoint; of a regressor it is `MAE`, the mean absolute
        error. Column `fading_share` is the model's
        `fading_share` at the checkpoint, NaN if the model does not fade.
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

    Parameters
    ----------
    samples
        A stream as in `compare`: a `Stream`, its name, the path of a file, a dataframe, a tuple
        `(X, y)`, a river dataset, or any iterable of pairs (features, label). It must be finite;
        take as many samples as you need from an endless river generator, as in
        `SEA().take(10_000)`.
    model
        A forest, or a river pipeline that ends in one. It learns the stream.
    every
        Number of samples between checkpoints. The end of the stream is always a checkpoint.

    Returns
    -------
    DriftHistory
        The accuracy (or error), the fading share and the relevance of each feature at the
        checkpoints. `plot.drift` draws them.

    Raises
    ------
    TypeError
        If the model is not a forest and does not end in one.
    ValueError
        If `every` is not an integer >= 1.
    EvaluationError
        If there is no such stream, a sample is not a pair, or the model rejects it.

    Examples
    --------
    The label of this stream depends first on size and color, then on color and shape:

    >>> from river_amf import AdaptiveAMFClassifier, evaluation
    >>> stream = evaluation.STREAMS["stagger_abrupt"]
    >>> stream.drifts
    (5000, 10000)
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
    integer(1)("every", every)
    forest = _last_forest(model)
    measure, metric = next(iter((of_model(model) or CLASSIFICATION).windowed.items()))
    scores = Scores({}, {measure: metric()})
    loop = TestThenTrain(model, scores)
    places: list[int] = []
    curve: list[tuple[float, float]] = []
    relevance: list[pd.Series] = []
    for n_samples in loop.run(iter_source(samples, model), prequential.every(every)):
        places.append(n_samples)
        curve.append((scores.window()[measure], forest.fading_share))
        if forest.split_intensity == "relevance":
            relevance.append(feature_relevance(forest))
    index = pd.Index(places, dtype=np.int64, name="n_samples")
    columns = [measure, "fading_share"]
    return DriftHistory(
        pd.DataFrame(curve, index, columns, dtype=np.float64), relevance_table(index, relevance)
    )


def depth_history(samples: Any, model: base.Estimator, every: int = 200) -> pd.DataFrame:
    """Run a forest over a stream, test-then-train, and record how deep its trees predict.

    The weighted depth of a prediction is the mean depth of the nodes on its path, each weighted by
    its mass in the prediction (`inspection.weighted_depth`). A tree that has grown deeper than its
    samples justify predicts mostly with nodes near its root: aggregation finds the right depth by
    itself.

    Parameters
    ----------
    samples
        A finite stream, as in `drift_history`.
    model
        A forest, or a river pipeline that ends in one. It learns the stream.
    every
        Number of samples between checkpoints. The end of the stream is always a checkpoint.

    Returns
    -------
    DataFrame
        Of shape (n_checkpoints, n_estimators), indexed by `n_samples`, with one column per `tree`:
        the mean weighted depth of its predictions for the samples since the previous checkpoint,
        each made before the sample was learned. NaN if it made none. `plot.weighted_depth` draws
        it.

    Raises
    ------
    TypeError
        If the model is not a forest and does not end in one.
    ValueError
        If `every` is not an integer >= 1.
    EvaluationError
        If there is no such stream, a sample is not a pair, or the model rejects it.

    Examples
    --------
    >>> from river_amf import AMFClassifier, evaluation
    >>> stream = evaluation.load_stream("Bananas", limit=1000)
    >>> history = evaluation.depth_history(stream, AMFClassifier(n_estimators=2, seed=1), every=500)
    >>> history.index.tolist(), history.columns.tolist()
    ([500, 1000], [0, 1])
    >>> bool((history.loc[500] < history.loc[1000]).all())
    True

    References
    ----------
    Mourtada, J., Gaïffas, S., & Scornet, E. (2021). AMF: Aggregated Mondrian Forests for online
    learning. Journal of the Royal Statistical Society Series B, 83(3), 505-533.
    """
    integer(1)("every", every)
    forest = _last_forest(model)
    depths: list[Any] = []

    def measure(n: int, x: Any, *said: Any) -> None:
        depths.append(weighted_depth(forest, as_seen(model, x)))

    loop = TestThenTrain(model, Scores({}), on_prediction=measure)
    places: list[int] = []
    rows: list[Any] = []
    for n_samples in loop.run(iter_source(samples, model), prequential.every(every)):
        places.append(n_samples)
        rows.append(pd.DataFrame(depths).mean().to_numpy())
        depths.clear()
    index = pd.Index(places, dtype=np.int64, name="n_samples")
    columns = pd.RangeIndex(forest.n_estimators, name="tree")
    return pd.DataFrame(np.reshape(rows, (len(index), len(columns))), index, columns)


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
