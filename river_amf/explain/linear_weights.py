"""The weights of the linear models in the vote, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from river_amf.explain import linear_experts, trend_experts
from river_amf.explain.linear_experts import ExpertOutputs
from river_amf.explain.trees import forest_of
from river_amf.state.layout import REGRESSION


def linear_weights(model: Any) -> pd.DataFrame:
    """Return the weights of the linear models beside the trees.

    A classifier has linear models in a learned vote. Each gives a label the score sum of weight
    times input, and its probabilities are the softmax of the scores, so weights matter by their
    differences between labels. Models on random Fourier features are left out.

    A regressor has two ridge regressions in its trend. Each predicts the sum of weight times input,
    within the range of the targets so far.

    Parameters
    ----------
    model
        A forest with linear models, or a fitted estimator of `river_amf.sklearn` with one.

    Returns
    -------
    DataFrame of shape (n_weights, n_columns)
        For a classifier, one row for each input and label (none before the first sample), in order
        of first appearance:

        - `linear_model`: `"logistic"`, or `"words"` with `absent="zero"`.
        - `feature`: name of the feature; None for the constant input 1, which comes first.
        - `category`: the category whose input is 1 if the sample has it, else 0, `"(missing)"` for
          none; None for a number.
        - `label`: one of the labels seen so far.
        - `weight`: change of the label's score by one unit of the input. The unit of a number is
          its standard deviation over about 1000 samples, from its mean (`"logistic"`), or the root
          mean square of its values other than 0 (`"words"`).

        For a regressor, one row for each input:

        - `linear_model`: `"fast"`, over about a hundred samples, or `"smooth"`, over about five
          thousand, which also takes random Fourier features.
        - `feature`: as above.
        - `input`: `"value"`, in standard deviations of the feature over about 1000 samples, from
          its mean; `"profile"`, the mean target at such values of the feature, minus that of all
          targets, in their standard deviations; None for the constant.
        - `weight`: change of the prediction by one unit of the input, in the unit of the target.

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
    if not (forest.linear and forest.vote == "learned"):
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
    for model, feature, part, weight, value in (
        [] if arena is None else inputs(arena, forest._features, outputs)
    ):
        if is_regressor:
            is_constant = feature is None and part is None
            rows.append((model, feature, part, weight + labels.origin * is_constant, value))
        else:
            pairs = zip(labels, weight, strict=False)
            rows += [(model, feature, part, label, number, value) for label, number in pairs]
    parts = ["input"] if is_regressor else ["category", "label"]
    columns = ["linear_model", "feature", *parts, "weight", "value"]
    numbers = {"weight": np.float64, "value": np.float64}
    return pd.DataFrame(rows, columns=columns, dtype=object).astype(numbers)
