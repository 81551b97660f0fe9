"""A classifier or regressor for each key: a mapping from keys to models, optionally on disk."""

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import methodcaller
from typing import Any, ClassVar, Self

import numpy as np
from river import base

from river_amf.inputs.invalid import INVALID
from river_amf.inputs.kinds import check_sample, shown
from river_amf.keyed.blocks import Block, key_names
from river_amf.keyed.keys import key_text
from river_amf.keyed.store import Store
from river_amf.outputs import frames
from river_amf.parameters import Check, CheckedParameters, flag, integer


class KeyedModel(CheckedParameters, Mapping[Any, Any], base.Estimator):
    """Base of `KeyedClassifier` and `KeyedRegressor`, which routes samples to the models."""

    _checks: ClassVar[dict[str, Check]] = {
        **dict.fromkeys(("model", "key", "folder"), lambda *_: None),  # which are read-only
        "max_in_memory": integer(1, optional=True),
        "allow_pickle": flag,
    }
    _kind: ClassVar[type[base.Estimator]]  # what each model has to be
    _as_series: Callable[[Block, list[Any]], Any]  # of labels or of targets

    def __init__(
        self,
        model: Any,
        key: Any,
        *,
        max_in_memory: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        allow_pickle: bool = True,
    ) -> None:
        self.model = model
        self.key = key
        self.max_in_memory = max_in_memory
        self.folder = folder
        self.allow_pickle = allow_pickle
        self._store = self._opened(type(self).__name__)

    def _opened(self, kind: str, store: type[Store] = Store) -> Any:
        """Return a store of the models of this kind of model."""
        about = f"the models of a {kind} with the key {self.key!r}"
        make = partial(self._made_by, self.model)
        make()  # or raise its error
        return store(self.folder, about, make, self.max_in_memory, self.allow_pickle)

    @property
    def _has_learned(self) -> bool:
        return "_store" in self.__dict__  # which is opened with the parameters

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model

        is_regressor = issubclass(cls._kind, base.Regressor)
        kind = linear_model.LinearRegression if is_regressor else linear_model.LogisticRegression
        yield {"model": kind(), "key": "user"}

    @property
    def _multiclass(self) -> bool:
        return bool(getattr(self.model, "_multiclass", True))

    def _more_tags(self) -> set[str]:
        return self.model._tags if isinstance(self.model, base.Estimator) else set()

    @classmethod
    def _made_by(cls, model: Any) -> Any:
        """Return a new model like this one, or raise ValueError if it is of another kind."""
        is_model = isinstance(model, base.Estimator)
        made = model.clone() if is_model else model() if callable(model) else model
        if not isinstance(made, cls._kind):
            kind, got = cls._kind.__name__.lower(), type(made).__name__
            raise ValueError(f"model must be or return a river {kind}, got a value of type {got}")
        return made

    def _split(self, x: Any) -> tuple[str, dict[Any, Any]]:
        """Return the key of a sample, as text, and the features without it."""
        check_sample(x)
        features = dict(x.items())
        names = key_names(self.key)
        for name in names:
            if name not in features:
                what = f"the feature {shown(name)} of its key; it has {shown([*features])}"
                raise ValueError(f"x lacks {what}")
        parts = tuple([features.pop(name) for name in names])
        try:
            return key_text(parts if isinstance(self.key, list) else parts[0]), features
        except INVALID as error:
            raise type(error)(f"feature {shown(self.key)}: {error}") from None

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from one sample, with the model of its key.

        It raises TypeError or ValueError if the key is absent, missing or of a type that keys
        cannot have, and all errors of the model. After an OSError, as on a full disk, the folder
        holds the models of the last flush, and this object refuses further calls.

        >>> from river_amf import AMFClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        """
        self._call("learn_one", x, y, **kwargs if w == 1.0 else kwargs | {"w": w})

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label or target of a sample, with the model of its key, or else a new one.

        Keywords go to the model.

        >>> from river_amf import AMFRegressor
        >>> KeyedRegressor(AMFRegressor(), "shop").predict_one({"shop": "south", "day": 3})
        0.0
        """
        return self._call("predict_one", x, **kwargs)

    def novelty_one(self, x: dict[Any, Any]) -> float:
        """Return how unlike all learned samples of its key a sample is, if the model has this.

        >>> from river_amf import AMFRegressor
        >>> KeyedRegressor(AMFRegressor(), "shop").novelty_one({"shop": "south", "day": 3})
        1.0
        """
        return self._call("novelty_one", x)  # type: ignore[no-any-return]

    def _call(self, method: str, x: Any, *label: Any, **options: Any) -> Any:
        text, features = self._split(x)
        call = methodcaller(method, features, *label, **options)
        return self._store.call("at", text, call, method == "learn_one")

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from a block of samples: the rows of each key, in their order.

        `X` is a frame from any library that narwhals supports; `y` and `w` are series, arrays or
        lists. Errors are as in `learn_one`, with the number of the row (from 0) and the key.
        Forests check all rows before the first is learned; of other models, some may have learned.

        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> model = KeyedClassifier(AMFClassifier(seed=1), "user")
        >>> X = pd.DataFrame({"user": ["ann", "bob"], "price": [1.0, 1.0]})
        >>> model.learn_many(X, ["buys", "leaves"])
        >>> model.predict_many(X).tolist()
        ['buys', 'leaves']
        """
        self._answers(Block(X, self.key, (y, w)), "")

    def predict_many(self, X: Any) -> Any:
        """Predict each row, as `predict_one` does: a series from the library of `X`.

        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> X = pd.DataFrame({"user": ["bob"], "price": [3.0]})
        >>> KeyedClassifier(AMFClassifier(), "user").predict_many(X).tolist()
        [None]
        """
        block = Block(X, self.key)
        return self._as_series(block, self._answers(block, "predict"))

    def predict_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Predict each row and then learn it, as `predict_many` and `learn_many`.

        >>> import pandas as pd
        >>> from river_amf import AMFRegressor
        >>> X = pd.DataFrame({"shop": ["north", "south", "north"], "day": [1, 1, 2]})
        >>> model = KeyedRegressor(AMFRegressor(), "shop")
        >>> model.predict_then_learn_many(X, [10.0, 99.0, 11.0]).tolist()
        [0.0, 0.0, 10.0]
        """
        block = Block(X, self.key, (y, w))
        if issubclass(self._kind, base.Classifier):
            frames.check_series(block.frame, (), y)
        return self._as_series(block, self._answers(block, "predict"))

    def _answers(self, block: Block, predict: str) -> list[Any]:
        """Return the predictions for the rows, if `predict` is a method, and learn the rows."""
        by_row = self._store.call("give", block, predict)
        return [by_row[row] for row in range(len(block))]

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

    def remove_unused(self, n_samples: int) -> list[Any]:
        """Remove and return the keys that have none of the last `n_samples` samples learned.

        Samples of all keys count, also those before a restart; predictions do not.

        >>> from river import linear_model
        >>> model = KeyedClassifier(linear_model.LogisticRegression(), "user")
        >>> for user in ("ann", "bob", "bob", "eve"):
        ...     model.learn_one({"user": user, "price": 3.0}, True)
        >>> model.remove_unused(3), list(model)
        (['ann'], ['bob', 'eve'])
        """
        integer(1)("n_samples", n_samples)
        texts: list[str] = []
        self._store.in_slices(self._store.removing_unused(n_samples, texts))
        return [*map(self._store.key_of, sorted(texts))]

    def __contains__(self, key: object) -> bool:
        try:
            return bool(self._store.call("has", key_text(key)))
        except INVALID:
            return False

    def __iter__(self) -> Iterator[Any]:
        return map(self._store.key_of, self._store.call("texts"))

    def __len__(self) -> int:
        return len(self._store.call("texts"))

    def __bool__(self) -> bool:
        return True  # a model without keys is still a model

    __eq__ = object.__eq__  # a mapping would be compared with its models
    __hash__ = object.__hash__

    @property
    def _raw_memory_usage(self) -> int:
        return sum(self._store.call("sizes"))

    @property
    def position(self) -> Any:
        """The position noted with the last `flush`, or None."""
        return self._store.call("position")

    def flush(self, position: Any = None) -> None:
        """Commit the models of this moment to the folder, all of them or none.

        After a crash, even in the middle of a flush, it holds those of the last flush that
        returned, with its position in the stream, which is anything that JSON can hold. Other
        threads may go on meanwhile: what they learn belongs to the next flush.

        >>> import tempfile
        >>> from river.linear_model import LogisticRegression
        >>> options = {"key": "user", "folder": tempfile.mkdtemp()}
        >>> with KeyedClassifier(LogisticRegression(), **options) as model:
        ...     model.learn_one({"user": "ann", "price": 3.0}, True)
        ...     model.flush(position=1)
        >>> with KeyedClassifier(LogisticRegression(), **options) as model:
        ...     list(model), model.position
        (['ann'], 1)
        """
        self._store.flush(position)

    def close(self) -> None:
        """Release the folder for another object or process; changes since the last flush are lost.

        At its end a `with` statement flushes, with the last position, and closes; after an error it
        only closes.

        >>> from river.linear_model import LogisticRegression
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
        >>> KeyedClassifier(LogisticRegression(), "user").clone({"key": "shop"}).key
        'shop'
        """
        return super().clone({"folder": None} | (new_params or {}), include_attributes)

    def __getstate__(self) -> dict[str, Any]:
        if self._store.path is not None:  # which holds the models
            return self.__dict__ | {"folder": str(self._store.path.parent), "_store": None}
        return self.__dict__ | {"_store": (self._store.call("packed"), self._store.n_learned)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state.pop("_store")
        self.__dict__.update(state)
        self._store = self._opened(type(self).__name__)
        if kept:
            models, self._store.n_learned = kept
            self._store.call("put", models)


class KeyedClassifier(KeyedModel, base.MiniBatchClassifier):
    """A classifier for each key, such as a user, a sensor or a shop.

    The model of a sample's key alone learns or predicts it, without the key. A new key gets a model
    with the first sample that is learned; until then, a blank model predicts. It is also a mapping
    from keys to models: `model["ann"]`, `"ann" in model`, `len(model)`, `del model["ann"]`. What
    a model that was taken out learns is lost once it has been moved to the file.

    Parameters
    ----------
    model
        A river classifier (or pipeline), of which each key gets a clone, or a function without
        arguments that returns one.
    key
        Name of the feature with the keys: text, whole numbers, UUIDs, dates, datetimes or tuples of
        these. True, 1 and 1.0 are one key. With a list of names, such as `["country", "shop"]`, a
        key is the tuple of their values.
    max_in_memory
        Maximum number of models in memory, or `None` for any. The least recently used are moved to
        the folder, or to a temporary file without one.
    folder
        Path of a folder with an SQLite file of the models, or `None`. `flush` commits them, and the
        next object with this folder continues from there; it belongs to one object at a time. Its
        format may change in any release before 1.0.
    allow_pickle
        Whether models may be pickles in the folder, as all are that `save` cannot write. **Pickles
        run code**: open only folders that you trust. With False, models are forests that `save` can
        write (else TypeError), and pickles are refused with ValueError.

    Notes
    -----
    In a pipeline the key has to survive the transformers before it, as in `(Select("user") +
    (Discard("user") | StandardScaler())) | keyed`. A keyed model can be pickled if `model` can;
    with a folder, the pickle holds its path. Any thread may make any call.

    Examples
    --------
    >>> from river import linear_model, preprocessing
    >>> from river_amf.keyed import KeyedClassifier

    >>> logistic = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> model = KeyedClassifier(logistic, "user", max_in_memory=1)
    >>> for price in range(100):  # ann likes it cheap, bob does not
    ...     model.learn_one({"user": "ann", "price": price}, price < 50)
    ...     model.learn_one({"user": "bob", "price": price}, price >= 50)
    >>> [model.predict_one({"user": user, "price": 10}) for user in ("ann", "bob")]
    [True, False]
    """

    _kind = base.Classifier

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Predict the probability of each label, with the model of the sample's key.

        >>> from river_amf import AMFClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_proba_one({"user": "ann"}), model.predict_proba_one({"user": "bob"})
        ({'buys': 1.0}, {})
        """
        return self._call("predict_proba_one", x, **kwargs)  # type: ignore[no-any-return]

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probability of each label for each row, with the model of its key.

        The frame has 0 where a model has not learned a label, NaN where it has learned none.

        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        >>> model.predict_proba_many(pd.DataFrame({"user": ["bob", "ann"], "price": [3.0, 4.0]}))
           buys
        0   NaN
        1   1.0
        """
        return self._probabilities(Block(X, self.key))

    def predict_proba_then_learn_many(self, X: Any, y: Any, w: Any = None) -> Any:
        """Predict each row and then learn it, as `predict_proba_many` and `learn_many`.

        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> X = pd.DataFrame({"user": ["ann", "ann"], "price": [1.0, 9.0]})
        >>> model = KeyedClassifier(AMFClassifier(), "user")
        >>> model.predict_proba_then_learn_many(X, ["buys", "leaves"])
           buys  leaves
        0   NaN     NaN
        1   1.0     0.0
        """
        block = Block(X, self.key, (y, w))
        frames.check_column_names(block.frame, [], block.y)
        return self._probabilities(block)

    def _probabilities(self, block: Block) -> Any:
        rows = self._answers(block, "predict_proba")
        labels = [*dict.fromkeys(itertools.chain(*rows, block.y or ()))]
        values = [[row.get(label, 0.0) if row else np.nan for label in labels] for row in rows]
        array = np.array(values, np.float64).reshape(len(rows), len(labels))
        return frames.proba_frame(block.frame, labels, array)

    def _as_series(self, block: Block, labels: list[Any]) -> Any:
        return frames.label_series(block.frame, labels, np.arange(len(labels)))


class KeyedRegressor(KeyedModel, base.MiniBatchRegressor):
    """A regressor for each key: it has the parameters and methods of `KeyedClassifier`.

    >>> from river_amf import AMFRegressor
    >>> from river_amf.keyed import KeyedRegressor
    >>> model = KeyedRegressor(AMFRegressor(seed=1), "shop")
    >>> model.learn_one({"shop": "north", "day": 3}, 10.0)
    >>> model.predict_one({"shop": "north", "day": 4})
    10.0
    """

    _kind = base.Regressor

    def _as_series(self, block: Block, numbers: list[Any]) -> Any:
        return frames.number_series(block.frame, np.array(numbers, np.float64))
