"""What each feature contributes to the predictions: by the trees, and by permutation."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from river import base

from river_amf import kernels, paths, state
from river_amf.forest import AMFClassifier, forest_of, river_model
from river_amf.parameters import integer, one_of, positive

_LEAST_PROBABILITY = 1e-15  # bounds the log-loss, as in river's metric


def feature_relevance(model: Any) -> pd.Series:
    """Return how informative each feature has recently been about the label, from 0 to 1.

    For a categorical feature, relevance is Goodman and Kruskal's tau[^1]: the part of the label's
    variance that lies between the categories, minus what chance would give. (If there are more than
    64 categories, some share their counts.) For a numeric feature, it is the larger of two values:
    tau over 16 equal parts of the range, and the correlation ratio eta^2, the part of the feature's
    own variance that lies between the labels. Both are averages over about the last 400 samples.
    The forest splits a feature in proportion to its relevance plus 0.003.

    Parameters
    ----------
    model
        A forest with `split_intensity="relevance"`, or a fitted estimator of `river_amf.sklearn`
        with one.

    Returns
    -------
    Series of length n_features
        The relevances, as floats named `relevance` and indexed by feature, in order of first
        appearance. Empty before the first sample.

    Raises
    ------
    TypeError
        If the model is not a forest.
    ValueError
        If the forest has another split intensity, as it then does not keep the relevance.

    Examples
    --------
    >>> import random
    >>> from river_amf import AdaptiveAMFClassifier, inspection
    >>> model, rng = AdaptiveAMFClassifier(seed=1), random.Random(1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": rng.random(), "signal": i % 10}, i % 10 < 5)
    >>> inspection.feature_relevance(model).round(1)
    noise     0.0
    signal    1.0
    Name: relevance, dtype: float64

    References
    ----------
    [^1]: Goodman, L. A., & Kruskal, W. H. (1954). Measures of association for cross
          classifications. Journal of the American Statistical Association, 49(268), 732-764.
    """
    forest = forest_of(model)
    if forest.split_intensity != "relevance":
        raise ValueError(
            f"model has split_intensity={forest.split_intensity!r}, but only a forest with "
            "'relevance', such as AdaptiveAMFClassifier, keeps the relevance of its features"
        )
    return forest._read(_feature_relevance, forest)


def _feature_relevance(forest: AMFClassifier) -> pd.Series:
    arena, names = forest._arena, list(forest._features)
    values = [] if arena is None else arena.features["relevance"][: len(names)].tolist()
    return pd.Series(values, index=_index(names), name="relevance", dtype=np.float64)


def feature_importance(model: Any) -> pd.DataFrame:
    """Return what each feature contributes to the trees, in several measures.

    Mondrian trees draw their splits without looking at the labels, so a feature that is split often
    need not matter. What matters is how much of a prediction is left to the nodes below a split,
    and how well its two sides separate the labels.

    Parameters
    ----------
    model
        A forest, or a fitted estimator of `river_amf.sklearn` with one.

    Returns
    -------
    DataFrame of shape (n_features, 4)
        One row per feature, in order of first appearance, with these columns. Each of the first
        three sums to 1, or is 0 before the first split; all trees count alike.

        - `splits`: share of the splits on the feature.
        - `mass`: share of the mass that these splits pass on to the nodes below them, where each
          node counts by the fraction of the tree's samples in its cell (see `path`). With
          `use_aggregation=False`, all of the mass is passed on.
        - `impurity`: share of the decrease of the labels' Gini impurity from a node to its
          children, with nodes weighted as in `mass`. It is the importance that random forests have
          in scikit-learn, except that splits which aggregation ignores do not count.
        - `relevance`: as from `feature_relevance`, not a share; NaN if the forest does not keep it.

    Raises
    ------
    TypeError
        If the model is not a forest.

    See Also
    --------
    PermutationImportance : what the predictions lose if a feature's value is exchanged.

    Examples
    --------
    >>> import random
    >>> from river_amf import AMFClassifier, inspection
    >>> model, rng = AMFClassifier(seed=1), random.Random(1)
    >>> for i in range(500):
    ...     model.learn_one({"noise": rng.random(), "signal": i % 10}, i % 10 < 5)
    >>> table = inspection.feature_importance(model)
    >>> table.columns.tolist()
    ['splits', 'mass', 'impurity', 'relevance']
    >>> bool(table.impurity["signal"] > 0.9)
    True
    """
    forest = forest_of(model)
    return forest._read(_feature_importance, forest)


def _feature_importance(forest: AMFClassifier) -> pd.DataFrame:
    arena, names = forest._arena, list(forest._features)
    shares = np.zeros((3, len(names)))
    if arena is not None:
        for tree in range(len(arena.trees)):
            shares += _of_tree(arena, tree)
    totals = shares.sum(axis=1, keepdims=True)
    np.divide(shares, totals, out=shares, where=totals > 0.0)
    keeps_relevance = forest.split_intensity == "relevance"
    relevance = _feature_relevance(forest).to_numpy() if keeps_relevance else math.nan
    splits, mass, impurity = shares
    columns = {"splits": splits, "mass": mass, "impurity": impurity, "relevance": relevance}
    return pd.DataFrame(columns, index=_index(names), dtype=np.float64)


def _of_tree(arena: state.Arena, tree: int) -> NDArray[np.float64]:
    """Return splits, mass and decrease of impurity by feature, each per sample of the tree."""
    n_features = int(arena.settings["n_features"][0])
    nodes = arena.nodes[tree, : int(arena.trees["n_nodes"][tree])]
    if not len(nodes):
        return np.zeros((3, n_features))
    passed = _passed_on(arena, tree, nodes)
    branches = np.flatnonzero(nodes["left"] != kernels.NONE)
    split, left, right = nodes[branches], nodes["left"][branches], nodes["right"][branches]
    total = nodes["n_samples"][int(arena.trees["root"][tree])]
    mass = passed[branches] * (split["n_samples"] / total)
    fractions = arena.counts[tree, : len(nodes)] / nodes["n_samples"][:, None]
    impurity = nodes["n_samples"] / total * (1.0 - (fractions**2).sum(axis=1))
    decrease = np.maximum(impurity[branches] - impurity[left] - impurity[right], 0.0)
    measures = (np.full(len(branches), 1.0 / max(len(branches), 1)), mass)
    weights = (*measures, passed[branches] * decrease)
    return np.array([np.bincount(split["feature"], each, n_features) for each in weights])


def _passed_on(arena: state.Arena, tree: int, nodes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mass that each node passes on to a child, of a mass of 1 at the root."""
    log_odds = np.nan_to_num(paths.log_odds(nodes))  # which are NaN at a leaf
    rest = np.exp(-np.logaddexp(0.0, log_odds))  # sigma(-r_v)
    if not arena.settings["use_aggregation"][0]:
        rest = np.ones(len(nodes))
    passed = np.zeros(len(nodes))
    for level in paths.levels(arena, tree):
        branches = level[nodes["left"][level] != kernels.NONE]
        parents = nodes["parent"][branches]
        arriving = np.where(parents == kernels.NONE, 1.0, passed[parents])
        passed[branches] = arriving * rest[branches]
    return passed


def _index(names: Sequence[Hashable]) -> pd.Index:
    """Return names of features as an index."""
    # made from an array, as pandas would turn tuples in a list of names into levels
    return pd.Index(np.array([*names, None], dtype=object)[:-1], tupleize_cols=False)


class PermutationImportance:
    """Permutation importance of the features along a stream, for any river classifier.

    For each sample and feature, it measures how much the loss of the model's prediction grows if
    the feature's value is replaced by that of an earlier sample, drawn at random from the latest
    ones, and averages over the stream[^1]. It is positive for features that the model uses to good
    effect, about 0 for those that it does not use, and negative where a feature misleads it. Two
    features that tell the same share their importance, or have none, as either can stand in for the
    other.

    The model only predicts here, once for each sample and then once for each feature whose value
    changes. Call `update` with a sample before the model learns it: test, then train.

    Parameters
    ----------
    model
        A river classifier, such as a forest or a pipeline, or a fitted estimator of
        `river_amf.sklearn`. Features are those of the samples given, before any transformation.
    loss
        `"log"` for the log-loss, in nats; `"error"` for the error, 1 for a wrong label, which needs
        no probabilities.
    n_latest
        Number of latest samples from which values are drawn.
    stride
        Measure at each `stride`-th sample only, to save time.
    fading_factor
        Factor in (0, 1) by which earlier samples count less, with each one that is measured[^2]:
        with 0.999, about the latest 1000 count. `None` means that all count alike.
    seed
        Seed of the random numbers, for reproducible results.

    See Also
    --------
    river_amf.evaluation.importance_history : runs a model over a stream and records all this.

    Examples
    --------
    >>> import random
    >>> from river_amf import AMFClassifier, inspection
    >>> model, rng = AMFClassifier(seed=1), random.Random(1)
    >>> importance = inspection.PermutationImportance(model, loss="error", seed=1)
    >>> for i in range(500):
    ...     x, y = {"noise": rng.random(), "signal": i % 10}, i % 10 < 5
    ...     importance.update(x, y)
    ...     model.learn_one(x, y)
    >>> importance.get().round(1)
    noise     0.0
    signal    0.5
    Name: importance, dtype: float64

    References
    ----------
    [^1]: Fumagalli, F., Muschalik, M., Hüllermeier, E., & Hammer, B. (2023). Incremental
          permutation feature importance (iPFI): towards online explanations on data streams.
          Machine Learning, 112, 4863-4903.
    [^2]: Gama, J., Sebastião, R., & Rodrigues, P. P. (2013). On evaluating stream learning
          algorithms. Machine Learning, 90(3), 317-346.
    """

    def __init__(
        self,
        model: Any,
        loss: str = "log",
        *,
        n_latest: int = 100,
        stride: int = 1,
        fading_factor: float | None = None,
        seed: int | None = None,
    ) -> None:
        one_of("log", "error")("loss", loss)
        integer(1)("n_latest", n_latest)
        integer(1)("stride", stride)
        positive(below=1, optional=True)("fading_factor", fading_factor)
        integer(0, math.inf, optional=True)("seed", seed)
        self.model = model
        self.loss = loss
        self.n_latest = n_latest
        self.stride = stride
        self.fading_factor = fading_factor
        self.seed = seed
        self._loss_of()  # raises if this is no classifier
        self._rng = random.Random(None if seed is None else int(seed))
        self._latest: list[dict[Any, Any]] = []
        self._n_seen = 0
        # by feature, in order of first appearance: the faded sum of the growth of the loss, and
        # that of ones
        self._sums: dict[Hashable, tuple[float, float]] = {}

    def update(self, x: dict[Any, Any], y: Hashable) -> None:
        """Measure a sample that the model has not learned yet.

        Parameters
        ----------
        x
            Features, as in `learn_one`.
        y
            Label. While the model has no prediction, nothing is measured.

        Raises
        ------
        TypeError, ValueError
            As by the model's predictions. Nothing has been measured then.

        Examples
        --------
        >>> from river import naive_bayes
        >>> from river_amf import inspection
        >>> model = naive_bayes.GaussianNB()
        >>> importance = inspection.PermutationImportance(model, stride=2, seed=1)
        >>> for i in range(100):
        ...     x, y = {"length": i % 7, "width": i % 5}, i % 7 > 3
        ...     importance.update(x, y)
        ...     model.learn_one(x, y)
        >>> importance.get().idxmax()
        'length'
        """
        if self._n_seen % self.stride == 0 and self._latest:
            self._measure(x, y)
        for name in x:
            self._sums.setdefault(name, (0.0, 0.0))
        x = dict(x)
        if len(self._latest) < self.n_latest:
            self._latest.append(x)
        else:
            self._latest[self._n_seen % self.n_latest] = x
        self._n_seen += 1

    def get(self) -> pd.Series:
        """Return the importance of each feature so far.

        Returns
        -------
        Series of length n_features
            The mean growth of the loss, as floats named `importance` and indexed by feature, in
            order of first appearance; NaN for a feature without any measurement.

        Examples
        --------
        >>> from river_amf import AMFClassifier, inspection
        >>> inspection.PermutationImportance(AMFClassifier()).get()
        Series([], Name: importance, dtype: float64)
        """
        values = [total / n if n else math.nan for total, n in self._sums.values()]
        return pd.Series(values, _index(list(self._sums)), name="importance", dtype=np.float64)

    def _measure(self, x: dict[Any, Any], y: Hashable) -> None:
        """Add the growth of the loss by each feature."""
        loss_of = self._loss_of()
        loss = loss_of(x, y)
        if loss is None:
            return
        factor = 1.0 if self.fading_factor is None else self.fading_factor
        measured = dict(self._sums)
        for name, (total, n) in self._sums.items():
            other = exchanged(x, name, self._rng.choice(self._latest))
            growth = 0.0 if other is None else (loss_of(other, y) or 0.0) - loss
            measured[name] = factor * total + growth, factor * n + 1.0
        self._sums = measured

    def _forget(self) -> None:
        """Start the averages afresh."""
        self._sums = dict.fromkeys(self._sums, (0.0, 0.0))

    def _loss_of(self) -> Callable[[dict[Any, Any], Hashable], float | None]:
        """Return the loss as a function of a sample, or None while there is no prediction."""
        model = river_model(self.model)
        if not isinstance(model, base.Classifier):
            raise TypeError(
                "model must be a river classifier or a fitted estimator of river_amf.sklearn, "
                f"got {type(model).__name__}"
            )
        return functools.partial(_LOSSES[self.loss], model)


def exchanged(x: dict[Any, Any], name: Hashable, other: dict[Any, Any]) -> dict[Any, Any] | None:
    """Return a sample with the value of a feature in another one, or None if it is the same value.

    >>> exchanged({"a": 1, "b": 2}, "b", {"b": 3}), exchanged({"a": 1, "b": 2}, "b", {"a": 4})
    ({'a': 1, 'b': 3}, {'a': 1})
    >>> exchanged({"a": 1}, "a", {"a": 1}) is exchanged({"a": 1}, "b", {}) is None
    True
    """
    if name not in other:
        return {key: value for key, value in x.items() if key != name} if name in x else None
    if name in x:
        old, new = x[name], other[name]
        if old is new or (type(old) is type(new) and old == new):
            return None
    return {**x, name: other[name]}


def _log_loss(model: base.Classifier, x: dict[Any, Any], y: Hashable) -> float | None:
    """Return the log-loss of a prediction, None if there is none."""
    proba: dict[Any, float] = model.predict_proba_one(x)
    return -math.log(max(proba.get(y, 0.0), _LEAST_PROBABILITY)) if proba else None


def _error(model: base.Classifier, x: dict[Any, Any], y: Hashable) -> float | None:
    """Return 1 if the predicted label is wrong, 0 if it is right, and None if there is none."""
    label = model.predict_one(x)
    return None if label is None else float(label != y)


_LOSSES = {"log": _log_loss, "error": _error}
