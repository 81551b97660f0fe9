"""The weights of the linear models in the vote, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from river_amf.engine.settings import has_linear_models
from river_amf.explain import linear_experts, trend_experts
from river_amf.explain.linear_experts import ExpertOutputs
from river_amf.explain.trees import forest_of
from river_amf.state.layout import REGRESSION


def linear_weights(model: Any) -> pd.DataFrame:
    """Return the weights of the linear models beside the trees.

    Of a classifier these are the models of a learned vote. A model gives each label the score sum
    of weight times input, and its probabilities are the softmax of the scores. So weights matter by
    their differences between labels. They are there for the models that take features, not for
    those that take random Fourier features of them.

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

        - `linear_model`: the model, `"logistic"`, or `"words"` with `absent="zero"`.
        - `feature`: name of the feature; None for the constant input 1, which comes first.
        - `category`: the category whose input is 1 if the sample has it, else 0, `"(missing)"`
          where it has none; None for a number.
        - `label`: one of the labels seen so far.
        - `weight`: what one unit of the input adds to the label's score. The unit of a number is
          its standard deviation over about 1000 samples (`"logistic"`, where it is counted from the
          mean), or the root mean square of its values other than 0 (`"words"`).

        Of a regressor, one row for each input, with these columns:

        - `linear_model`: `"fast"`, which looks back about a hundred samples, or `"smooth"`, which
          looks back about five thousand and takes random Fourier features, too.
        - `feature`: as above.
        - `input`: `"value"`, whose unit is the standard deviation of the feature over about 1000
          samples, counted from its mean; `"profile"`, the mean target at such values of the
          feature, minus that of all targets, in their standard deviations; None for the constant.
        - `weight`: what one unit of the input adds to the prediction, in the unit of the target.

        Inputs are in the order of their first appearance.

    Raises
    ------
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
    >>> table[["linear_model", "feature", "category", "label"]]
      linear_model feature category   label
    0      logistic    None     None    left
    1      logistic    None     None  bought
    2      logistic   color      red    left
    3      logistic   color      red  bought
    4      logistic   color      tan    left
    5      logistic   color      tan  bought
    6      logistic   price     None    left
    7      logistic   price     None  bought
    >>> weights = table[table.feature == "price"].set_index("label").weight
    >>> bool(weights["bought"] < -1 and weights["left"] > 1)
    True
    """
    forest = forest_of(model)
    if not has_linear_models(forest):
        raise ValueError(
            f"model has linear={forest.linear!r} and vote={forest.vote!r}, but only a forest with "
            "linear models in a learned vote, such as an AdaptiveAMF*, has their weights"
        )
    table: pd.DataFrame = forest._read(weights_of, forest)
    return table.drop(columns="value")


def weights_of(forest: Any, outputs: ExpertOutputs | None = None) -> pd.DataFrame:
    """Return the table of `linear_weights`, with the values of the inputs in a sample beside."""
    arena, labels, is_regressor = forest._arena, forest._labels, forest.task == REGRESSION
    inputs = trend_experts.inputs if is_regressor else linear_experts.inputs
    rows: list[tuple[Any, ...]] = []
    for each in [] if arena is None else inputs(arena, forest._features, outputs):
        if not is_regressor:
            pairs = zip(labels, each.weight, strict=False)
            rows += [(*each[:3], label, weight, each.value) for label, weight in pairs]
        elif each.feature is None and each.part is None:
            rows.append((*each[:3], each.weight + labels.origin, each.value))
        else:
            rows.append(each)
    parts = ["input"] if is_regressor else ["category", "label"]
    columns = ["linear_model", "feature", *parts, "weight", "value"]
    numbers = {"weight": np.float64, "value": np.float64}
    return pd.DataFrame(rows, columns=columns, dtype=object).astype(numbers)
