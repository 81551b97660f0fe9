"""The base of all forests: engine, locks, copies, files, and learning."""

import copy
import inspect
import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, Self

from numpy.typing import NDArray

from river_amf.engine.blocks import BlockAnswers, Rows, check_block, learn_block, predict_block
from river_amf.engine.engine import Engine
from river_amf.engine.restoring import content_of, engine_of
from river_amf.ensemble import Ensemble
from river_amf.inputs import frames
from river_amf.inputs.cautions import warn_once
from river_amf.inputs.kinds import check_weight, shown
from river_amf.inputs.labels import Targets
from river_amf.persistence import Saved
from river_amf.persistence.validation import FileError, adopted, require
from river_amf.persistence.values import from_json, to_json
from river_amf.state.layout import REGRESSION

_ONE = 1.0  # the default weight, recognized by identity, so that it needs no check


class Forest(Ensemble, Saved):
    """Base of the forests; each class has one task, and the parameters that its engine reads."""

    def _begin(self, values: dict[str, Any]) -> None:
        for name in self._checks:
            setattr(self, name, values[name])
        for sentence in self._idle():
            warn_once(sentence)
        self._engine = Engine(Targets() if self._task == REGRESSION else None)

    @property
    def _has_learned(self) -> bool:
        return hasattr(self, "_engine") and self._engine.learned.arena is not None

    @property
    def fading_share(self) -> float:
        """Share of what fades in recent predictions, from 0 to 1; NaN without fading.

        What fades is each node's second set of counts, or for a regressor its second mean and
        variance. The share is a running mean over about 500 samples that starts at 0.5. It is low
        while old samples predict as well as new ones, and it rises after a drift.

        >>> from river_amf import AMFClassifier
        >>> AMFClassifier(fading_factor=0.5).fading_share
        0.5
        """
        if self.fading_factor is None:
            return math.nan
        return self._engine.run(self._engine.faded_share)

    @property
    def memory_usage(self) -> int:
        """Memory used by the model, in bytes, with spare capacity, but not addresses only reserved.

        >>> from river_amf import AMFClassifier
        >>> AMFClassifier().memory_usage < 10_000
        True
        """
        return self._engine.run(self._engine.nbytes)

    _raw_memory_usage = memory_usage  # instead of river's own sum over all objects

    def __copy__(self) -> Self:
        """Return a deep copy: two forests sharing memory would corrupt each other."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = memo[id(self)] = type(self).__new__(type(self))
        memo[id(self._engine)] = engine_of(self, *self._engine.run(content_of, self._engine))
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return a forest with these parameters, or some new ones, which has learned nothing.

        With `include_attributes` it has learned what this one has.

        >>> from river_amf import AMFClassifier
        >>> AMFClassifier(seed=7).clone({"n_estimators": 3}).seed
        7
        """
        clone: Self = super().clone(new_params)  # type: ignore[misc]  # of an estimator of river
        if include_attributes:
            clone._engine = copy.deepcopy(self)._engine
        return clone

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_engine": self._engine.run(content_of, self._engine)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        header, arrays = state.pop("_engine")
        for name in self._checks.keys() - state.keys():  # which that release did not have
            state[name] = inspect.signature(type(self)).parameters[name].default
        for name, value in state.items():
            setattr(self, name, value)
        try:
            self._engine = engine_of(self, header, adopted(arrays))
        except FileError as error:
            raise FileError(f"the pickle {error}") from error

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        parameters = {
            name: to_json(float(value) if isinstance(value, Fraction) else value, name)
            for name, value in self._parameters.items()
        }
        header, arrays = self._engine.run(content_of, self._engine, to_json)
        return {"parameters": parameters} | header, arrays

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        model = cls()  # without a warning of parameters, which may be an error
        for name, item in header.pop("parameters", {}).items():
            require(name in cls._checks, f"parameter {shown(name)}")
            setattr(model, name, from_json(item))
        model._engine = engine_of(model, header, arrays, is_file=True)
        return model

    def learn_one(self, x: dict[Any, Any], y: Hashable, w: float = _ONE) -> None:
        """Learn from one sample.

        Parameters
        ----------
        x
            Features, as a dict or another mapping from name to number or category. None, NaN and
            absent keys count as missing, but see `absent`.
        y
            Label: any hashable except None and NaN. For a regressor the target: a finite number
            within 1e100 of the first one.
        w
            Sample weight, from 0, which changes nothing, to 1e300. With `vote="learned"` only the
            ratios of weights matter. With `vote="mean"`, as in the paper, a sample of weight w
            stands for w samples that agree, so it confirms itself: let the largest weight be 1.

        Raises
        ------
        TypeError
            If `x` is not a mapping, or a value, the label, target or weight is of a wrong type.
        ValueError
            If a value is infinite or a date, or of the other kind unless `on_mismatch="missing"`;
            if the label is missing or exceeds `n_classes`, or the target or weight is out of range.

        Examples
        --------
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier()
        >>> model.learn_one({"length": 2.5}, "short", w=2.0)
        >>> model.predict_one({"length": 2.0})
        'short'
        """
        weight = w if w is _ONE else check_weight(w)
        self._engine.learn(x, y, weight, self)

    def novelty_one(self, x: dict[Any, Any]) -> float:
        """Return how unlike all learned samples a sample is, from 0 (not at all) to 1.

        On its way down a tree, a sample may be split off at each node[^1], the more probably the
        farther it is from the samples there. If it is split off from n of the N samples of the
        tree, it counts log(1 + n) / log(1 + N), and if it never is, 0. Novelty is the mean of that
        over all that may happen, and over the trees. Before the first sample it is 1. Most ordinary
        samples have less than 0.2. A threshold follows from the quantiles of a stream (RECIPES.md).
        Novelty does **not** predict errors.

        Distances are in units of the range, and values far outside it are not clipped. An unseen
        category counts as a distance of 1, and so does a missing one if there was none before.
        Missing numbers, unknown features, numbers with a single value so far, and words that the
        trees do not see have no distance. While there is only one label, a classifier has a novelty
        of 0 within the range of each feature and 1 outside, unless `split_pure=True`. Nothing is
        stored, so no label has to follow. Errors are as in `learn_one`.

        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(seed=1)
        >>> for i in range(200):
        ...     model.learn_one({"size": i % 10, "color": "rgb"[i % 3]}, i % 10 > 4)
        >>> model.novelty_one({"size": 4, "color": "r"}), model.novelty_one({"size": 40}) > 0.9
        (0.0, True)

        [^1]: [Lakshminarayanan, Roy, Teh (2014)](https://arxiv.org/abs/1406.2673)
        """
        novelty: float = self._engine.run(self._engine.novelty, x)
        return novelty

    def debug_one(self, x: dict[Any, Any], tree: int | None = None) -> str:
        """Explain the prediction for one sample as text.

        It shows the predictions of the forest, its trees and other models, with their weights (of a
        regressor also an interval, and how voters are combined), the inputs of linear models that
        matter most, the path of the sample down a tree (`inspection.path` explains its columns),
        and the five features that moved the prediction most (`inspection.contributions`). The path
        is that in tree `tree`, from 0 (else IndexError), by default tree 0, or all if there are at
        most three. Other errors are as in `learn_one`.

        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(seed=1)
        >>> for length, label in [(1.0, "short"), (4.0, "long"), (1.5, "short")]:
        ...     model.learn_one({"length": length}, label)
        >>> print(model.debug_one({"length": 1.2})[:82])
        Prediction: 'short'
                 probability
        'short'       0.7731
        'long'        0.2269
        """
        from river_amf.explain.debug import explain  # pandas takes half a second to load

        return self._engine.run(explain, self, x, tree)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from a block of samples, with the same result as `learn_one` row by row.

        All rows are checked before the first is learned. It pays from a few dozen rows on, as
        reading even the smallest dataframe takes about a quarter of a millisecond.

        Parameters
        ----------
        X
            DataFrame of shape (n_samples, n_features), of any library that narwhals supports. Each
            column is a feature. In a categorical column, a number is the same category as its text:
            30 and 30.0 are `"30"`. With `absent="zero"`, `X` may also be a sparse matrix of scipy,
            whose columns are the features 0, 1, ...
        y, w
            Labels or targets, and sample weights (by default 1): series, arrays or lists of length
            n_samples, matched by position.

        Raises
        ------
        TypeError, ValueError
            As in `learn_one`, with the number of the row (from 0); also if `X` is not a dataframe,
            lengths differ, or a series of pandas has the index of `X` in another order.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> model = AMFClassifier(seed=1)
        >>> model.learn_many(pd.DataFrame({"length": [1.0, 4.0]}), ["short", "long"])
        >>> model.predict_one({"length": 1.5})
        'short'
        """
        self._learn_block(X, y, w, predicts=False)

    def _frame_of(self, X: Any) -> Any:
        """Return X as a dataframe or a view of a sparse matrix, or raise TypeError."""
        if self.absent == "missing":
            frames.refuse_matrix(X)
        return frames.frame_of(X)

    def _rows_of(self, X: Any, frame: Any) -> Rows:
        if self.absent == "zero":
            return Rows(len(frame), [], frames.read_rows(X))
        return Rows(len(frame), frames.read_columns(frame), None)

    def _predict_block(self, X: Any, levels: Sequence[float] = (0.0,)) -> list[BlockAnswers]:
        rows = self._rows_of(X, self._frame_of(X))
        return self._engine.run(predict_block, self._engine, rows, self.n_jobs, levels)

    def _labeled_rows(self, X: Any, y: Any, w: Any) -> Rows:
        frame = self._frame_of(X)
        weights = frames.read_weights(w, len(frame))
        read = frames.read_targets if self._task == REGRESSION else frames.read_labels
        labels = read(y, len(frame))
        frames.check_order(X, y=y, w=w)
        return self._rows_of(X, frame)._replace(labels=labels, weights=weights)

    def _learn_block(self, X: Any, y: Any, w: Any, *, predicts: bool) -> BlockAnswers:
        rows = self._labeled_rows(X, y, w)
        return self._engine.run(learn_block, self._engine, rows, self, predicts)

    def _check_rows(self, rows: Rows) -> None:
        self._engine.run(check_block, self._engine, rows, self)
