"""Delayed labels score what was predicted at the time (DESIGN.md: delayed labels).

`test_call_sequences.py` has them in any sequence of calls: blocks, copies, files, words.
"""

import copy
import math
import random

import pandas as pd
import pytest
import test_naive
import test_naive_regression
from forests import state_of
from generated import streams, streams_of_numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from river_amf import AdaptiveAMFClassifier, AdaptiveAMFRegressor, AMFClassifier, AMFRegressor
from river_amf.state import arena
from river_amf.state import blocks as state_blocks

COUNTERS = "n_since", "expected_delay", "confidence", "n_missed"
ADAPTIVE = test_naive.ADAPTIVE, test_naive_regression.ADAPTIVE
VARIANTS = [
    (AMFClassifier, {}),
    (AMFClassifier, {"drift_threshold": 0.01, "n_estimators": 4}),
    (AMFClassifier, {"vote": "learned", "fading_factor": 0.5}),
    (AMFClassifier, {"vote": "learned", "linear": True, "max_categories": 2}),
    (AMFClassifier, {"max_delayed_labels": 0} | ADAPTIVE[0]),
    (AMFRegressor, {"vote": "mean"}),
    (AMFRegressor, {"recent": "target", "n_estimators": 4}),
    (AMFRegressor, {"linear": True, "n_estimators": 3}),
]
VARIANTS += [
    (kind, parameters | more)
    for kind, parameters in zip((AMFClassifier, AMFRegressor), ADAPTIVE, strict=True)
    for more in ({}, {"max_delayed_labels": 3})
]


def pair(kind, parameters):
    naive = test_naive_regression if kind is AMFRegressor else test_naive
    return naive.pair(**{"n_estimators": 2} | parameters)


def check_same_answer(model, reference, x, look=0):
    """Compare predictions; a second look at a row is one at another quantile."""
    if isinstance(model, AMFClassifier):
        expected = reference.predict_proba_one(x)
        assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-11)
        return
    scale = 1.0 + max(
        (abs(y) for tree in reference.trees[:1] for y, _ in tree.learned), default=0.0
    )
    tolerance = test_naive_regression.TOLERANCE * scale
    if look:
        expected = reference.predict_quantile_one(x, 0.4)
        assert model.predict_quantile_one(x, 0.4) == pytest.approx(expected, abs=10 * tolerance)
        return
    assert model.predict_one(x) == pytest.approx(reference.predict_one(x), abs=tolerance)


def check_same_pending(model, reference):
    pending = reference.pending
    if model._has_learned and pending.most:
        arena = model._arena
        n = int(arena.counters["n_pending"][0])
        found = arena.with_pending(n).pending
        assert found["is_taken"].tolist() == [p.is_taken for p in pending.list]
        assert found["n_learned"].tolist() == [p.n_learned for p in pending.list]
        counters = {name: int(arena.counters[name][0]) for name in COUNTERS}
        since, expected = pending.newest - pending.last, pending.expected
        of_pending = since, expected, pending.confidence, pending.n_missed
        assert counters == dict(zip(COUNTERS, of_pending, strict=True))
        lateness = -1.0 if pending.mean_lateness is None else pending.mean_lateness
        assert arena.counters["lateness"][0] == pytest.approx(lateness, rel=1e-12)


def events(n, draw):
    """Yield what is done with which row: rows are predicted, some twice, and learned some time."""
    waiting = []
    for row in range(n):
        for _ in range(draw.choice([0, 1, 1, 1, 2])):
            yield "predict", row
        waiting.append(row)
        while waiting and draw.random() < 0.5:
            other = draw.choice([0, 0, -1, draw.randrange(len(waiting))])
            yield "learn", waiting[other]
            if draw.random() < 0.9:  # or it is learned once more
                waiting.pop(other)
        if draw.random() < 0.2:
            yield "predict", draw.randrange(n)
    for row in waiting:
        yield "learn", row


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS)
@settings(max_examples=15)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_any_order_equals_reference(kind, parameters, data, seed):
    targets = ("plain", "ties", "a jump", "offset")
    samples = streams_of_numbers(targets=targets) if kind is AMFRegressor else streams(max_size=40)
    stream, (model, reference) = data.draw(samples), pair(kind, parameters)
    for what, row in events(len(stream), random.Random(seed)):
        if what == "predict":
            check_same_answer(model, reference, stream[row][0])
        for forest in (model, reference) if what == "learn" else ():
            forest.learn_one(*stream[row])
        check_same_pending(copy.deepcopy(model), reference)
    if kind is AMFClassifier and reference.labels:
        test_naive.check_same_state(model, reference)


