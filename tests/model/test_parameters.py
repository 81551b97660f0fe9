"""Parameters: what they accept, their defaults, and that each one matters."""

import copy
import fractions
import inspect
import io
import math
import pickle
import random
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from forests import state_of
from river import forest as river_forest

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)
from river_amf.inputs import cautions
from river_amf.parameters import TABLE as DECLARED
from river_amf.parameters import Parameters

PLAIN, ADAPTIVE = [AMFClassifier, AMFRegressor], [AdaptiveAMFClassifier, AdaptiveAMFRegressor]
FORESTS = [*PLAIN, *ADAPTIVE]
MODELS = [*FORESTS, OnlineDummyClassifier]
NOT_INTEGERS = [1.0, "1", True, math.nan, [1], fractions.Fraction(2), np.array(2), pd.NA, -1]
NOT_INTEGERS += [np.timedelta64(2), 1j, np.complex128(2), np.ma.masked]
NOT_NUMBERS = [0, -1.0, "1", True, math.nan, math.inf, -math.inf, [1.0], 1j, np.array(0.5), pd.NA]
NOT_NUMBERS += [np.timedelta64(1), np.complex128(0.5), np.ma.masked]
NOT_CHOICES = ["", "Log", 0, True, math.nan, [1], np.array([1, 2]), pd.NA]
NOT_FLAGS = [None, 0, 1, "True", math.nan]
PLAIN_NUMBERS = [0.1, 0.9, np.float32(0.5), np.float64(0.5), fractions.Fraction(1, 3)]
SMALL_NUMBERS = [*PLAIN_NUMBERS, 5e-324]
COUNTS = [1, 5, 10**30, np.int64(15)]

# name -> (good values, bad values, what the error message asks for)
TABLE = {
    "n_classes": ([None, 1, 2, 50, np.uint8(3)], [*NOT_INTEGERS, 0], "integer >= 1 or None"),
    "dirichlet": (
        [None, 1, 1e300, 1e-300, *PLAIN_NUMBERS],
        [*NOT_NUMBERS, 9.9e-301, 5e-324, fractions.Fraction(1, 10**400)],
        "from 1e-300 to 1e+300, or None",
    ),
    "n_estimators": ([1, 10, np.int64(3)], [*NOT_INTEGERS, 0, None], "integer >= 1"),
    "step": ([1, 2, 1e300, *SMALL_NUMBERS], [*NOT_NUMBERS, None], "> 0 and at most 1e+300"),
    "split_prior": (SMALL_NUMBERS, [*NOT_NUMBERS, None, 1, 1.5], "strictly between 0 and 1"),
    "use_aggregation": ([True, False, np.bool_(True)], NOT_FLAGS, "True or False"),
    "split_pure": ([True, False, np.bool_(False)], NOT_FLAGS, "True or False"),
    "max_nodes": ([None, 1, 2, 3, 10**9, np.int64(15)], [*NOT_INTEGERS, 0], "integer >= 1 or None"),
    "max_categories": ([None, *COUNTS], [*NOT_INTEGERS, 0], "integer >= 1 or None"),
    "max_features": ([None, *COUNTS], [*NOT_INTEGERS, 0], "integer >= 1 or None"),
    "absent": (["missing", "zero"], [*NOT_CHOICES, None, "nan"], "'missing' or 'zero'"),
    "max_split_words": (COUNTS, [*NOT_INTEGERS, 0, None], "integer >= 1"),
    "max_words": ([None, 2, *COUNTS[1:]], [*NOT_INTEGERS, 0, 1], "integer >= 2 or None"),
    "split_intensity": (
        ["range", "relevance", "unit"],
        [*NOT_CHOICES, None, "Relevance"],
        "'range' or 'relevance' or 'unit'",
    ),
    "fading_factor": (
        [None, *SMALL_NUMBERS],
        [*NOT_NUMBERS, "0.5", 1, 1.5, 10**400],
        "strictly between 0 and 1, or None",
    ),
    "drift_threshold": (
        [None, 1, 5.0, 1e300, *SMALL_NUMBERS],
        [*NOT_NUMBERS, "5", False],
        "> 0 and at most 1e+300, or None",
    ),
    "vote": (["mean", "learned"], [*NOT_CHOICES, None, "Learned"], "'mean' or 'learned'"),
    "linear": ([True, False], NOT_FLAGS, "True or False"),
    "recent": ([None, "errors", "target"], [*NOT_CHOICES, "last"], "None or 'errors' or 'target'"),
    "max_delayed_labels": ([0, *COUNTS], [*NOT_INTEGERS, -1, None], "integer >= 0"),
    "on_mismatch": (["raise", "missing"], [*NOT_CHOICES, None, "ignore"], "'raise' or 'missing'"),
    "n_jobs": (
        [1, 2, 1000, -1, np.int64(3)],
        [*(v for v in NOT_INTEGERS if repr(v) != "-1"), 0, -2, None],
        "integer >= 1, or -1",
    ),
    "seed": ([None, 0, 42, 2**64, np.uint8(3)], NOT_INTEGERS, "integer >= 0 or None"),
}


