"""The bases of the scikit-learn estimators, which feed blocks of rows to a river model."""

from __future__ import annotations

import copy
import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from river_amf import inspection
from river_amf.engine.lock import Guarded
from river_amf.inputs import dates, frames, sparse_rows
from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import shown
from river_amf.inputs.row_problems import renumbered
from river_amf.parameters import TEXTS, flag, take_parameters
from river_amf.persistence import Saved, validation, values
from river_amf.persistence.container import take
from river_amf.sklearn import checks

Floats = NDArray[np.float64]
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_Estimator = TypeVar("_Estimator", bound="OnlineEstimator")

_TEXTS = {
    **TEXTS,
    "random_state": "Seed for reproducible results: an integer >= 0, a numpy `RandomState`, or"
    " `None` for numpy's global one. Of the latter two, a seed is drawn whenever training starts.",
    "n_jobs": TEXTS["n_jobs"] + " `None` means 1, as elsewhere in scikit-learn.",
    "class_weight": "Dict from class to the weight of its rows, by default 1, or (only for `fit`)"
    ' `"balanced"` for n_samples / (n_classes * n_samples_of_the_class). `partial_fit` multiplies'
    " these by `sample_weight`. Rows of weight 0 are not learned.",
    "shuffle": "Whether `fit` learns the rows in random order, drawn from `random_state`. Set it to"
    " `False` for rows in order of time whose latest are most like those to come: then `fit` does"
    " what the river class does, row by row. `partial_fit` never shuffles.",
}
_OWN = ("class_weight", "shuffle")  # parameters that the river class has not

_locks: weakref.WeakKeyDictionary[OnlineEstimator, Guarded] = weakref.WeakKeyDictionary()


def reading(
    method: Callable[Concatenate[_Estimator, _Given], _Result],
) -> Callable[Concatenate[_Estimator, _Given], _Result]:
    """Return a method that has the estimator to itself, once interrupted calls are finished."""

    @functools.wraps(method)
    def read(self: _Estimator, /, *arguments: _Given.args, **named: _Given.kwargs) -> _Result:
        def call() -> _Result:
            self._settle()
            return method(self, *arguments, **named)

        return self._lock.run(call)

    return read


