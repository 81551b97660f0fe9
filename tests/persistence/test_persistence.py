"""Saving and loading models: same behavior, same future; and files that are not models."""

import enum
import gzip
import hashlib
import importlib
import io
import json
import math
import os
import pickle
import random
import stat
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import edits
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_copies import COARSE_STREAM, STREAM, answers, learn, trained, variants

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AMFClassifier,
    OnlineDummyClassifier,
    layout,
    persistence,
)
from river_amf.persistence import FileError, container, soundness

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.amf"


def reloaded(model, path):
    model.save(path)
    return river_amf.load(path)


def error_of(path):
    with pytest.raises(FileError) as caught:
        river_amf.load(path)
    assert repr(os.fsdecode(path)) in str(caught.value)
    return str(caught.value)


# The same model, with the same future


@variants
@pytest.mark.parametrize("cut", [0, 1, 100, 700])
def test_equal_answers_and_equal_futures(path, parameters, cut):
    model = trained(STREAM[:cut], **parameters)
    twin = reloaded(model, path)
    assert type(twin) is type(model)
    assert pickle.dumps(twin) == pickle.dumps(model)
    for x, label, weight in STREAM[cut:]:
        assert twin.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, label, w=weight)
        twin.learn_one(x, label, w=weight)
    assert answers(twin) == answers(model)
    assert pickle.dumps(twin) == pickle.dumps(model)


@pytest.mark.parametrize("cut", range(0, 600, 53))
@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_equal_futures_in_blocks_wherever_it_is_saved(path, kind, cut):
    X, y = pd.DataFrame([x for x, _, _ in COARSE_STREAM]), [label for _, label, _ in COARSE_STREAM]
    model = kind(n_estimators=2, seed=1)
    model.learn_many(X[:cut], y[:cut])
    twin = reloaded(model, path)
    expected = model.predict_proba_then_learn_many(X[cut:], y[cut:])
    pd.testing.assert_frame_equal(
        twin.predict_proba_then_learn_many(X[cut:], y[cut:]), expected, check_exact=True
    )
    assert pickle.dumps(twin) == pickle.dumps(model)


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier])
def test_saving_all_along_the_way_changes_nothing(path, kind):
    model = trained([], kind)
    for start in range(0, len(STREAM), 50):
        model = reloaded(learn(model, STREAM[start : start + 50]), path)
    assert answers(model) == answers(trained(STREAM, kind))


def test_saving_leaves_the_model_as_it_was(path):
    model = trained(STREAM[:500], AdaptiveAMFClassifier)
    before = pickle.dumps(model)
    model.save(path)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("cut", [0, 300])
def test_a_forest_without_a_seed_has_the_same_future(path, cut):
    model = trained(STREAM[:cut], seed=None)
    twin = reloaded(model, path)
    learn(model, STREAM[cut:])
    learn(twin, STREAM[cut:])
    assert (answers(twin) == answers(model)) == (cut > 0)


@pytest.mark.parametrize("cut", [0, 300])
def test_the_dummy_has_the_same_future(path, cut):
    model = learn(OnlineDummyClassifier(n_classes=7, dirichlet=0.1), STREAM[:cut])
    twin = reloaded(model, path)
    assert pickle.dumps(twin) == pickle.dumps(model)
    assert answers(learn(twin, STREAM[cut:])) == answers(learn(model, STREAM[cut:]))


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_jobs": -1},
        {"seed": 10**6000},
        {"step": np.float32(0.5), "n_classes": np.int64(3), "use_aggregation": np.bool_(True)},
        {"max_nodes": 3, "split_prior": 0.1 + 0.2, "dirichlet": 1e-300, "step": 5e-324},
    ],
)
def test_parameters_come_back_as_they_were(path, parameters):
    model = AMFClassifier(**parameters)
    twin = reloaded(model, path)
    for name, value in model._get_params().items():
        assert getattr(twin, name) == value
        assert type(getattr(twin, name)) is type(value)


@settings(max_examples=60, deadline=None)
@given(
    parameters=st.fixed_dictionaries(
        {
            "dirichlet": st.sampled_from([None, 1e-300, 1e-9, 1e300]) | st.floats(1e-300, 1e300),
            "step": st.sampled_from([5e-324, 1e-300, 1.0, 1e9, 1e300]) | st.floats(5e-324, 1e300),
            "split_prior": st.sampled_from([5e-324, 0.5, 1 - 1e-16]),
            "fading_factor": st.sampled_from([None, 5e-324, 0.5, 1 - 1e-16]),
            "restart_threshold": st.sampled_from([None, 5e-324, 1.0, 1e300]),
            "n_classes": st.sampled_from([None, 3, 100]),
            "max_nodes": st.sampled_from([None, 1, 9]),
            "split_intensity": st.sampled_from(["range", "relevance", "unit"]),
            "vote": st.sampled_from(["mean", "learned"]),
            "use_aggregation": st.booleans(),
            "split_pure": st.booleans(),
        }
    ),
    weights=st.lists(st.sampled_from([5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e300]), min_size=1),
    n_samples=st.sampled_from([1, 2, 40]),
)
def test_a_model_of_any_parameters_and_weights_predicts_and_comes_back(
    tmp_path_factory, parameters, weights, n_samples
):
    model = AMFClassifier(n_estimators=2, seed=1, **parameters)
    rng = random.Random(1)
    for i in range(n_samples):
        x = {"a": rng.random(), "b": rng.random(), "c": rng.choice("uvw")}
        model.learn_one(x, rng.choice([x["a"] > 0.5, "other"]), w=weights[i % len(weights)])
        assert sum(model.predict_proba_one(x).values()) == pytest.approx(1.0)
    twin = reloaded(model, tmp_path_factory.mktemp("extreme") / "model.amf")
    assert pickle.dumps(twin) == pickle.dumps(model)