def names_of(model):
    return [*inspect.signature(model).parameters]


models = pytest.mark.parametrize("model", MODELS)
forests = pytest.mark.parametrize("kind", FORESTS)
# Adaptive forests inherit the checks of each value, so they get one of each parameter below.
values = pytest.mark.parametrize(
    ("model", "name"), [(m, name) for m in (*PLAIN, OnlineDummyClassifier) for name in names_of(m)]
)


def stream(n_samples=300):
    """Yield samples with a category, and labels that are numbers, too."""
    rng = random.Random(3)
    for i in range(n_samples):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "c": rng.random() ** 3}
        x["color"] = "pqrstu"[i * i % 7 % 6]
        yield x, (x["a"] > 0.5) ^ (rng.random() < 0.1)


def trained(model=AMFClassifier, samples=None, **parameters):
    if model in FORESTS:
        parameters = {"n_estimators": 3, "seed": 42} | parameters
    trained = model(**parameters)
    for x, y in samples or stream():
        trained.learn_one(x, int(y))
    return trained


def answers(model, questions=None):
    """Return what a model predicts: the probabilities of each sample, or its number."""
    predict = getattr(model, "predict_proba_one", model.predict_one)
    return [predict(x) for x in questions or [x for x, _ in stream(40)]]


def check_valid(answer):
    if isinstance(answer, dict):
        assert all(0.0 <= p <= 1.0 for p in answer.values())
        answer = sum(answer.values()) - 1.0
        assert abs(answer) <= 1e-9
    assert math.isfinite(answer)


@pytest.mark.parametrize("kind", PLAIN)
def test_signatures_are_those_of_the_table(kind):
    written = inspect.signature(kind).parameters
    declared = {name: p for name, p in DECLARED.items() if p.task in (None, kind._task)}
    assert written.keys() == declared.keys()
    for name, parameter in written.items():
        assert parameter.annotation == Parameters.__annotations__[name], name
        assert re.search(rf"^(\w+, )*{name}(, \w+)*$", inspect.getdoc(kind), re.MULTILINE), name
    for name, parameter in DECLARED.items():
        if name not in declared:
            assert getattr(kind(), name) == parameter.constant


@pytest.mark.parametrize("kind", ADAPTIVE)
def test_adaptive_forests_differ_in_defaults(kind):
    plain = kind.__mro__[1]
    ours, theirs = (inspect.signature(forest).parameters for forest in (kind, plain))
    assert [(p.name, p.kind, p.annotation) for p in ours.values()] == [
        (p.name, p.kind, p.annotation) for p in theirs.values()
    ]
    assert {name: p.default for name, p in ours.items()} == kind()._get_params()
    other = {name: p.default for name, p in ours.items() if p.default != theirs[name].default}
    listed = re.sub(r"\s+", " ", inspect.getdoc(kind)).partition("The defaults that differ are ")[2]
    assert listed.startswith(", ".join(f"{name}={value!r}" for name, value in other.items()) + ".")
    for one, other in ((kind, plain), (plain, kind)):
        model = trained(one)
        assert answers(model) == answers(trained(other, **model._get_params()))


@forests
def test_parameters_have_the_names_of_those_of_river(kind):
    theirs = river_forest.AMFClassifier(7, 0.5, False, 0.25, True, 99, 42)._get_params()
    if issubclass(kind, AMFRegressor):
        theirs = river_forest.AMFRegressor(7, 0.5, False, 42)._get_params()
    ours = kind(**theirs)._get_params()
    assert theirs == {name: ours[name] for name in theirs}
    with pytest.raises(TypeError, match="positional"):
        kind(7, 0.5)