def scaled(n_seen):
    """Return a function that changes numbers as a scaler does that has learned some rows."""
    factor = 1 + 1 / (1 + n_seen)
    return lambda x: {name: v * factor if isinstance(v, float) else v for name, v in x.items()}


CHANGES = {
    "scaled": scaled,
    "grown": lambda n_seen: lambda x: x | {f"new {n}": 0.0 for n in range(n_seen // 40)},
    "ramp": lambda n_seen: lambda x: {"ramp": x["ramp"] * (1 + n_seen * 1e-5)},
    "hours": lambda _: lambda x: {"hour": x["hour"]},
    "few": lambda _: lambda x: {"few": x["few"]},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("kind", "parameters"), [VARIANTS[2], VARIANTS[7]])
@pytest.mark.parametrize("delay", [0, 1, 12])
def test_changed_and_repeated_rows_equal_reference(kind, parameters, change, delay):
    draw, waiting = random.Random(delay), []
    model, reference = pair(kind, parameters | {"n_estimators": 1})
    n_learned = 0
    for n in range(160):
        x = {"a": draw.gauss(0, 1), "b": draw.gauss(0, 1), "ramp": n + 9.0}
        x |= {"hour": n % 6, "few": draw.choice("pqr")}
        for look in range(draw.choice([0, 1, 2] if n < 40 else [1, 1, 2])):
            check_same_answer(model, reference, CHANGES[change](n_learned)(x), look)
        delay -= 3 * (n == 110 and delay > 3)  # to where rows are like the expected one
        waiting.append((x, x["a"] + x["hour"] if kind is AMFRegressor else x["a"] > 0))
        while len(waiting) > delay:
            x, y = waiting.pop(0)
            if draw.random() < 0.9:
                for forest in (model, reference):
                    forest.learn_one(CHANGES[change](n_learned)(x), y)
                n_learned += 1
                check_same_pending(model, reference)
    assert reference.pending.confidence >= 8 or not delay


@pytest.mark.parametrize("vote", ["learned", "mean"])
@pytest.mark.parametrize("jump", [-90.0, 90.0])
def test_targets_after_a_jump_count_as_new(vote, jump):
    model = AdaptiveAMFRegressor(seed=1, vote=vote)
    draw = random.Random(0)
    rows = [({"a": draw.random()}, draw.gauss(0, 1)) for _ in range(400)]
    for x, y in rows[:300]:
        model.predict_one(x)
        model.learn_one(x, y)
    for x, _ in rows[350:]:
        model.predict_one(x)
    for row in rows[300:350]:
        model.learn_one(*row)
    for x, y in rows[350:]:
        model.learn_one(x, y + jump)
    assert model._arena.counters["n_jumped"][0] == math.copysign(50, jump)
    mean = sum(model.predict_one(x) for x, _ in rows) / len(rows)
    assert mean == pytest.approx(jump, rel=0.1)


def drifting(kind, n, seed=2, weights=(1.0, 1.0, 1.0, 2.0, 0.0)):
    """Return samples whose labels or targets drift, and sometimes a new label."""
    draw, rows = random.Random(seed), []
    for i in range(n):
        x = {"a": draw.gauss(0, 1), "b": draw.randrange(3), "c": draw.choice("pq")}
        y = (x["a"] > 0) ^ (i // 350 % 2) if i % 40 else f"rare {i // 200}"
        if issubclass(kind, AMFRegressor):
            y = x["a"] + x["b"] + 99.0 * ((170 < i < 200) + i * 29 % 13 * (i > 0.85 * n))
        rows.append((x, y, draw.choice(weights)))
    return rows


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (AMFClassifier, {}),
        (AMFClassifier, {"vote": "learned"}),
        (AMFRegressor, {}),
        (AMFRegressor, {"linear": True}),
    ],
)
def test_restarts_equal_reference(kind, parameters):
    model, reference = pair(kind, {"drift_threshold": 0.1} | parameters)
    rows = drifting(kind, 560 if kind is AMFRegressor else 500, seed=5)
    for (x, _, _), late in zip(rows[9:], rows, strict=False):
        check_same_answer(model, reference, x)
        for forest in (model, reference):
            forest.learn_one(*late)
    assert any(tree.n_restarts for tree in reference.trees)
    naive, scale = (test_naive_regression, [2000.0]) if kind is AMFRegressor else (test_naive, [])
    for tree in range(2):
        naive.check_same_tree(model, reference, tree, *scale)
    naive.check_same_state(model, reference)


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS)
def test_late_rows_of_chunks_equal_single_samples(kind, parameters, monkeypatch, chunks):
    monkeypatch.setattr(state_blocks, "CHUNK_BYTES", 1)  # chunks of 64 rows
    single, blocks = (kind(seed=3, **parameters) for _ in range(2))
    rows = drifting(kind, 500, weights=[1.0] * 30 + [2.0] * 10 + [0.0])
    xs, ys, ws = map(list, zip(*rows, strict=True))
    frame, late = pd.DataFrame(xs, dtype=object), slice(100, 230)
    for part in (slice(0, 100), slice(100, 500)):
        for row in rows[part]:
            single.learn_one(*row)
        blocks.learn_many(frame[part], ys[part], ws[part])
        for x in xs[late]:
            single.predict_one(x)
        blocks.predict_many(frame[late])
    assert state_of(single) == state_of(blocks)
    assert sum(chunks) > 470  # and so at least a hundred of the late rows


