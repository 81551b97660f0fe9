"""How files are written, open ones too, and what other programs see in them."""

import bz2
import functools
import gzip
import json
import multiprocessing
import os
import stat
import time
import zipfile

import numpy as np
import pytest
from files import refuse
from forests import STREAM, VARIANTS, learn, saved, state_of, trained
from numpy.lib import format as npy
from river import preprocessing

import river_amf
from river_amf import AdaptiveAMFClassifier, AMFClassifier, AMFRegressor, OnlineDummyClassifier
from river_amf import sklearn as estimators
from river_amf.persistence import FileError, container, files


@pytest.mark.parametrize("variant", ["default", "n_classes", "learned vote", "adaptive, budget"])
def test_file_is_an_archive_for_zipfile_and_numpy(path, variant):
    model = trained(STREAM[:300], **VARIANTS[variant])
    model.save(path)
    header, arrays = model._to_file()
    assert all(array.size for array in arrays.values())
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = [entry.filename for entry in archive.infolist()]
        assert names == ["header.json", *(f"{name}.npy" for name in arrays)]
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        text = archive.read("header.json").decode("ascii")
    about = {"format": container.FORMAT, "river_amf": river_amf.__version__, "arrays": [*arrays]}
    assert json.loads(text) == about | {"kind": type(model).__name__, "model": header}
    with np.load(path, allow_pickle=False) as opened:
        assert opened["header.json"] == text.encode()
        for name, array in arrays.items():
            assert (opened[name].dtype, opened[name].shape) == (array.dtype, array.shape)
            assert opened[name].tobytes() == array.tobytes()


def test_errors_of_the_system_are_those_of_open(tmp_path):
    missing, pipe = tmp_path / "missing" / "model.amf", tmp_path / "pipe"
    os.mkfifo(pipe)
    for call in (AMFClassifier().save, river_amf.load):
        with pytest.raises(FileNotFoundError) as caught:
            call(missing)
        assert caught.value.filename == str(missing)
        with pytest.raises(IsADirectoryError):
            call(tmp_path)
    with pytest.raises(OSError, match="not a regular file"):
        AMFClassifier().save(pipe)
    assert [*tmp_path.iterdir()] == [pipe]


def test_symbolic_link_stays(path):
    link = path.with_name("link")
    link.symlink_to(path)
    AMFClassifier().save(link)
    assert link.is_symlink() and isinstance(river_amf.load(path), AMFClassifier)


def test_permissions_are_of_open_or_of_the_old_file(path):
    old = os.umask(0o027)
    try:
        for mode in (0o640, 0o604):
            AMFClassifier().save(path)
            assert stat.S_IMODE(path.stat().st_mode) == mode
            path.chmod(0o604)
    finally:
        os.umask(old)


@pytest.mark.parametrize("where", ["builtins.open", "array", "os.fsync", "os.replace"])
@pytest.mark.parametrize("error", [OSError(28, "no space"), KeyboardInterrupt()])
def test_failure_leaves_the_old_file_whole(path, monkeypatch, where, error):
    AMFClassifier(seed=1).save(path)
    error = type(error)(*error.args)
    before = [(entry, entry.read_bytes()) for entry in path.parent.iterdir()]
    model = trained(STREAM[:200])
    with monkeypatch.context() as patch:
        if where == "array":
            calls = iter([npy.write_array] * 5 + [refuse(error)] * 99)
            patch.setattr(npy, "write_array", lambda *args, **more: next(calls)(*args, **more))
        else:
            patch.setattr(where, refuse(error))
        with pytest.raises(type(error)):
            model.save(path)
    assert where == "builtins.open" or str(error) in ("", f"[Errno 28] no space: '{path}'")
    assert [(entry, entry.read_bytes()) for entry in path.parent.iterdir()] == before


def test_model_goes_on_while_it_is_written(path, monkeypatch):
    model, write = trained(STREAM[:50], n_estimators=2), container.write
    before = saved(model)

    def learn_and_write(*parts):
        learn(model, STREAM[50:60])
        write(*parts)

    monkeypatch.setattr(container, "write", learn_and_write)
    model.save(path)
    assert path.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, of POSIX")
def test_files_of_killed_saves_are_removed(path):
    def save(pipe):
        files.replace(os.fspath(path), lambda file: (file.write(b"half"), pipe.recv()))

    processes = multiprocessing.get_context("fork")
    here, there = processes.Pipe()
    killed, living = (processes.Process(target=save, args=(there,)) for _ in range(2))
    for n_files, child in enumerate((killed, living), 1):
        child.start()
        while len([*path.parent.iterdir()]) < n_files:
            time.sleep(0.001)
    killed.kill()
    killed.join()
    AMFClassifier().save(path)
    assert len([*path.parent.iterdir()]) == 2  # with that of the other save
    here.send("go on")
    living.join()
    assert [*path.parent.iterdir()] == [path] and path.read_bytes() == b"half"


def test_large_arrays_are_written_as_zip64(path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 50_000)  # instead of 2 GiB
    model = trained(STREAM)
    model.save(path)
    assert saved(river_amf.load(path)) == saved(model)


def test_class_loads_subclasses_and_no_others(path):
    AdaptiveAMFClassifier(seed=3).save(path)
    for load in (AMFClassifier.load, AdaptiveAMFClassifier.load, river_amf.load):
        assert type(load(path)) is AdaptiveAMFClassifier
    AMFClassifier().save(path)
    for cls in (AdaptiveAMFClassifier, AMFRegressor):
        with pytest.raises(FileError, match=f"AMFClassifier, not an {cls.__name__}"):
            cls.load(path)


def test_other_models_cannot_be_saved(path):
    class Mine(AMFClassifier):
        pass

    pipeline = preprocessing.StandardScaler() | AMFClassifier()
    for model in (Mine(), object(), None, AMFClassifier, OnlineDummyClassifier(), pipeline):
        with pytest.raises(TypeError, match=r"cannot save a.*; pickle .*pipelines.* runs code"):
            river_amf.save(model, path)
    with pytest.raises(TypeError, match=r"cannot save a.*; of an estimator .* save est\.model_;"):
        river_amf.save(estimators.AMFClassifier(), path)
    assert not path.exists()


OPENERS = [open, functools.partial(open, buffering=0), gzip.open, bz2.open]


@pytest.mark.parametrize("opener", OPENERS)
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
