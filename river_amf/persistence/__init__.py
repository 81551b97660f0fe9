"""Models in files: `save` and `load`.

A file is a zip archive of JSON and arrays (see `container`). A loaded model behaves exactly like
the one that was saved, in its predictions and in everything that it learns from then on. Loading
does not run any code from the file: an untrusted file can cause an error or bad predictions, but
nothing worse.
"""

from __future__ import annotations

import abc
import importlib
import logging
import os
import time
from collections.abc import Callable
from typing import IO, Any, ClassVar, NamedTuple, Self, TypeVar

from river_amf._version import __version__
from river_amf.kinds import shown
from river_amf.persistence import container, sources
from river_amf.persistence.container import Array, Header
from river_amf.persistence.errors import FileError
from river_amf.persistence.sources import Readable, Writable

__all__ = ["FileError", "PathLike", "Saved", "load", "save"]

PathLike = str | os.PathLike[str]

_logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_KINDS: dict[str, type[Saved]] = {}
# the modules that define the kinds with a dot, by the part before the dot
_MODULES = {"sklearn": "river_amf.sklearn"}
# errors that the contents of a damaged file may lead to
_MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError)


class Contents(NamedTuple):
    """A model from a file, and what the file says of itself."""

    model: Any
    kind: str
    release: str  # of river_amf, that wrote it
    format: int
    size: int  # in bytes


