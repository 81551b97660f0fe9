"""Models by key, in memory and in one SQLite file (DESIGN.md: a model for each key)."""

import contextlib
import functools
import io
import json
import os
import pickle
import sqlite3
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from river import base, compose

from river_amf.engine.lock import Guarded, exclusive
from river_amf.forest import Forest
from river_amf.inputs.kinds import shown
from river_amf.keyed.blocks import Block
from river_amf.keyed.keys import key_of, key_text
from river_amf.persistence import FileError, load, save

_FORMAT = 0x616D6603  # the application id of the file: "amf" and a version
_CREATE = (
    f"PRAGMA application_id = {_FORMAT}",
    # learned: when the key last learned, in samples of all keys; 0 if it was removed
    "CREATE TABLE models (key TEXT, flush INTEGER, learned INTEGER, model BLOB)",
    "CREATE INDEX keys ON models (key, flush, learned)",
    "CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT)",
)
_NO_FLUSH = '{"number": 0, "learned": 0, "position": null}'
_NOTE = "INSERT OR REPLACE INTO notes VALUES ('flush', ?)"
_GET = "SELECT learned, model FROM models WHERE key = ? ORDER BY flush DESC LIMIT 1"
_PUT = "INSERT INTO models VALUES (?, ?, ?, ?)"
# what a row of this flush replaces, and what the last flush has replaced or removed
_CLEAN = """DELETE FROM models WHERE key = ?1 AND (flush = ?2 OR flush + (learned > 0) <=
            (SELECT max(flush) FROM models WHERE key = ?1 AND flush <= ?3))"""
_NEXT = "SELECT key, learned, max(flush) FROM models WHERE key > ? GROUP BY key LIMIT 1000"
_WRONG = """SELECT count(*) FROM models WHERE typeof(key) != 'text' OR typeof(flush) != 'integer'
            OR typeof(learned) != 'integer' OR learned NOT BETWEEN 0 AND ?"""
