"""Models in open files, at the position and to the end."""

import bz2
import functools
import gzip
import io
import pickle

import pytest
from files import refuse
from forests import STREAM, trained

import river_amf
from river_amf import AMFClassifier


@pytest.mark.parametrize(
    "opener", [open, functools.partial(open, buffering=0), gzip.open, bz2.open]
)
def test_open_files_are_used_from_their_position(path, opener):
    model = trained(STREAM[:80], n_estimators=2)
    with opener(path, "wb") as file:
        file.write(b"before")
        model.save(file)
    with opener(path, "rb") as file:
        assert file.read(6) == b"before"
        assert pickle.dumps(AMFClassifier.load(file)) == pickle.dumps(model)


@pytest.mark.parametrize(
    ("call", "method"), [(AMFClassifier().save, "write"), (river_amf.load, "read")]
)
def test_other_places_are_refused(path, call, method):
    path.touch()
    for other in (3, None, [b"a"]):
        with pytest.raises(TypeError, match=f"a path or a binary file with a method '{method}'"):
            call(other)
    with open(path, "r+") as file, pytest.raises(TypeError, match=f"text mode; .*{method[0]}b'"):
        call(file)


class Short:
    """A file that takes only a part of what is written to it, and has nothing to read."""

    write = staticmethod(lambda data: len(data) - 1)
    read = staticmethod(refuse(OSError(5, "no contact")))


CLOSED = io.BytesIO()
CLOSED.close()


@pytest.mark.parametrize(
    ("call", "file", "kind", "message"),
    [
        (river_amf.load, CLOSED, ValueError, "closed"),
        (AMFClassifier().save, CLOSED, ValueError, "closed"),
        (river_amf.load, Short(), OSError, "no contact"),
        (AMFClassifier().save, Short(), OSError, "the Short took only a part"),
    ],
)
def test_errors_of_open_files_come_out(call, file, kind, message):
    with pytest.raises(kind, match=message):
        call(file)
