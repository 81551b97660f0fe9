"""The error for files that cannot be loaded."""

from __future__ import annotations


class FileError(ValueError):
    """Raised if a file cannot be loaded; the message says what is wrong with it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import river_amf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.amf")
    ...     _ = path.write_text("not a model")
    ...     try:
    ...         river_amf.load(path)
    ...     except river_amf.persistence.FileError as error:
    ...         print("is not a river_amf file" in str(error))
    True
    """
