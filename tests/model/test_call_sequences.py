"""Random sequences of calls give the model, the answers and the file of the same rows one by one.

Answers are valid, what is refused changes nothing, and neither do predictions or explanations.

`python tests/model/test_call_sequences.py 20000` prints the seeds that fail, of as many, each with
the steps that it takes to fail alike.
"""

import copy
import inspect
import io
import math
import pickle
import random
import re
import sys
import threading
import warnings
import zipfile
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import river_amf
from river_amf import inspection
from river_amf.engine import settings

BOUNDS = {"max_nodes": [50, 7], "max_categories": [2, 3], "max_delayed_labels": [0, 1, 3]}
BOUNDS |= {"max_features": [2, 5]}
TREES = {"n_estimators": [1, 3], "split_pure": [True], "use_aggregation": [False]}
LAWS = {"step": [0.5, 2.0], "split_prior": [0.2], "dirichlet": [0.01, 1.0]}
DRIFT = {"fading_factor": [None, 0.5], "drift_threshold": [None, 0.01], "n_jobs": [2]}
FEATURES = {"split_intensity": ["range", "relevance", "unit"], "on_mismatch": ["missing"]}
WORDS = {"absent": ["zero"], "max_split_words": [2], "max_words": [4, 8], "n_classes": [3, 5]}
EXPERTS = {"vote": ["mean", "learned"], "linear": [True]}
PARAMETERS = (
    BOUNDS | TREES | LAWS | DRIFT | FEATURES | WORDS | EXPERTS | {"recent": ["errors", "target"]}
)
KINDS = ["AMFClassifier", "AMFRegressor", "AdaptiveAMFClassifier", "AdaptiveAMFRegressor"]
CALLS = ["learn", "predict", "predict then learn"]
LABELS = ["x", "y", 7, "z", True, ("a", "tuple")]
NUMBERS = [0, 1, 2, -1, 0.5, -0.0, True, np.float32(0.1), 1e9, 10**20]
# A forest and the steps of a sequence: a call (or "look", "copy", "threads") for each row, or one
# for all in a `frame`. A row is features, label or target, and weight; of threads it is a step.
# `more` asks for labels in place of probabilities, or for quantiles; it is also the way to copy.
Case = namedtuple("Case", ["kind", "parameters", "steps"])
Step = namedtuple("Step", ["call", "rows", "frame", "more"], defaults=["", False])