class OnlineEstimator(BaseEstimator):
    """Base of the estimators, which wrap a model of class `_river` as `model_`.

    A class of estimators defines `_read_targets` and `predict`, and extends `_take_targets` and
    `_settle` if it learns more of a block than its columns.
    """

    _river: ClassVar[Any]
    _read_targets: Callable[[Any], NDArray[Any]]  # of the class; checks y, of shape (n_rows,)
    _finite: ClassVar[bool | str] = "allow-nan"  # scikit-learn's `ensure_all_finite` for X
    model_: Any
    _parameters: dict[str, Any]  # of the river class, when training started
    _columns: list[Any]
    _draft: Self  # what a call works on until all has gone well

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = getattr(self, "absent", None) == "zero"
        return tags

    @reading
    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "model_" in state:
            state["model_"] = copy.deepcopy(state["model_"])  # which later calls do not change
        return state

    def _fitted_model(self) -> Any:
        """Return `model_`, or raise NotFittedError."""
        check_is_fitted(self, "model_")
        return self.model_

    @property
    def _lock(self) -> Guarded:
        # not an attribute, which scikit-learn does not let `__init__` set and would copy
        return _locks.get(self) or _locks.setdefault(self, Guarded())

    def _settle(self) -> None:
        """Finish what an interrupted call has left."""
        self.__dict__.pop("_draft", None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows from scratch, in random order unless `shuffle=False`.

        X is an array, or a dataframe of any library that narwhals supports, of shape (n_samples,
        n_features), with `absent="zero"` also a sparse matrix. Values are numbers or categories
        (strings and other hashable objects); None and NaN are missing, infinity is refused, and
        dates become the numbers of `river_amf.date_features`. y are labels (strings, integers or
        booleans), for a regressor finite numbers. `sample_weight` are weights of rows, as in
        `partial_fit`. After an error the estimator is as it was.

        Examples
        --------
        >>> from river_amf.sklearn import AMFClassifier
        >>> AMFClassifier(random_state=1).fit([[1.0], [4.0]], ["short", "long"]).predict([[1.2]])
        array(['short'], dtype='<U5')
        """
        return self._lock.run(self._learn, X, y, sample_weight, None, True)

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None, is_whole: bool = False
    ) -> Self:
        """Learn rows, alone: from scratch if they are the whole, otherwise more of them."""
        self._settle()
        is_first = is_whole or not hasattr(self, "model_")
        draft = object.__new__(type(self))
        draft.__dict__ = self.__dict__.copy()
        if is_first:
            draft._start()
        else:
            draft._check_parameters()
            draft._set_writable()
        frame = draft._read_frame(X, is_first=is_first)
        targets = draft._read_targets(y)
        check_consistent_length(X, targets)
        weights = checks.checked_weights(sample_weight, len(targets))
        weights = draft._take_targets(targets, weights, classes, is_first, is_whole)
        if not is_first:
            self._draft = draft
        try:
            is_shuffled = is_whole and getattr(self, "shuffle", False)
            (draft._learn_shuffled if is_shuffled else draft._learn_frame)(frame, targets, weights)
        except BaseException:
            self._settle()
            raise
        self.__dict__ = draft.__dict__ | self.get_params(deep=False)  # in one step
        return self

    def _start(self) -> None:
        """Create an untrained model, whose class checks the parameters."""
        own = self.get_params(deep=False)
        flag("shuffle", own.get("shuffle", False))
        self._parameters = {name: value for name, value in own.items() if name not in _OWN}
        parameters = {name: _as_river_takes(name, v) for name, v in self._parameters.items()}
        if "random_state" in parameters:
            parameters["seed"] = checks.draw_seed(parameters.pop("random_state"))
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
            setattr(self.model_, name, _as_river_takes(name, getattr(self, name)))

    def _take_targets(
        self, targets: Any, weights: Floats, classes: Any, is_first: bool, is_whole: bool
    ) -> Floats:
        """Take up what targets bring; return the weights of rows, or raise ValueError."""
        if is_first and not weights.any():
            may_be_class_weight = getattr(self, "class_weight", None) is not None
            raise ValueError(
                f"sample_weight is zero everywhere{', or class_weight is' * may_be_class_weight}; "
                "in the first call, at least one row must have a positive weight"
            )
        return weights

    def _learn_frame(self, frame: Any, targets: NDArray[Any], weights: Floats) -> None:
        self.model_.learn_many(frame, targets, weights)

    def _learn_shuffled(self, frame: Any, targets: NDArray[Any], weights: Floats) -> None:
        # The trees draw from the same seed, but from the sequence itself.
        sequence = np.random.SeedSequence(self.model_.seed, spawn_key=(0,))
        order = np.random.default_rng(sequence).permutation(len(targets))
        is_sparse = isinstance(frame, sparse_rows.SparseRows)
        rows = sparse_rows.in_order(frame, order) if is_sparse else frame[order.tolist()]
        try:
            self._learn_frame(rows, targets[order], weights[order])
        except INVALID as error:
            raise renumbered(error, order) from error.__cause__

    def _read_to_predict(self, X: Any) -> Any:
        """Return X as `_read_frame` does, for a model that is ready to predict."""
        check_is_fitted(self, "model_")
        self._set_writable()
        return self._read_frame(X, is_first=False)

    def _read_frame(self, X: Any, *, is_first: bool) -> Any:
        """Return X as a dataframe, or as sparse rows, with the columns that the model knows."""
        if getattr(self, "absent", "zero") != "zero":
            sparse_rows.refuse_matrix(X)
        if nw.dependencies.is_into_dataframe(X):
            frame = frames.read_frame(X)
            validate_data(self, X, reset=is_first, skip_check_array=True)
            if not all(frame.shape):
                raise ValueError(
                    f"Found a dataframe with {frame.shape[0]} sample(s) and {frame.shape[1]} "
                    f"feature(s) while a minimum of 1 of each is required by {type(self).__name__}."
                )
        else:
            X = checks.rows_without_masks(X)
            array = validate_data(
                self,
                X,
                reset=is_first,
                # without it, numpy would turn numbers in a mixed list into strings
                dtype=object if isinstance(X, list | tuple) else None,
                accept_sparse=self.__sklearn_tags__().input_tags.sparse and "csr",
                ensure_all_finite=self._finite,
            )
            if sparse_rows.is_matrix(array):
                if is_first:
                    self._columns = list(range(array.shape[1]))
                return sparse_rows.read_rows(array)._replace(names=self._columns)
            frame = frames.read_frame(pd.DataFrame(array).infer_objects())
        if is_first:
            self._columns = list(frame.columns)
        if set(frame.columns) != set(self._columns):  # match by position; scikit-learn has warned
            frame = frames.read_frame(frame.to_pandas().set_axis(self._columns, axis="columns"))
        return dates.of_frame(frame)

    def _features_of(self, name: Any) -> list[Any]:
        """Return the features that a column of X may be to the model: its own, or a date's."""
        return [name, *(each for each in dates.names_of(name) if each not in self._columns)]


class ForestEstimator(Saved, OnlineEstimator):
    """Base of the estimators that wrap a forest, of which they have the parameters."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_river" in cls.__dict__:
            first, *others = map(_as_here, inspect.signature(cls._river).parameters.values())
            if issubclass(cls, ClassifierMixin):
                type_ = "dict[Any, float] | str | None"
                others.append(first.replace(name="class_weight", default=None, annotation=type_))
            others.append(first.replace(name="shuffle", default=True, annotation="bool"))
            others = [p.replace(kind=p.KEYWORD_ONLY) for p in others]
            take_parameters(cls, [first, *others], lambda self, **p: vars(self).update(p), _TEXTS)

    @property
    @reading
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of Gini impurity, or variance, by the splits.

        They are the column `impurity` of `inspection.feature_importance`, in the order of the
        columns of X; they sum to 1, or are 0 before the first split. Unlike those of scikit-learn's
        random forests, splits which aggregation ignores do not count.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from river_amf.sklearn import AMFClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = AMFClassifier(random_state=1).fit(X, y)
        >>> bool(model.feature_importances_[2:].sum() > 0.8)  # petals, as against sepals
        True
        """
        impurity = inspection.feature_importance(self._fitted_model())["impurity"]
        by_name = dict(zip(impurity.index, impurity.tolist(), strict=True))
        of_columns = map(self._features_of, self._columns)
        return np.array([sum(by_name.get(each, 0.0) for each in own) for own in of_columns])

    @reading
    def _while_still(self, call: Callable[..., Any], *arguments: Any) -> Any:
        if not hasattr(self, "model_"):
            return call(*arguments)
        return self.model_._while_still(call, *arguments)

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        parameters, header = self.get_params(deep=False), {}
        if isinstance(parameters.get("class_weight"), dict):
            class_weight = parameters.pop("class_weight")
            checks.check_class_weight(class_weight)
            header["class_weight"] = {
                "classes": [values.to_json(each, "class") for each in class_weight],
                "weights": [float(weight) for weight in class_weight.values()],
            }
        header["parameters"] = values.parameters_to_json(parameters)
        if not hasattr(self, "model_"):
            return header, {}
        learned = self._learned_directly()
        if learned:
            raise ValueError(
                f"cannot save the estimator: model_ has learned {shown(learned)} directly, which "
                "are not among its columns or classes; save model_ instead"
            )
        model, arrays = self.model_._to_file()
        drawn = {"random_state": self._parameters["random_state"]}  # the model has the others
        fitted = {
            "model": model,
            "parameters": values.parameters_to_json(drawn),
            **self._targets_to_file(),
            "columns": [values.to_json(name, "column") for name in self._columns],
            "names": hasattr(self, "feature_names_in_"),
        }
        return {**header, "fitted": fitted}, arrays

    def _targets_to_file(self) -> dict[str, Any]:
        """Return what the estimator knows of its targets as entries of a header."""
        return {}

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        names = cls._get_param_names()
        parameters = values.parameters_from_json(take(header, "parameters", {}), names)
        entry = take(header, "class_weight", None) if "class_weight" in names else None
        if entry is not None:
            classes = values.distinct_from_json(take(entry, "classes"), "class")
            weights = take(entry, "weights")
            validation.require(type(weights) is list and not entry, "weights of classes")
            parameters["class_weight"] = dict(zip(classes, weights, strict=True))
            checks.check_class_weight(parameters["class_weight"])
        estimator = cls(**parameters)
        fitted = take(header, "fitted", None)
        if fitted is not None:
            estimator._set_fitted(fitted, arrays)
        surplus = [*header, *(arrays if fitted is None else fitted)]
        validation.require(not surplus, f"entries {shown(surplus)}")
        return estimator

    def _set_fitted(self, fitted: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the fitted state from a file, or raise FileError if it is inconsistent."""
        self.model_ = self._river._from_file(take(fitted, "model"), arrays)
        seeds = values.parameters_from_json(take(fitted, "parameters", {}), ["random_state"])
        seed, own = seeds.get("random_state"), self.model_._parameters
        is_seed = seed is None or checks.draw_seed(seed) == own["seed"]
        validation.require(is_seed, "random_state of the fitted model")
        self._parameters = {name: value for name, value in own.items() if name != "seed"}
        self._parameters["random_state"] = seed
        self._set_targets(fitted)
        self._columns = values.distinct_from_json(take(fitted, "columns"), "column")
        self.n_features_in_ = len(self._columns)
        has_names = take(fitted, "names", False)
        validation.require(type(has_names) is bool, "flags")
        if has_names:
            are_texts = all(isinstance(name, str) for name in self._columns)
            validation.require(are_texts, "names of columns")
            self.feature_names_in_ = np.array(self._columns, dtype=object)
        validation.require(self.model_._has_learnt, "model, which has learned nothing,")
        validation.require(self._columns, "number of columns")
        learned = self._learned_directly()
        what = f"model, which knows {shown(learned)} besides the columns and classes,"
        validation.require(not learned, what)

    def _set_targets(self, fitted: dict[str, Any]) -> None:
        """Take what the estimator knows of its targets from a header, or raise FileError."""

    def _learned_directly(self) -> list[Any]:
        """Return what `model_` has met and the estimator does not know."""
        known = {each for name in self._columns for each in self._features_of(name)}
        return [name for name in self.model_._features.names if name not in known]


def _as_river_takes(name: str, value: Any) -> Any:
    """Return a parameter for the river class: in scikit-learn, `n_jobs=None` means 1."""
    return 1 if name == "n_jobs" and value is None else value


def _as_here(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter of a river class as it is in scikit-learn."""
    if parameter.name == "seed":
        return parameter.replace(
            name="random_state", annotation="int | np.random.RandomState | None"
        )
    return parameter.replace(annotation="int | None") if parameter.name == "n_jobs" else parameter
