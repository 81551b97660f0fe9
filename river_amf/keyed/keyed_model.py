"""The base of keyed models: a mapping from keys to models, most of which may be in a folder."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from inspect import Parameter
from types import FunctionType
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from river import base

from river_amf.inputs.invalid import INVALID, comes_again
from river_amf.inputs.kinds import check_sample, is_hashable, is_missing, shown
from river_amf.keyed.adapters import (
    ask,
    is_forest,
    pipelines_learn,
    predicting_changes,
    require_weights,
)
from river_amf.keyed.keys import key_of, key_text
from river_amf.keyed.pool import Pool
from river_amf.keyed.routing import Answers, Block, Part
from river_amf.parameters import Check, CheckedParameters, integer

_Result = TypeVar("_Result")


def _check_feature_name(name: str, value: Any) -> None:
    """Check for the name of a feature."""
    if not is_hashable(value) or is_missing(value):
        raise ValueError(
            f"{name} must be the name of a feature, such as 'user', got {shown(value)}"
        )


def check_folder(name: str, value: Any) -> None:
    """Check for a path or None."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be the path of a folder or None, got {shown(value)}")


def takes_key(factory: Any) -> bool:
    """Whether a factory has an argument that it cannot do without."""
    if isinstance(factory, base.Estimator):
        return False
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # of some functions in C
        if not comes_again(inspect.signature, factory):
            raise
        return False
    kinds = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    return any(p.kind in kinds and p.default is p.empty for p in parameters)


