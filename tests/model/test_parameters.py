"""Parameters: what they accept, that they persist, and that each one matters."""

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

from river_amf import (
    AdaptiveAMFClassifier,
    AdaptiveAMFRegressor,
    AMFClassifier,
    AMFRegressor,
    OnlineDummyClassifier,
)
from river_amf.parameters import TABLE as TABLE_OF_ALL
from river_amf.parameters import Parameters

FORESTS = [AMFClassifier, AdaptiveAMFClassifier]
MODELS = [*FORESTS, OnlineDummyClassifier]
NOT_INTEGERS = [1.0, "1", True, math.nan, [1], fractions.Fraction(2), np.array(2), pd.NA, -1]
NOT_INTEGERS += [np.timedelta64(2), 1j, np.complex128(2), np.ma.masked]
NOT_NUMBERS = [0, -1.0, "1", True, math.nan, math.inf, -math.inf, [1.0], 1j, np.array(0.5), pd.NA]
NOT_NUMBERS += [np.timedelta64(1), np.complex128(0.5), np.ma.masked]
NOT_CHOICES = ["", "Log", 0, True, math.nan, [1], np.array([1, 2]), pd.NA]
PLAIN_NUMBERS = [0.1, 0.9, np.float32(0.5), np.float64(0.5), fractions.Fraction(1, 3)]
SMALL_NUMBERS = [*PLAIN_NUMBERS, 5e-324]

# name -> (good values, bad values, what the error message asks for)
OF_THE_DUMMY = {
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
}
OF_THE_FOREST = OF_THE_DUMMY | {
    "n_estimators": ([1, 10, np.int64(3)], [*NOT_INTEGERS, 0, None], "integer >= 1"),
    "step": ([1, 2, 1e300, *SMALL_NUMBERS], [*NOT_NUMBERS, None], "> 0 and at most 1e+300"),
    "split_prior": (SMALL_NUMBERS, [*NOT_NUMBERS, None, 1, 1.5], "strictly between 0 and 1"),
    "use_aggregation": (
        [True, False, np.bool_(True)],
        [None, 0, 1, "True", math.nan],
        "True or False",
    ),
    "split_pure": ([True, False, np.bool_(False)], [None, 0, 1, "True", math.nan], "True or False"),
    "max_nodes": ([None, 1, 2, 3, 10**9, np.int64(15)], [*NOT_INTEGERS, 0], "integer >= 1 or None"),
    "max_categories": (
        [None, 1, 5, 10**30, np.int64(15)],
        [*NOT_INTEGERS, 0],
        "integer >= 1 or None",
    ),
    "absent": (["missing", "zero"], [*NOT_CHOICES, None, "nan"], "'missing' or 'zero'"),
    "max_columns": ([1, 5, 10**30, np.int64(15)], [*NOT_INTEGERS, 0, None], "integer >= 1"),
    "max_vocabulary": (
        [None, 2, 5, 10**30, np.int64(15)],
        [*NOT_INTEGERS, 0, 1],
        "integer >= 2 or None",
    ),
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
    "restart_threshold": (
        [None, 1, 5.0, 1e300, *SMALL_NUMBERS],
        [*NOT_NUMBERS, "5", False],
        "> 0 and at most 1e+300, or None",
    ),
    "vote": (["mean", "learned"], [*NOT_CHOICES, None, "Learned"], "'mean' or 'learned'"),
    "linear": (
        [None, "auto"],
        [*NOT_CHOICES, "Logistic", "none"],
        "None or 'logistic' or 'cosines' or 'auto'",
    ),
    "max_pending": ([0, 1, 10**30, np.int64(15)], [*NOT_INTEGERS, -1, None], "integer >= 0"),
    "on_mismatch": (
        ["raise", "missing"],
        [*NOT_CHOICES, None, "ignore"],
        "'raise' or 'missing'",
    ),
    "n_jobs": (
        [1, 2, 1000, -1, np.int64(3)],
        [*(v for v in NOT_INTEGERS if repr(v) != "-1"), 0, -2, None],
        "integer >= 1, or -1",
    ),
    "seed": ([None, 0, 42, 2**64, np.uint8(3)], NOT_INTEGERS, "integer >= 0 or None"),
}
TABLE = {
    AMFClassifier: OF_THE_FOREST,
    AdaptiveAMFClassifier: OF_THE_FOREST,
    OnlineDummyClassifier: OF_THE_DUMMY,
}
# The adaptive forest inherits everything checked here, so it gets only one value of each kind.
CHECKED = [(AMFClassifier, name) for name in OF_THE_FOREST]
CHECKED += [(OnlineDummyClassifier, name) for name in OF_THE_DUMMY]
parameters_of_a_model = pytest.mark.parametrize(("model", "name"), CHECKED)
models = pytest.mark.parametrize("model", MODELS)


