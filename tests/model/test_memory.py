"""Bounds on memory: categories that are forgotten."""

import pickle

import numpy as np
import pytest
from forests import visits
from hypothesis import given, settings
from hypothesis import strategies as st
from test_naive import ADAPTIVE, check_same_state, check_same_tree, pair

from river_amf.inputs.categories import Categories


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
