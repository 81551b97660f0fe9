"""Models by key: those used last in memory, the others in one SQLite file.

A process that starts with a folder sees it as it was at the last flush, all models of the same
moment. So a stream can go on at the position noted with the flush, and no row is learned twice.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sqlite3
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from river_amf.engine.lock import Guarded, exclusive
from river_amf.inputs.invalid import comes_again
from river_amf.inputs.kinds import shown
from river_amf.keyed.keys import key_of, key_text
from river_amf.persistence import FileError, Saved, load, save

_OURS = 0x616D666B  # "amfk", the application id in the file
_FORMAT = 1
_SCHEMA = f"""
    CREATE TABLE flushed (key BLOB PRIMARY KEY, kind TEXT, model BLOB);
    CREATE TABLE since (key BLOB PRIMARY KEY, kind TEXT, model BLOB);
    CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT);
    CREATE VIEW current AS
        SELECT * FROM since WHERE model IS NOT NULL UNION ALL
        SELECT * FROM flushed WHERE key NOT IN (SELECT key FROM since);
    PRAGMA application_id = {_OURS};
    PRAGMA user_version = {_FORMAT};
"""  # a model in `since` is NULL if it was removed
_PUT = "INSERT OR REPLACE INTO since VALUES (?, ?, ?)"
_NOTE = "INSERT OR REPLACE INTO notes VALUES (?, ?)"
_FLUSH = (
    "INSERT OR REPLACE INTO flushed SELECT * FROM since WHERE model IS NOT NULL",
    "DELETE FROM flushed WHERE key IN (SELECT key FROM since WHERE model IS NULL)",
    "DELETE FROM since",
)
_DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)  # the latter of names in damaged messages
# What reading and writing pickles, JSON and keys may raise, if not a signal handler does.
_DATA_ERRORS = (
    *(ArithmeticError, AttributeError, EOFError, ImportError, LookupError, RecursionError),
    *(TypeError, ValueError, pickle.PickleError),
)


class Packed(NamedTuple):
    """A model as bytes: a file of `save` or a pickle."""

    text: str  # of its key
    kind: str
    data: bytes


class Pool(Guarded):
    """Models by the texts of their keys, which belong to one object in one process.

    Whoever calls it does so by `run`. A model is moved to the file before anything else changes: if
    that fails, or is interrupted, all models are where they were. Without a folder the file is a
    temporary one, which is made when it is needed, has no name and goes with the process. Errors
    of the database become OSError or, if it is damaged, FileError.

    >>> pool = Pool(None, "")
    >>> pool.put(Packed("s:ann", "pickle", pickle.dumps("a model")))
    >>> pool.find("s:ann"), pool.has("s:bob"), pool.texts()
    ('a model', False, ['s:ann'])
    """

    def __init__(self, folder: str | None, about: str) -> None:
        super().__init__()
        self.path = None if folder is None else Path(folder, "models.sqlite")
        self.about = about
        self.max_models: int | None = None  # in memory
        self.models: OrderedDict[str, Any] = OrderedDict()  # from the least recently used on
        self.changed: set[str] = set()  # those that are not in the file as they are
        self.is_closed = False
        self._process = os.getpid()
        self._database: sqlite3.Connection | None = None
        self.noted: Any = None  # the position, as far as it is known without the file
        if self.path is not None:
            self.noted = self.position

    # ------------------------------------------------------------------------------------ database

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """Give the database, without what an interrupted or failed flush has left in it."""
        if self._process != os.getpid():
            raise RuntimeError(
                "this process was forked from the one that the folder of the models belongs to; "
                "make a new object here, with a folder of its own, or fork before the first call"
            )
        if self.is_closed:
            raise ValueError("the folder of the models was released by close()")
        try:
            if self._database is None:
                database = _connected(self.path, self.about)
                self._release = weakref.finalize(self, _close, database, os.getpid())
                self._database = database
            if self._database.in_transaction:
                self._database.rollback()
            yield self._database
        except _DATABASE_ERRORS as error:
            raise _error_of(error, self.path) from None

    def _rows(self, query: str, *values: Any) -> list[Any]:
        """Return what a query finds; a temporary file need not be there yet."""
        if self.path is None and self._database is None and not self.is_closed:
            return []
        with self._using() as database:
            return database.execute(query, values).fetchall()

    def stored(self, text: str) -> Packed | None:
        """Return the model of a key in the file, or None."""
        rows = self._rows("SELECT kind, model FROM current WHERE key = ?", _blob(text))
        return Packed(text, *rows[0]) if rows else None

    def _stored_texts(self, source: str = "current") -> list[str]:
        rows = self._rows(f"SELECT key FROM {source}")  # of its index, which has no models
        return [_read(_text_of, blob, f"{self.path} is damaged") for (blob,) in rows]

    def put(self, packed: Packed) -> None:
        """Write a model to the file."""
        with self._using() as database:
            database.execute(_PUT, _row(packed))

    @property
    def position(self) -> Any:
        """The position noted with the last flush, or None."""
        if self.path is not None and not self.is_closed:
            rows = self._rows("SELECT value FROM notes WHERE name = 'position'")
            self.noted = _read(json.loads, rows[0][0], f"{self.path} is damaged") if rows else None
        return self.noted

    def flush(self, position: Any, models: Any = None) -> None:
        """Keep all models, those that have changed or are given too, or none if this fails."""
        note = json.dumps(position, allow_nan=False)
        with self._using() as database:
            database.execute("PRAGMA synchronous = FULL")  # on disk before it returns
            database.execute("BEGIN IMMEDIATE")
            for packed in self._changed_here() if models is None else models:
                database.execute(_PUT, _row(packed))
            for statement in _FLUSH:
                database.execute(statement)
            database.execute(_NOTE, ("position", note))
            database.execute("COMMIT")
            database.execute("PRAGMA synchronous = NORMAL")
        self.changed.clear()

    def close(self) -> None:
        """Release the folder; a temporary file is removed."""
        self.is_closed = True
        if self._database is not None:
            self._release()

    # ---------------------------------------------------------------------------------- models

    def find(self, text: str) -> Any:
        """Return the model of a key, which may have to come back from the file, or None."""
        if text in self.models:
            self.models.move_to_end(text)
            self.make_room(0)
        elif (packed := self.stored(text)) is not None:
            self._add(packed)
        return self.models.get(text)

    def _add(self, packed: Packed) -> None:
        what = f"the model of the key {shown(key_of(packed.text))} cannot be read back"
        model = _read(_unpacked, packed, f"{self.path}: {what}" if self.path else what)
        self.make_room(1)
        self.models[packed.text] = model

    def get(self, text: str) -> Any:
        """Return the model of a key, or None, to somebody who may change it."""
        self.changed.add(text)
        return self.find(text)

    def make_room(self, n_new: int) -> None:
        """Move models to the file until so many more are within the limit, or raise OSError."""
        while self.max_models is not None and len(self.models) > self.max_models - n_new:
            text, model = next(iter(self.models.items()))
            if text in self.changed:
                self.put(_packed(text, model))
            del self.models[text]
            self.changed.discard(text)

    def has(self, text: str) -> bool:
        """Whether a key has a model."""
        return text in self.models or self.stored(text) is not None

    def texts(self) -> list[str]:
        """Return the keys of all models, as texts."""
        return [*dict.fromkeys([*self.models, *self._stored_texts()])]

    def n_in_memory(self) -> int:
        """Return the number of models in memory."""
        return len(self.models)

    def n_bytes(self) -> int:
        """Return the memory that they use, as river measures it."""
        return sum(model._raw_memory_usage for model in self.models.values())

    def remove(self, text: str) -> bool:
        """Forget the model of a key, or return False if there is none."""
        is_known = self.has(text)
        self._rows(_PUT, _blob(text), "", None)
        self.models.pop(text, None)
        self.changed.discard(text)
        return is_known

    def _changed_here(self) -> Iterator[Packed]:
        return (_packed(text, self.models[text]) for text in self.changed & self.models.keys())

    def changes(self) -> list[Packed]:
        """Return all models that have changed since the last flush."""
        rest = {*self._stored_texts("since WHERE model IS NOT NULL")} - self.changed
        return [*self._changed_here(), *filter(None, map(self.stored, rest))]

    def all(self) -> list[Packed]:
        """Return all models, first those that are in memory."""
        here = [_packed(text, model) for text, model in self.models.items()]
        rest = (text for text in self._stored_texts() if text not in self.models)
        return [*here, *filter(None, map(self.stored, rest))]

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        # As bytes, since models might change as soon as the lock is released.
        n_here = len(self.models)
        return {"max_models": self.max_models, "n_here": n_here, "models": self.all()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(None, "")  # type: ignore[misc]  # a copy has a temporary file
        for packed in state["models"][state["n_here"] :]:
            self.put(packed)
        for packed in state["models"][: state["n_here"]]:
            self._add(packed)
        self.max_models = state["max_models"]
        self.changed.update(self.models)


def _packed(text: str, model: Any) -> Packed:
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
            return Packed(text, "amf", file.getvalue())
    try:
        return Packed(text, "pickle", pickle.dumps(model, pickle.HIGHEST_PROTOCOL))
    except _DATA_ERRORS as error:
        if not comes_again(pickle.dumps, model, pickle.HIGHEST_PROTOCOL):
            raise
        raise TypeError(
            f"the model of the key {shown(key_of(text))} cannot be moved out of memory, as it "
            f"cannot be pickled ({error}); make it without lambdas and local functions, or raise "
            "max_models"
        ) from error


def _unpacked(packed: Packed) -> Any:
    return load(io.BytesIO(packed.data)) if packed.kind == "amf" else pickle.loads(packed.data)


def _read(call: Callable[[Any], Any], data: Any, what: str) -> Any:
    """Return what a function makes of data in a file, or raise FileError."""
    try:
        return call(data)
    except _DATA_ERRORS as error:
        if not comes_again(call, data):
            raise
        raise FileError(f"{what}: {error or shown(data)}") from error


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _row(packed: Packed) -> tuple[Any, ...]:
    return _blob(packed.text), packed.kind, packed.data


def _text_of(blob: Any) -> str:
    """Return the text of a key, or raise an error if there is no key with such a text."""
    text = str(blob, "utf-8", "surrogatepass")
    if not text.startswith("s:") and key_text(key_of(text)) != text:
        raise ValueError(f"{shown(blob)} is no key")
    return text


def _connected(path: Path | None, about: str) -> sqlite3.Connection:
    """Open a database for this process, as of the last flush."""
    if path is not None:
        os.makedirs(path.parent, exist_ok=True)
    name = "" if path is None else path  # without a name, SQLite makes a file that has none
    database = sqlite3.connect(name, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        (found,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (n_tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if n_tables and found != _OURS:
            raise FileError(f"{path} does not hold the models of keys: it is another database")
        if version > _FORMAT:
            raise FileError(f"{path} is of a later river_amf (format {version}): upgrade it")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN IMMEDIATE")
        for statement in () if n_tables else _SCHEMA.split(";"):
            database.execute(statement)
        database.execute("INSERT OR IGNORE INTO notes VALUES ('about', ?)", (about,))
        database.execute("DELETE FROM since")
        database.execute("COMMIT")
        ((known,),) = database.execute("SELECT value FROM notes WHERE name = 'about'").fetchall()
        if known != about:
            raise FileError(f"{path} holds {known}, not {about}; choose another folder")
    except BaseException:
        database.close()
        raise
    return database


def _error_of(error: BaseException, path: Path | None) -> OSError | FileError:
    """Return an error of the database as one of the system, or as that of a damaged file."""
    text = str(error)
    if "locked" in text:
        what = "perhaps in another process; each needs a folder of its own"
        return OSError(f"{path} is in use by another model, {what}")
    is_damaged = any(word in text for word in ("no such", "decode", "columns"))
    if isinstance(error, sqlite3.OperationalError | sqlite3.DataError) and not is_damaged:
        return OSError(f"{path or 'the temporary file of the models'}: {text}")
    return FileError(f"{path} does not hold the models of keys, or is damaged: {text}")


def _close(database: sqlite3.Connection, process: int) -> None:
    """Close the database in the process that it belongs to."""
    if process == os.getpid():  # closing it in a child would release the locks of its parent
        database.close()
