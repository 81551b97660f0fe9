"""Models in files: `save` and `load`. A loaded model predicts and learns exactly as the saved one.

Loading runs no code from the file: an untrusted one can cause an error or bad predictions at worst.
"""

from __future__ import annotations

import abc
import importlib
import io
import os
from functools import partial
from pathlib import Path
from typing import IO, Any, ClassVar, Self

from river_amf._version import __version__
from river_amf.inputs.kinds import shown
from river_amf.persistence import container, files
from river_amf.persistence.container import Header
from river_amf.persistence.validation import FileError, require
from river_amf.state.layout import Array

__all__ = ["FileError", "PathLike", "load", "save"]

PathLike = str | os.PathLike[str]
_File = PathLike | IO[bytes]

_MODULES = "classifier", "regressor", "dummy"  # with the classes that files may hold
_KINDS: dict[str, type[Saved]] = {}


class Saved:
    """Mixin for models in files; a class sets its unique name in `_file_kind`."""

    _file_kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_file_kind" in cls.__dict__:
            _KINDS[cls._file_kind] = cls

    @abc.abstractmethod
    def _to_file(self) -> tuple[Header, dict[str, Array]]:
        """Return the model as JSON and arrays, which no thread changes any more."""

    @classmethod
    @abc.abstractmethod
    def _from_file(cls, header: Header, arrays: dict[str, Array]) -> Self:
        """Return the model that `_to_file` turned into these, or raise any error."""

    def save(self, path: _File) -> None:
        """Save the model to a file, as `river_amf.save` does.

        >>> import io, river_amf
        >>> river_amf.AMFClassifier().save(io.BytesIO())
        """
        save(self, path)

    @classmethod
    def load(cls, path: _File) -> Self:
        """Load a model of this class or a subclass as `river_amf.load` does; else raise FileError.

        >>> import io, river_amf
        >>> file = io.BytesIO()
        >>> river_amf.AMFClassifier(seed=7).save(file)
        >>> river_amf.AMFClassifier.load(io.BytesIO(file.getvalue())).seed
        7
        """
        model = load(path)
        if not isinstance(model, cls):
            what = f"an {type(model).__name__}, not an {cls.__name__}"
            raise FileError(f"{files.name_of(path)} holds {what}; river_amf.load loads any model")
        return model


def save(model: Any, path: _File) -> None:
    """Save a model, a forest of this package, to a file.

    `path` is that of the file (suggested extension `.amf`), or a file open for writing in binary
    mode, which is written at its position. An existing file is replaced once the new one is
    complete. Equal models give equal files. OSError is raised if the file cannot be written,
    TypeError or ValueError if files cannot hold the model or one of its values.

    Labels, categories and names of features may be str, bool, int, float, None, bytes, numpy
    scalars, dates, times or durations of `datetime` (naive, in UTC or at a fixed offset), or tuples
    of these; values of subclasses, such as members of a `StrEnum`, come back as what they hold.

    >>> import os, tempfile, river_amf
    >>> path = os.path.join(tempfile.mkdtemp(), "model.amf")
    >>> river_amf.save(river_amf.AMFClassifier(seed=7), path)
    >>> river_amf.load(path).seed
    7
    """
    save_with_notes(model, path, {})


def save_with_notes(model: Any, path: _File, notes: dict[str, Any]) -> None:
    """Save a model as `save` does, with an object of JSON beside it."""
    kind = getattr(type(model), "_file_kind", "")
    if _KINDS.get(kind) is not type(model):
        forest = "of an estimator est of scikit-learn, save est.model_; " * hasattr(model, "_river")
        raise TypeError(
            f"cannot save a {type(model).__name__}: files can hold {', '.join(sorted(_KINDS))}; "
            f"{forest}pickle saves other models, such as pipelines, but loading a pickle runs code "
            "from it"
        )
    about: Header = {"river_amf": __version__, "kind": kind}
    about |= {"notes": notes} if notes else {}
    about["model"], arrays = model._to_file()
    write = partial(container.write, about, arrays)
    if isinstance(path, str | os.PathLike):
        files.replace(os.fspath(path), write)
    else:
        files.check_binary(path, "write")
        archive = io.BytesIO()
        write(archive)
        if path.write(archive.getvalue()) not in (None, archive.tell()):
            raise OSError(f"{files.name_of(path)} took only a part of what was written to it")


def load(path: _File) -> Any:
    """Load a model of any class from a file, which predicts and learns exactly like the saved one.

    No code from the file is run, and every index in it is checked. A file open for reading in
    binary mode is read from its position to its end. OSError is raised if it cannot be read,
    FileError (a `ValueError`) if it is no such file, is damaged or has a later format.

    >>> import io, river_amf
    >>> file = io.BytesIO()
    >>> river_amf.AMFClassifier(seed=2).save(file)
    >>> river_amf.load(io.BytesIO(file.getvalue())).seed
    2
    """
    return load_with_header(path)[0]


def load_with_header(path: _File) -> tuple[Any, Header]:
    """Load a model as `load` does; return it and the rest of `header.json`."""
    name = files.name_of(path)
    if isinstance(path, str | os.PathLike):
        data = Path(path).read_bytes()
    else:
        files.check_binary(path, "read")
        data = path.read()
    try:
        header, arrays = container.read(data)
        kind, header = header["kind"], {"notes": {}} | header
        require(type(header["notes"]) is dict, "notes, an object,")
        for module in _MODULES:  # which add their classes to the kinds
            importlib.import_module(f"river_amf.{module}")
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
    return model, header
