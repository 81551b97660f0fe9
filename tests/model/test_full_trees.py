"""Trees that have reached `max_nodes`: they go on learning (DESIGN.md: budget).

`test_naive.py` and `test_naive_regression.py` compare full trees with the references.
"""

import random

import numpy as np
from forests import forests, state_of

from river_amf import AMFRegressor, inspection

LIMIT = 101


def moved_range(kind, n_samples=3000):
    """Yield a feature whose range moves halfway, and labels or targets that follow it."""
    draw = random.Random(1)
    for i in range(n_samples):
        u = draw.random() + (2 * i >= n_samples)
        y = 4.0 * (u % 0.5) + draw.gauss(0.0, 0.3)
        yield {"a": u}, y if issubclass(kind, AMFRegressor) else y > 1.0


def n_nodes(model):
    return [tree.n_nodes for tree in model]


@forests
def test_full_tree_follows_moved_range(kind):
    limited, free = (kind(seed=1, max_nodes=limit) for limit in (LIMIT, None))
    errors, is_full = [], False
    for x, y in moved_range(kind):
        errors.append([abs(float(model.predict_one(x) or 0) - y) for model in (limited, free)])
        for model in (limited, free):
            model.learn_one(x, y)
        # the limit changes nothing until a tree is full
        is_full = is_full or max(n_nodes(free)) + 2 > LIMIT
        if not is_full:
            assert errors[-1][0] == errors[-1][1]
            states = [[*model._arena.trees["random_state"]] for model in (limited, free)]
            assert state_of(states[0]) == state_of(states[1])
    error, without_limit = np.mean(errors[2250:], axis=0)
    assert error < 1.2 * without_limit


@forests
def test_full_tree_stays_within_limit(kind):
    model, structures, sizes = kind(n_estimators=2, seed=1, max_nodes=LIMIT), set(), set()
    if "drift_threshold" in model._parameters:
        model.drift_threshold = None
    for i, (x, y) in enumerate(moved_range(kind)):
        model.learn_one(x, y)
        assert max(n_nodes(model)) <= LIMIT
        if i >= 1000 and i % 10 == 0:
            sizes.add(model.memory_usage)
            structures.add(inspection.node_table(model)["threshold"].sum())
    assert n_nodes(model) == [LIMIT, LIMIT] and all(tree.is_full for tree in model)
    assert len(structures) > 10
    assert len(sizes) == 1
