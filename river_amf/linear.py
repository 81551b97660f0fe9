"""The weights of the linear models in the vote, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from river_amf import trends, voices
from river_amf.forest import Forest, forest_of
from river_amf.layout import REGRESSION
from river_amf.settings import n_voices_of

_COLUMNS = ("voice", "feature", "category", "label", "weight")


def linear_weights(model: Any) -> pd.DataFrame:
    """Return the weights of the linear models that are heard beside the trees.

    Of a classifier these are the models of a learned vote. A model gives each label the score sum
    of weight times input, and its probabilities are the softmax of the scores. So weights tell by
    their differences between labels. They are there for the models that hear features, not for
    those that hear random cosines of them.

    Of a regressor they are the two ridge regressions of the trend. The prediction of each is the
    sum of weight times input, within the range of the targets so far.

    Parameters
    ----------
    model
        A forest with linear models, or a fitted estimator of `river_amf.sklearn` with one.

    Returns
    -------
    DataFrame of shape (n_weights, n_columns)
        Of a classifier, one row for each input and label (none before the first sample), with these
        columns:

        - `voice`: the model, `"logistic"`, or `"words"` with `absent="zero"`.
        - `feature`: name of the feature; None for the constant input 1, which comes first.
        - `category`: the category whose input is 1 if the sample has it, else 0; None for a
          number. Beyond 64 categories, some of a feature share their weights.
        - `label`: one of the labels seen so far.
        - `weight`: what one unit of the input adds to the label's score. The unit of a number is
          its standard deviation over about 1000 samples (`"logistic"`, where it is counted from the
          mean), or the root mean square of its values other than 0 (`"words"`).

        Of a regressor, one row for each input, with these columns:

        - `voice`: `"fast"`, which looks back about a hundred samples, or `"smooth"`, which looks
          back about five thousand and hears random cosines of the numbers, too.
        - `feature`: as above.
        - `input`: `"value"`, whose unit is the standard deviation of the feature over about 1000
          samples, counted from its mean; `"profile"`, the mean target at such values of the
          feature, minus that of all targets, in their standard deviations; None for the constant.
        - `weight`: what one unit of the input adds to the prediction, in the unit of the target.

        Inputs are in the order of their first appearance.

    Raises
    ------
    TypeError
        If the model is not a forest.
    ValueError
        If the forest has no linear models or trend.

    Examples
    --------
    >>> import random
    >>> from river_amf import AdaptiveAMFClassifier, inspection
    >>> model, rng = AdaptiveAMFClassifier(seed=1), random.Random(1)
    >>> for _ in range(300):
    ...     x = {"price": rng.gauss(10, 3), "color": rng.choice(["red", "tan"])}
    ...     model.learn_one(x, "bought" if x["price"] < 10 else "left")
    >>> table = inspection.linear_weights(model)
    >>> table[["voice", "feature", "category", "label"]]
          voice feature category   label
    0  logistic    None     None    left
    1  logistic    None     None  bought
    2  logistic   color      red    left
    3  logistic   color      red  bought
    4  logistic   color      tan    left
    5  logistic   color      tan  bought
    6  logistic   price     None    left
    7  logistic   price     None  bought
    >>> weights = table[table.feature == "price"].set_index("label").weight
    >>> bool(weights["bought"] < -1 and weights["left"] > 1)
    True
    """
    forest = forest_of(model)
    if forest.task == REGRESSION:
        if forest.trend is None:
            raise ValueError(
                "model has trend=None, but only a regressor with a trend, such as "
                "AdaptiveAMFRegressor, has weights of its linear models"
            )
        return forest._read(_weights_of_trends, forest)
    if n_voices_of(forest) == 0:
        raise ValueError(
            f"model has linear={forest.linear!r} and vote={forest.vote!r}, but only a forest with "
            "linear models in a learned vote, such as AdaptiveAMFClassifier, has their weights"
        )
    return forest._read(_linear_weights, forest)


def _weights_of_trends(forest: Forest) -> pd.DataFrame:
    arena = forest._arena
    inputs = [] if arena is None else list(trends.inputs(arena, forest._features))
    origin = 0.0 if arena is None else forest._labels.origin
    weights = [each.weight + origin * (each.feature is None) for each in inputs]
    columns = {
        "voice": pd.Series([each.trend for each in inputs], dtype=object),
        "feature": pd.Series([each.feature for each in inputs], dtype=object),
        "input": pd.Series([each.kind for each in inputs], dtype=object),
        "weight": pd.Series(weights, dtype=np.float64),
    }
    return pd.DataFrame(columns)


def _linear_weights(forest: Forest) -> pd.DataFrame:
    arena, labels = forest._arena, list(forest._labels)
    inputs = [] if arena is None else list(voices.inputs(arena, forest._features))
    repeated = {
        "voice": [source.voice for source in inputs for _ in labels],
        "feature": [source.feature for source in inputs for _ in labels],
        "category": [source.category for source in inputs for _ in labels],
        "label": labels * len(inputs),
    }
    columns = {name: pd.Series(values, dtype=object) for name, values in repeated.items()}
    weights = [source.weights for source in inputs]
    columns["weight"] = pd.Series(np.concatenate([np.empty(0), *weights]))
    return pd.DataFrame({name: columns[name] for name in _COLUMNS})
