"""Models from files: the same model, with the same future."""

import pickle
import random
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from files import error_of, reloaded
from forests import COARSE_STREAM, STREAM, VARIANTS, answers, learn, trained
from hypothesis import given, settings
from hypothesis import strategies as st

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AMFClassifier,
    OnlineDummyClassifier,
    layout,
    persistence,
)
from river_amf.persistence import container


@pytest.mark.parametrize(
    ("parameters", "cut"),
    [
        *(pytest.param(parameters, 400, id=name) for name, parameters in VARIANTS.items()),
        *(({}, cut) for cut in (0, 1, 100)),
        *((VARIANTS["adaptive, budget"], cut) for cut in (0, 100)),
    ],
)
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


@pytest.mark.parametrize(
    ("kind", "cut"),
    [
        *((AMFClassifier, cut) for cut in range(0, 600, 106)),
        *((AdaptiveAMFClassifier, cut) for cut in range(53, 600, 106)),
    ],
)
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


def test_saving_all_along_the_way_changes_nothing(path):
    kind = AdaptiveAMFClassifier
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


@settings(max_examples=30)
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


def test_loaded_arrays_are_fit_for_the_kernels(path):
    for variant, parameters in VARIANTS.items():
        arena = reloaded(trained(STREAM[:300], **parameters), path)._arena
        for name, array in zip(layout.FIELDS, arena.arrays, strict=True):
            assert array.flags.owndata and array.flags.carray, f"{variant}: {name}"


def test_neither_saving_nor_loading_copies_the_whole(path, monkeypatch):
    monkeypatch.setattr(container, "_PIECE_BYTES", 2**18)
    model = trained(STREAM * 3, n_estimators=26)
    reloaded(model, path)  # what is made once
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


def test_a_long_header_comes_back(path, monkeypatch):
    monkeypatch.setattr(container, "_PIECE_BYTES", 1000)
    labels = [f"label {i}" for i in range(3000)]
    model = learn(OnlineDummyClassifier(), [({}, label, 1.0) for label in labels])
    assert [*reloaded(model, path)._labels] == labels


# Which class


def test_a_class_loads_its_own_and_what_is_derived_from_it(path):
    AdaptiveAMFClassifier(seed=3).save(path)
    for load in (AMFClassifier.load, AdaptiveAMFClassifier.load, river_amf.load):
        assert type(load(path)) is AdaptiveAMFClassifier


def test_another_class_is_refused_and_both_are_named(path):
    AMFClassifier().save(path)
    for cls in (AdaptiveAMFClassifier, OnlineDummyClassifier):
        with pytest.raises(persistence.FileError, match=f"AMFClassifier, not an {cls.__name__}"):
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
