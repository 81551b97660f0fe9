"""What a call that is broken off may leave: a whole model that has learned a prefix of its rows."""

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import pandas as pd
from subjects import (
    KINDS,
    PROBE_FRAME,
    PROBES,
    Sample,
    answers,
    ask_many,
    ask_then_learn,
    bags,
    check_same,
    even,
    frame_of,
    learn,
    loaded,
    n_learnt,
    samples,
    saved,
)

from river_amf import inspection

# Whatever is called first after a call that was broken off has to find a whole model.
LOOKS: dict[str, Callable[[Any], object]] = {
    "one": answers,
    "many": lambda model: ask_many(model, PROBE_FRAME),
    "predict_one": lambda model: model.predict_one(PROBES[0]),
    "pickle": lambda model: answers(pickle.loads(pickle.dumps(model))),
    "deepcopy": lambda model: answers(copy.deepcopy(model)),
    "file": lambda model: answers(loaded(saved(model))),
    "node_table": lambda model: inspection.node_table(model, 1),
    "tree": lambda model: model[1].summary,
    "debug_one": lambda model: model.debug_one(PROBES[0]),
    "memory_usage": lambda model: model.memory_usage > 0,
    "fading_share": lambda model: str(model.fading_share),
    "clone": lambda model: answers(model.clone()),
}


def state_left(model: Any, states: list[bytes], rng: random.Random) -> int:
    """Check that a forest is in one of these states, given as pickles, and return which."""
    # Equal models have equal pickles. The looks are compared too: they also depend on what a
    # pickle does not hold.
    name = rng.choice(sorted(LOOKS))
    try:
        seen = LOOKS[name](model)
        content = pickle.dumps(model)
    except Exception as error:
        raise AssertionError(f"{name} after a broken call: {error!r}") from error
    if content not in states:
        text = (
            f"none of the {len(states)} states, first seen by {name}: {difference(model, states)}"
        )
        raise AssertionError(text)
    state = states.index(content)
    twin = pickle.loads(content)
    expected = LOOKS[name](twin)
    is_equal = seen.equals(expected) if isinstance(seen, pd.DataFrame) else seen == expected
    assert is_equal, f"{name} after a broken call: {seen}, expected {expected}"
    check_same(model, twin)
    return state


def difference(model: Any, states: list[bytes]) -> str:
    """Describe how a forest differs from the state of as many samples."""
    try:
        n_samples = n_learnt(model)
        twins = [pickle.loads(content) for content in states]
        (twin,) = [t for t in twins if n_learnt(t) == n_samples]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    parts = [f"{n_samples} samples learned"]
    if answers(model) != answers(twin):
        parts.append("it predicts otherwise")
    if list(model._labels) != list(twin._labels):
        parts.append(f"labels {list(model._labels)}, not {list(twin._labels)}")
    ours, theirs = model._features.__getstate__(), twin._features.__getstate__()
    if repr(ours) != repr(theirs):
        parts.append(f"features {ours}, not {theirs}")
    if model._arena is not None and twin._arena is not None:
        arrays, others = model._arena.used_arrays(), twin._arena.used_arrays()
        parts.append(f"arrays {[n for n in arrays if arrays[n].tobytes() != others[n].tobytes()]}")
    return "; ".join(parts)


def by_one(model: Any, rows: list[Sample]) -> None:
    """Learn rows, if any, one by one."""
    learn(model, rows)


def by_block(model: Any, rows: list[Sample]) -> None:
    """Learn rows, if any, as a block."""
    if rows:
        model.learn_many(*frame_of(model, rows))


def by_test_then_train(model: Any, rows: list[Sample]) -> None:
    """Predict and learn rows, if any, as a block."""
    if rows:
        ask_then_learn(model, rows)


class Trial:
    """A call that learns rows, and all the states that it may leave when it is broken off."""

    def __init__(
        self,
        model: Any,
        rows: list[Sample],
        call: Callable[[Any, list[Sample]], None],
        warm: list[Sample] | None = None,
    ) -> None:
        self.base, self.rows, self.call = pickle.dumps(model), rows, call
        self.warm = warm or []  # learned after unpickling, which leaves no room to grow
        twin = self.model()
        self.states = [pickle.dumps(twin)]
        for row in rows:
            learn(twin, [row])
            self.states.append(pickle.dumps(twin))

    def model(self) -> Any:
        """Return the model as it is before the call."""
        return learn(pickle.loads(self.base), self.warm)

    def check(self, model: Any, rng: random.Random) -> int:
        """Check a model after the call was broken off; return how many rows it has learned."""
        n_rows = state_left(model, self.states, rng)
        self.call(model, self.rows[n_rows:])
        assert pickle.dumps(model) == self.states[-1], f"goes on otherwise after {n_rows} rows"
        return n_rows


def _begun(rng: random.Random, n_samples: int, **given: Any) -> Any:
    """Return a forest of any kind that has learned some samples."""
    return learn(KINDS[rng.choice(sorted(KINDS))](**given), samples(rng, n_samples))


