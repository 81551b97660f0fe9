"""The classic classifiers by name: each runs on any input, and is what its name says."""

import copy
import functools
import inspect
import math
import pickle
import random
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from generated import streams
from hypothesis import given, settings
from mixed_streams import LABELS, check_answer, mixed_stream, walk
from river import base, compose, metrics

from river_amf import AdaptiveAMFClassifier, AMFClassifier, OnlineDummyClassifier, baselines
from river_amf.baselines.recurrent import RecurrentClassifier
from river_amf.evaluation import load_stream

SPAM = Path(__file__).resolve().parents[3] / "shared" / "data" / "spam.csv.gz"

NAMES = [
    "majority",
    "last-class",
    "knn",
    "gaussian-nb",
    "categorical-nb",
    "multinomial-nb",
    "perceptron",
    "logistic",
    "mlp",
    "hoeffding-gain",
    "hoeffding-gini",
    "bagging",
    "leveraging-bagging",
    "arf",
    "adaboost",
    "stacking",
    "amf",
    "adaptive",
    "dummy",
]
BLIND = {"majority", "last-class", "dummy"}  # they ignore the features
OF_TREES = {
    "hoeffding-gain",
    "hoeffding-gini",
    "bagging",
    "leveraging-bagging",
    "arf",
    "adaboost",
    "stacking",
}

COSTLY = {"mlp", "bagging", "leveraging-bagging", "arf", "adaboost", "stacking"}

every = pytest.mark.parametrize("name", NAMES)


def costly_are_slow(names):
    """Parametrize a test with a long stream by the name; that of an ensemble takes a while."""
    slow = pytest.mark.slow
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=slow) if name in COSTLY else name for name in names]
    )


def make(name, seed=1):
    return baselines.classifiers(seed)[name]()


# The table


def test_all_are_there_and_described():
    assert list(baselines.classifiers()) == NAMES == list(baselines.DESCRIPTIONS)
    assert all(0 < len(text) <= 60 for text in baselines.DESCRIPTIONS.values())


def test_ours_have_their_default_parameters():
    assert repr(make("amf", 3)) == repr(AMFClassifier(n_estimators=10, seed=3))
    assert repr(make("adaptive", 3)) == repr(AdaptiveAMFClassifier(n_estimators=10, seed=3))
    assert repr(make("dummy")) == repr(OnlineDummyClassifier())


def test_no_estimator_is_written_here_but_for_the_wrapper_of_keras():
    modules = (baselines, baselines.classification, baselines.preparation, baselines.regression)
    things = [thing for module in modules for thing in vars(module).values()]
    own = [thing for thing in things if inspect.isclass(thing)]
    own = [thing for thing in own if thing.__module__.startswith(baselines.__name__)]
    assert {thing for thing in own if issubclass(thing, base.Base)} == {RecurrentClassifier}


def test_each_is_a_classifier_for_any_number_of_labels():
    for name in NAMES:
        model = make(name)
        assert metrics.Accuracy().works_with(model), name
        assert model._multiclass, name


def test_functions_can_be_sent_to_another_process():
    for name, make_one in baselines.classifiers(1).items():
        assert repr(pickle.loads(pickle.dumps(make_one))()) == repr(make(name)), name


def test_without_scikit_learn_only_its_network_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.neural_network", None)
    classifiers = baselines.classifiers()
    assert list(classifiers) == NAMES
    with pytest.raises(ImportError, match=r"'mlp' needs scikit-learn: pip install .scikit-learn>"):
        classifiers["mlp"]()


# The six mails


def as_it_is(mail):
    return mail


def with_booleans(mail):
    return {name: {"yes": True, "no": False}.get(value, value) for name, value in mail.items()}


def with_numbers(mail):
    hour = 23.5 if mail["time"] == "night" else 12
    return with_booleans(mail) | {"time": hour, "length": len(mail["domain"])}


def test_the_mails_are_those_of_the_course():
    table = [(*mail.values(), label) for mail, label in baselines.SIX_MAILS]
    assert table == [
        ("yes", "com", "yes", "night", "yes"),
        ("yes", "edu", "no", "night", "yes"),
        ("no", "com", "yes", "night", "yes"),
        ("no", "edu", "no", "day", "no"),
        ("no", "com", "no", "day", "no"),
        ("yes", "cat", "no", "day", "yes"),
    ]
    names = ("money", "domain", "attachment", "time")
    assert all(tuple(mail) == names for mail, _ in baselines.SIX_MAILS)
    assert dict(zip(names, ("yes", "edu", "yes", "day"), strict=True)) == baselines.QUESTION