def test_the_smallest_dirichlet_predicts_with_the_smallest_weight(path):
    for kind in (AMFClassifier, OnlineDummyClassifier):
        model = kind(dirichlet=1e-300)
        model.learn_one({"a": 1.0}, "u", w=5e-324)
        assert model.predict_proba_one({"a": 1.0}) == {"u": 1.0}
        assert reloaded(model, path).predict_proba_one({"a": 1.0}) == {"u": 1.0}
        with pytest.raises(ValueError, match=r"dirichlet must be a number from 1e-300 .* 1e-310"):
            kind(dirichlet=1e-310)


def test_a_fraction_comes_back_as_a_float_and_changes_nothing(path):
    model = trained(STREAM[:99], step=Fraction(1, 3))
    twin = reloaded(model, path)
    assert twin.step == 1 / 3
    assert answers(twin) == answers(model)


def test_equal_models_give_equal_files(path, tmp_path):
    trained(STREAM[:300], seed=1).save(path)
    twin = trained(STREAM[:300], seed=1)
    twin.save(tmp_path / "twin")
    river_amf.load(path).save(tmp_path / "again")
    assert path.read_bytes() == (tmp_path / "twin").read_bytes()
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


@variants
def test_loaded_arrays_are_fit_for_the_kernels(path, parameters):
    arena = reloaded(trained(STREAM[:300], **parameters), path)._arena
    for name, array in zip(layout.FIELDS, arena.arrays, strict=True):
        assert array.flags.owndata and array.flags.carray, name


def test_neither_saving_nor_loading_copies_the_whole(path, monkeypatch):
    monkeypatch.setattr(container, "_PIECE_BYTES", 2**18)
    model = trained(STREAM * 3, n_estimators=20)
    reloaded(model, path)  # created once for all models
    size = path.stat().st_size
    assert size > 20 * container._PIECE_BYTES
    tracemalloc.start()
    try:
        model.save(path)
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 3 * container._PIECE_BYTES
        tracemalloc.reset_peak()
        twin = river_amf.load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * size
    assert answers(twin) == answers(model)


# What other programs see in a file


@variants
def test_a_file_is_an_archive_that_zipfile_and_numpy_open(path, parameters):
    model = trained(STREAM[:300], **parameters)
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
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)  # as if it were the limit of 2 GiB
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


# Which class


def test_a_class_loads_its_own_and_what_is_derived_from_it(path):
    AdaptiveAMFClassifier(seed=3).save(path)
    for load in (AMFClassifier.load, AdaptiveAMFClassifier.load, river_amf.load):
        assert type(load(path)) is AdaptiveAMFClassifier


def test_another_class_is_refused_and_both_are_named(path):
    AMFClassifier().save(path)
    for cls in (AdaptiveAMFClassifier, OnlineDummyClassifier):
        with pytest.raises(FileError, match=f"AMFClassifier, not an {cls.__name__}"):
            cls.load(path)


def test_a_subclass_that_names_no_kind_cannot_be_saved(path):
    class Mine(AMFClassifier):
        pass

    for model in (Mine(), object(), None, AMFClassifier):
        with pytest.raises(TypeError, match="cannot save a"):
            river_amf.save(model, path)
    assert not path.exists()


def test_a_kind_belongs_to_one_class():
    with pytest.raises(TypeError, match=r"Thief.* of AMFClassifier"):

        class Thief(AMFClassifier):
            _file_kind = "AMFClassifier"


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


LATER = """
from river_amf.persistence import Saved
import numpy as np

class Model(Saved):
    _file_kind = "later.Model"
    def _to_file(self):
        return {"note": self.note}, {"values": np.arange(3)}
    @classmethod
    def _from_file(cls, header, arrays):
        model = cls()
        model.note, model.values = header["note"], arrays["values"]
        return model
"""


