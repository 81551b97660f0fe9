"""Files that are no models, or no longer: what is wrong is said, and nothing is run or held."""

import io
import json
import math
import pickle
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import edits
import numpy as np
import pytest
from edits import archive_of, members_of, set_of_last
from files import (
    BIAS,
    RAW,
    UNTRAINED,
    described,
    edited_error,
    error_of,
    file_of,
    npy_of,
    parts_in,
    refuse,
    small_file,
    subprocess_env,
)
from forests import learn, trained

import river_amf
from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.persistence import FileError, container, values


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.soak)])
def test_a_file_of_another_length_says_so(path, step):
    data = small_file(path)
    for length in {0, *range(step, len(data), step), *range(len(data) - 90, len(data))}:
        path.write_bytes(data[:length])
        expected = "is truncated" if length > 52 else "is not a river_amf" if length else "is empty"
        assert expected in error_of(path)
        with pytest.raises(FileError, match=expected):
            river_amf.load(io.BytesIO(data[:length]))
    for more in (b"\n", bytes(22), b"PK", data):
        path.write_bytes(data + more)
        message = (
            f"extra bytes after its end: it has {len(data + more)} bytes in place of {len(data)}"
        )
        assert error_of(path).endswith(message)


@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.soak)])
def test_a_file_with_a_single_byte_changed_is_refused_or_the_same(path, step):
    data = bytearray(small_file(path))
    expected = pickle.dumps(river_amf.load(path))
    n_loaded = 0
    for place in range(0, len(data), step):
        for change in (0x01, 0x10, 0x80, 0xFF):
            data[place] ^= change
            path.write_bytes(data)
            try:
                model = river_amf.load(path)
            except FileError:
                pass
            else:  # a time or a permission of a member, which mean nothing
                n_loaded += 1
                assert pickle.dumps(model) == expected
            data[place] ^= change
    assert n_loaded < len(data) * 4 / step / 5


def foreign_files():
    array, archive = io.BytesIO(), io.BytesIO()
    np.savez(array, a=np.arange(3))
    zipfile.ZipFile(archive, "w").close()
    return {
        "pickle": pickle.dumps(AMFClassifier()),
        "npz": array.getvalue(),
        "empty zip": archive.getvalue(),
        "zeros": bytes(999),
        "json": b'{"river_amf": "0.1"}',
        "the array first": archive_of([("bias.npy", b""), ("header.json", b"{}")]),
    }


@pytest.mark.parametrize("name", foreign_files())
def test_a_foreign_file_says_so(path, name):
    path.write_bytes(foreign_files()[name])
    assert "is not a river_amf file" in error_of(path)


class Exploit:
    def __reduce__(self):
        return Path.touch, (Path("touched"),)


def test_a_pickle_is_not_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path.write_bytes(pickle.dumps(Exploit()))
    assert "seems to be a pickle" in error_of(path)
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("version", ["7.3.1", None, "\x1b]0;\u202e" + "9" * 10**6])
@pytest.mark.parametrize("format_", [container.FORMAT + 1, 10**4000])
def test_a_newer_file_says_so(path, version, format_):
    header = {"format": format_, "river_amf": version, "members": "of another kind"}
    path.write_bytes(file_of(header, model=b"of another kind"))
    message = error_of(path)
    assert f"was saved by river_amf {ascii(version)[:40]} in format " in message
    assert f"this is river_amf {river_amf.__version__}, which reads formats up to 1: up" in message
    assert message.isascii() and message.isprintable() and len(message) < 1000


SIZES = "file_size", "compress_size"

# Headers, arrays and members that make no sense


