"""The Aggregated Mondrian Forest: parameters, documentation and thin methods."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from river_amf import explanation, frames, paths, state
from river_amf.encoding import Features, Labels, check_weight, shown
from river_amf.engine import BlockAnswers, Engine
from river_amf.parameters import (
    LEAST_DIRICHLET,
    Check,
    CheckedParameters,
    cores,
    flag,
    integer,
    one_of,
    positive,
)
from river_amf.persistence import Saved, soundness, values
from river_amf.persistence.container import take

_ONE = 1.0  # the weight that needs no check


class AMFClassifier(Saved, CheckedParameters, base.MiniBatchClassifier):
    """Aggregated Mondrian Forest classifier for data streams.

    The forest learns truly online, in one pass, and predicts at any time. Each tree partitions the
    feature space by a Mondrian process[^2], which looks at the features alone. A node predicts the
    label frequencies of its cell, and a tree predicts the average of all its prunings, weighted by
    how well each has predicted so far; context-tree weighting[^3] computes that average exactly
    within one walk from root to leaf[^1]. The forest averages its trees.

    Features may be numbers (bool and numpy scalars among them), of any scale, or categories (str
    and any other hashable). Values may be missing (key absent, None, NaN); features and labels may
    appear and vanish at any time. Text as sparse bags of words does not suit it: an absent word
    means zero, not unknown, and thousands of columns do not suit boxes. Hash the words to a hundred
    columns, or take multinomial naive Bayes.

    Parameters
    ----------
    n_classes
        Number of classes that the prior counts from the start; one more label than that raises
        `ValueError`. With `None` the classes seen so far count.
    n_estimators
        Number of trees.
    step
        Learning rate eta of the aggregation weights, > 0. 1 is the exact Bayesian mixture under the
        logarithmic loss.
    loss
        Loss of the aggregation weights: `"log"`, the only one.
    split_prior
        Prior probability b that a node is split, in (0, 1). 0.5 is the prior of the paper; 0.8 to
        0.9 often lowers the log-loss.
    use_aggregation
        Whether a tree predicts by all its prunings (`True`) or by its leaf alone.
    dirichlet
        Pseudo-count a of each class in a node, which predicts (count + a) / (n + n_classes a); from
        1e-300 on. `None` takes 0.5 up to two classes and 0.01 beyond.
    split_pure
        Whether to split cells in which all samples bear one label at once, as in the figures of the
        paper. By default they are split when another label arrives, by the same law, which takes
        far fewer nodes.
    max_nodes
        Budget of nodes per tree. Once it is reached nothing is split any more, and the nodes there
        are go on learning. `None` sets no limit.
    split_intensity
        How readily each feature is split. `"range"` divides it by the range seen so far, so that
        its scale does not matter. `"relevance"` also multiplies by how much the feature has told of
        the label lately (`inspection.feature_relevance`), so that noise is hardly split. Both
        draw values far outside the range in to its ends until they become frequent, so that an odd
        -999 or 1e9 does not silence a feature. `"unit"`, the paper's, takes features as they are,
        scaled beforehand.
    fading_factor
        For streams that drift: gamma in (0, 1) by which each node's second count of labels[^4] is
        multiplied at each visit. The node predicts the mix of both counts, each weighted by how
        well it has predicted lately (`fading_share`). `None` for none: nothing is forgotten.
    restart_threshold
        For drifts that make the very splits useless: every second tree starts afresh when the mean
        of its last losses, 1 - p(label), exceeds its usual one by so many standard errors, and by
        0.05. `None` for never.
    vote
        `"mean"` averages the trees, as the paper does. `"learned"` multiplies powers of their
        probabilities, a logarithmic opinion pool[^5] whose weights for trees and labels follow the
        gradient of the log-loss, one step for each sample.
    n_jobs
        Number of threads that the calls for blocks (`*_many`) cut the trees over; -1 for as many as
        there are cores. The result does not depend on it, and it may be changed at any time.
    seed
        Seed of the random numbers, for reproducible results.

    Notes
    -----
    Parameters are read-only after the first sample. Several threads may predict at once; to learn,
    a model must be left alone by the others, or the process may crash. Ties go to the label seen
    first. An infinite value, a number where a category was or the reverse, an unhashable value, a
    missing label and a negative or infinite weight raise `ValueError` or `TypeError` and leave the
    model as it was.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_amf import AMFClassifier

    >>> model = AMFClassifier(seed=1)
    >>> metric = evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    >>> metric.get() > 0.88
    True

    Numbers, categories and missing values can be mixed:

    >>> model = AMFClassifier(seed=1)
    >>> for x, y in [
    ...     ({"size": 1.0, "color": "red"}, "apple"),
    ...     ({"size": 7.5, "color": "green"}, "melon"),
    ...     ({"size": 1.2}, "apple"),
    ... ]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"size": 1.1, "color": "red"})
    'apple'
    >>> sorted(model.predict_proba_one({"size": None}))
    ['apple', 'melon']

    References
    ----------
    [^1]: Mourtada, J., Gaïffas, S., & Scornet, E. (2021). AMF: Aggregated Mondrian Forests for
          online learning. Journal of the Royal Statistical Society Series B, 83(3), 505-533.
    [^2]: Lakshminarayanan, B., Roy, D. M., & Teh, Y. W. (2014). Mondrian forests: Efficient online
          random forests. Advances in Neural Information Processing Systems, 27.
    [^3]: Willems, F. M., Shtarkov, Y. M., & Tjalkens, T. J. (1995). The context-tree weighting
          method: basic properties. IEEE Transactions on Information Theory, 41(3), 653-664.
    [^4]: Gama, J., Sebastião, R., & Rodrigues, P. P. (2013). On evaluating stream learning
          algorithms. Machine Learning, 90(3), 317-346. Of fading factors. The two counts are mixed
          by the fixed share of Herbster, M., & Warmuth, M. K. (1998). Tracking the best expert.
          Machine Learning, 32(2), 151-178.
    [^5]: Genest, C., & Zidek, J. V. (1986). Combining probability distributions: a critique and an
          annotated bibliography. Statistical Science, 1(1), 114-135. Weights learnt online as in
          Mattern, C. (2013). Linear and geometric mixtures - analysis. Data Compression Conference.

    """

    _file_kind = "AMFClassifier"
    _checks: ClassVar[dict[str, Check]] = {
        "n_classes": integer(1, optional=True),
        "n_estimators": integer(1),
        "step": positive(),
        "loss": one_of("log"),
        "split_prior": positive(below=1),
        "use_aggregation": flag,
        "dirichlet": positive(least=LEAST_DIRICHLET, optional=True),
        "split_pure": flag,
        "max_nodes": integer(1, optional=True),
        "split_intensity": one_of("range", "relevance", "unit"),
        "fading_factor": positive(below=1, optional=True),
        "restart_threshold": positive(optional=True),
        "vote": one_of("mean", "learned"),
        "n_jobs": cores,
        "seed": integer(0, optional=True),
    }
    _always_writable: ClassVar[frozenset[str]] = frozenset({"n_jobs"})

    def __init__(
        self,
        *,
        n_classes: int | None = None,
        n_estimators: int = 10,
        step: float = 1.0,
        loss: str = "log",
        split_prior: float = 0.5,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        max_nodes: int | None = None,
        split_intensity: str = "range",
        fading_factor: float | None = None,
        restart_threshold: float | None = None,
        vote: str = "mean",
        n_jobs: int = 1,
        seed: int | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.n_estimators = n_estimators
        self.step = step
        self.loss = loss
        self.split_prior = split_prior
        self.use_aggregation = use_aggregation
        self.dirichlet = dirichlet
        self.split_pure = split_pure
        self.max_nodes = max_nodes
        self.split_intensity = split_intensity
        self.fading_factor = fading_factor
        self.restart_threshold = restart_threshold
        self.vote = vote
        self.n_jobs = n_jobs
        self.seed = seed
        self._engine = Engine()

    @property
    def _has_learnt(self) -> bool:
        return hasattr(self, "_engine") and self._engine.arena is not None

    @property
    def _features(self) -> Features:
        return self._engine.features

    @property
    def _labels(self) -> Labels:
        return self._engine.labels

    @property
    def _arena(self) -> state.Arena | None:
        return self._engine.arena

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def fading_share(self) -> float:
        """Share of the faded counts in the predictions of the last few hundred samples, 0 to 1.

        It is a running mean over 500 samples, starting at 0.5, and low where old samples
        predict as well as new ones; after a drift it rises. NaN without fading.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(fading_factor=0.5, seed=1)
        >>> for i in range(2000):
        ...     model.learn_one({"a": i % 7}, i % 7 < 3)
        >>> before = model.fading_share
        >>> for i in range(200):
        ...     model.learn_one({"a": i % 7}, i % 7 >= 3)
        >>> model.fading_share > before
        True
        """
        if self.fading_factor is None:
            return math.nan
        return 0.5 if self._arena is None else float(self._arena.trees["faded_share"].mean())

    @property
    def memory_usage(self) -> int:
        """Bytes that the model takes, room to grow included.

        Its arrays, and the names, labels and categories that it knows.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier()
        >>> model.learn_one({"length": 2.5}, "short")
        >>> 10_000 < model.memory_usage < 200_000
        True
        """
        return self._engine.nbytes

    @property
    def _raw_memory_usage(self) -> int:
        """What river shows; its own sum counts the data of an array twice."""
        return self.memory_usage

    def __copy__(self) -> AMFClassifier:
        """Return a deep copy: two forests on one memory would spoil each other."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, once the store of samples has been closed up.

        Models that are equal would not be pickled equal if "mean" were one string here, as a
        field's name too, and two there.
        """
        self._engine.close_gaps()
        return {
            name: sys.intern(value) if type(value) is str else value
            for name, value in self.__dict__.items()
        }

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what makes the forest; settings and the like follow from it."""
        arrays: dict[str, NDArray[Any]] = {}
        header: dict[str, Any] = {
            "parameters": values.parameters_to_json(self._parameters),
            "labels": values.labels_to_json(self._labels),
            "features": values.features_to_json(self._features),
        }
        self._engine.close_gaps()
        if self._arena is not None:
            arrays = self._arena.used_arrays()
            del arrays["settings"], arrays["is_categorical"]
        return header, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        model = cls(**values.parameters_from_json(take(header, "parameters", {}), cls._checks))
        labels = values.labels_from_json(take(header, "labels", []))
        features = values.features_from_json(take(header, "features", []))
        soundness.demand(not header, f"entries {shown([*header])}")
        model._engine = Engine.of(model, features, labels, arrays)
        return model

    def learn_one(self, x: dict[Any, Any], y: Hashable, w: float = _ONE) -> None:
        """Learn one sample.

        Parameters
        ----------
        x
            Features: name -> number or category; None, NaN and absent keys are missing.
        y
            Label, any hashable but None and NaN.
        w
            Weight, from 0 to 1e300. 0 changes nothing; 2 is the same as learning twice, as long as
            there is no fading, no relevance and no learned vote.

        Raises
        ------
        TypeError
            If x is no dict, or a value, the label or the weight is of a type that cannot serve.
        ValueError
            If a value is infinite, or a number where a category was or the reverse; if the label is
            missing, or one more than `n_classes`; if the weight is negative or not finite.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier()
        >>> model.learn_one({"length": 2.5}, "short", w=2.0)
        >>> model.predict_one({"length": 2.0})
        'short'
        """
        self._engine.learn(x, y, w if w is _ONE else check_weight(w), self)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label seen so far.

        Parameters
        ----------
        x
            Features; unknown ones are ignored, absent ones are missing.
        kwargs
            Ignored, as in river.

        Returns
        -------
        Label -> probability, summing to 1; `{}` before the first sample.

        Raises
        ------
        TypeError, ValueError
            For a bad x, as in `learn_one`.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(n_classes=2)
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model.predict_proba_one({"length": 2.0})
        {'short': 1.0}
        """
        return self._engine.predict(x)

    def debug_one(self, x: dict[Any, Any], tree: int | None = None) -> str:
        """Explain the prediction for one sample in text.

        It tells the probabilities of the forest and of each tree, and the path of the sample down a
        tree: at each node the share that it takes of the mass that remains, and so its mass in the
        tree's prediction, what it predicts itself, its counts, and what holds of x at its split.

        Parameters
        ----------
        x
            Features, as in `predict_proba_one`.
        tree
            Index of the tree whose path is shown, from 0. `None` for all of up to three trees, and
            for the first of more.

        Returns
        -------
        The text; `inspection.path` has the same path as a table.

        Raises
        ------
        TypeError, ValueError
            For a bad x, as in `learn_one`; if `tree` is no integer.
        IndexError
            If there is no such tree.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(n_estimators=2, seed=1)
        >>> for length, label in [(1.0, "short"), (1.5, "short"), (4.0, "long"), (4.5, "long")]:
        ...     model.learn_one({"length": length}, label)
        >>> print(model.debug_one({"length": 1.2}, tree=0))
        Prediction: 'short'
          'short'  0.7857
          'long'   0.2143
        <BLANKLINE>
        Trees, of which the forest is the mean
          tree  'short'  'long'  depth
             0   0.7857  0.2143   0.86
             1   0.7857  0.2143   0.86
        <BLANKLINE>
        Path in tree 0, of 3 nodes
          node   share    mass  p('short')  samples  counts               split
             0  0.1429  0.1429      0.5000        4  'short' 2, 'long' 2  length <= 3.52
             1  1.0000  0.8571      0.8333        2  'short' 2            leaf
        <BLANKLINE>
        The path in another tree: debug_one(x, tree=...), 0 to 1
        """
        proba = self.predict_proba_one(x)
        if tree is not None:
            tree = paths.check_tree(self.n_estimators, tree)
        if self._arena is None:
            return "No sample has been learnt yet, so that nothing can be predicted."
        row = self._features.encode(x).values[0].copy()
        return explanation.explain(self._arena, self._features, self._labels, row, proba, tree)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn a block of samples, with the same result as `learn_one` row by row.

        All rows are checked before the first is learnt. It pays from some dozens of rows on: to
        take up a dataframe takes a quarter of a millisecond, whatever its size.

        Parameters
        ----------
        X
            Dataframe (samples, features) of pandas, polars, pyarrow or another library that
            narwhals knows. Each column is a feature; None, NaN, NA and NaT are missing.
        y
            Labels: a series, an array or a list.
        w
            Weights, likewise, or `None` for 1 each.

        Raises
        ------
        TypeError, ValueError
            As `learn_one`, with the row (from 0) in the message; if X is no dataframe, or the
            lengths differ. If memory runs out (`MemoryError`), trees may have learnt different
            numbers of rows of the block.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(seed=1)
        >>> X = pd.DataFrame({"length": [1.0, 4.0, 1.5], "color": ["red", None, "red"]})
        >>> model.learn_many(X, ["short", "long", "short"])
        >>> model.predict_many(X).tolist()
        ['short', 'long', 'short']
        """
        self._learn_block(X, y, w, predicts=False)

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label seen so far, for each row.

        Parameters
        ----------
        X
            Dataframe, as in `learn_many`.

        Returns
        -------
        Dataframe of the library of X: a column for each label, by its name (its str, where column
        names must be text), and with the index of X, if it has one. Without columns before the
        first sample.

        Raises
        ------
        TypeError, ValueError
            As `predict_proba_one`, with the row (from 0) in the message.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier()
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model.predict_proba_many(pd.DataFrame({"length": [2.0, 3.0]}))
           short
        0    1.0
        1    1.0
        """
        frame = frames.read_frame(X)
        return frames.proba_frame(frame, list(self._labels), self._predict_block(frame))

    def predict_many(self, X: Any) -> Any:
        """Predict the label of each row: the most probable one, the one seen first in a tie.

        Parameters
        ----------
        X
            Dataframe, as in `learn_many`.

        Returns
        -------
        Series of labels, of the library of X; of None before the first sample.

        Raises
        ------
        TypeError, ValueError
            As `predict_one`, with the row (from 0) in the message.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier()
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model.predict_many(pd.DataFrame({"length": [2.0, 3.0]})).tolist()
        ['short', 'short']
        """
        frame = frames.read_frame(X)
        proba = self._predict_block(frame)
        codes = proba.argmax(axis=1) if proba.shape[1] else None
        return frames.label_series(frame, list(self._labels), codes)

    def predict_proba_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test-then-train over a block: predict each row, then learn it, before the next one.

        Parameters
        ----------
        X, y, w
            As in `learn_many`.

        Returns
        -------
        Probabilities as of `predict_proba_many`, with a column for each label that is known at the
        end. A label that had not been seen when a row was predicted has 0 there; a row that was
        predicted before anything had been learnt is NaN.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(seed=1)
        >>> X = pd.DataFrame({"length": [1.0, 4.0, 1.5]})
        >>> proba = model.predict_proba_then_learn_many(X, ["short", "long", "short"])
        >>> proba.iloc[:2]
           short  long
        0    NaN   NaN
        1    1.0   0.0
        >>> bool(proba["short"][2] > proba["long"][2])
        True
        """
        frame = frames.read_frame(X)
        frames.check_column_names(frame, self._labels, y)
        proba, n_known, labels = self._test_then_train(frame, y, w)
        proba[n_known == 0] = np.nan
        return frames.proba_frame(frame, labels, proba)

    def _predict_block(self, frame: Any) -> NDArray[np.float64]:
        """Return the probabilities (rows, labels seen so far)."""
        return self._engine.predict_block(frames.read_columns(frame), len(frame), self.n_jobs)

    def _test_then_train(self, X: Any, y: Any, w: Any) -> BlockAnswers:
        """Predict and learn row by row."""
        return self._learn_block(X, y, w, predicts=True)

    def _learn_block(self, X: Any, y: Any, w: Any, *, predicts: bool) -> BlockAnswers:
        """Learn a block, each row after it has been predicted if `predicts` says so."""
        frame = frames.read_frame(X)
        weights = frames.read_weights(w, len(frame))
        labels = frames.read_labels(y, len(frame))
        table = frames.read_columns(frame)
        return self._engine.learn_block(table, labels, weights, self, predicts=predicts)


