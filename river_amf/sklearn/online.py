"""What the scikit-learn estimators share: they feed blocks of rows to a river model."""

from __future__ import annotations

import copy
import weakref
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from river_amf import frames, sparse_rows
from river_amf.kinds import shown
from river_amf.locks import ModelLock
from river_amf.sklearn.saving import SavedEstimator, as_river_takes
from river_amf.sklearn.targets import draw_seed, read_rows, read_weights

Rows = tuple[nw.DataFrame[Any], NDArray[Any], NDArray[np.float64]]  # features, targets, weights

_locks: weakref.WeakKeyDictionary[OnlineEstimator, ModelLock] = weakref.WeakKeyDictionary()


class OnlineEstimator(SavedEstimator):
    """Base of the estimators, which wrap a model of class `_river` as `model_`.

    A class of estimators defines `_read_targets`, and extends `_read` and `_settle` if it learns
    more of a block than its columns.
    """

    _finite: ClassVar[bool | str] = "allow-nan"  # scikit-learn's `ensure_all_finite` for X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return self._lock.read(self._settle, self._snapshot)

    def _snapshot(self) -> dict[str, Any]:
        """Return the attributes, with a model that later calls do not change."""
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = copy.deepcopy(state["model_"])
        return state

    def _fitted_model(self) -> Any:
        """Return `model_`, or raise NotFittedError."""
        check_is_fitted(self, "model_")
        return self.model_

    @property
    def _lock(self) -> ModelLock:
        # not an attribute, which scikit-learn does not let `__init__` set and would copy
        return _locks.get(self) or _locks.setdefault(self, ModelLock(rank=-1))

    def _fit(self, X: Any, y: Any, sample_weight: Any, **of_task: Any) -> Self:
        """Learn from scratch; `of_task` goes to `_read`."""
        return self._lock.run_alone(self._fit_alone, X, y, sample_weight, of_task)

    def _fit_alone(self, X: Any, y: Any, sample_weight: Any, of_task: dict[str, Any]) -> Self:
        draft = self._draft()
        draft._start()
        draft._learn_frame(*draft._read(X, y, sample_weight, is_first=True, **of_task))
        return self._become(draft)

    def _fit_more(self, X: Any, y: Any, sample_weight: Any, **of_task: Any) -> Self:
        """Learn more rows; `of_task` goes to `_read`."""
        return self._lock.run_alone(self._fit_more_alone, X, y, sample_weight, of_task)

    def _fit_more_alone(self, X: Any, y: Any, sample_weight: Any, of_task: dict[str, Any]) -> Self:
        self._settle()
        is_first = not hasattr(self, "model_")
        draft = self._draft()
        if is_first:
            draft._start()
        else:
            draft._check_parameters()
            draft._set_writable()
        rows = draft._read(X, y, sample_weight, is_first=is_first, **of_task)
        if not is_first:
            self._announce(draft)
        try:
            draft._learn_frame(*rows)
        except BaseException:
            self._settle()
            raise
        return self._become(draft)

    def _announce(self, draft: Self) -> None:
        """Note what `_settle` needs, should the call be interrupted while the model learns."""

    def _draft(self) -> Self:
        """Return an estimator with the same attributes, to work on until all has gone well."""
        draft = object.__new__(type(self))
        draft.__dict__ = self.__dict__.copy()
        return draft

    def _become(self, draft: Self) -> Self:
        """Take over what a draft has learned, in one step."""
        self.__dict__ = draft.__dict__ | self.get_params(deep=False)
        return self

    def _start(self) -> None:
        """Create an untrained model, whose class checks the parameters."""
        self._parameters = self._params_of_river()
        parameters = {name: as_river_takes(name, v) for name, v in self._parameters.items()}
        if "random_state" in parameters:
            parameters["seed"] = draw_seed(parameters.pop("random_state"))
        self.model_ = self._river(**parameters)

    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter has changed since training started."""
        for name, old in self._parameters.items():
            new = getattr(self, name)
            is_same = old is new or (np.isscalar(new) and old == new)
            if not is_same and name not in self._river._always_writable:
                raise ValueError(
                    f"{name} was changed from {shown(old)} to {shown(new)} after training started; "
                    "change it back, or call fit to start over"
                )

    def _set_writable(self) -> None:
        """Pass on the parameters that may change at any time."""
        for name in self._river._always_writable:
            setattr(self.model_, name, as_river_takes(name, getattr(self, name)))

    def _read(self, X: Any, y: Any, sample_weight: Any, *, is_first: bool, **of_task: Any) -> Rows:
        """Check rows, take up their columns, and return frame, targets and weights."""
        frame = self._read_frame(X, is_first=is_first)
        targets = self._read_targets(y)
        check_consistent_length(X, targets)
        return frame, targets, read_weights(sample_weight, len(targets))

    def _read_targets(self, y: Any) -> NDArray[Any]:
        """Return y as an array (n_rows,), or raise TypeError or ValueError."""
        raise NotImplementedError

    def _learn_frame(
        self, frame: nw.DataFrame[Any], targets: NDArray[Any], weights: NDArray[np.float64]
    ) -> None:
        self.model_.learn_many(frame, targets, weights)

    def _read_to_predict(self, X: Any) -> Any:
        """Return X as `_read_frame` does, for a model that is ready to predict."""
        check_is_fitted(self, "model_")
        self._set_writable()
        return self._read_frame(X, is_first=False)

    def _read_frame(self, X: Any, *, is_first: bool) -> Any:
        """Return X as a dataframe, or as sparse rows, with the columns that the model knows."""
        if sparse_rows.is_matrix(X) and self.__sklearn_tags__().input_tags.sparse:
            X = validate_data(
                self, X, reset=is_first, accept_sparse="csr", ensure_all_finite=self._finite
            )
            if is_first:
                self._columns = list(range(X.shape[1]))
            return sparse_rows.read_rows(X)._replace(names=self._columns)
        if nw.dependencies.is_into_dataframe(X):
            frame = frames.read_frame(X)
            validate_data(self, X, reset=is_first, skip_check_array=True)
            if not all(frame.shape):
                raise ValueError(
                    f"Found a dataframe with {frame.shape[0]} sample(s) and {frame.shape[1]} "
                    f"feature(s) while a minimum of 1 of each is required by {type(self).__name__}."
                )
        else:
            X = read_rows(X)
            # Without dtype=object, numpy would turn numbers in a mixed list into strings.
            dtype = object if isinstance(X, list | tuple) else None
            array = validate_data(
                self, X, reset=is_first, dtype=dtype, ensure_all_finite=self._finite
            )
            frame = frames.read_frame(pd.DataFrame(array).infer_objects())
        if is_first:
            self._columns = list(frame.columns)
        if set(frame.columns) != set(self._columns):  # match by position; scikit-learn has warned
            frame = frames.read_frame(frame.to_pandas().set_axis(self._columns, axis="columns"))
        return frame