class KeyedModel(CheckedParameters, Mapping[Any, Any], base.Estimator):
    """Base of `KeyedClassifier` and `KeyedRegressor`: whose samples go to which model."""

    _checks: ClassVar[dict[str, Check]] = {
        "key": _check_feature_name,
        "max_models": integer(1, optional=True),
        "folder": check_folder,
    }
    _always_writable: ClassVar[frozenset[str]] = frozenset({"max_models"})
    _kind: ClassVar[type[base.Estimator]]  # what the factory has to make
    _as_series: Callable[[Block, list[Any]], Any]  # of labels or of numbers

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let errors about parameters name the class."""
        super().__init_subclass__(**kwargs)
        cls._checks = cls._checks | {"factory": cls._check_factory}
        if "__init__" not in vars(cls):  # a copy of the inherited one with another name
            init: Any = cls.__init__
            code = init.__code__.replace(co_qualname=f"{cls.__name__}.__init__")
            rest = init.__globals__, "__init__", init.__defaults__, init.__closure__
            own: Any = FunctionType(code, *rest)
            own.__kwdefaults__, own.__annotations__ = init.__kwdefaults__, init.__annotations__
            cls.__init__ = own  # type: ignore[method-assign]

    def __init__(
        self,
        factory: Any,
        key: Hashable,
        *,
        max_models: int | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.factory = factory
        self.key = key
        self.max_models = max_models
        self.folder = folder
        self._blank: Any = None  # the model that answers for new keys
        self._open(type(self).__name__)

    def _open(self, kind: str) -> None:
        folder = None if self.folder is None else os.path.abspath(self.folder)
        self._pool = Pool(folder, f"the models of a {kind} with the key {self.key!r}")
        self._pool.max_models = self.max_models

    @property
    def _has_learnt(self) -> bool:
        return "_pool" in self.__dict__ and len(self._pool.texts()) > 0

    def _do(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Call a function while no other thread uses the models."""
        self._pool.max_models = self.max_models
        return self._pool.run(call, *arguments)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Yield parameters for the checks of river."""
        from river import linear_model

        is_number = issubclass(cls._kind, base.Regressor)
        kind = linear_model.LinearRegression if is_number else linear_model.LogisticRegression
        yield {"factory": kind(), "key": "user"}

    @property
    def _multiclass(self) -> bool:
        return bool(getattr(self.factory, "_multiclass", True))

    def _more_tags(self) -> set[str]:
        return self.factory._tags if isinstance(self.factory, base.Estimator) else set()

    # ------------------------------------------------------------------------------------ factory

    @classmethod
    def _check_factory(cls, name: str, value: Any) -> None:
        """Check for a river model of the right kind, or a function that makes one."""
        if not isinstance(value, base.Estimator) and callable(value):
            if not takes_key(value):
                cls._made_by(value)
        elif not isinstance(value, cls._kind):
            cls._refuse_factory("got", value)

    @classmethod
    def _made_by(cls, factory: Any, *key: Any) -> Any:
        """Return a new model, or raise ValueError if the factory makes something else."""
        model = factory.clone() if isinstance(factory, base.Estimator) else factory(*key)
        if not isinstance(model, cls._kind):
            cls._refuse_factory("but it made", model)
        return model

    @classmethod
    def _refuse_factory(cls, verb: str, value: Any) -> NoReturn:
        kind = type(value).__name__
        got = f"a {kind}" if isinstance(value, base.Estimator) else f"{shown(value)} of type {kind}"
        raise ValueError(
            f"factory of a {cls.__name__} must be a river {cls._kind.__name__.lower()}, or a "
            f"function that returns one, {verb} {got}"
        )

    def _made(self, text: str) -> Any:
        """Return a new model for a key."""
        key = [key_of(text)] if takes_key(self.factory) else []
        return self._made_by(self.factory, *key)

    def _new(self, text: str) -> Any:
        """Return a new model that learns nothing: one for all keys, unless the key makes it."""
        if takes_key(self.factory):
            return self._made(text)
        if self._blank is None:
            self._blank = self._made(text)
        return self._blank

    # ------------------------------------------------------------------------------------ samples

    def _split(self, x: Any) -> tuple[str, dict[Any, Any]]:
        """Return the key of a sample, as text, and the features without it."""
        check_sample(x)
        features = dict(x.items())
        if self.key not in features:
            what = f"{shown(self.key)}, which says whose sample it is; it has"
            raise ValueError(f"x lacks the key {what} {shown(list(features))}")
        try:
            return key_text(features.pop(self.key)), features
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
            whatever the model raises.
        OSError
            If a model cannot be moved to the folder, or read there. Nothing has been learned then.

        Examples
        --------
        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, "buys")
        """
        text, features = self._split(x)
        options = kwargs if w == 1.0 else kwargs | {"w": w}
        self._do(self._at, text, "_learn_one", features, y, options)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Predict the label or target of a sample, with the model of its key.

        Keywords go to the model, such as `with_interval=True, level=0.5` to regressors of this
        package. For a key without a model the prediction is that of a new one.

        Examples
        --------
        >>> from river_amf import AMFRegressor, keyed
        >>> keyed.KeyedRegressor(AMFRegressor(), "shop").predict_one({"shop": "south", "day": 3})
        0.0
        """
        return self._ask_one(x, "predict_one", kwargs)

    def _ask_one(self, x: Any, method: str, options: dict[str, Any]) -> Any:
        text, features = self._split(x)
        return self._do(self._at, text, "_answer_one", features, method, options)

    def _learn_one(self, text: str, x: dict[Any, Any], y: Any, options: dict[str, Any]) -> None:
        def learn(model: Any) -> None:
            if "w" in options:
                require_weights(model, "learn_one")
            model.learn_one(x, y, **options)

        self._use(text, learn, learns=True)

    def _answer_one(self, text: str, x: dict[Any, Any], method: str, options: Any) -> Any:
        return self._use(text, lambda model: getattr(model, method)(x, **options))

    def _use(
        self, text: str, call: Callable[[Any], _Result], learns: bool = False, made: Any = None
    ) -> _Result:
        """Call a function with the model of a key; a new one is kept once it has learned."""
        pool = self._pool
        model = pool.find(text)
        if model is not None:
            if learns or predicting_changes(model):
                pool.changed.add(text)
            return call(model)
        if not learns:
            return call(self._made(text) if pipelines_learn() else self._new(text))
        model = self._made(text) if made is None else made
        pool.make_room(1)
        result = call(model)
        pool.changed.add(text)
        pool.models[text] = model
        return result

    # ------------------------------------------------------------------------------------- blocks

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from a block of samples: the rows of each key, in their order, as one block.

        Models with `learn_many` get their rows as a frame of pandas, the others one by one. Before
        any row is learned, lengths, keys and weights are checked, and forests of this package check
        their rows; a river model that raises an error leaves those before it changed.

        Parameters
        ----------
        X
            DataFrame with the column of keys, from any library that narwhals supports.
        y, w
            Labels or targets and weights, as series, arrays or lists.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `learn_one`, with the number of the row (from 0) in the message. After an OSError,
            the models of some keys have learned.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier, keyed
        >>> model = keyed.KeyedClassifier(AMFClassifier(seed=1), "user")
        >>> X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, 1.0, 9.0]})
        >>> model.learn_many(X, ["buys", "waits", "waits"])
        >>> model.predict_many(X).tolist()
        ['buys', 'waits', 'waits']
        """
        self._do(self._learn, Block(X, self.key, y, w))

    def predict_many(self, X: Any) -> Any:
        """Predict the label or target of each row, with the model of its key.

        The predictions are in the order of the rows, as a series from the same library as `X`; None
        where a classifier has no label.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier, keyed
        >>> X = pd.DataFrame({"user": ["bob"], "price": [3.0]})
        >>> keyed.KeyedClassifier(AMFClassifier(), "user").predict_many(X).tolist()
        [None]
        """
        block = Block(X, self.key)
        return self._as_series(block, block.scattered(self._do(self._answer, block, "predict")))

    def _learn(self, block: Block) -> None:
        self._answer(block, "learn")

    def _answer(self, block: Block, method: str) -> Answers:
        """Let each model answer, and learn its part if all of them find nothing wrong with it."""
        made = self._check(block) if block.is_learned else {}
        answers = []
        for part in self._parts(block):
            call, new = partial(ask, part, method), made.get(part.text)
            answers.append((part.rows, self._use(part.text, call, block.is_learned, new)))
        return answers

    def _parts(self, block: Block) -> list[Part]:
        """Return the parts of a block; first those whose models need not come from the folder."""
        return sorted(block.parts(), key=lambda part: part.text not in self._pool.models)

    def _check(self, block: Block) -> dict[str, Any]:
        """Raise an error if a part of a block cannot be learned, as far as is known before.

        The models that the factory has made for it are returned: each is to be made but once.
        """
        made = {}
        parts, by_key = self._parts(block), takes_key(self.factory)
        are_alike = parts and not by_key and not is_forest(self._new(""))
        for part in parts[:1] if are_alike else parts:
            model = self._pool.find(part.text)
            if model is None:
                model = self._new(part.text)
                if by_key:
                    made[part.text] = model
            ask(part, "check", model)
        return made

    # ------------------------------------------------------------------------------------- models

    def __getitem__(self, key: Any) -> Any:
        """Return the model of a key (over workers a copy), or raise KeyError if there is none."""
        model = self._do(self._at, key_text(key), "get")
        if model is None:
            raise KeyError(key)
        return model

    def __delitem__(self, key: Any) -> None:
        """Forget the model of a key, or raise KeyError if there is none."""
        if not self._do(self._at, key_text(key), "remove"):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        try:
            return bool(self._do(self._at, key_text(key), "has"))
        except INVALID:
            return False

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys that have a model, in no particular order."""
        return map(key_of, itertools.chain(*self._do(self._everywhere, "texts")))

    def __len__(self) -> int:
        """Return the number of keys that have a model."""
        return sum(map(len, self._do(self._everywhere, "texts")))

    def __bool__(self) -> bool:
        """Return True, as a model without keys is still a model."""
        return True

    __eq__ = object.__eq__  # a mapping would be compared with its models
    __hash__ = object.__hash__

    def _at(self, text: str, method: str, *arguments: Any) -> Any:
        """Call a method of the pool, or a private one, where the model of a key lives."""
        return getattr(self if method[0] == "_" else self._pool, method)(text, *arguments)

    def _everywhere(self, method: str) -> list[Any]:
        """Return what a method of each pool returns."""
        return [getattr(self._pool, method)()]

    @property
    def n_in_memory(self) -> int:
        """Number of models in memory."""
        return sum(self._do(self._everywhere, "n_in_memory"))

    @property
    def memory_usage(self) -> int:
        """Memory used by the models in memory, in bytes, as river measures it."""
        return sum(self._do(self._everywhere, "n_bytes"))

    _raw_memory_usage = memory_usage

    # ------------------------------------------------------------------------------------- folder

    @property
    def position(self) -> Any:
        """The position noted with the last `flush`, or None."""
        return self._pool.run(lambda: self._pool.position)

    def flush(self, position: Any = None) -> None:
        """Write all models that have changed to the folder, to be found there by the next process.

        It is one transaction: a process that dies, even in the middle of it, leaves the models as
        they were at the last flush that returned, and what was learned since is lost for all keys
        alike. So a stream that goes on from `position` learns each row once.

        Parameters
        ----------
        position
            Where the stream is, such as an offset: anything that JSON can hold.

        Raises
        ------
        OSError, TypeError, ValueError
            If the folder cannot be written, a model cannot be pickled, or `position` is no JSON.
            The folder then holds the last flush, and nothing is lost.

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
        self._do(self._flush, position)

    def _flush(self, position: Any) -> None:
        json.dumps(position, allow_nan=False)  # raises
        if self.folder is not None:  # else nobody would find it there
            self._write(position)
        self._pool.noted = position

    def _write(self, position: Any) -> None:
        self._pool.flush(position)

    def close(self) -> None:
        """Release the folder, for another process or object; models that have changed are lost.

        A `with` statement flushes at its end, with the last position, and then closes; if an
        error ends it, it closes only.

        Examples
        --------
        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> KeyedClassifier(LogisticRegression(), "user").close()
        """
        self._close()

    def _close(self) -> None:
        self._do(self._pool.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and not self._pool.is_closed:
                self.flush(self.position)
        finally:
            self.close()

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return an object with the same parameters and no models, nor the folder.

        Examples
        --------
        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> KeyedClassifier(LogisticRegression(), "user").clone({"key": "shop"}).key
        'shop'
        """
        return super().clone({"folder": None} | (new_params or {}), include_attributes)

    def __copy__(self) -> Self:
        """Return a deep copy: two objects that share models would change each other's."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return all models, those in the folder too; a copy has a temporary file."""
        return self.__dict__ | {"folder": None, "_blank": None}
