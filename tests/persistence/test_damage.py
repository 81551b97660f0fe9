"""Files that are no models, or no longer: what is wrong is said, and nothing is run or held."""

import gzip
import io
import json
import math
import os
import pickle
import socket
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from files import (
    COUNTS,
    DUMMY,
    SIZES,
    archive_of,
    counts_of,
    described,
    error_of,
    file_of,
    member_of,
    npy_of,
    parts_in,
    refuse,
    set_of_last,
    signed,
    small_file,
)
from forests import learn, trained

import river_amf
from river_amf import AMFClassifier, OnlineDummyClassifier, persistence
from river_amf.persistence import container, sources


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.soak)])
def test_a_truncated_file_says_so(path, step):
    data = small_file(path)
    for length in {*range(0, len(data), step), *range(len(data) - 90, len(data))}:
        path.write_bytes(data[:length])
        assert ("is truncated" if length else "is empty") in error_of(path)


@pytest.mark.parametrize("more", [b"\n", bytes(22), b"PK", bytes(10**4)])
def test_a_file_with_something_after_its_end_says_so(path, more):
    data = small_file(path)
    path.write_bytes(data + more)
    assert error_of(path).endswith(f"extra bytes after its end: {len(more)}")


def test_a_file_with_very_much_after_its_end_says_so(path):
    data = small_file(path)
    path.write_bytes(data + bytes(2**17))
    assert "is truncated, or has extra data after its end" in error_of(path)
    path.write_bytes(data + data)  # it ends as ours, and begins too early
    assert "has been changed since it was saved" in error_of(path)


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.soak)])
def test_a_file_with_a_single_byte_changed_is_refused(path, step):
    data = bytearray(small_file(path))
    for change in (0x01, 0x10, 0x80, 0xFF):
        n_said = n_changed = 0
        for place in range(0, len(data), step):
            data[place] ^= change
            path.write_bytes(data)
            is_said = "has been changed since it was saved" in error_of(path)
            data[place] ^= change
            # else it begins as another file, or ends as one
            assert is_said or place < 41 or place >= len(data) - 93, place
            n_said, n_changed = n_said + is_said, n_changed + 1
        assert n_said >= n_changed - 21


def foreign_files():
    array, table, archive = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(array, a=np.arange(3))
    np.save(table, np.arange(3))
    zipfile.ZipFile(archive, "w").close()
    return {
        "pickle": pickle.dumps(AMFClassifier()),
        "npz": array.getvalue(),
        "empty zip": archive.getvalue(),
        "npy": table.getvalue(),
        "png": b"\x89PNG\r\n\x1a\n" + bytes(99),
        "text": b"a,b\n1,2\n",
        "gzip": gzip.compress(b"a,b\n1,2\n"),
        "zeros": bytes(999),
        "json": b'{"river_amf": "0.1"}',
        "the array first": archive_of([member_of("a.npy", b""), member_of("header.json", b"{}")]),
    }


@pytest.mark.parametrize("name", foreign_files())
def test_a_foreign_file_says_so(path, name):
    path.write_bytes(foreign_files()[name])
    assert "is not a river_amf file" in error_of(path)


def test_a_file_that_was_sent_as_text_or_packed_again_is_refused(path):
    data = small_file(path)
    for other in (data.replace(b"\n", b"\r\n"), data.replace(b"\0", b" ")):
        path.write_bytes(other)
        error_of(path)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    assert "has been changed since it was saved (its checksum differs)" in error_of(path)


class Exploit:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickle_is_not_run(path, tmp_path):
    path.write_bytes(pickle.dumps(Exploit(tmp_path / "touched")))
    error_of(path)
    assert [*tmp_path.iterdir()] == [path]


# Other formats


def test_the_helper_writes_as_the_package_does(path):
    learn(OnlineDummyClassifier(), [({}, "a", 2.0)]).save(path)
    model = {"parameters": {"n_classes": None, "dirichlet": None}, "labels": ["a"]}
    header = {"format": container.FORMAT, "river_amf": river_amf.__version__}
    header["kind"] = "OnlineDummyClassifier"
    text = json.dumps(header | {"model": model}, separators=(",", ":")).encode()
    assert path.read_bytes() == file_of(text, counts=counts_of(2.0))
    path.write_bytes(file_of(DUMMY, counts=COUNTS))
    assert pickle.dumps(river_amf.load(path)) == pickle.dumps(OnlineDummyClassifier())