@every
def test_each_answers_after_six_mails(name):
    for encode in (as_it_is, with_booleans, with_numbers):
        model = make(name)
        for mail, label in baselines.SIX_MAILS:
            model.learn_one(encode(mail), label)
        check_answer(model, encode(baselines.QUESTION), {"yes", "no"})


# What each model is


def test_naive_bayes_of_categories_is_that_of_their_counts():
    model = make("categorical-nb")
    by_label = Counter(label for _, label in baselines.SIX_MAILS)
    counts = Counter((label, item) for mail, label in baselines.SIX_MAILS for item in mail.items())
    n_categories = len({item for _, item in counts})
    joint = {}
    for label, n in by_label.items():
        joint[label] = Fraction(n, len(baselines.SIX_MAILS))
        for item in baselines.QUESTION.items():
            joint[label] *= Fraction(counts[label, item] + 1, 4 * n + n_categories)
    for mail, label in baselines.SIX_MAILS:
        model.learn_one(mail, label)
    proba = model.predict_proba_one(baselines.QUESTION)
    assert proba == pytest.approx({y: float(p / sum(joint.values())) for y, p in joint.items()})


@pytest.mark.parametrize("as_counts", [False, True])
def test_multinomial_naive_bayes_is_the_textbook_s(as_counts):
    """The example of Manning, Raghavan & Schütze, Introduction to Information Retrieval, 13.1."""

    def sample(text):
        return dict(Counter(text.split())) if as_counts else {"text": text}

    model = make("multinomial-nb")
    for text, label in [
        ("Chinese Beijing Chinese", "China"),
        ("Chinese Chinese Shanghai", "China"),
        ("Chinese Macao", "China"),
        ("Tokyo Japan Chinese", "else"),
    ]:
        model.learn_one(sample(text), label)
    china = Fraction(3, 4) * Fraction(3, 7) ** 3 * Fraction(1, 14) ** 2
    other = Fraction(1, 4) * Fraction(2, 9) ** 3 * Fraction(2, 9) ** 2
    proba = model.predict_proba_one(sample("Chinese Chinese Chinese Tokyo Japan"))
    assert proba["China"] == pytest.approx(float(china / (china + other)))


def test_the_members_of_the_ensembles_are_ten():
    sizes = {
        name: len(make(name)[-1].models)
        for name in ("bagging", "leveraging-bagging", "adaboost", "stacking")
    }
    assert set(sizes.values()) == {10}
    assert make("arf")[-1].n_models == 10


def test_criteria_of_the_trees():
    assert make("hoeffding-gain")[-1].split_criterion == "info_gain"
    assert make("hoeffding-gini")[-1].split_criterion == "gini"


def by_numbers(rng):
    x = {"a": rng.uniform(0.0, 10.0), "b": rng.uniform(0.0, 10.0), "noise": rng.random()}
    return x, x["a"] > x["b"]


def by_categories(rng):
    x = {"color": rng.choice(["red", "green", "blue"]), "shape": rng.choice(["disc", "box"])}
    return x | {"noise": rng.random()}, x["color"] == "red"


@costly_are_slow(NAMES)
def test_numbers_and_categories_are_both_heard(name):
    for draw in (by_numbers, by_categories):
        rng = random.Random(1)
        samples = [draw(rng) for _ in range(600)]
        answers = walk(make(name), samples)
        hits = [max(p, key=p.get) == y for p, (_, y) in zip(answers, samples, strict=True) if p]
        accuracy = sum(hits[-200:]) / 200
        assert (accuracy > 0.85) == (name not in BLIND), draw.__name__


@costly_are_slow(["knn", "gaussian-nb", "perceptron", "logistic", "mlp"])
def test_units_do_not_matter_to_what_is_scaled(name):
    rng = random.Random(1)
    samples = [by_numbers(rng) for _ in range(100)]
    rescaled = [({k: 1024.0 * v for k, v in x.items()}, y) for x, y in samples]
    for one, other in zip(walk(make(name), samples), walk(make(name), rescaled), strict=True):
        assert one == pytest.approx(other, abs=1e-9)


# Any input