class Generator:
    """Draw a case that follows from a seed. What is new, such as labels, comes with age."""

    def __init__(self, seed):
        self.draw, self.age = random.Random(seed), 0
        self.seen, self.waiting = [], []  # rows, and those that were predicted and not yet learned
        kind = self.draw.choice(KINDS)
        known = inspect.signature(getattr(river_amf, kind)).parameters
        names = [n for n in PARAMETERS if n in known and self.draw.random() < 0.3]
        parameters = {name: self.draw.choice(PARAMETERS[name]) for name in names}
        self.is_regressor, self.has_words = kind.endswith("Regressor"), "absent" in names
        self.repeats = self.draw.choice([0.15, 0.15, 0.9])  # share of rows equal to earlier ones
        self.scale = self.draw.choice([0.0, 0.0, 0.001])  # of a number, as a scaler that learns
        self.wrong = self.draw.choice([0.0, 0.0, 0.01])  # share of values that are refused
        self.other_kind = 0.2 if "on_mismatch" in names else self.wrong
        steps = [self.step() for _ in range(self.draw.randint(2, 14))]
        self.case = Case(kind, parameters, steps)

    def step(self):
        chance = self.draw.random()
        if chance < 0.1:
            return Step("copy", [], more=self.draw.choice(["deepcopy", "pickle", "file", "clone"]))
        if chance < 0.14:
            return Step("look", self.rows(1))
        if chance < 0.2:
            return Step("threads", [self.calls(CALLS[:2], [1, 1, 4]) for _ in range(4)])
        return self.calls(CALLS, [1, 1, 2, 3, self.draw.randint(1, 50)])

    def calls(self, calls, sizes):
        call, n_rows = self.draw.choice(calls), self.draw.choice(sizes)
        rows = self.fresh(n_rows) if call == "predict" else self.rows(n_rows)
        self.waiting += rows if call == "predict" else []
        frames = ["", "object", "object", "inferred"][n_rows > 1 and len(calls) == 2 :]
        more = call == "predict" and self.draw.random() < 0.3
        return Step(call, rows, self.draw.choice(frames), more)

    def rows(self, n_rows):
        """Draw rows to be learned, some of them delayed, in some order or a second time."""
        waiting = self.waiting
        n_late = min(len(waiting), self.draw.choice([0, n_rows // 2, n_rows]))
        start = self.draw.choice([0, len(waiting) - n_late])
        late = [self.scaled(*row) for row in waiting[start : start + n_late]]
        rows = late + self.fresh(n_rows - n_late)
        if self.draw.random() < 0.8:
            del waiting[start : start + n_late]
        return self.draw.choice([rows, rows[::-1], self.draw.sample(rows, n_rows)])

    def scaled(self, x, y, w):
        """Return a row as it is transformed by now."""
        number = x.get("a")
        is_number = isinstance(number, float) and math.isfinite(number)
        return (x | {"a": number * (1 + self.scale * self.age)} if is_number else x), y, w

    def fresh(self, n_rows):
        """Draw rows, some of which are equal to earlier ones."""
        for _ in range(n_rows):
            is_again = self.seen and self.draw.random() < self.repeats
            self.seen.append(self.draw.choice(self.seen) if is_again else self.row())
        return self.seen[len(self.seen) - n_rows :]

    def row(self):
        draw, self.age = self.draw, self.age + 1
        a = round(draw.gauss(0, 1), draw.choice([0, 1, 6])) + 0.0
        k = draw.randrange(3) + self.age // 25 * draw.randrange(2)
        texts = [f"p{k}", f"p{k}", f"p{k}", ("p", k), ""]
        x = {"a": a, "c": draw.choice(texts), 7: draw.choice(NUMBERS), "d": draw.choice(texts)}
        x = {name: x[name] for name in draw.sample(list(x), draw.choice([1, 2, 3, 3, 4]))}
        if self.has_words:
            x |= {f"w{draw.randrange(2 + self.age // 3)}": draw.choice([0, 1, 2]) for _ in range(3)}
        if draw.random() < 0.03:
            x[f"new {draw.randrange(3)}"] = draw.choice([1.0, 2.0, "text"])
        if draw.random() < self.other_kind:
            x[draw.choice(["a", "c", "e", 7])] = draw.choice(["text", "other", 1.5])
        x = {name: draw.choice([None, math.nan]) if draw.random() < 0.07 else x[name] for name in x}
        if draw.random() < 3 * self.wrong:
            x[draw.choice(list(x))] = draw.choice([math.inf, [1.0], 10**400])
        y = draw.choice([a, a + 1000 * (self.age > 60), 2.0, True, a * 1e3])
        if not self.is_regressor:
            y = LABELS[min(draw.randrange(2) + draw.randrange(1 + self.age // 10), 5)]
        y = draw.choice([None, math.nan, [1], "rare", 1e101]) if draw.random() < self.wrong else y
        return ({} if draw.random() < 0.02 else x), y, draw.choice([1.0, 1.0, 1.0, 2.5, 0.0])


def run(model, step, by_rows=False):
    """Make the calls of a step; return the answers, and the error if there is one."""
    answers, more = [], []
    name = "predict" if step.more else "predict_proba"
    if isinstance(model, river_amf.AMFRegressor):
        name, more = ("predict_quantile", [[0.1, 0.5]]) if step.more else ("predict", [])
    try:
        if step.frame and not by_rows:
            xs, y, w = map(list, zip(*step.rows, strict=True))
            if model.absent == "zero":  # or an absent word would be missing
                xs = [{n: 0 for other in xs for n in other} | x for x in xs]
            X = pd.DataFrame(xs, range(len(xs)), dtype=object if step.frame == "object" else None)
            if step.call == "learn":
                return answers, model.learn_many(X, y, w)
            many, rest = ("many", more) if step.call == "predict" else ("then_learn_many", [y, w])
            return getattr(model, f"{name}_{many}")(X, *rest).to_numpy().tolist(), None
        for x, y, w in step.rows:
            if step.call != "learn":
                answer = getattr(model, f"{name}_one")(x, *more)
                answers.append(list(answer.values()) if isinstance(answer, dict) else answer)
            if step.call != "predict":
                model.learn_one(x, y, w)
    except Exception as error:
        return answers, f"{type(error).__name__}: {error}"
    return answers, None


def is_valid(model, answer, is_more):
    """Return whether an answer holds probabilities, a finite number or ordered quantiles."""
    if isinstance(model, river_amf.AMFRegressor):
        return answer == sorted(answer) if is_more else math.isfinite(answer)
    if is_more or not answer:
        return is_more or answer == []
    return min(answer) >= 0.0 and math.isclose(sum(answer), 1.0, abs_tol=1e-9)


def compare(step, found, reference):
    """Let the reference take the rows one by one; return it, and what differs as name and text."""
    (answers, error), expected, expected_error, n_rows = found, [], None, 0
    before = copy.deepcopy(reference) if error and step.frame else reference
    columns = dict.fromkeys(name for x, _, _ in step.rows for name in x if step.frame)
    while n_rows < len(step.rows) and not expected_error:
        x, y, w = step.rows[n_rows]
        row = {name: x[name] for name in columns or x if name in x}, y, w  # in their order
        state = saved(reference) if error and step.call == "learn" else b""
        # without delayed labels, a prediction changes nothing
        is_lookup = step.call == "predict" and reference.max_delayed_labels == 0
        asked = copy.deepcopy(reference) if is_lookup else reference
        more, expected_error = run(asked, step._replace(rows=[row]), by_rows=True)
        expected, n_rows = expected + more, n_rows + 1
        if not all(is_valid(asked, answer, step.more) for answer in more):
            return reference, (f"validity of {step.call}", f"{more}")
        if expected_error and state and saved(reference) != state:
            return reference, ("trace of a refused row", expected_error)
    if step.frame and expected_error:  # a block is refused as a whole
        reference, expected = before, []
        expected_error = expected_error.replace(": ", f": row {n_rows - 1}: ", 1)
    elif step.frame and step.call == "predict then learn" and type(expected[0]) is list:
        width = len(answers[0]) if answers else 0  # all labels known after the block
        expected = [p + [0.0] * (width - len(p)) if p else [math.nan] * width for p in expected]
    # not the value, which may be a float in a frame, or an example of a category, now forgotten
    errors = [e and re.sub("(such as .*, )?got .*?(;|$)", "", e) for e in (error, expected_error)]
    for name, (one, other) in {"errors": errors, "answers": (answers, expected)}.items():
        if repr(one) != repr(other):
            return reference, (f"{name} of {step.call}", f"{one}, not {other}")
    return reference, None


def copied(model, way):
    if way == "file":
        return river_amf.load(io.BytesIO(saved(model)))
    if way == "clone":
        return model.clone(include_attributes=True)
    twin = copy.deepcopy(model) if way == "deepcopy" else pickle.loads(pickle.dumps(model))
    with suppress(ValueError):  # one label too many; what the original learns must not matter
        model.learn_one({"a": 3.0, "c": "other", "own": 1.0}, 2)
    return twin


class RecordingLock:
    """The lock of a model, which notes what the threads are doing when they get it."""

    def __init__(self, lock):
        self.lock, self.order, self.now = lock, [], threading.local()

    def __enter__(self):
        self.lock.acquire()
        self.order.append(self.now.step)

    def __exit__(self, *_):
        self.lock.release()

    def __getattr__(self, name):
        return getattr(self.lock, name)


def run_threads(model, steps):
    """Run steps in two threads; return them with their outcomes, in the order of the calls."""
    lock = model._engine.lock = RecordingLock(model._engine.lock)

    def work(n):
        lock.now.step = n
        return run(model, steps[n])

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, range(len(steps))))
    model._engine.lock = lock.lock
    return [(steps[n], found[n]) for n in dict.fromkeys([*lock.order, *range(len(steps))])]


def saved(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def difference(case):
    """Return the first thing in which a model and the reference differ, as name and text."""
    make = getattr(river_amf, case.kind)
    model, reference = (make(**case.parameters, seed=1) for _ in range(2))
    rows = [row for step in case.steps if step.call != "threads" for row in step.rows][-5:]
    ends = [Step("save", []), *(Step(CALLS[k], rows) for k in (1, 0, 1)), Step("save", [])]
    for step in case.steps + ends:
        done = [(step, run(model, step))] if step.call in CALLS else []
        if step.call == "copy":
            model = copied(model, step.more)
        elif step.call == "look":
            x, before = step.rows[0][0], saved(model)
            with suppress(TypeError, ValueError):  # a value of the other kind
                assert model.debug_one(x) and inspection.path(model, x) is not None
                assert 0.0 <= model.novelty_one(x) <= 1.0
                assert len(inspection.contributions(model, x, None, "permutations", [x, {}]))
            assert len(inspection.node_table(model)) <= (model.max_nodes or math.inf)
            if saved(model) != before:
                return "trace of an explanation", f"{x}"
        elif step.call == "save" and (data := saved(model)) != (other := saved(reference)):
            files = [zipfile.ZipFile(io.BytesIO(content)) for content in (data, other)]
            members = [{(name, file.read(name)) for name in file.namelist()} for file in files]
            return "file", f"{sorted({name for name, _ in members[0] ^ members[1]})}"
        elif step.call == "threads":
            done = run_threads(model, step.rows)
        for done_step, found in done:
            reference, differs = compare(done_step, found, reference)
            if differs:
                return differs
    return None


def fewer_steps(case, name):
    """Return a case without the steps that a difference of this name does not need."""
    for k in reversed(range(len(case.steps))):
        other = case._replace(steps=case.steps[:k] + case.steps[k + 1 :])
        if (difference(other) or ("none",))[0] == name:
            case = other
    return case


def failing(seeds):
    failed = []
    warnings.simplefilter("ignore", UserWarning)
    for seed in seeds:
        case = Generator(seed).case
        if differs := difference(case):
            failed.append(seed)
            kind, parameters, steps = fewer_steps(case, differs[0])
            print(f"seed {seed}: {differs[0]}: {differs[1][:300]}")
            print(f"  {kind}({parameters})", *steps, sep="\n    ", flush=True)
    return failed


@pytest.mark.slow
@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize(
    ("longest_list", "seeds"),
    [
        (settings.LONGEST_LIST, range(200)),
        (16, range(200, 300)),  # lists of rows are thinned
        pytest.param(16, range(300, 10_000), marks=pytest.mark.soak),
    ],
)
def test_calls_equal_single_rows(monkeypatch, longest_list, seeds):
    monkeypatch.setattr(settings, "LONGEST_LIST", longest_list)
    assert not failing(seeds)


if __name__ == "__main__":
    print(f"{len(failing(range(int(sys.argv[1]))))} of {sys.argv[1]} sequences fail")
