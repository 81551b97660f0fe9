"""The baseline `rnn`: a recurrent network of Keras that remembers, for any stream."""

import copy
import doctest
import os
import pickle
import random
import subprocess
import sys
import types

import numpy as np
import pytest
from mixed_streams import LABELS, check_answer, mixed_stream, walk
from river import checks

from river_amf import baselines, cli, evaluation
from river_amf.baselines import recurrent
from river_amf.baselines.preparation import scale_and_encode
from river_amf.baselines.recurrent import RecurrentClassifier

pytestmark = pytest.mark.slow


def make(seed=1):
    return baselines.classifiers(seed)["rnn"]()


# Memory


def echoes(n_samples, lag=1, seed=1):
    """Yield samples whose label is the color of an earlier one; the rest is noise."""
    rng = random.Random(seed)
    colors = ["red"] * lag
    for _ in range(n_samples):
        colors.append(rng.choice(["red", "green", "blue"]))
        yield {"color": colors[-1], "noise": rng.gauss(0.0, 1.0)}, colors[-1 - lag]


def accuracy(model, samples, last):
    """Return the share of the last samples that are predicted right before they are learned."""
    answers = walk(model, samples)[-last:]
    labels = [y for _, y in samples[-last:]]
    return np.mean([max(p, key=p.get) == y for p, y in zip(answers, labels, strict=True)])


def test_it_beats_all_models_without_memory_where_labels_depend_on_the_sample_before():
    samples = [*echoes(1200)]
    comparison = evaluation.compare(samples, ["rnn", *(n for n in NAMES if n != "mlp")], seed=1)
    accuracies = comparison.table["accuracy"].astype(float)
    assert accuracies.pop("rnn") > 0.8
    assert accuracies.max() < 0.45
    assert accuracy(make(), samples, 300) > 0.95


def test_its_memory_has_the_length_that_is_chosen():
    samples = [*echoes(1000, lag=2)]
    assert accuracy(scale_and_encode() | RecurrentClassifier(length=3, seed=1), samples, 300) > 0.9
    assert accuracy(scale_and_encode() | RecurrentClassifier(length=2, seed=1), samples, 300) < 0.5


def test_what_is_only_predicted_leaves_no_trace():
    samples = [*echoes(60)]
    model, twin = make(), make()
    for x, y in samples:
        for other, _ in samples[:5]:
            twin.predict_one(other)
        assert model.predict_proba_one(x) == twin.predict_proba_one(x)
        model.learn_one(x, y)
        twin.learn_one(x, y)


# Among the baselines


NAMES = [name for name in baselines.DESCRIPTIONS if name != "rnn"]


def test_the_command_runs_it(capsys):
    assert cli.main(["evaluate", "phishing", "--model", "rnn", "--seed", "1"]) == 0
    assert "GRU" in capsys.readouterr().out


PROGRAM = """
import sys
{before}
from river_amf import baselines
assert not {{"keras", "jax"}} & {{name for name, module in sys.modules.items() if module}}
{after}
"""


def run(after, before="", **environment):
    """Run statements before and after the import of the baselines, and return what is said."""
    inherited = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    command = [sys.executable, "-c", PROGRAM.format(before=before, after=after)]
    done = subprocess.run(command, capture_output=True, text=True, env=inherited | environment)
    return done.stdout + done.stderr


WITHOUT_KERAS = """
from river_amf import cli, evaluation
print("rnn" in baselines.classifiers(), "rnn" in baselines.DESCRIPTIONS)
try:
    evaluation.compare([({}, 1)], ["RNN"])
except ValueError as error:
    print(error)
cli.main(["evaluate", "bananas", "--model", "rnn"])
"""
NEEDED = 'needs Keras and JAX: pip install "keras>=3.8" "jax>=0.5"'


def test_without_keras_it_is_not_there_and_all_report_what_it_needs():
    listed, of_compare, of_command = run(WITHOUT_KERAS, "sys.modules['keras'] = None").splitlines()
    assert listed == "False False"
    assert of_compare == f"model 'RNN' {NEEDED}"
    assert of_command == f"river-amf: error: argument --model: 'rnn' {NEEDED}"


@pytest.mark.parametrize("name", ["keras", "jax"])
def test_it_needs_keras_and_jax(name, monkeypatch):
    assert recurrent.is_installed()
    monkeypatch.setitem(sys.modules, name, None)
    assert not recurrent.is_installed()
    with pytest.raises(ImportError, match=f"model 'rnn' {NEEDED}"):
        RecurrentClassifier()
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert not recurrent.is_installed()


# Any input


@pytest.mark.parametrize("kind", LABELS)
def test_mixed_streams_are_learnt(kind):
    model, seen = make(), set()
    for x, y in mixed_stream(400, LABELS[kind]):
        if seen:
            check_answer(model, x, seen)
        else:
            assert model.predict_proba_one(x) == {}
        model.learn_one(x, y)
        seen.add(y)
    assert seen == set(LABELS[kind])


# Copies


def test_models_of_one_seed_are_the_same_copies_go_on_as_they_would_and_clones_begin_anew():
    samples = list(mixed_stream(300, LABELS["strings"]))
    model, twin = make(), make()
    answers = walk(model, samples[:250])
    assert walk(twin, samples[:250]) == answers  # they share nothing
    assert walk(model.clone(), samples[:100]) == answers[:100]
    assert walk(make(2), samples[:100]) != answers[:100]
    assert walk(make(None), samples[:100]) != walk(make(None), samples[:100])
    copies = [twin, copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = walk(model, samples[250:])
    assert all(walk(other, samples[250:]) == expected for other in copies)


# River's checks


MODELS = {"baseline": make, "alone": RecurrentClassifier}
ALL_CHECKS = [
    pytest.param(new, check, id=f"{name}: {check.__name__} {number}")
    for name, new in MODELS.items()
    for number, check in enumerate(checks.yield_checks(new()))
]


@pytest.mark.parametrize(("new", "check"), ALL_CHECKS)
def test_river_check(new, check):
    check(new())


def test_no_check_is_skipped():
    assert [name for name, new in MODELS.items() if new()._unit_test_skips()] == []


def test_doctests():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, attempted = doctest.testmod(recurrent, optionflags=flags)
    assert (failed, attempted > 5) == (0, True)
