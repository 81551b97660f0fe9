"""Scores equal those computed from a list of all predictions."""

import math

from hypothesis import given
from hypothesis import strategies as st
from losses import losses, mean
from river import metrics, utils

from river_amf.evaluation.metrics import LogLoss
from river_amf.evaluation.scores import Scores

LABELS = ["high", "low", "late"]
probabilities = st.dictionaries(st.sampled_from(LABELS), st.floats(0.0, 1.0))
predictions = st.tuples(
    st.sampled_from(LABELS),
    st.none() | st.sampled_from(LABELS),
    st.none() | probabilities,
)
windows = st.lists(st.lists(predictions, max_size=6), max_size=4)


def accuracy(said):
    hits = [label == y for y, label, _ in said if label is not None]
    return sum(hits) / len(hits) if hits else math.nan


def cross_entropy(said):
    of_river = [
        # river sums over the predicted labels, which may not include the true one
        -math.log(min(max(proba[y], 1e-15), 1 - 1e-15)) if y in proba else 0.0
        for y, _, proba in said
        if proba
    ]
    has_no_probabilities = any(proba is None for *_, proba in said)
    return math.nan if has_no_probabilities else mean(of_river)


def log_loss(said, before):
    seen = {y for y, *_ in before}
    marked = []
    for y, _, proba in said:
        marked.append((y, proba, y not in seen))
        seen.add(y)
    has_no_probabilities = any(proba is None for *_, proba in said)
    return math.nan if has_no_probabilities else mean(losses(marked))


def same(one, other):
    return one == other or math.isclose(one, other, rel_tol=1e-9) or (one != one and other != other)


@given(windows)
def test_scores_are_those_of_a_list_of_all_predictions(stream):
    named = {
        "accuracy": metrics.Accuracy(),
        "cross-entropy": metrics.CrossEntropy(),
        "log-loss": LogLoss(),
    }
    scores, said = Scores(named, named), []
    for window in stream:
        for y, label, proba in window:
            scores.update(y, label, proba)
        before, said = said, said + window
        for values, of, since in [(scores.total(), said, []), (scores.window(), window, before)]:
            assert list(values) == ["accuracy", "cross-entropy", "log-loss"]
            assert same(values["accuracy"], accuracy(of))
            assert same(values["cross-entropy"], cross_entropy(of))
            assert same(values["log-loss"], log_loss(of, since))
    assert {metric.get() for metric in named.values()} == {0.0}  # the originals are unchanged


@given(windows)
def test_the_total_and_the_windows_may_have_different_metrics(stream):
    rolling = utils.Rolling(metrics.Accuracy, 5)
    scores, last = Scores({"rolling": rolling}, {"MacroF1": metrics.MacroF1()}), []
    for window in stream:
        expected, n_scored = metrics.MacroF1(), 0
        for y, label, proba in window:
            scores.update(y, label, proba)
            if label is not None:
                expected.update(y, label)
                n_scored += 1
                last.append(label == y)
        assert same(scores.window()["MacroF1"], expected.get() if n_scored else math.nan)
        assert same(
            scores.total()["rolling"], sum(last[-5:]) / len(last[-5:]) if last else math.nan
        )
    assert math.isnan(scores.window()["MacroF1"])
