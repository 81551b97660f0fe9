"""Models in open files, at the position and to the end."""

import bz2
import functools
import gzip

import pytest
from forests import STREAM, state_of, trained

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
        assert state_of(AMFClassifier.load(file)) == state_of(model)


@pytest.mark.parametrize(
    ("call", "method"), [(AMFClassifier().save, "write"), (river_amf.load, "read")]
)
def test_other_places_are_refused(path, call, method):
    path.touch()
    with open(path, "r+") as file:  # in text mode
        for other in (3, None, [b"a"], file):
            with pytest.raises(TypeError, match=f"path or a binary file with a method '{method}'"):
                call(other)


def test_file_that_takes_a_part_is_an_error():
    class Short:
        write = staticmethod(lambda data: len(data) - 1)

    with pytest.raises(OSError, match="the Short took only a part"):
        AMFClassifier().save(Short())