def test_other_modules_join_and_are_imported_when_their_file_is_met(path, tmp_path, monkeypatch):
    (tmp_path / "later_module.py").write_text(LATER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(persistence, "_KINDS", dict(persistence._KINDS))
    monkeypatch.setitem(persistence._MODULES, "later", "later_module")
    arrays = {"values": np.arange(3)}
    header = {"river_amf": "0.1", "kind": "later.Model", "model": {"note": "n"}}
    container.write(str(path), header, arrays)
    assert "later_module" not in sys.modules
    model = river_amf.load(path)
    assert (model.note, model.values.tolist()) == ("n", [0, 1, 2])
    assert (reloaded(model, path).note, type(model).load(path).note) == ("n", "n")


@pytest.mark.parametrize("kind", ["Other", "os.path", "antigravity.x", 3, None, ["AMFClassifier"]])
def test_an_unknown_kind_is_refused_and_imports_nothing(path, kind):
    container.write(str(path), {"river_amf": "0.1", "kind": kind, "model": {}}, {})
    assert "kind" in error_of(path)
    assert "antigravity" not in sys.modules


# Labels, feature names and categories


class Color(enum.Enum):
    RED = 1


class Text(str):
    __slots__ = ()


NUMPY = [
    *(np.dtype(name).type(5) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
    *(np.dtype(name).type(0.1) for name in ("f2", "f4", "f8")),
    np.bool_(True),
    *(np.str_("text"), np.str_("\0"), np.str_("\ud800")),
    np.uint64(2**64 - 1),
    np.float32("-inf"),
    np.longlong(7).astype(np.int64),
]
VALUES = [
    *("", "a", "1", "ä\n\x00", "\ud800", "\ud83d\ude00", "\U0001f600", "NaN", "null"),
    *(True, False, 0, 1, -1, 2**63 - 1, 2**63, -(2**63), 10**4000, -(10**40)),
    *(0.0, -0.0, 1.0, 0.1, 5e-324, 1.7e308, math.inf, -math.inf),
    *((), (1,), ("a", (None, True, 1.0, (np.int64(3),))), ("tuple", ("a",)), ("int", "0x1")),
    *NUMPY,
]
OTHERS = [
    *(frozenset([1]), Decimal(1), Fraction(1, 2), Color.RED, Text("a"), b"a", 1j, object, len),
    *(np.complex64(1), np.datetime64("2020-01-01"), np.bytes_(b"a"), pd.Timestamp("2020")),
    *(np.longdouble(1) if np.dtype("g").itemsize > 8 else 1j, (1, (b"a",)), (math.nan,)),
    *((np.float64("nan"),), range(3)),
]


def is_same(value, other):
    """Whether two values are equal and of the same type, down to the sign of zeros."""
    if type(value) is not type(other):
        return False
    if isinstance(value, tuple):
        return len(value) == len(other) and all(map(is_same, value, other))
    if isinstance(value, float | np.floating):
        return value == other and math.copysign(1, value) == math.copysign(1, other)
    return value == other


def names_in(model):
    """Everything in a forest that came from the user."""
    features = model._features
    return [
        *model._labels,
        *features,
        *(value for name in features for value in features.categories(name) or ()),
    ]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__}")
def test_labels_names_and_categories_come_back_with_their_type(path, value):
    model = AMFClassifier(n_estimators=1, seed=1)
    category = value if isinstance(value, str | tuple) else (value,)
    model.learn_one({"a": 1, ("name", value): 0.5, "color": category}, value)
    model.learn_one({value: 0.5, "color": "blue"}, ("other", value))
    twin = reloaded(model, path)
    assert all(map(is_same, names_in(twin), names_in(model)))
    assert is_same(tuple(twin.predict_proba_one({"a": 1})), (value, ("other", value)))
    learn(twin, STREAM[:50]).save(path)
    learn(model, STREAM[:50]).save(path.with_name("other"))
    assert path.read_bytes() == path.with_name("other").read_bytes()


def roles_of_others():
    """List the roles of each value of another type: a number cannot be a category."""
    for value in OTHERS:
        is_number = isinstance(value, Decimal | Fraction | complex | np.number)
        for role in ("label", "feature") if is_number else ("label", "feature", "category"):
            yield pytest.param(role, value, id=f"{role}-{type(value).__name__}")


@pytest.mark.parametrize(("role", "value"), [*roles_of_others()])
def test_values_of_other_types_raise_and_touch_no_file(path, role, value):
    model = AMFClassifier(n_estimators=1)
    category = value if role == "category" else "red"
    if role == "category" and isinstance(value, np.generic):
        category = (value,)
    x = {value if role == "feature" else "name": 1.0, "color": category}
    model.learn_one(x, value if role == "label" else "a")
    path.write_text("old")
    with pytest.raises(TypeError, match=role) as caught:
        model.save(path)
    assert repr(value) in str(caught.value)
    assert [entry.read_text() for entry in path.parent.iterdir()] == ["old"]


def test_tuples_too_deep_are_refused_when_they_are_saved(path):
    for depth, fits in ((50, True), (51, False), (10_000, False)):
        value = "core"
        for _ in range(depth):
            value = (value,)
        model = learn(OnlineDummyClassifier(), [({}, value, 1.0)])
        if fits:
            assert [*reloaded(model, path)._labels] == [value]
        else:
            with pytest.raises(TypeError, match="nested up to 50 deep"):
                model.save(path)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=())),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats(allow_nan=False, width=16).map(np.float16),
    st.floats(allow_nan=False).map(np.float64),
    st.text(max_size=3).map(np.str_),
    st.booleans().map(np.bool_),
)
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple))


