"""How the permutation importance of features changes along a stream."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from river import base

from river_amf.evaluation import prequential
from river_amf.evaluation.prequential import TestThenTrain
from river_amf.evaluation.scores import Scores
from river_amf.evaluation.sources import iter_source
from river_amf.inspection import PermutationImportance
from river_amf.parameters import integer


def importance_history(
    samples: Any,
    model: base.Classifier | base.Regressor,
    every: int = 200,
    loss: str | None = None,
    *,
    n_latest: int = 100,
    stride: int = 1,
    seed: int | None = None,
) -> pd.DataFrame:
    """Run a model over a stream, test-then-train, and record what each feature is worth.

    The importance of a feature is the mean growth of the loss if its value is replaced by that of
    an earlier sample (`inspection.PermutationImportance`). Each measurement takes a prediction per
    feature, and leaves the model as it is.

    Parameters
    ----------
    samples
        A finite stream, as in `drift_history`.
    model
        Any river classifier or regressor, such as a forest or a pipeline. It learns the stream.
    every
        Number of samples between checkpoints. The end of the stream is always a checkpoint.
    loss, n_latest, stride, seed
        As in `inspection.PermutationImportance`.

    Returns
    -------
    DataFrame
        Of shape (n_checkpoints, n_features), indexed by `n_samples`, with one column per `feature`,
        in order of first appearance: the mean growth of the loss over the samples since the
        previous checkpoint, NaN where nothing was measured. `plot.importance_history` draws it.

    Raises
    ------
    TypeError
        If the model is neither a classifier nor a regressor.
    ValueError
        If `loss` is not one for such a model, or one of the numbers is not an integer >= 1.
    EvaluationError
        If a sample is not a pair, or the model rejects it.

    Examples
    --------
    The label of this stream depends first on size and color, then on color and shape:

    >>> from river_amf import AdaptiveAMFClassifier, evaluation
    >>> stream = evaluation.STREAMS["stagger_abrupt"]
    >>> model = AdaptiveAMFClassifier(n_estimators=3, seed=1)
    >>> history = evaluation.importance_history(stream.take(7000), model, 1000, stride=5, seed=1)
    >>> history.loc[[5000, 7000]] > 0.2
    feature    size  color  shape
    n_samples
    5000       True   True  False
    7000      False   True   True
    """
    integer(1)("every", every)
    importance = PermutationImportance(model, loss, n_latest=n_latest, stride=stride, seed=seed)

    def measure(n: int, x: Any, y: Any, *said: Any) -> None:
        importance.update(x, y)

    loop = TestThenTrain(model, Scores({}), on_prediction=measure)
    places: list[int] = []
    rows: list[pd.Series] = []
    for n_samples in loop.run(iter_source(samples, model), prequential.every(every)):
        places.append(n_samples)
        rows.append(importance.get())
        importance._forget()
    index = pd.Index(places, dtype=np.int64, name="n_samples")
    columns = rows[-1].index if rows else pd.Index([], dtype=object)
    table = np.full((len(index), len(columns)), math.nan)
    for row, known in zip(table, rows, strict=True):
        row[: len(known)] = known  # new features are appended
    return pd.DataFrame(table, index, columns.rename("feature"))
