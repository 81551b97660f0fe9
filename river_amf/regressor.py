"""The forest regressors: their parameters, documentation and thin methods over the engine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from river.conf import Interval

from river_amf.engine.blocks import BlockAnswers
from river_amf.forest import Forest
from river_amf.outputs import frames
from river_amf.outputs.predictions import first_quantiles
from river_amf.parameters import positive
from river_amf.state.layout import LOCATION, LOWER, REGRESSION, UPPER

LEVEL = 0.9  # the default level of an interval

_LEAST_LEVEL = 5e-324  # both of its ends are the median

check_level = positive(below=1)


def _level_and_side(q: Any) -> tuple[float, bool]:
    """Return the level that ends at a quantile, and whether that is the upper end."""
    check_level("q", q)
    level = round(abs(2.0 * float(q) - 1.0), 12)  # 0.9 of 0.95, too
    return max(level, _LEAST_LEVEL), bool(q > 0.5)


def intervals(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the hulls, of shape (n_samples, 2), of predictions and quantiles (3, n_samples)."""
    return np.stack([ends.min(axis=0), ends.max(axis=0)], axis=1)


class AMFRegressor(Forest, base.MiniBatchRegressor):
    """Aggregated Mondrian Forest regressor for data streams.

    Its trees grow as in `AMFClassifier`, by looking at the features alone[^1]. A tree predicts the
    average of all its prunings, each weighted by how probable it has found the targets so far[^2].
    A node predicts a Student's t distribution: that of the next target in its cell, if the targets
    there are normal with unknown mean and variance, with what the parent predicts as the prior[^3].
    So there is no noise level to choose, and units of the target do not matter. The forest stacks
    its trees and their leaves, or with `vote="mean"` averages its trees, as in the paper.

    Features are those of `AMFClassifier`. A target is any real number: int, float, bool or a scalar
    of numpy, Decimal or Fraction. For streams that drift, and for targets that change smoothly with
    the features, use `AdaptiveAMFRegressor`.

    Parameters
    ----------
    n_estimators, max_nodes, max_categories, max_features, on_mismatch, max_delayed_labels
        As in `AMFClassifier`. Without a limit of nodes, a tree gets up to two per sample.
    vote
        `"mean"` averages the trees. `"learned"` stacks[^5] all experts: a small ridge regression,
        which forgets, weighs them. The experts are the trees with even and with odd indices, the
        means of their leaves (with aggregation), the linear models, and what `recent` adds.
    linear
        Whether a learned vote combines two ridge regressions with the trees. They follow slopes and
        smooth functions, which trees cannot. One takes the features, and for each of them the mean
        target at such values, and looks back about a hundred samples. The other takes the features
        and 200 random cosines of them[^4], and looks back about five thousand. A stack of both is
        the trend, and every second tree learns the difference between target and trend. It has no
        effect with `vote="mean"`.
    recent
        What a learned vote takes from the last few samples, for targets that depend on those
        before. `"errors"` adds the mean of the trees, corrected by its errors on these samples.
        `"target"` also adds the last target, in a second stack that weighs it against the first. It
        suits series whose last value is hard to beat, if labels come in time. With `None`,
        predictions depend on the features alone.
    fading_factor
        As in `AMFClassifier`, with a second mean and variance in place of the counts.
    drift_threshold
        As in `AMFClassifier`; a loss is the squared error divided by 9 times its own long-run mean,
        at most 1.
    split_intensity
        As in `AMFClassifier`. The relevance to a target is the larger of two numbers over the last
        few hundred samples: the squared correlation, and the correlation ratio over 16 parts of the
        feature's range.
    n_jobs, seed
        As in `AMFClassifier`.

    Other Parameters
    ----------------
    step, use_aggregation, split_prior
        As in `AMFClassifier`. Unlike in river, `step` does not depend on the unit of the target.

    Notes
    -----
    The notes on `AMFClassifier` hold here, too: on trees, errors, threads and interrupts.

    A prediction is a mean, to which rare large targets belong. With linear models, an outlier does
    little harm: it is clipped before it is learned. What returns in one of 700 targets or more is
    learned, but for leaps of 100,000 usual steps between targets.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_amf import AMFRegressor

    >>> model = AMFRegressor(seed=1)
    >>> metric = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> metric.get() < 1.0
    True

    References
    ----------
    [^1]: [Lakshminarayanan, Roy, Teh (2016)](https://arxiv.org/abs/1506.03805)
    [^2]: [Mourtada, Gaïffas, Scornet (2021)](https://arxiv.org/abs/1906.10529)
    [^3]: [Murphy (2007)](https://www.cs.ubc.ca/~murphyk/Papers/bayesGauss.pdf)
    [^4]: [Rahimi, Recht (2007)](https://papers.nips.cc/paper/3182)
    [^5]: [Breiman (1996)](https://doi.org/10.1007/BF00117832)
    """

    _task = REGRESSION
    _file_kind = "AMFRegressor"

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        max_nodes: int | None = None,
        max_categories: int | None = None,
        max_features: int | None = None,
        on_mismatch: str = "raise",
        max_delayed_labels: int = 10_000,
        vote: str = "learned",
        linear: bool = False,
        recent: str | None = None,
        fading_factor: float | None = None,
        drift_threshold: float | None = None,
        split_intensity: str = "range",
        n_jobs: int = 1,
        seed: int | None = None,
        step: float = 1.0,
        use_aggregation: bool = True,
        split_prior: float = 0.5,
    ) -> None:
        self._begin(locals())

    def predict_one(
        self, x: dict[Any, Any], with_interval: bool = False, level: float = LEVEL, **kwargs: Any
    ) -> Any:
        """Predict the target: a float, 0.0 before the first sample, or an interval.

        `x` are features, as in `learn_one`, which lists the errors. Unknown ones are ignored, and
        absent ones count as missing. `with_interval` returns what `predict_interval_one` does
        for this `level`. River's pipelines pass it on; most wrappers raise TypeError, so call it on
        the forest in them, for `TargetTransformRegressor` as in `wrapper.regressor.predict_one(x,
        with_interval=True)`, and transform both ends back. Other keywords, such as a time that
        pipelines pass on, are ignored, but with an interval they raise TypeError.

        >>> from river import preprocessing
        >>> model = preprocessing.StandardScaler() | AMFRegressor(seed=1)
        >>> model.learn_one({"length": 2.5}, 10)
        >>> model.predict_one({"length": 2.5})
        10.0
        >>> 10.0 in model.predict_one({"length": 2.5}, with_interval=True, level=0.5)
        True
        """
        if with_interval:
            return self.predict_interval_one(x, level, **kwargs)
        return self._engine.predict(x)

    def predict_interval_one(self, x: dict[Any, Any], level: float = LEVEL) -> Interval:
        """Predict a `river.conf.Interval` that holds the target with a given probability.

        It is the smallest interval that holds the prediction and two quantiles of the target, one
        for each end of the `level`, which is strictly between 0 and 1. The quantiles follow from
        the errors on the last few hundred samples, each divided by the scale of error that the
        forest expected there. So about the given share of all targets of a stream is inside, for
        any distribution; after an abrupt drift it takes some hundred samples until that is true
        again. There is no such promise for parts of the stream, such as samples of a category never
        seen. Before the second target an interval is infinite; before the twentieth, it covers at
        least twice the range of the targets so far. Where targets differ by less than about 1e-150,
        it holds no more than the prediction. Errors are as in `predict_one`.

        >>> model, inside = AMFRegressor(seed=1), 0
        >>> for i in range(2000):
        ...     x, y = {"a": i % 7}, i % 7 + (i * i % 11) / 10
        ...     inside += y in model.predict_interval_one(x, level=0.8)
        ...     model.learn_one(x, y)
        >>> 0.75 < inside / 2000 < 0.85
        True
        """
        check_level("level", level)
        [answer] = self._engine.predict_quantiles(x, [float(level)])
        return Interval(min(answer), max(answer))

    def predict_quantile_one(self, x: dict[Any, Any], q: float | Sequence[float]) -> Any:
        """Predict a quantile of the target, which it does not exceed with probability `q`.

        `q` is strictly between 0 and 1; a list of them gives a list. Probabilities hold over the
        stream as a whole, as those of intervals do. Before the second target, all but the median
        are infinite. Errors are as in `predict_one`.

        >>> model = AMFRegressor(seed=1)
        >>> for i in range(1000):
        ...     model.learn_one({"a": i % 7}, i % 7 + (i * i % 11) / 10)
        >>> low, median, high = model.predict_quantile_one({"a": 1}, [0.05, 0.5, 0.95])
        >>> low < median < high
        True
        """
        levels, are_upper = zip(*map(_level_and_side, np.ravel(q)), strict=True)
        ends = self._engine.predict_quantiles(x, levels)
        quantiles = [end[1 + is_upper] for end, is_upper in zip(ends, are_upper, strict=True)]
        return quantiles if np.ndim(q) else quantiles[0]

    def predict_many(self, X: Any) -> Any:
        """Predict the target of each row, as `predict_one` does; errors have the number of the row.

        Returns a series from the library of `X`, with its index.

        >>> import pandas as pd
        >>> model = AMFRegressor()
        >>> model.learn_one({"length": 2.5}, 10.0)
        >>> model.predict_many(pd.DataFrame({"length": [2.0, 3.0]})).tolist()
        [10.0, 10.0]
        """
        frame = self._frame_of(X)
        return frames.number_series(frame, self._predict_rows(X)[0][0])

    def predict_interval_many(self, X: Any, level: float = LEVEL) -> Any:
        """Predict an interval for each row of a dataframe, as `predict_interval_one` does.

        Returns a frame of shape (n_samples, 2) with the columns `lower` and `upper`, from the
        library of `X`. Errors have the number of the row.

        >>> import pandas as pd
        >>> model = AMFRegressor(seed=1)
        >>> for i in range(1000):
        ...     model.learn_one({"length": i % 10}, i % 10 + 0.1 * (i % 3))
        >>> model.predict_interval_many(pd.DataFrame({"length": [2, 3]})).round(1)
           lower  upper
        0    2.0    2.2
        1    3.0    3.2
        """
        check_level("level", level)
        frame = self._frame_of(X)
        [ends] = self._predict_rows(X, [float(level)])
        return frames.proba_frame(frame, ["lower", "upper"], intervals(ends))

    def predict_quantile_many(self, X: Any, q: float | Sequence[float]) -> Any:
        """Predict quantiles of the target of each row, as `predict_quantile_one` does.

        Returns a series, or for a list of probabilities a frame with a column for each, from the
        library of `X`. Errors have the number of the row.

        >>> import pandas as pd
        >>> model = AMFRegressor(seed=1)
        >>> for i in range(1000):
        ...     model.learn_one({"length": i % 10}, i % 10 + 0.1 * (i % 3))
        >>> model.predict_quantile_many(pd.DataFrame({"length": [2, 3]}), [0.05, 0.95]).round(1)
           0.05  0.95
        0   2.0   2.2
        1   3.0   3.2
        """
        levels, are_upper = zip(*map(_level_and_side, np.ravel(q)), strict=True)
        frame, ends = self._frame_of(X), self._predict_rows(X, levels)
        quantiles = [end[1 + is_upper] for end, is_upper in zip(ends, are_upper, strict=True)]
        if not np.ndim(q):
            return frames.number_series(frame, quantiles[0])
        return frames.proba_frame(frame, [*np.ravel(q)], np.stack(quantiles, axis=1))

    def _predict_rows(self, X: Any, levels: Sequence[float] = (0.0,)) -> list[NDArray[np.float64]]:
        """Predict each row, with both quantiles at each level but 0: of shape (3, n_samples)."""
        return [*map(self._ends, self._predict_block(X, levels), levels)]

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Test, then train on a block: predict each row and then learn it, before the next one.

        It takes what `learn_many` takes, with its errors, and returns what `predict_many` does.
        Rows that were predicted before anything had been learned are 0.0.

        >>> import pandas as pd
        >>> X = pd.DataFrame({"length": [1.0, 4.0]})
        >>> AMFRegressor(seed=1).predict_then_learn_many(X, [10.0, 40.0]).tolist()
        [0.0, 10.0]
        """
        answers = self._learn_block(X, y, w, predicts=True)
        return frames.number_series(self._frame_of(X), self._ends(answers)[0])

    def _ends(self, block: BlockAnswers, level: float = 0.0) -> NDArray[np.float64]:
        """Return predictions and quantiles, of shape (3, n_samples), given the forest's answers."""
        ends: NDArray[np.float64] = block.answers[:, [LOCATION, LOWER, UPPER]].T + sum(block.labels)
        ends[:, block.n_known == 0] = [[0.0], *([q] for q in first_quantiles(level))]
        return ends


