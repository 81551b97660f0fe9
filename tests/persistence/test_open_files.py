"""Models in open files: written and read at the position, to the end of the model, no further."""

import bz2
import codecs
import functools
import gzip
import io
import lzma
import os
import pickle
import random
import re
import socket
import tempfile
import threading
import zipfile

import pytest
from files import parts_in, refuse, signed, small_file
from forests import STREAM, learn, trained

import river_amf
from river_amf import AdaptiveAMFClassifier, AMFClassifier, OnlineDummyClassifier
from river_amf.persistence import FileError, container, sources


class Slow:
    """A file that gives and takes a few bytes at a time, in order, and must not be read too far."""

    def __init__(self, data=b"", piece=700):
        self.data, self.piece, self.position = bytearray(data), piece, 0

    def read(self, size):
        assert self.position < len(self.data), "read behind the end"
        result = bytes(self.data[self.position :][: min(size, self.piece)])
        self.position += len(result)
        return result

    def write(self, data):
        self.data += data[: self.piece]
        return min(len(data), self.piece)


class Silent(Slow):
    """A file whose `write` takes everything and does not say so."""

    def write(self, data):
        self.data += data


def test_an_open_file_gets_the_same_bytes_as_a_path(path):
    model = trained(STREAM[:200])
    model.save(path)
    for file in (Slow(), Silent(), io.BytesIO()):
        model.save(file)
        data = file.getvalue() if isinstance(file, io.BytesIO) else file.data
        assert bytes(data) == path.read_bytes()
    twin = river_amf.load(Slow(path.read_bytes()))
    assert pickle.dumps(twin) == pickle.dumps(model)


def test_models_follow_one_another_in_a_file():
    models = [trained(STREAM[:80], n_estimators=2), AMFClassifier(seed=3), OnlineDummyClassifier()]
    file = io.BytesIO()
    file.write(b"before")
    ends = []
    for model in models:
        model.save(file)
        ends.append(file.tell())
    file.write(b"after")
    file.seek(len(b"before"))
    stream = Slow(file.getvalue()[len(b"before") :])
    for model, end in zip(models, ends, strict=True):
        for source in (file, stream):
            assert pickle.dumps(type(model).load(source)) == pickle.dumps(model)
        assert file.tell() == end == stream.position + len(b"before")
    assert file.read() == b"after"


@pytest.mark.parametrize("limit", [100, 1000, 5000])
def test_a_large_archive_ends_where_it_ends(path, monkeypatch, limit):
    model = trained(STREAM[:100], n_estimators=2)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)  # as if it were 2 GiB
    model.save(path)
    data = path.read_bytes()
    if limit == 100:  # as the fields of more than 4 GiB: the value is in the extra field
        assert data.count(b"\xff\xff\xff\xff\xff\xff\xff\xff") > 5
    for source in (io.BytesIO(data + b"more"), Slow(data)):
        assert pickle.dumps(river_amf.load(source)) == pickle.dumps(model)


@pytest.mark.parametrize(
    "make",
    [
        tempfile.TemporaryFile,
        tempfile.NamedTemporaryFile,
        tempfile.SpooledTemporaryFile,
        functools.partial(tempfile.TemporaryFile, buffering=0),
    ],
    ids=["TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile", "unbuffered"],
)
def test_temporary_files(make):
    model = trained(STREAM[:100])
    with make() as file:
        model.save(file)
        file.seek(0)
        assert pickle.dumps(river_amf.load(file)) == pickle.dumps(model)
        assert file.read() == b""


@pytest.mark.parametrize("module", [gzip, bz2, lzma], ids=lambda module: module.__name__)
def test_compressed_files(path, module):
    model = trained(STREAM[:100])
    with module.open(path, "wb") as file:
        model.save(file)
        model.save(file)
    with module.open(path, "rb") as file:
        for _ in range(2):
            assert pickle.dumps(river_amf.load(file)) == pickle.dumps(model)