def _sample(new: dict[Any, Any], label: str) -> Callable[[random.Random], Trial]:
    """Return what makes the trial of one sample with something new."""

    def trial(rng: random.Random) -> Trial:
        model = _begun(rng, rng.randrange(1, 60))
        row = {"a": rng.gauss(0, 1), "b": 3.0, "color": "color 0"} | new, label
        return Trial(model, [row], by_one, samples(rng, rng.choice([0, 0, 5])))

    return trial


def _words_begun(rng: random.Random, n_samples: int, n_words: int = 60, **given: Any) -> Any:
    """Return a forest of words that has learned some samples."""
    return learn(KINDS["words"](**given), bags(rng, n_samples, n_words))


def _new_words(rng: random.Random) -> Trial:
    """Return the trial of a sample with more new words than there is room for in its arrays."""
    model = _words_begun(rng, rng.randrange(40), max_vocabulary=None)
    return Trial(model, [(dict.fromkeys([f"new {k}" for k in range(90)], 1), "new")], by_one)


def _words_forgotten(rng: random.Random) -> Trial:
    """Return the trial of samples for whose new words others are forgotten."""
    model = _words_begun(rng, 40, max_vocabulary=30)
    while len(model._features.vocabulary) < 30:
        learn(model, bags(rng, 1))
    call = rng.choice([by_one, by_block, by_test_then_train])
    # no texts that are equal, nor names in the package: pickles tell whether they are one object
    rows = even([({"new": 1, "b": 0.5, "kind 1": "new kind"}, "new label"), *bags(rng, 3)])
    return Trial(model, rows, call)


def _new_column(rng: random.Random) -> Trial:
    """Return the trial of a sample before which chosen words get their columns."""
    model = _words_begun(rng, 0, max_vocabulary=rng.choice([None, 40]))
    while not model._engine._has_chosen():
        learn(model, bags(rng, 1))
    return Trial(model, even(bags(rng, rng.choice([1, 3]))), rng.choice([by_one, by_block]))


def _fewer_words(rng: random.Random) -> Trial:
    """Return the trial of labels that leave room for fewer words within `max_bytes`."""
    model = _words_begun(rng, 60, 2000, max_vocabulary=None)
    rows = [({f"late {k}": 1, "word 0": 1}, f"label {k}") for k in range(5)]
    return Trial(model, rows, rng.choice([by_one, by_block]))


def _block(n_rows: int, *, n_jobs: int, arrivals: int = 2, **given: Any) -> Any:
    """Return what makes the trial of a block."""

    def trial(rng: random.Random) -> Trial:
        model = _begun(rng, rng.randrange(60), n_jobs=n_jobs, **given)
        call = rng.choice([by_block, by_test_then_train])
        return Trial(model, samples(rng, n_rows, arrivals=arrivals), call)

    return trial


def _chain(rng: random.Random) -> Trial:
    """Return the trial of a sample that needs room again and again, as one leaf is split often."""
    model = KINDS["plain"](n_estimators=3, split_intensity="unit")
    learn(model, [({"a": 2.0**-k}, "far") for k in range(150)])
    return Trial(model, [({"a": 0.0}, "near")], by_one)


def _restart(rng: random.Random) -> Trial:
    """Return the trial of a block in which trees start afresh."""
    model = KINDS["adaptive"](restart_threshold=0.05)
    names = ["above", "below", "neither"]
    for i in range(330):
        x = {"a": rng.random(), "b": rng.random()}
        model.learn_one(x, names[(x["a"] > 0.5) if i < 310 else 2])
    rows = [({"a": rng.random(), "b": rng.random()}, rng.choice(names)) for _ in range(40)]
    return Trial(model, rows, rng.choice([by_block, by_test_then_train]))


TRIALS: dict[str, Callable[[random.Random], Trial]] = {
    "first sample": lambda rng: Trial(_begun(rng, 0), samples(rng, 1), by_one),
    "first block": lambda rng: Trial(_begun(rng, 0), samples(rng, 20, arrivals=5), by_block),
    "known": _sample({}, "above"),
    "new feature": _sample({"new": 1.0}, "above"),
    "new label": _sample({}, "new"),
    "new category": _sample({"color": "new"}, "below"),
    "all new": _sample({"new": "new", "newer": 2.0, "color": "new"}, "new"),
    "chain": _chain,
    "block": _block(50, n_jobs=1, arrivals=0),
    "arrivals": _block(40, n_jobs=1, arrivals=5),
    "threads": _block(80, n_jobs=2, arrivals=0),
    "arrivals in threads": _block(80, n_jobs=2),
    "release": _block(80, n_jobs=1, arrivals=0, max_nodes=31),
    "release in threads": _block(80, n_jobs=2, max_nodes=31),
    "restart": _restart,
    "new words": _new_words,
    "words forgotten": _words_forgotten,
    "new column": _new_column,
    "fewer words": _fewer_words,
}
