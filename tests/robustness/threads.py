"""Attacks by threads: they learn, predict, copy and look at one model at the same time."""

import copy
import functools
import io
import pickle
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from subjects import (
    ESTIMATORS,
    KINDS,
    PROBE_FRAME,
    PROBES,
    Sample,
    answers,
    ask_many,
    ask_one,
    ask_then_learn,
    check_answer,
    check_answers,
    check_proba,
    check_rows,
    check_same,
    check_sound,
    check_tree,
    frame_of,
    is_regressor,
    label_for,
    learn,
    n_learnt,
    root_counts,
    samples,
    saved,
)

import river_amf
import river_amf.sklearn
from river_amf import OnlineDummyClassifier, inspection

MOST = 2000  # samples that an attack compares with those of a twin


def together(seconds: float, *calls: Callable[[], object]) -> None:
    """Repeat each call in a thread of its own, until time is over or one of them returns False."""
    over, errors = threading.Event(), []
    switch_interval = sys.getswitchinterval()

    def repeat(call: Callable[[], object]) -> None:
        try:
            while not over.is_set():
                if call() is False:
                    over.set()
        except BaseException as error:
            errors.append(error)
            over.set()

    threads = [threading.Thread(target=repeat, args=(call,), daemon=True) for call in calls]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        over.wait(seconds)
        over.set()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch_interval)
    if errors:
        raise errors[0]


class Learner:
    """A thread's samples, and how many of them it has learned."""

    def __init__(self, model: Any, rng: random.Random, n_samples: int = MOST) -> None:
        self.model, self.samples = model, samples(rng, n_samples)
        self.done = 0

    def learn_one(self) -> bool:
        """Learn the next sample, if there is one."""
        x, label = self.samples[self.done]
        self.model.learn_one(x, label_for(self.model, label))
        self.done += 1
        return self.done < len(self.samples)

    def learn_many(self, n_rows: int = 50) -> bool:
        """Learn the next block."""
        part = self.samples[self.done : self.done + n_rows]
        self.model.learn_many(*frame_of(self.model, part))
        self.done += len(part)
        return self.done < len(self.samples)

    def learnt(self) -> list[Sample]:
        """Return what has been learned so far."""
        return self.samples[: self.done]


def young(rng: random.Random, **given: Any) -> tuple[str, Any]:
    """Return a kind of forest, and one that has not learned anything."""
    kind = rng.choice(sorted(KINDS))
    return kind, KINDS[kind](**given)


# ----------------------------------------------------------------------------- learning, predicting


def learn_beside_predictions(rng: random.Random, seconds: float) -> None:
    """One thread learns, three predict: each prediction is that of some prefix of the samples."""
    kind, model = young(rng)
    learner = Learner(model, rng)
    x, seen = rng.choice(PROBES), []

    def predict() -> None:
        proba = ask_one(model, x)
        check_answer(model, proba)
        if not seen or seen[-1] != proba:
            seen.append(proba)

    together(seconds, learner.learn_one, predict, predict, lambda: model.predict_one(PROBES[0]))
    twin = KINDS[kind]()
    possible = [ask_one(twin, x)]
    for sample in learner.learnt():
        learn(twin, [sample])
        possible.append(ask_one(twin, x))
    strange = [proba for proba in seen if proba not in possible]
    assert not strange, f"{len(strange)} of {len(seen)} predictions are of no prefix: {strange[:2]}"
    check_same(model, twin)
    check_sound(model, rng)


def blocks_beside_predictions(rng: random.Random, seconds: float) -> None:
    """Do the same with blocks, in one thread or two."""
    n_jobs = rng.choice([1, 2])
    kind, model = young(rng, n_jobs=n_jobs)
    learner = Learner(model, rng, 600)
    seen = []

    def predict() -> None:
        proba = ask_many(model, PROBE_FRAME)
        check_answers(model, proba)
        seen.append(proba)

    def predict_one() -> None:
        check_answer(model, ask_one(model, rng.choice(PROBES)))

    together(seconds, learner.learn_many, predict, predict, predict_one)
    twin = KINDS[kind](n_jobs=n_jobs)
    possible = [as_text(ask_many(twin, PROBE_FRAME))]
    for sample in learner.learnt():
        learn(twin, [sample])
        possible.append(as_text(ask_many(twin, PROBE_FRAME)))
    n_strange = len({as_text(proba) for proba in seen} - {*possible})
    assert not n_strange, f"{n_strange} of {len(seen)} block predictions are of no prefix"
    check_same(model, twin)
    check_sound(model, rng)


def as_text(proba: pd.DataFrame) -> tuple[tuple[str, ...], bytes]:
    """Return the columns and values of probabilities, to be compared."""
    return tuple(map(str, proba.columns)), proba.to_numpy().tobytes()


def four_learn(rng: random.Random, seconds: float) -> None:
    """Four threads learn: no sample is lost, and all trees have learned all of them."""
    _, model = young(rng, restart_threshold=None, n_jobs=rng.choice([1, 2]))
    learners = [Learner(model, random.Random(rng.random())) for _ in range(4)]
    calls = [*(learner.learn_one for learner in learners[:3]), learners[3].learn_many]
    together(seconds, *calls)
    expected = Counter(
        "all" if is_regressor(model) else label
        for learner in learners
        for _, label in learner.learnt()
    )
    for tree in range(model.n_estimators):
        assert root_counts(model, tree) == expected, "samples were lost"
    check_sound(model, rng)


