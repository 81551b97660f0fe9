"""The models in memory, and those that were moved to a store to make room."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from river_amf.engine.lock import Guarded
from river_amf.inputs.invalid import comes_again
from river_amf.inputs.kinds import shown
from river_amf.keyed.keys import key_of
from river_amf.keyed.model_store import Packed, Store
from river_amf.persistence import FileError, Saved, load, save

_FILE, _PICKLE = "amf", "pickle"
# What pickling may raise, if not a signal handler does.
_OF_PICKLES = (
    *(ArithmeticError, AttributeError, EOFError, ImportError, LookupError, RecursionError),
    *(TypeError, ValueError, pickle.PickleError),
)


class Pool(Guarded):
    """Models by the texts of their keys, of which the most recently used are in memory.

    Whoever calls it does so by `run`. A model is moved to the store before anything else changes:
    if that fails, all models are where they were.
    """

    def __init__(self, folder: str | None, about: dict[str, Any]) -> None:
        super().__init__()
        self.store = Store(folder, about)
        self.max_models: int | None = None  # in memory
        self.changed: set[str] = set()  # those that are not in the store as they are
        self.models: OrderedDict[str, Any] = OrderedDict()  # from the least recently used on

    # ------------------------------------------------------------------------------------ reading

    def find(self, text: str) -> Any:
        """Return the model of a key, which may have to come back from the store, or None."""
        model = self.models.get(text)
        if model is not None:
            self.models.move_to_end(text)
            return model
        packed = self.store.get(text)
        if packed is None:
            return None
        model = self._unpacked(packed)
        self.add(text, model)
        return model

    def _unpacked(self, packed: Packed) -> Any:
        """Return the model in some bytes, or raise FileError."""
        try:
            return _read(packed)
        except _OF_PICKLES as error:
            if not comes_again(_read, packed):
                raise
            what = f"the model of the key {shown(key_of(packed.text))} cannot be read back: {error}"
            raise FileError(f"{self.store.path}: {what}" if self.store.path else what) from error

    def __contains__(self, text: str) -> bool:
        return text in self.models or text in self.store

    def texts(self) -> list[str]:
        """Return the keys of all models, as texts."""
        return [*dict.fromkeys([*self.models, *self.store.texts()])]

    # ----------------------------------------------------------------------------------- changing

    def add(self, text: str, model: Any) -> None:
        """Put a model into memory, after making room for it."""
        self.make_room(1)
        self.models[text] = model

    def make_room(self, n_new: int) -> None:
        """Move models to the store until so many more are within the limit, or raise OSError."""
        if self.max_models is not None:
            while self.models and len(self.models) + n_new > self.max_models:
                text, model = next(iter(self.models.items()))
                if text in self.changed:
                    self.store.put(_serialized(text, model))
                del self.models[text]
                self.changed.discard(text)

    def remove(self, text: str) -> None:
        """Forget the model of a key."""
        self.store.remove(text)
        self.models.pop(text, None)
        self.changed.discard(text)

    def flush(self, position: Any) -> None:
        """Write all changed models to the store, and note where the stream is."""
        self.store.flush(self._changed_here(), position)
        self.changed.clear()

    def _changed_here(self) -> Iterator[Packed]:
        """Yield the models in memory that have changed since they were in the store."""
        for text, model in self.models.items():
            if text in self.changed:
                yield _serialized(text, model)

    def changes(self) -> Iterator[Packed]:
        """Yield all models that have changed since the last flush."""
        stale = self.changed & self.models.keys()
        yield from self._changed_here()
        yield from (packed for packed in self.store.changes() if packed.text not in stale)

    def all(self) -> Iterator[Packed]:
        """Yield all models."""
        yield from (_serialized(text, model) for text, model in self.models.items())
        yield from (packed for packed in self.store.all() if packed.text not in self.models)

    # -------------------------------------------------------------------------------------- copies

    def __getstate__(self) -> dict[str, Any]:
        return self.run(self._snapshot)

    def _snapshot(self) -> dict[str, Any]:
        # Models are pickled here, as they might change as soon as the lock is released.
        resident = [(text, pickle.dumps(model)) for text, model in self.models.items()]
        stored = [packed for packed in self.store.all() if packed.text not in self.models]
        return {"resident": resident, "stored": stored, "about": self.store.about}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(None, state["about"])  # type: ignore[misc]  # a copy has a temporary store
        for packed in state["stored"]:
            self.store.put(packed)
        for text, data in state["resident"]:
            self.models[text] = pickle.loads(data)
        self.changed.update(self.models)


def _serialized(text: str, model: Any) -> Packed:
    """Return a model as bytes, or raise an error that names its key."""
    # Not isinstance, which is also true of a river pipeline that ends in a forest.
    if issubclass(type(model), Saved):
        file = io.BytesIO()
        try:
            save(model, file)
        except (TypeError, ValueError):
            # a label that files cannot hold, or a class of its own
            if not comes_again(save, model, io.BytesIO()):
                raise
        else:
            return Packed(text, _FILE, file.getvalue())
    try:
        return Packed(text, _PICKLE, pickle.dumps(model, pickle.HIGHEST_PROTOCOL))
    except _OF_PICKLES as error:
        if not comes_again(pickle.dumps, model, pickle.HIGHEST_PROTOCOL):
            raise
        raise TypeError(
            f"the model of the key {shown(key_of(text))} cannot be moved out of memory, as it "
            f"cannot be pickled ({error}); make it without lambdas and local functions, or raise "
            "max_models"
        ) from error


def _read(packed: Packed) -> Any:
    return load(io.BytesIO(packed.data)) if packed.kind == _FILE else pickle.loads(packed.data)
