"""Models in files: `save` and `load`.

A loaded model behaves exactly like the one that was saved, in its predictions and in everything
that it learns from then on. Loading runs no code from the file: an untrusted one can cause an error
or bad predictions, but nothing worse.
"""

from __future__ import annotations

import abc
import errno
import logging
import os
import time
import traceback
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from river_amf._version import __version__
from river_amf.inputs.kinds import shown
from river_amf.persistence import container, places
from river_amf.persistence.container import Array, Header, take
from river_amf.persistence.validation import FileError, require

if TYPE_CHECKING:
    from _typeshed import SupportsRead, SupportsWrite

__all__ = ["FileError", "PathLike", "Saved", "load", "save"]

PathLike = str | os.PathLike[str]

_logger = logging.getLogger(__name__)
_KINDS: dict[str, type[Saved]] = {}


class Contents(NamedTuple):
    """A model from a file, and what the file says of itself."""

    model: Any
    kind: str
    release: str  # of river_amf, that wrote it
    format: int
    size: int  # in bytes
    notes: dict[str, Any]  # of whoever saved it, such as how the file that it learned was read


class Saved:
    """Mixin for models that can be saved to a file and loaded from it.

    A class sets its unique name in `_file_kind`, without which a subclass cannot be saved.

    >>> from river_amf import AMFClassifier
    >>> issubclass(AMFClassifier, Saved)
    True
    """

    _file_kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        kind = cls.__dict__.get("_file_kind")
        if kind is None:
            return
        known = _KINDS.setdefault(kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"{cls.__qualname__} has the _file_kind of {known.__qualname__}")
        _KINDS[kind] = cls  # a class may be defined again, as in a notebook

    @abc.abstractmethod
    def _to_file(self) -> tuple[Header, dict[str, Array]]:
        """Return the model as JSON and arrays of `layout.FIELDS`."""

    def _while_still(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that uses what `_to_file` returns, while no other thread changes it."""
        return call(*arguments)

    @classmethod
    @abc.abstractmethod
    def _from_file(cls, header: Header, arrays: dict[str, Array]) -> Self:
        """Return the model that `_to_file` returned as these, or raise FileError."""

    def save(self, path: PathLike | SupportsWrite[bytes]) -> None:
        """Save the model to a file, as `river_amf.save` does.

        >>> import io, river_amf
        >>> river_amf.AMFClassifier().save(io.BytesIO())
        """
        save(self, path)

    @classmethod
    def load(cls, path: PathLike | SupportsRead[bytes]) -> Self:
        """Load a model of this class or a subclass as `river_amf.load` does; else raise FileError.

        >>> import io, river_amf
        >>> file = io.BytesIO()
        >>> river_amf.AMFClassifier(seed=7).save(file)
        >>> _ = file.seek(0)
        >>> river_amf.AMFClassifier.load(file).seed
        7
        """
        model = load(path)
        if not isinstance(model, cls):
            name = places.name_of(places.place_of(path, "read"))
            what = f"not an {cls.__name__}; river_amf.load(path) loads any model"
            raise FileError(f"{name} holds an {type(model).__name__}, {what}")
        return model


def save(model: Any, path: PathLike | SupportsWrite[bytes]) -> None:
    """Save a model to a file.

    It is written to a temporary file `.river_amf-*.tmp` next to `path`, which then takes its place,
    so an existing file stays intact whatever happens. An open file is written at its position, once
    the model is complete, and need not support `seek`. Equal models give equal files.

    Labels, categories and names of features may be str, bool, int, float, None, bytes, numpy
    scalars, dates, times or durations of `datetime` (naive, in UTC or at a fixed offset), or tuples
    of these; values of subclasses, such as members of a `StrEnum`, come back as what they hold.

    Parameters
    ----------
    model
        A forest of this package, trained or not.
    path
        Path of the file (suggested extension `.amf`), or a file open for writing in binary mode.

    Raises
    ------
    OSError, TypeError, ValueError
        If the file cannot be written; if files cannot hold the model or one of its values.

    Examples
    --------
    >>> import os, tempfile, river_amf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     river_amf.save(river_amf.AMFClassifier(seed=7), os.path.join(folder, "model.amf"))
    ...     river_amf.load(os.path.join(folder, "model.amf")).seed
    7
    """
    save_with_notes(model, path, {})


def save_with_notes(
    model: Any, path: PathLike | SupportsWrite[bytes], notes: dict[str, Any]
) -> None:
    """Save a model as `save` does, with an object of JSON beside it."""
    place, start = places.place_of(path, "write"), time.perf_counter()
    kind = getattr(type(model), "_file_kind", "")
    if _KINDS.get(kind) is not type(model):
        raise TypeError(
            f"cannot save a {type(model).__name__}: files can hold {', '.join(sorted(_KINDS))} and "
            "subclasses with a _file_kind of their own; pickle saves other models"
        )

    def write(file: IO[bytes]) -> int:
        header, arrays = model._to_file()
        about = {"river_amf": __version__, "kind": kind, "model": header}
        about |= {"notes": notes} if notes else {}
        return container.write(file, about, arrays)

    size = places.write(place, lambda file: model._while_still(write, file))
    _log("saved %s to %s: %d bytes in %.0f ms", kind, places.name_of(place), size, start)


def _log(message: str, kind: str, name: str, size: int, start: float) -> None:
    _logger.info(message, kind, name, size, 1000 * (time.perf_counter() - start))


def load(path: PathLike | SupportsRead[bytes]) -> Any:
    """Load a model of any class from a file, which predicts and learns exactly like the saved one.

    A file may come from anyone: it is checked, and nothing in it is run. Loading takes one to two
    times the memory of the arrays, and at most about 40 times the bytes of `header.json`. An open
    file is read from its position to the end of the model, so that another may follow; the data of
    a `GzipFile` may be a thousand times as large as the file.

    Parameters
    ----------
    path
        Path of a file written by `save`, or a file open for reading in binary mode.

    Raises
    ------
    FileError, MemoryError, OSError, TypeError
        If it is no such file, is truncated, has been changed or has a later format (a
        `ValueError`); if there is not enough memory for a file of its size; if the file cannot be
        read, or is a pipe, a device or a folder; if `path` is neither a path nor such a file.

    Examples
    --------
    >>> import io, river_amf
    >>> file = io.BytesIO()
    >>> for seed in (2, 3):
    ...     river_amf.AMFClassifier(seed=seed).save(file)
    >>> _ = file.seek(0)
    >>> river_amf.load(file).seed, river_amf.load(file).seed
    (2, 3)
    """
    return contents(path).model


def contents(path: PathLike | SupportsRead[bytes]) -> Contents:
    """Return the model in a file and what the file says of itself, or raise as `load` does."""
    place, start = places.place_of(path, "read"), time.perf_counter()
    name = places.name_of(place)
    with container.opened(place) as file:
        try:
            found = _contents(file)
        except MemoryError as error:
            raise MemoryError(f"not enough memory to load {name}") from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # of a negative position
                raise
            is_ours = isinstance(error, FileError)
            traceback.clear_frames(error.__traceback__)  # which hold what has been read
            what = error if type(error) is ValueError else f"{type(error).__name__}: {error}"
            text = f"{name} {error}" if is_ours else f"{name} is damaged: {what}"
            raise FileError(text) from error.__cause__ if is_ours else error
    _log("loaded %s from %s: %d bytes in %.0f ms", found.kind, name, found.size, start)
    return found


def _contents(file: IO[bytes]) -> Contents:
    file.seek(0)
    header, arrays, size = container.read(file)
    kind, model = take(header, "kind"), take(header, "model")
    notes = take(header, "notes", {})
    require(type(notes) is dict, "notes, an object,")
    loaded = _class_of(kind)._from_file(model, arrays)
    return Contents(loaded, kind, header["river_amf"], header["format"], size, notes)


def _class_of(kind: Any) -> type[Saved]:
    """Return the class for a kind, or raise FileError."""
    if type(kind) is str and kind in _KINDS:
        return _KINDS[kind]
    what = f"this version knows {', '.join(sorted(_KINDS))}"
    raise FileError(f"holds a model of the kind {shown(kind)}, but {what}")
