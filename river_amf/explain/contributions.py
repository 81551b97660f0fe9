"""How much each feature moved a prediction (DESIGN.md: contributions).

Everything that a forest predicts has *parts* here: an array with a row for the baseline, one for
each feature, and a last one for what clipping leaves. Its columns, which are labels or one for the
target, sum to the prediction.
"""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from river_amf.ensemble import Ensemble, forest_of
from river_amf.explain import experts
from river_amf.inputs.invalid import in_row
from river_amf.kernels import LINEAR_FLOOR, OF_FOREST
from river_amf.outputs.votes import ExpertOutputs, new_words
from river_amf.parameters import one_of
from river_amf.state.layout import LOCATION, REGRESSION

Array = NDArray[Any]

_SMALL = 1e-6  # differences of log-odds
_ROUNDING = 1e-12  # of the size of all parts; a rest below that is none


def contributions(
    model: Any,
    x: dict[Any, Any],
    label: Hashable | None = None,
    method: str = "path",
    background: Any = None,
) -> pd.Series:
    """Return how much each feature of a sample moved its prediction.

    Parameters
    ----------
    model
        A forest, or a fitted estimator of `river_amf.sklearn` with one.
    x
        Features, as in `predict_one`, which lists the errors.
    label
        Label whose probability is explained, by default the most probable one. ValueError if it
        has not been learned, or for a regressor.
    method
        `"path"` or `"permutations"`; see below when each is right.
    background
        With `"permutations"`, the samples that `x` is compared with: a list of dicts or a
        dataframe, else ValueError. Draw 50 or more at random from the stream.

    Returns
    -------
    Series of floats
        One by feature, in order of first appearance, by name within a row, named with their unit,
        such as `contribution (log-odds)`. The first is `"baseline"`, what the forest predicts at
        the roots of its trees and for average inputs of linear models, or with `"permutations"` its
        mean for the background. With `"path"` and a learned vote the last is `"rest"`: what bounds
        on linear models and stacks leave, and in a classifier the mixture with plain trees while
        labels are late. With `absent="zero"`, words that are in no sample here and have no column
        are left out. Before the first sample there is only a baseline of 0.

        They sum to the prediction: with `vote="mean"` to the probability of the label, and for a
        regressor to its target, in the unit of that. With `vote="learned"` and two labels they sum
        to the log-odds of the label, log P / (1 - P), and are minus those of the other label; with
        three or more to log P(label) less the mean of log P over all labels. So a third label
        changes the unit. With only one label they are 0.

    Notes
    -----
    `"path"` takes one walk down each tree: a tree predicts what its root predicts, plus, for each
    split on the path, a change that is due to the feature of the split. The changes are exact, but
    how features share what they do together depends on the order of the splits. It takes as long
    as twenty to thirty predictions. Its correlation with exact Shapley values of five features is
    .92 to .99 on additive problems and with an interaction, .80 to .85 on exclusive or, and .37 to
    1.00 on 12 real streams, with a median of .88. It is low where correlated features share a role.

    `"permutations"` samples Shapley values[^1]: for each row of the background it replaces the
    values one by one, in random order, by those of `x`, and notes how the prediction moves. It is
    right for any model, given enough rows: with 20, the correlation is .84 to 1.00 on all of these.
    But mixed samples may be unlike any that occur, and it takes a prediction for each row and
    feature. The order is the same in each call.

    Examples
    --------
    >>> from river_amf import AMFClassifier, inspection
    >>> model = AMFClassifier(seed=1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": i % 7, "signal": i % 10}, i % 10 < 5)
    >>> parts = inspection.contributions(model, {"noise": 3, "signal": 3})
    >>> parts.round(1)
    baseline    0.5
    noise       0.0
    signal      0.5
    Name: contribution (probability), dtype: float64
    >>> proba = model.predict_proba_one({"noise": 3, "signal": 3})
    >>> bool(abs(parts.sum() - proba[True]) < 1e-9)
    True

    Compared with six samples of the other label:

    >>> rows = [{"noise": i, "signal": 8} for i in range(6)]
    >>> parts = inspection.contributions(
    ...     model, {"noise": 3, "signal": 3}, method="permutations", background=rows
    ... )
    >>> parts.abs().round(1).to_dict()
    {'baseline': 0.0, 'noise': 0.0, 'signal': 1.0}

    References
    ----------
    [^1]: Štrumbelj, E., & Kononenko, I. (2014). Explaining prediction models and individual
          predictions with feature contributions. Knowledge and Information Systems, 41(3), 647-665.
    """
    forest = forest_of(model)
    one_of("path", "permutations")("method", method)
    if (method == "permutations") != (background is not None):
        raise ValueError("background must be given with method='permutations', and only then")
    if method == "path":
        return forest._engine.run(contributions_of, forest, x, label)
    samples = background
    if not isinstance(background, Sequence):
        samples = _samples_in(forest, background)
    if not len(samples):
        raise ValueError("background must have at least one sample")
    return forest._engine.run(_by_permutations, forest, x, label, samples)


