"""Models in a folder: a database of SQLite, with the models of the last flush and those since.

What is written takes effect at once, but a process that starts with the folder sees it as it was
at the last flush, all models of the same moment. So a stream can go on at the place that was noted
with the flush, and no row is learned twice, whenever the process has died.
"""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from river_amf.inputs.invalid import comes_again
from river_amf.inputs.kinds import shown
from river_amf.keyed.keys import key_of, key_text
from river_amf.persistence import FileError

_FILE = "models.sqlite"
_OURS = 0x616D666B  # "amfk", the application id in the file
_FORMAT = 1
_ERRORS = (sqlite3.Error, UnicodeDecodeError)  # the latter of names in damaged messages
_LARGEST_MODEL = 10**9  # bytes, the limit of SQLite
_LARGEST_LOG = 2**24  # what is left of the log of writes after a large flush, in bytes
_TABLES = """
    CREATE TABLE IF NOT EXISTS flushed (key BLOB PRIMARY KEY, kind TEXT, model BLOB);
    CREATE TABLE IF NOT EXISTS since (key BLOB PRIMARY KEY, kind TEXT, model BLOB);
    CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT);
"""
# In `since`, a row without a model says that it was removed.
_CURRENT = """
    SELECT {what} FROM since WHERE {which} model IS NOT NULL UNION ALL
    SELECT {what} FROM flushed WHERE {which} key NOT IN (SELECT key FROM since)
"""
_PUT = "INSERT OR REPLACE INTO since VALUES (?, ?, ?)"
_FLUSH = (
    "INSERT OR REPLACE INTO flushed SELECT * FROM since WHERE model IS NOT NULL",
    "DELETE FROM flushed WHERE key IN (SELECT key FROM since WHERE model IS NULL)",
    "DELETE FROM since",
)

_Result = TypeVar("_Result")


class Packed(NamedTuple):
    """A model as bytes, with its key as text."""

    text: str
    kind: str
    data: bytes


