"""The classic models by name: each runs on any input, and is what its name says."""

import copy
import inspect
import math
import pickle
import random
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from generated import streams
from hypothesis import given, settings
from mixed_streams import LABELS, check_answer, mixed_stream
from river import base, compose, linear_model, metrics, neighbors, optim
from river.preprocessing import TargetStandardScaler
from sklearn.ensemble import HistGradientBoostingClassifier

from river_amf import baselines
from river_amf.baselines.boosting import BoostingClassifier, BoostingRegressor
from river_amf.baselines.preparation import Scaler, TargetScaler
from river_amf.baselines.recurrent import RecurrentClassifier
from river_amf.baselines.river_models import clipped

CLASSIFIERS = [
    *("majority", "last-class", "knn", "gaussian-nb", "categorical-nb", "multinomial-nb"),
    *("perceptron", "logistic", "mlp", "hoeffding-gain", "hoeffding-gini", "bagging"),
    *("leveraging-bagging", "arf", "adaboost", "boosting", "stacking", "amf", "adaptive"),
    "dummy",
]
REGRESSORS = [
    *("mean", "last-value", "linear", "knn", "hoeffding", "amrules", "bagging", "arf", "srp"),
    *("boosting", "river-amf", "amf", "adaptive"),
]
ALL = baselines.classifiers(1) | {
    f"{name} of numbers": make_one for name, make_one in baselines.regressors(1).items()
}
OF_TREES = {"hoeffding-gain", "hoeffding-gini", "bagging", "leveraging-bagging", "arf", "adaboost"}
OF_TREES |= {"stacking"}
# they ignore the features
BLIND = {"majority", "last-class", "dummy", "mean of numbers", "last-value of numbers"}
COSTLY = {"mlp", "bagging", "leveraging-bagging", "arf", "adaboost", "stacking"}
COSTLY |= {"boosting"} | {
    f"{name} of numbers" for name in ("boosting", "bagging", "arf", "srp", "river-amf")
}

every = pytest.mark.parametrize("name", ALL)
every_that_looks = pytest.mark.parametrize("name", [name for name in ALL if name not in BLIND])


def make(name, seed=1):
    return baselines.classifiers(seed)[name]()


def stream_for(name, n_samples):
    return list(mixed_stream(n_samples, None if name.endswith("numbers") else LABELS["strings"]))


def walk(model, samples):
    """Predict and learn; return the answers."""
    is_of_numbers = isinstance(model, base.Regressor)
    ask = model.predict_one if is_of_numbers else model.predict_proba_one
    answers = []
    for x, y in samples:
        answers.append(ask(x))
        model.learn_one(x, y)
    return answers


def check(model, x, seen):
    """Check an answer, and that the sample is unchanged."""
    if not isinstance(model, base.Regressor):
        check_answer(model, x, seen)
        return
    before = repr(x)
    assert math.isfinite(model.predict_one(x))
    assert repr(x) == before


# The table


def test_all_are_there_and_described():
    assert list(baselines.classifiers()) == CLASSIFIERS == list(baselines.DESCRIPTIONS)
    assert list(baselines.regressors()) == REGRESSORS == list(baselines.REGRESSOR_DESCRIPTIONS)
    described = [*baselines.DESCRIPTIONS.values(), *baselines.REGRESSOR_DESCRIPTIONS.values()]
    assert all(0 < len(text) <= 60 for text in described)


def test_no_estimator_is_written_here_but_for_scalers_and_wrappers():
    names = ("river_models", "preparation", "recurrent", "boosting")
    modules = (baselines, *(getattr(baselines, name) for name in names))
    things = [thing for module in modules for thing in vars(module).values()]
    own = [thing for thing in things if inspect.isclass(thing)]
    own = [thing for thing in own if thing.__module__.startswith(baselines.__name__)]
    found = {thing for thing in own if issubclass(thing, base.Base)}
    wrappers = {RecurrentClassifier, BoostingClassifier, BoostingRegressor}
    assert found == {Scaler, TargetScaler} | wrappers


@every
def test_each_is_a_model_for_its_task_that_can_be_made_in_another_process(name):
    model, other = ALL[name](), ALL[name]()
    assert repr(pickle.loads(pickle.dumps(ALL[name]))()) == repr(model)
    is_of_numbers = name.endswith("numbers")
    assert metrics.Accuracy().works_with(model) == (not is_of_numbers)
    assert metrics.MAE().works_with(model) == is_of_numbers
    if is_of_numbers:
        assert model.predict_one({"length": 1.0, "color": "red"}) == 0.0
    else:
        assert model._multiclass
    assert not isinstance(model, compose.Pipeline) or model.steps is not other.steps


