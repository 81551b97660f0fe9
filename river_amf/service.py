"""Services that continue after a crash: checkpoints, refused messages, and requests.

RECIPES.md has the loops around these classes, and what they promise. This module is provisional: it
may change in any release before 1.0.
"""

import contextlib
import json
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from river_amf.classifier import AMFClassifier
from river_amf.inputs.kinds import is_real, shown
from river_amf.keyed.keys import key_text
from river_amf.persistence import PathLike, files, load
from river_amf.persistence.values import to_json

__all__ = ["Checkpoints", "KeyedCheckpoints", "Refusals", "Requests", "check_message"]

Messages = list[dict[str, Any]]
Waiting = dict[Any, Any]  # features by key, until their label comes

_EMPTY = AMFClassifier()  # checks all values, and stays empty


def check_message(message: Any, empty: Any = _EMPTY, waiting: Waiting | None = None) -> None:
    """Raise TypeError or ValueError for a message that cannot be predicted, learned or saved.

    A message is a dict with a `key`, and with features `x`, the label `y` or both. `empty`, a model
    without samples, checks features. New ones must not wait already, and those of a label must.

    >>> from river_amf.service import check_message
    >>> check_message({"key": 7, "x": {"size": 2.5}})
    """
    if not (isinstance(message, dict) and "key" in message and {"x", "y"} & message.keys()):
        raise TypeError(f"a message must be a dict with key and x, y or both, got {shown(message)}")
    key_text(message["key"])
    if waiting is not None and ("x" in message) == (message["key"] in waiting):
        what = "features with it wait already" if "x" in message else "no features with it wait"
        raise ValueError(f"key {shown(message['key'])}: {what}")
    if "x" in message:
        empty.predict_one(x := message["x"])
        for name, value in x.items():
            if not isinstance(name, str):
                raise TypeError(f"names of features must be text, got {shown(name)}")
            to_json(0 if is_real(value) else value, f"the category of {shown(name)},")
    if "y" in message:
        _EMPTY.learn_one({}, message["y"], w=0.0)
        to_json(message["y"], "the label")


class Refusals:
    """Learning from messages; those that are refused are written to `refused.jsonl` in a folder.

    `new` is a function that returns a model without samples.
    """

    def __init__(self, folder: PathLike, new: Callable[..., Any]) -> None:
        self.folder, self.new = Path(folder), new
        self.folder.mkdir(parents=True, exist_ok=True)
        self.empty: Any = _EMPTY

    @contextlib.contextmanager
    def refusing(self, message: Any) -> Iterator[None]:
        """Write a message to the file, with the reason, if a TypeError or ValueError is raised."""
        try:
            yield
        except (RecursionError, TypeError, ValueError) as error:
            path, reason = self.folder / "refused.jsonl", str(error)
            try:
                _append(path, {"message": message, "reason": reason})
            except (RecursionError, TypeError, ValueError):  # JSON cannot hold it
                _append(path, {"message": shown(message), "reason": reason})

    def sort(self, messages: Iterable[Any], waiting: Waiting) -> tuple[Messages, Messages]:
        """Return messages with features to predict, and labels with the features that waited."""
        asked, labeled = [], []
        for message in messages:
            with self.refusing(message):
                check_message(message, self.empty, waiting)
                if "x" in message:
                    waiting[message["key"]] = message["x"]
                    asked.append(message)
                if "y" in message:
                    labeled.append(message | {"x": waiting.pop(message["key"])})
        return asked, labeled

    def predict(self, model: Any, asked: Messages) -> tuple[list[Any], list[Any]]:
        """Return the keys and predictions of messages, without those that the model refuses."""
        try:
            X = pd.DataFrame([message["x"] for message in asked])
            answers = model.predict_many(X).tolist() if asked else []
            return [message["key"] for message in asked], answers
        except (TypeError, ValueError):
            by_key = {}
            for message in asked:
                with self.refusing(message):
                    by_key[message["key"]] = model.predict_one(message["x"])
            return [*by_key], [*by_key.values()]

    def learn(self, model: Any, labeled: Messages) -> None:
        """Learn features with their labels, in their order."""
        try:
            if labeled:
                X = pd.DataFrame([message["x"] for message in labeled])
                model.learn_many(X, [message["y"] for message in labeled])
        except (TypeError, ValueError):  # it has learned none
            for message in labeled:
                with self.refusing(message):
                    model.learn_one(message["x"], message["y"])