@settings(max_examples=150)
@given(st.lists(ANYTHING, unique=True, max_size=8), st.lists(ANYTHING, unique=True, max_size=8))
def test_any_labels_and_categories_come_back(tmp_path_factory, labels, categories):
    model = AMFClassifier(n_estimators=1, seed=1)
    for label in labels or ["a"]:
        if label is not None:
            for category in categories:
                model.learn_one({"color": ("a", category), ("f", category): 1}, label)
    twin = reloaded(model, tmp_path_factory.mktemp("any") / "model.amf")
    assert len(names_in(twin)) == len(names_in(model))
    assert all(map(is_same, names_in(twin), names_in(model)))


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


def refuse(error):
    def raise_it(*_):
        raise error

    return raise_it


@pytest.mark.parametrize("error", [OSError(28, "no space"), MemoryError(), KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("exists", "where"),
    [
        (exists, where)
        for exists in (True, False)
        for where in ("os.fsync", "os.replace", "os.chmod", "pieces", "late piece")
        if exists or where != "os.chmod"  # an existing file keeps its permissions
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


# Files that are not models, or are damaged


def small_file(path):
    model = AMFClassifier(n_estimators=1, seed=1)
    for x, label, weight in edits.samples(12):
        model.learn_one(x, label, w=weight)
    model.save(path)
    return path.read_bytes()


def test_a_truncated_file_says_so(path):
    data = small_file(path)
    for length in range(len(data)):
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
    path.write_bytes(data + data)  # it ends like ours, but starts too early
    assert "has been changed since it was saved" in error_of(path)


@pytest.mark.parametrize("change", [0x01, 0x10, 0x80, 0xFF])
def test_a_file_with_a_single_byte_changed_is_refused(path, change):
    data = bytearray(small_file(path))
    n_said = 0
    for place in range(len(data)):
        data[place] ^= change
        path.write_bytes(data)
        n_said += "has been changed since it was saved" in error_of(path)
        data[place] ^= change
    assert n_said >= len(data) - 21  # otherwise it starts or ends like another file


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


def member_of(name, data, **changes):
    """Return the zip entry of a member as we write it, with some changes, and its data."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, 0o100644 << 16
    for what, value in changes.items():
        setattr(entry, what, value)
    return entry, data


def archive_of(members, edit=lambda entries: None):
    """Return a file of these members with a valid checksum, after editing its directory."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a name that occurs twice
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = b"sha256:" + bytes(64)
            for entry, data in members:
                archive.writestr(entry, data)
            edit(archive.filelist)
    return signed(file.getvalue())


def signed(data):
    """Return a file with a valid checksum."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def file_of(header, edit=lambda entries: None, **arrays):
    """Return the bytes of a file with this header, these arrays and a valid checksum."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    members = [member_of(f"{name}.npy", data) for name, data in arrays.items()]
    return archive_of([member_of("header.json", text), *members], edit)


def npy_of(text, data=b"", version=b"\1\0"):
    """Return an array as numpy writes it, but with this description."""
    start = b"\x93NUMPY" + version + len(text).to_bytes(2, "little")
    return start + text.encode() + data


def described(descr="'<f8'", shape="(0,)", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


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


DUMMY = {"river_amf": river_amf.__version__, "format": container.FORMAT}
DUMMY |= {"kind": "OnlineDummyClassifier", "model": {"parameters": {}, "labels": []}}
COUNTS = npy_of(described())


def counts_of(*counts):
    file = io.BytesIO()
    np.save(file, np.array(counts, np.float64))
    return file.getvalue()


def test_the_helper_writes_as_the_package_does(path):
    learn(OnlineDummyClassifier(), [({}, "a", 2.0)]).save(path)
    model = {"parameters": {"n_classes": None, "dirichlet": None}, "labels": ["a"]}
    header = {"format": 1, "river_amf": river_amf.__version__, "kind": "OnlineDummyClassifier"}
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


def set_of_last(*whats, value):
    return lambda entries: [setattr(entries[-1], what, value) for what in whats]


SIZES = "file_size", "compress_size"


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
def test_any_byte_changed_and_signed_is_refused_or_harmless(path, monkeypatch, limit):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    header = DUMMY | {"model": {"labels": ["a"]}}
    container.write(str(path), header, {"counts": np.array([1.0])})
    data = bytearray(path.read_bytes())
    n_loaded = 0
    for place in range(len(data) - 64):
        for change in (0x01, 0x08, 0x80, 0xFF):
            data[place] ^= change
            path.write_bytes(signed(data))
            try:
                _, arrays = container.read(str(path))
            except FileError:
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


def test_no_header_is_held_before_its_checksum_agrees(path):
    data = file_of(DUMMY)
    with open(path, "wb") as file:
        file.write(data[:41])
        file.seek(300_000_000)  # sparse: it takes one block on disk
        file.write(data[data.index(b"PK\1\2") :])
    tracemalloc.start()
    try:
        assert "has been changed" in error_of(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * container._PIECE_BYTES


def test_a_header_that_is_too_long_is_neither_saved_nor_read(path, monkeypatch):
    model = learn(OnlineDummyClassifier(), [({}, "a" * 1000, 1.0)])
    model.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(container, "LONGEST_HEADER", 1000)
    assert "its header claims to have 1" in error_of(path)
    with pytest.raises(ValueError, match=r"labels, categories and names take 1\d\d\d bytes"):
        model.save(path)
    assert path.read_bytes() == before


def test_a_long_header_comes_back(path, monkeypatch):
    monkeypatch.setattr(container, "_PIECE_BYTES", 1000)
    labels = [f"label {i}" for i in range(3000)]
    model = learn(OnlineDummyClassifier(), [({}, label, 1.0) for label in labels])
    assert [*reloaded(model, path)._labels] == labels


@pytest.mark.parametrize("tag", ["", '"tuple",', '"str",', '"int8",'])
@pytest.mark.parametrize("depth", [400, 800, *range(900, 1000, 9), 3000, 50_000])
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
    arrays["nodes"] = np.zeros((n_trees, 0), arrays["nodes"].dtype)
    arrays["counts"] = np.zeros((n_trees, 0, n_labels))
    arrays["faded"] = np.zeros((n_trees, 0, 0))
    arrays["boxes"] = np.zeros((n_trees, 0, 2, 0))
    arrays["rows"] = np.zeros((0, 0))
    arrays["samples"] = arrays["samples"][:0]
    arrays["links"] = np.zeros((n_trees, 0), np.int32)
    container.write(str(path), header, arrays)
    assert "empty trees" in error_of(path)


# Files that were edited together with their checksum


def parts_in(model, path):
    model.save(path)
    return container.read(str(path))


def edited_error(path, header, arrays):
    container.write(str(path), header, arrays)
    return error_of(path)


@pytest.mark.parametrize(
    "edit, what",
    [
        (lambda p, a: a["nodes"]["left"].__setitem__((0, 0), 10**6), "children"),
        (lambda p, a: a["nodes"]["left"].__setitem__((0, inner(a)), inner(a)), "links of nodes"),
        (lambda p, a: a["nodes"]["parent"].__setitem__((0, 1), 1), "links of nodes"),
        (lambda p, a: a["nodes"]["feature"].__setitem__((0, inner(a)), 3), "split features"),
        (lambda p, a: a["nodes"]["threshold"].__setitem__((0, inner(a)), np.nan), "thresholds"),
        (lambda p, a: a["nodes"]["odds"].__setitem__((0, inner(a)), np.nan), "odds"),
        (lambda p, a: a["nodes"]["split_time"].__setitem__((0, inner(a)), -1.0), "split times"),
        (lambda p, a: a["nodes"]["slot"].__setitem__((0, inner(a)), 10**6), "slots"),
        (lambda p, a: a["nodes"]["n_rows"].__setitem__((0, inner(a)), 1), "cannot be"),
        (lambda p, a: a["trees"]["root"].__setitem__(0, -7), "roots"),
        (lambda p, a: a["trees"]["n_nodes"].__setitem__(0, 10**6), "shape of nodes"),
        (lambda p, a: a["trees"]["key"].__setitem__(0, 2**40), "keys"),
        (lambda p, a: a["counts"].__setitem__((0, 0, 0), -1.0), "counts"),
        (lambda p, a: a["samples"]["label"].__setitem__(0, 2), "labels of samples"),
        (lambda p, a: a["links"].__setitem__((0, 0), 0), "lists of samples"),
        (lambda p, a: a["features"]["n_recent"].__setitem__(0, 65), "recent values"),
        (lambda p, a: a["rows"].__setitem__((0, 2), 2.0), "categories of samples"),
        (lambda p, a: a["rows"].__setitem__((0, 1), np.inf), "values of samples"),
        (lambda p, a: a["boxes"].__setitem__((0, 0, 0, 1), 1e9), "boxes"),
        (lambda p, a: a.pop("links"), "lists of samples"),
        (lambda p, a: a.update(pure=np.zeros(3)), "list of arrays"),
        (lambda p, a: a.update(counts=a["counts"].astype(int)), "type of counts"),
        (lambda p, a: a.update(bias=a["bias"][:-1]), "shape of bias"),
        (lambda p, a: a["counters"]["n_stored"].fill(3), "number of samples"),
        (lambda p, a: a["counters"]["n_rows"].fill(3), "shape of rows"),
        (lambda p, a: a["counters"]["n_rows"].fill(-1), "number of rows"),
        (lambda p, a: a["counters"]["newest_weight"].fill(0.0), "newest"),
        (lambda p, a: a["counters"]["newest_weight"].fill(np.nan), "weight of the newest"),
        (lambda p, a: a.update(counters=a["counters"][:0]), "shape of counters"),
        (lambda p, a: a.pop("counters"), "list of arrays"),
        (lambda p, a: p.pop("labels"), "cannot be"),
        (lambda p, a: p.pop("features"), "cannot be"),
        (lambda p, a: a.pop("trees"), "list of arrays"),
        (lambda p, a: a.update(trees=a["trees"][0].reshape(())), "number of trees"),
        (lambda p, a: a.update(samples=a["samples"].reshape(-1, 1)), "shape of samples"),
        (lambda p, a: p.update(more=1), "more"),
        (lambda p, a: p["parameters"].update(step=-1.0), "step must be"),
        (lambda p, a: p["parameters"].update(n_estimators=3), "number of trees"),
        (lambda p, a: p["parameters"].update(n_classes=1), "number of labels"),
        (lambda p, a: p["parameters"].update(pace=1.0), "unknown parameters ['pace']"),
        (lambda p, a: p["labels"].append(1), "appears twice"),
        (lambda p, a: p["labels"].append(None), "the label None"),
        (lambda p, a: p["labels"].append(["lambda", "1"]), "does not encode a value"),
        (lambda p, a: p["labels"].append({}), "an object in place of a value"),
        (lambda p, a: p["features"].append(["a", None]), "appears twice"),
        (lambda p, a: p["features"][0].append(1), "features are not a list"),
        (lambda p, a: p["features"].append(["d", []]), "a categorical feature has no categories"),
        (lambda p, a: p["labels"].append(["int8", 1.5]), "does not encode a value"),
        (lambda p, a: p["labels"].append(["int8", 1000]), "does not encode a value"),
        (lambda p, a: a.clear(), "labels without any trees"),
        (lambda p, a: (a.clear(), p["labels"].clear()), "features without any trees"),
    ],
)
def test_an_edited_model_says_what_cannot_be(path, edit, what):
    model = trained([*edits.samples(60)], n_estimators=2)
    header, arrays = parts_in(model, path)
    edit(header["model"], arrays)
    assert what in edited_error(path, header, arrays)


def test_arrays_that_a_file_lacks_are_as_before_anything_is_learnt(path):
    model = trained([*edits.samples(60)], n_estimators=2)
    header, arrays = parts_in(model, path)
    for name in ("bias", "faded", "moments", "buckets"):  # unused by this forest
        del arrays[name]
    container.write(str(path), header, arrays)
    twin = river_amf.load(path)
    assert answers(twin) == answers(model)
    assert pickle.dumps(twin) == pickle.dumps(model)


@pytest.mark.parametrize("name", ["nodes", "counts"])
def test_a_small_file_does_not_make_large_arrays_by_what_it_lacks(path, name):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=2), path)
    header["model"]["parameters"]["n_classes"] = 10**9
    del arrays[name]
    arrays["trees"]["n_nodes"] = 2**30
    assert "list of arrays, without" in edited_error(path, header, arrays)


def inner(arrays):
    """Return an inner node of the first tree that is not its root."""
    nodes = arrays["nodes"][0]
    return int(np.flatnonzero((nodes["left"] >= 0) & (nodes["parent"] >= 0))[0])


def test_nodes_in_a_circle_are_refused(path):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=1), path)
    nodes, node = arrays["nodes"][0], inner(arrays)
    root, child = arrays["trees"]["root"][0], nodes["left"][node]
    # the node becomes its own child's child: all links are mutual, but no root leads to them
    below = np.flatnonzero((nodes["left"] >= 0) & (nodes["parent"] == node))
    if len(below):
        child = int(below[0])
    grandchild = nodes["left"][child]
    above = nodes["parent"][node]
    side = "left" if nodes["left"][above] == node else "right"
    nodes[side][above], nodes["parent"][grandchild] = grandchild, above
    nodes["left"][child], nodes["parent"][node] = node, child
    assert root != node and nodes["left"][child] == node
    assert "links of nodes" in edited_error(path, header, arrays)


def test_lists_that_share_a_tail_or_have_another_length_are_refused(path):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=1), path)
    keeping = np.flatnonzero(arrays["nodes"]["n_rows"][0] > 0)
    assert len(keeping) > 2
    first, second = keeping[:2]
    arrays["nodes"]["n_rows"][0, first] += 1
    assert "lengths of lists" in edited_error(path, header, arrays)
    arrays["nodes"]["n_rows"][0, first] -= 1
    arrays["nodes"]["slot"][0, first] = arrays["nodes"]["slot"][0, second]
    assert "lists of samples" in edited_error(path, header, arrays)