@pytest.mark.parametrize("version", ["7.3.1", None, 3, ["7.3.1"]])
def test_a_newer_file_says_so(path, version):
    header = {"format": container.FORMAT + 1, "river_amf": version, "members": "of another kind"}
    path.write_bytes(file_of(header, model=b"of another kind"))
    message = error_of(path)
    by = repr(version) if version == "7.3.1" else "(a later release)"
    assert f"was saved by river_amf {by} in" in message
    assert f"format {container.FORMAT + 1}; this is river_amf {river_amf.__version__}" in message
    assert "upgrade" in message


def test_the_version_of_a_newer_file_is_shown_cut_and_harmless(path):
    version = "\x1b]0;\u202e" + "9" * 10**6
    for format_ in (container.FORMAT + 1, 10**4000):
        path.write_bytes(file_of({"river_amf": version, "format": format_}))
        message = error_of(path)
        assert ascii(version[:40]) in message
        assert message.isascii() and message.isprintable()
        assert len(message) < 1000


@pytest.mark.parametrize("format_", [0, -1, 1.0, True, "1", None, [], {}])
def test_other_formats_are_unknown(path, format_):
    path.write_bytes(file_of(DUMMY | {"format": format_}))
    assert error_of(path).endswith(
        f"is damaged: its format must be an integer >= 1, got {format_!r}"
    )


# Headers, arrays and members that make no sense, their checksum right


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"3",
        b"{}",
        b'{"format": 1}',
        b'{"format": 1, "river_amf": NaN}',
        b'{"format": 1, "river_amf": "0.1", "kind": ' + b"[" * 10**6 + b"]" * 10**6 + b"}",
        b'{"a":' * 10**5 + b"1" + b"}" * 10**5,
        b'{"format": 1, "river_amf": "0.1", "kind": ' + b"1" * 10_000 + b"}",
        b'{"format": ' + b"1" * 10_000 + b', "river_amf": "0.1"}',
        json.dumps(DUMMY).encode("utf-16"),
        DUMMY | {"model": 3},
        DUMMY | {"model": []},
        DUMMY | {"model": {"parameters": []}},
        DUMMY | {"model": {"parameters": {"step": 1.0}}},
        DUMMY | {"model": {"labels": {}}},
        DUMMY | {"model": {"names": []}},
        DUMMY | {"river_amf": 0.1},
    ],
    ids=lambda header: str(header)[:60],
)
def test_a_header_that_makes_no_sense_is_refused(path, header):
    path.write_bytes(file_of(header, counts=COUNTS))
    assert "is damaged" in error_of(path)


@pytest.mark.parametrize(
    "header, message",
    [
        ({"river_amf": "0.1"}, "its header lacks 'format'"),
        ({"format": 1}, "its header does not say which version of river_amf wrote it"),
        ({"format": 1, "river_amf": "0.1"}, "its header lacks 'kind'"),
        ({"format": 1, "river_amf": "0.1", "kind": "AMFClassifier"}, "its header lacks 'model'"),
        (DUMMY | {"model": 0.5}, "0.5 in place of an object with 'parameters'"),
        (DUMMY | {"model": {"parameters": 3}}, "its parameters must be an object, got 3"),
        (DUMMY | {"model": {"parameters": {"b": 1, "a": 2}}}, "unknown parameters ['a', 'b']"),
        (DUMMY | {"model": {"b": 1}}, "its entries ['b'] cannot be"),
    ],
)
def test_what_a_header_lacks_is_named(path, header, message):
    path.write_bytes(file_of(header))
    assert message in error_of(path)