def stream(n_samples=300, n_classes=2):
    rng = random.Random(3)
    for _ in range(n_samples):
        x = {"a": rng.random(), "b": rng.gauss(0, 1), "c": rng.random() ** 3}
        noise = 0 if rng.random() < 0.8 else rng.randrange(n_classes)
        yield x, (int(n_classes * x["a"]) + noise) % n_classes


def learn(model, samples):
    for x, label in samples:
        model.learn_one(x, label)
    return model


def trained(model=AMFClassifier, samples=None, **parameters):
    if model in FORESTS:
        parameters = {"n_estimators": 3, "seed": 42} | parameters
    return learn(model(**parameters), stream() if samples is None else samples)


def answers(model, questions=None):
    if questions is None:
        questions = [x for x, _ in stream(40)]
    return [model.predict_proba_one(x) for x in questions]


def assert_close(left, right, tolerance=1e-9):
    for one, other in zip(left, right, strict=True):
        assert one == pytest.approx(other, abs=tolerance)


# Good and bad values


def test_the_tables_here_know_every_parameter():
    for model in MODELS:
        assert {*inspect.signature(model).parameters} == {*TABLE[model]}


@pytest.mark.parametrize("kind", [AMFClassifier, AMFRegressor])
def test_signatures_and_docstrings_that_are_written_out_are_those_of_the_table(kind):
    written = inspect.signature(kind).parameters
    declared = {name: p for name, p in TABLE_OF_ALL.items() if p.task in (None, kind.task)}
    assert {name: p.default for name, p in written.items()} == {
        name: p.default_of(kind.task) for name, p in declared.items()
    }
    for name, parameter in written.items():
        assert parameter.annotation == Parameters.__annotations__[name], name
        assert re.search(rf"^(\w+, )*{name}(, \w+)*$", inspect.getdoc(kind), re.MULTILINE), name
    for name, parameter in TABLE_OF_ALL.items():
        if name not in declared:
            assert getattr(kind(), name) == parameter.constant


@pytest.mark.parametrize("kind", [AdaptiveAMFClassifier, AdaptiveAMFRegressor])
def test_adaptive_forests_have_the_signature_of_the_forest_with_their_own_defaults(kind):
    ours, theirs = (inspect.signature(each).parameters for each in kind.__mro__[:2])
    assert [(p.name, p.kind, p.annotation) for p in ours.values()] == [
        (p.name, p.kind, p.annotation) for p in theirs.values()
    ]
    assert {name: p.default for name, p in ours.items()} == kind()._get_params()
    for name, parameter in ours.items():
        line = f"{name} : {parameter.annotation}, default {parameter.default!r}\n    "
        assert line in inspect.getdoc(kind)
    assert repr(kind(3)).replace(" ", "").startswith(f"{kind.__name__}(\nn_estimators=3\n")
    with pytest.raises(TypeError, match=rf"{kind.__name__}\(\) got .* argument 'n_trees'"):
        kind(n_trees=3)
    with pytest.raises(TypeError, match=rf"{kind.__name__}\(\) too many positional arguments"):
        kind(*range(9))