class Saved:
    """Mixin for models that can be saved to a file and loaded from it.

    A class sets its unique name in `_file_kind`. Its method `_to_file` returns the model as JSON
    and arrays, and its class method `_from_file` makes a model from these. `_from_file` must cope
    with any JSON and any arrays, and raise `FileError` for those that `_to_file` cannot have
    returned. A subclass without its own `_file_kind` cannot be saved.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from river_amf import AMFClassifier
    >>> model = AMFClassifier()
    >>> model.learn_one({"length": 2.5}, "short")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.amf")
    ...     model.save(path)
    ...     twin = AMFClassifier.load(path)
    >>> twin.predict_one({"length": 2.0})
    'short'
    """

    _file_kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        kind = cls.__dict__.get("_file_kind")
        if kind is None:
            return
        known = _KINDS.setdefault(kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(
                f"{cls.__qualname__} has the _file_kind {kind!r} of {known.__qualname__}; "
                "give it a unique one"
            )
        _KINDS[kind] = cls  # a class may be defined again, as in a notebook

    @abc.abstractmethod
    def _to_file(self) -> tuple[Header, dict[str, Array]]:
        """Return the model as JSON and arrays."""

    def _while_still(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Call a function that uses what `_to_file` returns, while no other thread changes it."""
        return call(*arguments)

    @classmethod
    @abc.abstractmethod
    def _from_file(cls, header: Header, arrays: dict[str, Array]) -> Self:
        """Return the model that `_to_file` returned as these, or raise FileError."""

    def save(self, path: PathLike | Writable) -> None:
        """Save the model to a file, as `river_amf.save` does.

        Parameters
        ----------
        path
            Path of the file. An existing file is replaced, once the new one is complete. Or a file
            that is open for writing in binary mode: the model is written at its position.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If a label, category or feature name is of a type that cannot be saved, or if the open
            file is in text mode.
        ValueError
            If labels, categories and feature names together take more than 1 GiB, if more than 128
            of them have the same hash, or if the `model_` of a scikit-learn estimator has learned
            other columns or classes on its own.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from river_amf import AMFClassifier
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "model.amf")
        ...     AMFClassifier(n_estimators=5).save(path)
        ...     AMFClassifier.load(path).n_estimators
        5
        """
        save(self, path)

    @classmethod
    def load(cls, path: PathLike | Readable) -> Self:
        """Load a model of this class, or of a subclass, from a file.

        Parameters
        ----------
        path
            Path of the file, or a file that is open for reading in binary mode, as for
            `river_amf.load`.

        Returns
        -------
        Saved
            A model that predicts and learns exactly like the one that was saved.

        Raises
        ------
        OSError
            If the file cannot be read, or if the path leads to a pipe, a device or a folder.
        FileError
            If it is not a river_amf file, if it is truncated, has been changed or has a later
            format, or if it holds a model of another class. `FileError` is a `ValueError`.
        MemoryError
            If there is not enough memory for a file of its size.
        TypeError
            If the open file is in text mode.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from river_amf import AMFClassifier, OnlineDummyClassifier
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "model.amf")
        ...     AMFClassifier().save(path)
        ...     try:
        ...         OnlineDummyClassifier.load(path)
        ...     except ValueError as error:
        ...         print(str(error).split("model.amf' ")[1])
        holds an AMFClassifier, not an OnlineDummyClassifier; river_amf.load(path) loads any model
        """
        model = load(path)
        if not isinstance(model, cls):
            name = sources.name_of(sources.place_of(path, "read"))
            raise FileError(
                f"{name} holds an {type(model).__name__}, not an {cls.__name__}; "
                "river_amf.load(path) loads any model"
            )
        return model


def save(model: Any, path: PathLike | Writable) -> None:
    """Save a model to a file.

    The model is written to a temporary file next to `path`, which is then renamed: whatever happens
    along the way, an existing file stays intact. If the process is killed meanwhile, a temporary
    file `.river_amf-*.tmp` is left behind, and the next save to the same folder removes it. The
    model is not changed, and equal models give equal files. Other attributes that have been set on
    the object are not saved.

    An open file is written at its position, from the first byte to the last, and stays open; it
    need not support `seek`. It gets the same bytes as a file at a path. If there is an exception,
    what has been written so far stays in it.

    Labels, categories and names of features come back as they were if they are str, bool, int,
    float, None, bytes, Decimal, Fraction, UUID, numpy scalars, dates, times or durations (naive, in
    UTC or at a fixed offset; also those of pandas), pandas' Interval, or tuples of these. Values of
    subclasses, such as members of a `StrEnum`, are saved as what they hold. Other hashables, such
    as members of a plain `Enum` or frozensets, can be learned, but not saved.

    Parameters
    ----------
    model
        A model of this package, trained or not.
    path
        Path of the file. An existing file is replaced. The suggested extension is `.amf`. Or a file
        that is open for writing in binary mode, such as `io.BytesIO()`.

    Raises
    ------
    OSError
        If the file cannot be written.
    TypeError
        If the model is not from this package, if a label, category or feature name is of a type
        that files cannot hold, or if `path` is neither a path nor a file that is open in binary
        mode.
    ValueError
        If labels, categories and feature names together take more than 1 GiB, if more than 128 of
        them have the same hash, or if the `model_` of a scikit-learn estimator has learned other
        columns or classes on its own.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import river_amf
    >>> model = river_amf.OnlineDummyClassifier()
    >>> model.learn_one({}, "ham")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.amf")
    ...     river_amf.save(model, path)
    ...     twin = river_amf.load(path)
    >>> twin.predict_proba_one({})
    {'ham': 1.0}
    """
    place = sources.place_of(path, "write")
    kind = getattr(type(model), "_file_kind", None)
    if kind is None or _KINDS.get(kind) is not type(model):
        raise TypeError(
            f"cannot save a {type(model).__name__}: files can hold {', '.join(sorted(_KINDS))}; a "
            "subclass of one of these needs its own _file_kind, see river_amf.persistence.Saved"
        )
    start = time.perf_counter()
    size = model._while_still(_write, model, kind, place)
    _log("saved %s to %s: %d bytes in %.0f ms", kind, place, size, start)


def _write(model: Saved, kind: str, place: str | Writable) -> int:
    """Write a model to a file, and return its size."""
    header, arrays = model._to_file()
    return container.write(place, {"river_amf": __version__, "kind": kind, "model": header}, arrays)


def _log(message: str, kind: str, place: Any, size: int, start: float) -> None:
    if _logger.isEnabledFor(logging.INFO):
        milliseconds = 1000 * (time.perf_counter() - start)
        _logger.info(message, kind, sources.name_of(place), size, milliseconds)


def load(path: PathLike | Readable) -> Any:
    """Load a model of any class from a file.

    A file may come from anyone. Loading it takes time in proportion to its size, and memory in
    proportion too: one to two times what the arrays in it take, and at most about 20 times the
    bytes of `header.json`, the labels, categories and feature names.

    An open file is read from its position to the end of the model, so that another may follow, and
    stays open. One that does not support `seek`, or slowly, is copied to a temporary file on the
    way; the data of a `GzipFile` may be a thousand times as large as the file.

    Parameters
    ----------
    path
        Path of a file written by `save`. Or a file that is open for reading in binary mode.

    Returns
    -------
    Saved
        A model that predicts and learns exactly like the one that was saved.

    Raises
    ------
    OSError
        If the file cannot be read, or if the path leads to a pipe, a device or a folder. (Open a
        pipe and pass the open file.)
    FileError
        If it is not a river_amf file, or if it is truncated, has been changed or has a later
        format. `FileError` is a `ValueError`.
    MemoryError
        If there is not enough memory for a file of its size.
    TypeError
        If `path` is neither a path nor a file that is open in binary mode.

    Examples
    --------
    >>> import io, pathlib, tempfile
    >>> import river_amf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.amf")
    ...     river_amf.AdaptiveAMFClassifier(seed=1).save(path)
    ...     river_amf.load(path).seed
    1
    >>> file = io.BytesIO()
    >>> for seed in (2, 3):
    ...     river_amf.AMFClassifier(seed=seed).save(file)
    >>> _ = file.seek(0)
    >>> river_amf.load(file).seed, river_amf.load(file).seed
    (2, 3)
    """
    return contents(path).model


def contents(path: PathLike | Readable) -> Contents:
    """Return the model in a file and what the file says of itself, or raise as `load` does.

    >>> import io
    >>> from river_amf import AMFClassifier
    >>> file = io.BytesIO()
    >>> AMFClassifier().save(file)
    >>> _ = file.seek(0)
    >>> contents(file).kind
    'AMFClassifier'
    """
    place = sources.place_of(path, "read")
    name, size, start = sources.name_of(place), None, time.perf_counter()
    try:
        with sources.opened(place) as file:
            size = file.seek(0, os.SEEK_END)
            found = _contents_of(file, size)
    except FileError as error:
        raise FileError(f"{name} {error}") from error.__cause__
    except MemoryError as error:
        bytes_ = "" if size is None else f", which has {size} bytes"
        raise MemoryError(f"not enough memory to load {name}{bytes_}") from error
    _log("loaded %s from %s: %d bytes in %.0f ms", found.kind, place, size, start)
    return found


def _contents_of(file: IO[bytes], size: int) -> Contents:
    """Return what is in an opened file, or raise FileError."""
    try:
        header, arrays = container.parts(file)
        kind, model = container.take(header, "kind"), container.take(header, "model")
        loaded = _class_of(kind)._from_file(model, arrays)
        return Contents(loaded, kind, header["river_amf"], header["format"], size)
    except (FileError, OSError):  # an error of the system may be a ValueError too
        raise
    except ValueError as error:  # as from the check of a parameter
        raise FileError(f"is damaged: {error}") from error
    except _MISFITS as error:
        raise FileError(
            f"is damaged: its parts do not fit together ({type(error).__name__}: {error})"
        ) from error


def _class_of(kind: Any) -> type[Saved]:
    """Return the class for a kind, importing its module if necessary."""
    if type(kind) is str:
        module, dot, _ = kind.partition(".")
        if dot and module in _MODULES:
            importlib.import_module(_MODULES[module])
        if kind in _KINDS:
            return _KINDS[kind]
    raise FileError(f"holds a model of the kind {shown(kind)}, which this release does not support")