@pytest.mark.parametrize(
    "array",
    [
        b"",
        b"\x93NUMPY",
        b"\x94NUMPY" + COUNTS[6:],
        npy_of(described(), version=b"\2\0"),
        npy_of(described(), version=b"\1\1"),
        COUNTS[:8] + b"\xff\xff" + COUNTS[10:],
        *(
            npy_of(text)
            for text in ("", "{", "[]", "{}", "\0", "\xff", "f()", "1L", "{'descr': 1L}")
        ),
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
                *("[('x', 'O')]", "[('x', '>f8')]", "[('x', '<f8', (2,))]", "[('x', '')]"),
                *("[('x', '<f8'), ('x', '<f8')]", "[('x', [('y', '<f8')])]", "[('x', '<f4')]"),
                *("[('x', '<f8'), ('', '|V8')]", "[(('title', 'x'), '<f8')]", "[('', '<f8')]"),
                "[('a', '<i4'), ('', '|V4'), ('b', '<f8')]",
            )
        ),
        *(
            npy_of(described(shape=shape))
            for shape in ("(-1,)", "(0.0,)", "'12'", "[0]", "0", "None", "(0,) * 99", "(1,)")
        ),
        *(npy_of(described(shape=shape)) for shape in (f"({'0, ' * 99})", "(-1, 0)")),
        npy_of(described(shape="(True,)"), bytes(8)),
        npy_of(described(shape="(-1, -1)"), bytes(8)),
        npy_of(described(shape="(2,)"), bytes(8)),
        npy_of(described(shape="(1,)"), bytes(9)),
        *(npy_of(described(order=order)) for order in ("True", "0", "None")),
    ],
    ids=lambda array: ascii(array[10:70]),
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_an_array_that_makes_no_sense_is_refused(path, array):
    path.write_bytes(file_of(DUMMY, counts=array))
    assert "is damaged" in error_of(path)


def set_of_all(what, value):
    """Return an edit of a directory."""
    return lambda entries: [setattr(entry, what, value) for entry in entries]


@pytest.mark.parametrize(
    "edit",
    [
        set_of_last("external_attr", value=0o120777 << 16),  # a symbolic link
        set_of_last("external_attr", value=0o100755 << 16),
        set_of_all("create_system", 0),
        set_of_all("date_time", (2026, 1, 1, 0, 0, 0)),
        set_of_all("flag_bits", 0x1),  # encrypted
        set_of_all("flag_bits", 0x8),
        set_of_all("flag_bits", 0x20),
        set_of_all("flag_bits", 0x41),
        *(set_of_last("compress_type", value=value) for value in (1, 8, 12, 14, 99)),
        set_of_all("comment", b"more"),
        set_of_last("extract_version", value=90),
        set_of_last("filename", value="other.npy"),
        set_of_last("file_size", value=10),
        set_of_last("compress_size", value=10),
        *(set_of_last(*SIZES, value=value) for value in (0, 10, 10**4, 2**32 - 1, 2**62)),
        *(set_of_last("header_offset", value=value) for value in (0, 1, 10**4, 2**32 - 1, 2**63)),
        lambda entries: entries.reverse(),
        lambda entries: entries.append(entries[-1]),
        lambda entries: entries.append(entries[0]),
        lambda entries: entries.pop(),
        lambda entries: entries.pop(0),
        lambda entries: entries.clear(),
        lambda entries: entries.extend([entries[-1]] * 1000),
    ],
)
def test_an_edited_directory_is_refused(path, edit):
    path.write_bytes(file_of(DUMMY, edit, counts=COUNTS))
    assert "is damaged" in error_of(path)


@pytest.mark.parametrize(
    "name",
    [
        *("../counts.npy", "/counts.npy", "a/counts.npy", "a\\counts.npy", "C:counts.npy"),
        *("counts", "counts.npz", "counts.npy.npy", ".npy", "counts.npy/", " counts.npy"),
        *("c\xf6unts.npy", "c\u20acunts.npy", "header.json", "header.json.npy", "counts.npy\n"),
    ],
)
def test_members_of_other_names_are_refused(path, name):
    entry, data = member_of("x", COUNTS)
    entry.filename = name
    header = member_of("header.json", json.dumps(DUMMY).encode())
    path.write_bytes(archive_of([header, (entry, data)]))
    assert f"its member {name!r} was not written by river_amf" in error_of(path)


def test_a_member_that_comes_twice_or_is_compressed_is_refused(path):
    header = member_of("header.json", json.dumps(DUMMY).encode())
    twice = [header, member_of("counts.npy", COUNTS), member_of("counts.npy", COUNTS)]
    packed = member_of("counts.npy", counts_of(*[0.0] * 10**6), compress_type=zipfile.ZIP_DEFLATED)
    header_packed = member_of("header.json", header[1], compress_type=zipfile.ZIP_DEFLATED)
    headers = [header, header]
    for members in (twice, [header, packed], [header_packed], headers):
        path.write_bytes(archive_of(members))
        assert "was not written by river_amf" in error_of(path)