_LARGEST = 2**62  # of the numbers in a file
BATCH_BYTES = 2_000_000  # bytes in a transaction
_ROW = 200  # bytes of a row without a model
_SLICE = 0.01  # seconds of a flush without a pause
_PAUSE = 0.001  # seconds, in which other threads take the lock


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
        self.models: OrderedDict[str, Any] = OrderedDict()  # from the least recently used on
        self.n_learned = 0  # samples
        self.learned: dict[str, int] = {}  # when the models in memory last learned
        self.changed: dict[str, None] = {}  # those in memory that differ from the file
        # Models that a flush has to write, with the error if one cannot be stored.
        self.due: dict[str, Exception | None] = {}
        self.removed: list[str] = []  # since the last flush
        self.committed, self.number = 0, 1  # the last flush, and that of new rows
        self._n_bytes = 0  # in the open transaction
        self._flushes = Guarded()  # one at a time
        self.refusal = ""  # why the file is closed, once it is
        self._process = os.getpid()
        self._release: Callable[[], object] = lambda: None  # no database is open yet
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
        contents = self._query("SELECT value FROM notes WHERE name = 'about'")
        if contents != [(about,)]:
            self._refuse(FileError, f"{self.path} holds {contents[0][0]}, not {about}")
        note = self._note()
        self.committed, self.n_learned = note["number"], note["learned"]
        if self._query(_WRONG, _LARGEST) != [(0,)]:
            self._refuse(FileError, f"{self.path} is damaged: some of its rows cannot be right")
        self.number = self.committed + 1
        uncommitted = "SELECT rowid FROM models WHERE flush > ?"  # of the index alone
        self._query(f"DELETE FROM models WHERE rowid IN ({uncommitted})", self.committed)
        for (text,) in self._query("SELECT key FROM models WHERE learned = 0"):
            self._clean(text)
        self._commit()

    def _note(self) -> Any:
        """Return the note of the last flush, or raise FileError if it cannot be right."""
        rows = self._query("SELECT value FROM notes WHERE name = 'flush'")
        with contextlib.suppress(Exception):
            note = json.loads(rows[0][0] if rows else _NO_FLUSH)
            number, learned, _ = note["number"], note["learned"], note["position"]
            if all(type(n) is int and 0 <= n <= _LARGEST for n in (number, learned)):
                return note
        self._refuse(FileError, f"{self.path} is damaged: its note of a flush cannot be right")

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
        n_learned = 0
        if block.y is not None and isinstance(self.blank, Forest):
            for text in block.rows:
                model = self.find(text)
                block.check(text, self.blank if model is None else model)
        try:
            for text, rows in block.rows.items():
                call = partial(block.give, text, predict=predict)
                n = rows[-1] + 1 if block.y is not None else 0
                by_row.update(zip(rows, self._at(text, call, n), strict=True))
                n_learned = max(n_learned, n)
        finally:  # also if a later key has a bad row
            self.n_learned += n_learned
        return by_row

    def at(self, text: str, call: Callable[[Any], Any], learns: bool) -> Any:
        """Call a function with the model of a key, which learns one sample or none."""
        result = self._at(text, call, int(learns))
        self.n_learned += learns
        return result

    def _at(self, text: str, call: Callable[[Any], Any], n: int) -> Any:
        """Call a function with the model of a key; a new model is added once it has learned.

        The last sample that it learns is the nth of the present call, or there is none (0).
        """
        model = self.find(text)
        if model is None and not n:
            return call(self.blank)
        if model is None:
            model = self.make()
            result = call(model)
            self._make_room()
        else:
            if n or _predicting_changes(model):
                self._write_due(text)
                self.changed[text] = None
            result = call(model)
        if n:
            self.learned[text] = self.n_learned + n
            self.changed[text] = None
            self.models[text] = model
        return result

    def find(self, text: str) -> Any:
        if text in self.models:
            self.models.move_to_end(text)
        elif (rows := self._query(_GET, text)) and rows[0][0]:
            learned, packed = rows[0]
            try:
                model = self._unpacked(packed)
            except Exception as error:
                problem = f"{self.path}: the model of the key {text} cannot be read: {error}"
                raise FileError(problem) from error
            self._make_room()
            self.learned[text] = learned
            self.models[text] = model
        return self.models.get(text)

    def _make_room(self) -> None:
        """Move the least recently used model to the file if there is no room for another one."""
        if len(self.models) == self.max_in_memory:
            text = next(iter(self.models))
            self._write(text)
            del self.models[text], self.learned[text]

    def _write(self, text: str) -> None:
        if error := self.due.get(text):
            raise error
        if text in self.due or text in self.changed:
            try:
                packed = self._packed(self.models[text])
            except Exception as error:
                what = f"the model of the key {shown(self.key_of(text))} cannot be stored"
                raise TypeError(f"{what}, and so not moved out of memory: {error}") from error
            self._put(text, self.learned[text], packed, self.number - (text in self.due))
            self.due.pop(text, None)
            self.changed.pop(text, None)

    def _write_due(self, text: str) -> None:
        """Write a model that a flush has yet to write, before it changes."""
        if text in self.due:
            try:
                self._write(text)
            except TypeError as error:  # of the flush, not of this call
                self.due[text] = error

    def _put(self, text: str, learned: int, packed: bytes | None, number: int) -> None:
        self._n_bytes += len(packed or b"")
        self._clean(text, number)
        self._query(_PUT, text, number, learned, packed)

    def _clean(self, text: str, number: int = -1) -> None:
        """Delete the rows of a key that are of no more use; commit a transaction that is large."""
        # no crash leaves a temporary file, so that its last rows are all that is needed
        self._query(_CLEAN, text, number, self.number if self.path is None else self.committed)
        self._n_bytes += _ROW
        if self._n_bytes > BATCH_BYTES:
            self._commit()

    def _commit(self) -> None:
        if self._database.in_transaction:
            self._query("COMMIT")
        self._n_bytes = 0

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
        if bytes(packed[:2]) == b"PK":  # with which no pickle begins
            return load(io.BytesIO(packed))
        if not self._allow_pickle:
            raise ValueError("it is a pickle, which runs code, and allow_pickle is False")
        return pickle.loads(packed)

    @functools.cached_property
    def blank(self) -> Any:
        return self.make()

    def has(self, text: str) -> bool:
        return self._last_learned(text) > 0

    def key_of(self, text: str) -> Any:
        """Return the key of a text, or raise FileError if it is none of ours."""
        with contextlib.suppress(Exception):
            if key_text(key := key_of(text)) == text:
                return key
        raise FileError(f"{self.path} is damaged: {shown(text)} is not the text of a key")

    def texts(self) -> list[str]:
        query = "SELECT key, learned, max(flush) FROM models GROUP BY key"  # of the index alone
        stored = [key for key, learned, _ in self._query(query) if learned]
        return [*dict.fromkeys([*self.models, *stored])]

    def _last_learned(self, text: str) -> int:
        if text in self.models:
            return self.learned[text]
        query = "SELECT learned FROM models WHERE key = ? ORDER BY flush DESC LIMIT 1"
        return sum(learned for (learned,) in self._query(query, text))

    def remove(self, text: str) -> bool:
        """Remove the model of a key, and return whether there was one."""
        has_model = self.has(text)
        if has_model:
            self._write_due(text)
            self.changed[text] = None  # so that a model which an interrupt leaves is written again
            self._put(text, 0, None, self.number)
            if self.path is None:
                self._clean(text)
            else:
                self.removed.append(text)
            for content in (self.models, self.learned, self.changed):
                content.pop(text, None)
        return has_model

    def removing_unused(self, n_samples: int, removed: list[str]) -> Iterator[None]:
        """Remove the keys without any of the last samples, in steps, and list them."""
        last, texts, page = self.n_learned - n_samples, [*self.models], [("", 0, 0)]
        while page:
            for text in texts:
                if self._last_learned(text) <= last:
                    self.key_of(text)  # or raise its error
                    removed += [text] * self.remove(text)
                yield
            page = self._query(_NEXT, page[-1][0])
            texts = [text for text, learned, _ in page if 0 < learned <= last]

    def packed(self, texts: Iterable[str] | None = None) -> list[tuple[str, int, bytes]]:
        """Return the keys that have a model, of all or some, when they learned, and the models."""
        for text in [*self.models]:
            self._write(text)
        texts = self.texts() if texts is None else texts
        rows = [(text, *row) for text in texts for row in self._query(_GET, text)]
        return [row for row in rows if row[1]]

    def put(self, packed: Iterable[tuple[str, int, bytes]]) -> None:
        for row in packed:
            self._put(*row, self.number)

    def sizes(self) -> list[int]:
        """Return the memory that each model in memory uses, as river measures it."""
        return [model._raw_memory_usage for model in self.models.values()]

    def position(self) -> Any:
        return self._note()["position"]

    def flush(self, position: Any) -> None:
        """Commit all changes, with a position that JSON can hold."""
        note = json.dumps(position, allow_nan=False)
        self._flushes.run(self.in_slices, self.flushing(json.loads(note)))

    def in_slices(self, steps: Iterator[None]) -> None:
        """Take steps, and let other threads make their calls between some of them."""
        while self.call("advance", steps, _SLICE):
            time.sleep(_PAUSE)

    def advance(self, steps: Iterator[None], seconds: float) -> bool:
        """Take steps for some time, and return whether there may be more."""
        end = time.perf_counter() + seconds
        return any(time.perf_counter() >= end for _ in steps)

    def flushing(self, position: Any) -> Iterator[None]:
        """Commit the models of now in steps, between which other calls may come."""
        number, self.number = self.number, self.number + 1
        note = {"number": number, "learned": self.n_learned, "position": position}
        n_removed = len(self.removed)
        self.due = {text: None for text in (*self.due, *self.changed) if text in self.models}
        self.changed = {}
        for text in [*self.due]:
            if text in self.due:
                self._write(text)
                yield
        self._query(_NOTE, json.dumps(note))
        self._commit()
        self.committed = number
        removed, self.removed = self.removed[:n_removed], self.removed[n_removed:]
        for text in removed:
            self._clean(text)
            yield


def _close(database: sqlite3.Connection, process: int) -> None:
    """Close the database in the process that opened it, but not in a fork of that."""
    if process == os.getpid():
        database.close()


def _predicting_changes(model: Any) -> bool:
    """Return whether a model keeps its predictions for delayed labels."""
    while isinstance(model, compose.Pipeline | base.Wrapper):
        model = model[-1] if isinstance(model, compose.Pipeline) else model._wrapped_model
    return getattr(model, "max_delayed_labels", 0) > 0
