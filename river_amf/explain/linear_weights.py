"""The weights of the linear models in the vote, as a table."""

import itertools
import math
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from river_amf.ensemble import Ensemble, forest_of
from river_amf.explain.experts import ADDITIVE, FAST, SMOOTH, WORDS, vote_weights
from river_amf.kernels import PROFILES
from river_amf.kernels.classification.sparse_model import input_of
from river_amf.kernels.regression.trends import SMOOTH_TERMS
from river_amf.outputs.votes import ExpertOutputs
from river_amf.state.layout import MOST_TERMS, MOST_TREND_FEATURES, REGRESSION, start_of_term

COSINES = "cosines"  # the kind of input that all random Fourier features together are
_value_of = getattr(input_of, "py_func", input_of)  # uncompiled


def linear_weights(model: Any) -> pd.DataFrame:
    """Return the weights of the linear models beside the trees.

    A classifier's probabilities are the softmax of scores, the sums of weight times input, so
    weights matter by their differences between labels, except those of profiles, of which each
    label has its own. A regressor's two ridge regressions predict such a sum, within the range of
    the targets so far. Random cosines are left out.

    Parameters
    ----------
    model
        A forest with linear models, or a fitted estimator of `river_amf.sklearn` with one, else
        ValueError.

    Returns
    -------
    DataFrame of shape (n_weights, n_columns)
        For a classifier, one row for each input and label (none before the first sample), in order
        of first appearance, features by name within a row:

        - `linear_model`: `"additive"`, `"smooth additive"`, or with `absent="zero"` also `"words"`.
        - `feature`: name of the feature; None for the constant input 1, which comes first.
        - `input`: `"value"`, or in additive models also `"profile"`, the log-odds of the label at
          such values of the feature, less its log-odds overall; None for the constant. From the
          33rd feature on, additive models add inputs to those of earlier features and share their
          weights.
        - `label`: one of the labels seen so far.
        - `weight`: change of the label's score by one unit of the input. The unit of a number is
          its standard deviation over about 1000 samples, from its mean, or the root mean square of
          its values other than 0 (`"words"`).

        For a regressor, one row for each input:

        - `linear_model`: `"fast"`, over about a hundred samples, or `"smooth"`, over about five
          thousand.
        - `feature`: as above.
        - `input`: `"value"`, in standard deviations of the feature over about 1000 samples, from
          its mean; `"profile"`, the mean target at such values of the feature, minus that of all
          targets, in their standard deviations; None for the constant.
        - `weight`: change of the prediction by one unit of the input, in the unit of the target.

    Examples
    --------
    >>> from river_amf import AdaptiveAMFClassifier, inspection
    >>> model = AdaptiveAMFClassifier(seed=1)
    >>> for i in range(300):
    ...     model.learn_one({"price": i * 7 % 31}, i * 7 % 31 < 15)
    >>> table = inspection.linear_weights(model).query("linear_model == 'additive'")
    >>> bool(table.query("feature == 'price' and input == 'profile'").weight.min() > 0.1)
    True
    """
    forest = forest_of(model)
    if not (forest.linear and forest.vote == "learned"):
        raise ValueError(
            f"model has linear={forest.linear!r} and vote={forest.vote!r}, but only a forest with "
            "linear models in a learned vote, such as an AdaptiveAMF*, has their weights"
        )
    table: pd.DataFrame = forest._engine.run(weights_of, forest)
    return table.drop(columns="value")


def weights_of(forest: Ensemble, outputs: ExpertOutputs | None = None) -> pd.DataFrame:
    """Return the table of `linear_weights`, with a column of the values of a sample."""
    rows: list[tuple[Any, ...]] = []
    is_regression = forest._task == REGRESSION
    parts = ["input"] if is_regression else ["input", "label"]
    sources = (_of_trends, _of_additive, _of_words) if forest._has_learned else ()
    inputs = itertools.chain.from_iterable(
        inputs_of_model(forest, outputs) for inputs_of_model in sources
    )
    for model, feature, kind, weights, value in inputs:
        if is_regression:
            rows.append((model, feature, kind, weights, value))
            continue
        pairs = zip(forest._labels, weights, strict=False)
        rows += [(model, feature, kind, label, weight, value) for label, weight in pairs]
    columns = ["linear_model", "feature", *parts, "weight", "value"]
    table = pd.DataFrame(rows, columns=columns, dtype=object)
    return table.astype({"weight": np.float64, "value": np.float64})


