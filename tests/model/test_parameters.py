"""Parameters: what they accept, their defaults, and that each one matters."""

import fractions
import inspect
import math
import pickle
import random
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import forest as river_forest

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)
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
    "n_classes": (
        [None, 1, 2, 50, np.int64(3), np.uint8(3)],
        [*NOT_INTEGERS, 0],
        "integer >= 1 or None",
    ),
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
        [*NOT_NUMBERS, "0.5", False, 1, 1.0, 1.5, 10**400],
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
# The adaptive forests inherit what is checked value by value, so they get one of each kind below.
each = pytest.mark.parametrize(
    ("model", "name"), [(m, name) for m in (*PLAIN, OnlineDummyClassifier) for name in names_of(m)]
)


def stream(n_samples=300, n_classes=2):
    rng = random.Random(3)
    for _ in range(n_samples):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "c": rng.random() ** 3}
        noise = 0 if rng.random() < 0.8 else rng.randrange(n_classes)
        yield x, (int(n_classes * x["a"]) + noise) % n_classes


def colored(n_samples=300):
    """Yield samples with a category, and labels that are numbers, too."""
    for i, (x, y) in enumerate(stream(n_samples)):
        yield x | {"color": "pqrstu"[i * i % 7 % 6]}, y


def learn(model, samples):
    for x, y in samples:
        model.learn_one(x, y)
    return model


def trained(model=AMFClassifier, samples=None, **parameters):
    if model in FORESTS:
        parameters = {"n_estimators": 3, "seed": 42} | parameters
    return learn(model(**parameters), colored() if samples is None else samples)


def answers(model, questions=None):
    """Return what a model predicts: the probabilities of each sample, or its number."""
    predict = getattr(model, "predict_proba_one", model.predict_one)
    return [predict(x) for x in questions or [x for x, _ in colored(40)]]


def check_valid(answer):
    """Check that an answer holds probabilities, or is a finite number."""
    if isinstance(answer, dict):
        assert all(0.0 <= p <= 1.0 for p in answer.values())
        answer = sum(answer.values()) - 1.0
        assert abs(answer) <= 1e-9
    assert math.isfinite(answer)


# Signatures and defaults


@pytest.mark.parametrize("kind", PLAIN)
def test_signatures_and_docstrings_that_are_written_out_are_those_of_the_table(kind):
    written = inspect.signature(kind).parameters
    declared = {name: p for name, p in DECLARED.items() if p.task in (None, kind.task)}
    assert written.keys() == declared.keys()
    for name, parameter in written.items():
        assert parameter.annotation == Parameters.__annotations__[name], name
        assert re.search(rf"^(\w+, )*{name}(, \w+)*$", inspect.getdoc(kind), re.MULTILINE), name
    for name, parameter in DECLARED.items():
        if name not in declared:
            assert getattr(kind(), name) == parameter.constant


@pytest.mark.parametrize("kind", ADAPTIVE)
def test_adaptive_forests_have_the_signature_of_the_forest_with_their_own_defaults(kind):
    ours, theirs = (inspect.signature(each).parameters for each in kind.__mro__[:2])
    assert [(p.name, p.kind, p.annotation) for p in ours.values()] == [
        (p.name, p.kind, p.annotation) for p in theirs.values()
    ]
    assert {name: p.default for name, p in ours.items()} == kind()._get_params()
    lines = inspect.getdoc(kind).splitlines()
    assert [line for line in lines if re.match(r"\w+ : ", line)] == [
        f"{name} : {p.annotation}, default {p.default!r}"
        for name, p in ours.items()
        if p.default != theirs[name].default
    ]
    assert repr(kind(3)).replace(" ", "").startswith(f"{kind.__name__}(\nn_estimators=3\n")


@forests
def test_parameters_have_the_names_of_those_of_river(kind):
    values = (7, 0.5, False, 0.25, True, 99, 42)
    theirs = river_forest.AMFClassifier(*values)._get_params()
    if issubclass(kind, AMFRegressor):
        theirs = river_forest.AMFRegressor(7, 0.5, False, 42)._get_params()
    ours = kind(**theirs)._get_params()
    assert theirs == {name: ours[name] for name in theirs}
    with pytest.raises(TypeError, match="positional"):
        kind(7, 0.5)