def test_a_subclass_may_have_parameters_of_its_own():
    class Small(AdaptiveAMFClassifier):
        def __init__(self, n_estimators=2, *, seed=None, width=1):
            super().__init__(n_estimators, seed=seed, max_nodes=15)
            self.width = width

    model = trained(Small(width=3).clone)
    assert model._get_params() == {"n_estimators": 2, "seed": None, "width": 3}
    assert (len(model._arena.trees), model.max_nodes, model.vote) == (2, 15, "learned")


def test_the_defaults_are_the_documented_ones():
    plain = {
        "n_classes": None,
        "n_estimators": 10,
        "step": 1.0,
        "split_prior": 0.5,
        "use_aggregation": True,
        "dirichlet": None,
        "split_pure": False,
        "max_nodes": None,
        "max_categories": None,
        "absent": "missing",
        "max_columns": 30,
        "max_vocabulary": None,
        "split_intensity": "range",
        "fading_factor": None,
        "restart_threshold": None,
        "vote": "mean",
        "linear": None,
        "max_pending": 10_000,
        "on_mismatch": "raise",
        "n_jobs": 1,
        "seed": None,
    }
    assert AMFClassifier()._get_params() == plain
    assert AdaptiveAMFClassifier()._get_params() == plain | {
        "split_prior": 0.7,
        "max_nodes": 5000,
        "max_categories": 5000,
        "max_vocabulary": 100_000,
        "split_intensity": "relevance",
        "fading_factor": 0.45,
        "restart_threshold": 4.0,
        "vote": "learned",
        "linear": "auto",
    }
    assert OnlineDummyClassifier()._get_params() == {"n_classes": None, "dirichlet": None}


def test_the_adaptive_forest_is_the_forest_with_other_parameters():
    adaptive = AdaptiveAMFClassifier(n_estimators=3, seed=42)
    plain = AMFClassifier(**adaptive._get_params())
    samples = list(stream(400, 3))
    for x, label in samples:
        assert adaptive.predict_proba_one(x) == plain.predict_proba_one(x)
        adaptive.learn_one(x, label)
        plain.learn_one(x, label)
    assert adaptive.fading_share == plain.fading_share
    back = AdaptiveAMFClassifier(**AMFClassifier(n_estimators=3, seed=42)._get_params())
    assert answers(trained(samples=samples)) == answers(learn(back, samples))


@parameters_of_a_model
def test_a_good_value_is_kept_as_it_is_and_leads_to_probabilities(model, name):
    for value in TABLE[model][name][0]:
        assert getattr(model(**{name: value}), name) is value, value
        samples = list(stream(50))
        if name == "n_classes" and value == 1:
            samples = [(x, 0) for x, _ in samples]
        for proba in answers(trained(model, samples, **{name: value})):
            assert all(0.0 <= p <= 1.0 for p in proba.values()), value
            assert sum(proba.values()) == pytest.approx(1.0, abs=1e-9), value


def message_of(name, value, call, *args, **kwargs):
    """Return the error for a value of a parameter that must be rejected."""
    try:
        call(*args, **kwargs)
    except ValueError as error:
        return str(error)
    pytest.fail(f"{name}={value!r} is not refused")


