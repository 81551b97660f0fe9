"""Models from files: the same model, with the same future."""

import pickle

import forests
import pytest
import regressors
from files import reloaded
from forests import STREAM, VARIANTS
from regressors import NUMBERS, REGRESSORS
from river import preprocessing

import river_amf
from river_amf import (
    AdaptiveAMFClassifier,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
    persistence,
)

TASKS = [(forests, STREAM, VARIANTS), (regressors, NUMBERS, REGRESSORS)]


@pytest.mark.parametrize(
    ("tools", "stream", "parameters", "cut"),
    [
        pytest.param(tools, stream, parameters, cut, id=f"{tools.__name__}: {name}, {cut}")
        for tools, stream, variants in TASKS
        for name, parameters in variants.items()
        for cut in ((0, 1, 100, 400) if name in ("default", "adaptive, budget") else (400,))
    ],
)
def test_equal_answers_and_equal_futures(path, tools, stream, parameters, cut):
    model = tools.trained(stream[:cut], **parameters)
    before = pickle.dumps(model)
    twin = reloaded(model, path)
    assert type(twin) is type(model)
    assert pickle.dumps(twin) == pickle.dumps(model) == before
    assert tools.answers(twin) == tools.answers(model)
    for array in twin._arena.arrays if cut else ():
        assert array.flags.owndata and array.flags.carray
    other = path.with_name("other")
    for samples in (stream[cut:], stream[:50]):
        for each in (model, twin):
            tools.learn(each, samples)
        assert tools.answers(twin) == tools.answers(model)
        model.save(path)
        twin.save(other)
        assert other.read_bytes() == path.read_bytes()


def test_a_class_loads_its_own_and_what_is_derived_from_it_and_refuses_others(path):
    AdaptiveAMFClassifier(seed=3).save(path)
    for load in (AMFClassifier.load, AdaptiveAMFClassifier.load, river_amf.load):
        assert type(load(path)) is AdaptiveAMFClassifier
    AMFClassifier().save(path)
    for cls in (AdaptiveAMFClassifier, AMFRegressor):
        with pytest.raises(persistence.FileError, match=f"AMFClassifier, not an {cls.__name__}"):
            cls.load(path)


def test_a_subclass_that_names_no_kind_cannot_be_saved(path):
    class Mine(AMFClassifier):
        pass

    pipeline = preprocessing.StandardScaler() | AMFClassifier()
    for model in (Mine(), object(), None, AMFClassifier, OnlineDummyClassifier(), pipeline):
        with pytest.raises(TypeError, match=r"cannot save a.*; pickle .*pipelines.* runs code"):
            river_amf.save(model, path)
    assert not path.exists()
