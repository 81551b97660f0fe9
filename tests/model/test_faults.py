"""An exception at any line of a call leaves a forest that has learned rows up to one, and goes on.

Each line of the package that runs is a place for one, and each instruction of the code that has
threads; a sample is tried, and with `-m soak` all.
"""

import linecache
import pickle
import random
import sys
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from forests import learn as learn_one
from forests import saved

import river_amf

FOLDER = str(Path(river_amf.__file__).parent)
ROWS = [  # with new features, labels, and more categories than may be
    ({"a": 0.1, "c": "p"}, 0, 1.0),
    ({"a": 0.4, "b": 2.0, "c": "p"}, 1, 2.5),
    ({"a": 0.2, "b": 1.0, "c": "r"}, 2, 1.0),
    ({"a": None, "b": 3.0, "c": "q"}, 0, 0.0),
    ({"a": 0.9, "b": 0.0, "c": "s", "new": 1.0}, 3, 1.0),
    ({"a": 0.3, "b": 4.0, "c": "p", "newer": "text"}, 0, 1.0),
    ({"a": 0.3, "b": 4.0, "c": "t", "new": 2.0}, 4, 1.0),
    ({"a": 0.5, "c": "p"}, 1, 1.0),
]
CHUNK = [({"a": k % 7 / 7, "b": k % 5, "c": "p"}, k % 3, 1.0) for k in range(48)]
KINDS = {
    "classifier": (river_amf.AMFClassifier, {"on_mismatch": "missing"}),
    "adaptive": (river_amf.AdaptiveAMFClassifier, {"max_categories": 2, "max_nodes": 9}),
    "words": (river_amf.AdaptiveAMFClassifier, {"absent": "zero", "max_words": 3}),
    "regressor": (river_amf.AdaptiveAMFRegressor, {"max_categories": 2, "max_nodes": 9}),
    "threads": (river_amf.AdaptiveAMFClassifier, {"n_jobs": 2}),
}
THREADED = tuple(str(Path(FOLDER, "engine", name)) for name in ("blocks.py", "lock.py"))


def columns_of(rows):
    xs, labels, weights = map(list, zip(*rows, strict=True))
    return pd.DataFrame(xs, dtype=object), labels, weights


def learn_many(model, rows):
    model.learn_many(*columns_of(rows))


def predict_one(model, rows):
    model.predict_one(rows[0][0])


def predict_many(model, rows):
    is_regressor = isinstance(model, river_amf.AMFRegressor)
    call = model.predict_interval_many if is_regressor else model.predict_proba_many
    return call(columns_of(rows)[0]).to_numpy().tolist()


def state_of(model):
    return predict_many(model, ROWS), saved(model)


class Fault:
    """Raise an error at the place of a number, of those of the package that run."""

    def __init__(self, files, number=0, error=None):
        self.number, self.error, self.places = number, error, []
        self.files = files  # in which each instruction is a place, and not only each line

    def __call__(self, frame, event, _):
        # Trace functions also run where a `with` statement ends, before it releases the lock, and
        # no signal handler does.
        line = frame.f_code.co_filename, frame.f_lineno
        frame.f_trace_opcodes = line[0] in self.files
        kind = "opcode" if frame.f_trace_opcodes else "line"
        is_code = event == kind and line[1] is not None
        if is_code and not linecache.getline(*line).lstrip().startswith("with "):
            self.places.append((*line, frame.f_lasti * frame.f_trace_opcodes))
            if len(self.places) == self.number:
                raise self.error("a fault")
        return self if line[0].startswith(FOLDER) else None

    def during(self, call, model, rows):
        sys.settrace(self)
        try:
            call(model, rows)
        finally:
            sys.settrace(None)


@pytest.mark.slow
@pytest.mark.parametrize("n_places", [6, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("n_before", [0, 3])
@pytest.mark.parametrize("call", [learn_one, learn_many, predict_one, predict_many])
@pytest.mark.parametrize("kind", KINDS)
def test_fault_leaves_whole_rows(kind, call, n_before, n_places):
    """Each place has a fault at one of the times that it runs."""
    draw, (make, parameters) = random.Random(n_before), KINDS[kind]
    model = make(**parameters, n_estimators=3, max_delayed_labels=0, seed=1)
    learn_one(model, ROWS[:n_before])
    stream, files = (ROWS[:3] + CHUNK, THREADED) if kind == "threads" else (ROWS, ())
    base, whole, numbers, states = pickle.dumps(model), Fault(files), {}, [state_of(model)]
    rows = stream[n_before:] if call in (learn_many, predict_many) else stream[4:5]
    to_learn = rows if call in (learn_one, learn_many) else []
    for row in to_learn:
        learn_one(model, [row])
        states.append(state_of(model))
    whole.during(call, pickle.loads(base), rows)
    for number, place in enumerate(whole.places, start=1):
        numbers.setdefault(place, []).append(number)
    for place in draw.sample(list(numbers), min(n_places, len(numbers))):
        error = draw.choice([MemoryError, KeyboardInterrupt])
        model, fault = pickle.loads(base), Fault(files, draw.choice(numbers[place]), error)
        with suppress(error):
            fault.during(call, model, rows)
            # `Arena.drop_rows` goes on if there is no memory for a smaller copy, and there are
            # fewer places if a thread of a block has been faster
            assert error is MemoryError or len(fault.places) < fault.number
        state = state_of(model)
        assert state in states, fault.places[-1]
        learn_one(model, to_learn[states.index(state) :])
        assert state_of(model) == states[-1], fault.places[-1]


@pytest.mark.parametrize("kind", ["adaptive", "words", "regressor"])
def test_fault_takes_out_a_prediction_with_its_label(kind):
    (make, parameters), new = KINDS[kind], ROWS[4:5]
    model = make(**parameters, n_estimators=3, seed=1)
    files = (str(Path(FOLDER, "engine", "engine.py")),)
    learn_one(model, ROWS[:3])
    predict_one(model, new)
    learn_one(model, ROWS[1:2])
    base, whole = pickle.dumps(model), Fault(files)
    whole.during(learn_one, learned := pickle.loads(base), new)
    states = [state_of(pickle.loads(base)), state_of(learned)]
    code = [linecache.getline(*place[:2]) for place in whole.places]
    begun = next(number for number, line in enumerate(code, 1) if "_take_pending(" in line)
    for number in range(begun, begun + 150):
        model, fault = pickle.loads(base), Fault(files, number, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            fault.during(learn_one, model, new)
        assert state_of(model) in states, whole.places[number - 1]