@parameters_of_a_model
def test_a_bad_value_is_refused_with_the_name_the_value_and_what_would_be_right(model, name):
    _, bad, right = TABLE[model][name]
    for value in bad:
        message = message_of(name, value, model, **{name: value})
        assert message.startswith(f"{name} must be ")
        assert repr(value) in message
        assert right in message, value


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "step": st.floats(0.0, 1e3, exclude_min=True),
            "split_prior": st.floats(0.0, 1.0, exclude_min=True, exclude_max=True),
            "dirichlet": st.floats(1e-300, 1e3),
            "max_nodes": st.integers(1, 100),
            "max_categories": st.integers(1, 10),
            "absent": st.sampled_from(["missing", "zero"]),
            "max_columns": st.integers(1, 9),
            "max_vocabulary": st.integers(2, 9),
            "n_classes": st.integers(2, 9),
            "use_aggregation": st.booleans(),
            "split_pure": st.booleans(),
            "split_intensity": st.sampled_from(["range", "relevance", "unit"]),
            "fading_factor": st.floats(0.0, 1.0, exclude_min=True, exclude_max=True),
            "restart_threshold": st.floats(0.0, 10.0, exclude_min=True),
            "vote": st.sampled_from(["mean", "learned"]),
            "linear": st.sampled_from([None, "auto"]),
            "on_mismatch": st.sampled_from(["raise", "missing"]),
            "seed": st.integers(0, 2**70),
        },
    )
)
def test_any_combination_leads_to_probabilities(parameters):
    for proba in answers(trained(samples=stream(60), **parameters)):
        assert all(0.0 <= p <= 1.0 for p in proba.values())
        assert sum(proba.values()) == pytest.approx(1.0, abs=1e-9)


def test_an_integer_of_absurd_size_is_refused_with_the_bound():
    for model in MODELS:
        for name, bound in (("n_classes", 10**12), ("n_estimators", 10**4)):
            if name in TABLE[model]:
                for value in (bound + 1, 2**70, 10**5000):
                    assert f"at most {bound}" in message_of(name, "big", model, **{name: value})
    for name in ("max_nodes", "n_jobs"):
        assert "at most 1e+300" in message_of(name, "big", AMFClassifier, **{name: 10**5000})


# Assignment


@models
def test_each_class_keeps_and_checks_what_is_given_or_assigned_before_the_first_sample(model):
    for name, (good, bad, right) in TABLE[model].items():
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
def test_every_parameter_is_read_only_after_the_first_sample(model):
    learnt = trained(model, stream(1))
    before = pickle.dumps(learnt)
    for name, (good, _, _) in TABLE[model].items():
        if name != "n_jobs":
            with pytest.raises(AttributeError, match=f"{name} is read-only"):
                setattr(learnt, name, good[-1])
    assert pickle.dumps(learnt) == before


def test_the_number_of_threads_can_be_changed_at_any_time():
    learnt = trained(samples=stream(1))
    learnt.n_jobs = 2
    assert learnt.n_jobs == 2
    with pytest.raises(ValueError, match="n_jobs"):
        learnt.n_jobs = 0
    assert learnt.n_jobs == 2


# n_classes and dirichlet


def test_a_leaf_counts_as_the_formula_says():
    model = AMFClassifier(max_nodes=1, n_classes=5, dirichlet=0.5)
    for label in "aab":
        model.learn_one({}, label)
    assert model.predict_proba_one({}) == pytest.approx({"a": 2.5 / 4, "b": 1.5 / 4}, abs=1e-12)


@pytest.mark.parametrize(
    ("model", "n_classes", "automatic"),
    [
        *[(AMFClassifier, *case) for case in [(1, 0.5), (2, 0.5), (3, 0.01), (5, 0.01)]],
        *[(OnlineDummyClassifier, *case) for case in [(1, 0.5), (2, 0.5), (3, 0.01)]],
        (AdaptiveAMFClassifier, 3, 0.01),
    ],
)
def test_the_automatic_dirichlet_parameter(model, n_classes, automatic):
    samples = list(stream(400, n_classes))
    # with fading, the past is not reweighted when a new class appears
    known = {"n_classes": n_classes} if model is AdaptiveAMFClassifier else {}
    expected = answers(trained(model, samples, dirichlet=automatic, **known))
    assert_close(answers(trained(model, samples, **known)), expected)


# What each parameter does


