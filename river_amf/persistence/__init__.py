"""Models in files: `save` and `load`.

A file is a zip archive of JSON and arrays (see `container`), and what is loaded from it behaves as
the model that was saved, from its predictions to all that it learns from then on. No code is run to
load a model, and a file from a stranger can do no more than raise an error or predict badly.
"""

from __future__ import annotations

import abc
import importlib
import os
from typing import Any, ClassVar, Self

from river_amf._version import __version__
from river_amf.encoding import shown
from river_amf.persistence import container
from river_amf.persistence.container import Array, FileError, Header

__all__ = ["FileError", "PathLike", "Saved", "load", "save"]

PathLike = str | os.PathLike[str]

_KINDS: dict[str, type[Saved]] = {}
# where kinds with a dot are defined, by what is before it
_MODULES = {"sklearn": "river_amf.sklearn"}
# what reading the contents of a file that is not ours may meet
_MISFITS = (ArithmeticError, AttributeError, LookupError, TypeError)


class Saved:
    """Mixin: models that can be saved to a file, and loaded.

    A class names itself in `_file_kind`, gives JSON and arrays in `_to_file`, and makes a model of
    them in `_from_file`, which must take any JSON and any arrays and raises `FileError` for those
    that it has not written. A subclass that names no kind of its own cannot be saved.

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
                "give it one of its own"
            )
        _KINDS[kind] = cls  # a class may be defined again, in a notebook

    @abc.abstractmethod
    def _to_file(self) -> tuple[Header, dict[str, Array]]:
        """Return what makes the model, as JSON and arrays."""

    @classmethod
    @abc.abstractmethod
    def _from_file(cls, header: Header, arrays: dict[str, Array]) -> Self:
        """Return the model that `_to_file` has made these of, or raise FileError."""

    def save(self, path: PathLike) -> None:
        """Save the model to a file, as `river_amf.save` does.

        Parameters
        ----------
        path
            Name of the file; one that exists is replaced, once the new one is whole.

        Raises
        ------
        OSError
            If the file cannot be written, as `open` would.
        TypeError
            If a label, a category or a feature's name is of a type that files do not take.
        ValueError
            If all of these take more than 1 GiB, or `model_` of a scikit-learn estimator has learnt
            other columns or classes by itself.

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
    def load(cls, path: PathLike) -> Self:
        """Load a model of this class, or of one derived from it, from a file.

        Parameters
        ----------
        path
            Name of the file.

        Returns
        -------
        A model with the same predictions and the same future as the one that was saved.

        Raises
        ------
        OSError
            If the file cannot be read, as `open` would.
        FileError
            A `ValueError`: if it is no file of river_amf, truncated, changed or of a later format,
            or if it holds a model of another class.

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
        holds an AMFClassifier, no OnlineDummyClassifier; river_amf.load(path) loads any
        """
        model = load(path)
        if not isinstance(model, cls):
            raise FileError(
                f"the file {os.fsdecode(path)!r} holds an {type(model).__name__}, no "
                f"{cls.__name__}; river_amf.load(path) loads any"
            )
        return model


def save(model: Any, path: PathLike) -> None:
    """Save a model to a file.

    It goes to a temporary file beside `path` first, which then takes that name: whatever happens on
    the way, the file that was there before stays whole. (If the process is killed meanwhile, the
    temporary file stays too: `.river_amf-*.tmp`.) The model is left as it was, and models that are
    equal give equal files. What else has been set on the object is not saved.

    Parameters
    ----------
    model
        A model of this package, trained or not.
    path
        Name of the file; a file that exists is replaced. `.amf` is a good ending.

    Raises
    ------
    OSError
        If the file cannot be written, as `open` would.
    TypeError
        If the model is none of this package. Or if a label, a category or the name of a feature is
        neither str, bool, int, float, None, a numpy scalar of these, nor a tuple of them.
    ValueError
        If labels, categories and names of features take more than 1 GiB, or `model_` of a
        scikit-learn estimator has learnt other columns or classes by itself.

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
    name = os.fsdecode(path)
    kind = getattr(type(model), "_file_kind", None)
    if kind is None or _KINDS.get(kind) is not type(model):
        raise TypeError(
            f"cannot save a {type(model).__name__}: files hold {', '.join(sorted(_KINDS))}; a "
            "class derived from one of them needs a _file_kind of its own, see "
            "river_amf.persistence.Saved"
        )
    header, arrays = model._to_file()
    container.write(name, {"river_amf": __version__, "kind": kind, "model": header}, arrays)


def load(path: PathLike) -> Any:
    """Load a model of whatever class from a file.

    Parameters
    ----------
    path
        Name of a file that `save` has written.

    Returns
    -------
    A model with the same predictions and the same future as the one that was saved.

    Raises
    ------
    OSError
        If the file cannot be read, as `open` would.
    FileError
        A `ValueError`: if it is no file of river_amf, truncated, changed or of a later format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import river_amf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.amf")
    ...     river_amf.AdaptiveAMFClassifier(seed=1).save(path)
    ...     river_amf.load(path).seed
    1
    """
    name = os.fsdecode(path)
    try:
        header, arrays = container.read(name)
        kind, model = container.take(header, "kind"), container.take(header, "model")
        return _class_of(kind)._from_file(model, arrays)
    except FileError as error:
        raise FileError(f"the file {name!r} {error}") from None
    except ValueError as error:  # of a parameter, say
        raise FileError(f"the file {name!r} is damaged: {error}") from error
    except _MISFITS as error:
        raise FileError(
            f"the file {name!r} is damaged: its parts do not fit together "
            f"({type(error).__name__}: {error})"
        ) from error


def _class_of(kind: Any) -> type[Saved]:
    """Return the class of a kind of file; one that is not imported yet is."""
    if type(kind) is str:
        module, dot, _ = kind.partition(".")
        if dot and module in _MODULES:
            importlib.import_module(_MODULES[module])
        if kind in _KINDS:
            return _KINDS[kind]
    raise FileError(f"holds a model of the kind {shown(kind)}, which this release does not know")