@pytest.mark.parametrize(
    "header, message",
    [
        *((text, "Error: ") for text in (b"", b"{", b"\xff\xfe", b"{} {}")),
        *((text, "in place of an object with 'format'") for text in (b"[]", b"3", b'"format"')),
        (b'{"format": 1, "river_amf": NaN}', "'NaN'"),
        (b'{"format": ' + b"1" * 10_000 + b', "river_amf": "0.1"}', "is damaged"),
        ({"river_amf": "0.1"}, "its header lacks 'format'"),
        *(
            (UNTRAINED | {"format": number}, "its format must be an integer >= 1, got ")
            for number in (0, -1, 1.0, "1", True, None)
        ),
        ({"format": 1}, "its river_amf, the version that wrote it,"),
        (UNTRAINED | {"river_amf": 0.1}, "its river_amf, the version that wrote it,"),
        ({"format": 1, "river_amf": "0.1"}, "its header lacks 'kind'"),
        ({"format": 1, "river_amf": "0.1", "kind": "AMFClassifier"}, "its header lacks 'model'"),
        (UNTRAINED | {"model": 0.5}, "0.5 in place of an object with 'parameters'"),
        (UNTRAINED | {"model": []}, "[] in place of an object with 'parameters'"),
        (UNTRAINED | {"model": {"parameters": 3}}, "its parameters must be an object with some of"),
        (UNTRAINED | {"model": {"parameters": {"b": 1}}}, "got {'b': 1}"),
        (UNTRAINED | {"model": {"labels": {}}}, "a list with one label per item is not a list"),
        (UNTRAINED | {"model": {"b": 1}}, "its entries ['b'] cannot be"),
    ],
    ids=lambda item: str(item)[:40],
)
def test_a_header_that_makes_no_sense_is_refused(path, header, message):
    path.write_bytes(file_of(header, bias=BIAS))
    assert "is damaged" in error_of(path) and message in error_of(path)


