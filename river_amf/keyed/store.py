"""Models by key: the most recently used in memory, the others in one SQLite file.

All changes since the last flush are one open transaction. A flush commits it, so after a crash the
file holds the models of the last flush.
"""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from river_amf.engine.lock import Guarded
from river_amf.inputs.kinds import shown
from river_amf.keyed.keys import key_of
from river_amf.persistence import FileError

_FORMAT = 0x616D6602  # the application id of the file: "amf" and a version
_SCHEMA = f"""
    PRAGMA application_id = {_FORMAT};
    CREATE TABLE models (key TEXT PRIMARY KEY, model BLOB);
    CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT);
"""
_PUT = "INSERT OR REPLACE INTO models VALUES (?, ?)"
_NOTE = "INSERT OR REPLACE INTO notes VALUES (?, ?)"


class Store(Guarded):
    """Models by the texts of their keys.

    Its methods are called by `run`. Without a folder the file is a temporary one without a name.
    After an error of SQLite the store is closed, which undoes all changes since the last flush.

    >>> store = Store(None, "")
    >>> store.add("7", "a model")
    >>> store.find("7"), store.find("8"), store.texts()
    ('a model', None, ['7'])
    """

    def __init__(self, folder: Any, about: str, max_in_memory: int | None = None) -> None:
        super().__init__()
        self.path = None if folder is None else Path(folder, "models.sqlite").absolute()
        self.max_in_memory = max_in_memory
        self.models: OrderedDict[str, Any] = OrderedDict()  # from the least recently used on
        self.changed: set[str] = set()  # those in memory that differ from the file
        self._refusal = ""  # why the file is closed
        self._process = os.getpid()
        self._release: Callable[[], object] = bool  # nothing to close yet
        if self.path is not None:
            os.makedirs(self.path.parent, exist_ok=True)
        try:
            # IMMEDIATE: a transaction begins before the first change after a commit.
            self._database = sqlite3.connect(
                self.path or "", timeout=0, isolation_level="IMMEDIATE", check_same_thread=False
            )
            self._release = weakref.finalize(self, _close, self._database, os.getpid())
            self._open(about)
        except sqlite3.Error as error:
            self._fail(error)
        except FileError:
            self.close()
            raise

    def _open(self, about: str) -> None:
        """Lock the file and create the tables, or raise FileError for the file of another."""
        execute = self._database.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")
        (n_tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
        (found,) = execute("PRAGMA application_id").fetchone()
        if n_tables and found != _FORMAT:
            raise FileError(f"{self.path} is another database, or that of another release")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")  # a flush is on disk when it returns
        if not n_tables:
            execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.split(";"):
                execute(statement)
        execute("INSERT OR IGNORE INTO notes VALUES ('about', ?)", (about,))
        self._database.commit()
        ((known,),) = execute("SELECT value FROM notes WHERE name = 'about'").fetchall()
        if known != about:
            raise FileError(f"{self.path} holds {known}, not {about}; choose another folder")

    def _query(self, query: str, *values: Any) -> list[Any]:
        rows: list[Any] = self._try(lambda: self._database.execute(query, values).fetchall())
        return rows

    def _try(self, call: Callable[[], Any]) -> Any:
        """Call a function that uses the database, or raise OSError, FileError or RuntimeError."""
        self.check()
        try:
            return call()
        except sqlite3.Error as error:
            self._fail(error)

    def check(self) -> None:
        """Raise OSError after an error or `close`, and RuntimeError in a forked process."""
        if self._process != os.getpid():
            raise RuntimeError(
                "this process was forked from the one that uses the folder of the models; make a "
                "new object here, with another folder, or fork before the first object is made"
            )
        if self._refusal:
            raise OSError(self._refusal)

    def _fail(self, error: sqlite3.Error) -> NoReturn:
        """Close the file, which undoes the open transaction, and raise OSError or FileError."""
        name = self.path or "the temporary file of the models"
        is_damaged = not isinstance(error, sqlite3.OperationalError)
        if is_damaged:
            self._refusal = f"{name} is damaged, or does not hold the models of keys: {error}"
        elif "locked" in str(error):
            self._refusal = f"{name} is in use by another model, perhaps in another process"
        elif self.path is None:
            self._refusal = f"{name}: {error}; its models are lost (a folder would keep them)"
        else:
            self._refusal = (
                f"{name}: {error}; it holds the models of the last flush, from which a new object "
                "with this folder continues"
            )
        self._release()
        raise (FileError if is_damaged else OSError)(self._refusal) from error

    # ------------------------------------------------------------------------------------- models

    def find(self, text: str) -> Any:
        """Return the model of a key, which may have to be read from the file, or None."""
        self.check()
        if text in self.models:
            self.models.move_to_end(text)
            if self.max_in_memory is not None:  # which may be lower than before
                self.make_room(0)
        elif rows := self._query("SELECT model FROM models WHERE key = ?", text):
            model = self._read(text, rows[0][0])
            self.make_room(1)
            self.models[text] = model
        return self.models.get(text)

    def _read(self, text: str, data: Any) -> Any:
        try:
            return pickle.loads(data)
        except Exception as error:
            raise FileError(
                f"{self.path}: the model of the key {text} cannot be read: {error}"
            ) from error

    def add(self, text: str, model: Any) -> None:
        """Add a model, for which the least recently used one may be moved to the file."""
        self.make_room(1)
        self.changed.add(text)
        self.models[text] = model

    def make_room(self, n_new: int) -> None:
        """Move models to the file until there is room for `n_new` within the limit."""
        limit = self.max_in_memory
        while limit is not None and len(self.models) > limit - n_new:
            text = next(iter(self.models))
            self._write([text])
            del self.models[text]

    def _write(self, texts: Iterable[str]) -> None:
        """Write models that have changed to the file, within the open transaction."""
        for text in texts:
            if text in self.changed:
                self._query(_PUT, text, _pickled(text, self.models[text]))
                self.changed.discard(text)

    def has(self, text: str) -> bool:
        """Return whether a key has a model."""
        self.check()
        return text in self.models or bool(self._query("SELECT 1 FROM models WHERE key = ?", text))

    def texts(self) -> list[str]:
        """Return the texts of the keys of all models."""
        stored = self._query("SELECT key FROM models")
        return [*dict.fromkeys([*self.models, *(text for (text,) in stored)])]

    def remove(self, text: str) -> bool:
        """Remove the model of a key, and return whether there was one."""
        is_known = self.has(text)
        self._query("DELETE FROM models WHERE key = ?", text)
        self.models.pop(text, None)
        self.changed.discard(text)
        return is_known

    def packed(self, texts: Iterable[str]) -> list[tuple[str, bytes]]:
        """Return the texts of keys that have a model, of those given, and the pickled models."""
        self._write([*self.models])
        query = "SELECT key, model FROM models WHERE key = ?"
        return [row for text in texts for row in self._query(query, text)]

    def n_in_memory(self) -> int:
        """Return the number of models in memory."""
        return len(self.models)

    def n_bytes(self) -> int:
        """Return the memory that the models in memory use, as river measures it."""
        return sum(model._raw_memory_usage for model in self.models.values())

    def put(self, packed: Iterable[tuple[str, bytes]]) -> None:
        """Add pickled models, which are not read before they are used."""
        self._try(lambda: self._database.executemany(_PUT, packed))

    # -------------------------------------------------------------------------------------- flush

    def position(self) -> Any:
        """Return the position of the last flush, or None."""
        rows = self._query("SELECT value FROM notes WHERE name = 'position'")
        return json.loads(rows[0][0]) if rows else None

    def flush(self, position: Any) -> None:
        """Commit all changes, with a position that JSON can hold."""
        note = json.dumps(position, allow_nan=False)
        self._write([*self.models])
        before = json.dumps(self.position())
        try:
            self._query(_NOTE, "position", note)
            self._try(self._database.commit)
        except BaseException:
            if not self._refusal and self._database.in_transaction:  # interrupted
                self._query(_NOTE, "position", before)
            raise

    @property
    def is_closed(self) -> bool:
        """Whether the file is closed, by `close` or an error."""
        return self._refusal != ""

    def close(self) -> None:
        """Release the file; changes since the last flush are lost."""
        self._refusal = self._refusal or "the models were released by close()"
        self._release()


def _pickled(text: str, model: Any) -> bytes:
    try:
        return pickle.dumps(model, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise TypeError(
            f"the model of the key {shown(key_of(text))} cannot be moved out of memory, as it "
            f"cannot be pickled ({error}); make it without lambdas and local functions, or raise "
            "max_in_memory"
        ) from error


def _close(database: sqlite3.Connection, process: int) -> None:
    """Close the database in the process that opened it, but not in a fork of that."""
    if process == os.getpid():
        database.close()