# An input of a linear model: the name of the model; a feature, or None for the constant 1; the kind
# of input; the weight, or of a classifier the weights by label; and the value in a sample, NaN
# without one
_Input = tuple[str, Hashable | None, str | None, Any, float]


def _of_additive(forest: Ensemble, outputs: ExpertOutputs | None) -> Iterator[_Input]:
    # With a sample, profiles are part of the weights, as they differ between labels, and all random
    # Fourier features are one input. Features that share terms share their weights, too.
    arena, features = forest._arena, forest._features
    n, n_labels = min(len(features), MOST_TERMS), len(forest._labels)
    for k, name in enumerate(ADDITIVE if len(arena.linear_models) else ()):
        weights = arena.smooth_weights if k else arena.additive_weights
        n_cosines = int(arena.settings["n_cosines"][0]) if k else 0
        yield name, None, None, weights[:, 0], 1.0
        starts = [start_of_term(n_cosines, q) for q in range(n + 1)]
        if outputs is not None:
            inputs = outputs.additive_inputs[k]
            own = {0, *starts, *(start + 1 for start in starts)}
            if waves := [i for i in range(starts[-1]) if i not in own]:
                yield name, None, COSINES, weights[:, waves] @ inputs[waves], 1.0
        for j, feature in enumerate(features):
            z, profile_weights, value = math.nan, weights[:n_labels, starts[j % n] + 1], math.nan
            if outputs is not None:
                z, value = outputs.standardized[0, j], 1.0
                profile_weights = (
                    profile_weights * outputs.parts[len(outputs.votes) + PROFILES, 1 + j, :n_labels]
                )
            if not features.is_categorical[j]:
                yield name, feature, "value", weights[:, starts[j % n]], z
            yield name, feature, "profile", profile_weights, value


def _of_words(forest: Ensemble, outputs: ExpertOutputs | None) -> Iterator[_Input]:
    arena, indices, sizes = forest._arena, forest._features.words or {}, {}
    if WORDS not in vote_weights(arena):
        return
    if outputs is not None:  # only its words, of which there are few
        sizes = {int(index): _value_of(arena.words[int(index)], x) for index, x in outputs.words}
        indices = {word: index for word, index in indices.items() if index in sizes}
    yield WORDS, None, None, arena.word_weights[0], 1.0
    for word, index in indices.items():
        yield WORDS, word, "value", arena.word_weights[index], sizes.get(index, math.nan)


def _of_trends(forest: Ensemble, outputs: ExpertOutputs | None) -> Iterator[_Input]:
    # With a sample, all random Fourier features are one input. Features that share an input
    # enter it with either sign.
    arena, features = forest._arena, forest._features
    if not len(arena.trends):
        return
    values, profiles = np.full((2, len(features)), math.nan)
    if outputs is not None:
        values = outputs.standardized[0]
        profiles = outputs.parts[len(outputs.votes) + PROFILES, 1:, 0]
    waves = slice(1, 1 + int(arena.settings["n_cosines"][0]))
    for trend, weights, first, step in (
        (FAST, arena.fast[0], 1, 2),
        (SMOOTH, arena.smooth[0], waves.stop, 1),
    ):
        yield trend, None, None, weights[0] + (forest._labels.origin or 0.0), 1.0
        if trend == SMOOTH and outputs is not None:
            added = weights[waves] @ outputs.terms[SMOOTH_TERMS, waves]
            yield trend, None, COSINES, added, 1.0
        for j, name in enumerate(features):
            sign, k = (-1.0) ** (j // MOST_TREND_FEATURES), first + step * (j % MOST_TREND_FEATURES)
            if not features.is_categorical[j]:
                yield trend, name, "value", sign * weights[k], values[j]
            if trend == FAST:
                yield trend, name, "profile", sign * weights[k + 1], sign * profiles[j]
