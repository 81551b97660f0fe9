"""An object that keeps a model for each key: its parameters, its folder and its copies."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from inspect import Parameter
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

from river import base

from river_amf.inputs.invalid import INVALID, comes_again
from river_amf.inputs.kinds import is_hashable, is_missing, shown
from river_amf.keyed.keys import key_of, key_text
from river_amf.keyed.model_store import Packed
from river_amf.keyed.pool import Pool
from river_amf.parameters import Check, CheckedParameters, integer

_Result = TypeVar("_Result")


def _factory(name: str, value: Any) -> None:
    """Check for a river model, or something that makes one."""
    if not isinstance(value, base.Estimator) and not callable(value):
        raise ValueError(
            f"{name} must be a river model, or a function that returns one, got {shown(value)}"
        )


def _check_feature_name(name: str, value: Any) -> None:
    """Check for the name of a feature."""
    if not is_hashable(value) or is_missing(value):
        raise ValueError(
            f"{name} must be the name of a feature, such as 'user', got {shown(value)}"
        )


def folder(name: str, value: Any) -> None:
    """Check for a path or None."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be the path of a folder or None, got {shown(value)}")


class Keeper(CheckedParameters, Mapping[Any, Any], base.Estimator):
    """A mapping from keys to models, which a factory makes and a pool keeps."""

    _checks: ClassVar[dict[str, Check]] = {
        "factory": _factory,
        "key": _check_feature_name,
        "max_models": integer(1, optional=True),
        "folder": folder,
    }
    _always_writable: ClassVar[frozenset[str]] = frozenset({"max_models"})
    _kind: ClassVar[type[base.Estimator]]  # what the factory has to make

    _pool: Pool
    _position: Any  # what was noted with the last flush

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
        path = None if folder is None else os.path.abspath(folder)
        about = {"kind": type(self).__name__, "key": key if isinstance(key, str) else repr(key)}
        self._open(path, about)

    def _open(self, path: str | None, about: dict[str, Any]) -> None:
        self._pool = Pool(path, about)
        self._position = self._pool.store.position

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("_pool", "max_models") and "_pool" in self.__dict__:
            self._pool.max_models = self.max_models

    @property
    def _has_learnt(self) -> bool:
        return "_pool" in self.__dict__ and len(self._pool.texts()) > 0

    def _do(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Call a function while no other thread uses the models."""
        return self._pool.run(call, *arguments)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Yield parameters for the checks of river."""
        from river import linear_model

        is_number = issubclass(cls._kind, base.Regressor)
        kind = linear_model.LinearRegression if is_number else linear_model.LogisticRegression
        yield {"factory": kind(), "key": "user"}

    def _made(self, text: str) -> Any:
        """Return a new model for a key, or raise TypeError if the factory makes something else."""
        factory = self.factory
        if isinstance(factory, base.Estimator):
            model = factory.clone()
        else:
            model = factory(key_of(text)) if self._takes_key else factory()
        if not isinstance(model, self._kind):
            raise TypeError(
                f"factory must make a river {self._kind.__name__.lower()}, but made {shown(model)} "
                f"of type {type(model).__name__}"
            )
        return model

    def _new(self, text: str) -> Any:
        """Return a new model that learns nothing: one for all keys, unless the key makes it."""
        if self._takes_key:
            return self._made(text)
        if self._blank is None:
            self._blank = self._made(text)
        return self._blank

    @property
    def _takes_key(self) -> bool:
        """Whether the factory has an argument that it cannot do without."""
        factory, kinds = self.factory, (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        if isinstance(factory, base.Estimator):
            return False
        try:
            parameters = inspect.signature(factory).parameters.values()
        except (TypeError, ValueError):  # of some functions in C
            if not comes_again(inspect.signature, factory):
                raise
            return False
        return any(p.kind in kinds and p.default is p.empty for p in parameters)

    @property
    def _multiclass(self) -> bool:
        factory = self.factory
        return bool(factory._multiclass) if isinstance(factory, base.Classifier) else True

    def _more_tags(self) -> set[str]:
        factory = self.factory
        return factory._tags if isinstance(factory, base.Estimator) else set()

    # ------------------------------------------------------------------------------------- models

    def __getitem__(self, key: Any) -> Any:
        """Return the model of a key (over workers a copy), or raise KeyError if there is none."""
        model = self._do(self._given, key_text(key))
        if model is None:
            raise KeyError(key)
        return model

    def __delitem__(self, key: Any) -> None:
        """Forget the model of a key, or raise KeyError if there is none."""
        if not self._do(self._forgotten, key_text(key)):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        try:
            text = key_text(key)
        except INVALID:
            return False
        return bool(self._do(self._has, text))

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys that have a model, in no particular order."""
        return map(key_of, self._do(self._texts))

    def __len__(self) -> int:
        """Return the number of keys that have a model."""
        return len(self._do(self._texts))

    def _given(self, text: str) -> Any:
        """Return the model of a key, or None if there is none."""
        model = self._pool.find(text)
        if model is not None:
            self._pool.changed.add(text)  # perhaps, by whoever gets it
        return model

    def _forgotten(self, text: str) -> bool:
        """Forget the model of a key, or return False if there is none."""
        is_known = text in self._pool
        if is_known:
            self._pool.remove(text)
        return is_known

    def _has(self, text: str) -> bool:
        return text in self._pool

    def _texts(self) -> list[str]:
        return self._pool.texts()

    def _n_in_memory(self) -> int:
        return len(self._pool.models)

    def _n_bytes(self) -> int:
        models = self._pool.models
        return int(self._do(lambda: sum(model._raw_memory_usage for model in models.values())))

    def __bool__(self) -> bool:
        """Return True, as a model without keys is still a model."""
        return True

    __eq__ = object.__eq__  # a mapping would be compared with its models
    __hash__ = object.__hash__

    @property
    def n_in_memory(self) -> int:
        """Number of models in memory."""
        return self._n_in_memory()

    @property
    def memory_usage(self) -> int:
        """Memory used by the models in memory, in bytes, as river measures it.

        Examples
        --------
        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(LogisticRegression(), "user")
        >>> model.learn_one({"user": "ann", "price": 3.0}, True)
        >>> 100 < model.memory_usage < 10_000
        True
        """
        return self._n_bytes()

    @property
    def _raw_memory_usage(self) -> int:
        return self.memory_usage

    # ------------------------------------------------------------------------------------- folder

    @property
    def position(self) -> Any:
        """The position noted with the last `flush`, or None."""
        if self.folder is not None and not self._pool.store.is_closed:
            self._position = self._pool.run(lambda: self._pool.store.position)
        return self._position

    def flush(self, position: Any = None) -> None:
        """Write all models that have changed to the folder, to be found there by the next process.

        All of them at once: a process that dies, even in the middle of this, leaves the models as
        they were at the last flush that returned, and what was learned since is lost for all keys
        alike. So a stream that goes on from `position` learns each row once.

        Parameters
        ----------
        position
            Where the stream is, such as an offset: anything that JSON can hold.

        Raises
        ------
        OSError
            If the folder cannot be written. It then holds the last flush, and nothing is lost.
        TypeError, ValueError
            If a model cannot be pickled, or `position` is no JSON.

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
        self._write(position)
        self._position = position

    def close(self) -> None:
        """Release the folder, for another process or object; models that have changed are lost.

        A `with` statement flushes at its end, with the last position, and then closes; if an
        error ends it, it closes only. A temporary file is removed with its models.

        Examples
        --------
        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> KeyedClassifier(LogisticRegression(), "user").close()
        """
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None and not self._pool.store.is_closed:
                self.flush(self.position)
        finally:
            self.close()

    def _write(self, position: Any) -> None:
        if self.folder is not None:  # else nobody would find it there
            self._pool.flush(position)

    def _close(self) -> None:
        self._do(self._pool.store.close)

    # ------------------------------------------------------------------------------------- copies

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return an object with the same parameters and no models, as in river.

        Its models go to a temporary file, since a folder belongs to one object.

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
        copy = type(self).__new__(type(self))
        copy.__setstate__(self.__getstate__())
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        """Return all models, those in the folder too; a copy has a temporary file."""
        pool = self._pool.__getstate__()
        return self.__dict__ | {"folder": None, "_blank": None, "_pool": pool}

    def __setstate__(self, state: dict[str, Any]) -> None:
        pool = Pool.__new__(Pool)
        pool.__setstate__(state["_pool"])
        pool.max_models = state["max_models"]
        self.__dict__.update(state, _pool=pool)

    def _holding(self, stored: list[Packed], position: Any = None) -> dict[str, Any]:
        """Return the state of an object that has the same parameters, and these models."""
        state = self.clone().__getstate__()
        state["_pool"]["stored"] = stored
        return state | {"_position": position}
