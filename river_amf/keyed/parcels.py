"""Models as bytes: those of this package as a file of `save`, all others as a pickle."""

from __future__ import annotations

import io
import pickle
from typing import Any

from river_amf.persistence import Saved, load, save

_FILE, _PICKLE = "amf", "pickle"


def pack(model: Any) -> tuple[str, bytes]:
    """Return what kind of bytes a model becomes, and the bytes.

    >>> from river.linear_model import LogisticRegression
    >>> kind, data = pack(LogisticRegression())
    >>> kind, unpack(kind, data)
    ('pickle', LogisticRegression (...))
    """
    # Not isinstance, which is also true of a river pipeline that ends in a forest.
    if issubclass(type(model), Saved):
        file = io.BytesIO()
        try:
            save(model, file)
        except (TypeError, ValueError):  # a label that files cannot hold, or a class of its own
            pass
        else:
            return _FILE, file.getvalue()
    return _PICKLE, pickle.dumps(model, pickle.HIGHEST_PROTOCOL)


def unpack(kind: str, data: bytes) -> Any:
    """Return the model in some bytes."""
    return load(io.BytesIO(data)) if kind == _FILE else pickle.loads(data)