class AdaptiveAMFRegressor(AMFRegressor):
    """`AMFRegressor` for streams that drift: with other defaults, the choice for a real stream.

    Nodes forget (`fading_factor`), uninformative features are hardly ever split
    (`split_intensity`), ridge regressions beside the trees follow slopes and smooth functions
    (`linear`), a stack learns which of them to trust (`vote`), and half of the trees restart if all
    that is not enough (`drift_threshold`). Nodes and categories are bounded; `max_features` bounds
    the rest. Linear models take up to half of the time. The defaults that differ are
    max_nodes=5000, max_categories=5000, linear=True, recent='errors', fading_factor=0.5,
    drift_threshold=3.0, split_intensity='relevance', split_prior=0.7.

    >>> from river import metrics
    >>> from river.datasets import synth
    >>> from river_amf import AdaptiveAMFRegressor
    >>> model, metric = AdaptiveAMFRegressor(n_estimators=4, seed=1), metrics.R2()
    >>> for x, y in synth.FriedmanDrift(position=(1000, 2000, 3000), seed=1).take(4000):
    ...     metric.update(y, model.predict_one(x))
    ...     model.learn_one(x, y)
    >>> metric.get() > 0.7
    True
    """

    _file_kind = "AdaptiveAMFRegressor"

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        max_nodes: int | None = 5000,
        max_categories: int | None = 5000,
        max_features: int | None = None,
        on_mismatch: str = "raise",
        max_delayed_labels: int = 10_000,
        vote: str = "learned",
        linear: bool = True,
        recent: str | None = "errors",
        fading_factor: float | None = 0.5,
        drift_threshold: float | None = 3.0,
        split_intensity: str = "relevance",
        n_jobs: int = 1,
        seed: int | None = None,
        step: float = 1.0,
        use_aggregation: bool = True,
        split_prior: float = 0.7,
    ) -> None:
        self._begin(locals())
