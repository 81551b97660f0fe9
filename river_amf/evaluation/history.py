"""What a forest went through along a stream."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from river import base, compose
from river.metrics import Accuracy

from river_amf.encoding import shown
from river_amf.evaluation import prequential
from river_amf.evaluation.prequential import TestThenTrain
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.streams import Sample, check_pairs
from river_amf.forest import AMFClassifier
from river_amf.inspection import feature_relevance, weighted_depth
from river_amf.parameters import integer


@dataclass(frozen=True, eq=False)
class DriftHistory:
    """How a forest fared along a stream, by the number of samples learnt (`drift_history`).

    Parameters
    ----------
    curve
        A row per checkpoint, with the columns `accuracy`, over the samples since the checkpoint
        before, and `fading_share`, that of the model then; NaN if it does not fade.
    relevance
        A row per checkpoint, with a column for each feature, in order of first appearance: its
        `inspection.feature_relevance`; NaN before it appeared. Without columns if the model keeps
        none.

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


def drift_history(
    samples: Iterable[Sample], model: base.Classifier, every: int = 200
) -> DriftHistory:
    """Run a forest over a stream, test-then-train, and record what drift does to it.

    Parameters
    ----------
    samples
        A `Stream`, a data set of river, or any pairs of features and label. It must end: of an
        endless generator of river take as many as there shall be, `SEA().take(10_000)`.
    model
        A forest, or a pipeline of river that ends in one; it learns.
    every
        Number of samples between two checkpoints; there is one at the end too.

    Returns
    -------
    The accuracy, the share of the faded counts and the relevance of each feature at the
    checkpoints. `plot.drift` draws them.

    Raises
    ------
    TypeError
        If the model is, or ends in, no forest.
    ValueError
        If `every` is no whole number from 1.
    EvaluationError
        If a sample is no pair, or the model refuses it.

    Examples
    --------
    The label of this stream depends on size and color first, then on color and shape:

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
    scores = Scores({}, {"accuracy": Accuracy()})  # type: ignore[no-untyped-call]
    loop = TestThenTrain(model, scores)
    places: list[int] = []
    curve: list[tuple[float, float]] = []
    relevance: list[pd.Series] = []
    for n_samples in loop.run(check_pairs(samples), prequential.every(every)):
        places.append(n_samples)
        curve.append((scores.window()["accuracy"], forest.fading_share))
        if forest.split_intensity == "relevance":
            relevance.append(feature_relevance(forest))
    index = pd.Index(places, dtype=np.int64, name="n_samples")
    columns = ["accuracy", "fading_share"]
    return DriftHistory(
        pd.DataFrame(curve, index, columns, dtype=np.float64), _relevance_table(index, relevance)
    )


def depth_history(
    samples: Iterable[Sample], model: base.Classifier, every: int = 200
) -> pd.DataFrame:
    """Run a forest over a stream, test-then-train, and record how deep its trees predict.

    The weighted depth of a prediction is the mean depth of the nodes on its path, by the mass that
    each takes (`inspection.weighted_depth`). A tree that is grown deeper than what it has seen can
    support predicts by nodes near its root: aggregation finds the depth by itself.

    Parameters
    ----------
    samples
        As in `drift_history`.
    model
        A forest, or a pipeline of river that ends in one; it learns.
    every
        Number of samples between two checkpoints; there is one at the end too.

    Returns
    -------
    Dataframe with a row per checkpoint, by `n_samples`, and a column for each `tree`: its mean
    weighted depth for the samples since the checkpoint before, each as it was predicted before it
    was learnt. NaN where none was predicted. `plot.weighted_depth` draws it.

    Raises
    ------
    TypeError
        If the model is, or ends in, no forest.
    ValueError
        If `every` is no whole number from 1.
    EvaluationError
        If a sample is no pair, or the model refuses it.

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
        depths.append(weighted_depth(forest, _as_seen(model, x)))

    loop = TestThenTrain(model, Scores({}), on_prediction=measure)
    places: list[int] = []
    rows: list[Any] = []
    for n_samples in loop.run(check_pairs(samples), prequential.every(every)):
        places.append(n_samples)
        rows.append(pd.DataFrame(depths).mean().to_numpy())
        depths.clear()
    index = pd.Index(places, dtype=np.int64, name="n_samples")
    columns = pd.RangeIndex(forest.n_estimators, name="tree")
    return pd.DataFrame(np.reshape(rows, (len(index), len(columns))), index, columns)


def _as_seen(model: Any, x: Any) -> Any:
    """Return a sample as the forest sees it in which a pipeline ends."""
    while isinstance(model, compose.Pipeline):
        x = model.transform_one(x)
        model = next(reversed(model.steps.values()))
    return x


def _last_forest(model: Any) -> AMFClassifier:
    """Return the forest that the model is, or in which the pipeline ends."""
    last = model
    while isinstance(last, compose.Pipeline):
        last = next(reversed(last.steps.values()), None)
    if not isinstance(last, AMFClassifier):
        raise TypeError(
            f"model must be a forest, or a pipeline that ends in one, got {shown(model)}"
        )
    return last


def _relevance_table(index: pd.Index, relevance: Sequence[pd.Series]) -> pd.DataFrame:
    """Return the relevances as rows; features known later are NaN in the earlier ones."""
    names = relevance[-1].index if relevance else pd.Index([], dtype=object)
    table = np.full((len(index), len(names)), math.nan)
    for row, known in zip(table, relevance, strict=False):
        row[: len(known)] = known  # a new feature is added at the end
    return pd.DataFrame(table, index, names)