def contributions_many(model: Any, X: Any, label: Hashable | None = None) -> pd.DataFrame:
    """Return how much each feature moved the predictions of a block of samples.

    Parameters
    ----------
    model, label
        As in `contributions`. Without a label, each row has its own most probable one.
    X
        DataFrame or sparse matrix, as in `predict_many`, which lists the errors.

    Returns
    -------
    DataFrame of shape (n_samples, n_parts)
        A row for each sample, with the index of `X` if that is of pandas: the same numbers as
        `contributions` returns, and 0 for words of other rows that have no column. The name of the
        columns has the unit.

    Examples
    --------
    >>> import pandas as pd
    >>> from river_amf import AMFClassifier, inspection
    >>> model, X = AMFClassifier(seed=1), pd.DataFrame({"noise": range(500), "signal": range(500)})
    >>> X = X % [7, 10]
    >>> model.learn_many(X, X["signal"] < 5)
    >>> inspection.contributions_many(model, X).drop(columns="baseline").abs().mean().round(1)
    contribution (probability)
    noise     0.0
    signal    0.5
    dtype: float64
    """
    forest = forest_of(model)
    columns, parts = forest._engine.run(_parts_of_rows, forest, _samples_in(forest, X), label)
    return pd.DataFrame(parts, X.index if isinstance(X, pd.DataFrame) else None, columns)


def contributions_of(forest: Ensemble, x: dict[Any, Any], label: Hashable | None) -> pd.Series:
    """Return the contributions in a forest that no other thread changes."""
    names, parts = _parts_of(forest, x, _index_of(forest, label))
    return _series(forest, names, parts, has_rest(forest))


def _title(forest: Any) -> str:
    """Return what contributions are, with their unit."""
    if forest._task == REGRESSION:
        return "contribution (unit of the target)"
    if forest.vote == "mean":
        return "contribution (probability)"
    if len(forest._labels) <= 2:
        return "contribution (log-odds)"
    return "contribution (log P less its mean over labels)"


def _score(logs: Array, index: int) -> Array:
    """Return the log-odds of one of two labels, of more log P less its mean, along a last axis."""
    others = logs[..., 1 - index] if logs.shape[-1] == 2 else logs.mean(axis=-1)
    score: Array = logs[..., index] - others
    return score


def _samples_in(forest: Any, X: Any) -> list[dict[Any, Any]]:
    """Return the rows of a block as samples."""
    rows = forest._rows_of(X, forest._frame_of(X))
    return [rows.at(row) for row in range(rows.n_rows)]


def _parts_of_rows(
    forest: Ensemble, samples: Sequence[Any], label: Hashable | None
) -> tuple[pd.Index, Array]:
    """Return the titles of parts, and the parts of each prediction."""
    index = _index_of(forest, label)
    found = [in_row(row, _parts_of, forest, x, index) for row, x in enumerate(samples)]
    names_in = itertools.chain(forest._features, *(names for names, _ in found))
    columns = {name: column for column, name in enumerate(dict.fromkeys(names_in), start=1)}
    table = np.zeros((len(found), 2 + len(columns)))
    for row, (names, parts) in zip(table, found, strict=True):
        row[[0, *(columns[name] for name in names), -1]] = parts
    titles = _titles([*columns], has_rest(forest)).rename(_title(forest))
    return titles, table[:, : len(titles)]


def _parts_of(forest: Ensemble, x: Any, index: int | None) -> tuple[list[Hashable], Array]:
    """Return the names of features and the parts of a prediction, or of the label at an index."""
    outputs = forest._engine.expert_outputs(x, has_parts=True)
    if outputs is None:
        return [], np.zeros(2)
    names, vote_parts = _names(forest, outputs), outputs.parts
    if forest._task == REGRESSION:
        parts = vote_parts[len(outputs.votes) + OF_FOREST, :, LOCATION]
        parts[0] += forest._labels.origin
        rest = outputs.answer - parts.sum()
        parts[-1] = rest if abs(rest) > _ROUNDING * np.abs(parts).sum() else 0.0
        return names, parts
    if index is None:
        index = int(np.argmax([*outputs.answer.values()]))
    if forest.vote == "learned":
        return names, _score(_of_vote(forest, outputs), index)
    parts = vote_parts[: len(forest), :, : len(forest._labels)].sum(axis=0)
    return names, parts[:, index] / parts.sum()


def has_rest(forest: Ensemble) -> bool:
    """Return whether predictions of a forest may have a rest."""
    return bool(forest._has_learned and forest.vote == "learned")