def test_a_tree_whose_budget_is_spent_keeps_no_samples(path):
    header, arrays = parts_in(trained([*edits.samples(60)], n_estimators=1), path)
    assert (arrays["nodes"]["n_rows"] > 0).any()
    header["model"]["parameters"]["max_nodes"] = int(arrays["trees"]["n_nodes"][0])
    assert "kept samples" in edited_error(path, header, arrays)


def test_an_edited_dummy_says_what_cannot_be(path):
    model = learn(OnlineDummyClassifier(n_classes=2), [({}, "a", 1.0), ({}, "b", 2.0)])
    for edit in (
        lambda p, a: a.update(counts=np.array([1.0])),
        lambda p, a: a.update(counts=np.array([1.0, -1.0])),
        lambda p, a: a.update(counts=np.array([1.0, np.nan])),
        lambda p, a: a.update(counts=np.array([1, 1])),
        lambda p, a: a.update(more=np.array([1])),
        lambda p, a: p.update(more=1),
        lambda p, a: p["labels"].append("c"),
    ):
        header, arrays = parts_in(model, path)
        edit(header["model"], arrays)
        assert "is damaged" in edited_error(path, header, arrays)


def subprocess_env():
    root = str(Path(river_amf.__file__).parent.parent)
    return os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kind": AdaptiveAMFClassifier, "restart_threshold": 0.01, "max_nodes": 41},
        {"kind": AdaptiveAMFClassifier, "split_pure": True, "n_classes": 3},
    ],
)
def test_an_edited_file_is_refused_or_loads_a_model_that_works(path, tmp_path, parameters):
    trained([*edits.samples(120)], n_estimators=2, **parameters).save(path)
    script = str(Path(edits.__file__))
    command = [sys.executable, "-X", "faulthandler", script, str(path), str(tmp_path), "7", "400"]
    result = subprocess.run(
        command, env=subprocess_env(), capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    n_refused, n_loaded = map(int, result.stdout.split())
    assert n_refused > 100
    assert n_loaded > 50


# Files of other releases


@pytest.mark.parametrize("kind", [AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier])
def test_parameters_that_came_later_have_the_default_of_their_class(path, kind):
    model = learn(kind(), STREAM[:100])
    header, arrays = parts_in(model, path)
    parameters = header["model"]["parameters"]
    for name, value in parameters.items():
        header["model"]["parameters"] = {n: v for n, v in parameters.items() if n != name}
        container.write(str(path), header, arrays)
        assert getattr(river_amf.load(path), name) == value
    del header["model"]["parameters"]
    container.write(str(path), header, arrays)
    assert answers(river_amf.load(path)) == answers(model)


def test_what_else_came_later_has_the_default_of_a_new_model(path):
    for kind in (AMFClassifier, AdaptiveAMFClassifier, OnlineDummyClassifier):
        header = {"river_amf": "0.1", "kind": kind.__name__, "model": {}}
        container.write(str(path), header, {})
        assert pickle.dumps(river_amf.load(path)) == pickle.dumps(kind())
    header["model"] = {"labels": ["a", "b"]}
    container.write(str(path), header, {})
    assert river_amf.load(path).predict_proba_one({}) == {"a": 0.5, "b": 0.5}


def test_a_field_that_came_later_has_its_default_in_older_files(path, monkeypatch):
    model = trained(STREAM[:300])
    assert (model._arena.features["credit"] == 0).all()
    header, arrays = parts_in(model, path)
    features = arrays["features"]
    older = [name for name in features.dtype.names if name != "credit"]
    arrays["features"] = np.zeros(len(features), [(n, features.dtype[n]) for n in older])
    for name in older:
        arrays["features"][name] = features[name]
    assert "fields of features" in edited_error(path, header, arrays)
    monkeypatch.setitem(soundness.ADDED, "features", {"credit": 0.0})
    assert pickle.dumps(river_amf.load(path)) == pickle.dumps(model)


FIXTURE_PARAMETERS = {
    "forest": {"kind": AMFClassifier, "n_estimators": 2},
    "adaptive": {"kind": AdaptiveAMFClassifier, "n_estimators": 2, "max_nodes": 41},
    "dummy": {"kind": OnlineDummyClassifier},
}


def fixture_stream(n_samples):
    """Numbers, categories, gaps, weights; labels that are tuples, True and numpy's."""
    rng = random.Random(11)
    labels = [("left", 1), True, np.int64(7)]
    for i in range(n_samples):
        x = {
            "a": rng.gauss(0, 1),
            ("b", 2): rng.randrange(5),
            "c": rng.choice(["red", ("t", None)]),
        }
        if rng.random() < 0.2:
            del x["a"]
        if i > 50:
            x["late"] = rng.choice([0.5, None])
        yield x, labels[(x[("b", 2)] + (rng.random() < 0.2)) % 3], rng.choice([1.0, 1.0, 0.5])


def fixture_answers(model):
    """Return the probabilities that a model predicts for the fixture's questions."""
    questions = [{}, {"c": "never seen"}, *(x for x, _, _ in fixture_stream(40))]
    return [list(model.predict_proba_one(x).values()) for x in questions]


FIXTURE_ESTIMATORS = {  # name -> class, parameters and given classes
    "sklearn_forest": ("AMFClassifier", {"n_estimators": 2, "random_state": 5}, None),
    "sklearn_adaptive": (
        "AdaptiveAMFClassifier",
        {"n_estimators": 2, "max_nodes": 41, "random_state": 5, "n_jobs": None},
        ["broad", "deep", "tall", "wide"],
    ),
    "sklearn_dummy": ("OnlineDummyClassifier", {"n_classes": 5}, None),
}


def fixture_table(n_rows):
    """Columns of numbers with gaps and of categories, and labels that are strings."""
    rng = random.Random(12)
    table = pd.DataFrame(
        {
            "size": [rng.choice([rng.gauss(0, 1), math.nan]) for _ in range(n_rows)],
            "color": [rng.choice(["red", "tan", None]) for _ in range(n_rows)],
        }
    )
    kinds = (table["size"].fillna(0.0) > 0.0) + (table["color"] == "tan").astype(int)
    return table, [("deep", "broad", "tall")[kind] for kind in kinds]


def fixture_models(n_samples):
    """Yield the name of each fixture, its model and its predictions."""
    for name, parameters in FIXTURE_PARAMETERS.items():
        parameters = dict(parameters)
        kind = parameters.pop("kind")
        seed = {} if kind is OnlineDummyClassifier else {"seed": 5}
        model = learn(kind(**parameters, **seed), fixture_stream(n_samples))
        yield name, model, fixture_answers(model)
    face = importlib.import_module("river_amf.sklearn")
    for name, (kind, parameters, classes) in FIXTURE_ESTIMATORS.items():
        estimator = getattr(face, kind)(**parameters)
        estimator.partial_fit(*fixture_table(n_samples), classes=classes)
        yield name, estimator, estimator.predict_proba(fixture_table(40)[0]).tolist()


def make_fixtures(release, n_samples=120):
    """Write files for each class, with the predictions of their models, unless they exist.

    To run it by hand in this folder:
    `python -c "import test_persistence as t; t.make_fixtures('0.1')"`.
    Nothing has been published yet: if the format changes, delete those of 0.1 and create new ones.
    """
    FIXTURES.mkdir(exist_ok=True)
    for name, model, expected in fixture_models(n_samples):
        file = FIXTURES / f"{name}-{release}.amf"
        if not file.exists():
            model.save(file)
            file.with_suffix(".json").write_text(json.dumps(expected, indent=0) + "\n")


def fixtures_of(names):
    """Parametrize a test by the files with this name from every release."""
    files = [file for file in FIXTURES.glob("*.amf") if file.stem.partition("-")[0] in names]
    return pytest.mark.parametrize("file", sorted(files), ids=lambda file: file.stem)


@fixtures_of(FIXTURE_PARAMETERS)
def test_files_of_every_release_are_read(file):
    model = river_amf.load(file)
    name = file.stem.partition("-")[0]
    assert type(model) is FIXTURE_PARAMETERS[name]["kind"]
    assert [*map(type, model._labels)] == [tuple, bool, np.int64]
    expected = json.loads(file.with_suffix(".json").read_text())
    for proba, recorded in zip(fixture_answers(model), expected, strict=True):
        assert proba == pytest.approx(recorded, rel=1e-12, abs=1e-12)
    learn(model, [({"a": 0.0, "new": 1.0, "c": "blue"}, "new label", 3.0)] * 40)
    learn(model, fixture_stream(20))
    assert model.predict_proba_one({"a": 0.0, "new": 1.0})["new label"] > 0.2
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1)