def test_without_scikit_learn_only_its_models_are_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    classifiers = baselines.classifiers()
    assert list(classifiers) == CLASSIFIERS
    for name in ("mlp", "boosting"):
        with pytest.raises(ImportError, match=rf"'{name}' needs scikit-learn: pip install"):
            classifiers[name]()


def test_boosting_is_trained_anew_on_the_latest_samples():
    samples = [({"a": i % 10, "color": "red" if i % 3 else "tan"}, i % 10 > 4) for i in range(400)]
    samples += [(x, not y) for x, y in samples]
    model = BoostingClassifier(every=100, window=150, seed=1)
    hits = []
    for x, y in samples:
        hits.append(model.predict_one(x) == y)
        model.learn_one(x, y)
    assert sum(hits[100:400]) == 300  # it has been trained with 50
    assert sum(hits[400:500]) == 0
    assert sum(hits[700:]) == 100
    fresh = HistGradientBoostingClassifier(categorical_features=[False, True], random_state=1)
    rows = np.array([[x["a"], x["color"] == "tan"] for x, _ in samples], dtype=float)
    p = fresh.fit(rows[650:], [y for _, y in samples[650:]]).predict_proba(rows[:10])
    expected = [model.predict_proba_one(x)[True] for x, _ in samples[:10]]
    assert p[:, 1].tolist() == pytest.approx(expected)


# The six mails


def as_it_is(mail):
    return mail


def with_booleans(mail):
    return {name: {"yes": True, "no": False}.get(value, value) for name, value in mail.items()}


def with_numbers(mail):
    hour = 23.5 if mail["time"] == "night" else 12
    return with_booleans(mail) | {"time": hour, "length": len(mail["domain"])}


@pytest.mark.parametrize("name", CLASSIFIERS)
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


def by_numbers(rng):
    x = {"a": rng.uniform(0.0, 10.0), "b": rng.uniform(0.0, 10.0), "noise": rng.random()}
    return x, x["a"] > x["b"]


def by_categories(rng):
    x = {"color": rng.choice(["red", "green", "blue"]), "shape": rng.choice(["disc", "box"])}
    return x | {"noise": rng.random()}, x["color"] == "red"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_numbers_and_categories_are_both_used(name):
    n_samples = 200 if name == "mlp" else 450
    for draw in (by_numbers, by_categories):
        rng = random.Random(1)
        samples = [draw(rng) for _ in range(n_samples)]
        answers = walk(make(name), samples)
        hits = [max(p, key=p.get) == y for p, (_, y) in zip(answers, samples, strict=True) if p]
        accuracy = sum(hits[-n_samples // 3 :]) / (n_samples // 3)
        assert (accuracy > 0.85) == (name not in BLIND), draw.__name__


def by_river(name):
    """Return the model as a user of river would build it for numbers that are never missing."""
    if name == "linear":
        linear = linear_model.LinearRegression(optim.AdaGrad(0.1))
        return Scaler() | compose.FuncTransformer(clipped) | TargetStandardScaler(linear)
    nearest = neighbors.LazySearch(window_size=1000)
    return Scaler() | neighbors.KNNRegressor(10, nearest, aggregation_method="weighted_mean")


@pytest.mark.parametrize("name", ["linear", "knn"])
def test_models_are_river_s_behind_scalers(name):
    rng = random.Random(1)
    samples = [({"a": rng.gauss(5.0, 2.0), "b": rng.random()}, rng.random()) for _ in range(100)]
    expected = pytest.approx(walk(by_river(name), samples), rel=1e-9)
    assert walk(ALL[f"{name} of numbers"](), samples) == expected


def r2(name, samples, start):
    metric = metrics.R2()
    predictions = walk(ALL[f"{name} of numbers"](), samples)
    for (_, y), prediction in [*zip(samples, predictions, strict=True)][start:]:
        metric.update(y, prediction)
    return metric.get()


KINDS = ["numbers", "categories", "gaps", "late"]
CHEAP = ["linear", "knn", "hoeffding", "amrules", "amf", "adaptive"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, kind) for name in CHEAP for kind in KINDS),
        # all of these are behind the same scalers
        *((name, "numbers") for name in ("bagging", "arf", "srp")),
        ("river-amf", "categories"),
    ],
)
def test_features_are_used_by_regressors(name, kind):
    rng = random.Random(1)
    samples = []
    n_samples = 1000 if name in CHEAP else 450
    for number in range(n_samples):
        x = {"a": rng.uniform(0.0, 10.0), "b": rng.uniform(0.0, 10.0), "noise": rng.random()}
        y = 1000.0 + 10.0 * x["a"] - 5.0 * x["b"]
        if kind == "categories":
            x = {"color": rng.choice(["red", "green", "blue"]), "noise": rng.random()}
            y = 1000.0 + 50.0 * (x["color"] == "red")
        elif (kind == "gaps" and rng.random() < 0.1) or (kind == "late" and number < 200):
            del x["a"]
        samples.append((x, y))
    assert r2(name, samples, start=n_samples - 300) > 0.6


