"""Files that are no models, or no longer: an error names what is wrong, and nothing is run."""

import io
import json
import math
import pickle
import random
import re
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import edits
import pytest
from files import (
    RAW,
    UNTRAINED,
    archive_of,
    error_of,
    file_of,
    npy_of,
    refuse,
    samples,
    set_of_last,
    targets,
)
from forests import learn, saved

import river_amf
from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.persistence import FileError, container

BIAS = npy_of()  # an empty array, as if there were no classes
HEADER = ("header.json", json.dumps(RAW | {"arrays": ["bias"]}).encode())
SIZES = "file_size", "compress_size"


def test_truncated_file_is_refused(path):
    learn(AMFClassifier(1, seed=1), samples(12)).save(path)
    data = path.read_bytes()
    for length in {0, *range(41, len(data), 41), *range(len(data) - 90, len(data))}:
        path.write_bytes(data[:length])
        expected = "is damaged: BadZipFile" if length > 3 else "is not a river_amf file"
        assert expected in error_of(path)


class Exploit:
    def __reduce__(self):
        return Path.touch, (Path("touched"),)


FOREIGN = {
    "pickle": pickle.dumps(Exploit()),
    "empty zip": archive_of([]),
    "json": b'{"river_amf": "0.1"}',
    "other names": archive_of([("bias.npy", b""), ("header.txt", b"{}")]),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_file_runs_nothing(path, monkeypatch, name):
    monkeypatch.chdir(path.parent)
    path.write_bytes(FOREIGN[name])
    assert "is not a river_amf file" in error_of(path)
    assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize("version", ["7.3.1", "\x1b]0;\u202e" + "9" * 10**6])
def test_newer_file_names_the_version(path, version):
    header = {"format": container.FORMAT + 1, "river_amf": version, "members": "of another kind"}
    path.write_bytes(file_of(header, model=b"of another kind"))
    message = error_of(path)
    assert f"was saved by river_amf {ascii(version)[:40]} in format " in message
    assert f"this is river_amf {river_amf.__version__}, which reads formats up to 1: up" in message
    assert message.isascii() and message.isprintable() and len(message) < 1000


DEEP = b"[" * 3000 + b"]" * 3000
HEADERS = [
    *((text, "Error: ") for text in (b"", b"{", b"\xff\xfe", b"{} {}", DEEP, b"[]", b"3")),
    (b'{"format": 1, "river_amf": NaN}', "'NaN'"),
    ({"river_amf": "0.1"}, "KeyError: 'format'"),
    (UNTRAINED | {"format": True}, "its format must be an integer >= 1, got "),
    ({"format": 1}, "its river_amf, the version that wrote it,"),
    ({"format": 1, "river_amf": "0.1"}, "KeyError: 'kind'"),
    (UNTRAINED | {"model": 0.5}, "is damaged"),
    (UNTRAINED | {"model": {"b": 1}}, "its entries ['b'] cannot be"),
    *((UNTRAINED | {"kind": kind}, "kind") for kind in ("Other", "antigravity.x", None, ["Raw"])),
]


@pytest.mark.parametrize("header, message", HEADERS, ids=lambda item: str(item)[:40])
def test_malformed_header_is_refused(path, header, message):
    path.write_bytes(file_of(header, bias=BIAS))
    assert message in error_of(path)
    assert "antigravity" not in sys.modules


ARRAYS = [b"", b"\x93NUMPY", b"\x94NUMPY" + BIAS[6:], BIAS[:8] + b"\xff\xff" + BIAS[10:]]
ARRAYS += [npy_of(version=b"\2\0"), npy_of(data=bytes(9), shape="(1,)"), npy_of(order="True")]
ARRAYS += [BIAS.replace(b"descr", b"dtype"), BIAS.replace(b"'<f8'", b"((((("), npy_of(" " * 20_000)]
DTYPES = ["'O'", "'>f8'", "'<f4'", "'<U4'", "'<U999999999999'", "''", "None", "[('x', 'O')]"]
ARRAYS += map(npy_of, [*DTYPES, "('<f8', (2**40,))", "[('x', '<f8')]"])
ARRAYS += [npy_of(shape=shape) for shape in ("(-1,)", "(0.0,)", "'12'", "0", "(0,) * 99", "(1,)")]


DIRECTORIES = [
    *(set_of_last("compress_type", value=value) for value in (1, 8, 99)),
    *(set_of_last(*SIZES, value=value) for value in (0, 10, 10**4, 2**62)),
    *(set_of_last("header_offset", value=value) for value in (0, 1, 10**4, 2**62)),
]
NAMES = ["../bias.npy", "/bias.npy", "bias", ".npy", "bias.npz", "bias.npy/", "header.json.npy"]
MALFORMED = [
    *((file_of(RAW, bias=array), "") for array in ARRAYS),
    *((file_of(RAW, edit, bias=BIAS), "") for edit in DIRECTORIES),
    *((archive_of([HEADER, (name, BIAS)]), "its list of arrays, from") for name in NAMES),
]


@pytest.mark.parametrize(("data", "message"), MALFORMED, ids=range(len(MALFORMED)))
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_malformed_archive_is_refused(path, data, message):
    path.write_bytes(file_of(RAW, bias=BIAS))
    assert river_amf.load(path)[1]["bias"].shape == (0,)
    path.write_bytes(data)
    assert f"is damaged: {message}" in error_of(path)


def test_compressed_member_is_refused(path):
    members = [HEADER, ("bias.npy", npy_of(shape=f"({10**6},)", data=bytes(8 * 10**6)))]
    path.write_bytes(archive_of(members, compression=zipfile.ZIP_DEFLATED))
    assert path.stat().st_size < 10_000 and "compression, of which" in error_of(path)


@pytest.mark.parametrize("shape", [[10**18], [2**39] * 8, [2**39, 0, 2**39], [10**9], [2**64]])
def test_absurd_sizes_allocate_nothing(path, shape):
    array = npy_of(shape=str(tuple(shape)), data=bytes(8))
    size = min(len(array) - 8 + 8 * math.prod(shape), 2**63)
    for edit in (lambda entries: None, set_of_last(*SIZES, value=size)):
        path.write_bytes(file_of(RAW, edit, bias=array))
        tracemalloc.start()
        error_of(path)
        assert tracemalloc.get_traced_memory()[1] < 500_000
        tracemalloc.stop()


def test_flipped_byte_gives_no_other_model(path):
    learn(AMFClassifier(1, seed=1), samples(12)).save(path)
    data, rng, n_refused = path.read_bytes(), random.Random(1), 0
    starts = [match.start() for match in re.finditer(b"PK[\1\3\5]", data)]  # of zip's records
    places = {start + k for start in starts for k in range(65)} & {*range(len(data))}
    for place in [*places, *rng.sample(range(len(data)), 300)]:
        damaged = bytearray(data)
        damaged[place] ^= rng.randrange(1, 256)
        try:
            assert saved(river_amf.load(io.BytesIO(damaged))) == data, place
        except FileError:
            n_refused += 1
    assert n_refused > len(places) / 2


def test_lack_of_memory_names_the_file(path, monkeypatch):
    AMFClassifier().save(path)
    monkeypatch.setattr(container, "read", refuse(MemoryError()))
    with pytest.raises(MemoryError, match=r"not enough memory to load the file '.*model.amf'"):
        river_amf.load(path)


KINDS = [
    AMFClassifier(2, seed=1, on_mismatch="missing", max_categories=3),
    AdaptiveAMFClassifier(2, seed=1, drift_threshold=0.01, max_nodes=41),
    AdaptiveAMFClassifier(2, seed=1, absent="zero"),
    AMFRegressor(2, seed=1, fading_factor=0.5, split_intensity="relevance", max_nodes=41),
    AdaptiveAMFRegressor(2, seed=1),
]


def test_damaged_files_are_refused_or_work(tmp_path, n_edits=60):
    paths = [str(tmp_path / f"{i}.amf") for i in range(len(KINDS))]
    for path, model in zip(paths, KINDS, strict=True):
        is_regressor = isinstance(model, AMFRegressor)
        model = learn(model.clone(), targets(120) if is_regressor else samples(120))
        for x, _, _ in samples(9):  # whose labels come late
            model.predict_one(x)
        model.save(path)
    command = [sys.executable, "-X", "faulthandler", edits.__file__, "7", str(n_edits), *paths]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    n_refused, n_loaded = map(int, result.stdout.split())
    assert n_refused + n_loaded == n_edits * len(paths)
    assert min(n_refused, n_loaded) > n_edits * len(paths) / 10
