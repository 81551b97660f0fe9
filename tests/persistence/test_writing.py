"""How a file is written, and what other programs see in it."""

import hashlib
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from files import error_of, refuse, reloaded, small_file, subprocess_env
from forests import STREAM, VARIANTS, learn, trained

import river_amf
from river_amf import AMFClassifier, OnlineDummyClassifier
from river_amf.persistence import container

# What other programs see in a file


# The same arrays in all forests, of which some are empty in some.
@pytest.mark.parametrize("variant", ["default", "n_classes", "learned vote", "adaptive, budget"])
def test_a_file_is_an_archive_that_zipfile_and_numpy_open(path, variant):
    model = trained(STREAM[:300], **VARIANTS[variant])
    model.save(path)
    header, arrays = model._to_file()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = [entry.filename for entry in archive.infolist()]
        assert names == ["header.json", *(f"{name}.npy" for name in arrays)]
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        text = archive.read("header.json").decode("ascii")
        comment = archive.comment.decode("ascii")
    assert json.loads(text) == {
        "format": container.FORMAT,
        "river_amf": river_amf.__version__,
        "kind": type(model).__name__,
        "model": header,
    }
    digest = hashlib.sha256(path.read_bytes()[:-64]).hexdigest()  # head -c -64 FILE | sha256sum
    assert comment == f"sha256:{digest}"
    with np.load(path, allow_pickle=False) as opened:
        assert opened["header.json"] == text.encode()
        for name, array in arrays.items():
            assert opened[name].dtype == array.dtype
            assert opened[name].shape == array.shape
            assert opened[name].tobytes() == array.tobytes()


def test_a_file_is_listed_and_unpacked(path, tmp_path):
    small_file(path)
    command = [sys.executable, "-m", "zipfile"]
    listed = subprocess.run([*command, "-l", str(path)], capture_output=True, text=True, check=True)
    assert "nodes.npy" in listed.stdout
    subprocess.run([*command, "-e", str(path), str(tmp_path / "folder")], check=True)
    nodes = np.load(tmp_path / "folder" / "nodes.npy", allow_pickle=False)
    assert nodes.tobytes() == container.read(str(path))[1]["nodes"].tobytes()


@pytest.mark.parametrize("limit", [100, 1000, 5000, 20_000])
def test_an_archive_beyond_2_gib_comes_back(path, monkeypatch, limit):
    model = trained(STREAM[:100], n_estimators=2)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)  # as if it were 2 GiB
    twin = reloaded(model, path)
    assert pickle.dumps(twin) == pickle.dumps(model)
    with np.load(path) as opened:
        for name, array in model._to_file()[1].items():
            assert opened[name].tobytes() == array.tobytes()
    data = path.read_bytes()
    assert b"PK\6\6" in data or limit == 20_000
    for length in range(0, len(data), 97):
        path.write_bytes(data[:length])
        error_of(path)


@pytest.mark.parametrize(
    "name, array",
    [
        *((name, np.zeros(3)) for name in ("", "a/b", "../a", "a.npy", "a b", "\xe4")),
        *(("a", np.zeros(3, kind)) for kind in ("f4", "O", "U3", "c16", "V8", "(2,)f8,f8")),
        ("a", np.zeros(3, np.dtype("i4,f8", align=True))),
    ],
)
def test_arrays_that_would_not_come_back_are_not_written(path, name, array):
    with pytest.raises(TypeError, match=r"cannot save the array '.*' of "):
        container.write(str(path), {"river_amf": "0.1"}, {"first": np.zeros(3), name: array})
    assert not [*path.parent.iterdir()]


# How a file is written