# ------------------------------------------------------------------------------------------- copies


def copiers(model: Any) -> dict[str, Callable[[], Any]]:
    """Return the ways to copy a model, each as a call that returns a pickle of the copy."""

    def by_file() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.amf")
            model.save(path)
            return pickle.dumps(river_amf.load(path))

    def by_pickler() -> bytes:  # without the C code
        stream = io.BytesIO()
        pickle._Pickler(stream).dump(model)
        return stream.getvalue()

    return {
        "pickle": lambda: pickle.dumps(model),
        "slow pickle": by_pickler,
        "deepcopy": lambda: pickle.dumps(copy.deepcopy(model)),
        "file": by_file,
    }


def copies_at_rest(rng: random.Random, seconds: float) -> None:
    """Threads pickle, copy and save one model that nobody learns."""
    _, model = young(rng)
    learn(model, samples(rng, rng.randrange(1, 400)))
    seen: list[tuple[str, bytes]] = []
    calls = copiers(model)
    together(
        seconds,
        *(lambda n=name, c=call: seen.append((n, c())) for name, call in calls.items()),
        lambda: check_answer(model, ask_one(model, PROBES[0])),
    )
    expected = pickle.dumps(model)
    for name in calls:
        strange = [content for n, content in seen if n == name and content != expected]
        if name == "slow pickle":  # other opcodes
            strange = [c for c in strange if pickle.dumps(pickle.loads(c)) != expected]
        assert not strange, f"{len(strange)} {name} copies are not equal to the model"
    check_sound(model, rng)


def copies_of_a_learner(rng: random.Random, seconds: float) -> None:
    """Threads pickle, copy and save a model that learns: each copy is of some prefix."""
    kind, model = young(rng, restart_threshold=None)
    learner = Learner(model, rng)
    learns = rng.choice([learner.learn_one, learner.learn_many])
    seen: list[tuple[str, bytes]] = []
    together(
        seconds,
        learns,
        *(lambda n=n, c=c: seen.append((n, c())) for n, c in copiers(model).items()),
    )
    rng.shuffle(seen)
    copies = []
    for name, content in seen[:40]:
        try:
            copied = pickle.loads(content)
            copies.append((n_learnt(copied), name, copied))
        except Exception as error:
            raise AssertionError(f"a {name} copy is not whole: {error}") from error
    twin = KINDS[kind](restart_threshold=None)
    n_so_far = 0
    for n_samples, name, copied in sorted(copies, key=lambda entry: entry[0]):
        learn(twin, learner.samples[n_so_far:n_samples])
        n_so_far = n_samples
        assert answers(copied) == answers(twin), f"a {name} copy predicts otherwise"
        assert pickle.dumps(copied) == pickle.dumps(twin), f"a {name} copy is of no prefix"
    for _, _, copied in copies[:2]:
        check_sound(copied, rng)
    check_sound(model, rng)


# --------------------------------------------------------------------------------------------- all


def medley(rng: random.Random, seconds: float) -> None:
    """Everything at once, while features, categories and labels keep arriving."""
    _, model = young(rng, n_jobs=rng.choice([1, 2]))
    given = samples(rng, 3000, arrivals=4)

    def part(n_rows: int = 1) -> list[Sample]:
        start = rng.randrange(len(given) - n_rows)
        return given[start : start + n_rows]

    def learn_one() -> None:
        for x, label in part(20):
            model.learn_one(x, label_for(model, label), w=rng.choice([1.0, 1.0, 0.0, 2.0]))

    def predict_one() -> None:
        for x, _ in part(20):
            check_answer(model, ask_one(model, x))
            model.predict_one(x)

    def block() -> None:
        rows = part(rng.choice([3, 40]))
        frame, labels = frame_of(model, rows)
        chosen = rng.randrange(4)
        if chosen == 0:
            model.learn_many(frame, labels)
        elif chosen == 1:
            check_answers(model, ask_then_learn(model, rows))
        elif chosen == 2:
            check_answers(model, ask_many(model, frame))
        else:
            assert len(model.predict_many(frame)) == len(frame)

    def look() -> None:
        x = part()[0][0]
        assert model.memory_usage > 0
        assert 0.0 <= model.fading_share <= 1.0 or model.fading_factor is None
        assert model.debug_one(x)
        check_tree(model, rng.randrange(4))
        inspection.path(model, x, rng.randrange(4))
        assert (inspection.weighted_depth(model, x) >= 0.0).all()
        assert (inspection.feature_importance(model)["mass"] >= 0.0).all()
        tree = model[rng.randrange(4)]
        assert is_regressor(model) or not check_proba(tree.predict_proba_one(x))
        tree.predict_one(x)
        figures = tree.summary
        assert figures["n_branches"] + figures["n_leaves"] == figures["n_nodes"]
        if model.split_intensity == "relevance":
            assert not np.isnan(inspection.feature_relevance(model)).any()
        model.n_jobs = rng.choice([1, 2])
        assert str(model)

    def copies() -> None:
        call = rng.choice([*copiers(model).values(), lambda: pickle.dumps(model.clone())])
        copied = pickle.loads(call())
        check_answer(copied, ask_one(copied, PROBES[0]))
        learn(copied, part())

    learn(model, given[:1])
    together(seconds, learn_one, learn_one, predict_one, block, block, look, copies)
    check_sound(model, rng)


