"""Models in open files: written and read at the position, to the end of the model, no further."""

import bz2
import functools
import gzip
import io
import lzma
import pickle

import pytest
from files import refuse
from forests import STREAM, trained

import river_amf
from river_amf import AMFClassifier


class Slow:
    """A file that gives a few bytes at a time, in order, and must not be read too far."""

    def __init__(self, data=b""):
        self.data, self.position = bytearray(data), 0

    def read(self, size):
        assert self.position < len(self.data), "read behind the end"
        result = bytes(self.data[self.position :][: min(size, 700)])
        self.position += len(result)
        return result

    def write(self, data):
        self.data += data


class Short(Slow):
    """A file that takes only a part of what is written to it."""

    def write(self, data):
        return len(data) - 1


def test_models_follow_one_another_in_a_file(path):
    models = [trained(STREAM[:80], n_estimators=2), AMFClassifier(seed=3), AMFClassifier(seed=4)]
    file, written, ends = io.BytesIO(), Slow(), []
    file.write(b"before")
    for model in models:
        model.save(file)
        model.save(written)
        model.save(path)
        ends.append(file.tell())
        assert file.getvalue().endswith(path.read_bytes())
    file.write(b"after")
    assert bytes(written.data) == file.getvalue()[len(b"before") : -len(b"after")]
    file.seek(len(b"before"))
    for model, end in zip(models, ends, strict=True):
        for source in (file, written):
            assert pickle.dumps(type(model).load(source)) == pickle.dumps(model)
        assert file.tell() == end == written.position + len(b"before")
    assert file.read() == b"after"


OPENERS = [open, functools.partial(open, buffering=0), gzip.open, bz2.open, lzma.open]


@pytest.mark.parametrize("opener", OPENERS)
def test_files_on_disk(path, opener):
    model = trained(STREAM[:100])
    with opener(path, "wb") as file:
        model.save(file)
        model.save(file)
    with opener(path, "rb") as file:
        for _ in range(2):
            assert pickle.dumps(river_amf.load(file)) == pickle.dumps(model)
        assert file.read() == b""


def test_files_in_text_mode_are_refused(path):
    path.touch()
    for make in (io.StringIO, functools.partial(open, path, "r+")):
        with make() as file:
            for call, mode in ((AMFClassifier().save, "wb"), (river_amf.load, "rb")):
                with pytest.raises(TypeError, match=f"is open in text mode; .* mode '{mode}'"):
                    call(file)


@pytest.mark.parametrize("other", [3, None, object, [b"a"]], ids=repr)
def test_what_is_neither_a_path_nor_a_file_is_refused(other):
    for call, method in ((AMFClassifier().save, "write"), (river_amf.load, "read")):
        with pytest.raises(TypeError, match=f"a path or a binary file with a method '{method}'"):
            call(other)


def test_errors_of_the_open_file_are_not_taken_for_damage(path):
    AMFClassifier().save(path)
    closed, broken = io.BytesIO(), Slow()
    closed.close()
    broken.read = broken.write = refuse(OSError(5, "no contact"))
    for call in (river_amf.load, AMFClassifier().save):
        with pytest.raises(ValueError, match="closed") as caught:
            call(closed)
        assert type(caught.value) is ValueError
        with pytest.raises(OSError, match="no contact"):
            call(broken)
    with open(path, "rb") as file, pytest.raises(io.UnsupportedOperation):
        AMFClassifier().save(file)
    with pytest.raises(EOFError):
        cut = gzip.compress(path.read_bytes())[:-40]
        river_amf.load(gzip.GzipFile(fileobj=io.BytesIO(cut)))
    with pytest.raises(OSError, match="the Short took only a part"):
        AMFClassifier().save(Short())
