"""What the classifier and the regressor with a model for each key have in common."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from river import base, compose

from river_amf.keyed import ways
from river_amf.keyed.keys import key_of, text_of
from river_amf.keyed.pool import Pool, Slot
from river_amf.keyed.routing import Block, Part
from river_amf.keyed.store import Packed
from river_amf.kinds import check_sample, is_missing, shown
from river_amf.parameters import Check, CheckedParameters, integer

_Result = TypeVar("_Result")
_ROW = re.compile(r"row (\d+): ")


def _factory(name: str, value: Any) -> None:
    """Check for a river model, or something that makes one."""
    if not isinstance(value, base.Estimator) and not callable(value):
        raise ValueError(
            f"{name} must be a river model, or a function that returns one, got {shown(value)}"
        )


def _column(name: str, value: Any) -> None:
    """Check for the name of a feature."""
    try:
        is_name = not is_missing(value) and hash(value) is not None
    except TypeError:
        is_name = False
    if not is_name:
        raise ValueError(
            f"{name} must be the name of a feature, such as 'user', got {shown(value)}"
        )


def _folder(name: str, value: Any) -> None:
    """Check for a path or None."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be the path of a folder or None, got {shown(value)}")


class Keyed(CheckedParameters, Mapping[Any, Any], base.Estimator):
    """Base of `KeyedClassifier` and `KeyedRegressor`."""

    _checks: ClassVar[dict[str, Check]] = {
        "factory": _factory,
        "key": _column,
        "max_models": integer(1, optional=True),
        "max_bytes": integer(1, optional=True),
        "folder": _folder,
    }
    _always_writable: ClassVar[frozenset[str]] = frozenset({"max_models", "max_bytes"})
    _kind: ClassVar[type[base.Estimator]]  # what the factory has to make

    _pool: Pool

    def __init__(
        self,
        factory: Any,
        key: Hashable,
        *,
        max_models: int | None = None,
        max_bytes: int | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.factory = factory
        self.key = key
        self.max_models = max_models
        self.max_bytes = max_bytes
        self.folder = folder
        path = None if folder is None else os.path.abspath(folder)
        about = {"kind": type(self).__name__, "key": key if isinstance(key, str) else repr(key)}
        self._pool = Pool(path, about)
        self._blank: Any = None  # the model that answers for new keys

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Yield parameters for the checks of river."""
        from river import linear_model

        is_number = issubclass(cls._kind, base.Regressor)
        kind = linear_model.LinearRegression if is_number else linear_model.LogisticRegression
        yield {"factory": kind(), "key": "user"}

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("_pool", *self._always_writable) and "_pool" in self.__dict__:
            self._pool.limit(self.max_models, self.max_bytes)

    @property
    def _has_learnt(self) -> bool:
        return "_pool" in self.__dict__ and len(self._pool) > 0

    # ------------------------------------------------------------------------------------- models

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
        factory = self.factory
        return not isinstance(factory, base.Estimator) and _has_argument(factory)

    @property
    def _multiclass(self) -> bool:
        factory = self.factory
        return bool(factory._multiclass) if isinstance(factory, base.Classifier) else True

    def _more_tags(self) -> set[str]:
        factory = self.factory
        return factory._tags if isinstance(factory, base.Estimator) else set()

    def _alone(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Call a function while no other thread uses the models."""
        return self._pool.lock.run_alone(call, *arguments)

    def __getitem__(self, key: Any) -> Any:
        """Return the model of a key, or raise KeyError if there is none."""
        return self._alone(self._given, key)

    def _given(self, key: Any) -> Any:
        slot = self._pool.find(text_of(key))
        if slot is None:
            raise KeyError(key)
        slot.is_changed = True  # perhaps, by whoever gets it
        return slot.model

    def __delitem__(self, key: Any) -> None:
        """Forget the model of a key, or raise KeyError if there is none."""
        self._alone(self._forget, key)

    def _forget(self, key: Any) -> None:
        text = text_of(key)
        if text not in self._pool:
            raise KeyError(key)
        self._pool.remove(text)

    def __contains__(self, key: object) -> bool:
        try:
            text = text_of(key)
        except (TypeError, ValueError):
            return False
        return self._alone(self._pool.__contains__, text)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys that have a model, in no particular order."""
        return map(key_of, self._alone(self._pool.texts))

    def __len__(self) -> int:
        """Return the number of keys that have a model."""
        return self._alone(self._pool.__len__)

    def __bool__(self) -> bool:
        """Return True, as a model without keys is still a model."""
        return True

    __eq__ = object.__eq__  # a mapping would be compared with its models
    __hash__ = object.__hash__

    @property
    def n_in_memory(self) -> int:
        """Number of models in memory.

        Examples
        --------
        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(LogisticRegression(), "user", max_models=1)
        >>> for user in ("ann", "bob"):
        ...     model.learn_one({"user": user, "price": 3.0}, True)
        >>> len(model), model.n_in_memory
        (2, 1)
        """
        return self._pool.n_resident

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
        return self._alone(lambda: self._pool.n_bytes)

    @property
    def _raw_memory_usage(self) -> int:
        return self.memory_usage

    # ------------------------------------------------------------------------------------- folder

    @property
    def position(self) -> Any:
        """What was noted with the last `flush`, or None.

        Examples
        --------
        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(LogisticRegression(), "user")
        >>> model.flush(position={"offset": 17})
        >>> model.position
        {'offset': 17}
        """
        return self._pool.position

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
        self._alone(self._flush, position)

    def _flush(self, position: Any) -> None:
        if self._pool.store.folder is None:  # nobody would find it there
            json.dumps(position, allow_nan=False)
            self._pool.position = position
        else:
            self._pool.flush(position)

    def close(self) -> None:
        """Release the folder, for another process or object; models that have changed are lost.

        A `with` statement flushes at its end, with the last position, and then closes; if an
        error ends it, it closes only. A temporary folder is removed with its models.

        Examples
        --------
        >>> from river.linear_model import LogisticRegression
        >>> from river_amf.keyed import KeyedClassifier
        >>> KeyedClassifier(LogisticRegression(), "user").close()
        """
        self._alone(self._pool.store.close)

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

    # ------------------------------------------------------------------------------------- copies

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return an object with the same parameters and no models, as in river.

        Its models go to a temporary folder, since a folder belongs to one object.

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
        """Return all models, those in the folder too; a copy has a temporary folder."""
        state = {name: value for name, value in self.__dict__.items() if name != "_blank"}
        return state | {"folder": None, "_pool": self._pool.__getstate__()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        pool = Pool.__new__(Pool)
        pool.__setstate__(state["_pool"])
        self.__dict__.update(state, _pool=pool, _blank=None)

    # ------------------------------------------------------------------------------------ samples

    def _split(self, x: Any) -> tuple[str, dict[Any, Any]]:
        """Return the key of a sample, as text, and the features without it."""
        check_sample(x)
        features = dict(x.items())
        try:
            return text_of(features.pop(self.key)), features
        except KeyError:
            raise ValueError(
                f"x lacks the key {shown(self.key)}, which says whose sample it is; it has "
                f"{shown(list(features))}"
            ) from None
        except (TypeError, ValueError) as error:
            raise type(error)(f"feature {shown(self.key)}: {error}") from None

    def _learn_one(self, x: Any, y: Any, w: float, kwargs: dict[str, Any]) -> None:
        """Learn a sample; a new model is kept once it has learned its first one."""
        text, features = self._split(x)
        slot = self._pool.find(text)
        is_new = slot is None
        if slot is None:
            slot = Slot(self._made(text), is_changed=True)
        self._pool.make_room(text, slot if is_new else None)
        if w != 1.0:
            ways.demand_weights(slot.model, "learn_one")
            kwargs = kwargs | {"w": w}
        slot.is_changed = True
        slot.model.learn_one(features, y, **kwargs)
        if is_new:
            self._pool.add(text, slot)
        self._pool.learned(slot, 1)

    def _ask_one(self, method: str, x: Any, kwargs: dict[str, Any]) -> Any:
        """Return what the model of a sample's key says of the sample."""
        text, features = self._split(x)
        slot = self._pool.find(text)
        learns = getattr(compose.Pipeline, "_LEARN_UNSUPERVISED_DURING_PREDICT", False)
        if slot is None:
            model = self._made(text) if learns else self._new(text)
            return getattr(model, method)(features, **kwargs)
        slot.is_changed |= learns
        return getattr(slot.model, method)(features, **kwargs)

    # ------------------------------------------------------------------------------------- blocks

    def _learn_parts(
        self, block: Block, learn: Callable[[ways.Rows, Part], _Result]
    ) -> list[tuple[Part, _Result]]:
        """Let each model learn its part, after all of them have checked theirs."""
        parts = self._in_order(block)
        made = self._check_parts(parts)
        results = []
        for part in parts:
            slot = self._pool.find(part.text)
            is_new = slot is None
            if slot is None:
                model = made.pop(part.text) if part.text in made else self._made(part.text)
                slot = Slot(model, is_changed=True)
            self._pool.make_room(part.text, slot if is_new else None)
            slot.is_changed = True
            results.append((part, _at(part, learn, ways.way_of(slot.model), part)))
            if is_new:
                self._pool.add(part.text, slot)
            self._pool.learned(slot, len(part))
        return results

    def _in_order(self, block: Block) -> list[Part]:
        """Return the parts of a block; first those whose models need not come from the folder."""
        return sorted(block.parts(), key=lambda part: not self._pool.is_resident(part.text))

    def _check_parts(self, parts: list[Part]) -> dict[str, Any]:
        """Raise an error if a part cannot be learned, as far as that is known before."""
        # New models that the key makes are kept for their rows: the factory is called but once.
        made: dict[str, Any] = {}
        if parts and not self._takes_key and not ways.checks_blocks(self._new(parts[0].text)):
            ways.way_of(self._new(parts[0].text)).check(parts[0])  # it is the same for all
            return made
        for part in parts:
            slot = self._pool.find(part.text)
            model = self._new(part.text) if slot is None else slot.model
            _at(part, ways.way_of(model).check, part)
            if slot is None and self._takes_key:
                made[part.text] = model
        return made

    def _ask_parts(
        self, block: Block, ask: Callable[[ways.Rows, Part], _Result]
    ) -> list[tuple[Part, _Result]]:
        """Ask each model about its part."""
        results = []
        for part in self._in_order(block):
            slot = self._pool.find(part.text)
            model = self._new(part.text) if slot is None else slot.model
            results.append((part, _at(part, ask, ways.way_of(model), part)))
        return results

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from a block of samples: the rows of each key, in their order, as one block.

        Models with `learn_many` get their rows as a frame of pandas, the others one by one. Before
        any row is learned, lengths, keys and weights are checked, and forests of this package check
        their rows; a river model that raises an error leaves those before it changed.

        Parameters
        ----------
        X
            DataFrame of shape (n_samples, n_features + 1), from pandas, polars, pyarrow or another
            library that narwhals supports, with the column of keys.
        y
            Labels or targets: a series, array or list of length n_samples.
        w
            Sample weights: a series, array or list of length n_samples, for models that take them.
            `None` means 1 for each.

        Raises
        ------
        TypeError, ValueError
            As in `learn_one`, with the number of the row (from 0) in the message; also if `X` is
            not a dataframe or lacks the keys, or if the lengths differ.
        OSError
            If a model cannot be moved to the folder. The models of some keys have then learned.

        Examples
        --------
        >>> import pandas as pd
        >>> from river_amf import AMFClassifier
        >>> from river_amf.keyed import KeyedClassifier
        >>> model = KeyedClassifier(AMFClassifier(seed=1), "user")
        >>> X = pd.DataFrame({"user": ["ann", "bob", "ann"], "price": [1.0, 1.0, 9.0]})
        >>> model.learn_many(X, ["buys", "waits", "waits"])
        >>> model.predict_many(X).tolist()
        ['buys', 'waits', 'waits']
        """
        block = Block(X, self.key, y, w)
        self._alone(self._learn_parts, block, lambda way, part: way.learn(part))

    def _holding(self, stored: list[Packed]) -> dict[str, Any]:
        """Return the state of an object that has the same parameters, and these models."""
        state = self.clone().__getstate__()
        state["_pool"]["stored"] = stored
        return state

    @staticmethod
    def _scattered(block: Block, results: list[tuple[Part, list[Any]]]) -> list[Any]:
        """Return the answers to the parts in the order of the rows."""
        return block.scattered({part.text: answers for part, answers in results})


def _has_argument(factory: Any) -> bool:
    """Whether a function has an argument that it cannot do without."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # of some functions in C
        return False
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return any(p.kind in kinds and p.default is p.empty for p in parameters)


def _at(part: Part, call: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a function of a part; an error says which row of the block it is about, and whose."""
    try:
        return call(*arguments)
    except Exception as error:
        key = f"the key {shown(key_of(part.text))}"
        found = _ROW.match(str(error))
        if found is None or not isinstance(error, TypeError | ValueError):
            error.add_note(f"in the rows of {key}")
            raise
        row = part.rows[int(found[1])]
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"row {row}: {key}: {str(error)[found.end() :]}") from None


def rows_of(parts: list[tuple[Part, _Result]]) -> list[tuple[NDArray[np.int64], _Result]]:
    """Return the rows of each part with its result."""
    return [(part.rows, result) for part, result in parts]
