"""The base of keyed models: a mapping from keys to models, most of which may be in a folder."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import methodcaller
from typing import Any, ClassVar, Self

from river import base

from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import check_sample, is_hashable, is_missing, shown
from river_amf.keyed.blocks import Block, key_names
from river_amf.keyed.keys import key_of, key_text
from river_amf.keyed.store import Store
from river_amf.parameters import Check, CheckedParameters, integer


def _check_key(name: str, value: Any) -> None:
    """Check for the name of a feature, or a list of such names."""
    names = key_names(value)
    if not names or not all(is_hashable(n) and not is_missing(n) for n in names):
        raise ValueError(
            f"{name} must be the name of a feature, such as 'user', or a list of names, "
            f"got {shown(value)}"
        )


def _check_folder(name: str, value: Any) -> None:
    """Check for a path or None."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be the path of a folder or None, got {shown(value)}")


class KeyedModel(CheckedParameters, Mapping[Any, Any], base.Estimator):
    """Base of `KeyedClassifier` and `KeyedRegressor`, which routes samples to the models."""

    _checks: ClassVar[dict[str, Check]] = {
        "key": _check_key,
        "max_in_memory": integer(1, optional=True),
        "folder": _check_folder,
    }
    _always_writable: ClassVar[frozenset[str]] = frozenset({"max_in_memory"})
    _kind: ClassVar[type[base.Estimator]]  # what the factory has to make
    _as_series: Callable[[Block, list[Any]], Any]  # of labels or of targets

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._checks = cls._checks | {"factory": lambda _, value: cls._made_by(value)}

    def __init__(
        self,
        factory: Any,
        key: Any,
        *,
        max_in_memory: int | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.factory = factory
        self.key = key
        self.max_in_memory = max_in_memory
        self.folder = folder
        self._store = self._opened(type(self).__name__)

    def _opened(self, kind: str, store: type[Store] = Store) -> Any:
        """Return a store of the models of this kind of model."""
        about = f"the models of a {kind} with the key {self.key!r}"
        make = partial(self._made_by, self.factory)
        return store(self.folder, about, make, self.max_in_memory)

    @property
    def _has_learned(self) -> bool:
        return "_store" in self.__dict__  # which is opened with the parameters

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "max_in_memory" and self._has_learned:
            self._store.max_in_memory = value

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Yield parameters for the checks of river."""
        from river import linear_model

        is_regressor = issubclass(cls._kind, base.Regressor)
        kind = linear_model.LinearRegression if is_regressor else linear_model.LogisticRegression
        yield {"factory": kind(), "key": "user"}

    @property
    def _multiclass(self) -> bool:
        return bool(getattr(self.factory, "_multiclass", True))

    def _more_tags(self) -> set[str]:
        return self.factory._tags if isinstance(self.factory, base.Estimator) else set()

    # ------------------------------------------------------------------------------------ factory

    @classmethod
    def _made_by(cls, factory: Any) -> Any:
        """Return a new model, or raise ValueError if the factory makes something else."""
        is_model = isinstance(factory, base.Estimator)
        model = factory.clone() if is_model else factory() if callable(factory) else factory
        if not isinstance(model, cls._kind):
            raise ValueError(
                f"factory of a {cls.__name__} must be a river {cls._kind.__name__.lower()}, or a "
                f"function that returns one, got a value of type {type(model).__name__}"
            )
        return model

    # ------------------------------------------------------------------------------------ samples

    def _split(self, x: Any) -> tuple[str, dict[Any, Any]]:
        """Return the key of a sample, as text, and the features without it."""
        check_sample(x)
        features = dict(x.items())
        names = key_names(self.key)
        for name in names:
            if name not in features:
                raise ValueError(
                    f"x lacks the feature {shown(name)} of its key; it has {shown([*features])}"
                )
        parts = tuple([features.pop(name) for name in names])
        try:
            return key_text(parts if isinstance(self.key, list) else parts[0]), features
        except INVALID as error:
            raise type(error)(f"feature {shown(self.key)}: {error}") from None

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from one sample, with the model of its key.

        Parameters
        ----------
        x, y, w
            Features with the key, label or target, and weight, for models that take one.
        kwargs
            Passed on to the model.

        Raises
        ------
        TypeError, ValueError
            If the key is not in `x`, missing (None, NaN) or of a type that keys cannot have; and
            all errors of the model.
        OSError
            If the file of models cannot be read or written, as on a full disk. The folder then
            holds the models of the last flush, and this object refuses further calls; a new one
            with the folder continues from there.

        Examples
        --------
        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        """
        self._call("learn_one", x, y, **kwargs if w == 1.0 else kwargs | {"w": w})

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label or target of a sample, with the model of its key.

        Keywords go to the model, such as `with_interval=True, level=0.5` to regressors of this
        package. For a key without a model the prediction is that of a new one.

        >>> from river_amf import AMFRegressor, keyed
        >>> keyed.KeyedRegressor(AMFRegressor(), "shop").predict_one({"shop": "south", "day": 3})
        0.0
        """
        return self._call("predict_one", x, **kwargs)

    def _call(self, method: str, x: Any, *label: Any, **options: Any) -> Any:
        """Call a method of the model of a sample's key."""
        text, features = self._split(x)
        call = methodcaller(method, features, *label, **options)
        return self._store.call("at", text, call, method == "learn_one")

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from a block of samples: the rows of each key, in their order.

        Models with `learn_many` learn 200 or more rows of a key as one block, other rows one by
        one. Lengths, keys and weights are checked before any row is learned. A row that a model
        cannot learn is an error: keys with earlier first rows have learned, later ones have not.

        Parameters
        ----------
        X
            DataFrame with the columns of keys, from any library that narwhals supports.
        y, w
            Labels or targets and weights, as series, arrays or lists.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_one`, with the number of the row (from 0) and the key.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(seed=1), "user")
        >>> X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, 1.0, 9.0]})
        >>> model.learn_many(X, ["buys", "leaves", "leaves"])
        >>> model.predict_many(X).tolist()
        ['buys', 'leaves', 'leaves']
        """
        self._answers(Block(X, self.key, (y, w)), "")

    def predict_many(self, X: Any) -> Any:
        """Predict the label or target of each row, with the model of its key.

        The predictions are in the order of the rows, as a series from the same library as `X`; None
        where a classifier has no label.

        >>> import pandas as pd
        >>> from river_amf import AMFClassifier, keyed
        >>> X = pd.DataFrame({"user": ["bob"], "price": [3.0]})
        >>> keyed.KeyedClassifier(AMFClassifier(), "user").predict_many(X).tolist()
        [None]
        """
        block = Block(X, self.key)
        return self._as_series(block, self._answers(block, "predict"))

    def _answers(self, block: Block, predict: str) -> list[Any]:
        """Return the predictions for the rows, if `predict` is a method, and learn the rows."""
        by_row = self._store.call("give", block, predict)
        return [by_row[row] for row in range(len(block))]

    # ------------------------------------------------------------------------------------- models

    def __getitem__(self, key: Any) -> Any:
        """Return the model of a key (over workers a copy), or raise KeyError if there is none."""
        model = self._store.call("find", key_text(key))
        if model is None:
            raise KeyError(key)
        return model

    def __delitem__(self, key: Any) -> None:
        """Remove the model of a key, or raise KeyError if there is none."""
        if not self._store.call("remove", key_text(key)):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        try:
            return bool(self._store.call("has", key_text(key)))
        except INVALID:
            return False

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys that have a model, in no particular order."""
        return map(key_of, self._store.call("texts"))

    def __len__(self) -> int:
        """Return the number of keys that have a model."""
        return len(self._store.call("texts"))

    def __bool__(self) -> bool:
        """Return True, as a model without keys is still a model."""
        return True

    __eq__ = object.__eq__  # a mapping would be compared with its models
    __hash__ = object.__hash__

    @property
    def n_in_memory(self) -> int:
        """Number of models in memory."""
        return len(self._store.call("sizes"))

    @property
    def memory_usage(self) -> int:
        """Memory used by the models in memory, in bytes, as river measures it."""
        return sum(self._store.call("sizes"))

    _raw_memory_usage = memory_usage

    # ------------------------------------------------------------------------------------- folder

    @property
    def position(self) -> Any:
        """The position noted with the last `flush`, or None."""
        return self._store.call("position")

    def flush(self, position: Any = None) -> None:
        """Commit the changes of all models to the folder.

        All changes since the last flush are one transaction. After a crash, even in the middle of a
        flush, the folder holds the models of the last flush that returned, with its position, from
        which the stream continues. Without a folder, `flush` notes the position only.

        Parameters
        ----------
        position
            Where the stream is, such as an offset: anything that JSON can hold.

        Raises
        ------
        OSError, TypeError, ValueError
            If the folder cannot be written (see `learn_one`), a model cannot be pickled, or
            `position` is no JSON.

        Examples
        --------
        >>> import tempfile
        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with KeyedClassifier(LogisticRegression(), "user", folder=folder) as model:
        ...         model.learn_one({"user": "ann", "price": 3.0}, True)
        ...         model.flush(position=1)
        ...     with KeyedClassifier(LogisticRegression(), "user", folder=folder) as model:
        ...         list(model), model.position
        (['ann'], 1)
        """
        self._store.call("flush", position)

    def close(self) -> None:
        """Release the folder for another object or process; changes since the last flush are lost.

        A `with` statement flushes at its end, with the last position, and closes; after an error
        it closes only.

        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> KeyedClassifier(LogisticRegression(), "user").close()
        """
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and not self._store.refusal:
                self.flush(self.position)
        finally:
            self.close()

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return an object with the same parameters and no models, nor the folder.

        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> KeyedClassifier(LogisticRegression(), "user").clone({"key": "shop"}).key
        'shop'
        """
        return super().clone({"folder": None} | (new_params or {}), include_attributes)

    def __copy__(self) -> Self:
        """Return a deep copy: two objects with the same models would change each other's."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters, and without a folder all models."""
        path = self._store.path
        if path is not None:
            return self.__dict__ | {"folder": str(path.parent), "_store": []}
        return self.__dict__ | {"_store": self._store.call("packed")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        models = state.pop("_store")
        self.__dict__.update(state)
        self._store = self._opened(type(self).__name__)
        self._store.call("put", models)