def test_repeated_prediction_expects_its_label_at_once():
    # it expects the prediction itself, by a label of weight 0 with equal rows
    single, blocks = (AMFClassifier(3, seed=3, vote="learned") for _ in range(2))
    for model in (single, blocks):
        for what, x in [("learn", n) for n in range(4)] + [
            *(("predict", 5), ("predict", 6), ("learn", 5)),  # so the usual delay is 1
            *(("predict", 0), ("learn", 1), ("predict", 0), ("learn", 2)),
            *(("predict", 0), ("predict", 1), ("predict", 0), ("drop", 0)),
        ]:
            if what == "predict":
                model.predict_one({"a": x})
            else:
                model.learn_one({"a": x}, x % 2, w=float(what == "learn"))
        assert model._arena.counters["n_since"][0] == 0
    for n in range(20):
        single.predict_proba_one({"a": n % 2})
        single.learn_one({"a": n % 2}, n % 3)
    numbers = pd.DataFrame({"a": [n % 2 for n in range(20)]})
    blocks.predict_proba_then_learn_many(numbers, [n % 3 for n in range(20)])
    assert state_of(single) == state_of(blocks)


@pytest.mark.parametrize("n_classes", [None, 300])
def test_waiting_predictions_keep_their_bound(n_classes):
    model, draw = AMFClassifier(2, seed=3, vote="learned", n_classes=n_classes), random.Random(0)
    for n in range(300):
        model.learn_one({"a": n} | {f"new {k}": 1.0 for k in range(n)}, f"label {n % 200}")
        for _ in range(5000 if n == 2 else 1):
            model.predict_one({"a": draw.random()})
    n_bytes = sum(getattr(model._arena, name).nbytes for name in arena._OF_PENDING)
    assert n_bytes < 1.5 * arena._PENDING_BYTES  # as arrays have spare capacity


def days(seed):
    """Return sixty days of 300 rows: two weak features, and a level of the day."""
    draw, rows = random.Random(seed), []
    for _ in range(60):
        level = draw.gauss(0, 1)
        for _ in range(300):
            x = {"a": draw.gauss(0, 1), "b": draw.gauss(0, 1)}
            odds = math.exp(level + 0.3 * x["a"] - 0.3 * x["b"])
            rows.append((x, draw.random() < odds / (1 + odds)))
    return rows