def test_bytes_that_belong_to_no_member_are_refused(path):
    data = file_of(DUMMY, counts=COUNTS)
    second = data.index(b"PK\3\4", 1)
    directory, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    for place in (41, second, directory, end):
        path.write_bytes(signed(data[:place] + b"more" + data[place:]))
        assert "is damaged" in error_of(path)
    path.write_bytes(signed(data[:41] + data))
    assert "is damaged" in error_of(path)


@pytest.mark.parametrize("limit", [zipfile.ZIP64_LIMIT, 100])
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.soak)])
def test_any_byte_changed_and_signed_is_refused_or_harmless(path, monkeypatch, step, limit):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    header = DUMMY | {"model": {"labels": ["a"]}}
    container.write(str(path), header, {"counts": np.array([1.0])})
    data = bytearray(path.read_bytes())
    n_loaded = 0
    for place in range(0, len(data) - 64, step):
        for change in (0x01, 0x08, 0x80, 0xFF):
            data[place] ^= change
            path.write_bytes(signed(data))
            try:
                _, arrays = container.read(str(path))
            except persistence.FileError:
                continue
            finally:
                data[place] ^= change
            n_loaded += 1
            assert [array.shape for array in arrays.values()] == [(1,)]
    assert 0 < n_loaded < len(data)


def test_parts_that_do_not_fit_together_are_called_so(path, monkeypatch):
    OnlineDummyClassifier().save(path)
    monkeypatch.setattr(persistence.values, "labels_from_json", refuse(KeyError("left")))
    assert "its parts do not fit together (KeyError: 'left')" in error_of(path)


# Nothing is held before it is known to be good


