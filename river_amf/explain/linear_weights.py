"""The weights of the linear models in the vote, as a table."""

import math
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf import kernels
from river_amf.ensemble import Ensemble, forest_of
from river_amf.explain.experts import (
    ADDITIVE,
    FAST,
    SMOOTH,
    WORDS,
    vote_weights,
)
from river_amf.kernels.classification.additive_models import LEAST_SHARE, PRIOR
from river_amf.kernels.regression.trends import FAST_TERMS, SMOOTH_TERMS
from river_amf.outputs.votes import ExpertOutputs
from river_amf.state.layout import (
    MOST_SLOTS,
    MOST_TERMS,
    REGRESSION,
    place_of_term,
)

COSINES = "cosines"  # the kind of input that all random Fourier features together are


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
    for model, feature, kind, weights, value in inputs_of(forest, outputs):
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


def inputs_of(forest: Ensemble, outputs: ExpertOutputs | None) -> Iterator[_Input]:
    if forest._has_learned:
        yield from _of_trends(forest, outputs)
        yield from _of_additive(forest, outputs)
        yield from _of_words(forest, outputs)


def cosine_places(n_cosines: int, n_features: int) -> list[int]:
    """Return the inputs of an additive expert that are random Fourier features."""
    places = [place_of_term(n_cosines, q) for q in range(min(n_features, MOST_TERMS) + 1)]
    return [i for q, end in enumerate(places[1:]) for i in range(places[q] + 2, end)]


def _of_additive(forest: Ensemble, outputs: ExpertOutputs | None) -> Iterator[_Input]:
    # With a sample, profiles are part of the weights, as they differ between labels, and all random
    # Fourier features are one input. Features that share terms share their weights, too.
    arena, features = forest._arena, forest._features
    n = min(len(features), MOST_TERMS)
    profiles = None if outputs is None else profiles_of(forest, outputs)
    for k, name in enumerate(ADDITIVE if len(arena.linear_models) else ()):
        weights = arena.smooth_weights if k else arena.additive_weights
        n_cosines = int(arena.settings["n_cosines"][0]) if k else 0
        yield name, None, None, weights[:, 0], 1.0
        places = [place_of_term(n_cosines, q) for q in range(n + 1)]
        if outputs is not None:
            inputs = outputs.additive_inputs[k]
            if waves := cosine_places(n_cosines, n):
                yield name, None, COSINES, weights[:, waves] @ inputs[waves], 1.0
        for j, feature in enumerate(features):
            z, of_term, value = math.nan, weights[:, places[j % n] + 1], math.nan
            if outputs is not None and profiles is not None:
                z, value = outputs.standardized[0, j], 1.0
                of_term = of_term[: profiles.shape[1]] * profiles[j]
            if not features.is_categorical[j]:
                yield name, feature, "value", weights[:, places[j % n]], z
            yield name, feature, "profile", of_term, value


def _of_words(forest: Ensemble, outputs: ExpertOutputs | None) -> Iterator[_Input]:
    arena, slots, sizes = forest._arena, forest._features.words or {}, {}
    if WORDS not in vote_weights(arena):
        return
    if outputs is not None:  # only its words, of which there are few
        sizes = {int(slot): _scaled(arena.words[int(slot)], x) for slot, x in outputs.words}
        slots = {word: slot for word, slot in slots.items() if slot in sizes}
    yield WORDS, None, None, arena.word_weights[0], 1.0
    for word, slot in slots.items():
        yield WORDS, word, "value", arena.word_weights[slot], sizes.get(slot, math.nan)


def profiles_of(forest: Ensemble, outputs: ExpertOutputs) -> NDArray[np.float64]:
    """Return the profiles of a sample by feature and label, as `additive_models` adds them up."""
    arena, n_labels = forest._arena, len(forest._labels)
    profiles = np.zeros((len(forest._features), n_labels))
    if len(arena.linear_models):
        newest, of_categories = arena.counters["newest_profile"][0], iter(arena.category_counts)
        overall = arena.label_counts[:n_labels] + newest
        overall /= overall.sum()
        prior = PRIOR * newest
        for j, k in enumerate(outputs.standardized[-1, : len(profiles)].astype(np.int64)):
            counts = (
                next(of_categories) if forest._features.is_categorical[j] else arena.bin_counts[j]
            )
            row = counts[k, :n_labels] if 0 <= k < len(counts) else np.zeros(n_labels)
            if (n := row.sum()) > 0.0:
                profiles[j] = _log_odds((row + prior * overall) / (n + prior)) - _log_odds(overall)
    return profiles


def _log_odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(p / (1 - p)) of probabilities that are moved away from 0 and 1."""
    p = p.clip(LEAST_SHARE, 1.0 - LEAST_SHARE)
    return np.log(p / (1.0 - p))


def _scaled(word: Any, value: float) -> float:
    """Return a word's value as an input (`kernels.classification.sparse_model.input_of`)."""
    squares, largest = float(word["squares"]), kernels.LARGEST_INPUT_OF_WORDS
    scaled = math.copysign(1.0, value)
    if squares > 0.0:
        scaled = value * math.sqrt(max(float(word["weight"]) / squares, 0.0))
    return min(max(scaled, -largest), largest)


def _of_trends(forest: Ensemble, outputs: ExpertOutputs | None) -> Iterator[_Input]:
    # With a sample, all random Fourier features are one input. Features that share a slot enter it
    # with either sign; the sum of their profiles has the name of the first of them.
    arena, features = forest._arena, forest._features
    if not len(arena.trends):
        return
    n = min(len(features), MOST_SLOTS)
    values, profiles = np.full((2, len(features)), math.nan)
    if outputs is not None:
        values, profiles = outputs.standardized[0], np.zeros(len(features))
        profiles[:n] = outputs.terms[FAST_TERMS, 2 : 2 + 2 * n : 2]
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
            sign, k = (-1.0) ** (j // MOST_SLOTS), first + step * (j % MOST_SLOTS)
            if not features.is_categorical[j]:
                yield trend, name, "value", sign * weights[k], values[j]
            if trend == FAST:
                yield trend, name, "profile", sign * weights[k + 1], profiles[j]