def test_paths_may_be_texts_or_path_like(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("a file.amf", Path("a file.amf"), str(tmp_path / "ä")):
        assert reloaded(AMFClassifier(seed=5), path).seed == 5
    for path in (3, None, 1.5):
        with pytest.raises(TypeError):
            AMFClassifier().save(path)
        with pytest.raises(TypeError):
            river_amf.load(path)


def test_errors_of_the_system_are_those_of_open(tmp_path):
    missing = tmp_path / "missing" / "model.amf"
    with pytest.raises(FileNotFoundError) as caught:
        AMFClassifier().save(missing)
    assert caught.value.filename == str(missing)
    with pytest.raises(FileNotFoundError):
        river_amf.load(missing)
    for empty in ("", b""):
        for call in (AMFClassifier().save, river_amf.load):
            with pytest.raises(FileNotFoundError) as caught:
                call(empty)
            assert caught.value.filename == ""
    with pytest.raises(IsADirectoryError):
        AMFClassifier().save(tmp_path)
    with pytest.raises(IsADirectoryError):
        river_amf.load(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="no such device here")
def test_a_device_is_not_replaced(tmp_path):
    device = tmp_path / "device"
    device.symlink_to(os.devnull)
    with pytest.raises(OSError, match="not a regular file"):
        AMFClassifier().save(device)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_those_that_open_would_give(path):
    old = os.umask(0o027)
    try:
        AMFClassifier().save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        AMFClassifier().save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(old)


def test_a_symbolic_link_stays_and_its_target_is_replaced(path, tmp_path):
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target.amf"
    path.symlink_to(target)
    for seed in (1, 2):
        AMFClassifier(seed=seed).save(path)
        assert path.is_symlink()
        assert river_amf.load(target).seed == seed


NO_SPACE = OSError(28, "no space")


@pytest.mark.parametrize(
    ("exists", "where", "error"),
    [
        *((True, where, NO_SPACE) for where in ("os.fsync", "os.replace", "pieces", "late piece")),
        *((False, where, NO_SPACE) for where in ("os.fsync", "os.replace", "pieces")),
        (True, "os.chmod", NO_SPACE),  # permissions are those of a file that exists
        (True, "os.replace", KeyboardInterrupt()),
        (False, "late piece", KeyboardInterrupt()),
        (True, "pieces", MemoryError()),
        (False, "os.fsync", MemoryError()),
    ],
)
def test_a_failure_leaves_the_old_file_whole(path, monkeypatch, where, error, exists):
    if exists:
        AMFClassifier(seed=1).save(path)
    before = [(entry, entry.read_bytes()) for entry in path.parent.iterdir()]
    model = trained(STREAM[:200])
    learnt = pickle.dumps(model)
    with monkeypatch.context() as patch:
        if where == "pieces":
            patch.setattr(container, "_pieces", refuse(error))
        elif where == "late piece":
            calls = iter([container._pieces] * 5 + [refuse(error)] * 99)
            patch.setattr(container, "_pieces", lambda array: next(calls)(array))
        else:
            patch.setattr(where, refuse(error))
        with pytest.raises(type(error)):
            model.save(path)
    assert [(entry, entry.read_bytes()) for entry in path.parent.iterdir()] == before
    assert pickle.dumps(model) == learnt


@pytest.mark.slow
def test_a_process_that_dies_leaves_the_old_file_whole(path):
    AMFClassifier(seed=1).save(path)
    before = path.read_bytes()
    script = (
        "import os, sys, river_amf; os.fsync = lambda _: os._exit(9);"
        "river_amf.AMFClassifier().save(sys.argv[1])"
    )
    result = subprocess.run([sys.executable, "-c", script, str(path)], env=subprocess_env())
    assert result.returncode == 9
    assert path.read_bytes() == before


def test_a_header_that_is_too_long_is_neither_saved_nor_read(path, monkeypatch):
    model = learn(OnlineDummyClassifier(), [({}, "a" * 1000, 1.0)])
    model.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(container, "LONGEST_HEADER", 1000)
    assert "its header claims to have 1" in error_of(path)
    with pytest.raises(ValueError, match=r"labels, categories and names take 1\d\d\d bytes"):
        model.save(path)
    assert path.read_bytes() == before