class Checkpoints(Refusals):
    """Complete checkpoints in a folder: the newest file of a model, and the features that wait.

    Pickles in the folder run code when they are loaded, so only the service may write to it.

    >>> import tempfile, river_amf
    >>> from river_amf.service import Checkpoints
    >>> log = [{"key": 1, "x": {"size": 2.5}}, {"key": 1, "y": "small"}, {"key": 2, "y": "small"}]
    >>> checkpoints = Checkpoints(tempfile.mkdtemp(), river_amf.AMFClassifier)
    >>> model, waiting, offset = checkpoints.load()
    >>> asked, labeled = checkpoints.sort(log, waiting)
    >>> checkpoints.predict(model, asked)
    ([1], [None])
    >>> checkpoints.learn(model, labeled)
    >>> checkpoints.save(model, waiting, offset + len(log))
    >>> print((checkpoints.folder / "refused.jsonl").read_text().strip())
    {"message": {"key": 2, "y": "small"}, "reason": "key 2: no features with it wait"}
    """

    load_model: Callable[..., Any] = staticmethod(load)  # of a path, which `save_model` has written

    def load(self) -> tuple[Any, Any, int]:
        """Return the model, the features that wait for a label, and the next offset."""
        model, offset = self._committed()
        path = self.folder / f"waiting-{offset:015}.pickle"
        return model, pickle.loads(path.read_bytes()) if offset else {}, offset

    def save(self, model: Any, waiting: Any, offset: int) -> None:
        """Write a checkpoint, and remove the files of older ones."""
        path, data = self.folder / f"waiting-{offset:015}.pickle", pickle.dumps(waiting)
        files.replace(str(path), lambda file: file.write(data))
        _sync(self.folder, *self.folder.glob("refused.jsonl"))
        self._commit(model, offset)  # from now on, the file with this offset counts
        for file in [*self.folder.glob("waiting-*"), *self.folder.glob("model-*")]:
            if f"-{offset:015}." not in file.name:
                file.unlink()

    def _committed(self) -> tuple[Any, int]:
        *_, newest = [None, *sorted(self.folder.glob("model-*"))]
        return (self.load_model(newest), int(newest.stem[6:])) if newest else (self.new(), 0)

    def _commit(self, model: Any, offset: int) -> None:
        self.save_model(model, self.folder / f"model-{offset:015}.amf")
        _sync(self.folder)

    def save_model(self, model: Any, path: Path) -> None:
        """Write a file, all or nothing."""
        model.save(path)


class KeyedCheckpoints(Checkpoints):
    """Checkpoints of a model for each key; `new` gets the folder of the models, or None.

    >>> import tempfile
    >>> from river_amf import AMFClassifier, keyed, service
    >>> def new(folder):
    ...     return keyed.KeyedClassifier(AMFClassifier(), "user", folder=folder)
    >>> model, waiting, offset = service.KeyedCheckpoints(tempfile.mkdtemp(), new).load()
    """

    def __init__(self, folder: PathLike, new: Callable[..., Any]) -> None:
        super().__init__(folder, new)
        self.empty = new(None)  # which checks keys, too

    def _committed(self) -> tuple[Any, int]:
        model = self.new(self.folder / "models")
        return model, model.position or 0

    def _commit(self, model: Any, offset: int) -> None:
        model.flush(position=offset)


class Requests:
    """A model, and the requests that it has predicted until their labels arrive.

    A request is a line of `requests.jsonl`, a list of a key and features. Other processes may
    append to this file. One thread at a time may call `learn`.

    >>> import tempfile, river_amf
    >>> from river_amf.service import Requests
    >>> service = Requests(tempfile.mkdtemp(), river_amf.AMFClassifier)
    >>> service.answer("a", {"size": 2.5})
    >>> service.learn({"a": "small"})
    >>> service.answer("b", {"size": 2.5})
    'small'
    """

    def __init__(self, folder: PathLike, new: Callable[[], Any]) -> None:
        self.file, self.checkpoints = Path(folder, "requests.jsonl"), Checkpoints(folder, new)
        self.model, kept, self.n_saved = self.checkpoints.load()
        nothing: Any = {}, 0
        self.waiting, self.position = kept or nothing

    def answer(self, key: Any, x: dict[str, Any]) -> Any:
        """Predict a request and keep it, or raise TypeError or ValueError."""
        key, x = json.loads(json.dumps([key, x]))
        check_message({"key": key, "x": x}, self.checkpoints.empty)
        prediction = self.model.predict_one(x)
        _append(self.file, [key, x])
        return prediction

    def learn(self, labels: dict[Any, Any]) -> None:
        """Learn the requests that have a label, by key, and save all."""
        refusals = self.checkpoints
        with self.file.open("a+b") as file:
            file.seek(self.position)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written
                with refusals.refusing(line.decode(errors="replace")):  # such as a torn one
                    if line.strip():
                        key, x = json.loads(line)
                        refusals.sort([{"key": key, "x": x}], self.waiting)
                self.position += len(line)
            os.fsync(file.fileno())  # or a power failure might leave it shorter
        for key in [key for key in self.waiting if key in labels]:
            message = {"key": key, "x": self.waiting[key], "y": labels[key]}
            with refusals.refusing(message):
                check_message(message, refusals.empty)
                self.model.learn_one(message["x"], message["y"])
            del self.waiting[key]
        self.n_saved += 1
        refusals.save(self.model, (self.waiting, self.position), self.n_saved)


def _append(path: Path, content: Any) -> None:
    # with breaks at both ends, so that what a crash has torn stays a line of its own
    line = b"\n" + json.dumps(content).encode() + b"\n"
    with files.named(path), path.open("ab", buffering=len(line)) as file:  # in one write
        file.write(line)


def _sync(*paths: Path) -> None:
    for path in paths if os.name == "posix" else ():  # which survive a power failure then
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
