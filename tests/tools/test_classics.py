"""The notebook of the course: its arithmetic, and that it leaves no classifier out."""

import math
from collections import Counter
from fractions import Fraction

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river.tree.split_criterion import GiniSplitCriterion, InfoGainSplitCriterion
from scipy import stats
from sklearn.tree import DecisionTreeClassifier
from test_notebooks import NOTEBOOKS

from river_amf import baselines

CELLS = nbformat.read(NOTEBOOKS / "classics.ipynb", as_version=4).cells


def run(name):
    """Run a cell of definitions, and return them."""
    (source,) = (cell.source for cell in CELLS if cell.id == name)
    names = {"math": math, "Counter": Counter}
    exec(source, names)
    return names


IMPURITY = run("impurity")
gini, entropy, error, gain = map(IMPURITY.get, ("gini", "entropy", "error", "gain"))

nodes = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 1000), min_size=1).map(Counter)
nodes = nodes.filter(Counter.total)


@given(nodes)
def test_impurity_is_what_its_name_says(counts):
    n = counts.total()
    numbers = [*counts.values()]
    pairs = sum(a * b for i, a in enumerate(numbers) for j, b in enumerate(numbers) if i != j)
    assert gini(counts) == pytest.approx(float(Fraction(pairs, n * n)), abs=1e-12)
    assert entropy(counts) == pytest.approx(stats.entropy(numbers, base=2), abs=1e-12)
    assert error(counts) == pytest.approx(float(Fraction(n - max(numbers), n)), abs=1e-12)


@given(nodes, nodes)
def test_gains_are_those_of_river(left, right):
    parts, whole = [left, right], left + right
    by_entropy = InfoGainSplitCriterion(0.0).merit_of_split(whole, parts)
    assert gain(entropy, parts) == pytest.approx(by_entropy, abs=1e-10)
    purity = GiniSplitCriterion(0.0).merit_of_split(whole, parts)
    assert gain(gini, parts) == pytest.approx(purity - 1 + gini(whole), abs=1e-10)


@given(nodes, nodes)
def test_the_error_gains_nothing_while_the_most_frequent_label_stays(left, right):
    parts = [left, right]
    shared = {c for c in "abcd" if all(part[c] == max(part.values()) for part in parts)}
    assert (abs(gain(error, parts)) < 1e-12) == bool(shared)
    assert gain(error, parts) > -1e-12


@pytest.mark.parametrize("measure", ["gini", "entropy"])
@pytest.mark.parametrize(
    "question", ["money=yes", "time=night", "attachment=yes", "domain=cat", "domain=edu"]
)
def test_gains_on_six_mails_are_those_of_scikit_learn(question, measure):
    feature, value = question.split("=")
    answers = [[x[feature] == value] for x, _ in baselines.SIX_MAILS]
    labels = [y for _, y in baselines.SIX_MAILS]
    tree = DecisionTreeClassifier(criterion=measure, max_depth=1).fit(answers, labels).tree_
    _, left, right = tree.weighted_n_node_samples / len(labels) * tree.impurity
    parts = [Counter(), Counter()]
    for (answer,), label in zip(answers, labels, strict=True):
        parts[answer][label] += 1
    expected = tree.impurity[0] - left - right
    assert gain(IMPURITY[measure], parts) == pytest.approx(expected, abs=1e-12)


def test_no_classifier_is_left_out():
    text = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    assert [name for name in baselines.DESCRIPTIONS if f"`{name}`" not in text] == []