class AdaptiveAMFClassifier(AMFClassifier):
    """Aggregated Mondrian Forest classifier for streams that drift.

    An `AMFClassifier` with other defaults, and what a user with a real stream should take. The
    splits of a Mondrian forest do not depend on labels, so that little has to be thrown away when
    the concept moves: its nodes forget what they believed (`fading_factor`), features that tell
    little are hardly split (`split_intensity`), trees are heard as they have deserved (`vote`), and
    half of them start afresh where even that does not help (`restart_threshold`). Memory and time
    are bounded (`max_nodes`).

    Parameters
    ----------
    n_classes, n_estimators, step, loss, use_aggregation, dirichlet, split_pure, n_jobs, seed
        As of `AMFClassifier`.
    split_prior, max_nodes, split_intensity, fading_factor, restart_threshold, vote
        As of `AMFClassifier`, with other defaults.

    Notes
    -----
    What the defaults gain, and cost, on the twelve real streams of `tests/benchmarks/defaults.py`:
    mean accuracy in points (hundredths), without the default in question, all others kept.

    - `fading_factor=0.45`: 0.8, on elec2 7; it costs a tenth of the time or two. On streams that
      do not drift it loses 0.4 at most.
    - `vote="learned"`: 0.7, and a quarter of the log-loss, as it also learns how sure to be. A vote
      takes two logarithms for each tree and sample, and one more for each label beyond two.
    - `split_intensity="relevance"`: 0.6, most where features are noise (letter and elec2 2, bank
      1); it loses 0.8 on weather. The statistics take up to a fifth of the time.
    - `restart_threshold=4.0`: 0.2 (satimage 1), and 11 over the 2000 samples after an abrupt drift
      of Agrawal's stream; it loses 0.3 on rialto.
    - `split_prior=0.7`: 0.2. 0.8 and more lower the log-loss of some streams further, and lose up
      to half a point on others (Bananas, bank).
    - `max_nodes=5000`: loses 0.1 (letter 0.6), and keeps ten trees with sixty features in 64 MB.

    Examples
    --------
    >>> from river import metrics
    >>> from river_amf import AdaptiveAMFClassifier, evaluation

    >>> stream = evaluation.load_stream("sea_abrupt", limit=8000)
    >>> model = AdaptiveAMFClassifier(n_estimators=3, seed=1)
    >>> metric = evaluation.progressive_val_score(stream, model, metrics.Accuracy())
    >>> metric.get() > 0.8
    True
    """

    _file_kind = "AdaptiveAMFClassifier"

    def __init__(
        self,
        *,
        n_classes: int | None = None,
        n_estimators: int = 10,
        step: float = 1.0,
        loss: str = "log",
        split_prior: float = 0.7,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        max_nodes: int | None = 5000,
        split_intensity: str = "relevance",
        fading_factor: float | None = 0.45,
        restart_threshold: float | None = 4.0,
        vote: str = "learned",
        n_jobs: int = 1,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            n_classes=n_classes,
            n_estimators=n_estimators,
            step=step,
            loss=loss,
            split_prior=split_prior,
            use_aggregation=use_aggregation,
            dirichlet=dirichlet,
            split_pure=split_pure,
            max_nodes=max_nodes,
            split_intensity=split_intensity,
            fading_factor=fading_factor,
            restart_threshold=restart_threshold,
            vote=vote,
            n_jobs=n_jobs,
            seed=seed,
        )