def _by_permutations(
    forest: Any, x: Mapping[Any, Any], label: Hashable | None, background: Sequence[Any]
) -> pd.Series:
    """Return the means of what features change, put into each row in random order."""
    index, reader, labels = (
        _index_of(forest, label),
        forest._finished_engine.reader(),
        forest._labels,
    )
    answer = reader.predict_any(x)
    if reader.learned.arena is None:
        return _series(forest, [], np.zeros(2), ends_with_rest=False)
    if index is None and forest._task != REGRESSION:
        index = int(np.argmax([*answer.values()]))

    def value_of(sample: Mapping[Any, Any]) -> float:
        answer: list[float] = reader.raw_answer(sample)
        if index is None:
            return float(answer[LOCATION] + labels.origin)
        if forest.vote == "mean":
            return answer[index]
        return float(_score(np.log(np.maximum(answer, np.finfo(np.float64).tiny)), index))

    first_values = [in_row(number, value_of, row) for number, row in enumerate(background)]
    known = {
        name: None for row in (x, *background) for name in row if forest._features.is_known(name)
    }
    names = [*dict.fromkeys(forest._features) | known]
    parts, rng = np.zeros(2 + len(names)), np.random.default_rng(0)
    parts[0] = sum(first_values)
    for before, row in zip(first_values, background, strict=True):
        mixed = dict(row)
        for k in rng.permutation(len(names)).tolist():
            if names[k] in x:
                mixed[names[k]] = x[names[k]]
            elif names[k] in mixed:
                del mixed[names[k]]
            else:
                continue
            after = value_of(mixed)
            parts[1 + k] += after - before
            before = after
    return _series(forest, names, parts / len(background), ends_with_rest=False)


def _index_of(forest: Any, label: Hashable | None) -> int | None:
    """Return the index of a label, None for the most probable one; raise ValueError."""
    if label is None:
        return None
    if forest._task == REGRESSION:
        raise ValueError(f"label must be None for a regressor, got {label!r}")
    index: int | None = forest._labels.get(label)
    if index is None:
        raise ValueError(f"label must be one of those learned so far, got {label!r}")
    return index


def _names(forest: Any, outputs: ExpertOutputs) -> list[Hashable]:
    """Return the names of all features, and of the words in a sample that have no column."""
    indices = set(new_words(forest._arena, outputs.words))
    words = forest._features.words if indices else {}
    return [*forest._features, *(word for word, index in words.items() if index in indices)]


def _titles(names: list[Hashable], ends_with_rest: bool) -> pd.Index:
    """Return the titles of parts."""
    titles = ["baseline", *names, *["rest"] * ends_with_rest]
    return pd.Index(titles, dtype=object, tupleize_cols=False)  # tuples as they are


def _series(forest: Any, names: list[Any], parts: Array, ends_with_rest: bool) -> pd.Series:
    """Return the parts of a number by name."""
    titles = _titles(names, ends_with_rest)
    return pd.Series(parts[: len(titles)], titles, np.float64, name=_title(forest))


def _of_vote(forest: Ensemble, outputs: ExpertOutputs) -> Array:
    """Return the parts of log P(label) + const of a learned vote on labels."""
    # Constants that all labels share cancel in the end.
    share, pool = outputs.plain_share, _of_pool(forest, outputs)
    if not share:
        return pool
    # log((1 - s) exp(A) + s exp(B)) changes by w dA + (1 - w) dB. From the baselines to the ends, A
    # and B change evenly, which gives w its mean.
    plain = outputs.parts[: len(forest) : 2, :, : len(forest._labels)].mean(axis=0)
    (a, b), (a_end, b_end) = (
        (_log_softmax(pooled), _log_softmax(plain_mean))
        for pooled, plain_mean in ((pool[0], plain[0]), (pool.sum(axis=0), plain.sum(axis=0)))
    )
    odds = math.log((1.0 - share) / share)
    first, last = a - b + odds, a_end - b_end + odds
    change = np.where(np.abs(last - first) > _SMALL, last - first, 1.0)
    weight = (np.logaddexp(0.0, last) - np.logaddexp(0.0, first)) / change
    weight = np.where(change == last - first, weight, 1.0 / (1.0 + np.exp(-first)))
    parts: Array = weight * pool + (1.0 - weight) * plain
    parts[0] = np.logaddexp(a + math.log1p(-share), b + math.log(share))
    parts[-1] += np.logaddexp(a_end + math.log1p(-share), b_end + math.log(share)) - parts.sum(0)
    return parts


def _log_softmax(scores: Array) -> Array:
    """Return the logarithms of probabilities."""
    largest = scores.max()
    logs: Array = scores - largest - np.log(np.exp(scores - largest).sum())
    return logs


def _of_pool(forest: Ensemble, outputs: ExpertOutputs) -> Array:
    """Return the parts of log P(label) + const of the pool."""
    arena, n_trees, n_labels = forest._arena, len(forest), len(forest._labels)
    weights = np.array([*arena.trees["vote_weight"], *experts.vote_weights(arena).values()])
    vote_parts = outputs.parts[: len(weights), :, :n_labels]
    parts: Array = np.tensordot(weights, vote_parts, 1)
    parts[0] += arena.bias[:n_labels]
    # Votes are scores of linear models, but for a constant, and for bounds and rounding.
    votes, scores = (
        outputs.votes[n_trees : len(weights), :n_labels],
        vote_parts[n_trees:].sum(axis=1),
    )
    constants = (votes - scores).mean(axis=1, keepdims=True)
    parts[-1] += weights[n_trees:] @ (np.maximum(votes, LINEAR_FLOOR) - scores - constants)
    return parts
