"""Bounds on memory: categories that are forgotten."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from forests import learn, visits
from hypothesis import given, settings
from hypothesis import strategies as st
from test_naive import ADAPTIVE, check_same_state, check_same_tree, pair

from river_amf import AMFClassifier
from river_amf.inputs.categories import Categories


def forest(**parameters):
    return AMFClassifier(**{"n_estimators": 3, "seed": 1, "max_categories": 5} | parameters)


def table_of(samples):
    return (
        pd.DataFrame([x for x, _, _ in samples]),
        [y for _, y, _ in samples],
        [w for _, _, w in samples],
    )


# Categories


@settings(max_examples=50)
@given(st.integers(1, 6), st.lists(st.integers(0, 12), max_size=80))
def test_the_rarest_half_is_forgotten_and_no_code_is_given_twice(bound, values):
    categories = Categories(bound)
    uses = np.zeros(bound + 1, np.int64)
    given_codes, counts = [], {}
    for value in values:
        if value not in categories.codes:
            expected = categories.next_code
            categories.add(value)
            assert categories.codes[value] == expected
            assert expected not in given_codes
            assert not given_codes or expected > max(given_codes)
            given_codes.append(expected)
        if categories.n_free == 0:
            *others, newest = categories.codes
            staying = sorted(others, key=lambda c: counts[c])[len(others) - bound // 2 :]
            before = categories.codes
            categories = categories.without_rarest(uses)
            assert [*categories.codes] == [c for c in others if c in staying] + [newest]
            assert categories.codes.items() <= before.items()
            counts = {c: counts[c] // 2 for c in staying}
            twin = pickle.loads(pickle.dumps(categories))
            assert twin.next_code == categories.next_code
        assert len(categories) <= bound
        slot = categories.codes[value] % (bound + 1)
        uses[slot] += 1
        counts[value] = counts.get(value, 0) + 1
        slots = {code % (bound + 1): c for c, code in categories.codes.items()}
        assert len(slots) == len(categories)
        assert uses.tolist() == [counts.get(slots.get(s), 0) for s in range(bound + 1)]
        twin = pickle.loads(pickle.dumps(categories))
        n_ahead = categories.n_free
        assert twin.codes_ahead(n_ahead).tolist() == categories.codes_ahead(n_ahead).tolist()


def test_a_category_that_stays_predicts_as_before_and_one_that_went_is_new():
    model = learn(forest(max_categories=4), visits(40))
    model.learn_one({"color": "p0"}, "True")
    assert "p0" in model._features.categories("color")
    codes = model._features.categories("color")
    before = {color: model.predict_proba_one({"color": color}) for color in codes}
    known = dict(codes)
    features = model._features
    while features is model._features:
        # forgetting alone, without what the trees learn
        features.add_category("color", f"new {len(codes)}")
        new = [("color", f"new {len(codes)}")]
        features, _ = features.without_rarest(new, model._arena.uses)
    model._engine.known = model._engine.known._replace(features=features)
    codes = features.categories("color")
    stayed = known.keys() & codes.keys()
    assert stayed
    assert stayed < known.keys()
    for color in stayed:
        assert codes[color] == known[color]
        assert model.predict_proba_one({"color": color}) == before[color]
    gone = min(known.keys() - codes.keys())
    assert model.predict_proba_one({"color": gone}) == model.predict_proba_one({"color": "never"})


@pytest.mark.parametrize("parameters", [{}, ADAPTIVE], ids=["plain", "adaptive"])
@pytest.mark.parametrize("bound", [1, 4])
def test_trees_with_few_categories_equal_the_reference(parameters, bound):
    model, reference = pair(max_categories=bound, **parameters)
    for x, y, w in visits(120):
        expected = reference.predict_proba_one(x)
        assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-12)
        model.learn_one(x, y, w)
        reference.learn_one(x, y, w)
    for name, column in reference.columns.items():
        assert model._features.categories(name) == (column.codes if column.is_categorical else None)
    for tree in range(2):
        check_same_tree(model, reference, tree)
    check_same_state(model, reference)


CUTS = [[], [1], [7, 8, 150], range(0, 200, 13)]


@pytest.mark.parametrize("n_jobs", [2])
@pytest.mark.parametrize("parameters", [{}, ADAPTIVE], ids=["plain", "adaptive"])
@pytest.mark.parametrize("bound", [1, 5])
def test_blocks_are_learnt_like_their_rows(parameters, bound, n_jobs):
    samples = list(visits(200))
    rows = forest(max_categories=bound, **parameters)
    expected = []
    for x, y, w in samples:
        expected.append(rows.predict_proba_one(x))
        rows.learn_one(x, y, w)
    for cuts in CUTS:
        model = forest(max_categories=bound, n_jobs=n_jobs, **parameters)
        ends = [0, *cuts, len(samples)]
        for start, stop in itertools.pairwise(ends):
            part = samples[start:stop]
            if not part:
                continue
            proba = model.predict_proba_then_learn_many(*table_of(part))
            for i, row in enumerate(proba.to_dict("records")):
                known = expected[start + i]
                assert {label: row[label] for label in known} == known
        model.n_jobs = 1
        assert pickle.dumps(model) == pickle.dumps(rows)
