"""Files of the estimators: their parameters, and the model with what they know of its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from river_amf import dummy, forest
from river_amf.kinds import shown
from river_amf.locks import ModelLock
from river_amf.persistence import Saved, soundness, values
from river_amf.persistence.container import take
from river_amf.sklearn.targets import draw_seed

_Result = TypeVar("_Result")


class SavedEstimator(Saved, BaseEstimator):
    """Base of the estimators that writes them to files and reads them."""

    _river: ClassVar[type[forest.Forest] | type[dummy.OnlineDummyClassifier]]
    _own: ClassVar[frozenset[str]] = frozenset()  # parameters that the river class does not have
    _known: ClassVar[tuple[str, ...]] = ("columns",)  # what the estimator knows of its data
    model_: Any
    _parameters: dict[str, Any]  # of the river class, when training started
    _columns: list[Any]

    @property
    def _lock(self) -> ModelLock:
        raise AttributeError("a class of estimators must define _lock")

    def _settle(self) -> None:
        """Finish what an interrupted call has left."""

    def _params_of_river(self) -> dict[str, Any]:
        """Return the parameters that the river class has, with `random_state` for its `seed`."""
        own = self.get_params(deep=False)
        return {name: value for name, value in own.items() if name not in self._own}

    def _while_still(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        result: _Result = self._lock.read(self._settle, self._while_model_still, call, *arguments)
        return result

    def _while_model_still(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        if not hasattr(self, "model_"):
            return call(*arguments)
        result: _Result = self.model_._while_still(call, *arguments)
        return result

    def _to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = self._params_to_file()
        if not hasattr(self, "model_"):
            return header, {}
        strangers = self._strangers()
        if strangers:
            raise ValueError(
                f"cannot save the estimator: model_ has learned {shown(strangers)} directly, which "
                f"are not among its {' or '.join(self._known)}; save model_ instead"
            )
        model, arrays = self.model_._to_file()
        fitted = {
            "model": model,
            "parameters": values.parameters_to_json(self._parameters),
            **self._targets_to_file(),
            "columns": [values.to_json(name, "column") for name in self._columns],
            "names": hasattr(self, "feature_names_in_"),
        }
        return {**header, "fitted": fitted}, arrays

    def _targets_to_file(self) -> dict[str, Any]:
        """Return what the estimator knows of its targets as entries of a header."""
        return {}

    def _params_to_file(self) -> dict[str, Any]:
        """Return the parameters as entries of a header."""
        return {"parameters": values.parameters_to_json(self.get_params(deep=False))}

    @classmethod
    def _params_from_file(cls, header: dict[str, Any]) -> dict[str, Any]:
        """Take the parameters from a header, or raise FileError."""
        names = cls._get_param_names()
        return values.parameters_from_json(take(header, "parameters", {}), names)

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        estimator = cls(**cls._params_from_file(header))
        fitted = take(header, "fitted", None)
        if fitted is not None:
            estimator._set_fitted(fitted, arrays)
        surplus = [*header, *(arrays if fitted is None else fitted)]
        soundness.demand(not surplus, f"entries {shown(surplus)}")
        return estimator

    def _set_fitted(self, fitted: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore the fitted state from a file, or raise FileError if it is inconsistent."""
        names = set(self._get_param_names()) - self._own
        self.model_ = self._river._from_file(take(fitted, "model"), arrays)
        parameters = values.parameters_from_json(take(fitted, "parameters", {}), names)
        self._parameters = type(self)(**parameters)._params_of_river()
        self._set_targets(fitted)
        self._columns = values.distinct_from_json(take(fitted, "columns"), "column")
        self.n_features_in_ = len(self._columns)
        has_names = take(fitted, "names", False)
        soundness.demand(type(has_names) is bool, "flags")
        if has_names:
            are_texts = all(isinstance(name, str) for name in self._columns)
            soundness.demand(are_texts, "names of columns")
            self.feature_names_in_ = np.array(self._columns, dtype=object)
        self._check_model()

    def _set_targets(self, fitted: dict[str, Any]) -> None:
        """Take what the estimator knows of its targets from a header, or raise FileError."""

    def _check_model(self) -> None:
        """Raise FileError unless the model in a file fits what the estimator knows."""
        soundness.demand(self.model_._has_learnt, "model, which has learned nothing,")
        soundness.demand(self._columns, "number of columns")
        strangers = self._strangers()
        known = " and ".join(self._known)
        what = f"model, which knows {shown(strangers)} besides the {known},"
        soundness.demand(not strangers, what)
        for name, value in self._parameters.items():
            soundness.demand(self._is_of_model(name, value), f"{name} of the fitted model")

    def _strangers(self) -> list[Any]:
        """Return what `model_` has met and the estimator does not know."""
        columns = {*self._columns}
        names = self.model_._features.names if hasattr(self.model_, "_features") else ()  # a dummy
        return [name for name in names if name not in columns]

    def _is_of_model(self, name: str, value: Any) -> bool:
        """Whether `model_` fits a parameter; raise ValueError if the parameter is invalid."""
        if name == "random_state":
            return value is None or draw_seed(value) == self.model_.seed
        if name in self._river._always_writable:
            self._river._checks[name](name, as_river_takes(name, value))
            return True
        own = getattr(self.model_, name)
        return type(value) is type(own) and value == own


def as_river_takes(name: str, value: Any) -> Any:
    """Return a parameter for the river class: in scikit-learn, `n_jobs=None` means 1."""
    return 1 if name == "n_jobs" and value is None else value