# Any input


# Each classifier with the labels of one kind, and the one that is not river's with those of all.
PAIRS = [(name, [*LABELS][number % len(LABELS)]) for number, name in enumerate(CLASSIFIERS)]
PAIRS += [("mlp", kind) for kind in LABELS if ("mlp", kind) not in PAIRS]
PAIRS += [(name, None) for name in ALL if name.endswith("numbers")]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_mixed_streams_are_learnt(name, kind):
    model, seen = ALL[name](), set()
    # trees split after some hundred samples; a network does the same all along, and takes its time
    for x, y in mixed_stream(40 if name == "mlp" else 250, LABELS.get(kind)):
        if seen:
            check(model, x, seen)
        model.learn_one(x, y)
        seen.add(y)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "mlp"])
@settings(max_examples=15)
@given(samples=streams(weighted=False))
def test_short_streams_of_any_kind_are_learnt(name, samples):
    model, seen = make(name), set()
    for x, y, _ in samples:
        # river's knn divides by a distance, of which a square may be too small for a float
        x = {key: round(value, 9) if type(value) is float else value for key, value in x.items()}
        if seen:
            check(model, x, seen)
        model.learn_one(x, y)
        seen.add(y)


@every
def test_what_has_met_nothing_but_gaps_answers(name):
    model = ALL[name]()
    labels = (1.0, 2.0) if name.endswith("numbers") else ("a", "b")
    for x, y in zip(({}, {"length": None}, {"length": math.nan}), labels[:1] + labels, strict=True):
        model.learn_one(x, y)
    for x in [{}, {"length": 1.0, "color": "red"}, {"color": None}]:
        check(model, x, {*labels})


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_of_one_stream_may_be_a_string_and_a_number_but_not_for_river_s_trees(name):
    model, seen = make(name), set()
    samples = list(mixed_stream(60, ["no", 1, ("b", 2)]))
    if name in OF_TREES:
        with pytest.raises(TypeError, match="not supported between instances"):
            walk(model, samples)
        return
    for x, y in samples:
        if seen:
            check(model, x, seen)
        model.learn_one(x, y)
        seen.add(y)


@every_that_looks
def test_an_infinite_number_is_refused_and_nothing_learnt(name):
    samples = stream_for(name, 60)
    model, twin = ALL[name](), ALL[name]()
    walk(model, samples[:30])
    walk(twin, samples[:30])
    for call in (model.predict_one, lambda x: model.learn_one(x, samples[0][1])):
        with pytest.raises(ValueError, match=r"'length'.* infinite"):
            call({7: 1, "length": math.inf})
    assert walk(model, samples[30:]) == walk(twin, samples[30:])


# Copies


@every
def test_models_of_one_seed_are_the_same_copies_go_on_as_they_would_and_clones_begin_anew(name):
    n_samples = 30 if name in COSTLY else 250
    samples = stream_for(name, n_samples + 20)
    model, twin = ALL[name](), ALL[name]()
    answers = walk(model, samples[:n_samples])
    assert walk(twin, samples[:n_samples]) == answers  # they share nothing
    if name != "stacking":  # river copies the models of a list with all that they have learnt
        assert walk(model.clone(), samples[:30]) == answers[:30]
    copies = [twin, copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = walk(model, samples[n_samples:])
    # river's kNN sums over a set, whose order may differ in a copy, depending on the hashes of str
    if name.startswith("knn"):
        expected = [pytest.approx(answer, rel=1e-9, abs=1e-12) for answer in expected]
    assert all(walk(other, samples[n_samples:]) == expected for other in copies)