def test_a_subclass_may_have_parameters_of_its_own():
    class Small(AdaptiveAMFClassifier):
        def __init__(self, n_estimators=2, *, seed=None, width=1):
            super().__init__(n_estimators, seed=seed, max_nodes=15)
            self.width = width

    model = trained(Small(width=3).clone)
    assert model._get_params() == {"n_estimators": 2, "seed": None, "width": 3}
    assert (len(model._arena.trees), model.max_nodes, model.vote) == (2, 15, "learned")


COMMON = {
    "n_estimators": 10,
    "step": 1.0,
    "split_prior": 0.5,
    "use_aggregation": True,
    "max_nodes": None,
    "max_categories": None,
    "split_intensity": "range",
    "fading_factor": None,
    "drift_threshold": None,
    "max_delayed_labels": 10_000,
    "on_mismatch": "raise",
    "n_jobs": 1,
    "seed": None,
}
OF_THE_DUMMY = {"n_classes": None, "dirichlet": None}
OF_CLASSIFIERS = (
    COMMON
    | OF_THE_DUMMY
    | {
        "split_pure": False,
        "absent": "missing",
        "max_split_words": 30,
        "max_words": None,
        "vote": "mean",
        "linear": False,
    }
)
OF_REGRESSORS = COMMON | {"vote": "learned", "linear": False, "recent": None}
CHANGED = {
    "split_prior": 0.7,
    "max_nodes": 5000,
    "max_categories": 5000,
    "split_intensity": "relevance",
}
DEFAULTS = {
    AMFClassifier: OF_CLASSIFIERS,
    AMFRegressor: OF_REGRESSORS,
    AdaptiveAMFClassifier: OF_CLASSIFIERS
    | CHANGED
    | {"max_words": 100_000, "fading_factor": 0.45, "drift_threshold": 4.0}
    | {"vote": "learned", "linear": True},
    AdaptiveAMFRegressor: OF_REGRESSORS
    | CHANGED
    | {"fading_factor": 0.5, "drift_threshold": 3.0, "linear": True, "recent": "errors"},
    OnlineDummyClassifier: OF_THE_DUMMY,
}


@models
def test_the_defaults_are_the_documented_ones(model):
    assert model()._get_params() == DEFAULTS[model]


@pytest.mark.parametrize("kind", ADAPTIVE)
def test_the_adaptive_forest_is_the_forest_with_other_parameters(kind):
    plain = kind.__mro__[1]
    for one, other in ((kind, plain), (plain, kind)):
        model = trained(one)
        assert answers(model) == answers(learn(other(**model._get_params()), colored()))


# Good and bad values


@each
def test_a_good_value_is_kept_as_it_is_and_leads_to_valid_answers(model, name):
    for value in TABLE[name][0]:
        samples = list(colored(50))
        if name == "n_classes" and value == 1:
            samples = [(x, 0) for x, _ in samples]
        learned = trained(model, samples, **{name: value})
        assert getattr(learned, name) is value, value
        for answer in answers(learned):
            check_valid(answer)


def message_of(name, value, call, *args, **kwargs):
    """Return the error for a value of a parameter that must be rejected."""
    try:
        call(*args, **kwargs)
    except ValueError as error:
        return str(error)
    pytest.fail(f"{name}={value!r} is not refused")


@each
def test_a_bad_value_is_refused_with_the_name_the_value_and_what_would_be_right(model, name):
    _, bad, right = TABLE[name]
    for value in bad:
        message = message_of(name, value, model, **{name: value})
        assert message.startswith(f"{name} must be ")
        assert repr(value) in message
        assert right in message, value


@models
def test_an_integer_of_absurd_size_is_refused_with_the_bound(model):
    bounds = {"n_classes": 10**12, "n_estimators": 10**4}
    for name in bounds.keys() & {*names_of(model)}:
        for value in (bounds[name] + 1, 2**70, 10**5000):
            assert f"at most {bounds[name]}" in message_of(name, "big", model, **{name: value})
    for name in {"max_nodes", "n_jobs"} & {*names_of(model)}:
        assert "at most 1e+300" in message_of(name, "big", model, **{name: 10**5000})


# Assignment