class Store:
    """The models of a folder, by the texts of their keys.

    It belongs to one object in one process at a time. Without a folder it makes a temporary file
    when the first model is put there, which has no name and goes with the store, or the process,
    however that ends. All errors of the database become OSError; what failed has then left no
    trace.

    >>> store = Store(None, {})
    >>> store.put(Packed("s:ann", "pickle", b"..."))
    >>> store.get("s:ann").data, "s:bob" in store, store.texts()
    (b'...', False, ['s:ann'])
    """

    def __init__(self, folder: str | None, about: dict[str, Any]) -> None:
        self.folder = folder
        self.about = about
        self._database: sqlite3.Connection | None = None
        self._release: Any = None
        self._process = os.getpid()
        self.is_closed = False
        if folder is not None:
            self._opened()

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        return None if self.folder is None else Path(self.folder, _FILE)

    def _opened(self) -> sqlite3.Connection:
        """Return the open database, or raise OSError, RuntimeError or ValueError."""
        if self._process != os.getpid():
            raise RuntimeError(
                "this process was forked from the one that the folder of the models belongs to; "
                "make a new object here, with a folder of its own, or fork before the first call"
            )
        if self.is_closed:
            raise ValueError("the folder of the models was released by close()")
        if self._database is None:
            self._database = _connect(self.path, self.about)
            self._release = weakref.finalize(self, _close, self._database, os.getpid())
        return self._database

    def _do(self, call: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Call a function with the database, in which nothing is left half done."""
        database = self._opened()
        try:
            if database.in_transaction:  # of a call that was interrupted
                database.rollback()
            return call(database)
        except _ERRORS as error:
            raise _error_of(error, self.path) from None

    def _rows(self, query: str, *values: Any) -> list[Any]:
        """Return what a query finds; nothing has been put into a temporary store without a file."""
        if self.folder is None and self._database is None and not self.is_closed:
            return []
        return self._do(lambda database: database.execute(query, values).fetchall())

    def get(self, text: str) -> Packed | None:
        """Return the model of a key, or None."""
        query = _CURRENT.format(what="kind, model", which="key = ?1 AND")
        rows = self._rows(query, _blob(text))
        return Packed(text, *rows[0]) if rows else None

    def __contains__(self, text: str) -> bool:
        return bool(self._rows(_CURRENT.format(what="1", which="key = ?1 AND"), _blob(text)))

    def texts(self) -> list[str]:
        """Return the keys of all models, as texts."""
        return self._keys(_CURRENT.format(what="key", which=""))

    def _keys(self, query: str) -> list[str]:
        blobs = [row[0] for row in self._rows(query)]
        texts = [*map(_text, blobs)]
        if None in texts:
            raise FileError(f"{self.path} is damaged: {shown(blobs[texts.index(None)])} is no key")
        return cast(list[str], texts)

    def put(self, packed: Packed) -> None:
        """Write a model."""
        self._do(lambda database: database.execute(_PUT, _row(packed)))

    def remove(self, text: str) -> None:
        """Remove a model, if there is one."""
        self._rows(_PUT, _blob(text), "", None)

    def all(self) -> Iterator[Packed]:
        """Yield all models."""
        return self._each(self.texts())

    def changes(self) -> Iterator[Packed]:
        """Yield the models that were put here since the last flush."""
        return self._each(self._keys("SELECT key FROM since WHERE model IS NOT NULL"))

    def _each(self, texts: list[str]) -> Iterator[Packed]:
        return filter(None, map(self.get, texts))

    def flush(self, changed: Iterable[Packed], position: Any) -> None:
        """Write models, and keep all that there are; none of them if an error is raised."""
        note = ("position", json.dumps(position, allow_nan=False))

        def write(database: sqlite3.Connection) -> None:
            database.execute("PRAGMA synchronous = FULL")  # on disk before it returns
            try:
                database.execute("BEGIN IMMEDIATE")
                for packed in changed:
                    database.execute(_PUT, _row(packed))
                for statement in _FLUSH:
                    database.execute(statement)
                database.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", note)
                database.execute("COMMIT")
            finally:
                if database.in_transaction:
                    database.rollback()
                database.execute("PRAGMA synchronous = NORMAL")

        self._do(write)

    @property
    def position(self) -> Any:
        """The position noted with the last flush, or None."""
        rows = self._rows("SELECT value FROM notes WHERE name = 'position'")
        return _from_json(rows[0][0], self.path) if rows else None

    def close(self) -> None:
        """Release the folder; a temporary file is removed."""
        self.is_closed = True
        if self._release is not None:
            self._release()


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(blob: Any) -> str | None:
    """Return the text of a key, or None if there is no key with such a text."""
    try:
        text = str(blob, "utf-8", "surrogatepass")
        return text if text.startswith("s:") or key_text(key_of(text)) == text else None
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        if not comes_again(lambda: key_of(blob.decode("utf-8", "surrogatepass"))):
            raise
        return None


def _row(packed: Packed) -> tuple[Any, ...]:
    if len(packed.data) >= _LARGEST_MODEL:
        raise OSError(f"the model of the key {shown(key_of(packed.text))} takes more than 1 GB")
    return _blob(packed.text), packed.kind, packed.data


def _from_json(text: Any, path: Path | None) -> Any:
    """Return what was noted, or raise FileError."""
    try:
        return json.loads(text)
    except (RecursionError, TypeError, ValueError) as error:
        if not comes_again(json.loads, text):
            raise
        raise FileError(f"{path} is damaged: {shown(text)} is no JSON") from error


def _connect(path: Path | None, about: dict[str, Any]) -> sqlite3.Connection:
    """Open a database, or raise OSError, FileError or ValueError."""
    if path is not None:
        os.makedirs(path.parent, exist_ok=True)
    database = None
    try:
        name = "" if path is None else path  # without a name, SQLite makes a file that has none
        database = sqlite3.connect(name, timeout=0, isolation_level=None, check_same_thread=False)
        _initialize(database, path, about)
    except BaseException as error:
        if database is not None:
            database.close()
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            what = "perhaps in another process; each needs a folder of its own"
            raise OSError(f"{path} is in use by another model, {what}") from None
        if isinstance(error, _ERRORS):
            raise _error_of(error, path) from None
        raise
    return database


def _error_of(error: BaseException, path: Path | None) -> OSError | FileError:
    """Return an error of the database as one of the system, or as that of a damaged file."""
    is_damaged = any(text in str(error) for text in ("no such", "decode", "columns"))
    if isinstance(error, sqlite3.OperationalError) and not is_damaged:
        return OSError(f"{path or 'the temporary file of the models'}: {error}")
    return FileError(f"{path} does not hold the models of keys, or is damaged: {error}")


def _initialize(database: sqlite3.Connection, path: Path | None, about: dict[str, Any]) -> None:
    """Take the database for this process, and bring it back to the last flush."""
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    (found,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (n_tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if n_tables and found != _OURS:
        raise FileError(f"{path} does not hold the models of keys: it is another database")
    if version > _FORMAT:
        raise FileError(f"{path} is of a later release of river_amf (format {version}): upgrade it")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}")
    database.execute("BEGIN IMMEDIATE")
    if not n_tables:
        for statement in _TABLES.split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {_OURS}")
        database.execute(f"PRAGMA user_version = {_FORMAT}")
        rows = [(f"about {name}", json.dumps(value)) for name, value in about.items()]
        database.executemany("INSERT INTO notes VALUES (?, ?)", rows)
    database.execute("DELETE FROM since")
    database.execute("COMMIT")
    notes = dict(database.execute("SELECT name, value FROM notes"))
    _from_json(notes.get("position", "null"), path)
    for name, value in about.items():
        known = _from_json(notes.get(f"about {name}", json.dumps(value)), path)
        if known != value:
            what = f"is {shown(known)}, not {shown(value)}; choose another folder"
            raise ValueError(f"{path} holds models whose {name} {what}")


def _close(database: sqlite3.Connection, process: int) -> None:
    """Close the database in the process that it belongs to."""
    if process == os.getpid():  # closing it in a child would release the locks of its parent
        database.close()