def log_loss_of_days(model, rows):
    """Return the log-loss from the fourth day on, if labels come at the end of each day."""
    losses = []
    for start in range(0, len(rows), 300):
        xs, ys = zip(*rows[start : start + 300], strict=True)
        frame = pd.DataFrame(xs)
        if start >= 900:
            proba = model.predict_proba_many(frame)
            losses += [-math.log(p) for p, y in zip(proba[True], ys, strict=True) if y]
            losses += [-math.log(1 - p) for p, y in zip(proba[True], ys, strict=True) if not y]
        else:
            model.predict_proba_many(frame)
        model.learn_many(frame, [*ys])
    return math.fsum(losses) / len(losses)


@pytest.mark.slow
def test_labels_of_the_day_do_not_mislead():
    ours, plain, frequencies = [], [], []
    for seed in range(5):
        rows = days(seed)
        ours.append(log_loss_of_days(AdaptiveAMFClassifier(seed=1), rows))
        plain.append(log_loss_of_days(AMFClassifier(seed=1), rows))
        for k in range(900, len(rows), 300):
            p = sum(y for _, y in rows[:k]) / k
            frequencies += [-math.log(p if y else 1 - p) for _, y in rows[k : k + 300]]
    assert sum(ours) < 1.02 * sum(plain)
    assert sum(ours) / 5 < math.fsum(frequencies) / len(frequencies) + 0.01


@pytest.mark.parametrize(("delay", "expected"), [(0, 0.0), (1, 1.0), (40, 40.0)])
def test_lateness_is_the_delay(delay, expected):
    model, waiting = AMFClassifier(2, seed=1, vote="learned"), []
    for n in range(200):
        model.predict_proba_one({"a": n})
        waiting.append(n)
        if len(waiting) > delay:
            model.learn_one({"a": waiting.pop(0)}, n % 2)
    assert model._arena.counters["lateness"][0] == pytest.approx(expected, abs=1.0)


def test_lateness_in_batches_is_half_their_size():
    model, found = AMFClassifier(2, seed=1, vote="learned"), []
    for start in range(0, 2000, 200):
        rows = [{"a": n} for n in range(start, start + 200)]
        for x in rows:
            model.predict_proba_one(x)
        for x in rows:
            model.learn_one(x, x["a"] % 2)
            found.append(float(model._arena.counters["lateness"][0]))
    assert found[0] == -1.0  # the first batch had no predictions
    assert set(found[200:]) == {199 / 2}


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("kinds", [2, 3, 10])
def test_few_kinds_of_rows_find_their_predictions(kinds, batch):
    draw, model, level, waiting = random.Random(kinds), AdaptiveAMFRegressor(4, seed=1), 0.0, []
    hits, errors, squares = 0, 0.0, 0.0
    for n in range(4000):
        level = 0.97 * level + draw.gauss(0.0, 0.24)
        x, y = {"kind": f"k{draw.randrange(kinds)}"}, level + draw.gauss(0.0, 0.3)
        prediction, interval = model.predict_one(x), model.predict_interval_one(x)
        if n >= 2000:
            hits += y in interval
            errors += (y - prediction) ** 2
            squares += y**2
        waiting.append((x, y))
        while len(waiting) > 100 or (batch > 1 and n % batch == batch - 1 and waiting):
            model.learn_one(*waiting.pop(0))
    assert 0.8 < hits / 2000 < 0.97
    assert errors < 1.25 * squares  # the errors of the mean, which little is better than
    assert model._arena.counters["lateness"][0] > 30.0


def test_half_at_once_and_half_late_count_both():
    model, waiting, draw = AdaptiveAMFClassifier(4, seed=1), [], random.Random(1)
    for n in range(4000):
        model.predict_proba_one({"a": n})
        if draw.random() < 0.5:
            model.learn_one({"a": n}, n % 2)
        else:
            waiting.append(n)
        if waiting and n - waiting[0] >= 1000:
            model.learn_one({"a": waiting.pop(0)}, n % 2)
    assert model._arena.counters["lateness"][0] == pytest.approx(500.0, rel=0.5)


def test_max_delayed_labels_of_0_counts_all_at_once():
    model = AdaptiveAMFClassifier(2, seed=1, max_delayed_labels=0)
    for n in range(50):
        model.learn_one({"a": n}, n % 2)
    assert model._arena.counters["lateness"][0] == 0.0
    assert model._arena.trees["fades"].all()
