"""Models of any parameters in files, and which models files can hold."""

import random

import pytest
from files import reloaded
from forests import pickled
from hypothesis import given, settings
from hypothesis import strategies as st
from river import preprocessing

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
    persistence,
)


@settings(max_examples=30)
@given(
    parameters=st.fixed_dictionaries(
        {
            "dirichlet": st.sampled_from([None, 1e-300, 1e-9, 1e300]) | st.floats(1e-300, 1e300),
            "step": st.sampled_from([5e-324, 1e-300, 1.0, 1e9, 1e300]) | st.floats(5e-324, 1e300),
            "split_prior": st.sampled_from([5e-324, 0.5, 1 - 1e-16]),
            "fading_factor": st.sampled_from([None, 5e-324, 0.5, 1 - 1e-16]),
            "drift_threshold": st.sampled_from([None, 5e-324, 1.0, 1e300]),
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
def test_models_of_any_parameters_come_back(tmp_path_factory, parameters, weights, n_samples):
    model = AMFClassifier(n_estimators=2, seed=1, **parameters)
    rng = random.Random(1)
    for i in range(n_samples):
        x = {"a": rng.random(), "b": rng.random(), "c": rng.choice("uvw")}
        model.learn_one(x, rng.choice([x["a"] > 0.5, "other"]), w=weights[i % len(weights)])
        assert sum(model.predict_proba_one(x).values()) == pytest.approx(1.0)
    twin = reloaded(model, tmp_path_factory.mktemp("extreme") / "model.amf")
    assert pickled(twin) == pickled(model)


def test_class_loads_subclasses_and_no_others(path):
    AdaptiveAMFClassifier(seed=3).save(path)
    for load in (AMFClassifier.load, AdaptiveAMFClassifier.load, river_amf.load):
        assert type(load(path)) is AdaptiveAMFClassifier
    AMFClassifier().save(path)
    for cls in (AdaptiveAMFClassifier, AMFRegressor):
        with pytest.raises(persistence.FileError, match=f"AMFClassifier, not an {cls.__name__}"):
            cls.load(path)


def test_other_models_cannot_be_saved(path):
    class Mine(AMFClassifier):
        pass

    pipeline = preprocessing.StandardScaler() | AMFClassifier()
    for model in (Mine(), object(), None, AMFClassifier, OnlineDummyClassifier(), pipeline):
        with pytest.raises(TypeError, match=r"cannot save a.*; pickle .*pipelines.* runs code"):
            river_amf.save(model, path)
    assert not path.exists()