# Each name with the labels of one kind, and the one that is not river's with those of all.
PAIRS = [(name, [*LABELS][number % len(LABELS)]) for number, name in enumerate(NAMES)]
PAIRS += [("mlp", kind) for kind in LABELS if ("mlp", kind) not in PAIRS]


@pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(*pair, marks=[pytest.mark.slow] * (pair[0] in COSTLY)) for pair in PAIRS],
)
def test_mixed_streams_are_learnt(name, kind):
    model, seen = make(name), set()
    # trees split after some hundred samples; a network does the same all along, and takes its time
    for x, y in mixed_stream(150 if name == "mlp" else 400, LABELS[kind]):
        if seen:
            check_answer(model, x, seen)
        else:
            assert model.predict_proba_one(x) == {}
        model.learn_one(x, y)
        seen.add(y)
    assert seen == set(LABELS[kind])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "mlp"])
@settings(max_examples=15)
@given(samples=streams(weighted=False))
def test_short_streams_of_any_kind_are_learnt(name, samples):
    model, seen = make(name), set()
    for x, y, _ in samples:
        if seen:
            check_answer(model, x, seen)
        model.learn_one(x, y)
        seen.add(y)


@every
def test_what_has_met_nothing_but_gaps_answers(name):
    model = make(name)
    for x, y in [({}, "a"), ({"length": None}, "b"), ({"length": math.nan}, "b")]:
        model.learn_one(x, y)
    for x in [{}, {"length": 1.0, "color": "red"}, {"color": None}]:
        check_answer(model, x, {"a", "b"})


@costly_are_slow(NAMES)
def test_labels_of_one_stream_may_be_a_string_and_a_number_but_not_for_river_s_trees(name):
    model, seen = make(name), set()
    samples = list(mixed_stream(100, ["no", 1, ("b", 2)]))
    if name in OF_TREES:
        with pytest.raises(TypeError, match="not supported between instances"):
            walk(model, samples)
        return
    for x, y in samples:
        if seen:
            check_answer(model, x, seen)
        model.learn_one(x, y)
        seen.add(y)


@costly_are_slow([name for name in NAMES if name not in BLIND])
def test_an_infinite_number_is_refused_and_nothing_learnt(name):
    samples = list(mixed_stream(60, LABELS["strings"]))
    model, twin = make(name), make(name)
    walk(model, samples[:30])
    walk(twin, samples[:30])
    for call in (model.predict_one, lambda x: model.learn_one(x, "no")):
        with pytest.raises(ValueError, match=r"'length'.* infinite"):
            call({7: 1, "length": math.inf})
    assert walk(model, samples[30:]) == walk(twin, samples[30:])


# Copies


@costly_are_slow(NAMES)
def test_models_of_one_seed_are_the_same_copies_go_on_as_they_would_and_clones_begin_anew(name):
    make_one = baselines.classifiers(1)[name]
    samples = list(mixed_stream(300, LABELS["strings"]))
    model, twin = make_one(), make_one()
    answers = walk(model, samples[:250])
    assert walk(twin, samples[:250]) == answers  # they share nothing
    if name != "stacking":  # river copies the models of a list with all that they have learnt
        assert walk(model.clone(), samples[:100]) == answers[:100]
    copies = [twin, copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = walk(model, samples[250:])
    # river's kNN sums over a set, whose order may differ in a copy, depending on the hashes of str
    if name == "knn":
        expected = [pytest.approx(proba, abs=1e-12) for proba in expected]
    assert all(walk(other, samples[250:]) == expected for other in copies)


def test_pipelines_of_one_function_have_steps_of_their_own():
    for name, make_one in baselines.classifiers(1).items():
        first, second = make_one(), make_one()
        assert not isinstance(first, compose.Pipeline) or first.steps is not second.steps, name


# A real stream


@functools.cache
def spam():
    return list(load_stream(str(SPAM), limit=200))


@pytest.mark.skipif(not SPAM.exists(), reason="there is no ../shared/data/spam.csv.gz")
@pytest.mark.slow
@every
@pytest.mark.parametrize("step", [19, pytest.param(1, marks=pytest.mark.soak)])
def test_spam_is_run_by_all(name, step):
    model, seen = make(name), set()
    for x, y in spam()[::step]:
        if seen:
            check_answer(model, x, seen)
        model.learn_one(x, y)
        seen.add(y)
    assert len(seen) == 2