def test_subclasses_may_have_parameters():
    class Small(AdaptiveAMFClassifier):
        def __init__(self, n_estimators=2, *, seed=None, width=1):
            super().__init__(n_estimators, seed=seed, max_nodes=15)
            self.width = width

    model = trained(Small(width=3).clone)
    assert model._get_params() == {"n_estimators": 2, "seed": None, "width": 3}
    assert (len(model._arena.trees), model.max_nodes, model.vote) == (2, 15, "learned")


@values
def test_good_values_are_kept_and_lead_to_answers(model, name):
    for value in TABLE[name][0]:
        samples = list(stream(50))
        if name == "n_classes" and value == 1:
            samples = [(x, 0) for x, _ in samples]
        learned = trained(model, samples, **{name: value})
        assert getattr(learned, name) is value, value
        for answer in answers(learned):
            check_valid(answer)


def message_of(call, *args, **kwargs):
    """Return the error for a value of a parameter that must be rejected."""
    with pytest.raises(ValueError) as error:
        call(*args, **kwargs)
    return str(error.value)


@values
def test_bad_values_are_refused_with_good_ones(model, name):
    _, bad, right = TABLE[name]
    for value in bad:
        message = message_of(model, **{name: value})
        assert message.startswith(f"{name} must be ")
        assert repr(value) in message and right in message, value


@models
def test_huge_integers_are_refused_with_the_bound(model):
    bounds = {"n_classes": 10**12, "n_estimators": 10**4}
    for name in bounds.keys() & {*names_of(model)}:
        for value in (bounds[name] + 1, 2**70, 10**5000):
            assert f"at most {bounds[name]}" in message_of(model, **{name: value})
    for name in {"max_nodes", "n_jobs"} & {*names_of(model)}:
        assert "at most 1e+300" in message_of(model, **{name: 10**5000})


@models
def test_values_are_checked_when_assigned(model):
    for name in names_of(model):
        good, bad, right = TABLE[name]
        untrained = model()
        setattr(untrained, name, good[-1])
        assert getattr(untrained, name) is getattr(model(**{name: good[-1]}), name) is good[-1]
        before = state_of(untrained)
        assert right in message_of(setattr, untrained, name, bad[0])
        assert right in message_of(model, **{name: bad[0]})
        assert right in message_of(untrained.clone, {name: bad[0]})
        assert state_of(untrained) == before


@models
def test_parameters_but_threads_are_then_read_only(model):
    learned = trained(model, stream(1))
    before = state_of(learned)
    for name in names_of(model):
        if name != "n_jobs":
            with pytest.raises(AttributeError, match=f"{name} is read-only"):
                setattr(learned, name, TABLE[name][0][-1])
    assert state_of(learned) == before
    if model in FORESTS:
        learned.n_jobs = 2
        with pytest.raises(ValueError, match="n_jobs"):
            learned.n_jobs = 0
        assert learned.n_jobs == 2


CHANGES = [
    {"step": 0.5},
    {"split_prior": 0.8},
    {"fading_factor": 0.5},
    {"use_aggregation": False},
    {"max_nodes": 15},
    {"max_categories": 2},
    {"max_features": 2},
    {"split_intensity": "unit"},
    {"split_intensity": "relevance"},
    {"n_estimators": 4},
    {"seed": 43},
    {"vote": "learned"},
    {"vote": "mean"},
]
CHANGES_OF_ONE = {
    AMFClassifier: [
        {"dirichlet": 0.1},
        {"split_pure": True},
        {"n_classes": 3},
        {"absent": "zero"},
        {"absent": "zero", "max_split_words": 1},
        {"absent": "zero", "max_words": 2},
    ],
    AMFRegressor: [{"recent": "errors"}, {"recent": "target"}],
}


@pytest.mark.parametrize("kind", PLAIN)
def test_every_parameter_changes_predictions(kind):
    default, plain = kind(), answers(trained(kind))
    for change in [*CHANGES, *CHANGES_OF_ONE[kind]]:
        is_default = all(getattr(default, name) == value for name, value in change.items())
        assert (answers(trained(kind, **change)) == plain) == is_default, change
    for vote, has_effect in (("learned", True), ("mean", False)):
        without, beside = (trained(kind, vote=vote, linear=linear) for linear in (False, True))
        assert (answers(without) != answers(beside)) == has_effect