@fixtures_of(FIXTURE_ESTIMATORS)
def test_estimators_of_every_release_are_read(file):
    pytest.importorskip("sklearn", reason="the file holds an estimator of scikit-learn")
    estimator = river_amf.load(file)
    kind, parameters, classes = FIXTURE_ESTIMATORS[file.stem.partition("-")[0]]
    assert type(estimator) is getattr(importlib.import_module("river_amf.sklearn"), kind)
    assert parameters.items() <= estimator.get_params().items()
    assert estimator.classes_.tolist() == (classes or ["broad", "deep", "tall"])
    assert estimator.feature_names_in_.tolist() == ["size", "color"]
    table, labels = fixture_table(40)
    expected = json.loads(file.with_suffix(".json").read_text())
    np.testing.assert_allclose(estimator.predict_proba(table), expected, rtol=1e-12, atol=1e-12)
    estimator.partial_fit(table, labels)
    assert set(estimator.predict(table)) <= set(estimator.classes_)


def test_there_is_a_fixture_of_each_class():
    names = {file.stem.removesuffix("-0.1") for file in FIXTURES.glob("*-0.1.amf")}
    assert names == {*FIXTURE_PARAMETERS, *FIXTURE_ESTIMATORS}
    kinds = {container.read(str(file))[0]["kind"] for file in FIXTURES.glob("*-0.1.amf")}
    names = ("AMFClassifier", "AdaptiveAMFClassifier", "OnlineDummyClassifier")
    assert kinds == {*names, *(f"sklearn.{name}" for name in names)}
