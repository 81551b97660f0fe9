"""What the estimators of forests have besides: weights of classes and importances of features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from river_amf import inspection, sparse_rows
from river_amf.persistence import soundness, values
from river_amf.persistence.container import take
from river_amf.persistence.headers import is_array, items_of
from river_amf.sklearn.online import OnlineEstimator
from river_amf.sklearn.online_classifier import OnlineClassifier
from river_amf.sklearn.targets import check_class_weight, class_weights, is_weight


class Forest(OnlineEstimator):
    """Base of the estimators that wrap a forest."""

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of impurity by the splits of the trees.

        Impurity is the Gini impurity of labels, or the variance of numbers. This is the measure of
        scikit-learn's random forests, except that splits which aggregation ignores do not count:
        column `impurity` of `inspection.feature_importance`, which has other measures too. In the
        order of the columns of X; the shares sum to 1, or are 0 before the first split. Raises
        `NotFittedError` before training.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from river_amf.sklearn import AMFClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = AMFClassifier(random_state=1).fit(X, y)
        >>> bool(model.feature_importances_[2:].sum() > 0.8)  # petals, as against sepals
        True
        """
        importances: NDArray[np.float64] = self._lock.read(self._settle, self._importances)
        return importances

    def _importances(self) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        impurity = inspection.feature_importance(self.model_)["impurity"]
        by_name = dict(zip(impurity.index, impurity.tolist(), strict=True))
        return np.array([by_name.get(name, 0.0) for name in self._columns])


class ForestClassifier(Forest, OnlineClassifier):
    """Base of the classifiers that wrap a forest."""

    _own: ClassVar[frozenset[str]] = frozenset({"class_weight"})
    class_weight: dict[Any, float] | str | None
    absent: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.absent == "zero"
        return tags

    def _read_frame(self, X: Any, *, is_first: bool) -> Any:
        if self.absent != "zero":
            sparse_rows.refuse_matrix(X)
        return super()._read_frame(X, is_first=is_first)

    def _weights_of_classes(
        self, labels: NDArray[Any], classes: NDArray[Any] | None, *, is_whole: bool
    ) -> NDArray[np.float64]:
        return class_weights(self.class_weight, labels, classes, is_whole=is_whole)

    def _params_to_file(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)
        header = {}
        if isinstance(self.class_weight, dict):
            del parameters["class_weight"]
            check_class_weight(self.class_weight)
            header["class_weight"] = {
                "classes": [values.to_json(each, "class") for each in self.class_weight],
                "weights": [float(weight) for weight in self.class_weight.values()],
            }
        return {"parameters": values.parameters_to_json(parameters), **header}

    @classmethod
    def _params_from_file(cls, header: dict[str, Any]) -> dict[str, Any]:
        parameters = super()._params_from_file(header)
        entry = take(header, "class_weight", None)
        if entry is not None:
            classes = values.distinct_from_json(take(entry, "classes"), "class")
            weights = take(entry, "weights")
            weights = [*items_of(weights)] if is_array(weights) else []
            is_sound = len(weights) == len(classes) and all(map(is_weight, weights)) and not entry
            soundness.demand(is_sound, "weights of classes")
            parameters["class_weight"] = dict(zip(classes, weights, strict=True))
        return parameters