WORDS, TREE, MEAN = {"absent": "missing"}, {"n_estimators": 1}, {"vote": "mean"}
LEAVES = {"use_aggregation": False, "fading_factor": None, "max_nodes": None}
IDLE = [  # parameters that have no effect with others
    ({"max_words": 9}, WORDS),
    ({"max_split_words": 2}, WORDS),
    ({"n_jobs": 2}, {"absent": "zero"}),
    ({"linear": True}, MEAN),
    ({"linear": False}, MEAN),
    ({"recent": "target"}, MEAN),
    ({"drift_threshold": 0.5}, TREE),
    ({"max_delayed_labels": 0}, MEAN | {"drift_threshold": None}),
    *(({"step": 0.5}, LEAVES | {"split_intensity": name}) for name in ("range", "unit")),
    ({"split_prior": 0.2}, LEAVES | {"split_intensity": "unit"}),
]


@pytest.mark.parametrize(
    ("kind", "idle", "others"),
    [(k, *case) for k in FORESTS for case in IDLE if {*case[0], *case[1]} <= {*names_of(k)}],
    ids=str,
)
def test_parameters_without_effect_give_one_warning(kind, idle, others, monkeypatch):
    monkeypatch.setattr(cautions, "WARNED", set())
    (name,) = idle
    is_default = idle in ({name: getattr(kind(), name)}, {"linear": False})
    keeps_all = "max_delayed_labels" in idle and issubclass(kind, AMFRegressor)
    with warnings.catch_warnings(record=True, action="always") as record:
        model = trained(kind, **others | idle)
        model.clone(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    assert len(record) == (not (is_default or keeps_all))
    for warning in record:
        assert str(warning.message).startswith(f"{name} has no effect with ")
        assert warning.filename == __file__
    assert keeps_all or answers(model) == answers(trained(kind, **others))


def test_files_load_without_a_warning_of_parameters(monkeypatch):
    file = io.BytesIO()
    for call in (lambda: AMFClassifier(linear=True).save(file), lambda: AMFClassifier.load(file)):
        monkeypatch.setattr(cautions, "WARNED", set())
        with warnings.catch_warnings(record=True, action="always") as record:
            model = call()
        file.seek(0)
    assert model.linear and not record


@forests
def test_only_equal_seeds_give_equal_forests(kind):
    assert answers(trained(kind, seed=5)) == answers(trained(kind, seed=5))
    assert answers(trained(kind, seed=None)) != answers(trained(kind, seed=None))


def run_mapped(scales, shifts=(0.0, 0.0, 0.0), **parameters):
    """Return the answers of a forest where each number is mapped by x -> scale x + shift."""
    samples = []
    for i, (x, y) in enumerate(stream(600)):
        if i % 50 == 7:
            x["a"] = -999.0
        if 400 <= i < 410:  # consecutive far values, which extend the range
            x["b"] = 5000.0 + i
        for name, scale, shift in zip("abc", scales, shifts, strict=True):
            x[name] = scale * x[name] + shift
        samples.append((x, y))
    return answers(trained(samples=samples, **parameters), [x for x, _ in samples[::10]])


scale_free = pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"split_pure": True},
        {"split_intensity": "relevance"},
        {"vote": "learned", "linear": True},
        {"model": AdaptiveAMFClassifier},
        {"model": AMFRegressor},
        {"model": AMFRegressor, "split_intensity": "relevance"},
        {"model": AdaptiveAMFRegressor},
    ],
    ids=str,
)


@scale_free
@pytest.mark.parametrize(
    ("scales", "shifts", "tolerance"),
    [
        ((3.7, 0.01, 1e6), (-11.0, 0.5, 0.0), 1e-9),
        ((1e-9, 1e9, 1 / 3), (0.0, 1e9, 100.0), 1e-9),
        ((2.0**-300, 2.0**300, 0.5), (0.0, 0.0, 0.0), 0.0),  # powers of two change no bit
    ],
)
def test_affine_maps_of_features_change_nothing(parameters, scales, shifts, tolerance):
    found, expected = (
        run_mapped(*maps, **parameters) for maps in ((scales, shifts), ((1.0, 1.0, 1.0),))
    )
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=0.0, abs=tolerance)