CHANGES = [
    {"step": 0.5},
    {"split_prior": 0.8},
    {"dirichlet": 0.1},
    {"fading_factor": 0.5},
    {"vote": "learned"},
    {"use_aggregation": False},
    {"split_pure": True},
    {"max_nodes": 21},
    {"split_intensity": "unit"},
    {"split_intensity": "relevance"},
    {"n_estimators": 4},
    {"n_classes": 3},
    {"seed": 43},
    {"absent": "zero"},
    {"absent": "zero", "max_columns": 1},
    {"absent": "zero", "max_vocabulary": 2},
]
CHANGES_OF_A_VOTE = [{"linear": "logistic"}, {"linear": "cosines"}]


def test_every_parameter_changes_predictions():
    plain = answers(trained())
    assert [change for change in CHANGES if answers(trained(**change)) == plain] == []
    learned = answers(trained(vote="learned"))
    for change in CHANGES_OF_A_VOTE:
        assert answers(trained(vote="learned", **change)) != learned


def test_linear_models_need_a_learned_vote():
    for linear in ("logistic", "cosines"):
        with pytest.raises(ValueError, match=f"linear='{linear}' needs vote='learned'.*'mean'"):
            AMFClassifier(linear=linear)
    model = AMFClassifier(linear="logistic", vote="learned")
    model.vote = "mean"
    with pytest.raises(ValueError, match="needs vote='learned'"):
        model.learn_one({"a": 1.0}, True)
    assert model._arena is None


@pytest.mark.parametrize(
    ("model", "split_pure"),
    [(AMFClassifier, False), (AMFClassifier, True), (AdaptiveAMFClassifier, False)],
)
def test_max_nodes_is_a_limit_per_tree(model, split_pure):
    for max_nodes in (1, 2, 3, 20, 21, 101):
        n_nodes = trained(model, max_nodes=max_nodes, split_pure=split_pure)._arena.trees["n_nodes"]
        assert (n_nodes <= max_nodes).all(), max_nodes
        assert (n_nodes > max_nodes - 2).all(), max_nodes


def test_equal_seeds_give_equal_forests_and_no_seed_gives_other_ones():
    assert answers(trained(seed=5)) == answers(trained(seed=5))
    assert answers(trained(seed=None)) != answers(trained(seed=None))


# Split intensity


def mapped(samples, scales, shifts):
    """Map the features by x -> scale x + shift."""
    return [
        ({name: scales[name] * v + shifts[name] for name, v in x.items()}, label)
        for x, label in samples
    ]


def run_mapped(scales, shifts=None, **parameters):
    samples = mapped(stream(600), scales, shifts or dict.fromkeys(scales, 0.0))
    return answers(trained(samples=samples, **parameters), [x for x, _ in samples[::10]])


UNMAPPED = {"a": 1.0, "b": 1.0, "c": 1.0}
SCALE_FREE = [
    {},
    {"split_pure": True},
    {"split_intensity": "relevance"},
    {"model": AdaptiveAMFClassifier},
]


@pytest.mark.parametrize("parameters", SCALE_FREE, ids=str)
@pytest.mark.parametrize(
    ("scales", "shifts"),
    [
        ({"a": 3.7, "b": 0.01, "c": 1e6}, {"a": -11.0, "b": 0.5, "c": 0.0}),
        ({"a": 1e-9, "b": 1e9, "c": 1 / 3}, {"a": 0.0, "b": 1e9, "c": 100.0}),
    ],
)
def test_positive_affine_maps_change_nothing(parameters, scales, shifts):
    expected = run_mapped(UNMAPPED, **parameters)
    assert_close(run_mapped(scales, shifts, **parameters), expected)


@pytest.mark.parametrize("parameters", SCALE_FREE, ids=str)
@given(st.tuples(*[st.integers(-300, 300)] * 3))
@settings(max_examples=20)
def test_powers_of_two_change_nothing_to_the_last_bit(parameters, powers):
    scales = {name: 2.0**power for name, power in zip("abc", powers, strict=True)}
    assert run_mapped(scales, **parameters) == run_mapped(UNMAPPED, **parameters)
