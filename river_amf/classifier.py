"""The forest classifiers: their parameters, documentation and thin methods over the engine."""

from typing import Any

import numpy as np
from river import base

from river_amf.forest import Forest
from river_amf.outputs import frames
from river_amf.state.layout import CLASSIFICATION


class AMFClassifier(Forest, base.MiniBatchClassifier):
    """Aggregated Mondrian Forest classifier for data streams.

    Each tree partitions the feature space with a Mondrian process[^2], which looks only at the
    features. A node predicts the label frequencies of its cell, and a tree the average of all its
    prunings, each weighted by how well it has predicted so far; one walk from root to leaf computes
    it exactly[^1][^3]. The forest averages its trees.

    Features may be numbers on any scale (including bool, Decimal and numpy scalars) or categories
    (str or any other hashable). Convert dates, times and durations to numbers (`date_features`) or
    to str. Values may be missing (key absent, None or NaN), and features and labels may appear and
    disappear at any time. Instances of subclasses of str, bytes, int and float, such as members of
    a `StrEnum`, are converted to the built-in type.

    Parameters
    ----------
    n_estimators
        Number of trees.
    max_nodes, max_categories, max_features
        Maximum numbers of nodes of a tree, of categories of a feature, and of features; `None`
        means no limit. In a full tree the least useful splits make room for new ones, and its
        average over prunings is no longer exact. Beyond the limit, a new category replaces the one
        that was learned longest ago. Further features, or words, are ignored, with one warning.
    absent
        The meaning of a feature that is absent from a sample: `"missing"`, or `"zero"` for sparse
        samples such as bags of words.

        A missing category is one more category. At a split on a missing number, a prediction mixes
        both sides in proportion to their samples, and a sample to be learned goes to the larger
        side. While a number has had one value, as in `{"promo": True}` or no key, its absence is
        learned, too.

        With `"zero"`, an absent number is 0; None, NaN and absent categories are missing. The time
        for a sample is proportional to the number of features that it has. The trees see up to
        `max_split_words` of them; with `linear`, a logistic regression uses all. Blocks are learned
        and predicted row by row, without threads.
    on_mismatch
        The first value of a feature makes it a number or a category. A value of the other kind
        raises an error (`"raise"`), or counts as missing (`"missing"`), with one `MismatchWarning`
        for each feature. Then texts such as `"?"`, `"-"`, `""` and `"NA"` settle no kind.
    max_delayed_labels
        Maximum number of predictions that are kept until their labels arrive, in at most 16 MB; the
        oldest are dropped first. A delayed label is scored against the prediction made at the time,
        which is found by the row; where rows repeat, or a transformer changes them in between, by
        the order of the rows. A label that finds none counts as if it came at once; with 0, all do.
    vote
        `"mean"` averages the trees, as in the paper; its probabilities are under-confident.
        `"learned"` multiplies powers of the probabilities of the trees, a logarithmic opinion
        pool[^5] whose weights follow the gradient of the log-loss; it is close to frequencies.
    linear
        Whether a learned vote (else there is no effect) combines three models with the trees: a
        perceptron with one hidden layer[^6], and two additive models of the frequencies of labels
        at such values of each feature, one of them also of 100 random cosines of the features[^7].
    fading_factor
        For streams that drift: each node has a second set of label counts[^4], multiplied by this
        factor, in (0, 1), at every visit. It predicts a mixture of both, each weighted by how well
        it has predicted recently (see `fading_share`). With `None`, nodes forget nothing.
    drift_threshold
        For drifts that make the splits themselves useless: every second tree restarts when the mean
        of its recent losses, 1 - p(label), exceeds its long-run mean by this many standard errors
        and by at least 0.05. `None` means never.
    split_intensity
        How readily each feature is split. `"range"` divides by the feature's range so far, so that
        its scale does not matter. `"relevance"` also multiplies by how informative the feature has
        recently been about the label, and above all by what the tree's splits on it have gained.
        Both options clip values far outside the range, such as a stray -999, until they become
        frequent. `"unit"`, the choice of the paper, takes features as they are: scale them
        beforehand.
    n_jobs
        Number of threads that share the trees in calls on blocks of samples (`*_many`), -1 for one
        per core. It does not affect the results and may be changed at any time.
    seed
        Seed of the random numbers, for reproducible results.

    Other Parameters
    ----------------
    step
        Learning rate eta of the aggregation weights, > 0. With 1, the average is the exact Bayesian
        mixture under the logarithmic loss.
    use_aggregation
        Whether a tree predicts with all its prunings (`True`) or with its leaf alone (`False`).
    dirichlet
        Pseudo-count a of each class in a node, which predicts (count + a) / (n + n_classes a); at
        least 1e-300. `None` means 0.5 for up to two classes and 0.01 for more.
    split_pure
        Whether to split cells whose samples all have the same label right away, as in the figures
        of the paper. By default they are split when another label arrives, which takes far fewer
        nodes for the same distribution of trees.
    split_prior
        Prior probability b that a node is split, in (0, 1). The paper uses 0.5; values of 0.8 to
        0.9 often lower the log-loss.
    n_classes
        Number of classes that the prior counts from the start; any further label raises
        `ValueError`. With `None`, the prior counts the classes seen so far.
    max_split_words, max_words
        Maximum numbers of features that the trees see, and of words (>= 2) that are remembered,
        with `absent="zero"`. Trees see a categorical feature at once, and a word from when it is
        informative, or in half of the samples, for good: once there are so many, no other. Beyond
        `max_words`, unless it is `None`, the half that is used least is forgotten.

    Notes
    -----
    A forest is a read-only sequence of its trees: `len(model)`, `model[0].n_nodes`, iteration. Its
    parameters are read-only after the first sample; one that has no effect with the values of the
    others gives a warning, unless it has its default. Restarts of trees are logged (logger
    "river_amf", level INFO).

    Any thread may make any call at any time: a lock lets one call at a time use the model. A call
    in the middle of another one of the same thread, as in a signal handler or in the `__eq__` of a
    value, raises `RuntimeError`; so does one after a fork in the midst of a call by another thread.

    A call that raises `ValueError` or `TypeError` leaves the model unchanged. After Ctrl-C, another
    exception from a signal handler, or a lack of memory, the model has learned all of a sample or
    nothing of it, and of a block all rows up to some row.

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
    >>> model.learn_one({"size": 1.0, "color": "red"}, "apple")
    >>> model.learn_one({"size": 7.5, "color": "green"}, "melon")
    >>> model.learn_one({"size": 1.2}, "apple")
    >>> model.predict_one({"size": 1.1, "color": "red"})
    'apple'

    References
    ----------
    [^1]: [Mourtada, Gaïffas, Scornet (2021)](https://arxiv.org/abs/1906.10529)
    [^2]: [Lakshminarayanan, Roy, Teh (2014)](https://arxiv.org/abs/1406.2673)
    [^3]: [Willems, Shtarkov, Tjalkens (1995)](https://doi.org/10.1109/18.382012)
    [^4]: [Gama and others (2013)](https://doi.org/10.1007/s10994-012-5320-9), mixed as in
          [Herbster, Warmuth (1998)](https://doi.org/10.1023/A:1007424614876)
    [^5]: [Genest, Zidek (1986)](https://doi.org/10.1214/ss/1177013825), learned online as in
          [Mattern (2013)](https://arxiv.org/abs/1302.2820)
    [^6]: With steps as in [Duchi, Hazan, Singer (2011)](https://jmlr.org/papers/v12/duchi11a.html)
    [^7]: [Rahimi, Recht (2007)](https://papers.nips.cc/paper/3182)
    """

    _task = CLASSIFICATION
    _file_kind = "AMFClassifier"

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        max_nodes: int | None = None,
        max_categories: int | None = None,
        max_features: int | None = None,
        absent: str = "missing",
        on_mismatch: str = "raise",
        max_delayed_labels: int = 10_000,
        vote: str = "mean",
        linear: bool = False,
        fading_factor: float | None = None,
        drift_threshold: float | None = None,
        split_intensity: str = "range",
        n_jobs: int = 1,
        seed: int | None = None,
        step: float = 1.0,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        split_prior: float = 0.5,
        n_classes: int | None = None,
        max_split_words: int = 30,
        max_words: int | None = None,
    ) -> None:
        self._begin(locals())

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the most probable label: in a tie the one seen first, None if there is none.

        Errors are as in `predict_proba_one`.

        >>> model = AMFClassifier()
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model.predict_one({"length": 2.0})
        'short'
        """
        proba = self.predict_proba_one(x)
        return max(proba, key=proba.__getitem__) if proba else None

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label seen so far; they sum to 1.

        `x` are features, as in `learn_one`, which lists the errors. Unknown ones are ignored, and
        absent ones count as missing, but see `absent`. Keywords, such as a time that pipelines of
        river pass on, are ignored. The dict is empty before the first sample.

        >>> model = AMFClassifier(n_classes=2)
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model.predict_proba_one({"length": 2.0})
        {'short': 1.0}
        """
        return self._engine.predict(x)  # type: ignore[no-any-return]

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label seen so far, for each row of a dataframe.

        Returns a frame of shape (n_samples, n_labels) from the library of `X` (for a sparse matrix,
        from pandas), with its index. A column is named after its label (or its str, where names
        must be text); before the first sample there is none. Errors are those of
        `predict_proba_one`, with the number of the row.

        >>> import pandas as pd
        >>> model = AMFClassifier()
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model.predict_proba_many(pd.DataFrame({"length": [2.0, 3.0]}))
           short
        0    1.0
        1    1.0
        """
        frame = self._frame_of(X)
        [(proba, _, labels)] = self._predict_block(X)
        return frames.proba_frame(frame, labels, proba)

    def predict_many(self, X: Any) -> Any:
        """Predict the label of each row, as `predict_one` does; errors have the number of the row.

        Returns a series from the library of `X` (for a sparse matrix, from pandas).

        >>> import pandas as pd
        >>> model = AMFClassifier()
        >>> model.learn_one({"length": 2.5}, "short")
        >>> model.predict_many(pd.DataFrame({"length": [2.0, 3.0]})).tolist()
        ['short', 'short']
        """
        frame = self._frame_of(X)
        [(proba, _, labels)] = self._predict_block(X)
        return frames.label_series(frame, labels, proba.argmax(axis=1) if labels else None)

    def predict_proba_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        It takes what `learn_many` takes, with its errors, and returns what `predict_proba_many`
        does, for the labels seen by the end of the block. A label that is new in the block has
        probability 0 up to the first row with it. Rows that were predicted before anything had been
        learned are NaN.

        >>> import pandas as pd
        >>> X = pd.DataFrame({"length": [1.0, 4.0, 1.5]})
        >>> labels = ["short", "long", "short"]
        >>> AMFClassifier(seed=1).predict_proba_then_learn_many(X, labels).iloc[:2]
           short  long
        0    NaN   NaN
        1    1.0   0.0
        """
        frame = self._frame_of(X)
        frames.check_column_names(frame, self._labels, y)
        proba, n_known, labels = self._learn_block(X, y, w, predicts=True)
        proba[n_known == 0] = np.nan
        return frames.proba_frame(frame, labels, proba)

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        It takes what `learn_many` takes, with its errors, and returns what `predict_many` does.
        Rows that were predicted before anything had been learned are None.

        >>> import pandas as pd
        >>> X = pd.DataFrame({"length": [1.0, 4.0, 1.5]})
        >>> AMFClassifier(seed=1).predict_then_learn_many(X, ["short", "long", "short"]).tolist()
        [None, 'short', 'short']
        """
        frame = self._frame_of(X)
        frames.check_series(frame, self._labels, y)
        proba, n_known, labels = self._learn_block(X, y, w, predicts=True)
        codes = np.where(n_known > 0, proba.argmax(axis=1), len(labels)) if labels else None
        return frames.label_series(frame, [*labels, None], codes)


class AdaptiveAMFClassifier(AMFClassifier):
    """`AMFClassifier` for streams that drift: with other defaults, the choice for a real stream.

    Nodes forget old labels (`fading_factor`), uninformative features are hardly ever split
    (`split_intensity`), trees and other models are weighted by their performance (`vote`), and half
    of the trees restart if all that is not enough (`drift_threshold`). Nodes, categories and words
    are bounded; `max_features` and `n_classes` bound the rest. The other models take 30 to 110 %
    more time, fading up to 20 %, relevance up to 10 %. Without drift, fading loses at most 0.2
    points. The defaults that differ are max_nodes=5000, max_categories=5000, vote='learned',
    linear=True, fading_factor=0.45, drift_threshold=4.0, split_intensity='relevance',
    split_prior=0.7, max_words=100000.

    >>> from river import evaluate, metrics
    >>> from river_amf import AdaptiveAMFClassifier, evaluation
    >>> stream = evaluation.load_stream("sea_abrupt", limit=8000)
    >>> model = AdaptiveAMFClassifier(n_estimators=3, seed=1)
    >>> metric = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    >>> metric.get() > 0.8
    True
    """

    _file_kind = "AdaptiveAMFClassifier"

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        max_nodes: int | None = 5000,
        max_categories: int | None = 5000,
        max_features: int | None = None,
        absent: str = "missing",
        on_mismatch: str = "raise",
        max_delayed_labels: int = 10_000,
        vote: str = "learned",
        linear: bool = True,
        fading_factor: float | None = 0.45,
        drift_threshold: float | None = 4.0,
        split_intensity: str = "relevance",
        n_jobs: int = 1,
        seed: int | None = None,
        step: float = 1.0,
        use_aggregation: bool = True,
        dirichlet: float | None = None,
        split_pure: bool = False,
        split_prior: float = 0.7,
        n_classes: int | None = None,
        max_split_words: int = 30,
        max_words: int | None = 100_000,
    ) -> None:
        self._begin(locals())
