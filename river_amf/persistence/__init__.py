"""Models in files: `save` and `load`.

A loaded model behaves exactly like the one that was saved, in its predictions and in everything
that it learns from then on. Loading runs no code from the file: an untrusted one can cause an error
or bad predictions, but nothing worse.
"""

from __future__ import annotations

import abc
import io
import logging
import os
import time
from collections.abc import Callable
from typing import IO, Any, ClassVar, Self

from river_amf._version import __version__
from river_amf.inputs.kinds import shown
from river_amf.persistence import container, places
from river_amf.persistence.container import Header
from river_amf.persistence.validation import FileError, require
from river_amf.state.layout import Array

__all__ = ["FileError", "PathLike", "Saved", "load", "save"]

PathLike = str | os.PathLike[str]
_Place = PathLike | IO[bytes]

_logger = logging.getLogger(__name__)
_KINDS: dict[str, type[Saved]] = {}


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
        if "_file_kind" in cls.__dict__:
            _KINDS[cls._file_kind] = cls

    @abc.abstractmethod
    def _to_file(self, write: Callable[[Header, dict[str, Array]], Any]) -> Any:
        """Call a function with the model as JSON and arrays, which no thread changes meanwhile."""

    @classmethod
    @abc.abstractmethod
    def _from_file(cls, header: Header, arrays: dict[str, Array]) -> Self:
        """Return the model that `_to_file` turned into these, or raise any error."""

    def save(self, path: _Place) -> None:
        """Save the model to a file, as `river_amf.save` does.

        >>> import io, river_amf
        >>> river_amf.AMFClassifier().save(io.BytesIO())
        """
        save(self, path)

    @classmethod
    def load(cls, path: _Place) -> Self:
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


def save(model: Any, path: _Place) -> None:
    """Save a model to a file.

    It is written to a temporary file `.river_amf-*.tmp` next to `path`, which then replaces `path`,
    so an existing file stays intact after any error. An open file is written at its position, once
    the model is complete. Equal models give equal files.

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


def save_with_notes(model: Any, path: _Place, notes: dict[str, Any]) -> None:
    """Save a model as `save` does, with an object of JSON beside it."""
    place, start = places.place_of(path, "write"), time.perf_counter()
    kind = getattr(type(model), "_file_kind", "")
    if _KINDS.get(kind) is not type(model):
        raise TypeError(
            f"cannot save a {type(model).__name__}: files can hold {', '.join(sorted(_KINDS))} and "
            "subclasses with another _file_kind; pickle saves other models, such as "
            "pipelines, but loading a pickle runs code from it, and other releases may refuse it"
        )

    def write(file: IO[bytes]) -> int:
        about: Header = {"river_amf": __version__, "kind": kind}
        about |= {"notes": notes} if notes else {}
        return int(
            model._to_file(
                lambda header, arrays: container.write(file, about | {"model": header}, arrays)
            )
        )

    if isinstance(place, str):
        size = places.replace(place, write)
    else:
        archive = io.BytesIO()
        size = write(archive)
        if place.write(archive.getvalue()) not in (None, size):
            raise OSError(f"{places.name_of(place)} took only a part of what was written to it")
    took, name = 1000 * (time.perf_counter() - start), places.name_of(place)
    _logger.info("saved %s to %s: %d bytes in %.0f ms", kind, name, size, took)


def load(path: _Place) -> Any:
    """Load a model of any class from a file, which predicts and learns exactly like the saved one.

    No code from a file is run, and every index in it is checked. Loading
    takes two to three times the memory of the arrays, and at most about 40 times the bytes of
    `header.json`. An open file is read from its position to its end.

    Parameters
    ----------
    path
        Path of a file written by `save`, or a file open for reading in binary mode.

    Raises
    ------
    FileError, MemoryError, OSError, TypeError
        If it is no such file, is truncated, has been changed or has a later format (a
        `ValueError`); if there is not enough memory for a file of its size; if the file cannot be
        read; if `path` is neither a path nor such a file.

    Examples
    --------
    >>> import io, river_amf
    >>> file = io.BytesIO()
    >>> river_amf.AMFClassifier(seed=2).save(file)
    >>> _ = file.seek(0)
    >>> river_amf.load(file).seed
    2
    """
    return load_with_header(path)[0]


def load_with_header(path: _Place) -> tuple[Any, Header]:
    """Load a model as `load` does; return it and the rest of `header.json`."""
    place, start = places.place_of(path, "read"), time.perf_counter()
    name = places.name_of(place)
    if isinstance(place, str):
        with open(place, "rb") as file:
            data = file.read()
    else:
        data = place.read()
    try:
        header, arrays = container.read(data)
        kind, header = header["kind"], {"notes": {}} | header
        require(type(header["notes"]) is dict, "notes, an object,")
        if type(kind) is not str or kind not in _KINDS:
            what = f"not one of {', '.join(sorted(_KINDS))}"
            raise FileError(f"holds a model of the kind {shown(kind)}, {what}")
        model = _KINDS[kind]._from_file(header.pop("model"), arrays)
    except MemoryError as error:
        raise MemoryError(f"not enough memory to load {name}") from error
    except FileError as error:
        raise FileError(f"{name} {error}") from error.__cause__
    except Exception as error:
        raise FileError(f"{name} is damaged: {type(error).__name__}: {error}") from error
    took = 1000 * (time.perf_counter() - start)
    _logger.info("loaded %s from %s: %d bytes in %.0f ms", kind, name, len(data), took)
    return model, header
