"""Models by key: the most recently used in memory, the rest in one SQLite file.

A forest is stored as its file, any other model as a pickle. All changes since the last flush are
one open transaction, which a flush commits.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sqlite3
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from river import compose

from river_amf.engine.lock import Guarded, exclusive
from river_amf.inputs.kinds import shown
from river_amf.keyed.blocks import Block
from river_amf.keyed.keys import key_of
from river_amf.persistence import FileError, load, save

_FORMAT = 0x616D6602  # the application id of the file: "amf" and a version
_CREATE = (
    f"PRAGMA application_id = {_FORMAT}",
    "CREATE TABLE models (key TEXT PRIMARY KEY, model BLOB)",
    "CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT)",
)
_PUT = "INSERT OR REPLACE INTO models VALUES (?, ?)"


class Store(Guarded):
    """Models by the texts of their keys, used by `call`; without a folder in a temporary file.

    After an error of SQLite the store is closed, which undoes all changes since the last flush.
    """

    def __init__(
        self, folder: Any, about: str, make: Any, max_in_memory: int | None, allow_pickle: bool
    ) -> None:
        super().__init__()
        self._allow_pickle = allow_pickle
        if not allow_pickle:
            self._packed(make())  # or raise TypeError
        self.path = None if folder is None else Path(folder, "models.sqlite").absolute()
        self.make = make  # a model of a new key
        self.max_in_memory = max_in_memory
        self._blank: Any = None  # the model that predicts for new keys
        self.models: OrderedDict[str, Any] = OrderedDict()  # from the least recently used on
        self.changed: set[str] = set()  # those in memory that differ from the file
        self.refusal = ""  # why the file is closed, once it is
        self._process = os.getpid()
        self._release: Callable[[], object] = bool  # nothing to close yet
        if self.path is not None:
            os.makedirs(self.path.parent, exist_ok=True)
            if not all(os.access(p, os.W_OK) for p in (self.path.parent, self.path) if p.exists()):
                what = "models need a folder that can be written, such as a copy of this one"
                raise OSError(f"{self.path} can only be read; {what}")
        try:
            # IMMEDIATE: a transaction begins before the first change after a commit.
            self._database = sqlite3.connect(
                self.path or "", timeout=0, isolation_level="IMMEDIATE", check_same_thread=False
            )
        except sqlite3.Error as error:
            self._fail(error)
        self._release = weakref.finalize(self, _close, self._database, self._process)
        self._open(about)

    def _open(self, about: str) -> None:
        """Lock the file and create the tables, or raise FileError for the file of another."""
        self._query("PRAGMA locking_mode = EXCLUSIVE")
        ((n_tables,),) = self._query("SELECT count(*) FROM sqlite_master")
        ((format_,),) = self._query("PRAGMA application_id")
        if n_tables and format_ != _FORMAT:
            self._refuse(FileError, f"{self.path} is another database, or that of another release")
        self._query("PRAGMA journal_mode = WAL")
        self._query("PRAGMA synchronous = FULL")  # a flush is on disk when it returns
        for statement in () if n_tables else ("BEGIN IMMEDIATE", *_CREATE):
            self._query(statement)
        self._query("INSERT OR IGNORE INTO notes VALUES ('about', ?)", about)
        self._query("COMMIT")
        ((content,),) = self._query("SELECT value FROM notes WHERE name = 'about'")
        if content != about:
            self._refuse(FileError, f"{self.path} holds {content}, not {about}")

    def _query(self, query: str, *values: Any) -> list[Any]:
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            self._fail(error)

    def _fail(self, error: sqlite3.Error) -> NoReturn:
        """Close the file, which undoes the open transaction, and raise OSError or FileError."""
        name = self.path or "the temporary file of the models"
        if not isinstance(error, sqlite3.OperationalError):
            self._refuse(FileError, f"{name} is damaged, or holds something else: {error}")
        if "locked" in str(error):
            self._refuse(OSError, f"{name} is in use by another model, perhaps in another process")
        left = "holds the models of the last flush, from which a new object continues"
        left = left if self.path else "is lost with its models (a folder would keep them)"
        self._refuse(OSError, f"{name}: {error}; it {left}")

    def _refuse(self, kind: type[Exception], problem: str) -> NoReturn:
        self._close(problem)
        raise kind(problem)

    @exclusive
    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method, or raise OSError after an error of SQLite, `close` or a fork."""
        if self._process != os.getpid():
            raise OSError("the models belong to the process that this one was forked from")
        if self.refusal:
            raise OSError(self.refusal)
        return self._route(method, *arguments)

    def _route(self, method: str, *arguments: Any) -> Any:
        return getattr(self, method)(*arguments)

    @exclusive
    def close(self) -> None:
        """Release the file; changes since the last flush are lost."""
        self._close("the models were released by close()")

    def _close(self, refusal: str) -> None:
        self.refusal = self.refusal or refusal
        self._release()

    def give(self, block: Block, predict: str) -> dict[int, Any]:
        """Give the model of each key its rows; return the predictions by row."""
        by_row: dict[int, Any] = {}
        for text, rows in block.rows.items():
            call = partial(block.give, text, predict=predict)
            by_row.update(zip(rows, self.at(text, call, block.y is not None), strict=True))
        return by_row

    def at(self, text: str, call: Callable[[Any], Any], learns: bool) -> Any:
        """Call a function with the model of a key; a new model is added once it has learned."""
        model = self.find(text)
        if model is not None:
            if learns or _predicting_changes(model):
                self.changed.add(text)
            return call(model)
        if not learns:
            if self._blank is None:
                self._blank = self.make()
            return call(self._blank)
        model = self.make()
        result = call(model)
        self._make_room()
        self.changed.add(text)
        self.models[text] = model
        return result

    def find(self, text: str) -> Any:
        """Return the model of a key, which may have to be read from the file, or None."""
        if text in self.models:
            self.models.move_to_end(text)
        elif rows := self._query("SELECT model FROM models WHERE key = ?", text):
            try:
                model = self._unpacked(rows[0][0])
            except Exception as error:
                problem = f"{self.path}: the model of the key {text} cannot be read: {error}"
                raise FileError(problem) from error
            self._make_room()
            self.models[text] = model
        return self.models.get(text)

    def _make_room(self) -> None:
        """Move the least recently used model to the file if there is no room for another one."""
        if len(self.models) == self.max_in_memory:
            text = next(iter(self.models))
            self._write([text])
            del self.models[text]

    def _write(self, texts: Iterable[str]) -> None:
        """Write models that have changed to the file, within the open transaction."""
        for text in texts:
            if text in self.changed:
                try:
                    packed = self._packed(self.models[text])
                except Exception as error:
                    what = f"the model of the key {shown(key_of(text))} cannot be stored"
                    raise TypeError(f"{what}, and so not moved out of memory: {error}") from error
                self._query(_PUT, text, packed)
                self.changed.discard(text)

    def _packed(self, model: Any) -> bytes:
        """Return the file of a forest if files can hold it; else pickle the model."""
        file = io.BytesIO()
        try:
            save(model, file)
        except TypeError as error:
            if not self._allow_pickle:
                raise TypeError(f"{error}, which allow_pickle=False rules out") from error
            return pickle.dumps(model, pickle.HIGHEST_PROTOCOL)
        return file.getvalue()

    def _unpacked(self, packed: bytes) -> Any:
        """Return the model that `_packed` turned into bytes."""
        if bytes(packed[:2]) == b"PK":  # with which no pickle begins
            return load(io.BytesIO(packed))
        if not self._allow_pickle:
            raise ValueError("it is a pickle, which runs code, and allow_pickle is False")
        return pickle.loads(packed)

    def has(self, text: str) -> bool:
        """Return whether a key has a model."""
        return text in self.models or bool(self._query("SELECT 1 FROM models WHERE key = ?", text))

    def texts(self) -> list[str]:
        """Return the texts of the keys of all models."""
        stored = self._query("SELECT key FROM models")
        return [*dict.fromkeys([*self.models, *(text for (text,) in stored)])]

    def remove(self, text: str) -> bool:
        """Remove the model of a key, and return whether there was one."""
        has_model = self.has(text)
        self._query("DELETE FROM models WHERE key = ?", text)
        self.models.pop(text, None)
        self.changed.discard(text)
        return has_model

    def packed(self, texts: Iterable[str] | None = None) -> list[tuple[str, bytes]]:
        """Return the texts of keys that have a model, of all keys or some, and pickled models."""
        self._write([*self.models])
        if texts is None:
            return self._query("SELECT key, model FROM models")
        query = "SELECT key, model FROM models WHERE key = ?"
        return [row for text in texts for row in self._query(query, text)]

    def put(self, packed: Iterable[tuple[str, bytes]]) -> None:
        """Add pickled models."""
        for row in packed:
            self._query(_PUT, *row)

    def sizes(self) -> list[int]:
        """Return the memory that each model in memory uses, as river measures it."""
        return [model._raw_memory_usage for model in self.models.values()]

    def position(self) -> Any:
        """Return the position of the last flush, or None."""
        rows = self._query("SELECT value FROM notes WHERE name = 'position'")
        return json.loads(rows[0][0]) if rows else None

    def flush(self, position: Any) -> None:
        """Commit all changes, with a position that JSON can hold."""
        note = json.dumps(position, allow_nan=False)
        self._write([*self.models])
        self._query("INSERT OR REPLACE INTO notes VALUES ('position', ?)", note)
        self._query("COMMIT")


def _close(database: sqlite3.Connection, process: int) -> None:
    """Close the database in the process that opened it, but not in a fork of that."""
    if process == os.getpid():
        database.close()


def _predicting_changes(model: Any) -> bool:
    """Return whether a model keeps its predictions for delayed labels."""
    while isinstance(model, compose.Pipeline):
        model = model[-1]
    return getattr(model, "max_delayed_labels", 0) > 0