def dummies(rng: random.Random, seconds: float) -> None:
    """Everything at once with the baseline that counts labels."""
    model = OnlineDummyClassifier()
    counts = [Counter() for _ in range(3)]

    def learn_one(count: Counter[str]) -> None:
        for _ in range(50):
            label = f"label {rng.randrange(2 + sum(count.values()) // 50)}"
            model.learn_one({}, label)
            count[label] += 1

    def predict() -> None:
        check_proba(model.predict_proba_one({}), may_be_empty=True)

    def copies() -> None:
        for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            check_proba(copied.predict_proba_one({}), may_be_empty=True)
            copied.learn_one({}, "label 0")
        saved(model)

    together(seconds, *(functools.partial(learn_one, c) for c in counts), predict, copies)
    twin = OnlineDummyClassifier()
    for label in model.predict_proba_one({}):
        twin.learn_one({}, label, w=float(sum(count[label] for count in counts)))
    assert model.predict_proba_one({}) == twin.predict_proba_one({}), "samples were lost"


def estimators(rng: random.Random, seconds: float) -> None:
    """Let an estimator of river_amf.sklearn learn beside predictions, pickles and files."""
    given = samples(rng, 1000, arrivals=0)
    X = pd.DataFrame([{name: x.get(name) for name in ("a", "b", "color")} for x, _ in given])
    labels = np.array([f"label {rng.randrange(2 + i // 100)}" for i in range(len(given))], object)
    kind = rng.choice([*ESTIMATORS])
    parameters = {} if "Dummy" in kind else {"n_estimators": 4, "random_state": 1}
    is_regressor = "Regressor" in kind
    if is_regressor:
        labels = np.array([1e3 + rng.gauss(0, 1) for _ in given])
    estimator = getattr(river_amf.sklearn, kind)(**parameters)
    estimator.partial_fit(X[:5], labels[:5])
    n_fitted = [5]

    def fit() -> bool:
        start = n_fitted[0]
        estimator.partial_fit(X[start : start + 20], labels[start : start + 20])
        n_fitted[0] += 20
        return n_fitted[0] < len(X)

    def predict() -> None:
        if is_regressor:
            lower, upper = estimator.predict_interval(X[:40]).T
            assert (lower <= upper).all() and np.isfinite(estimator.predict(X[:40])).all()
            return
        check_rows(estimator.predict_proba(X[:40]))
        assert {*estimator.predict(X[:40])} <= {*labels}

    def copies() -> None:
        for copied in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
            if is_regressor:
                assert np.isfinite(copied.predict(X[:5])).all()
            else:
                check_rows(copied.predict_proba(X[:5]))
                assert copied.predict_proba(X[:5]).shape[1] == len(copied.classes_)
        saved(estimator)

    together(seconds, fit, predict, predict, copies)
    twin = getattr(river_amf.sklearn, kind)(**parameters)
    for start in (0, *range(5, n_fitted[0], 20)):
        stop = 5 if start == 0 else start + 20
        twin.partial_fit(X[start:stop], labels[start:stop])
    assert (estimator.predict(X) == twin.predict(X)).all()
    assert pickle.dumps(estimator) == pickle.dumps(twin)


# -------------------------------------------------------------------------------------- starvation


def nobody_starves(rng: random.Random, seconds: float) -> None:
    """One thread makes progress among six of the other sort; if it does not, the attack hangs."""
    _, model = young(rng)
    learn(model, samples(rng, 200))
    learner = Learner(model, rng)
    done = [0]

    def enough() -> bool:
        done[0] += 1
        return done[0] < 20 * (1.0 + seconds)

    def predict() -> None:
        check_answers(model, ask_many(model, PROBE_FRAME))

    def learn_few() -> None:
        learn(model, samples(rng, 5))

    if rng.random() < 0.5:
        together(1e9, lambda: learner.learn_one() and enough(), *[predict] * 6)
    else:
        together(1e9, lambda: (predict(), enough())[1], *[learn_few] * 6)
    check_sound(model, rng)


def first_calls(rng: random.Random, seconds: float) -> None:
    """Threads that all begin with one new model after the other."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _, model = young(rng, restart_threshold=None, n_estimators=2)
        part = samples(rng, 8, arrivals=10)
        calls = [functools.partial(once, model, x, label) for x, label in part]
        together(5.0, *calls, functools.partial(ask_one, model, {}))
        if len(model._labels):
            n_learnt(model)
    check_sound(model, rng)


def once(model: Any, x: dict[Any, Any], label: Any) -> bool:
    """Learn one sample, and let the others stop."""
    model.learn_one(x, label_for(model, label))
    return False