def test_no_header_is_held_before_its_checksum_agrees(path):
    data = file_of(DUMMY)
    with open(path, "wb") as file:
        file.write(data[:41])
        file.seek(50_000_000)  # sparse: it takes a block of the disk
        file.write(data[data.index(b"PK\1\2") :])
    tracemalloc.start()
    try:
        assert "has been changed" in error_of(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * container._PIECE_BYTES


def peak_of_error(path):
    """Return the message with which a file is refused, and the most memory that this took."""
    tracemalloc.start()
    try:
        return error_of(path), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("item", ["[]", "{}", '{"a":0}', "[0]", "0", '"a"', "0.5", '"ab"', "[[]]"])
@pytest.mark.parametrize(
    "place",
    [
        '"labels":[%s]',
        '"labels":[["tuple",[%s]]',
        '"labels":[[%s]]',
        '"labels":["int8",[%s]]',
        '"parameters":{"dirichlet":[%s]}',
        '"parameters":[%s]',
        '"more":[%s]',
        '"more":{"more":[%s]}',
    ],
)
def test_a_header_of_many_small_items_does_not_fill_the_memory(path, place, item):
    content = place % ",".join([item] * (60_000 // len(item)))
    if item == '"ab"' and "tuple" in place:
        content = content.replace("]]", ',"x"]]')  # as a tuple, these would make sense
    text = f'{{"format":1,"river_amf":"0.1","kind":"OnlineDummyClassifier","model":{{{content}}}}}'
    path.write_bytes(file_of(text.encode(), counts=COUNTS))
    _, peak = peak_of_error(path)
    # the text is held twice; a list of these items would take 5 to 25 times as much
    tuples = 16 if "tuple" in place and item in ("0", "0.5", '"a"', '"ab"') else 4
    assert peak < tuples * len(text) + 250_000


def test_a_header_of_very_many_entries_is_refused(path):
    entries = ",".join(f'"{i}":0' for i in range(50_000))
    for model in (entries, f'"parameters":{{{entries}}}'):
        text = (
            f'{{"format":1,"river_amf":"0.1","kind":"OnlineDummyClassifier","model":{{{model}}}}}'
        )
        path.write_bytes(file_of(text.encode(), counts=COUNTS))
        message, peak = peak_of_error(path)
        assert "its header has more than 1000 entries" in message
        assert peak < 4 * len(text)


def test_a_directory_of_very_many_members_is_refused(path):
    data = file_of(DUMMY, lambda entries: entries.extend([entries[-1]] * 2000), counts=COUNTS)
    path.write_bytes(data)
    message, peak = peak_of_error(path)
    assert "its directory is too large" in message
    assert peak < 3 * len(data)


REMAINDER = 2**61 - 1  # integers are equal in hash if they are equal modulo this prime


@pytest.mark.parametrize(
    "labels",
    [
        [i * REMAINDER for i in range(1, 60_000)],
        [(i * REMAINDER,) for i in range(1, 30_000)],
        [(0.5, (1, i * REMAINDER)) for i in range(1, 20_000)],
        [np.float64(2.0 ** (61 * i)) for i in range(16)] + [2 ** (61 * i) for i in range(16, 500)],
        [tuple(-1 - (i >> bit & 1) for bit in range(10)) for i in range(1000)],
    ],
    ids=["integers", "tuples", "nested", "powers", "small"],
)
@pytest.mark.parametrize("role", ["labels", "names", "categories"])
def test_very_many_values_of_one_hash_are_refused(path, labels, role):
    values = [persistence.values.to_json(label, "label") for label in labels]
    header = DUMMY | {"model": {"labels": values}}
    if role != "labels":
        features = [[value, None] for value in values] if role == "names" else [["a", values]]
        header = DUMMY | {"kind": "AMFClassifier", "model": {"features": features}}
    path.write_bytes(file_of(header, counts=COUNTS))
    assert "have the same hash" in error_of(path)


def test_as_many_values_of_one_hash_as_a_file_may_hold_come_back(path):
    most = persistence.values.MOST_OF_ONE_HASH
    labels = [i * REMAINDER for i in range(most)] + [i * REMAINDER + 1 for i in range(most)]
    model = learn(OnlineDummyClassifier(), [({}, label, 1.0) for label in labels])
    model.save(path)
    assert [*river_amf.load(path)._labels] == labels
    before = path.read_bytes()
    model.learn_one({}, most * REMAINDER)
    with pytest.raises(
        ValueError, match=r"more than 128 of its values have the same hash \(label\)"
    ):
        model.save(path)
    assert path.read_bytes() == before
    for x in ({i * REMAINDER: 1 for i in range(most + 1)}, {"a": ()}):
        forest = AMFClassifier(n_estimators=1)
        forest.learn_one(x, "a")
        for i in range(most + 1 if "a" in x else 0):
            forest.learn_one({"a": (i * REMAINDER,)}, "a")
        with pytest.raises(ValueError, match="have the same hash"):
            forest.save(path)
    assert path.read_bytes() == before


def test_a_list_of_the_same_value_again_and_again_is_not_held(path):
    text = json.dumps(DUMMY | {"model": {"labels": [*range(1000), *[0] * 200_000]}})
    path.write_bytes(file_of(text.encode(), counts=COUNTS))
    _, peak = peak_of_error(path)
    assert peak < 4 * len(text)


# Files that are no regular files, or larger than the memory


def test_a_file_of_holes_is_refused_without_reading_them(path):
    data = small_file(path)
    with open(path, "r+b") as file:
        file.truncate(2**42)
    assert f"has extra data after its end: it has {2**42} bytes" in error_of(path)
    with open(path, "r+b") as file:
        file.seek(2**42 - 1000)
        file.write(data[data.index(b"PK\5\6") :])
        file.truncate()
        size = file.tell()
    with pytest.raises(MemoryError) as caught:
        river_amf.load(path)
    assert str(caught.value).endswith(f"model.amf', which has {size} bytes")
    path.unlink()


def test_a_lack_of_memory_names_the_file(path, monkeypatch):
    data = small_file(path)
    for where, what in ((container, "_read_array"), (container, "_read_header")):
        with monkeypatch.context() as patch:
            patch.setattr(where, what, refuse(MemoryError()))
            with pytest.raises(MemoryError) as caught:
                river_amf.load(path)
        assert str(caught.value) == (
            f"not enough memory to load the file {str(path)!r}, which has {len(data)} bytes"
        )


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(sources, "_LIMITS", (str(tmp_path / "none"), str(limit)))
    for content, size, fits in (("max\n", 2**29, True), ("536870912\n", 2**29, True)):
        limit.write_text(content)
        sources.demand_room(size)
        assert fits
    with pytest.raises(MemoryError):
        sources.demand_room(2**29 + 1)
    sources.demand_room(2**28)


@pytest.mark.skipif(os.name != "posix", reason="files of POSIX")
def test_what_is_no_regular_file_is_refused_without_waiting(path):
    os.mkfifo(path)
    with pytest.raises(OSError, match="it is a named pipe rather than a regular file") as caught:
        river_amf.load(path)
    assert caught.value.filename == str(path)
    with pytest.raises(OSError, match="not a regular file; to save to it, open it"):
        AMFClassifier().save(path)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # an absolute path may be too long
        with pytest.raises(OSError, match="it is a socket rather than a regular file"):
            river_amf.load(path)
    path.unlink()
    path.symlink_to(os.devnull)
    with pytest.raises(OSError, match="it is a device rather than a regular file"):
        river_amf.load(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        river_amf.load(path)


@pytest.mark.skipif(os.name != "posix", reason="files of POSIX")
def test_a_file_that_becomes_a_pipe_in_the_meantime_is_refused(path, monkeypatch):
    small_file(path)
    found = os.stat(path)
    path.unlink()
    os.mkfifo(path)
    stat_of = os.stat

    def stat(place, *args, **kwargs):
        return found if place == str(path) else stat_of(place, *args, **kwargs)

    monkeypatch.setattr(os, "stat", stat)
    with pytest.raises(OSError, match="it is a named pipe rather than a regular file"):
        river_amf.load(path)


@pytest.mark.parametrize(
    ("tag", "depth"),
    [
        *(("", depth) for depth in (400, 800, *range(900, 1000, 9), 3000, 50_000)),
        *((tag, depth) for tag in ('"tuple",', '"str",', '"int8",') for depth in (400, 990, 3000)),
    ],
)
def test_json_of_any_depth_is_refused(path, tag, depth):
    deep = f"[{tag}" * depth + "]" * depth
    dummy = '"OnlineDummyClassifier"'
    for format_, kind, content in (
        (deep, dummy, "{}"),
        (1, deep, "{}"),
        (1, dummy, deep),
        (1, dummy, f'{{"labels": {deep}}}'),
        (1, dummy, f'{{"parameters": {{"dirichlet": {deep}}}}}'),
        (1, dummy, f'{{"more": {deep}}}'),
    ):
        text = f'{{"format": {format_}, "river_amf": "0.1", "kind": {kind}, "model": {content}}}'
        path.write_bytes(file_of(text.encode(), counts=COUNTS))
        error_of(path)


@pytest.mark.parametrize(
    "shape", [[10**18], [2**39], [2**39] * 8, [2**39, 0, 2**39, 2**39], [10**9], [2**61], [2**64]]
)
def test_absurd_sizes_allocate_nothing(path, shape):
    array = npy_of(described(shape=str(tuple(shape))), bytes(8))
    size = min(len(array) - 8 + 8 * math.prod(shape), 2**63)
    for edit in (lambda entries: None, set_of_last(*SIZES, value=size)):
        path.write_bytes(file_of(DUMMY, edit, counts=array))
        tracemalloc.start()
        try:
            error_of(path)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 500_000


def test_many_empty_trees_allocate_nothing_absurd(path):
    n_trees, n_labels = 20_000, 20_000  # votes for each would take gigabytes
    model = trained([({}, label, 1.0) for label in "ab"], n_estimators=1)
    header, arrays = parts_in(model, path)
    header["model"]["parameters"]["n_estimators"] = n_trees
    header["model"]["labels"] = list(range(n_labels))
    trees = np.repeat(arrays["trees"], n_trees)
    trees["root"], trees["n_nodes"], trees["n_boxes"] = -1, 0, 0
    arrays["trees"] = trees
    arrays["bias"] = np.zeros(n_labels)
    arrays["word_sums"] = np.zeros((0, n_labels))
    arrays["word_weights"] = arrays["word_squares"] = np.zeros((0, n_labels))
    arrays["nodes"] = np.zeros((n_trees, 0), arrays["nodes"].dtype)
    arrays["counts"] = np.zeros((n_trees, 0, n_labels))
    arrays["faded"] = arrays["targets"] = np.zeros((n_trees, 0, 0))
    for name in ("word_sums", "word_weights", "word_squares"):
        arrays[name] = np.zeros((0, n_labels))
    arrays["boxes"] = np.zeros((n_trees, 0, 2, 0))
    arrays["rows"] = np.zeros((0, 0))
    arrays["samples"] = arrays["samples"][:0]
    arrays["links"] = np.zeros((n_trees, 0), np.int32)
    container.write(str(path), header, arrays)
    assert "empty trees" in error_of(path)