def test_a_member_of_an_archive(path):
    model = trained(STREAM[:100])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("model.amf", "w") as file:
            model.save(file)
        with archive.open("model.amf") as file:
            assert pickle.dumps(river_amf.load(file)) == pickle.dumps(model)


@pytest.mark.parametrize("buffering", [0, None], ids=["unbuffered", "buffered"])
def test_a_connection_stays_open(buffering):
    models = [trained(STREAM[:300]), trained(STREAM[:50])]
    left, right = socket.socketpair()
    modes = {} if buffering is None else {"buffering": buffering}

    def send():
        for model in models:
            with left.makefile("wb", **modes) as file:
                model.save(file)

    sender = threading.Thread(target=send)
    with left, right, right.makefile("rb", **modes) as file:
        sender.start()
        for model in models:
            assert pickle.dumps(river_amf.load(file)) == pickle.dumps(model)
        sender.join()


def test_a_pipe():
    model = trained(STREAM[:300])
    reading, writing = os.pipe()

    def send():
        with open(writing, "wb") as file:
            model.save(file)

    sender = threading.Thread(target=send)
    sender.start()
    with open(reading, "rb") as file:
        assert pickle.dumps(river_amf.load(file)) == pickle.dumps(model)
    sender.join()


def test_files_in_text_mode_are_refused(path):
    AMFClassifier().save(path)
    message = "is open in text mode; open it with mode '"
    with open(path) as file, pytest.raises(TypeError, match=re.escape(repr(str(path)))) as caught:
        river_amf.load(file)
    assert f"{message}rb'" in str(caught.value)
    for make in (
        io.StringIO,
        functools.partial(tempfile.TemporaryFile, "w+"),
        functools.partial(tempfile.NamedTemporaryFile, "w+"),
        functools.partial(codecs.open, path.with_name("other"), "w+", encoding="utf-8"),
    ):
        with make() as file:
            for call, mode in ((AMFClassifier().save, "wb"), (river_amf.load, "rb")):
                with pytest.raises(TypeError, match=f"{message}{mode}'"):
                    call(file)

    class Texts:
        def read(self, size):
            return "PK"

    with pytest.raises(TypeError, match="the Texts is open in text mode"):
        river_amf.load(Texts())


@pytest.mark.parametrize("other", [3, None, 1.5, True, object, [b"a"]], ids=repr)
def test_what_is_neither_a_path_nor_a_file_is_refused(other):
    with pytest.raises(TypeError, match="a path or a binary file that is open for writing, got "):
        AMFClassifier().save(other)
    with pytest.raises(TypeError, match="a path or a binary file that is open for reading, got "):
        river_amf.load(other)


def test_errors_of_the_open_file_are_not_taken_for_damage(path):
    AMFClassifier().save(path)
    closed = io.BytesIO()
    closed.close()
    for call in (river_amf.load, AMFClassifier().save):
        with pytest.raises(ValueError, match="closed") as caught:
            call(closed)
        assert type(caught.value) is ValueError
    with open(path, "rb") as file, pytest.raises(io.UnsupportedOperation):
        AMFClassifier().save(file)
    for mode in ("ab", "r+b"):
        with open(path, mode) as file:
            broken = Slow()
            broken.read = broken.write = refuse(OSError(5, "no contact"))
            for call in (river_amf.load, AMFClassifier().save):
                with pytest.raises(OSError, match="no contact"):
                    call(broken)
    with open(path, "ab", buffering=0) as file, pytest.raises(io.UnsupportedOperation):
        river_amf.load(file)
    data = path.read_bytes()
    with pytest.raises(EOFError):
        river_amf.load(gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data)[:-40])))


def test_a_file_that_does_not_wait_is_refused():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    model = trained(STREAM[:2000], n_estimators=10)  # more than a pipe holds
    with open(writing, "wb", buffering=0) as sink, open(reading, "rb", buffering=0) as source:
        with pytest.raises(BlockingIOError, match="must not be non-blocking"):
            river_amf.load(source)
        with pytest.raises(BlockingIOError, match="must not be non-blocking"):
            model.save(sink)


