"""The base of the scikit-learn estimators, which feed blocks of rows to a river model."""

import copy
import inspect
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from river_amf import inspection
from river_amf.inputs import dates, frames
from river_amf.inputs.invalid import INVALID, in_row, renumbered
from river_amf.inputs.kinds import shown
from river_amf.parameters import flag
from river_amf.sklearn import checks

Floats = NDArray[np.float64]

_ADDED = ("class_weight", "shuffle")  # parameters that the river class does not have


class ForestEstimator(BaseEstimator):
    """Base of the estimators: the parameters of the forest `_river`, which is `model_` once fitted.

    A subclass defines `_read_targets`, which checks y, `partial_fit` and `predict`.
    """

    _river: ClassVar[Any]
    _read_targets: Callable[[Any], NDArray[Any]]
    model_: Any
    _parameters: dict[str, Any]  # of the river class, when training started
    _columns: list[Any]
    _heaviest: float  # the largest weight so far

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_river" not in cls.__dict__:
            return
        first, *others = map(_adapted, inspect.signature(cls._river).parameters.values())
        if issubclass(cls, ClassifierMixin):
            type_ = "dict[Any, float] | str | None"
            others.append(first.replace(name="class_weight", default=None, annotation=type_))
        others.append(first.replace(name="shuffle", default=True, annotation="bool"))
        others = [p.replace(kind=p.KEYWORD_ONLY) for p in others]
        signature = inspect.Signature([first, *others])

        def __init__(self: Any, *arguments: Any, **named: Any) -> None:
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            vars(self).update(bound.arguments)

        begin: Any = __init__
        this = first.replace(name="self", default=first.empty)
        begin.__signature__ = signature.replace(parameters=[this, first, *others])
        cls.__init__ = begin  # type: ignore[method-assign]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = self._is_zero_absent
        return tags

    @property
    def _is_zero_absent(self) -> bool:
        return getattr(self, "absent", None) == "zero"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows from scratch, in random order unless `shuffle=False`.

        X is an array, or a dataframe of any library that narwhals supports, of shape (n_samples,
        n_features), with `absent="zero"` also a sparse matrix. Values are numbers or categories;
        None, NaN and masked values are missing, and dates become the numbers of
        `river_amf.date_features`. y are labels (strings, integers or booleans), for a regressor
        finite numbers. `sample_weight` is as in `partial_fit`.

        >>> from river_amf.sklearn import AMFClassifier
        >>> AMFClassifier(random_state=1).fit([[1.0], [4.0]], ["short", "long"]).predict([[1.2]])
        array(['short'], dtype='<U5')
        """
        return self._learn(X, y, sample_weight, is_whole=True)

    def novelty(self, X: Any) -> Floats:
        """Return the novelty of each row (n_samples,), as `novelty_one` of the river class.

        >>> from river_amf.sklearn import AMFClassifier
        >>> model = AMFClassifier(random_state=1).fit([[1.0], [2.0], [4.0]], ["in", "out", "in"])
        >>> model.novelty([[2.0], [400.0]]).round(2)
        array([0., 1.])
        """
        model, rows = self._fitted_model(), self._read(X)
        block = model._rows_of(rows, model._frame_of(rows))
        samples = map(block.at, range(block.n_rows))
        return np.array([in_row(k, model.novelty_one, x) for k, x in enumerate(samples)])

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None, is_whole: bool = False
    ) -> Self:
        """Learn rows: from scratch if they are the whole, otherwise more of them."""
        draft = copy.copy(self)  # replaces this one at the end
        is_first = is_whole or not hasattr(self, "model_")
        if is_first:
            draft._start()
        else:
            draft._check_parameters()
        rows, targets = draft._read(X, is_first=is_first), draft._read_targets(y)
        check_consistent_length(X, targets)
        given = None if sample_weight is None else np.asarray(frames.unmasked(sample_weight))
        weights = frames.read_weights(given, len(targets))
        with np.errstate(over="ignore"):  # an infinite weight is refused by the model
            weights = weights * draft._weigh(targets, classes, is_whole)
        if is_first and not weights.any():
            raise ValueError("sample_weight or class_weight is zero in all rows of the first call")
        draft._heaviest = min(max(draft._heaviest, weights.max()), sys.float_info.max)
        if draft._heaviest:
            weights = weights / draft._heaviest
        order = np.arange(len(targets))
        if is_whole and self.shuffle:
            # The trees draw from the same seed, but from the sequence itself.
            sequence = np.random.SeedSequence(draft.model_.seed, spawn_key=(0,))
            learned = np.random.default_rng(sequence).permutation(np.flatnonzero(weights))
            order = np.concatenate([learned, np.flatnonzero(weights == 0.0)])
            rows = rows[order if frames.is_matrix(rows) else order.tolist()]
        try:
            draft._fitted_model().learn_many(rows, targets[order], weights[order])
        except INVALID as error:
            raise renumbered(error, order) from error.__cause__
        self.__dict__ = draft.__dict__
        return self

    def _start(self) -> None:
        """Create an untrained model, whose class checks the parameters."""
        parameters = self.get_params(deep=False)
        flag("shuffle", parameters["shuffle"])
        self._parameters = {name: p for name, p in parameters.items() if name not in _ADDED}
        parameters = self._parameters | {"n_jobs": 1 if self.n_jobs is None else self.n_jobs}
        seed = checks.draw_seed(parameters.pop("random_state"))
        self.model_ = self._river(**parameters, seed=seed)
        self._heaviest = 0.0

    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter has changed since training started."""
        for name, old in self._parameters.items():
            new = getattr(self, name)
            is_same = old is new or (np.isscalar(new) and old == new)
            if not is_same and name != "n_jobs":
                raise ValueError(
                    f"{name} was changed from {shown(old)} to {shown(new)} after training started; "
                    "change it back, or call fit to start over"
                )

    def _weigh(self, targets: NDArray[Any], classes: Any, is_whole: bool) -> Any:
        return 1.0

    def _fitted_model(self) -> Any:
        """Return `model_`, with the present number of threads, or raise NotFittedError."""
        check_is_fitted(self, "model_")
        self.model_.n_jobs = 1 if self.n_jobs is None else self.n_jobs
        return self.model_

    def _read(self, X: Any, *, is_first: bool = False) -> Any:
        """Return X as a dataframe or sparse matrix with the columns of the first call."""
        if not self._is_zero_absent:
            frames.refuse_matrix(X)
        if nw.dependencies.is_into_dataframe(X):
            frame = frames.read_frame(X)
            validate_data(self, X, reset=is_first, skip_check_array=True)
            if not all(frame.shape):
                raise ValueError(
                    f"Found a dataframe with {frame.shape[0]} sample(s) and {frame.shape[1]} "
                    f"feature(s) while a minimum of 1 of each is required by {type(self).__name__}."
                )
        else:
            X = validate_data(
                self,
                frames.unmasked(X),
                reset=is_first,
                # without it, numpy would turn numbers in a mixed list into strings
                dtype=object if isinstance(X, list | tuple) else None,
                accept_sparse=self._is_zero_absent and "csr",
                ensure_all_finite="allow-nan",
            )
            if frames.is_matrix(X):
                numbered = [*range(X.shape[1])]
                self._columns = numbered if is_first else self._columns
                if self._columns == numbered:
                    return X
                sparse: Any = pd.DataFrame.sparse  # which the stubs lack
                return sparse.from_spmatrix(X, columns=self._columns)
            frame = frames.read_frame(pd.DataFrame(X).infer_objects())
        if is_first:
            self._columns = list(frame.columns)
        if set(frame.columns) != set(self._columns):  # match by position; scikit-learn has warned
            frame = frames.read_frame(frame.to_pandas().set_axis(self._columns, axis="columns"))
        return dates.of_frame(frame)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Column `impurity` of `inspection.feature_importance`, in the order of X's columns."""
        impurity = inspection.feature_importance(self._fitted_model())["impurity"].to_dict()
        shares = [impurity.pop(name, 0.0) for name in self._columns]
        for i, name in enumerate(self._columns):  # to which the numbers of a date belong
            shares[i] += sum(impurity.get(part, 0.0) for part in dates.names_of(name))
        return np.array(shares)


def _adapted(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter of a river class as it is in scikit-learn."""
    if parameter.name == "seed":
        return parameter.replace(
            name="random_state", annotation="int | np.random.RandomState | None"
        )
    return parameter.replace(annotation="int | None") if parameter.name == "n_jobs" else parameter