@models
def test_each_class_keeps_and_checks_what_is_given_or_assigned_before_the_first_sample(model):
    for name in names_of(model):
        good, bad, right = TABLE[name]
        untrained = model()
        setattr(untrained, name, good[-1])
        for each in (untrained, model(**{name: good[-1]})):
            assert getattr(each, name) is good[-1], name
        before = pickle.dumps(untrained)
        assert right in message_of(name, bad[0], setattr, untrained, name, bad[0])
        assert right in message_of(name, bad[0], model, **{name: bad[0]})
        assert right in message_of(name, bad[0], untrained.clone, {name: bad[0]})
        assert pickle.dumps(untrained) == before


@models
def test_only_the_number_of_threads_can_be_changed_after_the_first_sample(model):
    learnt = trained(model, stream(1))
    before = pickle.dumps(learnt)
    for name in names_of(model):
        if name != "n_jobs":
            with pytest.raises(AttributeError, match=f"{name} is read-only"):
                setattr(learnt, name, TABLE[name][0][-1])
    assert pickle.dumps(learnt) == before
    if model in FORESTS:
        learnt.n_jobs = 2
        with pytest.raises(ValueError, match="n_jobs"):
            learnt.n_jobs = 0
        assert learnt.n_jobs == 2


# What each parameter does


OF_ALL = [
    {"step": 0.5},
    {"split_prior": 0.8},
    {"fading_factor": 0.5},
    {"use_aggregation": False},
    {"max_nodes": 15},
    {"max_categories": 2},
    {"split_intensity": "unit"},
    {"split_intensity": "relevance"},
    {"n_estimators": 4},
    {"seed": 43},
]
OWN = {
    AMFClassifier: [
        {"vote": "learned"},
        {"dirichlet": 0.1},
        {"split_pure": True},
        {"n_classes": 3},
        {"absent": "zero"},
        {"absent": "zero", "max_split_words": 1},
        {"absent": "zero", "max_words": 2},
    ],
    AMFRegressor: [
        {"vote": "mean"},
        {"linear": True},
        {"recent": "errors"},
        {"recent": "target"},
    ],
}


@pytest.mark.parametrize("kind", PLAIN)
def test_every_parameter_changes_predictions(kind):
    plain = answers(trained(kind))
    changes = [*OF_ALL, *OWN[kind]]
    assert [change for change in changes if answers(trained(kind, **change)) == plain] == []
    learned = answers(trained(kind, vote="learned"))
    assert answers(trained(kind, vote="learned", linear=True)) != learned


@forests
def test_linear_has_no_effect_without_a_learned_vote(kind):
    means = [answers(trained(kind, vote="mean", linear=linear)) for linear in (False, True)]
    assert means[0] == means[1]


@forests
def test_equal_seeds_give_equal_forests_and_no_seed_gives_other_ones(kind):
    assert answers(trained(kind, seed=5)) == answers(trained(kind, seed=5))
    assert answers(trained(kind, seed=None)) != answers(trained(kind, seed=None))


# Maps of features


def run_mapped(scales, shifts=None, **parameters):
    """Return the answers of a forest where each feature is mapped by x -> scale x + shift."""
    shifts = shifts or dict.fromkeys(scales, 0.0)
    samples = [
        ({name: scales[name] * v + shifts[name] for name, v in x.items()}, label)
        for x, label in stream(600)
    ]
    return answers(trained(samples=samples, **parameters), [x for x, _ in samples[::10]])


UNMAPPED = {"a": 1.0, "b": 1.0, "c": 1.0}
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
    ("scales", "shifts"),
    [
        ({"a": 3.7, "b": 0.01, "c": 1e6}, {"a": -11.0, "b": 0.5, "c": 0.0}),
        ({"a": 1e-9, "b": 1e9, "c": 1 / 3}, {"a": 0.0, "b": 1e9, "c": 100.0}),
    ],
)
def test_positive_affine_maps_change_nothing(parameters, scales, shifts):
    found, expected = (run_mapped(*maps, **parameters) for maps in ((scales, shifts), (UNMAPPED,)))
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-9)


@scale_free
@given(st.tuples(*[st.integers(-300, 300)] * 3))
@settings(max_examples=20)
def test_powers_of_two_change_nothing_to_the_last_bit(parameters, powers):
    scales = {name: 2.0**power for name, power in zip("abc", powers, strict=True)}
    assert run_mapped(scales, **parameters) == run_mapped(UNMAPPED, **parameters)