@pytest.mark.parametrize(
    "array",
    [
        *(b"", b"\x93NUMPY", b"\x94NUMPY" + BIAS[6:], BIAS[:8] + b"\xff\xff" + BIAS[10:]),
        *(npy_of(described(), version=version) for version in (b"\2\0", b"\1\1")),
        *(npy_of(t) for t in ("", "{", "[]", "{}", "\0", "\xff", "f()", "1L", "{'descr': 1L}")),
        *(npy_of(sign * 9000 + "1") for sign in ("(", "[", "{", "-", "~", "1+", "(1,", "not ")),
        npy_of(described() + " " * 20_000),
        npy_of(described().replace("descr", "dtype")),
        npy_of(described().replace("}", "'more': 1}")),
        *(
            npy_of(described(descr))
            for descr in (
                *("'O'", "'|O'", "'<O8'", "'>f8'", "'<f4'", "'<c16'", "'<U4'", "'|V8'", "'|b1'"),
                *("'M8[s]'", "'<f8,<f8'", "'(2,)<f8'", "'<U999999999999'", "''", "'?!'"),
                *("None", "{}", "[]", "3", "('<f8', (2,))", "('<f8', (2**40,))", "[3]"),
                *("[('x', 'O')]", "[('x', '>f8')]", "[('x', '<f8')]", "[('x', '<f8', (2,))]"),
                *("[('x', '')]", "[('x', '<f8'), ('x', '<f8')]", "[('x', [('y', '<f8')])]"),
                *("[('x', '<f8'), ('', '|V8')]", "[(('title', 'x'), '<f8')]", "[('', '<f8')]"),
            )
        ),
        *(
            npy_of(described(shape=shape))
            for shape in ("(-1,)", "(0.0,)", "'12'", "[0]", "0", "None", "(0,) * 99", "(1,)")
        ),
        *(npy_of(described(shape=shape)) for shape in (f"({'0, ' * 99})", "(-1, 0)")),
        *(npy_of(described(shape=s), bytes(8)) for s in ("(True,)", "(-1, -1)", "(2,)")),
        npy_of(described(shape="(1,)"), bytes(9)),
        *(npy_of(described(order=order)) for order in ("True", "0", "None")),
    ],
    ids=lambda array: ascii(array[10:70]),
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_an_array_that_makes_no_sense_is_refused(path, array):
    path.write_bytes(file_of(RAW, bias=array))
    assert "is damaged: " in error_of(path)


@pytest.mark.parametrize(
    "edit",
    [
        *(set_of_last("flag_bits", value=value) for value in (0x1, 0x20, 0x41)),
        *(set_of_last("compress_type", value=value) for value in (1, 8, 12, 14, 99)),
        set_of_last("filename", value="counts.npy"),
        set_of_last("file_size", value=10),
        set_of_last("compress_size", value=10),
        *(set_of_last(*SIZES, value=value) for value in (0, 10, 10**4, 2**32 - 1, 2**62)),
        *(set_of_last("header_offset", value=value) for value in (0, 1, 10**4, 2**32 - 1, 2**62)),
        lambda entries: entries.append(entries[0]),
        lambda entries: entries.append(entries[1]),
        lambda entries: entries.clear(),
        lambda entries: entries.extend([entries[-1]] * 1000),
    ],
)
def test_an_edited_directory_is_refused(path, edit):
    path.write_bytes(file_of(RAW, bias=BIAS))
    assert river_amf.load(path)[1]["bias"].shape == (0,)
    path.write_bytes(file_of(RAW, edit, bias=BIAS))
    assert "is damaged: " in error_of(path)


@pytest.mark.parametrize(
    "names",
    [
        *(["../bias.npy"], ["/bias.npy"], ["C:bias.npy"], ["c\xf6unts.npy"], ["bias"], [".npy"]),
        *(["bias.npz"], ["bias.npy.npy"], ["bias.npy/"], [" bias.npy"], ["bias.npy\n"]),
        *(["header.json"], ["header.json.npy"], ["pure.npy"], ["bias.npy", "bias.npy"]),
        [f"m{i}.npy" for i in range(2000)],
    ],
    ids=lambda names: ascii(names)[:40],
)
def test_members_of_other_names_are_refused(path, names):
    header = ("header.json", json.dumps(RAW).encode())
    path.write_bytes(archive_of([header, *((name, BIAS) for name in names)]))
    message, peak = peak_of_error(path)
    assert "is damaged: " in message and peak < 10 * max(path.stat().st_size, 50_000)


def test_a_member_that_is_compressed_is_refused(path):
    bomb = npy_of(described(shape=f"({10**6},)"), bytes(8 * 10**6))
    members = [("header.json", json.dumps(RAW).encode()), ("bias.npy", bomb)]
    path.write_bytes(archive_of(members, compress_type=zipfile.ZIP_DEFLATED))
    assert path.stat().st_size < 10_000 and "directory, of stored members" in error_of(path)


def test_arrays_of_other_types_and_shapes_are_refused_before_they_are_read(path):
    model = trained([*edits.samples(60)], n_estimators=2)
    for name, other in {
        "counts": lambda array: array.astype(np.float32),
        "nodes": lambda array: array["left"].copy(),
        "bias": lambda array: array[np.newaxis],
        "boxes": lambda array: array[:, :, :1],
        "rows": lambda array: array[:, :2],
        "links": lambda array: np.asfortranarray(array[:, :-1]),
    }.items():
        model.save(path)
        members, file = dict(members_of(path.read_bytes())), io.BytesIO()
        np.save(file, other(np.load(io.BytesIO(members[f"{name}.npy"]))))
        path.write_bytes(archive_of((members | {f"{name}.npy": file.getvalue()}).items()))
        message = error_of(path)
        assert f"is damaged: the array {name} must be of " in message or "rows" in message


# Nothing is held before it is known to be good


def peak_of_error(path):
    """Return the message with which a file is refused, and the most memory that this took."""
    tracemalloc.start()
    try:
        return error_of(path), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("item", ["[]", "{}", '{"":[]}', '"ab"', "0", "[{}]"])
@pytest.mark.parametrize("place", ['"labels":[%s]', '"parameters":[%s]', '"more":[%s]'])
def test_a_header_of_many_small_items_does_not_fill_the_memory(path, place, item):
    content = place % ",".join([item] * (60_000 // len(item)))
    text = f'{{"format":1,"river_amf":"0.1","kind":"AMFClassifier","model":{{{content}}}}}'
    path.write_bytes(file_of(text.encode(), bias=BIAS))
    assert peak_of_error(path)[1] < 40 * len(text)


@pytest.mark.parametrize("of", [lambda number: number, lambda number: (1, (number,))])
def test_values_of_one_hash_do_not_take_quadratic_time(path, of):
    labels = [values.to_json(of(i * (2**61 - 1)), "label") for i in range(50_000)]
    path.write_bytes(file_of(UNTRAINED | {"model": {"labels": labels}}))
    start = time.process_time()
    assert "one label per item, of which many have the same hash" in error_of(path)
    assert time.process_time() - start < 10.0  # in place of minutes


@pytest.mark.parametrize(
    "shape", [[10**18], [2**39], [2**39] * 8, [2**39, 0, 2**39, 2**39], [10**9], [2**61], [2**64]]
)
def test_absurd_sizes_allocate_nothing(path, shape):
    array = npy_of(described(shape=str(tuple(shape))), bytes(8))
    size = min(len(array) - 8 + 8 * math.prod(shape), 2**63)
    for edit in (lambda entries: None, set_of_last(*SIZES, value=size)):
        path.write_bytes(file_of(RAW, edit, bias=array))
        assert peak_of_error(path)[1] < 500_000


def test_many_empty_trees_allocate_nothing_absurd(path):
    n_trees, n_labels = 10_000, 20_000  # votes for each would take gigabytes
    header, arrays = parts_in(trained([({}, label, 1.0) for label in "ab"], n_estimators=1), path)
    header["model"]["parameters"]["n_estimators"] = n_trees
    header["model"]["labels"] = list(range(n_labels))
    trees = np.repeat(arrays["trees"], n_trees)
    trees["root"], trees["n_nodes"], trees["n_boxes"] = -1, 0, 0
    arrays["counters"]["n_rows"] = 0
    empty = {"bias": np.zeros(n_labels)} | {name: arrays[name] for name in ("counters", "features")}
    assert "empty trees" in edited_error(path, header, empty | {"trees": trees})


@pytest.mark.parametrize("depth", [400, 800, 950, 990, 3000, 100_000])
@pytest.mark.parametrize("tag", ["", '"tuple",', '"str",', '"int8",'])
def test_json_of_any_depth_is_refused(path, tag, depth):
    deep = f"[{tag}" * depth + "]" * depth
    dummy = '"AMFClassifier"'
    for format_, kind, content in (
        *((deep, dummy, "{}"), (1, deep, "{}"), (1, dummy, deep)),
        *((1, dummy, f'{{"{entry}": {deep}}}') for entry in ("labels", "more")),
        (1, dummy, f'{{"parameters": {{"dirichlet": {deep}}}}}'),
        (1, dummy, '{"a":' * depth + "1" + "}" * depth),
    ):
        text = f'{{"format": {format_}, "river_amf": "0.1", "kind": {kind}, "model": {content}}}'
        path.write_bytes(file_of(text.encode(), bias=BIAS))
        error_of(path)


def test_a_lack_of_memory_names_the_file(path, monkeypatch):
    AMFClassifier().save(path)
    monkeypatch.setattr(container, "read", refuse(MemoryError()))
    with pytest.raises(MemoryError, match=r"not enough memory to load the file '.*model.amf'"):
        river_amf.load(path)


# All kinds of damage

KINDS = [
    AMFClassifier(2, seed=1, on_mismatch="missing", max_categories=3),
    AdaptiveAMFClassifier(2, seed=1, restart_threshold=0.01, max_nodes=41),
    AdaptiveAMFClassifier(2, seed=1, absent="zero"),
    AMFRegressor(2, seed=1, fading_factor=0.5, split_intensity="relevance", max_nodes=41),
    AdaptiveAMFRegressor(2, seed=1),
]


def test_damaged_files_are_refused_or_load_models_that_work(tmp_path, n_edits=30):
    paths = []
    for i, model in enumerate(KINDS):
        of_targets = isinstance(model, AMFRegressor)
        paths.append(str(tmp_path / f"{i}.amf"))
        stream = edits.targets(120) if of_targets else edits.samples(120)
        learn(model.clone(), stream).save(paths[-1])
    command = [sys.executable, "-X", "faulthandler", edits.__file__, "7", str(n_edits), *paths]
    result = subprocess.run(command, env=subprocess_env(), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    n_refused, n_loaded = map(int, result.stdout.split())
    assert n_refused + n_loaded == n_edits * len(paths)
    assert min(n_refused, n_loaded) > n_edits * len(paths) / 10
