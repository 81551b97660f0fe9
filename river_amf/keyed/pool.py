"""The models in memory, and those that were moved to a store to make room."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from river_amf.keyed.keys import key_of
from river_amf.keyed.parcels import pack, unpack
from river_amf.keyed.store import Packed, Store
from river_amf.kinds import shown
from river_amf.locks import ModelLock

_GROWTH = 1.25  # a model is measured again once it has learned so many times as many rows


class Slot:
    """A model in memory."""

    __slots__ = ("is_changed", "model", "n_bytes", "n_rows", "next_measured")

    def __init__(self, model: Any, *, is_changed: bool) -> None:
        self.model = model
        self.is_changed = is_changed  # since it was last in the store
        self.n_bytes = 0  # when it was last measured
        self.n_rows = 0  # learned while in memory
        self.next_measured = 0.0  # at how many rows


class Pool:
    """Models by the texts of their keys, of which the most recently used are in memory.

    Whoever calls it holds its `lock`. A model is moved to the store before anything else changes:
    if that fails, all models are where they were.
    """

    def __init__(self, folder: str | None, about: dict[str, Any]) -> None:
        self.lock = ModelLock(rank=-1)  # as models are called while it is held
        self.store = Store(folder, about)
        self.position = self.store.position
        self.max_models: int | None = None  # in memory
        self.max_bytes: int | None = None
        self._slots: OrderedDict[str, Slot] = OrderedDict()  # from the least recently used on
        self._n_bytes: int | None = 0  # None if an error has left it unknown

    def limit(self, max_models: int | None, max_bytes: int | None) -> None:
        """Set how many models, and how many bytes of them, may be in memory from the next call."""
        if max_bytes is not None and self.max_bytes is None:
            for slot in self._slots.values():
                self._measure(slot)
        self.max_models, self.max_bytes, self._n_bytes = max_models, max_bytes, None

    # ------------------------------------------------------------------------------------ reading

    def find(self, text: str) -> Slot | None:
        """Return the slot of a key, whose model may have to come back from the store, or None."""
        slot = self._slots.get(text)
        if slot is not None:
            self._slots.move_to_end(text)
            return slot
        packed = self.store.get(text)
        if packed is None:
            return None
        slot = Slot(_unpacked(packed), is_changed=False)
        self.add(text, slot)
        return slot

    def is_resident(self, text: str) -> bool:
        """Whether the model of a key is in memory."""
        return text in self._slots

    def __contains__(self, text: str) -> bool:
        return text in self._slots or text in self.store

    def __len__(self) -> int:
        return len(self.texts())

    def texts(self) -> list[str]:
        """Return the keys of all models, as texts."""
        return [*dict.fromkeys([*self._slots, *self.store.texts()])]

    @property
    def n_resident(self) -> int:
        """How many models are in memory."""
        return len(self._slots)

    @property
    def n_bytes(self) -> int:
        """What the models in memory take, all of them measured now."""
        for slot in self._slots.values():
            slot.n_bytes = size_of(slot.model)
        self._n_bytes = None
        return self._total()

    def _total(self) -> int:
        if self._n_bytes is None:
            self._n_bytes = sum(slot.n_bytes for slot in self._slots.values())
        return self._n_bytes

    # ----------------------------------------------------------------------------------- changing

    def add(self, text: str, slot: Slot) -> None:
        """Put a model into memory, after making room for it."""
        if self.max_bytes is not None:
            self._measure(slot)
        self.make_room(text, slot)
        total, self._n_bytes = self._total(), None  # unknown if the next line is interrupted
        self._slots[text] = slot
        self._n_bytes = total + slot.n_bytes

    def make_room(self, text: str, newcomer: Slot | None = None) -> None:
        """Move models to the store until all that stay are within the limits, or raise OSError."""
        n_models, n_bytes = self.max_models, self.max_bytes
        n_new, new_bytes = (0, 0) if newcomer is None else (1, newcomer.n_bytes)
        while self._slots and (
            (n_models is not None and len(self._slots) + n_new > n_models)
            or (n_bytes is not None and self._total() + new_bytes > n_bytes)
        ):
            oldest = next(iter(self._slots))
            if oldest == text:  # the one that is asked for stays, however large it is
                break
            self._move(oldest)

    def _move(self, text: str) -> None:
        """Move a model to the store."""
        slot = self._slots[text]
        if slot.is_changed:
            self.store.put(Packed(text, *_packed(text, slot.model)))
        total, self._n_bytes = self._total(), None
        del self._slots[text]
        self._n_bytes = total - slot.n_bytes

    def learned(self, slot: Slot, n_rows: int) -> None:
        """Take note that a model in memory has learned some rows."""
        slot.n_rows += n_rows
        if slot.n_rows >= slot.next_measured and self.max_bytes is not None:
            total, self._n_bytes = self._total() - slot.n_bytes, None
            self._measure(slot)
            self._n_bytes = total + slot.n_bytes

    def _measure(self, slot: Slot) -> None:
        slot.n_bytes = size_of(slot.model)
        slot.next_measured = _GROWTH * slot.n_rows + 1

    def remove(self, text: str) -> None:
        """Forget the model of a key."""
        self.store.remove(text)
        self._n_bytes = None
        self._slots.pop(text, None)

    def flush(self, position: Any) -> None:
        """Write all changed models to the store, and note where the stream is."""
        changed = [slot for slot in self._slots.values() if slot.is_changed]
        self.store.flush(self._changed_here(), position)
        for slot in changed:
            slot.is_changed = False
        self.position = position

    def _changed_here(self) -> Iterator[Packed]:
        """Yield the models in memory that have changed since they were in the store."""
        for text, slot in self._slots.items():
            if slot.is_changed:
                yield Packed(text, *_packed(text, slot.model))

    def changes(self) -> Iterator[Packed]:
        """Yield all models that have changed since the last flush."""
        stale = {text for text, slot in self._slots.items() if slot.is_changed}
        yield from self._changed_here()
        yield from (packed for packed in self.store.changes() if packed.text not in stale)

    def all(self) -> Iterator[Packed]:
        """Yield all models."""
        yield from (Packed(text, *_packed(text, slot.model)) for text, slot in self._slots.items())
        yield from (packed for packed in self.store.all() if packed.text not in self._slots)

    # -------------------------------------------------------------------------------------- copies

    def __getstate__(self) -> dict[str, Any]:
        return self.lock.run_alone(self._snapshot)

    def _snapshot(self) -> dict[str, Any]:
        # Models are pickled here, as they might change as soon as the lock is released.
        resident = [(text, pickle.dumps(slot.model)) for text, slot in self._slots.items()]
        stored = [packed for packed in self.store.all() if packed.text not in self._slots]
        return {
            "resident": resident,
            "stored": stored,
            "position": self.position,
            "about": self.store.about,
            "limits": (self.max_models, self.max_bytes),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(None, state["about"])  # type: ignore[misc]  # a copy has a temporary store
        self.position = state["position"]
        self.max_models, self.max_bytes = state["limits"]
        for packed in state["stored"]:
            self.store.put(packed)
        for text, data in state["resident"]:
            self._slots[text] = Slot(pickle.loads(data), is_changed=True)
        if self.max_bytes is not None:
            self._n_bytes = self.n_bytes


def size_of(model: Any) -> int:
    """Return what a model takes in memory, in bytes, as river measures it."""
    size: int = model._raw_memory_usage
    return size


def _packed(text: str, model: Any) -> tuple[str, bytes]:
    """Return a model as bytes, or raise an error that names its key."""
    try:
        return pack(model)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise TypeError(
            f"the model of the key {shown(key_of(text))} cannot be moved out of memory, as it "
            f"cannot be pickled ({error}); make it without lambdas and local functions, or raise "
            "max_models and max_bytes"
        ) from error


def _unpacked(packed: Packed) -> Any:
    """Return the model in a parcel, or raise an error that names its key."""
    try:
        return unpack(packed.kind, packed.data)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise ValueError(
            f"the model of the key {shown(key_of(packed.text))} cannot be read back: {error}"
        ) from error