def test_what_cannot_be_saved_is_found_before_anything_is_written():
    file = io.BytesIO()
    with pytest.raises(TypeError, match="cannot save label"):
        learn(AMFClassifier(), [({"a": 1}, frozenset(), 1.0)]).save(file)
    with pytest.raises(TypeError, match="cannot save the array"):
        container.write(
            file, {"river_amf": "0.1"}, {"a/b": OnlineDummyClassifier()._to_file()[1]["counts"]}
        )
    assert file.getvalue() == b""


def test_messages_name_the_open_file(path):
    for source, name in ((io.BytesIO(b"no model"), "the BytesIO"), (Slow(b"none"), "the Slow")):
        with pytest.raises(FileError, match=f"^{name} is not a river_amf file"):
            river_amf.load(source)
    path.write_bytes(b"no model")
    with (
        open(path, "rb") as file,
        pytest.raises(FileError, match=re.escape(f"the file {str(path)!r} is")),
    ):
        river_amf.load(file)
    file = io.BytesIO()
    AMFClassifier().save(file)
    file.seek(0)
    with pytest.raises(FileError, match=r"^the BytesIO holds an AMFClassifier, not an AdaptiveAMF"):
        AdaptiveAMFClassifier.load(file)
    with pytest.raises(FileError, match=r"^the BytesIO is empty"):
        river_amf.load(file)


class Once(io.BytesIO):
    """A file that can only be read in order."""

    def seekable(self):
        return False

    def seek(self, *_):
        raise io.UnsupportedOperation("seek")


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.soak)])
def test_a_truncated_model_in_an_open_file_says_so(path, step):
    data = small_file(path)
    for length in {*range(0, len(data), step), *range(len(data) - 90, len(data))}:
        for kind in (io.BytesIO, Once):
            with pytest.raises(FileError, match="is truncated" if length else "is empty"):
                river_amf.load(kind(data[:length]))


def damaged(data, rng):
    """Return a file with a few bytes changed, cut out, repeated or put elsewhere."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        start = rng.randrange(len(data))
        end = min(start + rng.choice([1, 2, 4, 8, 50, 1000]), len(data))
        kind = rng.randrange(6)
        if kind == 0:
            data[start] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[start:end] = rng.randbytes(end - start)
        elif kind == 2:
            data[start:end] = rng.choice([b"\0", b"\xff"]) * (end - start)
        elif kind == 3:
            del data[start:end]
        elif kind == 4:
            place = rng.randrange(len(data))
            data[place:place] = data[start:end]
        else:
            del data[start:]
        if len(data) < 100:
            break
    return bytes(data)


@pytest.mark.parametrize("n_edits", [150, pytest.param(20_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("is_signed", [False, True])
def test_random_damage_is_refused_or_harmless_however_the_file_is_read(path, n_edits, is_signed):
    data = small_file(path)
    expected = parts_in(river_amf.load(path), path)[0]
    n_loaded = 0
    for number in range(n_edits):
        other = damaged(data, random.Random(f"damage {number}"))
        if is_signed and len(other) > 64:
            other = signed(other)
        path.write_bytes(other)
        answers = set()
        for source in (str(path), io.BytesIO(other), Once(other)):
            try:
                header, _ = container.read(source)
                answers.add(header == expected or is_signed)
            except FileError:
                answers.add(None)
        # an open file may go on after the model, and a path may not
        assert answers <= {None, True}, number
        n_loaded += True in answers
        try:
            river_amf.load(Once(other))
        except FileError:
            continue
    assert n_loaded < n_edits


def test_a_window_is_a_file_of_its_own():
    file = io.BytesIO(b"0123456789")
    window = sources._window(file, 2, 5)
    assert window.read() == b"23456"
    assert window.seek(-2, os.SEEK_END) == 3
    assert window.read(9) == b"56"
    assert window.seek(2**62) == 2**62 and window.read(1) == b""
    with pytest.raises(ValueError, match="cannot seek to -1"):
        window.raw.seek(-1)
